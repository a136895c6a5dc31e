"""Points, rays and directions: exact sides, public randomness, and vectors cut off at a ball."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.query_release.halfspaces.halfspace_net import nearest_direction
from discreet.query_release.halfspaces.points import Ball, directions, rays, sector, signs


def generator(seed):
    return np.random.default_rng(seed)  # noqa: TID251


def points_of(data):
    codes, counts = data.entries()
    values = np.array(
        [[a.values[code] for a, code in zip(data.universe.attributes, row, strict=True)] for row in codes]
    )
    return values, counts


@pytest.mark.parametrize("turn", [1, 2, 4, 16, 512])
def test_every_point_lies_at_or_after_its_ray_and_before_the_next(turn):
    ray = rays(turn)
    assert (ray[turn:] == -ray[:turn]).all()
    points = np.array([p for p in itertools.product(range(-9, 10), repeat=2) if any(p)])
    points = np.concatenate([points, ray, 3 * ray[:5] + [[0, 1]], [[1 << 24, -1], [-(1 << 24), 1]]])
    found = sector(turn, points)

    def angle(vector):
        return math.atan2(vector[1], vector[0]) % (2 * math.pi)

    for point, place in zip(points.tolist(), found.tolist(), strict=True):
        here, after = ray[place].tolist(), ray[(place + 1) % (2 * turn)].tolist()
        ahead = here[0] * point[1] - here[1] * point[0]
        assert ahead >= 0
        if ahead == 0:
            assert here[0] * point[0] + here[1] * point[1] > 0  # on the ray, not opposite to it
        else:
            assert after[0] * point[1] - after[1] * point[0] < 0
            assert (
                abs((angle(point) - angle(here) + math.pi) % (2 * math.pi) - math.pi) <= math.pi / turn + 1e-6
            )


def test_the_centre_itself_lies_on_the_first_ray():
    assert sector(8, np.array([[0, 0]])).tolist() == [0]


@pytest.mark.parametrize(("attributes", "count", "covered"), [(2, 40, 0.08), (3, 400, 0.16), (6, 500, 0.9)])
def test_directions_are_spread_out(attributes, count, covered):
    spread = directions(attributes, count, seed=3)
    assert len(set(spread)) == count
    asked = generator(11).normal(size=(300, attributes))
    assert max(nearest_direction(spread, tuple(each))[1] for each in asked.tolist()) < covered
    assert directions(attributes, count, seed=3) == spread


def test_public_randomness_follows_the_seed():
    assert directions(5, 10, seed=1) != directions(5, 10, seed=2)
    assert (signs(4, 3, 1) != signs(4, 3, 2)).any()
    assert set(np.unique(signs(40, 40, 1)).tolist()) == {-1, 1}
    assert abs(signs(100, 100, 5).mean()) < 0.06


def test_vectors_are_cut_off_at_the_ball_and_rounded():
    ball = Ball(("x", "y"), radius=1, step=0.25)
    vectors = [[0.3, -0.1], [30, 40], [float("nan"), 0.5], [float("inf"), 0], [1e308, -1e308]]
    values, counts = points_of(ball.histogram(vectors))
    found = {tuple(map(float, value)): int(count) for value, count in zip(values, counts, strict=True)}
    assert found == {(0.25, 0.0): 1, (0.5, 0.75): 1, (0.0, 0.5): 1, (0.0, 0.0): 1, (0.75, -0.75): 1}
    with pytest.raises(InvalidParameter, match="rows of 2"):
        ball.histogram([[1, 2, 3]])
    with pytest.raises(InvalidParameter, match="radius"):
        Ball(("x",), radius=1, step=2)


@pytest.mark.parametrize(
    ("one", "cell"),
    [
        ([2**63, 0], (1, 0)),
        ([2**64, 0], (1, 0)),
        ([2**2000, 0], (1, 0)),
        ([-(2**2000), 2**64], (-1, 0)),
        ([Fraction(1, 2), None], (0.5, 0)),
        (["x", 0.5], (0, 0.5)),
        ([np.float32(0.5), np.int8(0)], (0.5, 0)),
    ],
    ids=repr,
)
def test_one_vector_decides_about_no_other(one, cell):
    """Lists are read number by number: no value of one person makes the whole table unreadable."""
    ball = Ball(("x", "y"), radius=1, step=0.25)
    values, counts = points_of(ball.histogram([[0.25, 0.25], one]))
    found = {tuple(map(float, value)): int(count) for value, count in zip(values, counts, strict=True)}
    assert found == {(0.25, 0.25): 1, tuple(map(float, cell)): 1}


def test_nobody_at_all_is_a_table_too():
    ball = Ball(("x", "y"), radius=1, step=0.25)
    assert [ball.histogram(nobody).total for nobody in ([], (), np.zeros((0, 2)))] == [0, 0, 0]
