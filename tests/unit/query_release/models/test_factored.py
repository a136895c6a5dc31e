"""Factored models: tables, fits, guesses and rows, against brute force on small universes."""

import itertools
import math

import numpy as np
import pytest

from discreet.core.errors import Refused
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.query_release.fitting.junction import JunctionTree, order_axes
from discreet.query_release.models.factored import FactoredModel, Target, coarsen, fit_model, groups, refine
from discreet.query_release.models.factored_learner import (
    SHORTEST,
    Learner,
    MeasuredTable,
    dispersion,
    first_guess,
)
from discreet.query_release.models.factored_synopsis import Factored, rows_of
from discreet.testing import unsafe_seeded

SHAPE = (3, 2, 4, 2, 3)
LOOP = [(0, 1), (1, 2), (2, 3), (3, 4), (0, 4)]


def generator(seed):
    return np.random.default_rng(seed)  # noqa: TID251


def random_model(sets=LOOP, shape=SHAPE, seed=0):
    tree = JunctionTree.over(shape, sets)
    rng = generator(seed)
    return FactoredModel(
        tree, tree.beliefs([rng.normal(size=tree.table_shape(p)) for p in range(len(tree.cliques))])[1]
    )


def whole(model):
    """Return the probability of every cell: the product of the conditionals."""
    shape, result = model.tree.shape, 1.0
    for place, clique in enumerate(model.tree.cliques):
        table = model.conditional(place).transpose(np.argsort(clique))
        result = result * table.reshape([shape[a] if a in clique else 1 for a in range(len(shape))])
    return result


def marginal(array, axes):
    """Sum an array over the universe onto axes in the given order."""
    kept = array.sum(axis=tuple(a for a in range(array.ndim) if a not in axes))
    return kept.transpose([sorted(axes).index(a) for a in axes])


def test_tables_over_any_set_are_the_sums_over_the_universe():
    model = random_model()
    array = whole(model)
    assert array.sum() == pytest.approx(1)
    for size in range(len(SHAPE) + 1):
        for axes in itertools.combinations(range(len(SHAPE)), size):
            inner = order_axes(SHAPE, axes)
            assert model.table(inner) == pytest.approx(marginal(array, inner), abs=1e-13)


def fit(sets, counts, *, ridge, total, steps=500):
    tree = JunctionTree.over(SHAPE, sets)
    targets = [
        Target(axes, (), marginal(counts, axes), ridge) for axes in (order_axes(SHAPE, s) for s in sets)
    ]
    base = [np.zeros(tree.table_shape(p)) for p in range(len(tree.cliques))]
    start = [np.zeros(t.counts.shape) for t in targets]
    return fit_model(tree, targets, total=total, base=base, start=start, steps=steps)


def test_a_fit_finds_the_model_that_made_the_counts():
    made = random_model()
    truth = whole(made)
    model, _ = fit(made.tree.cliques, truth * 1e4, ridge=1e-3, total=1e4)
    assert np.abs(whole(model) - truth).sum() < 1e-2
    # Its loop of pairs alone does not have the triples of the cliques that fill it in.
    poorer, _ = fit(LOOP, truth * 1e4, ridge=1e-3, total=1e4)
    assert np.abs(whole(poorer) - truth).sum() > 0.1


def test_a_fit_is_stationary():
    counts = generator(1).poisson(20, size=SHAPE).astype(float)
    model, tables = fit(LOOP, counts, ridge=5.0, total=counts.sum(), steps=2000)
    for axes, table in zip((order_axes(SHAPE, s) for s in LOOP), tables, strict=True):
        slope = model.table(axes) * counts.sum() - marginal(counts, axes) + 5.0 * table
        assert np.abs(slope).max() < 0.2


def test_a_large_ridge_leaves_the_base_alone():
    counts = generator(2).poisson(20, size=SHAPE).astype(float)
    model, _ = fit(LOOP, counts, ridge=1e9, total=counts.sum())
    assert whole(model) == pytest.approx(np.full(SHAPE, 1 / counts.size), rel=1e-3)


