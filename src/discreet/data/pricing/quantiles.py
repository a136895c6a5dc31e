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
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.rng import Primitive, Rng
from discreet.data.plan.nodes import Span
from discreet.mechanisms.exponential import units_behind
from discreet.mechanisms.grid import LIMIT
from discreet.noise.oracle import uniform_below
from discreet.noise.selection import ExponentialChoice, exponential_weights

Histogram = Mapping[int, int]
"""How many rows of a group have which value."""

Run = tuple[int, int, int]
"""First value, last value, and the score of all values between."""


@dataclass(frozen=True, slots=True)
class QuantileChoices(Primitive["tuple[Histogram, ...]", "tuple[int, ...]"]):
    """Choose one value a group with probability proportional to exp(rate score).

    Inputs are as far apart as rows must be added or removed to get from one to the other.

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

    def sample(self, value: tuple[Histogram, ...], rng: Rng) -> tuple[int, ...]:
        """Choose a run of equal scores, weighted by its length, then one of its values."""
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

    def _one(self, histogram: Histogram, rng: Rng) -> int:
        found = runs(histogram, self.point, self.span, self.shift)
        base = tuple(Fraction(last - first + 1) for first, last, _ in found)
        scores = np.array([score for _, _, score in found], dtype=np.int64)
        place = ExponentialChoice(self.rate, self.sensitivity, base).sample(scores, rng)
        first, last, _ = found[place]
        return first + uniform_below(last - first + 1, rng)

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
    counts: dict[int, int] = dict.fromkeys(span, 0)
    for v, count in histogram.items():
        inside = min(max(v, span[0]), span[1])
        counts[inside] = counts.get(inside, 0) + count
    b, rows = point.denominator, sum(counts.values())
    rank = point.numerator * rows + shift
    found: list[Run] = []
    below, start = 0, span[0]
    for v in sorted(counts):
        if start < v:
            found.append((start, v - 1, -_count_missed(rank - b * below, b * below - rank)))
        at_most = below + counts[v]
        too_low = rank - b * at_most if v < span[1] else 0
        too_high = b * below - rank if v > span[0] else 0
        found.append((v, v, -_count_missed(too_low, too_high)))
        below, start = at_most, v + 1
    return found


def _count_missed(too_low: int, too_high: int) -> int:
    # No table is large enough to get to the limit; if one were, nothing may overflow.
    return min(LIMIT, max(0, too_low, too_high))


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
