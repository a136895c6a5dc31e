"""Samplers on every string of bits: where few bits decide, nothing need be left to chance."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from discreet.audit.runs import freeze
from discreet.core import checks
from discreet.core.rng import TAIL, Primitive, Rng

LONGEST = 16
"""Bits a string has at most unless the caller allows more."""

_LAW_ERROR = Fraction(1, 1 << 90)  # far above what a primitive's law promises for all its outcomes


class _OutOfBits(Exception):
    """The string is too short to decide."""


class _Strings(Rng):
    """Plays every string of bits, up to a length, one after another."""

    def __init__(self, longest: int) -> None:
        self._longest = longest
        self._string: list[tuple[int, int]] = []  # how many bits, and which
        self._place = 0
        self.used = 0

    def random_bytes(self, count: int) -> bytes:
        """Return bytes made of the next bits."""
        return self.bits(8 * count).to_bytes(count, "little")

    def words(self, count: int, dtype: DTypeLike = np.uint64) -> NDArray[Any]:
        """Return words made of the next bits."""
        width = 8 * np.dtype(dtype).itemsize
        return np.array([self.bits(width) for _ in range(count)], dtype=dtype)

    def bits(self, count: int) -> int:
        """Return the next bits of this string."""
        if self._place == len(self._string):
            if self.used + count > self._longest:
                raise _OutOfBits
            self._string.append((count, 0))
        length, drawn = self._string[self._place]
        self._place += 1
        self.used += length
        return drawn

    def strings(self) -> Iterator[None]:
        """Go from one string to the next."""
        while True:
            self._place = self.used = 0
            yield
            del self._string[self._place :]
            while self._string and self._string[-1][1] + 1 == 1 << self._string[-1][0]:
                self._string.pop()
            if not self._string:
                return
            length, drawn = self._string[-1]
            self._string[-1] = (length, drawn + 1)


def every_string(
    primitive: Primitive[Any, Any], value: Any, *, longest: int = LONGEST
) -> tuple[dict[Hashable, Fraction], Fraction]:
    """Feed a sampler all strings of bits up to a length.

    Returns
    -------
    The exact probability of every outcome among the strings that decide, and that of those that do not: a
    sampler that rejects may want more bits than any length allows. Where one request is longer than the
    length nothing is decided.
    """
    rng = _Strings(checks.integer(1, longest=longest))
    decided: dict[Hashable, Fraction] = {}
    for _ in rng.strings():
        try:
            outcome = freeze(primitive.sample(value, rng))
        except _OutOfBits:
            continue
        decided[outcome] = decided.get(outcome, Fraction(0)) + Fraction(1, 1 << rng.used)
    return decided, 1 - sum(decided.values(), Fraction(0))


def agrees(primitive: Primitive[Any, Any], value: Any, *, longest: int = LONGEST) -> bool:
    """Tell whether what the strings decide is within the law, and the law within what they leave open."""
    decided, undecided = every_string(primitive, value, longest=longest)
    law: dict[Hashable, Fraction] = {}
    for outcome, p in primitive.law(value):
        law[freeze(outcome)] = law.get(freeze(outcome), Fraction(0)) + p
    none = Fraction(0)

    def fits(outcome: Hashable) -> bool:
        found, stated = decided.get(outcome, none), law.get(outcome, none)
        most = stated if outcome in law else TAIL
        return found <= most + _LAW_ERROR and stated <= found + undecided + _LAW_ERROR

    return all(fits(outcome) for outcome in {*law, *decided})
