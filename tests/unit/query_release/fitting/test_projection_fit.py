"""The first-order method against exact solutions: the gap, and both bodies."""

import numpy as np
import pytest
from scipy import optimize

from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.matrix import Matrix
from discreet.queries.universe import Universe
from discreet.query_release.fitting import projection_fit
from discreet.query_release.fitting.consistency import onto_simplex
from discreet.query_release.fitting.projection_fit import nearest, onto_ball

SURVEY = Universe([("sex", ("f", "m")), ("age", (20, 40, 60)), ("smokes", (False, True))])
TABLES = Marginals.of_order(SURVEY, 2)
COUNTS = np.array((110, 40, 140, 50, 130, 30, 90, 60, 120, 70, 120, 40))


def generator(seed):
    return np.random.default_rng(seed)  # noqa: TID251


def dense(workload):
    cells = workload.universe.unravel(np.arange(workload.universe.size))
    return workload.block(0, len(workload), cells).astype(float)


def exact_projection(workload, target, total):
    """Solve by non-negative least squares with a heavy row for the sum."""
    heavy = 1e5
    matrix = np.vstack([dense(workload), np.full(workload.universe.size, heavy)])
    weights, _ = optimize.nnls(matrix, np.append(target, heavy * total), maxiter=10_000)
    return dense(workload) @ weights


@pytest.mark.parametrize("seed", range(5))
def test_the_nearest_point_of_simplex_and_ball(seed):
    point = generator(seed).normal(size=30) * 3
    for total in (0.5, 4.0, 500.0):
        found = onto_simplex(point, total)
        assert found.min() >= 0
        assert found.sum() == pytest.approx(total)
        # Nearest: no other point of the body lies on the far side (the corners are enough).
        assert max((point - found) @ (total * corner - found) for corner in np.eye(30)) <= 1e-9
        inside = onto_ball(point, total)
        assert np.abs(inside).sum() <= total * (1 + 1e-12)
        corners = np.concatenate([np.eye(30), -np.eye(30)])
        assert max((point - inside) @ (total * corner - inside) for corner in corners) <= 1e-9


@pytest.mark.parametrize("seed", range(4))
def test_the_gap_certifies_the_distance(seed):
    target = TABLES.answers(COUNTS) + generator(seed).normal(size=len(TABLES)) * 60
    best = np.sum((exact_projection(TABLES, target, 1000) - target) ** 2) / 2
    for tolerance in (1000.0, 1.0, 1e-4):
        fit = nearest(TABLES, target, total=1000, body="simplex", tolerance=tolerance)
        value = np.sum((TABLES.answers(fit.weights) - target) ** 2) / 2
        assert fit.gap <= tolerance
        assert best - 1e-4 <= value <= best + fit.gap + 1e-4
        assert fit.weights.min() >= 0


def test_the_ball_is_larger_than_the_simplex_and_solved_too():
    target = -TABLES.answers(COUNTS).astype(float)
    fits = {
        body: nearest(TABLES, target, total=1000, body=body, tolerance=1e-3) for body in ("simplex", "ball")
    }
    away = {body: np.linalg.norm(TABLES.answers(fit.weights) - target) for body, fit in fits.items()}
    assert away["ball"] < 1 < away["simplex"]
    assert np.abs(fits["ball"].weights).sum() <= 1000 * (1 + 1e-9)


class OnlyProducts(Matrix):
    """A workload that has nothing but answers and adjoint."""

    def _query(self, index):
        raise AssertionError("a single query was made")

    def block(self, start, stop, codes):
        raise AssertionError("weights were listed")


def test_only_answers_and_adjoint_are_used():
    workload = OnlyProducts(SURVEY, dense(TABLES).astype(np.int64))
    target = TABLES.answers(COUNTS) + 10.0
    fit = nearest(workload, target, total=1000, body="simplex", tolerance=1.0)
    assert fit.gap <= 1.0


def test_it_stops_at_the_last_round_and_says_how_far_it_came(monkeypatch):
    monkeypatch.setattr(projection_fit, "ROUNDS", 5)
    target = TABLES.answers(COUNTS) + generator(1).normal(size=len(TABLES)) * 60
    fit = nearest(TABLES, target, total=1000, body="simplex", tolerance=0.0)
    assert fit.gap > 0
    assert fit.rounds <= 5
    assert not nearest(TABLES, target, total=0, body="simplex", tolerance=0.0).weights.any()
