"""One linear query: a weight for every cell of a universe.

Most queries look at a few attributes only, so a query is kept as its `axes` and what it is on them; the
full vector is made on request.
"""

from __future__ import annotations

import itertools
import math
import operator
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, ClassVar, cast

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Array, Bools, Fixed, fix_array, is_fixed, keep
from discreet.queries.histogram import MOST, Histogram
from discreet.queries.universe import DENSE, MOST_AXES, Codes, Universe

Axes = tuple[int, ...]
Predicate = Callable[..., Any]
"""Takes one array of codes an attribute, all of one length, and says which rows count."""

LARGEST = 1 << 53
"""The largest whole weight: floats hold all whole numbers up to here."""

_BLOCK = 1 << 18


class LinearQuery(Fixed, ABC):
    """A weight for every cell; its answer is the weighted count. Public and free of data.

    Attributes
    ----------
    universe, axes, name
        Where it lives, the attributes (by place) that its weights depend on, and what to call it.
    """

    __slots__ = ("axes", "name", "universe")
    universe: Universe
    axes: Axes
    name: str

    way_out: ClassVar[str] = (
        "Build one over the universe, with Conjunctions say; a question in SQL goes to .sql(...)"
    )

    def __init__(self, universe: Universe, axes: Axes, name: str) -> None:
        self.universe, self.axes, self.name = universe, read_axes(axes, universe, name), name

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `table`."""
        return tuple(self.universe.shape[axis] for axis in self.axes)

    @property
    def is_predicate(self) -> bool:
        """Whether every weight is 0 or 1."""
        return True

    @property
    def is_integral(self) -> bool:
        """Whether every weight is a whole number, so that whole counts have whole answers."""
        return True

    @abstractmethod
    def table(self) -> Array:
        """Return the weights as an array over the query's own axes."""

    @abstractmethod
    def at(self, codes: Codes) -> Array:
        """Return the weights of some cells, given as rows of codes."""

    def vector(self) -> Array:
        """Return the weights as an array over the universe."""
        self.universe.require_dense()
        shape = [size if a in self.axes else 1 for a, size in enumerate(self.universe.shape)]
        return np.array(np.broadcast_to(self.table().reshape(shape), self.universe.shape))

    def extent(self) -> tuple[int | float, int | float]:
        """Return the smallest and the largest weight of any cell, as plain numbers: they are subtracted."""
        table = self.table()
        return as_number(table.min()), as_number(table.max())

    def evaluate(self, data: Any) -> int | float:
        """Return the true answer on a histogram or an array of weights over the universe."""
        given = as_data(self.universe, data)
        if isinstance(given, Histogram):
            codes, counts = given.entries()
            return weigh(counts, self.at(codes))
        return self._on_array(given)

    def _on_array(self, data: Array) -> int | float:
        others = tuple(a for a in range(data.ndim) if a not in self.axes)
        return weigh(data.sum(axis=others), self.table())

    def multiply(self, scale: checks.Number) -> LinearQuery:
        """Return the query with all of its weights times a positive number: weights of its own, listed."""
        by = read_scale(checks.positive(scale=scale))
        way_out = "Ask it without a weight, and multiply the answer: that costs nothing"
        require_table(self.universe, self.axes, self.name, way_out=way_out)
        name = name_multiple(self.name, by)
        return TableQuery(self.universe, self.axes, name, table=multiply_weights(self.table(), by))

    def __repr__(self) -> str:
        return f"<query {self.name}>"


class ProductQuery(LinearQuery):
    """Counts the cells whose every attribute is in a set of its own, or all the other cells.

    Parameters
    ----------
    masks
        One array of booleans for each axis: the codes that count.
    complement
        Count the cells that are *not* in the product.
    """

    __slots__ = ("complement", "masks")

    def __init__(
        self,
        universe: Universe,
        axes: Axes,
        name: str,
        *,
        masks: Sequence[Bools],
        complement: bool = False,
    ) -> None:
        super().__init__(universe, axes, name)
        listed = tuple(read_array(mask, name) for mask in masks)
        if len(listed) != len(self.axes):
            raise InvalidParameter(name=name, rule=f"{len(self.axes)} masks", got=f"{len(listed)} of them")
        for mask, size in zip(listed, self.shape, strict=True):
            if mask.dtype != np.bool_ or mask.shape != (size,):
                rule = f"{size} booleans for an attribute of {size} values"
                raise InvalidParameter(name=name, rule=rule, got="something of another type or length")
        self.masks, self.complement = tuple(map(fix_array, listed)), bool(complement)

    def restate(self, universe: Universe) -> ProductQuery:
        """Return the same query over a universe, made anew from its masks."""
        return ProductQuery(
            universe, self.axes, read_name(self.name), masks=self.masks, complement=self.complement
        )

    def table(self) -> Array:
        """Return the weights as an array over the query's own axes."""
        table = np.ones(self.shape, dtype=np.bool_)
        for place, mask in enumerate(self.masks):
            table &= mask.reshape([-1 if p == place else 1 for p in range(len(self.axes))])
        return ~table if self.complement else table

    def at(self, codes: Codes) -> Array:
        """Return the weights of some cells, given as rows of codes."""
        inside = np.ones(len(codes), dtype=np.bool_)
        for axis, mask in zip(self.axes, self.masks, strict=True):
            inside &= mask[codes[:, axis]]
        return ~inside if self.complement else inside

    def extent(self) -> tuple[Any, Any]:
        """Return the smallest and the largest weight of any cell."""
        low, high = all(mask.all() for mask in self.masks), all(mask.any() for mask in self.masks)
        return (1 - int(high), 1 - int(low)) if self.complement else (int(low), int(high))

    def _on_array(self, data: Array) -> int | float:
        inside = data
        # Only the box of the query is read: runs of codes are views, other sets are gathered.
        for axis, mask in zip(self.axes, self.masks, strict=True):
            codes = np.flatnonzero(mask)
            if not len(codes):
                return as_number(data.sum() if self.complement else data.dtype.type(0))
            first, last = int(codes[0]), int(codes[-1])
            run = slice(first, last + 1) if last - first + 1 == len(codes) else codes
            inside = inside[(slice(None),) * axis + (run,)]
        answer = inside.sum()
        return as_number(data.sum() - answer if self.complement else answer)


