"""Scores that are added up some rounds late, from queries that are kept as bits.

A round changes all scores, but few are looked at in it. So the rounds' moves are kept in a list: a few scores
are brought up to date where they are looked at, and all of them together when a full pass is due anyway.
All queries of a book are bits, so that one query and one cell are both quick to look up.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.analysts.query_book import QueryBook
from discreet.core.fixed import Integers
from discreet.equilibrium.arrays import NUMPY, Array, Arrays, choose_arrays
from discreet.queries.histogram import Histogram

Bits = NDArray[np.uint8]

Moves = tuple[tuple[int, int], ...]
"""Rows, each with a weight."""

MOST_ROWS = 255
"""How many rows may be added up at once: a byte counts them."""

_BLOCK = 1024  # queries turned into bits at once; a multiple of 8


class BitRows:
    """A matrix of bits, packed eight to a byte in every row.

    Parameters
    ----------
    packed
        The bytes; what comes after the last column is zero.
    columns
        How many columns there are.
    arrays
        Where the bytes are kept.
    """

    __slots__ = ("_packed", "arrays", "columns")

    def __init__(self, packed: Bits, columns: int, arrays: Arrays = NUMPY) -> None:
        self._packed = arrays.put(packed)
        self.columns = columns
        self.arrays = arrays

    def row(self, row: int) -> Array:
        """Return the bits of one row."""
        return self.arrays.unpack(self._packed[row])[: self.columns]

    def count(self, rows: Sequence[int]) -> Array:
        """Return in how many of some rows each column has a one."""
        total = self.row(rows[0])
        for row in rows[1:]:
            total += self.row(row)
        return total

    def weigh(self, moves: Moves, columns: Array) -> Array:
        """Return the sum of the weights of the moves whose rows have a one, for some columns only."""
        rows, weights = self.arrays.put(np.array(moves).T)
        bits = (self._packed[rows[:, None], columns >> 3] >> (7 - (columns & 7))) & 1
        return (bits * weights[:, None]).sum(0)


class GameTable:
    """Which query counts which cell. A place without a query counts nothing.

    Memory: two bits for each place and cell of the universe.
    """

    __slots__ = ("_packed", "by_cell", "by_place")

    def __init__(self, book: QueryBook) -> None:
        book.universe.require_dense()
        cells, places = book.universe.size, book.caps.places
        self._packed = np.zeros((places, -(-cells // 8)), dtype=np.uint8)
        for place, query in book.items():
            self._packed[place] = np.packbits(query.vector().reshape(-1) != 0)
        self.by_place = BitRows(self._packed, cells, choose_arrays(cells))
        self.by_cell = BitRows(transpose(self._packed)[:cells], places, choose_arrays(places))

    def answers(self, histogram: Histogram) -> Integers:
        """Return the true count of every place."""
        rows = histogram.counts().reshape(-1).astype(np.float64)
        found = []
        for start in range(0, len(self._packed), _BLOCK):
            block = np.unpackbits(self._packed[start : start + _BLOCK], axis=1, count=rows.size)
            # Sums of whole numbers below 2**53 are exact in floats, whatever their order.
            found.append(block.astype(np.float64) @ rows)
        return np.concatenate(found).astype(np.int64)


def transpose(packed: Bits) -> Bits:
    """Return the transpose of a packed matrix, with rows of zeros up to a multiple of eight."""
    rows, width = packed.shape
    made = np.zeros((8 * width, -(-rows // 8)), dtype=np.uint8)
    for start in range(0, rows, _BLOCK):
        block = packed[start : start + _BLOCK]
        padded = np.zeros((-(-len(block) // 8) * 8, width), dtype=np.uint8)
        padded[: len(block)] = block
        # Eight rows of a byte each are a square of bits, held in one 64-bit word.
        squares = np.ascontiguousarray(padded.reshape(-1, 8, width).transpose(0, 2, 1)).view(">u8")
        flipped = _turn_squares(squares.astype(np.uint64)).astype(">u8").view(np.uint8)
        made[:, start // 8 : start // 8 + len(flipped)] = flipped.transpose(1, 2, 0).reshape(8 * width, -1)
    return made


def _turn_squares(words: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Transpose squares of eight by eight bits: swap corners of two by two, then of four, then of eight."""
    for shift, mask in ((7, 0x00AA00AA00AA00AA), (14, 0x0000CCCC0000CCCC), (28, 0x00000000F0F0F0F0)):
        swapped = (words ^ (words >> np.uint64(shift))) & np.uint64(mask)
        words = words ^ swapped ^ (swapped << np.uint64(shift))
    return words


class LateScores:
    """One whole number a place: what is known, and moves not yet added. Never changes.

    Parameters
    ----------
    known
        The scores before the first move.
    drift
        What every move adds; nothing if left out.
    bits
        One row for each move there is. A move adds its weight where its row has a one.
    """

    __slots__ = ("_bits", "_drift", "_known", "_moves", "arrays")

    def __init__(
        self, known: Integers, *, bits: BitRows | None = None, drift: Integers | None = None
    ) -> None:
        self.arrays = NUMPY if bits is None else bits.arrays
        self._known: Array = self.arrays.put(known)
        self._drift: Array = None if drift is None else self.arrays.put(drift)
        self._bits = bits
        self._moves: Moves = ()

    @property
    def size(self) -> int:
        """How many places there are."""
        return len(self._known)

    def after(self, row: int, weight: int) -> LateScores:
        """Return the scores after one more move."""
        if len(self._moves) == MOST_ROWS:
            self.whole()
        made = object.__new__(LateScores)
        made.arrays, made._known, made._drift, made._bits = self.arrays, self._known, self._drift, self._bits
        made._moves = (*self._moves, (row, weight))
        return made

    def at(self, places: Integers) -> Integers:
        """Return the scores of some places, on the host."""
        if places.size * len(self._moves) > self.size:
            self.whole()
        there = self.arrays.put(places)
        found = self._known[there]
        if self._bits is not None and self._moves:
            found = found + self._bits.weigh(self._moves, there)
            if self._drift is not None:
                found = found + self._drift[there] * len(self._moves)
        return self.arrays.fetch(found)

    def whole(self) -> Array:
        """Return all scores, where they are kept; from now on they are known."""
        if self._bits is not None and self._moves:
            weights = sorted({weight for _, weight in self._moves})
            counts = [self._bits.count([row for row, other in self._moves if other == w]) for w in weights]
            made = self.arrays.module.empty_like(self._known)
            for part in self.arrays.parts(self.size):
                made[part] = self._known[part]
                if self._drift is not None:
                    made[part] += self._drift[part] * len(self._moves)
                for weight, count in zip(weights, counts, strict=True):
                    made[part] += self.arrays.whole(count[part]) * weight
            self._known, self._moves = made, ()
        return self._known
