"""The small database mechanism: the best of all small databases, chosen privately."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Exact, MaybeExact, Public, derived, frozen, public
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_down, up
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.queries.written import write_workload
from discreet.query_release.base import WorkloadRelease, most_apart
from discreet.query_release.explicit.small_database_candidates import SmallDatabases, read_candidates
from discreet.query_release.explicit.small_database_size import size_for, span
from discreet.query_release.linear.weight_grid import on_grid, sensitivity_of
from discreet.query_release.synopses.synopsis import Weights

_LARGEST = 1 << 61

CHOICES = ("permute-and-flip", "exponential")


@frozen
class SmallDatabase(WorkloadRelease):
    """Score every small database by its worst answer and choose one; scaled up, it answers the workload.

    Privacy: (epsilon, 0). [Roth10] Theorem 4, with permute-and-flip in place of the exponential mechanism;
    where the number of rows is private, it is released first and paid for.
    Accuracy: error(beta) bounds the error of all answers together. [Roth10] Theorem 4.
    Time: O(candidates x queries), up to 10^7 candidates.

    Parameters
    ----------
    workload
        The queries. Weights that are not whole need a `grid`.
    epsilon
        The budget of one release.
    rows
        With `Replace` the public number of rows. With `AddRemove` a public bound on it: only the error is
        stated for it.
    size
        How many rows a small database has; `for_accuracy` finds one.
    grid
        The unit that weights are rounded to. The queries are public, so this costs accuracy only.
    candidates
        Small databases that were chosen without looking at the data; every one of the size where left out.
    choice
        "permute-and-flip", or the source's "exponential", which composes better.
    neighbours
        `Replace` or `AddRemove`.
    """

    delta: Exact = derived()
    rows: int = public(checks.integer, 1)
    size: Public[int | None, int] = public(checks.integer, 1, default=None)
    grid: MaybeExact = public(checks.positive, default=None)
    candidates: Public[SmallDatabases | None, SmallDatabases] = public(
        checks.instance, SmallDatabases, default=None
    )
    choice: str = public(checks.one_of, CHOICES, default="permute-and-flip")

    def _complete(self) -> None:
        if (self.size is None) == (self.candidates is None):
            raise InvalidParameter(name="size", rule="given, or else candidates", value=self.size)
        listed = read_candidates(self.candidates, self.workload.universe, size=self.size)
        self._set(delta=Fraction(0), candidates=listed, size=listed.size)
        listed.require_few(len(self.workload))
        if self.rows * self.size * self.whole.largest_weight > _LARGEST:
            raise InvalidParameter(name="rows", rule="such that scores fit 62 bits", value=self.rows)
        if self.shift < 1:
            raise InvalidParameter(name="workload", rule="one that some row changes", value=self.workload)

    @classmethod
    def for_accuracy(cls, accuracy: checks.Number, *, workload: Workload, **public: Any) -> Self:
        """Return the mechanism whose best candidate is within half of a relative accuracy.

        The size is the least that is known to do, from the number of cells, the number of queries, or the VC
        or fat-shattering dimension.
        """
        fixed = write_workload(workload)
        return cls(workload=fixed, size=size_for(fixed, accuracy=accuracy), **public)

    @property
    def whole(self) -> Workload:
        """The workload in whole weights, in units of the grid."""
        return on_grid(self.workload, self.grid)

    @property
    def shift(self) -> int:
        """How many units one row moves one answer."""
        return int(sensitivity_of(self.whole, self.neighbours, math.inf))

    @property
    def _rows_epsilon(self) -> Fraction:
        """The part of epsilon that pays for the number of rows."""
        if isinstance(self.neighbours, Replace):
            return Fraction(0)
        # The error of the number falls as 1 / part, that of the choice as 2 log(candidates) / rest.
        return shorten_down(
            self.epsilon / (1 + Fraction(math.sqrt(2 * math.log(2 * self.candidates.count)))), 6
        )

    @property
    def counting(self) -> Laplace | None:
        """The step that releases the number of rows, where it is private."""
        if isinstance(self.neighbours, Replace):
            return None
        return Laplace(sensitivity=1, epsilon=self._rows_epsilon, neighbours=self.neighbours)

    @property
    def choosing(self) -> PermuteAndFlip | Exponential:
        """The step that chooses a candidate: every score moves by the shift times the candidates' size."""
        kind = PermuteAndFlip if self.choice == "permute-and-flip" else Exponential
        return kind(
            sensitivity=self.shift * self.candidates.size,
            epsilon=self.epsilon - self._rows_epsilon,
            size=self.candidates.count,
            neighbours=self.neighbours,
        )

    @property
    def loss(self) -> Loss:
        """The loss of the choice, and of the number of rows where it is private."""
        if self.counting is None:
            return self.choosing.loss
        return Composed(((self.counting.loss, 1), (self.choosing.loss, 1)))

    def behind(self, beta: checks.Number) -> float:
        """Return how far the worst answer may be behind that of the best candidate, but for beta."""
        unit = Fraction(1) if self.grid is None else self.grid
        return up(Fraction(self.choosing.error(beta)) * unit / self.candidates.size)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: some answer of the workload is off by more with probability at most beta.

        The best candidate's error, how far the choice is behind it, what the number of rows is off by, and
        the rounding of the weights.
        """
        b = checks.probability(beta=beta)
        unit = Fraction(1) if self.grid is None else self.grid
        covered = Fraction(self.candidates.cover(self.whole)) * self.rows * unit * span(self.whole)
        # Half a unit for the true answer, half for the candidate's.
        rounding = Fraction(0) if self.grid is None else self.rows * self.grid
        if self.counting is None:
            bound = up(covered + Fraction(self.behind(b)) + rounding)
        else:
            off = Fraction(self.counting.error(b / 2)) * unit * self.whole.largest_weight
            bound = up(covered + Fraction(self.behind(b / 2)) + off + rounding)
        trivial = up(self.rows * unit * most_apart(self.whole))
        return require_useful(bound, trivial=trivial, what="the answers", way_out=MORE)

    def _draw(self, data: Histogram, rng: Rng) -> Weights:
        counting = self.counting
        histogram = self._histogram(data, rows=self.rows if counting is None else None)
        noisy = self.rows if counting is None else counting.release(histogram.total, rng=rng).value
        total = min(max(int(noisy), 0), self.rows)
        # No answer on at most `rows` rows is larger; cutting off larger ones moves no two further apart.
        largest = self.rows * int(self.whole.largest_weight)
        answers = np.clip(self.whole.answers(histogram), -largest, largest)
        place = int(self.choosing.release(self._scores(answers, total), rng=rng).value)
        cells = self.candidates.cells(place)
        weights = np.bincount(cells, minlength=self.workload.universe.size) * (total / len(cells))
        return Weights(self.workload.universe, weights, transcript=(total, tuple(cells)))

    def _scores(self, answers: Integers, total: int) -> Integers:
        """Return, for every candidate, minus the largest |size * answer - total * its own answer|."""
        columns = _columns(self.whole)
        scaled = answers * self.candidates.size
        scores = np.empty(self.candidates.count, dtype=np.int64)
        start = 0
        blocks = self.candidates.blocks(columns)
        for sums in track(blocks, total=self.candidates.steps(len(answers)), label="candidates"):
            away = np.abs(scaled - total * sums)
            away.max(axis=1, out=scores[start : start + len(sums)])
            start += len(sums)
        return np.negative(scores, out=scores)


@lru_cache(maxsize=8)
def _columns(workload: Workload) -> Integers:
    """Return the weights of all queries, one row a cell."""
    universe = workload.universe
    weights = workload.block(0, len(workload), universe.unravel(np.arange(universe.size)))
    columns = np.ascontiguousarray(weights.T.astype(np.int64))
    columns.flags.writeable = False
    return columns


def _rows(counts: tuple[int, ...]) -> Histogram:
    return Histogram.dense(_COIN, counts)


def _list_replaced(total: int) -> list[tuple[Histogram, Histogram]]:
    """Return all data sets of two cells with their neighbours."""
    return [(_rows((k, total - k)), _rows((k + 1, total - k - 1))) for k in range(total)]


def _list_added(most: int) -> list[tuple[Histogram, Histogram]]:
    """Return small data sets of two cells with one more row in either cell."""
    grid = [(a, b) for a in range(most) for b in range(most - a)]
    return [(_rows((a, b)), _rows(more)) for a, b in grid for more in ((a + 1, b), (a, b + 1))]


def _tiny() -> Iterator[Tiny]:
    for size, choice in ((1, "permute-and-flip"), (2, "permute-and-flip"), (2, "exponential")):
        mechanism = SmallDatabase(
            workload=_HEADS, epsilon=2, rows=6, size=size, neighbours=Replace("row"), choice=choice
        )
        yield Tiny(mechanism, _list_replaced(6))
    private = SmallDatabase(workload=_HEADS, epsilon=8, rows=6, size=2, neighbours=AddRemove("row"))
    yield Tiny(private, _list_added(4))
    for neighbours, pairs in ((Replace("row"), _list_replaced(5)), (AddRemove("row"), _list_added(4))):
        real = SmallDatabase(
            workload=_SPENT, epsilon=6, rows=5, size=2, grid=Fraction(1, 4), neighbours=neighbours
        )
        yield Tiny(real, pairs)


_COIN = Universe([("side", ("heads", "tails"))])
_HEADS = Weighted(_COIN, [(["side"], [1, 0])])
_SPENT = Weighted(_COIN, [(["side"], [1.0, 0.0]), (["side"], [0.3, 0.1])])
_AGES = Universe([("age", range(0, 80, 10))])
_YOUNGER = Prefixes(_AGES, ["age"])
_PEOPLE = (120, 310, 400, 280, 210, 160, 90, 30)

CARD = Card(
    title="Small database mechanism (BLR), for predicates and real-valued linear queries",
    theorem="(epsilon, 0)-differential privacy; all answers within cover + 2 log(candidates) / epsilon",
    reference="[Roth10] Theorems 4 and 31; [BLR08]",
    example=lambda: (
        SmallDatabase(workload=_YOUNGER, epsilon=1, rows=1600, size=5, neighbours=Replace("row")),
        Histogram.dense(_AGES, _PEOPLE),
    ),
    tiny=_tiny,
)
