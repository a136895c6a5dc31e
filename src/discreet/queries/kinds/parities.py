"""Parities over attributes of two values: the Walsh-Hadamard transform of the histogram."""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Integers, build, fix_array, keep
from discreet.queries.histogram import Histogram
from discreet.queries.query import Axes, LinearQuery, read_axes, read_name
from discreet.queries.tables import TableLayout
from discreet.queries.universe import Codes, Universe
from discreet.queries.workload import Workload, require_sets

_MOST_AXES = 26  # of one transform: 2 ** 26 numbers
_CHUNK = 1 << 22


class ParityQuery(LinearQuery):
    """Weighs a cell +1 where an even number of its attributes has the second value, else -1."""

    __slots__ = ()

    def __init__(self, universe: Universe, axes: Axes, name: str) -> None:
        super().__init__(universe, axes, name)
        if any(size != 2 for size in self.shape):
            raise InvalidParameter(name=name, rule="over attributes of two values", value=self.shape)

    def restate(self, universe: Universe) -> ParityQuery:
        """Return the same query over a universe, made anew."""
        return ParityQuery(universe, self.axes, read_name(self.name))

    @property
    def is_predicate(self) -> bool:
        """Whether every weight is 0 or 1."""
        return not self.axes

    def table(self) -> Array:
        """Return the weights as an array over the query's own axes."""
        table = np.ones((), dtype=np.int64)
        for _ in self.axes:
            table = np.multiply.outer(table, np.array([1, -1]))
        return table

    def at(self, codes: Codes) -> Array:
        """Return the weights of some cells, given as rows of codes."""
        return np.asarray(1 - 2 * (codes[:, list(self.axes)].sum(axis=1) & 1))

    def extent(self) -> tuple[Any, Any]:
        """Return the smallest and the largest weight of any cell."""
        return (-1, 1) if self.axes else (1, 1)


