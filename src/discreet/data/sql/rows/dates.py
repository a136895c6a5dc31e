"""Functions of dates: computed on the days that a column declares, when the question is read.

A week begins on Monday and week 1 holds the year's first Thursday (ISO 8601), but for BigQuery's
`DATE_TRUNC(day, WEEK)` and `DATE_DIFF(a, b, WEEK)`, where it begins on Sunday. `DOW` counts from Sunday = 0
(PostgreSQL, DuckDB), `DAYOFWEEK` from Sunday = 1 (BigQuery, Spark), `ISODOW` from Monday = 1.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.data.plan.atoms import floor_quotient, from_values
from discreet.data.plan.evaluate import ABSENT
from discreet.data.plan.numbers import add, constant, multiply, negate, scale, value_of
from discreet.data.plan.row_nodes import Polynomial
from discreet.data.plan.tabulate import OneColumn, tabulate
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.comparing import EPOCH, days
from discreet.data.sql.rows.functions import FUNCTIONS, Function, whole_of
from discreet.data.sql.rows.operands import MISSING, Day, Missing, Operand, describe
from discreet.data.sql.text import refuse, shorten

NOW = ("CURRENT_DATE", "CURRENT_TIMESTAMP", "NOW", "TODAY", "LOCALTIMESTAMP", "GETDATE")
MAX_COUNT = 100_000
Days = NDArray[np.int64]
_UNITS = ("day", "week", "month", "quarter", "year")
_PARTS = "YEAR, QUARTER, MONTH, WEEK, DAY, DOW, ISODOW, DAYOFWEEK, DOY, ISOYEAR"
_TIMES = ("hour", "minute", "second", "millisecond", "microsecond", "epoch", "timezone")
_MONTHS = {"month": 1, "quarter": 3, "year": 12}
_CUT_TO = {"MM": "month", "MON": "month", "Q": "quarter", "YYYY": "year", "YY": "year"}
_INTERVAL = re.compile(r"\s*([+-]?\d{1,6})\s*([a-z]+)\s*")


def today(scope: Scope) -> Day:
    """Return the day on which the question is read, which the plan then holds."""
    now = scope.today or datetime.datetime.now(datetime.UTC).date()
    return Day(constant(now.toordinal() - EPOCH))


def _months(given: Days) -> Days:
    """Return months since January 1970."""
    months: Days = given.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    return months


def _first(months: Days) -> Days:
    """Return the first day of months since January 1970."""
    found: Days = months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64)
    return found


def _to_month(given: Days, size: int) -> Days:
    """Return the first day of the month, quarter or year."""
    return _first(_months(given) // size * size)


def _add_months(given: Days, count: int) -> Days:
    """Return the same day of another month, or its last one."""
    months = _months(given) + count
    same: Days = np.minimum(_first(months) + given - _first(_months(given)), _first(months + 1) - 1)
    return same


def _monday(given: Days) -> Days:
    return given - (given + 3) % 7


def _iso_year(given: Days) -> Days:
    return _months(_monday(given) + 3) // 12 + 1970


def _iso_week(given: Days) -> Days:
    thursday = _monday(given) + 3
    return (thursday - _to_month(thursday, 12)) // 7 + 1


_EXTRACTED: dict[str, Callable[[Days], Days]] = {
    "year": lambda given: _months(given) // 12 + 1970,
    "quarter": lambda given: _months(given) % 12 // 3 + 1,
    "month": lambda given: _months(given) % 12 + 1,
    "week": _iso_week,
    "isoyear": _iso_year,
    "day": lambda given: given - _to_month(given, 1) + 1,
    "doy": lambda given: given - _to_month(given, 12) + 1,
    "dow": lambda given: (given + 4) % 7,
    "isodow": lambda given: (given + 3) % 7 + 1,
    "dayofweek": lambda given: (given + 4) % 7 + 1,
}
_ALIASES = {
    "yr": "year",
    "years": "year",
    "mon": "month",
    "months": "month",
    "days": "day",
    "dayofmonth": "day",
    "dayofyear": "doy",
    "isoweek": "week",
    "weekofyear": "week",
    "weeks": "week",
    "weekday": "dow",
    "quarters": "quarter",
    "dayofweek_iso": "isodow",
}


def is_part(word: str) -> bool:
    """Say whether a word names a part of a date."""
    return _name(word) in _EXTRACTED


def _name(part: str) -> str:
    word = part.strip().lower()
    return _ALIASES.get(word, word)


def extract(part: str, side: Operand, scope: Scope) -> Operand:
    """Return a part of a date as a number."""
    name = _name(part)
    if name not in _EXTRACTED:
        why, way_out = "it is not a known part of a date", f"Use {_PARTS}"
        if name in _TIMES:
            why, way_out = (
                "dates have no time of day here",
                "Ask the owner to declare it as a column",
            )
        raise refuse(f"EXTRACT({shorten(part)} ...)", why, way_out)
    if isinstance(side, Missing):
        return MISSING
    day = read_day(side, "EXTRACT")
    shifts = {"dow": 4, "isodow": 3, "dayofweek": 4}
    if name in shifts:
        # Days of the week repeat too often to be listed: they are a remainder.
        week = rest_of(add(day.number, constant(shifts[name])), 7, scope)
        return add(week, constant(0 if name == "dow" else 1))
    if name == "week":
        # The week of a year is counted from the Thursday of each: fewer pieces than there are weeks.
        monday = negate(rest_of(add(day.number, constant(3)), 7, scope))
        thursday = Day(add(add(day.number, monday), constant(3)))
        first = _apply(thursday, lambda given: _to_month(given, 12), scope)
        count = floor_quotient(add(thursday.number, negate(first)), constant(7), scope.tables)
        return MISSING if count is None else add(count, constant(1))
    if name in ("day", "doy"):
        first = _apply(day, lambda given: _to_month(given, 1 if name == "day" else 12), scope)
        return add(add(day.number, negate(first)), constant(1))
    return _apply(day, _EXTRACTED[name], scope)


def rest_of(number: Polynomial, divisor: int, scope: Scope) -> Polynomial:
    """Return what is left of a number beside a multiple of the divisor, from 0."""
    whole = floor_quotient(number, constant(divisor), scope.tables)
    return number if whole is None else add(number, multiply(constant(-divisor), whole))


def truncate(part: str, side: Operand, scope: Scope, *, sunday: bool) -> Operand:
    """Return the first day of a date's week, month, quarter or year."""
    name = _name(part)
    if name not in _UNITS:
        raise refuse(
            f"DATE_TRUNC {shorten(part)}", "dates are cut to days at most", f"Use {', '.join(_UNITS)}"
        )
    if isinstance(side, Missing):
        return MISSING
    day = read_day(side, "DATE_TRUNC")
    if name == "day":
        return day
    if name == "week":
        shift = 4 if sunday and part.strip().lower() == "week" else 3
        over = rest_of(add(day.number, constant(shift)), 7, scope)
        return Day(add(day.number, negate(over)))
    return Day(_apply(day, lambda given: _to_month(given, _MONTHS[name]), scope))


