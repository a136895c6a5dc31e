"""How far one unit can move the exact answers of a plan: from public metadata alone.

A plan is computed from a few *measures*, each a vector of whole numbers with one entry a group. A unit's
contribution to a measure is bounded in three ways: how many entries it touches, how large each is, and how
large they are together. `facts` states what follows for the neighbours the owner declared. Nothing is ever
taken to be constant, however obvious, so no answer is free.

The bounds that price are the bounds that are applied: `render` writes its queries from the same `Facts`, and
reads every bound back from what it wrote.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.core.errors import Refused
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.rounding import up
from discreet.data.plan.after import check_computed
from discreet.data.plan.derived import UNITS, list_kept_rows, relate
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.keys import cells_of
from discreet.data.plan.measures import CHOSEN, Measure, measures
from discreet.data.plan.nodes import Aggregate, Plan
from discreet.data.plan.row_nodes import Field, Span
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.schema import Schema

MAX_PARTS = 1_000
"""Numbers that a question measures, and quantiles that it chooses, in a group of every grouping set."""
MAX_NUMBERS = 4_000_000
"""Numbers that it measures in all declared groups together."""
MAX_QUANTILES = 100_000
"""Quantiles that it chooses in all declared groups together: each takes as long as many numbers."""
MAX_SCORED = 30_000_000
"""Declared values that are looked at for them: once a quantile and group, whatever the rows hold."""


@dataclass(frozen=True, slots=True)
class VectorSensitivity:
    """The largest difference between the vectors of neighbours, in steps.

    `l0` entries differ, by at most `linf` each, by `l1` in sum and by the root of `l2_squared` in length.
    """

    l0: int
    linf: int
    l1: int
    l2_squared: int

    @property
    def l2(self) -> float:
        """The Euclidean length, rounded up."""
        root = math.isqrt(self.l2_squared)
        if root * root == self.l2_squared:
            return up(Fraction(root))
        scale = 1 << 64
        return up(Fraction(math.isqrt(self.l2_squared * scale * scale) + 1, scale))


@dataclass(frozen=True, slots=True)
class SetFacts:
    """One grouping set: its keys, how many groups are declared (None: found by threshold), its measures."""

    keys: tuple[Key, ...]
    cells: int | None
    measures: tuple[tuple[Measure, VectorSensitivity], ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """A plan with all its bounds: what is hidden, and how far one unit moves each measure of each set.

    Parameters
    ----------
    plan, tables
        The question and the tables it is about.
    kept
        The private tables whose unit is a user, each with the rows of one user that count.
    groups_per_unit
        How many groups of one grouping set one unit may touch.
    measured
        What each aggregate is computed from.
    points
        The quantiles that are asked of each histogram, each once.
    extremes
        The ends of the range of rows that are asked of each histogram: 0 for the smallest, 1 for the largest.
    sets
        The grouping sets, in the plan's order.
    """

    plan: Plan
    tables: PlanTables
    kept: tuple[tuple[str, int], ...]
    groups_per_unit: int
    measured: Mapping[Aggregate, tuple[Measure, ...]]
    points: Mapping[Measure, tuple[Fraction, ...]]
    extremes: Mapping[Measure, tuple[Fraction, ...]]
    sets: tuple[SetFacts, ...] = ()

    @property
    def neighbours(self) -> Neighbours:
        """Which change is hidden."""
        return self.tables.schema(self.plan.table).neighbours

    @property
    def rows_per_unit(self) -> int:
        """How many rows of the joined table one unit has at most.

        Private tables are bounded one by one and joined on the unit, so every pair of rows can meet. Where
        there is one row for each unit, it is that one; for each unit and key, as many as those of its rows.
        """
        if self.plan.units is not None and not self.plan.units.keys:
            return 1
        return math.prod(rows for _, rows in self.kept)

    def rows_in_group(self, keys: tuple[Key, ...]) -> int:
        """Return how many rows one unit has at most in a group: one, where keys tell all of them apart."""
        units = self.plan.units
        apart = None if units is None else {Field(UNITS, key.name) for key in units.keys}
        return 1 if apart is not None and apart <= set(keys) else self.rows_per_unit

    @property
    def read(self) -> tuple[tuple[str, str, int], ...]:
        """Each reading of a private table of users: the table, its name in the plan, the rows of one user."""
        source = self.plan if self.plan.units is None else self.plan.units
        most = dict(self.kept)
        names = [(source.table, source.table), *((join.table, join.right.table) for join in source.joins)]
        return tuple((table, shown, most[table]) for table, shown in names if table in most)

    def choices(self, measure: Measure) -> int:
        """Return how many values are chosen from a measure in each group, ends of intervals not counted."""
        if measure.kind == "values":
            return 1
        return len(self.points.get(measure, ())) + len(self.extremes.get(measure, ()))

    def caps_groups(self, one: SetFacts) -> bool:
        """Say whether a unit's rows could touch more groups of a grouping set than the unit may."""
        reach = self.rows_per_unit
        return self.groups_per_unit < (reach if one.cells is None else min(reach, one.cells))


