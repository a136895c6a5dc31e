"""Right noise for the wrong sensitivity."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.audit.museum.exhibit import Exhibit, Exhibited
from discreet.core.card import Tiny
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.noise import AddNoise, DiscreteLaplace

_ROWS = tuple(AddRemove("row").pairs((0, 1), 3))


@dataclass(frozen=True, slots=True, repr=False)
class MovedHistogram(Exhibited):
    """Counts of zeros and ones, with noise for an L1 sensitivity of `moved`."""

    moved: int = 1

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        step = AddNoise(DiscreteLaplace(self.moved / self.epsilon), sensitivity=Fraction(self.moved))
        return rng.perform(step, np.bincount(data, minlength=2))


@dataclass(frozen=True, slots=True, repr=False)
class ClippedSum(Exhibited):
    """The sum of rows clipped to [0, 1]; `careful` uses the clipped rows, and counts NaN as 0."""

    careful: bool = False

    def _draw(self, data: Sequence[float], rng: Rng) -> Any:
        rows = [0.0 if math.isnan(row) else row for row in data] if self.careful else list(data)
        clipped = [min(max(row, 0.0), 1.0) for row in rows]
        total = sum(clipped) if self.careful else sum(rows)
        return rng.perform(AddNoise(DiscreteLaplace(1 / self.epsilon), Fraction(1)), math.floor(total))


@dataclass(frozen=True, slots=True, repr=False)
class Mean(Exhibited):
    """The mean of bits in percent, with noise for 100 / n, where n is the data's own unless public."""

    public_size: int = 0

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        size = self.public_size or max(1, len(data))
        moved = Fraction(math.ceil(Fraction(100, size)))
        step = AddNoise(DiscreteLaplace(moved / self.epsilon), sensitivity=moved)
        return rng.perform(step, math.floor(Fraction(100 * sum(data), size)))


@dataclass(frozen=True, slots=True, repr=False)
class Unbounded(Exhibited):
    """A count whose bound is missing: sensitivity None becomes no noise at all."""

    bound: int | None = None

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        if self.bound is None:
            return sum(data)
        return rng.perform(
            AddNoise(DiscreteLaplace(self.bound / self.epsilon), Fraction(self.bound)), sum(data)
        )


@dataclass(frozen=True, slots=True, repr=False)
class Wrapping(Exhibited):
    """A sum kept in `bits` bits: one more row can move it across the whole range."""

    bits: int = 8

    def _draw(self, data: Sequence[int], rng: Rng) -> Any:
        half = 1 << (self.bits - 1)
        wrapped = (sum(data) + half) % (2 * half) - half
        return rng.perform(AddNoise(DiscreteLaplace(1 / self.epsilon), Fraction(1)), wrapped)


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
        audit="exact",
        broken=lambda: Tiny(
            MovedHistogram(Fraction(4), Replace("row"), 1), tuple(Replace("row").pairs((0, 1), 2))
        ),
        right=lambda: Tiny(
            MovedHistogram(Fraction(4), Replace("row"), 2), tuple(Replace("row").pairs((0, 1), 2))
        ),
    ),
    Exhibit(
        name="clip-a-copy",
        wrong="the clipped copy is thrown away and the original summed",
        source="smartnoise-sdk #622",
        audit="replay",
        broken=lambda: Tiny(ClippedSum(Fraction(1)), _CLIPS[:1]),
        right=lambda: Tiny(ClippedSum(Fraction(1), careful=True), _CLIPS[:1]),
    ),
    Exhibit(
        name="nan-walks-through",
        wrong="one NaN row turns the sum to NaN, and the error that follows tells so",
        source="arXiv:2207.10635; arXiv:2602.17454",
        audit="exact",
        broken=lambda: Tiny(ClippedSum(Fraction(1)), _CLIPS[1:]),
        right=lambda: Tiny(ClippedSum(Fraction(1), careful=True), _CLIPS[1:]),
    ),
    Exhibit(
        name="private-size",
        wrong="the noise of a mean is scaled by the data's own number of rows",
        source="smartnoise-core #355",
        audit="replay",
        broken=lambda: Tiny(Mean(Fraction(1)), _ROWS),
        right=lambda: Tiny(Mean(Fraction(1), public_size=3), _ROWS),
    ),
    Exhibit(
        name="no-bound-no-noise",
        wrong="a missing bound is read as sensitivity zero",
        source="smartnoise-sdk #317",
        audit="exact",
        broken=lambda: Tiny(Unbounded(Fraction(1)), _ROWS),
        right=lambda: Tiny(Unbounded(Fraction(1), bound=1), _ROWS),
    ),
    Exhibit(
        name="wrapping-sum",
        wrong="a sum of machine integers wraps around",
        source="opendp #2925; arXiv:2207.10635",
        audit="replay",
        broken=lambda: Tiny(Wrapping(Fraction(1), bits=8), _FULL),
        right=lambda: Tiny(Wrapping(Fraction(1), bits=64), _FULL),
    ),
    Exhibit(
        name="truncated-scale",
        wrong="the noise scale is rounded down",
        source="google differential-privacy #101",
        audit="exact",
        broken=lambda: Tiny(TruncatedScale(Fraction(2, 5)), _ROWS),
        right=lambda: Tiny(TruncatedScale(Fraction(2, 5), up=True), _ROWS),
    ),
)
