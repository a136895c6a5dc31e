"""Aggregates beside counts, sums and averages: different values, ends of ranges, quantiles, modes, pairs.

Anything that is not listed here goes on to `aggregates`, which refuses what nobody knows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.data.plan.canonical import conjunction, is_there
from discreet.data.plan.effort import spend
from discreet.data.plan.facts import MAX_PARTS
from discreet.data.plan.kinds import Kind
from discreet.data.plan.measures import find_day, measures
from discreet.data.plan.nodes import Aggregate
from discreet.data.plan.numbers import add, constant, multiply, variable
from discreet.data.plan.row_nodes import Polynomial
from discreet.data.plan.tables import is_declared
from discreet.data.schema.columns import Date, Decimal, Identifier, Integer, Text
from discreet.data.schema.schema import Schema
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.function_calls import is_now
from discreet.data.sql.rows.language import condition, numeric, operand
from discreet.data.sql.rows.operands import Day
from discreet.data.sql.selected.aggregates import (
    INSTEAD,
    KNOWN,
    aggregate,
    bound_rows,
    count_rows,
    keep_bounds,
    read_arguments,
    read_number,
)
from discreet.data.sql.selected.choices import find_unit, is_choice
from discreet.data.sql.selected.combinations import combine, count_different, list_columns
from discreet.data.sql.selected.counted import count_present, count_where, keep
from discreet.data.sql.text import refuse

Arguments = list[exp.Expression]
_PAIR = 600_000
"""Steps that the moments of two numbers take, with the accuracy that they give: see `plan.effort`."""
_PAIRS: dict[str, Kind] = {
    "CORR": "correlation",
    "COVAR_POP": "covariance_pop",
    "COVAR_SAMP": "covariance_samp",
    "REGR_INTERCEPT": "intercept",
    "REGR_R2": "determination",
    "REGR_SLOPE": "slope",
}
_OF_PAIRS = "Write SELECT COUNT(*) FROM (SELECT DISTINCT {0} FROM {1})"
_DISTINCT = ("APPROX_COUNT_DISTINCT", "APPROX_DISTINCT")
_POINTS = (
    "APPROX_PERCENTILE",
    "APPROX_QUANTILE",
    "PERCENTILE",
    "PERCENTILE_APPROX",
    "PERCENTILE_CONT",
    "PERCENTILE_DISC",
    "QUANTILE",
    "QUANTILE_CONT",
    "QUANTILE_DISC",
)
_WITH_ACCURACY = ("APPROX_PERCENTILE", "PERCENTILE_APPROX")


def read_aggregate(node: exp.Expression, scope: Scope) -> Aggregate:
    """Translate an aggregate."""
    if isinstance(node, exp.Filter):
        return _filter(node, scope)
    if isinstance(node, exp.Bracket):
        return _take_one(node, scope)
    ordered, call = None, node
    if isinstance(node, exp.WithinGroup):
        call, order = take(node, "this", "expression")
        ordered = _read_order(order)
    name = str(call.args.get("this")).upper() if isinstance(call, exp.Anonymous) else ""
    places: Arguments = (call.args.get("expressions") or []) if name else []
    if name == "MODE":
        return _mode(places if ordered is None else [*places, ordered[0]], scope)
    if name in _POINTS:
        return _quantile(name, call, ordered, scope)
    if ordered is not None:
        raise refuse(f"{name or 'it'} WITHIN GROUP", "only quantiles and MODE take it", "Leave it out")
    if name in _CALLS:
        take(call, "this", "expressions")
        return _CALLS[name](name, places, scope)
    if name == "MEDIAN" and len(places) == 1 and _is_day(places[0], scope):
        take(call, "this", "expressions")
        return Aggregate("quantile", number_or_day(places[0], scope), points=(Fraction(1, 2),))
    if name == "COUNT" and len(places) == 1:
        counted = _count(places[0], scope)
        if counted is not None:
            take(call, "this", "expressions")
            return counted
    return aggregate(node, scope)[0]


def _filter(node: exp.Expression, scope: Scope) -> Aggregate:
    """Translate an aggregate of the rows that meet a condition: others add nothing."""
    call, filtered = take(node, "this", "expression")
    name = str(call.args.get("this")).upper() if isinstance(call, exp.Anonymous) else ""
    places: Arguments = (call.args.get("expressions") or []) if name else []
    counted = _count(places[0], scope) if name == "COUNT" and len(places) == 1 else None
    chosen = name in _POINTS or (name == "MEDIAN" and len(places) == 1 and _is_day(places[0], scope))
    if name in KNOWN and not chosen and (counted is None or counted.kind == "count_units"):
        return aggregate(node, scope)[0]
    found, kept = read_aggregate(call, scope), condition(take(filtered, "this")[0], scope)
    if found.kind == "count" and found.number is None:
        there = [] if found.column is None else [is_there(found.column, scope.tables)]
        return count_rows(conjunction([kept, *there], scope.tables), None, scope)[0]
    if (
        found.kind == "count_distinct"
        and found.column is not None
        and is_declared(scope.column(found.column))
    ):
        listed = take(places[0], "expressions")[0] if isinstance(places[0], exp.Distinct) else places
        found = Aggregate("count_distinct", combine(name, list_columns(listed), scope))
    if found.number is None:
        way_out = "Put the condition in WHERE, and ask for it alone"
        raise refuse(f"{name} FILTER", "it is for counts and numbers", way_out)
    number = keep(found.number, kept, scope)
    if found.kind == "count":
        return replace(found, number=count_present(number, scope))
    if found.kind == "count_distinct":
        return count_different(number, scope.tables)
    return keep_bounds(found, number, scope)


def _count(what: exp.Expression, scope: Scope) -> Aggregate | None:
    """Count the present or different values of a column; None where that is something else."""
    if isinstance(what, exp.Distinct):
        (columns,) = take(what, "expressions")
        if len(columns) == 1 and is_choice(columns[0]) and _names_unit(columns[0], scope):
            return None  # the units of which some row meets a condition
        return _distinct("COUNT(DISTINCT ...)", columns, scope)
    if not isinstance(what, exp.Column) or isinstance(what.args.get("this"), exp.Star):
        return None
    field = scope.field(what)
    column = scope.column(field)
    if isinstance(column, Integer | Decimal):
        return None
    # A row without its unit counts for nobody, so every row that counts has one.
    there = not column.nullable or field == find_unit(scope)
    return Aggregate("count", column=None if there else field)


def _distinct(name: str, columns: Arguments, scope: Scope) -> Aggregate:
    columns = list_columns(columns)
    if len(columns) > 1 and any(isinstance(one, exp.Column) and _names_unit(one, scope) for one in columns):
        listed = ", ".join(one.name if isinstance(one, exp.Column) else "x" for one in columns)
        why = "with the unit beside it, it counts rows of a subquery"
        raise refuse(name, why, _OF_PAIRS.format(listed, scope.main.name))
    if len(columns) != 1 or not isinstance(columns[0], exp.Column):
        return count_different(combine(name, columns, scope), scope.tables)
    field = scope.field(columns[0])
    if field == find_unit(scope):
        return Aggregate("count_units")
    owner = scope.tables.relation(field.table)
    if isinstance(owner, Schema) and field.name == owner.unit.column:
        # The units that a left join found a partner for: each has no other, and is one.
        number = count_where(is_there(field, scope.tables), scope)
        return Aggregate("count", number, group_bounds=(Fraction(0), Fraction(1)))
    return Aggregate("count_distinct", column=field)


def _names_unit(node: exp.Expression, scope: Scope) -> bool:
    listed = [one for one in node.find_all(exp.Column) if isinstance(one.args.get("this"), exp.Identifier)]
    return any(not is_now(one, scope) and scope.field(one) == find_unit(scope) for one in listed)


def _mode(places: Arguments, scope: Scope) -> Aggregate:
    if len(places) != 1 or not isinstance(places[0], exp.Column):
        raise refuse("MODE", "it takes one column", "Write MODE(x)")
    field = scope.field(places[0])
    column = scope.column(field)
    if isinstance(column, Identifier | Text):
        way_out = "GROUP BY it with COUNT(*), ORDER BY 2 DESC LIMIT 1"
        raise refuse(f"MODE({field.name})", "its values are not declared", way_out)
    return Aggregate("mode", column=field)


def _extreme(name: str, places: Arguments, scope: Scope) -> Aggregate:
    places, bounds = read_arguments(name, places)
    if len(places) != 1:
        raise refuse(name, "it takes one number or date", f"Write {name}(x)")
    kind: Kind = "maximum" if name == "MAX" else "minimum"
    return _chosen(Aggregate(kind, number_or_day(places[0], scope)), bounds, name, scope)


def _quantile(
    name: str, call: exp.Expression, ordered: tuple[exp.Expression, bool] | None, scope: Scope
) -> Aggregate:
    _, listed = take(call, "this", "expressions")
    places, bounds = read_arguments(name, listed or [])
    if ordered is not None:
        places = [ordered[0], *places]
    if name in _WITH_ACCURACY and len(places) == 3:
        # How hard to try: what is chosen here is exact up to its noise.
        read_number(places.pop())
    if len(places) != 2:
        raise refuse(name, "it takes a number and which quantile", f"Write {name}(x, 0.5)")
    points = _read_points(name, places[1])
    if ordered is not None and ordered[1]:
        points = tuple(1 - point for point in points)
    return _chosen(Aggregate("quantile", number_or_day(places[0], scope), points=points), bounds, name, scope)


def _read_points(name: str, node: exp.Expression) -> tuple[Fraction, ...]:
    nodes = [node]
    if isinstance(node, exp.Array):
        (nodes,) = take(node, "expressions")
    elif isinstance(node, exp.Anonymous) and str(node.args.get("this")).upper() == "ARRAY":
        _, nodes = take(node, "this", "expressions")
    if not nodes or len(nodes) > MAX_PARTS:
        raise refuse(name, "it names no quantile, or too many", f"Write {name}(x, 0.5)")
    points = [read_number(one) for one in nodes]
    if not all(0 <= point <= 1 for point in points) or len(set(points)) < len(points):
        raise refuse(name, "quantiles lie between 0 and 1, each once", f"Write {name}(x, 0.5)")
    return tuple(points)


def _take_one(node: exp.Expression, scope: Scope) -> Aggregate:
    """Translate APPROX_QUANTILES(x, 100)[OFFSET(50)]: one of several quantiles."""
    this, places = take(node, "this", "expressions")
    found = aggregate(this, scope)[0]
    way_out = "Write APPROX_QUANTILES(x, 100)[OFFSET(50)]"
    if len(found.points) < 2 or len(places) != 1:
        raise refuse("[ ]", "it takes one of several quantiles", way_out)
    (place,), first = places, 0
    if isinstance(place, exp.Anonymous):
        name, arguments = take(place, "this", "expressions")
        word = str(name).upper()
        if word not in ("OFFSET", "SAFE_OFFSET", "ORDINAL", "SAFE_ORDINAL") or len(arguments or []) != 1:
            raise refuse("[ ]", "it takes one of several quantiles", way_out)
        (place,), first = arguments, int(word.endswith("ORDINAL"))
    at = read_number(place) - first
    if at.denominator != 1 or not 0 <= at < len(found.points):
        raise refuse("[ ]", f"it is a place from {first} to {len(found.points) - 1 + first}", way_out)
    return replace(found, points=(found.points[int(at)],))


def _pair(name: str, places: Arguments, scope: Scope) -> Aggregate:
    places, bounds = read_arguments(name, places)
    if len(places) != 2 or bounds:
        raise refuse(name, "it takes two numbers", f"Write {name}(y, x)")
    spend(_PAIR)
    first, second = (numeric(place, scope) for place in places)
    for number in (first, second):
        if all(coefficient == 0 or not atoms for atoms, coefficient in number.terms):
            raise refuse(name, "it is computed of a constant", "Use a column")
    if name == "REGR_COUNT":
        return Aggregate("count", _beside(multiply(constant(0), first), second))
    if name in ("REGR_AVGX", "REGR_AVGY"):
        pair = (second, first) if name == "REGR_AVGX" else (first, second)
        return Aggregate("average", _beside(*pair))
    kind = _PAIRS[name]
    if kind in ("correlation", "covariance_pop", "covariance_samp", "determination"):
        first, second = sorted((first, second), key=repr)  # either way round it is the same
    found = Aggregate(kind, first, other=second)
    measures(found, scope.tables)  # refuses what an engine could not add up exactly
    return found


def _beside(number: Polynomial, other: Polynomial) -> Polynomial:
    """Return a number that is missing where another one is."""
    return add(number, multiply(constant(0), other))


def number_or_day(node: exp.Expression, scope: Scope) -> Polynomial:
    """Translate what has a smallest and a largest value: a number, or the days of one column of dates."""
    if _is_day(node, scope):
        return variable(scope.field(node))
    chosen = operand(node, scope) if is_choice(node) else None
    if not isinstance(chosen, Day):
        return numeric(node, scope)
    if find_day(Aggregate("minimum", chosen.number), scope.tables) is None:
        way_out = "Write MIN(CASE WHEN ... THEN day END) of one column of dates"
        raise refuse("an aggregate of dates", "they are those of one column as they are", way_out)
    return chosen.number


def _is_day(node: exp.Expression, scope: Scope) -> bool:
    return isinstance(node, exp.Column) and isinstance(scope.column(scope.field(node)), Date)


def _chosen(
    found: Aggregate, bounds: dict[str, tuple[Fraction, Fraction]], name: str, scope: Scope
) -> Aggregate:
    made = bound_rows(found, bounds, name, scope)
    measures(made, scope.tables)  # refuses what an engine could not compute
    return made


def _read_order(order: exp.Expression) -> tuple[exp.Expression, bool]:
    """Return what WITHIN GROUP orders by, and whether the largest comes first."""
    (listed,) = take(order, "expressions")
    if len(listed) != 1 or not isinstance(listed[0], exp.Ordered):
        raise refuse("WITHIN GROUP", "it orders by one number", "Write WITHIN GROUP (ORDER BY x)")
    # Where missing values sort does not matter: they are left out.
    inner, descending, _ = take(listed[0], "this", "desc", "nulls_first")
    return inner, bool(descending)


_CALLS: dict[str, Callable[[str, Arguments, Scope], Aggregate]] = {
    "MAX": _extreme,
    "MIN": _extreme,
    **dict.fromkeys(_DISTINCT, _distinct),
    **dict.fromkeys((*_PAIRS, "REGR_AVGX", "REGR_AVGY", "REGR_COUNT"), _pair),
}
AGGREGATES = frozenset((*KNOWN, *INSTEAD, *_POINTS, *_CALLS, "MODE"))
"""Names of aggregates, known or refused: what they stand in is computed for a group, not for a row."""
