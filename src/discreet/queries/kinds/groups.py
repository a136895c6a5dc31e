"""Counts by group: how many of the rows that meet one condition are in each group of some groupings.

All groups are answered together: the table over the attributes that matter is summed out of the data once,
cells that do not meet the condition are struck out, and every grouping is a marginal of what is left.
"""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Sequence

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Bools, fix_array
from discreet.queries.histogram import Histogram
from discreet.queries.query import TableQuery, read_array, read_axes
from discreet.queries.tables import Axes, TableLayout
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload

Grouping = tuple[tuple[int, tuple[int, ...]], ...]
"""The attributes of a grouping, by place, in the order of its rows, each with the codes of its groups."""


class Groups(Workload):
    """The groups of some groupings, grouping by grouping; the last attribute of each runs fastest.

    Time: one pass over the data, and a few over the tables of the groupings.

    Parameters
    ----------
    axes, where
        The attributes that the condition looks at, ascending, and where it holds: booleans over them.
    groupings
        What is grouped by.

    >>> universe = Universe([("a", (0, 1)), ("b", (0, 1, 2))])
    >>> by_b = Groups(universe, axes=(0,), where=np.array([True, False]), groupings=[((1, (0, 2)),)])
    >>> by_b.answers([[1, 2, 3], [4, 5, 6]]).tolist()
    [1, 3]
    """

    __slots__ = ("_kept", "_keys", "_struck", "_table", "_tables", "axes", "groupings", "offsets", "where")

    def __init__(
        self, universe: Universe, *, axes: Axes, where: Bools, groupings: Sequence[Grouping]
    ) -> None:
        super().__init__(universe)
        axes, held = read_axes(axes, universe, "where"), read_array(where, "where")
        shape = tuple(universe.shape[axis] for axis in axes)
        if held.dtype != np.bool_ or held.shape != shape:
            raise InvalidParameter(name="where", rule=f"booleans of shape {shape}", got="others")
        listed = tuple(tuple((int(axis), tuple(map(int, codes))) for axis, codes in one) for one in groupings)
        if not listed or any(not _is_grouping(grouping, universe) for grouping in listed):
            rule = "a list of at least one, of attributes and declared codes, each at most once"
            raise InvalidParameter(name="groupings", rule=rule, got="others")
        self.axes, self.where, self.groupings = axes, fix_array(held), listed
        lengths = [math.prod(len(codes) for _, codes in grouping) for grouping in listed]
        self.offsets = (0, *itertools.accumulate(lengths))
        keys = tuple(sorted({axis for grouping in listed for axis, _ in grouping}))
        kept = tuple(sorted({*axes, *keys}))
        self._kept, self._keys = kept, keys
        self._struck = self.where.reshape([universe.shape[axis] if axis in axes else 1 for axis in kept])
        self._table = TableLayout(universe.shape, [kept])
        within = {tuple(sorted(keys.index(axis) for axis, _ in grouping)): 0 for grouping in listed}
        self._tables = TableLayout([universe.shape[axis] for axis in keys], list(within))

    def restate(self, universe: Universe) -> Groups:
        """Return the same groups over a universe, made anew from their condition and groupings."""
        return Groups(universe, axes=self.axes, where=self.where, groupings=self.groupings)

    def __len__(self) -> int:
        return self.offsets[-1]

    def place(self, index: int) -> tuple[Grouping, tuple[int, ...]]:
        """Return the grouping of a group, and its code of each attribute."""
        number = bisect_right(self.offsets, index) - 1
        grouping = self.groupings[number]
        lengths = [len(codes) for _, codes in grouping]
        chosen = np.unravel_index(index - self.offsets[number], lengths) if lengths else ()
        return grouping, tuple(codes[int(c)] for (_, codes), c in zip(grouping, chosen, strict=True))

    def _query(self, index: int) -> TableQuery:
        grouping, codes = self.place(index)
        keys = dict(zip((axis for axis, _ in grouping), codes, strict=True))
        axes = tuple(sorted({*self.axes, *keys}))
        shape = [self.universe.shape[axis] for axis in axes]
        inside = self.where.reshape([self.universe.shape[a] if a in self.axes else 1 for a in axes])
        table = np.zeros(shape, dtype=np.bool_)
        only = tuple(keys.get(axis, slice(None)) for axis in axes)
        table[only] = np.broadcast_to(inside, shape)[only]
        attributes = self.universe.attributes
        names = [f"{attributes[axis].name}={attributes[axis].values[code]!r}" for axis, code in keys.items()]
        return TableQuery(self.universe, axes, ", ".join(names) or "rows", table=table)

    def _answers(self, data: Histogram | Array) -> Array:
        flat = self._table.of_data(data)
        table = flat.reshape([self.universe.shape[axis] for axis in self._kept]) * self._struck
        gone = tuple(place for place, axis in enumerate(self._kept) if axis not in self._keys)
        vector = self._tables.of_array(table.sum(axis=gone))
        return np.concatenate([self._view(vector, grouping).ravel() for grouping in self.groupings])

    def _adjoint(self, vector: Array) -> Array:
        spread = np.zeros(self._tables.offsets[-1], dtype=vector.dtype)
        for number, grouping in enumerate(self.groupings):
            part = vector[self.offsets[number] : self.offsets[number + 1]]
            places = self._view(np.arange(len(spread)), grouping)
            np.add.at(spread, places.ravel(), part)
        shape = [self.universe.shape[axis] if axis in self._keys else 1 for axis in self._kept]
        narrow = self._tables.adjoint(spread).reshape(shape)
        return self._table.adjoint(np.ravel(narrow * self._struck))

    def _view(self, vector: Array, grouping: Grouping) -> Array:
        """Return the entries of one grouping, in the order of its attributes, of the vector of all tables."""
        places = [self._keys.index(axis) for axis, _ in grouping]
        table = self._tables.part(vector, self._tables.wanted.index(tuple(sorted(places))))
        turned = table.transpose([sorted(places).index(place) for place in places])
        return turned[np.ix_(*(codes for _, codes in grouping))] if grouping else turned


def _is_grouping(grouping: Grouping, universe: Universe) -> bool:
    axes = [axis for axis, _ in grouping]
    return len(set(axes)) == len(axes) and all(
        0 <= axis < len(universe.shape)
        and len(codes) == len(set(codes)) > 0
        and 0 <= min(codes) <= max(codes) < universe.shape[axis]
        for axis, codes in grouping
    )
