"""Projection: noise on every query, then the nearest answers that some data set could give."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InternalError, InvalidParameter, NeighboursMismatch
from discreet.core.fixed import Integers
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import Exact, MaybeExact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, shorten_up
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.noise import AddNoise, DiscreteLaplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.query_release.explicit.projection_base import ProjectedRelease, laplace_deviation
from discreet.query_release.linear.joint_noise import gaussian_noise
from discreet.query_release.linear.tails import gaussian_length, gaussian_tail, laplace_tail
from discreet.query_release.linear.weight_grid import sensitivity_of


@frozen
class PrintedProjection(ProjectedRelease):
    """The K-projected Laplace mechanism with the book's constants; see `Projection.as_printed`.

    Privacy: (epsilon, delta) for predicates and a public number of rows. [DR14] Theorem 12.7.
    Accuracy: root_mean_square(beta). [DR14] Theorem 12.8.
    Time: some hundred passes over universe and workload.
    """

    delta: Exact = public(checks.probability)
    grid: MaybeExact = derived()

    def _complete(self) -> None:
        self._set(grid=None)
        ProjectedRelease._complete(self)  # noqa: SLF001 - its own base
        if not self.is_public:
            raise NeighboursMismatch(
                f"the book's projection uses the number of rows, which {self.neighbours} is to hide. "
                "Use Projection(...), which pays for it, or Replace('row')"
            )
        if not self.workload.is_predicates:
            raise InvalidParameter(name="workload", rule="of predicates", value=self.workload)
        if not self.guarantee.implies(epsilon=self.epsilon, delta=self.delta):
            raise InternalError(f"{self!r} does not keep its promise")

    @property
    def scale(self) -> Fraction:
        """The scale of the noise: sqrt(8 k ln(1 / delta)) / epsilon, rounded up."""
        root = above(math.sqrt(8 * len(self.workload) * -math.log(self.delta)), steps=8)
        return shorten_up(Fraction(root) / self.epsilon, 12)

    @property
    def loss(self) -> Loss:
        """As many steps as one row can change answers, each by the most that it changes one."""
        most, moved = (int(sensitivity_of(self.workload, self.neighbours, norm)) for norm in (math.inf, 1))
        return Composed(((DiscreteLaplaceLoss(most, self.scale), min(moved, len(self.workload))),))

    @property
    def body(self) -> str:
        """The image of all weights whose sizes add up to at most the number of rows."""
        return "ball"

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, rounded up."""
        return laplace_deviation(self.scale)

    def _tail(self, square: float, largest: float, count: int, beta: Fraction) -> float:
        return laplace_tail(self.scale, square, largest, count, beta)

    def _add_noise(self, numbers: Integers, rng: Rng) -> Integers:
        moved = sensitivity_of(self.workload, self.neighbours, 1)
        return np.asarray(rng.perform(AddNoise(DiscreteLaplace(self.scale), moved), numbers))


