"""The aggregates: each call by name, each argument by place or by name, anything else refused."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.core.errors import Refused
from discreet.data.plan.canonical import conjunction, is_there
from discreet.data.plan.kinds import Kind
from discreet.data.plan.measures import measures
from discreet.data.plan.narrowing import narrow
from discreet.data.plan.nodes import Aggregate
from discreet.data.plan.numbers import Scaled, scale
from discreet.data.plan.row_nodes import TRUE, Condition, Polynomial
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.schema import Schema, User
from discreet.data.sql.nodes import Scope, refuse_unknown, take
from discreet.data.sql.rows.function_calls import ROW_FUNCTIONS, WAYS_OUT
from discreet.data.sql.rows.language import condition, counted, numeric, summand
from discreet.data.sql.selected.choices import chooses_no_number, find_unit, is_choice, read_choice
from discreet.data.sql.selected.counted import count_ones, count_present, count_where, is_zero_or_one, keep
from discreet.data.sql.text import refuse

MAX_QUANTILES = 100
_KINDS: dict[str, Kind] = {
    "SUM": "sum",
    "AVG": "average",
    "MEAN": "average",
    "VARIANCE": "variance_samp",
    "VAR": "variance_samp",
    "VAR_SAMP": "variance_samp",
    "VAR_POP": "variance_pop",
    "STD": "deviation_samp",
    "STDDEV": "deviation_samp",
    "STDDEV_SAMP": "deviation_samp",
    "STDDEV_POP": "deviation_pop",
}
_NAMES: dict[Kind, str] = {
    "count_units": "units",
    "count_distinct": "distinct",
    "minimum": "min",
    "maximum": "max",
    "correlation": "corr",
    "determination": "r2",
}
_POINT = ("PERCENTILE_CONT", "QUANTILE", "QUANTILE_CONT", "APPROX_QUANTILE")
_COUNT_IF = ("COUNTIF", "COUNT_IF")
KNOWN = ("COUNT", *_COUNT_IF, *_KINDS, "MEDIAN", "APPROX_QUANTILES", *_POINT)
_USE = (
    "Use COUNT, SUM, AVG, VARIANCE, STDDEV, MIN, MAX, MEDIAN, QUANTILE, MODE or CORR; if it is a "
    "function of these, compute it from the answer, which costs nothing"
)
_MOMENTS = "Ask for AVG(x), AVG(x * x), AVG(x * x * x) and so on, and compute it from these for nothing"
_BUCKETS = "Write SELECT WIDTH_BUCKET(x, 0, 100, 10) AS bucket, COUNT(*) with GROUP BY bucket"
_PARTED = "Select the columns apart, and write the text from the answer"
_MOST = "GROUP BY the value, and ORDER BY COUNT(*) DESC LIMIT 3"
_WAYS = WAYS_OUT | {
    "APPROX_TOP_COUNT": _MOST,
    "APPROX_TOP_K": _MOST,
    "APPROX_TOP_SUM": "GROUP BY the value, and ORDER BY SUM(x) DESC LIMIT 3",
    "FORMAT": _PARTED,
    "GEOMEAN": "Write EXP(AVG(LN(x)))",
    "GEOMETRIC_MEAN": "Write EXP(AVG(LN(x)))",
    "HISTOGRAM": _BUCKETS,
    "HISTOGRAM_NUMERIC": _BUCKETS,
    "PRINTF": _PARTED,
    "KURTOSIS": _MOMENTS,
    "SKEWNESS": _MOMENTS,
}
_PERSON = "its answer is some person's own value"
INSTEAD = {
    "ANY_VALUE": (_PERSON, "Use MODE(x), MEDIAN(x), MIN(x) or MAX(x)"),
    "ARG_MAX": (_PERSON, "GROUP BY the value, and ORDER BY MAX(x) DESC LIMIT 1"),
    "ARG_MIN": (_PERSON, "GROUP BY the value, and ORDER BY MIN(x) LIMIT 1"),
    "ARRAY_AGG": ("it lists the values of single rows", "GROUP BY the value and ask for COUNT(*)"),
    "BOOL_AND": ("one row decides it", "Compare the counts: ask for COUNT(*) with the condition in WHERE"),
    "BOOL_OR": ("one row decides it", "Compare the counts: ask for COUNT(*) with the condition in WHERE"),
    "FIRST": (_PERSON, "Use MIN(x), MAX(x) or MODE(x)"),
    "FIRST_VALUE": (_PERSON, "Use MIN(x), MAX(x) or MODE(x)"),
    "GROUP_CONCAT": ("it lists the values of single rows", "GROUP BY the value and ask for COUNT(*)"),
    "LAST": (_PERSON, "Use MIN(x), MAX(x) or MODE(x)"),
    "LAST_VALUE": (_PERSON, "Use MIN(x), MAX(x) or MODE(x)"),
    "LIST": ("it lists the values of single rows", "GROUP BY the value and ask for COUNT(*)"),
    "LISTAGG": ("it lists the values of single rows", "GROUP BY the value and ask for COUNT(*)"),
    "BROUND": ("halves are rounded away from 0 here", "Write ROUND(x, 1)"),
    "COLLECT_LIST": ("it lists the values of single rows", "GROUP BY the value and ask for COUNT(*)"),
    "COLLECT_SET": ("it lists the values of single rows", "GROUP BY the value and ask for COUNT(*)"),
    "MAX_BY": (_PERSON, "GROUP BY the value, and ORDER BY MAX(x) DESC LIMIT 1"),
    "MIN_BY": (_PERSON, "GROUP BY the value, and ORDER BY MIN(x) LIMIT 1"),
    "STRING_AGG": ("it lists the values of single rows", "GROUP BY the value and ask for COUNT(*)"),
}
INSTEAD |= {"LOGICAL_AND": INSTEAD["BOOL_AND"], "LOGICAL_OR": INSTEAD["BOOL_OR"]}
ROW, GROUP = "contribution_bounds_per_row", "contribution_bounds_per_group"
Bounds = tuple[Fraction, Fraction]
_NO_TABLES = PlanTables(())
_ONE = Fraction(1)


def aggregate(node: exp.Expression, scope: Scope) -> tuple[Aggregate, str]:
    """Translate an aggregate; return it with the name it has where the request gives none."""
    kept: Condition = TRUE
    if isinstance(node, exp.Filter):
        node, filtered = take(node, "this", "expression")
        kept = condition(take(filtered, "this")[0], scope)
        scope = replace(scope, known=narrow(scope.known, kept, scope.tables))
    ordered: exp.Expression | None = None
    if isinstance(node, exp.WithinGroup):
        node, order = take(node, "this", "expression")
        ordered = _read_order(order)
    if not isinstance(node, exp.Anonymous):
        raise refuse_unknown(node, "SELECT")
    name, arguments = take(node, "this", "expressions")
    name = str(name).upper()
    if name not in KNOWN:
        raise _refuse_call(name)
    places, bounds = read_arguments(name, arguments or [])
    if ordered is not None:
        if name != "PERCENTILE_CONT" or len(places) != 1:
            raise refuse(f"{name} WITHIN GROUP", "only PERCENTILE_CONT takes it", "Leave it out")
        places = [ordered, *places]
    if name in _COUNT_IF:
        return _count_if(name, places, bounds, kept, scope)
    if name == "COUNT":
        return _count(places, bounds, kept, scope)
    return _of_numbers(name, places, bounds, kept, scope)


def _refuse_call(name: str) -> Refused:
    """Return the refusal of a call in SELECT that is no known aggregate."""
    if name in INSTEAD:
        return refuse(name, *INSTEAD[name])
    if name in ROW_FUNCTIONS:
        why = "it is computed in each row, and SELECT holds keys, aggregates and what is computed of them"
        return refuse(f"function {name}", why, f"GROUP BY {name}(...), or put it in an aggregate")
    return refuse(f"function {name}", "it is not known here", _WAYS.get(name, _USE))


def read_arguments(
    name: str, arguments: list[exp.Expression]
) -> tuple[list[exp.Expression], dict[str, Bounds]]:
    """Part arguments by place from contribution bounds."""
    places: list[exp.Expression] = []
    bounds: dict[str, Bounds] = {}
    for argument in arguments:
        if not isinstance(argument, exp.Kwarg):
            places.append(argument)
            continue
        key, value = take(argument, "this", "expression")
        word = take(key, "this")[0] if isinstance(key, exp.Var | exp.Identifier) else None
        if word not in (ROW, GROUP) or bounds:
            raise refuse(f"{name}(... => ...)", "it is not a known argument", f"Use {ROW} or {GROUP}, once")
        bounds[word] = _pair(value)
    return places, bounds


def _pair(node: exp.Expression) -> Bounds:
    ends = take(node, "expressions")[0] if isinstance(node, exp.Tuple) else []
    if len(ends) != 2:
        raise refuse("contribution bounds", "they are a pair of numbers", "Write => (0, 100)")
    low, high = (read_number(end) for end in ends)
    if not low < high:
        raise refuse("contribution bounds", "the first must be below the second", "Write => (0, 100)")
    return low, high


def read_number(node: exp.Expression) -> Fraction:
    """Return a number that the request wrote."""
    nowhere = Scope(_NO_TABLES, {}, {})
    value = numeric(node, nowhere)
    return sum((coefficient for _, coefficient in value.terms), Fraction(0))


def _count_if(
    name: str, places: list[exp.Expression], bounds: dict[str, Bounds], kept: Condition, scope: Scope
) -> tuple[Aggregate, str]:
    if len(places) != 1 or ROW in bounds:
        raise refuse(name, "it takes one condition", f"Write {name}(x > 0)")
    kept = conjunction([kept, condition(places[0], scope)], scope.tables)
    return count_rows(kept, bounds.get(GROUP), scope)


def count_rows(kept: Condition, group: Bounds | None, scope: Scope) -> tuple[Aggregate, str]:
    """Count the rows that meet a condition: a row that fails it adds nothing."""
    found = count_where(kept, scope)
    return Aggregate("count", found, group_bounds=_bound_count(group, scope)), "count"


def _count(
    places: list[exp.Expression], bounds: dict[str, Bounds], kept: Condition, scope: Scope
) -> tuple[Aggregate, str]:
    if len(places) != 1 or ROW in bounds:
        raise refuse("COUNT", "it takes * or one column", "Write COUNT(*)")
    group = bounds.get(GROUP)
    (what,) = places
    if isinstance(what, exp.Star) or _is_literal(what):
        if isinstance(what, exp.Star):
            take(what)
        return count_rows(kept, group, scope)
    if not isinstance(what, exp.Distinct):
        if chooses_no_number(what, scope):
            test, (column,) = read_choice(what, scope)
            chosen = scope.field(column)
            there = [] if chosen == find_unit(scope) else [is_there(chosen, scope.tables)]
            return count_rows(conjunction([kept, test, *there], scope.tables), group, scope)
        present = counted(what, scope)
        if not isinstance(present, Polynomial):
            return count_rows(conjunction([kept, present], scope.tables), group, scope)
        number = count_present(keep(present, kept, scope), scope)
        found = Aggregate("count", number, group_bounds=_bound_count(group, scope))
        return _name_aggregate(found, "count")
    (columns,) = take(what, "expressions")
    if len(columns) == 1 and is_choice(columns[0]):
        test, columns = read_choice(columns[0], scope)
        kept = conjunction([kept, test], scope.tables)
    field = scope.field(columns[0]) if len(columns) == 1 else None
    if field is None or field != find_unit(scope) or group is not None:
        way_out = "Write COUNT(DISTINCT x), and put the condition in WHERE"
        raise refuse("COUNT(DISTINCT ...)", "only the privacy unit can be counted so", way_out)
    if kept == TRUE:
        return Aggregate("count_units"), "units"
    # A unit counts once where some row of it meets the condition: its rows that do, at most 1.
    return count_rows(kept, (Fraction(0), Fraction(1)), scope)[0], "units"


def _of_numbers(
    name: str, places: list[exp.Expression], bounds: dict[str, Bounds], kept: Condition, scope: Scope
) -> tuple[Aggregate, str]:
    points: tuple[Fraction, ...] = ()
    if name == "MEDIAN":
        points = (Fraction(1, 2),)
    elif name not in _KINDS:
        if len(places) != 2:
            raise refuse(name, "it takes a number and which quantile", f"Write {name}(x, 0.5)")
        points = _points(name, read_number(places.pop()))
    if len(places) != 1:
        raise refuse(name, "it takes one number", f"Write {name}(x)")
    if isinstance(places[0], exp.Distinct):
        way_out = f"Write {name}(x), COUNT(DISTINCT x), or GROUP BY x and compute it from the answer"
        raise refuse(f"{name}(DISTINCT ...)", "only COUNT takes DISTINCT", way_out)
    kind = _KINDS.get(name, "quantile")
    read = summand if kind in ("sum", "average") else numeric
    number = keep(read(places[0], scope), kept, scope)
    if kind == "sum" and not bounds:
        if is_zero_or_one(number, scope):
            return _name_aggregate(Aggregate("count", count_ones(number, scope)), "sum")
    row, group = bounds.get(ROW), bounds.get(GROUP)
    if group is not None and kind not in ("sum", "average"):
        raise refuse(f"{name}(... {GROUP} ...)", "it is for SUM, COUNT and AVG", f"Use {ROW}")
    if kind == "average" or not isinstance(scope.main.unit, User):
        # Our average is over rows: bounds on each row also bound each unit's own average. And where a row is
        # a unit, what it adds is all that the unit adds.
        row, group = row or group, None
    exact = scale(number, scope.tables)
    row = _row_bounds(row, exact, kind)
    group = _group_bounds(group, _natural(row, exact, _rows(scope)), exact.unit)
    found = Aggregate(kind, number, row, group, points)
    measures(found, scope.tables)  # refuses what an engine could not add up exactly
    return _name_aggregate(found, kind)


def bound_rows(found: Aggregate, bounds: dict[str, Bounds], name: str, scope: Scope) -> Aggregate:
    """Return what is chosen of rows, each clamped to the bounds that the request gives."""
    if found.number is None or GROUP in bounds:
        raise refuse(f"{name}(... {GROUP} ...)", "it is for SUM, COUNT and AVG", f"Use {ROW}")
    row = _row_bounds(bounds.get(ROW), scale(found.number, scope.tables), found.kind)
    return replace(found, row_bounds=row)


def _points(name: str, value: Fraction) -> tuple[Fraction, ...]:
    if name != "APPROX_QUANTILES":
        if not 0 <= value <= 1:
            raise refuse(name, "a quantile lies between 0 and 1", f"Write {name}(x, 0.5)")
        return (value,)
    if value.denominator != 1 or not 1 <= value <= MAX_QUANTILES:
        raise refuse(name, f"it takes a whole number from 1 to {MAX_QUANTILES}", f"Write {name}(x, 4)")
    return tuple(Fraction(k, int(value)) for k in range(int(value) + 1))


def _row_bounds(asked: Bounds | None, exact: Scaled, kind: Kind) -> Bounds | None:
    """Cut the asked bounds to what the columns allow; None where that leaves nothing to clamp."""
    low, high = (end * exact.unit for end in exact.span)
    if low == high and (kind != "sum" or low == 0):
        raise refuse("aggregate", "it is computed of a constant", "Use a column")
    if asked is None or (asked[0] <= low and asked[1] >= high):
        return None
    cut = max(asked[0], low), min(asked[1], high)
    if not cut[0] < cut[1]:
        raise refuse("contribution bounds", "they leave one value at most", "Choose wider bounds")
    return _on_grid(cut, exact.unit)


def _natural(row: Bounds | None, exact: Scaled, rows: int) -> Bounds:
    """Return the range of one unit's total in a group where it has a row."""
    low, high = row if row is not None else (exact.span[0] * exact.unit, exact.span[1] * exact.unit)
    return min(low, rows * low), max(high, rows * high)


