"""The K-projected Laplace mechanism as the book prints it."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.arrays import Integers
from discreet.core.errors import InternalError, InvalidParameter, NeighboursMismatch
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.parameters import Exact, MaybeExact, derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, shorten_up
from discreet.noise import AddNoise, DiscreteLaplace
from discreet.query_release.explicit.projection_base import ProjectedRelease, laplace_deviation
from discreet.query_release.linear.tails import laplace_tail
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
