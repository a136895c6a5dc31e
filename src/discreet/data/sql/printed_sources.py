"""What a plan reads, as SQL of our own dialect: tables, joins, which rows count, one row for each unit."""

from __future__ import annotations

from discreet.data.plan.derived import UNITS, date_of, list_units, name_value
from discreet.data.plan.nodes import Plan, Units
from discreet.data.plan.numbers import variable
from discreet.data.plan.row_nodes import TRUE, And, Condition, Field, Or, UnitIn, UnitValue, holds_unit
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.printed_rows import condition_sql, name_sql, number_sql, quote

_UNIT_CALLS = {
    "count": "COUNT(",
    "sum": "SUM(",
    "min": "MIN(",
    "max": "MAX(",
    "average": "AVG(",
    "distinct": "COUNT(DISTINCT ",
}


def units_sql(units: Units, tables: PlanTables) -> str:
    """Return the relation of units as SQL."""
    base = tables.schema(units.table)
    grouped = [name_sql(one) for one in (Field(base.name, str(base.unit.column)), *units.keys)]
    shown = [*grouped]
    for value in units.values:
        call = f"{_UNIT_CALLS[value.kind]}{_of_unit(value, tables)})"
        shown.append(f"{call} AS {quote(name_value(value, base))}")
    return " ".join(["SELECT", ", ".join(shown), *rows_sql(units, tables), f"GROUP BY {', '.join(grouped)}"])


def _of_unit(value: UnitValue, tables: PlanTables) -> str:
    """Return what a unit's value is computed of: a first or last day is that of dates."""
    if value.number is None:
        return "*"
    if date_of(value, tables) is not None and value.number == variable(value.number.fields[0]):
        return name_sql(value.number.fields[0])
    return number_sql(value.number, tables)


def rows_sql(source: Plan | Units, tables: PlanTables) -> list[str]:
    """Return FROM, the joins and WHERE."""
    parts = [f"FROM {quote(source.table)}"]
    for join in source.joins:
        word = "LEFT JOIN" if join.outer else "JOIN"
        named = "" if join.right.table == join.table else f" AS {quote(join.right.table)}"
        parts.append(f"{word} {quote(join.table)}{named} ON {name_sql(join.left)} = {name_sql(join.right)}")
    return parts + where_sql(source.where, tables)


def where_sql(condition: Condition, tables: PlanTables) -> list[str]:
    """Return WHERE; nothing where every row counts."""
    return [] if condition == TRUE else [f"WHERE {_test(condition, tables)}"]


def _test(condition: Condition, tables: PlanTables) -> str:
    if isinstance(condition, UnitIn):
        return _list_of_units(condition, tables)
    if not isinstance(condition, And | Or) or not holds_unit(condition):
        return condition_sql(condition, tables)
    word = " AND " if isinstance(condition, And) else " OR "
    return "(" + word.join(_test(part, tables) for part in condition.parts) + ")"


def _list_of_units(condition: UnitIn, tables: PlanTables) -> str:
    sign, other = "NOT IN" if condition.negated else "IN", condition.other
    listed = [name_sql(other), f"FROM {quote(other.table)}", *where_sql(condition.where, tables)]
    if condition.values:
        units, related = list_units(condition, tables)
        named = f"FROM ({units_sql(units, related)}) AS {quote(UNITS)}"
        listed = [name_sql(Field(UNITS, other.name)), named, *where_sql(condition.having, related)]
    return f"{name_sql(condition.unit)} {sign} ({' '.join(['SELECT', *listed])})"
