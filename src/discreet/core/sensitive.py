"""Data on the private side: kept in a wrapper, and lent to strangers' functions.

The wrapper keeps them out of reprs, logs, pickles, comparisons and accidents.

A stranger's function is never handed the data themselves, where it could write into them. A query, a score or
a statistic that changes what it was given would change the data for every later one, and then nothing holds
for these. So each call gets a loan of its own: the data as they are where nothing about them can be changed,
else a copy. It guards against side effects, not against code that searches the memory.

Copies cost time on each call. A million rows take about 1 ms as an array of numbers, 2 ms as a data frame of
numbers, 60 ms as a list of plain values, half a second as a frame with a column of Python objects, and four
seconds as a list of dictionaries; a tuple of plain values is looked through once and then lent as it is.
"""

from __future__ import annotations

import copy
import datetime
import operator
from collections.abc import Callable, Collection
from decimal import Decimal
from fractions import Fraction
from types import NoneType
from typing import Any, Generic, NoReturn, TypeVar, cast

import numpy as np

from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.core.fixed import Fixed

T = TypeVar("T")


class Sensitive(Generic[T]):
    """Data on the private side of the door. Only `reveal` opens it.

    It prints as ``Sensitive(...)``, cannot be pickled, copied deeply, hashed, compared, iterated or
    used as a condition.
    """

    __slots__ = ("_value",)

    def __init__(self, value: T) -> None:
        self._value = value

    @classmethod
    def wrap(cls, value: T | Sensitive[T]) -> Sensitive[T]:
        """Wrap plain data; leave wrapped data as they are."""
        return cast("Sensitive[T]", value) if issubclass(type(value), Sensitive) else cls(cast("T", value))

    def reveal(self) -> T:
        """Return the data. Only mechanisms should call this."""
        return self._value

    def __repr__(self) -> str:
        return "Sensitive(...)"

    def _refuse(self, *_: Any) -> NoReturn:
        raise DiscreetError("sensitive data cannot be pickled, copied, compared, hashed, iterated or tested")

    __reduce__ = __reduce_ex__ = __getstate__ = _refuse
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse
    __hash__ = __bool__ = __iter__ = __len__ = __format__ = _refuse
    __copy__ = __deepcopy__ = _refuse


_ATOMS = frozenset(
    [bool, int, float, complex, str, bytes, range, NoneType, Decimal]
    + [datetime.date, datetime.time, datetime.datetime, datetime.timedelta]
    + [np.dtype(code).type for code in "?bhilqBHILQefdgFDG"]
)
"""Values that nobody can write into. A Fraction is none: its parts are attributes."""


def lend(data: Any) -> Any:
    """Return what one call of a stranger's function may be given.

    Raises
    ------
    InvalidParameter
        For an object that can be changed and not be copied. It names the class.
    """
    try:
        try:
            return _copy(data)
        except RecursionError:  # it holds itself
            return copy.deepcopy(data)
    except Exception:  # whose words may quote the data
        kind = type(data).__name__
    raise InvalidParameter(
        name="data",
        rule="of a class whose objects can be copied: every function is handed a copy",
        got=f"a {kind}",
        hint="Pass an array, a list, a tuple or a data frame",
    )


def make_lender(data: Any) -> Callable[[], Any]:
    """Return what makes a loan for each of many calls; refuse at once what cannot be lent."""
    settled = lend(data) is data
    return lambda: data if settled else lend(data)  # of what the owner's object holds by then


def _copy(value: Any) -> Any:
    """Return a value itself where nothing about it can be changed, else one that is equal to it."""
    kind = type(value)
    if kind in _ATOMS or (isinstance(value, Fixed) and not hasattr(value, "__dict__")):
        return value
    if kind is np.ndarray and not value.dtype.hasobject:
        return value.copy()
    if kind is Fraction:  # which says of itself that it needs no copy
        return Fraction(*value.as_integer_ratio())
    if kind is dict:
        return dict(zip(_copy_each(value), _copy_each(value.values()), strict=True))
    if kind in (list, set):
        return kind(_copy_each(value))
    if kind in (tuple, frozenset):
        members = _copy_each(value)
        same = members is value or all(map(operator.is_, members, value))
        return value if same else kind(members)
    return _copy_frame(value) if hasattr(value, "iloc") else copy.deepcopy(value)


def _copy_each(values: Collection[Any]) -> Collection[Any]:
    return values if set(map(type, values)) <= _ATOMS else [_copy(value) for value in values]


def _copy_frame(frame: Any) -> Any:
    """Copy what pandas's own copies share: labels, and objects in cells."""
    made = frame.copy(deep=True)
    made.index = frame.index.copy(deep=True)
    if frame.ndim == 1:
        return _copy_cells(made) if frame.dtype.kind == "O" else made
    made.columns = frame.columns.copy(deep=True)
    for place, declared in enumerate(frame.dtypes):
        if declared.kind == "O":
            made.isetitem(place, _copy_cells(made.iloc[:, place]))
    return made


def _copy_cells(column: Any) -> Any:
    """Copy the objects in the cells of a column, whose declared type stays."""
    cells = list(column)
    copied = _copy_each(cells)
    return (
        column
        if copied is cells
        else type(column)(copied, index=column.index, dtype=column.dtype, name=column.name)
    )
