"""Random projections: counts and sensitivity of the shipped release against every pair of points."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.halfspaces.projected_halfspaces import ProjectedHalfspaces

UNIVERSES = [
    Universe([("x", (-1, 0, 1)), ("y", (-2, Fraction(1, 3), 5))]),
    Universe([("x", (0, 1, 2, 3))]),
    Universe([("a", (False, True)), ("b", (0.5, -0.5)), ("c", (-1, 1))]),
]


class NoNoise(Rng):
    """Returns the true counts and notes them, with the step that should have hidden them."""

    def random_bytes(self, count):
        raise AssertionError("bits outside a primitive")

    def perform(self, primitive, value):
        self.step, self.counts = primitive, np.atleast_1d(value).tolist()
        return value


def columns(mechanism, centre):
    """Return, for every point, on which halfspaces it lies: signs of <M y, point - centre>, in fractions."""
    normals = [
        [int(matrix[axis] @ np.array(direction)) for axis in range(len(mechanism.universe.shape))]
        for matrix in mechanism.matrices
        for direction in mechanism.net
    ]
    values = [[Fraction(v) for v in attribute.values] for attribute in mechanism.universe.attributes]

    def side(normal, codes):
        parts = zip(normal, values, codes, centre, strict=True)
        return int(sum(n * (column[code] - middle) for n, column, code, middle in parts) >= 0)

    every = itertools.product(*(range(size) for size in mechanism.universe.shape))
    return {codes: [side(normal, codes) for normal in normals] for codes in every}


@pytest.mark.parametrize("universe", UNIVERSES, ids=lambda universe: "-".join(map(str, universe.shape)))
@pytest.mark.parametrize("centre", [0, Fraction(1, 3)], ids=str)
@pytest.mark.parametrize(("dimension", "directions", "projections"), [(1, 2, 2), (2, 5, 3), (4, 3, 2)])
def test_the_noise_is_for_the_worst_pair_of_points(universe, centre, dimension, directions, projections):
    axes = len(universe.shape)
    for seed, (neighbours, rows) in itertools.product(
        range(3), ((AddRemove("row"), None), (Replace("row"), 4))
    ):
        mechanism = ProjectedHalfspaces(
            universe=universe,
            projections=projections,
            dimension=dimension,
            directions=directions,
            seed=seed,
            epsilon=1,
            neighbours=neighbours,
            rows=rows,
            centre=(centre,) * axes,
        )
        sides = columns(mechanism, (Fraction(centre),) * axes)
        apart = max(
            sum(abs(a - b) for a, b in zip(one, other, strict=True))
            for one, other in itertools.combinations(sides.values(), 2)
        )
        worst = max(map(sum, sides.values())) if rows is None else apart
        assert mechanism.sensitivity(1) == worst
        people = [*sides, *sides][::2][:4]
        counts = np.zeros(universe.shape, dtype=np.int64)
        for codes in people:
            counts[codes] += 1
        rng = NoNoise()
        mechanism.release(Histogram.dense(universe, counts), rng=rng)
        assert rng.counts == [sum(each) for each in zip(*(sides[codes] for codes in people), strict=True)]
        assert rng.step.sensitivity == worst
