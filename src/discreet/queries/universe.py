"""A universe: every combination of the declared values of some attributes.

Cells are numbered in row-major order: the last attribute runs fastest. A *code* is the position of a value
among the declared values of its attribute, and a cell is a row of codes.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Integers

DENSE = 100_000_000
"""The most cells an array over a universe may have."""

MOST_AXES = 64  # the most axes an array can have

Codes = NDArray[np.integer[Any]]


class _Pair(NamedTuple):
    name: str
    values: tuple[Any, ...]


class Attribute(_Pair):
    """A name and its declared values. Public; reads as the pair (name, values).

    >>> Attribute("smoker", (False, True)).size
    2
    """

    __slots__ = ()

    def __new__(cls, name: str, values: Iterable[Any]) -> Self:
        """Check that the values are some hashable values, each once."""
        if not name or type(name) is not str:
            raise InvalidParameter(name="attribute name", rule="a text that is not empty", value=name)
        if isinstance(values, str | bytes) or not isinstance(values, Iterable):
            raise InvalidParameter(name=name, rule="a list of values", value=values)
        listed = tuple(values)
        if not listed:
            raise InvalidParameter(name=name, rule="a list of at least one value", value=listed)
        if len(set(listed)) < len(listed):
            raise InvalidParameter(name=name, rule="a list without duplicates", value=_find_repeated(listed))
        return super().__new__(cls, name, listed)

    @property
    def size(self) -> int:
        """How many values are declared."""
        return len(self.values)


class HasDomain(Protocol):
    """A declared column, as far as a universe needs to know it."""

    @property
    def name(self) -> str:
        """The column's name."""

    @property
    def nullable(self) -> bool:
        """Whether a cell may be missing."""

    def domain(self) -> tuple[Any, ...]:
        """List every value."""


