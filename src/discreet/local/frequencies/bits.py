"""Rows of random bits: many coins with one rational probability, eight of them from sixteen random bits."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.core.rng import Rng
from discreet.noise.inversion import Guide
from discreet.noise.ladders import Ladder, Rung

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint64]
_LOW = np.uint64(0x0101010101010101)
_ROWS = 255  # sums of so many bits still fit a byte
_PLANES = 15  # rows that are added up to four digits before
_WORDS = 1 << 15


@dataclass(frozen=True, slots=True)
class EightCoins(Ladder):
    """The law of a byte whose bits are 1 with one probability, each for itself."""

    chance: Fraction

    def rungs(self, bits: int) -> Iterator[Rung]:
        """Yield the cumulative probabilities of 0, 1, ..., 255: exact fractions, rounded either way."""
        total = Fraction(0)
        masses = [self.chance**ones * (1 - self.chance) ** (8 - ones) for ones in range(9)]
        for byte in range(256):
            total += masses[byte.bit_count()]
            scaled = total * (1 << bits)
            yield math.floor(scaled), math.ceil(scaled)


@lru_cache(maxsize=64)
def _guide(chance: Fraction) -> tuple[Guide, Bytes, np.uint8]:
    """Return the guide, its outcomes as bytes, and a rare byte that stands for all that it leaves open."""
    guide, rare = Guide(EightCoins(chance)), np.uint8(255 if 2 * chance < 1 else 0)
    short = np.where(guide.guide < 0, rare, guide.guide).astype(np.uint8)
    short.flags.writeable = False
    return guide, short, rare


def _toss_bytes(chance: Fraction, count: int, rng: Rng) -> Bytes:
    """Toss eight coins for each byte: most are decided by sixteen bits, the rest by the exact inversion."""
    words, (guide, short, rare) = rng.words(count, np.uint16), _guide(chance)
    tossed = short.take(words)
    asked = np.flatnonzero(tossed == rare)
    if asked.size:
        tossed[asked] = guide.finish(words[asked], rng)
    return tossed


def toss_rows(chance: Fraction, rows: int, count: int, rng: Rng) -> Bytes:
    """Return rows of `count` coins, packed with the lowest bit first; spare bits of the last byte are 0."""
    width = (count + 7) // 8
    tossed = _toss_bytes(chance, rows * width, rng).reshape(rows, width)
    if count % 8:
        tossed[:, -1] &= np.uint8((1 << count % 8) - 1)
    return tossed


def put_bits(rows: Bytes, places: NDArray[np.int64], on: NDArray[np.bool_]) -> None:
    """Set one bit of each row."""
    each, byte = np.arange(len(rows)), places >> 3
    mask = (np.uint8(1) << (places & 7).astype(np.uint8)).astype(np.uint8)
    rows[each, byte] = np.where(on, rows[each, byte] | mask, rows[each, byte] & ~mask)


def sum_columns(rows: Bytes, count: int) -> NDArray[np.int64]:
    """Return how many rows have each bit."""
    words = (rows.shape[1] + 7) // 8
    sums = np.zeros((8, words * 8), dtype=np.int64)
    most = _PLANES * min(_ROWS, max(1, _WORDS // words))
    for start in range(0, len(rows), most):
        block = rows[start : start + most]
        each = -(-len(block) // _PLANES)
        if block.shape != (each * _PLANES, words * 8) or not block.flags.c_contiguous:
            padded = np.zeros((each * _PLANES, words * 8), dtype=np.uint8)
            padded[: len(block), : rows.shape[1]] = block
            block = padded
        wide = _add_bits(block.reshape(-1).view(np.uint64).reshape(_PLANES, each, words))
        for shift in range(8):  # a byte of each word counts one bit
            for power, digit in enumerate(wide):
                counted = np.add.reduce((digit >> np.uint64(shift)) & _LOW, axis=0)
                sums[shift] += counted.view(np.uint8).astype(np.int64) << power
    return sums.T.reshape(-1)[:count]


def _add_bits(planes: Words) -> list[Words]:
    """Return the four binary digits of the sums of fifteen planes of bits, bit by bit, the lowest first."""
    ones, twos, fours = _add_seven(planes[:7])
    more = _add_seven(planes[7:14])
    first, carried = _add_three(ones, more[0], planes[14])
    second, carried = _add_three(twos, more[1], carried)
    third, fourth = _add_three(fours, more[2], carried)
    return [first, second, third, fourth]


def _add_seven(planes: Words) -> tuple[Words, Words, Words]:
    one, first = _add_three(*planes[:3])
    other, second = _add_three(*planes[3:6])
    ones, third = _add_three(one, other, planes[6])
    return ones, *_add_three(first, second, third)


def _add_three(a: Words, b: Words, c: Words) -> tuple[Words, Words]:
    """Return the two binary digits of the sums of three bits each."""
    odd = a ^ b
    return odd ^ c, (a & b) | (odd & c)
