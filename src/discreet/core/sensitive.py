"""A wrapper that keeps data out of reprs, logs, pickles, comparisons and accidents."""

from __future__ import annotations

from typing import Any, Generic, NoReturn, TypeVar, cast

from discreet.core.errors import DiscreetError

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
        return cast("Sensitive[T]", value) if isinstance(value, Sensitive) else cls(value)

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
