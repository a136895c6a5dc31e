"""A function of a key of an answer that another query reads: a list of what it is for each declared group.

The groups are public, so what a function makes of each is known when the question is read. It costs nothing.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from fractions import Fraction

from sqlglot import exp

from discreet.data.plan.after import Exact, compute, find_sort
from discreet.data.plan.effort import spend
from discreet.data.plan.key_nodes import ComputedKey, Key
from discreet.data.plan.keys import count_groups, is_listed, list_groups, name_group
from discreet.data.plan.nodes import Constant, Plan, Shown
from discreet.data.plan.numbers import value_of
from discreet.data.plan.row_nodes import TRUE, Field, Polynomial
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.nodes import Scope
from discreet.data.sql.rows.language import operand
from discreet.data.sql.rows.operands import Day, Labelled, Missing, Operand, Truth
from discreet.data.sql.text import refuse

MAX_LISTED = 2_000
"""Groups of a key that a function is listed for."""
_GROUP = 3_000
"""Steps that each of them takes: see `plan.effort`."""
_EPOCH = datetime.date(1970, 1, 1)


def list_function(
    node: exp.Expression, columns: Mapping[str, Shown], inner: Plan, tables: PlanTables
) -> Shown | None:
    """Return a function of one key as a choice among its groups; None where it is something else.

    Parameters
    ----------
    node
        The expression, as the outer query writes it.
    columns
        The columns of the answer by their names.
    inner
        The question whose answer it is.
    tables
        What is declared.
    """
    named = {one.name.lower() for one in node.find_all(exp.Column)}
    keys = {columns.get(name) for name in named}
    key = keys.pop() if len(keys) == 1 else None
    if not isinstance(key, Field | ComputedKey) or not is_listed(key, tables):
        return None
    if count_groups(key, inner.where, tables) > MAX_LISTED:
        why = f"the key has more than {MAX_LISTED} groups"
        raise refuse("a function of a key of an answer", why, "GROUP BY it in the inner query")
    found: list[tuple[Exact, Exact]] = []
    for code in list_groups(key, inner.where, tables):
        spend(_GROUP)
        group = name_group(key, code, tables)
        whole = isinstance(group, int | Fraction) and not isinstance(group, bool)
        value: Exact = Fraction(group) if whole else group  # type: ignore[arg-type,assignment]
        tree = node.copy()
        for one in list(tree.find_all(exp.Column)):
            if one is tree:
                tree = _write(value)
            else:
                one.replace(_write(value))
        found.append((value, _read(operand(tree, Scope(tables, {}, {})))))
    return _choose(key, found, tables)


def _write(value: Exact) -> exp.Expression:
    """Return a value as a request would have written it."""
    if isinstance(value, bool):
        return exp.Boolean(this=value)
    if isinstance(value, str):
        return exp.Literal.string(value)
    if isinstance(value, datetime.date):
        to = exp.DataType(this=exp.DataType.Type.DATE)
        return exp.Cast(this=exp.Literal.string(value.isoformat()), to=to)
    number = Fraction(value or 0)
    top = exp.Literal.number(abs(number.numerator))
    whole = exp.Paren(this=exp.Neg(this=top)) if number < 0 else top
    if number.denominator == 1:
        return whole
    return exp.Paren(this=exp.Div(this=whole, expression=exp.Literal.number(number.denominator)))


def _read(side: Operand) -> Exact:
    """Return the value of an operand that no column is part of."""
    if isinstance(side, Missing):
        return None
    if isinstance(side, str | bool):
        return side
    if isinstance(side, Truth):
        return True if side.holds == TRUE else False if side.fails == TRUE else None
    number = side.number if isinstance(side, Day | Labelled) else side
    value = value_of(number) if isinstance(number, Polynomial) else None
    if value is not None and isinstance(side, Labelled):
        label = side.labels[int(value)]
        return label if isinstance(label, str) else Fraction(label)
    if value is None:
        raise refuse("a function of a key of an answer", "it is not known for every group", "Use CASE")
    return _EPOCH + datetime.timedelta(days=int(value)) if isinstance(side, Day) else value


def _choose(key: Key, found: Sequence[tuple[Exact, Exact]], tables: PlanTables) -> Shown:
    """Return the choice: by ranges where groups have an order, else by equality. Of totals it is missing."""
    ordered = find_sort(key, tables) in ("number", "date")
    listed = sorted(found, key=lambda pair: pair[0]) if ordered else list(found)  # type: ignore[arg-type,return-value]
    runs: list[tuple[list[Exact], Exact]] = []
    for group, value in listed:
        same = runs[-1:] if ordered else [run for run in runs if run[1] == value]
        if same and same[0][1] == value:
            same[0][0].append(group)
        else:
            runs.append(([group], value))
    parts: list[Shown] = []
    for groups, value in runs:
        if ordered:
            test = compute("<=", [key, Constant(groups[-1])], tables)
        else:
            tests = [compute("=", [key, Constant(group)], tables) for group in groups]
            test = tests[0] if len(tests) == 1 else compute("or", tests, tables)
        parts += [test, Constant(value)]
    return compute("case", [*parts, Constant(None)], tables)
