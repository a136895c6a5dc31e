"""Released numbers as the table that was asked for: columns, computed columns, HAVING, ORDER BY and LIMIT.

All of it is post-processing: it looks at released values and at the request, so it costs nothing, and asking
for the same numbers in another form costs nothing either.
"""

from __future__ import annotations

import datetime
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeVar

from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.rounding import down, up
from discreet.data.plan.after import Exact, evaluate, find_sort, has_interval, is_whole
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.key_nodes import ComputedKey, Key, sort_keys
from discreet.data.plan.keys import is_listed, list_groups, name_group
from discreet.data.plan.nodes import After, Aggregate, Branch, Plan, Shown, Windowed, leaves, operands
from discreet.data.plan.numbers import scale
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.computed import Enclosed, End, OneOf, Possible, enclose, exactly
from discreet.data.pricing.estimates import Number
from discreet.data.pricing.ratios import AnswerRatio, read_ratio
from discreet.data.pricing.windows import WindowRows, sort_rows

Value = bool | int | float | str | datetime.date | tuple[Number, ...] | None
"""What a cell of an answer may hold; None for a key that its grouping set leaves out, and for no value."""

Side = Number | datetime.date | tuple[Number, ...] | None
"""An end of an interval: of several quantiles, one each; None where there is surely no value."""

Interval = tuple[Side, Side]

Place = tuple[int, int]
"""A group: the place of its grouping set, and its place there."""

ShownRow = tuple[int, Place]
"""A row of an answer: the place of its SELECT, and the group it is about."""

_FIRST, _LAST = datetime.date.min.toordinal(), datetime.date.max.toordinal()


T = TypeVar("T")
Reader = Callable[[Place], T]
"""Reads something of a group."""
Ends = Mapping[Aggregate, Reader[Interval]]
"""What reads the intervals of aggregates, which hold at once."""


class ReleasedNumbers(ABC):
    """Everything that was released about the groups of a question."""

    @abstractmethod
    def __len__(self) -> int:
        """Return how many groups there are."""

    @abstractmethod
    def places(self) -> Iterator[Place]:
        """Yield every group, in the order of the keys."""

    @abstractmethod
    def key(self, key: Key) -> Reader[Value | Fraction]:
        """Return what reads the exact value of a key; None where a grouping set leaves it out."""

    @abstractmethod
    def value(self, aggregate: Aggregate) -> Reader[Value]:
        """Return what reads the released value of an aggregate."""

    @abstractmethod
    def intervals(self, aggregates: Sequence[Aggregate], confidence: Fraction) -> list[Reader[Interval]]:
        """Return what reads the intervals of some aggregates.

        All of them hold in all groups at once with that probability.
        """

    def ratio(self, what: AnswerRatio, confidence: Fraction) -> Reader[Interval] | None:
        """Return what reads the intervals of a quotient, if they are known as narrower than by its parts."""
        del what, confidence
        return None

    @abstractmethod
    def step(self, aggregate: Aggregate) -> Fraction | None:
        """Return what the true value is a multiple of, where that is known."""