def read_day(side: Operand, what: str) -> Day:
    """Return an operand that is a date; refuse any other."""
    if isinstance(side, str):
        return Day(constant(days(side)))
    if not isinstance(side, Day):
        raise refuse(
            what, f"it takes a date, not {describe(side)}", "Name a date column, or write DATE '2020-12-31'"
        )
    return side


def list_days(day: Day, scope: Scope) -> OneColumn:
    """Return every day that a date can be."""
    known = tabulate(day.number, scope.tables)
    if known is None:
        why = "it is computed for the declared days of one column"
        raise refuse("a function of a date", why, "Name one date column with bounds of at most 65536 days")
    unit = int(scale(day.number, scope.tables).unit)
    if unit == 1:
        return known
    values = np.where(
        known.values == ABSENT, ABSENT, np.where(known.values == ABSENT, 0, known.values) * unit
    )
    missing = known.missing if known.missing == ABSENT else known.missing * unit
    return OneColumn(known.field, known.first, values, missing)


def _apply(day: Day, function: Callable[[Days], Days], scope: Scope) -> Polynomial:
    """Compute a function for every day that a date can be."""
    fixed = value_of(day.number)
    if fixed is not None:
        return constant(int(function(np.array([int(fixed)], dtype=np.int64))[0]))
    known = list_days(day, scope)
    both = np.append(known.values, known.missing)
    absent = both == ABSENT
    values = np.where(absent, ABSENT, function(np.where(absent, 0, both)))
    listed = OneColumn(known.field, known.first, values[:-1], int(values[-1]))
    found = from_values(listed, Fraction(1), scope.tables)
    if found is not None:
        return found
    apart = np.where(absent, ABSENT, values - np.where(absent, 0, both))
    moved = from_values(
        OneColumn(known.field, known.first, apart[:-1], int(apart[-1])), Fraction(1), scope.tables
    )
    if moved is None:
        why = "it has too many different values over the declared days"
        raise refuse("a function of a date", why, "Use a coarser part, or ask the owner for fewer days")
    return add(day.number, moved)


