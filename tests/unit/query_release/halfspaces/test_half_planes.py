"""Half-planes by a circular tree: least squares, arcs, margins."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NeighboursMismatch, Refused
from discreet.core.neighbours import AddRemove, Event, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.halfspaces.half_planes import HalfPlanes, _arcs, estimate
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


def strategy(turn, private):
    leaves, levels = np.eye(2 * turn), []
    while len(leaves) > (0 if private else 1):
        levels.append(leaves)
        leaves = leaves.reshape(len(leaves) // 2, 2, -1).sum(axis=1) if len(leaves) > 1 else leaves[:0]
    return np.concatenate(levels)


def half_planes(**changes):
    public = {"universe": PLANE, "turn": 32, "epsilon": EXACT, "delta": 0, "neighbours": AddRemove("row")}
    return HalfPlanes(**public | changes)


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
