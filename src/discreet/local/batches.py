"""Many reports at once, and columns of private values of whatever kind."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter
from discreet.local.frames import Columns, list_columns, list_plainly, read_rows
from discreet.local.laws.coordinates import Vectors
from discreet.local.laws.domains import BitStrings, Domain, Span, ValueNames
from discreet.local.laws.parities import BitRecords
from discreet.local.laws.records import RecordWeights
from discreet.local.laws.wire import Header, SentReport
from discreet.local.steps import Payload
from discreet.mechanisms.reading import make_plain, type_name

RECORDS = (RecordWeights, BitRecords, Vectors)
"""Domains whose values are whole records, or vectors: containers."""
_NUMBERS = ("int", "uint", "double", "float")  # how the names of Arrow's types of numbers begin
_LARGEST, _FINE = Fraction(10) ** 300, 1 << 48  # floats hold less, and no finer grids
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
    if isinstance(domain, RECORDS):  # a record is one value
        return domain.read(list_plainly(value))
    plain = list_plainly(value)
    if strict and issubclass(type(plain), _CONTAINERS):
        raise InvalidParameter(
            name="data", rule="one value", got=f"type {type_name(value)}", hint="Use encode_many for a column"
        )
    return domain.read(plain)


@np.errstate(all="ignore")  # that a number is huge, or no number, is not to be told
def read_column(domain: Domain, values: Any) -> NDArray[Any]:
    """Return the places of many private values: of a list, an array, a column, or a frame of records."""
    if (columns := list_columns(values)) is not None:
        return _read_frame(domain, values, columns)
    plain = _read_arrow(values) if hasattr(values, "to_pylist") else make_plain(values)
    if not isinstance(plain, np.ndarray):
        return _read_each(domain, plain, values)  # what is missing is there, and no value
    places = _read_array(domain, plain)
    return _mark_missing(domain, _read_each(domain, plain, values) if places is None else places, values)


def _read_each(domain: Domain, plain: Any, given: Any) -> NDArray[Any]:
    """Return the places of values that are looked at one by one."""
    if isinstance(plain, np.ndarray):
        plain = plain.tolist() if plain.ndim == 1 else plain
    elif hasattr(plain, "to_list"):
        plain = plain.to_list()
    if not isinstance(plain, list | tuple):
        raise InvalidParameter(name="data", rule="a column of values", got=f"type {type_name(given)}")
    if isinstance(domain, Vectors):
        rows = [domain.read_each(list_plainly(each)) for each in plain]
        return np.array(rows, dtype=np.int64).reshape(-1, domain.dimensions)
    dtype = np.uint64 if isinstance(domain, BitStrings) else np.int64
    return np.fromiter(domain.read_all(map(list_plainly, plain)), dtype=dtype, count=len(plain))


def _read_arrow(column: Any) -> Any:
    """Return a column of Arrow as an array where its type is one of numbers, else as a list.

    Its type alone decides: whether an entry is missing must not change how others are read.
    """
    if str(column.type).startswith(_NUMBERS):
        return np.asarray(column.fill_null(0))
    return column.to_pylist()


def _mark_missing(domain: Domain, places: NDArray[Any], column: Any) -> NDArray[Any]:
    """Return places with that of None for what is missing: an array has some number there."""
    missing: Any = None
    if type(column) is np.ma.MaskedArray:
        missing = np.ma.getmaskarray(column)
    elif not isinstance(column, np.ndarray) and hasattr(column, "is_null"):  # polars, Arrow
        missing = np.asarray(column.is_null())
    elif not isinstance(column, np.ndarray) and hasattr(column, "isna"):  # pandas
        missing = np.asarray(column.isna())
    if missing is None or missing.shape != places.shape:
        return places  # records: what is missing in a row is its attribute's first value
    none = (domain.span if isinstance(domain, Vectors) else domain).read(None)
    return np.where(missing, places.dtype.type(none), places)


def _read_array(domain: Domain, plain: NDArray[Any]) -> NDArray[Any] | None:
    """Return the places of an array of numbers, all at once; None for what is looked at one by one."""
    if plain.ndim == 2:
        if isinstance(domain, RecordWeights):
            return find_cells(domain, plain)
        if isinstance(domain, BitRecords):
            codes = read_rows(domain.attributes, plain)
            return np.asarray(codes @ (1 << np.arange(len(domain.attributes))))
        if isinstance(domain, Vectors) and plain.dtype.kind in "iuf":
            return _round_vectors(domain, plain)
    if plain.ndim == 1 and plain.dtype.kind in "iufb" and isinstance(domain, RECORDS):
        rule = "records or vectors, one for each person"
        raise InvalidParameter(name="data", rule=rule, got="an array of one number each")
    if plain.ndim == 1 and plain.dtype.kind in "iuf":
        if isinstance(domain, ValueNames) and not domain.names:
            return _read_numbers(domain.count, plain)
        if isinstance(domain, Span):
            return _round_numbers(domain, plain)
        if isinstance(domain, BitStrings) and plain.dtype.kind in "iu":
            return _mix_numbers(domain, plain)
    return None


def find_cells(domain: RecordWeights, codes: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of rows of codes, each the place of a value in its attribute's list; others are 0."""
    clean = read_rows(domain.attributes, codes)
    places = np.zeros(len(codes), dtype=np.int64)
    for axis, size in zip(domain.axes, domain.shape, strict=True):
        places = places * size + clean[:, axis]
    return places


