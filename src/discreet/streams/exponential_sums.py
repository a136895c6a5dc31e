"""The square root of summation, written as a short sum of decaying powers.

A running sum of T numbers is the Toeplitz matrix A of ones. Its square root has the coefficients
f_t = binomial(2 t, t) / 4^t, and noise behind that root errs least [HUU23, FHU23]. Since

    f_t = (1 / pi) * integral over s of exp(-t v) * v / sqrt(exp(v) - 1) ds,    v = exp(s),

and the integrand is smooth in s, the trapezoidal rule with a few points a decade gives weights w_i and rates
r_i with f_t close to c_t = sum_i w_i r_i^t for every t < T, so that O(log T) numbers remember all that is
needed. C need not be the root for privacy or for unbiased answers: the answers use the exact inverse A C^-1,
which is such a sum too. Only the error depends on how close it comes. The slowest power remembers T steps and
stands for all that would be slower: then coefficients fall a little faster near the end, the typical error is
about a hundredth below the root's, and the largest at most 1.007 times as large, at every T.
"""

from __future__ import annotations

import decimal
import itertools
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core.rounding import above

Floats = NDArray[np.float64]

RATE_BITS = 60
WEIGHT_BITS = 40
_ABOVE, _STEP = map(Decimal, ("0.5", "2.3"))  # behind 0 the rule ends, and how far its points are apart
_BELOW = Decimal("6")  # so far before log(1 / T) the rule begins for a perturbed root
_FORGOTTEN = 3  # what falls by e every n steps is nearly gone after so many times n
_POWER, _BEGINS = map(Decimal, ("0.6", "2.5"))  # of the logarithm that a perturbed root is divided by
_SAME_EVERYWHERE = decimal.Context(
    prec=50, rounding=decimal.ROUND_HALF_EVEN, traps=[decimal.InvalidOperation, decimal.DivisionByZero]
)
"""Floats differ in their last digits from one processor to another, and a counter goes on with the very same
coefficients only: these are worked out in decimals, which do not."""

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


@dataclass(frozen=True, eq=False)
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
    with decimal.localcontext(_SAME_EVERYWHERE):
        fall, steps, lost = Decimal(decay.numerator) / decay.denominator, Decimal(horizon), 1 - decay
        if lost:  # exactly: rounded, next to nothing would be nothing
            steps = min(steps, Decimal(_FORGOTTEN * lost.denominator) / lost.numerator)
        points = _choose_points(-steps.ln())
        heights = [_root_at(point) for point in points]
        heights[0] /= 1 - ((points[0] - points[1]) / 2).exp()  # and all before, which fall like e^(s / 2)
        return _add_up(points, heights, fall)


@lru_cache(maxsize=64)
def make_perturbed_encoder(horizon: int) -> ExponentialSum:
    """Return coefficients that fall faster than the root's, by a power of the logarithm of how far back.

    With a power above 1/2 their squares have a sum however long the stream: noise for the end of a long one
    is hardly more than for a short one. The exponent and where the logarithm begins were chosen so that the
    largest ratio to the deviation behind the root that knows the end is small, from 16 steps to 2^26.
    """
    with decimal.localcontext(_SAME_EVERYWHERE):
        points = _choose_points(-Decimal(horizon).ln() - _BELOW)
        heights = []
        for point in points:
            back = (1 + (-point).exp()).ln()  # log(1 + 1 / v): a power with the speed v remembers 1 / v steps
            heights.append(_root_at(point) / (_POWER * (_BEGINS + back).ln()).exp())
        return _add_up(points, heights, Decimal(1))


def _choose_points(low: Decimal) -> list[Decimal]:
    gaps = math.ceil((_ABOVE - low) / _STEP)
    return [low + (_ABOVE - low) * place / gaps for place in range(gaps + 1)]


def _root_at(point: Decimal) -> Decimal:
    speed = point.exp()
    return speed / (speed.exp() - 1).sqrt()


def _add_up(points: list[Decimal], heights: list[Decimal], decay: Decimal) -> ExponentialSum:
    total, rates = sum(heights), [(-point.exp()).exp() * decay for point in points]
    return ExponentialSum(
        tuple(max(1, math.floor(rate * (1 << RATE_BITS))) for rate in rates),
        tuple(max(1, round(height / total * (1 << WEIGHT_BITS))) for height in heights),
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
