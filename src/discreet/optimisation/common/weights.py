"""Public weights of vertices, and the whole numbers that stand for their inverses."""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.parameters import Public

Weights = Public[Iterable[checks.Number], tuple[Fraction, ...]]
MaybeWeights = Public[Iterable[checks.Number] | None, tuple[Fraction, ...] | None]
_DIGITS = 4
"""Binary digits of a score: inverses are right to one part in eight, and few differ."""


def require_count(size: int, **named: tuple[Fraction, ...]) -> None:
    """Refuse weights that are not one for each of `size` things."""
    ((name, weights),) = named.items()
    if len(weights) != size:
        raise InvalidParameter(name=name, rule=f"{size} numbers", value=len(weights))


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
