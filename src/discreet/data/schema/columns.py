"""The kinds of column an owner may declare: public descriptions that never look at a value.

Each kind says two things: which values a person sees, and the *code* that stands for such a value in the
engine. Codes are whole numbers (or declared text), so every engine compares, hashes and sums them alike:

================  ==============================  =======================================================
kind              a person sees                   code in the loaded relation
================  ==============================  =======================================================
`Category`        one of the declared values      the value itself (text or integer)
`Integer`         int, a multiple of `grid`       value / grid, in [`code_lower`, `code_upper`]
`Decimal`         Fraction, a multiple of `grid`  value / grid, in [`code_lower`, `code_upper`]
`Boolean`         bool                            0 or 1
`Date`            datetime.date                   days since 1970-01-01, in [`code_lower`, `code_upper`]
`Identifier`      nothing                         text, compared byte by byte
`Text`            text, as a released group only  text
================  ==============================  =======================================================

One rule covers every odd cell. A number or date outside the bounds counts as the nearest bound (infinities
too) and is rounded to the nearest multiple of `grid`. NULL, NaN, text that does not parse and a value that a
category does not declare (unless it has `other`) are *missing*. Missing reads as `null` where the owner
declared one, and otherwise stays missing: no comparison holds for it, no sum or group contains it.
"""

from __future__ import annotations

import datetime
import re
from abc import ABC, abstractmethod
from dataclasses import KW_ONLY, dataclass, fields
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, plain

Value = bool | int | str | Fraction | datetime.date
"""What a person sees in a column."""

Code = int | str
"""What stands for a value in the engine."""

