"""Tables that a plan makes of declared ones: public tables of a left join, and one row for each unit.

They are declared like any table, so that spans, grids and what may be missing are found in one place, whoever
asks. What is derived follows from the plan and the schemas alone.
"""

from __future__ import annotations

import copy
import hashlib
import math
from collections.abc import Iterator
from dataclasses import fields as parts_of
from dataclasses import is_dataclass, replace
from fractions import Fraction
from typing import TypeVar

from discreet.core.errors import InternalError, Refused
from discreet.data.plan.measures import find_own_day
from discreet.data.plan.nodes import Join, Plan, Units
from discreet.data.plan.numbers import MAX_UNITS, scale, variable
from discreet.data.plan.row_nodes import Field, Span, UnitIn, UnitValue
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import MAX_CODE, Column, Date, Decimal, Integer
from discreet.data.schema.schema import Dimension, Schema, User

UNITS = "discreet_units"
"""The relation with one row for each unit. No owner can declare the name."""
AVERAGED = 10_000_000
"""Values of a unit's average are at most so many: its grid is as fine as that allows."""
_FINER = (100, 10, 1)
_NAMED = 40

T = TypeVar("T", bound=Schema | Dimension)


def relate(plan: Plan, tables: PlanTables) -> PlanTables:
    """Return the tables with everything that a plan derives from them."""
    units = plan.units
    joins = plan.joins if units is None else units.joins
    tables = tables.extend(*derive_joined(joins, tables))
    if units is None:
        return tables
    return tables.extend(declare_units(units, tables, list_kept_rows(plan, tables)))


def list_kept_rows(plan: Plan, tables: PlanTables) -> tuple[tuple[str, int], ...]:
    """Return the private tables whose unit is a user, each with the rows of one user that count."""
    source = plan if plan.units is None else plan.units
    return list_rows(source.table, source.joins, plan.options.max_rows, tables)


def list_rows(
    table: str, joins: tuple[Join, ...], asked: int | None, tables: PlanTables
) -> tuple[tuple[str, int], ...]:
    """Return the rows of one user that count of a table, which a request may tighten, and of joined ones."""
    kept = []
    for name in (table, *(join.table for join in joins)):
        relation = tables.relation(name)
        if isinstance(relation, Schema) and isinstance(relation.unit, User):
            kept.append((name, (asked if name == table else None) or relation.unit.max_rows))
    return tuple(kept)


def derive_joined(joins: tuple[Join, ...], tables: PlanTables) -> list[Schema | Dimension]:
    """Return what joins make of declared tables: under another name, or with columns that may be missing."""
    found: list[Schema | Dimension] = []
    for join in joins:
        relation = tables.relation(join.table)
        if relation is not None and (join.outer or join.right.table != join.table):
            found.append(derive(relation, join.right.table, outer=join.outer))
    return found


def derive(relation: Schema | Dimension, name: str, *, outer: bool) -> Schema | Dimension:
    """Return a table as a plan reads it: under a name, of a left join with columns that may be missing."""
    made = make_nullable(relation) if outer else relation
    return made if name == relation.name else _rename(made, name)


def make_nullable(relation: T) -> T:
    """Return a table as a left join sees it: any column may be missing."""
    columns = tuple(
        replace(column, null=None) if hasattr(column, "null") else column  # type: ignore[call-arg]
        for column in relation.columns
    )
    return replace(relation, columns=columns)


def declare_units(units: Units, tables: PlanTables, kept: tuple[tuple[str, int], ...]) -> Schema:
    """Declare the relation with one row for each unit, or unit and key, that has a row: these, then values.

    Every value has the span that follows from the spans of the rows and from how many of them count.
    """
    base = tables.schema(units.table)
    if not isinstance(base.unit, User):
        raise InternalError("one row for each unit is made of tables of users")
    rows = math.prod(most for _, most in kept)
    columns = [_declare(name_value(value, base), value, tables, rows) for value in units.values]
    keys = [base.column(key.name) for key in units.keys]
    most = (rows, base.unit.max_groups) if keys else (1, 1)
    made = replace(
        base,
        columns=(base.column(base.unit.column), *keys, *columns),
        unit=replace(base.unit, max_rows=most[0], max_groups=most[1]),
        dimensions=(),
        time=None,  # a unit's rows may be of many days: what is made of them has none
    )
    return _rename(made, UNITS)


def list_units(condition: UnitIn, tables: PlanTables) -> tuple[Units, PlanTables]:
    """Return the relation of the units that a list chooses among, and the tables with it.

    It is made of all rows of each that are kept, whatever a request asks to count of its own rows.
    """
    units = Units(condition.other.table, (), condition.where, condition.values)
    kept = list_rows(units.table, (), None, tables)
    return units, tables.extend(declare_units(units, tables, kept))


