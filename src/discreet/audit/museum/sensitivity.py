"""Right noise for the wrong sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.museum.exhibit import Exhibit, Exhibited
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.noise import AddNoise, DiscreteLaplace

_ROWS = tuple(AddRemove("row").pairs((0, 1), 3))
_CHANGED = tuple(Replace("row").pairs((0, 1), 2))


@dataclass(frozen=True, slots=True, repr=False)
class MovedHistogram(Exhibited):
    """Counts of zeros and ones, with noise for an L1 sensitivity of `moved`."""

    moved: int = 1

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        return self._add_noise(np.bincount(data, minlength=2), rng, moved=self.moved)


@dataclass(frozen=True, slots=True, repr=False)
class ClippedSum(Exhibited):
    """The sum of rows clipped to [0, 1]; `careful` uses the clipped rows, and counts NaN as 0."""

    careful: bool = False

    def _draw(self, data: Sequence[float], rng: Rng) -> Any:
        rows = [0.0 if math.isnan(row) else row for row in data] if self.careful else list(data)
        clipped = [min(max(row, 0.0), 1.0) for row in rows]
        total = sum(clipped) if self.careful else sum(rows)
        return self._add_noise(math.floor(total), rng)


@dataclass(frozen=True, slots=True, repr=False)
class Mean(Exhibited):
    """The mean of bits in percent, with noise for 100 / n, where n is the data's own unless public."""

    public_size: int = 0

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        size = self.public_size or max(1, len(data))
        moved = Fraction(math.ceil(Fraction(100, size)))
        return self._add_noise(math.floor(Fraction(100 * sum(data), size)), rng, moved=moved)


@dataclass(frozen=True, slots=True, repr=False)
class Unbounded(Exhibited):
    """A count whose bound is missing: sensitivity None becomes no noise at all."""

    bound: int | None = None

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        return sum(data) if self.bound is None else self._add_noise(sum(data), rng, moved=self.bound)


@dataclass(frozen=True, slots=True, repr=False)
class Wrapping(Exhibited):
    """A sum kept in `bits` bits: one more row can move it across the whole range."""

    bits: int = 8

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        half = 1 << (self.bits - 1)
        wrapped = (sum(data) + half) % (2 * half) - half
        return self._add_noise(wrapped, rng)


@dataclass(frozen=True, slots=True, repr=False)
class TruncatedScale(Exhibited):
    """A count whose noise scale is cut to an integer, as ``int(37.3)`` does; `up` rounds it up."""

    up: bool = False

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        scale = math.ceil(1 / self.epsilon) if self.up else math.floor(1 / self.epsilon)
        return rng.perform(AddNoise(DiscreteLaplace(Fraction(scale)), Fraction(1)), sum(data))


_CLIPS = (((0.5, 0.5), (0.5, 0.5, 90.0)), ((0.5,), (0.5, math.nan)))
_FULL = (((1,) * 127, (1,) * 128),)

EXHIBITS = (
    Exhibit(
        name="histogram-replace",
        wrong="sensitivity 1 is for adding a row; changing a row moves two cells",
        source="[DR14] section 3.3 read with the other relation",
        shown=MovedHistogram(Fraction(4), Replace("row")).against(_CHANGED, moved=2),
    ),
    Exhibit(
        name="clip-a-copy",
        wrong="the clipped copy is thrown away and the original summed",
        source="smartnoise-sdk #622",
        shown=ClippedSum(Fraction(1)).against(_CLIPS[:1], careful=True),
        audit="replay",
    ),
    Exhibit(
        name="nan-walks-through",
        wrong="one NaN row turns the sum to NaN, and the error that follows tells so",
        source="arXiv:2207.10635; arXiv:2602.17454",
        shown=ClippedSum(Fraction(1)).against(_CLIPS[1:], careful=True),
    ),
    Exhibit(
        name="private-size",
        wrong="the noise of a mean is scaled by the data's own number of rows",
        source="smartnoise-core #355",
        shown=Mean(Fraction(1)).against(_ROWS, public_size=3),
        audit="replay",
    ),
    Exhibit(
        name="no-bound-no-noise",
        wrong="a missing bound is read as sensitivity zero",
        source="smartnoise-sdk #317",
        shown=Unbounded(Fraction(1)).against(_ROWS, bound=1),
    ),
    Exhibit(
        name="wrapping-sum",
        wrong="a sum of machine integers wraps around",
        source="opendp #2925; arXiv:2207.10635",
        shown=Wrapping(Fraction(1), bits=8).against(_FULL, bits=64),
        audit="replay",
    ),
    Exhibit(
        name="truncated-scale",
        wrong="the noise scale is rounded down",
        source="google differential-privacy #101",
        shown=TruncatedScale(Fraction(2, 5)).against(_ROWS, up=True),
    ),
)
