"""Halfspaces: exact sides, circular trees, nets with margins, and the projections of the source."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound, Refused
from discreet.core.neighbours import AddRemove, Event, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.halfspaces.half_planes import HalfPlanes, _arcs, estimate
from discreet.query_release.halfspaces.halfspace_net import HalfspaceNet, MarginQuery, nearest_direction
from discreet.query_release.halfspaces.points import Ball, directions, rays, sector, signs
from discreet.query_release.halfspaces.projected_halfspaces import (
    ProjectedHalfspaces,
    honest_sizes,
    printed_sizes,
)
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


# Rays and sectors ------------------------------------------------------------------------------------


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


# The circular tree -----------------------------------------------------------------------------------


def strategy(turn, private):
    leaves, levels = np.eye(2 * turn), []
    while len(leaves) > (0 if private else 1):
        levels.append(leaves)
        leaves = leaves.reshape(len(leaves) // 2, 2, -1).sum(axis=1) if len(leaves) > 1 else leaves[:0]
    return np.concatenate(levels)


@pytest.mark.parametrize("turn", [1, 2, 8])
@pytest.mark.parametrize("private", [False, True])
def test_estimates_are_least_squares(turn, private):
    matrix = strategy(turn, private)
    noisy = generator(turn).normal(size=len(matrix)) * 10
    if private:
        wanted = np.linalg.lstsq(matrix, noisy, rcond=None)[0]
        assert estimate(noisy, turn, None) == pytest.approx(wanted)
        return
    found = estimate(noisy, turn, 70)
    assert found.sum() == pytest.approx(70)
    # With a known sum: the normal equations hold along every direction that keeps it.
    gradient = matrix.T @ (matrix @ found - noisy)
    assert gradient - gradient.mean() == pytest.approx(np.zeros(2 * turn), abs=1e-9)


@pytest.mark.parametrize("private", [False, True])
def test_the_worst_arc_is_found(private):
    turn = 8
    nodes = 4 * turn - 2 + private
    leaves = estimate(np.eye(nodes), turn, None if private else 0)
    arcs = [
        leaves[[(start + k) % 16 for k in range(count)]].sum(axis=0)
        for start in range(16)
        for count in range(1, 17)
    ]
    square, largest = _arcs(turn, private)
    assert square == pytest.approx(max(arc @ arc for arc in arcs))
    assert largest >= max(np.abs(arc).max() for arc in arcs)


def half_planes(**changes):
    public = {"universe": PLANE, "turn": 32, "epsilon": EXACT, "delta": 0, "neighbours": AddRemove("row")}
    return HalfPlanes(**public | changes)


@pytest.mark.parametrize("centre", [None, (Fraction(1, 2), -1)])
def test_the_true_count_lies_between_low_and_high(centre):
    data = cloud(PLANE, 1)
    counts = half_planes(centre=centre).release(data, rng=unsafe_seeded(1)).value
    assert counts.total == pytest.approx(500)
    normals = [(0, 1), (1, 0), (-1, 0), (0, -1), *generator(2).integers(-50, 51, size=(200, 2)).tolist()]
    widths = []
    for normal in normals:
        if any(normal):
            between, truth = counts.answer(normal), inside(data, normal, centre)
            origin = 0 if centre else int(data.counts()[6, 6])
            assert between.low - origin - 1e-6 <= truth <= between.high + origin + 1e-6
            assert between.low - 1e-6 <= between.value <= between.high + 1e-6
            widths.append(between.high - between.low)
    assert max(widths) < 60
    assert min(widths) < 20


def test_a_margin_widens_the_interval_on_both_sides():
    data = cloud(PLANE, 3)
    counts = half_planes().release(data, rng=unsafe_seeded(2)).value
    values, weights = points_of(data)
    length = np.maximum(np.linalg.norm(values, axis=1), 1e-9)
    for normal in generator(4).normal(size=(40, 2)).tolist():
        along = values @ np.array(normal) / np.linalg.norm(normal) / length
        plain, wide = counts.answer(normal), counts.answer(normal, margin=0.3)
        assert wide.low <= plain.low <= plain.high <= wide.high
        sure, possible = weights[along >= 0.3].sum(), weights[along >= -0.3].sum()
        assert wide.low - 1e-6 <= sure + data.counts()[6, 6]
        assert possible - data.counts()[6, 6] <= wide.high + 1e-6
        # One sector further on each side at most.
        step = math.sin(math.asin(0.3) + 2 * math.pi / 32)
        assert wide.low >= weights[along >= step].sum() - data.counts()[6, 6] - 1e-6
    assert counts.answer((1, 0), margin=0.9999).high == pytest.approx(500)


@pytest.mark.parametrize(
    ("delta", "rows", "neighbours"),
    [(0, None, AddRemove("row")), (0, 500, Replace("row")), (1e-6, 500, Replace("row"))],
)
def test_the_error_of_every_arc_is_bounded(delta, rows, neighbours):
    mechanism = half_planes(epsilon=1, delta=delta, rows=rows, neighbours=neighbours, turn=16)
    data, rng = cloud(PLANE, 5), unsafe_seeded(3)
    truth = half_planes(turn=16).release(data, rng=rng).value.sectors
    beta, missed, worst = 0.2, 0, []
    for _ in range(60):
        off = mechanism.release(data, rng=rng).value.sectors - truth
        sums = np.concatenate([[0], np.cumsum(np.concatenate([off, off]))])
        arcs = [np.abs(sums[k : k + 33] - sums[k]).max() for k in range(32)]
        worst.append(max(arcs))
        missed += max(arcs) > mechanism.error(beta)
    assert missed <= 12
    assert max(worst) > mechanism.error(beta) / 4


def test_sensitivities_are_those_of_all_pairs_of_rows():
    for private, rows in ((True, None), (False, 1)):
        mechanism = half_planes(turn=4, rows=rows, neighbours=AddRemove("row") if private else Replace("row"))
        columns = strategy(4, private).T
        moves = columns if private else [a - b for a, b in itertools.combinations(columns, 2)]
        assert mechanism.sensitivity(1) == max(np.abs(move).sum() for move in moves)
        assert float(mechanism.sensitivity(2)) ** 2 == pytest.approx(max(move @ move for move in moves))


def test_half_planes_check_their_parameters():
    with pytest.raises(InvalidParameter, match="power of two"):
        half_planes(turn=12)
    with pytest.raises(InvalidParameter, match="two attributes"):
        half_planes(universe=SPACE)
    with pytest.raises(InvalidParameter, match="private"):
        half_planes(rows=5)
    with pytest.raises(InvalidParameter, match="rows"):
        half_planes(neighbours=Replace("row"))
    with pytest.raises(NeighboursMismatch):
        half_planes(neighbours=Event())
    with pytest.raises(InvalidParameter, match="centre"):
        half_planes(centre=(1, 2, 3))
    with pytest.raises(InvalidParameter, match="numbers"):
        half_planes(universe=Universe([("x", ("left", "right")), ("y", (0, 1))]))
    with pytest.raises(Refused, match="units"):
        half_planes(universe=Universe([("x", (0, Fraction(1, 3 << 23))), ("y", (0, 1))]))
    with pytest.raises(InvalidParameter, match="Histogram"):
        half_planes().release(cloud(SPACE, 1))
    with pytest.raises(InvalidParameter, match="public number"):
        half_planes(rows=7, neighbours=Replace("row")).release(cloud(PLANE, 1))
    counts = half_planes().release(cloud(PLANE, 1)).value
    with pytest.raises(InvalidParameter, match="not all 0"):
        counts.answer((0, 0))
    assert counts.answer((math.pi, math.e)).low <= counts.answer((math.pi, math.e)).high
    wanted = HalfPlanes.for_error(
        alpha=100, beta=0.1, universe=PLANE, turn=4, delta=0, neighbours=AddRemove("row")
    )
    assert wanted.error(0.1) <= 100


def test_a_person_of_several_rows_is_not_promised_what_one_row_is():
    data = Histogram(PLANE, np.ones(PLANE.shape, dtype=np.int64), rows_per_unit=3)
    with pytest.raises(NeighboursMismatch, match="per_unit"):
        half_planes(neighbours=AddRemove("person")).release(data)
    assert half_planes().release(data).value.total == pytest.approx(169)


def test_values_are_equal_by_what_was_released():
    one, other = (half_planes(turn=2).release(cloud(PLANE, 6), rng=unsafe_seeded(4)).value for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)
    assert one != half_planes(turn=2).release(cloud(PLANE, 7), rng=unsafe_seeded(4)).value


# Nets of directions ----------------------------------------------------------------------------------


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


# Plain vectors ---------------------------------------------------------------------------------------


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


# The projections of the source -----------------------------------------------------------------------


def test_the_printed_sizes_are_absurd():
    asked = {"margin": 0.5, "accuracy": 0.1, "beta": 0.05, "epsilon": 1, "bits": 8, "attributes": 10}
    sizes = printed_sizes(**asked)
    assert sizes.dimension == pytest.approx(21_458, abs=2)
    assert sizes.log10_net == pytest.approx(6460, abs=1)
    assert sizes.log10_rows > sizes.log10_counts > 6460
    sharper = honest_sizes(**asked)
    assert sharper.dimension == 36
    assert 10 < sharper.log10_net < 11.5
    assert sharper.projections < 0.6 * sizes.projections
    universe = Universe([(name, (-1, 1)) for name in "abcdefghij"])
    with pytest.raises(Refused, match="HalfspaceNet"):
        ProjectedHalfspaces.for_accuracy(
            universe=universe,
            margin=0.5,
            accuracy=0.1,
            beta=0.05,
            bits=8,
            epsilon=1,
            seed=1,
            neighbours=AddRemove("row"),
        )


def projected(**changes):
    public = {
        "universe": SPACE,
        "projections": 7,
        "dimension": 2,
        "directions": 16,
        "seed": 3,
        "epsilon": EXACT,
    }
    return ProjectedHalfspaces(**public | {"neighbours": AddRemove("row")} | changes)


def test_counts_are_those_of_the_projected_points():
    data, mechanism = cloud(SPACE, 14), projected()
    value = mechanism.release(data, rng=unsafe_seeded(7)).value
    values, counts = points_of(data)
    wanted = [
        int(counts[values @ matrix @ np.array(direction) >= 0].sum())
        for matrix in mechanism.matrices
        for direction in mechanism.net
    ]
    assert list(value.transcript) == wanted
    assert value.answer((1, 1, 1)) in wanted
    assert abs(value.answer((1, 1, 1)) - inside(data, (1, 1, 1))) < 250


def test_the_projection_charges_no_more_than_the_source():
    mechanism = projected(epsilon=1)
    assert mechanism.sensitivity(1) <= mechanism.size == 7 * 16
    assert mechanism.measured_error(0.05) > projected(epsilon=2).measured_error(0.05)
    with pytest.raises(NoBound, match="HalfspaceNet"):
        mechanism.error(0.05)
    with pytest.raises(Refused, match="noisy counts"):
        projected(directions=10**6)
    with pytest.raises(InvalidParameter, match="both sides"):
        projected(universe=Universe([("x", (0,))]), rows=3, neighbours=Replace("row"))
    one, other = (projected().release(cloud(SPACE, 15), rng=unsafe_seeded(8)).value for _ in range(2))
    assert one == other
    assert hash(one) == hash(other)


def test_sizes_that_fit_are_built():
    found = ProjectedHalfspaces.for_accuracy(
        universe=Universe([("x", (-1, 1))]),
        margin=0.9999,
        accuracy=0.99,
        beta=0.9,
        bits=1,
        epsilon=1,
        seed=1,
        neighbours=AddRemove("row"),
    )
    assert found.dimension > 1000
    assert found.projections > 10
