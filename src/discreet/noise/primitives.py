"""The random steps that mechanisms are made of: where exact noise meets exact integers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from discreet.core.rng import Primitive, Rng
from discreet.noise.laws import Noise

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class AddNoise(Primitive["int | Integers", "int | Integers"]):
    """Return value + noise, for a Python integer of any size or an int64 array.

    `sensitivity` is in units of the grid, in the L1 norm (`norm=1`) or the L2 norm (`norm=2`).
    """

    noise: Noise
    sensitivity: Fraction
    norm: int = 1

    def sample(self, value: int | Integers, rng: Rng) -> int | Integers:
        """Add a fresh draw to every coordinate."""
        if isinstance(value, np.ndarray):
            return value + self.noise.sample(value.size, rng).reshape(value.shape)
        return value + self.noise.draw(rng)

    def law(self, value: int | Integers) -> Iterator[tuple[int | tuple[int, ...], Fraction]]:
        """Yield sums inside the noise's window; an array's outcomes are tuples of all coordinates."""
        window = [(z, self.noise.pmf(z)) for z in self.noise.window()]
        if not isinstance(value, np.ndarray):
            yield from ((value + z, p) for z, p in window)
            return
        cells = [int(v) for v in value.ravel()]
        for draw in itertools.product(window, repeat=len(cells)):
            outcome = tuple(v + z for v, (z, _) in zip(cells, draw, strict=True))
            yield outcome, math.prod((p for _, p in draw), start=Fraction(1))

    def distance(self, value: int | Integers, other: int | Integers) -> Fraction:
        """Return the L1 distance, or the L2 distance rounded up."""
        moved = [abs(int(a) - int(b)) for a, b in zip(np.ravel(value), np.ravel(other), strict=True)]
        if self.norm == 1:
            return Fraction(sum(moved))
        square = sum(m * m for m in moved)
        root = math.isqrt(square)
        return Fraction(root) if root * root == square else Fraction(math.isqrt(square << 80) + 1, 1 << 40)


@dataclass(frozen=True, slots=True)
class NoisyComparison(Primitive["tuple[int, int]", bool]):
    """Given (value, threshold), return whether value + noise >= threshold. The noise is not kept."""

    noise: Noise
    sensitivity: Fraction

    def sample(self, value: tuple[int, int], rng: Rng) -> bool:
        """Draw fresh noise and compare."""
        return value[0] + self.noise.draw(rng) >= value[1]

    def law(self, value: tuple[int, int]) -> Iterator[tuple[bool, Fraction]]:
        """Yield both outcomes, from the noise's exact tail."""
        p = self.noise.tail(value[1] - value[0])
        yield from ((True, p), (False, 1 - p))

    def distance(self, value: tuple[int, int], other: tuple[int, int]) -> Fraction:
        """Return how far the values are apart; the thresholds must be the same public number."""
        if value[1] != other[1]:
            raise ValueError("a replayed comparison met another threshold")
        return Fraction(abs(value[0] - other[0]))