@dataclass(frozen=True, slots=True)
class Universe:
    """The product of finite declared attributes. Public, frozen, compared by value.

    Parameters
    ----------
    attributes
        Attributes, or pairs (name, values), in order.

    >>> universe = Universe([("age", range(120)), ("smoker", (False, True))])
    >>> universe.size, universe.shape
    (240, (120, 2))
    >>> universe.cell((30, True)), universe.record(61)
    (61, (30, True))
    """

    attributes: tuple[Attribute, ...]
    shape: tuple[int, ...] = field(init=False, repr=False, compare=False)
    size: int = field(init=False, repr=False, compare=False)
    _places: Mapping[str, int] = field(init=False, repr=False, compare=False)
    _codes: tuple[Mapping[Any, int], ...] = field(init=False, repr=False, compare=False)

    def __init__(self, attributes: Iterable[Attribute | tuple[str, Iterable[Any]]]) -> None:
        listed = tuple(a if isinstance(a, Attribute) else Attribute(*a) for a in attributes)
        if not listed:
            raise InvalidParameter(name="attributes", rule="a list of at least one attribute", value=listed)
        places = {attribute.name: place for place, attribute in enumerate(listed)}
        if len(places) < len(listed):
            twice = _find_repeated(tuple(attribute.name for attribute in listed))
            raise InvalidParameter(name="attributes", rule="a list without duplicate names", value=twice)
        shape = tuple(attribute.size for attribute in listed)
        for name, value in (
            ("attributes", listed),
            ("shape", shape),
            ("size", math.prod(shape)),
            ("_places", MappingProxyType(places)),
            ("_codes", tuple(MappingProxyType({v: c for c, v in enumerate(a.values)}) for a in listed)),
        ):
            object.__setattr__(self, name, value)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.attributes,)

    @classmethod
    def from_columns(cls, columns: Iterable[HasDomain]) -> Self:
        """Make the universe of declared columns; where a cell may be missing, None is the last value."""
        return cls(
            (column.name, (*column.domain(), None) if column.nullable else column.domain())
            for column in columns
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the attributes, in order."""
        return tuple(attribute.name for attribute in self.attributes)

    @property
    def is_dense(self) -> bool:
        """Whether an array over all cells is allowed."""
        return self.size <= DENSE and len(self.shape) <= MOST_AXES

    def require_dense(self) -> None:
        """Raise unless an array over all cells is allowed."""
        if not self.is_dense:
            raise Refused(
                what=f"a universe of {self.size} cells and {len(self.shape)} attributes",
                why=f"an array may have at most {DENSE} cells and {MOST_AXES} attributes",
                way_out="Use a sparse histogram, or project onto fewer attributes",
            )

    def axis(self, name: str) -> int:
        """Return the place of an attribute."""
        if name not in self._places:
            rule = f"one of the attributes {', '.join(self.names)}"
            raise InvalidParameter(name="attribute", rule=rule, value=name)
        return self._places[name]

    def axes(self, names: Iterable[str]) -> tuple[int, ...]:
        """Return the places of some attributes, ascending; each may be named once."""
        if isinstance(names, str):
            raise InvalidParameter(name="attributes", rule="a list of names", value=names)
        listed = tuple(names)
        found = tuple(sorted(self.axis(name) for name in listed))
        if len(set(found)) < len(found):
            raise InvalidParameter(name="attributes", rule="a list without duplicates", value=listed)
        return found

    def attribute(self, name: str) -> Attribute:
        """Return an attribute by name."""
        return self.attributes[self.axis(name)]

    def code(self, axis: int, value: Any) -> int:
        """Return the position of a value among the declared values of an attribute."""
        try:
            return self._codes[axis][value]
        except (KeyError, TypeError):
            name = self.names[axis]
            raise InvalidParameter(name=name, rule="one of the declared values", value=value) from None

    def codes(self, axis: int, values: Iterable[Any]) -> list[int]:
        """Return the positions of values among the declared values of an attribute."""
        listed = list(values)
        try:
            return list(map(self._codes[axis].__getitem__, listed))
        except (KeyError, TypeError):
            return [self.code(axis, value) for value in listed]  # which says the one that is not declared

    def project(self, names: Iterable[str]) -> Universe:
        """Return the universe of some of the attributes, in the order of this one."""
        return Universe(self.attributes[axis] for axis in self.axes(names))

    def ravel(self, codes: Any) -> Integers:
        """Return the cell number of each row of codes."""
        if self.size > np.iinfo(np.int64).max:
            raise Refused(
                what=f"a universe of {self.size} cells",
                why="cell numbers are whole numbers below 2**63",
                way_out="Keep rows of codes",
            )
        rows = self.read_codes(codes)
        cells = np.zeros(len(rows), dtype=np.int64)
        for axis, size in enumerate(self.shape):
            cells *= size
            cells += rows[:, axis]
        return cells

    def unravel(self, cells: Any) -> Integers:
        """Return the row of codes of each cell number."""
        numbers = np.asarray(cells)
        whole = numbers.ndim == 1 and numbers.dtype.kind in "iu"
        if not whole or (numbers.size and not 0 <= int(numbers.min()) <= int(numbers.max()) < self.size):
            rule = f"a list of whole numbers in 0..{self.size - 1}"
            raise InvalidParameter(name="cells", rule=rule, value="(withheld)")
        codes = np.empty((len(numbers), len(self.shape)), dtype=np.int64)
        rest = numbers.astype(np.int64)
        for axis in reversed(range(len(self.shape))):
            rest, codes[:, axis] = np.divmod(rest, self.shape[axis])
        return codes

    def cell(self, record: Sequence[Any]) -> int:
        """Return the cell number of a record of values."""
        if len(record) != len(self.attributes):
            rule = f"a record of {len(self.attributes)} values"
            raise InvalidParameter(name="record", rule=rule, value="(withheld)")
        cell = 0
        for axis, value in enumerate(record):
            cell = cell * self.shape[axis] + self.code(axis, value)
        return cell

    def record(self, cell: int) -> tuple[Any, ...]:
        """Return the values of a cell."""
        rest, values = checks.index(self.size, cell=cell), []
        for attribute in reversed(self.attributes):
            rest, code = divmod(rest, attribute.size)
            values.append(attribute.values[code])
        return tuple(reversed(values))

    def records(self) -> Iterator[tuple[Any, ...]]:
        """List every record, in the order of the cells."""
        return itertools.product(*(attribute.values for attribute in self.attributes))

    def read_codes(self, codes: Any) -> Codes:
        """Return rows of codes as an array, or refuse without quoting them: they may be people."""
        rows = np.asarray(codes)
        fits = rows.ndim == 2 and rows.shape[1] == len(self.shape) and rows.dtype.kind in "iu"
        if not fits or (rows.size and bool(((rows < 0) | (rows >= np.array(self.shape))).any())):
            rule = f"rows of {len(self.shape)} codes, each a position among its attribute's values"
            raise InvalidParameter(name="codes", rule=rule, value="(withheld)")
        return rows


def _find_repeated(listed: tuple[Any, ...]) -> Any:
    return next(value for place, value in enumerate(listed) if value in listed[:place])
