"""Blocks of steps of several sizes: what counters share that answer by adding up noisy sums of them."""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from typing import ClassVar

from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.losses.noise import DiscreteLaplaceLoss
from discreet.core.parameters import frozen
from discreet.mechanisms.gaussian import analytic_variance, discrete_loss
from discreet.mechanisms.laplace import laplace_scale
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.streams.conversation import StreamCounter

MOST_BRANCHING = 64
"""Answers add up one block fewer than this a level, at most: more branches only add noise."""


@frozen
class BlockCounter(StreamCounter):
    """A counter with the same noise on everything: geometric for delta 0, else discrete Gaussian."""

    _bits: ClassVar[int] = 54
    """So many has the deviation of noise at most, in units: sums of noises then stay within 64 bits."""

    def _complete(self) -> None:
        StreamCounter._complete(self)  # noqa: SLF001 - its own base
        noise = self.noise
        square = noise.scale**2 if isinstance(noise, DiscreteLaplace) else noise.variance  # type: ignore[attr-defined]
        if square > 1 << 2 * self._bits:
            raise InvalidParameter(
                name="epsilon",
                rule=f"large enough for noise of at most 2**{self._bits} units of the grid",
                value=self.epsilon,
                hint="Declare a coarser grid, or take a larger epsilon",
            )

    @property
    @abstractmethod
    def total_shift(self) -> int:
        """The L1 sensitivity of all that noise is added to, in units."""

    @property
    @abstractmethod
    def square_shift(self) -> int:
        """The square of its L2 sensitivity."""

    @property
    def noise(self) -> Noise:
        """One noise, in units."""
        if self.delta == 0:
            return DiscreteLaplace(laplace_scale(self.total_shift, self.epsilon))
        return DiscreteGaussian(analytic_variance(Fraction(self.square_shift), self.epsilon, self.delta))

    @property
    def loss(self) -> Loss:
        """The cost of all answers, and of whatever else is covered."""
        noise = self.noise
        if isinstance(noise, DiscreteGaussian):
            return discrete_loss(Fraction(self.square_shift), noise.variance)
        return DiscreteLaplaceLoss(self.total_shift, noise.scale)  # type: ignore[attr-defined]


def count_levels(horizon: int, branching: int = 2) -> int:
    """Return how many blocks of different sizes one step is in, the largest not being the whole stream."""
    levels, reach = 1, branching
    while reach < horizon:
        levels, reach = levels + 1, reach * branching
    return levels


def tally(horizon: int, branching: int, levels: int, count: Callable[[int], int]) -> Counter[int]:
    """Return how many steps add up how many noises: digit by digit, from the top.

    Parameters
    ----------
    count
        How many noises a block of a level has.
    """
    below: list[Counter[int]] = [Counter({0: 1})]  # of all numbers with so many digits
    for level in range(levels - 1):
        more: Counter[int] = Counter()
        for digit in range(branching):
            more.update({noises + digit * count(level): times for noises, times in below[-1].items()})
        below.append(more)
    found, above, left = Counter({0: -1}), 0, horizon  # step 0 is none
    for level in range(levels - 1, -1, -1):
        digits, left = divmod(left, branching**level)
        for digit in range(digits):
            found.update({above + digit * count(level) + n: times for n, times in below[level].items()})
        above += digits * count(level)
    found[above] += 1
    return Counter({noises: times for noises, times in found.items() if times})


def sum_quotients(count: int, length: int) -> int:
    """Return the sum of t // length over t < count."""
    whole, rest = divmod(count, length)
    return length * whole * (whole - 1) // 2 + whole * rest
