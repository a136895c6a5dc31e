"""How far the reports of one category stray from their mean, whoever holds it.

Of n people m hold a category. Each of them reports it with one probability, each of the others with another,
so the number of reports is a sum of two binomials, and m is what nobody knows. A law for every m would take
n convolutions; a few are enough. For m between a and b the reports are X + Y, with X the part that all those
m share (a holders and n - b others) and Y the reports of the b - a people in between. The tail of X is
log-concave, so its logarithm lies below each of its tangents; with L the value of one at the mean of X plus
t, and -s its slope,

    P[X + Y - mean >= t] <= exp(L) E exp(s (Y - mean of Y)).

The second factor is a product of known ones, and near 1 where b - a is small against n. Crowds too large for
convolutions are left to the theorem of Berry and Esseen, whose error falls as 1 / sqrt(n).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from discreet.core.losses import normal

Floats = NDArray[np.float64]

CROWD = 1 << 18
"""From here on convolutions take longer than they gain."""
FEW = 48
"""Up to this many people every number of holders has a law of its own."""

_RANGES = 16
_FAR = 60.0  # what windows leave out is below exp(-60), and paid for
_SPARE = 8 * math.exp(-_FAR)
_SLACK = 1 + 1e-9  # far above the rounding of sums of positive floats
_ESSEEN = 0.56  # a constant of the theorem for summands of different laws
_SMALLEST = 1e-290
_SLOPES: Floats = np.array([0.1 * 1.1**k for k in range(80)])
_STEEPER: Floats = np.array([0.0, *(1e-3 * 1.3**k for k in range(45))])


class ReportCoin(NamedTuple):
    """The probabilities of yes and no; both, since the smaller one would be lost in a difference."""

    yes: float
    no: float

    def turn_round(self) -> ReportCoin:
        """Return the coin with its sides exchanged."""
        return ReportCoin(self.no, self.yes)

    def excess(self, slopes: Floats) -> Floats:
        """Return log E exp(slope (B - mean)) for B = 1 where it shows yes, else 0."""
        steep = slopes * self.no + np.log(self.yes + self.no * np.exp(-slopes))
        flat = np.log1p(self.yes * np.expm1(np.minimum(slopes, 1.0))) - slopes * self.yes
        return np.where(slopes > 1, steep, flat)


Bound = Callable[[float], float]
"""Distance -> a bound on the probability that the reports stray from their mean by that much or more."""


class Crowd(NamedTuple):
    """People who report: what a holder of the category says, and what another one does."""

    people: int
    holder: ReportCoin
    other: ReportCoin

    def bounds(self) -> tuple[tuple[float, float, Bound], ...]:
        """Return (from, to, bound) for ranges of the share of holders that cover them all."""
        return _bounds(self)


@lru_cache(maxsize=128)
def _bounds(crowd: Crowd) -> tuple[tuple[float, float, Bound], ...]:
    n = crowd.people
    if n <= FEW:
        ranges: Iterator[tuple[int, int]] = ((m, m) for m in range(n + 1))
    else:
        ranges = pairwise(n * k // _RANGES for k in range(_RANGES + 1))
    kind = _esseen if n > CROWD else _convolve
    return tuple((a / n, b / n, kind(crowd, a, b)) for a, b in ranges)


def stray(crowd: Crowd, distance: float, categories: int) -> float:
    """Bound the probability that the reports of any of the categories stray by `distance` or more.

    The holders of all categories are all the people. A sum of values of a concave function is largest where
    its arguments are equal, so the bounds are replaced by the smallest concave function above them. Two
    categories stray together.
    """
    points: dict[float, float] = {}
    for first, last, bound in crowd.bounds():
        p = min(1.0, bound(distance))
        for share in (first, last):
            points[share] = max(p, points.get(share, 0.0))
    if categories == 2:
        return max(points.values())
    hull: list[tuple[float, float]] = []
    for x, y in sorted(points.items()):
        while len(hull) > 1:
            (a, b), (c, d) = hull[-2:]
            if (d - b) * (x - a) > (y - b) * (c - a):  # the last one is above the line past it
                break
            hull.pop()
        hull.append((x, y))
    return categories * float(np.interp(1 / categories, *np.transpose(hull)))


def smallest_distance(crowd: Crowd, beta: float, categories: int, most: float) -> float:
    """Return nearly the smallest distance that is reached with probability at most beta, at most `most`."""
    low, high = 0.0, most
    if stray(crowd, high, categories) > beta:
        return most
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if stray(crowd, middle, categories) <= beta else (middle, high)
    return high


def _convolve(crowd: Crowd, low: int, high: int) -> Bound:
    first, one = _window(low, crowd.holder)
    second, two = _window(crowd.people - high, crowd.other)
    masses = np.convolve(one, two)
    mean = low * crowd.holder.yes - first + (crowd.people - high) * crowd.other.yes - second
    above = _tangent(masses, mean, high - low, (crowd.holder, crowd.other))
    turned = (crowd.holder.turn_round(), crowd.other.turn_round())
    below = _tangent(masses[::-1], masses.size - 1 - mean, high - low, turned)
    return lambda distance: above(distance) + below(distance) + _SPARE


def _tangent(masses: Floats, mean: float, between: int, coins: tuple[ReportCoin, ReportCoin]) -> Bound:
    """Bound the upper tail of a log-concave law with `between` coins of either kind besides."""
    tail = np.cumsum(masses[::-1])[::-1]
    tail = tail[: max(1, int(np.count_nonzero(tail > _SMALLEST)))]
    if not between:
        tail = np.append(tail, _SMALLEST)
        return lambda distance: _SLACK * float(tail[min(tail.size - 1, max(0, math.ceil(mean + distance)))])
    logs, last = np.log(tail), tail.size - 1
    slopes = logs[:-1] - logs[1:]
    places = np.append(np.arange(1, last + 1), np.full(_STEEPER.size, last))
    # Where the law ends its logarithm falls for ever, and every steeper line is a tangent too.
    slopes = np.append(slopes, (slopes[-1] if last else 0.0) + _STEEPER)
    rest = between * np.maximum(*(coin.excess(slopes) for coin in coins))
    levels = logs[places] + slopes * places + rest
    return lambda distance: _SLACK * math.exp(min(0.0, float((levels - slopes * (mean + distance)).min())))


def _esseen(crowd: Crowd, low: int, high: int) -> Bound:
    """Bound both tails by the normal law and the theorem's error, or where that is too much by Chernoff."""

    def ends(moment: Callable[[ReportCoin], float]) -> tuple[float, float]:
        both = [m * moment(crowd.holder) + (crowd.people - m) * moment(crowd.other) for m in (low, high)]
        return min(both), max(both)

    least, most = ends(lambda coin: coin.yes * coin.no)
    _, third = ends(lambda coin: coin.yes * coin.no * (coin.yes**2 + coin.no**2))
    error, deviation = 2 * _ESSEEN * (third / least) / math.sqrt(least), math.sqrt(most)
    slopes = _SLOPES / deviation
    levels = [
        low * a.excess(slopes)
        + (crowd.people - high) * b.excess(slopes)
        + (high - low) * np.maximum(a.excess(slopes), b.excess(slopes))
        for a, b in ((crowd.holder, crowd.other), (crowd.holder.turn_round(), crowd.other.turn_round()))
    ]

    def bound(distance: float) -> float:
        limit = 2 * math.exp(normal.log_cdf(-distance / deviation)) + error
        chernoff = sum(math.exp(min(0.0, float(np.min(level - slopes * distance)))) for level in levels)
        return _SLACK * min(limit, chernoff)

    return bound


def _window(count: int, coin: ReportCoin) -> tuple[int, Floats]:
    """Return where a binomial's probabilities begin to matter, and the probabilities from there on."""
    mean, variance = count * coin.yes, count * coin.yes * coin.no
    reach = _FAR / 3 + math.sqrt(_FAR * _FAR / 9 + 2 * _FAR * variance)  # Bernstein
    first, last = max(0, math.floor(mean - reach)), min(count, math.ceil(mean + reach))
    k = np.arange(first, last, dtype=np.float64)
    logs = np.cumsum(np.append(0.0, np.log((count - k) / (k + 1)) + math.log(coin.yes / coin.no)))
    weights = np.exp(logs - logs.max())
    return first, weights / weights.sum()
