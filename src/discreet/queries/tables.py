"""Many marginal tables in few passes over the data.

Summing each table out of the histogram would read it once a table. Instead the attributes are split into
one group more than the largest table has attributes: then every table misses some group, so it can be
made from the histogram with that group summed out, which is many times smaller. The same is done to those
smaller tables, until they are so small that one sparse matrix turns all of them into the wanted ones; where
such matrices would fill the memory, until nothing but the wanted ones is left.
Every step is a sum, so its transpose copies: the adjoint walks the same steps backwards.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import scipy

from discreet.core.fixed import Array, Fixed, Integers, fix_array, keep
from discreet.queries.universe import Codes

Axes = tuple[int, ...]

_Source = tuple[Axes, tuple[int, ...]]  # a small table, and the wanted ones that are made of it

_SMALL = 4096  # cells: below this a call costs more than the sums it makes
_TINY = 128
_POOLED = 1 << 21  # cells of small tables that matrices are made for
_RUN = 256  # cells next to one another that make a sum over the last axes fast


class SparseRows(Fixed):
    """The rows of a sparse matrix: three arrays that nobody can write to.

    SciPy's own matrices can be written to, so one is made for each use, around the same memory, and not kept.
    """

    __slots__ = ("data", "indices", "indptr", "shape")
    data: Array
    indices: Array
    indptr: Array
    shape: tuple[int, int]

    def __init__(self, matrix: scipy.sparse.csr_array[Any]) -> None:
        self.data, self.indices, self.indptr = map(fix_array, (matrix.data, matrix.indices, matrix.indptr))
        self.shape = (int(matrix.shape[0]), int(matrix.shape[1]))

    def matrix(self) -> scipy.sparse.csr_array[Any]:
        """Return the matrix to compute with."""
        return scipy.sparse.csr_array((self.data, self.indices, self.indptr), shape=self.shape)

    def transposed(self) -> scipy.sparse.csc_array[Any]:
        """Return the transpose: the same arrays, read as columns."""
        return scipy.sparse.csc_array((self.data, self.indices, self.indptr), shape=self.shape[::-1])


class _Step(NamedTuple):
    """Sums one table out of another: `parent` is a position among the steps, -1 the data."""

    axes: Axes
    parent: int
    shape: tuple[int, ...]  # of the parent, with neighbouring axes of one fate joined: few, long loops
    gone: Axes  # which of those are summed out
    feeds: bool  # whether later steps, or the matrices, read it
    sets: tuple[int, ...] = ()  # wanted tables that the matrices make of it


def ravel_codes(codes: Codes, axes: Iterable[int], shape: Sequence[int]) -> Integers:
    """Return the place of every row of codes in the table over some axes."""
    cells = np.zeros(len(codes), dtype=np.int64)
    for axis in axes:
        cells *= shape[axis]
        cells += codes[:, axis]
    return cells


class TableLayout(Fixed):
    """A plan for the marginal tables over some sets of axes, laid end to end in one vector.

    Parameters
    ----------
    shape
        The universe's shape.
    wanted
        Sets of axes, ascending, each at most once.
    """

    __slots__ = ("_direct", "_masks", "_pool", "_steps", "offsets", "shape", "wanted")
    offsets: tuple[int, ...]

    def __init__(self, shape: Sequence[int], wanted: Sequence[Axes]) -> None:
        self.shape = tuple(shape)
        self.wanted = tuple(map(tuple, wanted))
        sizes = [self.cells(axes) for axes in self.wanted]
        self.offsets = (0, *itertools.accumulate(sizes))
        self._masks = tuple(sum(1 << axis for axis in axes) for axes in self.wanted)
        everything = tuple(range(len(self.wanted)))
        steps, direct = self._plan(everything, _SMALL)
        if sum(self.cells(step.axes) for step in steps if step.sets) > _POOLED:
            steps, direct = self._plan(everything, 0)
        self._steps = tuple(steps)
        self._direct = MappingProxyType(direct)  # step -> the wanted table that it is

    def cells(self, axes: Axes) -> int:
        """Count the cells of a table."""
        return math.prod(self.shape[axis] for axis in axes)

    def part(self, vector: Array, index: int) -> Array:
        """Return one table of the vector of all tables, as an array over its axes (a view)."""
        flat = vector[self.offsets[index] : self.offsets[index + 1]]
        return flat.reshape([self.shape[axis] for axis in self.wanted[index]])

    # The plan ------------------------------------------------------------------------------------

    def _plan(self, sets: tuple[int, ...], small: int) -> tuple[list[_Step], dict[int, int]]:
        steps: list[_Step] = []
        direct: dict[int, int] = {}

        def plan(sets: tuple[int, ...], parent: int) -> None:
            axes = self.union(sets)
            here = len(steps)
            above = steps[parent].axes if parent >= 0 else tuple(range(len(self.shape)))
            pooled = len(sets) != 1 and self.cells(axes) <= small
            merged = self._merge(above, axes)
            steps.append(_Step(axes, parent, *merged, len(sets) > 1, sets if pooled else ()))
            if len(sets) == 1:
                direct[here] = sets[0]
            elif not pooled:
                for child in self._split(axes, sets):
                    plan(child, here)

        plan(sets, -1)
        return steps, direct

    def _split(self, axes: Axes, sets: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Deal the sets out so that each share misses a group of axes, the largest it can.

        Together they have all the axes, so no share gets all of them.
        """
        order = max(len(self.wanted[s]) for s in sets)
        groups = sorted(self._groups(axes, order + 1), key=self.cells, reverse=True)
        masks = [sum(1 << axis for axis in group) for group in groups]
        shares: dict[int, list[int]] = {}
        for s in sets:
            own = self._masks[s]
            free = next((mask for mask in masks if not mask & own), 0)
            shares.setdefault(free, []).append(s)
        whole = shares.pop(0, [])
        return [*((s,) for s in whole), *map(tuple, shares.values())]

    def _groups(self, axes: Axes, count: int) -> list[Axes]:
        """Split axes into about `count` neighbouring groups: a long last one, the others alike."""
        if count >= len(axes):
            return [(axis,) for axis in axes]
        last = len(axes) - 1
        most = len(axes) - count + 1
        while len(axes) - last < most and self.cells(axes[last:]) < min(_RUN, self.cells(axes) ** 0.5):
            last -= 1
        groups, rest = [axes[last:]], axes[:last]
        for left in range(count - 1, 0, -1):
            goal = self.cells(rest) ** (1 / left)
            take = 1
            while len(rest) - take > left - 1 and self.cells(rest[: take + 1]) <= goal * 1.5:
                take += 1
            if left == 1:
                take = len(rest)
            groups.append(rest[:take])
            rest = rest[take:]
        return groups

    def _merge(self, axes: Axes, kept: Axes) -> tuple[tuple[int, ...], Axes]:
        runs = [
            (stays, math.prod(self.shape[axis] for axis in run))
            for stays, run in itertools.groupby(axes, key=set(kept).__contains__)
        ]
        return tuple(size for _, size in runs), tuple(i for i, (stays, _) in enumerate(runs) if not stays)

    # Forwards ------------------------------------------------------------------------------------

    def of_array(self, data: Array) -> Array:
        """Return all tables of an array over the universe."""
        return self._fill(lambda step: _sum_out(data, step), np.result_type(data.dtype, np.int64))

    def of_data(self, data: Any) -> Array:
        """Return all tables of a histogram, or of an array over the universe."""
        return self.of_array(data) if isinstance(data, np.ndarray) else self.of_entries(*data.entries())

    def of_entries(self, codes: Codes, counts: Array) -> Array:
        """Return all tables of a sparse histogram."""
        worth = max(1 << 16, 8 * len(counts))
        codes = np.asfortranarray(codes)  # many passes over a few columns each

        def count(step: _Step) -> Array | None:
            if self.cells(step.axes) > worth and step.feeds:
                return None  # what it feeds is counted instead
            return self._count(codes, counts, step.axes)

        return self._fill(count, np.result_type(counts.dtype, np.int64))

    def _count(self, codes: Codes, counts: Array, axes: Axes) -> Array:
        cells = ravel_codes(codes, axes, self.shape)
        table = np.zeros(self.cells(axes), dtype=np.result_type(counts.dtype, np.int64))
        np.add.at(table, cells, counts)
        return table

    def _fill(self, from_data: Callable[[_Step], Array | None], dtype: Any) -> Array:
        """Take all steps. A step is followed by those below it, so only the ones above are kept at a time."""
        result = np.empty(self.offsets[-1], dtype=dtype)
        above: dict[int, Array | None] = {}
        small: list[Array] = []
        for here, step in enumerate(self._steps):
            while above and next(reversed(above)) != step.parent:
                above.popitem()
            source = above.get(step.parent)
            table = from_data(step) if source is None else _sum_out(source, step)
            if here in self._direct:
                s = self._direct[here]
                result[self.offsets[s] : self.offsets[s + 1]] = np.ravel(table)  # type: ignore[arg-type]
            elif step.sets:
                small.append(np.ravel(table))  # type: ignore[arg-type]
            else:
                above[here] = table
        if small:
            self._small_tables().forwards(np.concatenate(small), result)
        return result

    # Backwards -----------------------------------------------------------------------------------

    def adjoint(self, vector: Array) -> Array:
        """Return the transpose: each cell of the universe adds up its cells of all the tables."""
        dtype = np.result_type(vector.dtype, np.int64)
        into: list[Array | None] = [None] * len(self._steps)
        self._unpool(vector.astype(dtype, copy=False), into)
        for here, s in self._direct.items():
            into[here] = vector[self.offsets[s] : self.offsets[s + 1]].astype(dtype)
        for here in reversed(range(1, len(self._steps))):
            step, source = self._steps[here], into[here]
            into[here] = None
            into[step.parent] = _spread(source, step, into[step.parent])
        return _spread(into[0], self._steps[0], None).reshape(self.shape)

    def _unpool(self, vector: Array, into: list[Array | None]) -> None:
        if not any(step.sets for step in self._steps):
            return
        pool = self._small_tables().backwards(vector)
        start = 0
        for here, step in enumerate(self._steps):
            if step.sets:
                stop = start + self.cells(step.axes)
                into[here] = pool[start:stop]
                start = stop

    # The small tables ----------------------------------------------------------------------------

    def _small_tables(self) -> _Pool:
        sources = [(step.axes, step.sets) for step in self._steps if step.sets]
        return keep(self, "_pool", lambda: _Pool(self, sources))

    def shares(self, axes: Axes, sets: tuple[int, ...]) -> list[tuple[int, ...]]:
        """Deal out the wanted tables that a small table makes: by groups while that saves sums."""
        if self.cells(axes) > _TINY and len(sets) > 4:
            return self._split(axes, sets)
        return [(s,) for s in sets]

    def union(self, sets: Iterable[int]) -> Axes:
        """Return every axis that one of the wanted tables has."""
        union = functools.reduce(operator.or_, [self._masks[s] for s in sets], 0)
        return tuple([axis for axis in range(union.bit_length()) if union >> axis & 1])


