"""How the numbers of a question are made of counts of rows, and what intervals of these say of them.

All is exact. An interval of a number is made outward from those of its counts: the ends that it has where
each count is where that is worst.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

Ends = tuple[int, float]
"""Between which whole numbers a count lies; the upper one may be an infinity."""

End = Fraction | float
"""An end of an interval: exact, or an infinity."""

Exact = Fraction | None
ONE = Fraction(1)


class CountFormula(ABC):
    """A number that is made of counts, which are told apart by numbers."""

    @property
    @abstractmethod
    def used(self) -> frozenset[int]:
        """Which counts it is made of."""

    @property
    def step(self) -> Fraction | None:
        """What it is a multiple of, where that is known."""
        return None

    @property
    @abstractmethod
    def is_whole(self) -> bool:
        """Whether it is whole whatever is counted, so that it is shown as such."""

    @abstractmethod
    def values(self, count: Callable[[int], int]) -> tuple[Exact, ...]:
        """Return its value, or its values where it is several quantiles; None where there is none."""

    @abstractmethod
    def ends(self, read: Callable[[int], Ends]) -> tuple[tuple[End, End], ...]:
        """Return between what each value lies, from between what each count does."""


@dataclass(frozen=True, slots=True)
class TimesCount(CountFormula):
    """A count, so many times."""

    times: Fraction
    counted: int

    @property
    def used(self) -> frozenset[int]:
        """The count."""
        return frozenset({self.counted})

    @property
    def step(self) -> Fraction | None:
        """The factor: counts are whole."""
        return abs(self.times)

    @property
    def is_whole(self) -> bool:
        """Whether the factor is."""
        return self.times.denominator == 1

    def values(self, count: Callable[[int], int]) -> tuple[Exact, ...]:
        """Return the product."""
        return (self.times * count(self.counted),)

    def ends(self, read: Callable[[int], Ends]) -> tuple[tuple[End, End], ...]:
        """Return the products of both ends."""
        low, high = (_multiply(self.times, end) for end in read(self.counted))
        return ((low, high) if self.times > 0 else (high, low),)


@dataclass(frozen=True, slots=True)
class TimesShare(CountFormula):
    """The part that one count is of another one, so many times: an average of 0 and one other number."""

    times: Fraction
    part: int
    whole: int

    @property
    def used(self) -> frozenset[int]:
        """The part and the whole."""
        return frozenset({self.part, self.whole})

    @property
    def is_whole(self) -> bool:
        """No: it is an average."""
        return False

    def values(self, count: Callable[[int], int]) -> tuple[Exact, ...]:
        """Return the product; there is none where nothing is counted."""
        whole = count(self.whole)
        return (self.times * Fraction(min(count(self.part), whole), whole) if whole else None,)

    def ends(self, read: Callable[[int], Ends]) -> tuple[tuple[End, End], ...]:
        """Return the products of both ends of the part: it is between 0 and 1, whatever is counted."""
        least, most = _divide(read(self.part), read(self.whole))
        low, high = self.times * least, self.times * most
        return ((low, high) if self.times > 0 else (high, low),)


@dataclass(frozen=True, slots=True)
class QuantilesOf(CountFormula):
    """The smallest of some values that so large a part of all rows, and at least one, is at most.

    Attributes
    ----------
    listed, up_to
        The values, ascending, and which count each has of the rows that are at most as large.
    whole
        The count of all rows.
    points
        The parts.
    """

    listed: tuple[Fraction, ...]
    up_to: tuple[int, ...]
    whole: int
    points: tuple[Fraction, ...]

    @property
    def used(self) -> frozenset[int]:
        """The counts up to each value, and of all rows."""
        return frozenset({self.whole, *self.up_to})

    @property
    def is_whole(self) -> bool:
        """Whether every value is."""
        return all(value.denominator == 1 for value in self.listed)

    def values(self, count: Callable[[int], int]) -> tuple[Exact, ...]:
        """Return the quantiles; there are none where nothing is counted."""
        rows = count(self.whole)
        if not rows:
            return (None,) * len(self.points)
        counts = list(map(count, self.up_to))
        return tuple(self._find(counts, max(ONE, point * rows)) for point in self.points)

    def ends(self, read: Callable[[int], Ends]) -> tuple[tuple[End, End], ...]:
        """Return the first value that may be large enough, and the first that surely is."""
        fewest, most = read(self.whole)
        counts = list(map(read, self.up_to))
        highs = [high for _, high in counts]
        lows = [low for low, _ in counts]
        ranks = [(max(ONE, point * fewest), max(ONE, _multiply(point, most))) for point in self.points]
        return tuple((self._find(highs, few), self._find(lows, many)) for few, many in ranks)

    def _find(self, counts: list[int] | list[float], rank: End) -> Fraction:
        pairs = zip(self.listed, counts, strict=True)
        return next((value for value, count in pairs if count >= rank), self.listed[-1])


def _divide(part: Ends, whole: Ends) -> tuple[Fraction, Fraction]:
    """Return between what a part of a whole lies, in parts of it."""
    low = Fraction(0) if math.isinf(whole[1]) else Fraction(part[0], max(int(whole[1]), part[0], 1))
    high = ONE if part[1] >= whole[0] else Fraction(int(part[1]), whole[0])
    return low, high


def _multiply(times: Fraction, end: float) -> End:
    if times == 0:
        return times
    return math.copysign(math.inf, times) if math.isinf(end) else times * Fraction(end)
