"""Tools for tests. Nothing here may be used for a real release: the seeded generator is predictable."""

from __future__ import annotations

import threading

import numpy as np

from discreet.core.rng import Rng


class UnsafeSeededRng(Rng):
    """A reproducible generator. Every release made with it is marked, and servers refuse it."""

    unsafe = True

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.PCG64(seed))
        self._lock = threading.Lock()
        self._seed = seed

    def random_bytes(self, count: int) -> bytes:
        """Return reproducible bytes."""
        with self._lock:
            return self._generator.bytes(count)

    def __repr__(self) -> str:
        return f"UnsafeSeededRng(seed={self._seed})"


def unsafe_seeded(seed: int) -> UnsafeSeededRng:
    """Return a generator that anyone who knows the seed can predict."""
    return UnsafeSeededRng(seed)
