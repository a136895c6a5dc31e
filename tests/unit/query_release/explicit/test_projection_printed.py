"""The projection as the book prints it: its constants, and whose word it takes."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.composition import Composed
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import DiscreteLaplaceLoss
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.gaussian import Gaussian
from discreet.noise import DiscreteLaplace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.query_release.explicit.projection import Projection
from discreet.query_release.explicit.projection_printed import PrintedProjection
from discreet.query_release.linear.tails import laplace_tail
from discreet.testing import unsafe_seeded

SURVEY = Universe([("sex", ("f", "m")), ("age", (20, 40, 60)), ("smokes", (False, True))])
TABLES = Marginals.of_order(SURVEY, 2)
COUNTS = np.array((110, 40, 140, 50, 130, 30, 90, 60, 120, 70, 120, 40))
HIDDEN = {"workload": TABLES, "rows": 1000, "neighbours": Replace("row")}


def generator(seed):
    return np.random.default_rng(seed)  # noqa: TID251


def test_the_books_constants_are_kept_and_need_more_noise():
    book = Projection.as_printed(epsilon=1, delta=1e-6, **HIDDEN)
    ours = Projection(epsilon=1, delta=1e-6, **HIDDEN)
    assert isinstance(book, PrintedProjection)
    assert float(book.scale) == pytest.approx(math.sqrt(8 * 16 * math.log(1e6)))
    assert book.deviation > 4 * ours.deviation
    assert book.loss.epsilon(1e-6) < 0.5  # far from used up
    assert book.body == "ball"
    assert ours.body == "simplex"
    value = book.release(Histogram.dense(SURVEY, COUNTS), rng=unsafe_seeded(4)).value
    truth = TABLES.answers(COUNTS)
    logs = math.log(1e6) * math.log(2 * SURVEY.size / 0.01)
    printed = math.sqrt(16 * 1000 * math.sqrt(192 * logs))  # Theorem 12.8: sqrt(192) under the root
    assert np.linalg.norm(value.answers(TABLES) - truth) <= min(book.distance(0.01), printed)
    assert len(value.synthetic(50, rng=unsafe_seeded(5))) == 50
    with pytest.raises(NeighboursMismatch, match="number of rows"):
        Projection.as_printed(epsilon=1, delta=1e-6, **HIDDEN | {"neighbours": AddRemove("row")})
    with pytest.raises(InvalidParameter, match="predicates"):
        twice = Weighted(SURVEY, [(["sex"], [0, 2])])
        Projection.as_printed(epsilon=1, delta=1e-6, **HIDDEN | {"workload": twice})


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


class Liar(Queries):
    """Says of itself that it counts, and moves an answer by four thousand with one row."""

    @property
    def is_predicates(self):
        return True


def heavy(kind):
    coin = Universe([("side", ("heads", "tails"))])
    weights = [[4000, 0]] + [[0, 0]] * 3999
    return kind(coin, [TableQuery(coin, (0,), f"q{i}", table=table) for i, table in enumerate(weights)])


@pytest.mark.parametrize("kind", [Queries, Liar])
def test_a_workload_is_not_believed_to_count(kind):
    """With 5 rows the first number was above 18,000 in 995 of 1,000 runs, with 4 rows in 15, at epsilon 1."""
    public = {"epsilon": 1, "delta": 1e-3, "rows": 10, "neighbours": Replace("row")}
    with pytest.raises(InvalidParameter, match="predicates"):
        Projection.as_printed(workload=heavy(kind), **public)


def test_the_loss_is_that_of_the_largest_move():
    """Of counts that is one; were another workload there, the loss would say so."""
    book = Projection.as_printed(epsilon=1, delta=1e-6, **HIDDEN)
    assert book.loss == Composed(((DiscreteLaplaceLoss(1, book.scale), 6),))
    book._set(workload=Weighted(SURVEY, [(["sex"], [0, 500]), (["age"], [0, 1, 500])]))
    assert book.loss == Composed(((DiscreteLaplaceLoss(500, book.scale), 2),))
    assert not book.guarantee.implies(epsilon=1, delta=1e-6)
