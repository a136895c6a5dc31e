"""The games of analyst privacy as printed: every fault is seen, and the repaired game passes the same.

The printed rates are in test_analysts_table.py.
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy import integrate, stats

from discreet import audit
from discreet.analysts.games.analyst_game import AnalystGame
from discreet.analysts.games.calibration import Rates
from discreet.analysts.games.query_game import QueryGame
from discreet.analysts.games.scores import GameTable
from discreet.analysts.promises import QueriesAndData
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.tiny import COIN, HEADS, TAILS, tiny_data
from discreet.audit.museum.printed_games import InvertedRate, PrintedConstants, WrongSign, per_cell_losses
from discreet.core.neighbours import Replace
from discreet.equilibrium.players import WeightsPlayer
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.universe import Universe
from discreet.sparse.plan import Form
from discreet.sparse.sparse import Sparse
from discreet.testing import unsafe_seeded

BUDGETS = {
    "epsilon": 1,
    "delta": 1e-6,
    "analyst_epsilon": 1,
    "analyst_delta": 1e-6,
    "neighbours": Replace("row"),
}

# The query player's sign ----------------------------------------


def at_rate(kind, eta):
    """Return the game at given rates, whatever they cost: a test of direction, not of privacy."""

    class AtRate(kind):
        __slots__ = ()

        @property
        def rates(self):
            eta_ = Fraction(eta)
            return Rates(action=eta_ / (2 * self.rows), cell=eta_ / 2)

    return AtRate


def worst_errors(kind, *, seed):
    """Play on 32 cells with 200 random queries, 20 sides at least at once, and sort the errors."""
    generator = np.random.default_rng(seed)  # noqa: TID251
    universe = Universe([("x", range(32))])
    counts = generator.multinomial(1000, generator.dirichlet(np.full(32, 0.15)))
    masks = generator.integers(0, 2, (200, 32)).astype(bool)
    book = QueryBook(
        universe, Caps(4, 50), "abcd", dict(enumerate(Predicates(universe, [(["x"], m) for m in masks])))
    )
    game = at_rate(kind, 0.1)(
        universe=universe, caps=book.caps, rows=1000, rounds=1500, density=20, **BUDGETS
    )
    found = game.release(
        QueriesAndData(Histogram.dense(universe, counts), book), rng=unsafe_seeded(seed)
    ).value.shared
    table = GameTable(book)
    true, uniform = (table.answers(Histogram.dense(universe, c)) for c in (counts, np.full(32, 1)))
    made = table.answers(Histogram.dense(universe, np.array(found.transcript))) / 1500
    errors = np.abs(true / 1000 - made)
    return float(errors.max()), float(np.abs(true / 1000 - uniform / 32).max())


def test_the_printed_sign_is_worse_than_knowing_nothing():
    error, uniform = worst_errors(WrongSign, seed=3)
    assert error > 1.2 * uniform


def test_the_right_sign_learns():
    error, uniform = worst_errors(QueryGame, seed=3)
    assert error < 0.3 * uniform


# Parameters that tell how much was asked ----------------------------------------


def test_the_printed_rounds_tell_how_many_queries_there_are():
    one, more = (
        PrintedConstants.of(rows=1000, cells=2, actions=actions, epsilon=1, delta=1e-6)
        for actions in (2000, 2002)
    )
    assert one.rounds < more.rounds, "the length of the synopsis is published"
    assert one.density > 2000, "and the projection is not even defined here"


def test_our_parameters_depend_on_the_caps_alone():
    caps = Caps(2, 2)
    game = QueryGame(universe=COIN, caps=caps, rows=2, rounds=4, density=2, **BUDGETS)
    books = [book_of(COIN, caps, {"a": asked, "b": []}) for asked in ([], [HEADS], [HEADS, TAILS])]
    sizes = {
        sum(game.release(QueriesAndData(Histogram.dense(COIN, [1, 1]), book)).value.shared.transcript)
        for book in books
    }
    assert sizes == {4}


# A shared sparse vector (Lemma 2.8, item 3) ----------------------------------------


def shared_stage(cutoff, form):
    """Everybody's queries go through one Sparse, in order; the last analyst sees his own answer."""
    sparse = Sparse(sensitivity=1, epsilon=40, delta=0, positives=cutoff, threshold=5, form=form)

    def run(values, rng):
        talk = sparse.open(values, rng=rng)
        seen = None
        for place in range(len(values)):
            seen = "closed" if talk.closed else talk.ask(lambda data, place=place: data[place])
        return seen

    return run


