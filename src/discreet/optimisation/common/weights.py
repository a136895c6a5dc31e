"""Public weights of vertices, and the whole numbers that stand for their inverses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from discreet.core import checks
from discreet.core.errors import InvalidParameter

_DIGITS = 4
"""Binary digits of a score: inverses are right to one part in eight, and few differ."""


def read_weights(weights: Iterable[checks.Number], size: int) -> tuple[Fraction, ...]:
    """Return positive weights, one for each of `size` things."""
    read = tuple(checks.positive(weights=weight) for weight in checks.several(weights=weights))
    if len(read) != size:
        raise InvalidParameter(name="weights", rule=f"{size} numbers", value=len(read))
    return read


def scores_of(weights: tuple[Fraction, ...]) -> tuple[int, ...]:
    """Return whole numbers about proportional to the inverses: a few digits and a power of two each.

    Any public scores are private; rounding them only costs accuracy, and makes the sampler fast.
    """
    least = max(weights)
    scale = 1 << _DIGITS
    scores = []
    for weight in weights:
        inverse = math.floor(least / weight * scale)
        shift = max(0, inverse.bit_length() - _DIGITS)
        scores.append(inverse >> shift << shift)
    return tuple(scores)


def classes_of(weights: tuple[Fraction, ...]) -> tuple[int, ...]:
    """Return j for every weight: it lies in (2^(j-1), 2^j] times the smallest."""
    least = min(weights)
    return tuple((math.ceil(weight / least) - 1).bit_length() for weight in weights)