def name_value(value: UnitValue, base: Schema) -> str:
    """Return the name of a unit's value: what it is, and a hash of it where that could be something else.

    It does not depend on what other values there are.
    """
    fields = () if value.number is None else value.number.fields
    name = value.kind if not fields else f"{value.kind}_{fields[0].name}"[:_NAMED]
    own = Field(base.name, fields[0].name) if fields else None
    plain = value.number is None or (own is not None and value.number == variable(own))
    taken = {one.name.lower() for one in base.columns}  # the unit, and what may be a key
    if plain and len(name) < _NAMED and name.lower() not in taken:
        return name
    return f"{name}_{hashlib.sha256(repr(value).encode()).hexdigest()[:8]}"


def drop_unread(plan: Plan, tables: PlanTables) -> Plan:
    """Return a plan without the values of a unit that nothing in it reads."""
    units = plan.units
    if units is None:
        return plan
    read = {field.name for field in _list_fields(replace(plan, units=None)) if field.table == UNITS}
    base = tables.schema(units.table)
    values = tuple(value for value in units.values if name_value(value, base) in read)
    return replace(plan, units=replace(units, values=values))


def _list_fields(node: object) -> Iterator[Field]:
    """Yield every column in a tree of nodes."""
    if isinstance(node, Field):
        yield node
    elif isinstance(node, tuple):
        for one in node:
            yield from _list_fields(one)
    elif is_dataclass(node):
        for part in parts_of(node):
            yield from _list_fields(getattr(node, part.name))


def span_of_value(value: UnitValue, tables: PlanTables, rows: int) -> tuple[Fraction, Span]:
    """Return what one step of a unit's value is worth, and between which steps it lies.

    Raises
    ------
    Refused
        When it could leave what every engine holds exactly.
    """
    if value.number is None:
        return Fraction(1), (1, rows)
    exact = scale(value.number, tables)
    low, high = exact.span
    if value.kind == "count":
        return Fraction(1), (0, rows)
    if value.kind == "distinct":
        return Fraction(1), (0, min(rows, high - low + 1))
    if value.kind == "sum":
        low, high = min(low, rows * low), max(high, rows * high)
    unit = exact.unit
    if value.kind == "average":
        finer = averaging(exact.span)
        low, high, unit = low * finer, high * finer, unit / finer
    most = max(abs(low), abs(high))
    if most > MAX_CODE or (value.kind == "average" and _largest_dividend(exact.span, rows) > MAX_UNITS):
        raise Refused(
            what=f"{value.kind} of a unit",
            why="the declared bounds allow values beyond what every engine holds exactly",
            way_out="Ask for fewer rows of a unit by max_rows_contributed, or the owner for a coarser grid",
        )
    return unit, (low, high)


def averaging(span: Span) -> int:
    """Return how much finer than the rows' steps the steps of a unit's average are."""
    width = span[1] - span[0] + 1
    return next(finer for finer in _FINER if finer == 1 or width * finer <= AVERAGED)


def _largest_dividend(span: Span, rows: int) -> int:
    """Return the largest number that is divided for an average: see `engines.rendering.render_units`."""
    return 2 * averaging(span) * rows * (span[1] - span[0]) + rows


def may_be_missing(value: UnitValue, tables: PlanTables) -> bool:
    """Say whether a unit that has rows may have no such value: every row's own is missing then."""
    return (
        value.kind not in ("count", "distinct") and value.number is not None and tables.nullable(value.number)
    )


def _declare(name: str, value: UnitValue, tables: PlanTables, rows: int) -> Column:
    unit, (low, high) = span_of_value(value, tables, rows)
    if low == high:
        low -= 1  # a column has two values at least; a wider span is a bound all the same
    missing = may_be_missing(value, tables)
    day = date_of(value, tables)
    if day is not None:
        return replace(day, name=name, null=None if missing else day.lower)
    kind = Integer if unit.denominator == 1 else Decimal
    return kind(name, lower=low * unit, upper=high * unit, grid=unit, null=None if missing else low * unit)


def date_of(value: UnitValue, tables: PlanTables) -> Date | None:
    """Return the date column whose first or last day a value is, of all rows or some; None for any other."""
    if value.kind not in ("min", "max") or value.number is None:
        return None
    field = find_own_day(value.number, tables)
    column = None if field is None else tables.column(field)
    return column if isinstance(column, Date) else None


def _rename(relation: T, name: str) -> T:
    """Return a relation under a reserved name, which its constructor would refuse from an owner."""
    made = copy.copy(relation)
    object.__setattr__(made, "name", name)
    return made
