"""A universe and the engine's codes of the columns of a question: what conditions mean there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter, Refused
from discreet.data.plan.evaluate import ABSENT, evaluate, holds, inside
from discreet.data.plan.keys import possible_spans
from discreet.data.plan.row_nodes import FALSE, And, Condition, Field, Polynomial, Span, Within, fields_of
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Category, Column
from discreet.queries.universe import Universe

Mask = NDArray[np.bool_]
Columns = Mapping[int, NDArray[np.integer[Any]]]
"""Codes of some cells, by the place of their attribute."""


@dataclass(frozen=True, slots=True)
class UniverseCells:
    """A universe, and the engine's codes of the columns that matter: a mark for missing."""

    tables: PlanTables
    universe: Universe
    codes: Mapping[Field, NDArray[np.int64]]

    @classmethod
    def of(cls, fields: Iterable[Field], tables: PlanTables, universe: Universe) -> UniverseCells:
        """Find the columns among the attributes; refuse where one is none of them."""
        for field in fields:
            if field.name not in universe.names:
                raise Refused(
                    what=field.name,
                    why="it is not an attribute of the universe",
                    way_out="Build it with this column",
                )
        return cls(tables, universe, {field: _codes(field, tables, universe) for field in fields})

    def place(self, field: Field) -> int:
        """Return the place of the attribute that stands for a column."""
        return self.universe.axis(field.name)

    def grouping(self, field: Field, where: Condition) -> tuple[int, tuple[int, ...]]:
        """Return the place of a key and the codes of its possible groups: a missing key is in none."""
        listed = inside(self.codes[field], possible_spans(field, where, self.tables), missing=False)
        return self.place(field), tuple(np.flatnonzero(listed).tolist())

    def member(self, condition: Within) -> Mask:
        """Say which values of an attribute a set of codes holds."""
        return inside(self.codes[condition.field], condition.spans, condition.missing)

    def holds(self, condition: Condition, columns: Columns) -> Any:
        """Evaluate a condition on the codes of some cells; True or False where it looks at none."""
        codes = {field: self.codes[field][columns[self.place(field)]] for field in fields_of(condition)}
        return holds(condition, codes, self.tables)

    def list_values(self, number: Polynomial) -> set[int]:
        """Return the values that a number has in some cell, in steps of its unit, where it is not missing."""
        axes = {field: self.codes[field] for field in number.fields}
        codes = dict(zip(axes, np.meshgrid(*axes.values(), indexing="ij", sparse=True), strict=True))
        found: set[int] = set(np.unique(evaluate(number, codes, self.tables)).tolist())
        return found - {ABSENT}

    def narrow(self, *conditions: Condition) -> Condition:
        """Return all of some conditions as one, with one set of codes for all that looks at one column."""
        rest: list[Condition] = []
        alone: dict[Field, list[Condition]] = {}
        for one in conditions:
            for part in one.parts if isinstance(one, And) else (one,):
                fields = tuple(fields_of(part))
                place = alone.setdefault(fields[0], []) if len(fields) == 1 else rest
                place.append(part)
        sets = [self._list_codes(field, parts) for field, parts in sorted(alone.items())]
        found = [*sets, *rest]
        return FALSE if FALSE in found else found[0] if len(found) == 1 else And(tuple(found))

    def _list_codes(self, field: Field, parts: list[Condition]) -> Condition:
        if len(parts) == 1 and isinstance(parts[0], Within):
            return parts[0]
        codes = self.codes[field]
        cells = {self.place(field): np.arange(len(codes))}
        held = np.broadcast_to(self.holds(And(tuple(parts)), cells), codes.shape)
        there, missing = np.sort(codes[held & (codes != ABSENT)]), bool((held & (codes == ABSENT)).any())
        return Within(field, _join(there), missing) if len(there) or missing else FALSE


def _join(codes: NDArray[np.int64]) -> tuple[Span, ...]:
    """Return ascending codes as spans that do not touch."""
    breaks = np.flatnonzero(np.diff(codes) > 1)
    starts, ends = np.append(codes[:1], codes[breaks + 1]), np.append(codes[breaks], codes[-1:])
    return tuple(zip(starts.tolist(), ends.tolist(), strict=True))


def _codes(field: Field, tables: PlanTables, universe: Universe) -> NDArray[np.int64]:
    values = universe.attribute(field.name).values
    return _encode(tables.column(field), values, tuple(map(type, values)))


@lru_cache(maxsize=256)  # every question about a universe asks for the same few columns
def _encode(column: Column, values: tuple[Any, ...], kinds: tuple[type, ...]) -> NDArray[np.int64]:
    """Return the codes of a column's values. Kinds tell True from 1, which are equal."""
    encode: Callable[[Any], Any] = column.encode
    if isinstance(column, Category):
        encode = {value: i for i, value in enumerate(column.values)}.__getitem__
    try:
        listed = [ABSENT if value is None else int(encode(value)) for value in values]
    except (InvalidParameter, KeyError):
        raise Refused(
            what=column.name,
            why="the universe has a value that the column does not declare",
            way_out="Build the universe from the schema",
        ) from None
    codes = np.array(listed, dtype=np.int64)
    codes.setflags(write=False)
    return codes
