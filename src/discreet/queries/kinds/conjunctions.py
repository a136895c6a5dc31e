"""Conjunctions and disjunctions of conditions on single attributes."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Bools, Integers, build, fix_array
from discreet.queries.query import ProductQuery, read_array, read_axes
from discreet.queries.tables import Axes
from discreet.queries.universe import Codes, Universe
from discreet.queries.workload import Tabled, locate

Masks = Bools
_EXACT = 1 << 53  # whole numbers up to here are floats, and floats multiply faster
_CHUNK = 1 << 21


class _Group(NamedTuple):
    """The clauses over one set of axes: which queries they are, and one row of masks for each axis.

    Where every mask is a single code, `points` holds those codes.
    """

    axes: Axes
    rows: Integers
    masks: tuple[Masks, ...]
    points: tuple[Integers, ...] | None


class Clauses(Tabled):
    """Clauses over sets of values: all of the conditions hold, or (complement) not all fail."""

    __slots__ = ("_groups", "_length", "_where")
    complement: ClassVar[bool]

    def __init__(self, universe: Universe, clauses: Iterable[Mapping[str, Iterable[Any]]]) -> None:
        known: dict[tuple[object, ...], Axes] = {}
        groups: dict[Axes, list[tuple[int, Mapping[str, Iterable[Any]]]]] = {}
        for row, clause in enumerate(clauses):
            names = (type(clause), *clause)
            if names not in known:
                known[names] = universe.axes(clause)
            groups.setdefault(known[names], []).append((row, clause))
        made = []
        for axes, listed in groups.items():
            rows = np.array([row for row, _ in listed], dtype=np.int64)
            masks = [self._mask(universe, axis, [clause for _, clause in listed]) for axis in axes]
            made.append((axes, rows, masks))
        self._set_groups(universe, made)

    def _mask(self, universe: Universe, axis: int, clauses: list[Mapping[str, Iterable[Any]]]) -> Masks:
        """Return what clauses say of an attribute: a row for each, all filled at once."""
        attribute = universe.attributes[axis]
        found = []
        for clause in clauses:
            allowed = clause[attribute.name]
            if isinstance(allowed, str | bytes) or not isinstance(allowed, list | tuple | Iterable):
                raise InvalidParameter(name=attribute.name, rule="a list of values", value=allowed)
            found.append(universe.codes(axis, allowed))
        mask = np.zeros((len(clauses), attribute.size), dtype=np.bool_)
        rows = np.repeat(np.arange(len(clauses)), list(map(len, found)))
        mask[rows, list(itertools.chain.from_iterable(found))] = True
        return ~mask if self.complement else mask

    @classmethod
    def from_codes(cls, universe: Universe, axes: Axes, codes: Any) -> Self:
        """Make many clauses over the same attributes: a row of codes, one code an attribute, for each."""
        own = Universe(universe.attributes[axis] for axis in axes)
        if list(axes) != sorted(set(axes)):
            raise InvalidParameter(name="axes", rule="ascending", value=axes)
        points = own.read_codes(codes)
        masks = [np.arange(size) == points[:, k, None] for k, size in enumerate(own.shape)]
        meant = [~mask if cls.complement else mask for mask in masks]
        return build(cls, cls._set_groups, universe, [(axes, np.arange(len(points)), meant)])

    @classmethod
    def monotone(cls, universe: Universe, width: int) -> Self:
        """Make every clause over `width` attributes of two values that asks for the second value."""
        _check_width(universe, width, range(2, 3))
        return cls(
            universe,
            (
                {universe.names[axis]: universe.attributes[axis].values[1:] for axis in axes}
                for axes in itertools.combinations(range(len(universe.shape)), width)
            ),
        )

    @classmethod
    def of_width(cls, universe: Universe, width: int) -> Self:
        """Make every clause that asks for one value of each of `width` attributes."""
        _check_width(universe, width, range(1, max(universe.shape) + 1))
        return cls(
            universe,
            (
                {universe.names[axis]: (value,) for axis, value in zip(axes, values, strict=True)}
                for axes in itertools.combinations(range(len(universe.shape)), width)
                for values in itertools.product(*(universe.attributes[axis].values for axis in axes))
            ),
        )

    def _set_groups(self, universe: Universe, made: list[tuple[Axes, Any, list[Masks]]]) -> None:
        super().__init__(universe)
        if not made:
            raise InvalidParameter(name="clauses", rule="a list of at least one clause", value=made)
        self._groups = tuple(_fix(universe, *each) for each in made)
        self.sets = tuple(group.axes for group in self._groups)
        self._where = locate([group.rows for group in self._groups])
        self._length = len(self._where)

    def restate(self, universe: Universe) -> Self:
        """Return the same clauses over a universe, made anew from their masks."""
        made = [(axes, rows, list(masks)) for axes, rows, masks, _ in self._groups]
        return build(type(self), Clauses._set_groups, universe, made)

    def __len__(self) -> int:
        return self._length

    def _query(self, index: int) -> ProductQuery:
        place, row = self._where[index]
        group = self._groups[place]
        masks = [mask[row] for mask in group.masks]
        words = []
        for axis, mask in zip(group.axes, masks, strict=True):
            name, values = self.universe.attributes[axis]
            listed = [repr(values[code]) for code in np.flatnonzero(mask != self.complement)]
            words.append(f"{name}={listed[0]}" if len(listed) == 1 else f"{name} in ({', '.join(listed)})")
        name = (" or " if self.complement else " and ").join(words)
        return ProductQuery(
            self.universe,
            group.axes,
            name or ("nothing" if self.complement else "total"),
            masks=masks,
            complement=self.complement,
        )

    def _from_tables(self, vector: Array) -> Array:
        result = np.empty(len(self), dtype=vector.dtype)
        for place, group in enumerate(self._groups):
            table = self.tables.part(vector, place)
            inside = table[group.points] if group.points is not None else _contract(table, group.masks)
            result[group.rows] = table.sum() - inside if self.complement else inside
        return result

    def _to_tables(self, vector: Array) -> Array:
        result = np.zeros(self.tables.offsets[-1], dtype=vector.dtype)
        for place, group in enumerate(self._groups):
            table = self.tables.part(result, place)
            numbers = vector[group.rows]
            if not group.axes:
                table += numbers.sum()
            elif group.points is not None:
                np.add.at(table, group.points, numbers)
            else:
                _expand(table, group.masks, numbers)
            if self.complement:
                np.subtract(numbers.sum(), table, out=table)
        return result

    def has_every_monotone(self) -> bool:
        """Tell whether there is a clause of second values over every set of the attributes in use."""
        used = set().union(*self.sets)
        if any(self.universe.shape[axis] != 2 for axis in used) or len(self.sets) < 2 ** len(used):
            return False
        second = np.array([False, True]) != self.complement
        for group in self._groups:
            asks = np.ones(len(group.rows), dtype=np.bool_)
            for mask in group.masks:
                asks &= (mask == second).all(axis=1)
            if not asks.any():
                return False
        return True

    def classes(self) -> list[Array]:
        """Return labels that are equal where the same conditions hold."""
        labels = [np.zeros(size, dtype=np.int64) for size in self.universe.shape]
        for axis in {axis for axes in self.sets for axis in axes}:
            columns = [g.masks[g.axes.index(axis)] for g in self._groups if axis in g.axes]
            packed = np.packbits(np.concatenate(columns), axis=0)
            labels[axis] = np.unique(packed, axis=1, return_inverse=True)[1].reshape(-1)
        return labels

    def block(self, start: int, stop: int, codes: Codes) -> Array:
        """Return the weights of some queries at some cells: one row a query."""
        result = np.ones((stop - start, len(codes)), dtype=np.bool_)
        for place, group in enumerate(self._groups):
            mine = np.flatnonzero(self._where[start:stop, 0] == place)
            own = self._where[start:stop, 1][mine]
            for axis, mask in zip(group.axes, group.masks, strict=True):
                result[mine] &= mask[own][:, codes[:, axis]]
        return np.asarray(result != self.complement)

    def closed_form(self, *, replaced: bool, power: int) -> int | None:
        """Return the answer where one cell meets all conditions, or another fails all of them."""
        del power
        always = never = 0
        meets = [np.ones(size, dtype=np.bool_) for size in self.universe.shape]
        fails = [np.ones(size, dtype=np.bool_) for size in self.universe.shape]
        for group in self._groups:
            full = np.ones(len(group.rows), dtype=np.bool_)
            empty = np.zeros(len(group.rows), dtype=np.bool_)
            for mask in group.masks:
                full &= mask.all(axis=1)
                empty |= ~mask.any(axis=1)
            always, never = always + int(full.sum()), never + int(empty.sum())
            for axis, mask in zip(group.axes, group.masks, strict=True):
                meets[axis] &= mask[~empty].all(axis=0)
                fails[axis] &= ~mask[~mask.all(axis=1)].any(axis=0)
        # Fails on every axis at once: then each clause that can fail does, whichever condition it is by.
        all_met, all_failed = all(m.any() for m in meets), all(m.any() for m in fails)
        if replaced:
            return len(self) - always - never if all_met and all_failed else None
        if self.complement:
            return len(self) - always if all_failed else None
        return len(self) - never if all_met else None

    def extents(self) -> Iterable[tuple[Any, Any]]:
        """List the extents of the clauses, each once."""
        found = set()
        for group in self._groups:
            low, high = np.ones((2, len(group.rows)), dtype=np.bool_)
            for mask in group.masks:
                low &= mask.all(axis=1)
                high &= mask.any(axis=1)
            ends = (~high, ~low) if self.complement else (low, high)
            found |= {(int(a), int(b)) for a, b in np.unique(np.stack(ends, axis=1), axis=0)}
        return found


class Conjunctions(Clauses):
    """Rows that meet every one of some conditions, each a set of values of one attribute.

    Parameters
    ----------
    clauses
        Mappings from names to lists of values.

    >>> universe = Universe([("smoker", (False, True)), ("region", ("north", "south", "west"))])
    >>> Conjunctions(universe, [{"smoker": [True], "region": ["north", "west"]}]).names
    ("smoker=True and region in ('north', 'west')",)
    """

    __slots__ = ()
    complement = False

    def codes(self) -> Bools:
        """Return which codes meet each conjunction: the values of all attributes, one after the other."""
        ends = np.cumsum(self.universe.shape).tolist()
        codes = np.ones((len(self), ends[-1]), dtype=np.bool_)
        for group in self._groups:
            for axis, mask in zip(group.axes, group.masks, strict=True):
                codes[group.rows, ends[axis] - self.universe.shape[axis] : ends[axis]] = mask
        return codes


class Disjunctions(Clauses):
    """Rows that meet at least one of some conditions, each a set of values of one attribute.

    Parameters
    ----------
    clauses
        Mappings from names to lists of values.
    """

    __slots__ = ()
    complement = True


def _fix(universe: Universe, given: Axes, numbers: Any, listed: list[Masks]) -> _Group:
    """Return clauses whose masks must be booleans for all values, in arrays that stay as they are."""
    axes, rows = read_axes(given, universe, "clauses"), read_array(numbers, "clauses")
    masks = [read_array(mask, "clauses") for mask in listed]
    shapes = [(len(rows), universe.shape[axis]) for axis in axes]
    if [mask.shape for mask in masks] != shapes or any(mask.dtype != np.bool_ for mask in masks):
        raise InvalidParameter(name="clauses", rule="a boolean for each value", got="something else")
    single = all((mask.sum(axis=1) == 1).all() for mask in masks)
    points = tuple(fix_array(mask.argmax(axis=1)) for mask in masks) if single else None
    return _Group(axes, fix_array(rows), tuple(map(fix_array, masks)), points)


def _check_width(universe: Universe, width: int, sizes: range) -> None:
    checks.integer(0, width=width)
    if width > len(universe.shape):
        rule = f"at most {len(universe.shape)}, the number of attributes"
        raise InvalidParameter(name="width", rule=rule, value=width)
    for attribute in universe.attributes:
        if attribute.size not in sizes:
            raise InvalidParameter(name=attribute.name, rule="of two values", value=attribute.size)


def _contract(table: Array, masks: Sequence[Masks]) -> Array:
    """Sum a table over the boxes of some masks, one box a row of them."""
    count = len(masks[0])
    quick = table.dtype.kind == "f" or float(np.abs(table).sum(dtype=np.float64)) < _EXACT
    kind = np.float64 if quick else np.int64
    flat = table.reshape(table.shape[0], -1).astype(kind)
    result = np.empty(count, dtype=table.dtype)
    step = max(1, _CHUNK // flat.shape[1])
    for start in range(0, count, step):
        part = masks[0][start : start + step].astype(kind) @ flat
        for mask in masks[1:]:
            rows = mask[start : start + step].astype(kind)
            part = np.einsum("ca,car->cr", rows, part.reshape(len(rows), rows.shape[1], -1))
        result[start : start + step] = part[:, 0]
    return result


def _expand(table: Array, masks: Sequence[Masks], numbers: Array) -> None:
    """Add to each cell of a table the numbers of the boxes it is in."""
    quick = table.dtype.kind == "f" or float(np.abs(numbers).sum(dtype=np.float64)) < _EXACT
    kind = np.float64 if quick else np.int64
    flat = table.reshape(table.shape[0], -1)
    step = max(1, _CHUNK // flat.shape[1])
    for start in range(0, len(numbers), step):
        part = numbers[start : start + step, None].astype(kind)
        for mask in masks[1:]:
            rows = mask[start : start + step].astype(kind)
            part = np.einsum("cr,ca->cra", part, rows).reshape(len(rows), -1)
        flat += (masks[0][start : start + step].astype(kind).T @ part).astype(table.dtype)
