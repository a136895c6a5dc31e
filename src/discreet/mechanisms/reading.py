"""What people keep numbers in, told apart by type alone: arrays, lists, mappings, columns of data frames.

Which error is raised, and what it says, may depend on the declared type of the whole and on public
parameters, never on a value, on how many there are, or on whether one is missing: errors are answers nobody
paid for.

One rule for the entries, wherever they are kept: what is missing, masked, NaN or no number counts as 0. A
list declares no type, so nothing in it is refused but real numbers where no grid is declared and only whole
ones mean anything; 3.0 is a whole number there, and True is 1. Arrays and columns are refused by their dtype
alone.

Behind this door an array is a `numpy.ndarray` itself: the classes derived from it compute in their own ways
(a masked array does not divide what is under its mask), and no arithmetic may depend on that.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.parameters import Public

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
    """Return the declared type of a column or array, else the class.

    How wide texts are, in which unit times are counted and which categories there are is left out: where
    nobody declared it, the data decided it.
    """
    known = not isinstance(value, np.ndarray) or type(value) is np.ndarray
    declared = getattr(value, "dtype", None) if known else None
    if declared is None:
        return type(value).__name__
    if isinstance(declared, np.dtype) and declared.kind not in "biufcO":
        return declared.type.__name__
    return str(declared.base_type() if hasattr(declared, "base_type") else declared)  # of polars


def is_labelled(value: Any) -> bool:
    """Tell whether numbers come with labels: a mapping, or a column with an index."""
    return isinstance(value, Mapping) or (is_column(value) and hasattr(value, "index"))


def is_column(value: Any) -> bool:
    """Tell whether this is a column of a data frame, or what is inside one."""
    return not isinstance(value, np.ndarray) and hasattr(value, "to_numpy") and hasattr(value, "dtype")


def make_plain(value: Any) -> Any:
    """Turn what holds numbers into a plain list, tuple, array or number; leave all else.

    Missing entries of a whole-number column and masked ones of an array become 0, those of a real column NaN.

    Raises
    ------
    InvalidParameter
        For an array of a class that is not known here.
    """
    kind = type(value)
    if issubclass(kind, np.ndarray):
        array = make_plain_array(value)
        return array if array.ndim or array.dtype.hasobject else array[()]
    if issubclass(kind, list | tuple):
        return value if kind in (list, tuple) else [*_BARE[issubclass(kind, list)](value)]
    return _read_column(value) if is_column(value) else value


_BARE = (tuple.__iter__, list.__iter__)  # of what is stored, whatever a subclass would show
_STORED = (np.memmap, np.matrix, np.recarray)
"""Classes of arrays whose numbers are those they store."""


def make_plain_array(value: NDArray[Any]) -> NDArray[Any]:
    """Return the stored array as one of the class itself, with 0 in the place of what is masked."""
    kind = type(value)
    if kind is np.ndarray:
        return value
    stored = np.ndarray.view(value, np.ndarray)  # asks no method of the subclass
    if kind in _STORED:
        return stored
    if kind in (np.ma.MaskedArray, type(np.ma.masked)) and stored.dtype.kind in "iuf":
        return np.where(np.ma.getmaskarray(value), stored.dtype.type(0), stored)
    raise InvalidParameter(
        name="data",
        rule="an array of a known class",
        got=f"a {kind.__name__}",
        hint="Pass numpy.array(data), if its entries are the numbers meant",
    )


def _read_column(value: Any) -> Any:
    """Return the array behind a column of numbers; leave a column of anything else."""
    declared = value.dtype
    if hasattr(declared, "is_integer") and hasattr(declared, "is_float"):  # polars
        if declared.is_integer() and "128" not in str(declared):  # which numpy has not
            return make_plain_array(value.fill_null(0).to_numpy())
        return make_plain_array(value.to_numpy()) if declared.is_float() else value
    kind = getattr(declared, "kind", "")
    stored = getattr(declared, "numpy_dtype", declared)
    if kind in ("i", "u", "f") and isinstance(stored, np.dtype):
        return make_plain_array(value.to_numpy(dtype=stored, na_value=np.nan if kind == "f" else 0))
    return value


def labels(value: Any) -> Iterable[Any]:
    """Return the labels of labelled numbers."""
    return value.keys() if isinstance(value, Mapping) else value.index


def read_entry(value: Any) -> Fraction | float:
    """Read one entry as a fraction or an infinity; what is missing, NaN or no number as 0."""
    if type(value) is np.ndarray and not value.ndim:
        value = value[()]
    if type(value) in (bool, np.bool_):
        return Fraction(int(value))
    number = checks.read_number(value)
    return Fraction(0) if number is None or number != number else number  # noqa: PLR0124 - NaN alone differs


MaybeNames = Public[Iterable[Hashable] | None, tuple[Hashable, ...] | None]
"""Public names, or none."""


def read_names(**named: Iterable[Hashable]) -> tuple[Hashable, ...]:
    """Read the names of a public range."""
    ((name, given),) = named.items()
    rule = "different names, at least one"
    try:
        names = tuple(given)
        different = len(set(names))
    except TypeError:  # no list, or one of what can be no name
        got, hint = f"a {type(given).__name__}", "Names are texts, numbers, or tuples of them"
        raise InvalidParameter(name=name, rule=rule, got=got, hint=hint) from None
    if not names or different != len(names):
        raise InvalidParameter(name=name, rule=rule, value=names)
    return names


def count_names(size: int | None, **named: tuple[Hashable, ...] | None) -> int:
    """Return how many there are: as was said, or as there are names, never both."""
    ((name, names),) = named.items()
    if names is None and size is None:
        rule, hint = (
            f"an integer >= 1 where {name} are not given",
            f"Pass size=, or {name}= with public names",
        )
        raise InvalidParameter(name="size", rule=rule, got="neither", hint=hint)
    if names is None:
        return checks.integer(1, size=size)
    if size is not None:
        raise InvalidParameter(name="size", rule=f"left out where {name} are given", value=size)
    return len(names)
