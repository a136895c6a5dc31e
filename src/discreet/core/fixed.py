"""Values that stay what they were when they were made.

Whatever was checked once is read again when data are there, so nothing of it may be changed in between: not
by assigning to an attribute, not by one that hides a method, and not by writing into an array.
"""

from __future__ import annotations

from abc import ABCMeta
from collections.abc import Callable
from types import MemberDescriptorType
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

# What arrays hold, for signatures.
Array = NDArray[Any]
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_EMPTY: Any = object()


class _Sealing(ABCMeta):
    """The type of fixed objects: what its constructor leaves empty is not for callers to fill."""

    def __call__(cls, *given: Any, **named: Any) -> Any:
        made = super().__call__(*given, **named)
        seal(made)
        return made


class Fixed(metaclass=_Sealing):
    """An object whose attributes are its slots, filled by its constructor alone, or later by `keep`.

    A subclass without slots of its own has a dictionary, and may do as it likes: it is believed nowhere.
    """

    __slots__ = ("__weakref__", "_sealed")

    def __setattr__(self, name: str, value: object) -> None:
        slot = getattr(type(self), name, None)
        if not hasattr(self, "__dict__") and not (
            isinstance(slot, MemberDescriptorType) and _is_empty(slot, self) and not hasattr(self, "_sealed")
        ):
            raise AttributeError(f"{name} of a {type(self).__name__} cannot be changed")
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        if not hasattr(self, "__dict__"):
            raise AttributeError(f"{name} of a {type(self).__name__} cannot be changed")
        object.__delattr__(self, name)


F = TypeVar("F", bound=Fixed)


def seal(made: Fixed) -> None:
    """End the making of an object; for those that were made without their constructor."""
    object.__setattr__(made, "_sealed", True)


def build(kind: type[F], fill: Callable[..., None], *given: Any, **named: Any) -> F:
    """Make an object that a method fills in place of the constructor."""
    made = kind.__new__(kind)
    fill(made, *given, **named)
    seal(made)
    return made


def keep(owner: Fixed, slot: str, compute: Callable[[], T]) -> T:
    """Return what a slot holds; fill it first where it is empty."""
    value = getattr(owner, slot, _EMPTY)
    if value is _EMPTY:
        value = compute()
        object.__setattr__(owner, slot, value)  # two threads that meet here find the same
    return value  # type: ignore[no-any-return]


def fix_array(values: NDArray[Any]) -> NDArray[Any]:
    """Return a copy of an array that nobody can make writable again: it has no memory of its own."""
    if is_fixed(values):
        return values
    array = np.ascontiguousarray(values)
    return np.frombuffer(array.tobytes(), dtype=array.dtype).reshape(np.shape(values))


def is_fixed(values: object) -> bool:
    """Tell whether an array is plain and lies in memory that cannot be written to."""
    base = values
    while type(base) is np.ndarray:
        base = base.base
    return type(values) is np.ndarray and type(base) is bytes


def _is_empty(slot: MemberDescriptorType, owner: Fixed) -> bool:
    try:
        slot.__get__(owner)
    except AttributeError:
        return True
    return False
