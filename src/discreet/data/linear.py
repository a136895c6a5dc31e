"""A count as a linear query over a universe: which cells it counts, without touching a row.

Where every condition is on one column at a time the query is a product: one set of values per attribute.
Otherwise it is a predicate that is evaluated on arrays of positions.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter, Refused
from discreet.data.columns import Category, Column
from discreet.data.plan import And, Compare, Condition, Field, Plan, Within
from discreet.data.plan_facts import cells_of
from discreet.data.plan_numbers import scaled
from discreet.data.plan_tables import Tables
from discreet.data.schema import Schema

_ABSENT = np.iinfo(np.int64).min


class HasAttributes(Protocol):
    """Anything with named attributes and their values: a universe."""

    @property
    def attributes(self) -> tuple[tuple[str, tuple[Any, ...]], ...]:
        """Names with values, in order."""


@dataclass(frozen=True, slots=True)
class LinearQuery:
    """One count over the cells of a universe.

    Parameters
    ----------
    group
        The key columns and the values this count is for; empty without GROUP BY.
    allowed
        Per attribute the positions of the values that count, where the query is such a product; else None.
    """

    group: tuple[tuple[str, Any], ...]
    allowed: tuple[tuple[int, ...], ...] | None
    _condition: Condition
    _cells: _Cells

    def evaluate(self, positions: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Say which cells count; a cell is a row of positions, one per attribute."""
        if positions.ndim != 2 or positions.shape[1] != len(self._cells.attributes):
            rule = f"an array of shape (cells, {len(self._cells.attributes)})"
            raise InvalidParameter(name="positions", rule=rule, value=positions.shape)
        counts = self._cells.holds(self._condition, positions)
        for name, value in self.group:
            place, values = self._cells.attribute(name)
            counts &= positions[:, place] == values.index(value)
        return counts


def linear(
    plan: Plan, schemas: Schema | Iterable[Schema] | Tables, universe: HasAttributes
) -> tuple[LinearQuery, ...]:
    """Compile a plan that counts rows: one query per declared group, in declared order.

    Raises
    ------
    Refused
        When the plan is not a count of rows over attributes of the universe.
    """
    tables = Tables.of(schemas)
    cells = _Cells(plan.table, tables, universe.attributes)
    _check(plan, tables, cells)
    masks = cells.masks(plan.where)
    queries = []
    for keys in plan.sets:
        places = [cells.attribute(field.name) for field in keys]
        # A missing key is in no group.
        choices = [[i for i, value in enumerate(values) if value is not None] for _, values in places]
        for chosen in itertools.product(*choices):
            pairs = tuple((place, i) for (place, _), i in zip(places, chosen, strict=True))
            queries.append(LinearQuery(cells.named(pairs), _narrowed(masks, pairs), plan.where, cells))
    return tuple(queries)


def _narrowed(
    masks: tuple[tuple[int, ...], ...] | None, pairs: tuple[tuple[int, int], ...]
) -> tuple[tuple[int, ...], ...] | None:
    if masks is None:
        return None
    wanted = dict(pairs)
    return tuple(
        allowed if place not in wanted else tuple(i for i in allowed if i == wanted[place])
        for place, allowed in enumerate(masks)
    )


def _check(plan: Plan, tables: Tables, cells: _Cells) -> None:
    plain = all(a.kind == "count" and a.number is None and a.group_bounds is None for a in plan.aggregates)
    if not plain or plan.joins:
        raise Refused(
            what="query",
            why="only COUNT(*) of one table is a linear query over its universe",
            way_out="Ask for counts without joins or contribution bounds",
        )
    if any(cells_of(keys, tables) is None for keys in plan.sets):
        raise Refused(what="GROUP BY", why="its values are not declared", way_out="Group by declared columns")
    for field in {*plan.keys, *_fields(plan.where)}:
        cells.attribute(field.name)


