"""CASE WHEN condition THEN column END, and IF, where only that the column is there matters."""

from __future__ import annotations

from sqlglot import exp

from discreet.data.plan.row_nodes import Condition, Field
from discreet.data.schema.columns import Boolean, Decimal, Integer
from discreet.data.schema.schema import User
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.function_calls import is_now
from discreet.data.sql.rows.language import condition
from discreet.data.sql.text import refuse


def find_unit(scope: Scope) -> Field | None:
    """Return the column that says whose row it is; None where the unit is a row."""
    unit = scope.main.unit
    return Field(scope.main.name, unit.column) if isinstance(unit, User) else None


def is_choice(node: exp.Expression) -> bool:
    """Say whether a node is CASE or IF."""
    is_if = isinstance(node, exp.Anonymous) and str(node.args.get("this")).upper() in ("IF", "IIF")
    return is_if or isinstance(node, exp.Case)


def chooses_no_number(node: exp.Expression, scope: Scope) -> bool:
    """Say whether a node is CASE WHEN condition THEN column END, or IF, of a column that is no number."""
    if not is_choice(node):
        return False
    if isinstance(node, exp.Case):
        ifs, rest = node.args.get("ifs") or [], [node.args.get("default")]
        values = [one.args.get("true") for one in ifs] if node.args.get("this") is None else []
    else:
        _, *values = node.args.get("expressions") or [None]
        values, rest = values[:1], values[1:]
    if len(values) != 1 or not all(one is None or isinstance(one, exp.Null) for one in rest):
        return False
    (value,) = values
    if not isinstance(value, exp.Column) or is_now(value, scope):
        return False
    return not isinstance(scope.column(scope.field(value)), Boolean | Decimal | Integer)


def read_choice(node: exp.Expression, scope: Scope) -> tuple[Condition, list[exp.Expression]]:
    """Read CASE WHEN condition THEN unit END, or IF(condition, unit, NULL)."""
    if isinstance(node, exp.Anonymous):
        _, listed = take(node, "this", "expressions")
        if len(listed or []) not in (2, 3) or not all(isinstance(one, exp.Null) for one in listed[2:]):
            way_out = "Write COUNT(DISTINCT IF(x > 0, unit, NULL))"
            raise refuse("COUNT(DISTINCT IF(...))", "it is the unit or NULL", way_out)
        return condition(listed[0], scope), [listed[1]]
    this, ifs, default = take(node, "this", "ifs", "default")
    if this is not None or len(ifs) != 1 or not (default is None or isinstance(default, exp.Null)):
        way_out = "Write COUNT(DISTINCT CASE WHEN x > 0 THEN unit END)"
        raise refuse("COUNT(DISTINCT CASE ...)", "it has one condition", way_out)
    when, then = take(ifs[0], "this", "true")
    return condition(when, scope), [then]
