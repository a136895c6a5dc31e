"""A count as a linear query over a universe: which cells it counts, without touching a row.

Where every condition is on one column at a time the query is a product: one set of values per attribute.
Otherwise it is a predicate that is evaluated on arrays of codes. Either looks only at attributes that matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.data.columns import Category
from discreet.data.plan import FALSE, And, Compare, Condition, Field, Plan, Within
from discreet.data.plan_facts import cells_of
from discreet.data.plan_numbers import scaled
from discreet.data.plan_tables import Tables
from discreet.data.schema import Schema
from discreet.data.sql_print import condition_sql
from discreet.queries.query import Axes, LinearQuery, Predicate, PredicateQuery, ProductQuery
from discreet.queries.universe import Universe

_ABSENT = np.iinfo(np.int64).min

Mask = NDArray[np.bool_]
Columns = Mapping[int, NDArray[np.integer[Any]]]
"""Codes of some cells, by the place of their attribute."""


def linear(
    plan: Plan, schemas: Schema | Iterable[Schema] | Tables, universe: Universe
) -> tuple[LinearQuery, ...]:
    """Compile a plan that counts rows: one query per declared group, in the order of the answer's rows.

    On a histogram of the table they give what the engine counts, but for a bound on the groups of a user:
    a histogram needs none.

    Raises
    ------
    Refused
        When the plan is not a count of rows over attributes of the universe.
    """
    tables = Tables.of(schemas)
    _check(plan, tables)
    fields = {*plan.keys, *_fields(plan.where)}
    cells = _Cells.of(fields, tables, checks.instance(Universe, universe=universe))
    compiled = _Compiled.of(plan.where, cells)
    queries = []
    for keys in plan.shown_sets:
        places = [cells.place(field) for field in keys]
        # A missing key is in no group.
        choices = [np.flatnonzero(cells.codes[field] != _ABSENT).tolist() for field in keys]
        queries += [
            compiled.query(dict(zip(places, group, strict=True))) for group in itertools.product(*choices)
        ]
    return tuple(queries)


def _check(plan: Plan, tables: Tables) -> None:
    plain = all(a.kind == "count" and a.number is None and a.group_bounds is None for a in plan.aggregates)
    bounds = plan.options.max_rows or plan.options.max_groups
    if not plain or plan.joins or bounds:
        raise Refused(
            what="query",
            why="only COUNT(*) of one table is a linear query over its universe",
            way_out="Ask for counts without joins or contribution bounds",
        )
    if any(cells_of(keys, tables) is None for keys in plan.sets):
        raise Refused(what="GROUP BY", why="its values are not declared", way_out="Group by declared columns")


@dataclass(frozen=True, slots=True)
class _Cells:
    """A universe, and for each column that matters the engine's code of every value: a mark for missing."""

    tables: Tables
    universe: Universe
    codes: Mapping[Field, NDArray[np.int64]]

    @classmethod
    def of(cls, fields: Iterable[Field], tables: Tables, universe: Universe) -> _Cells:
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

    def member(self, condition: Within) -> Mask:
        """Say which values of an attribute a set of codes holds."""
        codes = self.codes[condition.field]
        inside = np.zeros(len(codes), dtype=np.bool_)
        for low, high in condition.spans:
            inside |= (codes >= low) & (codes <= high)
        return np.asarray(np.where(codes == _ABSENT, condition.missing, inside), dtype=np.bool_)

    def holds(self, condition: Condition, columns: Columns) -> Any:
        """Evaluate a condition on the codes of some cells; True or False where it looks at none."""
        if isinstance(condition, Within):
            return self.member(condition)[columns[self.place(condition.field)]]
        if isinstance(condition, Compare):
            return self._compared(condition, columns)
        every = isinstance(condition, And)
        result: Any = every
        for part in condition.parts:
            held = self.holds(part, columns)
            result = result & held if every else result | held
        return result

    def _compared(self, condition: Compare, columns: Columns) -> Mask:
        present: Any = True
        values: dict[Field, NDArray[np.int64]] = {}
        for field in condition.number.fields:
            codes = self.codes[field][columns[self.place(field)]]
            present = present & (codes != _ABSENT)
            values[field] = np.where(codes == _ABSENT, 0, codes)
        total: Any = np.int64(0)
        for monomial, coefficient in scaled(condition.number, self.tables).terms:
            term: Any = np.int64(coefficient)
            for field in monomial:
                term = term * values[field]
            total = total + term
        signs = {"<": total < 0, "<=": total <= 0, "=": total == 0, "<>": total != 0}
        return np.asarray(present & signs[condition.sign], dtype=np.bool_)


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A condition ready to be narrowed to groups.

    `masks` holds the codes that count, by place, where the condition is one set per column; else None.
    """

    condition: Condition
    cells: _Cells
    masks: dict[int, Mask] | None

    @classmethod
    def of(cls, condition: Condition, cells: _Cells) -> _Compiled:
        parts = condition.parts if isinstance(condition, And) else (condition,)
        masks: dict[int, Mask] = {}
        for part in parts:
            if not isinstance(part, Within):
                return cls(condition, cells, None)
            place, mask = cells.place(part.field), cells.member(part)
            masks[place] = masks[place] & mask if place in masks else mask
        return cls(condition, cells, masks)

    def query(self, group: Mapping[int, int]) -> LinearQuery:
        """Return the count of one group: a code for each place that is grouped by."""
        universe, name = self.cells.universe, self._name(group)
        if self.condition == FALSE:
            # Nothing is the complement of everything.
            return ProductQuery(universe, (), name, masks=(), complement=True)
        if self.masks is None:
            axes = tuple(sorted({*group, *(self.cells.place(field) for field in _fields(self.condition))}))
            return PredicateQuery(universe, axes, name, holds=self._predicate(axes, group))
        masks = dict(self.masks)
        for place, code in group.items():
            only = np.arange(universe.shape[place]) == code
            masks[place] = masks[place] & only if place in masks else only
        axes = tuple(place for place in sorted(masks) if not masks[place].all())
        return ProductQuery(universe, axes, name, masks=[masks[place] for place in axes])

    def _predicate(self, axes: Axes, group: Mapping[int, int]) -> Predicate:
        def holds(*codes: NDArray[np.integer[Any]]) -> Any:
            columns = dict(zip(axes, codes, strict=True))
            held = self.cells.holds(self.condition, columns)
            for place, code in group.items():
                held = held & (columns[place] == code)
            return held

        return holds

    def _name(self, group: Mapping[int, int]) -> str:
        attributes = self.cells.universe.attributes
        shown = [f"{attributes[p].name} = {attributes[p].values[code]!r}" for p, code in group.items()]
        if self.condition != And(()):
            shown.append(condition_sql(self.condition, self.cells.tables))
        return "rows with " + " and ".join(shown) if shown else "rows"


def _codes(field: Field, tables: Tables, universe: Universe) -> NDArray[np.int64]:
    column = tables.column(field)
    encode: Callable[[Any], Any] = column.encode
    if isinstance(column, Category):
        encode = {value: i for i, value in enumerate(column.values)}.__getitem__
    values = universe.attribute(field.name).values
    try:
        listed = [_ABSENT if value is None else int(encode(value)) for value in values]
    except (InvalidParameter, KeyError):
        raise Refused(
            what=column.name,
            why="the universe has a value that the column does not declare",
            way_out="Build the universe from the schema",
        ) from None
    return np.array(listed, dtype=np.int64)


def _fields(condition: Condition) -> Iterable[Field]:
    if isinstance(condition, Within):
        return [condition.field]
    if isinstance(condition, Compare):
        return condition.number.fields
    return [field for part in condition.parts for field in _fields(part)]
