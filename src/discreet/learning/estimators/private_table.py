"""Rows of a private table, such as `discreet.Table`, for estimators: declared columns, and its own unit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.fixed import Array
from discreet.core.neighbours import Neighbours
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe


@runtime_checkable
class HoldsRows(Protocol):
    """A private table that counts its rows by the declared values of its columns."""

    @property
    def neighbours(self) -> Neighbours:
        """Which change of it is hidden."""

    @property
    def rows_per_unit(self) -> int:
        """How many rows of one unit count."""

    def universe(self, columns: Iterable[str] | None = None) -> Universe:
        """Return every combination of the declared values of some columns."""

    def histogram(self, columns: Iterable[str] | None = None, *, sparse: bool | None = None) -> Histogram:
        """Count the rows of every cell."""


def choose_names(table: HoldsRows, target: Any, columns: Any) -> list[str]:
    """Return the columns to learn from: those that are declared one by one, or all others of the table."""
    known = list(table.universe().names)
    if not isinstance(target, str) or target not in known:
        rule = f"the name of the column to foretell, one of {', '.join(known)}, where X is a table"
        raise InvalidParameter(name="y", rule=rule, got="something else")
    names = list(columns) if isinstance(columns, Mapping) else known
    return [name for name in names if name != target]


def require_rows_of(table: HoldsRows, neighbours: Neighbours) -> None:
    """Refuse a table whose unit is not the one that a fit hides, or has several rows."""
    if neighbours != table.neighbours:
        raise NeighboursMismatch(
            f"the table hides {table.neighbours}, and this fit would hide {neighbours}. "
            f"Pass neighbours={table.neighbours!r}"
        )
    if table.rows_per_unit != 1:
        raise NeighboursMismatch(
            f"one unit of the table has up to {table.rows_per_unit} rows, and a fit hides one row. "
            "Declare max_rows=1 for the unit, so that one row of each counts"
        )


def read_private(table: HoldsRows, names: Sequence[str], target: str) -> tuple[Array, Array]:
    """Return rows and targets in the values that were declared, None where one is missing."""
    counted = table.histogram([*names, target], sparse=True)
    codes, counts = counted.entries()
    whole = np.repeat(codes, counts, axis=0)
    rows = np.empty((len(whole), len(names) + 1), dtype=object)
    for place, attribute in enumerate(counted.universe.attributes):
        values = np.empty(attribute.size, dtype=object)
        values[:] = attribute.values
        rows[:, place] = values[whole[:, place]]
    return rows[:, :-1], rows[:, -1]
