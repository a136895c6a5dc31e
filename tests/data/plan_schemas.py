"""The tables that generated plans are about, and the choices of a seed."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeVar

from discreet import AddRemove, Replace
from discreet.data import (
    Boolean,
    Category,
    Date,
    Decimal,
    Dimension,
    Identifier,
    Integer,
    Row,
    Schema,
    Text,
    User,
)
from discreet.data.plan.kinds import Kind
from discreet.data.plan.nodes import Policy
from discreet.data.plan.row_nodes import Field
from discreet.testing import unsafe_seeded

T = TypeVar("T")
LONG = (*(f"v{k:02d}" for k in range(30)), *(f"V{k:02d}" for k in range(10)))
"""So many that they are looked up by a join, and some of them differ by case only."""
DELTA = Policy(epsilon=Fraction(1), delta=Fraction("1e-3"))
PURE = Policy(epsilon=Fraction(1), delta=Fraction(0))
UNITS = (Row(), User(column="who", max_rows=3, max_groups=2))
CHANGES = (AddRemove, Replace)
NUMBERS = ("x", "y", "z")
MOST = 60
"""Declared groups of one plan: enough to be many, few enough to be quick."""
OF_COLUMNS: tuple[Kind, ...] = ("count_distinct", "mode")
AGAIN = "discreet_events_2"
"""What a plan calls the table of events where it is read a second time."""
GROUPED = ("g", "s", "x", "flag", "day", "c")
ZONES = Dimension(
    "zones",
    key="g",
    columns=(Category("g", values=("a", "b", "c")), Integer("weight", lower=-2, upper=3)),
)


def schemas(unit: Row | User, change: type[AddRemove] | type[Replace]) -> tuple[Schema, ...]:
    """A table with every kind of column, a public table, and where units are users a second private one."""
    events = Schema(
        "events",
        columns=(
            Identifier("who"),
            Category("g", values=("a", "b", "c")),
            Category("c", values=LONG, other="v01", null="v00"),
            Category("s", values=(1, 2, 3)),
            Integer("x", lower=-3, upper=4),
            Decimal("y", lower=0, upper=2, grid=Fraction("0.5"), null=0),
            Integer("z", lower=-20, upper=30, grid=10),
            Boolean("flag"),
            Date("day", lower=datetime.date(2020, 1, 1), upper=datetime.date(2020, 1, 5)),
            Text("note"),
        ),
        unit=unit,
        neighbours=change(unit.name),
        dimensions=(ZONES,),
    )
    if isinstance(unit, Row):
        return (events,)
    orders = Schema(
        "orders",
        columns=(Identifier("who"), Integer("price", lower=0, upper=5)),
        unit=User(column="who", max_rows=2, max_groups=1),
        neighbours=change("who"),
    )
    return events, orders


class Draw:
    """Choices of a seed: the same ones every time."""

    def __init__(self, seed: int) -> None:
        self._rng = unsafe_seeded(seed)

    def below(self, count: int) -> int:
        return self._rng.bits(48) % count

    def pick(self, choices: Sequence[T]) -> T:
        return choices[self.below(len(choices))]

    def once_in(self, times: int) -> bool:
        return self.below(times) == 0

    def some(self, choices: Sequence[T], most: int) -> list[T]:
        """Up to `most` different choices, in their order."""
        kept = {self.below(len(choices)) for _ in range(self.below(most + 1))}
        return [choices[place] for place in sorted(kept)]


def field_of(table: str, name: str) -> Field:
    return filled(Field, table=table, name=name)


def filled(kind: type[T], /, **values: Any) -> T:
    """Build a node, and see that no field of it is left to its default."""
    fields = {field.name for field in dataclasses.fields(kind) if field.init}  # type: ignore[arg-type]
    assert fields == values.keys(), (
        f"{kind.__name__} has fields that no plan exercises: {fields ^ values.keys()}"
    )
    return kind(**values)
