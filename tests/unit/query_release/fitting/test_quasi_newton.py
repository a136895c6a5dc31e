"""L-BFGS against SciPy's and against known minima."""

import numpy as np
import pytest
from scipy.optimize import minimize

from discreet.query_release.fitting.quasi_newton import minimise


def rosenbrock(x):
    off, first = x[1:] - x[:-1] ** 2, 1 - x[:-1]
    slope = np.zeros_like(x)
    slope[:-1] = -400 * x[:-1] * off - 2 * first
    slope[1:] += 200 * off
    return float((100 * off**2 + first**2).sum()), slope


def quadratic(condition):
    curvature = np.geomspace(1, condition, 200)
    return lambda x: (float((curvature * (x - 1) ** 2).sum()) / 2, curvature * (x - 1))


@pytest.mark.parametrize("condition", [1, 100, 1e4])
def test_a_bowl_is_found(condition):
    found = minimise(quadratic(condition), np.zeros(200), iterations=2000)
    assert np.abs(found - 1).max() < 1e-4


def test_a_curved_valley_is_found():
    found = minimise(rosenbrock, np.full(10, -1.0), iterations=3000)
    assert rosenbrock(found)[0] < 1e-8


def test_it_needs_about_as_many_calls_as_scipy():
    calls = []

    def counted(x):
        calls.append(1)
        return rosenbrock(x)

    minimise(counted, np.zeros(10), iterations=3000)
    own = len(calls)
    calls.clear()
    minimize(counted, np.zeros(10), jac=True, method="L-BFGS-B", options={"ftol": 1e-15})
    assert own < 3 * len(calls)


def test_it_stops_when_told():
    start = np.full(10, -1.0)
    assert minimise(rosenbrock, start, iterations=0).tolist() == start.tolist()
    assert minimise(rosenbrock, np.ones(10), iterations=50).tolist() == [1.0] * 10
    early = minimise(quadratic(100), np.zeros(200), iterations=2000, level=1.0)
    assert 0 < np.abs(quadratic(100)(early)[1]).max() <= 1.0


def test_a_function_that_never_falls_ends_at_once():
    place = minimise(lambda x: (0.0, np.ones_like(x)), np.zeros(3), iterations=10)
    assert place.tolist() == [0, 0, 0]
