"""What the games must beat: three ways to serve many analysts who learn nothing of each other, at no price.

Each of them keeps the analysts apart altogether, so that the promise between them is perfect, (0, 0), for
any number of colluding analysts. They differ in how they spend the budget for the people in the data: on one
public workload, on every place of the query book, or on a share for each analyst.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.accounting.calibrate import zcdp_rho
from discreet.analysts.apart import Apart, FittedWeights, Nothing, leftovers
from discreet.analysts.games.query_game import CARD as QUERY_GAME
from discreet.analysts.games.query_game import COIN, HEADS, TAILS, tiny_data
from discreet.analysts.promises import Delivery, Leftover, QueriesAndData
from discreet.analysts.query_book import Caps, book_of
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InternalError, NoBound
from discreet.core.loss import Loss, ZCDPLoss
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.core.rounding import down, shorten_down
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.queries.written import written_down
from discreet.query_release.explicit.mwem import MWEM
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.joint_noise import Joint, smallest_noise, variance
from discreet.query_release.linear.residual_marginals import FINENESS, ResidualMarginals
from discreet.query_release.online.warm_start import all_marginals

ROUNDS = 20
"""How many questions of each analyst are measured where their owner does not say."""


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PublicSynopsis(Apart):
    """Publish a synopsis of a public workload once; everybody answers whatever he likes from it.

    The table over all attributes is measured cell by cell; other tables by `ResidualMarginals`.

    Privacy: (epsilon, delta) for one row; nothing at all between analysts, whose questions are not read.
    Accuracy: measured_error(beta) for the noise of all cells of the public tables at once. Answers are those
    of weights fitted to them: error(beta) is known for one table and a public number of rows only.
    Time: that of `ResidualMarginals`, and one fit of a weight per cell; O(cells) for the one table.

    Parameters
    ----------
    workload
        The public marginal tables.
    caps
        The public limits of the query book.
    epsilon, delta
        The budget for the people in the data; delta above 0.
    neighbours
        The change of the data that is hidden.
    fineness
        As in `ResidualMarginals`; only audits want it coarse.
    """

    tables: ResidualMarginals | Independent

    def __init__(
        self,
        *,
        workload: Marginals,
        caps: Caps,
        epsilon: checks.Number,
        delta: checks.Number,
        neighbours: Neighbours,
        fineness: int = FINENESS,
    ) -> None:
        fixed: Marginals = checks.instance(Marginals, workload=written_down(workload))
        universe = fixed.universe
        universe.require_dense()
        self._set_public(universe=universe, caps=caps, epsilon=epsilon, delta=delta, neighbours=neighbours)
        public: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours}
        checks.probability(delta=delta)
        if fixed.sets == (universe.axes(universe.names),):
            self._set(tables=Independent(workload=fixed, **public))
            return
        weights = [Fraction(1, math.prod(universe.shape[a] for a in axes)) for axes in fixed.sets]
        self._set(tables=ResidualMarginals(workload=fixed, weights=weights, fineness=fineness, **public))

    @property
    def deviation(self) -> float:
        """The largest standard deviation of a cell of the public tables, rounded up."""
        if isinstance(self.tables, Independent):
            return math.sqrt(variance(self.tables.noise))
        names = self.universe.names
        sets = [[names[axis] for axis in axes] for axes in self.tables.workload.sets]
        return max(self.tables.deviation(each) for each in sets)

    @property
    def loss(self) -> Loss:
        """That of the measured tables."""
        return self.tables.loss

    def error(self, beta: checks.Number) -> float:
        """Bound the largest error of all cells of the one public table, where the rows are counted.

        The nearest weights that add up to the rows are the noisy cells less one number, or zero. If no noise
        exceeds t that number is between -t and t, or the sum would be too small or too large.

        Raises
        ------
        NoBound
            Where weights are fitted to several tables, or the number of rows is noisy too.
        """
        bound = self.measured_error(beta)
        if isinstance(self.tables, Independent) and isinstance(self.neighbours, Replace):
            return 2 * bound
        raise NoBound(
            what="the answers of weights that are fitted to noisy tables",
            why="how far they are from the tables depends on the data and the noise",
            way_out="Use PrivateAnswers, whose bound is exact; measured_error is about the tables themselves",
        )

    def measured_error(self, beta: checks.Number) -> float:
        """Bound the largest noise of all cells of the public tables, but for a probability beta."""
        return self.tables.error(beta)

    def _draw(self, data: QueriesAndData, rng: Rng) -> Delivery:
        asked = self._check(data)
        tables = self.tables.release(asked.histogram, rng=rng).value
        rows = asked.histogram.total if isinstance(self.neighbours, Replace) else None
        shared = FittedWeights(tables, rows=rows, close=True)
        return Delivery(shared, tuple((name, ()) for name in asked.book.names))


@dataclass(frozen=True, slots=True, init=False, repr=False)
class PrivateAnswers(Apart):
    """Answer every query by itself, with noise for as many queries as the caps allow.

    Privacy: (epsilon, delta) for one row: Laplace noise, or Gaussian where it is less. Nothing between
    analysts: the noise depends on the caps and not on who asked how much.
    Accuracy: error(beta) is the exact quantile of the largest of all noises.
    Time: O(places of the book).

    Parameters
    ----------
    universe
        What all queries are over.
    caps, epsilon, delta, neighbours
        As in `PublicSynopsis`; delta may be 0.
    """

    noise: Joint

    def __init__(
        self,
        *,
        universe: Universe,
        caps: Caps,
        epsilon: checks.Number,
        delta: checks.Number,
        neighbours: Neighbours,
    ) -> None:
        self._set_public(universe=universe, caps=caps, epsilon=epsilon, delta=delta, neighbours=neighbours)
        noise = smallest_noise(
            shift=self.caps.places,
            square=self.caps.places,
            size=self.caps.places,
            epsilon=self.epsilon,
            delta=self.delta,
            neighbours=self.neighbours,
        )
        self._set(noise=noise)

    @property
    def loss(self) -> Loss:
        """The curve of the noise: one row moves every count by at most one."""
        return self.noise.loss

    def error(self, beta: checks.Number) -> float:
        """Return the exact quantile of the largest error among all places."""
        return self.noise.error(beta)

    def _draw(self, data: QueriesAndData, rng: Rng) -> Delivery:
        asked = self._check(data)
        counts = np.zeros(self.caps.places, dtype=np.int64)
        for page in asked.book.pages():
            counts[page.places] = page.queries.answers(asked.histogram)
        # Empty places get noise too, and are sent to nobody.
        noisy = np.ravel(self.noise.release(counts, rng=rng).value)
        pages = {name: asked.book.page(name) for name in asked.book.names}
        private = tuple(
            (name, () if page is None else leftovers(page.places, noisy[page.places]))
            for name, page in pages.items()
        )
        return Delivery(Nothing(self.universe), private)


@dataclass(frozen=True, slots=True, init=False, repr=False)
class SeparateBudgets(Apart):
    """Learn a hypothesis for each analyst, from his own queries, on a budget of his own.

    Privacy: (epsilon, delta) for one row, in equal parts of zCDP. Nothing between analysts: what one
    receives is made of the data, his own queries and public facts.
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

    rows: int
    rounds: int

    def __init__(
        self,
        *,
        universe: Universe,
        caps: Caps,
        rows: int,
        epsilon: checks.Number,
        delta: checks.Number,
        rounds: int = ROUNDS,
        neighbours: Neighbours,
    ) -> None:
        checks.instance(Universe, universe=universe).require_dense()
        self._set_public(universe=universe, caps=caps, epsilon=epsilon, delta=delta, neighbours=neighbours)
        self._set(rows=checks.integer(1, rows=rows), rounds=checks.integer(1, rounds=rounds))
        checks.probability(delta=delta)
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
            (name, self._learnt(asked, name, rng))
            for name in track(names, total=len(names), label="learning")
        )
        return Delivery(Nothing(self.universe), private)

    def _learnt(self, asked: QueriesAndData, name: str, rng: Rng) -> tuple[Leftover, ...]:
        page = asked.book.page(name)
        if page is None:
            return ()
        learnt = self.learner(page.queries).release(asked.histogram, rng=rng).value
        return leftovers(page.places, learnt.answers(page.queries))


