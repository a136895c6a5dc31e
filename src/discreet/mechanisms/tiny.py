"""Small scores and their neighbours, for the exact audits of selection mechanisms."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from discreet.mechanisms.scores import Monotone, Sensitivity

DISEASES, CASES = ("flu", "cold", "asthma", "none"), (812, 1040, 377, 995)
"""Candidates and their scores, for examples."""

REAL_GRID = Fraction(2, 5)
"""A grid on which scores that move by one move by three units."""

REAL_PAIRS = (
    ((0.1999, 9.0001, 9.0001), (1.1999, 8.0001, 8.0001)),
    ((0.1999, 0.1999, 2.0), (1.1999, 0.1999, 1.0)),
)
"""Real scores that do, one up and the others down."""


def score_pairs(sensitivity: Sensitivity, levels: Iterable[tuple[int, ...]]) -> Iterator[tuple[Any, Any]]:
    """Yield scores with every neighbour whose scores each moved by nothing or by the whole sensitivity."""
    step = int(sensitivity.value)
    moves = (0, step) if isinstance(sensitivity, Monotone) else (-step, 0, step)
    for scores in levels:
        for move in itertools.product(moves, repeat=len(scores)):
            if any(move):
                yield scores, tuple(score + m for score, m in zip(scores, move, strict=True))
