"""Tiny data for exact audits, which the cards of several modules share."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from discreet.core.neighbours import Neighbours
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe


def list_pairs(
    universe: Universe, neighbours: Neighbours, rows: int
) -> Iterator[tuple[Histogram, Histogram]]:
    """List all pairs of neighbours with at most `rows` rows, or as many, as histograms."""
    made: dict[tuple[int, ...], Histogram] = {}
    for left, right in neighbours.pairs(range(universe.size), rows):
        pair = []
        for cells in (left, right):
            key = tuple(sorted(cells))
            counts = np.bincount(np.array(key, dtype=np.int64), minlength=universe.size)
            pair.append(made.setdefault(key, Histogram.dense(universe, counts)))
        yield pair[0], pair[1]