def facts(plan: Plan, schemas: Schema | Iterable[Schema] | PlanTables) -> Facts:
    """Derive the sensitivity of every measure of a plan.

    Raises
    ------
    Refused
        When there is more to measure than one question may ask for.
    """
    tables = relate(plan, PlanTables.of(schemas))
    measured = {one: measures(one, tables) for one in plan.aggregates}
    known = Facts(
        plan,
        tables,
        list_kept_rows(plan, tables),
        _groups_per_unit(plan, tables),
        measured,
        points=_points(measured),
        extremes=_extremes(measured),
    )
    _check_work(known)
    return replace(known, sets=tuple(_set_facts(known, keys) for keys in plan.sets))


def _list_measures(known: Facts, keys: tuple[Key, ...]) -> list[Measure]:
    """Return what is measured in the groups of a grouping set, each once."""
    asked = known.plan.list_measured(keys)
    return list(dict.fromkeys(measure for one in asked for measure in known.measured[one]))


def _check_work(known: Facts) -> None:
    """Refuse more than one question may ask for, before anything is computed for it."""
    parts = numbers = quantiles = scored = groups = 0
    for keys in known.plan.sets:
        cells = cells_of(keys, known.tables, known.plan.where) or 1
        listed = _list_measures(known, keys)
        chosen = [(one, known.choices(one)) for one in listed if one.kind in CHOSEN]
        times = sum(count for _, count in chosen)
        parts += len(listed) - len(chosen) + times
        numbers += (len(listed) - len(chosen)) * cells
        quantiles += times * cells
        scored += sum(count * one.width for one, count in chosen) * cells
        groups += cells
    for found, most, what in (
        (parts, MAX_PARTS, "numbers and quantiles in a group, all grouping sets together"),
        (numbers, MAX_NUMBERS, "numbers, all groups together"),
        (quantiles, MAX_QUANTILES, "quantiles, all groups together"),
        (scored, MAX_SCORED, "declared values to choose from, all quantiles and groups together"),
    ):
        if found > most:
            way_out = "Ask for fewer aggregates, quantiles, groups or grouping sets at once"
            if most == MAX_SCORED:
                way_out += ", round the values, as in ROUND(x, -2), or give contribution_bounds_per_row"
            raise Refused(what="SELECT", why=f"it needs {found} {what}; {most} is the most", way_out=way_out)
    check_computed(known.plan, groups)


def _points(measured: Mapping[Aggregate, tuple[Measure, ...]]) -> dict[Measure, tuple[Fraction, ...]]:
    found: dict[Measure, set[Fraction]] = {}
    for aggregate, (measure, *_) in measured.items():
        if aggregate.kind == "quantile":
            found.setdefault(measure, set()).update(aggregate.points)
    return {measure: tuple(sorted(points)) for measure, points in found.items()}


