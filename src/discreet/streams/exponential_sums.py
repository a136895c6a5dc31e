"""The square root of summation, written as a short sum of decaying powers.

A running sum of T numbers is the Toeplitz matrix A of ones. Its square root has the coefficients
f_t = binomial(2 t, t) / 4^t, and noise behind that root errs least [HUU23, FHU23]. Since

    f_t = (1 / pi) * integral over s of exp(-t v) * v / sqrt(exp(v) - 1) ds,    v = exp(s),

and the integrand is smooth in s, the trapezoidal rule with a few points a decade gives weights w_i and rates
r_i with f_t close to c_t = sum_i w_i r_i^t for every t < T, so that O(log T) numbers remember all that is
needed. C need not be the root for privacy or for unbiased answers: the answers use the exact inverse A C^-1,
which is such a sum too. Only the error depends on how close it comes: 1.0007 times the root's, at every T.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core.rounding import above

Floats = NDArray[np.float64]

RATE_BITS = 60
WEIGHT_BITS = 40
_BELOW, _ABOVE, _STEP = 6.0, 0.5, 2.3  # where the trapezoidal rule begins and ends around log(1 / T) and 0
_MARGIN = 1e-9  # far above what the floats of a sum of positive terms can be wrong by


@dataclass(frozen=True)
class ExponentialSum:
    """Coefficients sum_i weights[i] * rates[i]^t, exactly: rates in units of 2^-60, weights of 2^-40."""

    rates: tuple[int, ...]
    weights: tuple[int, ...]

    def powers(self, count: int, bits: int) -> list[list[int]]:
        """Return rates[i]^k in units of 2^-bits for k = 0 .. count - 1, each within half a unit."""
        fine = bits + RATE_BITS  # one multiplication after the other loses less than the last half unit
        rows = [[1 << fine] * len(self.rates)]
        for _ in range(count - 1):
            rows.append([x * rate >> RATE_BITS for x, rate in zip(rows[-1], self.rates, strict=True)])
        half = 1 << RATE_BITS - 1
        return [[x + half >> RATE_BITS for x in row] for row in rows]

    def square_norm(self, horizon: int, events: int = 1) -> float:
        """Bound the squared L2 norm of `events` copies, each one step later, within `horizon` steps.

        No other `events` different steps give more: copies overlap less the further they are apart.
        """
        rates, weights = self._floats()
        pairs = np.multiply.outer(weights, weights) * _geometric(self._products(), horizon)
        overlaps = [float(events * pairs.sum())]
        for apart in range(1, min(events, horizon)):
            overlaps.append(float(2 * (events - apart) * (pairs * rates**apart).sum()))
        return above(math.fsum(overlaps) * (1 + _MARGIN))

    def reach(self, horizon: int) -> Floats:
        """Return for each rate the sum of its first `horizon` powers: what ones leave in its buffer."""
        left = np.array([1 - Fraction(rate, 1 << RATE_BITS) for rate in self.rates], dtype=np.float64)
        return _geometric(left, horizon)

    def _floats(self) -> tuple[Floats, Floats]:
        return np.ldexp(self.rates, -RATE_BITS), np.ldexp(self.weights, -WEIGHT_BITS)

    def _products(self) -> Floats:
        """Return 1 - r_i r_j: rounded once, because rates lie close to 1."""
        whole = 1 << 2 * RATE_BITS
        return np.array([[(whole - a * b) / whole for b in self.rates] for a in self.rates])


@dataclass(frozen=True)
class Decoder:
    """From the noisy encoded stream to answers: coefficients first * [t = 0] + sum_i weights_i rates_i^t."""

    first: float
    weights: Floats
    decays: Floats
    """Minus the logarithms of the rates; the slowest is that of the sum itself."""

    def coefficients(self, count: int) -> Floats:
        """Return the first `count` coefficients."""
        values: Floats = np.exp(-np.multiply.outer(np.arange(count), self.decays)) @ self.weights
        values[0] += self.first
        return values

    def square_norms(self, steps: NDArray[np.int64] | Floats | int) -> Floats:
        """Return the sum of the first `steps` squared coefficients, for each entry of `steps`."""
        pairs = np.multiply.outer(self.weights, self.weights)
        left = -np.expm1(-np.add.outer(self.decays, self.decays))
        sums = [float((pairs * _geometric(left, float(count))).sum()) for count in np.ravel(steps)]
        start = self.first**2 + 2 * self.first * float(self.weights.sum())
        return np.reshape(np.array(sums) + start, np.shape(steps))

    def overlap(self, steps: int, apart: int) -> float:
        """Return the sum of the first `steps` products of two coefficients that are `apart` steps apart."""
        pairs = np.multiply.outer(self.weights, self.weights * np.exp(-apart * self.decays))
        left = -np.expm1(-np.add.outer(self.decays, self.decays))
        start = self.first * float(self.weights @ np.exp(-apart * self.decays))
        return float((pairs * _geometric(left, float(steps))).sum()) + start


@lru_cache(maxsize=64)
def make_encoder(horizon: int, decay: Fraction) -> ExponentialSum:
    """Return nearly the root of a sum over `horizon` steps, in which weights fall by `decay` each step."""
    steps = float(horizon) if decay == 1 else min(float(horizon), 1 / float(1 - decay))
    low = -math.log(steps) - _BELOW
    points = np.linspace(low, _ABOVE, 1 + math.ceil((_ABOVE - low) / _STEP))
    speeds = np.exp(points)
    weights = speeds / np.sqrt(np.expm1(speeds))
    weights /= weights.sum()
    rates = np.exp(-speeds) * float(decay)
    return ExponentialSum(
        tuple(max(1, math.floor(math.ldexp(rate, RATE_BITS))) for rate in rates),
        tuple(max(1, round(math.ldexp(weight, WEIGHT_BITS))) for weight in weights),
    )


@lru_cache(maxsize=64)
def invert(encoder: ExponentialSum, decay: Fraction) -> Decoder:
    """Return A C^-1: the partial fractions of 1 / ((1 - decay x) C(x)).

    Since all weights are positive, C(x) = sum_i w_i / (1 - r_i x) has one zero between any two neighbouring
    1 / r_i; its logarithm is searched for, in which neither end is lost to rounding.
    """
    order = np.argsort([-rate for rate in encoder.rates])
    slow = np.array([-math.log(encoder.rates[i] / (1 << RATE_BITS)) for i in order])
    weights = np.array([math.ldexp(encoder.weights[i], -WEIGHT_BITS) for i in order])
    decays = np.array([_zero_between(a, b, slow, weights) for a, b in itertools.pairwise(slow)])
    base = -math.log(float(decay))
    # At x = exp(d): 1 - r_i x = -expm1(d - slow_i), the derivative of C is sum_i w_i r_i / (1 - r_i x)^2.
    gaps = np.expm1(np.subtract.outer(decays, slow))
    slopes = (weights * np.exp(-slow) / gaps**2).sum(axis=1)
    residues = np.exp(-decays) / (np.expm1(decays - base) * slopes)
    at_base = float(1 / (weights / -np.expm1(base - slow)).sum())
    everything = np.array([at_base, *residues])
    first = 1 / float(weights.sum()) - float(everything.sum())
    return Decoder(first, everything, np.array([base, *decays]))


def _zero_between(low: float, high: float, slow: Floats, weights: Floats) -> float:
    """Find the d in between with sum_i w_i / (1 - exp(d - slow_i)) = 0; below it the sum is negative."""
    while low < (middle := (low + high) / 2) < high:
        if float((weights / -np.expm1(middle - slow)).sum()) < 0:
            low = middle
        else:
            high = middle
    return middle


def _geometric(left: Floats, horizon: float) -> Floats:
    """Return the sum of the first `horizon` powers of 1 - left."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sums = -np.expm1(horizon * np.log1p(-left)) / left
    return np.where(left > 0, sums, float(horizon))
