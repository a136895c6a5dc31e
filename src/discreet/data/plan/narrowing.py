"""What a condition says about the columns where it holds: bounds that are tighter than the declared ones.

They make the range of a chosen number as small as it is, which is what noise is drawn for; the same range is
applied to every row.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from discreet.data.plan.canonical import gaps
from discreet.data.plan.effort import spend
from discreet.data.plan.numbers import scale, split_constant
from discreet.data.plan.row_nodes import And, Compare, Condition, Field, Or, Polynomial, Span, Within
from discreet.data.plan.tables import PlanTables

_SPAN = 100
"""Steps for each span of a set of values: see `plan.effort`."""
_REMEMBERED = 16
"""Spans of a column, and signs of numbers, that are kept: to know less is never wrong."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """The codes that columns can have where they are present, and numbers that are at most 0."""

    spans: dict[Field, tuple[Span, ...]]
    signs: tuple[tuple[Polynomial, bool], ...] = ()
    """Each number is at most 0; below 0 where it says so."""


def narrow(known: Narrowed, condition: Condition, tables: PlanTables) -> Narrowed:
    """Return what is known where a condition holds."""
    for part in condition.parts if isinstance(condition, And) else (condition,):
        if isinstance(part, Within):
            spend(_SPAN * len(part.spans))
            known = _cut(known, part.field, gaps(part.spans, tables.span(part.field)), tables)
        elif isinstance(part, Compare) and part.sign in ("<", "<="):
            known = Narrowed(known.spans, (*known.signs, (part.number, part.sign == "<"))[-_REMEMBERED:])
    return known


def exclude(known: Narrowed, condition: Condition, tables: PlanTables) -> Narrowed:
    """Return what is known where a condition does not hold, of columns that are present."""
    for part in condition.parts if isinstance(condition, Or) else (condition,):
        if isinstance(part, Within):
            known = _cut(known, part.field, part.spans, tables)
        elif isinstance(part, Compare) and part.sign in ("<", "<="):
            above = Polynomial(tuple((names, -c) for names, c in part.number.terms))
            known = Narrowed(known.spans, (*known.signs, (above, part.sign == "<="))[-_REMEMBERED:])
    return known


def _cut(known: Narrowed, field: Field, spans: tuple[Span, ...], tables: PlanTables) -> Narrowed:
    """Leave some codes of a column out."""
    everything = tables.span(field)
    spend(_SPAN * len(spans))
    left_out = [*gaps(known.spans.get(field, (everything,)), everything), *spans]
    left = gaps(left_out, everything)
    if len(left) > _REMEMBERED:
        left = ((left[0][0], left[-1][1]),)
    return Narrowed(known.spans | {field: left}, known.signs)


def hulls(known: Narrowed) -> dict[Field, Span]:
    """Return the smallest and largest code of every column; a column that has none is left as declared."""
    return {field: (spans[0][0], spans[-1][1]) for field, spans in known.spans.items() if spans}


def range_of(number: Polynomial, known: Narrowed, tables: PlanTables, unit: Fraction | None = None) -> Span:
    """Return between what a number lies, in steps, where something is known of its columns."""
    exact = scale(number, tables, narrowed=hulls(known), unit=unit)
    low, high = exact.span
    rest, offset = split_constant(number)
    for other, strictly in known.signs:
        shape, start = split_constant(other)
        times = _multiple(rest, shape)
        if times is None:
            continue
        # number = times * other + more, and other is at most 0, in steps of its own unit.
        most = Fraction(0) if not strictly else -scale(other, tables).unit
        end = (times * most + offset - times * start) / exact.unit
        if times > 0:
            high = min(high, math.floor(end))
        else:
            low = max(low, math.ceil(end))
    return (low, high) if low <= high else exact.span


def _multiple(number: Polynomial, other: Polynomial) -> Fraction | None:
    """Return what times the other is a number; None where nothing is. Both have no constant."""
    pairs = list(zip(number.terms, other.terms, strict=False))
    if not pairs or len(number.terms) != len(other.terms) or not pairs[0][1][1]:
        return None
    times = pairs[0][0][1] / pairs[0][1][1]
    same = all(a[0] == b[0] and a[1] == times * b[1] for a, b in pairs)
    return times if same and times else None
