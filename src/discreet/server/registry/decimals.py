"""Exact numbers as decimals that people read: rounded up where they state a loss, down where what is left."""

from __future__ import annotations

import datetime
import decimal
import math
from fractions import Fraction

DIGITS = 6
"""How many digits that count are written."""


def write_up(amount: Fraction, digits: int = DIGITS) -> str:
    """Return a decimal of at least the amount.

    >>> write_up(Fraction(1, 3))
    '0.333334'
    """
    return _write(amount, digits, decimal.ROUND_CEILING)


def write_down(amount: Fraction, digits: int = DIGITS) -> str:
    """Return a decimal of at most the amount.

    >>> write_down(Fraction(2, 3))
    '0.666666'
    """
    return _write(amount, digits, decimal.ROUND_FLOOR)


def write_percent_up(part: Fraction) -> str:
    """Return a part as a percentage, rounded up to a tenth."""
    return _write_tenths(math.ceil(part * 1000))


def write_percent_down(part: Fraction) -> str:
    """Return a part as a percentage, rounded down to a tenth."""
    return _write_tenths(math.floor(part * 1000))


def write_chance(part: Fraction) -> str:
    """Return a small probability as people say it, rounded up.

    >>> write_chance(Fraction(3, 10**9))
    '1 in 333,333,333'
    """
    ones = min(part.denominator // part.numerator, 10**15)
    return f"1 in {ones:,}"


def write_time(seconds: int) -> str:
    """Return a moment as ISO 8601 has it, in UTC."""
    moment = datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def read_time(written: str) -> int:
    """Return the seconds of a moment that `write_time` wrote."""
    return int(datetime.datetime.strptime(written, "%Y-%m-%dT%H:%M:%S%z").timestamp())


def _write(amount: Fraction, digits: int, rounding: str) -> str:
    context = decimal.Context(prec=digits, rounding=rounding)
    rounded = context.divide(decimal.Decimal(amount.numerator), decimal.Decimal(amount.denominator))
    short = rounded.normalize(context)
    return f"{short:f}" if -6 <= short.adjusted() <= 12 else str(short).lower().replace("e+", "e")


def _write_tenths(tenths: int) -> str:
    whole, rest = divmod(tenths, 10)
    return f"{whole}.{rest} %" if rest else f"{whole} %"
