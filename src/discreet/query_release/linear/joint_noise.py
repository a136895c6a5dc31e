"""One joint noise for many whole numbers, and how far weighted sums of it can be off.

Every linear mechanism of this package measures whole numbers that a row moves by whole steps, all with noise
of one law. A number that deserves less noise is multiplied by a whole number first. So there is one
sensitivity to bound, one law to calibrate, and no rounding anywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.loss import Loss
from discreet.core.neighbours import Neighbours
from discreet.core.parameters import derived, frozen
from discreet.core.rounding import up
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.noise.tails import laplace_variance
from discreet.query_release.base import WorkloadRelease

Joint = Laplace | Gaussian
"""Noise of one law on every number of a vector."""


@frozen
class JointRelease(WorkloadRelease):
    """A release whose estimates are unbiased, and linear in what was measured with noise of one law."""

    noise: Joint = derived()

    @property
    def is_noise_alone(self) -> bool:
        """Yes: the errors are those of the noise."""
        return True

    @property
    def loss(self) -> Loss:
        """The curve of the noise."""
        return self.noise.loss


_JUDGED = Fraction(1, 20)  # the failure probability at which two noises are compared
_SAFETY = 1 + 1e-12  # far above the rounding of the few float operations it covers
_SLOPES = np.linspace(0.001, 0.999, 999)


def gaussian_noise(
    *, square: int, size: int, epsilon: Fraction, delta: Fraction, neighbours: Neighbours
) -> Gaussian:
    """Return Gaussian noise for `size` whole numbers whose squared moves add up to at most `square`."""
    return Gaussian(
        l2_sensitivity=root_up(square), epsilon=epsilon, delta=delta, size=size, neighbours=neighbours
    )


def root_up(square: int) -> Fraction:
    """Return the root of a whole number, or a fraction just above it."""
    root = math.isqrt(square)
    return Fraction(root) if root * root == square else Fraction(math.isqrt(square << 80) + 1, 1 << 40)


@lru_cache(maxsize=64)
def smallest_noise(
    *,
    shift: int,
    square: int,
    size: int,
    epsilon: Fraction,
    delta: Fraction,
    neighbours: Neighbours,
    judge: Callable[[Joint], float] | None = None,
) -> Joint:
    """Return the noise with the smaller error at 95 % confidence; Laplace noise where delta is 0.

    Parameters
    ----------
    shift, square
        What the moves of all `size` numbers, and their squares, add up to at most.
    judge
        What is to be small in place of that error.
    """
    laplace = Laplace(sensitivity=shift, epsilon=epsilon, size=size, neighbours=neighbours)
    if delta == 0:
        return laplace
    gaussian = gaussian_noise(square=square, size=size, epsilon=epsilon, delta=delta, neighbours=neighbours)
    both: list[Joint] = [laplace, gaussian]
    return min(both, key=judge or (lambda noise: noise.error(_JUDGED)))


def variance(noise: Joint) -> float:
    """Return the variance of one noise, in its own units, rounded up."""
    if isinstance(noise, Gaussian):
        return up(noise.variance)  # discrete noise varies less than its parameter says
    return laplace_variance(noise.scale) * _SAFETY


@dataclass(frozen=True, slots=True)
class Spread:
    """Some weighted sums of noise of one law.

    Attributes
    ----------
    sums
        How many there are.
    square, heaviest
        The largest sum of squared weights, and the largest size of a weight, of any of them.
    """

    sums: int
    square: float
    heaviest: float


def sum_error(noise: Joint, beta: Fraction, spread: Spread) -> float:
    """Bound the largest of some weighted sums of the noise, but for a probability beta.

    Notes
    -----
    Markov's inequality for exp(t sum) and a union over both signs of all sums. The logarithm of the mean of
    exp(tz) is at most t^2 variance / 2 for the discrete Gaussian, and -log(1 - t^2 scale^2) for the discrete
    Laplace; -log(1 - x) / x grows with x, so the heaviest weight bounds all terms.
    """
    odds = math.log(up(2 * spread.sums / beta))
    if isinstance(noise, Gaussian):
        return math.sqrt(2 * up(noise.variance) * spread.square * odds) * _SAFETY
    unit = up(noise.scale) * spread.heaviest
    bounds = unit / _SLOPES * (odds - spread.square / spread.heaviest**2 * np.log1p(-(_SLOPES**2)))
    return float(bounds.min()) * _SAFETY
