"""Exact inversion that looks at as few random bits as it needs.

Let U be uniform on [0, 1) and let the outcome be the first i with U < C_i. Then P[outcome = i] is exactly
C_i - C_(i-1). The bits of U are drawn one group at a time, and a group is only used for conclusions that
hold for every way to go on:

1. 64 bits give an integer v with v <= 2**64 U < v + 1. The table holds T_i = floor(2**64 C_i), certified
   (and capped at 2**64 - 1). If v < T_i then U < C_i, if v > T_i then U >= C_i. So the number i of
   thresholds <= v is the outcome, unless v equals the threshold before it or i is past the table's end.
2. Many draws use the first 16 of those bits alone: where no threshold lies in the 2**48 words that begin
   with them, all these words have the same outcome, and a guide of 65,536 entries names it.
3. What is left, about one draw in 2**40, takes more bits of the same U and sharper bounds on C_i, both
   doubled until one outcome is certain. This ends with probability one.

No probability is rounded anywhere: a bound that is too wide costs more bits, never a wrong outcome.
Tables hold public numbers only and never change, so threads and forked processes may share them.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.rng import Rng
from discreet.noise.ladders import Ladder

WORD = 64
GUIDE = 16
TAIL_BITS = 40
"""The table ends where less than 2**-TAIL_BITS is left."""

_CAP = (1 << WORD) - 1
_ASK = np.int16(-(1 << 15))  # the guide's mark for "draw more bits"


class Inversion:
    """One draw at a time, by bisection on a list."""

    __slots__ = ("_ladder", "_outcomes", "_thresholds")

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        self._thresholds = thresholds(ladder)
        self._outcomes = tuple(ladder.outcome(i) for i in range(len(self._thresholds)))

    def at(self, word: int, rng: Rng) -> int:
        """Return the outcome of a uniform word of 64 bits, drawing on where it does not decide."""
        place = bisect_right(self._thresholds, word)
        if place == len(self._thresholds) or (place and self._thresholds[place - 1] == word):
            return resolve(self._ladder, word, rng)
        return self._outcomes[place]


class Guide:
    """Many draws at a time, through the guide. Outcomes in the table must fit 16 bits."""

    __slots__ = ("_guide", "_ladder", "_outcomes", "_thresholds")

    def __init__(self, ladder: Ladder) -> None:
        self._ladder = ladder
        table = np.array(thresholds(ladder), dtype=np.uint64)
        outcomes = np.array([*(ladder.outcome(i) for i in range(table.size)), _ASK], dtype=np.int16)
        first = np.arange(1 << GUIDE, dtype=np.uint64) << np.uint64(WORD - GUIDE)
        last = first | np.uint64((1 << WORD - GUIDE) - 1)
        place = np.searchsorted(table, first, side="left")
        sole = place == np.searchsorted(table, last, side="right")
        self._thresholds = _freeze(table)
        self._outcomes = _freeze(outcomes)
        self._guide = _freeze(np.where(sole, outcomes[place], _ASK))

    def picks(self, size: int, rng: Rng) -> NDArray[np.int64]:
        """Draw `size` outcomes."""
        words = rng.words(size, np.uint16)
        short = self._guide.take(words)
        asked = np.flatnonzero(short == _ASK)
        picked = short.astype(np.int64)
        if asked.size:
            picked[asked] = self.finish(words[asked], rng)
        return picked

    @property
    def guide(self) -> NDArray[np.int16]:
        """The outcome of every word of 16 bits; below every outcome where more bits are needed."""
        return self._guide

    def finish(self, starts: NDArray[np.uint16], rng: Rng) -> NDArray[np.int64]:
        """Return the outcomes of words of 16 bits that decide nothing, drawing on."""
        more = rng.words(starts.size) >> np.uint64(GUIDE)
        words = (starts.astype(np.uint64) << np.uint64(WORD - GUIDE)) | more
        place = np.searchsorted(self._thresholds, words, side="right")
        picked = self._outcomes[place].astype(np.int64)
        unsure = (place == self._thresholds.size) | ((place > 0) & (self._thresholds[place - 1] == words))
        for i in np.flatnonzero(unsure):
            picked[i] = resolve(self._ladder, int(words[i]), rng)
        return picked


def thresholds(ladder: Ladder) -> tuple[int, ...]:
    """Return min(floor(2**64 C_i), 2**64 - 1) for all i until the tail is negligible, certified."""
    bits = 3 * WORD
    while True:
        found = _thresholds_at(ladder, bits)
        if found:
            return found
        bits *= 2


def _thresholds_at(ladder: Ladder, bits: int) -> tuple[int, ...]:
    """Return the thresholds, or nothing if this precision leaves one of them in doubt."""
    found = []
    drop, enough = bits - WORD, (1 << bits) - (1 << bits - TAIL_BITS)
    for low, high in ladder.rungs(bits):
        floor = min(low >> drop, _CAP)
        if floor != min(high >> drop, _CAP):
            return ()
        found.append(floor)
        if low >= enough:
            return tuple(found)
    return ()


def resolve(ladder: Ladder, prefix: int, rng: Rng, bits: int = WORD) -> int:
    """Return the outcome of a U whose first `bits` bits are `prefix`, drawing on until it is certain."""
    guard = WORD
    while True:
        prefix, bits = (prefix << bits) | rng.bits(bits), 2 * bits
        for index, (low, high) in enumerate(ladder.rungs(bits + guard)):
            if (prefix + 1) << guard <= low:
                return ladder.outcome(index)
            if prefix << guard < high:
                break


def _freeze(array: NDArray[Any]) -> NDArray[Any]:
    array.flags.writeable = False
    return array
