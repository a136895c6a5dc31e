"""The owner's side of the demo: the records, what is declared about them, and the truth."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from discreet.cli.demonstration.questions import YOUNG, Clause
from discreet.core.neighbours import AddRemove
from discreet.data.schema.columns import Category, Integer
from discreet.data.schema.schema import Row, Schema
from discreet.data.schema.toml_file import format_schema
from discreet.datasets import people
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.universe import Universe

PAY = ("below $10", "$10-$20", "$20-$30", "above $30")
SCHEMA = Schema(
    "people",
    columns=(
        Integer("age", lower=Fraction(21), upper=Fraction(64)),
        Category("gender", values=("female", "male")),
        Category("region", values=("Northeast", "Midwest", "South", "West")),
        Category("education", values=(6, 8, 9, 10, 11, 12, 13, 14, 16, 18, 19, 20)),
        Category("pay", values=PAY),
        Integer("cents", lower=Fraction(0), upper=Fraction(7500)),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
SHARED = ("age", "gender", "region", "education", "pay")


def find_values(schema: Schema, names: Iterable[str]) -> dict[str, Sequence[Any]]:
    """Return the declared values of columns."""
    values: dict[str, Sequence[Any]] = {}
    for name in names:
        column = next(one for one in schema.columns if one.name == name)
        is_listed = isinstance(column, Category)
        values[name] = column.values if is_listed else range(int(column.lower), int(column.upper) + 1)  # type: ignore[attr-defined]
    return values


class SurveyRecords:
    """The bundled survey, as the demo's owner holds it."""

    def __init__(self) -> None:
        table = people()
        wages = [float(wage) for wage in table["earnings"]]
        self._columns: dict[str, list[Any]] = {
            "age": [int(age) for age in table["age"]],
            "gender": table["gender"],
            "region": table["region"],
            "education": [int(years) for years in table["education"]],
            "pay": [PAY[sum(wage > edge for edge in (10, 20, 30))] for wage in wages],
            "cents": [round(100 * wage) for wage in wages],
        }
        self.values = find_values(SCHEMA, SHARED)
        self._universe = Universe(list(self.values.items()))
        codes = [
            [{value: code for code, value in enumerate(known)}[one] for one in self._columns[name]]
            for name, known in self.values.items()
        ]
        cells = np.ravel_multi_index(codes, self._universe.shape)
        self._counts = np.bincount(cells, minlength=self._universe.size).reshape(self._universe.shape)

    def __len__(self) -> int:
        return len(self._columns["age"])

    def write(self, folder: Path) -> None:
        """Write the table and its schema, as an owner has them."""
        with (folder / "people.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(self._columns)
            writer.writerows(zip(*self._columns.values(), strict=True))
        (folder / "people.toml").write_text(format_schema(SCHEMA), encoding="utf-8")

    def count(self, clauses: list[Clause]) -> list[float]:
        """Count rows, to show how far answers are off."""
        exact: list[float] = Conjunctions(self._universe, clauses).answers(self._counts).tolist()
        return exact

    def count_young(self) -> list[float]:
        """Return the truth of the union's last questions."""
        counts = []
        for age in YOUNG:
            young = np.zeros(self._counts.shape, dtype=bool)
            young[: age - 21] = True
            young[:, 0, :, :, 3] = True
            counts.append(float(self._counts[young].sum()))
        return counts
