"""The gate of private multiplicative weights: tests whether a hypothesis is off by more than a threshold.

One test asks whether a count lies above what the hypothesis says, another whether it lies below. Where
neighbours differ by one added row, all counts move the same way: the first kind of test rises, the second
falls. So in each order of the two neighbours only one of the two hidden thresholds has to be paid for, and
each alarm costs one shift of its noise, not two. docs/algorithms/multiplicative-weights.md has the proof.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.rng import Primitive, Rng
from discreet.noise import Noise
from discreet.sparse.loss import SparseLoss

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]

NONE = -1
"""What `FirstAbove` answers where no value reaches its bar."""

_CHUNK = 1 << 16  # tests drawn at a time: after an alarm the rest of the draws is thrown away
_SLACK = 1e-10  # relative: far above the rounding errors of the recursion
_NEGLIGIBLE = 1e-40  # masses below this are not told apart; all of them together count as infinite loss
_MOST_UNITS = 64


@dataclass(frozen=True, slots=True)
class FirstAbove(Primitive[Integers, int]):
    """Given a row of values and a row of bars, return the first place where value + noise >= bar, or NONE.

    The noise is fresh for every test and not kept. It is as if the tests were made one after another, each
    only if no earlier one was positive.
    """

    noise: Noise
    sensitivity: Fraction

    def sample(self, value: Integers, rng: Rng) -> int:
        """Draw fresh noise for a few tests at a time, until one is positive."""
        values, bars = value
        for start in range(0, len(values), _CHUNK):
            part = slice(start, start + _CHUNK)
            noise = self.noise.draws(len(values[part]), rng)
            positive = np.flatnonzero(noise >= bars[part] - values[part])
            if len(positive):
                return start + int(positive[0])
        return NONE

    def law(self, value: Integers) -> Iterator[tuple[int, Fraction]]:
        """Yield every place with the probability that all tests before it were negative."""
        left = Fraction(1)
        for place, (number, bar) in enumerate(value.T.tolist()):
            positive = self.noise.tail(bar - number)
            if left and positive:
                yield place, left * positive
            left *= 1 - positive
        if left:
            yield NONE, left

    def distance(self, value: Integers, other: Integers) -> Fraction:
        """Return how far the values are apart at most; the bars must be the same public numbers."""
        if value.shape != other.shape or (value[1] != other[1]).any():
            raise NeighboursMismatch("a test met another threshold on the neighbour")
        return Fraction(int(np.abs(value[0] - other[0]).max(initial=0)))


@dataclass(frozen=True, slots=True)
class TwoSidedLoss(SparseLoss):
    """Steps of two kinds, mixed as the analyst likes: losses in [-low, high], or in [-high, low].

    The tests above and the tests below move in opposite ways between neighbours, and which kind the next
    alarm is of may depend on everything before. The worst such mixture is found by going backwards: with
    k + 1 steps left, the better of the two kinds for the attacker, each followed by the worst of k steps.
    """

    def _points(self, fall: Fraction, rise: Fraction) -> tuple[Floats, Floats, float]:
        """Return the losses of the worst mixture, which is the same in both orders, and their masses."""
        del fall, rise
        losses, masses, lost = _worst_mixture(self.low, self.high, self.count)
        if self.values:
            more, weights, rest = SparseLoss(self.value, self.value, self.values)._points(  # noqa: SLF001
                self.value, self.value
            )
            return (
                np.add.outer(losses, more).ravel(),
                np.multiply.outer(masses, weights).ravel(),
                lost + rest,
            )
        return losses, masses, lost


@lru_cache(maxsize=256)
def _worst_mixture(low: Fraction, high: Fraction, count: int) -> tuple[Floats, Floats, float]:
    """Return the losses and masses of a pair that dominates every mixture of `count` steps, and the rest.

    All losses are multiples of one unit, so delta(epsilon) of the worst mixture is computed without error on
    the grid of that unit. In between it is convex in e^epsilon, and the chord above it is the curve of the
    pair whose masses are read off its slopes.
    """
    ratio = high / low
    few, many = ratio.denominator, ratio.numerator
    unit = float(low) / few
    if max(few, many) > _MOST_UNITS or unit * many * (count + 1) > 600:
        raise InvalidParameter(name="high", rule="a small multiple of low", value=high)
    reach = many * (count + 1)
    epsilon = unit * np.arange(-reach, reach + 1)
    curve = np.maximum(0.0, -np.expm1(epsilon))
    before = -np.expm1(unit * np.arange(-reach - many, -reach))
    both = -math.expm1(-unit * (few + many))
    rises, falls = -math.expm1(-unit * few) / both, -math.expm1(-unit * many) / both
    size = len(curve)
    for _ in range(count):
        # Entry `many - loss` of the widened curve is where epsilon - loss begins.
        wide = np.concatenate([before, curve, np.zeros(many)])
        up_most, up_less = wide[:size], wide[many - few :][:size]
        down_most, down_less = wide[2 * many :][:size], wide[many + few :][:size]
        curve = np.maximum(
            rises * up_most + (1 - rises) * down_less, falls * up_less + (1 - falls) * down_most
        )
    slopes = np.diff(curve) / -np.diff(np.exp(epsilon))
    masses = np.maximum(np.exp(epsilon) * -np.diff(slopes, prepend=1.0, append=0.0), 0.0) * (1 + _SLACK)
    kept = masses > _NEGLIGIBLE
    return np.asarray(epsilon[kept], dtype=np.float64), masses[kept], float(masses[~kept].sum())
