"""The random steps that mechanisms are made of: where exact noise meets exact integers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.rng import Primitive, Rng
from discreet.noise.laws import Noise
from discreet.noise.samplers import LIMIT

Integers = NDArray[np.int64]
_LARGEST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class AddNoise(Primitive["int | Integers", "int | Integers"]):
    """Return value + noise, for a Python integer of any size or an array of integers.

    `sensitivity` is in units of the grid, in the L1 norm (`norm=1`) or the L2 norm (`norm=2`).

    An array never wraps: its values are clamped to [-2**62, 2**62], which moves no two of them further
    apart, and the exact sum is clamped to 64 bits, which is post-processing.
    """

    noise: Noise
    sensitivity: Fraction
    norm: int = 1

    def sample(self, value: int | Integers, rng: Rng) -> int | Integers:
        """Add a fresh draw to every coordinate."""
        if not isinstance(value, np.ndarray):
            return _whole(value) + self.noise.draw(rng)
        noise = self.noise.draws(value.size, rng).reshape(value.shape)
        noise += _clamp(value)
        if noise.dtype == object:
            noise = np.clip(noise, -_LARGEST, _LARGEST).astype(np.int64)
        return noise

    def law(self, value: int | Integers) -> Iterator[tuple[int | tuple[int, ...], Fraction]]:
        """Yield sums inside the noise's window; an array's outcomes are tuples of all coordinates."""
        window = _masses(self.noise)
        if not isinstance(value, np.ndarray):
            whole = _whole(value)  # as `sample` reads it: a law is of what is drawn, and of nothing else
            yield from ((whole + z, p) for z, p in window)
            return
        cells = [int(v) for v in _clamp(value).ravel()]
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
        return _whole(value[0]) + self.noise.draw(rng) >= _whole(value[1])

    def law(self, value: tuple[int, int]) -> Iterator[tuple[bool, Fraction]]:
        """Yield both outcomes, from the noise's exact tail."""
        p = self.noise.tail(_whole(value[1]) - _whole(value[0]))
        yield from ((True, p), (False, 1 - p))

    def distance(self, value: tuple[int, int], other: tuple[int, int]) -> Fraction:
        """Return how far the values are apart; the thresholds must be the same public number."""
        if value[1] != other[1]:
            raise NeighboursMismatch("a comparison met another threshold on the neighbour")
        return Fraction(abs(int(value[0]) - int(other[0])))


@lru_cache(maxsize=64)
def _masses(noise: Noise) -> tuple[tuple[int, Fraction], ...]:
    """Return the noise's window with its probabilities; audits ask for the same one over and over."""
    return tuple((z, noise.pmf(z)) for z in noise.window())


def _whole(value: object) -> int:
    if isinstance(value, int | np.integer):
        return int(value)
    raise _not_integers(type(value))


def _clamp(value: NDArray[Any]) -> NDArray[np.int64]:
    kind, size = value.dtype.kind, value.dtype.itemsize
    if kind not in "biuO":
        raise _not_integers(value.dtype)
    if kind == "O":
        return np.array([min(max(_whole(v), -LIMIT), LIMIT) for v in value.flat], np.int64).reshape(
            value.shape
        )
    if size == 8:  # the bounds fit no shorter type, and no shorter type needs them
        value = np.minimum(value, LIMIT) if kind == "u" else np.clip(value, -LIMIT, LIMIT)
    return value.astype(np.int64, copy=False)


def _not_integers(kind: object) -> InvalidParameter:
    return InvalidParameter(name="value", rule="an integer or an array of integers", value=kind)
