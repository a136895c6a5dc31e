"""What is known of an error: a bound that promises something, or none, and the budget that buys one."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Protocol, TypeVar

from discreet.core import checks
from discreet.core.errors import BudgetTooSmall, InvalidParameter, NoBound
from discreet.core.rounding import below, down, shorten_up
from discreet.core.search import narrow

LARGEST_EPSILON = Fraction(1000)
"""What no wanted error is worth."""

MORE = "Pay a larger epsilon, or ask for a larger beta"
"""The usual way out."""


class Erring(Protocol):
    """Whatever has an error that is known beforehand."""

    def error(self, beta: checks.Number) -> float:
        """Return what the error exceeds with probability at most beta."""


M = TypeVar("M", bound=Erring)


def require_useful(bound: float, *, trivial: float, least: float = 0.0, what: str, way_out: str) -> float:
    """Return a bound that is below what is true without any release.

    Parameters
    ----------
    bound
        What the theorem gives.
    trivial
        The largest error that there can be at all.
    least
        The smallest there can be: 1 for ratios. Where it is the largest too, there is nothing to promise.
    what, way_out
        What has no bound otherwise, and what to do in its place.

    Raises
    ------
    NoBound
        Where the theorem says no more than that.
    """
    if bound < trivial or trivial <= least:
        return max(least, min(bound, trivial))
    why = f"the theorem gives {bound:.6g}, and no error is above {trivial:.6g} anyhow"
    raise NoBound(what=what, why=why, way_out=way_out)


def read_error(mechanism: Erring, beta: checks.Number) -> float:
    """Return error(beta), or infinity where there is none: for comparisons."""
    try:
        return mechanism.error(beta)
    except NoBound:
        return math.inf


def find_cheapest(
    make: Callable[[Fraction], M],
    *,
    alpha: checks.Number,
    beta: checks.Number,
    error: Callable[[M, Fraction], float] | None = None,
) -> M:
    """Return the mechanism with the smallest epsilon whose error(beta) is at most alpha.

    Raises
    ------
    NoBound
        Where no epsilon has a useful bound.

    Parameters
    ----------
    make
        Builds the mechanism from an epsilon; its error must not grow with epsilon, but for rounding.
    alpha, beta
        The wanted error and the probability of missing it.
    error
        Another error of the mechanism than its own `error`.
    """
    wanted, missed = checks.positive(alpha=alpha), checks.probability(beta=beta)

    def fits(epsilon: Fraction) -> bool:
        try:
            mechanism = make(epsilon)
        except BudgetTooSmall:
            return False
        return (read_error if error is None else error)(mechanism, missed) <= wanted

    high = Fraction(1)
    while not fits(high):
        high *= 2
        if high > LARGEST_EPSILON:
            if error is None:
                make(high).error(missed)  # refuses by name where there is no bound at any epsilon
            raise InvalidParameter(
                name="alpha",
                rule=f"reachable with epsilon <= {LARGEST_EPSILON}",
                value=alpha,
                hint="A grid that is too coarse for the wanted error is a common cause",
            )
    low = high / 2
    while low > Fraction(1, 10**9) and fits(low):
        low, high = low / 2, low
    _, high = narrow(fits, low, high, steps=24)
    # Noise on a grid makes errors that are not quite monotone: a rounder epsilon must fit like any other.
    rounder = shorten_up(high, 6)
    return make(rounder if fits(rounder) else high)


def each_of(size: int, beta: checks.Number) -> float:
    """Return what each of `size` independent draws may fail with so that all hold with probability 1 - beta.

    That is 1 - (1 - beta)^(1 / size), rounded down: a little more than beta / size.
    """
    return _share_equally(size, down(checks.probability(beta=beta)))


@lru_cache(maxsize=256)  # one answer asks for the same few, once for each of its numbers
def _share_equally(size: int, missed: float) -> float:
    # log1p, the division and expm1 are each well conditioned here: four units in the last place in all.
    return below(-math.expm1(math.log1p(-missed) / size), steps=8)
