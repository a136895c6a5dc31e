"""Rates of sequential choices under which a record that is served counts no more."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.core.rounding import above, below, down, shorten_down


def thesis_rate(epsilon: Fraction, delta: Fraction) -> Fraction:
    """Return epsilon / (2 ln(e / delta)), rounded down: two to four times smaller than it need be."""
    log = above(math.log(delta.denominator) - math.log(delta.numerator), steps=8) + 1
    return shorten_down(epsilon / (2 * Fraction(log)), 9)


def sampled_rate(epsilon: Fraction) -> Fraction:
    """Return ln(1 + e^epsilon), rounded down: with it records that are kept with 1 - e^-epsilon cost epsilon.

    Adding a record makes an outcome at most e^-epsilon + (1 - e^-epsilon) e^rate = e^epsilon times as likely,
    and removing it at most e^epsilon times, for with probability e^-epsilon it was not looked at.
    """
    e = down(epsilon)
    return shorten_down(Fraction(below(e + below(math.log1p(below(math.exp(-e)))))), 12)
