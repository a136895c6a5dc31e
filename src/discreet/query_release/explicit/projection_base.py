"""What both calibrations of the projection share: noisy answers, the projection, and the error theorem."""

from __future__ import annotations

import math
from abc import abstractmethod
from fractions import Fraction
from functools import cached_property

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Integers
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import MaybeExact, frozen, public
from discreet.core.rng import SYSTEM, Rng
from discreet.core.rounding import above, up
from discreet.queries.histogram import Histogram
from discreet.queries.workload import Workload
from discreet.query_release.base import WorkloadRelease, most_apart
from discreet.query_release.fitting.projection_fit import Fit, nearest
from discreet.query_release.linear.weight_grid import on_grid, sensitivity_of
from discreet.query_release.synopses.synopsis import Weights
from discreet.query_release.synopses.synthetic import SyntheticTable

_TOLERANCE = Fraction(1, 100)  # of what noise may do to the squared error


class Projected(Weights):
    """The weights whose answers are nearest to the noisy ones. They are found when first asked for.

    Attributes
    ----------
    noisy
        The released numbers: one a query, in units of the grid.
    total
        The number of rows: public, or released.
    """

    def __init__(
        self, workload: Workload, noisy: tuple[int, ...], *, total: int, body: str, tolerance: float
    ) -> None:
        self.universe, self.noisy = workload.universe, noisy
        self.transcript = (noisy, total)
        self._workload, self._rows, self._body, self._tolerance = workload, total, body, tolerance

    @cached_property
    def fit(self) -> Fit:
        """The weights with their duality gap."""
        target = np.array(self.noisy, dtype=np.float64)
        return nearest(self._workload, target, total=self._rows, body=self._body, tolerance=self._tolerance)

    @cached_property
    def weights(self) -> Array:  # type: ignore[override]
        """The weights over the universe. Those of the ball may be negative."""
        return self.fit.weights.reshape(self.universe.shape)

    @property
    def total(self) -> float:
        """The sum of the weights."""
        return float(self._rows) if self._body == "simplex" else float(self.weights.sum())

    def synthetic(self, rows: int | None = None, *, rng: Rng = SYSTEM) -> SyntheticTable:
        """Return rows in proportion to the positive weights: every cell within one of its share."""
        return SyntheticTable.in_proportion(self.universe, np.maximum(self.weights, 0), rows, rng=rng)


@frozen
class ProjectedRelease(WorkloadRelease):
    """What both calibrations share: noisy answers, the projection, and the error theorem."""

    rows: int = public(checks.integer, 1)
    grid: MaybeExact = public(checks.positive, default=None)

    def _complete(self) -> None:
        self.workload.universe.require_dense()
        if sensitivity_of(self.whole, self.neighbours, 1) < 1:
            raise InvalidParameter(name="workload", rule="one that some row changes", value=self.workload)

    @property
    def whole(self) -> Workload:
        """The workload in whole weights, in units of the grid."""
        return on_grid(self.workload, self.grid)

    @property
    def is_public(self) -> bool:
        """Whether the number of rows is public."""
        return isinstance(self.neighbours, Replace)

    @property
    @abstractmethod
    def body(self) -> str:
        """Where the answers are projected to: the image of the simplex, or of the ball."""

    @property
    @abstractmethod
    def deviation(self) -> float:
        """The standard deviation of the noise in units of the grid."""

    @abstractmethod
    def _tail(self, square: float, largest: float, count: int, beta: Fraction) -> float:
        """Bound `count` sums of noises with coefficients of a given sum of squares and size, but for beta."""

    def _length(self, beta: Fraction) -> float:
        """Bound the L2 length of the noise on all queries, but for beta."""
        queries = len(self.workload)
        return math.sqrt(queries) * self._tail(1.0, 1.0, queries, beta)

    @abstractmethod
    def _add_noise(self, numbers: Integers, rng: Rng) -> Integers:
        """Add the noise: the only step that meets the data."""

    @property
    def tolerance(self) -> float:
        """The duality gap at which the projection stops: a hundredth of what the noise may do."""
        noise, queries = self.deviation, len(self.workload)
        share = min(queries * noise**2, self.rows * noise * math.sqrt(_square_column(self.whole)))
        return float(_TOLERANCE) * share

    def distance(self, beta: checks.Number) -> float:
        """Return a bound on the L2 distance of all answers from the true ones, but for probability beta.

        [DR14] Theorem 12.8 with the constants that its argument gives, or the length of the noise if that is
        shorter: projecting onto a convex body brings nothing further apart.
        """
        b = checks.probability(beta=beta) / (1 if self.is_public else 2)
        square, largest = _square_column(self.whole), float(self.whole.largest_weight)
        room = 2 * self.rows * self._tail(square, largest, self.workload.universe.size, b) + self.tolerance
        queries = len(self.workload)
        plain = self._length(b) + math.sqrt(self.tolerance)
        off = 0.0 if self.is_public else self._tail(1.0, 1.0, 1, b) * math.sqrt(square)
        bounds = ((off + math.sqrt(off * off + 4 * room)) / 2, plain + off)
        unit = 1.0 if self.grid is None else float(self.grid)
        rounding = 0.0 if self.grid is None else self.rows * unit * math.sqrt(queries)
        return above((min(bounds) + off) * unit * (1 + 1e-12) + rounding)

    def root_mean_square(self, beta: checks.Number) -> float:
        """Return a bound on the root of the mean squared error of the answers, but for probability beta."""
        return above(self.distance(beta) / math.sqrt(len(self.workload)))

    def error(self, beta: checks.Number) -> float:
        """Return alpha: some answer is off by more with probability at most beta. See `root_mean_square`."""
        unit = Fraction(1) if self.grid is None else self.grid
        trivial = up(self.rows * unit * most_apart(self.whole))
        return require_useful(self.distance(beta), trivial=trivial, what="the answers", way_out=MORE)

    def _draw(self, data: Histogram, rng: Rng) -> Projected:
        histogram = self._histogram(data, rows=self.rows if self.is_public else None)
        numbers = np.asarray(self.whole.answers(histogram), dtype=np.int64)
        if not self.is_public:
            numbers = np.append(numbers, histogram.total)
        noisy = [int(number) for number in self._add_noise(numbers, rng)]
        # What the noise made of the number of rows is cut off where the public bound ends.
        total = self.rows if self.is_public else min(max(noisy.pop(), 0), self.rows)
        return Projected(self.whole, tuple(noisy), total=total, body=self.body, tolerance=self.tolerance)


def _square_column(workload: Workload) -> float:
    """Return the largest sum of squares of the weights of one cell, rounded up."""
    return up(sensitivity_of(workload, AddRemove("row"), 2) ** 2)


def laplace_deviation(scale: Fraction) -> float:
    """Return the standard deviation of discrete Laplace noise, rounded up."""
    return above(math.sqrt(2) * up(scale), steps=4)
