"""All queries of a book as bits, so that one query and one cell are both quick to look up."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.analysts.query_book import QueryBook
from discreet.equilibrium.arrays import NUMPY, Array, Arrays, choose_arrays
from discreet.queries.histogram import Histogram

Bits = NDArray[np.uint8]
Integers = NDArray[np.int64]

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
