"""Certified cumulative probabilities: ladders whose rungs are known to any precision asked for.

A ladder lists the outcomes of a law in a fixed order and gives, for a number of bits, integers with
lower <= C_i * 2**bits <= upper, where C_i is the probability of the first i + 1 outcomes. Everything is
integer arithmetic on intervals: products of lower ends are rounded down, of upper ends up, so the bounds
hold by construction and only their width depends on how errors grow.

Writing q = exp(-1 / scale), the ladders of the geometric family have closed forms, because the binary
digits of a geometric variable are independent. With G = H * 2**k + L:

* H is geometric with ratio Q = q**(2**k): `OneSided`;
* every group of digits of L is a geometric variable cut off at a power of two: `Digits`;
* a discrete Laplace variable is G with probability 1 / (1 + q) and -1 - G otherwise, so the pair of
  sign and H, written h = H or -1 - H, is one law again: `TwoSided`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from discreet.core.rounding import exp_bounds

Rung = tuple[int, int]


class Ladder(ABC):
    """The outcomes of a law in order, with certified cumulative probabilities."""

    @abstractmethod
    def rungs(self, bits: int) -> Iterator[Rung]:
        """Yield bounds on C_0, C_1, ... in units of 2**-bits; stop where more bits are needed to go on."""

    def outcome(self, index: int) -> int:
        """Return the outcome at a place in the order: the place itself, where nothing else is said."""
        return index


class Folded(Ladder):
    """A ladder whose outcomes are 0, -1, 1, -2, 2, ..."""

    def outcome(self, index: int) -> int:
        """Return 0, -1, 1, -2, 2, ..."""
        half = index >> 1
        return -1 - half if index & 1 else half


@dataclass(frozen=True, slots=True)
class OneSided(Ladder):
    """Outcomes 0, 1, 2, ... with ratio Q = exp(-2**shift / scale): C_i = 1 - Q**(i + 1)."""

    scale: Fraction
    shift: int

    def rungs(self, bits: int) -> Iterator[Rung]:
        """Yield one minus the powers of Q."""
        one = 1 << bits
        for low, high in _powers(self.scale, self.shift, bits):
            yield one - high, one - low


@dataclass(frozen=True, slots=True)
class TwoSided(Folded):
    """Outcomes 0, -1, 1, -2, 2, ... of h = H or -1 - H.

    P[h] is (1 - Q) Q**h / (1 + q) for h >= 0, and q times P[-1 - h] for h < 0. Hence
    C_(2m + 1) = 1 - Q**(m + 1) and C_(2m) = 1 - Q**m (q + Q) / (1 + q).
    """

    scale: Fraction
    shift: int

    def rungs(self, bits: int) -> Iterator[Rung]:
        """Yield the two forms in turn."""
        one = 1 << bits
        q_low, q_high = exp_bounds(1 / self.scale, bits)
        big_low, big_high = exp_bounds((1 << self.shift) / self.scale, bits)
        # (q + Q) / (1 + q) grows with both.
        left_low = ((q_low + big_low) << bits) // (one + q_low)
        left_high = -(-((q_high + big_high) << bits) // (one + q_high))
        power: Rung = (one, one)
        for following in _powers(self.scale, self.shift, bits):
            yield one - (power[1] * left_high >> bits) - 1, one - (power[0] * left_low >> bits)
            power = following
            yield one - power[1], one - power[0]


@dataclass(frozen=True, slots=True)
class Digits(Ladder):
    """Binary digits shift, ..., shift + width - 1 of a geometric variable, read as a number below 2**width.

    With r = exp(-2**shift / scale): C_i = (1 - r**(i + 1)) / (1 - r**(2**width)).
    """

    scale: Fraction
    shift: int
    width: int

    def rungs(self, bits: int) -> Iterator[Rung]:
        """Yield the quotients; the last one is exactly one."""
        one, last = 1 << bits, (1 << self.width) - 1
        end_low, end_high = exp_bounds((1 << self.shift + self.width) / self.scale, bits)
        for index, (low, high) in enumerate(_powers(self.scale, self.shift, bits)):
            if index == last:
                break
            lower = ((one - high) << bits) // (one - end_low)
            upper = -(-((one - low) << bits) // (one - end_high)) if end_high < one else one
            yield lower, min(one, upper)
        else:
            return
        yield one, one


@dataclass(frozen=True, slots=True)
class Bell(Ladder):
    """Outcomes 0, 1, -1, 2, -2, ... with P[z] proportional to exp(-z^2 / (2 variance))."""

    variance: Fraction

    def rungs(self, bits: int) -> Iterator[Rung]:
        """Yield partial sums of the weights over the sum of all."""
        weights, rest = bell_weights(self.variance, bits)
        both = [weights[0], *(w for weight in weights[1:] for w in (weight, weight))]
        yield from _quotients(both, 2 * rest, bits)

    def outcome(self, index: int) -> int:
        """Return 0, 1, -1, 2, -2, ..."""
        half = (index + 1) >> 1
        return half if index & 1 else -half


@dataclass(frozen=True, slots=True)
class FoldedBell(Folded):
    """Outcomes 0, -1, 1, -2, 2, ...; j and -1 - j both have weight exp(-j^2 / (2 variance))."""

    variance: Fraction

    def rungs(self, bits: int) -> Iterator[Rung]:
        """Yield partial sums of the weights over the sum of all."""
        weights, rest = bell_weights(self.variance, bits)
        yield from _quotients([w for weight in weights for w in (weight, weight)], 2 * rest, bits)


def bell_weights(variance: Fraction, bits: int) -> tuple[list[Rung], int]:
    """Return bounds on exp(-x^2 / (2 variance)), x = 0, 1, ..., and on the sum of all that are left out.

    The ratio of neighbouring weights is exp(-(2x + 1) / (2 variance)), itself a geometric sequence: two
    products an entry. The list ends where the lower bound reaches zero; from there the weights fall at
    least as fast as a geometric series.
    """
    one = 1 << bits
    ratio_low, ratio_high = exp_bounds(1 / (2 * variance), bits)
    step_low, step_high = exp_bounds(1 / variance, bits)
    low, high = one, one
    weights: list[Rung] = []
    while low:
        weights.append((low, high))
        low, high = low * ratio_low >> bits, (high * ratio_high >> bits) + 1
        ratio_low, ratio_high = ratio_low * step_low >> bits, (ratio_high * step_high >> bits) + 1
    return weights, (high << bits) // (one - min(ratio_high, one - 1)) + 1


def _powers(scale: Fraction, shift: int, bits: int) -> Iterator[Rung]:
    """Yield bounds on Q, Q**2, Q**3, ... with Q = exp(-2**shift / scale), as long as they tell anything."""
    ratio_low, ratio_high = exp_bounds((1 << shift) / scale, bits)
    low, high = ratio_low, ratio_high
    while True:
        yield low, high
        if not low:
            return
        low, high = low * ratio_low >> bits, (high * ratio_high >> bits) + 1


def _quotients(weights: list[Rung], rest: int, bits: int) -> Iterator[Rung]:
    """Yield bounds on the partial sums divided by the total, of which `rest` bounds what is not listed."""
    one = 1 << bits
    total_low, total_high = sum(w[0] for w in weights), sum(w[1] for w in weights) + rest
    low = high = 0
    for weight_low, weight_high in weights:
        low, high = low + weight_low, high + weight_high
        yield (low << bits) // total_high, min(one, -(-(high << bits) // total_low))
