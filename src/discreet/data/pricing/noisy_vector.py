"""One noisy number a group, and between what the true one lies."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from discreet.core.errors import InternalError
from discreet.data.plan.row_nodes import Span
from discreet.data.pricing.budget import Vector
from discreet.data.pricing.ratios import LaplaceNumber
from discreet.noise import DiscreteLaplace


@dataclass(frozen=True, slots=True)
class NoisyVector:
    """A measured vector: one noisy number a group."""

    vector: Vector
    values: tuple[int, ...]

    def point(self, place: int) -> Fraction:
        """Return the best guess of the true number: the middle of what the dropped digits leave open."""
        size = 1 << self.vector.dropped
        return Fraction(self.values[place] * size) + Fraction(size - 1, 2)

    def box(self, place: int, beta: float) -> Span:
        """Return between which numbers the true one lies, but for probability beta.

        A group that a threshold let through has noise that helped it to be there. So its lower end is where
        the threshold itself is: each group is below it with a probability that delta has paid for.
        """
        size, reach = 1 << self.vector.dropped, self.vector.noise.reach(beta)
        below = reach if self.vector.threshold is None else max(reach, self.vector.threshold - 2)
        low, high = self.values[place] - below, self.values[place] + reach
        return low * size, high * size + size - 1

    @property
    def is_laplace(self) -> bool:
        """Whether each number is uncertain by Laplace noise alone, of declared groups.

        Of noise of less than a step, what whole numbers leave open says more than a continuous law does.
        """
        noise = self.vector.noise
        return isinstance(noise, DiscreteLaplace) and self.vector.cells is not None and noise.scale >= 1

    def laplace(self, place: int) -> LaplaceNumber:
        """Return a number with what it is uncertain by, where that is Laplace noise alone."""
        noise, size = self.vector.noise, 1 << self.vector.dropped
        if not isinstance(noise, DiscreteLaplace):
            raise InternalError("other noise has other intervals")
        # The noise is in steps of this size too, so a continuous one is less than that away, and not than 1.
        return LaplaceNumber(self.values[place] * size, noise.scale * size, 2 * (size - 1))
