"""FROM and JOIN: which tables a question reads, under which names, and which columns are equal.

One private table stands first. Joins with its public tables are on their unique key, so no row is copied:
an inner join drops the rows without a partner, a left join keeps every row exactly once. Private tables are
joined on the privacy unit: then a left join keeps a row once that no row of its unit is joined with.
"""

from __future__ import annotations

import datetime
from dataclasses import replace

from sqlglot import exp

from discreet.data.plan.canonical import conjunction, within
from discreet.data.plan.derived import derive
from discreet.data.plan.nodes import Join
from discreet.data.plan.row_nodes import TRUE, Condition, Field
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Category, Integer
from discreet.data.schema.schema import Dimension, Schema, User
from discreet.data.sql.nodes import Scope, refuse_unknown, take, word
from discreet.data.sql.text import refuse, shorten

_NAMED = 40
_PARTNERS = ("SEMI", "ANTI")
_HOW = "Write JOIN ... USING (key)"
_NOBODY = "rows that are in the other table alone belong to nobody, or were not bounded together with these"
_SIDES = {
    side: (_NOBODY, "Write JOIN, or LEFT JOIN with the table first whose rows count")
    for side in ("RIGHT", "FULL")
}


def read_from(
    source: exp.Expression | None,
    joined: list[exp.Expression],
    tables: PlanTables,
    today: datetime.date | None,
) -> tuple[Scope, tuple[Join, ...], Condition]:
    """Translate FROM and its joins into the tables of a question, and what joins ask of its rows."""
    if source is None:
        raise refuse("SELECT", "it names no table", f"Write FROM {tables.schemas[0].name}")
    scope = Scope(tables, {}, {}, today=today)
    relation, name = _find_table(take(source, "this")[0], scope, tables)
    scope.names[name] = relation
    _ = scope.main  # refuses a public table in the first place
    joins: list[Join] = []
    tests: list[Condition] = []
    for node in joined:
        scope, test = _read_join(node, scope, joins, tables)
        tests.append(test)
    return scope, tuple(joins), conjunction(tests, scope.tables)


def find_relation(name: str, tables: PlanTables) -> Schema | Dimension:
    """Return the table with a name, or refuse."""
    relation = tables.relation(name)
    if relation is None:
        known = ", ".join(schema.name for schema in tables.schemas)
        raise refuse(f"table {shorten(name)}", "it is not declared", f"Tables: {known}")
    return relation


def _read_join(
    node: exp.Expression, scope: Scope, joins: list[Join], declared: PlanTables
) -> tuple[Scope, Condition]:
    right_node, kind, side, on, using = take(node, "this", "kind", "side", "on", "using")
    kind, side = kind or "", side or ""
    if side not in ("", "LEFT"):
        raise refuse(f"{side} JOIN", *_SIDES.get(side, ("it is not part of the language", _HOW)))
    known = ("", "OUTER") if side else ("", "INNER")
    if kind not in (*known, *_PARTNERS) or (on is None) == (not using):
        why = "only joins on one key are known"
        raise refuse(f"{kind} JOIN".strip(), why, f"{_HOW}, or LEFT JOIN to a public table")
    outer = side == "LEFT" or kind in _PARTNERS
    table, name = _find_table(right_node, scope, declared)
    again = _name_again(table, joins, scope, outer=outer)
    tables = scope.tables if again is table else scope.tables.extend(again)
    scope = replace(scope, tables=tables, names={**scope.names, name: again})
    left, right = _join_key(on, using, again, scope)
    _check_join(scope.main, table, left, right, scope)
    if kind in _PARTNERS and not isinstance(table, Dimension):
        why = "a private table is looked up on its own"
        way_out = f"Write EXISTS, or {left.name} IN (SELECT ...)"
        raise refuse(f"{kind} JOIN {table.name}", why, way_out)
    same = next((one for one in joins if (one.table, one.left, one.outer) == (table.name, left, outer)), None)
    if same is not None and isinstance(table, Dimension):
        # The same row of a public table under two names.
        scope.names[name] = again = scope.tables.relation(same.right.table) or again
        right = same.right
    else:
        joins.append(Join(table.name, left, right, outer))
    if not outer:
        scope.same[right] = left
        return scope, TRUE
    if kind in _PARTNERS:
        del scope.names[name]
        spans = [scope.tables.span(right)] if kind == "SEMI" else []
        return scope, within(right, spans, missing=kind == "ANTI", tables=scope.tables)
    # Where no row of the public table fits its key is missing, and the row's own column is not.
    return replace(scope, hidden=scope.hidden | ({right} if using else frozenset())), TRUE


