"""Certified probabilities of the laws: point masses, tails and the reach of one draw.

Bounds are integers in units of 2**-bits with lower <= probability <= upper. Comparisons with a rational
beta are decided by bounds sharp enough to decide them, so `reach` is the true smallest value and not a
rounded one. The only exception is the tail of a discrete Gaussian wider than `SUMMED`, where the sum has
too many terms: there a closed-form bound from above is used, and the reach can only come out larger. A
narrower one is decided by closed forms too where they are far enough from beta, and by the sum elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.core.losses import normal
from discreet.core.rounding import exp_bounds, exp_up
from discreet.core.search import first_integer, narrow
from discreet.noise.ladders import Rung, bell_weights

BITS = 160
"""Enough for 2**-100 with room for every error that is added up."""

SUMMED = 1 << 11
"""Discrete Gaussians with a standard deviation up to this are summed term by term."""

# Sixty digits of pi, cut off: pi lies between _PI and _PI + 10**-59.
_PI = Fraction(314159265358979323846264338327950288419716939937510582097494, 10**59)
_PI_STEP = Fraction(1, 10**59)
_NARROW = 64  # from this variance on the sum of all weights is sqrt(2 pi v) within 2**-1800 of itself
_FASTEST = Fraction(700)  # beyond, floats have no square of sinh
_SLACK = 1e-11  # relative: far above the error of the normal distribution's logarithm in floats


def middle(bounds: Rung, bits: int = BITS) -> Fraction:
    """Return the centre of certified bounds as a probability."""
    return Fraction(bounds[0] + bounds[1], 2 << bits)


@lru_cache(maxsize=128)
def _ratio(scale: Fraction, bits: int) -> tuple[int, int, int]:
    """Return one, and bounds on q = exp(-1 / scale), in units of 2**-bits."""
    return (1 << bits, *exp_bounds(1 / scale, bits))


def laplace_pmf(scale: Fraction, x: int, bits: int) -> Rung:
    """Bound (1 - q) / (1 + q) q^|x|."""
    (one, q_low, q_high), (low, high) = _ratio(scale, bits), exp_bounds(abs(x) / scale, bits)
    return low * (one - q_high) // (one + q_high), high * (one - q_low) // (one + q_low) + 1


def laplace_tail(scale: Fraction, x: int, bits: int) -> Rung:
    """Bound P[X >= x] = q^x / (1 + q), for x > 0."""
    (one, q_low, q_high), (low, high) = _ratio(scale, bits), exp_bounds(x / scale, bits)
    return (low << bits) // (one + q_high), (high << bits) // (one + q_low) + 1


def geometric_tail(scale: Fraction, x: int, bits: int) -> Rung:
    """Bound P[X >= x] = q^x, for x > 0."""
    return exp_bounds(x / scale, bits)


def geometric_pmf(scale: Fraction, x: int, bits: int) -> Rung:
    """Bound (1 - q) q^x, for x >= 0."""
    (one, q_low, q_high), (low, high) = _ratio(scale, bits), exp_bounds(x / scale, bits)
    return low * (one - q_high) >> bits, (high * (one - q_low) >> bits) + 1


@lru_cache(maxsize=512)
def laplace_reach(scale: Fraction, beta: Fraction) -> int:
    """Return the smallest t with 2 q^(t+1) / (1 + q) <= beta."""
    q = math.exp(-min(1 / scale, Fraction(700)))
    guess = _steps(scale, math.log(2 / (1 + q)) - _log(beta))
    return _find_first(lambda t: _at_most(lambda bits: laplace_tail(scale, t + 1, bits), beta / 2), guess)


@lru_cache(maxsize=512)
def geometric_reach(scale: Fraction, beta: Fraction) -> int:
    """Return the smallest t with q^(t+1) <= beta."""
    guess = _steps(scale, -_log(beta))
    return _find_first(lambda t: _at_most(lambda bits: geometric_tail(scale, t + 1, bits), beta), guess)


def gaussian_pmf(variance: Fraction, x: int) -> Rung:
    """Bound the weight of x over the sum of all, in units of 2**-BITS."""
    low, high = exp_bounds(Fraction(x * x) / (2 * variance), BITS)
    total_low, total_high = _gaussian_total(variance)
    return (low << BITS) // total_high, (high << BITS) // total_low + 1


def gaussian_tail(variance: Fraction, x: int) -> Fraction:
    """Return P[X >= x] for x > 0 within 2**-100; from above where the law is wider than SUMMED."""
    if variance > SUMMED**2:
        return min(Fraction(1, 2), Fraction(exp_up(_log_tail(variance, x))))
    return middle(_sum_tail(variance, x, BITS))


@lru_cache(maxsize=512)
def gaussian_reach(variance: Fraction, beta: Fraction) -> int:
    """Return the smallest t with P[|X| > t] <= beta; never too small where the law is wider than SUMMED."""
    log_beta = _log(beta / 2)
    deviation = Fraction(math.isqrt(math.floor(variance * 10**6)), 1000)
    guess = max(0, math.ceil(deviation * Fraction(_normal_quantile(log_beta)) - Fraction(1, 2)))
    if variance > SUMMED**2:
        level = log_beta - _SLACK
        return _find_first(lambda t: _log_tail(variance, t + 1) <= level, guess)

    def holds(t: int) -> bool:
        plain = _compare_by_integrals(variance, t + 1, log_beta)
        return _at_most(lambda bits: _sum_tail(variance, t + 1, bits), beta / 2) if plain is None else plain

    return _find_first(holds, guess)


def _compare_by_integrals(variance: Fraction, x: int, log_beta: float) -> bool | None:
    """Say whether P[X >= x] <= beta where integrals tell it beyond the errors of floats; else None.

    From one standard deviation on the weights are convex. So their sum from x on is at most the integral from
    x - 1/2 on, and at least that from x on plus half the weight at x. The sum of all is sqrt(2 pi v), but for
    a factor that floats do not see where v >= `_NARROW`. Adding thousands of weights is left for what is
    nearer than that: neighbouring x are much further apart.
    """
    if variance < _NARROW or (x - 1) ** 2 <= variance:
        return None
    if _log_tail(variance, x) <= log_beta - _SLACK:
        return True
    deviation = math.sqrt(variance)
    z = x / deviation
    value = normal.log_cdf(-z)
    half = math.exp(-z * z / 2 - value) / (2 * deviation * math.sqrt(2 * math.pi))
    least = value + math.log1p(half) - 2 * _SLACK * (1 + z * z)
    return False if least > log_beta + _SLACK else None


def _sum_tail(variance: Fraction, x: int, bits: int) -> Rung:
    lows, highs = _suffixes(variance, bits)
    place = min(x, len(lows) - 1)
    total_low, total_high = 2 * lows[0] - (1 << bits), 2 * highs[0] - (1 << bits)
    lower = 0 if x >= len(lows) else (lows[place] << bits) // total_high
    return lower, (highs[place] << bits) // total_low + 1


@lru_cache(maxsize=16)
def _suffixes(variance: Fraction, bits: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return bounds on the sums of the weights from x on, x = 0, 1, ..., until nothing is left to see."""
    weights, rest = bell_weights(variance, bits)
    low, high = 0, rest
    lows, highs = [low], [high]
    for weight in reversed(weights):
        low, high = low + weight[0], high + weight[1]
        lows.append(low)
        highs.append(high)
    return tuple(reversed(lows)), tuple(reversed(highs))


