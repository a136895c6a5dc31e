"""Statistical queries answered by people who trust nobody: fresh ones for each query."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import BudgetExceeded
from discreet.core.neighbours import LocalReport
from discreet.core.parameters import derived, frozen
from discreet.core.rng import Rng
from discreet.core.sensitive import Sensitive
from discreet.local.batches import find_cells
from discreet.local.laws.records import RecordWeights
from discreet.local.statistics.oracle import Statistics, StatisticsConversation, round_off, weigh_records
from discreet.local.statistics.statistical_query import StatisticalQuery
from discreet.optimisation.common.orders import UniformOrder
from discreet.queries.query import LinearQuery, TableQuery
from discreet.queries.universe import Universe

_LOCAL = LocalReport()


@frozen
class LocalStatistics(Statistics):
    """Answer statistical queries from local reports: each query has people of its own, who report once.

    Privacy: (epsilon, 0) for each person, towards everybody, however many queries there are and however they
    are chosen: nobody is asked twice. [DR14] Definitions 12.3 and 12.4
    Accuracy: each answer is within its tolerance, all of them together but for the declared risk.
    `people_for(query, tolerance)` people are asked for one.
    Time: O(people for the query).

    The parameters are those of all `Statistics`.

    Examples
    --------
    >>> from discreet.testing import unsafe_seeded
    >>> universe = Universe([("smokes", (0, 1)), ("ill", (0, 1))])
    >>> ill = TableQuery(universe, (1,), "ill", table=[0, 1])
    >>> oracle = LocalStatistics(epsilon=1, universe=universe, people=100_000, queries=2, risk=0.05)
    >>> oracle.people_for(ill, tolerance=0.02)
    25650
    >>> with oracle.open([(0, 0), (1, 1)] * 50_000, rng=unsafe_seeded(1)) as statistics:
    ...     share = statistics.answer(ill, tolerance=0.02)
    >>> 0.48 < share < 0.52
    True
    """

    neighbours: LocalReport = derived()

    def _complete(self) -> None:
        self._set(neighbours=_LOCAL)

    def people_for(self, query: LinearQuery, tolerance: checks.Number) -> int:
        """Return how many people are asked, so that the answer is within the tolerance."""
        return self._ask(weigh_records(query, self.universe)).people_for(tolerance, self.risk_each)

    def _ask(self, weights: RecordWeights) -> StatisticalQuery:
        return StatisticalQuery(epsilon=self.epsilon, query=weights)

    def _begin(self, data: Sensitive[Any], rng: Rng) -> LocalStatisticsConversation:
        return LocalStatisticsConversation(self, data.reveal(), rng)


class LocalStatisticsConversation(StatisticsConversation):
    """People in a random order, of whom the next ones answer each query.

    Whatever the records are, those who answer are a random part of all people, and queries that are chosen
    beforehand keep their tolerance for the mean over all. Where records are independent draws from one law,
    all queries keep it for the mean of that law: whoever is left is a fresh draw, whatever was answered.
    Earlier answers tell a little of who among given people is left; for a query that is chosen by them, that
    the mean over these very people is met as often is not proved.
    """

    def __init__(self, oracle: LocalStatistics, data: Any, rng: Rng) -> None:
        super().__init__(oracle, data, rng)
        self._order = np.array(rng.perform(UniformOrder(), oracle.people), dtype=np.int64)
        self._left: int = oracle.people

    @property
    def left(self) -> int:
        """How many people were not asked yet. It is public: what is asked decides it."""
        return self._left

    def _estimate(self, weights: RecordWeights, slack: Fraction) -> float:
        oracle: Any = self.mechanism
        survey = oracle._ask(weights)  # noqa: SLF001 - its own mechanism
        asked = survey.people_for(slack + round_off(weights), oracle.risk_each)
        if asked > self.left:
            raise BudgetExceeded(
                asked=f"{asked} people",
                left=f"{self.left} who have not answered yet",
                budget="people",
                way_out="Ask with a larger tolerance, or more people",
            )
        some = self._order[self.left - asked : self.left]
        self._left -= asked
        reports = survey.encode_places(find_cells(weights, self._codes[some]), self._rng)
        return float(survey.estimate(reports).value)


def _ask_two(conversation: Any) -> tuple[float, ...]:
    """Ask one query, and then one of two others."""
    universe = conversation.universe
    first = conversation.answer(TableQuery(universe, (0,), "a", table=[0, 1]), Fraction(99, 100))
    table = [1, 0] if first > 0.5 else [0, 0.75]
    return first, conversation.answer(TableQuery(universe, (0,), "b", table=table), Fraction(99, 100))


def _tiny() -> Iterator[Tiny]:
    universe = Universe([("a", (0, 1))])
    oracle = LocalStatistics(epsilon=3, universe=universe, people=2, queries=2, risk=Fraction(9, 10))
    people = [list(pair) for pair in itertools.product([(0,), (1,)], repeat=2)]
    yield Tiny(
        oracle,
        [(a, b) for a in people for b in people if sum(x != y for x, y in zip(a, b, strict=True)) == 1],
        script=_ask_two,
    )


def _example() -> tuple[LocalStatistics, list[tuple[int, int]]]:
    universe = Universe([("smokes", (0, 1)), ("ill", (0, 1))])
    return LocalStatistics(epsilon=1, universe=universe, people=1000, queries=3, risk=0.05), [(0, 1)] * 1000


CARD = Card(
    title="Statistical queries answered by local reports",
    theorem="(epsilon, 0) for each person towards everybody; all answers within tolerance but for the risk",
    reference="[DR14] Definitions 12.3 to 12.6",
    example=_example,
    tiny=_tiny,
)
"""What the catalogue knows of it."""
