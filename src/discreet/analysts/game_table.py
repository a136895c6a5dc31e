"""All queries of a book as bits, so that one query and one cell are both quick to look up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.analysts.query_book import QueryBook
from discreet.queries.histogram import Histogram

Bits = NDArray[np.uint8]
Integers = NDArray[np.int64]

_BLOCK = 1024  # queries turned into bits at once; a multiple of 8


class GameTable:
    """Which query counts which cell. A place without a query counts nothing.

    Memory: two bits for each place and cell of the universe.
    """

    __slots__ = ("_by_cell", "_by_place", "_cells", "_places")

    def __init__(self, book: QueryBook) -> None:
        book.universe.require_dense()
        self._cells, self._places = book.universe.size, book.caps.places
        self._by_place = np.zeros((self._places, -(-self._cells // 8)), dtype=np.uint8)
        for place, query in book.items():
            self._by_place[place] = np.packbits(query.vector().reshape(-1).astype(bool))
        self._by_cell = np.zeros((self._cells, -(-self._places // 8)), dtype=np.uint8)
        for start in range(0, self._places, _BLOCK):
            block = np.packbits(self._block(start).T, axis=1)
            self._by_cell[:, start // 8 : start // 8 + block.shape[1]] = block

    def _block(self, start: int) -> Bits:
        return np.unpackbits(self._by_place[start : start + _BLOCK], axis=1, count=self._cells)

    def query(self, place: int) -> Bits:
        """Return 1 for the cells that a query counts."""
        return np.unpackbits(self._by_place[place], count=self._cells)

    def cell(self, cell: int) -> Bits:
        """Return 1 for the places whose query counts a cell."""
        return np.unpackbits(self._by_cell[cell], count=self._places)

    def answers(self, histogram: Histogram) -> Integers:
        """Return the true count of every place."""
        rows = histogram.counts().reshape(-1).astype(np.float64)
        # Sums of whole numbers below 2**53 are exact in floats, whatever their order.
        found = [self._block(start) @ rows for start in range(0, self._places, _BLOCK)]
        return np.concatenate(found).astype(np.int64)
