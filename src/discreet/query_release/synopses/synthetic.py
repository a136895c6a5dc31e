"""Synthetic tables: made-up rows in the schema's own values."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import Refused
from discreet.core.fixed import Array, Integers
from discreet.core.rng import SYSTEM, Rng
from discreet.core.shown import ROWS, data_frame, html_table, more_rows, text_table, value_text
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Codes, Universe
from discreet.queries.workload import Workload


class SyntheticTable:
    """Rows of declared values that describe nobody. Public.

    Attributes
    ----------
    universe
        The attributes and their values.
    codes
        One row of codes a record: positions among the declared values.
    departure
        How far its counts are from the answers that it was made for, on average, as a share of the rows; None
        where nobody compared them.
    """

    def __init__(self, universe: Universe, codes: Codes, *, departure: float | None = None) -> None:
        self.universe, self.codes = universe, universe.read_codes(codes)
        self.departure = departure

    @classmethod
    def in_proportion(
        cls, universe: Universe, weights: Array, rows: int | None = None, *, rng: Rng = SYSTEM
    ) -> Self:
        """Make rows from the weights of all cells, by systematic sampling.

        Every cell gets its exact share, rounded up or down at random such that shares keep their mean and
        neighbouring cells make up for one another. The rows are then in the order of the cells.
        """
        flat = np.asarray(weights, dtype=np.float64).reshape(-1)
        count = round(float(flat.sum())) if rows is None else checks.integer(0, rows=rows)
        return cls(universe, universe.unravel(in_proportion(flat, count, rng)))

    def __len__(self) -> int:
        return len(self.codes)

    def columns(self) -> dict[str, list[Any]]:
        """Return the values, column by column."""
        return self._values(self.codes)

    def _values(self, codes: Codes) -> dict[str, list[Any]]:
        return {
            attribute.name: [attribute.values[code] for code in codes[:, axis].tolist()]
            for axis, attribute in enumerate(self.universe.attributes)
        }

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*self.columns().values(), strict=True)

    def answers(self, workload: Workload) -> Array:
        """Count the rows, one number a query."""
        return workload.answers(self.histogram())

    def judge(self, workload: Workload, answers: Array, *, total: float) -> Self:
        """Return the same rows, compared with answers about `total` rows that they were made for."""
        counts = self.answers(workload) / max(1, len(self))
        off = float(np.abs(counts - np.asarray(answers, dtype=np.float64) / max(1.0, total)).mean())
        return type(self)(self.universe, self.codes, departure=off)

    def histogram(self) -> Histogram:
        """Count the rows, to run any mechanism on them as if they were data."""
        return Histogram.from_records(self.universe, self.codes)

    def to_pandas(self) -> Any:
        """Return a pandas data frame."""
        return data_frame(self.columns())

    def write_csv(self, path: str | Path) -> None:
        """Write the rows with a header line; a missing value is an empty field."""
        with Path(path).open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self.universe.names)
            writer.writerows(self)

    def _cells(self) -> list[list[str]]:
        columns = self._values(self.codes[:ROWS])
        shown = ([name, *map(_show, values)] for name, values in columns.items())
        return [list(row) for row in zip(*shown, strict=True)]

    def _notes(self) -> list[str]:
        size = f"{len(self)} synthetic rows of {len(self.universe.shape)} columns"
        if self.departure is not None:
            size += (
                f"; a count of them is {self.departure:.2%} of the rows off the released answer, on average"
            )
        return [*more_rows(len(self)), size]

    def __repr__(self) -> str:
        return text_table(self._cells(), self._notes())

    def _repr_html_(self) -> str:
        return html_table(self._cells(), self._notes())


def _show(value: Any) -> str:
    return "(missing)" if value is None else value_text(value)


def in_proportion(weights: Array, count: int, rng: Rng) -> Integers:
    """Return `count` places, ascending, by systematic sampling in proportion to non-negative weights."""
    if not count:
        return np.zeros(0, dtype=np.int64)
    ends = np.cumsum(weights)
    if not ends[-1] > 0:
        raise Refused(
            what="a synthetic table", why="all weights are zero", way_out="Spend more, or ask for 0 rows"
        )
    ends *= count / ends[-1]
    ends[-1] = count
    start = rng.bits(53) / (1 << 53)
    places = np.searchsorted(ends, start + np.arange(count), side="right")
    return np.asarray(np.minimum(places, len(ends) - 1), dtype=np.int64)
