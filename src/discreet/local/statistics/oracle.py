"""What an algorithm sees of the data in the statistical query model: means, each within a tolerance."""

from __future__ import annotations

from abc import abstractmethod
from fractions import Fraction
from typing import Any, NoReturn, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import BudgetExceeded, InvalidParameter, NoBound, Refused
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Rng
from discreet.local.frames import read_rows
from discreet.local.laws.records import MOST_STEPS, MOST_WEIGHTS, Attributes, RecordWeights, require_plain
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.written import write_query


class StatisticalOracle(Protocol):
    """Answers statistical queries: all that an algorithm of that model may ask of the data.

    [DR14] Definition 12.4. An algorithm that asks nothing else runs on local reports, on a trusted curator's
    answers, or on exact ones, without a change.
    """

    @property
    def universe(self) -> Universe:
        """What a record may be; a label is an attribute like any other."""

    def answer(self, query: LinearQuery, tolerance: checks.Number) -> float:
        """Return the mean of a query over all people's records, from 0 to 1, to within the tolerance.

        Parameters
        ----------
        query
            A function of a record with weights from 0 to 1.
        tolerance
            What the answer may be off by, above 0 and below 1.
        """


def read_universe(**named: object) -> Universe:
    """Return a universe whose values devices can tell apart."""
    universe: Universe = checks.instance(Universe, **named)
    require_plain(list_attributes(universe))
    return universe


@frozen
class Statistics(Interactive[Any, float]):
    """The base of the oracles: so many queries, each within its tolerance but for a small probability.

    Parameters
    ----------
    epsilon
        Each person's budget for everything that is answered.
    universe
        What a record may be.
    people
        How many there are. It is public.
    queries
        How many queries are answered at most.
    risk
        The probability that any of their answers is off by more than its tolerance.
    """

    epsilon: Exact = public(checks.positive)
    universe: Universe = public(read_universe)
    people: int = public(checks.integer, 1)
    queries: int = public(checks.integer, 1)
    risk: Exact = public(checks.probability)

    @property
    def loss(self) -> Loss:
        """What the whole conversation costs each person."""
        return PureLoss(self.epsilon)

    @property
    def risk_each(self) -> Fraction:
        """The part of the risk that belongs to one answer."""
        return self.risk / self.queries

    def error(self, beta: checks.Number) -> NoReturn:
        """Refuse: whoever asks says what the answer may be off by."""
        checks.probability(beta=beta)
        raise NoBound(
            what=type(self).__name__,
            why="every query states its own tolerance, which all answers keep but for the declared risk",
            way_out="Ask with the tolerance that you need",
        )


class StatisticsConversation(Conversation[float]):
    """An open oracle. `answer` is what algorithms call."""

    def __init__(self, oracle: Statistics, data: Any, rng: Rng) -> None:
        super().__init__(oracle, rng)
        self._codes = read_people(oracle.universe, data, oracle.people)

    @property
    def universe(self) -> Universe:
        """What a record may be."""
        oracle: Any = self.mechanism
        found: Universe = oracle.universe
        return found

    def answer(self, query: LinearQuery, tolerance: checks.Number) -> float:
        """Return the mean of a query over all people's records, to within the tolerance."""
        return self.ask(query, tolerance=tolerance)

    def _answer(self, query: Any, **public: Any) -> float:
        oracle: Any = self.mechanism
        if set(public) != {"tolerance"}:
            raise InvalidParameter(name="tolerance", rule="given, and nothing else", value=sorted(public))
        weights = weigh_records(query, oracle.universe)
        slack = read_slack(weights, public["tolerance"])
        if self.asked >= oracle.queries:
            raise BudgetExceeded(
                asked="one more query",
                left=f"none of {oracle.queries}",
                budget="queries",
                way_out="Open a new one with more queries; it costs again",
            )
        return min(max(self._estimate(weights, slack), 0.0), 1.0)

    @abstractmethod
    def _estimate(self, weights: RecordWeights, slack: Fraction) -> float:
        """Return the mean of weights on a grid, off by at most the slack."""


def weigh_records(query: Any, universe: Universe | None = None) -> RecordWeights:
    """Return a query as a list of weights for devices: whole steps from 0 to 1.

    Raises
    ------
    InvalidParameter
        When some weight is below 0 or above 1.
    """
    written = write_query(query, universe)
    if np.prod(written.shape, dtype=np.float64) > MOST_WEIGHTS:
        raise Refused(
            what=written.name,
            why=f"its weights are listed for devices, and there are more than {MOST_WEIGHTS}",
            way_out="Ask about fewer attributes at once",
        )
    table = np.asarray(written.table()).reshape(-1)
    if not bool(((table >= 0) & (table <= 1)).all()):
        raise InvalidParameter(
            name="query",
            rule="with weights from 0 to 1",
            got="one with others",
            hint="Of a parity ask how often it is odd",
        )
    steps = 1 if written.is_predicate else MOST_STEPS
    whole = np.rint(table.astype(np.float64) * steps).astype(np.int64)
    return RecordWeights(list_attributes(written.universe), written.axes, tuple(whole.tolist()), steps)


def round_off(weights: RecordWeights) -> Fraction:
    """Return what rounding moved a weight by at most: nothing where all are 0 or 1."""
    return Fraction(1, 2 * weights.steps) if weights.steps > 1 else Fraction(0)


def read_slack(weights: RecordWeights, tolerance: Any) -> Fraction:
    """Return what is left of a tolerance after the rounding of weights."""
    slack = checks.probability(tolerance=tolerance) - round_off(weights)
    if slack <= 0:
        raise InvalidParameter(
            name="tolerance",
            rule=f"above {float(round_off(weights)):g}, what weights are rounded by",
            value=tolerance,
        )
    return slack


def list_attributes(universe: Universe) -> Attributes:
    """Return the names and the values of all attributes, as devices know them."""
    return tuple((each.name, each.values) for each in universe.attributes)


def read_people(universe: Universe, data: Any, people: int) -> NDArray[np.int64]:
    """Return records as rows of codes; what is no value of its attribute counts as the first one."""
    codes = read_rows(list_attributes(universe), data)
    if len(codes) != people:
        raise InvalidParameter(name="data", rule=f"the records of {people} people", got="of another number")
    return codes
