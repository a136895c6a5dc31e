"""UNION ALL: several SELECTs of the same tables, asked as one question.

Each is a question of its own first. Together they are one plan: a row counts where one of them counts it, and
an aggregate is of the rows that its own SELECT counts, as FILTER would say it. So everything is bounded,
measured and priced as in any question with several aggregates and grouping sets, and nothing is paid twice
that two of them share.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from discreet.data.plan.after import find_sort
from discreet.data.plan.canonical import conjunction, disjunction, is_there
from discreet.data.plan.derived import relate
from discreet.data.plan.key_nodes import Key, sort_keys, sort_sets
from discreet.data.plan.keys import is_listed
from discreet.data.plan.measures import measures
from discreet.data.plan.nodes import (
    After,
    Aggregate,
    Branch,
    Computed,
    Ordering,
    Plan,
    Shown,
    Units,
    Windowed,
)
from discreet.data.plan.numbers import scale
from discreet.data.plan.row_nodes import Condition, Field
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.nodes import Scope, take
from discreet.data.sql.selected.aggregates import keep_bounds
from discreet.data.sql.selected.calls import AGGREGATES
from discreet.data.sql.selected.computed import Names, translate
from discreet.data.sql.selected.counted import count_present, count_where, keep
from discreet.data.sql.selected.outputs import MAX_ORDER, find_ordinal, read_row_count
from discreet.data.sql.text import refuse

MAX_SELECTS = 64
_ALONE = "Ask each SELECT on its own, with its share of epsilon"
_ONCE = Fraction(0), Fraction(1)


@dataclass(frozen=True, slots=True)
class SeveralSelects:
    """What stands below one another, and what is said of all their rows."""

    selects: tuple[exp.Select, ...]
    order: exp.Expression | None
    limit: exp.Expression | None
    offset: exp.Expression | None


def split_union(tree: exp.SetOperation) -> SeveralSelects:
    """Part several SELECTs, the first one first; each keeps the common table expressions that it reads."""
    before, order, limit, offset = (tree.args.get(key) for key in ("with_", "order", "limit", "offset"))
    found: list[exp.Expression] = []
    rest: list[exp.Expression] = [tree]
    while rest:
        node = rest.pop()
        if isinstance(node, exp.Subquery):
            rest.append(take(node, "this")[0])
        elif isinstance(node, exp.SetOperation):
            own = ("with_", "order", "limit", "offset") if node is tree else ()
            left, right, distinct, *_ = take(node, "this", "expression", "distinct", *own)
            if not isinstance(node, exp.Union) or distinct:
                name = type(node).__name__.upper()
                raise refuse(name, "it compares the rows of two noisy answers", f"Write UNION ALL. {_ALONE}")
            rest += [right, left]
        else:
            found.append(node)
        if len(found) > MAX_SELECTS:
            raise refuse("UNION ALL", f"it has more than {MAX_SELECTS} parts", _ALONE)
    selects = []
    for one in found:
        if not isinstance(one, exp.Select):
            raise refuse("UNION ALL", "each part is a SELECT", _ALONE)
        for key in ("with_", "order", "limit", "offset"):
            if one.args.get(key) is not None:
                way_out = "Put WITH before the first SELECT, and ORDER BY and LIMIT after the last one"
                raise refuse("UNION ALL", "WITH, ORDER BY and LIMIT are about all of its rows", way_out)
        selects.append(one)
    return SeveralSelects(tuple(share_definitions(selects, before)), order, limit, offset)


def share_definitions(selects: list[exp.Select], before: exp.Expression | None) -> list[exp.Select]:
    """Give every SELECT those definitions of WITH that it reads, itself or through others.

    Raises
    ------
    Refused
        Where none of them reads one.
    """
    if before is None:
        return selects
    (listed,) = take(before, "expressions")
    unread = {id(one): one for one in listed}
    for tree in selects:
        names = _list_tables(tree)
        read = []
        for one in reversed(listed):
            if one.alias.lower() in names:
                read.append(one)
                names |= _list_tables(one)
                unread.pop(id(one), None)
        if read:
            tree.set("with_", exp.With(expressions=[one.copy() for one in reversed(read)]))
    for one in unread.values():
        raise refuse(f"WITH {one.alias}", "nothing reads it", "Leave it out")
    return selects


def _list_tables(tree: exp.Expression) -> set[str]:
    return {one.name.lower() for one in tree.find_all(exp.Table)}


def stack_plans(plans: Sequence[Plan], several: SeveralSelects, tables: PlanTables) -> Plan:
    """Return one question that shows the rows of several, one below the other.

    Raises
    ------
    Refused
        Where they are about other tables, or their columns do not go together.
    """
    first = plans[0]
    units = merge_units(plans)
    for plan in plans:
        if (plan.table, plan.joins, plan.options) != (first.table, first.joins, first.options):
            why = "its parts are about other tables, or join others"
            raise refuse("UNION ALL", why, f"Name the same tables in every SELECT. {_ALONE}")
        if len(plan.outputs) != len(first.outputs):
            raise refuse("UNION ALL", "its parts have different numbers of columns", "Select as many in each")
    related = relate(replace(first, units=units), tables)
    _check_sorts(plans, related)
    where = disjunction([plan.where for plan in plans], related)
    made = [StackedPart(plan, where, related).branch() for plan in plans]
    orders = _read_order(several.order, first, made, Scope(related, {}, {}))
    branches = tuple(
        replace(one, order=tuple(listed[place].what for listed in orders)) for place, one in enumerate(made)
    )
    after = After(
        order=tuple(listed[0] for listed in orders),
        offset=read_row_count(several.offset, "OFFSET") or 0,
        limit=read_row_count(several.limit, "LIMIT"),
    )
    pairs = zip(first.outputs, branches[0].outputs, strict=True)
    return replace(
        first,
        where=where,
        sets=tuple(sort_sets(keys for branch in branches for keys in branch.sets)),
        outputs=tuple(replace(output, what=what) for output, what in pairs),
        after=after,
        units=units,
        branches=branches,
    )


def merge_units(plans: Sequence[Plan]) -> Units | None:
    """Return the relation of units that all parts are about, with all values that they read.

    Raises
    ------
    Refused
        Where there is no such relation.
    """
    listed = [plan.units for plan in plans if plan.units is not None]
    if not listed:
        return None
    alike = {replace(units, values=()) for units in listed}
    if len(alike) > 1 or len(listed) < len(plans):
        why = "its parts are about different rows of a unit"
        raise refuse("UNION ALL", why, f"Write the same subquery in each, and conditions around it. {_ALONE}")
    values = {value for units in listed for value in units.values}
    return replace(listed[0], values=tuple(sorted(values, key=repr)))


def _check_sorts(plans: Sequence[Plan], tables: PlanTables) -> None:
    for column in zip(*(plan.outputs for plan in plans), strict=True):
        sorts = {find_sort(output.what, tables) for output in column} - {"anything"}
        if len(sorts) > 1:
            why = f"it is {' and '.join(sorted(sorts))} in different parts"
            raise refuse(f"UNION ALL, column {column[0].name}", why, "Select values of one kind in each")


@dataclass(frozen=True, slots=True)
class StackedPart:
    """One of several questions, and what all of them together count."""

    plan: Plan
    where: Condition
    tables: PlanTables

    def branch(self) -> Branch:
        """Return it as a part of the whole."""
        plan = self.plan
        if plan.after.order or plan.after.offset or plan.after.limit is not None:
            raise refuse("UNION ALL", "ORDER BY and LIMIT are about all of its rows", "Put them at the end")
        known = self.known()
        sets = [sort_keys(known[key] for key in keys) for keys in plan.sets]  # type: ignore[misc]
        conditions = (plan.after.having, plan.after.qualify)
        having, qualify = (None if one is None else exchange(one, known) for one in conditions)
        outputs = tuple(exchange(output.what, known) for output in plan.outputs)
        return Branch(plan, tuple(sort_sets(sets)), outputs, having, (), qualify)  # type: ignore[arg-type]

    def known(self) -> dict[Shown, Shown]:
        """Return each key and aggregate of the question as it is among the rows that all of them count."""
        known: dict[Shown, Shown] = {key: self._key(key) for key in self.plan.keys}
        return known | {one: self._aggregate(one) for one in self.plan.aggregates}

    def _key(self, key: Key) -> Key:
        if self.plan.where == self.where:
            return key
        if not is_listed(key, self.tables):
            why = "groups that appear in the data are those of all rows that count"
            raise refuse(f"GROUP BY {key.name}", why, f"Write the same WHERE in every SELECT. {_ALONE}")
        if isinstance(key, Field):
            return key
        # Computed for the rows that this SELECT counts: elsewhere it may be beyond what an engine can hold.
        number = keep(key.number, self.plan.where, self._scope)
        before, after = (scale(one, self.tables).unit for one in (key.number, number))
        steps = (code * before / after for code in key.codes)  # values that are left may have larger steps
        return replace(key, number=number, codes=tuple(int(one) for one in steps if one.denominator == 1))

    def _aggregate(self, one: Aggregate) -> Aggregate:
        """Return an aggregate of the rows that this SELECT counts, among those that all of them count."""
        kept, scope = self.plan.where, self._scope
        if kept == self.where:
            return one
        if one.kind == "count_units":
            return self._count_units(kept)
        if one.kind == "count" and one.number is None:
            there = [] if one.column is None else [is_there(one.column, self.tables)]
            number = count_where(conjunction([kept, *there], self.tables), scope)
            return replace(one, number=number, column=None)
        if one.number is None:
            why = "it is for counts and numbers where the SELECTs count different rows"
            raise refuse(f"{one.kind} under UNION ALL", why, _ALONE)
        number = keep(one.number, kept, scope)
        if one.kind == "count":
            return replace(one, number=count_present(number, scope))
        found = keep_bounds(one, number, scope)
        measures(found, self.tables)  # refuses what an engine could not add up exactly
        return found

    def _count_units(self, kept: Condition) -> Aggregate:
        """Count the units of which some row counts: their rows that do, at most 1."""
        units = self.plan.units
        once = None if units is not None and not units.keys else _ONCE  # one row is at most 1 by itself
        return Aggregate("count", count_where(kept, self._scope), group_bounds=once)

    @property
    def _scope(self) -> Scope:
        return Scope(self.tables, {}, {})


def exchange(what: Shown, known: Mapping[Shown, Shown]) -> Shown:
    """Return the same with others in the place of some keys, aggregates and windows."""
    if what in known:
        return known[what]
    if isinstance(what, Computed):
        return replace(what, parts=tuple(exchange(part, known) for part in what.parts))
    if isinstance(what, Windowed):
        return replace(
            what,
            what=None if what.what is None else exchange(what.what, known),  # type: ignore[arg-type]
            partition=tuple(exchange(key, known) for key in what.partition),  # type: ignore[misc]
            order=tuple(replace(one, what=exchange(one.what, known)) for one in what.order),
        )
    return what


def _read_order(
    node: exp.Expression | None, first: Plan, branches: Sequence[Branch], scope: Scope
) -> list[list[Ordering]]:
    """Return what rows are sorted by, the first one first, as it is computed in every part."""
    listed = [] if node is None else take(node, "expressions")[0]
    if len(listed) > MAX_ORDER:
        raise refuse("ORDER BY", f"it has more than {MAX_ORDER} parts", "Sort by fewer")
    found = []
    for item in listed:
        this, descending, missing_first = take(item, "this", "desc", "nulls_first")
        each = []
        for branch in branches:
            columns = dict(zip((one.name.lower() for one in first.outputs), branch.outputs, strict=True))
            if isinstance(this, exp.Literal):
                what = branch.outputs[find_ordinal(this, first.outputs)]
            else:
                what = translate(this, Names(scope, _refuse_name, columns))
            if find_sort(what, scope.tables) == "list":
                raise refuse("ORDER BY", "several quantiles have no order", "Sort by one quantile")
            each.append(Ordering(what, bool(descending), bool(missing_first)))
        found.append(each)
    return found


def _refuse_name(node: exp.Expression) -> Key | None:
    """Refuse what is no column of the answer: it would be that of one SELECT."""
    is_call = isinstance(node, exp.Anonymous) and str(node.args.get("this")).upper() in AGGREGATES
    if is_call or isinstance(node, exp.Column | exp.Filter | exp.WithinGroup | exp.Window):
        way_out = "Name columns of the first SELECT, or their places"
        raise refuse("ORDER BY after UNION ALL", "it is about the columns of the answer", way_out)
    return None
