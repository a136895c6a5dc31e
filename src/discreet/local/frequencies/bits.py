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
_LOW = np.uint64(0x0101010101010101)
_ROWS = 255  # sums of so many bits still fit a byte
_GROUPS = 16


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
def _guide(chance: Fraction) -> Guide:
    return Guide(EightCoins(chance))


def _toss_bytes(chance: Fraction, count: int, rng: Rng) -> Bytes:
    """Toss eight coins for each byte: most are decided by sixteen bits, the rest by the exact inversion."""
    words, guide = rng.words(count, np.uint16), _guide(chance)
    found = guide.guide.take(words)
    asked = np.flatnonzero(found < 0)
    tossed = found.astype(np.uint8)
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
    for start in range(0, len(rows), _ROWS * _GROUPS):
        block = rows[start : start + _ROWS * _GROUPS]
        groups = -(-len(block) // _ROWS)
        if block.shape != (groups * _ROWS, words * 8) or not block.flags.c_contiguous:
            padded = np.zeros((groups * _ROWS, words * 8), dtype=np.uint8)
            padded[: len(block), : rows.shape[1]] = block
            block = padded
        wide = block.reshape(-1).view(np.uint64).reshape(groups, _ROWS, words)
        for shift in range(8):  # a byte of each word counts one bit
            counted = np.add.reduce((wide >> np.uint64(shift)) & _LOW, axis=1)
            sums[shift] += counted.view(np.uint8).sum(axis=0, dtype=np.int64)
    return sums.T.reshape(-1)[:count]
