"""How far the answers of a product of trees may be off: from the coefficients of the queries themselves."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from discreet.core.fixed import Array
from discreet.core.rounding import up
from discreet.queries.query import LinearQuery
from discreet.queries.tables import Axes
from discreet.queries.workload import Workload
from discreet.query_release.linear.boxes import box_weight
from discreet.query_release.linear.joint_noise import Spread
from discreet.query_release.linear.trees import Trees, box_square

_FOLLOWED = 1 << 26  # coefficients that are computed; beyond, the weights alone bound them
_AT_ONCE = 1 << 21
_SAFETY = 1 + 1e-9  # far above the rounding of a few passes over a tree


@lru_cache(maxsize=64)
def asked_spread(workload: Workload, axes: Axes, trees: Trees, *, known: bool) -> Spread:
    """Return the noise in the answers of a workload, and of every box of weight one besides.

    Boxes have a closed form. Other queries are followed back through the estimate to the noises. Where they
    are too many for that, their weights bound them: no unbiased estimate has less variance than that of least
    squares, and one of them is the sum of the measured values.
    """
    boxes = Spread(
        sums=math.prod(tree.size * (tree.size + 1) // 2 for tree in trees),
        square=box_square(trees, known=known),
        heaviest=math.prod(tree.heaviest for tree in trees),
    )
    weight = box_weight(workload)
    if weight is not None:
        largest = max(1.0, up(weight))
        return Spread(boxes.sums, boxes.square * largest**2, boxes.heaviest * largest)
    asked = _follow(workload, axes, trees, known=known)
    return Spread(
        sums=boxes.sums + len(workload),
        square=max(boxes.square, asked.square),
        heaviest=max(boxes.heaviest, asked.heaviest),
    )


def _follow(workload: Workload, axes: Axes, trees: Trees, *, known: bool) -> Spread:
    leaves = math.prod(math.prod(tree.degrees) for tree in trees)
    if len(workload) * leaves > _FOLLOWED:
        cells = math.prod(tree.size for tree in trees)
        weight = up(workload.largest_weight) / math.prod(tree.multipliers[-1] for tree in trees)
        square = cells * weight**2 * _SAFETY
        return Spread(len(workload), square, math.sqrt(square))
    square = heaviest = 0.0
    for tables in _batches(workload, axes, trees, max(1, _AT_ONCE // leaves)):
        weights = tables
        for place, tree in enumerate(trees):  # to what each noise is multiplied by: one row a query
            weights = tree.trace(weights, place + 1, known=known)
        weights = np.abs(weights.reshape(len(tables), -1))
        square = max(square, float(np.square(weights).sum(axis=1).max()))
        heaviest = max(heaviest, float(weights.max()))
    return Spread(len(workload), square * _SAFETY, heaviest * _SAFETY)


def _batches(workload: Workload, axes: Axes, trees: Trees, size: int) -> Iterator[Array]:
    """Yield the weights of some queries at a time, over the trees' values."""
    shape = tuple(tree.size for tree in trees)
    for start in range(0, len(workload), size):
        places = range(start, min(start + size, len(workload)))
        yield np.stack([_table(workload.query(place), axes, shape) for place in places])


def _table(query: LinearQuery, axes: Axes, shape: tuple[int, ...]) -> Array:
    own = [size if axis in query.axes else 1 for axis, size in zip(axes, shape, strict=True)]
    return np.broadcast_to(np.asarray(query.table(), dtype=np.float64).reshape(own), shape)
