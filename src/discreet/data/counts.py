"""Questions that are made of counts of rows: which conditions, in which groups, of which cells of a universe.

COUNT(*), COUNT of a column or of an expression, COUNTIF and FILTER all count the rows that meet a condition.
So does every group of a key that is computed: it is the rows whose key has one value. The sum of what is 0 or
one other number is that many times a count, and its average that many times a part of another one. Quantiles
of a number with few values are found among the counts of rows up to each of them.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import Refused
from discreet.data.count_formulas import ONE, CountFormula, QuantilesOf, TimesCount, TimesShare
from discreet.data.plan.after import count_computed
from discreet.data.plan.key_nodes import ComputedKey, Key
from discreet.data.plan.keys import cells_of, name_group
from discreet.data.plan.measures import find_day
from discreet.data.plan.nodes import Aggregate, Plan
from discreet.data.plan.numbers import add, constant, scale
from discreet.data.plan.row_nodes import (
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
from discreet.data.schema.schema import Schema
from discreet.data.universe_cells import UniverseCells
from discreet.queries.kinds.groups import Grouping, Groups
from discreet.queries.universe import Universe

PARTS = 1 << 10
"""The most conditions that one question may count rows by: each is looked at on its own."""

LOOKED_AT = 1 << 17
"""The most cells that are looked at for the values of a number: it is done before the work is bounded."""

VALUES = 1 << 7
"""The most values of a number whose quantiles are found among counts."""


@dataclass(frozen=True, slots=True, eq=False)
class CountedRows:
    """Rows that meet one condition, in every group of some groupings by columns.

    Attributes
    ----------
    number, places
        Which count of a question this is, and in which of its groups.
    """

    condition: Condition
    cells: UniverseCells
    groupings: tuple[Grouping, ...]
    number: int
    places: NDArray[np.int64]

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


Chosen = tuple[tuple[ComputedKey, int], ...]
"""One value for each computed key of a grouping set."""


@dataclass(frozen=True, slots=True)
class GroupedSet:
    """The groups of one grouping set: the columns among its keys, and the codes of every key, in order."""

    keys: tuple[Key, ...]
    codes: tuple[tuple[int, ...], ...]
    columns: Grouping

    @classmethod
    def of(cls, keys: Sequence[Key], where: Condition, cells: UniverseCells) -> GroupedSet:
        """List the groups that a condition leaves possible."""
        columns = tuple(cells.grouping(key, where) for key in keys if isinstance(key, Field))
        listed = iter(columns)
        codes = [key.codes if isinstance(key, ComputedKey) else next(listed)[1] for key in keys]
        return cls(tuple(keys), tuple(codes), columns)

    @property
    def size(self) -> int:
        """How many groups there are."""
        return math.prod(map(len, self.codes))

    def list_groups(self, cells: UniverseCells) -> Iterator[tuple[Any, ...]]:
        """Yield what the keys are called in each group."""
        attributes, places = cells.universe.attributes, iter(self.columns)
        names = [
            [name_group(key, code, cells.tables) for code in codes]
            if isinstance(key, ComputedKey)
            else [attributes[place].values[code] for place, _ in (next(places),) for code in codes]
            for key, codes in zip(self.keys, self.codes, strict=True)
        ]
        return itertools.product(*names)

    def list_computed(self) -> Iterator[Chosen]:
        """Yield all values of its computed keys; one without any, where it has no such key."""
        computed = self._list_computed_keys()
        values = itertools.product(*(key.codes for key in computed))
        return (tuple(zip(computed, codes, strict=True)) for codes in values)

    def has(self, chosen: Chosen) -> bool:
        """Say whether these are values of its computed keys."""
        return self._list_computed_keys() == [key for key, _ in chosen]

    def _list_computed_keys(self) -> list[ComputedKey]:
        return [key for key in self.keys if isinstance(key, ComputedKey)]

    def find_places(self, chosen: Chosen) -> NDArray[np.int64]:
        """Return which of its groups have these values, in the order of its columns."""
        values = dict(chosen)
        index = tuple(
            codes.index(values[key]) if isinstance(key, ComputedKey) else slice(None)
            for key, codes in zip(self.keys, self.codes, strict=True)
        )
        groups = np.arange(self.size, dtype=np.int64).reshape([len(codes) for codes in self.codes])
        return np.ravel(groups[index])


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """A question that is made of counts over attributes of a universe, and what answering it takes.

    Attributes
    ----------
    formulas
        What is asked for in every group, made of counts.
    length
        How many counts there are in every group.
    sets
        The grouping sets, in the order of the answer's rows.
    parts
        What is counted; together they are every number in every group once.
    computed
        How many parts of expressions are computed from the counts of a group, and what these are made of.
    columns
        How many columns of numbers the answer has.
    """

    cells: UniverseCells
    formulas: Mapping[Aggregate, CountFormula]
    length: int
    sets: tuple[GroupedSet, ...]
    parts: tuple[CountedRows, ...]
    computed: int = 0
    columns: int = 0

    @classmethod
    def of(cls, plan: Plan, schemas: Schema | Iterable[Schema] | PlanTables, universe: Universe) -> Counts:
        """Read a plan.

        Raises
        ------
        Refused
            When it asks for anything but counts of rows over attributes of the universe.
        """
        tables = PlanTables.of(schemas)
        _check(plan, tables)
        looked_at = [part for one in plan.aggregates for part in (one.number, one.column)]
        looked_at += [key.number if isinstance(key, ComputedKey) else key for key in plan.keys]
        fields = fields_of(plan.where).union(*map(fields_of, looked_at))
        cells = UniverseCells.of(fields, tables, checks.instance(Universe, universe=universe))
        tests: dict[Condition | None, int] = {}
        formulas = {one: _find_formula(one, cells, tests) for one in plan.aggregates}
        sets = tuple(GroupedSet.of(keys, plan.where, cells) for keys in plan.shown_sets)
        parts = tuple(_list_parts(plan.where, tuple(tests), sets, cells))
        shown = [one.what for one in plan.outputs if not isinstance(one.what, Field | ComputedKey)]
        made = sum(len(formulas[one].used) - 1 for one in shown if isinstance(one, Aggregate))
        computed = count_computed(plan) + made
        return cls(cells, formulas, len(tests), sets, parts, computed, len(shown))

    @property
    def groups(self) -> int:
        """How many groups there are, in all grouping sets."""
        return sum(one.size for one in self.sets)

    @property
    def numbers(self) -> int:
        """How many counts it asks for."""
        return self.groups * self.length

    @property
    def work(self) -> int:
        """About how often a cell is looked at."""
        return sum(part.work for part in self.parts)


def _check(plan: Plan, tables: PlanTables) -> None:
    bounded = any(one.group_bounds is not None or one.row_bounds is not None for one in plan.aggregates)
    bounds = plan.options.max_rows or plan.options.max_groups or bounded
    if plan.joins or plan.units is not None or bounds or plan.branches:
        raise Refused(
            what="query",
            why="only counts of rows of one table are linear queries over its universe",
            way_out="Ask for counts without joins or contribution bounds",
        )
    if any(cells_of(keys, tables) is None for keys in plan.sets):
        raise Refused(what="GROUP BY", why="its values are not declared", way_out="Group by declared columns")


def _list_parts(
    where: Condition, tests: Sequence[Condition | None], sets: Sequence[GroupedSet], cells: UniverseCells
) -> Iterator[CountedRows]:
    """Yield what is counted: for each test and all values of the computed keys, the groups by columns."""
    starts = itertools.accumulate((one.size for one in sets), initial=0)
    placed = list(zip(sets, starts, strict=False))
    values = list(dict.fromkeys(chosen for one in sets for chosen in one.list_computed()))
    if len(values) * len(tests) > PARTS:
        raise Refused(
            what="a question made of counts",
            why=f"it counts rows by {len(values) * len(tests)} conditions, and {PARTS} is the most",
            way_out="Ask for fewer groups of what is computed, or for fewer numbers, at once",
        )
    for (number, test), chosen in itertools.product(enumerate(tests), values):
        more = [] if test is None else [test]
        more += [_is_value(key.number, code, cells.tables) for key, code in chosen]
        listed = [(one, start) for one, start in placed if one.has(chosen)]
        places = np.concatenate([start + one.find_places(chosen) for one, start in listed])
        groupings = tuple(one.columns for one, _ in listed)
        yield CountedRows(cells.narrow(where, *more) if more else where, cells, groupings, number, places)


def _find_formula(
    aggregate: Aggregate, cells: UniverseCells, tests: dict[Condition | None, int]
) -> CountFormula:
    """Return how a number is made of counts, the conditions of which are put among the tests."""

    def count(test: Condition | None) -> int:
        return tests.setdefault(test, len(tests))

    number, column = aggregate.number, aggregate.column
    if aggregate.kind == "count":
        if column is not None:
            return TimesCount(ONE, count(Within(column, (cells.tables.span(column),), missing=False)))
        return TimesCount(ONE, count(None if number is None else _is_there(number)))
    if (
        aggregate.kind not in ("sum", "average", "quantile")
        or number is None
        or find_day(aggregate, cells.tables)
        or math.prod(len(cells.codes[one]) for one in number.fields) > LOOKED_AT
    ):
        raise _refuse(aggregate)
    unit, values = scale(number, cells.tables).unit, sorted(cells.list_values(number))
    if aggregate.kind == "quantile" and 1 < len(values) <= VALUES:
        whole = count(_is_there(number))
        up_to = [count(_is_at_most(number, value, cells.tables)) for value in values[:-1]]
        return QuantilesOf(tuple(v * unit for v in values), (*up_to, whole), whole, aggregate.points)
    others = [value for value in values if value]
    if aggregate.kind == "quantile" or len(others) != 1:
        raise _refuse(aggregate)
    times, part = others[0] * unit, count(_is_value(number, others[0], cells.tables))
    return (
        TimesCount(times, part)
        if aggregate.kind == "sum"
        else TimesShare(times, part, count(_is_there(number)))
    )


def _refuse(aggregate: Aggregate) -> Refused:
    return Refused(
        what=aggregate.kind,
        why="it is not made of counts of rows",
        way_out="Ask for counts, for sums and averages of 0 and one other number, or for quantiles of few",
    )


def _is_there(number: Polynomial) -> Condition:
    """Return the condition that a number is not missing: it is 0, or it is not."""
    return Or((Compare(number, "="), Compare(number, "<>")))


def _is_value(number: Polynomial, code: int, tables: PlanTables) -> Condition:
    """Return the condition that a number has one value, in steps of its unit."""
    return Compare(add(number, constant(-code * scale(number, tables).unit)), "=")


def _is_at_most(number: Polynomial, code: int, tables: PlanTables) -> Condition:
    """Return the condition that a number has at most one value, in steps of its unit."""
    return Compare(add(number, constant(-code * scale(number, tables).unit)), "<=")


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
