"""Noise for trials on people who do not exist: it looks random and is always the same.

A plan must not depend on luck, so its trials draw from here. Anybody can repeat what is drawn: a release of
private data never may be.
"""

from __future__ import annotations

import hashlib

import numpy as np

from discreet.core.fixed import Floats
from discreet.core.rng import Rng


class TrialNoise(Rng):
    """Bits that follow from a text, on every machine.

    >>> TrialNoise("people").bits(8) == TrialNoise("people").bits(8)
    True
    """

    unsafe = True

    def __init__(self, seed: str) -> None:
        self._seed, self._calls = seed, 0

    def random_bytes(self, count: int) -> bytes:
        """Return the next `count` bytes."""
        self._calls += 1
        return hashlib.shake_256(f"{self._seed} {self._calls}".encode()).digest(count)

    def uniform(self, count: int) -> Floats:
        """Return the next numbers between 0 and 1."""
        return np.asarray(self.words(count, np.uint32) / 2.0**32)
