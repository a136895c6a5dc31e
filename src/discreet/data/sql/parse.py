"""SQL in, a checked `Plan` out.

The translation is total: one function per kind of node, every set argument of a node consumed or refused by
name. The analyst's text ends here; engines are sent what `render` writes from the plan.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp
from sqlglot.tokenizer_core import Token, TokenType

from discreet.data.plan.canonical import conjunction
from discreet.data.plan.derived import drop_unread
from discreet.data.plan.nodes import MIN_EPSILON, Field, Options, Output, Plan, Policy
from discreet.data.plan.tables import PlanTables, is_declared
from discreet.data.schema.columns import Identifier
from discreet.data.schema.schema import Schema
from discreet.data.sql.aggregates import aggregate
from discreet.data.sql.conditions import condition, understand
from discreet.data.sql.joins import read_from
from discreet.data.sql.nodes import Scope, take, word
from discreet.data.sql.relations import flatten
from discreet.data.sql.text import number, parse_text, refuse, shorten

MAX_CELLS = 1_000_000
MAX_SETS = 64
MAX_OUTPUTS = 100
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}")
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
    flat = flatten(tree, tables, lambda main: _options(clause, main, policy).max_rows)
    listed, source, joined, filtered, grouped = take(
        flat.tree, "expressions", "from_", "joins", "where", "group"
    )
    scope, joins, where = read_from(source, joined or [], flat.tables)
    main = scope.main if flat.units is None else tables.schema(flat.units.table)
    options = _options(clause, main, policy)
    if flat.units is not None:
        options = replace(options, max_groups=None)  # one row of each unit is in one group
    if filtered is not None:
        where = conjunction([where, condition(take(filtered, "this")[0], scope)], scope.tables)
    sets: Sets = [()] if grouped is None else _group(grouped, scope)
    strategy = dict(clause).get("group_selection_strategy")
    _check_sets(
        sets, scope, _allowed_delta(options, policy), None if strategy is None else strategy.text.upper()
    )
    for node in flat.checks:
        understand(node, scope)
    plan = Plan(
        table=scope.main.name,
        joins=joins,
        where=where,
        sets=tuple(sorted(set(sets))),
        outputs=_outputs(listed, {field for keys in sets for field in keys}, scope),
        options=options,
        units=flat.units,
    )
    return drop_unread(plan, tables)


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


def _outputs(listed: list[exp.Expression], keys: set[Field], scope: Scope) -> tuple[Output, ...]:
    if len(listed) > MAX_OUTPUTS:
        raise refuse("SELECT", f"it has more than {MAX_OUTPUTS} columns", "Ask less at once")
    outputs: list[Output] = []
    names: set[str] = set()
    for item in listed:
        node, alias = take(item, "this", "alias") if isinstance(item, exp.Alias) else (item, None)
        name = None if alias is None else word(alias)
        if name is not None and (not _NAME.fullmatch(name) or name.lower() in names):
            raise refuse(
                f"AS {shorten(name)}", "names are letters, digits and _, each used once", "Choose another"
            )
        if isinstance(node, exp.Column) and not isinstance(node.args.get("this"), exp.Star):
            what = scope.field(node)
            if what not in keys:
                raise refuse(
                    what.name,
                    "it is neither a key nor an aggregate",
                    f"GROUP BY {what.name}, or aggregate it",
                )
            output = Output(name or _fresh(what.name, names), what)
        else:
            found, default = aggregate(node, scope)
            output = Output(name or _fresh(default, names), found)
        outputs.append(output)
        names.add(output.name.lower())
    if all(isinstance(output.what, Field) for output in outputs):
        raise refuse("SELECT", "it asks for no aggregate", "Add COUNT(*), SUM(x) or AVG(x)")
    return tuple(outputs)


def _fresh(name: str, taken: set[str]) -> str:
    tries = itertools.chain([name], (f"{name}_{k}" for k in itertools.count(2)))
    return next(found for found in tries if found.lower() not in taken)


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
