"""Many reports at once, and columns of private values of whatever kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter
from discreet.local.laws.domains import BitStrings, Domain, Span, ValueNames
from discreet.local.laws.wire import Header, SentReport
from discreet.local.steps import Payload
from discreet.mechanisms.reading import make_plain, type_name

_CONTAINERS = (list, tuple, dict, set, frozenset, range)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReportBatch:
    """Reports of many people about one survey."""

    header: Header
    payload: Payload
    unsafe_seeded: bool = False

    def __len__(self) -> int:
        return len(self.payload)

    def __iter__(self) -> Iterator[SentReport]:
        return (SentReport(self.header, row.tobytes()) for row in self.payload)

    def to_bytes(self) -> bytes:
        """Write the header once, as a line of JSON, then the payloads one after another."""
        return SentReport(self.header, self.payload.tobytes()).to_bytes()

    def __repr__(self) -> str:
        ending = ", UNSAFE: seeded noise" if self.unsafe_seeded else ""
        return f"<{len(self)} reports, {self.header.kind}, epsilon {self.header.epsilon}{ending}>"


def read_one(domain: Domain, value: Any, *, strict: bool = True) -> int:
    """Return the place of one private value.

    Containers are refused for their type, where one value was asked for; in a list they are no value.
    """
    if not strict:
        return domain.read(value)
    if isinstance(value, _CONTAINERS) or (isinstance(value, np.ndarray) and value.ndim):
        raise InvalidParameter(
            name="data", rule="one value", got=f"type {type_name(value)}", hint="Use encode_many for a column"
        )
    if isinstance(value, np.ndarray):
        value = value[()]
    return domain.read(
        value.item() if type(value).__module__ == "numpy" and hasattr(value, "item") else value
    )


def read_column(domain: Domain, values: Any) -> NDArray[Any]:
    """Return the places of many private values: of a list, an array, or a column of a data frame."""
    if hasattr(values, "to_pylist"):  # Arrow
        values = values.to_pylist()
    plain = make_plain(values)
    if hasattr(plain, "to_list") and not isinstance(plain, np.ndarray):
        plain = plain.to_list()
    if isinstance(plain, np.ndarray) and plain.ndim == 1:
        if isinstance(domain, ValueNames) and not domain.names and plain.dtype.kind in "iuf":
            return _read_numbers(domain.count, plain)
        if isinstance(domain, Span) and plain.dtype.kind in "iuf":
            return _round_numbers(domain, plain)
        if isinstance(domain, BitStrings) and plain.dtype.kind in "iu":
            return _mix_numbers(domain, plain)
        plain = plain.tolist()
    if not isinstance(plain, list | tuple):
        raise InvalidParameter(name="data", rule="a column of values", got=f"type {type_name(values)}")
    read = domain.read
    dtype = np.uint64 if isinstance(domain, BitStrings) else np.int64
    return np.fromiter((read(_plain_entry(each)) for each in plain), dtype=dtype, count=len(plain))


def _plain_entry(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _read_numbers(count: int, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers as they are where they are whole and in the domain, else 0."""
    known = (numbers >= 0) & (numbers < count)  # not NaN
    places = np.where(known, numbers, 0).astype(np.int64)
    if numbers.dtype.kind == "f":
        places = np.where(known & (places == numbers), places, 0)
    return places


def _round_numbers(span: Span, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return the nearest places of numbers; one that is half way may go to either."""
    low, high = float(span.lower), float(span.upper)
    inside = np.clip(numbers.astype(np.float64), low, high)
    places = np.floor((inside - low) * (span.steps / (high - low)) + 0.5)
    return np.clip(np.where(np.isnan(places), span.steps // 2, places), 0, span.steps).astype(np.int64)


def _mix_numbers(strings: BitStrings, numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the places of numbers, multiplied as words of 64 bits are; of strange ones that of 0."""
    most = np.uint64(strings.size - 1)
    words = np.where(numbers >= 0, numbers, 0).astype(np.uint64)
    words[words > most] = 0
    return (words * np.uint64(strings.multiplier)) & most