@dataclass(frozen=True, slots=True)
class _Cells:
    """Attributes of a universe, matched to the columns of a table."""

    table: str
    tables: Tables
    attributes: tuple[tuple[str, tuple[Any, ...]], ...]

    def attribute(self, name: str) -> tuple[int, tuple[Any, ...]]:
        """Return the place and the values of an attribute."""
        for place, (known, values) in enumerate(self.attributes):
            if known == name:
                return place, values
        raise Refused(
            what=name, why="it is not an attribute of the universe", way_out="Build it with this column"
        )

    def codes(self, name: str) -> NDArray[np.int64]:
        """Return the code of each value of an attribute; a mark where it is missing."""
        column = self.tables.column(Field(self.table, name))
        _, values = self.attribute(name)
        places: dict[object, int] = {}
        if isinstance(column, Category):
            places = {value: i for i, value in enumerate(column.values)}
        listed = [_ABSENT if value is None else _code(column, value, places) for value in values]
        return np.array(listed, dtype=np.int64)

    def member(self, condition: Within) -> NDArray[np.bool_]:
        """Say which values of an attribute a set of codes holds."""
        codes = self.codes(condition.field.name)
        inside = np.zeros(len(codes), dtype=np.bool_)
        for low, high in condition.spans:
            inside |= (codes >= low) & (codes <= high)
        return np.asarray(np.where(codes == _ABSENT, condition.missing, inside), dtype=np.bool_)

    def named(self, pairs: tuple[tuple[int, int], ...]) -> tuple[tuple[str, Any], ...]:
        """Return places and positions as names and values."""
        return tuple((self.attributes[place][0], self.attributes[place][1][i]) for place, i in pairs)

    def masks(self, condition: Condition) -> tuple[tuple[int, ...], ...] | None:
        """Return the positions that count per attribute, if the condition is one set per column."""
        parts = condition.parts if isinstance(condition, And) else (condition,)
        masks = [np.ones(len(values), dtype=np.bool_) for _, values in self.attributes]
        for part in parts:
            if not isinstance(part, Within):
                return None
            masks[self.attribute(part.field.name)[0]] &= self.member(part)
        return tuple(tuple(int(i) for i in np.flatnonzero(mask)) for mask in masks)

    def holds(self, condition: Condition, positions: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        """Evaluate a condition on rows of positions."""
        if isinstance(condition, Within):
            place, _ = self.attribute(condition.field.name)
            return np.asarray(self.member(condition)[positions[:, place]], dtype=np.bool_)
        if isinstance(condition, Compare):
            return self._compared(condition, positions)
        every = isinstance(condition, And)
        result = np.full(len(positions), every, dtype=np.bool_)
        for part in condition.parts:
            held = self.holds(part, positions)
            result = result & held if every else result | held
        return result

    def _compared(self, condition: Compare, positions: NDArray[np.integer[Any]]) -> NDArray[np.bool_]:
        present = np.ones(len(positions), dtype=np.bool_)
        columns: dict[Field, NDArray[np.int64]] = {}
        for field in condition.number.fields:
            codes = self.codes(field.name)[positions[:, self.attribute(field.name)[0]]]
            present &= codes != _ABSENT
            columns[field] = np.where(codes == _ABSENT, 0, codes)
        total = np.zeros(len(positions), dtype=np.int64)
        for monomial, coefficient in scaled(condition.number, self.tables).terms:
            term = np.full(len(positions), coefficient, dtype=np.int64)
            for field in monomial:
                term *= columns[field]
            total += term
        signs = {"<": total < 0, "<=": total <= 0, "=": total == 0, "<>": total != 0}
        return np.asarray(present & signs[condition.sign], dtype=np.bool_)


def _code(column: Column, value: object, places: dict[object, int]) -> int:
    """Return a value's code, or its position among the values of a category."""
    try:
        return places[value] if places else int(column.encode(value))
    except (InvalidParameter, KeyError):
        raise Refused(
            what=column.name,
            why="the universe has a value that the column does not declare",
            way_out="Build the universe from the schema",
        ) from None


def _fields(condition: Condition) -> Iterable[Field]:
    if isinstance(condition, Within):
        return [condition.field]
    if isinstance(condition, Compare):
        return condition.number.fields
    return [field for part in condition.parts for field in _fields(part)]
