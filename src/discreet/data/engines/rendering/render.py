"""A plan as queries for an engine: syntax trees without a dialect, whose answers are whole numbers.

Where the unit is a user, contributions are bounded in two steps. The loaded relation holds a few rows of each
user, numbered in an order drawn from the user's own rows (see `bounding`), so a query takes those up to a
place. Everything after it drops rows or keeps their number (a join with a public table is on a unique key,
one with a private table multiplies the bounds). The last step before the sums keeps the groups of each user
that come first in that same order, and clamps the user's totals.

Queries are written from the `Facts` that price the plan, and `require_bounds` reads the bounds back from what
was written.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from discreet.core.errors import InternalError
from discreet.data.engines.bounding import up_to
from discreet.data.engines.readings import PLACE
from discreet.data.engines.rendering.render_bounds import (
    BOUNDED,
    FIRST,
    GROUPED,
    RANKED,
    TOTALS,
    UNIT,
    require_bounds,
)
from discreet.data.engines.rendering.render_expressions import (
    alias,
    cast,
    column,
    literal,
    name_relation,
    number,
    own_column,
    present,
    select,
    table,
    whole,
)
from discreet.data.engines.rendering.render_lists import choose_rows
from discreet.data.engines.rendering.render_ranges import clamp, hold
from discreet.data.engines.rendering.render_units import list_unit_columns
from discreet.data.plan.derived import UNITS
from discreet.data.plan.facts import Facts, SetFacts
from discreet.data.plan.key_nodes import ComputedKey, Key
from discreet.data.plan.measures import CHOSEN, Measure, MeasureKind, is_there_with
from discreet.data.plan.nodes import Join, Units
from discreet.data.plan.numbers import variable
from discreet.data.plan.row_nodes import Atom, Field, Polynomial, StepFunction
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import MAX_CODE, Category, Ranged
from discreet.data.schema.schema import User

_BY_VALUE: tuple[MeasureKind, ...] = (*CHOSEN, "distinct")
"""Measures with a query of their own: rows are told apart by a value beside the keys."""

MAX_TOTAL = 2**63 - 1
"""The largest total of one user's rows that is added up in 64 bits."""

__all__ = ["EngineQuery", "render"]


@dataclass(frozen=True, slots=True)
class EngineQuery:
    """One query for an engine.

    Its rows hold the codes of `keys`, then (for a histogram) the value in steps, then the `measures`.
    """

    keys: tuple[Key, ...]
    measures: tuple[Measure, ...]
    tree: exp.Query


def render(known: Facts, *, sums_widen: bool = False) -> tuple[EngineQuery, ...]:
    """Return the queries of a plan: one per grouping set, and one more per quantile.

    Parameters
    ----------
    known
        The plan with the bounds that price it.
    sums_widen
        Whether the engine adds up 64-bit integers in a wider type on its own. Others are given 38 digits.

    Raises
    ------
    InternalError
        Where a query does not hold every unit to the bounds its sensitivity was computed from.
    """
    renderer = _Renderer(known, sums_widen)
    queries = []
    for one in known.sets:
        listed = [measure for measure, _ in one.measures]
        numbers = tuple(measure for measure in listed if measure.kind not in _BY_VALUE)
        parts = [numbers] if numbers else []
        parts += [(measure,) for measure in listed if measure.kind in _BY_VALUE]
        for part in parts:
            tree = renderer.query(one, part)
            require_bounds(tree, known, one, part)
            queries.append(EngineQuery(one.keys, part, tree))
    return tuple(queries)