class Parities(Workload):
    """For each set of attributes of two values: rows with evenly many second values, minus the others.

    The number of rows with an odd parity is half of (total - answer). The empty set is the total.

    Time: small sets are answered from marginal tables that share their sums; otherwise one fast transform
    over the attributes in use answers any number of parities.

    Parameters
    ----------
    sets
        Lists of names of attributes of two values.
    """

    __slots__ = ("_kept_signs", "_kept_tables", "_masks", "_order", "_sets", "_used")
    _masks: Integers

    def __init__(self, universe: Universe, sets: Iterable[Iterable[str]]) -> None:
        self._set_sets(universe, [universe.axes(names) for names in sets])

    @classmethod
    def of_order(cls, universe: Universe, order: int) -> Self:
        """Make the parities of every set of `order` attributes."""
        checks.integer(0, order=order)
        sets = list(itertools.combinations(range(len(universe.shape)), order))
        return build(cls, cls._set_sets, universe, sets, order)

    @classmethod
    def every(cls, universe: Universe) -> Self:
        """Make the parity of every set of attributes, by growing size."""
        places = range(len(universe.shape))
        sets = [s for k in range(len(places) + 1) for s in itertools.combinations(places, k)]
        return build(cls, cls._set_sets, universe, sets)

    def restate(self, universe: Universe) -> Self:
        """Return the same parities over a universe, made anew from their sets."""
        sets = [read_axes(axes, universe, "sets") for axes in self._sets]
        order = -1 if self._order < 0 else len(sets[0])
        if order >= 0 and sets != list(itertools.combinations(range(len(universe.shape)), order)):
            order = -1  # it may not claim to be all of them
        return build(type(self), Parities._set_sets, universe, sets, order)

    def _set_sets(self, universe: Universe, sets: list[Axes], order: int = -1) -> None:
        super().__init__(universe)
        self._sets, self._order = require_sets(sets), order
        self._used = tuple(sorted(set().union(*sets)))
        for axis in self._used:
            if universe.shape[axis] != 2:
                name = universe.names[axis]
                raise InvalidParameter(name=name, rule="of two values", value=universe.shape[axis])
        if len(self._used) > 62:
            raise InvalidParameter(name="sets", rule="over at most 62 attributes", value=len(self._used))
        bits = {axis: 1 << place for place, axis in enumerate(reversed(self._used))}
        self._masks = fix_array(np.array([sum(bits[axis] for axis in axes) for axes in sets], dtype=np.int64))

    @property
    def is_predicates(self) -> bool:
        """Whether every weight of every query is 0 or 1."""
        return not self._used

    @property
    def is_integral(self) -> bool:
        """Whether every weight is a whole number, so that whole counts have whole answers."""
        return True

    def __len__(self) -> int:
        return len(self._sets)

    @property
    def rank(self) -> int:
        """How many of the sets are independent, as vectors over the field of two elements."""
        basis: list[int] = []
        for mask in map(int, self._masks):
            rest = functools.reduce(lambda left, vector: min(left, left ^ vector), basis, mask)
            if rest:
                basis.append(rest)
        return len(basis)

    def _query(self, index: int) -> ParityQuery:
        axes = self._sets[index]
        name = f"parity({', '.join(self.universe.names[axis] for axis in axes)})"
        return ParityQuery(self.universe, axes, name)

    @property
    def _tables(self) -> TableLayout | None:
        """The marginal tables of the sets, where those are smaller than one transform."""
        return keep(self, "_kept_tables", self._make_tables)

    def _make_tables(self) -> TableLayout | None:
        if sum(1 << len(axes) for axes in self._sets) > 1 << min(len(self._used), _MOST_AXES):
            return None
        return TableLayout(self.universe.shape, self._sets)

    @property
    def _signs(self) -> Array:
        """The weights of the sets' parities over their tables, laid end to end."""
        return keep(
            self, "_kept_signs", lambda: fix_array(np.concatenate([query.table().ravel() for query in self]))
        )

    def _answers(self, data: Histogram | Array) -> Array:
        if self._tables is not None:
            vector = self._tables.of_data(data)
            return np.asarray(np.add.reduceat(vector * self._signs, self._tables.offsets[:-1]))
        if isinstance(data, Histogram):
            return self._on_entries(*data.entries())
        others = tuple(axis for axis in range(data.ndim) if axis not in self._used)
        table = np.array(data.sum(axis=others) if others else data).reshape(-1)
        return transform(table)[self._masks]

    def _on_entries(self, codes: Codes, counts: Array) -> Array:
        rows = np.zeros(len(codes), dtype=np.int64)
        for axis in self._used:
            rows = 2 * rows + codes[:, axis]
        if 1 << len(self._used) <= max(1 << 20, 8 * len(rows)):
            table = np.zeros(1 << len(self._used), dtype=np.int64)
            np.add.at(table, rows, counts)
            return transform(table)[self._masks]
        result = np.empty(len(self), dtype=np.int64)
        step = max(1, _CHUNK // max(1, len(rows)))
        for start in range(0, len(self), step):
            odd = np.bitwise_count(self._masks[start : start + step, None] & rows) & 1
            result[start : start + step] = (1 - 2 * odd.astype(np.int64)) @ counts
        return result

    def _adjoint(self, vector: Array) -> Array:
        if self._tables is not None:
            sizes = [1 << len(axes) for axes in self._sets]
            return self._tables.adjoint(np.repeat(vector, sizes) * self._signs)
        shape = [size if axis in self._used else 1 for axis, size in enumerate(self.universe.shape)]
        table = transform(self._scatter(vector)).reshape(shape)
        whole = table.shape == self.universe.shape
        return table if whole else np.array(np.broadcast_to(table, self.universe.shape))

    def _scatter(self, vector: Array) -> Array:
        table = np.zeros(1 << len(self._used), dtype=vector.dtype)
        table[self._masks] = vector
        return table

    def closed_form(self, *, replaced: bool, power: int) -> int | None:
        """Return the answer: every weight is 1 or -1, and two cells differ by 2 where a parity does."""
        if not replaced:
            return len(self)
        return None if (odd := self._most_odd()) is None else odd * 2**power

    def _most_odd(self) -> int | None:
        """Return the most parities that one flip of some attributes changes."""
        used = len(self._used)
        if len(self) == 2**used:
            return len(self) // 2 if used else 0
        if self._order >= 0:
            d, k = used, self._order
            odd = range(1, k + 1, 2)
            return max(sum(math.comb(w, j) * math.comb(d - w, k - j) for j in odd) for w in range(d + 1))
        if used > _MOST_AXES:
            return None
        flipped = transform(self._scatter(np.ones(len(self), dtype=np.int64)))
        return (len(self) - int(flipped.min())) // 2

    @property
    def is_uniform(self) -> bool:
        """Whether all columns have the same norm: every one does."""
        return True

    def classes(self) -> list[Array]:
        """Return labels: the attributes in use tell their two values apart."""
        return [np.arange(n) * (axis in self._used) for axis, n in enumerate(self.universe.shape)]

    def extents(self) -> Iterable[tuple[Any, Any]]:
        """List the extents: the empty set's parity is 1 everywhere."""
        return {(-1, 1) if axes else (1, 1) for axes in self._sets}


def transform(table: Array) -> Array:
    """Return the Walsh-Hadamard transform, without scaling; the argument is used up."""
    bits = len(table).bit_length() - 1
    rows = 1 << bits // 2
    # First the high bits, whose partners are far apart; then the low bits, made high by turning the table.
    turned = np.ascontiguousarray(_high_bits(table.reshape(rows, -1)).T)
    return np.ascontiguousarray(_high_bits(turned).T).reshape(-1)


def _high_bits(table: Array) -> Array:
    """Transform each column in place."""
    half = 1
    spare = np.empty(table.size // 2, dtype=table.dtype)
    while half < len(table):
        pairs = table.reshape(-1, 2, half * table.shape[1])
        sums = spare.reshape(-1, half * table.shape[1])
        np.add(pairs[:, 0], pairs[:, 1], out=sums)
        np.subtract(pairs[:, 0], pairs[:, 1], out=pairs[:, 1])
        pairs[:, 0] = sums
        half *= 2
    return table