def _read_numbers(count: int, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return numbers as they are where they are whole and in the domain, else 0."""
    known = (numbers >= 0) & (numbers < count)  # not NaN
    places = np.where(known, numbers, 0).astype(np.int64)
    if numbers.dtype.kind == "f":
        places = np.where(known & (places == numbers), places, 0)
    return places


def _round_numbers(span: Span, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return the nearest places of numbers; one that is half way may go to either."""
    largest, wide = max(abs(span.lower), abs(span.upper)), span.upper - span.lower
    if largest > _LARGEST or wide < 1 / _LARGEST or wide / span.steps * _FINE < largest:
        plain = numbers.astype(np.float64) if numbers.dtype.kind == "f" else numbers
        return np.array([span.read(each) for each in plain.tolist()], dtype=np.int64)
    low, high = float(span.lower), float(span.upper)
    inside = np.clip(numbers.astype(np.float64), low, high)
    places = np.floor((inside - low) * (span.steps / (high - low)) + 0.5)
    return np.clip(np.where(np.isnan(places), span.steps // 2, places), 0, span.steps).astype(np.int64)


def _round_vectors(domain: Vectors, numbers: NDArray[Any]) -> NDArray[np.int64]:
    """Return the places of rows of numbers, which must be of one declared length."""
    if numbers.shape[1] != domain.dimensions:
        rule = f"rows of {domain.dimensions} numbers"
        raise InvalidParameter(name="data", rule=rule, got="rows of another length")
    return _round_numbers(domain.span, numbers.reshape(-1)).reshape(numbers.shape)


def _read_frame(domain: Domain, frame: Any, columns: Columns) -> NDArray[np.int64]:
    """Return the places of the rows of a frame; a vector has a column for each coordinate, in order."""
    if isinstance(domain, RecordWeights | BitRecords):
        return read_column(domain, read_rows(domain.attributes, frame))
    if not isinstance(domain, Vectors):
        kind = f"type {type_name(frame)}, of several columns"
        raise InvalidParameter(name="data", rule="a column of values", got=kind)
    if len(columns) != domain.dimensions:
        rule = f"a frame of {domain.dimensions} columns"
        raise InvalidParameter(name="data", rule=rule, got="one of another number")
    return np.stack([read_column(domain.span, column) for _, column in columns], axis=1)


def _mix_numbers(strings: BitStrings, numbers: NDArray[Any]) -> NDArray[np.uint64]:
    """Return the places of numbers, multiplied as words of 64 bits are; of strange ones that of 0."""
    most = np.uint64(strings.size - 1)
    words = np.where(numbers >= 0, numbers, 0).astype(np.uint64)
    words[words > most] = 0
    return (words * np.uint64(strings.multiplier)) & most
