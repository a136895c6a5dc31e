"""Plans of every shape, made from the plan's own node types.

Each maker below fills every field of its dataclass, and says so: a new field stops the generator. Kinds and
signs are drawn from the `Literal`s, conditions from the union they are declared as. There is a plan for each
kind of unit and change, with each aggregate, with each option and clause; what else it has is drawn.
"""

from __future__ import annotations

import dataclasses
import datetime
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, TypeVar, get_args

from discreet import AddRemove, Replace
from discreet.core.errors import Refused
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
from discreet.data.ask import plan_question
from discreet.data.plan.derived import UNITS as RELATION
from discreet.data.plan.derived import derive_joined, relate
from discreet.data.plan.nodes import (
    FALSE,
    TRUE,
    Aggregate,
    And,
    Compare,
    Condition,
    Field,
    Join,
    Kind,
    Options,
    Or,
    Output,
    Plan,
    Policy,
    Polynomial,
    Sign,
    UnitKind,
    Units,
    UnitValue,
    Within,
)
from discreet.data.plan.numbers import add, constant, multiply, scale, variable
from discreet.data.plan.tables import PlanTables, is_declared
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.sql.printing import to_sql
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


CLAUSES = (
    "plain",
    "where",
    "group",
    "text group",
    "sets",
    "public join",
    "left join",
    "private join",
    "self join",
    "units",
    "row bounds",
    "group bounds",
    "epsilon",
    "delta",
    "max_rows",
    "max_groups",
)
"""What a plan may have beside its aggregates: each is forced in its turn, and drawn now and then."""


def possible(unit: Row | User, kind: Kind, clause: str) -> bool:
    """Say whether the language has a clause for an aggregate of tables of a unit."""
    if isinstance(unit, Row) and (
        kind == "count_units" or clause in ("private join", "self join", "units", "max_rows", "max_groups")
    ):
        return False
    if clause == "row bounds":
        return kind not in ("count", "count_units")
    # A count of one row is 0 or 1: a bound would say nothing.
    return clause != "group bounds" or kind in ("sum", "average") or (kind == "count" and unit != Row())


