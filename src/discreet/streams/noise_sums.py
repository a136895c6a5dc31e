"""The law of a sum of independent noises: its variance, and bounds on its tails.

Sums of m discrete Laplace noises have an exact tail. Each is the difference of two geometric numbers, which
are runs of units between stops; units of the two sides cancel one by one until a side has used up its m
stops, and what is left on the other is one unit and the units before its remaining i stops. With u[i] the
probability of ending so, P[S >= x] is the sum over i of u[i] P[N(i) >= x - 1], N(i) negative binomial.

A sum of m discrete Gaussian noises of variance v is nearly one of variance m v: adding one noise multiplies
no probability by more than (1 + r) / (1 - r) where r = 2 e^(-pi^2 v) / (1 - e^(-pi^2 v)), by Poisson's
formula for the harmonic mean of the variances, which is at least v / 2. Its tail is at most the continuous
one a unit nearer [CKS20, Proposition 25].
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InternalError
from discreet.core.rounding import above, down, up
from discreet.core.search import first_integer
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.noise.tails import laplace_variance

_SLACK = 1 + 1e-9  # far above what the floats below are off by


def noise_variance(noise: Noise) -> float:
    """Return the variance of one draw in units: rounded up, and of Gaussians never too small."""
    if isinstance(noise, DiscreteLaplace):
        return above(laplace_variance(noise.scale), steps=8)
    if isinstance(noise, DiscreteGaussian):
        return up(noise.variance)  # [CKS20, Corollary 9]
    raise InternalError(f"no variance is known of {noise!r}")


class ErrorLaw(Protocol):
    """The law of what is wrong with one answer, in units."""

    @property
    def variance(self) -> float:
        """The variance, in squares of units."""

    def beyond(self, alpha: int) -> float:
        """Return a bound on the probability of more than alpha."""


@dataclass(frozen=True, slots=True)
class NoiseSum:
    """The sum of `times` independent draws of one noise, on whole units."""

    noise: Noise
    times: int

    @property
    def variance(self) -> float:
        """The variance, in squares of units."""
        return self.times * noise_variance(self.noise)

    def beyond(self, alpha: int) -> float:
        """Return a bound on P[|S| > alpha]: exact for Laplace noise."""
        if isinstance(self.noise, DiscreteLaplace):
            from scipy import special  # noqa: PLC0415  a server that starts again has no use for it yet

            rate = float(1 / self.noise.scale)
            ends = _ending(rate, self.times)
            left = special.nbdtrc(alpha - 1, np.arange(1, self.times + 1), -math.expm1(-rate))
            tail = float(ends @ np.where(alpha >= 1, left, 1.0))
            return min(1.0, 2 * tail * _SLACK)
        variance = down(getattr(self.noise, "variance"))  # noqa: B009 - one of two laws
        wave = math.exp(-(math.pi**2) * variance)
        r = 2 * wave / (1 - wave)
        spread = math.sqrt(2 * self.variance)
        close = ((1 + r) / (1 - r)) ** (self.times - 1) * math.erfc(alpha / spread)
        return min(1.0, min(close, 2 * math.exp(-(((alpha + 1) / spread) ** 2))) * _SLACK)


def find_reach(laws: Iterable[tuple[int, ErrorLaw]], beta: float) -> int:
    """Return the smallest alpha for which the bounds on all of many sums together come to at most beta.

    Parameters
    ----------
    laws
        Laws, each with the number of sums that have it.
    """
    several = list(laws)

    def holds(alpha: int) -> bool:
        return sum(count * law.beyond(alpha) for count, law in several) <= beta

    return first_integer(holds, low=-1)


@lru_cache(maxsize=256)
def _ending(rate: float, times: int) -> NDArray[np.float64]:
    """Return u: the probability that one side has i stops and a unit left where the other has none."""
    stop, go = -math.expm1(-rate), math.exp(-rate)
    # `run[k]`: k stops and then a unit. Both sides do so until one has no stop left.
    run = go * stop ** np.arange(times + 1)
    visits = np.zeros((times + 1, times + 1))
    visits[times, times] = 1.0
    again = 1 / -math.expm1(-2 * rate)  # rounds in which nobody stops change nothing
    ends = np.zeros(times + 1)
    for i in range(times, 0, -1):
        for j in range(times, 0, -1):
            here = visits[i, j] * again
            if not here:
                continue
            visits[1 : i + 1, 1 : j + 1] += here * np.outer(run[i - 1 :: -1][:i], run[j - 1 :: -1][:j])
            visits[i, j] = 0.0  # counted
            ends[1 : i + 1] += here * run[i - 1 :: -1][:i] * stop**j
    return ends[1:]
