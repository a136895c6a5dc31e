"""Rows from a factored model: clique by clique along the tree, every share rounded with care."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.rng import Rng
from discreet.query_release.fitting.junction import Axes, cells
from discreet.query_release.models.factored import FactoredModel

Array = NDArray[Any]


def rows_of(model: FactoredModel, count: int, rng: Rng) -> NDArray[np.int64]:
    """Return `count` rows of codes whose tables over the cliques stay close to the model's.

    Rows that agree on what a clique has in common with its parent are shared out among its other attributes:
    every combination gets its exact share rounded up or down, at random such that shares keep their mean.
    """
    codes = np.zeros((count, len(model.tree.shape)), dtype=np.int64)
    for place, clique in enumerate(model.tree.cliques):
        shared = model.tree.separator(place)
        new = tuple(axis for axis in clique if axis not in shared)
        order = [clique.index(axis) for axis in (*shared, *new)]
        table = model.conditional(place).transpose(order)
        group = _ravel(codes, shared, model)
        chosen = _shared_out(table.reshape(-1, cells(model.tree.shape, new)), group, rng)
        for axis in reversed(new):
            chosen, codes[:, axis] = np.divmod(chosen, model.tree.shape[axis])
    return codes


def _shared_out(shares: Array, group: Array, rng: Rng) -> NDArray[np.int64]:
    """Choose a column of `shares` for each row, given the row of `shares` that it belongs to."""
    count, columns = len(group), shares.shape[1]
    # A random order, sorted by group: within a group the rows' other attributes are then in random order.
    shuffled = np.argsort(rng.words(count), kind="stable")
    turn = shuffled[np.argsort(group[shuffled], kind="stable")]
    sizes = np.bincount(group, minlength=len(shares))
    ranks = np.arange(count) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    begin = rng.words(len(shares)) / 2.0**64
    mine = group[turn]
    points = (ranks + begin[mine]) / sizes[mine]
    ends = np.cumsum(shares, axis=1)
    ends /= np.maximum(ends[:, -1:], 1e-300)
    # One search for all groups: group g occupies the numbers from g to g + 1.
    found = np.searchsorted((ends + np.arange(len(shares))[:, None]).reshape(-1), points + mine, side="right")
    chosen = np.empty(count, dtype=np.int64)
    chosen[turn] = np.clip(found - mine * columns, 0, columns - 1)
    return chosen


def _ravel(codes: Array, axes: Axes, model: FactoredModel) -> NDArray[np.int64]:
    group = np.zeros(len(codes), dtype=np.int64)
    for axis in axes:
        group = group * model.tree.shape[axis] + codes[:, axis]
    return group
