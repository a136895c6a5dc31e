"""Rows for marginal tables without ever listing the universe."""

import numpy as np
import pytest

from discreet.core.neighbours import AddRemove
from discreet.queries.histogram import Histogram
from discreet.queries.marginals import Marginals
from discreet.queries.universe import DENSE, Universe
from discreet.release.marginals import Residuals
from discreet.release.raking import weighed_rows
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
    assert weights.sum() > 0


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
    mechanism = Residuals(workload=workload, epsilon=epsilon, delta=1e-9, neighbours=AddRemove("row"))
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
