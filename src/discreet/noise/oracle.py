"""Exact samplers on Python integers, one draw at a time.

The reference every fast sampler is compared with, and the way out when a parameter is too large for
64-bit words. Rational parameters, no floats, no tables. Algorithms of [CKS20], sections 5.1 to 5.3.
"""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.core.rng import Rng


def uniform_below(bound: int, rng: Rng) -> int:
    """Draw a uniform integer in [0, bound) by rejection."""
    bits = (bound - 1).bit_length()
    while True:
        draw = rng.bits(bits) if bits else 0
        if draw < bound:
            return draw


def bernoulli(p: Fraction, rng: Rng) -> bool:
    """Return True with probability p."""
    return uniform_below(p.denominator, rng) < p.numerator


def bernoulli_exp(x: Fraction, rng: Rng) -> bool:
    """Return True with probability exp(-x), x >= 0."""
    whole, over = divmod(x.numerator, x.denominator)
    for _ in range(whole):
        if not _bernoulli_exp_unit(1, 1, rng):
            return False
    return _bernoulli_exp_unit(over, x.denominator, rng)


def _bernoulli_exp_unit(over: int, under: int, rng: Rng) -> bool:
    """Return True with probability exp(-over / under), 0 <= over <= under."""
    k = 1
    while uniform_below(under * k, rng) < over:
        k += 1
    return k % 2 == 1


def geometric(scale: Fraction, rng: Rng) -> int:
    """Draw g >= 0 with probability proportional to exp(-g / scale)."""
    t, s = scale.numerator, scale.denominator
    while True:
        u = uniform_below(t, rng)
        if _bernoulli_exp_unit(u, t, rng):
            break
    v = 0
    while _bernoulli_exp_unit(1, 1, rng):
        v += 1
    return (u + t * v) // s


def discrete_laplace(scale: Fraction, rng: Rng) -> int:
    """Draw z with probability proportional to exp(-|z| / scale)."""
    while True:
        negative, magnitude = rng.bits(1), geometric(scale, rng)
        if not (negative and magnitude == 0):
            return -magnitude if negative else magnitude


def discrete_gaussian(variance: Fraction, rng: Rng) -> int:
    """Draw z with probability proportional to exp(-z^2 / (2 variance))."""
    t = math.isqrt(variance.numerator // variance.denominator) + 1
    while True:
        y = discrete_laplace(Fraction(t), rng)
        if bernoulli_exp((abs(y) - variance / t) ** 2 / (2 * variance), rng):
            return y