@dataclass(frozen=True, slots=True)
class _Renderer:
    known: Facts
    sums_widen: bool

    def query(self, one: SetFacts, measures: tuple[Measure, ...]) -> exp.Select:
        """Return the query for some measures of one grouping set."""
        groups = [_group(key, self.known.tables) for key in one.keys]
        if measures[0].kind in CHOSEN or self._adds_values(one, measures[0]):
            groups.append(_value(measures[0], self.known.tables))
        unit = self.known.tables.schema(self.known.plan.table).unit
        by_user = isinstance(unit, User) and self._needs_totals(one, measures)
        totals = [alias(self._total(measure, inside=by_user), f"m{i}") for i, measure in enumerate(measures)]
        if isinstance(unit, User) and by_user:
            user = column(Field(self.known.plan.table, unit.column))
            listed = [alias(user, UNIT), *_keys(groups), *totals]
            if self.known.caps_groups(one):
                place = self._row_place() if self.known.plan.units is None else own_column(PLACE)
                listed.append(alias(exp.Min(this=place), FIRST))
            inner = self._rows([user, *groups], listed, one.keys, measures, {})
            return self._of_users(inner, one, len(groups), measures)
        return self._rows(groups, [*_keys(groups), *totals], one.keys, measures, self._list_before())

    def _rows(
        self,
        groups: list[exp.Expr],
        listed: list[exp.Expr],
        keys: tuple[Key, ...],
        measures: tuple[Measure, ...],
        before: Mapping[str, exp.Query],
    ) -> exp.Select:
        """Return totals over every row that counts, once."""
        plan, tables = self.known.plan, self.known.tables
        tests = choose_rows(plan.where, tables)
        needed = [key if isinstance(key, Field) else key.number for key in keys]
        if measures[0].kind in ("histogram", "distinct") and measures[0].number is not None:
            needed.append(measures[0].number)
        if measures[0].kind in ("values", "distinct") and measures[0].column is not None:
            needed.append(measures[0].column)
            tests += _declared_only(measures[0], self.known)
        tests += [test for one in dict.fromkeys(needed) for test in _are_there(one, tables)]
        source = table(UNITS) if plan.units is not None else self._relation(plan.table, plan.table)
        copied = [group.copy() for group in groups]
        return select(
            listed, source, joins=self._joins(plan.joins), tests=tests, groups=copied, before=before
        )

    def _joins(self, joins: tuple[Join, ...]) -> list[exp.Join]:
        return [
            exp.Join(
                this=self._relation(join.table, join.right.table),
                side="LEFT" if join.outer else None,
                kind=None if join.outer else "INNER",
                on=exp.EQ(this=column(join.left), expression=column(join.right)),
            )
            for join in joins
        ]

    def _units(self, units: Units) -> exp.Select:
        """Return one row for each user, or user and key, that has a row that counts."""
        tables = self.known.tables
        user = column(Field(units.table, str(tables.schema(units.table).unit.column)))
        # Several rows of a user are in the order of the first row that each is made of.
        first = [alias(exp.Min(this=self._row_place()), PLACE)] if units.keys else []
        return select(
            [*list_unit_columns(units, tables), *first],
            self._relation(units.table, units.table),
            joins=self._joins(units.joins),
            tests=choose_rows(units.where, tables),
            groups=[user, *map(column, units.keys)],
        )

    def _needs_totals(self, one: SetFacts, measures: tuple[Measure, ...]) -> bool:
        """Say whether a user's rows must be added up before they are counted."""
        clamps = any(measure.kind == "units" or measure.group is not None for measure in measures)
        return clamps or self.known.caps_groups(one)

    def _adds_values(self, one: SetFacts, measure: Measure) -> bool:
        """Say whether a user's different values are listed before those of all users are counted."""
        return measure.kind == "distinct" and self._needs_totals(one, (measure,))

    def _of_users(
        self, totals: exp.Query, one: SetFacts, groups: int, measures: tuple[Measure, ...]
    ) -> exp.Select:
        """Keep a few groups of each user, clamp the user's totals, then add up the users."""
        groups -= measures[0].kind == "distinct"
        before, source, tests = {**self._list_before(), TOTALS: totals}, TOTALS, []
        if self.known.caps_groups(one):
            if measures[0].kind == "distinct":
                before[GROUPED], source = _find_first(groups), GROUPED
            before[RANKED], source = self._rank_groups(one.keys, source), RANKED
            tests = [exp.LTE(this=own_column(PLACE), expression=whole(self.known.groups_per_unit))]
        names = [f"k{i}" for i in range(groups)]
        sums = [alias(self._clamped_total(measure, i), f"m{i}") for i, measure in enumerate(measures)]
        if measures[0].kind == "distinct":
            sums = [alias(_count_different(own_column(f"k{groups}")), "m0")]
        return select(
            [*map(own_column, names), *sums],
            table(source),
            tests=tests,
            groups=list(map(own_column, names)),
            before=before,
        )

    def _row_place(self) -> exp.Expr:
        """Return one number for each row of a user: its place, or those of the rows that were joined."""
        (_, shown, largest), *others = self.known.read
        place = cast(column(Field(shown, PLACE)), "bigint")
        for _, shown, most in others:
            largest = largest * most + most
            if largest > MAX_CODE:
                break  # the keys tell groups apart that come first together
            above = exp.Mul(this=exp.Paren(this=place), expression=whole(most))
            # A row that stays without a partner has no other of its kind: it takes the first place.
            own = exp.Coalesce(this=cast(column(Field(shown, PLACE)), "bigint"), expressions=[whole(1)])
            place = exp.Add(this=above, expression=own)
        return place

    def _rank_groups(self, keys: tuple[Key, ...], source: str) -> exp.Select:
        """Put each user's groups in the order of their first rows; the keys themselves break ties."""
        names = [own_column(f"k{i}") for i in range(len(keys))]
        place = exp.Window(
            this=exp.DenseRank(),
            partition_by=[own_column(UNIT)],
            order=exp.Order(expressions=[exp.Ordered(this=part) for part in (own_column(FIRST), *names)]),
        )
        return select([exp.Star(), alias(place, PLACE)], table(source))

    def _relation(self, name: str, shown: str) -> exp.Expr:
        """Return a table, or the bounded rows of a table of users, under the name it has in the plan."""
        users = list(dict(self.known.kept))
        if name not in users:
            return table(name) if name == shown else name_relation(table(name), shown)
        return name_relation(table(f"{BOUNDED}_{users.index(name)}"), shown)

    def _list_before(self) -> dict[str, exp.Query]:
        """Return the queries for the bounded rows of tables of users, and for one row a user."""
        before: dict[str, exp.Query] = {
            f"{BOUNDED}_{i}": up_to(rows, self.known.tables.schema(name))
            for i, (name, rows) in enumerate(dict(self.known.kept).items())
        }
        if self.known.plan.units is not None:
            before[UNITS] = self._units(self.known.plan.units)
        return before

    def _total(self, measure: Measure, *, inside: bool) -> exp.Expr:
        """Return a measure of the rows of a group, or of one user's rows inside a group."""
        if measure.kind == "rows" and measure.number is not None:
            return exp.Count(this=number(measure.number, self.known.tables))
        if measure.kind == "rows" and measure.column is not None:
            return exp.Count(this=column(measure.column))
        if measure.kind == "distinct":
            return _count_different(_value(measure, self.known.tables))
        if measure.kind in ("rows", "units", *CHOSEN):
            return exp.Count(this=exp.Star())
        value = _steps(measure, self.known.tables)
        if measure.kind == "squares":
            value = exp.Mul(this=exp.Paren(this=value), expression=exp.Paren(this=value.copy()))
        least, most = measure.each_row
        if inside and self.known.rows_per_unit * max(-least, most) <= MAX_TOTAL:
            total: exp.Expr = cast(exp.Sum(this=value), "bigint")  # whatever type the engine adds up in
        else:
            total = exp.Sum(this=self._widen(cast(value, "bigint") if self.sums_widen else value))
        # A user without a value has no total either: there is nothing to clamp, and nothing is added.
        return total if measure.group is not None else exp.Coalesce(this=total, expressions=[whole(0)])

    def _clamped_total(self, measure: Measure, place: int) -> exp.Expr:
        """Return a measure of the users of a group, from each user's own total."""
        if measure.kind == "units":
            return exp.Count(this=exp.Star())
        total = own_column(f"m{place}")
        return self._sum(total if measure.group is None else clamp(total, measure.group))

    def _sum(self, value: exp.Expr) -> exp.Expr:
        return exp.Coalesce(this=exp.Sum(this=self._widen(value)), expressions=[whole(0)])

    def _widen(self, value: exp.Expr) -> exp.Expr:
        # 38 digits hold any sum of 64-bit integers over more rows than there will ever be.
        return value if self.sums_widen else cast(value, "wide")


