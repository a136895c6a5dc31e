"""Propose-test-release for the trimmed mean and the interquartile range: how far instability is, exactly.

Both are made of order statistics. One replaced row moves all of them the same way, each by no more than to
the next one. So k rows, and one more, can move what lies from place `low` to place `high` of the sorted rows
by at most the largest x[high + t] - x[low + t - k - 1] over 0 <= t <= k + 1, where the bounds stand for what
would be beyond either end: t rows went up and k + 1 - t down.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.neighbours import Neighbours, Replace
from discreet.mechanisms.grid import Bounds
from discreet.mechanisms.propose_test_release import OfRows, ProposeTestRelease, read_sorted

_HALF = Fraction(1, 2)


class _Statistic(Protocol):
    """A number that order statistics decide."""

    @property
    def bounds(self) -> Bounds:
        """The range of a row."""

    def __call__(self, data: Sequence[Any]) -> Fraction:
        """Return the number."""

    def spans(self, count: int) -> list[tuple[int, int]]:
        """Return from where to where sorted rows decide it: the farthest of these moves bounds its own."""

    def parts(self, count: int) -> int:
        """Return what such a move is divided by."""


@dataclass(frozen=True, slots=True)
class TrimmedMean(OfRows):
    """The mean without the lowest and highest parts of the rows; the lower bound where there are no rows."""

    trim: Fraction

    @property
    def rounding(self) -> Fraction:
        """What all rows together can be moved by, and half a unit for the mean itself."""
        return self.bounds.rounding + self.bounds.unit / 2

    def __call__(self, data: Sequence[Any]) -> Fraction:
        """Return the mean of the middle."""
        rows = read_sorted(data, self.bounds)
        if not rows:
            return self.bounds.ends[0] * self.bounds.unit
        ((low, high),) = self.spans(len(rows))
        return Fraction(sum(rows[low : high + 1]), self.parts(len(rows))) * self.bounds.unit

    def spans(self, count: int) -> list[tuple[int, int]]:
        """Return the places of the first and the last row that is left."""
        away = math.floor(self.trim * count)
        return [(away, count - 1 - away)]

    def parts(self, count: int) -> int:
        """Return how many rows are left."""
        return count - 2 * math.floor(self.trim * count)


@dataclass(frozen=True, slots=True)
class InterquartileRange(OfRows):
    """From the lower to the upper quartile; 0 where there are no rows."""

    @property
    def rounding(self) -> Fraction:
        """What two rows can be moved by, away from each other."""
        return 2 * self.bounds.rounding

    def __call__(self, data: Sequence[Any]) -> Fraction:
        """Return the difference of the quartiles."""
        rows = read_sorted(data, self.bounds)
        if not rows:
            return Fraction(0)
        (low, _), (high, _) = self.spans(len(rows))
        return (rows[high] - rows[low]) * self.bounds.unit

    def spans(self, count: int) -> list[tuple[int, int]]:
        """Return the place of either quartile. They move the same way, so no further apart than one moves."""
        lower, upper = math.ceil(Fraction(count, 4)) - 1, math.ceil(Fraction(3 * count, 4)) - 1
        return [(lower, lower), (upper, upper)]

    def parts(self, count: int) -> int:
        """Return one."""
        return 1


@dataclass(frozen=True, slots=True)
class DistanceToJumps:
    """How many rows must change until one further change can move a statistic by more than `bound` units."""

    statistic: _Statistic
    bound: Fraction

    def __call__(self, data: Sequence[Any]) -> int:
        """Return the distance; the number of rows and one more where no data are unstable."""
        bounds = self.statistic.bounds
        rows, (bottom, top) = read_sorted(data, bounds), bounds.ends
        n = len(rows)
        most = self.bound * self.statistic.parts(n)
        padded = np.array([bottom] * (n + 2) + rows + [top] * (n + 2), dtype=np.int64)
        places = [(low + n + 2, high + n + 2) for low, high in self.statistic.spans(n)]

        def unstable(k: int) -> bool:
            moves = (padded[high : high + k + 2] - padded[low - k - 1 : low + 1] for low, high in places)
            return max(int(move.max()) for move in moves) > most

        return bisect.bisect_left(range(n + 1), True, key=unstable)  # more changes, wider moves


def propose_trimmed_mean(
    *,
    trim: checks.Number,
    bound: checks.Number,
    lower: checks.Number,
    upper: checks.Number,
    grid: checks.Number,
    neighbours: Neighbours,
    **budget: checks.Number,
) -> ProposeTestRelease:
    """Return propose-test-release for the mean without the lowest and the highest `trim` of the rows.

    Privacy: (epsilon_test + epsilon_release, delta), reply or not; see `ProposeTestRelease`.

    Parameters
    ----------
    trim
        The part of the rows that is left out at either end, below one half.
    bound
        The proposed bound on how far one row moves it.
    lower, upper, grid
        Numbers are rounded to the grid, those outside count as the nearest bound, NaN as 0 and then so.
    neighbours
        `Replace`: the number of rows is public.
    budget
        epsilon_test, epsilon_release and delta.

    Examples
    --------
    >>> mean = propose_trimmed_mean(
    ...     trim=0.1, bound=0.05, lower=0, upper=1000, grid=0.01, neighbours=Replace("person"),
    ...     epsilon_test=0.5, epsilon_release=0.5, delta=1e-6
    ... )
    >>> mean.release([30 + place % 30 for place in range(3000)]).value is None
    False
    """
    part = checks.non_negative(trim=trim)
    if not part < _HALF:
        raise InvalidParameter(name="trim", rule="below one half", value=trim)
    statistic = TrimmedMean(_read_bounds(lower, upper, grid, neighbours), part)
    return _propose(statistic, bound, neighbours, budget)


def propose_interquartile_range(
    *,
    bound: checks.Number,
    lower: checks.Number,
    upper: checks.Number,
    grid: checks.Number,
    neighbours: Neighbours,
    **budget: checks.Number,
) -> ProposeTestRelease:
    """Return propose-test-release for the difference of the quartiles.

    Privacy: (epsilon_test + epsilon_release, delta), reply or not; see `ProposeTestRelease`.

    Parameters are those of `propose_trimmed_mean`.

    Examples
    --------
    >>> spread = propose_interquartile_range(
    ...     bound=1, lower=0, upper=1000, grid=1, neighbours=Replace("person"),
    ...     epsilon_test=0.5, epsilon_release=0.5, delta=1e-6
    ... )
    >>> spread.release([30 + place % 30 for place in range(3000)]).value is None
    False
    """
    return _propose(
        InterquartileRange(_read_bounds(lower, upper, grid, neighbours)), bound, neighbours, budget
    )


def _read_bounds(
    lower: checks.Number, upper: checks.Number, grid: checks.Number, neighbours: Neighbours
) -> Bounds:
    if not isinstance(checks.instance(Neighbours, neighbours=neighbours), Replace):
        raise NeighboursMismatch(
            f"the distance of a statistic of sorted rows is computed for Replace, not for {neighbours}. "
            f"Pass neighbours=Replace(...), where the number of rows is public, or use SubsampleAggregate"
        )
    return Bounds(checks.positive(grid=grid), checks.exact(lower=lower), checks.exact(upper=upper))


def _propose(
    statistic: _Statistic, bound: checks.Number, neighbours: Neighbours, budget: dict[str, checks.Number]
) -> ProposeTestRelease:
    most = checks.positive(bound=bound)
    return ProposeTestRelease(
        bound=most,
        distance=DistanceToJumps(statistic, most / statistic.bounds.unit),
        value=statistic,
        grid=statistic.bounds.unit,
        neighbours=neighbours,
        **budget,
    )
