"""Data frames whose rows are people: their columns, and the rows of codes that they make."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter
from discreet.local.laws.domains import make_scalar
from discreet.local.laws.records import Attributes, read_record
from discreet.mechanisms.reading import make_plain_array, type_name

Columns = list[tuple[Any, Any]]
"""The name of each column and what is in it."""


def list_columns(data: Any) -> Columns | None:
    """Return the columns of a frame of pandas or polars, or of a table of Arrow; None for anything else."""
    if hasattr(data, "iloc") and hasattr(data, "columns"):  # pandas
        return [(name, data.iloc[:, place]) for place, name in enumerate(data.columns)]
    if hasattr(data, "get_columns"):  # polars
        return [(each.name, each) for each in data.get_columns()]
    if hasattr(data, "column_names"):  # Arrow
        return [(name, data.column(place)) for place, name in enumerate(data.column_names)]
    return None


def read_rows(attributes: Attributes, data: Any) -> NDArray[np.int64]:
    """Return records, a frame, or rows of codes, as rows of codes; what is no value counts as the first."""
    if (columns := list_columns(data)) is not None:
        data = _join_columns(attributes, columns)
    if isinstance(data, list | tuple):
        rows = [read_record(attributes, list_plainly(record)) for record in data]
        return np.array(rows, dtype=np.int64).reshape(-1, len(attributes))
    if isinstance(data, np.ndarray):
        data = make_plain_array(data)  # what a mask hides is no value
    if (
        not isinstance(data, np.ndarray)
        or data.ndim != 2
        or data.dtype.kind not in "iu"
        or data.shape[1] != len(attributes)
    ):
        rule = f"a list of records, a frame, or rows of {len(attributes)} codes, whole numbers"
        raise InvalidParameter(name="data", rule=rule, got=f"type {type_name(data)} of another kind or width")
    sizes = np.array([len(values) for _, values in attributes])
    return np.where((data >= 0) & (data < sizes), data, 0).astype(np.int64)


def list_plainly(value: Any) -> Any:
    """Return what an entry stores as plain values. No method of a class derived from numpy's is asked."""
    kind = type(value)
    if issubclass(kind, np.generic):
        return make_scalar(value)
    if kind in (np.ma.MaskedArray, type(np.ma.masked)):
        return np.ma.MaskedArray.tolist(value)  # None for what is masked
    return np.ndarray.tolist(value) if issubclass(kind, np.ndarray) else value


def _join_columns(attributes: Attributes, columns: Columns) -> list[tuple[Any, ...]]:
    """Return records of the attributes; a frame has a column for each, once, and may have others."""
    names = [name for name, _ in columns]
    wanted = [name for name, _ in attributes]
    if any(names.count(name) != 1 for name in wanted):
        rule = f"a frame with one column for each of {', '.join(wanted)}"
        raise InvalidParameter(name="data", rule=rule, got="another frame")
    return list(zip(*(list_values(columns[names.index(name)][1]) for name in wanted), strict=True))


def list_values(column: Any) -> list[Any]:
    """Return a column of pandas, polars or Arrow as plain values."""
    listed: list[Any] = (column.to_pylist if hasattr(column, "to_pylist") else column.to_list)()
    return listed
