"""Dates as text: computed on the days that a column declares, when the question is read."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.data.plan.atoms import MAX_PIECES, from_values
from discreet.data.plan.effort import spend
from discreet.data.plan.evaluate import ABSENT
from discreet.data.plan.numbers import add, constant, value_of
from discreet.data.plan.row_nodes import Polynomial
from discreet.data.plan.tabulate import OneColumn
from discreet.data.sql.date_formats import is_weekly, read_format, spell_day, tell_apart
from discreet.data.sql.nodes import Scope
from discreet.data.sql.rows.dates import list_days, read_day, rest_of
from discreet.data.sql.rows.functions import Function
from discreet.data.sql.rows.operands import MISSING, Day, Labelled, Missing, Operand, order_labels
from discreet.data.sql.text import refuse

_SPELT = 200
"""Steps that each part of a date takes that is written out: see `plan.effort`."""


def _format(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    pattern, side = (sides[0], sides[1]) if isinstance(sides[1], Day) else (sides[1], sides[0])
    if isinstance(side, Missing):
        return MISSING
    day = read_day(side, name)
    if not isinstance(pattern, str) or len(pattern) > 40:
        raise refuse(name, "it takes a date and a format in quotes", "Write FORMAT_DATE('%Y-%m', day)")
    return format_day(name, day, pattern, scope)


def format_day(name: str, day: Day, pattern: str, scope: Scope) -> Operand:
    """Return a date as text in a format."""
    parts = read_format(name, pattern)
    fixed = value_of(day.number)
    if fixed is not None:
        return spell_day(int(fixed), parts)
    known = list_days(day, scope)
    found, labels = _spell_days(known, parts, scope)
    if found is None and is_weekly(parts) and known.values[0] != ABSENT:
        # Days of the week repeat too often to be listed: they are a remainder.
        first = int(known.values[0])
        week = rest_of(add(day.number, constant(-first)), 7, scope)
        names = tuple(spell_day(first + k, parts) for k in range(7))
        return order_labels(Labelled(week, names), scope.tables)
    if found is None:
        why = "it has too many different values over the declared days"
        raise refuse(name, why, "Use a coarser format, or GROUP BY the date itself")
    return order_labels(Labelled(found, tuple(labels)), scope.tables)


def _spell_days(
    known: OneColumn, parts: Sequence[str], scope: Scope
) -> tuple[Polynomial | None, dict[str, int]]:
    """Return the place of each day's text among the texts; no number where there are too many of them."""
    reached = np.append(known.values, known.missing)
    there = reached != ABSENT
    spend(len(reached) * 2 * len(parts))
    alike = tell_apart(np.where(there, reached, 0), parts)
    _, first, kind = np.unique(np.where(there, alike, -1), return_index=True, return_inverse=True)
    if len(first) > 2 * MAX_PIECES:
        return None, {}
    # Texts in the order in which days first have them.
    spend(_SPELT * len(first) * len(parts))
    labels: dict[str, int] = {}
    codes = np.full(len(first), ABSENT, dtype=np.int64)
    for one in np.argsort(first).tolist():
        day = int(reached[first[one]])
        codes[one] = ABSENT if day == ABSENT else labels.setdefault(spell_day(day, parts), len(labels))
    values = codes[kind]
    listed = OneColumn(known.field, known.first, values[:-1], int(values[-1]))
    return from_values(listed, Fraction(1), scope.tables), labels


def _name_of(name: str, sides: Sequence[Any], scope: Scope) -> Operand:
    """Return the English name of a day of the week, or of a month."""
    return _format(name, [sides[0], "%A" if name == "DAYNAME" else "%B"], scope)


DATE_TEXTS: dict[str, tuple[int, int, Function]] = {
    **dict.fromkeys(("DATE_FORMAT", "FORMAT_DATE", "STRFTIME", "TO_CHAR"), (2, 2, _format)),
    **dict.fromkeys(("DAYNAME", "MONTHNAME"), (1, 1, _name_of)),
}
