"""Ranges and axis-aligned rectangles over ordered attributes."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Integers, build, fix_array
from discreet.queries.query import ProductQuery, read_array, read_axes
from discreet.queries.tables import Axes
from discreet.queries.universe import Codes, Universe
from discreet.queries.workload import Tabled, locate

_CELLS = 16_384  # cells whose pairs are compared by formula


class _Boxes(NamedTuple):
    """The boxes over one set of axes: which queries they are, and their first and last codes."""

    axes: Axes
    rows: Integers
    low: Integers
    high: Integers


class Rectangles(Tabled):
    """Boxes: an interval of values, both ends included, for each of some attributes.

    Time: one table of prefix sums a set of attributes, then two corners an attribute for each box.

    Parameters
    ----------
    boxes
        Mappings from names to (first value, last value) in declared order.

    >>> universe = Universe([("age", range(100)), ("year", range(2000, 2010))])
    >>> Rectangles(universe, [{"age": (18, 64), "year": (2003, 2005)}]).names
    ('18<=age<=64, 2003<=year<=2005',)
    """

    __slots__ = ("_groups", "_length", "_where", "is_every")

    def __init__(self, universe: Universe, boxes: Iterable[Mapping[str, tuple[Any, Any]]]) -> None:
        groups: dict[Axes, list[tuple[int, list[tuple[int, int]]]]] = {}
        for row, box in enumerate(boxes):
            axes = universe.axes(box)
            groups.setdefault(axes, []).append((row, [_ends(universe, axis, box) for axis in axes]))
        made = []
        for axes, listed in groups.items():
            ends = np.array([each for _, each in listed], dtype=np.int64).reshape(len(listed), len(axes), 2)
            rows = np.array([row for row, _ in listed], dtype=np.int64)
            made.append(_Boxes(axes, rows, ends[:, :, 0], ends[:, :, 1]))
        self._set_groups(universe, made, every=False)

    @classmethod
    def every(cls, universe: Universe, attributes: Iterable[str]) -> Self:
        """Make every box over some attributes: an interval of each, the first attribute's runs slowest."""
        axes = universe.axes(attributes)
        ends = [np.triu_indices(universe.shape[axis]) for axis in axes]
        count = math.prod(len(low) for low, _ in ends)
        low, high = np.empty((2, count, len(axes)), dtype=np.int64)
        repeat = count
        for place, (first, last) in enumerate(ends):
            repeat //= len(first)
            low[:, place] = np.resize(np.repeat(first, repeat), count)
            high[:, place] = np.resize(np.repeat(last, repeat), count)
        boxes = _Boxes(axes, np.arange(count), low, high)
        return build(cls, cls._set_groups, universe, [boxes], every=True)

    def restate(self, universe: Universe) -> Self:
        """Return the same boxes over a universe, made anew from their first and last codes."""
        groups = [_fix(_Boxes(*group), universe) for group in self._groups]
        if self.is_every:
            whole = self.every(universe, [universe.names[axis] for axis in groups[0].axes])
            if whole.has(groups):  # it may not just claim to be all of them
                return whole
        return build(type(self), Rectangles._set_groups, universe, groups, every=False)

    def has(self, groups: Sequence[_Boxes]) -> bool:
        """Tell whether these are its boxes, in this order."""
        return len(groups) == len(self._groups) and all(
            mine.axes == theirs.axes and all(map(np.array_equal, mine[1:], theirs[1:]))
            for mine, theirs in zip(self._groups, groups, strict=True)
        )

    def _set_groups(self, universe: Universe, groups: list[_Boxes], *, every: bool) -> None:
        super().__init__(universe)
        if not groups:
            raise InvalidParameter(name="boxes", rule="a list of at least one box", value=groups)
        self._groups = tuple(_fix(group, universe) for group in groups)
        self.sets = tuple(group.axes for group in self._groups)
        self.is_every = every
        self._where = locate([group.rows for group in self._groups])
        self._length = len(self._where)

    def __len__(self) -> int:
        return self._length

    def _query(self, index: int) -> ProductQuery:
        place, row = self._where[index]
        group = self._groups[place]
        names, masks = [], []
        for axis, low, high in zip(group.axes, group.low[row], group.high[row], strict=True):
            name, values = self.universe.attributes[axis]
            names.append(f"{values[low]!r}<={name}<={values[high]!r}")
            codes = np.arange(len(values))
            masks.append((low <= codes) & (codes <= high))
        return ProductQuery(self.universe, group.axes, ", ".join(names) or "total", masks=masks)

    def _from_tables(self, vector: Array) -> Array:
        result = np.zeros(len(self), dtype=vector.dtype)
        for place, group in enumerate(self._groups):
            table = self.tables.part(vector, place)
            sums = np.zeros([size + 1 for size in table.shape], dtype=vector.dtype)
            sums[(slice(1, None),) * sums.ndim] = table
            for axis in range(sums.ndim):
                np.cumsum(sums, axis=axis, out=sums)
            for sign, corner in _corners(group):
                result[group.rows] += sign * sums[corner]
        return result

    def _to_tables(self, vector: Array) -> Array:
        result = np.empty(self.tables.offsets[-1], dtype=vector.dtype)
        for place, group in enumerate(self._groups):
            table = self.tables.part(result, place)
            # The transpose of a prefix sum is a suffix sum.
            sums = np.zeros([size + 1 for size in table.shape], dtype=vector.dtype)
            if not group.axes:  # every box is the total
                sums += vector[group.rows].sum()
            for sign, corner in _corners(group) if group.axes else ():
                np.add.at(sums, corner, sign * vector[group.rows])
            for axis in range(sums.ndim):
                sums = np.flip(np.cumsum(np.flip(sums, axis), axis=axis), axis)
            table[...] = sums[(slice(1, None),) * sums.ndim]
        return result

    def classes(self) -> list[Array]:
        """Return labels that change where some interval begins or has just ended."""
        marks = [np.zeros(size + 1, dtype=np.bool_) for size in self.universe.shape]
        for group in self._groups:
            for place, axis in enumerate(group.axes):
                marks[axis][group.low[:, place]] = True
                marks[axis][group.high[:, place] + 1] = True
        return [np.cumsum(mark[:-1]) for mark in marks]

    def block(self, start: int, stop: int, codes: Codes) -> Array:
        """Return the weights of some queries at some cells: one row a query."""
        result = np.ones((stop - start, len(codes)), dtype=np.bool_)
        for place, group in enumerate(self._groups):
            mine = np.flatnonzero(self._where[start:stop, 0] == place)
            own = self._where[start:stop, 1][mine]
            for k, axis in enumerate(group.axes):
                low, high = group.low[own, k, None], group.high[own, k, None]
                result[mine] &= (low <= codes[:, axis]) & (codes[:, axis] <= high)
        return result

    def closed_form(self, *, replaced: bool, power: int) -> int | None:
        """Return the answer for all boxes: the middle cell is in the most of them."""
        del power
        if not self.is_every:
            return None
        sizes = [self.universe.shape[axis] for axis in self.sets[0]]
        if not replaced:
            return math.prod((n + 1) ** 2 // 4 for n in sizes)
        if len([n for n in sizes if n > 1]) <= 1:  # s(n + 1 - s) boxes for a gap of n - s, at best the same
            return max((n + 1) ** 2 // 4 if n > 1 else 0 for n in [*sizes, 1])
        return _widest(sizes) if math.prod(sizes) <= _CELLS else None

    def extents(self) -> Iterable[tuple[Any, Any]]:
        """List the extents: only a box that leaves nothing out is 1 everywhere."""
        found = set()
        for group in self._groups:
            last = np.array([self.universe.shape[axis] - 1 for axis in group.axes])
            whole = ((group.low == 0) & (group.high == last)).all(axis=1)
            found |= {(int(everything), 1) for everything in np.unique(whole)}
        return found


class Ranges(Rectangles):
    """Intervals of one ordered attribute, both ends included: all of them, or a list.

    Sensitivity: of all intervals over n values, floor((n + 1)^2 / 4) contain the middle one.

    >>> hours = Universe([("hour", range(24))])
    >>> len(Ranges.every(hours, ["hour"])), Ranges(hours, "hour", [(9, 17)]).names
    (300, ('9<=hour<=17',))
    """

    __slots__ = ()

    def __init__(self, universe: Universe, attribute: str, bounds: Iterable[tuple[Any, Any]]) -> None:
        super().__init__(universe, [{attribute: ends} for ends in bounds])


def _fix(group: _Boxes, universe: Universe) -> _Boxes:
    """Return boxes whose ends must be codes, the first not after the last, in arrays that stay like that."""
    axes = read_axes(group.axes, universe, "boxes")
    rows, low, high = (read_array(each, "boxes") for each in group[1:])
    most = np.array([universe.shape[axis] for axis in axes], dtype=np.int64)
    shaped = low.shape == high.shape == (len(rows), len(axes)) and low.dtype == high.dtype == np.int64
    if not shaped or not bool(((low >= 0) & (low <= high) & (high < most)).all()):
        raise InvalidParameter(name="boxes", rule="first and last codes", got="something else")
    return _Boxes(axes, fix_array(rows), fix_array(low), fix_array(high))


def _ends(universe: Universe, axis: int, box: Mapping[str, tuple[Any, Any]]) -> tuple[int, int]:
    attribute = universe.attributes[axis]
    try:
        first, last = box[attribute.name]
    except (TypeError, ValueError):
        rule = "a pair of a first and a last value"
        raise InvalidParameter(name=attribute.name, rule=rule, value=box[attribute.name]) from None
    low, high = universe.code(axis, first), universe.code(axis, last)
    if low > high:
        rule = "a first value that is not declared after the last one"
        raise InvalidParameter(name=attribute.name, rule=rule, value=(first, last))
    return low, high


def _corners(group: _Boxes) -> Iterable[tuple[int, tuple[Integers, ...]]]:
    """List the corners of the boxes in a table of prefix sums with a border of zeros."""
    for upper in itertools.product((True, False), repeat=len(group.axes)):
        ends = (group.high[:, k] + 1 if up else group.low[:, k] for k, up in enumerate(upper))
        yield (-1) ** upper.count(False), tuple(ends)


def _widest(sizes: list[int]) -> int:
    """Return the most boxes that contain exactly one of two cells, over all pairs of cells."""
    shared = []
    for n in sizes:
        codes = np.arange(n)
        shared.append((np.minimum.outer(codes, codes) + 1) * (n - np.maximum.outer(codes, codes)))
    inside = functools.reduce(np.multiply.outer, [table.diagonal() for table in shared])
    widest = 0
    # Mirroring an attribute changes nothing, so one of the cells may be in the lower half of each.
    for cell in itertools.product(*(range((n + 1) // 2) for n in sizes)):
        both = functools.reduce(np.multiply.outer, [t[c] for t, c in zip(shared, cell, strict=True)])
        widest = max(widest, int((inside - 2 * both).max() + inside[cell]))
    return widest