def _group(key: Key, tables: PlanTables) -> exp.Expr:
    """Return what rows are grouped by: a code that is the same on every engine."""
    return cast(number(key.number, tables), "bigint") if isinstance(key, ComputedKey) else column(key)


def _are_there(value: Field | Polynomial, tables: PlanTables) -> list[exp.Expr]:
    """Return the tests that a column, or all that a number is made from, is not missing."""
    listed = (value,) if isinstance(value, Field) else value.atoms
    atoms = dict.fromkeys(_find_presence(atom, tables) for atom in listed)
    fields = [present(atom) for atom in atoms if isinstance(atom, Field) and tables.nullable(atom)]
    computed = [variable(atom) for atom in atoms if not isinstance(atom, Field) and tables.nullable(atom)]
    return fields + [
        exp.Not(this=exp.Is(this=exp.Paren(this=number(one, tables)), expression=exp.null()))
        for one in computed
    ]


def _find_presence(atom: Atom, tables: PlanTables) -> Atom:
    """Return what is there in the same rows: the column itself, for a function of one."""
    return atom.field if isinstance(atom, StepFunction) and is_there_with(atom, tables) else atom


def _value(measure: Measure, tables: PlanTables) -> exp.Expr:
    """Return what rows are told apart by within a group: their number in steps, or the value of a column."""
    if measure.column is None:
        return _steps(measure, tables)
    found = column(measure.column)
    return clamp(found, measure.row) if isinstance(tables.column(measure.column), Ranged) else found


