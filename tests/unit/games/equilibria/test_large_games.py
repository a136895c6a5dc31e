"""Equilibrium selection in large games: what the book says of rates, and games in which it counts who."""

import itertools
import math

import numpy as np
import pytest

from discreet import audit
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import Bidder
from discreet.games import AnonymousGame, CorrelatedEquilibrium, LargeGame
from discreet.testing import unsafe_seeded

TASTE = {"types": ["beach", "mountain"], "actions": ["beach", "mountain"]}
TASTE["payoffs"] = [[[1, 0], [0, 0.5]], [[0.5, 0], [0, 1]]]


def balance(alpha, players):
    """Return the epsilon that makes 2 epsilon + alpha smallest, and the smallest sum, by a fine search."""
    tried = [math.exp(-step / 2000) for step in range(24_000)]
    return min(((2 * epsilon + alpha(epsilon, players)), epsilon) for epsilon in tried)[::-1]


def slopes(alpha):
    """Return how fast the best epsilon and the best sum fall with the players, as powers of them."""
    (few, least), (many, best) = (balance(alpha, players) for players in (10**6, 10**8))
    return math.log(many / few, 100), math.log(best / least, 100)


def test_section_10_2_2_the_rate_and_the_epsilon_do_not_belong_together():
    printed = slopes(lambda epsilon, n: 1 / math.sqrt(n * epsilon))
    assert printed == pytest.approx((-1 / 3, -1 / 3), abs=1e-3)
    meant = slopes(lambda epsilon, n: 1 / (epsilon * math.sqrt(n)))
    assert meant == pytest.approx((-1 / 4, -1 / 4), abs=1e-3)
    # At the printed epsilon the two terms are of different orders: alpha is n^(-3/8).
    assert 1 / math.sqrt(10**8 * 0.01) == pytest.approx((10**8) ** (-3 / 8))


def send(reports):
    """Send everybody to the beach if beach types are fewer than half, and to the mountains otherwise."""
    return "beach" if reports.count("beach") < len(reports) / 2 else "mountain"


def enjoy(kind, place):
    """Return the payoff of Section 10.2.2 for a type where everybody is at one place: p is 1 or 0."""
    p = 1 if place == "beach" else 0
    payoffs = {"beach": (10 * p, 5 * (1 - p)), "mountain": (5 * p, 10 * (1 - p))}
    return payoffs[kind][0 if place == "beach" else 1]


def test_section_10_2_2_without_privacy_one_mountain_type_turns_everybody_round():
    town = ["mountain"] * 6 + ["beach"] * 5
    assert enjoy("mountain", send(town)) == 5
    assert enjoy("mountain", send(["beach", *town[1:]])) == 10


def make(game, **changes):
    given = {"rounds": 40, "against": "rules", "epsilon": 1, "delta": 1e-6, "neighbours": Bidder()}
    given["players"] = game.watches.size if isinstance(game, LargeGame) else 60
    return CorrelatedEquilibrium(game=game, **given | changes)


def everybody(size, **changes):
    """Return a game in which everybody watches all others, each a crowd of one's own."""
    weights = 1 - np.eye(size, dtype=np.int64)
    return LargeGame(**TASTE | {"weights": weights, "watches": range(size)} | changes)


def on_a_ring(size, reach):
    """Return a game in which everybody watches so many people to the left and to the right."""
    apart = np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    near = np.minimum(apart, size - apart)
    return LargeGame(**TASTE, weights=((near > 0) & (near <= reach)).astype(int), watches=range(size))


def by_lot(seed, players, crowds):
    """Return a game of three types and actions with weights, watches and payoffs by lot, and reports."""
    draw = np.random.default_rng(seed)  # noqa: TID251
    game = LargeGame(
        types=range(3),
        actions=range(3),
        payoffs=draw.random((3, 3, 3)),
        weights=draw.integers(0, 5, (crowds, players)),
        watches=draw.integers(0, crowds, players).tolist(),
    )
    return game, draw.integers(0, 3, players).tolist()


@pytest.mark.parametrize("against", ["actions", "rules"])
def test_gains_are_those_of_the_definition_player_by_player(against):
    game, reports = by_lot(1, players=12, crowds=4)
    mediator = make(game, rounds=9, against=against)
    mediation = mediator.release(reports, rng=unsafe_seeded(1)).value
    rows, best = [crowd * 3 + kind for crowd, kind in zip(game.watches, reports, strict=True)], -math.inf
    heaviest = max(sum(row) for row in game.weights.tolist())
    constant = [(action,) * 3 for action in range(3)]
    rules = [*itertools.product(range(3), repeat=3)] if against == "rules" else constant
    for rule, player in itertools.product(rules, range(12)):
        total = 0.0
        for chances in mediator.chances(mediation):
            play = [chances[row] / mediator.units for row in rows]
            seen = game.weights[game.watches[player]]
            crowd = sum(w * p for w, p in zip(seen, play, strict=True)) / heaviest
            worth = game.payoffs[reports[player]] @ crowd
            total += sum(play[player][told] * (worth[rule[told]] - worth[told]) for told in range(3))
        best = max(best, total / mediator.rounds)
    assert mediator.gain(reports, mediation) == pytest.approx(best)