@dataclass(frozen=True, slots=True)
class Interval:
    """So many days, weeks, months, quarters and years."""

    parts: tuple[tuple[int, str], ...]


def add_interval(side: Operand, interval: Interval, sign: int, scope: Scope) -> Operand:
    """Return a date so many days, weeks, months, quarters or years later."""
    if isinstance(side, Missing):
        return MISSING
    day = read_day(side, "INTERVAL")
    for count, unit in interval.parts:
        day = _later(day, sign * count, unit, scope)
    return day


def _later(day: Day, count: int, unit: str, scope: Scope) -> Day:
    if unit in ("day", "week"):
        return Day(add(day.number, constant(count * (7 if unit == "week" else 1))))
    months = count * _MONTHS[unit]
    return Day(_apply(day, lambda given: _add_months(given, months), scope))


def read_interval(node: exp.Expression) -> Interval:
    """Return an interval of whole days."""
    value, unit = take(node, "this", "unit")
    way_out = "Write INTERVAL '30' DAY, or of WEEK, MONTH, QUARTER, YEAR"
    text = ""
    if isinstance(value, exp.Neg) and isinstance(value.this, exp.Literal):
        text = "-" + str(take(value.this, "this", "is_string")[0])
    elif isinstance(value, exp.Literal):
        text = str(take(value, "this", "is_string")[0])
    if unit is not None:
        text += f" {unit.name}"
    found = _INTERVAL.findall(text.lower())
    if not isinstance(unit, exp.Var | None) or not found or _INTERVAL.sub("", text.lower()):
        raise refuse("INTERVAL", "it is a whole number of days, weeks, months, quarters or years", way_out)
    pairs = [(int(count), _name(word)) for count, word in found]
    if any(word not in _UNITS or abs(count) > MAX_COUNT for count, word in pairs):
        raise refuse(
            f"INTERVAL {shorten(text)}", "dates are whole days, and such a step is not known", way_out
        )
    return Interval(tuple(pairs))


