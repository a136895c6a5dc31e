"""IN (SELECT ...) and EXISTS (SELECT ...): whether there is a row for a key, and it fits.

The key of a public table is unique, so such a question is a condition on one row: the table is joined to the
left, and the condition asks for a partner. A row that has none, or whose partner does not fit for any reason,
a missing value among them, is not in the list. In a private table of the same unit the unit itself is looked
up: whether a person is in the list depends on that person's rows alone.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from sqlglot import exp

from discreet.core.errors import Refused
from discreet.data.plan.atoms import complement
from discreet.data.plan.canonical import conjunction, within
from discreet.data.plan.derived import UNITS, name_value
from discreet.data.plan.row_nodes import FALSE, TRUE, Condition, Field, UnitIn, fields_of, holds_unit
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.sources.joins import check_private_join
from discreet.data.sql.text import refuse

_ON_PUBLIC = "Name a public table's key, as in IN (SELECT key FROM public_table WHERE ...)"


class Matched(exp.Expression):
    """A row has a partner in a public table: its `key` is there, `this` holds of it.

    Where `left` is set, nothing is said of a row whose own key is missing.
    """

    arg_types: ClassVar[dict[str, bool]] = {"this": False, "key": True, "left": False}


class UnitMatched(exp.Expression):
    """The unit of a row (`left`) has a row in a private table (by its `key`) of which `this` holds.

    Where `units` is set, that is one row of each unit. What is `unread` was selected for nothing.
    """

    arg_types: ClassVar[dict[str, bool]] = {
        "this": False,
        "key": True,
        "left": True,
        "table": True,
        "units": False,
        "unread": False,
    }


def is_match(node: exp.Expression) -> bool:
    """Say whether a node asks for a partner in another query."""
    return isinstance(node, exp.Exists) or (isinstance(node, exp.In) and node.args.get("query") is not None)


def read_match(node: exp.Expression) -> tuple[exp.Expression, exp.Expression | None, exp.Expression | None]:
    """Return the inner query, what it selects of its table, and what is looked for."""
    if isinstance(node, exp.Exists):
        return take(node, "this")[0], None, None
    this, query = take(node, "this", "query")
    tree = take(query, "this")[0] if isinstance(query, exp.Subquery) else query
    listed = tree.args.get("expressions") if isinstance(tree, exp.Select) else None
    if not listed or len(listed) != 1:
        raise refuse("IN (SELECT ...)", "it selects one column", _ON_PUBLIC)
    return tree, listed[0], this


def part_tests(
    tests: list[exp.Expression], own: str
) -> tuple[list[tuple[exp.Column, exp.Column]], list[exp.Expression]]:
    """Part the equalities of a column of the inner table (`own`) with one of the outer from other tests."""
    rest, found, others = list(reversed(tests)), [], []
    while rest:
        test = rest.pop()
        if isinstance(test, exp.Paren):
            rest.append(take(test, "this")[0])
        elif isinstance(test, exp.And):
            rest.extend(reversed(take(test, "this", "expression")))
        elif isinstance(test, exp.EQ) and (pair := _pair(test, own)) is not None:
            found.append(pair)
        else:
            others.append(test)
    return found, others


def _pair(test: exp.EQ, own: str) -> tuple[exp.Column, exp.Column] | None:
    left, right = take(test, "this", "expression")
    if not isinstance(left, exp.Column) or not isinstance(right, exp.Column):
        return None
    if (left.table == own) == (right.table == own):
        return None
    return (right, left) if left.table == own else (left, right)


def refuse_match(why: str, way_out: str = _ON_PUBLIC) -> Refused:
    """Return the refusal of an inner query that is no list of keys of a public table."""
    return refuse("a subquery in a condition", why, way_out)


def translate_unit(
    node: exp.Expression,
    scope: Scope,
    translate: Callable[[exp.Expression, Scope], Condition],
    understand: Callable[[exp.Expression, Scope], None],
    negated: bool,
) -> Condition:
    """Translate `UnitMatched`: its condition is read in the other table alone, or of one row of each unit."""
    test, key, left, named, units, unread = take(node, "this", "key", "left", "table", "units", "unread")
    tables, unit = scope.tables, scope.field(left)
    if units is None:
        table = tables.schema(str(take(named, "this", "alias")[0].name))
        inside = Scope(tables, {named.alias.lower(): table}, {}, work=scope.work, today=scope.today)
    else:
        table, tables = tables.schema(units.units.table), units.tables
        inside = Scope(tables, {UNITS: tables.schema(UNITS)}, {}, today=scope.today)
    other = Field(table.name, inside.field(key).name)
    check_private_join(scope.main, table, unit, other)
    held = TRUE if test is None else translate(test, inside)
    for one in unread or []:
        understand(one, inside)
    if holds_unit(held) or (units is not None and holds_unit(units.units.where)):
        raise refuse_match(
            "it holds another one", "Ask for one list of units at a time, and join them by AND"
        )
    if held == FALSE or (units is not None and units.units.where == FALSE):
        return TRUE if negated else FALSE
    if units is None:
        return UnitIn(unit, other, held, negated)
    read = fields_of(held)
    values = [one for one in units.units.values if Field(UNITS, name_value(one, table)) in read]
    return UnitIn(unit, other, units.units.where, negated, tuple(values), held)


def translate_match(node: exp.Expression, tests: list[Condition], scope: Scope, negated: bool) -> Condition:
    """Translate `Matched`, whose own condition is translated already."""
    key, left = (node.args.get(name) for name in ("key", "left"))
    field = scope.field(key)  # type: ignore[arg-type]
    tables = scope.tables
    held = conjunction([within(field, [tables.span(field)], missing=False, tables=tables), *tests], tables)
    if not negated:
        return held
    parts = [complement(held, tables)]
    if left is not None:
        own = scope.field(left)
        parts.append(within(own, [tables.span(own)], missing=False, tables=tables))
    return conjunction(parts, tables)
