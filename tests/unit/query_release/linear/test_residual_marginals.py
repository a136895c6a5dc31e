"""Marginal tables from residuals: exact algebra, the optimal plan, unbiased and consistent tables."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.core.errors import InvalidParameter, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.universe import Universe
from discreet.query_release.fitting.residual import Layout, contrasts, spread, squares, subsets
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.residual_marginals import Goal, ResidualMarginals
from discreet.query_release.synopses import marginal_tables as tables
from discreet.testing import unsafe_seeded

UNIVERSE = Universe([("a", (0, 1)), ("b", range(4)), ("c", range(3))])
WORKLOAD = Marginals(UNIVERSE, [["a", "b"], ["b", "c"]])
DATA = Histogram.dense(UNIVERSE, np.arange(24) * 3 % 17)
PEOPLE = AddRemove("person")


def make(workload=WORKLOAD, epsilon=1, delta=1e-6, neighbours=PEOPLE, **more):
    return ResidualMarginals(workload=workload, epsilon=epsilon, delta=delta, neighbours=neighbours, **more)


def residual(table):
    """Take the mean out along every axis: the definition."""
    for axis in range(table.ndim):
        table = table - table.mean(axis=axis, keepdims=True)
    return table


@pytest.mark.parametrize("shape", [(), (2,), (7,), (3, 4), (2, 5, 3)])
def test_contrasts_are_coordinates_of_the_residual(shape):
    table = np.random.default_rng(1).integers(0, 99, shape)  # noqa: TID251
    found = spread(contrasts(table) / squares(shape))
    assert np.allclose(found, residual(table.astype(float)))
    unit = np.zeros(shape)
    for cell in itertools.product(*map(range, shape)):
        unit[cell] = 1
        length = (contrasts(unit) ** 2 / squares(shape)).sum()
        assert length == pytest.approx(math.prod(1 - 1 / n for n in shape))
        unit[cell] = 0


def test_subsets_leave_out_axes_of_one_value():
    assert subsets((0, 2), (3, 5, 1)) == [(), (0,)]
    assert len(subsets((0, 1, 2), (2, 2, 2))) == 8


def brute_square(layout, *, replaced):
    """Return the largest squared distance over all rows, or pairs of rows, from the coordinates."""
    columns = []
    for cell in itertools.product(*map(range, layout.shape)):
        row = []
        for place, axes in enumerate(layout.sets):
            unit = np.zeros(layout.sizes(axes))
            unit[tuple(cell[axis] for axis in axes)] = 1
            row.append(np.ravel(contrasts(unit) * layout.multipliers([place])[0]))
        columns.append(np.concatenate(row))
    if not replaced:
        return max(float((column**2).sum()) for column in columns)
    return max(float(((one - other) ** 2).sum()) for one in columns for other in columns)


@pytest.mark.parametrize("neighbours", [PEOPLE, Replace("person")])
@pytest.mark.parametrize("fineness", [1, 3, 256])
def test_the_sensitivity_is_bounded_and_tight(neighbours, fineness):
    replaced = isinstance(neighbours, Replace)
    layout = make(neighbours=neighbours, fineness=fineness).layout
    true, claimed = brute_square(layout, replaced=replaced), layout.square(replaced=replaced)
    assert true <= claimed
    if fineness == 256:
        assert true >= 0.99 * claimed


def test_many_attributes_use_the_bound_of_each_set():
    wide = Universe([(f"x{i}", (0, 1, 2)) for i in range(21)])
    few = Universe([(f"x{i}", (0, 1, 2)) for i in range(4)])
    sets = [(f"x{i}", f"x{i + 1}") for i in range(3)]
    spare = [(f"x{i}",) for i in range(4, 21)]
    exact = make(workload=Marginals(few, sets), neighbours=Replace("p")).layout
    loose = make(workload=Marginals(wide, sets + spare), neighbours=Replace("p")).layout
    assert brute_square(exact, replaced=True) <= exact.square(replaced=True)
    worst = 2 * sum(s * loose.price(a) * 1.5 for s, a in zip(loose.strengths, loose.sets, strict=True))
    assert loose.square(replaced=True) == pytest.approx(worst, rel=1e-6)
    assert Layout((2, 2), ((0,), (1,)), (2, 2)).square(replaced=True) == 8


def total_variance(precisions, sets, shape, cells=True):
    """Return the sum over all cells of the variances, from the definition."""
    return sum(
        (math.prod(shape[x] for x in axes) if cells else 1)
        * math.prod(1 - 1 / shape[x] for x in kept)
        * math.prod(shape[x] ** -2 for x in axes if x not in kept)
        / precisions[kept]
        for axes in sets
        for kept in subsets(axes, shape)
    )


def test_the_plan_is_optimal():
    layout = make().layout
    shape, sets = UNIVERSE.shape, WORKLOAD.sets
    found = {
        kept: s / layout.square(replaced=False) for kept, s in zip(layout.sets, layout.strengths, strict=True)
    }
    ours = total_variance(found, sets, shape)

    def objective(logs):
        share = np.exp(logs)
        cost = sum(s * layout.price(kept) for s, kept in zip(share, layout.sets, strict=True))
        return math.log(total_variance(dict(zip(layout.sets, share / cost, strict=True)), sets, shape))

    best = minimize(objective, np.zeros(len(layout.sets)), method="BFGS")
    assert ours <= math.exp(best.fun) * (1 + 1e-5)


def test_the_worst_table_gets_better_when_it_is_the_goal():
    tilted = Marginals(UNIVERSE, [["a"], ["b", "c"]])
    names = (["a"], ["b", "c"])
    total = [make(workload=tilted).deviation(n) for n in names]
    worst = [make(workload=tilted, goal=Goal.WORST).deviation(n) for n in names]
    assert max(worst) < max(total)
    assert max(worst) < 1.03 * min(worst)  # at the optimum all tables are equally bad
    heavy = make(workload=tilted, weights=(100, 1))
    assert heavy.deviation(["a"]) < total[0]


def test_tables_are_unbiased_with_the_stated_deviation_and_agree():
    mechanism, rng = make(epsilon=2), unsafe_seeded(3)
    truth, errors, query = DATA.marginal(["b", "c"]).counts(), [], WORKLOAD.query(9)
    for _ in range(800):
        synopsis = mechanism.release(DATA, rng=rng).value
        errors.append(synopsis.marginal(["b", "c"]) - truth)
    stated = synopsis.standard_errors(["b", "c"])
    # The deviation of 800 draws is known to 2.5 %, all twelve together to below 1 %: noise of 0.9 or 1.1
    # times the deviation fails the second line.
    ratios = np.sqrt((np.array(errors) ** 2).mean(axis=0)) / stated
    assert np.allclose(ratios, 1, atol=0.125)
    assert ratios.mean() == pytest.approx(1, abs=0.045)
    assert np.abs(np.mean(errors, axis=0) / stated).max() < 5 / math.sqrt(800)
    assert np.allclose(synopsis.marginal(["a", "b"]).sum(axis=0), synopsis.marginal(["b", "c"]).sum(axis=1))
    assert synopsis.marginal(["b"]).sum() == pytest.approx(synopsis.total)
    cell = synopsis.standard_errors(["b", "c"]).reshape(-1)[9 - 8]
    assert synopsis.standard_error(query) == pytest.approx(cell)
    assert stated.max() <= mechanism.deviation(["b", "c"]) * (1 + 1e-9)
    assert stated.max() >= mechanism.deviation(["b", "c"]) * 0.98
    late = np.abs(np.array(errors)).max(axis=(1, 2)) > mechanism.error(0.1)
    assert late.mean() < 0.1


def test_it_beats_independent_noise():
    wide = Marginals.of_order(Universe([(f"x{i}", range(4)) for i in range(8)]), 2)
    independent = Independent(workload=wide, epsilon=1, delta=1e-6, neighbours=PEOPLE)
    ours = make(workload=wide).deviation(["x0", "x1"])
    assert ours < 0.8 * independent.noise.sigma


def test_any_query_inside_a_measured_table_is_answered():
    synopsis = make().release(DATA).value
    workload = Prefixes(UNIVERSE, ["b"])
    assert np.allclose(synopsis.answers(workload), np.cumsum(synopsis.marginal(["b"])))
    assert np.allclose(
        synopsis.answers(WORKLOAD),
        np.concatenate([np.ravel(synopsis.marginal(n)) for n in (["a", "b"], ["b", "c"])]),
    )
    whole = synopsis.standard_error(workload.query(3))
    assert whole == pytest.approx(synopsis.standard_errors([]).item())
    with pytest.raises(Refused, match="a, c"):
        synopsis.marginal(["a", "c"])


def test_the_number_of_rows_is_exact_where_it_is_public():
    synopsis = make(neighbours=Replace("person")).release(DATA).value
    assert synopsis.total == DATA.total
    assert synopsis.marginal(["a"]).sum() == pytest.approx(DATA.total)
    assert synopsis.standard_errors([]).item() == 0


def test_counts_without_negatives_and_synthetic_rows():
    synopsis = make(epsilon=5).release(DATA, rng=unsafe_seeded(4)).value
    table = synopsis.nonnegative(["a", "b"])
    assert (table >= 0).all()
    assert table.sum() == pytest.approx(synopsis.total)
    weights = synopsis.fit()
    assert np.abs(weights.marginal(["b", "c"]) - synopsis.nonnegative(["b", "c"])).max() < 6
    assert len(synopsis.synthetic(50)) == 50


def test_a_hundred_attributes():
    wide = Universe([(f"x{i}", range(3)) for i in range(100)])
    codes = np.random.default_rng(5).integers(0, 3, (200, 100))  # noqa: TID251
    data = Histogram.from_records(wide, codes)
    workload = Marginals.of_order(wide, 2)
    synopsis = make(workload=workload, epsilon=20).release(data, rng=unsafe_seeded(6)).value
    truth = data.marginal(["x3", "x70"]).counts()
    assert (
        np.abs(synopsis.marginal(["x3", "x70"]) - truth).max()
        < 6 * synopsis.standard_errors(["x3", "x70"]).max()
    )
    with pytest.raises(Refused, match="cells"):
        synopsis.fit()


@pytest.mark.parametrize("neighbours", [PEOPLE, Replace("person")])
def test_all_triples_of_many_attributes(monkeypatch, neighbours):
    """4,060 tables of many shapes, put together in groups: each is near the truth, and they agree."""
    wide = Universe([(f"x{i}", range(1 + i % 4)) for i in range(30)])
    codes = np.stack([np.arange(500) * (3 + 2 * i) % 97 % (1 + i % 4) for i in range(30)], axis=1)
    data = Histogram.from_records(wide, codes)
    triples, pairs = (Marginals.of_order(wide, order) for order in (3, 2))
    mechanism = make(workload=triples, epsilon=100, neighbours=neighbours)
    synopsis = mechanism.release(data, rng=unsafe_seeded(8)).value
    found, bound = synopsis.answers(triples), mechanism.error(1e-9)
    assert bound < 150
    assert np.abs(found - triples.answers(data)).max() <= bound
    assert not np.allclose(found, triples.answers(data))
    for place in range(0, len(triples.sets), 97):
        axes = triples.sets[place]
        both = synopsis.table(axes[:2])
        assert np.allclose(triples.table(found, place).sum(axis=2), both)
        assert np.allclose(pairs.table(synopsis.answers(pairs), pairs.sets.index(axes[:2])), both)
    monkeypatch.setattr(tables, "_TOGETHER", 100)
    assert np.array_equal(synopsis.answers(triples), found)
    with pytest.raises(Refused, match="x1, x2, x3, x5"):
        synopsis.table((1, 2, 3, 5))


def test_more_rows_than_products_fit_are_counted_exactly():
    line = Universe([("a", range(3))])
    data = Histogram.dense(line, [1 << 60, 5, 0])
    mechanism = make(workload=Marginals(line, [["a"]]))
    plain = mechanism._coordinates(Histogram.dense(line, [1 << 20, 5, 0]), (1 << 20) + 5)
    objects = mechanism._coordinates(Histogram.dense(line, [1 << 20, 5, 0]), 1 << 61)
    assert plain.tolist() == objects.tolist()
    assert mechanism.release(data).value.total > 0


def test_odd_parameters_are_refused():
    with pytest.raises(InvalidParameter, match="Laplace"):
        make(delta=0)
    with pytest.raises(InvalidParameter, match="Marginals"):
        make(workload=Prefixes(UNIVERSE, ["b"]))
    for weights in ([1], []):
        with pytest.raises(InvalidParameter, match="weights"):
            make(weights=weights)
    with pytest.raises(InvalidParameter, match="inside a set"):
        make().deviation(["a", "c"])


def test_the_budget_for_a_wanted_error():
    planned = ResidualMarginals.for_error(
        alpha=60, beta=0.05, workload=WORKLOAD, delta=1e-6, neighbours=PEOPLE
    )
    assert planned.error(0.05) <= 60
    assert make(epsilon=planned.epsilon * 98 / 100).error(0.05) > 60