class TableQuery(LinearQuery):
    """Weights listed one by one over some of the attributes."""

    __slots__ = ("_table",)

    def __init__(self, universe: Universe, axes: Axes, name: str, *, table: Any) -> None:
        super().__init__(universe, axes, name)
        values = read_weights(table, name)
        if values.shape not in (self.shape, (math.prod(self.shape),)):
            rule = f"an array of shape {self.shape}"
            raise InvalidParameter(name=name, rule=rule, value=values.shape)
        values = values.reshape(self.shape)
        single = values.dtype.kind == "b" or bool(((values == 0) | (values == 1)).all())
        self._table = fix_array(values.astype(np.bool_) if single else values)

    def restate(self, universe: Universe) -> TableQuery:
        """Return the same query over a universe, made anew from its weights."""
        return TableQuery(universe, self.axes, read_name(self.name), table=self._table)

    @property
    def is_predicate(self) -> bool:
        """Whether every weight is 0 or 1."""
        return self._table.dtype.kind == "b"

    @property
    def is_integral(self) -> bool:
        """Whether every weight is a whole number, so that whole counts have whole answers."""
        return self._table.dtype.kind != "f"

    def table(self) -> Array:
        """Return the weights as an array over the query's own axes."""
        return self._table

    def at(self, codes: Codes) -> Array:
        """Return the weights of some cells, given as rows of codes."""
        found = self._table[tuple(codes[:, axis] for axis in self.axes)]
        return np.broadcast_to(found, len(codes))


class PredicateQuery(LinearQuery):
    """Counts the cells for which a function of some attributes' codes holds.

    The function never learns which cells are taken: it is asked about all cells of its axes. Whatever reads
    data asks the table that `written` makes of it, and not the function.
    """

    __slots__ = ("_holds", "_known")

    def __init__(self, universe: Universe, axes: Axes, name: str, *, holds: Predicate) -> None:
        super().__init__(universe, axes, name)
        self._holds = holds

    def table(self) -> Array:
        """Return the weights as an array over the query's own axes."""
        require_table(self.universe, self.axes, self.name)
        if not self.axes:
            return self._ask(np.zeros((1, 0), dtype=np.int64)).reshape(())
        own = Universe(self.universe.attributes[axis] for axis in self.axes)
        table = np.empty(own.size, dtype=np.bool_)
        for start in range(0, own.size, _BLOCK):
            stop = min(start + _BLOCK, own.size)
            table[start:stop] = self._ask(own.unravel(np.arange(start, stop)))
        return table.reshape(own.shape)

    def at(self, codes: Codes) -> Array:
        """Return the weights of some cells, given as rows of codes."""
        known = keep(self, "_known", lambda: fix_array(self.table()))
        return np.broadcast_to(known[tuple(codes[:, axis] for axis in self.axes)], len(codes))

    def _ask(self, codes: Codes) -> Array:
        held = read_array(self._holds(*codes.T), self.name)
        if held.dtype != np.bool_ or held.shape != (len(codes),):
            raise InvalidParameter(
                name=self.name,
                rule="a function of arrays of codes that returns one boolean a row",
                got="something of another type or length",
            )
        return held


def read_axes(axes: Any, universe: Universe, name: str) -> Axes:
    """Return places of attributes that must be ascending, each once."""
    try:
        found = tuple(int(operator.index(axis)) for axis in axes)
    except TypeError:
        found = (-1,)
    if not all(-1 < low < high for low, high in itertools.pairwise((*found, len(universe.shape)))):
        rule = f"over axes in 0..{len(universe.shape) - 1}, ascending, each once"
        raise InvalidParameter(name=name, rule=rule, got="others")
    return found


