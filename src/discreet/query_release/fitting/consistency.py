"""Post-processing of released numbers: no negative counts, and tables that agree with one another."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import scipy

from discreet.core import checks
from discreet.core.fixed import Floats
from discreet.queries.tables import Axes
from discreet.queries.universe import Universe

_ROUNDS = 200
_CLOSE = 1e-9  # relative change of a round below which fitting stops


def onto_simplex(values: Any, total: float) -> Floats:
    """Return the nearest array, in the sum of squares, of non-negative numbers with a given sum.

    Time: O(size log size).

    >>> onto_simplex([3.0, -1.0, 1.0], 3).tolist()
    [2.5, 0.0, 0.5]
    """
    array = np.asarray(values, dtype=np.float64)
    if not 0 < total < math.inf:
        checks.non_negative(total=total)
        return np.zeros_like(array)
    # What is further below the largest number than the sum cannot stay positive: it need not be sorted.
    ordered = np.sort(array[array >= array.max() - total])[::-1]
    # The largest k numbers stay positive: taking the same from each of them leaves the right sum.
    excess = (np.cumsum(ordered) - total) / np.arange(1, ordered.size + 1)
    kept = int(np.flatnonzero(ordered - excess >= 0)[-1])
    return np.asarray(np.maximum(array - excess[kept], 0.0))


def isotonic(prefixes: Any, *, low: float, high: float) -> Floats:
    """Return the nearest non-decreasing numbers between two bounds.

    Time: O(size).

    >>> isotonic([1.0, 3.0, 2.0, 9.0], low=0, high=8).tolist()
    [1.0, 2.5, 2.5, 8.0]
    """
    fitted = scipy.optimize.isotonic_regression(np.asarray(prefixes, dtype=np.float64)).x
    return np.asarray(np.clip(fitted, low, high), dtype=np.float64)


def fit_tables(universe: Universe, tables: Iterable[tuple[Axes, Any]], *, total: float) -> Floats:
    """Return weights over a universe in memory that fit marginal tables: the flattest ones, if any fit.

    Iterative proportional fitting: the weights are scaled to each table in turn. Where the tables
    contradict one another, which noisy ones do, the weights end between them.

    Parameters
    ----------
    tables
        Pairs of axes and non-negative numbers over them, each of the same sum.
    total
        The sum of the weights.
    """
    universe.require_dense()
    weights = np.full(universe.shape, total / universe.size)
    listed = [(axes, np.asarray(table, dtype=np.float64)) for axes, table in tables]
    for _ in range(_ROUNDS):
        before = weights
        for axes, table in listed:
            others = tuple(axis for axis in range(weights.ndim) if axis not in axes)
            now = weights.sum(axis=others, keepdims=True)
            wanted = table.reshape(now.shape)
            weights = weights * np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)
        if float(np.abs(weights - before).sum()) <= _CLOSE * total:
            break
    mass = float(weights.sum())
    return weights * (total / mass) if mass > 0 else np.full(universe.shape, total / universe.size)