def test_grains_add_and_repeat():
    table = np.arange(12.0).reshape(3, 4)
    grain = (None, (0, 1, 4))
    assert coarsen(table, grain).tolist() == [[0, 6], [4, 18], [8, 30]]
    assert refine(np.array([[1.0, 2.0]]), grain).tolist() == [[1, 2, 2, 2]]
    weights = generator(3).random((3, 2))
    assert (coarsen(table, grain) * weights).sum() == pytest.approx((table * refine(weights, grain)).sum())


def test_groups_have_about_equal_weight_and_spikes_their_own():
    assert groups(np.ones(5), 5) is None
    assert groups(np.ones(8), 4) == (0, 2, 4, 6, 8)
    assert groups(np.array([1000.0, 1, 1, 1, 1]), 4) == (0, 1, 5)


def test_a_first_guess_beats_the_noise_on_a_smooth_line_and_keeps_spikes():
    rng, places = generator(4), np.arange(100)
    smooth = 400 * np.exp(-(((places - 40) / 20) ** 2))
    spiky = smooth.copy()
    spiky[40] = 9000
    for truth in (smooth, spiky):
        noisy = truth + rng.normal(size=100) * 60
        guess = first_guess(noisy, 60.0, truth.sum())
        assert guess.sum() == pytest.approx(truth.sum())
        assert np.abs(guess - truth).sum() < 0.5 * np.abs(noisy - truth).sum()
    assert guess[40] > 7000


def test_a_first_guess_of_a_short_line_is_flat():
    assert set(first_guess(np.arange(SHORTEST - 1), 1.0, 30.0)) == {30.0 / (SHORTEST - 1)}


def test_the_dispersion_tells_signal_from_noise():
    expected = np.full(1000, 50.0)
    sample = generator(5).poisson(expected)
    noise = generator(6).normal(size=1000) * 30
    assert dispersion(MeasuredTable((0,), (), sample + noise, 900.0), expected, 5e4) < 3
    assert dispersion(MeasuredTable((0,), (), sample + noise, 9.0), expected, 5e4) > 10


def learned(apart=(), cells=10_000, noise=3.0, extra=()):
    """Learn from noisy tables of a random model's counts."""
    counts, rng = whole(random_model()) * 1e4, generator(7)

    def measure(axes):
        table = marginal(counts, axes)
        return MeasuredTable(axes, (), table + rng.normal(size=table.shape) * noise, noise**2)

    singles = [measure((axis,)) for axis in range(len(SHAPE))]
    learner = Learner(SHAPE, cells=cells, singles=singles, ordinal=[])
    added = [measure(order_axes(SHAPE, axes)) for axes in extra]
    learner.add(added)
    kept = [measure(order_axes(SHAPE, axes)) for axes in apart]
    learner.keep_apart(kept)
    return learner, counts, [*singles, *added, *kept]


def gap(learner, counts, axes):
    return np.abs(learner.best_table(axes) - marginal(counts, axes)).sum() / counts.sum()


def test_a_learner_learns_what_it_is_told():
    before, counts, _ = learned()
    after, _, _ = learned(extra=LOOP)
    assert after.total == pytest.approx(1e4, rel=0.01)
    for axes in (order_axes(SHAPE, pair) for pair in LOOP):
        assert gap(after, counts, axes) < 0.02
    assert gap(before, counts, order_axes(SHAPE, (0, 1))) > 0.05


def test_what_the_model_has_no_room_for_still_corrects_its_own_tables():
    learner, counts, _ = learned(extra=LOOP, cells=30)
    held = learner.model.tree
    assert held.cells <= 30
    left_out = [order_axes(SHAPE, pair) for pair in LOOP if held.home(order_axes(SHAPE, pair)) is None]
    assert left_out
    for axes in left_out:
        assert gap(learner, counts, axes) < 0.02
        assert np.abs(learner.table(axes) - marginal(counts, axes)).sum() / counts.sum() > 0.05
        assert learner.precision((axes, ())) == pytest.approx(1 / 9)