@frozen
class Projection(ProjectedRelease):
    """Add noise to every answer, calibrated for all together, and project onto what data sets can answer.

    Privacy: (epsilon, delta) with Gaussian noise, or (epsilon, 0) with Laplace noise. [DR14] Theorem 12.7
    where the number of rows is public; where it is private, it is one more noisy number.
    Accuracy: root_mean_square(beta). [DR14] Theorem 12.8.
    Time: some hundred passes over universe and workload; no matrix is made.

    Parameters
    ----------
    workload
        The queries. Weights that are not whole need a `grid`.
    epsilon, delta
        The budget of one release. Where delta is 0 the noise is Laplace noise.
    rows
        With `Replace` the public number of rows. With `AddRemove` a public bound on it.
    grid
        The unit that weights are rounded to. The queries are public, so this costs accuracy only.
    neighbours
        `Replace` or `AddRemove`.
    """

    @staticmethod
    def as_printed(**public: Any) -> PrintedProjection:
        """Return Algorithm 18 as printed, for comparison: more noise, and a body twice as large."""
        return PrintedProjection(**public)

    @property
    def noise(self) -> Gaussian | Laplace:
        """The step that meets the data, in units of the grid; a private number of rows is one more number."""
        more = 0 if self.is_public else 1
        size = len(self.workload) + more
        if self.delta == 0:
            return Laplace(
                sensitivity=sensitivity_of(self.whole, self.neighbours, 1) + more,
                epsilon=self.epsilon,
                size=size,
                neighbours=self.neighbours,
            )
        far = sensitivity_of(self.whole, self.neighbours, 2)
        # The square is a whole number: the root that was rounded up is a hair above it.
        square = math.floor(far * far * (1 + Fraction(1, 10**15))) + more
        return gaussian_noise(
            square=square, size=size, epsilon=self.epsilon, delta=self.delta, neighbours=self.neighbours
        )

    @property
    def loss(self) -> Loss:
        """The loss of the noise: the projection never sees the data."""
        return self.noise.loss

    @property
    def body(self) -> str:
        """The image of all non-negative weights with the right sum."""
        return "simplex"

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise in units of the grid, rounded up."""
        noise = self.noise
        return noise.sigma if isinstance(noise, Gaussian) else laplace_deviation(noise.scale)

    def _tail(self, square: float, largest: float, count: int, beta: Fraction) -> float:
        noise = self.noise
        if isinstance(noise, Gaussian):
            return gaussian_tail(noise.variance, square, count, beta)
        return laplace_tail(noise.scale, square, largest, count, beta)

    def _length(self, beta: Fraction) -> float:
        noise = self.noise
        if isinstance(noise, Gaussian):
            return gaussian_length(noise.variance, len(self.workload), beta)
        return ProjectedRelease._length(self, beta)  # noqa: SLF001 - its own base

    def _add_noise(self, numbers: Integers, rng: Rng) -> Integers:
        return np.atleast_1d(
            self.noise.release(numbers if numbers.size > 1 else int(numbers[0]), rng=rng).value
        )


def _tiny() -> Iterator[Tiny]:
    one = Weighted(_COIN, [(["side"], [1, 0])])
    heads = [Histogram.dense(_COIN, (k, 3 - k)) for k in range(4)]
    replaced = list(itertools.pairwise(heads))
    added = [(Histogram.dense(_COIN, (1, 1)), Histogram.dense(_COIN, more)) for more in ((2, 1), (1, 2))]
    hidden: dict[str, Any] = {"rows": 3, "neighbours": Replace("row")}
    yield Tiny(Projection(workload=one, epsilon=2, delta=0, **hidden), replaced)
    yield Tiny(Projection(workload=one, epsilon=2, delta=1e-3, **hidden), replaced)
    both = Projection(workload=one, epsilon=6, delta=0, rows=3, neighbours=AddRemove("row"))
    yield Tiny(both, added)
    yield Tiny(Projection.as_printed(workload=one, epsilon=6, delta=1e-2, **hidden), replaced)


_COIN = Universe([("side", ("heads", "tails"))])
_SURVEY = Universe([("sex", ("f", "m")), ("age", (20, 40, 60)), ("smokes", (False, True))])
_TABLES = Marginals.of_order(_SURVEY, 2)

CARD = Card(
    title="Projected Laplace and Gaussian mechanism",
    theorem="(epsilon, delta)-differential privacy; squared error 2 n sigma sqrt(2 ln(2 cells / beta) / k)",
    reference="[DR14] Algorithm 18, Theorems 12.7 and 12.8",
    example=lambda: (
        Projection(workload=_TABLES, epsilon=1, delta=1e-6, rows=1000, neighbours=Replace("row")),
        Histogram.dense(_SURVEY, (110, 40, 140, 50, 130, 30, 90, 60, 120, 70, 120, 40)),
    ),
    tiny=_tiny,
)
