"""Rows for marginal tables over a universe of any size: draw likely rows, then weigh them to fit all tables.

Post-processing of released numbers only. The universe itself is never listed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from discreet.core import checks
from discreet.core.fixed import Array, Integers
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.queries.tables import Axes, ravel_codes
from discreet.queries.universe import Universe
from discreet.query_release.fitting.consistency import onto_simplex
from discreet.query_release.synopses.synthetic import SyntheticTable, in_proportion

Table = tuple[Axes, Array]
"""Axes in ascending order, and numbers over them."""

_CANDIDATES = 1 << 17  # rows that are drawn, and weighed to fit the tables
_ROUNDS = 25
_CLOSE = 1e-4  # relative change of a round below which weighing stops


def synthetic_rows(
    universe: Universe, tables: Sequence[Table], *, total: float, rows: int | None, rng: Rng
) -> SyntheticTable:
    """Return rows, as many as the total where none are given, whose tables are close to noisy ones.

    Where tables are many and hardly agree, weighing may end far from all of them. Then rows whose attributes
    do not depend on each other are nearer, and are returned.
    """
    total = max(total, 0.0)
    count = round(total) if rows is None else checks.integer(0, rows=rows)
    likely = [(axes, onto_simplex(table, total)) for axes, table in tables]
    codes, weights = weighed_rows(universe.shape, likely, max(_CANDIDATES, 2 * count), rng)
    weighed = codes[in_proportion(weights, count, rng)]
    apart = _independent(universe.shape, likely, count, rng)
    return SyntheticTable(universe, min((weighed, apart), key=lambda made: _distance(made, likely)))


def _independent(shape: Sequence[int], tables: Sequence[Table], count: int, rng: Rng) -> Integers:
    """Return rows of independent attributes, each as the smallest table that it is in says."""
    rows = np.zeros((count, len(shape)), dtype=np.int64)
    for axis, size in enumerate(shape):
        own = [one for one in tables if axis in one[0]]
        axes, table = min(own, key=lambda one: one[1].size) if own else ((axis,), np.ones(size))
        others = tuple(place for place, other in enumerate(axes) if other != axis)
        rows[:, axis] = _choose(table.sum(axis=others)[None, :], np.zeros(count, dtype=np.int64), rng)
    return rows


def _distance(rows: Array, tables: Sequence[Table]) -> float:
    """Return how far the tables of some rows are from others, in the sum over all cells, as shares."""
    off = 0.0
    for axes, table in tables:
        cells = ravel_codes(rows[:, list(axes)], range(len(axes)), table.shape)
        counts = np.bincount(cells, minlength=table.size) / max(1, len(rows))
        off += float(np.abs(counts - table.reshape(-1) / max(1.0, float(table.sum()))).sum())
    return off


def weighed_rows(shape: Sequence[int], tables: Sequence[Table], count: int, rng: Rng) -> tuple[Array, Array]:
    """Return different rows of codes, and weights for them whose tables are close to non-negative ones.

    Rows are drawn table by table: new attributes given those that were drawn before. What a row's weight must
    be for the other tables to fit too is found by scaling to each table in turn (iterative proportional
    fitting), over the rows that were drawn.
    """
    drawn = _draw_rows(shape, tables, count, rng)
    rows, times = np.unique(drawn, axis=0, return_counts=True)
    return rows, _fit(rows, times.astype(np.float64), tables)


def _draw_rows(shape: Sequence[int], tables: Sequence[Table], count: int, rng: Rng) -> Integers:
    rows = np.zeros((count, len(shape)), dtype=np.int64)
    known: set[int] = set()
    rest = [*tables, *(((axis,), np.ones(size)) for axis, size in enumerate(shape))]
    while rest:
        # Next is what leans most on what is known; of such tables the one that says most at once.
        rest = [one for one in rest if not known.issuperset(one[0])]
        if not rest:
            break
        axes, table = max(rest, key=lambda one: (len(known & set(one[0])), len(one[0]), -one[1].size))
        given = [axis for axis in axes if axis in known]
        new = [axis for axis in axes if axis not in known]
        turned = table.transpose([axes.index(axis) for axis in (*given, *new)])
        chosen = _choose(
            turned.reshape(-1, math.prod(shape[axis] for axis in new)), ravel_codes(rows, given, shape), rng
        )
        for axis in reversed(new):
            chosen, rows[:, axis] = np.divmod(chosen, shape[axis])
        known.update(axes)
    return rows


def _choose(shares: Array, group: Array, rng: Rng) -> Array:
    """Choose a column of `shares` for each row, given which row of `shares` it belongs to."""
    columns = shares.shape[1]
    # A last row for groups that have no share of their own: those of all groups together.
    ends = np.cumsum(np.concatenate([shares, shares.sum(axis=0, keepdims=True)]))
    starts = np.concatenate([[0.0], ends])
    mine = np.where(starts[group * columns] < ends[group * columns + columns - 1], group, len(shares))
    low, high = starts[mine * columns], ends[mine * columns + columns - 1]
    points = low + (high - low) * (rng.words(len(group)) / 2.0**64)
    found = np.searchsorted(ends, points, side="right") - mine * columns
    return np.asarray(np.clip(found, 0, columns - 1))


def _fit(rows: Array, weights: Array, tables: Sequence[Table]) -> Array:
    """Scale weights to each table in turn; a table's cells that no row has are left out."""
    parts = []
    # The smallest tables come last and so fit best: their counts are large against the noise.
    for axes, table in sorted(tables, key=lambda one: -one[1].size):
        cells = np.ravel_multi_index(tuple(rows[:, axis] for axis in axes), table.shape)
        kept, places = np.unique(cells, return_inverse=True)
        parts.append((table.reshape(-1)[kept], places))
    for _ in track(range(_ROUNDS), total=_ROUNDS, label="weighing rows"):
        before = weights
        for wanted, places in parts:
            now = np.bincount(places, weights=weights)
            weights = weights * np.divide(wanted, now, out=np.zeros_like(now), where=now > 0)[places]
        mass = float(weights.sum())
        if not mass > 0:
            return before
        if float(np.abs(weights - before).sum()) <= _CLOSE * mass:
            break
    return weights
