"""A stream of whole numbers encoded by a sum of decaying powers, in whole numbers, and decoded again.

What an `Encoding` returns is within `STRAY` of fineness * (C x). So two neighbouring streams are further
apart than C says, by at most twice that at every step, and `square_shift` counts it: the guarantee does not
rest on how floats are rounded, nor on whether elements come one by one or many at once.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from operator import mul

import numpy as np
from numpy.typing import NDArray

from discreet.core.rounding import above, shorten_up, up
from discreet.streams.exponential_sums import WEIGHT_BITS, Decoder, ExponentialSum, Floats

BLOCK = 128
"""How many elements meet in one row of a matrix product."""

_ROWS = 15  # rows at a time: larger products are shared out among threads, which wait for busy cores

STRAY = Fraction(3, 4)
"""How far an encoded number may be from the exact one: half for rounding it, the rest for what led to it."""


@dataclass(frozen=True)
class Encoding:
    """Public tables for one encoder.

    Parameters
    ----------
    encoder
        The coefficients of C.
    horizon
        How many elements there are.
    largest
        The largest absolute value of an element.
    fineness
        How many units the number 1 is encoded by.
    """

    encoder: ExponentialSum
    horizon: int
    largest: int
    fineness: int

    @property
    def float_error(self) -> float:
        """What products and sums of floats can add to an encoded number."""
        terms = BLOCK + len(self.encoder.rates) + 8
        weights = np.ldexp(self.encoder.weights, -WEIGHT_BITS)
        top = self.fineness * self.largest * float(weights @ self.encoder.reach(self.horizon))
        return terms * 2.0**-52 * top

    def square_shift(self, moved: int, events: int, streams: int = 1) -> Fraction:
        """Bound the squared L2 distance of two encoded streams that differ by `moved` at `events` steps.

        Or of several streams together, where each event is in one of them: encoded exactly these are no
        further apart than if all events were in one, where each is charged as if it came first and any two
        overlap. Rounding moves each.
        """
        exact = self.fineness * moved * math.sqrt(self.encoder.square_norm(self.horizon, events))
        rounded = 2 * up(STRAY) * math.sqrt(self.horizon * streams)
        return shorten_up(Fraction(above(exact + rounded)) ** 2, 12)

    def begin(self) -> list[int]:
        """Return the buffers before the first element."""
        return [0] * len(self.encoder.rates)

    def take_one(self, buffers: list[int], element: int) -> int:
        """Take one element into the buffers and return its encoded number."""
        added, bits = element << self.bits, self._decay_bits
        buffers[:] = [(product >> bits) + added for product in map(mul, buffers, self._decays[1])]
        number: int = round(sum(map(mul, self._scales, buffers)))
        return number

    def take(self, buffers: list[int], elements: NDArray[np.int64]) -> NDArray[np.int64]:
        """Take many elements into the buffers and return their encoded numbers."""
        return np.concatenate([self._take_rows(buffers, rows) for rows in cut_rows(elements)])

    def _take_rows(self, buffers: list[int], rows: Floats) -> NDArray[np.int64]:
        size = rows.shape[1]
        added = np.rint(rows @ self._powers[BLOCK - size :]).tolist()
        held = np.empty((len(rows), len(buffers)))
        decays, bits = self._decays[size], self._decay_bits
        for row, new in enumerate(added):
            held[row] = buffers
            buffers[:] = [(x * y >> bits) + int(z) for x, y, z in zip(buffers, decays, new, strict=True)]
        numbers = rows @ self._inside[:size, :size].T + held @ self._carried[:size].T
        return np.rint(numbers).ravel().astype(np.int64)

    def take_rows(self, rows: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the encoded numbers of streams from their first element on, each a row."""
        size = rows.shape[1]
        if size > BLOCK:
            return np.array([self.take(self.begin(), row) for row in rows])
        return np.rint(rows.astype(np.float64) @ self._inside[:size, :size].T).astype(np.int64)

    @cached_property
    def bits(self) -> int:
        """Fractional bits of the buffers: all that is lost in them moves an encoded number by at most 1/8.

        A buffer loses at most a unit for a decay, one for a rounded sum and as many as an element is large
        for the rounded powers: `largest` + 3 a step, while it remembers, and through one block in full.
        """
        weights = np.ldexp(self.encoder.weights, -WEIGHT_BITS)
        steps = np.minimum(self.encoder.reach(self.horizon) + BLOCK, self.horizon)
        lost = self.fineness * (self.largest + 3) * float(weights @ steps)
        return math.ceil(math.log2(8 * lost)) + 1

    @cached_property
    def _decay_bits(self) -> int:
        """Fractional bits of the decays: more than a buffer has, so that a decay is off by less than one."""
        return self.bits + (self.largest * self.horizon).bit_length() + 2

    @cached_property
    def _scales(self) -> list[float]:
        return [math.ldexp(self.fineness * w, -WEIGHT_BITS - self.bits) for w in self.encoder.weights]

    @cached_property
    def _decays(self) -> list[list[int]]:
        """The decay of every buffer over 0 .. BLOCK steps."""
        return self.encoder.powers(BLOCK + 1, self._decay_bits)

    @cached_property
    def _rates(self) -> Floats:
        """The decays as floats."""
        return np.array([[math.ldexp(x, -self._decay_bits) for x in row] for row in self._decays])

    @cached_property
    def _powers(self) -> Floats:
        """What one element of a block adds to every buffer at the block's end, the last element last."""
        added: Floats = np.ldexp(self._rates[:BLOCK][::-1], self.bits)
        return added

    @cached_property
    def _carried(self) -> Floats:
        """What the buffers before a block add to each of its encoded numbers."""
        carried: Floats = self._rates[1:] * np.array(self._scales)
        return carried

    @cached_property
    def _inside(self) -> Floats:
        """What the elements of a block add to each other's encoded numbers."""
        weights = self.fineness * np.ldexp(self.encoder.weights, -WEIGHT_BITS)
        return _lower_toeplitz(self._rates[:BLOCK] @ weights)


