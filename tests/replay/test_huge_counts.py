"""Counts at the edge of 64 bits: nothing wraps, nothing is raised, no step moves further than it says."""

from fractions import Fraction

import numpy as np
import pytest

from discreet.analysts.games.query_game import QueryGame
from discreet.analysts.query_book import Caps
from discreet.audit.replay_report import replay
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.query import ProductQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.query_release.explicit.mwem import MWEM
from discreet.query_release.explicit.projection import Projection
from discreet.query_release.explicit.small_database import SmallDatabase
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.rectangle_tree import RectangleTree
from discreet.query_release.linear.trees import CountTree
from discreet.query_release.models.adaptive import Adaptive
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights
from discreet.testing import unsafe_seeded

ROWS = AddRemove("row")
BIT = Universe([("a", (0, 1))])
FIRST = ProductQuery(BIT, (0,), "first", masks=[np.array([True, False])])
BIG = 10**12
WHOLE = Weighted(BIT, [(["a"], [0, BIG])])
REAL = Weighted(BIT, [(["a"], [0.25, 1.0])])


def neighbours(universe, place, count):
    def histogram(rows):
        counts = np.zeros(universe.size, dtype=np.int64)
        counts[place] = rows
        return Histogram.dense(universe, counts)

    return histogram(count), histogram(count + 1)


def edges(unit):
    """Numbers of rows around which their count in some unit leaves 60, 62, 63 or 64 bits."""
    return [(1 << bits) // unit + off for bits in (60, 62, 63, 64) for off in (-1, 0)]


def one(conversation):
    answer = conversation.ask(FIRST)
    return answer.kind, round(answer.value)


def many(conversation):
    answer = conversation.ask_many(Queries(BIT, [FIRST]))[0]
    return answer.kind, round(answer.value)


@pytest.mark.parametrize("script", [one, many])
@pytest.mark.parametrize("rows", edges(BIG))
def test_multiplicative_weights_on_a_fine_grid(script, rows):
    mechanism = MultiplicativeWeights(
        universe=BIT, epsilon=1, delta=0, updates=2, neighbours=ROWS, grid=Fraction(1, BIG), rows=1000
    )
    for pair in (neighbours(BIT, 0, rows), neighbours(BIT, 0, rows)[::-1]):
        report = replay(mechanism, pair, script, rng=unsafe_seeded(1))
        assert report.holds, report


def test_a_grid_has_an_end():
    with pytest.raises(InvalidParameter, match="grid"):
        MultiplicativeWeights(
            universe=BIT, epsilon=1, delta=0, updates=2, neighbours=ROWS, grid=Fraction(1, 1 << 41), rows=9
        )


MECHANISMS = {
    "independent": Independent(workload=WHOLE, epsilon=1, delta=0, neighbours=ROWS),
    "independent, real weights": Independent(
        workload=REAL, epsilon=1, delta=0, neighbours=ROWS, grid=Fraction(1, BIG)
    ),
    "projection": Projection(
        workload=REAL, epsilon=1, delta=1e-6, rows=10**7, neighbours=ROWS, grid=Fraction(1, BIG)
    ),
    "mwem": MWEM(workload=WHOLE, epsilon=1, delta=0, neighbours=ROWS, rounds=1),
    "small database": SmallDatabase(workload=WHOLE, epsilon=1, rows=10**6, neighbours=ROWS, size=2),
}


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("rows", edges(BIG))
def test_releases_of_heavy_queries(name, rows):
    report = replay(MECHANISMS[name], neighbours(BIT, 1, rows), rng=unsafe_seeded(2))
    assert report.holds, report


def test_answers_are_exact_until_they_are_cut_off():
    for rows in (3, (1 << 61) // BIG, (1 << 62) // BIG + 7):
        (answer,) = WHOLE.answers(neighbours(BIT, 1, rows)[0])
        assert answer == min(rows * BIG, (1 << 62) - 1)


@pytest.mark.parametrize("rows", edges(BIG))
def test_rectangles_with_large_multipliers(rows):
    universe = Universe([("x", (0, 1)), ("y", (0, 1, 2))])
    mechanism = RectangleTree(
        workload=Rectangles(universe, [{"x": (0, 0), "y": (0, 1)}]),
        epsilon=1,
        delta=0,
        neighbours=ROWS,
        trees=(CountTree(2, (2,), (0, BIG)), CountTree(3, (3,), (1, 1))),
    )
    part = rows // 3
    left = Histogram.dense(universe, (part, part, rows - 2 * part, 0, 0, 0))
    right = Histogram.dense(universe, (part, part, rows - 2 * part + 1, 0, 0, 0))
    report = replay(mechanism, (left, right), rng=unsafe_seeded(3))
    assert report.holds, report


def test_adaptive_choices_among_huge_tables():
    universe = Universe([("x", (0, 1)), ("y", (0, 1)), ("z", (0, 1))])
    mechanism = Adaptive(workload=Marginals.of_order(universe, 2), epsilon=1, delta=1e-6, neighbours=ROWS)
    flat, skewed = np.full(8, (1 << 62) // 8 - 1), np.array([(1 << 62) - 9, 0, 0, 0, 0, 0, 0, 0])
    for counts in (flat, skewed):
        left, right = (
            Histogram.dense(universe, counts),
            Histogram.dense(universe, counts + np.eye(8, dtype=int)[3]),
        )
        report = replay(mechanism, (left, right), rng=unsafe_seeded(4))
        assert report.holds, report


def test_games_refuse_more_rows_than_floats_can_count():
    with pytest.raises(InvalidParameter, match="rows"):
        QueryGame(
            universe=BIT,
            caps=Caps(analysts=2, queries=2),
            rows=(1 << 53) + 1,
            epsilon=1,
            delta=1e-6,
            analyst_epsilon=1,
            analyst_delta=1e-6,
            neighbours=Replace("row"),
            rounds=4,
            density=1,
        )
