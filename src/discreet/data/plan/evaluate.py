"""Numbers and conditions computed on arrays of codes, exactly as an engine computes them on rows.

Two things need it: what depends on one declared column is computed for all its values when a question is
read, and counts over a universe are evaluated on its cells.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InternalError
from discreet.data.plan.numbers import scale
from discreet.data.plan.row_nodes import (
    And,
    Atom,
    Choice,
    Compare,
    Condition,
    Field,
    Polynomial,
    Quotient,
    Span,
    StepFunction,
    TextLike,
    UnitIn,
    Within,
)
from discreet.data.plan.tables import PlanTables

ABSENT = int(np.iinfo(np.int64).min)
"""The mark of a missing value: no number of the language comes near it."""

ONE = Fraction(1)
Codes = NDArray[np.int64]
Columns = Mapping[Field, Codes]
"""The codes of each column that is looked at (of a category: positions), in arrays that fit one another."""


def evaluate(number: Polynomial, columns: Columns, tables: PlanTables, unit: Fraction | None = None) -> Codes:
    """Return the values of a number in steps of its unit, or of a given one; `ABSENT` where it is missing."""
    exact = scale(number, tables, unit=unit)
    values = {atom: _atom(atom, columns, tables) for atom in number.atoms}
    absent: Any = np.False_
    for one in values.values():
        absent = absent | (one == ABSENT)
    total: Any = np.int64(0)
    for monomial, coefficient in exact.terms:
        term: Any = np.int64(coefficient)
        for atom in monomial:
            term = term * np.where(absent, 0, values[atom])
        total = total + term
    return np.asarray(np.where(absent, ABSENT, total), dtype=np.int64)


def _atom(atom: Atom, columns: Columns, tables: PlanTables) -> Codes:
    if isinstance(atom, Field):
        return columns[atom]
    if isinstance(atom, StepFunction):
        return _steps(atom, columns[atom.field])
    if isinstance(atom, Quotient):
        return _quotient(atom, columns, tables)
    return _choice(atom, columns, tables)


def _steps(atom: StepFunction, codes: Codes) -> Codes:
    lasts = np.array([last for last, _ in atom.pieces], dtype=np.int64)
    numbers = np.array([ABSENT if code is None else code for _, code in atom.pieces], dtype=np.int64)
    missing = ABSENT if atom.missing is None else atom.missing
    places = np.minimum(np.searchsorted(lasts, codes, side="left"), len(lasts) - 1)
    return np.where(codes == ABSENT, missing, numbers[places])


def _choice(atom: Choice, columns: Columns, tables: PlanTables) -> Codes:
    result = _whole(atom.otherwise, columns, tables)
    for condition, number in reversed(atom.cases):
        result = np.where(holds(condition, columns, tables), _whole(number, columns, tables), result)
    return result


def _whole(number: Polynomial | None, columns: Columns, tables: PlanTables) -> Codes:
    if number is None:
        return np.asarray(ABSENT, dtype=np.int64)
    return evaluate(number, columns, tables, unit=ONE)


def _quotient(atom: Quotient, columns: Columns, tables: PlanTables) -> Codes:
    times, by = ratio_of_units(atom.numerator, atom.denominator, tables)
    above, below = (evaluate(one, columns, tables) for one in (atom.numerator, atom.denominator))
    there = (above != ABSENT) & (below != ABSENT) & (below > 0)
    quotient = np.floor_divide(np.where(there, above, 0) * times, np.where(there, below, 1) * by)
    return np.asarray(np.where(there, quotient, ABSENT), dtype=np.int64)


def ratio_of_units(above: Polynomial, below: Polynomial, tables: PlanTables) -> tuple[int, int]:
    """Return by what the steps of two numbers are multiplied, so that their quotient is the numbers' own."""
    ratio = scale(above, tables).unit / scale(below, tables).unit
    return ratio.numerator, ratio.denominator


def holds(condition: Condition, columns: Columns, tables: PlanTables) -> Any:
    """Say where a condition holds; a plain True or False where it looks at nothing."""
    if isinstance(condition, Within):
        return inside(columns[condition.field], condition.spans, condition.missing)
    if isinstance(condition, Compare):
        values = evaluate(condition.number, columns, tables)
        signs = {"<": values < 0, "<=": values <= 0, "=": values == 0, "<>": values != 0}
        return (values != ABSENT) & signs[condition.sign]
    if isinstance(condition, TextLike | UnitIn):
        raise InternalError("free text and units have no codes")
    every = isinstance(condition, And)
    result: Any = np.bool_(every)
    for part in condition.parts:
        held = holds(part, columns, tables)
        result = result & held if every else result | held
    return result


def inside(codes: Codes, spans: tuple[Span, ...], missing: bool) -> NDArray[np.bool_]:
    """Say which codes lie in some ascending spans; `missing` of those that are not there."""
    if len(spans) == 1:
        ((first, last),) = spans
        return np.asarray(((codes >= first) & (codes <= last)) | (missing & (codes == ABSENT)))
    low, high = np.array(spans, dtype=np.int64).reshape(-1, 2).T
    # Of the spans that begin at or below a code, the last is the one that may hold it.
    before = np.searchsorted(low, codes, side="right")
    within = (before > 0) & (codes <= np.append(high, ABSENT)[before - 1])
    return np.asarray(np.where(codes == ABSENT, missing, within), dtype=np.bool_)


def count_passes(node: Atom | Polynomial | Condition | None) -> int:
    """Return about how many times the arrays are gone through to compute a number or a condition."""
    if isinstance(node, Polynomial):
        return 1 + sum(len(monomial) for monomial, _ in node.terms) + sum(map(count_passes, node.atoms))
    if isinstance(node, StepFunction | Within | TextLike | UnitIn):
        return 3
    if isinstance(node, Quotient):
        return 3 + count_passes(node.numerator) + count_passes(node.denominator)
    if isinstance(node, Choice):
        cases = sum(1 + count_passes(test) + count_passes(number) for test, number in node.cases)
        return cases + count_passes(node.otherwise)
    if isinstance(node, Compare):
        return 2 + count_passes(node.number)
    if isinstance(node, Field) or node is None:
        return 1
    return 1 + sum(map(count_passes, node.parts))
