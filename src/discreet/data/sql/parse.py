"""SQL in, a checked `Plan` out.

The translation is total: one function per kind of node, every set argument of a node consumed or refused by
name. The analyst's text ends here; engines are sent what `render` writes from the plan.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from fractions import Fraction

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from discreet.data.plan.canonical import conjunction
from discreet.data.plan.nodes import MIN_EPSILON, TRUE, Condition, Field, Join, Options, Plan, Policy
from discreet.data.plan.tables import PlanTables, is_declared
from discreet.data.schema.columns import Category, Identifier, Integer
from discreet.data.schema.schema import Dimension, Schema, User
from discreet.data.sql.conditions import condition
from discreet.data.sql.nodes import Scope, refuse_unknown, take, word
from discreet.data.sql.outputs import AnswerClauses, key_finder, read_after, read_outputs, require_aggregate
from discreet.data.sql.text import number, parse_text, refuse, shorten

MAX_CELLS = 1_000_000
MAX_SETS = 64
_SHOWN = ("distinct", "having", "order", "limit", "offset")
Sets = list[tuple[Field, ...]]


def parse(text: str, *, schemas: Schema | Iterable[Schema] | PlanTables, policy: Policy) -> Plan:
    """Translate one SELECT into a plan.

    Parameters
    ----------
    text
        The query, with or without a `WITH DIFFERENTIAL_PRIVACY OPTIONS (...)` clause.
    schemas
        The private tables (with their public dimensions) the query may name.
    policy
        What the owner allows one query to cost. The clause can only ask for less.

    Raises
    ------
    Refused
        For anything outside the language or the policy. The reply depends on the request and on public
        metadata only.
    """
    tree, clause = parse_text(text)
    try:
        return _select(tree, clause, PlanTables.of(schemas), policy)
    except RecursionError:
        raise refuse("SQL", "it is nested too deep", "Ask a simpler question") from None


def _select(
    tree: exp.Select, clause: Sequence[tuple[str, Token]], tables: PlanTables, policy: Policy
) -> Plan:
    listed, source, joined, filtered, grouped = take(
        tree, "expressions", "from_", "joins", "where", "group", *_SHOWN
    )[:5]
    scope, joins = _from(source, joined or [], tables)
    options = _options(clause, scope.main, policy)
    where: Condition = TRUE
    if filtered is not None:
        where = conjunction([condition(take(filtered, "this")[0], scope)], tables)
    sets: Sets = [()] if grouped is None else _group(grouped, scope)
    if tree.args.get("distinct") is not None:
        sets = _distinct(tree.args["distinct"], listed, sets, grouped is not None, scope)
    strategy = dict(clause).get("group_selection_strategy")
    _check_sets(
        sets, scope, _allowed_delta(options, policy), None if strategy is None else strategy.text.upper()
    )
    find_key = key_finder({field for keys in sets for field in keys}, scope)
    outputs = read_outputs(listed, find_key, scope)
    after = read_after(AnswerClauses(*(tree.args.get(name) for name in _SHOWN[1:])), outputs, find_key, scope)
    require_aggregate(outputs, after, sets, tables)
    return Plan(
        table=scope.main.name,
        joins=joins,
        where=where,
        sets=tuple(sorted(set(sets))),
        outputs=outputs,
        options=options,
        after=after,
    )


def _distinct(
    node: exp.Expression, listed: list[exp.Expression], sets: Sets, grouped: bool, scope: Scope
) -> Sets:
    """Return the grouping sets of SELECT DISTINCT: without GROUP BY, what is selected are the keys."""
    take(node)
    selected = [item.this if isinstance(item, exp.Alias) else item for item in listed]
    named = [item for item in selected if isinstance(item, exp.Column) and not item.is_star]
    columns = {scope.field(item) for item in named}
    if not grouped:
        return [tuple(sorted(columns))] if len(named) == len(selected) else sets
    if not {field for keys in sets for field in keys} <= columns:
        way_out = "Select every key, or leave DISTINCT out"
        raise refuse("DISTINCT", "rows of different groups could look alike", way_out)
    return sets


def _from(
    source: exp.Expression | None, joined: list[exp.Expression], tables: PlanTables
) -> tuple[Scope, tuple[Join, ...]]:
    if source is None:
        raise refuse("SELECT", "it names no table", f"Write FROM {tables.schemas[0].name}")
    scope = Scope(tables, {}, {})
    _add_table(take(source, "this")[0], scope)
    main, joins = scope.main, []
    for node in joined:
        right_node, kind, on, using = take(node, "this", "kind", "on", "using")
        if kind not in (None, "", "INNER") or (on is None) == (not using):
            raise refuse(
                f"{kind or ''} JOIN".strip(),
                "only inner joins on one key are known",
                "Write JOIN ... USING (key)",
            )
        right_table = _add_table(right_node, scope)
        left, right = _join_key(on, using, right_table, scope)
        _check_join(main, right_table, left, right, scope)
        scope.same[right] = left
        joins.append(Join(right_table.name, left, right))
    return scope, tuple(joins)


def _add_table(node: exp.Expression, scope: Scope) -> Schema | Dimension:
    if not isinstance(node, exp.Table):
        raise refuse_unknown(node, "FROM")
    name_node, alias_node = take(node, "this", "alias")
    if not isinstance(name_node, exp.Identifier):
        raise refuse_unknown(name_node, "FROM")
    relation = scope.tables.relation(word(name_node))
    if relation is None:
        known = ", ".join(schema.name for schema in scope.tables.schemas)
        raise refuse(f"table {shorten(word(name_node))}", "it is not declared", f"Tables: {known}")
    name = word(take(alias_node, "this")[0]) if alias_node is not None else relation.name
    other = scope.tables.relation(name)
    if other is not None and other != relation:
        raise refuse(f"AS {name}", "it is the name of another table", "Choose another alias")
    if name.lower() in scope.names or relation in scope.names.values():
        raise refuse(
            f"table {relation.name}", "a table is named once", "Self joins are not part of the language"
        )
    scope.names[name.lower()] = relation
    return relation


def _join_key(
    on: exp.Expression | None, using: list[exp.Expression], right: Schema | Dimension, scope: Scope
) -> tuple[Field, Field]:
    """Return the column of the tables so far and the column of the new table that must be equal."""
    if on is None:
        if len(using) != 1:
            raise refuse("USING", "joins are on one key", "Write USING (key)")
        key = exp.Column(this=using[0].copy())
        so_far = Scope(scope.tables, dict(list(scope.names.items())[:-1]), scope.same)
        alone = Scope(scope.tables, {right.name.lower(): right}, {})
        return so_far.field(key), alone.field(key)
    while isinstance(on, exp.Paren):
        (on,) = take(on, "this")
    if not isinstance(on, exp.EQ):
        raise refuse("ON", "joins are on one key", "Write ON left.key = right.key")
    ends = sorted(
        (scope.field(end) for end in take(on, "this", "expression")), key=lambda f: f.table == right.name
    )
    if ends[0].table == right.name or ends[1].table != right.name:
        raise refuse("ON", "it must compare one column of each table", "Write ON left.key = right.key")
    return ends[0], ends[1]


def _check_join(main: Schema, table: Schema | Dimension, left: Field, right: Field, scope: Scope) -> None:
    if isinstance(table, Schema):
        _check_private_join(main, table, left, right)
        return
    if table not in main.dimensions:
        raise refuse(f"JOIN {table.name}", f"it is not a public table of {main.name}", "See the schema")
    if right.name != table.key:
        raise refuse(f"JOIN {table.name}", "public tables are joined on their unique key", f"Use {table.key}")
    if _code_type(left, scope) is not _code_type(right, scope):
        raise refuse(
            f"JOIN {table.name}", "the two columns are not of one kind", f"Use a column like {table.key}"
        )


def _check_private_join(main: Schema, table: Schema, left: Field, right: Field) -> None:
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


def _group(node: exp.Expression, scope: Scope) -> Sets:
    if node.args.get("all") is not None:
        raise refuse("GROUP BY ALL or DISTINCT", "it is not part of the language", "Name the keys")
    (items,) = take(node, "expressions")
    sets: Sets = [()]
    for item in items or []:
        sets = _cross(sets, _grouping(item, scope))
    return sets


def _grouping(node: exp.Expression, scope: Scope) -> Sets:
    """Return the grouping sets that one item of GROUP BY stands for."""
    if isinstance(node, exp.Cube):
        parts = [_grouping(part, scope) for part in take(node, "expressions")[0]]
        sets: Sets = [()]
        for part in parts:
            sets = _cross(sets, [(), *part])
        return sets
    if isinstance(node, exp.Rollup):
        prefix: Sets = [()]
        sets = [()]
        for part in take(node, "expressions")[0]:
            prefix = _cross(prefix, _grouping(part, scope))
            sets = _limit(sets + prefix)
        return sets
    if isinstance(node, exp.GroupingSets):
        return _limit([keys for part in take(node, "expressions")[0] for keys in _grouping(part, scope)])
    if isinstance(node, exp.Paren):
        return _grouping(take(node, "this")[0], scope)
    if isinstance(node, exp.Tuple):
        return [tuple(sorted({scope.field(part) for part in take(node, "expressions")[0] or []}))]
    if isinstance(node, exp.Literal):
        raise refuse("GROUP BY 1", "keys are named, not numbered", "Write the column's name")
    return [(scope.field(node),)]


def _cross(left: Sets, right: Sets) -> Sets:
    _limit([()] * (len(left) * len(right)))
    return [tuple(sorted({*a, *b})) for a, b in itertools.product(left, right)]


def _limit(sets: Sets) -> Sets:
    if len(sets) > MAX_SETS:
        raise refuse("GROUP BY", f"it has more than {MAX_SETS} grouping sets", "Use fewer keys")
    return sets


def _check_sets(sets: Sets, scope: Scope, delta: Fraction, strategy: str | None) -> None:
    fields = sorted({field for keys in sets for field in keys})
    columns = {field: scope.column(field) for field in fields}
    for field, column in columns.items():
        if isinstance(column, Identifier):
            raise refuse(f"GROUP BY {field.name}", "it would show single units", "Group by something coarser")
    open_keys = [field.name for field, column in columns.items() if not is_declared(column)]
    if strategy not in (None, "LAPLACE_THRESHOLD" if open_keys else "PUBLIC_GROUPS"):
        way_out = "Use PUBLIC_GROUPS for declared keys, LAPLACE_THRESHOLD for others, or leave it out"
        raise refuse(f"group_selection_strategy = {strategy}", "it does not fit the keys", way_out)
    if open_keys and not delta > 0:
        why = "its values are not declared, so groups appear by a threshold, which needs delta > 0"
        raise refuse(f"GROUP BY {open_keys[0]}", why, "Set delta, or ask the owner to declare the values")
    cells = sum(math.prod(columns[field].size or 1 for field in keys) for keys in sets)
    if cells > MAX_CELLS:
        raise refuse("GROUP BY", f"it has more than {MAX_CELLS} declared groups", "Use fewer or coarser keys")


def _options(clause: Sequence[tuple[str, Token]], main: Schema, policy: Policy) -> Options:
    given = dict(clause)
    if len(given) < len(clause):
        raise refuse("OPTIONS", "an option is given twice", "Give each option once")
    known = (
        "epsilon",
        "delta",
        "privacy_unit_column",
        "max_groups_contributed",
        "max_rows_contributed",
        "group_selection_strategy",
    )
    for name in given:
        if name not in known:
            raise refuse(f"option {name}", "it is not known", f"Known: {', '.join(known)}")
    column = given.get("privacy_unit_column")
    if column is not None and (main.unit.column is None or column.text.lower() != main.unit.column.lower()):
        raise refuse(f"privacy_unit_column = {column.text}", "the owner chose another unit", "Leave it out")
    return Options(
        epsilon=_at_most("epsilon", given, MIN_EPSILON, policy.epsilon),
        delta=_at_most("delta", given, Fraction(0), policy.delta),
        max_rows=_whole("max_rows_contributed", given, main.unit.max_rows),
        max_groups=_whole("max_groups_contributed", given, main.unit.max_groups),
    )


def _at_most(name: str, given: dict[str, Token], lowest: Fraction, highest: Fraction) -> Fraction | None:
    if name not in given:
        return None
    token = given[name]
    what = f"{name} = {token.text}"
    if token.token_type != TokenType.NUMBER:
        raise refuse(what, "it must be a number", f"Write {name} = 0.5")
    value = number(token.text, what)
    if not lowest <= value <= highest:
        why = f"it must lie between {float(lowest):g} and the owner's limit of {float(highest):g}"
        raise refuse(what, why, "Ask for less, or leave it out")
    return value


def _whole(name: str, given: dict[str, Token], highest: int) -> int | None:
    value = _at_most(name, given, Fraction(1), Fraction(highest))
    if value is None or value == highest:
        return None
    if value.denominator != 1:
        raise refuse(f"{name} = {given[name].text}", "it must be a whole number", f"Write {name} = 1")
    return int(value)


def _allowed_delta(options: Options, policy: Policy) -> Fraction:
    return policy.delta if options.delta is None else options.delta
