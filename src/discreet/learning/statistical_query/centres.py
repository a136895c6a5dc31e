"""Centres of clusters from means: Lloyd's steps, where every centre moves to the mean of its records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Floats, Integers
from discreet.learning.statistical_query.means import Means
from discreet.local.statistics.oracle import StatisticalOracle


@dataclass(frozen=True, slots=True, eq=False)
class Centres:
    """Points in the cube of all attributes, scaled to [-1, 1].

    Attributes
    ----------
    points
        A row for each centre.
    shares
        How many of all records belong to each.
    asked
        How many queries it took.
    """

    points: Floats
    shares: Floats
    asked: int
    _scales: tuple[Floats, ...]

    def assign(self, codes: Any) -> Integers:
        """Return the centre that is nearest to each record, given as rows of codes."""
        rows = np.asarray(codes)
        places = np.stack([scale[rows[:, axis]] for axis, scale in enumerate(self._scales)], axis=-1)
        return find_nearest(places, self.points)


def find_centres(oracle: StatisticalOracle, *, start: Any, steps: int, tolerance: checks.Number) -> Centres:
    """Move centres to the means of the records they are nearest to, so many times.

    Parameters
    ----------
    oracle
        Answers the queries: for each centre and step one about its share and one for each attribute.
    start
        The public points to begin with, a row for each, in [-1, 1].
    steps
        How many times the centres move.
    tolerance
        That of every answer. A centre with a share of at most twice as much stays.
    """
    means = Means(oracle, tolerance)
    axes, shape = tuple(range(len(means.universe.shape))), means.universe.shape
    scales = tuple(means.scale(axis) for axis in axes)
    grid = np.stack(np.meshgrid(*scales, indexing="ij"), axis=-1)
    points = np.array(start, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != len(axes) or not bool((np.abs(points) <= 1).all()):
        raise InvalidParameter(name="start", rule=f"rows of {len(axes)} numbers in [-1, 1]", got="others")
    shares = np.zeros(len(points))
    for _ in range(checks.integer(1, steps=steps)):
        nearest = find_nearest(grid.reshape(-1, len(axes)), points).reshape(shape)
        for place in range(len(points)):
            own = nearest == place
            shares[place] = means.mean(axes, own)
            if shares[place] > 2 * means.tolerance:
                sums = [means.signed_mean(axes, own * grid[..., axis]) for axis in axes]
                points[place] = np.clip(np.array(sums) / shares[place], -1, 1)
    return Centres(points, shares, means.asked, scales)


def find_nearest(places: Floats, points: Floats) -> Integers:
    """Return the nearest point to each place, the first of several."""
    return np.asarray(((places[:, None] - points) ** 2).sum(axis=-1).argmin(axis=1), dtype=np.int64)
