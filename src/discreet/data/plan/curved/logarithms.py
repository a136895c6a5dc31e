"""Logarithms, exponentials and powers as exact numbers that are known to lie on one side of the true ones.

They are computed in decimals with more digits than anything shows, never by an engine and never in binary
floating point, so that every machine finds the same.
"""

from __future__ import annotations

import decimal
from fractions import Fraction

DIGITS = 40
"""Digits that are right: what is cut off below, or added above, is less than one of the last of them."""
MAX_EXPONENT = 700
"""Beyond it an exponential leaves the numbers that answers are shown in: it has no value."""
_CONTEXT = decimal.Context(prec=DIGITS + 10, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)


def ln(number: Fraction, *, upwards: bool = False) -> Fraction:
    """Return the natural logarithm of a number > 0, rounded down or up."""
    if number == 1:
        return Fraction(0)
    return _widen(_CONTEXT.ln(_decimal(number)), upwards=upwards)


def exponential(number: Fraction, *, upwards: bool = False) -> Fraction:
    """Return e to the power of a number up to `MAX_EXPONENT`, rounded down or up."""
    if number == 0:
        return Fraction(1)
    if number < -MAX_EXPONENT:
        return exponential(Fraction(-MAX_EXPONENT), upwards=True) if upwards else Fraction(0)
    return _widen(_CONTEXT.exp(_decimal(number)), upwards=upwards)


def _decimal(number: Fraction) -> decimal.Decimal:
    return _CONTEXT.divide(decimal.Decimal(number.numerator), decimal.Decimal(number.denominator))


def _widen(found: decimal.Decimal, *, upwards: bool) -> Fraction:
    """Return a number that is surely on one side: what was rounded on the way is far below the last digit."""
    exact = Fraction(found)
    margin = Fraction(10) ** (found.adjusted() - DIGITS) + Fraction(10) ** -DIGITS
    return exact + margin if upwards else exact - margin
