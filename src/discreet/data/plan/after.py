"""What is computed from released values: arithmetic, comparisons and CASE, checked once and total.

Nothing here can fail on a value: what has none (a division by 0, the root of a negative number) is missing,
and what is computed from a missing value is missing, as in SQL. Numbers are exact fractions.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Literal

from discreet.core.errors import InternalError, Refused
from discreet.data.plan.curved.logarithms import MAX_EXPONENT, exponential, ln
from discreet.data.plan.key_nodes import ComputedKey, Key
from discreet.data.plan.kinds import Function
from discreet.data.plan.measures import find_day
from discreet.data.plan.nodes import (
    Aggregate,
    Computed,
    Constant,
    Plan,
    Shown,
    Windowed,
    leaves,
    list_looked_at,
    list_window,
)
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Boolean, Category, Date, Decimal, Integer

Exact = Fraction | str | bool | datetime.date | None
"""A value as it is computed with."""
Sort = Literal["number", "text", "date", "truth", "anything", "list"]
"""What sort of value something is; anything for the missing one, a list for several quantiles."""

MAX_PARTS = 1_000
"""Constants, keys, aggregates and functions in all that one question computes."""
MAX_DEPTH = 60
"""Functions inside one another."""
MAX_COMPUTED = 2_000_000
"""The same parts, in all groups together."""
MAX_POWER = 8
MAX_DIGITS = 18
ROOT_DIGITS = 64
"""Binary digits of a square root."""

_SIGNS: tuple[Function, ...] = ("=", "<>", "<", "<=")
_LOGIC: tuple[Function, ...] = ("and", "or", "not")
_ONE: tuple[Function, ...] = ("abs", "sign", "sqrt", "floor", "ceil")
_ROUNDING: tuple[Function, ...] = ("round", "trunc")
_WHOLE: tuple[Function, ...] = ("sign", "floor", "ceil")
_AS_PARTS: tuple[Function, ...] = ("+", "-", "*", "%", "abs", "least", "greatest", "coalesce", "nullif")


def compute(function: Function, parts: Sequence[Shown], tables: PlanTables) -> Computed:
    """Return what a function makes of some parts.

    Raises
    ------
    Refused
        Where the parts are of the wrong sort, or it is nested too deep.
    """
    made = Computed(function, tuple(parts))
    find_sort(made, tables)
    if _depth(made) > MAX_DEPTH:
        why = f"functions stand more than {MAX_DEPTH} deep in one another"
        raise Refused(what="arithmetic", why=why, way_out="Compute the rest from the answer")
    return made


def find_sort(what: Shown, tables: PlanTables) -> Sort:
    """Return what sort of value something is; refuse a function of parts of the wrong sort."""
    if isinstance(what, Field):
        return _sort_of_column(what, tables)
    if isinstance(what, ComputedKey):
        return _sort_of_key(what)
    if isinstance(what, Aggregate):
        if what.kind == "mode" and what.column is not None:
            return _sort_of_column(what.column, tables)
        if len(what.points) > 1:
            return "list"
        return "number" if find_day(what, tables) is None else "date"
    if isinstance(what, Constant):
        return _sort_of_constant(what.value)
    if isinstance(what, Windowed):
        return _sort_of_window(what, tables)
    return _sort_of_computed(what.function, [find_sort(part, tables) for part in what.parts])


def _sort_of_column(field: Field, tables: PlanTables) -> Sort:
    column = tables.column(field)
    if isinstance(column, Integer | Decimal):
        return "number"
    if isinstance(column, Category):
        return "text" if isinstance(column.values[0], str) else "number"
    return "date" if isinstance(column, Date) else "truth" if isinstance(column, Boolean) else "text"


def _sort_of_key(key: ComputedKey) -> Sort:
    if key.kind == "label":
        return _sort_of_constant(Fraction(key.labels[0]) if isinstance(key.labels[0], int) else key.labels[0])
    return "number" if key.kind == "number" else "date" if key.kind == "date" else "truth"


def _sort_of_constant(value: Exact) -> Sort:
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, Fraction):
        return "number"
    return "anything" if value is None else "text" if isinstance(value, str) else "date"


def _sort_of_computed(function: Function, sorts: Sequence[Sort]) -> Sort:
    if "list" in sorts:
        raise Refused(
            what="APPROX_QUANTILES",
            why="it is several numbers, and one is needed here",
            way_out="Use APPROX_QUANTILES(x, 100)[OFFSET(50)] or QUANTILE(x, 0.5)",
        )
    if function in _LOGIC:
        _agree(function, sorts, ("truth",))
        return "truth"
    if function == "is null":
        return "truth"
    if function in _SIGNS:
        _agree(function, sorts)
        return "truth"
    if function == "case":
        _agree("a condition of CASE", sorts[0:-1:2], ("truth",))
        return _agree("CASE", [*sorts[1:-1:2], sorts[-1]])
    if function in ("coalesce", "nullif", "least", "greatest"):
        return _agree(function, sorts)
    if function == "-" and "date" in sorts:
        _agree(function, sorts, ("date",))
        return "number"
    return _agree(function, sorts, ("number",))


def _sort_of_window(window: Windowed, tables: PlanTables) -> Sort:
    if window.what is None or window.function == "count":
        return "number"
    sorts = [find_sort(one, tables) for one in (window.what, window.otherwise)]
    allowed: Sequence[Sort] = ("number",) if window.function in ("sum", "average") else ()
    if "list" in sorts:
        return _sort_of_computed("+", sorts)  # which refuses
    return _agree(f"{window.function} over rows", sorts, allowed)


def _agree(what: str, sorts: Sequence[Sort], allowed: Sequence[Sort] = ()) -> Sort:
    known = list(dict.fromkeys(sort for sort in sorts if sort != "anything"))
    if len(known) > 1 or (allowed and known and known[0] not in allowed):
        words: Mapping[Sort, str] = {
            "number": "a number",
            "text": "text",
            "date": "a date",
            "truth": "a condition",
        }
        wanted = [words[sort] for sort in allowed]
        why = f"it is computed of {wanted[0]}" if wanted else "its parts are not of one kind"
        found = " and ".join(words[sort] for sort in known)
        raise Refused(
            what=what.upper(), why=f"{why}, not of {found}", way_out="Use numbers with numbers, and so on"
        )
    return known[0] if known else "anything"


def is_noisy(what: Shown) -> bool:
    """Say whether something depends on the data: whether an aggregate is part of it."""
    return any(isinstance(leaf, Aggregate) for leaf in leaves(what))


def has_interval(what: Shown, tables: PlanTables) -> bool:
    """Say whether a column has intervals: numbers and dates do that depend on the data."""
    if isinstance(what, Aggregate):  # as most columns are
        return what.kind != "mode"
    return is_noisy(what) and find_sort(what, tables) in ("number", "date", "list")


def linear_parts(what: Shown) -> dict[Aggregate, Fraction] | None:
    """Return what a sum of aggregates multiplies each by; None where it is no such sum."""
    if isinstance(what, Aggregate):
        return {what: Fraction(1)}
    if isinstance(what, Constant):
        return {}
    if not isinstance(what, Computed) or what.function not in ("+", "-", "*", "/"):
        return None
    left, right = what.parts
    if what.function in ("*", "/"):
        factor, other = (
            (right, left) if what.function == "/" or isinstance(right, Constant) else (left, right)
        )
        value = factor.value if isinstance(factor, Constant) else None
        if not isinstance(value, Fraction) or (what.function == "/" and value == 0):
            return None
        times = 1 / value if what.function == "/" else value
        found = linear_parts(other)
        return None if found is None else {one: times * c for one, c in found.items()}
    first, second = linear_parts(left), linear_parts(right)
    if first is None or second is None:
        return None
    sign = 1 if what.function == "+" else -1
    for one, times in second.items():
        first[one] = first.get(one, Fraction(0)) + sign * times
    return first


def is_whole(what: Shown, is_whole_leaf: Callable[[Key | Aggregate], bool]) -> bool:
    """Say whether a number is whole in every row, so that it is shown without a point."""
    if isinstance(what, Constant):
        return what.value is None or (isinstance(what.value, Fraction) and what.value.denominator == 1)
    if isinstance(what, Windowed):
        if what.what is None or what.function in ("count", "average"):
            return what.function != "average"
        return all(is_whole(one, is_whole_leaf) for one in (what.what, what.otherwise))
    if not isinstance(what, Computed):
        return is_whole_leaf(what)
    parts = what.parts
    if what.function in _WHOLE or (what.function in _ROUNDING and len(parts) == 1):
        return True
    if what.function == "case":
        parts = (*parts[1:-1:2], parts[-1])
    elif what.function in _ROUNDING:
        parts = parts[:1]
    elif what.function not in (*_AS_PARTS, "power"):
        return False
    return all(is_whole(part, is_whole_leaf) for part in parts)


def check_computed(plan: Plan, groups: int) -> None:
    """Refuse more to compute than one question may ask for, before anything is released.

    Raises
    ------
    Refused
        Where it is too much, for any data.
    """
    parts = count_computed(plan)
    way_out = "Compute the rest from the answer, which costs nothing"
    for found, most, what in (
        (parts, MAX_PARTS, ""),
        (parts * groups, MAX_COMPUTED, ", all groups together"),
    ):
        if found > most:
            why = f"it has {found} parts to compute{what}; {most} is the most"
            raise Refused(what="arithmetic", why=why, way_out=way_out)


def count_computed(plan: Plan) -> int:
    """Return how many parts are computed in each group."""
    looked_at = [what for branch in plan.shown_branches for what in list_looked_at(branch)]
    return sum(_count_parts(what) for what in looked_at if isinstance(what, Computed | Windowed))


def _count_parts(what: Shown) -> int:
    if isinstance(what, Windowed):
        wide = sum(rows or 0 for rows in what.frame or ()) if what.function in ("min", "max") else 0
        return 1 + wide + sum(map(_count_parts, list_window(what)))
    return 1 + (sum(map(_count_parts, what.parts)) if isinstance(what, Computed) else 0)


def _depth(what: Shown) -> int:
    if isinstance(what, Windowed):
        return 1 + max(map(_depth, list_window(what)), default=0)
    return 1 + max(map(_depth, what.parts), default=0) if isinstance(what, Computed) else 0


def evaluate(what: Shown, leaf: Callable[[Key | Aggregate | Windowed], Exact]) -> Exact:
    """Return the value of something in one row, from the values of keys, aggregates and windows there."""
    if isinstance(what, Constant):
        return what.value
    if not isinstance(what, Computed):
        return leaf(what)
    if what.function == "case":
        *cases, otherwise = what.parts
        for condition, value in zip(cases[::2], cases[1::2], strict=True):
            if evaluate(condition, leaf) is True:
                return evaluate(value, leaf)
        return evaluate(otherwise, leaf)
    values = [evaluate(part, leaf) for part in what.parts]
    if what.function in _LOGIC:
        return _logic(what.function, values)
    if what.function == "is null":
        return values[0] is None
    if what.function == "coalesce":
        return next((value for value in values if value is not None), None)
    if what.function == "nullif":
        return None if values[0] == values[1] else values[0]
    return None if None in values else _apply(what.function, values)


def _logic(function: Function, values: Sequence[Exact]) -> bool | None:
    """Decide with three truth values: what is missing is neither true nor false."""
    if function == "not":
        return None if values[0] is None else not values[0]
    decisive = function == "or"
    if any(value is decisive for value in values):
        return decisive
    return None if None in values else not decisive


def _apply(function: Function, values: Sequence[Exact]) -> Exact:
    """Apply a function to values that are all there."""
    if function in _SIGNS:
        return compare_values(function, values[0], values[1])
    if function in ("least", "greatest"):
        return (min if function == "least" else max)(values)  # type: ignore[type-var]
    if function == "-" and isinstance(values[0], datetime.date) and isinstance(values[1], datetime.date):
        return Fraction((values[0] - values[1]).days)
    numbers = [value for value in values if isinstance(value, Fraction)]
    if len(numbers) < len(values):
        raise InternalError(f"{function} is computed of numbers")
    return apply_to_numbers(function, numbers)


def compare_values(function: Function, left: Exact, right: Exact) -> bool:
    """Compare two values of one sort that are there."""
    if function in ("=", "<>"):
        return (left == right) == (function == "=")
    return left < right if function == "<" else left <= right  # type: ignore[operator]


def apply_to_numbers(function: Function, numbers: Sequence[Fraction]) -> Fraction | None:
    """Apply a function to numbers; None where it has no value there."""
    first, second = (*numbers, Fraction(0))[:2]
    if function == "+":
        return sum(numbers, Fraction(0))
    if function == "-":
        return first - second
    if function == "*":
        return math.prod(numbers, start=Fraction(1))
    if function in ("/", "%"):
        if second == 0:
            return None
        return first / second if function == "/" else first - second * math.trunc(first / second)
    if function == "power":
        return first ** int(second) if second.denominator == 1 else raise_to(first, second)
    if function == "sqrt":
        return None if first < 0 else root(first)
    if function == "ln":
        return None if first <= 0 else ln(first)
    if function == "exp":
        return None if first > MAX_EXPONENT else exponential(first)
    return round_number(function, first, int(second))


def round_number(function: Function, number: Fraction, digits: int) -> Fraction:
    """Return a number rounded, cut or without its sign: functions that never fall, but for abs."""
    if function == "abs":
        return abs(number)
    if function == "sign":
        return Fraction((number > 0) - (number < 0))
    if function == "floor":
        return Fraction(math.floor(number))
    if function == "ceil":
        return Fraction(math.ceil(number))
    if function not in _ROUNDING:
        raise InternalError(f"{function} is not known")
    scale = Fraction(10) ** digits
    away = Fraction(1, 2) if function == "round" else Fraction(0)
    size = math.floor(abs(number) * scale + away)
    return size / scale if number >= 0 else -size / scale


def raise_to(number: Fraction, exponent: Fraction) -> Fraction | None:
    """Return a broken power, rounded so that 32 to the power of 0.2 is 2; None of less than 0."""
    if number <= 0:
        return None if number < 0 else number
    product = exponent * ln(number)
    if product > MAX_EXPONENT:
        return None
    return round_number("round", exponential(product), MAX_DIGITS)


def root(number: Fraction, *, upwards: bool = False) -> Fraction:
    """Return the square root of a number >= 0, cut off 2^-64 of itself below, or above."""
    if number == 0:
        return number
    digits = ROOT_DIGITS + number.denominator.bit_length()
    found = math.isqrt((number.numerator << 2 * digits) // number.denominator)
    return Fraction(found + upwards, 1 << digits)