def _group_bounds(asked: Bounds | None, natural: Bounds, unit: Fraction) -> Bounds | None:
    """Cut the asked bounds to what a unit's total can be; None where that leaves nothing to clamp."""
    if asked is None or (asked[0] <= natural[0] and asked[1] >= natural[1]):
        return None
    cut = max(asked[0], natural[0]), min(asked[1], natural[1])
    if not cut[0] < cut[1]:
        raise refuse("contribution bounds", "they leave one value at most", "Choose wider bounds")
    return _on_grid(cut, unit)


def _bound_count(asked: Bounds | None, scope: Scope) -> Bounds | None:
    return _group_bounds(asked, (Fraction(0), Fraction(_rows(scope))), _ONE)


def keep_bounds(found: Aggregate, number: Polynomial, scope: Scope) -> Aggregate:
    """Return an aggregate of fewer rows, whose number may have larger steps; refuse bounds between these."""
    for bounds in (found.row_bounds, found.group_bounds):
        if bounds is not None:
            _on_grid(bounds, scale(number, scope.tables).unit)
    return replace(found, number=number)


def _on_grid(bounds: Bounds, unit: Fraction) -> Bounds:
    """Return bounds of a number that is a multiple of a unit; refuse others, which would be rounded."""
    if any((end / unit).denominator != 1 for end in bounds):
        why = f"they are not multiples of {float(unit):g}"
        raise refuse("contribution bounds", why, "Choose bounds on the column's grid")
    return bounds