def read_name(name: Any) -> str:
    """Return what a query is called as plain text."""
    return str.__str__(name) if isinstance(name, str) else "a query"


def read_array(values: Any, name: str) -> Array:
    """Return a plain array of one's own: a copy, and of no class that could do anything else."""
    if is_fixed(values):
        return cast("Array", values)
    try:
        return np.array(values)
    except (TypeError, ValueError):
        raise InvalidParameter(name=name, rule="an array of numbers", got="something else") from None


def read_weights(values: Any, name: str) -> Array:
    """Return finite weights of one's own: booleans, or whole numbers or floats of 64 bits."""
    weights = read_array(values, name)
    kind = weights.dtype.kind
    if kind == "f":
        with np.errstate(over="ignore"):  # a longer float may be finite and yet too large
            weights = weights.astype(np.float64, copy=False)
    if kind not in "biuf" or not bool(np.isfinite(weights).all()):
        raise InvalidParameter(name=name, rule="an array of finite numbers", value=weights.dtype)
    if kind not in "iu":
        return weights
    if max(int(weights.max(initial=0)), -int(weights.min(initial=0))) > LARGEST:
        raise InvalidParameter(name=name, rule=f"whole numbers up to {LARGEST}", value="larger ones")
    return weights.astype(np.int64, copy=False)


def read_scale(weight: Fraction) -> int | float:
    """Return a positive number to multiply by: a whole one as such where it is no larger than weights are."""
    if weight.denominator == 1 and weight <= LARGEST:
        return int(weight)
    scale = float(weight) if weight <= sys.float_info.max else math.inf
    if not 0 < scale < math.inf:
        raise InvalidParameter(name="weights", rule="numbers that floats hold", value="others")
    return scale


def multiply_weights(weights: Array, scale: float) -> Array:
    """Return weights times a number: whole ones while they are small enough, else floats."""
    if isinstance(scale, int) and weights.dtype.kind in "bi":
        whole = weights.astype(np.int64)
        if scale * max(int(whole.max(initial=0)), -int(whole.min(initial=0))) <= LARGEST:
            return whole * scale
    with np.errstate(over="ignore"):  # whoever keeps them refuses what is not finite
        return weights.astype(np.float64) * float(scale)


def name_multiple(name: str, scale: float) -> str:
    """Return what to call a query whose weights were multiplied."""
    return name if scale == 1 else f"{scale} * ({name})"


_STRUCTURE = "Name fewer attributes, or ask by structure: Conjunctions, Rectangles or Halfspaces"


def require_table(universe: Universe, axes: Axes, name: str, *, way_out: str = _STRUCTURE) -> None:
    """Raise unless a table over some axes fits in memory."""
    cells = math.prod(universe.shape[axis] for axis in axes)
    if cells > DENSE or len(axes) > MOST_AXES:
        raise Refused(
            what=name,
            why=f"its weights are one for each of {cells} cells, and at most {DENSE} are listed",
            way_out=way_out,
        )


def as_data(universe: Universe, data: Any) -> Histogram | Array:
    """Return a sparse histogram as it is, anything else as an array over the universe."""
    if isinstance(data, Histogram):
        if data.universe != universe:
            raise InvalidParameter(name="data", rule="over the universe of the queries", value=data)
        return data.counts() if data.is_dense else data
    universe.require_dense()
    array = np.asarray(data)
    if array.dtype.kind not in "biuf" or array.shape not in (universe.shape, (universe.size,)):
        rule = f"a histogram, or an array of numbers of shape {universe.shape}"
        raise InvalidParameter(name="data", rule=rule, got="something of another type or shape")
    return as_numbers(array).reshape(universe.shape)


def as_numbers(array: Array) -> Array:
    """Return an array as 64-bit numbers; refuse integers whose sums might wrap."""
    if array.dtype.kind == "f":
        return array.astype(np.float64, copy=False)
    if array.dtype.kind != "b" and array.size:
        top = max(int(array.max()), -int(array.min()))
        if top * array.size > MOST and float(np.abs(array.astype(np.float64)).sum()) > MOST:
            raise InvalidParameter(name="data", rule="integers whose sums fit 62 bits", value="(withheld)")
    return array.astype(np.int64, copy=False)


def weigh(data: Array, table: Array) -> int | float:
    """Return the sum of products of two arrays of one shape; of whole numbers, exactly."""
    if table.dtype.kind == "b":
        return as_number(data[table].sum())
    if table.dtype.kind == "i" and data.dtype.kind == "i" and data.size:
        most = float(np.abs(table).max()) * float(np.abs(data).sum())
        if most > MOST:
            return sum(int(a) * int(b) for a, b in zip(table.flat, data.flat, strict=True))
    return as_number(np.vdot(table, data))


def as_number(value: Any) -> int | float:
    """Return a scalar as a plain number."""
    return int(value) if np.asarray(value).dtype.kind in "biu" else float(value)
