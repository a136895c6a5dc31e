"""Halfspaces by a net of directions: brackets, margins in whole numbers, sensitivity."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.halfspaces.half_planes import HalfPlanes
from discreet.query_release.halfspaces.halfspace_net import HalfspaceNet, MarginQuery, nearest_direction
from discreet.query_release.halfspaces.points import Ball
from discreet.testing import unsafe_seeded

PLANE = Universe([("x", range(-6, 7)), ("y", range(-6, 7))])
SPACE = Universe([(name, range(-3, 4)) for name in "xyz"])
EXACT = 10**6  # an epsilon so large that no noise is left


def generator(seed):
    return np.random.default_rng(seed)  # noqa: TID251


def cloud(universe, seed, rows=500):
    cells = generator(seed).integers(universe.size, size=rows)
    return Histogram.from_records(universe, universe.unravel(cells))


def points_of(data):
    codes, counts = data.entries()
    values = np.array(
        [[a.values[code] for a, code in zip(data.universe.attributes, row, strict=True)] for row in codes]
    )
    return values, counts


def inside(data, normal, centre=None):
    values, counts = points_of(data)
    shifted = values - np.array(centre if centre is not None else [0] * values.shape[1])
    return int(counts[shifted @ np.array(normal) >= 0].sum())


def half_planes(**changes):
    public = {"universe": PLANE, "turn": 32, "epsilon": EXACT, "delta": 0, "neighbours": AddRemove("row")}
    return HalfPlanes(**public | changes)


def net(**changes):
    public = {"universe": SPACE, "net": 200, "margin": 0.25, "epsilon": EXACT, "delta": 0}
    return HalfspaceNet(**public | {"neighbours": AddRemove("row")} | changes)


def test_the_net_brackets_every_halfspace_within_its_margin():
    data = cloud(SPACE, 8)
    counts = net().release(data, rng=unsafe_seeded(5)).value
    for normal in generator(9).integers(-40, 41, size=(100, 3)).tolist():
        if any(normal):
            between = counts.answer(normal)
            assert between.low <= inside(data, normal) <= between.high
            assert between.low <= between.value <= between.high
    assert counts.answer((0, 0, 1)).high < 500


def test_a_halfspace_beyond_the_margin_is_refused():
    counts = net(net=[(1, 0, 0)], margin=0.1).release(cloud(SPACE, 10)).value
    assert counts.answer((100, 9, 0)).low <= 500
    for normal in ((1, 1, 0), (100, 11, 0), (-1, 0, 0)):
        with pytest.raises(Refused, match="margin"):
            counts.answer(normal)


@pytest.mark.parametrize("margin", [Fraction(3, 5), Fraction(-3, 5), Fraction(0), Fraction(1, 3)])
def test_margins_are_decided_in_whole_numbers(margin):
    # (3, 4) and (4, 3) lie exactly at the sines 3/5 and 4/5.
    query = MarginQuery(PLANE, centre=(Fraction(0), Fraction(0)), direction=(1, 0), margin=margin)
    table = query.table()
    for (i, x), (j, y) in itertools.product(enumerate(range(-6, 7)), repeat=2):
        square = margin**2 * (x * x + y * y)
        sign = -1 if margin < 0 else 1
        side = sign * square  # compare x |x| with margin |margin| |(x, y)|^2
        assert table[i, j] == (x * abs(x) >= side)


def test_the_joint_sensitivity_is_exact():
    mechanism = net(universe=Universe([("x", (-1, 0, 1)), ("y", (-1, 0, 1))]), net=8, margin=0.1)
    codes = mechanism.universe.unravel(np.arange(9))
    columns = mechanism.workload.block(0, 16, codes).astype(int).T
    assert mechanism.sensitivity(1) == max(column.sum() for column in columns)
    replaced = net(universe=mechanism.universe, net=8, margin=0.1, neighbours=Replace("row"), rows=3)
    far = max(((a - b) ** 2).sum() for a, b in itertools.combinations(columns, 2))
    assert float(replaced.sensitivity(2)) ** 2 == pytest.approx(far)


def test_counts_of_a_net_are_equal_by_what_was_released():
    one, other = (net(net=5).release(cloud(SPACE, 6), rng=unsafe_seeded(4)).value for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != net(net=5).release(cloud(SPACE, 7), rng=unsafe_seeded(4)).value
    assert "5 directions" in repr(one)


def test_nets_check_their_parameters():
    for wrong in ([], [(0, 0, 0)], [(1, 2)], 0, [(1 << 21, 0, 0)]):
        with pytest.raises(InvalidParameter):
            net(net=wrong)
    for wrong in (0, 1, -0.5):
        with pytest.raises(InvalidParameter, match="margin"):
            net(margin=wrong)
    with pytest.raises(InvalidParameter, match="both sides"):
        net(universe=Universe([("x", (1,)), ("y", (0,)), ("z", (0,))]), net=[(-1, 0, 0)])


@pytest.mark.parametrize(
    "normal", [(1e300, 1), (10**400, 1), (1, 1e-300), (Fraction(1, 10**400), -1)], ids=repr
)
def test_long_normals_have_a_nearest_direction(normal):
    x = nearest_direction([(1, 0), (0, 1), (-1, 0), (0, -1)], normal)
    longest = max(range(2), key=lambda axis: abs(normal[axis]))
    assert x[0] == longest + (2 if normal[longest] < 0 else 0)
    assert x[1] < 1e-9


def test_two_blobs_with_a_wide_margin_are_told_apart():
    ball = Ball(("x", "y"), radius=10, step=0.5)
    blobs = np.concatenate(
        [generator(12).normal((5, 0), 0.5, (3000, 2)), generator(13).normal((-5, 0), 0.5, (1000, 2))]
    )
    mechanism = half_planes(universe=ball.universe, epsilon=1)
    counts = mechanism.release(ball.histogram(blobs), rng=unsafe_seeded(6)).value
    between = counts.answer((1, 0), margin=0.5)
    assert between.low - mechanism.error(0.01) <= 3000 <= between.high + mechanism.error(0.01)
    assert between.high - between.low < 2 * mechanism.error(0.01)
