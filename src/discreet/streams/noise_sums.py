"""The law of a sum of independent noises: its variance, and bounds on its tails.

Sums of m discrete Laplace noises have an exact tail. With q = e^(-1/scale) and p = 1 - q they have the
generating function (p^2 / ((1 - q z)(1 - q / z)))^m, of which the pole at 1/q tells all that is not negative.
There, with w = 1 - q z, the other factor is (1 + q^2 / (1 - q^2 - w))^m: its coefficients g[k] are positive,
so that P[S >= x] is the sum over i = 1 .. m of p^(2 m - i) g[m - i] P[N(i) >= x], with N(i) the number of
units before the i-th stop, negative binomial.

A sum of m discrete Gaussian noises of variance v is nearly one of variance m v: adding one noise multiplies
no probability by more than (1 + r) / (1 - r) where r = 2 e^(-pi^2 v) / (1 - e^(-pi^2 v)), by Poisson's
formula for the harmonic mean of the variances, which is at least v / 2. Its tail is at most the continuous
one a unit nearer [CKS20, Proposition 25].
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InternalError
from discreet.core.rounding import above, down, up
from discreet.core.search import first_integer
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise
from discreet.noise.tails import laplace_variance

_LEAST = 1e-300  # a variance below it is rounded up to it, so that its inverse is a number
_FASTEST = 1e6  # a noise of this rate is 0 but for a probability of e^-1000000
_SLACK = 1 + 1e-9  # far above what the floats below are off by


def noise_variance(noise: Noise) -> float:
    """Return the variance of one draw in units: rounded up, and of Gaussians never too small."""
    if isinstance(noise, DiscreteLaplace):
        return above(max(_LEAST, laplace_variance(noise.scale)), steps=8)
    if isinstance(noise, DiscreteGaussian):
        return up(noise.variance)  # [CKS20, Corollary 9]
    raise InternalError(f"no variance is known of {noise!r}")


def _rate(noise: DiscreteLaplace) -> float:
    """Return one over the scale; less, which is more noise, where there is hardly any."""
    return min(_FASTEST, float(1 / noise.scale))


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
            rate = _rate(self.noise)
            return min(1.0, StopsMixture(rate, _mix(rate, self.times)).beyond(alpha))
        variance = down(getattr(self.noise, "variance"))  # noqa: B009 - one of two laws
        wave = math.exp(-(math.pi**2) * variance)
        r = 2 * wave / (1 - wave)
        spread = math.sqrt(2 * self.variance)
        close = ((1 + r) / (1 - r)) ** (self.times - 1) * math.erfc(alpha / spread)
        return min(1.0, min(close, 2 * math.exp(-(((alpha + 1) / spread) ** 2))) * _SLACK)


@dataclass(frozen=True, eq=False)
class StopsMixture:
    """What sums of discrete Laplace noises have above any number, added up over any number of sums."""

    rate: float
    parts: NDArray[np.float64]
    """How much of N(1), N(2), ... there is."""

    def beyond(self, alpha: int) -> float:
        """Return the sum of all P[|S| > alpha]."""
        from scipy import special  # noqa: PLC0415  a server that starts again has no use for it yet

        stops = np.arange(1.0, self.parts.size + 1)
        left = special.betaincc(stops, float(max(0, alpha) + 1), -math.expm1(-self.rate))
        return 2 * float(self.parts @ left) * _SLACK


def _merge(laws: Iterable[tuple[int, ErrorLaw]]) -> Iterator[tuple[int, Any]]:
    """Yield the same laws, with all sums of a discrete Laplace noise as one."""
    merged: dict[float, NDArray[np.float64]] = {}
    for count, law in laws:
        if not isinstance(law, NoiseSum) or not isinstance(law.noise, DiscreteLaplace):
            yield count, law
            continue
        rate = _rate(law.noise)
        held = merged.get(rate, np.zeros(0))
        merged[rate] = np.pad(held, (0, max(0, law.times - held.size)))
        merged[rate][: law.times] += count * _mix(rate, law.times)
    yield from ((1, StopsMixture(rate, parts)) for rate, parts in merged.items())


def find_reach(laws: Iterable[tuple[int, ErrorLaw]], beta: float) -> int:
    """Return the smallest alpha for which the bounds on all of many sums together come to at most beta.

    Parameters
    ----------
    laws
        Laws, each with the number of sums that have it.
    """
    several = list(_merge(laws))

    def holds(alpha: int) -> bool:
        missed: float = sum(count * law.beyond(alpha) for count, law in several)
        return missed <= beta

    return first_integer(holds, low=-1)


@lru_cache(maxsize=1024)
def _mix(rate: float, times: int) -> NDArray[np.float64]:
    """Return what part of the numbers from 0 on that each N(i) has, for i = 1 .. times."""
    from scipy import special  # noqa: PLC0415  a server that starts again has no use for it yet

    factorials = special.gammaln(np.arange(1, 2 * times + 1))

    def choose(n: Any, k: Any) -> Any:
        return factorials[n] - factorials[k] - factorials[n - k]

    i, j = np.arange(1, times + 1), np.arange(1, times + 1)[:, None]
    k = times - i
    # g[k] is the sum over j of C(m, j) C(j + k - 1, k) q^(2 j) / (1 - q^2)^(j + k); for j = 0, 1 at k = 0.
    logs = choose(times, j) + choose(j + k - 1, k) - 2 * rate * j - (j + k) * math.log(-math.expm1(-2 * rate))
    logs = np.vstack([np.where(k == 0, 0.0, -np.inf), logs]) + (2 * times - i) * math.log(-math.expm1(-rate))
    parts: NDArray[np.float64] = np.exp(logs).sum(axis=0)
    return parts
