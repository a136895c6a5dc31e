"""Declared columns: what a learner may know of a table before it sees a row.

Bounds and values are never read from data. A number outside its range counts as the nearest end; what is
missing, no number, or not among the declared values has a code of its own, the last one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, ClassVar, Protocol, TypeGuard, runtime_checkable

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, plain
from discreet.core.fixed import Array, Floats, Integers
from discreet.core.parameters import Exact, Public, checked, public
from discreet.mechanisms.reading import read_names

_NARROWEST, _FARTHEST = Fraction(1, 1 << 40), Fraction(1 << 1000)
BINS = 32
"""Into how many parts a range is cut where nobody says."""


@checked
class Range:
    """A column of numbers between declared bounds. Public.

    Parameters
    ----------
    lower, upper
        The bounds; what lies outside counts as the nearest one.
    bins
        Into how many parts of one width models that count cut it.

    Examples
    --------
    >>> Range(0, 100, bins=4).encode(np.array([-5, 30, 99.5, np.nan]))
    array([0, 1, 3, 4])
    """

    way_out: ClassVar[str] = "Pass Range(lower, upper)"

    lower: Exact = public(checks.exact)
    upper: Exact = public(checks.exact)
    bins: int = public(checks.integer, 1, default=BINS)

    def __repr__(self) -> str:
        bins = "" if self.bins == BINS else f", bins={self.bins}"
        return f"Range({plain(self.lower)}, {plain(self.upper)}{bins})"

    def _complete(self) -> None:
        if not self.lower < self.upper:
            raise InvalidParameter(name="upper", rule="above lower", value=self.upper)
        far = max(abs(self.lower), abs(self.upper))
        if far > _FARTHEST or self.upper - self.lower < max(far * _NARROWEST, 1 / _FARTHEST):
            raise InvalidParameter(
                name="upper",
                rule="such that floats tell it from lower, and neither is beyond 2**1000",
                value=self.upper,
                hint="Count in other units",
            )

    @property
    def size(self) -> int:
        """How many codes there are, with that of what is missing."""
        return self.bins + 1

    def encode(self, column: Array) -> Integers:
        """Return the part that each number is in. Total."""
        # Each of these operations rounds correctly, so a code depends on its own number alone.
        parts = np.floor(self.place(column) * self.bins)
        known = np.minimum(np.nan_to_num(parts, nan=0.0), self.bins - 1).astype(np.int64)
        return np.where(np.isnan(parts), self.bins, known)

    def place(self, column: Array) -> Floats:
        """Return where each number lies between the bounds, from 0 to 1; NaN where there is none. Total."""
        numbers = read_numbers(column)
        low, high = float(self.lower), float(self.upper)
        return np.clip((np.clip(numbers, low, high) - low) / (high - low), 0.0, 1.0)


def _read_values(**named: Any) -> tuple[Hashable, ...]:
    ((name, given),) = named.items()
    if isinstance(given, str):
        raise InvalidParameter(
            name=name, rule="a list of values", value=given, hint=f"Pass ({given!r},) for one"
        )
    return read_names(**named)


@checked
class Choices:
    """A column of declared values. Public.

    Parameters
    ----------
    values
        Every value that counts; another one counts as missing.

    Examples
    --------
    >>> Choices(("north", "south")).encode(np.array(["south", "west"], dtype=object))
    array([1, 2])
    """

    values: Public[Iterable[Hashable], tuple[Hashable, ...]] = public(_read_values)

    @property
    def size(self) -> int:
        """How many codes there are, with that of what is missing."""
        return len(self.values) + 1

    def encode(self, column: Array) -> Integers:
        """Return the place of each value among the declared ones. Total."""
        places = {value: place for place, value in enumerate(self.values)}
        missing = len(places)
        listed = column.tolist()
        try:
            codes = [places.get(value, missing) for value in listed]
        except Exception:  # a value that cannot be hashed or compared is none of the declared ones
            codes = [_find(places, value, missing) for value in listed]
        return np.array(codes, dtype=np.int64).reshape(len(listed))


Declared = Range | Choices
"""What can be said of a column."""

_KINDS = (Range, Choices)  # themselves: a class derived from them could look at a whole column


def read_numbers(column: Array) -> Floats:
    """Return a column as floats; NaN in the place of what is no number."""
    if column.dtype.kind in "iuf":
        with np.errstate(over="ignore"):
            return column.astype(np.float64)
    if column.dtype.kind == "b":
        return column.astype(np.float64)
    if column.dtype.kind in "mM":  # NumPy lists some as whole numbers; in a column of objects they are dates
        return np.full(len(column), np.nan)
    return np.array([_read(value) for value in column.tolist()], dtype=np.float64).reshape(len(column))


def _read(value: object) -> float:
    if type(value) is float:
        return value
    number = value if type(value) in (int, bool, np.bool_) else checks.read_number(value)
    if number is None:
        return np.nan
    try:
        return float(number)  # type: ignore[arg-type]
    except OverflowError:
        return np.inf if number > 0 else -np.inf  # type: ignore[operator]


def _find(places: Mapping[Any, int], value: Any, missing: int) -> int:
    try:
        return places.get(value, missing)
    except Exception:  # as above: what it raises is about the data
        return missing


@runtime_checkable
class HasColumns(Protocol):
    """A declared schema, such as `discreet.data.Schema`."""

    @property
    def columns(self) -> Iterable[Any]:
        """The declared columns, each with its name."""


def is_schema(columns: Any) -> TypeGuard[HasColumns]:
    """Tell a declared schema from a frame, which has columns too, and declares nothing."""
    return isinstance(columns, HasColumns) and not hasattr(type(columns), "__array__")


def _read_declared(column: Any) -> Declared | None:
    """Return a column of a schema as a range or as choices; None where its values are not declared."""
    if hasattr(column, "grid"):
        return Range(column.lower, column.upper, bins=min(BINS, column.size))
    return None if column.size is None else Choices(column.domain())


def read_columns(columns: Any, names: Sequence[Any]) -> tuple[Declared, ...]:
    """Return what was declared of each column.

    Parameters
    ----------
    columns
        A declaration for every column, a list of one a column, a mapping from names, or a declared schema,
        whose numbers become ranges and whose other values become choices.
    names
        The names of the columns, or their places.
    """
    if type(columns) in _KINDS:
        return (columns,) * len(names)
    if is_schema(columns):
        columns = {each.name: _read_declared(each) for each in columns.columns}
    if isinstance(columns, Mapping):
        missing = [name for name in names if name not in columns]
        if missing:
            raise InvalidParameter(
                name="columns",
                rule="a declaration for every column",
                got=f"none for {missing[0]!r}",
                hint="Pass Range(lower, upper) or Choices(values) for it, or leave the column out of X",
            )
        columns = [columns[name] for name in names]
    listed = columns if isinstance(columns, list | tuple) else ()
    if len(listed) != len(names) or not all(type(each) in _KINDS for each in listed):
        raise InvalidParameter(
            name="columns",
            rule=f"{len(names)} declarations, one a column",
            got=_describe(columns, listed, len(names)),
            hint="Pass Range(lower, upper) or Choices(values) for each; bounds are never read from data",
        )
    return tuple(listed)


def _describe(columns: Any, listed: Sequence[Any], wanted: int) -> str:
    if listed and len(listed) != wanted:
        return f"{len(listed)}"
    return f"a {type(columns).__name__} of something else"


def count_columns(columns: Any) -> int | None:
    """Return how many columns were declared; None where one declaration holds for all, or nothing is one."""
    if is_schema(columns):
        return len(list(columns.columns))
    return len(columns) if isinstance(columns, list | tuple | Mapping) else None


def encode(declared: Sequence[Declared], table: Array) -> Integers:
    """Return the codes of a table, a row of them for each of its rows."""
    codes = np.empty(table.shape, dtype=np.int64)
    for place, column in enumerate(declared):
        codes[:, place] = column.encode(table[:, place])
    return codes
