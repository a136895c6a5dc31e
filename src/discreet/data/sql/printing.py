"""A plan as SQL of our own dialect. Parsed again it is the same plan."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction

from discreet.data.plan.canonical import gaps
from discreet.data.plan.derived import name_value, relate
from discreet.data.plan.nodes import (
    TRUE,
    Aggregate,
    And,
    Compare,
    Condition,
    Field,
    Plan,
    Polynomial,
    Span,
    Units,
    Within,
)
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Boolean, Category, Column

_DIGITS = 18
_UNIT_CALLS = {"count": "COUNT", "sum": "SUM", "min": "MIN", "max": "MAX", "average": "AVG"}
_CALLS = {
    "sum": "SUM",
    "average": "AVG",
    "variance_samp": "VAR_SAMP",
    "variance_pop": "VAR_POP",
    "deviation_samp": "STDDEV_SAMP",
    "deviation_pop": "STDDEV_POP",
}


def to_sql(plan: Plan, tables: PlanTables) -> str:
    """Return the plan as one line of SQL."""
    tables = relate(plan, tables)
    unit = Field(plan.table, str(tables.schema(plan.table).unit.column))
    parts = ["SELECT"]
    if options := _options(plan):
        parts.append(f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({options})")
    shown = (f"{_output(output.what, unit)} AS {_quote(output.name)}" for output in plan.outputs)
    parts.append(", ".join(shown))
    if plan.units is None:
        parts += _rows(plan, tables)
    else:
        parts.append(f"FROM ({_units(plan.units, tables)}) AS {_quote(plan.table)}")
        parts += _where(plan.where, tables)
    sets = [", ".join(_name(field) for field in keys) for keys in plan.sets]
    if len(sets) > 1:
        parts.append(f"GROUP BY GROUPING SETS ({', '.join(f'({keys})' for keys in sets)})")
    elif sets[0]:
        parts.append(f"GROUP BY {sets[0]}")
    return " ".join(parts)


def _units(units: Units, tables: PlanTables) -> str:
    """Return the relation of units as SQL."""
    base = tables.schema(units.table)
    unit = _name(Field(base.name, str(base.unit.column)))
    shown = [unit]
    for value in units.values:
        number = "*" if value.number is None else _number(value.number)
        shown.append(f"{_UNIT_CALLS[value.kind]}({number}) AS {_quote(name_value(value, base))}")
    return " ".join(["SELECT", ", ".join(shown), *_rows(units, tables), f"GROUP BY {unit}"])


def _rows(source: Plan | Units, tables: PlanTables) -> list[str]:
    """Return FROM, the joins and WHERE."""
    parts = [f"FROM {_quote(source.table)}"]
    for join in source.joins:
        word = "LEFT JOIN" if join.outer else "JOIN"
        named = "" if join.right.table == join.table else f" AS {_quote(join.right.table)}"
        parts.append(f"{word} {_quote(join.table)}{named} ON {_name(join.left)} = {_name(join.right)}")
    return parts + _where(source.where, tables)


def _where(condition: Condition, tables: PlanTables) -> list[str]:
    return [] if condition == TRUE else [f"WHERE {condition_sql(condition, tables)}"]


def condition_sql(condition: Condition, tables: PlanTables) -> str:
    """Return a condition as SQL, in brackets where that matters."""
    if isinstance(condition, Within):
        return _within(condition, tables)
    if isinstance(condition, Compare):
        return f"{_number(condition.number)} {condition.sign} 0"
    if not condition.parts:
        return "TRUE" if isinstance(condition, And) else "FALSE"
    word = " AND " if isinstance(condition, And) else " OR "
    return "(" + word.join(condition_sql(part, tables) for part in condition.parts) + ")"


def _within(condition: Within, tables: PlanTables) -> str:
    column, name = tables.column(condition.field), _name(condition.field)
    choices = [f"{name} IS NULL"] if condition.missing else []
    if condition.spans == (tables.span(condition.field),):
        choices.append(f"{name} IS NOT NULL")
    elif isinstance(column, Boolean | Category):
        choices += [f"{name} {_list_values(column, condition.spans)}"] if condition.spans else []
    else:
        choices += [_range(name, span, column) for span in condition.spans]
    return choices[0] if len(choices) == 1 else "(" + " OR ".join(choices) + ")"


def _list_values(column: Boolean | Category, spans: tuple[Span, ...]) -> str:
    """List the values that lie in some spans, or the others where they are fewer."""
    inside = sum(b - a + 1 for a, b in spans)
    listed = spans if 2 * inside <= column.size else gaps(spans, (0, column.size - 1))
    values = column.values if isinstance(column, Category) else column.domain()
    shown = ", ".join(_literal(values[i]) for a, b in listed for i in range(a, b + 1))
    return f"{'IN' if listed is spans else 'NOT IN'} ({shown})"


def _range(name: str, span: Span, column: Column) -> str:
    low, high = (column.decode(end) for end in span)
    if isinstance(low, datetime.date) or isinstance(high, datetime.date):
        return f"({name} >= {_literal(low)} AND {name} <= {_literal(high)})"
    step = getattr(column, "grid", Fraction(1))
    lowest = _decimal_between(Fraction(low) - step, Fraction(low))
    highest = -_decimal_between(-Fraction(high) - step, -Fraction(high))
    return f"({name} >= {_decimal(lowest)} AND {name} <= {_decimal(highest)})"


def _output(what: Field | Aggregate, unit: Field) -> str:
    if isinstance(what, Field):
        return _name(what)
    if what.kind == "count_units":
        return f"COUNT(DISTINCT {_name(unit)})"
    arguments = [_number(what.number) if what.number is not None else "*"]
    call = _CALLS.get(what.kind, "COUNT")
    if what.kind == "quantile" and len(what.points) == 1:
        call = "PERCENTILE_CONT"
        arguments.append(_decimal(what.points[0]))
    elif what.kind == "quantile":
        call = "APPROX_QUANTILES"
        arguments.append(str(len(what.points) - 1))
    bounds = (("row", what.row_bounds), ("group", what.group_bounds))
    for word, pair in bounds:
        if pair is not None:
            arguments.append(f"contribution_bounds_per_{word} => ({_decimal(pair[0])}, {_decimal(pair[1])})")
    return f"{call}({', '.join(arguments)})"


def _options(plan: Plan) -> str:
    options = plan.options
    listed = (
        ("epsilon", options.epsilon),
        ("delta", options.delta),
        ("max_rows_contributed", options.max_rows),
        ("max_groups_contributed", options.max_groups),
    )
    return ", ".join(
        f"{name} = {_scientific(Fraction(value))}" for name, value in listed if value is not None
    )


def _number(number: Polynomial) -> str:
    terms = []
    for names, coefficient in number.terms:
        factors = [_name(field) for field in names]
        if coefficient != 1 or not factors:
            factors.insert(0, _decimal(coefficient))
        terms.append(" * ".join(factors))
    return " + ".join(terms)


def _literal(value: object) -> str:
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"DATE '{value}'" if isinstance(value, datetime.date) else str(value)


def _decimal_between(low: Fraction, high: Fraction) -> Fraction:
    """Return `high` if it is a decimal that fits a literal, else a short decimal between the two."""
    if (high * 10**_DIGITS).denominator == 1:
        return high
    digits = 0
    while Fraction(math.floor(high * 10**digits), 10**digits) <= low:
        digits += 1
    return Fraction(math.floor(high * 10**digits), 10**digits)


def _decimal(value: Fraction) -> str:
    """Print an exact decimal."""
    digits = 0
    while (value * 10**digits).denominator != 1:
        digits += 1
    units = str(abs(int(value * 10**digits))).rjust(digits + 1, "0")
    sign = "-" if value < 0 else ""
    return sign + (f"{units[:-digits]}.{units[-digits:]}" if digits else units)


def _scientific(value: Fraction) -> str:
    """Print an exact decimal with an exponent where it has too many places for a literal."""
    shift = 0
    while (value * 10 ** (_DIGITS + shift)).denominator != 1:
        shift += 1
    return _decimal(value * 10**shift) + (f"e-{shift}" if shift else "")


def _name(field: Field) -> str:
    return f"{_quote(field.table)}.{_quote(field.name)}"


def _quote(name: str) -> str:
    return f'"{name}"'
