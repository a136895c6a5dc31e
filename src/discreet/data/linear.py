"""A count as a linear query over a universe: which cells it counts, without touching a row.

Where every condition is on one column at a time the query is a product: one set of values per attribute.
Otherwise it is a predicate that is evaluated on arrays of codes. Either looks only at attributes that matter.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.data.counts import Counts
from discreet.data.plan.nodes import Plan
from discreet.data.plan.row_nodes import FALSE, And, Condition, Within, fields_of
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.schema import Schema
from discreet.data.sql.printed_rows import condition_sql
from discreet.data.universe_cells import Mask, UniverseCells
from discreet.queries.query import Axes, LinearQuery, Predicate, PredicateQuery, ProductQuery
from discreet.queries.universe import Universe


def compile_counts(
    plan: Plan, schemas: Schema | Iterable[Schema] | PlanTables, universe: Universe
) -> tuple[LinearQuery, ...]:
    """Compile a plan that counts rows: one query per declared group, in the order of the answer's rows.

    Where it is made of several counts, those of a group follow one another. On a histogram of the table they
    give what the engine counts, but for a bound on the groups of a user: a histogram needs none.

    Raises
    ------
    Refused
        When the plan is not made of counts of rows over attributes of the universe.
    """
    counts = Counts.of(plan, schemas, universe)
    queries: dict[int, LinearQuery] = {}
    for part in counts.parts:
        compiled = _Compiled.of(part.condition, part.cells)
        groups = (
            dict(zip((place for place, _ in grouping), group, strict=True))
            for grouping in part.groupings
            for group in itertools.product(*(codes for _, codes in grouping))
        )
        for place, group in zip(part.places.tolist(), groups, strict=True):
            queries[place * counts.length + part.number] = compiled.query(group)
    return tuple(queries[place] for place in range(counts.numbers))


@dataclass(frozen=True, slots=True)
class _Compiled:
    """A condition ready to be narrowed to groups.

    `masks` holds the codes that count, by place, where the condition is one set per column; else None.
    """

    condition: Condition
    cells: UniverseCells
    masks: dict[int, Mask] | None

    @classmethod
    def of(cls, condition: Condition, cells: UniverseCells) -> _Compiled:
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