def _name_again(
    table: Schema | Dimension, joins: list[Join], scope: Scope, *, outer: bool
) -> Schema | Dimension:
    """Return a table as a join reads it: under a name of ours where it is named already."""
    before = sum(join.table == table.name for join in joins) + (table.name == scope.main.name)
    if before > 1 and isinstance(table, Schema):
        # Every pair of a unit's rows meets: more readings would multiply them without end.
        why = "a private table is read twice at most"
        raise refuse(f"table {table.name}", why, "Join it with itself once")
    name = f"discreet_{table.name[:_NAMED]}_{before + 1}" if before else table.name
    return derive(table, name, outer=outer)


def _find_table(node: exp.Expression, scope: Scope, declared: PlanTables) -> tuple[Schema | Dimension, str]:
    """Return the declared table that an item of FROM names, and the name it has here."""
    if not isinstance(node, exp.Table):
        raise refuse_unknown(node, "FROM")
    name_node, alias_node = take(node, "this", "alias")
    if not isinstance(name_node, exp.Identifier):
        raise refuse_unknown(name_node, "FROM")
    relation = find_relation(word(name_node), declared)
    name = word(take(alias_node, "this")[0]) if alias_node is not None else relation.name
    other = declared.relation(name)
    if other is not None and other.name != relation.name:
        raise refuse(f"AS {name}", "it is the name of another table", "Choose another alias")
    if name.lower() in scope.names:
        raise refuse(f"table {name}", "a name stands for one table", "Give it another name by AS")
    return relation, name.lower()


def _join_key(
    on: exp.Expression | None, using: list[exp.Expression], right: Schema | Dimension, scope: Scope
) -> tuple[Field, Field]:
    """Return the column of the tables so far and the column of the new table that must be equal."""
    if on is None:
        if len(using) != 1:
            raise refuse("USING", "joins are on one key", "Write USING (key)")
        key = exp.Column(this=using[0].copy())
        so_far = Scope(scope.tables, dict(list(scope.names.items())[:-1]), scope.same, hidden=scope.hidden)
        alone = Scope(scope.tables, {right.name.lower(): right}, {})
        return so_far.field(key), alone.field(key)
    while isinstance(on, exp.Paren):
        (on,) = take(on, "this")
    if not isinstance(on, exp.EQ):
        why = "joins are on one key; of an inner JOIN what stands beside it by AND is read as in WHERE"
        way_out = (
            "Write ON left.key = right.key, both with their tables; of a LEFT JOIN the rest in an aggregate, "
            "as COUNT(*) FILTER (WHERE right.x = 'a')"
        )
        raise refuse("ON", why, way_out)
    ends = sorted(
        (scope.field(end) for end in take(on, "this", "expression")), key=lambda f: f.table == right.name
    )
    if ends[0].table == right.name or ends[1].table != right.name:
        raise refuse("ON", "it must compare one column of each table", "Write ON left.key = right.key")
    return ends[0], ends[1]


def _check_join(main: Schema, table: Schema | Dimension, left: Field, right: Field, scope: Scope) -> None:
    if isinstance(table, Schema):
        check_private_join(main, table, left, replace(right, table=table.name))
        return
    if table not in main.dimensions:
        raise refuse(f"JOIN {table.name}", f"it is not a public table of {main.name}", "See the schema")
    if right.name != table.key:
        raise refuse(f"JOIN {table.name}", "public tables are joined on their unique key", f"Use {table.key}")
    if _code_type(left, scope) is not _code_type(right, scope):
        raise refuse(
            f"JOIN {table.name}", "the two columns are not of one kind", f"Use a column like {table.key}"
        )


def check_private_join(main: Schema, table: Schema, left: Field, right: Field) -> None:
    """Refuse rows of two private tables that do not meet on the unit that both protect."""
    if (
        not isinstance(main.unit, User)
        or not isinstance(table.unit, User)
        or main.neighbours != table.neighbours
    ):
        why = "private tables are joined where both protect the same unit"
        raise refuse(f"JOIN {table.name}", why, "Ask of one table at a time")
    if left != Field(main.name, main.unit.column) or right != Field(table.name, table.unit.column):
        raise refuse(
            f"JOIN {table.name}", "private tables are joined on the privacy unit", f"Use {main.unit.column}"
        )


def _code_type(field: Field, scope: Scope) -> type | None:
    column = scope.column(field)
    if isinstance(column, Category):
        return type(column.values[0])
    return int if isinstance(column, Integer) and column.grid == 1 else None
