"""The shipped samplers: small tables, put together so that they reach any scale.

Which sampler draws is decided from the parameters and the number of draws, before a bit is drawn:

* below `WORDS` (scale or standard deviation), inversion; one table where the law is narrow, and for a
  wide law a table for the leading part and one for every few binary digits below it;
* from there on, where a sum could pass 64-bit words, the oracle on Python integers.

A wide discrete Gaussian is drawn by rejection. With b = 2**k and v the variance, the leading part h has
weight exp(-(j b)^2 / (2 v)) where j = h or -1 - h, the low k bits L are uniform, and z = j b + L or
-1 - (j b + L). Accepting with probability exp(-(z^2 - (j b)^2) / (2 v)) leaves z with weight
exp(-z^2 / (2 v)), exactly. Since 1 - y <= exp(-y), sixteen bits are nearly always enough to accept.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.rng import Rng
from discreet.core.rounding import exp_bounds
from discreet.noise import oracle
from discreet.noise.inversion import WORD, Guide, Inversion
from discreet.noise.ladders import Bell, Digits, FoldedBell, Ladder, OneSided, TwoSided

Flags = NDArray[np.bool_]
Bits = tuple[int, int]
"""The first bits of a uniform variable: their value as an integer, and how many they are."""

WORDS = 1 << 50
"""Scales from here on are left to the oracle."""

FEW = 24
"""Up to this many draws are made one by one: cheaper than the arrays, and no large table is built."""

LIMIT = 1 << 62
"""Arrays of 64-bit integers hold noise below this; a larger value makes the array one of Python integers."""

_CHUNK = 1 << 14  # draws at a time: the working set stays in the cache
_ONE_HEAD, _MANY_HEAD = 4, 64  # the leading part's scale: small tables for one draw, fewer steps for many
_ONE_BELL, _MANY_BELL = 8, 128
_DIGITS = 8
_ONES = (1 << WORD) - 1


class One(ABC):
    """Draws one value."""

    @abstractmethod
    def draw(self, rng: Rng) -> int:
        """Draw one value."""


class Many(ABC):
    """Draws arrays."""

    @abstractmethod
    def chunk(self, size: int, rng: Rng) -> NDArray[Any]:
        """Draw `size` values: 64-bit integers, or Python integers if one of them reaches LIMIT."""


class Oracle(One):
    """A scalar sampler without tables, for parameters of any size."""

    def __init__(self, sampler: Callable[[Fraction, Rng], int], parameter: Fraction) -> None:
        self._sampler, self._parameter = sampler, parameter

    def draw(self, rng: Rng) -> int:
        """Draw one value."""
        return self._sampler(self._parameter, rng)


class SplitOne(One):
    """A geometric or discrete Laplace variable: the leading part and the digits below it."""

    def __init__(self, head: Ladder, digits: tuple[Digits, ...]) -> None:
        self._head = Inversion(head)
        self._digits = tuple((part.shift, Inversion(part)) for part in digits)
        self._bits = WORD * (1 + len(digits))
        self._shift = sum(part.width for part in digits)
        self._mask = (1 << self._shift) - 1

    def draw(self, rng: Rng) -> int:
        """Draw one value."""
        words = rng.bits(self._bits)  # one call to the operating system for all the parts
        head, low = self._head.at(words & _ONES, rng), 0
        for shift, part in self._digits:
            words >>= WORD
            low |= part.at(words & _ONES, rng) << shift
        # For h < 0 the value is -1 - (H * 2**k + L), which is h * 2**k plus the digits of L inverted.
        return (head << self._shift) + (low ^ self._mask if head < 0 else low)


class SplitMany(Many):
    """The same on arrays."""

    def __init__(self, head: Ladder, digits: tuple[Digits, ...]) -> None:
        self._head = Guide(head)
        self._digits = tuple((part.shift, Guide(part)) for part in digits)
        self._shift = sum(part.width for part in digits)
        self._mask = (1 << self._shift) - 1

    def chunk(self, size: int, rng: Rng) -> NDArray[Any]:
        """Draw `size` values."""
        head = self._head.picks(size, rng)
        if not self._digits:
            return head
        low = (head >> 63) & self._mask
        for shift, part in self._digits:
            low ^= part.picks(size, rng) << shift
        values: NDArray[Any] = raise_by(head, self._shift) + low
        return values


class RejectionStep:
    """The rejection step of a wide discrete Gaussian, for low parts of `shift` bits."""

    def __init__(self, variance: Fraction, shift: int) -> None:
        self.head = FoldedBell(variance / 4**shift)
        self.shift, self.mask = shift, (1 << shift) - 1
        self._twice = 2 * variance
        self._floor = math.floor(2 * variance / 4**shift)

    def accept(self, head: int, low: int, coin: Bits, rng: Rng) -> bool:
        """Decide U < exp(-(z^2 - (j b)^2) / (2 v)) for a U whose first bits are given."""
        inner = (head if head >= 0 else -1 - head) << self.shift
        outer = inner + low + (head < 0)
        above = (outer - inner) * (outer + inner) * self._twice.denominator
        return below_exp(above, self._twice.numerator, coin, rng)

    def surely(self, head: NDArray[np.int64], low: NDArray[np.int64], coin: NDArray[np.uint16]) -> Flags:
        """Tell which are accepted whatever follows the first 16 bits of U."""
        # With l = (L + s) / b <= 1, here rounded up to 2**-16: z^2 - (j b)^2 <= b^2 l (2 j + 1).
        sign = head >> 63
        part = (low >> self.shift - 16) + 1 if self.shift > 16 else (low - sign) << 16 - self.shift
        sure: Flags = part * (2 * (head ^ sign) + 1) <= (65535 - coin.astype(np.int64)) * self._floor
        return sure


class BellOne(One):
    """A wide discrete Gaussian by rejection."""

    def __init__(self, step: RejectionStep) -> None:
        self._step, self._head = step, Inversion(step.head)

    def draw(self, rng: Rng) -> int:
        """Draw one value."""
        step = self._step
        while True:
            words = rng.bits(2 * WORD + step.shift)
            head, low = self._head.at(words & _ONES, rng), words >> 2 * WORD
            if step.accept(head, low, ((words >> WORD) & _ONES, WORD), rng):
                return (head << step.shift) + (low ^ step.mask if head < 0 else low)


class BellMany(Many):
    """The same on arrays."""

    def __init__(self, step: RejectionStep) -> None:
        self._step, self._head = step, Guide(step.head)

    def chunk(self, size: int, rng: Rng) -> NDArray[Any]:
        """Draw `size` values; the rejected ones are drawn again."""
        drawn = self._draw_accepted(size, rng)
        while drawn.size < size:
            drawn = np.concatenate([drawn, self._draw_accepted(size - drawn.size, rng)])
        return drawn

    def _draw_accepted(self, size: int, rng: Rng) -> NDArray[Any]:
        step = self._step
        head = self._head.picks(size, rng)
        low = low_bits(step.shift, size, rng)
        coin = rng.words(size, np.uint16)
        sure = step.surely(head, low, coin)
        for i in np.flatnonzero(~sure):
            sure[i] = step.accept(int(head[i]), int(low[i]), (int(coin[i]), 16), rng)
        values: NDArray[Any] = (raise_by(head, step.shift) + (low ^ (head >> 63 & step.mask)))[sure]
        return values


def one_by_one(one: One, size: int, rng: Rng) -> NDArray[Any]:
    """Draw `size` values: 64-bit integers, or Python integers if one of them reaches LIMIT."""
    values = [one.draw(rng) for _ in range(size)]
    small = all(-LIMIT < value < LIMIT for value in values)
    return np.array(values, dtype=np.int64 if small else object)


def in_chunks(many: Many, size: int, rng: Rng) -> NDArray[Any]:
    """Draw `size` values: 64-bit integers, or Python integers if one of them reaches LIMIT."""
    drawn = np.empty(size, dtype=np.int64)
    for start in range(0, size, _CHUNK):
        part = many.chunk(min(_CHUNK, size - start), rng)
        if part.dtype == object:
            drawn = drawn.astype(object)
        drawn[start : start + part.size] = part
    return drawn


def raise_by(head: NDArray[np.int64], shift: int) -> NDArray[Any]:
    """Return head * 2**shift, in Python integers where a value with these leading bits could reach LIMIT."""
    bound = LIMIT >> shift
    inside = head.size == 0 or (head.min() > -bound and head.max() < bound - 1)
    return (head if inside else head.astype(object)) << shift


def low_bits(count: int, size: int, rng: Rng) -> NDArray[np.int64]:
    """Return uniform integers in [0, 2**count), count < 64."""
    width = 16 if count <= 16 else 32 if count <= 32 else 64
    words = rng.words(size, np.dtype(f"u{width // 8}"))
    low: NDArray[np.int64] = (words >> words.dtype.type(width - count)).astype(np.int64)
    return low


def below_exp(over: int, under: int, start: Bits, rng: Rng) -> bool:
    """Decide U < exp(-over / under) for a U whose first bits are given, drawing on until it is certain."""
    prefix, bits = start
    if bits < WORD:
        prefix, bits = (prefix << WORD) | rng.bits(WORD), bits + WORD
    # 1 - x + x^2 / 2 - x^3 / 6 <= exp(-x) <= 1 - x + x^2 / 2 decides nearly always, in a few products.
    low = (over << bits) // under
    high = low + 1
    if prefix + high < 1 << bits:  # 1 - x <= exp(-x), and cheaper still
        return True
    if prefix >= (1 << bits) - low + (high * high >> bits + 1) + 1:
        return False
    if prefix < (1 << bits) - high + (low * low >> bits + 1) - (high**3 // 6 >> 2 * bits) - 2:
        return True
    while True:
        lower, upper = exp_bounds(Fraction(over, under), bits)
        if prefix < lower:
            return True
        if prefix >= upper:
            return False
        prefix, bits = (prefix << WORD) | rng.bits(WORD), bits + WORD


def shift_for(size: Fraction, head: int) -> int:
    """Return the least k >= 0 with size < head * 2**k."""
    return math.floor(size / head).bit_length()


def split(scale: Fraction, head: int) -> tuple[int, tuple[Digits, ...]]:
    """Return k and the groups of the k lowest digits, none wider than eight, all about as wide."""
    shift = shift_for(scale, head)
    groups = -(-shift // _DIGITS)
    edges = [shift * i // groups for i in range(groups + 1)] if groups else [0]
    return shift, tuple(Digits(scale, a, b - a) for a, b in itertools.pairwise(edges))


def laplace_one(scale: Fraction) -> One:
    """Return the scalar sampler of a discrete Laplace law."""
    return _make_laplace_one(*scale.as_integer_ratio())


@lru_cache(maxsize=128)
def _make_laplace_one(over: int, under: int) -> One:  # a fraction takes as long to hash as a draw takes
    scale = Fraction(over, under)
    if scale >= WORDS:
        return Oracle(oracle.discrete_laplace, scale)
    shift, digits = split(scale, _ONE_HEAD)
    return SplitOne(TwoSided(scale, shift), digits)


@lru_cache(maxsize=32)
def laplace_many(scale: Fraction) -> Many:
    """Return the array sampler of a discrete Laplace law with scale < WORDS."""
    shift, digits = split(scale, _MANY_HEAD)
    return SplitMany(TwoSided(scale, shift), digits)


def laplace_draws(scale: Fraction, size: int, rng: Rng) -> NDArray[Any]:
    """Draw many values of a discrete Laplace law."""
    if size <= FEW or scale >= WORDS:
        return one_by_one(laplace_one(scale), size, rng)
    return in_chunks(laplace_many(scale), size, rng)


def geometric_one(scale: Fraction) -> One:
    """Return the scalar sampler of a geometric law."""
    return _make_geometric_one(*scale.as_integer_ratio())


@lru_cache(maxsize=128)
def _make_geometric_one(over: int, under: int) -> One:  # a fraction takes as long to hash as a draw takes
    scale = Fraction(over, under)
    if scale >= WORDS:
        return Oracle(oracle.geometric, scale)
    shift, digits = split(scale, _ONE_HEAD)
    return SplitOne(OneSided(scale, shift), digits)


@lru_cache(maxsize=32)
def geometric_many(scale: Fraction) -> Many:
    """Return the array sampler of a geometric law with scale < WORDS."""
    shift, digits = split(scale, _MANY_HEAD)
    return SplitMany(OneSided(scale, shift), digits)


def geometric_draws(scale: Fraction, size: int, rng: Rng) -> NDArray[Any]:
    """Draw many values of a geometric law."""
    if size <= FEW or scale >= WORDS:
        return one_by_one(geometric_one(scale), size, rng)
    return in_chunks(geometric_many(scale), size, rng)


def gaussian_one(variance: Fraction) -> One:
    """Return the scalar sampler of a discrete Gaussian law."""
    return _make_gaussian_one(*variance.as_integer_ratio())


@lru_cache(maxsize=128)
def _make_gaussian_one(over: int, under: int) -> One:  # a fraction takes as long to hash as a draw takes
    variance = Fraction(over, under)
    if variance >= WORDS**2:
        return Oracle(oracle.discrete_gaussian, variance)
    shift = shift_for(_root(variance), _ONE_BELL)
    return BellOne(RejectionStep(variance, shift)) if shift else SplitOne(Bell(variance), ())


@lru_cache(maxsize=32)
def gaussian_many(variance: Fraction) -> Many:
    """Return the array sampler of a discrete Gaussian law with variance < WORDS**2."""
    shift = shift_for(_root(variance), _MANY_BELL)
    return BellMany(RejectionStep(variance, shift)) if shift else SplitMany(Bell(variance), ())


def gaussian_draws(variance: Fraction, size: int, rng: Rng) -> NDArray[Any]:
    """Draw many values of a discrete Gaussian law."""
    if size <= FEW or variance >= WORDS**2:
        return one_by_one(gaussian_one(variance), size, rng)
    return in_chunks(gaussian_many(variance), size, rng)


def _root(variance: Fraction) -> Fraction:
    return Fraction(math.isqrt(math.floor(variance)))
