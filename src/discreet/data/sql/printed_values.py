"""Values as SQL of our own dialect: exact, and read again as the same."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

DIGITS = 18
"""Digits of a number on either side of its point."""


def literal(value: object) -> str:
    """Print text, a truth value, a date or a whole number."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"DATE '{value}'" if isinstance(value, datetime.date) else str(value)


def decimal_between(low: Fraction, high: Fraction) -> Fraction:
    """Return `high` if it is a decimal that fits a literal, else a short decimal between the two."""
    if (high * 10**DIGITS).denominator == 1:
        return high
    digits = 0
    while Fraction(math.floor(high * 10**digits), 10**digits) <= low:
        digits += 1
    return Fraction(math.floor(high * 10**digits), 10**digits)


def decimal(value: Fraction) -> str:
    """Print an exact decimal."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    units = str(abs(int(value * 10**digits))).rjust(digits + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{units[:-digits]}.{units[-digits:]}" if digits else units)


def scientific(value: Fraction) -> str:
    """Print an exact decimal with an exponent where it has too many places for a literal."""
    shift = 0
    while (value * 10 ** (DIGITS + shift)).denominator != 1:
        shift += 1
    while abs(value) * Fraction(10) ** shift >= 10**DIGITS:
        shift -= 1
    return decimal(value * Fraction(10) ** shift) + (f"e{-shift}" if shift else "")


def coefficient(value: Fraction) -> str:
    """Print a decimal, or a quotient where there is none."""
    if (value * 10**DIGITS).denominator == 1:
        return decimal(value)
    return f"{value.numerator} / {value.denominator}"


def quantile_call(points: tuple[Fraction, ...]) -> tuple[str, str, str]:
    """Return the call for some quantiles, its last argument, and what stands behind it."""
    parts = len(points) - 1
    if len(points) > 1 and points == tuple(Fraction(k, parts) for k in range(parts + 1)):
        return "APPROX_QUANTILES", str(parts), ""
    if all((point * 10**DIGITS).denominator == 1 for point in points):
        shown = ", ".join(map(decimal, points))
        return "PERCENTILE_CONT", shown if len(points) == 1 else f"ARRAY[{shown}]", ""
    return "APPROX_QUANTILES", str(points[0].denominator), f"[OFFSET({points[0].numerator})]"