def _rows(scope: Scope) -> int:
    """Rows of one unit, before any tightening by the request: bounds wider than these change nothing."""
    rows = 1
    for relation in scope.names.values():
        rows *= relation.unit.max_rows if isinstance(relation, Schema) else 1
    return rows


def default_name(found: Aggregate) -> str:
    """Return what an aggregate is called where the request gives no name."""
    name = _NAMES.get(found.kind, found.kind)
    fields = () if found.number is None or found.other is not None else found.number.fields
    fields = fields if found.column is None else (found.column,)
    return f"{name}_{fields[0].name}" if len(fields) == 1 else name


def _name_aggregate(found: Aggregate, name: str) -> tuple[Aggregate, str]:
    if found.number is None:
        return found, name
    if not found.number.fields:
        raise refuse(name, "it is computed of a constant", "Use a column")
    return found, default_name(found)


def _read_order(order: exp.Expression) -> exp.Expression:
    (listed,) = take(order, "expressions")
    if len(listed) != 1 or not isinstance(listed[0], exp.Ordered):
        raise refuse("WITHIN GROUP", "it orders by one number", "Write WITHIN GROUP (ORDER BY x)")
    # Where missing values sort does not matter: they are left out.
    (inner, _) = take(listed[0], "this", "nulls_first")
    if not isinstance(inner, exp.Expression):
        raise refuse_unknown(listed[0], "WITHIN GROUP")
    return inner


def _is_literal(node: exp.Expression) -> bool:
    return isinstance(node, exp.Literal) and take(node, "this", "is_string") == ("1", False)
