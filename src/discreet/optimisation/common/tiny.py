"""Tiny neighbouring data for audits: all graphs, and all sets of elements, up to a size."""

from __future__ import annotations

import itertools
from collections.abc import Hashable, Sequence
from typing import Any

from discreet.core.neighbours import Edge


def graph_pairs(size: int, most: int) -> list[tuple[Any, Any]]:
    """Return all pairs of neighbouring graphs on `size` vertices, the larger with at most `most` edges."""
    return [
        (tuple(sorted(a)), tuple(sorted(b))) for a, b in Edge().pairs(range(size), most) if len(a) > len(b)
    ]


def element_pairs(elements: Sequence[Hashable], most: int) -> list[tuple[Any, Any]]:
    """Return all pairs of sets of elements that differ in one, the larger with at most `most`."""
    found = []
    for count in range(1, most + 1):
        for some in itertools.combinations(elements, count):
            found += [(some, tuple(e for e in some if e != gone)) for gone in some]
    return found