@dataclass(frozen=True, slots=True, repr=False)
class PresentedTable:
    """What a question shows of released numbers."""

    question: Plan
    tables: PlanTables
    released: ReleasedNumbers
    chosen: tuple[ShownRow, ...] | None
    """The rows, in order; None for all groups, in the order of the keys."""

    @classmethod
    def of(cls, question: Plan, tables: PlanTables, released: ReleasedNumbers) -> PresentedTable:
        """Choose and sort the rows."""
        after = question.after
        everything = cls(question, tables, released, None)
        if after == After() and not question.branches:
            return everything
        branches = question.shown_branches
        rows = [(place, group) for place, one in enumerate(branches) for group in everything._qualify(one)]
        # Sorting is stable: the first key is sorted by last.
        for place, one in reversed(list(enumerate(after.order))):
            read = [everything._read(branch.order[place], branch) for branch in branches]
            rows = sort_rows(rows, lambda row, read=read: read[row[0]](row[1]), one)  # type: ignore[misc]
        last = None if after.limit is None else after.offset + after.limit
        return cls(question, tables, released, tuple(rows[after.offset : last]))

    def _list_groups(self, branch: Branch) -> list[Place]:
        """Return the groups that HAVING leaves one SELECT, in the order of the keys."""
        places = list(self.released.places())
        if self.question.branches:
            sets = [sort_keys(keys) for keys in self.question.shown_sets]
            places = [place for place in places if sets[place[0]] in branch.sets]
            for read, listed in self._list_possible(branch):
                places = [place for place in places if (value := read(place)) is None or value in listed]
        if branch.having is not None:
            holds = self._read(branch.having, branch)
            places = [place for place in places if holds(place) is True]
        return places

    def _qualify(self, branch: Branch) -> list[Place]:
        """Return the groups that one SELECT shows, in the order of the keys."""
        places = self._list_groups(branch)
        if branch.qualify is None:
            return places
        holds = self._read(branch.qualify, branch)
        return [place for place in places if holds(place) is True]

    def _list_possible(self, branch: Branch) -> Iterator[tuple[Reader[Value | Fraction], set[object]]]:
        """Yield the keys of which one SELECT lists fewer values than the whole, with these values."""
        for key in dict.fromkeys(key for keys in branch.sets for key in keys):
            if isinstance(key, Field) and is_listed(key, self.tables):
                own = list_groups(key, branch.asked.where, self.tables)
                if len(own) < len(list_groups(key, self.question.where, self.tables)):
                    yield self.released.key(key), {name_group(key, code, self.tables) for code in own}

    def present(self, question: Plan) -> PresentedTable:
        """Show the same numbers as another question asks for them.

        Raises
        ------
        InternalError
            Where it needs other numbers.
        """
        now, before = canonicalise(question), canonicalise(self.question)
        if now != before or question.shown_sets != self.question.shown_sets:
            raise InternalError("the question asks for other numbers")
        return PresentedTable.of(question, self.tables, self.released)

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(output.name for output in self.question.outputs)

    @property
    def keys(self) -> tuple[str, ...]:
        """The columns that are keys as they are."""
        return tuple(name for name in self.columns if all(map(_is_key, self.question.list_column(name))))

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns that have intervals: numbers and dates that depend on the data."""
        return tuple(name for name in self.columns if self._has_interval(name))

    def _has_interval(self, name: str) -> bool:
        return any(has_interval(what, self.tables) for what in self.question.list_column(name))

    def rows(self) -> Iterator[tuple[Value, ...]]:
        """Yield the values, row by row."""
        branches = [[self._show(what, one) for what in one.outputs] for one in self.question.shown_branches]
        return (tuple(show(group) for show in branches[place]) for place, group in self.shown)

    @property
    def shown(self) -> Iterator[ShownRow]:
        """The rows that are shown, in order: the SELECT each comes from, and the group it is about."""
        return ((0, group) for group in self.released.places()) if self.chosen is None else iter(self.chosen)

    def values(self, name: str) -> Iterator[Value]:
        """Yield the values of a column."""
        pairs = zip(self._find_column(name), self.question.shown_branches, strict=True)
        shown = [self._show(what, branch) for what, branch in pairs]
        return (shown[place](group) for place, group in self.shown)

    def intervals(self, name: str, confidence: Fraction) -> Iterator[Interval]:
        """Yield one interval a row; all hold at once with the given probability, shown or not."""
        column = self._find_column(name)
        if not self._has_interval(name):
            rule = f"a number that depends on the data, one of {', '.join(self.numbers)}"
            raise InvalidParameter(name="name", rule=rule, value=name)
        ratio = read_ratio(column[0]) if len(set(column)) == 1 else None
        narrow = None if ratio is None else self.released.ratio(ratio, confidence)
        if narrow is not None:
            return (narrow(group) for _, group in self.shown)
        noisy = (leaf for what in column for leaf in leaves(what) if isinstance(leaf, Aggregate))
        listed = tuple(dict.fromkeys(noisy))
        read = dict(zip(listed, self.released.intervals(listed, confidence), strict=True))
        pairs = zip(column, self.question.shown_branches, strict=True)
        enclosed = [self._enclose(what, branch, read) for what, branch in pairs]
        return (enclosed[place](group) for place, group in self.shown)

    def _enclose(self, what: Shown, branch: Branch, read: Ends) -> Reader[Interval]:
        """Return what reads the interval of a column, from those of aggregates."""
        if isinstance(what, Aggregate):
            return read[what]
        possible, show = self._find_possible(what, branch, read), self._show_ends(what)

        def enclose_row(place: Place) -> Interval:
            found = possible(place)
            if not isinstance(found, Enclosed):
                raise InternalError("only numbers have intervals")
            return (None, None) if found.empty else show(found.low, found.high)

        return enclose_row

    def _find_possible(self, what: Shown, branch: Branch, read: Ends) -> Reader[Possible]:
        """Return what reads what is possible in a row, from the intervals of aggregates."""
        # Readers are found by what they read, not by looking the whole aggregate up in every row.
        known: dict[int, Reader[Possible]] = {}
        for leaf in operands(what):
            if isinstance(leaf, Aggregate):
                known[id(leaf)] = _possible(read[leaf], self.released.step(leaf))
            elif isinstance(leaf, Windowed):
                known[id(leaf)] = self._enclose_window(leaf, branch, read)
            else:
                known[id(leaf)] = _known(self.released.key(leaf))
        return lambda place: enclose(what, lambda leaf: known[id(leaf)](place))

    def _enclose_window(self, window: Windowed, branch: Branch, read: Ends) -> Reader[Possible]:
        places = self._list_groups(branch)

        def possible(what: Shown) -> list[Possible]:
            return list(map(self._find_possible(what, branch, read), places))

        column = [] if window.what is None else possible(window.what)
        orders = [possible(one.what) for one in window.order]
        found = self._window(window, branch).enclose(column, orders)
        return dict(zip(places, found, strict=True)).__getitem__

    def _read_window(self, window: Windowed, branch: Branch) -> Reader[Exact]:
        places = self._list_groups(branch)
        column = [] if window.what is None else list(map(self._read(window.what, branch), places))
        return dict(zip(places, self._window(window, branch).values(column), strict=True)).__getitem__

    def _window(self, window: Windowed, branch: Branch) -> WindowRows:
        """Return the rows that a window looks at, parted and sorted."""
        places = self._list_groups(branch)
        keys = [list(map(self._read(key, branch), places)) for key in window.partition]
        orders = [list(map(self._read(one.what, branch), places)) for one in window.order]
        return WindowRows(window, len(places), keys, orders)

    def _show_ends(self, what: Shown) -> Callable[[End, End], Interval]:
        if find_sort(what, self.tables) == "date":
            return _show_days
        return _show_whole_ends if self._is_whole(what) else _show_float_ends

    def _read(self, what: Shown, branch: Branch) -> Reader[Exact]:
        """Return what reads the value of something in one SELECT, as it is computed with."""
        known: dict[int, Reader[Value | Fraction]] = {}
        for leaf in operands(what):
            if isinstance(leaf, Windowed):
                known[id(leaf)] = self._read_window(leaf, branch)
            else:
                read = self.released.value(leaf) if isinstance(leaf, Aggregate) else self.released.key(leaf)
                known[id(leaf)] = read
        return lambda place: evaluate(what, lambda leaf: _exact(known[id(leaf)](place)))

    def _show(self, what: Shown, branch: Branch) -> Reader[Value]:
        """Return what reads a column, as it is shown."""
        if isinstance(what, Aggregate):
            return self.released.value(what)
        if isinstance(what, Field | ComputedKey):
            key = self.released.key(what)
            return lambda place: _as_float(key(place))
        read = self._read(what, branch)
        whole = find_sort(what, self.tables) == "number" and self._is_whole(what)
        return lambda place: _shown(read(place), whole=whole)

    def _is_whole(self, what: Shown) -> bool:
        return is_whole(what, self._is_whole_leaf)

    def _is_whole_leaf(self, leaf: Key | Aggregate) -> bool:
        if isinstance(leaf, Aggregate):
            step = self.released.step(leaf)
        elif isinstance(leaf, ComputedKey):
            step = scale(leaf.number, self.tables).unit
        else:
            step = getattr(self.tables.column(leaf), "grid", Fraction(1))
        return step is not None and step.denominator == 1

    def _find_column(self, name: str) -> tuple[Shown, ...]:
        if name not in self.columns:
            raise InvalidParameter(name="name", rule=f"one of {', '.join(self.columns)}", value=name)
        return self.question.list_column(name)

    def __len__(self) -> int:
        return len(self.released) if self.chosen is None else len(self.chosen)


def _is_key(what: Shown) -> bool:
    return isinstance(what, Field | ComputedKey)


def _known(read: Reader[Value | Fraction]) -> Reader[Possible]:
    return lambda place: exactly(_exact(read(place)))


def _possible(read: Reader[Interval], step: Fraction | None) -> Reader[Possible]:
    """Return what reads the interval of an aggregate as a part of a larger one; days are numbers there."""

    def possible(place: Place) -> Possible:
        low, high = read(place)
        if isinstance(low, datetime.date) and isinstance(high, datetime.date):
            return Enclosed(Fraction(low.toordinal()), Fraction(high.toordinal()), step=Fraction(1))
        if not isinstance(low, int | float) or not isinstance(high, int | float):
            return OneOf(None)  # a most frequent text
        first, last = (end if end in (math.inf, -math.inf) else Fraction(end) for end in (low, high))
        return Enclosed(first, last, step=step)

    return possible


def _exact(value: Value | Fraction) -> Exact:
    """Return a value as it is computed with."""
    if isinstance(value, tuple):
        raise InternalError("several quantiles are no one value")
    if isinstance(value, bool) or not isinstance(value, int | float | Fraction):
        return value
    return Fraction(value)


def _shown(value: Exact, *, whole: bool) -> Value:
    """Return a value as it is shown."""
    if not isinstance(value, Fraction):
        return value
    return int(value) if whole else _as_float(value)


def _as_float(value: Value | Fraction) -> Value:
    """Return a fraction as a float, whatever its size, and any other value as it is."""
    if not isinstance(value, Fraction):
        return value
    try:
        return float(value) + 0.0  # no negative zero
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _show_float_ends(low: End, high: End) -> Interval:
    return down(low) + 0.0, up(high) + 0.0


def _show_whole_ends(low: End, high: End) -> Interval:
    return (
        low if isinstance(low, float) else math.floor(low),
        high if isinstance(high, float) else math.ceil(high),
    )


def _show_days(low: End, high: End) -> Interval:
    first, last = max(low, _FIRST), min(high, _LAST)
    return datetime.date.fromordinal(math.floor(first)), datetime.date.fromordinal(math.ceil(last))