MAX_VALUES = 100_000
"""Declared values of one category."""
MAX_TEXT = 256
"""Characters of one declared value."""
MAX_CODE = 1 << 53
"""Codes stay where every engine's floating point still holds each whole number."""
MAX_DOMAIN = 1_000_000
"""Values that `Column.domain` lists."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
_RESERVED = "discreet_"
_LONG = 12
_EPOCH = datetime.date(1970, 1, 1).toordinal()


def check_name(**named: object) -> str:
    """Return a name that is safe in every engine: letters, digits, underscores, at most 63."""
    ((field, value),) = named.items()
    if not isinstance(value, str) or not _NAME.fullmatch(value) or value.lower().startswith(_RESERVED):
        rule = f"up to 63 letters, digits and underscores, beginning with no digit and not with {_RESERVED!r}"
        hint = "Rename the column, or read it from a view that calls it by another name"
        raise InvalidParameter(name=field, rule=rule, value=value, hint=hint if "column" in field else "")
    return value


@dataclass(frozen=True, slots=True, repr=False)
class Column(ABC):
    """A declared column. Frozen, comparable by value, free of data."""

    name: str

    def __post_init__(self) -> None:
        check_name(**{"column name": self.name})

    def __repr__(self) -> str:
        return print_declaration(self)

    @property
    def nullable(self) -> bool:
        """Whether a cell may be missing in the loaded relation."""
        return getattr(self, "null", None) is None

    @property
    def size(self) -> int | None:
        """How many values there are; None where they are not declared."""
        return None

    @abstractmethod
    def encode(self, value: object) -> Code:
        """Return the code of a value of this column; refuse anything else."""

    @abstractmethod
    def decode(self, code: Code) -> Value:
        """Return the value a code stands for."""

    def codes(self) -> tuple[Code, ...]:
        """List every code, in the order of the values. Missing is not among them."""
        raise InvalidParameter(
            name=self.name, rule="a column with declared values", value=type(self).__name__
        )

    def domain(self) -> tuple[Value, ...]:
        """List every value, in declared order (numbers and dates ascend). Missing is not among them."""
        return tuple(self.decode(code) for code in self.codes())

    def _refuse(self, rule: str, value: object, field: str = "") -> InvalidParameter:
        return InvalidParameter(name=f"{self.name}.{field}" if field else self.name, rule=rule, value=value)

    def _check_null(self, null: object) -> None:
        if null is None:
            return
        try:
            self.encode(null)
        except InvalidParameter as error:
            raise self._refuse(f"left out or {error.rule}", null, "null") from None


@dataclass(frozen=True, slots=True, repr=False)
class Category(Column):
    """One of a list of declared values, all text or all integers.

    Parameters
    ----------
    values
        The declared values, in the order answers list them.
    other
        The declared value that undeclared values count as. Without it they are missing.
    null
        The declared value that missing counts as. Without it missing stays missing.
    """

    _: KW_ONLY
    values: tuple[str, ...] | tuple[int, ...]
    other: str | int | None = None
    null: str | int | None = None

    def __post_init__(self) -> None:
        Column.__post_init__(self)
        given: object = self.values
        if not isinstance(given, tuple | list | range):
            raise InvalidParameter(
                name=f"{self.name}.values",
                rule="a list of text or of integers",
                value=given,
                hint="Write down what is public, in an order: values that are read off the data tell of them",
            )
        few = given[: MAX_VALUES + 1]  # a range may be longer than memory
        listed = tuple(int(value) if isinstance(value, np.integer) else value for value in few)
        object.__setattr__(self, "values", listed)
        if not 1 <= len(self.values) <= MAX_VALUES:
            rule, got = f"a list of 1 to {MAX_VALUES} values", f"{len(self.values)} values"
            hint = "" if self.values else "Write down every value that is public, or leave the column out"
            raise InvalidParameter(name=f"{self.name}.values", rule=rule, got=got, hint=hint)
        kind = type(self.values[0])
        for value in self.values:
            if kind not in (str, int) or type(value) is not kind:
                raise self._refuse("all text or all integers", value, "values")
            _check_category_value(f"{self.name}.values", value)
        if len(set(self.values)) < len(self.values):
            twice = next(v for k, v in enumerate(self.values) if v in self.values[:k])
            raise self._refuse("a list without duplicates", twice, "values")
        for field in ("other", "null"):
            value = getattr(self, field)
            if value is not None and (type(value) is not kind or value not in self.values):
                raise self._refuse("left out or one of the declared values", value, field)

    @property
    def size(self) -> int:
        """How many values are declared."""
        return len(self.values)

    def encode(self, value: object) -> Code:
        """Return a declared value as it is."""
        if type(value) is not type(self.values[0]) or value not in self.values:
            raise self._refuse("one of the declared values", value)
        return self.values[self.values.index(value)]

    def decode(self, code: Code) -> Value:
        """Return a declared value as it is."""
        return code

    def codes(self) -> tuple[Code, ...]:
        """List the declared values."""
        return self.values


def _check_category_value(field: str, value: str | int) -> None:
    if isinstance(value, int):
        if abs(value) > MAX_CODE:
            raise InvalidParameter(name=field, rule="integers between -2**53 and 2**53", value=value)
        return
    if len(value) > MAX_TEXT:
        shown = f"{value[:20]}... ({len(value)} characters)"
        raise InvalidParameter(name=field, rule=f"text of at most {MAX_TEXT} characters", value=shown)
    if not all(c.isprintable() for c in value):
        raise InvalidParameter(name=field, rule="printable text", value=value)


@dataclass(frozen=True, slots=True, repr=False)
class Ranged(Column):
    """A column whose codes are the whole numbers from `code_lower` to `code_upper`."""

    @property
    def code_lower(self) -> int:
        """The smallest code."""
        return int(self.encode(getattr(self, "lower")))  # noqa: B009  # declared by every subclass

    @property
    def code_upper(self) -> int:
        """The largest code."""
        return int(self.encode(getattr(self, "upper")))  # noqa: B009

    @property
    def size(self) -> int:
        """How many values there are."""
        return self.code_upper - self.code_lower + 1

    def codes(self) -> tuple[Code, ...]:
        """List every code, ascending."""
        if self.size > MAX_DOMAIN:
            raise self._refuse(f"a column of at most {MAX_DOMAIN} values", f"{self.size} values")
        return tuple(range(self.code_lower, self.code_upper + 1))


@dataclass(frozen=True, slots=True, repr=False)
class _Number(Ranged):
    """Numbers between two bounds, on a grid that contains 0 and both bounds."""

    _: KW_ONLY
    lower: Fraction
    upper: Fraction
    grid: Fraction
    null: Fraction | None = None

    def _set_exact(self) -> None:
        Column.__post_init__(self)
        for field in ("lower", "upper"):
            object.__setattr__(self, field, checks.exact(**{f"{self.name}.{field}": getattr(self, field)}))
        object.__setattr__(self, "grid", checks.positive(**{f"{self.name}.grid": self.grid}))
        if not self.lower < self.upper:
            raise self._refuse(f"below upper ({plain(self.upper)})", self.lower, "lower")
        for field in ("lower", "upper"):
            bound = getattr(self, field) / self.grid
            if abs(bound) > MAX_CODE:
                raise self._refuse(
                    f"at most 2**53 steps of the grid ({plain(self.grid)}) from 0",
                    getattr(self, field),
                    field,
                )
            if bound.denominator != 1:
                rule = f"a multiple of grid ({plain(self.grid)})"
                raise self._refuse(rule, getattr(self, field), field)
        if max(self.grid.numerator, self.grid.denominator) > MAX_CODE:
            raise self._refuse("a ratio of whole numbers up to 2**53", self.grid, "grid")
        self._check_null(self.null)
        if self.null is not None:
            object.__setattr__(self, "null", checks.exact(null=self.null))

    def encode(self, value: object) -> int:
        """Return value / grid for a value between the bounds and on the grid."""
        number = checks.exact(**{self.name: value})
        steps = number / self.grid
        if not self.lower <= number <= self.upper or steps.denominator != 1:
            rule = f"a multiple of {plain(self.grid)} from {plain(self.lower)} to {plain(self.upper)}"
            raise self._refuse(rule, value)
        return int(steps)

    def decode(self, code: Code) -> Value:
        """Return code * grid."""
        return int(code) * self.grid


@dataclass(frozen=True, slots=True, repr=False)
class Integer(_Number):
    """Whole numbers from `lower` to `upper`, rounded to multiples of `grid`."""

    _: KW_ONLY
    grid: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        self._set_exact()
        for field in ("lower", "upper", "grid"):
            if getattr(self, field).denominator != 1:
                raise self._refuse("a whole number", getattr(self, field), field)

    def decode(self, code: Code) -> Value:
        """Return code * grid as an int."""
        return int(code) * int(self.grid)


@dataclass(frozen=True, slots=True, repr=False)
class Decimal(_Number):
    """Numbers from `lower` to `upper`, rounded to multiples of `grid` (0.01 for cents)."""

    def __post_init__(self) -> None:
        self._set_exact()


@dataclass(frozen=True, slots=True, repr=False)
class Boolean(Ranged):
    """True or false."""

    _: KW_ONLY
    null: bool | None = None
    lower = False
    upper = True

    def __post_init__(self) -> None:
        Column.__post_init__(self)
        self._check_null(self.null)

    def encode(self, value: object) -> int:
        """Return 0 for False and 1 for True."""
        if not isinstance(value, bool):
            raise self._refuse("true or false", value)
        return int(value)

    def decode(self, code: Code) -> Value:
        """Return a bool."""
        return bool(int(code))


@dataclass(frozen=True, slots=True, repr=False)
class Date(Ranged):
    """Days from `lower` to `upper`. Moments are cut to their day in UTC."""

    _: KW_ONLY
    lower: datetime.date
    upper: datetime.date
    null: datetime.date | None = None

    def __post_init__(self) -> None:
        Column.__post_init__(self)
        for field in ("lower", "upper"):
            if type(getattr(self, field)) is not datetime.date:
                hint = "Write it without quotes: 2024-12-31 in TOML, datetime.date(2024, 12, 31) in Python"
                value = getattr(self, field)
                raise InvalidParameter(name=f"{self.name}.{field}", rule="a date", value=value, hint=hint)
        if not self.lower < self.upper:
            raise self._refuse(f"before upper ({self.upper})", str(self.lower), "lower")
        self._check_null(self.null)

    def encode(self, value: object) -> int:
        """Return the days since 1970-01-01."""
        if type(value) is not datetime.date or not self.lower <= value <= self.upper:
            raise self._refuse(f"a date from {self.lower} to {self.upper}", value)
        return value.toordinal() - _EPOCH

    def decode(self, code: Code) -> Value:
        """Return a datetime.date."""
        return datetime.date.fromordinal(int(code) + _EPOCH)


@dataclass(frozen=True, slots=True, repr=False)
class _Opaque(Column):
    def encode(self, value: object) -> Code:
        """Refuse: no value of this column is public."""
        raise self._refuse("a column with declared values", value)

    def decode(self, code: Code) -> Value:
        """Return text as it is."""
        return code


@dataclass(frozen=True, slots=True, repr=False)
class Identifier(_Opaque):
    """Says whose row it is. Never compared, summed, grouped or shown.

    Ids are equal when their text is, byte by byte: case and spaces count. Where the column is the privacy
    unit, rows without an id (NULL) belong to nobody and are left out; an empty text is an id like any other.
    """


@dataclass(frozen=True, slots=True, repr=False)
class Text(_Opaque):
    """Free text. Usable in conditions, and as a group key that a threshold lets through."""


def print_declaration(value: Any) -> str:
    """Print a declaration as it is written: the name, then what was not left out."""
    name, *others = (field for field in fields(value) if field.name != "_")
    given = {field.name: getattr(value, field.name) for field in others}
    parts = [f"{f.name}={_print_value(given[f.name])}" for f in others if given[f.name] != f.default]
    return f"{type(value).__name__}({', '.join([repr(getattr(value, name.name)), *parts])})"


def _print_value(value: object) -> str:
    if isinstance(value, Fraction):
        return plain(value)
    if isinstance(value, tuple) and len(value) > _LONG and isinstance(value[0], str | int):
        return f"({', '.join(map(repr, value[:3]))}, ..., {value[-1]!r})"
    return repr(value)
