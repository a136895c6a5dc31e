"""Where a rule begins to hold: bisection, written once.

A rule is a function that is false up to some number and true from there on. Floats and fractions are searched
between two numbers that are known to lie on either side; integers may be searched without an upper one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import TypeVar

N = TypeVar("N", float, Fraction)


def narrow(
    holds: Callable[[N], bool], low: N, high: N, *, steps: int, middle: Callable[[N, N], N] | None = None
) -> tuple[N, N]:
    """Return the gap where a rule begins to hold, halved `steps` times: it fails at low and holds at high.

    Neither end is tried: a caller who does not know them says so by what is taken from the result.

    Parameters
    ----------
    middle
        Where to try between two numbers; half-way where left out.
    """
    for _ in range(steps):
        centre = (low + high) / 2 if middle is None else middle(low, high)
        low, high = (low, centre) if holds(centre) else (centre, high)
    return low, high


def minimise(curve: Callable[[float], float], low: float, high: float, *, steps: int) -> float:
    """Return about where a curve that falls and then rises is lowest, by golden sections."""
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(steps):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        low, high = (low, b) if curve(a) < curve(b) else (a, high)
    return (low + high) / 2


def first_integer(holds: Callable[[int], bool], *, low: int, high: int | None = None) -> int:
    """Return the smallest integer above `low` where a rule holds.

    Parameters
    ----------
    low
        It fails there.
    high
        It holds there. Where left out, steps of growing size find such a number.
    """
    if high is None:
        step = 1
        while not holds(low + step):
            low, step = low + step, 2 * step
        high = low + step
    while high - low > 1:
        centre = (low + high) // 2
        low, high = (low, centre) if holds(centre) else (centre, high)
    return high
