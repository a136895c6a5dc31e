"""Tables at a coarser grain: values of an attribute that stand next to each other, counted together."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Grain = tuple[tuple[int, ...] | None, ...]
"""For each axis where its groups begin, and where the last one ends; None where every value is on its own."""


def coarsen(table: Array, grain: Grain) -> Array:
    """Add up the cells of each group."""
    for axis, edges in enumerate(grain):
        if edges is not None:
            table = np.add.reduceat(table, edges[:-1], axis=axis)
    return table


def refine(table: Array, grain: Grain) -> Array:
    """Repeat the number of each group for all its cells: the transpose of `coarsen`."""
    for axis, edges in enumerate(grain):
        if edges is not None:
            table = np.repeat(table, np.diff(edges), axis=axis)
    return table


def groups(weights: Array, count: int) -> tuple[int, ...] | None:
    """Return edges of about `count` groups of equal weight; None where there are no more values."""
    if len(weights) <= count:
        return None
    ends = np.cumsum(weights)
    cuts = np.searchsorted(ends, np.arange(1, count) / count * ends[-1]) + 1
    return tuple(np.unique([0, *np.minimum(cuts, len(weights)), len(weights)]).tolist())
