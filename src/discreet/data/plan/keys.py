"""The groups of a question: which are listed, and what each is called. All from public metadata.

A key is a declared column, or a number that is computed from columns with a finite image. Where the condition
of a question is on the column of a key, the groups that it leaves possible are listed and no others.
"""

from __future__ import annotations

import datetime
import math
from collections.abc import Iterable
from fractions import Fraction

from discreet.data.plan.key_nodes import ComputedKey, Key
from discreet.data.plan.numbers import scale
from discreet.data.plan.row_nodes import TRUE, And, Condition, Field, Span, Within
from discreet.data.plan.tables import PlanTables, is_declared
from discreet.data.schema.columns import Category, Code, Ranged, Value

_EPOCH = datetime.date(1970, 1, 1).toordinal()


def possible_spans(field: Field, where: Condition, tables: PlanTables) -> tuple[Span, ...]:
    """Return the codes of a declared column that a condition leaves possible: all, where it leaves none."""
    for part in where.parts if isinstance(where, And) else (where,):
        if isinstance(part, Within) and part.field == field and part.spans:
            return part.spans
    return (tables.span(field),)


def may_be_missing(field: Field, where: Condition, tables: PlanTables) -> bool:
    """Say whether a condition leaves rows where a declared column is missing."""
    parts = where.parts if isinstance(where, And) else (where,)
    asked = any(isinstance(part, Within) and part.field == field and not part.missing for part in parts)
    return tables.nullable(field) and not asked


def is_listed(key: Key, tables: PlanTables) -> bool:
    """Say whether the groups of a key are public."""
    return not isinstance(key, Field) or is_declared(tables.column(key))


def count_groups(key: Key, where: Condition, tables: PlanTables) -> int:
    """Return how many groups of a key are listed."""
    if isinstance(key, ComputedKey):
        return len(key.codes)
    return sum(high - low + 1 for low, high in possible_spans(key, where, tables))


def list_groups(key: Key, where: Condition, tables: PlanTables) -> tuple[Code, ...]:
    """Return the codes of the groups of a key, in the order answers list them."""
    if isinstance(key, ComputedKey):
        return key.codes
    column = tables.column(key)
    if not is_declared(column):
        return column.codes()  # which refuses
    spans = possible_spans(key, where, tables)
    if isinstance(column, Category):
        return tuple(column.values[code] for low, high in spans for code in range(low, high + 1))
    if isinstance(column, Ranged) and spans != (tables.span(key),):
        return tuple(code for low, high in spans for code in range(low, high + 1))
    return column.codes()


def cells_of(keys: Iterable[Key], tables: PlanTables, where: Condition = TRUE) -> int | None:
    """Return how many groups are declared and possible; None where some key's values are not declared."""
    listed = tuple(keys)
    if not all(is_listed(key, tables) for key in listed):
        return None
    return math.prod(count_groups(key, where, tables) for key in listed)


def name_group(key: Key, code: Code, tables: PlanTables) -> Value:
    """Return what a group is called."""
    if isinstance(key, Field):
        return tables.column(key).decode(code)
    value = int(code) * scale(key.number, tables).unit
    if key.kind == "label":
        return key.labels[int(value)]
    if key.kind == "truth":
        return bool(value)
    if key.kind == "date":
        return datetime.date.fromordinal(int(value) + _EPOCH)
    return int(value) if value.denominator == 1 else Fraction(value)
