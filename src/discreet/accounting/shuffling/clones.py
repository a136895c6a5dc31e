"""Hiding among clones: how far apart two shuffled sets of reports can be.

Let every report be drawn by one randomizer whose odds are at most L = e^epsilon0, and let one person's value
be x or y. The laws R(x) and R(y) are mixtures of two laws U and W: R(x) has L parts of U and one of W, R(y)
has one part of U and L of W. Every other person's law is at least (R(x) + R(y)) / (2 L) = (U + W) / (2 L):
with probability 1 / L such a person draws from U or W by a fair coin, whatever their value is. Telling which
reports are not drawn so only helps, and then nothing is left but how many come from U, and how many from W
[FMT21].

A direct response over k values says more: with probability k / (L + k - 1) it is uniform over all of them,
whoever draws it. So besides the reports of x and those of y there are clones of the others, and a person who
said neither x nor y is hidden among those.

Both are one computation. Let C of the others be clones, m = C + 1, and let a and b of the m reports be x and
y. The two laws have a common measure, a multinomial law of m reports in which x and y have 1 / k each, and
densities k / (L + k - 1) (1 + (L - 1) a / m), and the same with b; for any other randomizer k is 2.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.accounting.optimal import log_factorials
from discreet.core.losses.pld import Vector

MOST_PEOPLE = 1 << 21
"""More people count as this many: that is never less than the truth."""
_FAR = math.log(1e40)  # tails beyond are counted as if everything were told there
_CLONES, _NAMED = 256, 128  # blocks that numbers of clones, and of reports of x or y, are put in
_CLONES_OF_MANY = 40  # the same where there are both


@dataclass(frozen=True, slots=True)
class Clones:
    """The shuffled reports of `people`, with odds e^epsilon each.

    Parameters
    ----------
    values
        Over how many values everybody's report is a direct response; 0 for any other randomizer.
    """

    epsilon: float
    people: int
    values: int = 0

    def delta(self, epsilon: float) -> float:
        """Return an upper bound on the hockey-stick divergence at epsilon, for the worst pair of values.

        Privacy: fewer clones tell more, so numbers of clones are put in blocks by their smallest; and a block
        of numbers of reports of x or y counts as its largest, see `_tail`. Every rounding goes up.
        """
        if epsilon >= self.epsilon:
            return 0.0
        margin = math.exp(1e-14 * (float(log_factorials(self.people)[-1]) + self.people * (self.epsilon + 3)))
        total = sum(mass * self._tell(clones + 1, epsilon) for clones, mass in self._count_clones())
        floor = 4 * math.exp(2 * self.epsilon - _FAR) + 1e-290
        return min(1.0, total * margin * margin * (1 + 1e-11) + floor)

    @property
    def _kinds(self) -> int:
        return self.values or 2

    def _count_clones(self) -> Iterator[tuple[int, float]]:
        """Yield blocks of numbers of clones: the smallest one, and the probability of all."""
        others, share, rest = self.people - 1, *self._share()
        if not others:
            yield 0, 1.0
            return
        low, high = _reach(others, share)
        logs, c = log_factorials(self.people), np.arange(low, high + 1)
        masses = np.exp(
            logs[others] - logs[c] - logs[others - c] + c * math.log(share) + (others - c) * math.log(rest)
        )
        for start, stop in _cut(c.size, _CLONES_OF_MANY if self._kinds > 2 else _CLONES):
            yield low + start, float(np.sum(masses[start:stop]))

    def _share(self) -> tuple[float, float]:
        """Return the probability that another person is a clone, and that of the contrary."""
        if not self.values:
            return math.exp(-self.epsilon), -math.expm1(-self.epsilon)
        whole = math.exp(self.epsilon) + self.values - 1
        return self.values / whole, math.expm1(self.epsilon) / whole

    def _tell(self, reports: int, epsilon: float) -> float:
        """Return the divergence where so many reports, the person's own among them, are alike."""
        kinds = self._kinds
        own = kinds / (math.exp(self.epsilon) + kinds - 1)
        if kinds == 2:
            return own * self._tail(reports, reports, 0, epsilon)
        low, high = _reach(reports, 2 / kinds)
        logs, s = log_factorials(self.people), np.arange(low, high + 1)
        masses = np.exp(
            logs[reports]
            - logs[s]
            - logs[reports - s]
            + s * math.log(2 / kinds)
            + (reports - s) * math.log1p(-2 / kinds)
        )
        return own * sum(
            float(np.sum(masses[start:stop])) * self._tail(reports, low + stop - 1, stop - start - 1, epsilon)
            for start, stop in _cut(s.size, _NAMED)
        )

    def _tail(self, reports: int, named: int, wide: int, epsilon: float) -> float:
        """Return the mean of (density - e^epsilon other density)+ where `named` reports are x or y.

        With `wide` > 0 it is at least the mean for any number from named - wide to named. A report of x adds
        d = (L - 1) / m to the difference of densities and one of y takes e^epsilon d from it. Where a report
        of y took d only, one more fair coin could but raise the mean of the convex part above 0. So the last
        `wide` reports may be counted so; at most `wide` of them are y.
        """
        odds, ratio = math.expm1(self.epsilon), math.exp(epsilon)
        step = odds / reports
        forgiven = wide * math.expm1(epsilon) * step
        # Where odds (a - ratio b) / m + 1 - ratio + forgiven is 0, a hair below it.
        least = (ratio * named + (math.expm1(epsilon) - forgiven) / step) / (1 + ratio)
        low = max(0, math.floor(least * (1 - 1e-9) - 1))
        high = min(named, math.ceil(named / 2 + math.sqrt(named * _FAR / 2)))
        if low > high:
            return 0.0
        a, logs = np.arange(low, high + 1), log_factorials(self.people)
        masses: Vector = np.exp(logs[named] - logs[a] - logs[named - a] - named * math.log(2))
        excess = step * (a - ratio * (named - a)) - math.expm1(epsilon) + forgiven
        excess += 1e-14 * (1 + ratio) * (2 + odds)
        return float(np.dot(masses, np.maximum(excess, 0.0)))


def _reach(count: int, share: float) -> tuple[int, int]:
    """Return numbers that a binomial law leaves with probability 2e-40 at most: Bernstein's inequality."""
    mean = count * share
    far = _FAR / 3 + math.sqrt(_FAR**2 / 9 + 2 * mean * _FAR) + 1
    return max(0, math.floor(mean - far)), min(count, math.ceil(mean + far))


def _cut(size: int, most: int) -> Iterator[tuple[int, int]]:
    """Yield the ends of blocks, about `most` of them or fewer: narrow in the middle, where the mass is."""
    if size <= most:
        yield from ((place, place + 1) for place in range(size))
        return
    spread = np.linspace(-1.0, 1.0, most + 1)
    ends = np.unique(np.rint((1 + np.sign(spread) * np.abs(spread) ** 1.8) * size / 2).astype(np.int64))
    yield from itertools.pairwise(ends.tolist())
