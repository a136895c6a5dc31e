"""Calls of functions: each by name, each argument by place; the word for a part of a date is no column."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.data.plan.atoms import MAX_PIECES, choose, from_values
from discreet.data.plan.evaluate import ABSENT
from discreet.data.plan.narrowing import exclude, narrow
from discreet.data.plan.numbers import value_of, variable
from discreet.data.plan.row_nodes import Condition, Polynomial, StepFunction
from discreet.data.plan.tables import is_declared
from discreet.data.plan.tabulate import MAX_TABULATED, OneColumn
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.curved import CURVED_FUNCTIONS, read_rounded
from discreet.data.sql.rows.date_texts import DATE_TEXTS
from discreet.data.sql.rows.dates import DATE_FUNCTIONS, NOW, UNIT_FIRST, is_part, read_interval, today
from discreet.data.sql.rows.free_texts import read_affix
from discreet.data.sql.rows.functions import FUNCTIONS, Function
from discreet.data.sql.rows.operands import MISSING, Day, Missing, Operand, Ratio, unify, wrap
from discreet.data.sql.rows.texts import TEXT_FUNCTIONS
from discreet.data.sql.rows.translate import condition, operand
from discreet.data.sql.text import refuse

_FUNCTIONS: dict[str, tuple[int, int, Function]] = {
    **FUNCTIONS,
    **TEXT_FUNCTIONS,
    **DATE_FUNCTIONS,
    **DATE_TEXTS,
    **CURVED_FUNCTIONS,
}
_OF_GROUPS = ("COUNT", "COUNTIF", "SUM", "AVG", "MIN", "MAX", "MEDIAN", "STDDEV", "VARIANCE")
ROW_FUNCTIONS = frozenset(_FUNCTIONS)
"""Names of functions that are computed in each row."""
_KNOWN = (
    "Known are CASE, IF, COALESCE, NULLIF, ABS, SIGN, ROUND, FLOOR, CEIL, TRUNC, MOD, LEAST, GREATEST, "
    "SAFE_DIVIDE, LN, LOG10, SQRT, EXP, POWER, CAST, LOWER, UPPER, SUBSTR, TRIM, CONCAT, REPLACE, LIKE, "
    "REGEXP_LIKE, EXTRACT, DATE_TRUNC, DATE_ADD, DATE_DIFF"
)
_APART = "Write day1 - day2 for the days between two dates, or DATE_DIFF(day1, day2, MONTH)"
_ALL = "Leave it out: a question about all rows costs what one about some of them costs"
_HOURS = "Dates have no time of day here: ask the owner to declare the hour as a column of its own"
WAYS_OUT = {
    "AGE": f"{_APART}; who is older is day < CURRENT_DATE - INTERVAL '3 years'",
    "ALL": "Write x NOT IN ('a', 'b')",
    "ANY": "Write x IN ('a', 'b')",
    **dict.fromkeys(("DATE", "TO_DATE"), "Write DATE '2020-12-31'"),
    "DATE_FROM_UNIX_DATE": "Compare the date itself, as in day >= DATE '2020-12-31'",
    "DECODE": "Write CASE x WHEN 'a' THEN 1 WHEN 'b' THEN 2 ELSE 0 END",
    "EPOCH": _APART,
    "HOUR": _HOURS,
    "ISNULL": "Write x IS NULL, or COALESCE(x, 0)",
    "JULIANDAY": _APART,
    "JULIAN": _APART,
    "MAKE_DATE": "Write DATE_TRUNC(day, MONTH), or DATE '2020-12-31'",
    "MINUTE": _HOURS,
    "MONTHS_BETWEEN": _APART,
    "NEXT_DAY": "Write DATE_TRUNC('week', day), the Monday before",
    "NVL2": "Write CASE WHEN x IS NOT NULL THEN 'a' ELSE 'b' END",
    "RAND": _ALL,
    "RANDOM": _ALL,
    "SECOND": _HOURS,
    "TIMESTAMPDIFF": _APART,
    "UNIX_TIMESTAMP": _HOURS,
    "YEARWEEK": "GROUP BY EXTRACT(ISOYEAR FROM day), EXTRACT(WEEK FROM day), or DATE_TRUNC('week', day)",
}
"""What to write in the place of functions that are not known."""
_DEPEND = ("DIV", "MOD", "SAFE_DIVIDE", *CURVED_FUNCTIONS)
"""What is refused or made by what is known of the rows: not the same in every place."""
MAX_ARGUMENTS = 4_000


def is_now(node: exp.Expression, scope: Scope) -> bool:
    """Say whether a name without brackets is today: a column of that name comes first."""
    name = node.args.get("this")
    if not isinstance(name, exp.Identifier) or name.args.get("quoted") or node.args.get("table") is not None:
        return False
    is_column = any(scope.tables.field(one.name, name.name) is not None for one in scope.names.values())
    return name.name.upper() in NOW and not is_column


def decide(tests: Sequence[Condition], values: Sequence[Operand], what: str, scope: Scope) -> Operand:
    """Return the first value whose test holds, and the last one where none does."""
    if all(isinstance(value, Missing) for value in values):
        return MISSING
    kind, numbers, labels = unify(values, what, scope.tables)
    cases = list(zip(tests, numbers[:-1], strict=True))
    return wrap(kind, choose(cases, numbers[-1], scope.tables), labels, scope.tables)


def _if(arguments: list[exp.Expression], scope: Scope) -> Operand:
    test = condition(arguments[0], scope)
    inside = replace(scope, known=narrow(scope.known, test, scope.tables))
    values = [operand(arguments[1], inside)]
    outside = replace(scope, known=exclude(scope.known, test, scope.tables))
    values.append(operand(arguments[2], outside) if len(arguments) > 2 else MISSING)
    return decide([test], values, "IF", scope)


def read_call(node: exp.Expression, scope: Scope) -> Operand:
    """Translate a call of a function."""
    name = str(node.args.get("this")).upper()
    if name in ("IF", "IIF"):
        return _if(arguments_of(node, name, 2, 3), scope)
    if name in NOW:
        arguments_of(node, name, 0, 0)
        return today(scope)
    if name == "STEPS":
        return _read_steps(arguments_of(node, name, 4, MAX_ARGUMENTS), scope)
    if name in _OF_GROUPS:
        way_out = "A condition on it stands in HAVING; one on each unit's own stands around a subquery"
        raise refuse(f"{name} in a row", "it is a number of many rows", way_out)
    if name not in _FUNCTIONS:
        raise refuse(f"function {node.args.get('this')}", "it is not known here", WAYS_OUT.get(name, _KNOWN))
    least, most, function = _FUNCTIONS[name]
    given = arguments_of(node, name, least, most)
    told = read_affix(name, given, scope)
    if told is not None:
        return told
    curved = read_rounded(name, given, scope) if given else None
    if curved is not None:
        return curved
    word = _unit_place(name, given)
    sides = [
        str(part.name).lower() if place == word else _argument(name, part, scope)
        for place, part in enumerate(given)
    ]
    if name in _DEPEND or not all(isinstance(side, Polynomial | Day | str | Ratio) for side in sides):
        return function(name, sides, scope)
    return compute_once((name, *sides), lambda: function(name, sides, scope), scope)


def compute_once(asked: tuple[object, ...], compute: Callable[[], Operand], scope: Scope) -> Operand:
    """Compute what a question asks for many times once."""
    known = scope.work.computed
    if asked not in known:
        known[asked] = compute()
    found: Operand = known[asked]
    return found


def _unit_place(name: str, given: Sequence[exp.Expression]) -> int | None:
    """Return which argument is the bare word for a part of a date, whatever columns are called."""
    if isinstance(given[0], exp.Literal):
        return None
    words = [place for place, part in enumerate(given) if _is_unit(part)]
    places: tuple[int, ...] = (1,) if name == "DATE_TRUNC" else (0,) if name in UNIT_FIRST else ()
    if name == "DATE_ADD" and len(given) == 3:
        places = (0,)
    if name in ("DATE_DIFF", "DATEDIFF") and len(given) == 3:
        places = (2, 0)
    return next((place for place in places if place in words), None)


def _is_unit(node: exp.Expression) -> bool:
    bare = isinstance(node, exp.Column) and node.args.get("table") is None
    return (bare or isinstance(node, exp.Var)) and is_part(node.name)


def _argument(name: str, node: exp.Expression, scope: Scope) -> Any:
    if isinstance(node, exp.Interval) and name in DATE_FUNCTIONS:
        return read_interval(node)
    return operand(node, scope)


def _read_steps(given: list[exp.Expression], scope: Scope) -> Operand:
    """Read what a plan prints: a column, its number where it is missing, then last codes and numbers."""
    field = scope.field(given[0])
    way_out = "Write CASE WHEN ... THEN ... END"
    if not is_declared(scope.column(field)):
        raise refuse("STEPS", "it takes a declared column", way_out)
    low, high = scope.tables.span(field)
    missing, *listed = (_whole_or_missing(part, scope) for part in given[1:])
    lasts, codes = listed[::2], listed[1::2]
    pairs = zip([low - 1, *lasts[:-1]], lasts, strict=True)
    ascend = all(a is not None and b is not None and a < b for a, b in pairs)
    if len(lasts) != len(codes) or not ascend or lasts[-1] != high:
        raise refuse("STEPS", "its codes ascend to the last one of the column", way_out)
    if high - low >= MAX_TABULATED:
        # Of a column with more codes than are listed there are logarithms and roots: as they were printed.
        same = any(one == other for one, other in pairwise(codes))
        if same or missing is not None or len(codes) > MAX_PIECES:
            raise refuse("STEPS", f"it has at most {MAX_PIECES} different steps there", way_out)
        pieces = tuple((last, code) for last, code in zip(lasts, codes, strict=True) if last is not None)
        return MISSING if codes == [None] else variable(StepFunction(field, pieces, None))
    counts = np.diff([low - 1, *(last for last in lasts if last is not None)])
    numbers = np.array([ABSENT if code is None else code for code in codes], dtype=np.int64)
    known = OneColumn(field, low, np.repeat(numbers, counts), ABSENT if missing is None else missing)
    found = from_values(known, Fraction(1), scope.tables)
    return MISSING if found is None else found


def _whole_or_missing(node: exp.Expression, scope: Scope) -> int | None:
    side = operand(node, scope)
    value = value_of(side) if isinstance(side, Polynomial) else None
    if isinstance(side, Missing):
        return None
    if value is None or value.denominator != 1 or abs(value) > 1 << 62:
        raise refuse("STEPS", "it takes whole numbers", "Write CASE WHEN ... THEN ... END")
    return int(value)


def arguments_of(node: exp.Expression, name: str, least: int, most: int) -> list[exp.Expression]:
    """Return the arguments of a call; refuse too few or too many."""
    _, listed = take(node, "this", "expressions")
    found = list(listed or [])
    if not least <= len(found) <= most:
        count = str(least) if least == most else f"{least} to {most}"
        noun = "argument" if count == "1" else "arguments"
        raise refuse(name, f"it takes {count} {noun}", WAYS_OUT.get(name, f"Give {name} {count}"))
    return found
