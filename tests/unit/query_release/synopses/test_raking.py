"""Rows for marginal tables without ever listing the universe."""

import numpy as np
import pytest

from discreet.core.neighbours import AddRemove
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import DENSE, Universe
from discreet.query_release.fitting.consistency import onto_simplex
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.synopses import raking
from discreet.query_release.synopses.raking import weighed_rows
from discreet.query_release.synopses.synthetic import in_proportion
from discreet.testing import unsafe_seeded

SHAPE = (3, 4, 2)


def tables_of(counts: np.ndarray) -> list[tuple[tuple[int, ...], np.ndarray]]:
    return [((0, 1), counts.sum(axis=2)), ((0, 2), counts.sum(axis=1)), ((1, 2), counts.sum(axis=0))]


def test_weights_of_drawn_rows_fit_all_tables():
    counts = np.arange(1.0, 25.0).reshape(SHAPE) ** 2
    tables = tables_of(counts)
    rows, weights = weighed_rows(SHAPE, tables, 20_000, unsafe_seeded(1))
    assert len(np.unique(rows, axis=0)) == len(rows)
    for axes, table in tables:
        found = np.zeros(table.shape)
        np.add.at(found, tuple(rows[:, axis] for axis in axes), weights)
        np.testing.assert_allclose(found, table, rtol=2e-3)


def test_rows_that_no_table_allows_get_no_weight():
    counts = np.zeros(SHAPE)
    counts[0, 1, 1], counts[2, 3, 0] = 30, 10
    rows, weights = weighed_rows(SHAPE, tables_of(counts), 1000, unsafe_seeded(1))
    kept = {tuple(row): weight for row, weight in zip(rows.tolist(), weights, strict=True) if weight}
    assert kept == {(0, 1, 1): pytest.approx(30), (2, 3, 0): pytest.approx(10)}


def test_an_attribute_in_no_table_is_spread_evenly():
    rows, weights = weighed_rows((2, 3), [((0,), np.array([1.0, 3.0]))], 60_000, unsafe_seeded(2))
    shares = np.bincount(rows[:, 1], weights) / weights.sum()
    assert np.abs(shares - 1 / 3).max() < 0.02  # seven standard deviations


def test_contradictory_tables_still_give_rows():
    tables = [((0, 1), np.array([[4.0, 0.0], [0.0, 0.0]])), ((1,), np.array([0.0, 4.0]))]
    _, weights = weighed_rows((2, 2), tables, 100, unsafe_seeded(3))
    assert weights.sum() == pytest.approx(100)


def residuals(shape, order, rows, *, epsilon):
    universe = Universe([(f"x{i}", range(size)) for i, size in enumerate(shape)])
    mixed = np.random.default_rng(5)  # noqa: TID251
    hidden = mixed.normal(size=rows)
    codes = np.stack(
        [
            np.clip(((hidden + mixed.normal(size=rows)) / 4 + 0.5) * size, 0, size - 1).astype(int)
            for size in shape
        ],
        axis=1,
    )
    data = Histogram.from_records(universe, codes)
    workload = Marginals.of_order(universe, order)
    mechanism = ResidualMarginals(workload=workload, epsilon=epsilon, delta=1e-9, neighbours=AddRemove("row"))
    return data, mechanism.release(data, rng=unsafe_seeded(6)).value


def test_rows_are_as_good_as_weights_for_every_cell():
    data, synopsis = residuals((10, 8, 6, 4), 2, 20_000, epsilon=1)
    workload = Marginals.of_order(data.universe, 2)
    truth = np.asarray(workload.answers(data), dtype=float)
    made = synopsis.synthetic(data.total, rng=unsafe_seeded(7)).histogram()
    dense = synopsis.fit().synthetic(data.total, rng=unsafe_seeded(7)).histogram()
    off = np.abs(workload.answers(made) - truth).mean()
    assert off < 1.1 * np.abs(workload.answers(dense) - truth).mean()


def test_a_long_column_and_a_universe_too_large_to_list():
    data, synopsis = residuals((10_002, 2, 4, 20, 12, 50), 2, 20_000, epsilon=1)
    assert data.universe.size > DENSE
    made = synopsis.synthetic(data.total, rng=unsafe_seeded(8)).histogram()
    for names in (["x1", "x2"], ["x2", "x3"], ["x3", "x4"]):
        truth = data.marginal(names).counts()
        moved = np.abs(made.marginal(names).counts() - truth).sum()
        assert moved < 1.1 * np.abs(synopsis.nonnegative(names) - truth).sum()


def test_rows_by_default_are_as_many_as_there_seem_to_be():
    _, synopsis = residuals((3, 4), 1, 500, epsilon=10)
    assert len(synopsis.synthetic(rng=unsafe_seeded(9))) == round(synopsis.total)
    assert len(synopsis.synthetic(0)) == 0


def test_rows_of_independent_attributes_where_weighing_ends_far_from_all_tables(monkeypatch):
    """Six attributes of twenty values, of which too few rows are drawn to fit the noise of fifteen tables."""
    monkeypatch.setattr(raking, "_CANDIDATES", 300)
    universe = Universe([(name, range(20)) for name in "abcdef"])
    draw = np.random.default_rng(4)  # noqa: TID251
    codes = np.stack([draw.choice(20, 300, p=draw.dirichlet(np.ones(20))) for _ in range(6)], axis=1)
    pairs = Marginals.of_order(universe, 2)
    noisy = pairs.answers(Histogram.from_records(universe, codes)) + draw.normal(0, 2, len(pairs))
    tables = [(axes, pairs.table(noisy, place)) for place, axes in enumerate(pairs.sets)]
    chosen = raking.synthetic_rows(universe, tables, total=300, rows=None, rng=unsafe_seeded(1))
    likely = [(axes, onto_simplex(table, 300.0)) for axes, table in tables]
    apart = raking._independent(universe.shape, likely, 300, unsafe_seeded(2))
    weighed, weights = weighed_rows(universe.shape, likely, 600, unsafe_seeded(3))
    placed = weighed[in_proportion(weights, 300, unsafe_seeded(3))]
    assert raking._distance(apart, likely) < 0.9 * raking._distance(placed, likely)
    assert raking._distance(chosen.codes, likely) == pytest.approx(raking._distance(apart, likely), rel=0.1)


def test_the_distance_of_rows_from_their_own_tables_is_nothing():
    rows = np.array([[0, 1, 1], [2, 3, 0], [2, 3, 1]])
    counts = np.zeros(SHAPE)
    np.add.at(counts, tuple(rows.T), 1)
    assert raking._distance(rows, tables_of(counts)) == 0
    assert raking._distance(rows[:2], tables_of(counts)) > 0.5
