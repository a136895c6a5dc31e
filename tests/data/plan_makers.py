"""Makers of plans: each fills every field of its dataclass, and says so, so that a new field stops it."""

from __future__ import annotations

import dataclasses
import datetime
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from typing import Any, get_args, get_type_hints

from plan_schemas import AGAIN, GROUPED, MOST, NUMBERS, OF_COLUMNS, Draw, field_of, filled

from discreet.data import Date, Decimal, Integer, Row, Text, User
from discreet.data.plan.after import find_sort
from discreet.data.plan.atoms import choose, floor_quotient
from discreet.data.plan.derived import UNITS as RELATION
from discreet.data.plan.derived import derive_joined, list_units, name_value, relate
from discreet.data.plan.key_nodes import ComputedKey, Key, sort_keys, sort_sets
from discreet.data.plan.kinds import Function, Kind, UnitKind, WindowFunction
from discreet.data.plan.nodes import (
    After,
    Aggregate,
    Branch,
    Computed,
    Constant,
    Join,
    Options,
    Ordering,
    Output,
    Plan,
    Shown,
    Units,
    Windowed,
)
from discreet.data.plan.numbers import add, constant, multiply, scale, variable
from discreet.data.plan.row_nodes import (
    TRUE,
    And,
    Choice,
    Compare,
    Condition,
    Field,
    Or,
    Polynomial,
    Quotient,
    Sign,
    StepFunction,
    TextLike,
    UnitIn,
    UnitValue,
    Within,
)
from discreet.data.plan.tables import PlanTables, is_declared
from discreet.data.pricing.pairs import PAIRS


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
        sets = tuple(sort_sets(self.sets(text, joins)))
        keys = sort_keys(key for one in sets for key in one)
        aggregates = [self.aggregate(kind, joins)]
        if self.draw.once_in(3):
            user = isinstance(self.tables.schemas[0].unit, User)
            others = [other for other in get_args(Kind) if user or other != "count_units"]
            aggregates.append(self.aggregate(self.draw.pick(others), joins))
        listed: list[Shown] = [*self.draw.some(keys, 2), *aggregates] if keys else [*aggregates]
        parts = [one for one in (*keys, *aggregates) if find_sort(one, self.tables) == "number"]
        if self.wants("computed"):
            listed += [self.computed(self.draw.pick(get_args(Function)), parts, 2) for _ in range(6)]
            listed.append(self.constant())
        windows: list[Shown] = []
        if self.forced == "window" or self.draw.once_in(10):
            several = [one for one in (*keys, *aggregates) if not self.lists(one)]
            functions = get_args(WindowFunction) if several else ()
            windows = [self.window(function, keys, parts, several) for function in functions]
            listed += [*windows, self.computed("/", [*parts, *windows], 1)]
        made = filled(
            Plan,
            table=self.tables.schemas[0].name,
            joins=joins,
            where=self.condition(joins, 2) if self.wants("where") else And(()),
            sets=sets,
            outputs=tuple(filled(Output, name=f"o{i}", what=what) for i, what in enumerate(listed)),
            options=self.options(),
            after=self.after([*keys, *aggregates], parts, windows) if self.wants("after") else After(),
            units=None,
            branches=(),
        )
        return self.stacked(made, joins) if self.forced == "union" or self.draw.once_in(20) else made

    def stacked(self, plan: Plan, joins: tuple[Join, ...]) -> Plan:
        """The same below itself, of other rows, of the same ones, or without its groups."""
        label = Output("label", Constant("one"))
        chosen = replace(plan.after, order=(), offset=0, limit=None)
        whats = [one.what for one in plan.outputs]
        single = [what for what in whats if isinstance(what, Aggregate) and not self.lists(what)]
        if chosen.qualify is None and single and self.draw.once_in(2):
            rank = Windowed("rank", None, (), (Ordering(single[0], True, False),))
            chosen = replace(chosen, qualify=Computed("<", (rank, Constant(Fraction(3)))))
        first = replace(plan, outputs=(label, *plan.outputs), after=chosen)
        where = self.draw.pick([plan.where, TRUE, self.condition(joins, 1)])
        outputs = (Output("label", Constant("two")), *plan.outputs)
        second = replace(first, where=where, outputs=outputs, options=Options(), after=After())
        if self.draw.once_in(3):
            shown = (replace(one, what=Constant(None)) if one.what in plan.keys else one for one in outputs)
            second = replace(second, sets=((),), outputs=tuple(shown))
        pairs = list(enumerate(zip(first.outputs, second.outputs, strict=True)))
        sorted_by = self.draw.some([place for place, (one, _) in pairs if not self.lists(one.what)], 2)
        after = replace(
            plan.after,
            having=None,
            qualify=None,
            order=tuple(Ordering(first.outputs[place].what, True, False) for place in sorted_by),
        )
        return replace(
            first, after=after, branches=tuple(self.branch(one, sorted_by) for one in (first, second))
        )

    def lists(self, what: Shown) -> bool:
        return find_sort(what, self.tables) == "list"

    def branch(self, plan: Plan, sorted_by: list[int]) -> Branch:
        return filled(
            Branch,
            asked=plan,
            sets=plan.sets,
            outputs=tuple(one.what for one in plan.outputs),
            having=plan.after.having,
            order=tuple(plan.outputs[place].what for place in sorted_by),
            qualify=plan.after.qualify,
        )

    def window(
        self, function: WindowFunction, keys: tuple[Key, ...], parts: list[Shown], listed: list[Shown]
    ) -> Windowed:
        """What is computed from several rows: ranks by anything, all else in the order of keys."""
        ranks, far = function in ("rank", "dense_rank", "row_number"), function in ("lag", "lead")
        ends = function == "first_value"
        partition: tuple[Any, ...] = tuple(self.draw.some(keys, 1)) if keys and self.draw.once_in(2) else ()
        numbers = [key for key in keys if find_sort(key, self.tables) == "number"]
        if numbers and self.draw.once_in(3):
            partition = (filled(Computed, function="abs", parts=(self.draw.pick(numbers),)),)
        sorted_by = [self.draw.pick(listed)] if ranks else self.draw.some(keys, 2) if keys else []
        if (far or ends) and not sorted_by:
            function, far, ends = "sum", False, False
        counted = [None, *parts, Constant(Fraction(2)), self.computed("+", parts, 1)]
        what = None if ranks else self.draw.pick(counted if function == "count" else counted[1:])
        framed = sorted_by and not ranks and not far and not ends and self.draw.once_in(2)
        return filled(
            Windowed,
            function=function,
            what=what,
            partition=partition,
            order=tuple(Ordering(one, self.draw.once_in(2), False) for one in dict.fromkeys(sorted_by)),
            frame=self.draw.pick([(None, 0), (1, 1), (0, None), (2, 0)]) if framed else None,
            distance=self.draw.pick([0, 1, 2]) if far else 1,
            otherwise=Constant(self.draw.pick([None, Fraction(7)]) if far else None),
        )

    def after(self, listed: list[Shown], parts: list[Shown], windows: list[Shown]) -> After:
        single = [one for one in listed if find_sort(one, self.tables) != "list"]
        having = self.computed(self.draw.pick(["<", "<=", "or", "not"]), parts, 1)
        return filled(
            After,
            having=having if self.draw.once_in(2) else None,
            order=tuple(
                filled(
                    Ordering,
                    what=what,
                    descending=self.draw.once_in(2),
                    missing_first=self.draw.once_in(2),
                )
                for what in [
                    *(self.draw.some(single, 2) if single else []),
                    *windows[:1],
                    self.computed("-", parts, 1),
                ]
            ),
            offset=self.draw.pick([0, 1]),
            limit=self.draw.pick([None, 2]),
            qualify=self.computed("<", windows, 0) if windows and self.draw.once_in(2) else None,
        )

    def computed(self, function: Function, parts: list[Shown], depth: int) -> Shown:
        """A function of numbers that are released, or of truths about them."""

        def number() -> Shown:
            if depth and self.draw.once_in(2):
                return self.computed(
                    self.draw.pick(["+", "-", "*", "/", "abs", "coalesce"]), parts, depth - 1
                )
            whole = filled(Constant, value=Fraction(self.draw.below(5) - 2))
            return self.draw.pick(parts) if parts and not self.draw.once_in(4) else whole

        def truth() -> Shown:
            return self.computed(self.draw.pick(["<", "=", "is null"]), parts, 0)

        makers: dict[str, Callable[[], tuple[Shown, ...]]] = {
            "case": lambda: (truth(), number(), number()),
            "and": lambda: (truth(), truth()),
            "or": lambda: (truth(), truth()),
            "not": lambda: (truth(),),
            "power": lambda: (number(), filled(Constant, value=Fraction(2))),
            "round": lambda: (number(), filled(Constant, value=Fraction(self.draw.pick([-1, 1])))),
        }
        one = ("abs", "sign", "sqrt", "ln", "exp", "floor", "ceil", "trunc", "is null")
        default = (lambda: (number(),)) if function in one else (lambda: (number(), number()))
        return filled(Computed, function=function, parts=makers.get(function, default)())

    def constant(self) -> Shown:
        values = (Fraction("-1.5"), "it's", True, False, datetime.date(2020, 1, 2), None)
        return filled(Constant, value=self.draw.pick(values))

    def plan_of_units(self, kind: Kind) -> Plan:
        """A plan about one row for each unit, whose values are of rows that are joined and chosen as ever."""
        joins = tuple(self.joins())
        rows = replace(self, tables=self.tables.extend(*derive_joined(joins, self.tables)))
        values = {rows.unit_value(joins) for _ in range(1 + self.draw.below(3))}
        values.add(
            filled(UnitValue, kind=self.draw.pick(get_args(UnitKind)[1:]), number=variable(self.number()))
        )
        units = filled(
            Units,
            table=self.tables.schemas[0].name,
            joins=joins,
            where=rows.condition(joins, 1) if self.draw.once_in(2) else And(()),
            values=tuple(sorted(values, key=repr)),
            keys=tuple(sorted(self.draw.some(self.grouped(), 2))) if self.draw.once_in(2) else (),
        )
        options = self.options() if units.keys else replace(self.options(), max_groups=None)
        empty = Plan(
            table=RELATION, joins=(), where=TRUE, sets=((),), outputs=(), options=options, units=units
        )
        outer = UnitMaker(self.draw, relate(empty, self.tables), self.forced)
        plain = Maker.plan(outer, kind, text=False)
        made = replace(plain, table=RELATION, joins=(), options=options, units=units)
        listed = (
            replace(one, asked=replace(one.asked, table=RELATION, options=options, units=units))
            for one in plain.branches
        )
        return replace(made, branches=tuple(listed))

    def unit_value(self, joins: tuple[Join, ...]) -> UnitValue:
        kind = self.draw.pick(get_args(UnitKind))
        number = None if kind == "count" and self.draw.once_in(2) else self.polynomial(joins, 2)
        return filled(UnitValue, kind=kind, number=number)

    def number(self) -> Field:
        return field_of("events", self.draw.pick(NUMBERS))

    def joins(self) -> Iterator[Join]:
        if self.wants("public join") or self.forced == "left join":
            outer = self.forced == "left join" or self.draw.once_in(3)
            left, right = Field("events", "g"), Field("zones", "g")
            yield filled(Join, table="zones", left=left, right=right, outer=outer)
        if len(self.tables.schemas) > 1 and self.wants("private join"):
            left, right = Field("events", "who"), Field("orders", "who")
            yield filled(Join, table="orders", left=left, right=right, outer=self.draw.once_in(2))
        if self.forced == "self join":
            left, right = Field("events", "who"), Field(AGAIN, "who")
            yield filled(Join, table="events", left=left, right=right, outer=False)

    def sets(self, text: bool, joins: tuple[Join, ...]) -> Iterator[tuple[Key, ...]]:
        grouped = self.grouped()
        if self.wants("computed key"):
            yield sort_keys([self.key(joins), *self.draw.some(grouped[:2], 1)])
        if self.wants("sets"):
            yield ()
            yield (self.draw.pick(grouped),)
        if self.wants("text group") and text:
            yield tuple(sorted({field_of("events", "note"), *self.draw.some(grouped[:2], 1)}))
        elif self.wants("group"):
            yield tuple(sorted({self.draw.pick(grouped), *self.draw.some(grouped[:4], 1)}))
        else:
            yield ()

    def grouped(self) -> list[Field]:
        """The columns that a plan may group by."""
        return [field_of("events", name) for name in GROUPED]

    def told_apart(self, kind: Kind) -> list[Field]:
        """The columns whose different or most frequent values a plan may ask for."""
        return [*self.declared(()), *([field_of("events", "note")] if kind == "count_distinct" else [])]

    def counted(self) -> list[Field]:
        """The columns beside numbers whose present values a plan may count."""
        return [field_of("events", name) for name in ("g", "s", "flag", "day", "note")]

    def options(self) -> Options:
        unit = self.tables.schemas[0].unit
        makers: dict[str, Callable[[], Any]] = {
            "epsilon": lambda: self.draw.pick([Fraction(1), Fraction("0.25")]),
            "delta": lambda: Fraction("1e-4"),
            "max_rows": lambda: 1 + self.draw.below(unit.max_rows - 1),
            "max_groups": lambda: 1 + self.draw.below(unit.max_groups - 1),
        }
        fixed = ("max_rows", "max_groups") if isinstance(unit, Row) else ()
        return filled(
            Options,
            **{
                name: maker() if name not in fixed and self.wants(name) else None
                for name, maker in makers.items()
            },
        )

    def aggregate(self, kind: Kind, joins: tuple[Join, ...]) -> Aggregate:
        counts = kind in ("count", "count_units", *OF_COLUMNS, *PAIRS)
        number = other = column = None
        computed = self.forced in ("steps", "choice", "quotient")
        if kind == "count_distinct" and (computed or self.draw.once_in(2)):
            number = self.polynomial(joins, 2)
        elif kind in OF_COLUMNS:
            column = self.draw.pick(self.told_apart(kind))
        elif kind == "count" and not computed and self.counted() and self.draw.once_in(4):
            column = self.draw.pick(self.counted())
        elif kind != "count_units" and (kind != "count" or computed or self.draw.once_in(2)):
            number = self.polynomial(joins, 2)
        if kind in PAIRS:
            other = self.polynomial(joins, 1)
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
        return filled(
            Aggregate,
            kind=kind,
            number=number,
            row_bounds=bounds["row"],
            group_bounds=bounds["group"],
            points=points,
            column=column,
            other=other,
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
        for name in ("steps", "choice", "quotient"):
            if degree and (self.forced == name or self.draw.once_in(12)):
                found = getattr(self, name)(joins)
                number = found if self.draw.once_in(2) else add(number, found)
        return filled(Polynomial, terms=number.terms)

    def steps(self, joins: tuple[Join, ...], codes: int = 0) -> Polynomial:
        """A function of one column, with missing values at either end of it."""
        del joins
        field = self.draw.pick(self.grouped())
        low, high = self.tables.span(field)
        lasts = sorted({self.draw.below(high - low + 1) + low for _ in range(4)} | {high})
        values = [None, *range(codes)] if codes else [None, -2, 0, 1, 3, 7]
        pieces = tuple((last, self.draw.pick(values)) for last in lasts[:-1])
        pieces = (*pieces, (high, self.draw.pick(values[1:])))
        missing = self.draw.pick(values) if self.tables.nullable(field) else None
        return variable(filled(StepFunction, field=field, pieces=pieces, missing=missing))

    def choice(self, joins: tuple[Join, ...]) -> Polynomial:
        cases = [
            (self.condition(joins, 1, 0), self.polynomial(joins, 0)) for _ in range(1 + self.draw.below(2))
        ]
        otherwise = self.draw.pick([None, constant(0), self.polynomial(joins, 0)])
        found = choose(cases, otherwise, self.tables) or constant(1)
        for atom in found.atoms:
            if isinstance(atom, Choice):
                filled(Choice, cases=atom.cases, otherwise=atom.otherwise, span=atom.span)
        return found

    def quotient(self, joins: tuple[Join, ...]) -> Polynomial:
        below = self.draw.pick([constant(3), constant(Fraction(7, 2)), self.polynomial(joins, 0)])
        found = floor_quotient(self.polynomial(joins, 0), below, self.tables) or constant(1)
        for atom in found.atoms:
            if isinstance(atom, Quotient):
                filled(Quotient, numerator=atom.numerator, denominator=atom.denominator, span=atom.span)
        return found

    def key(self, joins: tuple[Join, ...]) -> ComputedKey:
        kind = self.draw.pick(get_args(get_type_hints(ComputedKey)["kind"]))
        labels: tuple[str | int, ...] = ()
        if kind == "number":
            number = getattr(self, self.draw.pick(["steps", "choice", "quotient"]))(joins)
        elif kind == "label":
            labels, number = ("low", "it's", "high"), self.steps(joins, codes=3)
        else:
            number = self.steps(joins, codes=2)
        return filled(ComputedKey, number=number, kind=kind, codes=(0, 1), labels=labels)

    def numbers(self, joins: tuple[Join, ...]) -> list[Field]:
        """The columns that a plan may compute with."""
        fields = [field_of("events", name) for name in NUMBERS]
        fields += [field_of("zones", "weight")] * any(join.table == "zones" for join in joins)
        fields += [field_of("orders", "price")] * any(join.table == "orders" for join in joins)
        fields += [field_of(AGAIN, name) for join in joins if join.table == "events" for name in ("x", "y")]
        return fields

    def condition(self, joins: tuple[Join, ...], depth: int, degree: int = 2) -> Condition:
        kind = self.draw.pick(get_args(Condition) if depth else (Within, Compare))
        if kind is TextLike and self.texts():
            return self.like()
        if kind is UnitIn and degree and self.looks_up():
            return self.unit_in()
        if kind in (Within, TextLike, UnitIn):
            return self.within(joins)
        if kind is Compare:
            number = self.polynomial(joins, degree)
            return filled(Compare, number=number, sign=self.draw.pick(get_args(Sign)))
        if kind is And or kind is Or:
            count = self.draw.pick([0, 2, 2, 2, 3]) if depth == 2 else 2
            return filled(kind, parts=tuple(self.condition(joins, depth - 1, degree) for _ in range(count)))
        raise AssertionError(f"no maker of {kind}")

    def declared(self, joins: tuple[Join, ...]) -> list[Field]:
        """The columns whose values may be listed; of a public table also whether there was a partner."""
        names = [column.name for column in self.tables.schemas[0].columns if is_declared(column)]
        outer = [field_of("zones", name) for join in joins if join.outer for name in ("g", "weight")]
        return [*(field_of("events", name) for name in names), *outer]

    def texts(self) -> list[Field]:
        """The columns of free text."""
        return [field_of("events", one.name) for one in self.tables.schemas[0].columns if type(one) is Text]

    def looks_up(self) -> bool:
        """Whether units are looked up in other rows of theirs."""
        return isinstance(self.tables.schemas[0].unit, User)

    def unit_in(self) -> UnitIn:
        table = self.draw.pick(["events", "orders"])
        where = self.condition((), self.draw.pick([0, 1, 1]), 0)
        if table == "orders":
            where = Within(Field("orders", "price"), ((2, 5),), self.draw.once_in(2))
        unit, other = field_of("events", "who"), field_of(table, "who")
        number = variable(Field("orders", "price") if table == "orders" else self.number())
        kinds = self.draw.some(get_args(UnitKind), self.draw.pick((1, 3)))
        listed = [filled(UnitValue, kind=kind, number=number) for kind in kinds]
        values = tuple(sorted(listed, key=repr))
        having: Condition = TRUE
        if values:
            read = UnitIn(unit, other, where, False, values)
            having = self.of_units(read, list_units(read, self.tables)[1])
        negated = self.draw.once_in(2)
        return filled(
            UnitIn, unit=unit, other=other, where=where, negated=negated, values=values, having=having
        )

    def of_units(self, listed: UnitIn, tables: PlanTables) -> Condition:
        """What is said of one row of each unit, of which every value is read."""
        base = tables.schema(listed.other.table)
        fields = [Field(RELATION, name_value(value, base)) for value in listed.values]
        if len(fields) > 1 and self.draw.once_in(2):
            number = constant(Fraction(-2))
            for field in fields:
                number = add(number, variable(field))
            return filled(Compare, number=number, sign=self.draw.pick(get_args(Sign)))
        parts = []
        for field in fields:
            low, high = tables.span(field)
            parts.append(filled(Within, field=field, spans=((low, (low + high) // 2),), missing=False))
        return parts[0] if len(parts) == 1 else filled(self.draw.pick((And, Or)), parts=tuple(parts))

    def like(self) -> TextLike:
        listed = self.draw.pick([("p",), ("%p%", "q"), ("_",), ("only _", "p%", "q"), ("!%%",)])
        folded, negated = self.draw.once_in(2), self.draw.once_in(2)
        field = self.draw.pick(self.texts())
        return filled(TextLike, field=field, patterns=listed, folded=folded, negated=negated)

    def within(self, joins: tuple[Join, ...]) -> Within:
        field = self.draw.pick([*self.declared(joins), *self.texts()])
        low, high = self.tables.span(field)
        first = low + self.draw.below(high - low + 1)
        last = min(high, first + self.draw.below(3))
        spans = ((first, last), (last + 2, high)) if last + 2 <= high else ((first, last),)
        missing = self.draw.once_in(2)
        return filled(
            Within, field=field, spans=() if missing and self.draw.once_in(3) else spans, missing=missing
        )


@dataclasses.dataclass(frozen=True)
class UnitMaker(Maker):
    """Makes what is asked of one row for each unit."""

    def wants(self, clause: str) -> bool:
        return clause not in ("units", "public join", "private join", "left join") and Maker.wants(
            self, clause
        )

    def texts(self) -> list[Field]:
        return []

    def looks_up(self) -> bool:
        return False

    def numbers(self, joins: tuple[Join, ...]) -> list[Field]:
        columns = self.tables.schema(RELATION).columns
        numbers = (Integer, Decimal, Date)
        return [field_of(RELATION, column.name) for column in columns if isinstance(column, numbers)]

    def grouped(self) -> list[Field]:
        fields = self.declared(())
        return [field for field in fields if (self.tables.column(field).size or MOST) < MOST] or fields

    def declared(self, joins: tuple[Join, ...]) -> list[Field]:
        columns = self.tables.schema(RELATION).columns
        return [field_of(RELATION, column.name) for column in columns if is_declared(column)]

    def told_apart(self, kind: Kind) -> list[Field]:
        return self.declared(())

    def counted(self) -> list[Field]:
        return []