def test_repeated_measurements_are_averaged():
    learner, _, _ = learned(extra=[(0, 1), (0, 1)], apart=[(0, 1, 2), (0, 1, 2), (0, 1, 2)])
    learner.best_table((1, 3))
    assert learner.precision((order_axes(SHAPE, (0, 1)), ())) == pytest.approx(2 / 9)
    assert learner.precision((order_axes(SHAPE, (0, 1, 2)), ())) == pytest.approx(3 / 9)
    assert learner.precision(((0, 3), ())) == 0


def test_deviations_say_how_far_tables_are_off():
    learner, counts, _ = learned(extra=LOOP, apart=[(0, 1, 2)], noise=20.0)
    axes = order_axes(SHAPE, (0, 1, 2))
    off = np.abs(learner.best_table(axes) - marginal(counts, axes))
    assert 0.3 < off.mean() / (learner.deviations(axes).mean() * math.sqrt(2 / math.pi)) < 2
    assert (learner.deviations((1, 3)) > 0).all()


UNIVERSE = Universe([(name, range(size)) for name, size in zip("abcde", SHAPE, strict=True)])


def test_rows_follow_the_model_closely():
    model = random_model()
    codes = rows_of(model, 5000, unsafe_seeded(1))
    found = np.zeros(SHAPE)
    np.add.at(found, tuple(codes.T), 1)
    for place, clique in enumerate(model.tree.cliques):
        missed = np.abs(marginal(found, clique) - model.beliefs[place] * 5000)
        # Independent draws would miss by about 1.6 rows a cell and more.
        assert missed.max() < 6
    assert np.abs(found - whole(model) * 5000).sum() < 5000 * 0.12
    assert rows_of(model, 0, unsafe_seeded(1)).shape == (0, 5)


def test_a_synopsis_answers_tables_and_queries_and_makes_rows():
    learner, counts, measurements = learned(extra=LOOP, apart=[(0, 1, 2)])
    synopsis = Factored(UNIVERSE, learner, measurements)
    pairs = Marginals.of_order(UNIVERSE, 2)
    off = np.abs(synopsis.answers(pairs) - pairs.answers(counts))
    assert off.sum() / len(pairs.sets) < 0.05 * counts.sum()
    query = TableQuery(UNIVERSE, (0, 2), "weighted", table=np.arange(12.0).reshape(3, 4))
    assert synopsis.answer(query) == pytest.approx((synopsis.marginal(["a", "c"]) * query.table()).sum())
    spread = synopsis.deviations(Queries(UNIVERSE, [query]))
    assert spread.shape == (1,)
    assert spread[0] > 0
    rows = synopsis.synthetic(rng=unsafe_seeded(2))
    assert len(rows) == round(synopsis.total)
    assert len(synopsis.synthetic(17, rng=unsafe_seeded(2))) == 17
    made = pairs.answers(rows.histogram())
    assert np.abs(made - pairs.answers(counts)).sum() / len(pairs.sets) < 0.1 * counts.sum()


def test_a_synopsis_refuses_what_it_does_not_know():
    learner, _, measurements = learned()
    synopsis = Factored(UNIVERSE, learner, [one for one in measurements if one.axes != (4,)])
    with pytest.raises(Refused, match="about e"):
        synopsis.marginal(["a", "e"])
    wide = Universe([(f"x{k}", range(100)) for k in range(4)])
    singles = [MeasuredTable((k,), (), np.ones(100), 1.0) for k in range(4)]
    huge = Factored(wide, Learner(wide.shape, cells=1000, singles=singles, ordinal=[]), singles)
    with pytest.raises(Refused, match="at most"):
        huge.marginal(wide.names)
