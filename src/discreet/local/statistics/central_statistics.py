"""Statistical queries answered by a curator whom people trust: the same face, far fewer people."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.accounting.filters import PureFilter
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import BudgetExceeded, InvalidParameter
from discreet.core.loss import PureLoss
from discreet.core.neighbours import Replace
from discreet.core.parameters import derived, frozen
from discreet.core.rng import Rng
from discreet.core.sensitive import Sensitive
from discreet.local.batches import find_cells
from discreet.local.laws.records import RecordWeights
from discreet.local.statistics.oracle import Statistics, StatisticsConversation, read_slack, weigh_records
from discreet.mechanisms.geometric import Geometric
from discreet.queries.query import LinearQuery, TableQuery
from discreet.queries.universe import Universe

_PERSON = Replace("person")


@frozen
class CentralStatistics(Statistics):
    """Answer statistical queries about a curator's records, each with the budget that its tolerance takes.

    Privacy: (epsilon, 0) for all answers together; each costs what its tolerance takes, and the sum is kept
    below epsilon. [DR14] Theorem 3.6, Definition 12.4
    Accuracy: each answer is within its tolerance, all of them together but for the declared risk.
    Time: O(people) a query.

    The parameters are those of all `Statistics`.

    Examples
    --------
    >>> universe = Universe([("smokes", (0, 1)), ("ill", (0, 1))])
    >>> ill = TableQuery(universe, (1,), "ill", table=[0, 1])
    >>> oracle = CentralStatistics(epsilon=1, universe=universe, people=1000, queries=2, risk=0.05)
    >>> float(oracle.price(ill, tolerance=0.02)) < 0.25
    True
    """

    neighbours: Replace = derived()

    def _complete(self) -> None:
        self._set(neighbours=_PERSON)

    def price(self, query: LinearQuery, tolerance: checks.Number) -> Fraction:
        """Return what an answer within the tolerance takes of epsilon."""
        weights = weigh_records(query, self.universe)
        return self._measure(weights, read_slack(weights, tolerance)).epsilon

    def _measure(self, weights: RecordWeights, slack: Fraction) -> Geometric:
        """Return the mechanism for the sum of all weights, in steps."""
        far = math.floor(slack * self.people * weights.steps)
        if far < 1:
            raise InvalidParameter(
                name="tolerance", rule=f"at least 1 / {self.people}, one person's part", value=slack
            )
        return _find_noise(far, self.risk_each, weights.steps)

    def _begin(self, data: Sensitive[Any], rng: Rng) -> CentralStatisticsConversation:
        return CentralStatisticsConversation(self, data.reveal(), rng)


class CentralStatisticsConversation(StatisticsConversation):
    """Records and what is left of the budget for answers about them."""

    def __init__(self, oracle: CentralStatistics, data: Any, rng: Rng) -> None:
        super().__init__(oracle, data, rng)
        self._budget = PureFilter(epsilon=oracle.epsilon, neighbours=_PERSON)

    @property
    def left(self) -> Fraction:
        """What is left of epsilon. It is public: what is asked decides it."""
        return self._budget.left["epsilon"]

    def _estimate(self, weights: RecordWeights, slack: Fraction) -> float:
        oracle: Any = self.mechanism
        noise: Geometric = oracle._measure(weights, slack)  # noqa: SLF001 - its own mechanism
        most = int(oracle.people) * weights.steps
        if not self._budget.try_spend(PureLoss(noise.epsilon)):
            raise BudgetExceeded(
                asked=f"epsilon {float(noise.epsilon):g}",
                left=f"epsilon {float(self.left):g}",
                budget="answers",
                way_out="Ask with a larger tolerance, or fewer queries",
            )
        total = np.array(weights.weights, dtype=np.int64)[find_cells(weights, self._codes)].sum()
        return float(noise.release(int(total), rng=self._rng).value) / most


@lru_cache(maxsize=1024)
def _find_noise(far: int, beta: Fraction, steps: int) -> Geometric:
    return Geometric.for_error(alpha=far, beta=beta, sensitivity=steps, neighbours=_PERSON)


def _ask_two(conversation: Any) -> tuple[float, ...]:
    """Ask one query, and then one of two others."""
    universe = conversation.universe
    first = conversation.answer(TableQuery(universe, (0,), "a", table=[0, 1]), Fraction(2, 3))
    table = [1, 0] if first > 0.5 else [1, 1]
    return first, conversation.answer(TableQuery(universe, (0,), "b", table=table), Fraction(2, 3))


def _tiny() -> Iterator[Tiny]:
    universe = Universe([("a", (0, 1))])
    oracle = CentralStatistics(epsilon=6, universe=universe, people=2, queries=2, risk=Fraction(1, 50))
    people = [list(pair) for pair in itertools.combinations_with_replacement([(0,), (1,)], 2)]
    pairs = [(a, b) for a in people for b in people if abs(people.index(a) - people.index(b)) == 1]
    yield Tiny(oracle, pairs, script=_ask_two)


def _example() -> tuple[CentralStatistics, list[tuple[int, int]]]:
    universe = Universe([("smokes", (0, 1)), ("ill", (0, 1))])
    return CentralStatistics(epsilon=1, universe=universe, people=100, queries=3, risk=0.05), [(0, 1)] * 100


CARD = Card(
    title="Statistical queries answered by a trusted curator",
    theorem="(epsilon, 0) for all answers together, each within its tolerance but for the risk",
    reference="[DR14] Theorem 3.6, Definition 12.4",
    example=_example,
    tiny=_tiny,
)
"""What the catalogue knows of it."""
