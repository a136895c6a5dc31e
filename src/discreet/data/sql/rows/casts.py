"""CAST, where it can fail on no declared value: numbers, dates, truth values and declared texts."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
from sqlglot import exp

from discreet.data.plan.atoms import from_values
from discreet.data.plan.effort import spend
from discreet.data.plan.evaluate import ABSENT
from discreet.data.plan.numbers import constant, scale
from discreet.data.plan.row_nodes import Polynomial
from discreet.data.plan.tabulate import MAX_TABULATED, OneColumn
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.rows.comparing import days
from discreet.data.sql.rows.date_texts import format_day
from discreet.data.sql.rows.functions import whole_of
from discreet.data.sql.rows.operands import (
    MISSING,
    ChoiceColumn,
    Day,
    Labelled,
    Mapped,
    Missing,
    Operand,
    Ratio,
    Truth,
    as_truth,
    by_sign,
    describe,
    rounded,
    truth_number,
)
from discreet.data.sql.rows.texts import MAX_LABELS, spell_number
from discreet.data.sql.text import number, refuse

Type = exp.DataType.Type
_READ = 500
"""Steps that reading a text as a number takes: see `plan.effort`."""
_WHOLE = (Type.INT, Type.BIGINT, Type.SMALLINT, Type.TINYINT, Type.INT128)
_REAL = (Type.FLOAT, Type.DOUBLE, Type.DECIMAL, Type.BIGDECIMAL)
_TEXTS = (Type.TEXT, Type.VARCHAR, Type.CHAR, Type.NVARCHAR)
_MOMENTS = (Type.DATE, Type.TIMESTAMP, Type.DATETIME, Type.TIMESTAMPTZ)
_NAMED = {"FLOAT64": Type.DOUBLE, "BIGNUMERIC": Type.DECIMAL, "BOOL": Type.BOOLEAN}
_NUMBER = re.compile(r"\s*-?\d{1,18}(\.\d{1,18})?\s*")


def cast_operand(side: Operand, to: exp.Expression, scope: Scope, *, safe: bool) -> Operand:
    """Return an operand in another type; `safe` makes missing what has no value there."""
    kind, parameters = _read_type(to)
    if isinstance(side, Missing):
        return side
    digits = _digits(parameters, kind)
    found: Operand | None = None
    if kind in _WHOLE or kind in _REAL:
        found = _to_number(side, 0 if kind in _WHOLE else digits, scope, safe)
    elif kind in _MOMENTS:
        found = side if isinstance(side, Day) else None
        if isinstance(side, str):
            found = Day(constant(days(side)))
    elif kind is Type.BOOLEAN:
        found = as_truth(side, scope.tables)
        if isinstance(side, str) and side.lower() in ("true", "false"):
            found = side.lower() == "true"
    elif kind in _TEXTS and not parameters:
        found = _to_text(side, scope)
    if found is None and kind in _TEXTS and isinstance(side, Polynomial | Ratio):
        why = f"only whole numbers are text, and at most {MAX_LABELS} of them"
        raise refuse("cast", why, "Round it first, as in CAST(FLOOR(x / 10) AS TEXT), or leave CAST out")
    if found is None:
        rows = "any row" if safe else "some rows"
        raise refuse("cast", f"{describe(side)} has no value of that type in {rows}", _way_out(side, safe))
    return found


def is_whole(to: exp.Expression) -> bool:
    """Say whether a type is one of whole numbers."""
    return isinstance(to, exp.DataType) and to.this in _WHOLE


def _read_type(to: exp.Expression) -> tuple[object, list[exp.Expression]]:
    if not isinstance(to, exp.DataType):
        return None, []
    kind, parameters, _, named = take(to, "this", "expressions", "nested", "kind")
    return _NAMED.get(str(named).upper(), kind), list(parameters or [])


def _way_out(side: Operand, safe: bool) -> str:
    if isinstance(side, ChoiceColumn | Mapped | Labelled) and not safe:
        return "Use SAFE_CAST, which is missing there, or compare the values as they are"
    return "Compare it as it is; write dates as DATE '2020-12-31'"


def _digits(parameters: list[exp.Expression], kind: object) -> int | None:
    """Return how many decimals DECIMAL(p, s) keeps."""
    if not parameters or kind not in (Type.DECIMAL, Type.BIGDECIMAL):
        return None
    numbers = []
    for parameter in parameters:
        (inner,) = take(parameter, "this")
        if not isinstance(inner, exp.Literal):
            raise refuse("cast", "its digits are whole numbers", "Write DECIMAL(10, 2)")
        numbers.append(constant(number(str(take(inner, "this", "is_string")[0]), "digits")))
    return whole_of(numbers[1], "DECIMAL", 0, 12) if len(numbers) > 1 else 0


def _to_number(side: Operand, digits: int | None, scope: Scope, safe: bool) -> Operand | None:
    tables = scope.tables
    if isinstance(side, Polynomial | Ratio):
        if digits is None:
            return side
        if isinstance(side, Polynomial) and (scale(side, tables).unit * 10**digits).denominator == 1:
            return side
        found = by_sign(side, tables, lambda above, below: rounded(above, below, digits, tables))
        return MISSING if found is None else found
    truth = as_truth(side, tables) if isinstance(side, bool | Truth | ChoiceColumn) else None
    if truth is not None:
        told = truth_number(truth, tables)
        return MISSING if told is None else told
    if isinstance(side, str):
        return constant(Fraction(side.strip())) if _NUMBER.fullmatch(side) else None
    return _read_numbers(side, digits, scope, safe)


def _read_numbers(side: Operand, digits: int | None, scope: Scope, safe: bool) -> Operand | None:
    """Read the declared values of a category as numbers."""
    if isinstance(side, ChoiceColumn):
        side = Mapped(side.field, tuple(one for one in side.positions if isinstance(one, str | int)))
    if not isinstance(side, Mapped) or len(side.values) > MAX_TABULATED:
        return None
    spend(_READ * len(side.values))
    texts = [None if one is None else str(one) for one in (*side.values, side.missing)]
    bad = [one for one in texts if one is not None and not _NUMBER.fullmatch(one)]
    numbers = [None if one is None or one in bad else Fraction(one.strip()) for one in texts]
    if digits == 0 and any(one is not None and one.denominator != 1 for one in numbers):
        return None
    if (bad and not safe) or all(one is None for one in numbers):
        return None
    power = math.lcm(*(one.denominator for one in numbers if one is not None))
    codes = [ABSENT if one is None else int(one * power) for one in numbers]
    listed = OneColumn(side.field, 0, np.array(codes[:-1], dtype=np.int64), codes[-1])
    return from_values(listed, Fraction(1, power), scope.tables)


def _to_text(side: Operand, scope: Scope) -> Operand | None:
    if isinstance(side, str):
        return side
    if isinstance(side, Labelled):
        return Labelled(side.number, tuple(map(str, side.labels)))
    if isinstance(side, Day):
        return format_day("CAST", side, "%F", scope)
    if isinstance(side, Polynomial):
        return spell_number(side, scope)
    if isinstance(side, ChoiceColumn):
        texts = [str(one).lower() if isinstance(one, bool) else str(one) for one in side.positions]
        return Mapped(side.field, tuple(texts))
    if isinstance(side, Mapped):
        missing = None if side.missing is None else str(side.missing)
        return Mapped(side.field, tuple(None if one is None else str(one) for one in side.values), missing)
    return None
