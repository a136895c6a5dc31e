"""Numbers that depend on one declared column, computed for each of its values when a question is read."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.data.plan.effort import is_limited, spend
from discreet.data.plan.evaluate import ABSENT, Codes, count_passes, evaluate, holds
from discreet.data.plan.numbers import add, constant, scale, split_constant
from discreet.data.plan.row_nodes import Condition, Field, Polynomial, Span, fields_of
from discreet.data.plan.tables import PlanTables, is_declared

MAX_TABULATED = 1 << 16
"""Declared values of a column whose functions are listed; of longer columns they stay as they are written."""
_AT_ONCE = 5
"""Values that an operation on an array looks at in one step: see `plan.effort`."""
_REMEMBERED = 8
"""Numbers that are kept where nobody counts steps: of one question, which is limited in them, all are."""


@dataclass(frozen=True, slots=True)
class OneColumn:
    """The values of a number for each code of its one column, ascending, and where that is missing.

    `ABSENT` stands for a value that is missing.
    """

    field: Field
    first: int
    values: Codes
    missing: int

    def spans(self, chosen: NDArray[np.bool_]) -> list[Span]:
        """Return the codes that were chosen, as spans."""
        edges = np.flatnonzero(np.diff(np.concatenate(([False], chosen, [False])).astype(np.int8)))
        starts, ends = edges[::2] + self.first, edges[1::2] + self.first - 1
        return list(zip(starts.tolist(), ends.tolist(), strict=True))


def tabulate(number: Polynomial, tables: PlanTables) -> OneColumn | None:
    """Return all values of a number in steps of its unit; None where it has several columns, or too many."""
    known: dict[Polynomial, tuple[OneColumn | None]] = tables.tabulated
    kept = known.get(number)
    if kept is None:
        kept = (_tabulate(number, tables),)
        if len(known) >= _REMEMBERED and not is_limited():
            known.clear()
        known[number] = kept
    return kept[0]  # not looked up again: another thread may have cleared it


def _tabulate(number: Polynomial, tables: PlanTables) -> OneColumn | None:
    rest, offset = split_constant(number)
    if offset and rest.atoms:
        return _shift(tabulate(rest, tables), rest, offset, tables)
    listed = list_codes(fields_of(number), tables)
    if listed is None:
        return None
    field, first, codes = listed
    spend(len(codes) * count_passes(number) // _AT_ONCE)
    values = np.broadcast_to(evaluate(number, {field: codes}, tables), codes.shape)
    return OneColumn(field, first, values[:-1], int(values[-1]))


def _shift(
    known: OneColumn | None, rest: Polynomial, offset: Fraction, tables: PlanTables
) -> OneColumn | None:
    """Return the values of a number plus a constant, in steps of its unit, from those of the number."""
    if known is None:
        return None
    number = add(rest, constant(offset))
    unit = scale(number, tables).unit
    times, more = int(scale(rest, tables).unit / unit), int(offset / unit)
    spend(len(known.values))
    both = np.append(known.values, known.missing)
    absent = both == ABSENT
    values = np.where(absent, ABSENT, np.where(absent, 0, both) * times + more)
    return OneColumn(known.field, known.first, values[:-1], int(values[-1]))


def list_codes(fields: frozenset[Field], tables: PlanTables) -> tuple[Field, int, Codes] | None:
    """Return the one column, its first code and all its codes, missing last; None where there are more."""
    if len(fields) != 1:
        return None
    (field,) = fields
    if not is_declared(tables.column(field)):
        return None
    low, high = tables.span(field)
    if high - low >= MAX_TABULATED:
        return None
    return field, low, np.append(np.arange(low, high + 1, dtype=np.int64), ABSENT)


def solve(condition: Condition, tables: PlanTables) -> tuple[Field, list[Span], bool] | None:
    """Return where a condition on one column holds; None where it is on several, or on too many values."""
    listed = list_codes(fields_of(condition), tables)
    if listed is None:
        return None
    field, first, codes = listed
    spend(len(codes) * count_passes(condition) // _AT_ONCE)
    held = np.broadcast_to(holds(condition, {field: codes}, tables), codes.shape)
    return field, OneColumn(field, first, codes[:-1], ABSENT).spans(held[:-1]), bool(held[-1])
