"""Tiny neighbouring data for audits: all graphs, and all sets of elements, up to a size."""

from __future__ import annotations

import itertools
from typing import Any

from discreet.core.card import Tiny
from discreet.core.neighbours import Edge


def graph_pairs(size: int, most: int) -> list[tuple[Any, Any]]:
    """Return all pairs of neighbouring graphs on `size` vertices, the larger with at most `most` edges."""
    return [
        (tuple(sorted(a)), tuple(sorted(b))) for a, b in Edge().pairs(range(size), most) if len(a) > len(b)
    ]


def try_elements(cover: Any, most: int, *, tight: bool = True) -> Tiny:
    """Return a set cover with all pairs of sets that differ in one element, the larger of at most `most`."""
    found: list[tuple[Any, Any]] = []
    for count in range(1, most + 1):
        for some in itertools.combinations(cover.family.elements, count):
            found += [(some, tuple(e for e in some if e != gone)) for gone in some]
    return Tiny(cover, found, tight=tight)