def test_a_shared_cutoff_tells_everybody_about_a_positive_query():
    quiet, loud = (audit.output_distribution(shared_stage(1, Form.ONCE), (first, 0)) for first in (0, 10))
    assert quiet.get("closed", 0) < Fraction(1, 10**6) and loud["closed"] > 1 - Fraction(1, 10**6)


def test_a_redrawn_threshold_tells_everybody_without_any_cutoff():
    # Threshold noise Lap(2), query noise Lap(4), the second query right at the threshold.
    threshold, query = stats.laplace(scale=2), stats.laplace(scale=4)

    def joint(rho):
        """Given threshold noise rho: the first query is below, and the second is flagged."""
        return threshold.pdf(rho) * query.cdf(rho) * query.sf(rho)

    below_then_flagged = integrate.quad(joint, -80, 80, points=[0], limit=400)[0]
    flagged_then_flagged = 0.5 * 0.5  # a fresh threshold
    assert below_then_flagged + flagged_then_flagged == pytest.approx(0.4583, abs=1e-4)
    without = integrate.quad(lambda rho: threshold.pdf(rho) * query.sf(rho), -80, 80, points=[0], limit=400)[
        0
    ]
    assert without == pytest.approx(0.5, abs=1e-6)


def test_our_stage_is_byte_identical_for_the_others():
    # One seed for each analyst's own stage: what another one asks changes nothing.
    caps = Caps(2, 2)
    game = QueryGame(universe=COIN, caps=caps, rows=50, rounds=4, density=2, leftovers=1, **BUDGETS)
    table = Histogram.dense(COIN, [10, 40])
    shared = game.release(
        QueriesAndData(table, book_of(COIN, caps, {"a": [], "b": []})), rng=unsafe_seeded(1)
    ).value.shared
    seen = {
        game._leftovers(
            "b",
            QueriesAndData(table, book_of(COIN, caps, {"a": asked, "b": [HEADS]})),
            shared,
            unsafe_seeded(7),
        )
        for asked in ([], [TAILS], [HEADS, TAILS])
    }
    assert len(seen) == 1


# Algorithm 4 ----------------------------------------


def test_the_per_cell_game_converges_to_the_most_common_cell():
    losses = per_cell_losses(np.array([0.6]), np.array([[0.0, 1.0]]))  # heads make up 0.6
    player = WeightsPlayer(actions=2, rate=0.1)
    picked = np.zeros(2)
    for _ in range(4000):
        picked += player.strategy()
        player.update(losses)
    assert picked[1] / 4000 > 0.97
    assert losses @ [0.4, 0.6] > 0.7, "the data themselves lose: the value is not 1/2"


def test_the_hierarchical_game_converges_to_the_data():
    # 3000 rounds: the standard deviation of the share of heads is below 0.01.
    caps = Caps(analysts=2, queries=1)
    game = at_rate(AnalystGame, 0.1)(universe=COIN, caps=caps, rows=100, rounds=3000, density=1, **BUDGETS)
    book = book_of(COIN, caps, {"a": [HEADS], "b": []})
    made = game.release(
        QueriesAndData(Histogram.dense(COIN, [40, 60]), book), rng=unsafe_seeded(2)
    ).value.shared
    assert made.transcript[1] / 3000 == pytest.approx(0.6, abs=0.04)


def test_the_inverted_rate_breaks_the_data_promise():
    caps = Caps(analysts=2, queries=1)
    book = book_of(COIN, caps, {"first": [HEADS], "second": [TAILS]})
    parameters = {
        "universe": COIN,
        "caps": caps,
        "rows": 2,
        "epsilon": Fraction(1, 2),
        "delta": Fraction(1, 1000),
        "analyst_epsilon": 1,
        "analyst_delta": Fraction(1, 1000),
        "neighbours": Replace("row"),
        "rounds": 3,
        "density": 1,
    }
    assert not audit.exact(InvertedRate(**parameters), tiny_data(book, 2)).holds
    assert audit.exact(AnalystGame(**parameters), tiny_data(book, 2)).holds
