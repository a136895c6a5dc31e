"""What one row changes in an online release and in leftovers, by a walk through all outcomes of our own.

The walk is written here from scratch and shares nothing with the auditor but the laws of single steps: it
runs the shipped release again and again, each time with the next list of outcomes.
"""

import itertools
import math
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest

from discreet.analysts.games.analyst_game import AnalystGame
from discreet.analysts.games.query_game import QueryGame
from discreet.analysts.online_queries import OnlineQueries
from discreet.analysts.online_queries_plan import OnlineSizes
from discreet.analysts.promises import QueriesAndData
from discreet.analysts.query_book import Caps, book_of
from discreet.core.neighbours import Replace
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.synopses.synopsis import Weights

COIN = Universe([("x", (0, 1))])
HEADS, TAILS, BOTH = (TableQuery(COIN, (0,), "q", table=table) for table in ([0, 1], [1, 0], [1, 1]))
LEFT_OUT = Fraction(1, 1 << 55)  # more than what the windows of all steps leave out


class Script(Rng):
    """Performs every step with the outcome that a list says; beyond its end, with the first one."""

    def __init__(self, places):
        self.places, self.sizes, self.mass = list(places), [], Fraction(1)

    def random_bytes(self, count):
        raise AssertionError("a random bit outside a step")

    def perform(self, primitive, value):
        law = [each for each in primitive.law(value) if each[1]]
        if len(self.places) == len(self.sizes):
            self.places.append(0)
        outcome, mass = law[self.places[len(self.sizes)]]
        self.sizes.append(len(law))
        self.mass *= mass
        return np.array(outcome) if isinstance(value, np.ndarray) and isinstance(outcome, tuple) else outcome


def walk(run):
    """Return the probability of everything that can come out."""
    found, places = defaultdict(Fraction), []
    while True:
        script = Script(places)
        found[run(script)] += script.mass
        places = script.places
        while places and places[-1] + 1 == script.sizes[len(places) - 1]:
            places.pop()
        if not places:
            assert abs(sum(found.values()) - 1) < LEFT_OUT
            return found
        places[-1] += 1


def worst(laws):
    """Return the largest log-ratio between neighbours: tables that differ in one of their rows."""
    ratios = []
    for one, other in [*itertools.pairwise(laws), *itertools.pairwise(laws[::-1])]:
        ratios += [math.log(p / max(other.get(outcome, 0), LEFT_OUT)) for outcome, p in one.items()]
    return max(ratios)


def tables(book, rows):
    return [QueriesAndData(Histogram.dense(COIN, [k, rows - k]), book) for k in range(rows + 1)]


ONE = {"updates": 1, "samples": 1, "batch": 1, "rate": Fraction(2), "positives": 1, "threshold": 0}
ONLINE = [
    ({"a": [HEADS]}, 1, 30, ONE, 0.4),
    ({"a": [HEADS, TAILS]}, 1, 30, ONE, 0.9),
    ({"a": [BOTH, HEADS]}, 2, 40, ONE, 0.1),
    ({"a": [HEADS, TAILS]}, 2, 60, ONE | {"positives": 2, "threshold": 1}, 0.4),
    pytest.param({"a": [HEADS], "b": [TAILS]}, 1, 60, ONE, 0.4, marks=pytest.mark.soak),
]


@pytest.mark.parametrize(("asked", "rows", "epsilon", "sizes", "used"), ONLINE)
def test_one_row_moves_an_online_release_by_no_more_than_its_loss(asked, rows, epsilon, sizes, used):
    caps = Caps(analysts=len(asked), queries=max(map(len, asked.values())))
    mechanism = OnlineQueries(
        universe=COIN,
        caps=caps,
        rows=rows,
        epsilon=epsilon,
        delta=0,
        analyst_epsilon=400,
        analyst_delta=0.01,
        sizes=OnlineSizes(**sizes),
        neighbours=Replace("row"),
    )

    def law(data):
        return walk(lambda rng: repr(mechanism.release(data, rng=rng).value))

    found = worst([law(data) for data in tables(book_of(COIN, caps, asked), rows)])
    claimed = mechanism.loss.epsilon(0)
    assert used * claimed <= found <= claimed * (1 + 1e-9)


@pytest.mark.parametrize("kind", [QueryGame, AnalystGame])
@pytest.mark.parametrize(
    ("queries", "weights"), [([HEADS], [0, 2]), ([HEADS, TAILS], [1, 1]), ([BOTH], [2, 0])]
)
def test_one_row_moves_leftovers_by_no_more_than_their_conversation_costs(kind, queries, weights):
    caps = Caps(analysts=2, queries=len(queries))
    game = kind(
        universe=COIN,
        caps=caps,
        rows=2,
        epsilon=180,
        delta=0.001,
        analyst_epsilon=20,
        analyst_delta=0.01,
        rounds=2,
        density=1,
        leftovers=1,
        neighbours=Replace("row"),
    )
    book = book_of(COIN, caps, {"a": queries, "b": [HEADS]})
    shared = Weights(COIN, np.array(weights, dtype=np.float64), transcript=())

    def law(data):
        return walk(lambda rng: game._leftovers("a", data, shared, rng))

    found = worst([law(data) for data in tables(book, 2)])
    claimed = game.sparse.loss.epsilon(0)
    assert found <= claimed * (1 + 1e-9)
    assert found == 0 if queries == [BOTH] else found >= 0.4 * claimed
