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
from discreet.data.count_formulas import CountFormula, Ends, TimesCount
from discreet.data.counts import Counts
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.nodes import Aggregate, Plan
from discreet.data.pricing.estimates import Number
from discreet.data.pricing.presented import Interval, Place, PresentedTable, Reader, ReleasedNumbers, Value
from discreet.query_release.synopses.online_answer import OnlineAnswers


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
        """Return what reads a number."""
        formula = self.formulas[aggregate]
        if isinstance(formula, TimesCount) and formula.is_whole:
            times, plain = int(formula.times), self._round(formula.counted)
            return lambda place: times * plain[place[1]]  # fractions would take ten times as long
        counts = {number: self._round(number) for number in formula.used}
        rounded = int if formula.is_whole else float

        def read(place: Place) -> Value:
            found = formula.values(lambda number: counts[number][place[1]])
            shown = tuple(None if one is None else rounded(one) for one in found)
            return shown[0] if len(shown) == 1 else None if None in shown else shown  # type: ignore[return-value]

        return read

    def _round(self, number: int) -> list[int]:
        rounded: list[int] = np.maximum(0, np.rint(self.counts[number].values)).astype(np.int64).tolist()
        return rounded

    def intervals(self, aggregates: Sequence[Aggregate], confidence: Fraction) -> list[Reader[Interval]]:
        """Return what reads the intervals at 95 %. What is computed from counts has those of the counts.

        Of several counts the true ones need not all lie in theirs at once: errors of sums and quotients
        deviate by no more than those of their parts do together, and that much the ends are apart.
        """
        if confidence > CONFIDENCE:
            raise InternalError("a hypothesis knows its errors at 95 %")
        find = _all_ends if self.together else _own_ends
        formulas = [self.formulas[one] for one in aggregates]
        ends = {number: find(self.counts[number]) for one in formulas for number in one.used}
        return [_read_interval(one, ends) for one in formulas]

    def step(self, aggregate: Aggregate) -> Fraction | None:
        """Return what a number is a multiple of, where that is known."""
        return self.formulas[aggregate].step


def _read_interval(formula: CountFormula, ends: Mapping[int, Sequence[Ends]]) -> Reader[Interval]:
    """Return what reads the interval of a number from those of the counts that it is made of."""
    if isinstance(formula, TimesCount) and formula.is_whole:
        return _read_whole(int(formula.times), ends[formula.counted])
    lower, upper = (int, int) if formula.is_whole else (down, up)

    def read(place: Place) -> Interval:
        found = formula.ends(lambda number: ends[number][place[1]])
        lows = tuple(_show(low, lower) for low, _ in found)
        highs = tuple(_show(high, upper) for _, high in found)
        return (lows[0], highs[0]) if len(found) == 1 else (lows, highs)

    return read


def _read_whole(times: int, ends: Sequence[Ends]) -> Reader[Interval]:
    def read(place: Place) -> Interval:
        low, high = ends[place[1]]
        return (times * low, times * high) if times > 0 else (times * high, times * low)

    return read


def _show(number: Fraction | float, rounded: Callable[[Fraction], Number]) -> Number:
    """Return an end rounded as said; an infinity as it is."""
    return number if isinstance(number, float) else rounded(number) + 0  # no negative zero


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


def _own_ends(answers: OnlineAnswers) -> tuple[Ends, ...]:
    """Return between which whole numbers each true count lies: those within its error, and the answer."""
    ends = []
    for value, error in zip(answers.values.tolist(), answers.owns.tolist(), strict=True):
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
