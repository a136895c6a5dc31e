"""Tiny data for exact audits, which the cards of several modules share."""

from __future__ import annotations

from functools import cache

import numpy as np

from discreet.core.neighbours import Neighbours
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe


def list_pairs(universe: Universe, neighbours: Neighbours, rows: int) -> list[tuple[Histogram, Histogram]]:
    """List all pairs of neighbours with at most `rows` rows, or as many, as histograms."""

    @cache
    def count(cells: tuple[int, ...]) -> Histogram:
        rows = np.array(cells, dtype=np.int64)
        return Histogram.dense(universe, np.bincount(rows, minlength=universe.size))

    pairs = neighbours.pairs(range(universe.size), rows)
    return [(count(tuple(sorted(left))), count(tuple(sorted(right)))) for left, right in pairs]
