"""From SQL to a noisy answer: plan, price, read exact aggregates, add noise. In that order.

Nothing that is decided before the engine runs depends on the data, and nothing after it does but through the
random steps: the vectors have the shape of the declared groups (or of the groups already shown), zeros where
the engine found nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InternalError
from discreet.core.rng import Rng
from discreet.core.sensitive import Sensitive
from discreet.data.engines.base import Source
from discreet.data.engines.rendering.render import render
from discreet.data.plan.facts import Facts, SetFacts
from discreet.data.plan.key_nodes import Key, sort_keys
from discreet.data.plan.keys import list_groups, name_group
from discreet.data.plan.measures import CHOSEN, Measure
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.answer import Answer, Block, Chosen
from discreet.data.pricing.budget import ModeChoice, Vector, budget
from discreet.data.pricing.noisy_vector import NoisyVector
from discreet.data.pricing.presented import Value
from discreet.data.pricing.quantiles import KeptRows
from discreet.data.pricing.question_plan import QuestionPlan, price_question
from discreet.data.pricing.thresholds import Key as Group
from discreet.data.schema.columns import Category, Code
from discreet.data.schema.schema import Schema
from discreet.data.sql.parse import parse

Totals = dict[Group, int]
Counts = dict[Group, KeptRows]


def plan_question(
    text: str, *, schemas: Schema | Iterable[Schema] | PlanTables, policy: Policy
) -> QuestionPlan:
    """Say what a question would cost and how well it would be answered. Needs no data and costs nothing.

    Parameters
    ----------
    text
        One SELECT of the language of `discreet.data.sql.parse`.
    schemas
        The private tables it may name.
    policy
        What the owner allows one question to cost.

    Raises
    ------
    Refused
        For anything outside the language or the policy.
    """
    tables = PlanTables.of(schemas)
    return price_plan(parse(text, schemas=tables, policy=policy), tables, policy)


def price_plan(question: Plan, tables: PlanTables, policy: Policy) -> QuestionPlan:
    """Price a question that is parsed already."""
    return price_question(budget(question, tables, policy))


def ask(plan: QuestionPlan, *, source: Source, rng: Rng) -> Answer:
    """Read the exact aggregates and release them with noise.

    Privacy: `plan.guarantee`, whatever comes out, an error included.
    Accuracy: `plan.columns`, and the intervals of the answer.
    Time: that of the engine's queries, and O(groups).

    Parameters
    ----------
    plan
        The question. It must be paid for before.
    source
        The engine that holds the tables.
    rng
        Where the noise comes from.
    """
    checks.instance(Rng, rng=rng)  # before any data are read
    question, known = plan.question, plan.budget.facts
    releaser = _Releaser(plan, _read(known, source), rng)
    facts = {one.keys: one for one in known.sets}
    blocks = tuple(releaser.block(facts[sort_keys(shown)], shown) for shown in question.shown_sets)
    return Answer.of(plan, blocks, unsafe_seeded=rng.unsafe)


def read_vector(plan: QuestionPlan, *, source: Source) -> Sensitive[tuple[int, ...]]:
    """Read the exact numbers of a question that measures one vector: private, for mechanisms alone.

    Parameters
    ----------
    plan
        The question: one grouping set whose groups are declared, and one number in each of them.
    source
        The engine that holds the tables.

    Returns
    -------
    Sensitive[tuple[int, ...]]
        The numbers in the order of the declared groups, in steps; 0 where the engine found nothing. How far
        one unit moves them, the facts of the plan say.
    """
    (one,), (shown,) = plan.budget.facts.sets, plan.question.shown_sets
    ((measure, _),) = one.measures
    totals = _read(plan.budget.facts, source).totals[one.keys, measure]
    groups = _list_declared(plan, one.keys, shown)
    return Sensitive(tuple(totals.get(group, 0) for group in groups))


@dataclass(frozen=True, slots=True)
class _Found:
    """Exact aggregates of the groups an engine found, by grouping set and measure."""

    totals: Mapping[tuple[tuple[Key, ...], Measure], Totals]
    counts: Mapping[tuple[tuple[Key, ...], Measure], Counts]

    def __repr__(self) -> str:
        return "exact aggregates (...)"


def _read(known: Facts, source: Source) -> _Found:
    """Run the queries of a plan, written from the facts that it was priced by."""
    queries = render(known, sums_widen=source.sums_widen)
    answers = [source.execute(query.tree) for query in queries]
    totals: dict[tuple[tuple[Key, ...], Measure], Totals] = {}
    counts: dict[tuple[tuple[Key, ...], Measure], Counts] = {}
    for query, rows in zip(queries, answers, strict=True):
        width = len(query.keys)
        if query.measures[0].kind in CHOSEN:
            by_value: Counts = counts.setdefault((query.keys, query.measures[0]), {})
            place_of = _place_of(query.measures[0], known.tables)
            for row in rows:
                place = place_of(row[width])
                if place is not None:
                    by_value.setdefault(_key(row[:width]), KeptRows())[place] = _whole(row[width + 1])
            continue
        for place, measure in enumerate(query.measures):
            totals[query.keys, measure] = {_key(row[:width]): _whole(row[width + place]) for row in rows}
    return _Found(totals, counts)


def _place_of(measure: Measure, tables: PlanTables) -> Callable[[Code | None], int | None]:
    """Return what finds the place of a code among the values that are chosen from; None where it has none."""
    if measure.column is None:
        return _whole
    column = tables.column(measure.column)
    if isinstance(column, Category):
        return {code: place for place, code in enumerate(column.codes())}.get  # type: ignore[return-value]
    low, high = measure.row
    return lambda code: code - low if isinstance(code, int) and low <= code <= high else None


def _key(codes: tuple[Code | None, ...]) -> Group:
    return tuple(code for code in codes if code is not None)


def _whole(code: Code | None) -> int:
    return code if isinstance(code, int) else 0


@dataclass(frozen=True, slots=True)
class _Releaser:
    """Takes exact aggregates through the random steps, one grouping set after the other."""

    plan: QuestionPlan
    found: _Found
    rng: Rng

    def block(self, one: SetFacts, order: tuple[Key, ...]) -> Block:
        """Release everything about one grouping set, its groups in the order of some of its keys."""
        vectors = [vector for vector in self.plan.budget.vectors if vector.keys == one.keys]
        done: dict[Measure, NoisyVector] = {}
        if one.cells is None:
            finder = next(vector for vector in vectors if vector.threshold is not None)
            shown = self.rng.perform(finder.finding, self.found.totals[one.keys, finder.measure])
            rank = _rank(self.plan.tables, one.keys, order)
            shown = tuple(sorted(shown, key=lambda pair: rank(pair[0])))
            groups = [key for key, _ in shown]
            done[finder.measure] = NoisyVector(finder, tuple(count for _, count in shown))
        else:
            groups = _list_declared(self.plan, one.keys, order)
        for vector in vectors:
            if vector.measure not in done:
                totals = self.found.totals[one.keys, vector.measure]
                done[vector.measure] = _add_noise(vector, groups, totals, self.rng)
        keys = tuple(_show(self.plan.question, self.plan.tables, one.keys, group) for group in groups)
        return Block(keys, done, self._choose(one, groups))

    def _choose(self, one: SetFacts, groups: list[Group]) -> dict[Measure, list[Chosen]]:
        chosen: dict[Measure, list[Chosen]] = {}
        nobody = KeptRows()
        for choice in self.plan.budget.choices:
            if choice.keys == one.keys:
                histograms = self.found.counts[one.keys, choice.measure]
                given = tuple(histograms.get(group, nobody) for group in groups)
                if isinstance(choice, ModeChoice):
                    found = Chosen(Fraction(0), 0, self.rng.perform(choice.step, given))
                else:
                    step = self.plan.budget.aim(choice, len(groups))
                    values = self.rng.perform(step, given)
                    found = Chosen(choice.step.point, choice.side, values, choice.extreme)
                chosen.setdefault(choice.measure, []).append(found)
        return chosen


def _list_declared(plan: QuestionPlan, keys: tuple[Key, ...], order: tuple[Key, ...]) -> list[Group]:
    """List the declared groups of a grouping set, in the order of some of its keys."""
    where = plan.question.where
    listed = itertools.product(*(list_groups(key, where, plan.tables) for key in order))
    places = [order.index(key) for key in keys]
    return [tuple(codes[place] for place in places) for codes in listed]


def _rank(tables: PlanTables, keys: tuple[Key, ...], order: tuple[Key, ...]) -> Callable[[Group], list[Code]]:
    """Return what found groups are sorted by: declared values in their order, other text by itself."""
    columns = [tables.column(key) if isinstance(key, Field) else None for key in order]
    known = [{v: i for i, v in enumerate(c.values)} if isinstance(c, Category) else {} for c in columns]
    places = [keys.index(key) for key in order]
    pairs = list(zip(places, known, strict=True))
    return lambda group: [ranks.get(group[place], group[place]) for place, ranks in pairs]


def _add_noise(vector: Vector, groups: list[Group], totals: Totals, rng: Rng) -> NoisyVector:
    """Add noise to the vector over given groups, zero where the engine found none."""
    exact = np.empty(len(groups), dtype=object)
    exact[:] = [totals.get(group, 0) >> vector.dropped for group in groups]
    return NoisyVector(vector, tuple(np.ravel(rng.perform(vector.step, exact)).tolist()))


def _show(
    plan: Plan, tables: PlanTables, keys: tuple[Key, ...], group: Group
) -> tuple[Value | Fraction, ...]:
    """Return the exact values of all keys of the plan; None for those the grouping set leaves out."""
    codes = dict(zip(keys, group, strict=True))
    return tuple(_value(tables, key, codes[key]) if key in codes else None for key in plan.keys)


def _value(tables: PlanTables, key: Key, code: Code) -> Value | Fraction:
    value: Any = name_group(key, code, tables)
    if value is None:
        raise InternalError(f"{key.name} has a key without a value")
    return value  # type: ignore[no-any-return]
