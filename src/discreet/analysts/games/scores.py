"""Scores that are added up some rounds late.

A round changes all scores, but few are looked at in it. So the rounds' moves are kept in a list: a few scores
are brought up to date where they are looked at, and all of them together when a full pass is due anyway.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from discreet.analysts.games.bits import MOST_ROWS, BitRows, Moves
from discreet.equilibrium.arrays import NUMPY, Array

Integers = NDArray[np.int64]


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
