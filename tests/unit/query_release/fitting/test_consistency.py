"""Post-processing: projections are the nearest points, and fitted weights fit."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as some
from scipy.optimize import minimize

from discreet.core.errors import Refused
from discreet.queries.universe import Universe
from discreet.query_release.fitting.consistency import fit_tables, isotonic, onto_simplex

NUMBERS = some.lists(some.floats(-50, 50), min_size=1, max_size=8)


@given(NUMBERS, some.floats(0, 100))
def test_the_projection_is_in_the_simplex_and_optimal(values, total):
    found = onto_simplex(values, total)
    assert (found >= 0).all()
    assert found.sum() == pytest.approx(total, abs=1e-9)
    # The nearest point makes an obtuse angle with every corner: enough for a convex set.
    for corner in np.eye(len(values)) * total:
        assert (np.array(values) - found) @ (corner - found) <= 1e-6 * (1 + total) ** 2


def test_the_projection_keeps_shapes():
    assert onto_simplex(np.ones((2, 3)), 12).tolist() == [[2.0] * 3] * 2


@given(NUMBERS)
def test_the_isotonic_curve_is_nearest(values):
    found = isotonic(values, low=-60, high=60)
    assert (np.diff(found) >= -1e-12).all()
    best = minimize(
        lambda p: ((np.cumsum(np.concatenate([p[:1], np.abs(p[1:])])) - values) ** 2).sum(),
        np.concatenate([found[:1], np.diff(found)]),
        method="L-BFGS-B",
    )
    assert ((found - values) ** 2).sum() <= best.fun * (1 + 1e-6) + 1e-6


def test_fitted_weights_fit_tables_that_agree():
    universe = Universe([("a", (0, 1)), ("b", range(3)), ("c", range(4))])
    true = np.random.default_rng(1).integers(1, 20, universe.shape).astype(float)  # noqa: TID251
    sets = list(itertools.combinations(range(3), 2))
    tables = [(axes, true.sum(axis=tuple({0, 1, 2} - set(axes)))) for axes in sets]
    found = fit_tables(universe, tables, total=true.sum())
    assert (found >= 0).all()
    for axes, table in tables:
        assert np.allclose(found.sum(axis=tuple({0, 1, 2} - set(axes))), table, rtol=1e-4)
    # The flattest fit has no interaction of all three attributes.
    logs = np.log(found)
    assert np.abs(np.diff(np.diff(np.diff(logs, axis=0), axis=1), axis=2)).max() < 1e-6


def test_fitting_needs_memory_and_survives_zeros():
    with pytest.raises(Refused):
        fit_tables(Universe([(str(i), range(9)) for i in range(12)]), [], total=1)
    universe = Universe([("a", (0, 1)), ("b", (0, 1))])
    impossible = [((0,), np.array([5.0, 0.0])), ((0, 1), np.array([[0.0, 0.0], [2.0, 3.0]]))]
    assert fit_tables(universe, impossible, total=5).sum() == pytest.approx(5)
