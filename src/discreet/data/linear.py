"""A count as a linear query over a universe: which cells it counts, without touching a row.

Where every condition is on one column at a time the query is a product: one set of values per attribute.
Otherwise it is a predicate that is evaluated on arrays of codes. Either looks only at attributes that matter.
All groups of a question together are one workload, whose condition is evaluated once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.data.plan.after import count_computed
from discreet.data.plan.evaluate import ABSENT, holds, inside
from discreet.data.plan.keys import cells_of, possible_spans
from discreet.data.plan.nodes import Aggregate, Plan
from discreet.data.plan.row_nodes import (
    FALSE,
    And,
    Atom,
    Choice,
    Compare,
    Condition,
    Field,
    Or,
    Polynomial,
    Quotient,
    Within,
    fields_of,
)
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Category, Column
from discreet.data.schema.schema import Schema
from discreet.data.sql.printed_rows import condition_sql
from discreet.queries.kinds.groups import Grouping, Groups
from discreet.queries.query import Axes, LinearQuery, Predicate, PredicateQuery, ProductQuery
from discreet.queries.universe import Universe

Mask = NDArray[np.bool_]
Columns = Mapping[int, NDArray[np.integer[Any]]]
"""Codes of some cells, by the place of their attribute."""


def compile_counts(
    plan: Plan, schemas: Schema | Iterable[Schema] | PlanTables, universe: Universe
) -> tuple[LinearQuery, ...]:
    """Compile a plan that counts rows: one query per declared group, in the order of the answer's rows.

    On a histogram of the table they give what the engine counts, but for a bound on the groups of a user:
    a histogram needs none.

    Raises
    ------
    Refused
        When the plan is not a count of rows over attributes of the universe.
    """
    counts = Counts.of(plan, schemas, universe)
    compiled = _Compiled.of(plan.where, counts.cells)
    queries = []
    for grouping in counts.groupings:
        places = [place for place, _ in grouping]
        groups = itertools.product(*(codes for _, codes in grouping))
        queries += [compiled.query(dict(zip(places, group, strict=True))) for group in groups]
    return tuple(queries)


@dataclass(frozen=True, slots=True)
class Counts:
    """A plan that counts rows over attributes of a universe, and what answering it takes.

    Attributes
    ----------
    groupings
        The attributes of every grouping set in the order of the answer's rows, and the codes of their groups.
    computed
        How many parts of expressions are computed from the count of a group.
    """

    condition: Condition
    cells: _Cells
    groupings: tuple[Grouping, ...]
    computed: int = 0

    @classmethod
    def of(cls, plan: Plan, schemas: Schema | Iterable[Schema] | PlanTables, universe: Universe) -> Counts:
        """Read a plan; see `compile_counts` for what is refused."""
        tables = PlanTables.of(schemas)
        _check(plan, tables)
        keys = _plain_keys(plan)
        cells = _Cells.of(
            {*keys, *fields_of(plan.where)}, tables, checks.instance(Universe, universe=universe)
        )
        groupings = tuple(
            tuple(cells.grouping(key, plan.where) for key in shown if isinstance(key, Field))
            for shown in plan.shown_sets
        )
        return cls(plan.where, cells, groupings, count_computed(plan))

    def group_names(self) -> list[list[list[Any]]]:
        """Return what the groups of each key are called, for every grouping."""
        attributes = self.cells.universe.attributes
        return [
            [[attributes[place].values[code] for code in codes] for place, codes in grouping]
            for grouping in self.groupings
        ]

    @property
    def groups(self) -> int:
        """How many numbers it asks for."""
        return sum(math.prod(len(codes) for _, codes in grouping) for grouping in self.groupings)

    @property
    def work(self) -> int:
        """About how often a cell is looked at: once for each part of the condition and each grouping."""
        places = {place for grouping in self.groupings for place, _ in grouping}
        places.update(self.cells.place(field) for field in fields_of(self.condition))
        cells = math.prod(self.cells.universe.shape[place] for place in places)
        return cells * (_parts(self.condition) + len(self.groupings))

    def box(self) -> dict[int, NDArray[np.int64]] | None:
        """Return the codes that each attribute may have, by place, where it is one count of a box; else None.

        A box has a set of values for each attribute on its own. What is not asked about is left out.
        """
        condition = self.condition
        parts = condition.parts if isinstance(condition, And) else (condition,)
        if self.groupings != ((),) or not all(isinstance(part, Within) for part in parts):
            return None
        found = {self.cells.place(part.field): part for part in parts if isinstance(part, Within)}
        if len(found) < len(parts):
            return None
        return {place: np.flatnonzero(self.cells.member(part)) for place, part in found.items()}

    def workload(self) -> Groups:
        """Return all groups as one workload, the condition evaluated."""
        universe = self.cells.universe
        axes = tuple(sorted({self.cells.place(field) for field in fields_of(self.condition)}))
        # Each part is evaluated over its own attributes; what it does not look at is broadcast.
        codes = np.meshgrid(*(np.arange(universe.shape[axis]) for axis in axes), indexing="ij", sparse=True)
        held = self.cells.holds(self.condition, dict(zip(axes, codes, strict=True)))
        shape = tuple(universe.shape[axis] for axis in axes)
        where = np.array(np.broadcast_to(held, shape), dtype=np.bool_)
        return Groups(universe, axes=axes, where=where, groupings=self.groupings)


def _check(plan: Plan, tables: PlanTables) -> None:
    # COUNT(column) leaves rows out, which a count of cells would not.
    plain = all(one == Aggregate("count") for one in plan.aggregates)
    bounds = plan.options.max_rows or plan.options.max_groups
    if not plain or plan.joins or plan.units is not None or bounds or plan.branches:
        raise Refused(
            what="query",
            why="only COUNT(*) of one table is a linear query over its universe",
            way_out="Ask for counts without joins or contribution bounds",
        )
    if any(cells_of(keys, tables) is None for keys in plan.sets):
        raise Refused(what="GROUP BY", why="its values are not declared", way_out="Group by declared columns")


def _plain_keys(plan: Plan) -> list[Field]:
    keys = [key for key in plan.keys if isinstance(key, Field)]
    if len(keys) < len(plan.keys):
        raise Refused(
            what="GROUP BY an expression",
            why="only columns are groups of a universe",
            way_out="GROUP BY the column itself and add up the answer",
        )
    return keys


@dataclass(frozen=True, slots=True)
class _Cells:
    """A universe, and for each column that matters the engine's code of every value: a mark for missing."""

    tables: PlanTables
    universe: Universe
    codes: Mapping[Field, NDArray[np.int64]]

    @classmethod
    def of(cls, fields: Iterable[Field], tables: PlanTables, universe: Universe) -> _Cells:
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
            axes = tuple(sorted({*group, *(self.cells.place(field) for field in fields_of(self.condition))}))
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


def _parts(node: Condition | Polynomial | Atom | None) -> int:
    """Count what is evaluated on cells: sets of values, the factors of numbers, and what joins them."""
    if isinstance(node, Compare):
        return 1 + _parts(node.number)
    if isinstance(node, Polynomial):
        return sum(1 + sum(map(_parts, monomial)) for monomial, _ in node.terms)
    if isinstance(node, Choice):
        return 1 + _parts(node.otherwise) + sum(_parts(part) for case in node.cases for part in case)
    if isinstance(node, Quotient):
        return 1 + _parts(node.numerator) + _parts(node.denominator)
    return 1 + sum(map(_parts, node.parts)) if isinstance(node, And | Or) else 1
