"""Counts of a hypothesis as the table that a question asks for, with both of their intervals."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.errors import InternalError
from discreet.curator.reply import CONFIDENCE, Kind, Reply
from discreet.data.linear import Counts
from discreet.data.plan.nodes import Aggregate, Key, Plan
from discreet.data.pricing.presented import Interval, Place, PresentedTable, Reader, ReleasedNumbers, Value
from discreet.query_release.synopses.online_answer import OnlineAnswers


class ReleasedCounts(ReleasedNumbers):
    """Counts of a hypothesis, one a declared group.

    Parameters
    ----------
    plan, counted, answers
        The question, the counts that it is about, and what was answered.
    together
        Whether intervals hold for all counts at once; else each holds by itself.
    """

    def __init__(self, plan: Plan, counted: Counts, answers: OnlineAnswers, *, together: bool) -> None:
        self._keys = plan.keys
        self._groups: list[tuple[Any, ...]] = []
        for keys, values in zip(plan.shown_sets, counted.group_names(), strict=True):
            for group in itertools.product(*values):
                held = dict(zip(keys, group, strict=True))
                self._groups.append(tuple(held.get(key) for key in self._keys))
        self._counts = np.maximum(0, np.rint(answers.values)).astype(np.int64).tolist()
        self._ends = _all_ends(answers) if together else _own_ends(answers)

    def __len__(self) -> int:
        return len(self._groups)

    def places(self) -> Iterator[Place]:
        """Yield every group."""
        return ((0, place) for place in range(len(self._groups)))

    def key(self, key: Key) -> Reader[Any]:
        """Return what reads the value of a key."""
        column = self._keys.index(key)
        return lambda place: self._groups[place[1]][column]

    def value(self, aggregate: Aggregate) -> Reader[Value]:
        """Return what reads the count."""
        del aggregate  # it is COUNT(*), whatever it is computed with
        return lambda place: self._counts[place[1]]

    def intervals(self, aggregates: Sequence[Aggregate], confidence: Fraction) -> list[Reader[Interval]]:
        """Return what reads the intervals at 95 %. What is computed from a count has that of the count."""
        if confidence > CONFIDENCE:
            raise InternalError("a hypothesis knows its errors at 95 %")
        return [lambda place: self._ends[place[1]]] * len(aggregates)

    def step(self, aggregate: Aggregate) -> Fraction | None:
        """Return 1: counts are whole."""
        del aggregate
        return Fraction(1)


def make_reply(plan: Plan, counted: Counts, answers: OnlineAnswers) -> Reply:
    """Return counts as the table a question asked for."""
    own, proved = (ReleasedCounts(plan, counted, answers, together=each) for each in (False, True))
    shown = PresentedTable.of(plan, counted.cells.tables, own)
    return Reply.of_table(shown, find_least_sure(answers), proved=proved)


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
