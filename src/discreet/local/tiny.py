"""Small surveys for the exact audits: every pair of values."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from discreet.core.card import Tiny

SIZES = ((2, Fraction(1)), (4, Fraction(1, 2)), (5, Fraction(2)), (3, Fraction(5)))
"""Values and budgets."""


def ask_all(kind: Any, sizes: tuple[tuple[int, Fraction], ...] = SIZES) -> Iterator[Tiny]:
    """Yield a protocol on small domains, with all pairs of values."""
    for size, epsilon in sizes:
        yield Tiny(kind(epsilon=epsilon, domain=size), list(itertools.permutations(range(size), 2)))
