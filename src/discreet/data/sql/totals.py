"""Numbers of all rows beside those of groups: (SELECT COUNT(*) FROM t) in SELECT, HAVING and QUALIFY.

Each such subquery is a question of its own first, of the same tables. Together they are one plan whose rows
hold the groups and, hidden, their total: a group reads the number there, as a window of the answer does. So
nothing exact is used, and everything is bounded, measured and priced as with GROUPING SETS.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import ClassVar, cast

from sqlglot import exp

from discreet.core.errors import Refused
from discreet.data.plan.after import compute, find_sort
from discreet.data.plan.canonical import disjunction
from discreet.data.plan.derived import relate
from discreet.data.plan.key_nodes import sort_keys, sort_sets
from discreet.data.plan.keys import list_groups, name_group
from discreet.data.plan.nodes import Aggregate, Computed, Constant, Plan, Shown, Units, Windowed
from discreet.data.plan.row_nodes import Condition, Field
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.nodes import take
from discreet.data.sql.selected.calls import AGGREGATES
from discreet.data.sql.selected.computed import MAX_LIST
from discreet.data.sql.selected.windows import looks_around
from discreet.data.sql.stacked import StackedPart, exchange, merge_units, share_definitions
from discreet.data.sql.text import refuse

MAX_ASIDE = 20
"""Subqueries beside groups in one question."""
_WHAT = "a subquery in an expression"
_ALONE = "Ask for its number on its own, and compute the rest from both answers"
_APART = 10**6
"""How far a window that stands for a subquery looks: no other looks that far."""


class Aside(exp.Expression):
    """The place of a subquery that was taken out of a question: which one it is."""

    arg_types: ClassVar[dict[str, bool]] = {"this": True}


@dataclass(frozen=True, slots=True)
class TakenOut:
    """A question without the subqueries beside its groups, and these."""

    tree: exp.Select
    asides: tuple[exp.Select, ...]


def take_out(tree: exp.Select) -> TakenOut:
    """Take the subqueries out of what a question shows, and out of HAVING and QUALIFY."""
    if not any(_list_asides(part) for part in _parts(tree)):
        return TakenOut(tree, ())
    made = tree.copy()
    found: list[exp.Select] = []
    for part in _parts(made):
        for node in _list_asides(part):
            inner, alias = take(node, "this", "alias")
            if alias is not None or not isinstance(inner, exp.Select):
                raise refuse(_WHAT, "it is no SELECT of one number", _ALONE)
            if inner in found:
                node.replace(Aside(this=found.index(inner)))
                continue
            node.replace(Aside(this=len(found)))
            found.append(inner)
            if len(found) > MAX_ASIDE:
                raise refuse(_WHAT, f"there are more than {MAX_ASIDE}", _ALONE)
    having = made.args.get("having")
    if having is not None and having.find(Aside):
        # A group is looked at together with the total: that is what QUALIFY does, and it comes after.
        tests = [take(clause, "this")[0] for clause in (having, made.args.get("qualify")) if clause]
        test = tests[0] if len(tests) == 1 else exp.And(this=exp.Paren(this=tests[0]), expression=tests[1])
        made.set("having", None)
        made.set("qualify", exp.Qualify(this=test))
    if made.args.get("from_") is None:
        # SELECT (SELECT ...) / (SELECT ...) is about the rows of its subqueries.
        for name in ("from_", "joins", "where"):
            made.set(name, found[0].args.get(name))
    before = made.args.get("with_")
    made.set("with_", None)
    main, *others = share_definitions([made, *found], before)
    return TakenOut(main, tuple(others))


def put_back(taken: TakenOut, tree: exp.Select) -> TakenOut:
    """Return a question around an answer as it was, where a subquery in it is about the same answer."""
    source = taken.tree.args.get("from_")
    name = source.this.name.lower() if source is not None and isinstance(source.this, exp.Table) else None
    same = any(one.name.lower() == name for aside in taken.asides for one in aside.find_all(exp.Table))
    return TakenOut(tree, ()) if same else taken


def _parts(tree: exp.Select) -> list[exp.Expression]:
    clauses = (tree.args.get(name) for name in ("having", "qualify"))
    return [*tree.expressions, *(clause for clause in clauses if clause is not None)]


def _list_asides(part: exp.Expression) -> list[exp.Subquery]:
    """Return the subqueries of an expression that no aggregate or window is computed of."""
    found = []
    for node in part.walk(prune=lambda one: isinstance(one, exp.Subquery) or _is_of_rows(one)):
        if isinstance(node, exp.Subquery):
            found.append(node)
    return found


def _is_of_rows(node: exp.Expr) -> bool:
    if isinstance(node, exp.Window | exp.Filter | exp.WithinGroup):
        return True
    return isinstance(node, exp.Anonymous) and str(node.args.get("this")).upper() in AGGREGATES


class Asides:
    """The subqueries beside the groups of a question, translated.

    Parameters
    ----------
    plans
        What each asks, as a question of its own.
    tables
        What is declared.
    """

    def __init__(self, plans: Sequence[Plan], tables: PlanTables) -> None:
        self._plans, self._tables = plans, tables
        self._marks = [self._mark(place, plan) for place, plan in enumerate(plans)]

    def _mark(self, place: int, plan: Plan) -> Windowed:
        """Return what stands for a number until it is known how it is measured."""
        after = plan.after
        if len(plan.outputs) != 1 or plan.sets != ((),) or plan.branches:
            raise refuse(_WHAT, "it has several rows or columns", f"Select one aggregate. {_ALONE}")
        what = plan.outputs[0].what
        if looks_around(what) or after.having or after.qualify or after.limit is not None or after.offset:
            raise refuse(
                _WHAT, "it is more than a number of all rows", f"Leave its other clauses out. {_ALONE}"
            )
        related = relate(plan, self._tables)
        if not isinstance(what, Aggregate | Computed) or find_sort(what, related) not in ("number", "date"):
            raise refuse(_WHAT, "it is no number", _ALONE)
        return Windowed("max", what, (), (), distance=_APART + place)

    def around(
        self, find: Callable[[exp.Expression], Shown | None]
    ) -> Callable[[exp.Expression], Shown | None]:
        """Return what finds keys as before, and the numbers of subqueries in their places."""

        def find_any(node: exp.Expression) -> Shown | None:
            return self._marks[int(take(node, "this")[0])] if isinstance(node, Aside) else find(node)

        return find_any if self._marks else find

    def put_in(self, plan: Plan) -> Plan:
        """Return one question that measures what the subqueries ask for beside what it asks itself.

        Raises
        ------
        Refused
            Where they are about other tables, or about rows that nothing can be measured of together.
        """
        if not self._marks:
            return plan
        for one in self._plans:
            if (one.table, one.joins) != (plan.table, plan.joins) or (one.units is None) != (
                plan.units is None
            ):
                why = "it is of other tables than the question around it, or joins others"
                raise refuse(_WHAT, why, f"Write the same FROM in both. {_ALONE}")
        units = self._merge_units(plan)
        tables = relate(replace(plan, units=units), self._tables)
        where = disjunction([plan.where, *(one.where for one in self._plans)], tables)
        known: dict[Shown, Shown] = StackedPart(plan, where, tables).known()
        shown = [one.what for one in plan.outputs] + [one.what for one in plan.after.order]
        looked_at = [one for one in (*shown, plan.after.qualify) if one is not None]
        if any(window not in self._marks for one in looked_at for window in _list_windows(one)):
            way_out = "Write the total with OVER () too: SUM(COUNT(*)) OVER ()"
            raise refuse(f"{_WHAT} beside OVER", "it is not part of the language", way_out)
        total = self._is_total(plan, known, tables)
        for mark, one in zip(self._marks, self._plans, strict=True):
            value = exchange(one.outputs[0].what, StackedPart(one, where, tables).known())
            if total is not None:
                kept = compute("case", [total, value, Constant(None)], tables)
                value = Windowed("max", kept, (), ())
            known[mark] = value
        made = self._exchange(plan, known)
        tests = [one for one in (made.after.having, made.after.qualify) if one is not None]
        if total is not None:
            if () not in plan.sets:
                tests.append(compute("not", [total], tables))
            tests += _keep_groups(plan, where, known, tables)
        test = None if not tests else tests[0] if len(tests) == 1 else compute("and", tests, tables)
        after = replace(
            made.after,
            having=test if total is None else None,
            qualify=None if total is None else test,
        )
        sets = [*made.sets, ()] if () not in made.sets else [*made.sets]
        return replace(made, where=where, sets=tuple(sort_sets(sets)), after=after, units=units)

    def _merge_units(self, plan: Plan) -> Units | None:
        try:
            return merge_units([plan, *self._plans])
        except Refused:
            why = "it is of other rows of a unit than the question around it"
            raise refuse(_WHAT, why, f"Read the same subquery in both. {_ALONE}") from None

    def _is_total(self, plan: Plan, known: Mapping[Shown, Shown], tables: PlanTables) -> Computed | None:
        """Return the condition that a row is that of all groups; None where there is no other row."""
        if plan.sets == ((),):
            return None
        tests = [compute("is null", [known[key]], tables) for key in plan.keys]
        return tests[0] if len(tests) == 1 else compute("and", tests, tables)

    def _exchange(self, plan: Plan, known: Mapping[Shown, Shown]) -> Plan:
        after = plan.after
        return replace(
            plan,
            sets=tuple(sort_keys(known[key] for key in keys) for keys in plan.sets),  # type: ignore[misc]
            outputs=tuple(replace(one, what=exchange(one.what, known)) for one in plan.outputs),
            after=replace(
                after,
                having=_exchange_test(after.having, known),
                qualify=_exchange_test(after.qualify, known),
                order=tuple(replace(one, what=exchange(one.what, known)) for one in after.order),
            ),
        )


def _exchange_test(test: Computed | None, known: Mapping[Shown, Shown]) -> Computed | None:
    return None if test is None else cast(Computed, exchange(test, known))


def _list_windows(what: Shown) -> list[Windowed]:
    if isinstance(what, Computed):
        return [window for part in what.parts for window in _list_windows(part)]
    return [what] if isinstance(what, Windowed) else []


def _keep_groups(
    plan: Plan, where: Condition, known: Mapping[Shown, Shown], tables: PlanTables
) -> list[Computed]:
    """Return the conditions that leave the groups which the question's own WHERE lists."""
    found = []
    for key in plan.keys:
        if not isinstance(key, Field) or where == plan.where:
            continue
        own, every = (list_groups(key, one, tables) for one in (plan.where, where))
        if own == every:
            continue
        if len(own) > MAX_LIST:
            why = f"the question's own WHERE leaves more than {MAX_LIST} groups of {key.name}, and it more"
            raise refuse(_WHAT, why, f"Write the same WHERE in both. {_ALONE}")
        values = [name_group(key, code, tables) for code in own]
        constants = [Constant(Fraction(one) if type(one) is int else one) for one in values]  # type: ignore[arg-type]
        tests = [compute("=", [known[key], one], tables) for one in constants]
        if () in plan.sets or len(plan.sets) > 1:
            tests.append(compute("is null", [known[key]], tables))
        found.append(tests[0] if len(tests) == 1 else compute("or", tests, tables))
    return found