@dataclasses.dataclass(frozen=True)
class Maker:
    """Makes one plan. `forced` is the clause it must have."""

    draw: Draw
    tables: PlanTables
    forced: str

    def wants(self, clause: str) -> bool:
        return self.forced == clause or self.draw.once_in(5)

    def plan(self, kind: Kind, *, text: bool) -> Plan:
        if isinstance(self.tables.schemas[0].unit, User) and self.wants("units"):
            return self.plan_of_units(kind)
        joins = tuple(self.joins())
        if joins:
            joined = replace(self, tables=self.tables.extend(*derive_joined(joins, self.tables)))
            return joined.plan_of_rows(kind, joins, text=text)
        return self.plan_of_rows(kind, joins, text=text)

    def plan_of_rows(self, kind: Kind, joins: tuple[Join, ...], *, text: bool) -> Plan:
        sets = tuple(sorted(set(self.sets(text))))
        keys = sorted({field for one in sets for field in one})
        aggregates = [self.aggregate(kind, joins)]
        if self.draw.once_in(3):
            user = isinstance(self.tables.schemas[0].unit, User)
            others = [other for other in get_args(Kind) if user or other != "count_units"]
            aggregates.append(self.aggregate(self.draw.pick(others), joins))
        listed: list[Field | Aggregate] = [*self.draw.some(keys, 2), *aggregates] if keys else [*aggregates]
        return _filled(
            Plan,
            table=self.tables.schemas[0].name,
            joins=joins,
            where=self.condition(joins, 2) if self.wants("where") else And(()),
            sets=sets,
            outputs=tuple(_filled(Output, name=f"o{i}", what=what) for i, what in enumerate(listed)),
            options=self.options(),
            units=None,
        )

    def plan_of_units(self, kind: Kind) -> Plan:
        """A plan about one row for each unit, whose values are of rows that are joined and chosen as ever."""
        joins = tuple(self.joins())
        rows = replace(self, tables=self.tables.extend(*derive_joined(joins, self.tables)))
        values = {rows.unit_value(joins) for _ in range(1 + self.draw.below(3))}
        values.add(
            _filled(UnitValue, kind=self.draw.pick(get_args(UnitKind)[1:]), number=variable(self.number()))
        )
        units = _filled(
            Units,
            table=self.tables.schemas[0].name,
            joins=joins,
            where=rows.condition(joins, 1) if self.draw.once_in(2) else And(()),
            values=tuple(sorted(values, key=repr)),
        )
        options = replace(self.options(), max_groups=None)
        empty = Plan(
            table=RELATION, joins=(), where=TRUE, sets=((),), outputs=(), options=options, units=units
        )
        outer = UnitMaker(self.draw, relate(empty, self.tables), self.forced)
        plain = Maker.plan(outer, kind, text=False)
        return replace(plain, table=RELATION, joins=(), options=options, units=units)

    def unit_value(self, joins: tuple[Join, ...]) -> UnitValue:
        kind = self.draw.pick(get_args(UnitKind))
        number = None if kind == "count" and self.draw.once_in(2) else self.polynomial(joins, 2)
        return _filled(UnitValue, kind=kind, number=number)

    def number(self) -> Field:
        return _field("events", self.draw.pick(NUMBERS))

    def joins(self) -> Iterator[Join]:
        if self.wants("public join") or self.forced == "left join":
            outer = self.forced == "left join" or self.draw.once_in(3)
            left, right = Field("events", "g"), Field("zones", "g")
            yield _filled(Join, table="zones", left=left, right=right, outer=outer)
        if len(self.tables.schemas) > 1 and self.wants("private join"):
            left, right = Field("events", "who"), Field("orders", "who")
            yield _filled(Join, table="orders", left=left, right=right, outer=False)
        if self.forced == "self join":
            left, right = Field("events", "who"), Field(AGAIN, "who")
            yield _filled(Join, table="events", left=left, right=right, outer=False)

    def sets(self, text: bool) -> Iterator[tuple[Field, ...]]:
        grouped = self.grouped()
        if self.wants("sets"):
            yield ()
            yield (self.draw.pick(grouped),)
        if self.wants("text group") and text:
            yield tuple(sorted({_field("events", "note"), *self.draw.some(grouped[:2], 1)}))
        elif self.wants("group"):
            yield tuple(sorted({self.draw.pick(grouped), *self.draw.some(grouped[:4], 1)}))
        else:
            yield ()

    def grouped(self) -> list[Field]:
        """The columns that a plan may group by."""
        return [_field("events", name) for name in GROUPED]

    def options(self) -> Options:
        unit = self.tables.schemas[0].unit
        makers: dict[str, Callable[[], Any]] = {
            "epsilon": lambda: self.draw.pick([Fraction(1), Fraction("0.25")]),
            "delta": lambda: Fraction("1e-4"),
            "max_rows": lambda: 1 + self.draw.below(unit.max_rows - 1),
            "max_groups": lambda: 1 + self.draw.below(unit.max_groups - 1),
        }
        fixed = ("max_rows", "max_groups") if isinstance(unit, Row) else ()
        return _filled(
            Options,
            **{
                name: maker() if name not in fixed and self.wants(name) else None
                for name, maker in makers.items()
            },
        )

    def aggregate(self, kind: Kind, joins: tuple[Join, ...]) -> Aggregate:
        counts = kind in ("count", "count_units")
        number = None
        if kind != "count_units" and (not counts or self.draw.once_in(2)):
            number = self.polynomial(joins, 2)
        bounds = {"row": None, "group": None}
        if not counts and self.wants("row bounds") and self.forced != "group bounds":
            bounds["row"] = self.bounds(number, 1)
        elif kind in ("sum", "average", "count") and self.wants("group bounds"):
            bounds["group"] = self.bounds(None if counts else number, 3)
        points: tuple[Fraction, ...] = ()
        if kind == "quantile":
            parts = self.draw.pick([1, 2, 3])
            points = tuple(Fraction(k, parts) for k in range(parts + 1))
            points = points if self.draw.once_in(2) else (self.draw.pick([Fraction(1, 2), Fraction("0.9")]),)
        return _filled(
            Aggregate,
            kind=kind,
            number=number,
            row_bounds=bounds["row"],
            group_bounds=bounds["group"],
            points=points,
        )

    def bounds(self, number: Polynomial | None, times: int) -> tuple[Fraction, Fraction]:
        """Bounds on the grid of a number: inside its range, across its end, with and without 0."""
        unit, (low, high) = Fraction(1), (0, 1)
        if number is not None:
            exact = scale(number, self.tables)
            unit, (low, high) = exact.unit, exact.span
        width = max(1, (high - low) // 3)
        start = low + self.draw.below(max(1, high - low))
        if self.draw.once_in(2):
            start = min(0, low)
        return start * unit, (start + 1 + self.draw.below(times * width)) * unit

    def polynomial(self, joins: tuple[Join, ...], degree: int) -> Polynomial:
        fields = self.numbers(joins)
        number = variable(self.draw.pick(fields))
        for _ in range(self.draw.below(3)):
            other = multiply(
                constant(self.draw.pick([Fraction(-1), Fraction(2), Fraction(1, 2)])),
                variable(self.draw.pick(fields)),
            )
            small = max(len(names) for names, _ in number.terms) < degree
            number = multiply(number, other) if small and self.draw.once_in(2) else add(number, other)
        if self.draw.once_in(4):
            number = add(number, constant(self.draw.pick([Fraction(-1), Fraction(3, 2)])))
        return _filled(Polynomial, terms=number.terms)

    def numbers(self, joins: tuple[Join, ...]) -> list[Field]:
        """The columns that a plan may compute with."""
        fields = [_field("events", name) for name in NUMBERS]
        fields += [_field("zones", "weight")] * any(join.table == "zones" for join in joins)
        fields += [_field("orders", "price")] * any(join.table == "orders" for join in joins)
        fields += [_field(AGAIN, name) for join in joins if join.table == "events" for name in ("x", "y")]
        return fields

    def condition(self, joins: tuple[Join, ...], depth: int) -> Condition:
        kind = self.draw.pick(get_args(Condition) if depth else (Within, Compare))
        if kind is Within:
            return self.within(joins)
        if kind is Compare:
            return _filled(Compare, number=self.polynomial(joins, 2), sign=self.draw.pick(get_args(Sign)))
        if kind is And or kind is Or:
            count = self.draw.pick([0, 2, 2, 2, 3]) if depth == 2 else 2
            return _filled(kind, parts=tuple(self.condition(joins, depth - 1) for _ in range(count)))
        raise AssertionError(f"no maker of {kind}")

    def declared(self, joins: tuple[Join, ...]) -> list[Field]:
        """The columns whose values may be listed; of a public table also whether there was a partner."""
        names = [column.name for column in self.tables.schemas[0].columns if is_declared(column)]
        outer = [_field("zones", name) for join in joins if join.outer for name in ("g", "weight")]
        return [*(_field("events", name) for name in names), *outer]

    def within(self, joins: tuple[Join, ...]) -> Within:
        field = self.draw.pick(self.declared(joins))
        low, high = self.tables.span(field)
        first = low + self.draw.below(high - low + 1)
        last = min(high, first + self.draw.below(3))
        spans = ((first, last), (last + 2, high)) if last + 2 <= high else ((first, last),)
        missing = self.draw.once_in(2)
        return _filled(
            Within, field=field, spans=() if missing and self.draw.once_in(3) else spans, missing=missing
        )


@dataclasses.dataclass(frozen=True)
class UnitMaker(Maker):
    """Makes what is asked of one row for each unit."""

    def wants(self, clause: str) -> bool:
        return clause not in ("units", "public join", "private join", "left join") and Maker.wants(
            self, clause
        )

    def numbers(self, joins: tuple[Join, ...]) -> list[Field]:
        columns = self.tables.schema(RELATION).columns
        return [_field(RELATION, column.name) for column in columns if is_declared(column)]

    def grouped(self) -> list[Field]:
        small = [field for field in self.numbers(()) if (self.tables.column(field).size or MOST) < MOST]
        return small or self.numbers(())

    def declared(self, joins: tuple[Join, ...]) -> list[Field]:
        return self.numbers(joins)


def _field(table: str, name: str) -> Field:
    return _filled(Field, table=table, name=name)


def _filled(kind: type[T], /, **values: Any) -> T:
    """Build a node, and see that no field of it is left to its default."""
    fields = {field.name for field in dataclasses.fields(kind)}  # type: ignore[arg-type]
    assert fields == values.keys(), (
        f"{kind.__name__} has fields that no plan exercises: {fields ^ values.keys()}"
    )
    return kind(**values)


Case = tuple[Row | User, Any, Kind, str]
CASES: tuple[Case, ...] = tuple(
    case
    for case in itertools.product(UNITS, CHANGES, get_args(Kind), CLAUSES)
    if possible(case[0], case[2], case[3])
)


def prepared_plans(seed: int, cases: Iterable[Case] = CASES) -> Iterator[tuple[Case, QuestionPlan]]:
    """One plan for each unit, change, aggregate and clause."""
    for place, case in enumerate(CASES):
        if case in cases:
            yield case, _prepared(seed * len(CASES) + place, *case)


def _prepared(seed: int, unit: Row | User, change: Any, kind: Kind, clause: str) -> QuestionPlan:
    """Make plans until the language takes one, with its clause."""
    tables = PlanTables.of(schemas(unit, change))
    for attempt in range(200):
        draw = Draw(seed * 1_000 + attempt)
        policy = DELTA if clause in ("text group", "delta") or draw.once_in(3) else PURE
        try:
            plan = Maker(draw, tables, clause).plan(kind, text=policy.delta > 0)
            found = plan_question(to_sql(plan, tables), schemas=tables, policy=policy)
        except Refused:
            continue
        if _has(found.question, clause) and _cells(plan, tables) <= MOST:
            return found
    raise AssertionError(f"no plan is accepted for {unit}, {change}, {kind}, {clause}")


def _has(plan: Plan, clause: str) -> bool:
    """Say whether a plan has a clause once it was parsed."""
    return {
        "plain": True,
        "where": plan.where not in (TRUE, FALSE),
        "group": bool(plan.keys),
        "text group": Field("events", "note") in plan.keys,
        "sets": len(plan.sets) > 1,
        "public join": any(join.table == "zones" for join in _joins(plan)),
        "left join": any(join.outer for join in _joins(plan)),
        "private join": any(join.table == "orders" for join in _joins(plan)),
        "self join": any(join.table == "events" for join in _joins(plan)),
        "units": plan.units is not None and bool(plan.units.values),
        "row bounds": any(one.row_bounds for one in plan.aggregates),
        # Where a row is the unit, and for averages, they are bounds on each row.
        "group bounds": any(one.group_bounds or one.row_bounds for one in plan.aggregates),
        "epsilon": plan.options.epsilon is not None,
        "delta": plan.options.delta is not None,
        "max_rows": plan.options.max_rows is not None,
        "max_groups": plan.options.max_groups is not None,
    }[clause]


def _joins(plan: Plan) -> tuple[Join, ...]:
    return plan.joins if plan.units is None else plan.units.joins


def _cells(plan: Plan, tables: PlanTables) -> int:
    """How many declared groups a plan has, all sets together."""
    tables = relate(plan, tables)
    return sum(math.prod(tables.column(field).size or 1 for field in keys) for keys in plan.sets)