def _sum_out(source: Any, step: _Step) -> Array:
    if not step.gone:
        return np.asarray(source)
    return np.asarray(source.reshape(step.shape).sum(axis=step.gone).reshape(-1))


def _spread(source: Any, step: _Step, target: Array | None) -> Array:
    """Copy a table over the axes that were summed out of its parent, on top of what is there."""
    if target is None and not step.gone:
        return np.asarray(source)
    narrow = source.reshape([1 if i in step.gone else size for i, size in enumerate(step.shape)])
    if target is None:
        target = np.empty(math.prod(step.shape), dtype=source.dtype)
        np.copyto(target.reshape(step.shape), narrow)
    else:
        wide = target.reshape(step.shape)
        wide += narrow
    return target


class _Pool(Fixed):
    """Small tables laid end to end, and the matrices that sum the wanted ones out of them."""

    __slots__ = ("_matrices", "_places")

    def __init__(self, tables: TableLayout, level: list[_Source]) -> None:
        matrices = []
        while any(len(sets) > 1 or tables.wanted[sets[0]] != axes for axes, sets in level):
            level, matrix = _shrink(tables, level)
            matrices.append(matrix)
        spans = [np.arange(tables.offsets[s], tables.offsets[s + 1]) for _, (s,) in level]
        self._matrices, self._places = tuple(matrices), fix_array(np.concatenate(spans))

    def forwards(self, pool: Array, result: Array) -> None:
        """Write the wanted tables into the vector of all."""
        for matrix in self._matrices:
            pool = matrix.matrix() @ pool
        result[self._places] = pool

    def backwards(self, vector: Array) -> Array:
        """Return the transpose: the small tables of the vector of all."""
        pool = vector[self._places]
        for matrix in reversed(self._matrices):
            pool = matrix.transposed() @ pool
        return np.asarray(pool)


def _shrink(tables: TableLayout, level: list[_Source]) -> tuple[list[_Source], SparseRows]:
    """Return smaller tables, and the matrix that makes them of those of a level."""
    following, indices, lengths, start = [], [], [], 0
    for axes, sets in level:
        shape = [tables.shape[axis] for axis in axes]
        numbers = np.arange(start, start + math.prod(shape), dtype=np.int32).reshape(shape)
        start += numbers.size
        for share in tables.shares(axes, sets):
            kept = tables.union(share)
            order = [axes.index(axis) for axis in kept]
            order += [place for place in range(len(axes)) if place not in order]
            terms = numbers.transpose(order).reshape(tables.cells(kept), -1)
            indices.append(terms.reshape(-1))
            lengths.append(np.full(len(terms), terms.shape[1], dtype=np.int32))
            following.append((kept, share))
    ends = np.cumsum(np.concatenate([np.zeros(1, dtype=np.int32), *lengths]), dtype=np.int32)
    ones = np.ones(int(ends[-1]), dtype=np.int64)
    matrix = scipy.sparse.csr_array((ones, np.concatenate(indices), ends), shape=(len(ends) - 1, start))
    return following, SparseRows(matrix)
