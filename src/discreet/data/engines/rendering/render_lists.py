"""Which rows count: the conditions of WHERE, among them whether a row's unit is in a list of units.

A list reads the loaded rows of a table, of which each unit has no more than the owner keeps, and nothing that
it says of one unit depends on the rows of another.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.data.engines.rendering.render_expressions import column, name_relation, select, table, where
from discreet.data.engines.rendering.render_units import list_unit_columns
from discreet.data.plan.derived import UNITS, list_units
from discreet.data.plan.row_nodes import TRUE, And, Condition, Field, Or, UnitIn, holds_unit
from discreet.data.plan.tables import PlanTables


def choose_rows(condition: Condition, tables: PlanTables) -> list[exp.Expr]:
    """Return the tests of WHERE; none where every row counts."""
    return [] if condition == TRUE else [_test(condition, tables)]


def _test(condition: Condition, tables: PlanTables) -> exp.Expr:
    if isinstance(condition, UnitIn):
        return _look_up(condition, tables)
    if not isinstance(condition, And | Or) or not holds_unit(condition):
        return where(condition, tables)
    joined = exp.and_ if isinstance(condition, And) else exp.or_
    parts = [_test(part, tables) for part in condition.parts]
    return exp.Paren(this=joined(*parts, copy=False))


def _look_up(condition: UnitIn, tables: PlanTables) -> exp.Expr:
    """Look the unit of a row up among those of a loaded relation, which holds no row without one."""
    other, source = condition.other, table(condition.other.table)
    tests = choose_rows(condition.where, tables)
    if not condition.values:
        units = select([column(other)], source, tests=tests)
    else:
        listed, related = list_units(condition, tables)
        inner = select(list_unit_columns(listed, related), source, tests=tests, groups=[column(other)])
        tests = choose_rows(condition.having, related)
        units = select([column(Field(UNITS, other.name))], name_relation(inner, UNITS), tests=tests)
    found = exp.In(this=column(condition.unit), query=exp.Subquery(this=units))
    return exp.Not(this=found) if condition.negated else found
