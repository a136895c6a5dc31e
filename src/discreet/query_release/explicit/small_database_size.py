"""How well small databases cover all others: the size a small database needs for a wanted accuracy.

A database of n rows is a distribution over the cells. For every one of them some multiset of `size` cells
answers all queries nearly as it does. Errors are shares of n times the range of the weights.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from discreet.core import checks
from discreet.core.errors import Refused
from discreet.core.neighbours import Replace
from discreet.core.rounding import above, up
from discreet.core.search import first_integer
from discreet.queries.dimension import fat_shattering_dimension, vc_dimension
from discreet.queries.workload import Workload

_LARGEST = 1 << 40
_FINE = 200
_WEIGHTS = 100_000_000  # the most weights that are looked at


class Cover(NamedTuple):
    """How far the best small database is from any database at most, and by which argument."""

    error: float
    why: str


def span(workload: Workload) -> Fraction:
    """Return the largest difference of two weights of one query."""
    return workload.sensitivity(Replace("row"), norm=math.inf)


def cover(workload: Workload, size: int) -> Cover:
    """Return the smallest of all bounds on the error of the best small database of a size."""
    m = checks.integer(1, size=size)
    return min(covers(workload, m), key=lambda bound: bound.error)


def covers(workload: Workload, size: int) -> tuple[Cover, ...]:
    """Return every bound on the error of the best small database of a size.

    * Every share is rounded to a multiple of 1 / size, up or down: what goes up is at most cells / 4 units.
    * The sums of the shares up to every cell are rounded instead: a query is then off by half a unit for
      every unit its weights rise and fall along the cells.
    * A random sample does it with positive probability, by Hoeffding's inequality for every query.
    * The same by the number of ways in which queries can split the sample, from the VC dimension or the
      fat-shattering dimension ([Roth10] Lemma 1 and Theorem 28; the constants are proved in
      docs/algorithms/small-database.md).
    """
    cells, queries = workload.universe.size, len(workload)
    counted = math.sqrt(math.log(2 * queries) / (2 * size))
    bounds = [
        Cover(up(Fraction(cells, 4 * size)), "rounding the share of every cell"),
        Cover(up(_ups_and_downs(workload) / (2 * size)), "rounding the sums up to every cell"),
        Cover(above(counted, 8), "a sample and Hoeffding's inequality for every query"),
    ]
    if workload.is_predicates:
        found = math.sqrt(2 * (math.log(2) + _log_splits(workload, size)) / size)
        bounds.append(Cover(above(found, 8), "a sample and the VC dimension"))
    else:
        bounds.append(Cover(_by_fat_shattering(workload, size), "a sample and the fat-shattering dimension"))
    return tuple(Cover(min(1.0, bound.error), bound.why) for bound in bounds)


def size_for(workload: Workload, *, accuracy: checks.Number) -> int:
    """Return the smallest size at which some small database is within half the accuracy.

    Raises
    ------
    Refused
        When no size below 2**40 is known to do.
    """
    half = float(checks.probability(accuracy=accuracy)) / 2
    high = 1
    while cover(workload, high).error > half:
        high *= 2
        if high > _LARGEST:
            raise Refused(
                what=f"accuracy {float(accuracy)}",
                why="no small database of fewer than 2**40 rows is known to have it",
                way_out="Ask for less accuracy",
            )
    return first_integer(lambda size: cover(workload, size).error <= half, low=high // 2, high=high)


@lru_cache(maxsize=64)
def _ups_and_downs(workload: Workload) -> Fraction:
    """Return how far the weights of a query rise and fall at most from cell to cell, over their span."""
    universe, one = workload.universe, span(workload)
    if not one or universe.size * len(workload) > _WEIGHTS:
        return Fraction(universe.size)
    codes = universe.unravel(np.arange(universe.size))
    step = max(1, (1 << 22) // universe.size)
    starts = range(0, len(workload), step)
    blocks = (workload.block(at, min(at + step, len(workload)), codes) for at in starts)
    most = max(float(np.abs(np.diff(block.astype(np.float64))).sum(axis=1).max()) for block in blocks)
    # Sums of whole numbers are exact; of others each addition is off by a unit in the last place at most.
    off = Fraction(0) if workload.is_integral else Fraction(universe.size + 4, 1 << 52)
    return Fraction(most) * (1 + off) / one


def _log_splits(workload: Workload, points: int) -> float:
    """Return a bound on the logarithm of the number of ways to split some points (Sauer's lemma)."""
    dimension = vc_dimension(workload).value
    if dimension >= points:
        return math.log(len(workload))
    ways = sum(math.comb(points, part) for part in range(dimension + 1))
    return min(math.log(len(workload)), math.log(ways))


def _by_fat_shattering(workload: Workload, size: int) -> float:
    """Return the smallest of 2 x + sqrt(2 log(2 balls) / size) over radii x, as a share of the span.

    `balls` of radius x, as a share of the whole range of weights, cover the class on any `size` cells.
    """
    ends = list(workload.extents())
    whole = Fraction(float(max(high for _, high in ends))) - Fraction(float(min(low for low, _ in ends)))
    one = span(workload)
    best = math.inf
    for step in range(1, _FINE) if one else ():
        radius = Fraction(step, 2 * _FINE)
        dimension = fat_shattering_dimension(workload, whole * radius / 4).value
        spread = math.sqrt(2 * (math.log(2) + log_balls(size, radius, dimension)) / size)
        best = min(best, above((2 * float(radius) + spread) * float(whole / one), 8))
    return best


def log_balls(points: int, radius: Fraction, dimension: int) -> float:
    """Return a bound on the logarithm of the number of balls that cover a class of functions on some points.

    The functions go from 0 to 1, distances are the largest over the points, and the dimension is the
    fat-shattering dimension at a quarter of the radius ([ABCH97]; proved in
    docs/algorithms/small-database.md).
    """
    levels = math.floor(2 / radius)
    shattered: int = sum(math.comb(points, part) * (levels - 1) ** part for part in range(1, dimension + 1))
    if not shattered:
        return 0.0
    return math.log(2) + shattered.bit_length() * math.log(points * levels * (levels - 1))
