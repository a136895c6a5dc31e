"""Numbers that are rounded outward, never to nearest.

A privacy bound that is 1e-17 too small is a false statement, so floats that state a loss go up and
floats that state what is available go down. ``math.exp`` and ``math.log`` are within one unit in the
last place on every platform we know; we step two.

``exp_bounds`` is the arbitrary-precision workhorse: certified integer bounds on exp(-x) that the
samplers' tables, the selection mechanisms and the exact audits share.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache

from discreet.core.errors import InvalidParameter

_STEPS = 2
_LONGEST = 1024  # bits that a sum is rounded up to where it has twice as many


def up(x: Fraction | float) -> float:
    """Return the smallest float >= x."""
    try:
        nearest = float(x)
    except OverflowError:
        return math.inf if x > 0 else math.nextafter(-math.inf, 0.0)
    if math.isinf(nearest) or math.isnan(nearest) or Fraction(nearest) >= x:
        return nearest
    return math.nextafter(nearest, math.inf)


def down(x: Fraction | float) -> float:
    """Return the largest float <= x."""
    return -up(-x)


def above(x: float, steps: int = _STEPS) -> float:
    """Return x moved up by a few units in the last place."""
    for _ in range(steps):
        x = math.nextafter(x, math.inf)
    return x


def below(x: float, steps: int = _STEPS) -> float:
    """Return x moved down by a few units in the last place."""
    for _ in range(steps):
        x = math.nextafter(x, -math.inf)
    return x


def exp_up(x: float) -> float:
    """Return a float >= exp(x)."""
    return math.inf if x > 709.0 else above(math.exp(x))


def log_down(x: float) -> float:
    """Return a float <= log(x)."""
    return below(math.log(x)) if x > 0 else -math.inf


def sum_up(amounts: Iterable[Fraction]) -> Fraction:
    """Return the sum: exact, unless so many odd denominators meet that it grows too long; then rounded up."""
    total = Fraction(0)
    for amount in amounts:
        total += amount
        if total.denominator.bit_length() > 2 * _LONGEST:
            total = Fraction(math.ceil(total * (1 << _LONGEST)), 1 << _LONGEST)
    return total


def shorten_up(x: Fraction, digits: int = 9) -> Fraction:
    """Return a decimal >= x with a few significant digits, so that integers made from it stay small."""
    if x <= 0:
        raise InvalidParameter(name="x", rule="> 0", value=x)
    exponent = digits - 1 - math.floor(math.log10(x.numerator) - math.log10(x.denominator))
    if exponent < 0:
        unit = 10**-exponent
        return Fraction(-(-x.numerator // (x.denominator * unit)) * unit)
    unit = 10**exponent
    return Fraction(-(-x.numerator * unit // x.denominator), unit)


def shorten_down(x: Fraction, digits: int = 9) -> Fraction:
    """Return a positive decimal <= x with a few significant digits."""
    return 1 / shorten_up(1 / x, digits)


def exp_bounds(x: Fraction, bits: int) -> tuple[int, int]:
    """Return integers with lower <= exp(-x) * 2**bits <= upper and upper - lower <= 2.

    Parameters
    ----------
    x
        Any rational >= 0.
    bits
        Absolute precision of the result.
    """
    if x < 0:
        raise InvalidParameter(name="x", rule=">= 0", value=x)
    if x > bits + 2:  # exp(-x) < 2**-bits, since e > 2
        return 0, 1
    # Halve x until the series converges fast, sum it in fixed point, then square back. Every squaring
    # doubles the error, every term adds one unit: `guard` extra bits keep the total below one unit.
    halvings = max(0, math.ceil(x).bit_length() + 4)
    guard = 2 * halvings + bits.bit_length() + 12
    scale = bits + guard
    one = 1 << scale
    reduced = (x.numerator << scale) // (x.denominator << halvings)  # floor: off by at most one unit
    term, total, k = one, one, 1
    while term:
        term = (term * reduced >> scale) // k
        total += -term if k & 1 else term
        k += 1
    for _ in range(halvings):
        total = total * total >> scale
    error = 1 << (halvings + k.bit_length() + 3)  # far above the accumulated rounding
    lower = max(0, total - error) >> guard
    upper = (total + error >> guard) + 1
    return lower, min(upper, 1 << bits)


@lru_cache(maxsize=4096)
def exp_fraction(x: Fraction, bits: int = 128) -> Fraction:
    """Return exp(-x) as a Fraction within 2**-bits, for exact audits."""
    lower, upper = exp_bounds(x, bits + 4)
    return Fraction(lower + upper, 1 << (bits + 5))
