"""Counts of a hypothesis as the table that a question asks for, with both of their intervals."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.core.errors import InternalError
from discreet.core.rounding import down, up
from discreet.curator.reply import CONFIDENCE, Kind, Reply
from discreet.data.counts import CountFormula, Counts
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.nodes import Aggregate, Plan
from discreet.data.pricing.presented import Interval, Place, PresentedTable, Reader, ReleasedNumbers, Value
from discreet.query_release.synopses.online_answer import OnlineAnswers

Ends = tuple[int, float]
"""Between which whole numbers a count lies; the upper one may be an infinity."""


@dataclass(frozen=True, slots=True, repr=False)
class ReleasedCounts(ReleasedNumbers):
    """Counts of a hypothesis, one or several a declared group.

    Attributes
    ----------
    keys, groups
        What rows are grouped by, and its values in every group.
    formulas, counts
        How each number is made of counts, and these: of each, the answers in every group.
    together
        Whether intervals hold for all counts of all questions at once, and not each by itself.
    """

    keys: tuple[Key, ...]
    groups: list[tuple[Any, ...]]
    formulas: Mapping[Aggregate, CountFormula]
    counts: tuple[OnlineAnswers, ...]
    together: bool = False

    @classmethod
    def of(cls, plan: Plan, counted: Counts, answers: Sequence[OnlineAnswers]) -> Self:
        """Return the answers to the parts of a question, with the intervals that hold each by itself."""
        listed, groups = plan.keys, []
        for one in counted.sets:
            for group in one.list_groups(counted.cells):
                held = dict(zip(one.keys, group, strict=True))
                groups.append(tuple(held.get(key) for key in listed))
        return cls(listed, groups, counted.formulas, arrange(counted, answers))

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
        """Return what reads a number; a quotient by none has no value."""
        formula = self.formulas[aggregate]
        above = self._round(formula.above)
        if formula.is_whole:
            times = int(formula.times)  # fractions would take ten times as long
            return lambda place: times * above[place[1]]
        if formula.below is None:
            return lambda place: float(formula.times * above[place[1]])
        below = self._round(formula.below)

        def divide(place: Place) -> Value:
            part, whole = above[place[1]], below[place[1]]
            return float(formula.times * Fraction(min(part, whole), whole)) if whole else None

        return divide

    def _round(self, number: int) -> list[int]:
        rounded: list[int] = np.maximum(0, np.rint(self.counts[number].values)).astype(np.int64).tolist()
        return rounded

    def intervals(self, aggregates: Sequence[Aggregate], confidence: Fraction) -> list[Reader[Interval]]:
        """Return what reads the intervals at 95 %. What is computed from a count has that of the count.

        What is computed from several counts needs all of theirs at once, so each is wider.
        """
        if confidence > CONFIDENCE:
            raise InternalError("a hypothesis knows its errors at 95 %")
        formulas = [self.formulas[one] for one in aggregates]
        used = frozenset[int]().union(*(one.used for one in formulas))
        ends = {number: self._find_ends(self.counts[number], len(used)) for number in used}
        return [_read_interval(one, ends) for one in formulas]

    def _find_ends(self, answers: OnlineAnswers, counts: int) -> tuple[Ends, ...]:
        return _all_ends(answers) if self.together else _own_ends(answers, widen(counts))

    def step(self, aggregate: Aggregate) -> Fraction | None:
        """Return what a number is a multiple of: counts are whole."""
        formula = self.formulas[aggregate]
        return abs(formula.times) if formula.below is None else None


def _read_interval(formula: CountFormula, ends: Mapping[int, Sequence[Ends]]) -> Reader[Interval]:
    """Return what reads the interval of a number from those of the counts that it is made of."""
    above, times = ends[formula.above], formula.times
    if formula.is_whole:
        return _read_whole(int(times), above)
    below = None if formula.below is None else ends[formula.below]

    def read(place: Place) -> Interval:
        ends = above[place[1]] if below is None else _divide(above[place[1]], below[place[1]])
        low, high = reversed(ends) if times < 0 else ends
        return _show(times, low, down), _show(times, high, up)

    return read


def _read_whole(times: int, ends: Sequence[Ends]) -> Reader[Interval]:
    def read(place: Place) -> Interval:
        low, high = ends[place[1]]
        return (times * low, times * high) if times > 0 else (times * high, times * low)

    return read


def _divide(part: Ends, whole: Ends) -> tuple[Fraction, Fraction]:
    """Return between what a part of a whole lies, in parts of it."""
    low = Fraction(0) if math.isinf(whole[1]) else Fraction(part[0], max(int(whole[1]), part[0], 1))
    high = Fraction(1) if part[1] >= whole[0] else Fraction(int(part[1]), whole[0])
    return low, high


def _show(times: Fraction, end: Fraction | float, rounded: Callable[[Fraction], float]) -> float:
    """Return so many times an end, rounded as said; an infinity is one whatever it is multiplied with."""
    if math.isinf(end):
        return math.copysign(math.inf, times)
    return rounded(times * Fraction(end)) + 0.0  # no negative zero


def make_reply(plan: Plan, counted: Counts, answers: Sequence[OnlineAnswers]) -> Reply:
    """Return the answers to the parts of a question as the table it asked for."""
    own = ReleasedCounts.of(plan, counted, answers)
    shown = PresentedTable.of(plan, counted.cells.tables, own)
    return Reply.of_table(shown, find_least_sure(answers), proved=replace(own, together=True))


def arrange(counted: Counts, answers: Sequence[OnlineAnswers]) -> tuple[OnlineAnswers, ...]:
    """Put the answers to the parts of a question in the order of its groups, count by count."""
    found = []
    for number in range(counted.length):
        mine = [
            (part, one) for part, one in zip(counted.parts, answers, strict=True) if part.number == number
        ]
        order = np.argsort(np.concatenate([part.places for part, _ in mine]))
        found.append(OnlineAnswers.join(one for _, one in mine).take(order))
    return tuple(found)


def find_least_sure(answers: Sequence[OnlineAnswers]) -> Kind:
    """Return the kind of the answers that says least of the data."""
    kinds: set[Any] = {kind for one in answers for kind in one.kinds.tolist()}
    order: tuple[Kind, ...] = ("stale", "measured", "free")
    return next(one for one in order if one in kinds)


def widen(counts: int) -> float:
    """Return by how much wider the intervals of several counts are so that all hold at 95 %.

    As much as for errors whose tails fall exponentially; normal ones fall faster.
    """
    miss = 1 - float(CONFIDENCE)
    return math.log(max(1, counts) / miss) / math.log(1 / miss)


def _own_ends(answers: OnlineAnswers, times: float) -> tuple[Ends, ...]:
    """Return between which whole numbers each true count lies: those within its error, and the answer."""
    ends = []
    for value, error in zip(answers.values.tolist(), (times * answers.owns).tolist(), strict=True):
        shown = max(0, round(value))
        low, high = (0, math.inf) if math.isinf(error) else (value - error, value + error)
        ends.append(
            (max(0, min(shown, math.ceil(low))), high if high == math.inf else max(shown, math.floor(high)))
        )
    return tuple(ends)


def _all_ends(answers: OnlineAnswers) -> tuple[Ends, ...]:
    """Return between which whole numbers all true counts lie; without a check there is no upper end."""
    values, errors = answers.values.tolist(), answers.errors.tolist()
    return tuple(
        (0, math.inf)
        if math.isinf(error)
        else (max(0, math.floor(value - error)), max(0, math.ceil(value + error)))
        for value, error in zip(values, errors, strict=True)
    )