@lru_cache(maxsize=64)
def _share(epsilon: Fraction, delta: Fraction, analysts: int) -> Fraction:
    """Return the epsilon at which one of some equal parts of rho is spent."""
    rho = zcdp_rho(epsilon=epsilon, delta=delta) / analysts
    share = shorten_down(
        Fraction(down(Fraction(ZCDPLoss(rho).epsilon(delta)))) * (1 - Fraction(1, 10**6)), 12
    )
    if zcdp_rho(epsilon=share, delta=delta) > rho:
        raise InternalError("an analyst's share costs more than its part of the budget")
    return share


_BUDGET: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "neighbours": Replace("row")}
_CAPS = Caps(analysts=2, queries=1)
_COINS = book_of(COIN, _CAPS, {"first": [HEADS], "second": [TAILS]})
_EACH, _BOTH = Marginals(COIN, [["x"]]), Marginals(COIN, [["x"], []])
_LOUD: dict[str, Any] = {"epsilon": 4, "delta": Fraction(1, 100), "neighbours": Replace("row")}


@lru_cache(maxsize=1)
def _pairs(universe: Universe) -> Marginals:
    return Marginals(universe, all_marginals(universe, 2)[0])


def _example(kind: Any, **given: Any) -> tuple[Apart, QueriesAndData]:
    asked: QueriesAndData = QUERY_GAME.example()[1]
    return kind(caps=asked.book.caps, **_BUDGET, **given), asked


