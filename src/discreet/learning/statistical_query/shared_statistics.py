"""Many statistical queries on one budget: answered from one hypothesis, by private multiplicative weights."""

from __future__ import annotations

from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Replace
from discreet.core.rng import SYSTEM, Rng
from discreet.queries.histogram import Histogram
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights


class SharedStatistics:
    """An oracle of statistical queries over an open conversation of `MultiplicativeWeights`.

    It charges nothing: the conversation was paid for when it was opened.

    Parameters
    ----------
    mechanism
        With `Replace`: the number of records is public.
    data
        The records, counted over the mechanism's universe.
    risk
        The probability that any answer is off by more than the tolerance.
    rng
        The source of randomness.
    """

    def __init__(
        self, mechanism: MultiplicativeWeights, data: Histogram, *, risk: checks.Number, rng: Rng = SYSTEM
    ) -> None:
        checks.exactly(MultiplicativeWeights, mechanism=mechanism)
        if not isinstance(mechanism.neighbours, Replace) or mechanism.rows is None:
            raise InvalidParameter(name="mechanism", rule="one of Replace(unit) and rows", got="another")
        self.mechanism, self._rows = mechanism, mechanism.rows
        self.tolerance = mechanism.error(checks.probability(risk=risk)) / self._rows
        """What answers are off by at most, but for the risk."""
        self.conversation = mechanism.open(data, rng=rng)

    @property
    def universe(self) -> Universe:
        """What a record may be."""
        return self.mechanism.universe

    def answer(self, query: LinearQuery, tolerance: checks.Number) -> float:
        """Return the mean of a query over all records, to within the tolerance.

        Raises
        ------
        InvalidParameter
            For a smaller tolerance than the mechanism's error allows.
        """
        if checks.probability(tolerance=tolerance) < self.tolerance:
            raise InvalidParameter(
                name="tolerance",
                rule=f"at least {self.tolerance:.4g}, what answers may be off by",
                value=tolerance,
                hint="Pay a larger epsilon, or plan for fewer updates",
            )
        answer: Any = self.conversation.ask(query)
        return min(max(float(answer.value) / self._rows, 0.0), 1.0)
