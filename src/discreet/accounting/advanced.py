"""Composition as the book states it, for readers; `compose` uses what is tighter.

Everything here holds for mechanisms chosen adaptively, with parameters fixed in advance.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.rounding import above, down, up


def basic_composition(mechanisms: Sequence[tuple[checks.Number, checks.Number]]) -> tuple[Fraction, Fraction]:
    """Return the sums of the epsilons and of the deltas [DR14] Theorems 3.14 to 3.16, B.1."""
    epsilons = [checks.non_negative(epsilon=e) for e, _ in mechanisms]
    deltas = [checks.delta(delta=d) for _, d in mechanisms]
    return sum(epsilons, Fraction(0)), sum(deltas, Fraction(0))


def advanced_composition(
    *, epsilon: checks.Number, count: int, slack: checks.Number, delta: checks.Number = 0
) -> tuple[float, float]:
    """Return (epsilon', count * delta + slack) for `count` mechanisms [DR14] Theorem 3.20.

    epsilon' = sqrt(2 count ln(1 / slack)) epsilon + count epsilon (e^epsilon - 1).
    """
    k = checks.integer(1, count=count)
    e = checks.non_negative(epsilon=epsilon)
    d = checks.delta(delta=delta)
    s = checks.probability(slack=slack)
    return advanced_sum([(e, k)], s), up(k * d + s)


def advanced_sum(steps: Sequence[tuple[Fraction, int]], slack: Fraction) -> float:
    """Return Theorem 3.20's epsilon for different steps: its proof sums the squares of the epsilons."""
    squares, drift = 0.0, 0.0
    for e, k in steps:
        value = up(e)
        squares += k * value * value
        if value > 700:
            return math.inf
        drift += k * value * math.expm1(value)
    root = math.sqrt(2 * squares * -math.log(down(slack))) if squares else 0.0
    return above((root + drift) * (1 + 1e-13)) if squares else 0.0


def advanced_slack(steps: Sequence[tuple[Fraction, int]], epsilon: float) -> float:
    """Return the slack at which `advanced_sum` gives this epsilon; 1 where there is none."""
    squares = math.fsum(k * float(e) ** 2 for e, k in steps)
    drift = math.fsum(k * float(e) * math.expm1(min(700.0, float(e))) for e, k in steps)
    room = epsilon - drift * (1 + 1e-12)
    if squares == 0:
        return 0.0
    if room <= 0:
        return 1.0
    exponent = room * room / (2 * squares) * (1 - 1e-12)
    return max(math.nextafter(0.0, 1.0), above(math.exp(-exponent)))


def corollary(*, epsilon: checks.Number, count: int, slack: checks.Number) -> Fraction:
    """Return the epsilon of each of `count` steps for a total (epsilon, slack) [DR14] Corollary 3.21.

    epsilon / (2 sqrt(2 count ln(1 / slack))), rounded down. The book allows every slack > 0 and epsilon
    < 1; near slack 1 that is false, so the slack is at most 1/2 here.
    """
    k = checks.integer(1, count=count)
    e, s = checks.positive(epsilon=epsilon), checks.probability(slack=slack)
    if not e < 1:
        raise InvalidParameter(name="epsilon", rule="below 1", value=epsilon)
    if not s <= Fraction(1, 2):
        raise InvalidParameter(name="slack", rule="at most 1/2", value=slack)
    root = above(2 * math.sqrt(2 * k * -math.log(down(s))), 8)
    return e / Fraction(root)
