"""Trees: least squares, the sensitivity of the strategy matrix, predicted variances, curves."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.rectangles import Ranges, Rectangles
from discreet.queries.kinds.union import Union
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.query_release.linear import trees_error
from discreet.query_release.linear.boxes import box_weight
from discreet.query_release.linear.joint_noise import variance
from discreet.query_release.linear.range_tree import RangeTree
from discreet.query_release.linear.rectangle_tree import RectangleTree
from discreet.query_release.linear.trees import CountTree, best_tree, sum_moves
from discreet.query_release.linear.trees_error import asked_spread
from discreet.testing import unsafe_seeded

TREES = [
    CountTree(4, (2, 2), (0, 1, 1)),
    CountTree(7, (2, 2, 2), (3, 0, 2, 1)),
    CountTree(9, (3, 3), (1, 2, 5)),
    CountTree(5, (5,), (0, 1)),
    CountTree(11, (3, 4), (2, 1, 1)),
]
LINE = Universe([("age", range(50))])
AGES = Prefixes(LINE, ["age"])
COUNTS = np.arange(50) % 7 * 5
DATA = Histogram.dense(LINE, COUNTS)
PEOPLE = AddRemove("person")


def matrix(tree):
    """Return the strategy matrix over all leaves."""
    leaves = math.prod(tree.degrees)
    whole = CountTree(leaves, tree.degrees, tree.multipliers)
    return np.stack([whole.measure(unit, 0) for unit in np.eye(leaves, dtype=np.int64)], axis=1)


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_estimates_are_least_squares(tree):
    strategy = matrix(tree)
    assert len(strategy) == tree.nodes
    noisy = np.random.default_rng(1).normal(size=tree.nodes) * 10  # noqa: TID251
    expected = np.linalg.lstsq(strategy, noisy, rcond=None)[0]
    assert np.allclose(tree.estimate(noisy, 0), expected[: tree.size])
    # A known total is a measurement without noise: a very heavy one.
    known = np.vstack([strategy, np.full((1, strategy.shape[1]), 1e6)])
    heavy = np.linalg.lstsq(known, np.append(noisy, 1e6 * 33), rcond=None)[0]
    assert np.allclose(tree.estimate(noisy, 0, total=33.0), heavy[: tree.size], atol=1e-5)


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_the_worst_variance_and_weight_of_a_range_are_bounded(tree):
    strategy = matrix(tree)
    leaves = strategy.shape[1]
    solve = np.linalg.pinv(strategy)
    known = np.linalg.pinv(np.vstack([strategy, np.full((1, leaves), 1e5)]))[:, :-1]
    for solver, is_known in ((solve, False), (known, True)):
        squares, weights = [], []
        for low, high in itertools.combinations(range(leaves + 1), 2):
            row = solver[low:high].sum(axis=0)
            squares.append(float(row @ row))
            weights.append(float(np.abs(row).max()))
        bound = tree.range_square(known=is_known)
        assert max(squares) <= bound * (1 + 1e-6)
        assert max(squares) >= 0.5 * bound
        assert max(weights) <= tree.heaviest * (1 + 1e-6)


@pytest.mark.parametrize("known", [False, True])
@pytest.mark.parametrize("tree", TREES, ids=str)
def test_weights_are_traced_back_to_the_measured_numbers(tree, known):
    each = np.eye(tree.nodes)
    total = 0.0 if known else None
    through = np.stack([tree.estimate(unit, 0, total=total) for unit in each], axis=1)
    weights = np.random.default_rng(2).normal(size=(3, tree.size))  # noqa: TID251
    assert np.allclose(tree.trace(weights, 1, known=known), weights @ through)


EVEN = Predicates(LINE, [(["age"], np.arange(50) % 2 == 0)])
WEIGHED = Weighted(LINE, [(["age"], np.where(np.arange(50) < 30, 5, 0))])


def spread(workload, tree, known=False):
    return asked_spread(workload, (0,), (tree,), known=known)


@pytest.mark.parametrize("known", [False, True])
def test_the_noise_of_any_query_is_that_of_its_own_coefficients(known):
    tree = CountTree(50, (5, 10), (0 if known else 1, 1, 1))
    through = np.stack([tree.estimate(unit, 0, total=0.0 if known else None) for unit in np.eye(tree.nodes)])
    own = through @ (np.arange(50) % 2 == 0)
    found = spread(EVEN, tree, known)
    assert found.square == pytest.approx(float(own @ own))
    assert found.square > 1.5 * tree.range_square(known=known)
    assert found.heaviest >= np.abs(own).max()
    assert found.sums == 50 * 51 // 2 + 1


def test_ranges_of_a_weight_have_the_closed_form():
    tree = CountTree(50, (5, 10), (1, 1, 1))
    ranges, weighed = spread(AGES, tree), spread(WEIGHED, tree)
    assert ranges.square == tree.range_square(known=False)
    assert weighed.square == 25 * ranges.square
    assert weighed.heaviest == 5 * ranges.heaviest
    halves = Union([AGES, AGES], [Fraction(1, 2), 3])
    assert spread(halves, tree).square == 9 * ranges.square


def test_too_many_queries_to_follow_are_bounded_by_their_weights(monkeypatch):
    tree = CountTree(50, (5, 10), (1, 1, 1))
    exact = spread(EVEN, tree)
    monkeypatch.setattr(trees_error, "_FOLLOWED", 10)
    trees_error.asked_spread.cache_clear()
    loose = spread(EVEN, tree)
    trees_error.asked_spread.cache_clear()
    assert exact.square <= loose.square == pytest.approx(50)
    assert exact.heaviest <= loose.heaviest


@pytest.mark.parametrize(
    ("weights", "box"),
    [
        ([0, 0, 0], 0),
        ([0, 2, 2], 2),
        ([-3, 0, 0], 3),
        ([1, 0, 1], None),
        ([0.5, 0.5, 0.25], None),
        ([[0, 0], [0, 1], [0, 1]], 1),
        ([[0, 1], [0, 1], [0, 0.5]], None),
        ([[1, 0], [0, 1], [0, 0]], None),
    ],
)
def test_boxes_are_told_from_other_queries(weights, box):
    shape = np.shape(weights)
    universe = Universe([(name, range(size)) for name, size in zip("xy", shape, strict=False)])
    assert box_weight(Weighted(universe, [(universe.names, weights)])) == box
    assert box_weight(Marginals(universe, [universe.names])) == 1


@pytest.mark.parametrize("tree", TREES, ids=str)
def test_the_sensitivity_is_that_of_the_strategy_matrix(tree):
    strategy = matrix(tree)
    for power in (1, 2):
        added = (np.abs(strategy) ** power).sum(axis=0).max()
        changed = max(
            (np.abs(strategy[:, a] - strategy[:, b]) ** power).sum()
            for a, b in itertools.combinations(range(strategy.shape[1]), 2)
        )
        assert sum_moves([tree], power=power, replaced=False) == added
        assert sum_moves([tree], power=power, replaced=True) == changed


def test_the_sensitivity_of_a_product_of_trees():
    first, second = CountTree(2, (2,), (1, 2)), CountTree(4, (2, 2), (3, 1, 1))
    strategy = np.kron(matrix(first), matrix(second))
    for power in (1, 2):
        changed = max(
            (np.abs(strategy[:, a] - strategy[:, b]) ** power).sum()
            for a, b in itertools.combinations(range(8), 2)
        )
        assert sum_moves([first, second], power=power, replaced=True) == changed
        assert sum_moves([first, second], power=power, replaced=False) == (strategy[:, 0] ** power).sum()


def test_the_best_tree_is_no_worse_than_plain_ones():
    for power, known in itertools.product((1, 2), (False, True)):
        best = best_tree(4096, power=power, known=known)
        for degree, height in ((2, 12), (4, 6), (8, 4), (16, 3), (64, 2)):
            plain = CountTree(4096, (degree,) * height, (0,) + (1,) * height)
            prices = [
                tree.range_square(known=known) * sum_moves([tree], power=power, replaced=False) ** (2 / power)
                for tree in (best, plain)
            ]
            assert prices[0] <= prices[1]
    assert best_tree(4096, power=1, known=True, degrees=(64, 64)).degrees == (64, 64)
    assert best_tree(1, power=1, known=True).nodes == 1


def test_trees_are_checked():
    with pytest.raises(InvalidParameter, match="product"):
        CountTree(5, (2, 2), (0, 1, 1))
    with pytest.raises(InvalidParameter, match="leaves"):
        CountTree(4, (2, 2), (1, 1, 0))
    with pytest.raises(InvalidParameter, match="multipliers"):
        CountTree(4, (2, 2), (0, -1, 1))


def make(workload=AGES, epsilon=1, delta=0, neighbours=PEOPLE, **more):
    return RangeTree(workload=workload, epsilon=epsilon, delta=delta, neighbours=neighbours, **more)


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("neighbours", [PEOPLE, Replace("person")])
def test_all_ranges_are_within_the_bound(delta, neighbours):
    mechanism, rng = make(delta=delta, neighbours=neighbours), unsafe_seeded(2)
    truth = np.concatenate([[0], np.cumsum(COUNTS)])
    errors = []
    for _ in range(300):
        curve = mechanism.release(DATA, rng=rng).value
        off = np.concatenate([[0.0], curve.prefixes]) - truth
        errors.append(off.max() - off.min())
    late = np.mean(np.array(errors) > mechanism.error(0.1))
    assert late <= 0.1
    assert np.median(errors) > mechanism.error(0.1) / 5  # the bound says something


def find_worst_union(off, most):
    """Return the largest sum of `off` over all unions of at most so many intervals."""
    best = [0.0] + [-math.inf] * (2 * most)  # odd places: inside of an interval
    for each in off:
        best = [
            best[0],
            *(max(best[k], best[k - 1]) + (each if k % 2 else 0) for k in range(1, 2 * most + 1)),
        ]
    return max(best)


def test_theorem_7_all_unions_of_t_intervals_are_within_t_times_the_error():
    """[Roth10]. Of about 50^8 unions of four, the worst: the price grows with t and not with their number."""
    mechanism, rng = make(), unsafe_seeded(21)
    worst = {1: [], 2: [], 4: []}
    for _ in range(60):
        off = mechanism.release(DATA, rng=rng).value.counts - COUNTS
        for most, found in worst.items():
            found.append(max(find_worst_union(off, most), find_worst_union(-off, most)))
    for most, found in worst.items():
        assert np.mean(np.array(found) > most * mechanism.error(0.1)) <= 0.1
        assert np.median(found) > mechanism.error(0.1) / 5
    assert 1.3 < np.median(worst[4]) / np.median(worst[1]) < 4


def test_the_noise_has_the_predicted_variance():
    # 2,000 draws know a deviation to 1.6 % (Gaussian); 0.9 or 1.1 times it would be off by ten.
    mechanism, rng = make(delta=1e-3, epsilon=3, tree=CountTree(50, (50,), (0, 1))), unsafe_seeded(3)
    total = [mechanism.release(DATA, rng=rng).value.range(10, 29) - COUNTS[10:30].sum() for _ in range(2000)]
    assert np.std(total) == pytest.approx(math.sqrt(20 * variance(mechanism.noise)), rel=0.08)


def test_the_smaller_of_two_noises_is_chosen():
    assert isinstance(make(delta=1e-9).noise, Laplace)
    long = Prefixes(Universe([("x", range(1 << 12))]), ["x"])
    assert isinstance(make(workload=long, delta=1e-3).noise, Gaussian)


def test_the_number_of_rows_is_exact_where_it_is_public():
    assert make(neighbours=Replace("p"), tree=CountTree(50, (50,), (0, 1))).release(
        DATA
    ).value.total == pytest.approx(DATA.total)


def test_curves_answer_ranges_distributions_and_quantiles():
    curve = make(epsilon=5).release(DATA, rng=unsafe_seeded(4)).value
    some = Ranges(LINE, "age", [(3, 10), (0, 49)])
    assert np.allclose(curve.answers(some), [curve.range(3, 10), curve.range(0, 49)])
    assert curve.answers(AGES)[-1] == pytest.approx(curve.total)
    shares = curve.distribution()
    assert (np.diff(shares) >= 0).all()
    assert shares[-1] == 1
    assert 0 <= shares[0] <= 1
    true = int(np.searchsorted(np.cumsum(COUNTS), COUNTS.sum() / 2))
    assert abs(curve.quantile(0.5) - true) <= 3
    assert len(curve.synthetic(20)) == 20
    with pytest.raises(InvalidParameter, match="last"):
        curve.range(10, 3)


def test_an_attribute_of_a_larger_universe():
    plane = Universe([("age", range(50)), ("sex", ("f", "m"))])
    data = Histogram.dense(plane, np.stack([COUNTS, COUNTS], axis=1))
    curve = make(workload=Prefixes(plane, ["age"]), epsilon=50).release(data).value
    assert curve.answers(Prefixes(plane, ["age"]))[-1] == pytest.approx(2 * COUNTS.sum(), abs=20)
    assert curve.fit().marginal(["sex"])[0] == pytest.approx(curve.fit().total / 2)
    with pytest.raises(Refused, match="only age"):
        curve.marginal(["sex"])


def test_huge_counts_do_not_wrap():
    huge = Histogram.dense(Universe([("a", (0, 1))]), [1 << 61, 0])
    workload = Prefixes(huge.universe, ["a"])
    curve = make(workload=workload, tree=CountTree(2, (2,), (0, 7))).release(huge).value
    assert curve.range(0, 0) == pytest.approx((1 << 62) // 7, rel=1e-6)


def test_odd_parameters_are_refused():
    with pytest.raises(InvalidParameter, match="one ordered attribute"):
        make(workload=Marginals(Universe([("a", (0, 1)), ("b", (0, 1))]), [["a", "b"]]))
    with pytest.raises(InvalidParameter, match="tree"):
        make(tree=CountTree(4, (2, 2), (0, 1, 1)))


def test_the_budget_for_a_wanted_error():
    planned = RangeTree.for_error(alpha=100, beta=0.05, workload=AGES, delta=0, neighbours=PEOPLE)
    assert planned.error(0.05) <= 100
    assert make(epsilon=planned.epsilon * 99 / 100).error(0.05) > 100


PLANE = Universe([("x", range(12)), ("y", range(9))])
BOXES = Rectangles.every(PLANE, ["x", "y"])
CELLS = np.arange(108).reshape(12, 9) % 11


@pytest.mark.parametrize(("delta", "neighbours"), [(0, PEOPLE), (1e-6, Replace("person"))])
def test_all_boxes_are_within_the_bound(delta, neighbours):
    mechanism = RectangleTree(workload=BOXES, epsilon=1, delta=delta, neighbours=neighbours)
    data, truth, rng = Histogram.dense(PLANE, CELLS), BOXES.answers(CELLS), unsafe_seeded(5)
    errors = np.array(
        [np.abs(mechanism.release(data, rng=rng).value.answers(BOXES) - truth).max() for _ in range(60)]
    )
    assert (errors > mechanism.error(0.1)).mean() <= 0.1
    assert np.median(errors) > mechanism.error(0.1) / 6


def test_products_of_trees_are_estimated_by_least_squares():
    trees = (CountTree(3, (3,), (1, 2)), CountTree(4, (2, 2), (1, 0, 3)))
    plane = Universe([("x", range(3)), ("y", range(4))])
    boxes = Rectangles(plane, [{"x": (0, 1), "y": (1, 2)}])
    mechanism = RectangleTree(workload=boxes, epsilon=1, delta=0, neighbours=PEOPLE, trees=trees)
    synopsis = mechanism.release(Histogram.dense(plane, np.arange(12)), rng=unsafe_seeded(6)).value
    noisy = np.frombuffer(synopsis.transcript, dtype=np.int64)
    strategy = np.kron(matrix(trees[0]), matrix(trees[1]))
    expected = np.linalg.lstsq(strategy, noisy.astype(float), rcond=None)[0]
    assert np.allclose(synopsis.counts.reshape(-1), expected)
    with pytest.raises(InvalidParameter, match="trees"):
        RectangleTree(workload=boxes, epsilon=1, delta=0, neighbours=PEOPLE, trees=trees[:1])


def test_the_budget_for_a_wanted_error_of_boxes():
    planned = RectangleTree.for_error(alpha=200, beta=0.05, workload=BOXES, delta=0, neighbours=PEOPLE)
    assert planned.error(0.05) <= 200


@pytest.mark.parametrize("epsilon", [710, 1000, 10**9])
def test_so_large_a_budget_that_floats_have_no_square_of_it(epsilon):
    mechanism = make(epsilon=epsilon, delta=0)
    assert mechanism.error(0.05) < 1
    assert (mechanism.release(DATA, rng=unsafe_seeded(1)).value.counts.round() == COUNTS).all()
