"""The consistent estimate of a tree's blocks: a block's own noisy sum and what its parts tell, weighed.

A block of level j is made of two of level j - 1. Of two independent estimates, its own noisy sum and the sum
of those of its parts, the average that is weighed by the inverse variances errs least. With the same noise on
every block this has a closed form: with S_i the sum of the noisy blocks of level i inside it,

    estimate = (sum over i <= j of 2^i S_i) / (2^(j+1) - 1),    variance = 2^j / (2^(j+1) - 1)

of one noise's, so two thirds on level 1 and nearly a half far up. Numerators are whole numbers, and a block's
is 2^j times its own noisy sum, plus those of its parts. Blocks that are still open could tell more of the
past, but an answer waits for none of them [Honaker15].
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.rng import Rng
from discreet.core.rounding import down, up
from discreet.mechanisms.grid import LIMIT
from discreet.noise import AddNoise, DiscreteGaussian, Noise
from discreet.streams.conversation import CounterRun
from discreet.streams.counters.encoded_counter import DecodedNoise
from discreet.streams.noise_sums import ErrorLaw, noise_variance
from discreet.streams.weighted_sums import TailBound, WeightedSum, choose_points

_SLACK = 1 + 1e-9
_REACH = 1 << 12  # deviations that sums of noises stay within, but for a probability of e^-1000


def share_of(level: int) -> Fraction:
    """Return the variance of a block's estimate over that of one noise."""
    return Fraction(1 << level, (2 << level) - 1)


def find_law(noise: Noise, levels: list[int]) -> ErrorLaw:
    """Return the law of the sum of the estimates of blocks, one of each of the levels."""
    one = noise_variance(noise)
    if isinstance(noise, DiscreteGaussian):
        return DecodedNoise(
            variance=one * up(sum(map(share_of, levels))) * _SLACK,
            finest=down(noise.variance),
            draws=sum((2 << level) - 1 for level in levels),
            off=0.0,
        )
    parts = [
        (1 << level - low, (1 << low) / ((2 << level) - 1)) for level in levels for low in range(level + 1)
    ]
    return WeightedSum((one,) * len(parts), *map(tuple, zip(*parts, strict=True)))


def bound_laws(noise: Noise, counts: Counter[int], levels: int) -> Iterator[tuple[int, ErrorLaw]]:
    """Yield bounds on the laws of all answers with so many blocks, each with the number of these.

    The lower a block the larger its variance, so that of so many blocks the lowest ones err most. Of moments
    the largest are taken at every point.
    """
    lowest = list(range(levels)) if levels > 1 else [0, 0]  # two halves are two blocks of one level
    if isinstance(noise, DiscreteGaussian):
        yield from ((times, find_law(noise, lowest[:count])) for count, times in counts.items())
        return
    points = choose_points(noise_variance(noise))
    each = [find_law(noise, [level]).bound_at(points) for level in lowest]  # type: ignore[attr-defined]
    largest = np.cumsum(np.sort([law.logs for law in each], axis=0)[::-1], axis=0)
    for count, times in counts.items():
        variance = sum(law.variance for law in each[:count])
        yield times, TailBound(variance, points, largest[count - 1])


class ConsistentRun(CounterRun):
    """Of every level the sum where its open block began, and what is known of the block that ended before it.

    Numerators of blocks that answers still add up are kept by level; two of the highest level are added.
    """

    def __init__(self, levels: int, one: AddNoise, many: AddNoise, largest: int) -> None:
        self._one, self._many, self._top = one, many, levels - 1
        self._total = 0
        self._starts = [0] * levels
        self._known = [0] * levels
        self._parts = [(2 << level) - 1 for level in range(levels)]
        spread = int(noise_variance(one.noise) ** 0.5) + 1
        reach = (largest + _REACH * spread) * levels << levels + 1
        self._kind: Any = np.int64 if reach < LIMIT else object

    def step(self, units: int, rng: Rng) -> float:
        """Take one element: blocks end up to the level of the lowest digit, and each gets its noise."""
        now, level = self.taken + 1, 0
        self._total += units
        number = self._measure(0, rng)
        while level < self._top and not now >> level & 1:  # a second half: it is known with its first
            number += self._known[level]
            self._known[level] = 0
            level += 1
            number += self._measure(level, rng) << level
        self._known[level] = number + (self._known[level] if level == self._top else 0)
        self.taken = now
        return sum(map(_divide, self._known, self._parts))

    def _measure(self, level: int, rng: Rng) -> int:
        noisy = int(rng.perform(self._one, self._total - self._starts[level]))
        self._starts[level] = self._total
        return noisy

    def steps(self, units: NDArray[np.int64], rng: Rng) -> NDArray[Any]:
        """Take many: all blocks of all levels that end get their noise together."""
        if not units.size:
            return units.astype(np.float64)
        now, end = self.taken, self.taken + units.size
        sums = np.concatenate([[self._total], self._total + np.cumsum(units)])
        ends = [self._list_ends(level, now, end) for level in range(self._top + 1)]
        blocks = [
            np.diff(sums[at - now], prepend=start) for at, start in zip(ends, self._starts, strict=True)
        ]
        noisy = np.asarray(rng.perform(self._many, np.concatenate(blocks)), dtype=self._kind)
        own = np.split(noisy, np.cumsum([at.size for at in ends])[:-1])
        answers, times = np.zeros(units.size), np.arange(now + 1, end + 1)
        below = np.zeros(0, dtype=self._kind)
        for level, at in enumerate(ends):
            numbers = own[level] << level
            if level:
                numbers = numbers + self._join(level, at, below, now)
            # Before these steps one block of the level was known, or none: its place is the first.
            below = np.concatenate([np.array([self._known[level]], dtype=self._kind), numbers])
            held = np.cumsum(below) if level == self._top else below
            found = held[(times >> level) - (now >> level)].astype(np.float64) / self._parts[level]
            answers += found if level == self._top else np.where(times >> level & 1, found, 0.0)
            self._known[level] = int(held[-1]) if level == self._top or end >> level & 1 else 0
            if at.size:
                self._starts[level] = int(sums[int(at[-1]) - now])
        self._total, self.taken = int(sums[-1]), end
        return answers

    @staticmethod
    def _list_ends(level: int, now: int, end: int) -> NDArray[np.int64]:
        """Return the steps after `now` at which blocks of a level end."""
        return np.arange((now >> level) + 1, (end >> level) + 1) << level

    @staticmethod
    def _join(level: int, ends: NDArray[np.int64], below: NDArray[Any], now: int) -> NDArray[Any]:
        """Return what the two parts of each block add up to; the first entry below ended before."""
        second = (ends >> level - 1) - (now >> level - 1)
        joined: NDArray[Any] = below[second] + below[second - 1]
        return joined

    def write(self) -> dict[str, Any]:
        """Return the sums and what is known."""
        return {"total": self._total, "starts": list(self._starts), "known": list(self._known)}

    def read(self, written: dict[str, Any]) -> None:
        """Take on what was written."""
        self._total = written["total"]
        self._starts, self._known = list(written["starts"]), list(written["known"])


def _divide(number: int, parts: int) -> float:
    return number / parts
