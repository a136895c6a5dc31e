"""SQL in, a checked `Plan` out.

The translation is total: one function per kind of node, every set argument of a node consumed or refused by
name. The analyst's text ends here; engines are sent what `render` writes from the plan.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from discreet.data.plan.canonical import conjunction
from discreet.data.plan.narrowing import narrow
from discreet.data.plan.nodes import (
    MIN_EPSILON,
    TRUE,
    Condition,
    Field,
    Join,
    Options,
    Plan,
    Policy,
)
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Category, Integer
from discreet.data.schema.schema import Dimension, Schema, User
from discreet.data.sql.group import Grouping, check_sets
from discreet.data.sql.language import condition
from discreet.data.sql.nodes import Scope, refuse_unknown, take, word
from discreet.data.sql.outputs import AnswerClauses, read_after, read_outputs, require_aggregate
from discreet.data.sql.text import number, parse_text, refuse, shorten

_SHOWN = ("distinct", "having", "order", "limit", "offset")


def parse(
    text: str,
    *,
    schemas: Schema | Iterable[Schema] | PlanTables,
    policy: Policy,
    today: datetime.date | None = None,
) -> Plan:
    """Translate one SELECT into a plan.

    Parameters
    ----------
    text
        The query, with or without a `WITH DIFFERENTIAL_PRIVACY OPTIONS (...)` clause.
    schemas
        The private tables (with their public dimensions) the query may name.
    policy
        What the owner allows one query to cost. The clause can only ask for less.
    today
        What CURRENT_DATE means, in UTC unless it is given. The plan holds the date itself.

    Raises
    ------
    Refused
        For anything outside the language or the policy. The reply depends on the request and on public
        metadata only.
    """
    tree, clause = parse_text(text)
    try:
        return _select(tree, clause, PlanTables.of(schemas), policy, today)
    except RecursionError:
        raise refuse("SQL", "it is nested too deep", "Ask a simpler question") from None


def _select(
    tree: exp.Select,
    clause: Sequence[tuple[str, Token]],
    tables: PlanTables,
    policy: Policy,
    today: datetime.date | None,
) -> Plan:
    listed, source, joined, filtered, grouped = take(
        tree, "expressions", "from_", "joins", "where", "group", *_SHOWN
    )[:5]
    scope, joins = _from(source, joined or [], tables, today)
    options = _options(clause, scope.main, policy)
    where: Condition = TRUE
    if filtered is not None:
        where = conjunction([condition(take(filtered, "this")[0], scope)], tables)
    # An expression is computed for the rows that count, and for no others.
    scope = replace(scope, known=narrow(scope.known, where, tables))
    grouping = Grouping(listed, where, scope)
    sets = grouping.sets(grouped)
    if tree.args.get("distinct") is not None:
        sets = grouping.distinct(tree.args["distinct"], sets, is_grouped=grouped is not None)
    strategy = dict(clause).get("group_selection_strategy")
    named = None if strategy is None else strategy.text.upper()
    check_sets(sets, where, scope, _allowed_delta(options, policy), named)
    outputs = read_outputs(listed, grouping.find, scope)
    clauses = AnswerClauses(*(tree.args.get(name) for name in _SHOWN[1:]))
    after = read_after(clauses, outputs, grouping.find, scope)
    require_aggregate(outputs, after, sets, tables)
    return Plan(
        table=scope.main.name,
        joins=joins,
        where=where,
        sets=tuple(sets),
        outputs=outputs,
        options=options,
        after=after,
    )


def _from(
    source: exp.Expression | None,
    joined: list[exp.Expression],
    tables: PlanTables,
    today: datetime.date | None,
) -> tuple[Scope, tuple[Join, ...]]:
    if source is None:
        raise refuse("SELECT", "it names no table", f"Write FROM {tables.schemas[0].name}")
    scope = Scope(tables, {}, {}, today=today)
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
