"""Public prices, and how many of them each bidder would pay.

A bid says only which prices it reaches, so revenues are whole multiples of the prices' common unit and no bid
is ever rounded.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.parameters import Public
from discreet.mechanisms.reading import make_plain, read_entry

MOST_UNITS = 1 << 30
"""Prices end here, in units, and bidders at as many: their product fits 64 bits."""

Prices = Public[Iterable[checks.Number], tuple[Fraction, ...]]


def read_prices(**named: Iterable[checks.Number]) -> tuple[Fraction, ...]:
    """Read public prices: positive, different, in increasing order, and multiples of a common unit."""
    ((name, _),) = named.items()
    prices = checks.each(checks.positive, **named)
    if not prices or any(a >= b for a, b in pairwise(prices)):
        raise InvalidParameter(
            name=name, rule="increasing prices, at least one", got=f"{len(prices)} of them"
        )
    if prices[-1] / find_unit(prices) > MOST_UNITS:
        raise InvalidParameter(
            name=name,
            rule="multiples of a common unit, 2**30 of them at most",
            value=prices[-1],
            hint="Round them to cents",
        )
    return prices


def find_unit(prices: tuple[Fraction, ...]) -> Fraction:
    """Return the largest number that all prices are multiples of."""
    top = math.gcd(*(price.numerator for price in prices))
    return Fraction(top, math.lcm(*(price.denominator for price in prices)))


def price_ladder(
    *, lowest: checks.Number, highest: checks.Number, growth: checks.Number, unit: checks.Number
) -> tuple[Fraction, ...]:
    """Return prices of which one is below every possible price, by the factor 1 + growth at most.

    Parameters
    ----------
    lowest, highest
        The possible prices: multiples of the unit between them.
    growth
        How much the next price may be above one; what the seller loses at most by the ladder itself.
    unit
        What prices are multiples of, such as 0.01.
    """
    step, more = checks.positive(unit=unit), 1 + checks.positive(growth=growth)
    bottom = math.ceil(checks.positive(lowest=lowest) / step)
    top = math.floor(checks.at_least(bottom * step, highest=highest) / step)
    rungs = [bottom]
    while rungs[-1] < top:
        rungs.append(min(top, max(rungs[-1] + 1, math.floor(rungs[-1] * more))))
    return read_prices(prices=[rung * step for rung in rungs])


def count_reached(data: Any, prices: tuple[Fraction, ...]) -> Integers:
    """Return for each bidder how many of the prices the bid reaches.

    Whatever is no number, or NaN, is no bid and reaches none; True is 1. A float is read as the decimal that
    a person wrote.
    """
    bids = make_plain(data)
    if isinstance(bids, np.ndarray) and bids.ndim == 1 and bids.dtype.kind in "iuf":
        return _count_in_array(bids, prices)
    if isinstance(bids, np.ndarray) and bids.ndim == 1 and bids.dtype.kind in "bO":
        bids = bids.tolist()
    if not isinstance(bids, list | tuple):
        raise InvalidParameter(name="data", rule="bids, one a bidder", got=f"a {type(bids).__name__}")
    floats = [float(price) for price in prices]
    return np.array([_count_one(bid, prices, floats) for bid in bids], dtype=np.int64)


def _count_in_array(bids: Any, prices: tuple[Fraction, ...]) -> Integers:
    if bids.dtype.kind == "f":
        with np.errstate(over="ignore"):  # a price beyond the type is reached by infinity alone
            steps = np.array([float(price) for price in prices]).astype(bids.dtype)
        present = np.where(np.isnan(bids), -1, bids)
    else:
        steps, present = np.array([math.ceil(price) for price in prices]), bids
    return np.searchsorted(steps, present, side="right").astype(np.int64)


def _count_one(bid: Any, prices: tuple[Fraction, ...], floats: list[float]) -> int:
    if type(bid) is float:
        return bisect_right(floats, bid) if bid == bid else 0  # noqa: PLR0124 - NaN alone differs
    return bisect_right(prices, read_entry(bid))


def add_revenues(reached: Integers, units: Integers) -> Integers:
    """Return what each price would bring in, in units, from bidders who reach so many of them."""
    tally = np.bincount(reached, minlength=units.size + 1)
    buyers = tally[::-1].cumsum()[::-1][1:]  # at price j all buy who reach more than j prices
    return np.asarray(units * np.minimum(buyers, MOST_UNITS))
