"""From a wanted error back to a budget, and from many errors to one."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

from discreet.core import checks
from discreet.core.bounds import known_error
from discreet.core.errors import BudgetTooSmall, InvalidParameter
from discreet.core.mechanism import Promise
from discreet.core.rounding import below, down, shorten_up

M = TypeVar("M", bound=Promise)

LARGEST_EPSILON = Fraction(1000)


def cheapest(
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
        return (known_error if error is None else error)(mechanism, missed) <= wanted

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
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (low, middle) if fits(middle) else (middle, high)
    # Noise on a grid makes errors that are not quite monotone: a rounder epsilon must fit like any other.
    rounder = shorten_up(high, 6)
    return make(rounder if fits(rounder) else high)


def each_of(size: int, beta: checks.Number) -> float:
    """Return what each of `size` independent draws may fail with so that all hold with probability 1 - beta.

    That is 1 - (1 - beta)^(1 / size), rounded down: a little more than beta / size.
    """
    missed = down(checks.probability(beta=beta))
    # log1p, the division and expm1 are each well conditioned here: four units in the last place in all.
    return below(-math.expm1(math.log1p(-missed) / size), steps=8)
