"""A rational number just below e^epsilon: what all probabilities of local reports are made of.

Reports are drawn with probabilities that are quotients of whole numbers, so that a device can draw them
exactly with nothing but uniform whole numbers, and an audit can list them. The odds are rounded down: the
loss of a report is their logarithm, which is at most epsilon and less than 2**-40 below it; it ends at 1024.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

from discreet.core.errors import BudgetTooSmall
from discreet.core.rounding import exp_bounds

FINE = 40
"""Odds are whole multiples of 2**-FINE."""
LEAST = Fraction(1, 10**9)
"""Below this, reports would tell nothing: odds are 1 or nearly so."""
MOST = 1024
"""Larger budgets have the odds of this one: a survey by others must not keep a device busy for ever."""
_BITS_A_UNIT = Fraction(14427, 10000)  # above log2(e)


@lru_cache(maxsize=256)
def bound_odds(epsilon: Fraction) -> Fraction:
    """Return a multiple of 2**-40 that is at most e^epsilon, by less than one such unit, or e^MOST."""
    if epsilon < LEAST:
        raise BudgetTooSmall(name="epsilon", rule=f"at least {float(LEAST):g}", value=epsilon)
    epsilon = min(epsilon, Fraction(MOST))
    bits = FINE + 16 + 2 * math.ceil(epsilon * _BITS_A_UNIT)
    _, high = exp_bounds(epsilon, bits)
    return Fraction((1 << bits + FINE) // high, 1 << FINE)
