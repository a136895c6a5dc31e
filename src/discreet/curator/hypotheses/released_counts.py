"""Counts of a hypothesis as the table that a question asks for, with both of their intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core.errors import InternalError
from discreet.curator.reply import CONFIDENCE, Kind, Reply
from discreet.data.linear import Counts
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.nodes import Aggregate, Plan
from discreet.data.pricing.presented import Interval, Place, PresentedTable, Reader, ReleasedNumbers, Value
from discreet.query_release.synopses.online_answer import OnlineAnswers


@dataclass(frozen=True, slots=True, repr=False)
class ReleasedCounts(ReleasedNumbers):
    """Counts of a hypothesis, one a declared group.

    Attributes
    ----------
    keys, groups
        What rows are grouped by, and its values in every group.
    counts, ends
        The counts, and between which numbers each lies.
    """

    keys: tuple[Key, ...]
    groups: list[tuple[Any, ...]]
    counts: list[int]
    ends: tuple[Interval, ...]

    @classmethod
    def of(cls, plan: Plan, counted: Counts, answers: OnlineAnswers) -> Self:
        """Return answers to a question, with the intervals that hold each by itself."""
        listed, groups = plan.keys, []
        for keys, values in zip(plan.shown_sets, counted.group_names(), strict=True):
            for group in itertools.product(*values):
                held = dict(zip(keys, group, strict=True))
                groups.append(tuple(held.get(key) for key in listed))
        counts = np.maximum(0, np.rint(answers.values)).astype(np.int64).tolist()
        return cls(listed, groups, counts, _own_ends(answers))

    def __len__(self) -> int:
        return len(self.groups)

    def places(self) -> Iterator[Place]:
        """Yield every group."""
        return ((0, place) for place in range(len(self.groups)))

    def key(self, key: Key) -> Reader[Any]:
        """Return what reads the value of a key."""
        column = self.keys.index(key)
        return lambda place: self.groups[place[1]][column]

    def value(self, aggregate: Aggregate) -> Reader[Value]:
        """Return what reads the count."""
        del aggregate  # it is COUNT(*), whatever it is computed with
        return lambda place: self.counts[place[1]]

    def intervals(self, aggregates: Sequence[Aggregate], confidence: Fraction) -> list[Reader[Interval]]:
        """Return what reads the intervals at 95 %. What is computed from a count has that of the count."""
        if confidence > CONFIDENCE:
            raise InternalError("a hypothesis knows its errors at 95 %")
        return [lambda place: self.ends[place[1]]] * len(aggregates)

    def step(self, aggregate: Aggregate) -> Fraction | None:
        """Return 1: counts are whole."""
        del aggregate
        return Fraction(1)


def make_reply(plan: Plan, counted: Counts, answers: OnlineAnswers) -> Reply:
    """Return counts as the table a question asked for."""
    own = ReleasedCounts.of(plan, counted, answers)
    shown = PresentedTable.of(plan, counted.cells.tables, own)
    return Reply.of_table(shown, find_least_sure(answers), proved=replace(own, ends=_all_ends(answers)))


def find_least_sure(answers: OnlineAnswers) -> Kind:
    """Return the kind of the answers that says least of the data."""
    kinds: set[Any] = set(answers.kinds.tolist())
    order: tuple[Kind, ...] = ("stale", "measured", "free")
    return next(one for one in order if one in kinds)


def _own_ends(answers: OnlineAnswers) -> tuple[Interval, ...]:
    """Return between which whole numbers each true count lies: those within its error, and the answer."""
    ends = []
    for value, error in zip(answers.values.tolist(), answers.owns.tolist(), strict=True):
        shown = max(0, round(value))
        low, high = (0, math.inf) if math.isinf(error) else (value - error, value + error)
        ends.append(
            (max(0, min(shown, math.ceil(low))), high if high == math.inf else max(shown, math.floor(high)))
        )
    return tuple(ends)


def _all_ends(answers: OnlineAnswers) -> tuple[Interval, ...]:
    """Return between which whole numbers all true counts lie; without a check there is no upper end."""
    values, errors = answers.values.tolist(), answers.errors.tolist()
    return tuple(
        (0, math.inf)
        if math.isinf(error)
        else (max(0, math.floor(value - error)), max(0, math.ceil(value + error)))
        for value, error in zip(values, errors, strict=True)
    )
