"""Points and directions in whole numbers, so that every side of every plane is exact."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Array, Integers
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.halfspaces import read_numeric
from discreet.queries.universe import Codes, Universe

FURTHEST = 1 << 24
"""The largest coordinate of a point, in units of the grid that all declared values are on."""

_LONGEST = 1 << 12  # the length of a direction
_RAY = 1 << 24  # the length of a ray


@dataclass(frozen=True, slots=True)
class Between:
    """A count of a halfspace that is known up to its border.

    Attributes
    ----------
    low, high
        Rows that are surely inside, and rows that are not surely outside; as measured, noise included.
    value
        The estimate between them.
    """

    low: float
    value: float
    high: float


@dataclass(frozen=True, slots=True)
class Ball:
    """Vectors cut off at a declared ball and rounded to a grid: a universe for points that have none.

    Parameters
    ----------
    names
        One for each coordinate.
    radius
        Longer vectors are shortened to it.
    step
        The unit that coordinates are rounded to.
    """

    names: tuple[str, ...]
    radius: Fraction
    step: Fraction

    def __init__(self, names: Sequence[str], *, radius: checks.Number, step: checks.Number) -> None:
        for name, value in (
            ("names", tuple(names)),
            ("radius", checks.positive(radius=radius)),
            ("step", checks.positive(step=step)),
        ):
            object.__setattr__(self, name, value)
        if self.radius < self.step:
            raise InvalidParameter(name="step", rule="at most the radius", value=step)

    @property
    def universe(self) -> Universe:
        """Every point of the grid with coordinates up to the radius."""
        far = self._far
        return Universe((name, [k * self.step for k in range(-far, far + 1)]) for name in self.names)

    @property
    def _far(self) -> int:
        return math.floor(self.radius / self.step)

    def histogram(self, vectors: Any) -> Histogram:
        """Count vectors, one a row. What is not a finite number counts as 0."""
        rows = _rows(vectors, len(self.names))
        if rows.ndim != 2 or rows.shape[1] != len(self.names) or rows.dtype.kind not in "iuf":
            rule = f"rows of {len(self.names)} numbers"
            raise InvalidParameter(name="vectors", rule=rule, got="something of another type or shape")
        points = np.nan_to_num(rows.astype(np.float64), nan=0.0, posinf=0.0, neginf=0.0)
        # Cut off first, so that no square overflows: a warning would tell of a large value.
        points = np.clip(points / float(self.radius), -1e100, 1e100)
        length = np.sqrt((points**2).sum(axis=1, keepdims=True))
        points *= float(self.radius) / np.maximum(length, 1.0)
        steps = np.rint(points / float(self.step)).astype(np.int64)
        return Histogram.from_records(self.universe, np.clip(steps, -self._far, self._far) + self._far)


def _rows(vectors: Any, width: int) -> Array:
    """Return vectors as an array whose type no single number decides."""
    if isinstance(vectors, np.ndarray) or not isinstance(vectors, list | tuple):
        return np.asarray(vectors)
    if not vectors:
        return np.zeros((0, width))
    rows = np.asarray(vectors, dtype=object)
    if rows.ndim != 2:
        return rows
    return np.array([[_float(each) for each in row] for row in rows.tolist()])


def _float(value: Any) -> float:
    """Return a number as a float, the largest one for what is beyond, and NaN for what is no number."""
    if not isinstance(value, int | float | np.integer | np.floating | Fraction):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        most = float(np.finfo(np.float64).max)
        return most if value > 0 else -most


def find_centre(universe: Universe, centre: tuple[Fraction, ...] | None) -> tuple[Fraction, ...]:
    """Return the point that all borders go through: the origin where left out."""
    size = len(universe.shape)
    point = (Fraction(0),) * size if centre is None else centre
    if len(point) != size:
        raise InvalidParameter(name="centre", rule=f"{size} numbers", value=point)
    return point


@lru_cache(maxsize=64)
def _lattice(universe: Universe, centre: tuple[Fraction, ...]) -> tuple[Integers, ...]:
    """Return, for every attribute, its values less the centre in whole units of one common grid."""
    columns = [
        [read_numeric(name, value) - middle for value in values]
        for (name, values), middle in zip(universe.attributes, centre, strict=True)
    ]
    scale = math.lcm(*(value.denominator for column in columns for value in column))
    if max(abs(value) for column in columns for value in column) * scale > FURTHEST:
        raise Refused(
            what="the points of this universe",
            why=f"their coordinates have more than {FURTHEST} units of their common grid",
            way_out="Round the values, or move the centre",
        )
    return tuple(np.array([int(value * scale) for value in column], dtype=np.int64) for column in columns)


def points(universe: Universe, centre: tuple[Fraction, ...], codes: Codes) -> Integers:
    """Return the points of some cells in whole numbers, one a row."""
    lattice = _lattice(universe, centre)
    return np.stack([column[codes[:, axis]] for axis, column in enumerate(lattice)], axis=1)


def whole_direction(universe: Universe, normal: Sequence[checks.Number]) -> tuple[int, ...]:
    """Return a normal in whole numbers."""
    exact = [checks.exact(normal=each) for each in normal]
    if len(exact) != len(universe.shape) or not any(exact):
        rule = f"{len(universe.shape)} numbers that are not all 0"
        raise InvalidParameter(name="normal", rule=rule, value=tuple(normal))
    scale = math.lcm(*(each.denominator for each in exact))
    return tuple(int(each * scale) for each in exact)


@lru_cache(maxsize=64)
def rays(turn: int) -> Integers:
    """Return twice `turn` rays around the circle, evenly spaced; ray i + turn is opposite to ray i."""
    angles = np.pi * np.arange(turn) / turn
    half = np.rint(_RAY * np.stack([np.cos(angles), np.sin(angles)], axis=1)).astype(np.int64)
    found = np.concatenate([half, -half])
    found.flags.writeable = False
    return found


def sector(turn: int, at: Array) -> Integers:
    """Return the last ray at or before each of some points of the plane; 0 for the centre itself.

    The points are whole numbers up to `FURTHEST`, or Python integers of any size.
    """
    around, ray = 2 * turn, rays(turn)
    angle = np.arctan2(at[:, 1].astype(np.float64), at[:, 0].astype(np.float64))
    found = np.floor(angle * turn / np.pi).astype(np.int64) % around
    # Floats and rounded rays may be off by one ray; whole numbers decide.
    for step in (-1, 1):
        following = (found + max(step, 0)) % around
        side = ray[following, 0] * at[:, 1] - ray[following, 1] * at[:, 0]
        ahead = ray[following, 0] * at[:, 0] + ray[following, 1] * at[:, 1] > 0
        wrong = (side < 0) if step < 0 else ((side >= 0) & ahead)
        found = np.where(wrong.astype(np.bool_), found + step, found) % around
    return np.where((at == 0).all(axis=1), 0, found)


def directions(attributes: int, count: int, seed: int = 0) -> tuple[tuple[int, ...], ...]:
    """Return public directions: evenly around the circle, spread over the sphere, or pseudo-random.

    In three dimensions they follow a Fibonacci spiral. Beyond, they are drawn from a public seed by a hash,
    twelve bytes a coordinate added up, which is nearly a normal number.
    """
    checks.integer(1, count=count)
    if attributes == 1:
        found: Array = np.array([[1.0], [-1.0]])[:count]
    elif attributes == 2:
        angles = 2 * np.pi * np.arange(count) / count
        found = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    elif attributes == 3:
        height = 1 - (2 * np.arange(count) + 1) / count
        turned = np.pi * (3 - math.sqrt(5)) * np.arange(count)
        around = np.sqrt(1 - height**2)
        found = np.stack([around * np.cos(turned), around * np.sin(turned), height], axis=1)
    else:
        drawn = hashlib.shake_256(f"directions {attributes} {seed}".encode()).digest(12 * attributes * count)
        sums = np.frombuffer(drawn, dtype=np.uint8).reshape(count, attributes, 12).sum(axis=2, dtype=np.int64)
        found = (sums - 1530).astype(np.float64)
    whole = np.rint(_LONGEST * found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.int64)
    return tuple(tuple(int(each) for each in row) for row in whole)


def signs(rows: int, columns: int, seed: int) -> Integers:
    """Return a public matrix of 1 and -1 made from a seed by a hash."""
    drawn = hashlib.shake_256(f"signs {rows} {columns} {seed}".encode()).digest(rows * columns)
    return (2 * (np.frombuffer(drawn, dtype=np.uint8).astype(np.int64) & 1) - 1).reshape(rows, columns)
