"""The relation of units: each user's bounded rows become one row, whose values are whole numbers of steps.

Every row's number is clamped before it is added up or compared, so a value lies in the span that
`plan.derived` states of it, whatever the rows hold; and there is nothing in it that could fail.
"""

from __future__ import annotations

import math

from sqlglot import exp

from discreet.core.errors import InternalError
from discreet.data.engines.rendering.render_expressions import alias, cast, column, number, whole
from discreet.data.engines.rendering.render_ranges import (
    find_selected,
    hold,
    is_inside,
    list_sources,
    read_range,
)
from discreet.data.plan.derived import UNITS, averaging, name_value
from discreet.data.plan.facts import Facts
from discreet.data.plan.nodes import Units
from discreet.data.plan.numbers import scale
from discreet.data.plan.row_nodes import Field, Span, UnitValue
from discreet.data.plan.tables import PlanTables


def list_unit_columns(units: Units, tables: PlanTables) -> list[exp.Expr]:
    """Return what is selected of each user: the user, the keys, then the values."""
    base = tables.schema(units.table)
    unit = Field(base.name, str(base.unit.column))
    values = [alias(_value(value, tables), name_value(value, base)) for value in units.values]
    named = [alias(column(one), one.name) for one in (unit, *units.keys)]
    return [*named, *values]


def _value(value: UnitValue, tables: PlanTables) -> exp.Expr:
    if value.kind == "count":
        counted = exp.Star() if value.number is None else number(value.number, tables)
        return exp.Count(this=counted)
    if value.number is None:
        raise InternalError(f"{value.kind} needs a number")
    span = scale(value.number, tables).span
    steps = hold(number(value.number, tables), span)
    if value.kind == "distinct":
        return exp.Count(this=exp.Distinct(expressions=[steps]))
    if value.kind == "sum":
        return cast(exp.Sum(this=steps), "bigint")
    if value.kind == "min":
        return exp.Min(this=steps)
    if value.kind == "max":
        return exp.Max(this=steps)
    return _average(steps, span[0], averaging(span))


def _average(steps: exp.Expr, low: int, finer: int) -> exp.Expr:
    """Return the average in finer steps, rounded to the nearest: a whole division of numbers from 0 on."""
    above = exp.Sub(this=steps, expression=whole(low))
    total = cast(exp.Sum(this=above), "bigint")
    count = exp.Count(this=steps.copy())
    # A user without a value has no total, so nothing is divided by 0; but no engine is to be relied on.
    twice = exp.Mul(this=whole(2), expression=exp.Nullif(this=count, expression=whole(0)))
    scaled = exp.Mul(this=whole(2 * finer), expression=total)
    dividend = exp.Paren(this=exp.Add(this=scaled, expression=count.copy()))
    quotient = cast(exp.IntDiv(this=dividend, expression=exp.Paren(this=twice)), "bigint")
    return exp.Add(this=quotient, expression=whole(low * finer))


def require_one_row(rows: exp.Select, units: exp.Query | None, known: Facts) -> exp.Select:
    """Return the query for one row of each user; raise unless that is all that is read, and it is one row.

    Raises
    ------
    InternalError
        Where a user could have several rows, or a value could leave the span that was declared of it.
    """
    defined = known.plan.units
    if defined is None or not isinstance(units, exp.Select):
        raise InternalError("there is no query for one row of each user")
    if [one.name for one in list_sources(rows)] != [UNITS]:
        raise InternalError("something else is read beside one row of each user")
    base = known.tables.schema(defined.table)
    user = column(Field(base.name, str(base.unit.column)))
    grouped = units.args.get("group")
    keys = [column(key) for key in defined.keys]
    if grouped is None or grouped != exp.Group(expressions=[user, *keys]):
        raise InternalError("one row is not that of one user")
    if find_selected(units, str(base.unit.column)) != user:
        raise InternalError("a row is not named after its user")
    if any(find_selected(units, key.name) != key for key in keys):
        raise InternalError("a row is not named after its keys")
    most = math.prod(count for _, count in known.kept)
    for value in defined.values:
        name = name_value(value, base)
        if not is_inside(
            _read_value(find_selected(units, name), most), known.tables.span(Field(UNITS, name))
        ):
            raise InternalError(f"the {value.kind} of one user is not held to what is declared of it")
    return units


def _count_values(counted: exp.Expr) -> int | None:
    """Return how many different values can be counted; None where rows are, or nothing bounds them."""
    if not isinstance(counted, exp.Distinct) or len(counted.expressions) != 1:
        return None
    ends = read_range(counted.expressions[0])
    return None if ends is None else ends[1] - ends[0] + 1


def _read_value(value: exp.Expr, rows: int) -> Span | None:
    """Return between what a user's value lies, where so many rows count; None where nothing bounds it."""
    if isinstance(value, exp.Count):
        return (1 if isinstance(value.this, exp.Star) else 0), min(rows, _count_values(value.this) or rows)
    if isinstance(value, exp.Cast):
        return _read_value(value.this, rows)
    if isinstance(value, exp.Min | exp.Max):
        return read_range(value.this)
    if isinstance(value, exp.Sum):
        ends = read_range(value.this)
        return None if ends is None else (min(ends[0], rows * ends[0]), max(ends[1], rows * ends[1]))
    counted = value.find(exp.Count)
    ends = None if counted is None else read_range(counted.this)
    if counted is None or ends is None or value != _average(counted.this.copy(), ends[0], averaging(ends)):
        return None
    return ends[0] * averaging(ends), ends[1] * averaging(ends)
