"""Calibration, parameters and releases of the two offline games."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.calibrate import largest, zcdp_rho
from discreet.analysts.games import analyst_game, query_game
from discreet.analysts.games.analyst_game import AnalystGame
from discreet.analysts.games.calibration import GameSizes, balance, calibrate, game_rho, share_off
from discreet.analysts.games.cells import CellChoice
from discreet.analysts.games.loss import GameLoss, mixture_delta, zcdp_deltas
from discreet.analysts.games.query_game import QueryGame
from discreet.analysts.promises import OneAnalystToMany, OneQueryToMany, QueriesAndData
from discreet.analysts.query_book import Caps, book_of
from discreet.analysts.tiny import COIN, HEADS, TAILS
from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound
from discreet.core.loss import zcdp_delta
from discreet.core.neighbours import AddRemove, Replace
from discreet.equilibrium.bregman import cap_project
from discreet.queries.histogram import Histogram
from discreet.testing import unsafe_seeded

MILLIONTH = Fraction(1, 10**6)
RHO = zcdp_rho(epsilon=1, delta=MILLIONTH)
PUBLIC = {
    "universe": COIN,
    "caps": Caps(2, 2),
    "rows": 10,
    "epsilon": 1,
    "delta": 1e-6,
    "analyst_epsilon": 1,
    "analyst_delta": 1e-6,
    "rounds": 5,
    "neighbours": Replace("row"),
}

# The analysts' loss ----------------------------------------


@pytest.mark.parametrize(
    ("rounds", "density", "eta"),
    [(1000, 1000, 0.00269), (1000, 12_000, 0.01549), (1000, 24_000, 0.02282), (10_000, 120_000, 0.00490)],
)
def test_rates_meet_known_ones_and_finer_bins_gain_a_little(rounds, density, eta):
    found = largest(lambda rate: GameLoss(rounds, Fraction(2, density), rate).delta(1) <= MILLIONTH)
    assert eta <= 2 * found <= 1.12 * eta


def test_the_vector_conversion_is_the_scalar_one():
    rhos = np.geomspace(1e-6, 1, 40)
    found = zcdp_deltas(rhos, 1.0)
    for rho, delta in zip(rhos, found, strict=True):
        assert zcdp_delta(float(rho), 1.0) <= delta * (1 + 1e-6)
        assert delta <= 1.02 * zcdp_delta(float(rho), 1.0) + 1e-250


def test_more_rounds_touched_or_faster_learning_cost_more():
    base = GameLoss(100, Fraction(1, 500), Fraction(1, 100))
    for worse in (
        GameLoss(150, base.sigma, base.rate),
        GameLoss(100, 2 * base.sigma, base.rate),
        GameLoss(100, base.sigma, 2 * base.rate),
    ):
        assert worse.delta(1) > base.delta(1) > 0
        assert worse.epsilon(1e-6) > base.epsilon(1e-6)
    assert base.delta(0.5) > base.delta(1) > base.delta(2)
    assert base.delta(0) <= base.touched < 0.2
    assert base.zcdp() > 0 and base.renyi(2) > 0


def test_a_game_nobody_can_touch_or_that_does_not_learn_tells_nothing():
    assert GameLoss(100, Fraction(0), Fraction(1)).delta(0) == 0
    still = GameLoss(100, Fraction(1, 2), Fraction(0))
    assert still.delta(0) == 0 and still.epsilon(0) == 0
    assert GameLoss(3, Fraction(1), Fraction(1, 4)).touched == 1
    assert GameLoss(3, Fraction(1), Fraction(1, 4)).epsilon(0) == 3
    assert 0 < mixture_delta(3, 1.0, 0.25, 1.0, 800.0) < 1e-300


def test_touching_all_rounds_is_plain_zcdp():
    # sigma = 1: no amplification, and every round counts all earlier ones at least.
    loss = GameLoss(10, Fraction(1), Fraction(1, 50))
    assert loss.delta(1) >= zcdp_delta(loss.zcdp(), 1.0)


# The data's loss ----------------------------------------


def test_the_data_rate_is_the_closed_form():
    # n = T = 10^4, rho 0.02435: eta 0.00765
    field = GameSizes(rows=10_000, cells=2, groups=10**6, members=1, changed=2, draws=1)
    rates = calibrate(field, rounds=10_000, density=240_000, rho=RHO, epsilon=Fraction(1), delta=MILLIONTH)
    assert 2 * 10_000 * rates.action == pytest.approx(0.00765, rel=1e-3)
    assert game_rho(rates.action, rounds=10_000, draws=1) <= RHO
    assert game_rho(rates.action, rounds=10_000, draws=1) == pytest.approx(float(RHO), rel=1e-9)


def test_rates_never_pass_what_learning_can_use():
    field = GameSizes(rows=10**7, cells=2, groups=100, members=1, changed=2, draws=1)
    rates = calibrate(
        field, rounds=10, density=50, rho=Fraction(100), epsilon=Fraction(100), delta=Fraction(1, 2)
    )
    assert 2 * 10**7 * rates.action == pytest.approx(math.sqrt(8 * math.log(2) / 10), rel=1e-9)
    assert 2 * rates.cell == pytest.approx(math.sqrt(32 * math.log(2) / 30), rel=1e-9)


def test_balance_is_near_the_best_of_a_grid():
    field = GameSizes(rows=10_000, cells=1024, groups=2_000_000, members=1, changed=2, draws=1)
    budget = {"rho": RHO, "epsilon": Fraction(1), "delta": MILLIONTH}
    rounds, density = balance(field, **budget)

    def off(rounds):
        flat = min(24 * rounds, field.groups // 4)
        rates = calibrate(field, rounds=rounds, density=flat, **budget)
        return share_off(field, rates, rounds=rounds, density=flat, beta=Fraction(1, 20))

    assert density == min(24 * rounds, 500_000)
    assert off(rounds) <= 1.02 * min(off(round(10_000 * 2**k)) for k in (-4, -2, -1, 0, 1, 2, 4))


# The mechanisms ----------------------------------------


@pytest.mark.parametrize(("kind", "density"), [(QueryGame, 4), (AnalystGame, 1)])
@pytest.mark.parametrize("leftovers", [0, 1])
def test_both_guarantees_are_within_their_budgets(kind, density, leftovers):
    game = kind(**PUBLIC, density=density, leftovers=leftovers)
    assert game.guarantee.implies(epsilon=1, delta=1e-6)
    assert game.analyst_guarantee.implies(epsilon=1, delta=1e-6)
    release = game.release(
        QueriesAndData(Histogram.dense(COIN, [4, 6]), book_of(COIN, PUBLIC["caps"], {"a": [HEADS]}))
    )
    assert release.guarantee == game.guarantee and release.analyst_guarantee == game.analyst_guarantee
    assert "towards all the others" in repr(release)
    assert sum(release.value.shared.transcript) == 5
    assert release.value.shared.total == pytest.approx(10)


def test_promises_are_in_the_type():
    assert QueryGame(**PUBLIC, density=4).analyst_guarantee.neighbours == OneQueryToMany()
    assert AnalystGame(**PUBLIC, density=1).analyst_guarantee.neighbours == OneAnalystToMany()
    with pytest.raises(NeighboursMismatch):
        QueryGame(**PUBLIC, density=4).analyst_guarantee.require_same_neighbours(
            AnalystGame(**PUBLIC, density=1).analyst_guarantee
        )


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"rounds": 1}, "rounds"),
        ({"rounds": 1 << 60}, "rounds"),
        ({"density": 8}, "density"),
        ({"density": 0}, "density"),
        ({"delta": 0}, "delta"),
        ({"analyst_epsilon": 0}, "analyst_epsilon"),
        ({"analyst_delta": 1}, "analyst_delta"),
        ({"rows": 0}, "rows"),
        ({"leftovers": -1}, "leftovers"),
        ({"caps": 3}, "caps"),
    ],
)
def test_bad_parameters_are_refused_by_name(change, name):
    with pytest.raises(InvalidParameter, match=name):
        QueryGame(**{**PUBLIC, "density": 4, **change})


def test_one_analyst_alone_has_nobody_to_share_with():
    with pytest.raises(InvalidParameter, match="caps"):
        AnalystGame(**{**PUBLIC, "caps": Caps(1, 5)})


def test_the_number_of_rows_must_be_public():
    with pytest.raises(NeighboursMismatch, match="public number of rows"):
        QueryGame(**{**PUBLIC, "neighbours": AddRemove("row")}, density=4)


def test_data_must_fit():
    game = QueryGame(**PUBLIC, density=4)
    book = book_of(COIN, PUBLIC["caps"], {"a": [HEADS]})
    with pytest.raises(InvalidParameter, match="rows"):
        game.release(QueriesAndData(Histogram.dense(COIN, [4, 7]), book))
    with pytest.raises(InvalidParameter, match="caps"):
        game.release(QueriesAndData(Histogram.dense(COIN, [4, 6]), book_of(COIN, Caps(2, 3), {"a": []})))
    with pytest.raises(InvalidParameter, match="QueriesAndData"):
        game.release([4, 6])


def test_rounds_and_density_are_balanced_where_left_out():
    game = QueryGame(**{**PUBLIC, "rounds": None})
    assert game.rounds >= 2 and game.density == 2
    with pytest.raises(NoBound, match="no error is above 10"):
        game.error(0.05)


def test_drawing_a_cell_never_reads_the_data():
    class Watch(type(unsafe_seeded(1))):
        def __init__(self):
            super().__init__(5)
            self.seen = []

        def perform(self, primitive, value):
            if isinstance(primitive, CellChoice):
                self.seen.append((primitive.sensitivity, tuple(value.scores.tolist())))
                return 1
            return 0

    book, seen = book_of(COIN, PUBLIC["caps"], {"a": [HEADS]}), []
    for counts in ([0, 10], [5, 5]):
        rng = Watch()
        QueryGame(**PUBLIC, density=4).release(QueriesAndData(Histogram.dense(COIN, counts), book), rng=rng)
        seen.append(rng.seen)
    assert seen[0] == seen[1] and {moved for moved, _ in seen[0]} == {0}


def test_leftovers_mend_what_the_synopsis_gets_wrong():
    # 10,000 rows all heads, 4 rounds: the synopsis is far off, and a budget of 400 finds and mends it.
    caps = Caps(2, 2)
    game = QueryGame(
        **{**PUBLIC, "caps": caps, "rows": 10_000, "epsilon": 400, "rounds": 4}, density=4, leftovers=2
    )
    book = book_of(COIN, caps, {"a": [HEADS, TAILS], "b": []})
    shared_off, mended = [], []
    for seed in range(10):
        made = game.release(
            QueriesAndData(Histogram.dense(COIN, [0, 10_000]), book), rng=unsafe_seeded(seed)
        ).value
        shared_off.append(10_000 - made.shared.answer(HEADS))
        answers = made.answers("a", book)
        mended.append(max(10_000 - answers[0], answers[1]))
        assert made.leftovers("b") == ()
    assert max(shared_off) >= 2500, "three heads of four at most"
    assert max(mended) <= 200


@pytest.mark.parametrize(
    ("kind", "card", "epsilon", "density"),
    [(QueryGame, query_game.CARD, 60, 96), (AnalystGame, analyst_game.CARD, 5000, 2)],
)
def test_the_error_is_kept_by_most_queries(kind, card, epsilon, density):
    # Provable for all but `density` sides. Here every query keeps it, but not a twentieth of it.
    asked = card.example()[1]
    game = kind(
        universe=asked.book.universe,
        caps=asked.book.caps,
        rows=2000,
        epsilon=epsilon,
        delta=1e-2,
        analyst_epsilon=epsilon,
        analyst_delta=1e-2,
        rounds=600,
        density=density,
        neighbours=Replace("row"),
    )
    bound = game.error(0.01)
    made = game.release(asked, rng=unsafe_seeded(1)).value.shared
    off = [abs(made.answer(query) - query.evaluate(asked.histogram)) for _, query in asked.book.items()]
    assert bound < 2000, "the statement says something"
    assert bound / 20 < max(off) <= bound


@pytest.mark.parametrize("card", [query_game.CARD, analyst_game.CARD], ids=str)
def test_cards_fill_their_examples(card):
    mechanism, asked = card.example()
    assert mechanism.release(asked, rng=unsafe_seeded(2)).value.shared.total == pytest.approx(2000)


def test_no_more_leftovers_than_the_cutoff():
    caps = Caps(2, 2)
    game = QueryGame(
        **{**PUBLIC, "caps": caps, "rows": 10_000, "epsilon": 400, "rounds": 4}, density=4, leftovers=1
    )
    asked = QueriesAndData(Histogram.dense(COIN, [0, 10_000]), book_of(COIN, caps, {"a": [HEADS, TAILS]}))
    found = [len(game.release(asked, rng=unsafe_seeded(s)).value.leftovers("a")) for s in range(5)]
    assert max(found) == 1
    assert game.bought.epsilon(game.delta) == 400


def test_changing_one_query_moves_the_strategy_by_no_more_than_sigma():
    """For every density: what the others' rounds are touched by. Half of it would be false."""
    generator, closest = np.random.default_rng(6), 0.0  # noqa: TID251
    for _ in range(2000):
        places = int(generator.integers(2, 10))
        density = int(generator.integers(1, 2 * places))
        field = GameSizes(rows=10, cells=2, groups=2 * places, members=1, changed=2, draws=1)
        one = generator.normal(size=places) * generator.choice([0.1, 1, 4])
        two = np.append(generator.normal() * 4, one[1:])
        left, right = (cap_project(np.append(scores, -scores), density) for scores in (one, two))
        moved = float(np.abs(left - right).sum() / 2)
        assert moved <= float(field.sigma(density)) + 1e-12
        closest = max(closest, moved / float(field.sigma(density)))
    assert closest > 0.8