def _extremes(measured: Mapping[Aggregate, tuple[Measure, ...]]) -> dict[Measure, tuple[Fraction, ...]]:
    found: dict[Measure, set[Fraction]] = {}
    for aggregate, (measure, *_) in measured.items():
        if aggregate.kind in ("minimum", "maximum"):
            found.setdefault(measure, set()).add(Fraction(aggregate.kind == "maximum"))
    return {measure: tuple(sorted(ends)) for measure, ends in found.items()}


def _set_facts(known: Facts, keys: tuple[Key, ...]) -> SetFacts:
    """State one grouping set: each measure once; units where a threshold needs them."""
    listed = _list_measures(known, keys)
    cells = cells_of(keys, known.tables, known.plan.where)
    needed = dict.fromkeys([*listed, finder(known)] if cells is None else listed)
    return SetFacts(keys, cells, tuple((one, _sensitivity(one, known, keys, cells)) for one in needed))


def stack(parts: Iterable[VectorSensitivity]) -> VectorSensitivity:
    """Return the sensitivity of several vectors released as one."""
    listed = list(parts)
    return VectorSensitivity(
        l0=sum(part.l0 for part in listed),
        linf=max(part.linf for part in listed),
        l1=sum(part.l1 for part in listed),
        l2_squared=sum(part.l2_squared for part in listed),
    )


def _groups_per_unit(plan: Plan, tables: PlanTables) -> int:
    return plan.options.max_groups or tables.schema(plan.table).unit.max_groups


def finder(known: Facts) -> Measure:
    """Return the measure that finds undeclared groups: units, which are rows where the unit is a row."""
    return Measure("units" if known.kept else "rows")


def _sensitivity(
    measure: Measure, known: Facts, keys: tuple[Key, ...], cells: int | None
) -> VectorSensitivity:
    """Bound one unit's vector: at most `entries` entries in [low, high], of absolute sum at most `total`."""
    rows, inside = known.rows_per_unit, known.rows_in_group(keys)
    reach = min(known.groups_per_unit, rows)
    entries = reach if cells is None else min(reach, cells)
    if measure.kind in CHOSEN:
        cells = None if cells is None else cells * measure.width
        entries = rows if cells is None else min(rows, cells)
        low, high, total = 0, inside, rows
    elif measure.kind == "distinct":
        # A unit's rows add the values that nobody else has: none without a row, each declared one once.
        low, high, total = 0, min(inside, measure.width), rows
    elif measure.kind == "units":
        low, high, total = 0, 1, entries
    else:
        least, most = measure.each_row
        low, high = min(0, inside * least), max(0, inside * most)
        total = rows * max(-least, most)
        if measure.group is not None:
            floor, ceiling = measure.group
            low, high = (min(max(end, floor), ceiling) for end in (low, high))
            low, high = min(0, low), max(0, high)
            if not floor <= 0 <= ceiling:
                # Clamping may then move a total away from 0, so only the size of each entry bounds the sum.
                total = entries * max(-low, high)
    total = min(total, entries * max(-low, high))
    return _between(known.neighbours, (low, high), total=total, entries=entries, cells=cells)


def _between(
    neighbours: Neighbours, each: Span, *, total: int, entries: int, cells: int | None
) -> VectorSensitivity:
    low, high = each
    largest = max(-low, high)
    if largest == 0:
        return VectorSensitivity(0, 0, 0, 0)
    # The longest vector puts all it can into as few entries as it can.
    full = min(entries, total // largest)
    rest = total - full * largest if full < entries else 0
    length = full * largest**2 + rest**2
    if not isinstance(neighbours, Replace):
        return VectorSensitivity(entries, largest, total, length)
    if cells == 1:
        return VectorSensitivity(1, high - low, high - low, (high - low) ** 2)
    # One unit's vector leaves and another comes: entries of one sign cannot add up in one place.
    one_sign = low == 0 or high == 0
    return VectorSensitivity(
        l0=2 * entries if cells is None else min(2 * entries, cells),
        linf=high - low,
        l1=2 * total,
        l2_squared=2 * length if one_sign else 4 * length,
    )
