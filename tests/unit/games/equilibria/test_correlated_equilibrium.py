"""Mediators for a crowd: gains by hand, stationary chances, the beach and the mountains, who stays away."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet import audit
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import Bidder
from discreet.core.parameters import frozen
from discreet.games import AnonymousGame, CorrelatedEquilibrium, Mediation, search_misreport
from discreet.games.equilibria.learning_types import LearningTypes
from discreet.testing import unsafe_seeded

BEACH = AnonymousGame(
    types=["beach", "mountain"],
    actions=["beach", "mountain"],
    payoffs=[[[1, 0], [0, 0.5]], [[0.5, 0], [0, 1]]],
)
AGAINST = ["actions", "rules"]


def make(**changes):
    given = {
        "game": BEACH,
        "players": 5000,
        "rounds": 200,
        "against": "rules",
        "epsilon": 1,
        "delta": 1e-6,
        "neighbours": Bidder(),
    }
    return CorrelatedEquilibrium(**given | changes)


def by_lot(seed, kinds=3, size=4):
    payoffs = np.random.default_rng(seed).random((kinds, size, size))  # noqa: TID251
    return AnonymousGame(types=range(kinds), actions=range(size), payoffs=payoffs)


def gain_by_hand(game, people, rounds, rules):
    """Return the best gain over all types and all deviations, by trying every one of them."""
    size, kinds = len(game.actions), len(game.types)
    best = -math.inf
    deviations = (
        itertools.product(range(size), repeat=size) if rules else [(action,) * size for action in range(size)]
    )
    for kind, rule in itertools.product(range(kinds), deviations):
        total = 0.0
        for chances in rounds:
            crowd = sum(people[k] * chances[k] for k in range(kinds)) / sum(people)
            worth = game.payoffs[kind] @ crowd
            total += sum(chances[kind][a] * (worth[rule[a]] - worth[a]) for a in range(size))
        best = max(best, total / len(rounds))
    return best


@pytest.mark.parametrize("against", AGAINST)
class TestGains:
    def test_gains_are_those_of_the_definition(self, against):
        game = by_lot(1)
        mediator = make(game=game, players=30, rounds=12, against=against)
        reports = [0] * 5 + [1] * 10 + [2] * 15
        mediation = mediator.release(reports, rng=unsafe_seeded(1)).value
        rounds = [weights / mediator.units for weights in mediator.chances(mediation)]
        by_hand = gain_by_hand(game, [5, 10, 15], rounds, against == "rules")
        assert mediator.gain(reports, mediation) == pytest.approx(by_hand)

    def test_gains_keep_to_the_error(self, against):
        for seed in range(4):
            mediator = make(game=by_lot(seed), players=20_000, rounds=300, against=against, epsilon=4)
            reports = np.arange(20_000) % 3
            mediation = mediator.release(reports.tolist(), rng=unsafe_seeded(seed)).value
            assert mediator.gain(reports.tolist(), mediation) <= mediator.error(0.001) < 0.3

    def test_the_error_falls_with_players_and_rounds(self, against):
        few, many = (make(players=n, rounds=n // 10, against=against).error(0.05) for n in (2000, 100_000))
        assert few / many > math.sqrt(10)

    def test_few_players_have_no_bound(self, against):
        with pytest.raises(NoBound):
            make(players=5, against=against).error(0.05)
        with pytest.raises(NoBound):
            make(players=5, against=against).opting_out(0.05)


def test_those_who_chase_each_other_gain_by_no_deviation():
    # Stone, paper and scissors against the crowd: one type wants what beats it, the other what loses.
    payoffs = [[[0.5, 0, 1], [1, 0.5, 0], [0, 1, 0.5]], [[0.5, 1, 0], [0, 0.5, 1], [1, 0, 0.5]]]
    game = AnonymousGame(types="ab", actions="spc", payoffs=payoffs)
    for against in AGAINST:
        mediator = make(game=game, players=20_000, rounds=500, against=against, epsilon=10)
        reports = ["a", "b"] * 10_000
        mediation = mediator.release(reports, rng=unsafe_seeded(2)).value
        assert mediator.gain(reports, mediation) <= mediator.error(0.001)


def test_chances_are_stationary():
    game = by_lot(5, kinds=2, size=3)
    learning = LearningTypes(game, rate=0.7, rules=True, units=1000)
    for turn in range(20):
        learning.learn(np.eye(3)[turn % 3])
        rows = np.exp(0.7 * learning.scores)
        rows /= rows.sum(axis=2, keepdims=True)
        for kind in range(2):
            assert learning.chances[kind] @ rows[kind] == pytest.approx(learning.chances[kind], abs=1e-12)
    weights = learning.weights()
    assert (weights.sum(axis=1) == 1000).all()
    assert weights.min() >= 0
    assert np.abs(weights / 1000 - learning.chances).max() <= 3 / 1000


class TestTheBeachAndTheMountains:
    def test_the_larger_half_decides_and_nobody_goes_alone(self):
        mediator = make(players=10_000, rounds=400)
        for many, place in ((8_000, "mountain"), (2_000, "beach")):
            reports = ["mountain"] * many + ["beach"] * (10_000 - many)
            outcome = mediator.run(reports, rng=unsafe_seeded(3))
            assert outcome.signals.count(place) > 7_500
            assert mediator.gain(reports, outcome.decision) <= mediator.error(0.001)

    def test_one_report_hardly_turns_anybody(self):
        mediator = make(players=10_001, rounds=200)
        town = ["mountain"] * 5_001 + ["beach"] * 5_000
        first, other = (mediator.run(given, rng=unsafe_seeded(4)) for given in (town, ["beach", *town[1:]]))
        changed = sum(a != b for a, b in zip(first.signals[1:], other.signals[1:], strict=True))
        assert changed < 200

    @pytest.mark.parametrize("against", AGAINST)
    def test_nobody_gains_by_staying_away(self, against):
        mediator = make(players=10_000, rounds=100, against=against, epsilon=Fraction(1, 4))
        for many, player in ((6_000, 9_999), (5_000, 0)):
            town = ["mountain"] * many + ["beach"] * (10_000 - many)
            assert gain_by_staying_away(mediator, town, player) <= mediator.opting_out(0.01) < 0.18


def gain_by_staying_away(mediator, reports, player):
    """Return what is gained by reporting nothing and doing what seems best then, in the mean of runs."""
    worth = []
    for given in (reports, [*reports[:player], None, *reports[player + 1 :]]):
        runs = [mediator.run(given, rng=unsafe_seeded(seed)) for seed in range(2)]
        worth.append(np.mean([mediator.utility(reports[player], run, player) for run in runs]))
    return worth[1] - worth[0]


@frozen
class TellsTheOther(CorrelatedEquilibrium):
    """Tells everybody to do what is not for them."""

    def _settle(self, read, decision, rng):
        paid, told = CorrelatedEquilibrium._settle(self, read, decision, rng)
        first, second = self.game.actions
        return paid, [None if action is None else second if action == first else first for action in told]


def test_who_stays_away_from_bad_advice_gains():
    easy = AnonymousGame(types=["any"], actions=["good", "bad"], payoffs=[[[1, 1], [0, 0]]])
    for kind, gains in ((CorrelatedEquilibrium, False), (TellsTheOther, True)):
        given = {"players": 1000, "rounds": 100, "against": "actions", "epsilon": 1, "delta": 1e-6}
        mediator = kind(game=easy, neighbours=Bidder(), **given)
        gained = gain_by_staying_away(mediator, ["any"] * 1000, 3)
        assert (gained > mediator.opting_out(0.01)) == gains


def lie_by_hand(game, rounds, crowds):
    """Return the best gain over all types, lies and rules against crowds, by trying every one of them."""
    size, kinds, best = len(game.actions), len(game.types), 0.0
    rules = [*itertools.product(range(size), repeat=size)]
    for kind, lie, rule in itertools.product(range(kinds), range(kinds), rules):
        total = 0.0
        for chances, crowd in zip(rounds, crowds, strict=True):
            worth = game.payoffs[kind] @ crowd
            total += sum(chances[lie][a] * worth[rule[a]] - chances[kind][a] * worth[a] for a in range(size))
        best = max(best, total / len(rounds))
    return best


class TestLies:
    @pytest.mark.parametrize("against", AGAINST)
    def test_what_lies_gain_is_told_from_what_is_published(self, against):
        for seed in range(3):
            mediator = make(game=by_lot(seed, size=3), players=20_000, rounds=200, against=against, epsilon=1)
            reports = (np.arange(20_000) % 3).tolist()
            mediation = mediator.release(reports, rng=unsafe_seeded(seed)).value
            rounds = [weights / mediator.units for weights in mediator.chances(mediation)]
            people = np.array([6667, 6667, 6666]) / 20_000
            gained = lie_by_hand(mediator.game, rounds, [people @ chances for chances in rounds])
            assert gained + mediator.guarantee.truthfulness <= mediator.lying(mediation, beta=0.001) < 0.15

    @pytest.mark.parametrize("against", AGAINST)
    @pytest.mark.parametrize("seed", [4, 75, 87])  # of the last two the best advice is another type's
    def test_it_is_the_best_lie_against_what_was_published(self, against, seed):
        """Among so many players noise and the own weight are nothing."""
        mediator = make(game=by_lot(seed, size=3), players=10**9, rounds=8, against=against)
        crowds = np.random.default_rng(seed + 1000).dirichlet(np.full(3, 0.1), 8)  # noqa: TID251
        counts = np.rint(crowds * mediator.players * mediator.units).astype(int)
        mediation = Mediation(tuple(map(tuple, counts.tolist())), mediator.players, mediator.units)
        rounds = [weights / mediator.units for weights in mediator.chances(mediation)]
        besides = mediator.guarantee.truthfulness + 0.01
        by_hand = lie_by_hand(mediator.game, rounds, crowds)
        assert mediator.lying(mediation, beta=0.01) == pytest.approx(by_hand + besides, abs=1e-5)
        assert by_hand > 0.05

    def test_where_all_go_to_one_place_a_lie_is_worth_little(self):
        mediator = make(players=10_000, rounds=400, epsilon=Fraction(1, 4))
        town = ["mountain"] * 6_000 + ["beach"] * 4_000
        mediation = mediator.release(town, rng=unsafe_seeded(3)).value
        bound = mediator.lying(mediation, beta=0.01)
        found = search_misreport(
            mediator,
            reports=town,
            players=[0, 9_999],
            lies=["beach", "mountain"],
            worth=mediator.utility,
            runs=2,
            randomness=unsafe_seeded,
        )
        assert found.gain <= bound < 0.2


def test_promises():
    mediator = make()
    assert mediator.guarantee.implies(epsilon=1, delta=1e-6)
    assert not mediator.guarantee.implies(epsilon=0.99, delta=1e-6)
    assert mediator.joint_guarantee.loss == mediator.loss
    assert mediator.truthfulness == 1
    assert mediator.largeness == pytest.approx(1 / 5000)
    report = audit.replay(mediator, (["beach"] * 5000, ["mountain", *["beach"] * 4999]), rng=unsafe_seeded(5))
    assert report.holds
    assert report.total > 0


def test_odd_reports_are_counted_nowhere_and_told_nothing():
    mediator = make(players=3, rounds=4)
    for odd in (None, "eve", 7, math.nan, [], {}, object()):
        outcome = mediator.run(["beach", odd, "mountain"], rng=unsafe_seeded(1))
        assert outcome.signals[1] is None
        assert None not in (outcome.signals[0], outcome.signals[2])
    assert "4 rounds" in repr(outcome)
    nobody = [None] * 3
    assert mediator.gain(nobody, mediator.release(nobody, rng=unsafe_seeded(1)).value) == 0
    assert Mediation(((3, 1), (1, 3)), 2, 2).shares.tolist() == [0.5, 0.5]


def test_what_is_wrong_is_refused():
    for changes in (
        {"rounds": 0},
        {"players": 0},
        {"units": 0},
        {"units": 1 << 40},
        {"against": "lies"},
        {"game": 1},
    ):
        with pytest.raises(InvalidParameter):
            make(**changes)
    for changes in (
        {"payoffs": [[1, 0], [0, 1]]},
        {"payoffs": [[[1, 0], [0, 2]], [[0, 0], [0, 0]]]},
        {"payoffs": [[[1, 0], [0, math.nan]], [[0, 0], [0, 0]]]},
        {"payoffs": "much"},
        {"types": ["a", "a"]},
        {"actions": []},
    ):
        given = {"types": "ab", "actions": "xy", "payoffs": BEACH.payoffs} | changes
        with pytest.raises(InvalidParameter):
            AnonymousGame(**given)
    for reports in (["beach"], "beach", 3, None):
        with pytest.raises(InvalidParameter):
            make(players=2).release(reports)


def test_games_are_values():
    assert by_lot(1) == by_lot(1) != by_lot(2)
    assert hash(by_lot(1)) == hash(by_lot(1))
    assert "3 types, 4 actions" in repr(by_lot(1))
    with pytest.raises(AttributeError):
        BEACH.types = ()
