"""What people keep numbers in, told apart by type alone: arrays, lists, mappings, columns of data frames.

Which error is raised, and what it says, may depend on the declared type and on public parameters, never on
a value, on how many there are, or on whether one is missing: errors are answers nobody paid for.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter

GRID_HINT = "Pass grid=, for instance grid=0.01, to release real numbers"
SHAPE_HINT = "Build the mechanism with size=, the public number of values"


@dataclass(frozen=True, slots=True)
class Wording:
    """How a mechanism asks for its data: for one number, for `{size}` of them, and the ways out."""

    one: str = "one number"
    many: str = "{size} numbers"
    numbers: str = "of a type of numbers"
    integers: str = "of an integer type where no grid is declared"
    shape_hint: str = SHAPE_HINT
    number_hint: str = ""
    integer_hint: str = GRID_HINT

    def wrong_shape(self, size: int) -> InvalidParameter:
        """Return the error for another number of values, which does not say which."""
        return InvalidParameter(
            name="data",
            rule=self.one if size == 1 else self.many.format(size=size),
            got="something of another shape",
            hint=self.shape_hint,
        )

    def not_numbers(self, value: Any) -> InvalidParameter:
        """Return the error for a type that holds no numbers."""
        got = f"type {type_name(value)}"
        return InvalidParameter(name="data", rule=self.numbers, got=got, hint=self.number_hint)

    def not_integers(self, value: Any) -> InvalidParameter:
        """Return the error for a type of real numbers where only integers are taken."""
        got = f"type {type_name(value)}"
        return InvalidParameter(name="data", rule=self.integers, got=got, hint=self.integer_hint)


NUMBERS = Wording()
WHOLE = Wording(
    "one whole number", "{size} whole numbers", integers="of an integer type", integer_hint="Pass integers"
)


def type_name(value: Any) -> str:
    """Return the declared type of a column or array, else the class."""
    return str(getattr(value, "dtype", type(value).__name__))


def is_labelled(value: Any) -> bool:
    """Tell whether numbers come with labels: a mapping, or a column with an index."""
    return isinstance(value, Mapping) or (is_column(value) and hasattr(value, "index"))


def is_column(value: Any) -> bool:
    """Tell whether this is a column of a data frame, or what is inside one."""
    return not isinstance(value, np.ndarray) and hasattr(value, "to_numpy") and hasattr(value, "dtype")


def plain(value: Any) -> Any:
    """Turn a column of numbers into an array and an array without axes into a number; leave all else.

    Missing entries of a whole-number column become 0, those of a real one NaN.
    """
    if isinstance(value, np.ndarray):
        return value if value.ndim else value[()]
    if not is_column(value):
        return value
    declared = value.dtype
    if hasattr(declared, "is_integer") and hasattr(declared, "is_float"):  # polars
        if declared.is_integer() and "128" not in str(declared):  # which numpy has not
            return value.fill_null(0).to_numpy()
        return value.to_numpy() if declared.is_float() else value
    kind = getattr(declared, "kind", "")
    stored = getattr(declared, "numpy_dtype", declared)
    if kind in ("i", "u", "f") and isinstance(stored, np.dtype):
        return value.to_numpy(dtype=stored, na_value=np.nan if kind == "f" else 0)
    return value


def labels(value: Any) -> Iterable[Any]:
    """Return the labels of labelled numbers."""
    return value.keys() if isinstance(value, Mapping) else value.index


def is_missing(value: Any) -> bool:
    """Tell whether an entry of a list stands for no value."""
    return value is None or type(value).__name__ == "NAType"


def read_names(
    size: int | None, **named: Iterable[Hashable] | None
) -> tuple[int, tuple[Hashable, ...] | None]:
    """Read a public range: how many there are, or their names, never both."""
    ((name, given),) = named.items()
    if given is None and size is None:
        rule, hint = (
            f"an integer >= 1 where {name} are not given",
            f"Pass size=, or {name}= with public names",
        )
        raise InvalidParameter(name="size", rule=rule, got="neither", hint=hint)
    if given is None:
        return checks.integer(1, size=size), None
    if size is not None:
        raise InvalidParameter(name="size", rule=f"left out where {name} are given", value=size)
    names = tuple(given)
    if not names or len(set(names)) != len(names):
        raise InvalidParameter(name=name, rule="different names, at least one", value=names)
    return len(names), names
