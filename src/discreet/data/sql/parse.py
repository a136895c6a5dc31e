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
from discreet.data.plan.derived import drop_unread
from discreet.data.plan.effort import limit_effort
from discreet.data.plan.narrowing import narrow
from discreet.data.plan.nodes import MIN_EPSILON, Options, Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.schema import Schema
from discreet.data.sql.call_spellings import unify_calls
from discreet.data.sql.group import Grouping, check_sets
from discreet.data.sql.nodes import take
from discreet.data.sql.rows.conditions import understand
from discreet.data.sql.rows.language import condition
from discreet.data.sql.selected.around import ask_around, find_inside
from discreet.data.sql.selected.outputs import AnswerClauses, read_after, read_outputs, require_aggregate
from discreet.data.sql.sources.join_spellings import unify_joins
from discreet.data.sql.sources.joins import read_from
from discreet.data.sql.sources.relations import flatten
from discreet.data.sql.sources.unit_rows import ReadsAnswer
from discreet.data.sql.stacked import split_union, stack_plans
from discreet.data.sql.text import number, parse_text, refuse
from discreet.data.sql.totals import Asides, put_back, take_out

_SHOWN = ("distinct", "having", "order", "limit", "offset", "qualify")


def parse(
    text: str,
    *,
    schemas: Schema | Iterable[Schema] | PlanTables,
    policy: Policy,
    today: datetime.date | None = None,
) -> Plan:
    """Translate one SELECT, or several under UNION ALL, into a plan.

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
        with limit_effort():
            tables = PlanTables.of(schemas).apart()
            unify_calls(tree)
            unify_joins(tree, tables)
            if isinstance(tree, exp.Select):
                return _select(tree, clause, tables, policy, today)
            several = split_union(tree)
            plans = [_select(one, clause, tables, policy, today) for one in several.selects]
            return stack_plans(plans, several, tables)
    except RecursionError:
        raise refuse("SQL", "it is nested too deep", "Ask a simpler question") from None


def _select(
    tree: exp.Select,
    clause: Sequence[tuple[str, Token]],
    tables: PlanTables,
    policy: Policy,
    today: datetime.date | None,
) -> Plan:
    taken = take_out(tree)
    try:
        flat = flatten(taken.tree, tables, lambda main: _options(clause, main, policy).max_rows, today)
    except ReadsAnswer:
        taken = put_back(taken, tree)
        inside = find_inside(taken.tree)
        if inside is None:
            raise
        inner = _select(inside.tree, clause, tables, policy, today)
        asides = Asides([_select(one, clause, tables, policy, today) for one in taken.asides], tables)
        return asides.put_in(ask_around(taken.tree, inside, inner, tables, asides.around))
    asides = Asides([_select(one, clause, tables, policy, today) for one in taken.asides], tables)
    tree = flat.tree
    listed, source, joined, filtered, grouped = take(
        tree, "expressions", "from_", "joins", "where", "group", *_SHOWN
    )[:5]
    scope, joins, where = read_from(source, joined or [], flat.tables, today)
    main = scope.main if flat.units is None else tables.schema(flat.units.table)
    options = _options(clause, main, policy)
    if flat.units is not None and not flat.units.keys:
        options = replace(options, max_groups=None)  # one row of each unit is in one group
    if filtered is not None:
        where = conjunction([where, condition(take(filtered, "this")[0], scope)], scope.tables)
    # An expression is computed for the rows that count, and for no others.
    scope = replace(scope, known=narrow(scope.known, where, scope.tables))
    grouping = Grouping(listed, where, scope, map(tree.args.get, ("having", "order", "qualify")))
    sets = grouping.sets(grouped)
    if tree.args.get("distinct") is not None:
        sets = grouping.distinct(tree.args["distinct"], sets, is_grouped=grouped is not None)
    strategy = dict(clause).get("group_selection_strategy")
    named = None if strategy is None else strategy.text.upper()
    check_sets(sets, where, scope, _allowed_delta(options, policy), named)
    find = asides.around(grouping.find)
    outputs = read_outputs(listed, find, scope)
    clauses = AnswerClauses(*(tree.args.get(name) for name in _SHOWN[1:]))
    after = read_after(clauses, outputs, find, scope)
    require_aggregate(outputs, after, sets, scope.tables)
    for node in flat.checks:
        understand(node, scope)
    plan = Plan(
        table=scope.main.name,
        joins=joins,
        where=where,
        sets=tuple(sets),
        outputs=outputs,
        options=options,
        after=after,
        units=flat.units,
    )
    return drop_unread(asides.put_in(plan), tables)


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
