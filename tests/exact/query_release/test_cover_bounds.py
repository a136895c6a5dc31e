"""The sizes of small databases: the constants that docs/algorithms/small-database*.md prove."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.queries import Prefixes, Ranges, Universe, Weighted, fat_by_search
from discreet.query_release.explicit.small_database_size import covers, log_balls


def mean_error(workload, shares, size):
    """Return the exact mean of the largest error of a random sample of a size, over all samples."""
    codes = workload.cells(1000)
    weights = workload.block(0, len(workload), codes).astype(object)
    truth, total = weights @ shares, Fraction(0)
    for drawn in itertools.product(range(len(shares) + 1), repeat=len(shares)):
        if sum(drawn) == size:
            chance = Fraction(math.factorial(size))
            for count, share in zip(drawn, shares, strict=True):
                chance *= share**count / math.factorial(count)
            found = weights @ np.array([Fraction(count, size) for count in drawn])
            total += chance * max(abs(found - truth))
    return total


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize("family", [Prefixes, Ranges.every], ids=["prefixes", "ranges"])
def test_samples_miss_by_less_than_the_bound_on_average(family, size):
    # The capped bound would be 1 at these sizes: the bound itself is compared, with its splits counted.
    cells = 4
    workload = family(Universe([("x", range(cells))]), ["x"])
    codes = workload.cells(1000)
    rows = workload.block(0, len(workload), codes) > 0
    splits = max(
        len(np.unique(rows[:, list(kept)], axis=0)) for kept in itertools.product(range(cells), repeat=size)
    )
    proved = math.sqrt(2 * math.log(2 * splits) / size)
    for shares in ([Fraction(1, cells)] * cells, [Fraction(1, 10)] * 3 + [Fraction(7, 10)]):
        assert mean_error(workload, np.array(shares), size) <= proved


def test_the_bound_by_splits_with_half_of_its_square_is_false():
    # All sets of at most four of 64 cells, every cell with the same share, and a sample of four: the set of
    # its cells has the share 1 in the sample, and at most 1/16 in truth. Four points split in 16 ways.
    missed = 1 - Fraction(4, 64)
    assert math.sqrt(math.log(2 * 16) / 4) < missed
    assert missed < math.sqrt(2 * math.log(2 * 16) / 4)


def test_the_bound_by_splits_is_the_one_that_is_used():
    wide = Universe([("x", range(300))])
    ranges = Ranges.every(wide, ["x"])
    for size in (200, 5000):
        splits = sum(math.comb(size, part) for part in range(3))
        found = min(splits, len(ranges))
        proved = math.sqrt(2 * math.log(2 * found) / size)
        assert covers(ranges, size)[-1].error == pytest.approx(proved, rel=1e-12)


@pytest.mark.parametrize("seed", range(12))
def test_separated_queries_are_no_more_than_the_balls_that_cover_them(seed):
    rng = np.random.default_rng(seed)  # noqa: TID251
    cells = int(rng.integers(1, 5))
    # Weights on a grid of eighths, so that distances and levels are exact in floats.
    rows = np.unique(rng.integers(0, 9, size=(12, cells)) / 8, axis=0)
    universe = Universe([("x", range(cells))])
    workload = Weighted(universe, [(["x"], row) for row in rows])
    for radius in (Fraction(1, 4), Fraction(1, 2), Fraction(1)):
        apart = []
        for row in rows:
            if all(np.abs(row - other).max() >= radius for other in apart):
                apart.append(row)
        dimension = fat_by_search(workload, radius / 4)
        assert math.log(len(apart)) <= log_balls(cells, radius, dimension) + 1e-12


def test_one_dimension_less_is_not_enough():
    universe = Universe([("x", range(1))])
    ends = Weighted(universe, [(["x"], [0.0]), (["x"], [1.0])])
    assert fat_by_search(ends, Fraction(1, 4)) == 1
    assert log_balls(1, Fraction(1), 0) < math.log(2) <= log_balls(1, Fraction(1), 1)
