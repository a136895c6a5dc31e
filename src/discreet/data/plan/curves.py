"""Logarithms, roots, exponentials and powers in each row: a list of steps, computed when a question is read.

Engines round these functions differently in their last digits, and fail outside their domain. So none of them
is ever sent to one: the function is made of the declared values, rounded to the finest grid on which it has
few enough steps, and is one more function of a column. The range that noise is drawn for is that of these
steps, and every engine finds the same ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import Refused
from discreet.data.plan.atoms import MAX_PIECES, from_values
from discreet.data.plan.effort import spend
from discreet.data.plan.evaluate import ABSENT, Codes
from discreet.data.plan.logarithms import MAX_EXPONENT, exponential, ln
from discreet.data.plan.numbers import (
    MAX_UNITS,
    constant,
    multiply,
    scale,
    split_constant,
    value_of,
    variable,
)
from discreet.data.plan.row_nodes import Field, Polynomial, StepFunction
from discreet.data.plan.tables import PlanTables
from discreet.data.plan.tabulate import MAX_TABULATED, OneColumn, tabulate
from discreet.data.schema.columns import Ranged

MAX_DECIMALS = 6
_CLOSE = 1e-7
"""How near to the border of two steps a value is computed exactly, in steps: floats are nearer than that."""
_TIE = Fraction(1, 10**30)
"""Nearer than this, a value is at the border: a root may be there, and what is computed is never nearer."""
_WRONG = 1e-12
"""What floats may be wrong by, of a value itself."""
_MAX_EXACT = 1_000
"""Values that are computed exactly, of one function: of more, a coarser grid is tried."""
_MAX_LEVEL = 2.0**52
_VALUE, _EXACT, _TRIED = 3, 1_500, 3_000
"""Steps that a value takes in floats, one in decimals, and each array of them: see `plan.effort`."""
_UNITS = tuple(
    times / Fraction(10) ** digits for digits in range(MAX_DECIMALS, -13, -1) for times in (1, 2, 5)
)
Floats = NDArray[np.float64]
Rounding = Literal["nearest", "down", "up"]


@dataclass(frozen=True, slots=True)
class Curve:
    """A function that rises over its whole domain.

    Parameters
    ----------
    name
        Logarithm, exponential or power.
    parameter
        The base of a logarithm, the exponent of a power. None is e.
    """

    name: Literal["log", "exp", "power"]
    parameter: Fraction | None = None

    def is_defined(self, number: Fraction | int) -> bool:
        """Say whether it has a value that can be shown."""
        if self.name == "exp":
            return number <= MAX_EXPONENT
        return number > 0 if self.name == "log" else number >= 0

    def approximate(self, numbers: Floats) -> Floats:
        """Return its values in floats, right to about 12 digits."""
        if self.name == "exp":
            return np.exp(numbers)
        if self.name == "power":
            return np.power(numbers, float(self.parameter or 1))
        by = 1.0 if self.parameter is None else math.log(self.parameter)
        return np.asarray(np.log(numbers) / by, dtype=np.float64)

    def compute(self, number: Fraction) -> Fraction:
        """Return its value, right to 35 digits."""
        if self.name == "exp":
            return exponential(number)
        if self.name == "log":
            return ln(number) / (1 if self.parameter is None else ln(self.parameter))
        return exponential((self.parameter or 1) * ln(number)) if number else Fraction(0)


def bend(
    curve: Curve,
    number: Polynomial,
    tables: PlanTables,
    *,
    rounding: Rounding = "nearest",
    unit: Fraction | None = None,
) -> Polynomial | None:
    """Return a rising function of a number in each row; None where it is nowhere defined.

    Parameters
    ----------
    curve, number
        The function, and what it is of: of one declared column.
    tables
        What is declared.
    rounding, unit
        How it is rounded, and to what; of None to the nearest of as many steps as can be listed.

    Raises
    ------
    Refused
        For a number of several columns, and for more steps than can be listed.
    """
    value = value_of(number)
    if value is not None:
        unit = unit or Fraction(1, 10**MAX_DECIMALS)
        level = _settle(curve, value, unit, rounding) if curve.is_defined(value) else ABSENT
        return None if level == ABSENT else constant(level * unit)
    known, line = tabulate(number, tables), _find_line(number, tables)
    if known is None and line is None:
        raise Refused(
            what="a logarithm, root or power",
            why=f"it is computed of one column, or of a function of one with at most {MAX_TABULATED} values",
            way_out="Take it of each column on its own: LN(x) + LN(y) is LN(x * y)",
        )
    ends = [end * scale(number, tables).unit for end in scale(number, tables).span]
    for one in _list_units(curve, ends, few=known is not None) if unit is None else (unit,):
        found = _bend_line(curve, line, one, rounding, tables) if known is None and line is not None else None
        if known is not None:
            found = _bend_table(curve, known, scale(number, tables).unit, one, rounding, tables)
        if found is not None:
            return found[0]
    raise Refused(
        what="a logarithm, root or power",
        why=f"it has more than {MAX_PIECES} steps on this column, or values beyond 64-bit integers",
        way_out="Round it to fewer decimals, or hold the column within bounds: LEAST(x, 100)",
    )


def _list_units(curve: Curve, ends: Sequence[Fraction], *, few: bool) -> Iterator[Fraction]:
    """Yield the grids that are tried, the finest first; of many values those that can be fine enough."""
    low, high = (max(float(end), 0.0 if curve.name != "exp" else -math.inf) for end in ends)
    if curve.name == "exp":
        high = min(high, float(MAX_EXPONENT))
    reach = 0.0
    if not few and low > 0:
        values = curve.approximate(np.array([low, high]))
        reach = float(values[1] - values[0]) / MAX_PIECES
    for unit in _UNITS:
        if unit >= reach:
            yield unit


def _bend_table(  # noqa: PLR0917
    curve: Curve, known: OneColumn, step: Fraction, unit: Fraction, rounding: Rounding, tables: PlanTables
) -> tuple[Polynomial | None] | None:
    """Return a function of a number whose values are listed; None where it has too many steps."""
    levels = _find_levels(curve, np.append(known.values, known.missing), step, unit, rounding)
    if levels is None:
        return None
    reached = levels if tables.nullable(known.field) else levels[:-1]
    if (reached == ABSENT).all():
        return (None,)
    found = from_values(OneColumn(known.field, known.first, levels[:-1], int(levels[-1])), unit, tables)
    return None if found is None else (found,)


@dataclass(frozen=True, slots=True)
class _Line:
    """`(slope * code + offset) * step` of a column with more codes than are listed."""

    field: Field
    slope: int
    offset: int
    step: Fraction


def _find_line(number: Polynomial, tables: PlanTables) -> _Line | None:
    """Return a multiple of one column plus a constant; None where a number is something else."""
    rest, _ = split_constant(number)
    if len(rest.terms) != 1 or len(rest.terms[0][0]) != 1 or not rest.terms[0][1]:
        return None
    (field,) = rest.terms[0][0]
    if not isinstance(field, Field) or not isinstance(tables.column(field), Ranged):
        return None
    exact = scale(number, tables)
    terms = dict(exact.terms)
    return _Line(field, terms[field,], terms.get((), 0), exact.unit)


def _bend_line(
    curve: Curve, line: _Line, unit: Fraction, rounding: Rounding, tables: PlanTables
) -> tuple[Polynomial | None] | None:
    """Return a function of a line: where each step begins is found by halving, all of them at once."""
    low, high = tables.span(line.field)
    zero = math.ceil(Fraction(-line.offset, line.slope)), math.floor(Fraction(-line.offset, line.slope))
    if curve.name == "log":
        low, high = (max(low, zero[1] + 1), high) if line.slope > 0 else (low, min(high, zero[0] - 1))
    elif curve.name == "power":
        low, high = (max(low, zero[0]), high) if line.slope > 0 else (low, min(high, zero[1]))
    if low > high:
        return (None,)

    def rise(codes: Codes) -> Codes | None:
        return _find_levels(curve, codes * line.slope + line.offset, line.step, unit, rounding)

    ends = rise(np.array([low, high], dtype=np.int64))
    if ends is None or ABSENT in ends.tolist() or abs(int(ends[1]) - int(ends[0])) >= MAX_PIECES - 2:
        return None
    sign = 1 if line.slope > 0 else -1
    wanted = np.arange(int(ends[0]), int(ends[1]), sign, dtype=np.int64)
    # The last code of each step: the largest whose level is not beyond it.
    lasts, beyond = np.full(len(wanted), low, dtype=np.int64), np.full(len(wanted), high, dtype=np.int64)
    while len(wanted) and (beyond - lasts > 1).any():
        middle = lasts + (beyond - lasts) // 2
        levels = rise(middle)
        if levels is None:
            return None
        before = sign * levels <= sign * wanted
        lasts, beyond = np.where(before, middle, lasts), np.where(before, beyond, middle)
    pieces: dict[int, int | None] = {}
    first, last = tables.span(line.field)
    if low > first:
        pieces[low - 1] = None
    for end, level in zip(lasts.tolist(), wanted.tolist(), strict=True):
        pieces.setdefault(end, level)  # levels that no code has end where the one before them does
    pieces[high] = int(ends[1])
    if high < last:
        pieces[last] = None
    steps = StepFunction(line.field, tuple(pieces.items()), None)
    return (multiply(constant(unit), variable(steps)),)


def _find_levels(
    curve: Curve, numbers: Codes, step: Fraction, unit: Fraction, rounding: Rounding
) -> Codes | None:
    """Return the function of numbers of steps, in units; None where that is too much to compute."""
    spend(_TRIED + _VALUE * len(numbers))
    most = math.floor(MAX_EXPONENT / step)
    least = {"exp": -MAX_UNITS, "log": 1, "power": 0}[curve.name]
    there = (numbers != ABSENT) & (numbers >= least)
    if curve.name == "exp" and (numbers[there] > most).any():
        return None
    values = curve.approximate(np.where(there, numbers, 1) * float(step)) / float(unit)
    if not (np.abs(values[there]) < _MAX_LEVEL).all():
        return None
    moved = values + {"nearest": 0.5, "down": 0.0, "up": 0.0}[rounding]
    levels = np.ceil(moved) if rounding == "up" else np.floor(moved)
    off = np.abs(moved - np.rint(moved))
    close = there & (off <= _CLOSE + _WRONG * np.abs(values))
    if close.sum() > _MAX_EXACT:
        return None
    found = np.where(there, levels, 0).astype(np.int64)
    spend(_EXACT * int(close.sum()))
    for place in np.flatnonzero(close).tolist():
        found[place] = _settle(curve, int(numbers[place]) * step, unit, rounding)
    return np.where(there, found, ABSENT)


def _settle(curve: Curve, number: Fraction, unit: Fraction, rounding: Rounding) -> int:
    """Return one value in units, exactly; at the border of two steps it belongs to the upper one."""
    value = curve.compute(number) / unit
    if rounding == "up":
        return math.ceil(value - _TIE)
    return math.floor(value + (Fraction(1, 2) if rounding == "nearest" else 0) + _TIE)
