"""Which workloads are made of boxes, and of what weight: what some error theorems are about."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.fixed import Array
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.kinds.union import Union
from discreet.queries.workload import Workload

_LISTED = 1 << 25  # weights that are looked at one by one


@lru_cache(maxsize=64)
def box_weight(workload: Workload) -> Fraction | None:
    """Return the largest size of a weight where every query has one weight, on one box of values.

    A box is an interval of each attribute, in declared order. None where some query is none, or where there
    are too many weights to tell.
    """
    if isinstance(workload, Prefixes | Rectangles | Marginals):
        return Fraction(1)
    if isinstance(workload, Union):
        weights = [box_weight(part) for part in workload.parts]
        scaled = [w * s for w, s in zip(weights, workload.weights, strict=True) if w is not None]
        return max(scaled) if len(scaled) == len(weights) else None
    left, largest = _LISTED, Fraction(0)
    for query in workload:
        left -= math.prod(query.shape)
        weight = _weight_on_box(np.asarray(query.table())) if left >= 0 else None
        if weight is None:
            return None
        largest = max(largest, abs(weight))
    return largest


def _weight_on_box(table: Array) -> Fraction | None:
    """Return the weight of a table that has one weight inside of a box and zeros outside of it."""
    if not table.any():
        return Fraction(0)
    inside = tuple(slice(places.min(), places.max() + 1) for places in np.nonzero(np.atleast_1d(table)))
    part = np.atleast_1d(table)[inside]
    return Fraction(part.flat[0].item()) if (part == part.flat[0]).all() else None
