"""Quantiles of every group by exact choices over the declared values.

The choice among the values low .. high for the quantile q = a / b of one group of n rows has scores

    score(v) = -max(0, a n - b R(v), b L(v) - a n),    R(v) rows at most v, L(v) rows below v.

A quantile scores 0, and every score counts how many b-ths of a row its rank is off. One more row x adds a to
n, and b to R (for v >= x) and to L (for v > x): a n - b R(v) moves by a or a - b, and b L(v) - a n by -a or
b - a. So every score moves by at most m = max(a, b - a), and the difference of two scores by at most 2 m. A
unit that adds or removes k rows, in whatever groups, moves the logarithms of the joint probability of all
choices by values within a range of 2 m k rate: the rows' moves add up in each group, and independent choices
add up.

An interval has two more choices, for the rank a n - s below and a n + s above (`shift`, in b-ths of a row).
The lowest value is taken to have nothing below it whatever the rank, and the highest to have all rows, so
that some value always scores 0; both only leave terms out of the maximum. With probability 1 - beta a choice
scores at least -t. If s = t + 1, the lower one then has b L < a n or is the lowest value, so it lies below
every quantile, and the upper one has b R > a n or is the highest value, so it lies above.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.rng import Primitive, Rng
from discreet.data.plan.row_nodes import Span
from discreet.mechanisms.exponential import units_behind
from discreet.mechanisms.grid import LIMIT
from discreet.noise.oracle import uniform_below
from discreet.noise.selection import WholeBase, choose_weighted, exponential_weights

Histogram = Mapping[int, int]
"""How many rows of a group have which value."""

Run = tuple[int, int, int]
"""First value, last value, and the score of all values between."""

_ROOM = 1 << 60  # ranks below it are worked out in 64 bits


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SortedRows:
    """The rows of a group, sorted and added up once for all choices from them. Private.

    The declared values are cut into runs: each value that occurs, and each bound, is one; so are the values
    between two of them.

    Attributes
    ----------
    first, base
        The first value of each run, as steps above the lowest, and the lengths of the runs.
    at_most, below
        How many rows are at most the last value of a run, and below its first one.
    """

    span: Span
    first: NDArray[np.int64]
    base: WholeBase
    at_most: NDArray[Any]
    below: NDArray[Any]

    @classmethod
    def of(cls, histogram: Histogram, span: Span) -> SortedRows:
        """Sort a histogram; values outside count as the nearest bound."""
        low, high = span
        inside = [min(max(v, low), high) - low for v in histogram]
        values, place = np.unique(np.array([0, high - low, *inside], dtype=np.int64), return_inverse=True)
        total = sum(histogram.values())
        counts = np.zeros(len(values), dtype=np.int64 if total < _ROOM else object)
        np.add.at(counts, place[2:], np.array([*histogram.values()], dtype=counts.dtype))
        at_most = np.cumsum(counts)
        gaps = np.diff(values) - 1
        # Where each value is among the runs, and where the values after it are, if there are any.
        own = np.arange(len(values)) + np.concatenate([[0], np.cumsum(gaps > 0)])
        after = own[:-1][gaps > 0] + 1
        first, sizes = (
            np.empty(len(own) + len(after), dtype=np.int64),
            np.ones(len(own) + len(after), np.int64),
        )
        first[own], first[after], sizes[after] = values, values[:-1][gaps > 0] + 1, gaps[gaps > 0]
        upto, before = np.empty(len(first), dtype=at_most.dtype), np.empty(len(first), dtype=at_most.dtype)
        upto[own], before[own] = at_most, at_most - counts
        upto[after] = before[after] = at_most[:-1][gaps > 0]
        return cls(span, first, WholeBase.of(sizes), upto, before)

    def scores(self, point: Fraction, shift: int) -> NDArray[np.int64]:
        """Return the score of each run."""
        b, rows = point.denominator, int(self.at_most[-1])
        rank = point.numerator * rows + shift
        most = b * rows
        at_most, below = self.at_most, self.below
        if most < _ROOM:  # further off than this, every score is at the limit whatever the rank
            rank = min(max(rank, -LIMIT - most), LIMIT + most)
        else:
            at_most, below = at_most.astype(object), below.astype(object)
        too_low, too_high = rank - b * at_most, b * below - rank
        too_low[-1] = too_high[0] = 0
        # No table is large enough to get to the limit; if one were, nothing may overflow.
        missed: NDArray[np.int64] = np.minimum(np.maximum(np.maximum(too_low, too_high), 0), LIMIT).astype(
            np.int64
        )
        return -missed

    def __repr__(self) -> str:
        return "the rows of a group (...)"


class KeptRows(dict[int, int]):
    """A histogram that is chosen from many times, and sorted once."""

    __slots__ = ("_sorted",)

    def sort(self, span: Span) -> SortedRows:
        """Return the rows in the order of their values."""
        known: SortedRows | None = getattr(self, "_sorted", None)
        if known is None or known.span != span:
            known = self._sorted = SortedRows.of(self, span)
        return known


class GroupChoices(Primitive[tuple[Histogram, ...], tuple[int, ...]]):
    """Choose one value in each group, by itself.

    Inputs are as far apart as rows must be added or removed to get from one to the other.
    """

    __slots__ = ()

    @abstractmethod
    def _one(self, histogram: Histogram, rng: Rng) -> int:
        """Draw the choice of one group."""

    @abstractmethod
    def _law(self, histogram: Histogram) -> list[tuple[int, Fraction]]:
        """Return every choice of one group with its probability."""

    def sample(self, value: tuple[Histogram, ...], rng: Rng) -> tuple[int, ...]:
        """Choose a value of each group."""
        return tuple(self._one(histogram, rng) for histogram in value)

    def law(self, value: tuple[Histogram, ...]) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        """Yield every choice of one value a group."""
        laws = [self._law(histogram) for histogram in value]
        for chosen in itertools.product(*laws):
            yield tuple(v for v, _ in chosen), math.prod((p for _, p in chosen), start=Fraction(1))

    def distance(self, value: tuple[Histogram, ...], other: tuple[Histogram, ...]) -> Fraction:
        """Return how many rows differ."""
        pairs = zip(value, other, strict=True)
        return Fraction(sum(abs(a.get(v, 0) - b.get(v, 0)) for a, b in pairs for v in {*a, *b}))


@dataclass(frozen=True, slots=True)
class QuantileChoices(GroupChoices):
    """Choose one value a group with probability proportional to exp(rate score).

    Parameters
    ----------
    point
        Which quantile.
    span
        The declared values.
    rate
        The exponent of one unit of score.
    sensitivity
        How many rows one unit adds or removes, all groups together.
    shift
        How far above the quantile's rank to aim, in parts of a row as the quantile's denominator says.
    """

    point: Fraction
    span: Span
    rate: Fraction
    sensitivity: Fraction
    shift: int = 0

    def _one(self, histogram: Histogram, rng: Rng) -> int:
        """Choose a run of equal scores, weighted by its length, then one of its values."""
        rows = (histogram if isinstance(histogram, KeptRows) else KeptRows(histogram)).sort(self.span)
        place = choose_weighted(rows.scores(self.point, self.shift), rows.base, self.rate, rng)
        first = self.span[0] + int(rows.first[place])
        return first + uniform_below(int(rows.base.sizes[place]), rng)

    def _law(self, histogram: Histogram) -> list[tuple[int, Fraction]]:
        spread = [
            (v, s)
            for first, last, s in runs(histogram, self.point, self.span, self.shift)
            for v in range(first, last + 1)
        ]
        weights = exponential_weights(np.array([score for _, score in spread], dtype=np.int64), self.rate)
        total = sum(weights)
        return [(v, weight / total) for (v, _), weight in zip(spread, weights, strict=True)]


def runs(histogram: Histogram, point: Fraction, span: Span, shift: int = 0) -> list[Run]:
    """Cut the declared values into runs of equal score; values outside count as the nearest bound."""
    rows = SortedRows.of(histogram, span)
    first, sizes = (rows.first + span[0]).tolist(), rows.base.sizes.tolist()
    scores = rows.scores(point, shift).tolist()
    return [(f, f + size - 1, score) for f, size, score in zip(first, sizes, scores, strict=True)]


def spread_per_row(point: Fraction) -> int:
    """Return how far the difference of two scores moves with one row."""
    return 2 * max(point.numerator, point.denominator - point.numerator)


def units_off(span: Span, rate: Fraction, beta: checks.Number) -> int:
    """Return how far a choice scores below 0 at most, but for probability beta."""
    missed = Fraction(checks.probability(beta=beta))
    return units_behind(Fraction(span[1] - span[0]) * (1 - missed) / missed, rate)


def rank_error(*, point: Fraction, span: Span, rate: Fraction, choices: int, beta: checks.Number) -> float:
    """Return by how many rows the rank of any of several choices is off, but for probability beta."""
    return units_off(span, rate, each_of(choices, beta)) / point.denominator
