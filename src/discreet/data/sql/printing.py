"""A plan as SQL of our own dialect. Parsed again it is the same plan."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

from discreet.data.plan.after import Exact
from discreet.data.plan.derived import relate
from discreet.data.plan.key_nodes import ComputedKey, Key
from discreet.data.plan.kinds import Function
from discreet.data.plan.nodes import (
    After,
    Computed,
    Constant,
    Options,
    Ordering,
    Output,
    Plan,
    Shown,
    Windowed,
)
from discreet.data.plan.numbers import add, constant, value_of
from discreet.data.plan.row_nodes import Field, Polynomial, Quotient
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.printed_rows import cases_sql, name_sql, number_sql, quote
from discreet.data.sql.printed_sources import rows_sql, units_sql, where_sql
from discreet.data.sql.printed_values import decimal, literal, quantile_call, scientific

_SIGNS_BETWEEN: tuple[Function, ...] = ("+", "-", "*", "/", "%", "=", "<>", "<", "<=", "and", "or")
_CALLS = {
    "minimum": "MIN",
    "maximum": "MAX",
    "mode": "MODE",
    "covariance_pop": "COVAR_POP",
    "covariance_samp": "COVAR_SAMP",
    "correlation": "CORR",
    "slope": "REGR_SLOPE",
    "intercept": "REGR_INTERCEPT",
    "determination": "REGR_R2",
    "sum": "SUM",
    "average": "AVG",
    "variance_samp": "VAR_SAMP",
    "variance_pop": "VAR_POP",
    "deviation_samp": "STDDEV_SAMP",
    "deviation_pop": "STDDEV_POP",
}


def to_sql(plan: Plan, tables: PlanTables) -> str:
    """Return the plan as one line of SQL."""
    if plan.branches:
        return _stacked(plan, tables)
    tables = relate(plan, tables)
    unit = Field(plan.table, str(tables.schema(plan.table).unit.column))
    parts = ["SELECT"]
    if options := _options(plan):
        parts.append(f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({options})")
    shown = (f"{_output(output.what, unit, tables)} AS {quote(output.name)}" for output in plan.outputs)
    parts.append(", ".join(shown))
    if plan.units is None:
        parts += rows_sql(plan, tables)
    else:
        parts.append(f"FROM ({units_sql(plan.units, tables)}) AS {quote(plan.table)}")
        parts += where_sql(plan.where, tables)
    sets = [", ".join(_key(key, tables) for key in keys) for keys in plan.sets]
    if len(sets) > 1:
        parts.append(f"GROUP BY GROUPING SETS ({', '.join(f'({keys})' for keys in sets)})")
    elif sets[0]:
        parts.append(f"GROUP BY {sets[0]}")
    return " ".join([*parts, *_after(plan.after, unit, tables)])


def _stacked(plan: Plan, tables: PlanTables) -> str:
    """Return several SELECTs below one another: each as it was asked, options in the first one only."""
    # The options of the whole: what it may cost can be said beside the text, when its parts are read.
    told = [plan.options, *(Options() for _ in plan.branches[1:])]
    parts = zip(plan.branches, told, strict=True)
    asked = [to_sql(replace(branch.asked, options=options), tables) for branch, options in parts]
    named = [list(zip(branch.outputs, plan.outputs, strict=True)) for branch in plan.branches]
    orders = []
    for place, one in enumerate(plan.after.order):
        nodes = [branch.order[place] for branch in plan.branches]
        orders.append(f"{_by_columns(nodes, named)} {_direction(one)}")
    ending = [f"ORDER BY {', '.join(orders)}"] if orders else []
    return " ".join([" UNION ALL ".join(asked), *ending, *_cut(plan.after)])


def _by_columns(nodes: list[Shown], named: list[list[tuple[Shown, Output]]]) -> str:
    """Print what is the same function of the columns of an answer in every SELECT."""
    for place, (_, output) in enumerate(named[0]):
        if all(node == listed[place][0] for node, listed in zip(nodes, named, strict=True)):
            return quote(output.name)
    one = nodes[0]
    if not isinstance(one, Computed):
        return _constant(one.value) if isinstance(one, Constant) else ""
    parts = zip(*(node.parts for node in nodes if isinstance(node, Computed)), strict=True)
    return _call_computed(one.function, [_by_columns(list(part), named) for part in parts])


def _after(after: After, unit: Field, tables: PlanTables) -> Iterator[str]:
    if after.having is not None:
        yield f"HAVING {_output(after.having, unit, tables)}"
    if after.qualify is not None:
        yield f"QUALIFY {_output(after.qualify, unit, tables)}"
    if after.order:
        yield f"ORDER BY {', '.join(_ordering(one, unit, tables) for one in after.order)}"
    yield from _cut(after)


def _cut(after: After) -> Iterator[str]:
    if after.limit is not None:
        yield f"LIMIT {after.limit}"
    if after.offset:
        yield f"OFFSET {after.offset}"


def _ordering(one: Ordering, unit: Field, tables: PlanTables) -> str:
    # In brackets, nothing is taken for a column of the answer by its name.
    return f"({_output(one.what, unit, tables)}) {_direction(one)}"


def _direction(one: Ordering) -> str:
    return f"{'DESC' if one.descending else 'ASC'} NULLS {'FIRST' if one.missing_first else 'LAST'}"


def _output(what: Shown, unit: Field, tables: PlanTables) -> str:
    if isinstance(what, Field | ComputedKey):
        return _key(what, tables)
    if isinstance(what, Constant):
        return _constant(what.value)
    if isinstance(what, Computed):
        return _computed(what, unit, tables)
    if isinstance(what, Windowed):
        return _window(what, unit, tables)
    if what.kind == "count_units":
        return f"COUNT(DISTINCT {name_sql(unit)})"
    arguments = [number_sql(one, tables) for one in (what.number, what.other) if one is not None] or ["*"]
    if what.column is not None:
        arguments = [name_sql(what.column)]
    if what.kind == "count_distinct":
        arguments = [f"DISTINCT {arguments[0]}"]
    call, tail = _CALLS.get(what.kind, "COUNT"), ""
    if what.kind == "quantile":
        call, last, tail = quantile_call(what.points)
        arguments.append(last)
    bounds = (("row", what.row_bounds), ("group", what.group_bounds))
    for word, pair in bounds:
        if pair is not None:
            arguments.append(f"contribution_bounds_per_{word} => ({decimal(pair[0])}, {decimal(pair[1])})")
    return f"{call}({', '.join(arguments)}){tail}"


def _window(window: Windowed, unit: Field, tables: PlanTables) -> str:
    """Print what is computed from several rows of an answer."""
    arguments = [] if window.what is None else [_output(window.what, unit, tables)]
    if window.function in ("lag", "lead"):
        arguments += [str(window.distance), _constant(window.otherwise.value)]
    if window.function == "count" and window.what is None:
        arguments = ["*"]
    over = []
    if window.partition:
        over.append(f"PARTITION BY {', '.join(_output(key, unit, tables) for key in window.partition)}")
    if window.order:
        over.append(f"ORDER BY {', '.join(_ordering(one, unit, tables) for one in window.order)}")
    if window.frame is not None:
        before, after = window.frame
        start = f"{'UNBOUNDED' if before is None else before} PRECEDING"
        over.append(f"ROWS BETWEEN {start} AND {'UNBOUNDED' if after is None else after} FOLLOWING")
    call = "AVG" if window.function == "average" else window.function.upper()
    return f"{call}({', '.join(arguments)}) OVER ({' '.join(over)})"


def _computed(what: Computed, unit: Field, tables: PlanTables) -> str:
    """Print what is computed, every part in brackets of its own."""
    return _call_computed(what.function, [_output(part, unit, tables) for part in what.parts])


def _call_computed(function: Function, parts: list[str]) -> str:
    if function == "case":
        *cases, otherwise = parts
        pairs = zip(cases[::2], cases[1::2], strict=True)
        shown = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
        return f"CASE {shown} ELSE {otherwise} END"
    if function in _SIGNS_BETWEEN:
        return "(" + f" {function.upper()} ".join(parts) + ")"
    if function == "is null":
        return f"({parts[0]} IS NULL)"
    if function == "not":
        return f"(NOT {parts[0]})"
    return f"{function.upper()}({', '.join(parts)})"


def _constant(value: Exact) -> str:
    if value is None:
        return "NULL"
    return scientific(value) if isinstance(value, Fraction) else literal(value)


def _options(plan: Plan) -> str:
    options = plan.options
    listed = (
        ("epsilon", options.epsilon),
        ("delta", options.delta),
        ("max_rows_contributed", options.max_rows),
        ("max_groups_contributed", options.max_groups),
    )
    return ", ".join(f"{name} = {scientific(Fraction(value))}" for name, value in listed if value is not None)


def _key(key: Key, tables: PlanTables) -> str:
    """Print a key so that it is read as one of the same kind."""
    if isinstance(key, Field):
        return name_sql(key)
    if key.kind == "number":
        return number_sql(key.number, tables)
    if key.kind == "date":
        return f"DATE_FROM_UNIX_DATE({number_sql(key.number, tables)})"
    if key.kind == "truth":
        return _truth(key.number, tables)
    return f"ELT({number_sql(add(key.number, constant(1)), tables)}, {', '.join(map(literal, key.labels))})"


def _truth(number: Polynomial, tables: PlanTables) -> str:
    """Print TRUE and FALSE in place of 1 and 0."""
    value = value_of(number)
    if value is not None:
        return "TRUE" if value else "FALSE"
    (atom,) = number.atoms
    if isinstance(atom, Field | Quotient):
        return f"{number_sql(number, tables)} = 1"
    return cases_sql(atom, tables, lambda leaf: _truth(leaf, tables))