@lru_cache(maxsize=128)
def _gaussian_total(variance: Fraction) -> Rung:
    """Bound the sum of all weights in units of 2**-BITS.

    Poisson summation: the sum is sqrt(2 pi v) (1 + 2 sum_k exp(-2 pi^2 v k^2)); for v >= 64 the second
    factor is below 1 + 2**-1800.
    """
    if variance < _NARROW:
        lows, highs = _suffixes(variance, BITS)
        return 2 * lows[0] - (1 << BITS), 2 * highs[0] - (1 << BITS)
    squares = (2 * variance * _PI * 4**BITS, 2 * variance * (_PI + _PI_STEP) * 4**BITS)
    low, high = (math.isqrt(math.floor(square)) for square in squares)
    return low, high + 1 + (high >> 1000)


def _log_tail(variance: Fraction, x: int) -> float:
    """Bound log P[X >= x] from above, for x > 0 and a wide law.

    The sum of all weights is at least sqrt(2 pi v), and each weight is at most the integral over the unit
    interval that ends at x; over the one centred at x where the weight is convex, from one standard
    deviation on.
    """
    centred = (x - 1) ** 2 > variance
    square = Fraction((2 * x - 1 if centred else 2 * x - 2) ** 2, 4) / variance
    value = normal.log_cdf(-math.sqrt(min(square, Fraction(10**300))))
    return value + _SLACK * (1 - value)


def _at_most(bounds: Callable[[int], Rung], beta: Fraction) -> bool:
    """Decide probability <= beta by bounds that are made sharper until they tell."""
    bits = BITS
    while bits < 64 - _log(beta) / math.log(2):  # fixed steps, so that cached sums are met again
        bits *= 2
    while True:
        low, high = bounds(bits)
        level = beta.numerator << bits
        if high * beta.denominator <= level:
            return True
        if low * beta.denominator > level:
            return False
        bits *= 2


def _find_first(holds: Callable[[int], bool], guess: int) -> int:
    """Return the smallest t >= 0 with holds(t), for a condition that stays true, searching from a guess."""
    low, high, step = guess - 1, guess, 1
    while not holds(high):
        low, high, step = high, high + step, 2 * step
    step = 1
    while low >= 0 and holds(low):
        low, high, step = low - step, low, 2 * step
    return first_integer(holds, low=max(low, -1), high=high)


def _steps(scale: Fraction, factor: float) -> int:
    return max(0, math.ceil(scale * Fraction(factor)) - 1)


def _log(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator)


@lru_cache(maxsize=128)
def _normal_quantile(log_p: float) -> float:
    """Return about the z with log Phi(-z) = log_p: only ever a first guess."""
    most = math.sqrt(-2 * log_p) + 1
    return narrow(lambda z: normal.log_cdf(-z) <= log_p, 0.0, most, steps=40)[0]


def laplace_variance(scale: Fraction) -> float:
    """Return the variance of integer Laplace noise, but for rounding; below 10^-303 a bound on it."""
    return 0.5 / math.sinh(float(min(1 / scale, _FASTEST)) / 2) ** 2
