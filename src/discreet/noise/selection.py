"""Exact choices among scored candidates, fast for a million of them.

Scores are int64 arrays in grid units. Floats only ever say "surely" or "surely not": every comparison
they could get wrong is decided with integers, on as many further random bits as it takes. So the laws
below are the laws of the samplers, not approximations of them.

All measure the distance between two score vectors by its *spread*: the largest change of a
difference of two scores. Adding a constant to all scores changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Self

import numpy as np
from numpy.typing import NDArray

from discreet.core.rng import TAIL, Primitive, Rng
from discreet.core.rounding import exp_bounds, exp_fraction
from discreet.noise.laws import Noise
from discreet.noise.oracle import uniform_below

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Base = tuple[Fraction, ...]


@dataclass(frozen=True, slots=True, eq=False)
class WholeBase:
    """Whole numbers above 0 as weights of candidates, with logarithms that serve many choices."""

    sizes: Integers
    logs: Floats

    @classmethod
    def of(cls, sizes: Integers) -> Self:
        """Take the logarithm of each size once."""
        different, place = np.unique(sizes, return_inverse=True)
        return cls(sizes, np.array([math.log(size) for size in different.tolist()])[place])


_MARGIN = 2.0**-30
"""Relative doubt about a float exponential. Its argument has a relative error below 2**-50, and matters
only below 2**11 (beyond, the exponential is under every floor used here), so 2**-38 would do."""

_BOARD_BITS = 40
_MISSES = 8


class _Choice:
    """What all choices share: the distance between two score vectors."""

    __slots__ = ()

    def distance(self, value: Integers, other: Integers) -> Fraction:
        """Return the spread of the change: its largest coordinate minus its smallest."""
        moved = [int(a) - int(b) for a, b in zip(value, other, strict=True)]
        return Fraction(max(moved) - min(moved))


@dataclass(frozen=True, slots=True)
class PeeledChoices(_Choice, Primitive[Integers, "tuple[int, ...]"]):
    """Choose `count` candidates, one after the other; among the rest i has weight base_i exp(rate score_i).

    The sampler throws a dart at a board on which candidate i is a bar of integer width w_i and true
    width p_i <= w_i, with p_i proportional to base_i exp(rate score_i). The dart is uniform on the
    board, so it lands inside the true part of bar i with probability p_i / sum(w); landing elsewhere,
    or on a candidate already taken, is a miss and another dart is thrown. Given a hit, it is i with
    probability p_i over the sum of the p of all candidates not taken: the exponential mechanism.
    """

    rate: Fraction
    sensitivity: Fraction
    count: int = 1
    base: Base | None = None

    def sample(self, value: Integers, rng: Rng) -> tuple[int, ...]:
        """Throw darts; make a new board without the taken candidates when they take up most of it."""
        taken: list[int] = []
        while len(taken) < self.count:
            board, misses = _Board(value, self.rate, self.base, taken), 0
            while len(taken) < self.count and misses < _MISSES:
                place = board.throw(rng)
                if place is None or place in taken:
                    misses += 1
                else:
                    taken.append(place)
                    misses = 0
        return tuple(taken)

    def law(self, value: Integers) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        """Yield every ordered choice with its probability."""
        yield from self._extend((), Fraction(1), value)

    def _extend(
        self, order: tuple[int, ...], probability: Fraction, value: Integers
    ) -> Iterator[tuple[tuple[int, ...], Fraction]]:
        if len(order) == self.count:
            yield order, probability
            return
        rest = [place for place in range(value.size) if place not in order]
        base = None if self.base is None else tuple(self.base[place] for place in rest)
        weights = exponential_weights(value[rest], self.rate, base)
        for place, weight in zip(rest, weights, strict=True):
            yield from self._extend((*order, place), probability * weight / sum(weights), value)


@dataclass(frozen=True, slots=True)
class ExponentialChoice(_Choice, Primitive[Integers, int]):
    """Choose i with probability ~ base_i exp(rate score_i)."""

    rate: Fraction
    sensitivity: Fraction
    base: Base | None = None

    def sample(self, value: Integers, rng: Rng) -> int:
        """Choose one."""
        return PeeledChoices(self.rate, self.sensitivity, 1, self.base).sample(value, rng)[0]

    def law(self, value: Integers) -> Iterator[tuple[int, Fraction]]:
        """Yield every candidate with its probability."""
        weights = exponential_weights(value, self.rate, self.base)
        total = sum(weights)
        yield from ((place, weight / total) for place, weight in enumerate(weights))


@dataclass(frozen=True, slots=True)
class FlippedChoice(_Choice, Primitive[Integers, int]):
    """Permute and flip: in random order, choose the first candidate whose coin shows heads.

    The coin of a candidate gap_i behind the best shows heads with probability exp(-rate gap_i), so the
    best one's always does. All coins are flipped at once, which is the same: they do not depend on the
    order, and the first of a set in a uniform order is uniform on the set.
    """

    rate: Fraction
    sensitivity: Fraction

    def sample(self, value: Integers, rng: Rng) -> int:
        """Flip all coins and choose uniformly among the heads."""
        heads = _flip(_gaps(value), self.rate, rng)
        return int(heads[uniform_below(len(heads), rng)])

    def law(self, value: Integers) -> Iterator[tuple[int, Fraction]]:
        """Yield every candidate with its probability."""
        coins = exponential_weights(value, self.rate)
        for place, coin in enumerate(coins):
            others = ((1 - other, other) for j, other in enumerate(coins) if j != place)
            yield place, coin * _mean_share(others)


@dataclass(frozen=True, slots=True)
class NoisyArgmax(_Choice, Primitive[Integers, int]):
    """Add a fresh noise to every score and choose the largest sum; ties are broken uniformly."""

    noise: Noise
    sensitivity: Fraction

    def sample(self, value: Integers, rng: Rng) -> int:
        """Add noise and choose."""
        noisy = value + self.noise.draws(value.size, rng)
        winners = np.flatnonzero(noisy == noisy.max())
        return int(winners[uniform_below(len(winners), rng)])

    def law(self, value: Integers) -> Iterator[tuple[int, Fraction]]:
        """Sum over the winning value; what is left out is below TAIL."""
        scores = [int(score) for score in value]
        reach = self.noise.reach(TAIL / len(scores))
        shares = [Fraction(0)] * len(scores)
        for top in range(max(scores) - reach, max(scores) + reach + 1):
            at = [self.noise.pmf(top - score) for score in scores]
            under = [1 - self.noise.tail(top - score) for score in scores]
            for place in range(len(scores)):
                others = ((under[j], at[j]) for j in range(len(scores)) if j != place)
                shares[place] += at[place] * _mean_share(others)
        yield from enumerate(shares)


@dataclass(frozen=True, slots=True)
class NoisyArgmaxGap(_Choice, Primitive[Integers, "tuple[int, int]"]):
    """Like `NoisyArgmax`, and also say by how much more noise than needed the winner won.

    Ties are broken by a random order. Candidate i wins from the integer noise t on, where score_i + t is
    the largest other sum, plus one if a candidate that comes earlier has it. The gap is noise_i - t.
    """

    noise: Noise
    sensitivity: Fraction

    def sample(self, value: Integers, rng: Rng) -> tuple[int, int]:
        """Add noise, choose, and compare with the runner-up."""
        noisy = value + self.noise.draws(value.size, rng)
        top = noisy.max()
        winners = np.flatnonzero(noisy == top)
        winner = int(winners[uniform_below(len(winners), rng)])
        if len(winners) > 1:
            return winner, 0
        next_best = noisy[noisy < top].max()
        # The winner comes before all runners-up with the chance of any one of them to do so.
        before_all = uniform_below(int((noisy == next_best).sum()) + 1, rng) == 0
        return winner, int(top) - int(next_best) - (0 if before_all else 1)

    def law(self, value: Integers) -> Iterator[tuple[tuple[int, int], Fraction]]:
        """Sum over the level the winner had to reach; what is left out is below TAIL."""
        scores = [int(score) for score in value]
        reach = self.noise.reach(TAIL / (4 * len(scores)))
        lowest, highest = max(scores) - reach, max(scores) + reach + 1
        density = {z: self.noise.pmf(z) for z in range(-reach, reach + 1)}
        for place, score in enumerate(scores):
            others = [other for j, other in enumerate(scores) if j != place]
            reached = [self._below(others, level) for level in range(min(lowest, score - reach), highest + 1)]
            needed = {highest - k: b - a for k, (b, a) in enumerate(pairwise(reversed(reached)))}
            for gap in range(score + reach - min(needed) + 1):
                draws = ((mass, density.get(level + gap - score)) for level, mass in needed.items())
                yield (place, gap), sum((mass * p for mass, p in draws if p is not None), Fraction(0))

    def _below(self, others: Sequence[int], level: int) -> Fraction:
        """Return the probability that all others, one higher if they come first, are at most at the level.

        Given the winner's place in the order as a uniform number t, each other comes first with
        probability t, independently.
        """
        at_most = [1 - self.noise.tail(level + 1 - other) for other in others]
        fewer = [1 - self.noise.tail(level - other) for other in others]
        return _mean_share((a, b - a) for a, b in zip(at_most, fewer, strict=True))


def choose_weighted(scores: Integers, base: WholeBase, rate: Fraction, rng: Rng) -> int:
    """Choose i with probability ~ base_i exp(rate score_i), from the bits `ExponentialChoice` would use."""
    board = _Board(scores, rate, base, ())
    while (place := board.throw(rng)) is None:
        pass
    return place


def exponential_weights(scores: Integers, rate: Fraction, base: Base | None = None) -> list[Fraction]:
    """Return base_i exp(-rate gap_i) for every candidate, within 2**-128 of their sum."""
    best = max(int(score) for score in scores)
    if base is None:
        return [exp_fraction(rate * (best - int(score))) for score in scores]
    bits = 128 + math.ceil(sum(base) / min(base)).bit_length()
    return [b * exp_fraction(rate * (best - int(s)), bits) for b, s in zip(base, scores, strict=True)]


def _mean_share(others: Iterator[tuple[Fraction, Fraction]]) -> Fraction:
    """Return the integral over t from 0 to 1 of the product of (tails + heads t).

    For coins the product is E[t**heads], so that the integral is the mean of 1 / (1 + heads).
    """
    polynomial = [Fraction(1)]
    for tails, heads in others:
        shifted = [Fraction(0), *(heads * c for c in polynomial)]
        polynomial = [a + tails * b for a, b in zip(shifted, [*polynomial, Fraction(0)], strict=True)]
    return sum((c / (k + 1) for k, c in enumerate(polynomial)), Fraction(0))


class _Board:
    """Bars of integer width over true widths base_i exp(-rate gap_i) 2**scale, the widest about 2**40."""

    __slots__ = ("_base", "_ends", "_gaps", "_rate", "_scale", "_widths")

    def __init__(
        self, scores: Integers, rate: Fraction, base: Base | WholeBase | None, taken: Sequence[int]
    ) -> None:
        self._rate, self._base = rate, base
        self._gaps = _gaps(scores, taken)
        depths = self._gaps * -_speed(rate)
        if isinstance(base, WholeBase):
            depths += base.logs
        elif base is not None:
            depths += np.array([math.log(b.numerator) - math.log(b.denominator) for b in base])
        if taken:
            depths[list(taken)] = -math.inf
        # The sum of all bars stays below 2**63.
        bits = min(_BOARD_BITS, 61 - scores.size.bit_length())
        lift = 0 if base is None else -math.floor(float(depths.max()) / math.log(2))
        self._scale = bits + lift
        if lift:
            depths += lift * math.log(2)
        self._widths = np.exp(depths, out=depths)
        self._widths *= 2.0**bits
        bars = (self._widths * (1 + _MARGIN)).astype(np.int64)
        bars += 2
        if taken:
            bars[list(taken)] = 0
        self._ends = np.cumsum(bars, out=bars)

    def throw(self, rng: Rng) -> int | None:
        """Throw one dart: return the candidate it hits, or None."""
        dart = uniform_below(int(self._ends[-1]), rng)
        place = int(np.searchsorted(self._ends, dart, side="right"))
        inside = dart - (int(self._ends[place - 1]) if place else 0)
        if inside + 1 <= float(self._widths[place]) * (1 - _MARGIN):
            return place
        return place if _under(inside, 0, self._bounds(place), rng) else None

    def _bounds(self, place: int) -> Callable[[int], tuple[int, int]]:
        base = self._base.sizes if isinstance(self._base, WholeBase) else self._base
        weight = Fraction(1) if base is None else Fraction(base[place])
        exponent = self._rate * int(self._gaps[place])

        def bounds(bits: int) -> tuple[int, int]:
            # The guard bits pay for a weight above one, so the bounds stay a few units apart.
            guard = max(0, math.ceil(weight).bit_length()) + max(0, -self._scale)
            low, high = exp_bounds(exponent, bits + self._scale + guard)
            return math.floor(low * weight) >> guard, -(-math.ceil(high * weight) >> guard)

        return bounds


def _gaps(scores: Integers, taken: Sequence[int] = ()) -> NDArray[np.uint64]:
    """Return how far each score is behind the best one not taken, without overflow.

    Grid values lie within 2**62, so a gap fits in 64 unsigned bits although not in 63.
    """
    if taken:
        free = np.ones(scores.size, dtype=bool)
        free[list(taken)] = False
        return np.asarray(scores.max(where=free, initial=np.iinfo(np.int64).min) - scores).view(np.uint64)
    return np.asarray(scores.max() - scores).view(np.uint64)


def _speed(rate: Fraction) -> float:
    """Return the rate as a float; beyond 2**60 every gap but 0 is hopeless anyhow."""
    return float(min(rate, Fraction(1 << 60)))


def _flip(gaps: NDArray[np.uint64], rate: Fraction, rng: Rng) -> NDArray[np.intp]:
    """Flip a coin of probability exp(-rate gap) for every candidate and return where heads came up.

    Eight random bits settle all but one coin in about 256; 32 more settle nearly all of those; the
    rest is compared exactly.
    """
    chances = np.asarray(gaps * -_speed(rate), dtype=np.float64)
    np.exp(chances, out=chances)
    first = rng.words(gaps.size, np.uint8)
    possible = np.flatnonzero(first < chances * (256 * (1 + _MARGIN)) + 2.0**-20)
    drawn, chance = first[possible], chances[possible]
    heads = drawn + 1.0 <= chance * (256 * (1 - _MARGIN))
    open_ = np.flatnonzero(~heads)
    if open_.size:
        longer = drawn[open_] * 2.0**32 + rng.words(open_.size, np.uint32)
        heads[open_] = _settle(longer, chance[open_] * 2.0**40, gaps[possible[open_]], rate, rng)
    return possible[heads]


def _settle(
    drawn: Floats, widths: Floats, gaps: NDArray[np.uint64], rate: Fraction, rng: Rng
) -> NDArray[np.bool_]:
    """Decide coins on 40 random bits each, and exactly where those leave a doubt."""
    heads = drawn + 1 <= widths * (1 - _MARGIN)
    for k in np.flatnonzero(np.abs(drawn - widths) <= widths * _MARGIN + 2):
        heads[k] = _under(int(drawn[k]), 40, partial(exp_bounds, rate * int(gaps[k])), rng)
    return heads


def _under(known: int, bits: int, bounds: Callable[[int], tuple[int, int]], rng: Rng) -> bool:
    """Tell whether a uniform number, known to `bits` binary places, lies below a target.

    `bounds(n)` returns integers around target * 2**n, a few units apart. Bits are added until the
    answer is certain; each round leaves doubt with probability about 2**-64.
    """
    while True:
        known, bits = known << 64 | rng.bits(64), bits + 64
        low, high = bounds(bits)
        if known + 1 <= low:
            return True
        if known >= high:
            return False
