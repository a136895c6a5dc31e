"""Queries given as an explicit sparse matrix, one row a query and one column a cell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, fix_array, keep
from discreet.queries.histogram import Histogram
from discreet.queries.query import (
    LARGEST,
    LinearQuery,
    multiply_weights,
    name_multiple,
    read_array,
    read_name,
    read_scale,
    read_weights,
    weigh,
)
from discreet.queries.tables import SparseRows
from discreet.queries.universe import Codes, Universe
from discreet.queries.workload import Workload


class SparseQuery(LinearQuery):
    """Weights of a few cells, by number, ascending; every other cell weighs nothing."""

    __slots__ = ("_cells", "_weights")

    def __init__(self, universe: Universe, name: str, *, cells: Array, weights: Array) -> None:
        super().__init__(universe, tuple(range(len(universe.shape))), name)
        places, values = read_array(cells, name), read_weights(weights, name)
        if places.ndim != 1 or places.dtype.kind not in "iu" or places.shape != values.shape:
            raise InvalidParameter(name=name, rule="numbers of cells and as many weights", got="others")
        numbers = places.astype(np.int64)
        rising = bool((np.diff(numbers, prepend=-1) > 0).all())
        if not rising or (len(numbers) and int(numbers[-1]) >= universe.size):
            raise InvalidParameter(name=name, rule="cells of the universe, ascending", got="others")
        whole = values.astype(np.int64) if values.dtype.kind == "b" else values
        self._cells, self._weights = fix_array(numbers), fix_array(whole)

    def restate(self, universe: Universe) -> SparseQuery:
        """Return the same query over a universe, made anew from its cells and weights."""
        return SparseQuery(universe, read_name(self.name), cells=self._cells, weights=self._weights)

    def multiply(self, scale: checks.Number) -> SparseQuery:
        """Return the query with all of its weights times a positive number."""
        by = read_scale(checks.positive(scale=scale))
        weights, name = multiply_weights(self._weights, by), name_multiple(self.name, by)
        return SparseQuery(self.universe, name, cells=self._cells, weights=weights)

    @property
    def is_predicate(self) -> bool:
        """Whether every weight is 0 or 1."""
        return bool((self._weights == 1).all())

    @property
    def is_integral(self) -> bool:
        """Whether every weight is a whole number, so that whole counts have whole answers."""
        return self._weights.dtype.kind == "i"

    def table(self) -> Array:
        """Return the weights as an array over the universe."""
        self.universe.require_dense()
        table = np.zeros(self.universe.size, dtype=self._weights.dtype)
        table[self._cells] = self._weights
        return table.reshape(self.universe.shape)

    def at(self, codes: Codes) -> Array:
        """Return the weights of some cells, given as rows of codes."""
        asked = self.universe.ravel(codes)
        result = np.zeros(len(asked), dtype=self._weights.dtype)
        places = np.searchsorted(self._cells, asked)
        found = places < len(self._cells)
        found[found] = self._cells[places[found]] == asked[found]
        result[found] = self._weights[places[found]]
        return result

    def extent(self) -> tuple[Any, Any]:
        """Return the smallest and the largest weight of any cell."""
        ends = [*self._weights.tolist()] + [0] * (len(self._cells) < self.universe.size)
        return min(ends), max(ends)

    def _on_array(self, data: Array) -> int | float:
        return weigh(data.reshape(-1)[self._cells], self._weights)


class Matrix(Workload):
    """Queries that are the rows of a sparse matrix.

    Parameters
    ----------
    matrix
        Anything `scipy.sparse` reads, or a plain array: queries by cells, cells in the universe's order.
    names
        One for each query; numbered where left out.
    """

    __slots__ = ("_is_predicates", "_names", "_rows")

    def __init__(self, universe: Universe, matrix: Any, *, names: Sequence[str] | None = None) -> None:
        super().__init__(universe)
        rows = _read_rows(matrix)
        if rows.ndim != 2 or rows.shape[1] != universe.size or not rows.shape[0]:
            rule = f"a matrix of {universe.size} columns and at least one row"
            raise InvalidParameter(name="matrix", rule=rule, value=rows.shape)
        self._rows = SparseRows(rows.astype(np.int64) if bool((rows.data == 1).all()) else rows)
        self._names = tuple(
            (f"row {i}" for i in range(len(self))) if names is None else map(read_name, names)
        )
        if len(self._names) != len(self):
            raise InvalidParameter(name="names", rule=f"{len(self)} names", value=len(self._names))

    def restate(self, universe: Universe) -> Matrix:
        """Return the same queries over a universe, made anew from the matrix."""
        return Matrix(universe, self._rows.matrix(), names=self._names)

    def multiply(self, scale: checks.Number) -> Matrix:
        """Return the same queries, with all of their weights times a positive number."""
        by, rows = read_scale(checks.positive(scale=scale)), self._rows
        scaled = (multiply_weights(rows.data, by), rows.indices, rows.indptr)
        names = [name_multiple(name, by) for name in self._names]
        return Matrix(self.universe, scipy.sparse.csr_array(scaled, shape=rows.shape), names=names)

    def __len__(self) -> int:
        return self._rows.shape[0]

    @property
    def is_predicates(self) -> bool:
        """Whether every weight of every query is 0 or 1."""
        return keep(self, "_is_predicates", lambda: bool((self._rows.data == 1).all()))

    @property
    def is_integral(self) -> bool:
        """Whether every weight is a whole number, so that whole counts have whole answers."""
        return bool(self._rows.data.dtype.kind == "i")

    def _query(self, index: int) -> SparseQuery:
        here = slice(self._rows.indptr[index], self._rows.indptr[index + 1])
        cells, weights = self._rows.indices[here], self._rows.data[here]
        return SparseQuery(self.universe, self._names[index], cells=cells, weights=weights)

    def _answers(self, data: Histogram | Array) -> Array:
        if isinstance(data, Histogram):
            codes, counts = data.entries()
            return np.asarray(self._rows.matrix()[:, self.universe.ravel(codes)] @ counts)
        return np.asarray(self._rows.matrix() @ data.reshape(-1))

    def _adjoint(self, vector: Array) -> Array:
        return np.asarray(self._rows.transposed() @ vector).reshape(self.universe.shape)

    def cells(self, most: int) -> Codes | None:
        """Return one cell for each different column."""
        columns = self._rows.matrix().tocsc()
        filled = np.flatnonzero(np.diff(columns.indptr))
        kept: dict[tuple[bytes, bytes], int] = {}
        for cell in filled:
            here = slice(columns.indptr[cell], columns.indptr[cell + 1])
            kept.setdefault((columns.indices[here].tobytes(), columns.data[here].tobytes()), int(cell))
        found = sorted(kept.values())
        if len(filled) < self.universe.size:  # some column is empty: the first number not in the list
            gaps = np.flatnonzero(filled != np.arange(len(filled)))
            found.append(int(gaps[0]) if len(gaps) else len(filled))
        return None if len(found) > most else self.universe.unravel(np.array(found))

    def block(self, start: int, stop: int, codes: Codes) -> Array:
        """Return the weights of some queries at some cells: one row a query."""
        return np.asarray(self._rows.matrix()[start:stop][:, self.universe.ravel(codes)].toarray())


def _read_rows(matrix: Any) -> scipy.sparse.csr_array[Any]:
    """Return a matrix of finite weights, made anew from plain arrays, without entries that are zero."""
    try:
        given = scipy.sparse.csr_array(matrix)
        parts = (np.array(given.data), np.array(given.indices), np.array(given.indptr))
        rows = scipy.sparse.csr_array(parts, shape=given.shape)
        rows.check_format(full_check=True)
    except (TypeError, ValueError, IndexError):
        raise InvalidParameter(name="matrix", rule="a table of numbers", got="something else") from None
    if rows.dtype.kind not in "biuf":
        raise InvalidParameter(name="matrix", rule="of finite numbers", value=rows.dtype)
    small = rows.dtype.kind not in "iu" or _is_small(rows.data)
    rows = rows.astype(np.float64 if rows.dtype.kind == "f" else np.int64)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    if not bool(np.isfinite(rows.data).all()):
        raise InvalidParameter(name="matrix", rule="of finite numbers", value="others")
    if rows.dtype.kind == "i" and not (small and _is_small(rows.data)):
        raise InvalidParameter(name="matrix", rule=f"whole numbers up to {LARGEST}", value="larger ones")
    return rows


def _is_small(weights: Array) -> bool:
    return -LARGEST <= int(weights.min(initial=0)) <= int(weights.max(initial=0)) <= LARGEST
