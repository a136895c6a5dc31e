"""A hypothesis for each analyst, learnt from their own queries on a budget of their own."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache

from discreet.accounting.calibrate import zcdp_rho
from discreet.analysts.apart import Apart, Nothing, leftovers
from discreet.analysts.promises import Delivery, Leftover, QueriesAndData
from discreet.analysts.query_book import book_of
from discreet.analysts.tiny import BUDGET, COIN, HEADS, TWO, example_data, tiny_data
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import BudgetTooSmall, InternalError, InvalidParameter, NoBound
from discreet.core.loss import Loss, ZCDPLoss
from discreet.core.neighbours import Replace
from discreet.core.parameters import Exact, frozen, public
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.core.rounding import down, shorten_down
from discreet.queries.workload import Workload
from discreet.query_release.explicit.mwem import MWEM

ROUNDS = 20
"""How many questions of each analyst are measured where their owner does not say."""


@frozen
class SeparateBudgets(Apart):
    """Learn a hypothesis for each analyst, from their own queries, on a budget of their own.

    Privacy: (epsilon, delta) for one row, in equal parts of zCDP. Nothing between analysts: what one
    receives is made of the data, their own queries and public facts.
    Accuracy: that of `MWEM` on a share of the budget; there is no error(beta).
    Time: `analysts` runs of `MWEM`.

    Parameters
    ----------
    universe, caps, epsilon, delta
        As in `PublicSynopsis`.
    rows
        The public number of rows.
    rounds
        How many queries of each analyst are measured.
    neighbours
        The change of the data that is hidden.
    """

    delta: Exact = public(checks.probability)
    rows: int = public(checks.integer, 1)
    rounds: int = public(checks.integer, 1, default=ROUNDS)

    def _complete(self) -> None:
        self.universe.require_dense()
        _ = self.share  # refuses what cannot be calibrated

    @property
    def share(self) -> Fraction:
        """The epsilon, at this delta, that each analyst's own hypothesis may cost."""
        return _share(self.epsilon, self.delta, self.caps.analysts)

    @property
    def loss(self) -> Loss:
        """All shares together."""
        return ZCDPLoss(self.caps.analysts * zcdp_rho(epsilon=self.share, delta=self.delta))

    def learner(self, queries: Workload) -> MWEM:
        """Return what learns the queries of one analyst."""
        return MWEM(
            workload=queries,
            epsilon=self.share,
            delta=self.delta,
            neighbours=self.neighbours,
            rounds=self.rounds,
            rows=self.rows,
        )

    def error(self, beta: checks.Number) -> float:
        """Refuse: analysts receive the answers of the last hypothesis, which has no theorem."""
        checks.probability(beta=beta)
        raise NoBound(
            what="the answers of separate budgets",
            why="they are those of MWEM's last hypothesis, and its theorem is about the mean of all",
            way_out="Use PrivateAnswers, whose bound is exact",
        )

    def _draw(self, data: QueriesAndData, rng: Rng) -> Delivery:
        asked, names = self._check(data), data.book.names
        private = tuple(
            (name, self._learn(asked, name, rng)) for name in track(names, total=len(names), label="learning")
        )
        return Delivery(Nothing(self.universe), private)

    def _learn(self, asked: QueriesAndData, name: str, rng: Rng) -> tuple[Leftover, ...]:
        page = asked.book.page(name)
        if page is None:
            return ()
        learnt = self.learner(page.queries).release(asked.histogram, rng=rng).value
        return leftovers(page.places, learnt.answers(page.queries))


@lru_cache(maxsize=64)
def _share(epsilon: Fraction, delta: Fraction, analysts: int) -> Fraction:
    """Return the epsilon at which one of some equal parts of rho is spent."""
    rho = zcdp_rho(epsilon=epsilon, delta=delta) / analysts
    found = ZCDPLoss(rho).epsilon(delta)
    if found == 0:
        rule = "so large that more than the delta is left for each analyst"
        raise BudgetTooSmall(name="epsilon", rule=rule, value=epsilon)
    if found == math.inf:
        raise InvalidParameter(name="epsilon", rule="so small that floats hold it", value=epsilon)
    share = shorten_down(Fraction(down(Fraction(found))) * (1 - Fraction(1, 10**6)), 12)
    if zcdp_rho(epsilon=share, delta=delta) > rho:
        raise InternalError("an analyst's share costs more than its part of the budget")
    return share


def _example() -> tuple[SeparateBudgets, QueriesAndData]:
    asked = example_data()
    caps, universe = asked.book.caps, asked.book.universe
    return SeparateBudgets(universe=universe, caps=caps, rows=2000, rounds=3, **BUDGET), asked


def _tiny() -> Iterator[Tiny]:
    # The second analyst is silent, and their share stays unused: two hypotheses are too much to enumerate.
    mechanism = SeparateBudgets(
        universe=COIN, caps=TWO, rows=2, rounds=1, epsilon=3, delta=0.01, neighbours=Replace("row")
    )
    yield Tiny(mechanism, tiny_data(book_of(COIN, TWO, {"first": [HEADS], "second": []}), 2), tight=False)


CARD = Card(
    title="A hypothesis for each analyst, learnt on a share of the budget",
    theorem="(epsilon, delta) for one row, and (0, 0) between analysts",
    reference="[HRU13] Section 1; [DR14] Section 4.2",
    example=_example,
    tiny=_tiny,
)