def _synopsis_example() -> tuple[Apart, QueriesAndData]:
    return _example(PublicSynopsis, workload=_pairs(QUERY_GAME.example()[1].book.universe))


def _answers_example() -> tuple[Apart, QueriesAndData]:
    return _example(PrivateAnswers, universe=QUERY_GAME.example()[1].book.universe)


def _budgets_example() -> tuple[Apart, QueriesAndData]:
    universe = QUERY_GAME.example()[1].book.universe
    return _example(SeparateBudgets, universe=universe, rows=2000, rounds=3)


def _synopsis_tiny() -> Iterator[Tiny]:
    for workload in (_EACH, _BOTH):
        mechanism = PublicSynopsis(workload=workload, caps=_CAPS, **_LOUD, fineness=1)
        yield Tiny(mechanism, tiny_data(_COINS, 2))


def _answers_tiny() -> Iterator[Tiny]:
    for delta in (0, Fraction(1, 100)):
        mechanism = PrivateAnswers(universe=COIN, caps=_CAPS, **_LOUD | {"delta": delta})
        yield Tiny(mechanism, tiny_data(_COINS, 1))


def _budgets_tiny() -> Iterator[Tiny]:
    # The second analyst is silent, and his share stays unused: two hypotheses are too much to enumerate.
    mechanism = SeparateBudgets(
        universe=COIN, caps=_CAPS, rows=2, rounds=1, epsilon=3, delta=0.01, neighbours=Replace("row")
    )
    yield Tiny(mechanism, tiny_data(book_of(COIN, _CAPS, {"first": [HEADS], "second": []}), 2), tight=False)


CARDS = (
    Card(
        name="public-synopsis",
        family="analysts",
        title="One synopsis of a public workload for all analysts, who learn nothing of each other",
        theorem="(epsilon, delta) for one row, and (0, 0) between analysts",
        reference="[HRU13] Section 1; [XHZK23]",
        example=_synopsis_example,
        tiny=_synopsis_tiny,
    ),
    Card(
        name="private-answers",
        family="analysts",
        title="Independent noise for as many queries as the caps allow, each sent to its owner alone",
        theorem="(epsilon, delta) for one row, and (0, 0) between analysts",
        reference="[HRU13] Section 1; [DR14] Theorems 3.6 and 3.22",
        example=_answers_example,
        tiny=_answers_tiny,
    ),
    Card(
        name="separate-budgets",
        family="analysts",
        title="A hypothesis for each analyst, learnt on a share of the budget",
        theorem="(epsilon, delta) for one row, and (0, 0) between analysts",
        reference="[HRU13] Section 1; [DR14] Section 4.2",
        example=_budgets_example,
        tiny=_budgets_tiny,
    ),
)
