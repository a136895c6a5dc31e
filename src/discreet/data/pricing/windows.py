"""What is computed from several rows of an answer: sums, shares, ranks and neighbours, with intervals.

The rows are those that HAVING leaves. Which rows a sum looks at is decided by keys, never by noise, so its
interval is the sum of theirs. A rank follows the noise: it may be any that is possible where each row's value
lies in its interval, all at once.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from fractions import Fraction
from typing import TypeVar

from discreet.data.plan.after import Exact, is_noisy
from discreet.data.plan.nodes import Ordering, Windowed
from discreet.data.pricing.computed import NOTHING, Enclosed, End, OneOf, Possible, exactly, find_common_step

Rows = Sequence[int]
"""Places of rows in the answer."""
Column = Sequence[Exact]
Sums = list[Fraction]
T = TypeVar("T", bound=Hashable)


def sort_rows(rows: Iterable[T], value: Callable[[T], Exact], one: Ordering) -> list[T]:
    """Sort rows by one thing; rows with the same stay in their order."""
    keyed = [(value(row), row) for row in rows]
    present = [pair for pair in keyed if pair[0] is not None]
    present.sort(key=lambda pair: pair[0], reverse=one.descending)  # type: ignore[arg-type,return-value]
    missing, there = [row for found, row in keyed if found is None], [row for _, row in present]
    return missing + there if one.missing_first else there + missing


class WindowRows:
    """The rows of an answer, parted and sorted as a window says.

    Parameters
    ----------
    window
        What is computed.
    count
        How many rows there are.
    keys, orders
        What they are parted and sorted by: a column of values each.
    """

    def __init__(
        self, window: Windowed, count: int, keys: Sequence[Column], orders: Sequence[Column]
    ) -> None:
        self._window, self._count, self._orders = window, count, orders
        parts: dict[tuple[Exact, ...], list[int]] = {}
        for row in range(count):
            parts.setdefault(tuple(key[row] for key in keys), []).append(row)
        self._parts = [self._sort(rows) for rows in parts.values()]

    def _sort(self, rows: list[int]) -> list[int]:
        # Sorting is stable: the first key is sorted by last.
        for one, column in reversed(list(zip(self._window.order, self._orders, strict=True))):
            rows = sort_rows(rows, column.__getitem__, one)
        return rows

    def values(self, column: Column) -> list[Exact]:
        """Return what is computed in every row, from one value a row."""
        found: list[Exact] = [None] * self._count
        for rows in self._parts:
            own = self._ranks(rows) or self._neighbours(rows, column, self._window.otherwise.value)
            own = own or self._firsts(rows, column)
            for row, value in zip(rows, own or self._totals(rows, column), strict=True):
                found[row] = value
        return found

    def enclose(self, column: Sequence[Possible], orders: Sequence[Sequence[Possible]]) -> list[Possible]:
        """Return what is possible in every row, from what is possible of one value a row and of the order."""
        found: list[Possible] = [NOTHING] * self._count
        function = self._window.function
        for rows in self._parts:
            own: Sequence[Possible] | None
            if function in ("rank", "dense_rank", "row_number"):
                exact = [exactly(rank) for rank in self._ranks(rows) or ()]
                noisy = any(is_noisy(one.what) for one in self._window.order)
                own = self._possible_ranks(rows, orders[0]) if noisy else exact
            elif function == "first_value":
                noisy = any(is_noisy(one.what) for one in self._window.order)
                own = [OneOf(None)] * len(rows) if noisy else self._firsts(rows, column)
            else:
                own = self._neighbours(rows, column, exactly(self._window.otherwise.value))
            for row, value in zip(rows, own or self._possible_totals(rows, column), strict=True):
                found[row] = value
        return found

    def _peers(self, rows: Rows) -> list[int]:
        """Return for each row of a partition which rows it is equal to: the number of its first one."""
        found = [0] * len(rows)
        for place in range(1, len(rows)):
            same = all(column[rows[place]] == column[rows[place - 1]] for column in self._orders)
            found[place] = found[place - 1] if same else place
        return found

    def _ranks(self, rows: Rows) -> list[Exact] | None:
        peers, function = self._peers(rows), self._window.function
        if function == "row_number":
            return [Fraction(place + 1) for place in range(len(rows))]
        if function == "rank":
            return [Fraction(first + 1) for first in peers]
        if function == "dense_rank":
            places = {first: place for place, first in enumerate(dict.fromkeys(peers))}
            return [Fraction(places[first] + 1) for first in peers]
        return None

    def _neighbours(self, rows: Rows, column: Sequence[T], otherwise: T) -> list[T] | None:
        if self._window.function not in ("lag", "lead"):
            return None
        far = self._window.distance * (-1 if self._window.function == "lag" else 1)
        size = len(rows)
        return [column[rows[place + far]] if 0 <= place + far < size else otherwise for place in range(size)]

    def _firsts(self, rows: Rows, column: Sequence[T]) -> list[T] | None:
        return [column[rows[0]]] * len(rows) if self._window.function == "first_value" else None

    def _frames(self, rows: Rows) -> list[tuple[int, int]]:
        """Return the first row that is looked at from each row, and the first one after that is not."""
        size, frame = len(rows), self._window.frame
        if frame is not None:
            before, after = frame
            return [
                (
                    0 if before is None else max(0, min(size, place - before)),
                    size if after is None else max(0, min(size, place + after + 1)),
                )
                for place in range(size)
            ]
        if not self._window.order:
            return [(0, size)] * size
        peers = [*self._peers(rows), size]
        ends = [size] * (size + 1)
        for place in range(size - 1, -1, -1):
            ends[place] = ends[place + 1] if peers[place + 1] == peers[place] else place + 1
        return [(0, end) for end in ends[:size]]

    def _totals(self, rows: Rows, column: Column) -> list[Exact]:
        if self._window.what is None:
            return [Fraction(max(0, end - start)) for start, end in self._frames(rows)]
        own = [column[row] for row in rows]
        function = self._window.function
        counts = _accumulate(Fraction(value is not None) for value in own)
        if function in ("min", "max"):
            pick = min if function == "min" else max
            return self._fold(rows, own, lambda listed: _pick(listed, pick))
        sums = _accumulate(value if isinstance(value, Fraction) else Fraction(0) for value in own)
        found: list[Exact] = []
        for start, end in self._frames(rows):
            count = counts[end] - counts[start] if end > start else Fraction(0)
            total = sums[end] - sums[start] if end > start else Fraction(0)
            if function == "count":
                found.append(count)
            else:
                found.append(None if not count else total if function == "sum" else total / count)
        return found

    def _fold(self, rows: Rows, own: Sequence[T], fold: Callable[[Sequence[T]], T]) -> list[T]:
        """Fold what is looked at from each row; from the start or to the end, what is known already."""
        frames = self._frames(rows)
        before, after = self._window.frame or (None, 0 if self._window.order else None)
        if before is None:
            known = list(itertools.accumulate(own, lambda one, other: fold([one, other])))
            return [known[end - 1] if end > start else fold([]) for start, end in frames]
        if after is None:
            known = list(itertools.accumulate(reversed(own), lambda one, other: fold([other, one])))[::-1]
            return [known[start] if end > start else fold([]) for start, end in frames]
        return [fold(own[start:end]) for start, end in frames]

    def _possible_totals(self, rows: Rows, column: Sequence[Possible]) -> list[Possible]:
        if self._window.what is None:
            return [exactly(Fraction(max(0, end - start))) for start, end in self._frames(rows)]
        own = [column[row] for row in rows]
        numbers = [part for part in own if isinstance(part, Enclosed)]
        if len(numbers) < len(own):
            return [OneOf(None)] * len(rows)  # of texts and truth values nothing is added up
        function = self._window.function
        if function in ("min", "max"):
            fold = _least if function == "min" else _greatest
            folded: list[Enclosed] = self._fold(rows, numbers, fold)
            return [*folded]
        sums = _PossibleSums(numbers)
        if function == "sum":
            return [sums.total(start, end) for start, end in self._frames(rows)]
        if function == "count":
            return [sums.count(start, end) for start, end in self._frames(rows)]
        return [sums.average(start, end) for start, end in self._frames(rows)]

    def _possible_ranks(self, rows: Rows, column: Sequence[Possible]) -> list[Possible]:
        """Return between which ranks each row may be, by the first thing that rows are sorted by.

        A row is surely before another where its values all are, and possibly where some are, or are equal and
        something else may decide.
        """
        descending = self._window.order[0].descending
        ends = [_turn(column[row], descending=descending) for row in rows]
        lows, highs = sorted(low for low, _ in ends), sorted(high for _, high in ends)
        alone = len(self._window.order) == 1 and self._window.function != "row_number"
        surely = [bisect.bisect_left(highs, low) for low, _ in ends]
        if self._window.function == "dense_rank":
            different = _count_different(ends)
            surely = [different[count] for count in surely]
        found: list[Possible] = []
        for (low, high), before in zip(ends, surely, strict=True):
            if alone:
                possibly = bisect.bisect_left(lows, high) - (low < high)
            else:
                possibly = bisect.bisect_right(lows, high) - 1
            found.append(Enclosed(Fraction(before + 1), Fraction(possibly + 1), step=Fraction(1)))
        return found


def _turn(part: Possible, *, descending: bool) -> tuple[End, End]:
    """Return the ends of a number as rows are sorted by it; anywhere, where it may be missing."""
    if not isinstance(part, Enclosed) or part.missing or part.empty:
        return -math.inf, math.inf
    return (-part.high, -part.low) if descending else (part.low, part.high)


def _count_different(ends: Sequence[tuple[End, End]]) -> list[int]:
    """Return how many different values the rows with the k smallest upper ends have at least.

    As few as there are points that meet every interval: the upper end of each that no point before meets.
    """
    found, last = [0], -math.inf
    for low, high in sorted(ends, key=lambda pair: pair[1]):
        fresh = low > last
        last = high if fresh else last  # type: ignore[assignment]
        found.append(found[-1] + fresh)
    return found


def _accumulate(values: Iterable[Fraction]) -> Sums:
    return list(itertools.accumulate(values, initial=Fraction(0)))


def _pick(listed: Sequence[Exact], pick: Callable[..., Exact]) -> Exact:
    present = [value for value in listed if value is not None]
    return pick(present) if present else None


def _least(parts: Sequence[Enclosed]) -> Enclosed:
    """Enclose the least of what is there."""
    there = [part for part in parts if not part.empty]
    if not there:
        return NOTHING
    sure = [part.high for part in there if not part.missing]
    high = min(sure) if sure else max(part.high for part in there)
    return Enclosed(min(part.low for part in there), high, missing=not sure)


def _greatest(parts: Sequence[Enclosed]) -> Enclosed:
    """Enclose the greatest of what is there."""
    turned = _least([Enclosed(-part.high, -part.low, missing=part.missing) for part in parts])
    return NOTHING if turned.empty else Enclosed(-turned.high, -turned.low, missing=turned.missing)


class _PossibleSums:
    """Sums of rows from one to another, of numbers that are known to lie between ends and may be missing."""

    def __init__(self, parts: Sequence[Enclosed]) -> None:
        self._parts = parts
        ends = [_as_summand(part) for part in parts]
        self._lows, self._highs = (
            _accumulate(Fraction(0) if isinstance(end, float) else end for end in side)
            for side in zip(*ends, strict=True)
        )
        self._open_below, self._open_above = (
            _accumulate(Fraction(isinstance(end, float)) for end in side) for side in zip(*ends, strict=True)
        )
        self._there = _accumulate(Fraction(not part.empty) for part in parts)
        self._sure = _accumulate(Fraction(not part.missing and not part.empty) for part in parts)
        self._step = find_common_step(parts)

    def total(self, start: int, end: int) -> Enclosed:
        """Enclose the sum."""
        if end <= start or self._there[end] == self._there[start]:
            return NOTHING
        low: End = self._lows[end] - self._lows[start]
        high: End = self._highs[end] - self._highs[start]
        low = -math.inf if self._open_below[end] > self._open_below[start] else low
        high = math.inf if self._open_above[end] > self._open_above[start] else high
        return Enclosed(low, high, missing=self._sure[end] == self._sure[start], step=self._step)

    def count(self, start: int, end: int) -> Enclosed:
        """Enclose how many there are."""
        if end <= start:
            return Enclosed(Fraction(0), Fraction(0))
        least, most = self._sure[end] - self._sure[start], self._there[end] - self._there[start]
        return Enclosed(least, most, step=Fraction(1))

    def average(self, start: int, end: int) -> Enclosed:
        """Enclose the mean: the sum over the count where that is sure, else between the outermost ends."""
        total, count = self.total(start, end), self.count(start, end)
        if total.empty:
            return NOTHING
        if count.low == count.high:
            size = Fraction(count.low)
            low, high = (end_ if isinstance(end_, float) else end_ / size for end_ in (total.low, total.high))
            return Enclosed(low, high)
        there = [part for part in self._parts[start:end] if not part.empty]
        low, high = min(part.low for part in there), max(part.high for part in there)
        return Enclosed(low, high, missing=total.missing)


def _as_summand(part: Enclosed) -> tuple[End, End]:
    """Return the ends of what a row adds: nothing, where it is missing."""
    if part.empty:
        return Fraction(0), Fraction(0)
    if part.missing:
        return min(part.low, Fraction(0)), max(part.high, Fraction(0))
    return part.low, part.high