def test_one_crowd_of_all_is_an_anonymous_game():
    alike = AnonymousGame(**TASTE)
    one = LargeGame(**TASTE, weights=np.ones((1, 60), dtype=int), watches=[0] * 60)
    reports = ["beach"] * 20 + ["mountain"] * 39 + [None]
    runs = [make(game).run(reports, rng=unsafe_seeded(2)) for game in (one, alike)]
    assert runs[0].signals == runs[1].signals
    assert runs[0].decision == runs[1].decision
    for player in (0, 59):
        worth = [make(game).utility("beach", runs[0], player) for game in (one, alike)]
        assert worth[0] == pytest.approx(worth[1])
    large = LargeGame(**TASTE, weights=np.ones((1, 9000), dtype=int), watches=[0] * 9000)
    assert make(large).error(0.1) == make(alike, players=9000).error(0.1)


def test_what_one_player_moves_is_what_all_crowds_together_see_of_it():
    game, reports = by_lot(3, players=10, crowds=4)
    shifts = (game.weights**2).sum(axis=0)
    heaviest = int(shifts.argmax())
    assert game.square_weight == shifts.max() > shifts.min()
    for kind in (*range(3), None):
        other = [*reports[:heaviest], kind, *reports[heaviest + 1 :]]
        report = audit.replay(make(game, rounds=20), (reports, other), rng=unsafe_seeded(4))
        assert report.holds
        assert (report.total > 0) == (kind != reports[heaviest])
    # From one action alone to another alone the shift is all that was counted.
    first, last = (np.tile(np.eye(3, dtype=np.int64)[action], (12, 1)) for action in (0, 2))
    one = np.full(10, -1)
    one[heaviest] = 0
    moved = game.collect(game.count(one), first) - game.collect(game.count(one), last)
    assert (moved**2).sum() == 2 * game.square_weight
    giants = LargeGame(**TASTE, weights=[[1 << 32, 0]] * 5, watches=[0, 1])
    assert giants.square_weight == 5 << 64


def test_general_large_games_keep_the_repaired_rate():
    """alpha = O(1 / (epsilon sqrt(n))), where all watch all: four times the players, half the gain."""
    for against in ("actions", "rules"):
        errors = [
            make(everybody(n), rounds=8000, against=against, epsilon=8).error(0.05) for n in (500, 2000)
        ]
        assert math.log(errors[0] / errors[1], 4) == pytest.approx(1 / 2, abs=0.08)
    small = [make(everybody(1000), rounds=8000, against="actions", epsilon=e).error(0.05) for e in (2, 8)]
    assert small[0] / small[1] > 2


def test_gains_keep_to_the_error_where_it_counts_who():
    game = on_a_ring(300, 140)
    reports = ["beach"] * 150 + ["mountain"] * 150
    for against in ("actions", "rules"):
        mediator = make(game, rounds=60, against=against, epsilon=12)
        outcome = mediator.run(reports, rng=unsafe_seeded(5))
        assert mediator.gain(reports, outcome.decision) <= mediator.error(0.001) < 1


def test_neighbours_agree_with_their_neighbours():
    # Those of each half like another place, and nobody weighs anything for the other half.
    halves = np.kron(np.eye(2, dtype=int), np.ones(300, dtype=int))
    game = LargeGame(**TASTE, weights=halves, watches=[0] * 300 + [1] * 300)
    reports = ["beach"] * 200 + ["mountain"] * 100 + ["mountain"] * 250 + ["beach"] * 50
    outcome = make(game, rounds=150, epsilon=2).run(reports, rng=unsafe_seeded(6))
    assert outcome.signals[:300].count("beach") > 250
    assert outcome.signals[300:].count("mountain") > 250


def test_a_game_that_is_not_large_is_told_apart():
    """Where all watch one player, that player's report is nearly told: no bound is given."""
    star = LargeGame(**TASTE, weights=[[1] + [0] * 999] * 1000, watches=range(1000))
    assert make(star).largeness == pytest.approx(1, rel=1e-9)
    assert make(everybody(1000)).largeness == pytest.approx(1 / 999, rel=1e-9)
    with pytest.raises(NoBound):
        make(star, rounds=4000, epsilon=4).error(0.05)
    assert make(everybody(1000), rounds=4000, epsilon=4).error(0.05) < 1


def test_wrong_large_games_are_refused():
    for changes in (
        {"weights": [[1, 0]]},
        {"weights": [1, 0, 1]},
        {"weights": [[1, -1, 0]]},
        {"weights": [[0.5, 0.5, 0]]},
        {"weights": [[1 << 33, 0, 0]]},
        {"weights": "heavy"},
        {"weights": [[1, 2], [1]]},
        {"watches": [0, 0]},
        {"watches": [0, 0, 1]},
    ):
        with pytest.raises(InvalidParameter):
            LargeGame(**TASTE | {"weights": [[1, 1, 1]], "watches": [0, 0, 0]} | changes)
    with pytest.raises(InvalidParameter, match="as many as watch"):
        make(everybody(4), players=5)
    assert everybody(4) == everybody(4) != everybody(5)
    assert everybody(4) != everybody(4, watches=[0, 1, 2, 2]) != AnonymousGame(**TASTE)
    assert hash(everybody(4)) == hash(everybody(4))
    assert "4 crowds, 4 players" in repr(everybody(4))
    with pytest.raises(AttributeError):
        everybody(4).watches = ()


def test_games_of_other_sizes_are_other_games():
    wide = LargeGame(**TASTE, weights=[[5, 6, 7, 8]], watches=[0] * 4)
    tall = LargeGame(**TASTE, weights=[[5, 6], [7, 8], [0, 0]], watches=[0, 0])  # the same numbers in a row
    assert wide != tall
    assert wide == LargeGame(**TASTE, weights=[[5, 6, 7, 8]], watches=[0] * 4)
