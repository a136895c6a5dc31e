"""Projection: the first-order method against exact solutions, the error theorem, and both bodies."""

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import optimize

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.matrix import Matrix
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.query_release.explicit.projection import Projection
from discreet.query_release.explicit.projection_book import BookProjection
from discreet.query_release.fitting import projection_fit
from discreet.query_release.fitting.consistency import onto_simplex
from discreet.query_release.fitting.projection_fit import nearest, onto_ball
from discreet.query_release.linear.tails import gaussian_length, gaussian_tail, laplace_tail
from discreet.testing import unsafe_seeded

SURVEY = Universe([("sex", ("f", "m")), ("age", (20, 40, 60)), ("smokes", (False, True))])
TABLES = Marginals.of_order(SURVEY, 2)
COUNTS = np.array((110, 40, 140, 50, 130, 30, 90, 60, 120, 70, 120, 40))
HIDDEN = {"workload": TABLES, "rows": 1000, "neighbours": Replace("row")}


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


def test_a_large_workload_is_projected_without_a_matrix():
    """20 three-way tables over 5,400 cells, from products alone."""
    universe = Universe(
        [(name, range(size)) for name, size in zip("abcdef", (9, 6, 5, 5, 2, 2), strict=True)]
    )
    workload = Marginals.of_order(universe, 3)
    counts = generator(2).multinomial(20_000, generator(3).dirichlet(np.full(universe.size, 0.02)))
    mechanism = Projection(workload=workload, epsilon=1, delta=1e-9, rows=20_000, neighbours=Replace("row"))
    value = mechanism.release(Histogram.dense(universe, counts), rng=unsafe_seeded(1)).value
    truth = workload.answers(counts)
    assert value.fit.gap <= mechanism.tolerance
    projected = np.linalg.norm(value.answers(workload) - truth)
    assert projected < 0.6 * np.linalg.norm(np.array(value.noisy) - truth)
    assert projected <= mechanism.distance(0.05)


@pytest.mark.parametrize(
    ("delta", "neighbours"), [(1e-6, Replace("row")), (0, Replace("row")), (1e-6, AddRemove("row"))]
)
def test_the_error_theorem_holds(delta, neighbours):
    """Seeded: at beta 0.1 the bound may fail six times in sixty, and it is within a factor of twelve."""
    mechanism = Projection(workload=TABLES, epsilon=0.5, delta=delta, rows=1000, neighbours=neighbours)
    data, rng = Histogram.dense(SURVEY, COUNTS), unsafe_seeded(2)
    truth = TABLES.answers(COUNTS)
    away = [np.linalg.norm(mechanism.release(data, rng=rng).value.answers(TABLES) - truth) for _ in range(60)]
    assert sum(each > mechanism.distance(0.1) for each in away) <= 6
    assert mechanism.root_mean_square(0.1) == pytest.approx(mechanism.distance(0.1) / 4)
    assert mechanism.error(0.1) == mechanism.distance(0.1)
    assert max(away) > mechanism.distance(0.1) / 12  # it is not empty either


def test_projecting_helps_many_queries_on_few_rows():
    mechanism = Projection(workload=TABLES, epsilon=0.02, delta=1e-6, rows=1000, neighbours=Replace("row"))
    value = mechanism.release(Histogram.dense(SURVEY, COUNTS), rng=unsafe_seeded(3)).value
    truth = TABLES.answers(COUNTS)
    raw = np.linalg.norm(np.array(value.noisy) - truth)
    assert np.linalg.norm(value.answers(TABLES) - truth) < raw / 2
    assert mechanism.distance(0.05) < math.sqrt(len(TABLES)) * mechanism.noise.error(0.05)


def test_the_books_constants_are_kept_and_need_more_noise():
    book = Projection.book(epsilon=1, delta=1e-6, **HIDDEN)
    ours = Projection(epsilon=1, delta=1e-6, **HIDDEN)
    assert isinstance(book, BookProjection)
    assert float(book.scale) == pytest.approx(math.sqrt(8 * 16 * math.log(1e6)))
    assert book.deviation > 4 * ours.deviation
    assert book.loss.epsilon(1e-6) < 0.5  # far from used up
    assert book.body == "ball"
    assert ours.body == "simplex"
    value = book.release(Histogram.dense(SURVEY, COUNTS), rng=unsafe_seeded(4)).value
    truth = TABLES.answers(COUNTS)
    assert np.linalg.norm(value.answers(TABLES) - truth) <= min(
        book.distance(0.01), book.printed_distance(0.01)
    )
    assert len(value.synthetic(50, rng=unsafe_seeded(5))) == 50
    with pytest.raises(NeighboursMismatch, match="number of rows"):
        Projection.book(epsilon=1, delta=1e-6, **HIDDEN | {"neighbours": AddRemove("row")})
    with pytest.raises(InvalidParameter, match="predicates"):
        Projection.book(epsilon=1, delta=1e-6, **HIDDEN | {"workload": Weighted(SURVEY, [(["sex"], [0, 2])])})


