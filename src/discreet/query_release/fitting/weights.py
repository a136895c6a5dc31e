"""A weight for every cell of a universe, changed in place: what multiplicative weights are made of.

The big array is read once and rewritten once a round: the table that says by how much the total moves is
the one pass that only reads, and the factors are rescaled by it before they are multiplied in. Nothing of
the array's size is made on the way. Only methods that numpy, torch and cupy share are called on it, so it
may live on another device; the tables that come out of it and go into it are small numpy arrays.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.queries.query import Axes, LinearQuery, weigh
from discreet.queries.universe import Universe

_RUN = 4096  # cells next to one another that are handled alike, so that inner loops are long
_LOWEST = -300.0  # the least exponent of one update: a weight is not sent to zero at once
_SMALL = 1 << 20  # cells of tables that are always worth keeping
_LINE = 16  # cells that the entry of a table is worth, however small it is


class Hypothesis:
    """What is believed about every cell: positive weights with a fixed sum. Public, and changes in place.

    Time: `table` reads every weight once; `update` rewrites every weight once, and reads it once more where
    the table over its axes was not asked for before.
    Memory: the weights, and tables.

    Parameters
    ----------
    universe
        The cells.
    total
        The sum of the weights, kept by every update.
    array
        Non-negative weights over the universe to start from, copied and rescaled; uniform if left out. An
        array of torch or cupy stays on its device, where it may have more cells than a universe in memory.

    >>> universe = Universe([("a", (0, 1)), ("b", (0, 1, 2))])
    >>> hypothesis = Hypothesis(universe, 12)
    >>> hypothesis.update((0,), [0, math.log(3)])
    >>> [round(float(weight), 9) for weight in hypothesis.table((0,))]
    [3.0, 9.0]
    """

    def __init__(self, universe: Universe, total: float, array: Any = None) -> None:
        self.universe: Universe = checks.instance(Universe, universe=universe)
        self.total = float(checks.positive(total=total))
        self._tables = KeptTables(self._make, universe.size)
        if array is None:
            universe.require_dense()
            self.array: Any = np.full(universe.shape, self.total / universe.size)
            return
        mass = float(array.sum())
        if not (0 < mass < math.inf and float(array.min()) >= 0):
            raise InvalidParameter(name="array", rule=">= 0 with a positive sum", got="others")
        self.array = array.reshape(universe.shape) * (self.total / mass)

    def table(self, axes: Sequence[int]) -> Array:
        """Return the weights summed over all other attributes. It is kept until the next update."""
        return self._tables[self._check_axes(axes)]

    def _make(self, axes: Axes) -> Array:
        made = marginal_table(self.array, axes)
        if len(axes) == len(self.universe.shape):
            made = made.copy()  # it is the array itself, which changes
        made.flags.writeable = False
        return made

    def answer(self, query: LinearQuery) -> float:
        """Return the answer to one query."""
        return float(weigh(self.table(query.axes), query.table()))

    def update(self, axes: Sequence[int], exponents: Any) -> None:
        """Multiply the weights by exp of a table over some axes, and rescale them to their total."""
        kept = self._check_axes(axes)
        powers = np.asarray(exponents, dtype=np.float64)
        shape = tuple(self.universe.shape[axis] for axis in kept)
        if powers.shape != shape or not np.isfinite(powers).all():
            raise InvalidParameter(name="exponents", rule=f"finite, of shape {shape}", got="others")
        if not kept:
            return  # one factor for all weights is rescaled away
        table = self.table(kept)
        # Only where there is weight, so that no power is lost to an empty cell's larger one.
        factors = np.exp(np.clip(powers - powers[table > 0].max(), _LOWEST, 0.0))
        mass = float((table * factors).sum())
        factors *= self.total / mass
        multiply_table(self.array, kept, factors)
        self._tables.clear()
        moved = table * factors
        moved.flags.writeable = False
        self._tables[kept] = moved

    def forget(self) -> None:
        """Drop the tables that are kept, after the array was changed by hand."""
        self._tables.clear()

    def copy(self) -> Self:
        """Return a hypothesis of its own with the same weights."""
        made = object.__new__(type(self))
        made.universe, made.total = self.universe, self.total
        made.array = self.array.clone() if hasattr(self.array, "clone") else self.array.copy()
        made._tables = self._tables.copy(made._make)  # the tables are never written to
        return made

    def _check_axes(self, axes: Sequence[int]) -> Axes:
        kept = tuple(axes)
        if list(kept) != sorted(set(kept) & set(range(len(self.universe.shape)))):
            rule = f"places of attributes below {len(self.universe.shape)}, ascending"
            raise InvalidParameter(name="axes", rule=rule, value=axes)
        return kept

    def __repr__(self) -> str:
        return f"<Hypothesis: {self.total:.6g} rows over {', '.join(self.universe.names)}>"


class KeptTables:
    """Tables of an array, each made once and kept, until the array changes, as long as there is room.

    What is asked for decides which tables are made, so there must be an end to how many are kept; beyond it
    they are made anew. Any thread may ask: two that meet make the same table.

    Parameters
    ----------
    make
        Returns the table over some axes.
    size
        The cells of the array: the larger it is, the more of its tables are kept.
    """

    def __init__(self, make: Callable[[Axes], Array], size: int) -> None:
        self._make, self._size = make, size
        self.clear()

    def clear(self) -> None:
        """Forget all tables: the array has changed."""
        self._tables: dict[Axes, Array] = {}
        self._room = max(_SMALL, self._size // 4)

    def copy(self, make: Callable[[Axes], Array]) -> Self:
        """Return the same tables for a copy of the array."""
        made = type(self)(make, self._size)
        made._tables, made._room = dict(self._tables), self._room  # noqa: SLF001
        return made

    def __getitem__(self, axes: Axes) -> Array:
        kept = self._tables.get(axes)
        if kept is None:
            self[axes] = kept = self._make(axes)
        return kept

    def __setitem__(self, axes: Axes, table: Array) -> None:
        if table.size <= self._room:
            self._room -= table.size + _LINE
            self._tables[axes] = table


def marginal_table(array: Any, axes: Axes) -> Array:
    """Return the sums of an array over all axes but some, as a numpy array: one pass that reads."""
    last = _tail(array.shape)
    shape, gone = _merge(array.shape, {*axes, *range(last, len(array.shape))})
    # First the outer axes, which adds long rows to one another; what is left of them is small.
    partial = array.reshape(shape).sum(axis=gone) if gone else array
    kept = [axis for axis in range(len(array.shape)) if axis in axes or axis >= last]
    rest = partial.reshape(tuple(array.shape[axis] for axis in kept))
    inner = tuple(place for place, axis in enumerate(kept) if axis not in axes)
    return _to_numpy(rest.sum(axis=inner) if inner else rest)


def multiply_table(array: Any, axes: Axes, factors: Array) -> None:
    """Multiply an array in place by factors that depend on some axes: one pass that reads and writes."""
    last = _tail(array.shape)
    sizes = [array.shape[axis] if axis in axes else 1 for axis in range(len(array.shape))]
    kept = {*axes, *range(last, len(array.shape))}
    # Spread over the last axes, so that the same long row of factors meets one row of weights at a time.
    spread = [array.shape[axis] if axis in kept else 1 for axis in range(len(array.shape))]
    rows = np.ascontiguousarray(np.broadcast_to(factors.reshape(sizes), spread))
    shape, gone = _merge(array.shape, kept)
    small = [1 if place in gone else size for place, size in enumerate(shape)]
    view = array.reshape(shape)  # a view: only neighbouring axes are joined
    view *= _like(array, rows.reshape(small))


def _tail(shape: Sequence[int]) -> int:
    """Return the first of the last axes that together make a long run."""
    last, run = len(shape), 1
    while last and run < _RUN:
        last -= 1
        run *= shape[last]
    return last


def _merge(shape: Sequence[int], kept: set[int]) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Join neighbouring axes that are all kept or all summed: their sizes, and which are summed."""
    sizes: list[int] = []
    gone: list[int] = []
    before: bool | None = None
    for axis, size in enumerate(shape):
        stays = axis in kept
        if stays is before:
            sizes[-1] *= size
        else:
            if not stays:
                gone.append(len(sizes))
            sizes.append(size)
            before = stays
    return tuple(sizes), tuple(gone)


def namespace(array: Any) -> Any:
    """Return the library an array belongs to: numpy, torch, cupy."""
    return sys.modules[type(array).__module__.partition(".")[0]]


def _like(array: Any, values: Array) -> Any:
    """Return numpy values with the type of an array, on its device."""
    made = namespace(array).asarray(values, dtype=array.dtype)
    return made.to(array.device) if hasattr(made, "to") else made


def _to_numpy(array: Any) -> Array:
    """Return a small array as 64-bit floats in this process's memory."""
    if hasattr(array, "cpu"):
        array = array.cpu().numpy()
    elif hasattr(array, "get"):
        array = array.get()
    return np.asarray(array, dtype=np.float64)