def _declared_only(measure: Measure, known: Facts) -> list[exp.Expr]:
    """Return the test that a value is declared, where that is what bounds a unit's different values."""
    if measure.column is None or measure.kind != "distinct" or measure.width >= known.rows_per_unit:
        return []
    declared = known.tables.column(measure.column)
    if not isinstance(declared, Category):
        return []  # a number is clamped
    return [exp.In(this=column(measure.column), expressions=list(map(literal, declared.values)))]


def _find_first(groups: int) -> exp.Select:
    """Return a user's values, each with the first row of its whole group instead of its own."""
    names = [own_column(name) for name in (UNIT, *(f"k{i}" for i in range(groups)))]
    first = exp.Window(this=exp.Min(this=own_column(FIRST)), partition_by=names)
    value = own_column(f"k{groups}")
    return select([*(name.copy() for name in names), value, alias(first, FIRST)], table(TOTALS))


def _count_different(value: exp.Expr) -> exp.Expr:
    return exp.Count(this=exp.Distinct(expressions=[value]))


def _keys(groups: list[exp.Expr]) -> list[exp.Expr]:
    return [alias(group, f"k{i}") for i, group in enumerate(groups)]


def _steps(measure: Measure, tables: PlanTables) -> exp.Expr:
    """Return a row's value in steps, clamped and moved by the centre."""
    if measure.number is None:
        raise InternalError(f"{measure.kind} needs a number")
    value = hold(number(measure.number, tables), measure.row)
    return exp.Sub(this=value, expression=whole(measure.centre)) if measure.centre else value