def test_the_exact_constants_of_theorem_12_8():
    """k = 200 predicates over 64 cells, n = 1000: the noise is 59.8 where the book's has deviation 210."""
    sigma = Gaussian(l2_sensitivity=math.sqrt(200), epsilon=1, delta=1e-6).sigma
    assert sigma == pytest.approx(59.8, abs=0.1)
    assert math.sqrt(2) * math.sqrt(8 * 200 * math.log(1e6)) == pytest.approx(210, abs=1)
    scale = Fraction(math.sqrt(8 * 200 * math.log(1e6)))
    sums = DiscreteLaplace(scale).sample(200 * 2000, unsafe_seeded(6)).reshape(2000, 200)
    rows = generator(7).integers(2, size=(200, 64))
    seen = np.quantile(np.abs(sums @ rows).max(axis=1), 0.95)
    assert seen < laplace_tail(scale, 200.0, 1.0, 64, Fraction(1, 20)) < 16_660 * 1.5


def test_a_private_number_of_rows_is_one_more_noisy_number():
    private = Projection(epsilon=1, delta=1e-6, **HIDDEN | {"neighbours": AddRemove("row")})
    assert private.noise.size == len(TABLES) + 1
    assert private.noise.square_shift == 3 + 1  # one cell of each of three tables, and the row itself
    for counts in (COUNTS * 0, COUNTS * 10**9):
        value = private.release(Histogram.dense(SURVEY, counts), rng=unsafe_seeded(8)).value
        assert 0 <= value.total <= 1000
    pure = Projection(epsilon=1, delta=0, **HIDDEN | {"neighbours": AddRemove("row")})
    assert pure.noise.sensitivity == 4
    with pytest.raises(InvalidParameter, match="rows"):
        Projection(epsilon=1, delta=0, **HIDDEN).release(Histogram.dense(SURVEY, COUNTS * 2))


def test_real_weights_are_put_on_a_grid():
    workload = Weighted(SURVEY, [(["age"], [0.25, 0.5, 1.0]), (["sex", "smokes"], [[0, 0.125], [0.75, 1]])])
    with pytest.raises(InvalidParameter, match="grid"):
        Projection(epsilon=1, delta=0, **HIDDEN | {"workload": workload})
    mechanism = Projection(epsilon=50, delta=0, grid=Fraction(1, 8), **HIDDEN | {"workload": workload})
    data = Histogram.dense(SURVEY, COUNTS)
    value = mechanism.release(data, rng=unsafe_seeded(9)).value
    assert np.abs(value.answers(workload) - workload.answers(data)).max() < 5
    coarse = Projection(epsilon=50, delta=0, grid=Fraction(1, 2), **HIDDEN | {"workload": workload})
    assert coarse.error(0.05) > mechanism.error(0.05)


def test_nothing_to_hide_is_refused_and_errors_can_be_asked_for():
    with pytest.raises(InvalidParameter, match="changes"):
        Projection(epsilon=1, delta=0, **HIDDEN | {"workload": Marginals(SURVEY, [[]])})
    found = Projection.for_error(alpha=200, beta=0.05, delta=1e-6, **HIDDEN)
    assert found.error(0.05) <= 200 < Projection(epsilon=found.epsilon / 2, delta=1e-6, **HIDDEN).error(0.05)


@pytest.mark.parametrize("coefficients", [[1.0] * 30, [1.0, 0.5, 0.25], [3.0, -1.0] * 5])
def test_weighted_sums_stay_within_their_tails(coefficients):
    """2,000 sums; at beta 0.05 the bound may fail a hundred times, and a third of it fails far more often."""
    weights = np.array(coefficients)
    square, largest, beta = float(weights @ weights), float(np.abs(weights).max()), Fraction(1, 20)
    for noise, bound in (
        (DiscreteLaplace(Fraction(7)), laplace_tail(Fraction(7), square, largest, 1, beta)),
        (DiscreteGaussian(Fraction(50)), gaussian_tail(Fraction(50), square, 1, beta)),
    ):
        drawn = noise.sample(2000 * len(weights), unsafe_seeded(10)).reshape(2000, -1) @ weights
        assert (np.abs(drawn) > bound).sum() <= 100
        assert (np.abs(drawn) > bound / 3).sum() > 200


def test_the_length_of_the_noise_is_bounded():
    """2,000 vectors of 50 noises; at beta 0.05 the bound may fail a hundred times; 0.8 of it fails often."""
    bound = gaussian_length(Fraction(50), 50, Fraction(1, 20))
    lengths = np.linalg.norm(
        DiscreteGaussian(Fraction(50)).sample(100_000, unsafe_seeded(11)).reshape(2000, 50), axis=1
    )
    assert (lengths > bound).sum() <= 100
    assert (lengths > 0.8 * bound).sum() > 200