class Decoding:
    """Turns encoded and noisy numbers into answers. All it keeps is a function of what was published."""

    def __init__(self, decoder: Decoder, fineness: int) -> None:
        weights = decoder.weights / fineness
        self._first = decoder.first / fineness
        self._rates = np.exp(-np.multiply.outer(np.arange(BLOCK + 1), decoder.decays))
        self._once, self._weights = self._rates[1].tolist(), weights.tolist()
        self._inside = _lower_toeplitz(decoder.coefficients(BLOCK) / fineness)
        self._carried = self._rates[1:] * weights

    def begin(self) -> list[float]:
        """Return the buffers before the first number."""
        return [0.0] * len(self._weights)

    def take_one(self, buffers: list[float], number: int) -> float:
        """Take one noisy number and return the answer of its step."""
        buffers[:] = [left + number for left in map(mul, buffers, self._once)]
        return sum(map(mul, self._weights, buffers), self._first * number)

    def take(self, buffers: list[float], numbers: NDArray[np.int64]) -> Floats:
        """Take many noisy numbers and return the answers of their steps."""
        return np.concatenate([self._take_rows(buffers, rows) for rows in cut_rows(numbers)])

    def take_rows(self, rows: NDArray[np.int64]) -> Floats:
        """Return the answers of the noisy numbers of streams from their first one on, each a row."""
        size = rows.shape[1]
        if size > BLOCK:
            return np.array([self.take(self.begin(), row) for row in rows])
        answers: Floats = rows.astype(np.float64) @ self._inside[:size, :size].T
        return answers

    def _take_rows(self, buffers: list[float], rows: Floats) -> Floats:
        size = rows.shape[1]
        added = rows @ self._rates[:size][::-1]
        held = np.empty((len(rows), len(buffers)))
        now = np.array(buffers)
        for row, new in enumerate(added):
            held[row] = now
            now = now * self._rates[size] + new
        buffers[:] = now.tolist()
        answers: Floats = rows @ self._inside[:size, :size].T + held @ self._carried[:size].T
        return answers.ravel()


def cut_rows(numbers: NDArray[np.int64]) -> Iterator[Floats]:
    """Yield matrices of whole blocks, and a row of what is left."""
    whole = len(numbers) // BLOCK * BLOCK
    rows = numbers[:whole].astype(np.float64).reshape(-1, BLOCK)
    yield from (rows[first : first + _ROWS] for first in range(0, len(rows), _ROWS))
    if whole < len(numbers):
        yield numbers[whole:].astype(np.float64).reshape(1, -1)


def _lower_toeplitz(coefficients: Floats) -> Floats:
    places = np.subtract.outer(np.arange(len(coefficients)), np.arange(len(coefficients)))
    matrix: Floats = np.where(places >= 0, coefficients[np.abs(places)], 0.0)
    return matrix