def _date_add(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    sign = -1 if name.endswith("SUB") else 1
    if len(sides) == 3:
        return _date_add_unit(name, sides, scope)
    if isinstance(sides[1], Interval):
        return add_interval(sides[0], sides[1], sign, scope)
    if isinstance(sides[0], Missing):
        return MISSING
    count = whole_of(sides[1], name, -MAX_COUNT, MAX_COUNT)
    return _later(read_day(sides[0], name), sign * count, "month" if name == "ADD_MONTHS" else "day", scope)


def _date_add_unit(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    """Return a date so many of a unit later, as in DATEADD(month, 3, day)."""
    unit, count, side = sides
    if not isinstance(unit, str) or _name(unit) not in _UNITS:
        raise refuse(name, "its first argument is a unit of whole days", f"Use {', '.join(_UNITS)}")
    if isinstance(side, Missing):
        return MISSING
    return _later(read_day(side, name), whole_of(count, name, -MAX_COUNT, MAX_COUNT), _name(unit), scope)


def _date_diff(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    """Count the boundaries of a unit between two dates: BigQuery and Spark name the later one first."""
    unit, later, earlier, sunday = "day", sides[0], sides[1], False
    last = len(sides) == 3 and isinstance(sides[2], str) and is_part(sides[2])
    if len(sides) == 3 and isinstance(sides[0], str) and isinstance(sides[1], Day | str) and not last:
        unit, later, earlier = sides[0], sides[2], sides[1]
    elif len(sides) == 3:
        unit = str(sides[2])
        sunday = unit.strip().lower() == "week"
    if isinstance(later, Missing) or isinstance(earlier, Missing):
        return MISSING
    counted = [_count(_name(unit), read_day(side, name), scope, sunday) for side in (later, earlier)]
    return add(counted[0], negate(counted[1]))


def _count(unit: str, day: Day, scope: Scope, sunday: bool) -> Polynomial:
    if unit == "day":
        return day.number
    if unit == "week":
        shift = 4 if sunday else 3
        whole = floor_quotient(add(day.number, constant(shift)), constant(7), scope.tables)
        return day.number if whole is None else whole
    if unit not in _MONTHS:
        raise refuse(f"DATE_DIFF {shorten(unit)}", "dates are whole days", f"Use {', '.join(_UNITS)}")
    return _apply(day, lambda given: _months(given) // _MONTHS[unit], scope)


def _date_trunc(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    del name
    if isinstance(sides[0], str) and isinstance(sides[1], Day | Missing):
        return truncate(sides[0], sides[1], scope, sunday=False)
    if isinstance(sides[1], str):
        return truncate(sides[1], sides[0], scope, sunday=True)
    raise refuse("DATE_TRUNC", "it takes a part and a date", "Write DATE_TRUNC('month', day)")


def _date_part(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    if len(sides) == 2:
        return extract(str(sides[0]), sides[1], scope)
    return extract(name, sides[0], scope)


def _last_day(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    if isinstance(sides[0], Missing):
        return MISSING
    return Day(_apply(read_day(sides[0], name), lambda given: _first(_months(given) + 1) - 1, scope))


def _date(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    del scope
    return MISSING if isinstance(sides[0], Missing) else read_day(sides[0], name)


def _trunc(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    """Cut a number, or a date as Spark and Oracle write it."""
    if len(sides) < 2 or not isinstance(sides[0], Day) or not isinstance(sides[1], str):
        return FUNCTIONS[name][2](name, sides, scope)
    part = _CUT_TO.get(sides[1].strip().upper(), sides[1])
    return truncate(part, sides[0], scope, sunday=False)


UNIT_FIRST = frozenset({"DATEADD", "DATEPART", "DATE_PART"})
"""Functions whose first argument is a part of a date, whatever columns are called."""
DATE_FUNCTIONS: dict[str, tuple[int, int, Function]] = {
    "ADD_MONTHS": (2, 2, _date_add),
    "DATE": (1, 1, _date),
    "DATEADD": (2, 3, _date_add),
    "DATEDIFF": (2, 3, _date_diff),
    "DATEPART": (2, 2, _date_part),
    "DATE_ADD": (2, 3, _date_add),
    "DATE_DIFF": (2, 3, _date_diff),
    "DATE_PART": (2, 2, _date_part),
    "DATE_SUB": (2, 2, _date_add),
    "DATE_TRUNC": (2, 2, _date_trunc),
    "DAY": (1, 1, _date_part),
    "DAYOFMONTH": (1, 1, _date_part),
    "DAYOFWEEK": (1, 1, _date_part),
    "DAYOFYEAR": (1, 1, _date_part),
    "ISODOW": (1, 1, _date_part),
    "ISOYEAR": (1, 1, _date_part),
    "LAST_DAY": (1, 1, _last_day),
    "MONTH": (1, 1, _date_part),
    "QUARTER": (1, 1, _date_part),
    "TO_DATE": (1, 1, _date),
    "TRUNC": (1, 2, _trunc),
    "WEEK": (1, 1, _date_part),
    "WEEKOFYEAR": (1, 1, _date_part),
    "YEAR": (1, 1, _date_part),
}
