"""Private Walrasian prices: equilibria by hand and by linear programs, what is told and paid, odd reports."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet import audit
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import Bidder
from discreet.games import Market, WalrasianEquilibrium
from discreet.testing import unsafe_seeded

KINDS = ["sweet", "sour", "both"]


def stall(apples=400, pears=300, **changes):
    given = {
        "supply": {"apples": apples, "pears": pears},
        "bundles": [{"apples": 1}, {"pears": 1}, {"apples": 1, "pears": 1}],
        "types": KINDS,
        "values": [[0.9, 0.4, 0.9], [0.3, 0.8, 0.8], [0.4, 0.4, 1]],
    }
    return Market(**given | changes)


def make(market, players=1000, **changes):
    given = {"rounds": 200, "epsilon": 1, "delta": 1e-6, "neighbours": Bidder()} | changes
    return WalrasianEquilibrium(market=market, players=players, **given)


def best_welfare(market, people):
    """Return the largest welfare, by a linear program over who gets how much of which bundle."""
    kinds, bundles = market.values.shape
    values = np.where(np.isfinite(market.values), market.values, -10)
    supply = np.zeros((len(market.goods), kinds * bundles))
    once = np.zeros((kinds, kinds * bundles))
    for kind, bundle in itertools.product(range(kinds), range(bundles)):
        supply[:, kind * bundles + bundle] = market.contents[bundle]
        once[kind, kind * bundles + bundle] = 1
    solved = linprog(
        -values.ravel(), A_ub=supply, b_ub=market.supply, A_eq=once, b_eq=people, bounds=(0, None)
    )
    return -solved.fun


def allocate(market, signals):
    """Return how many of each good all were told to buy."""
    total = dict.fromkeys(market.goods, 0)
    for bundle in signals:
        for good, many in bundle:
            total[good] += many
    return np.array(list(total.values()))


def meet_needs(needs, goods):
    """Return what goods are worth that each meet one need at most, in the best way."""
    return max(
        sum(needs[need][good] for need, good in zip(order, few, strict=True))
        for size in range(len(goods) + 1)
        if size <= len(needs)
        for few in itertools.combinations(goods, size)
        for order in itertools.permutations(range(len(needs)), size)
    )


def breaks_substitutes(values, sets, generator):
    """Return a set that is wanted until another good gets dearer, or None after many trials."""
    worth = {(): 0.0, **dict(zip(sets, values, strict=True))}
    for _ in range(400):
        prices = generator.random(3) / 2
        dearer = prices.copy()
        up = int(generator.integers(3))
        dearer[up] += generator.random() / 4
        first, then = (
            max(worth, key=lambda few: worth[few] - at[list(few)].sum()) for at in (prices, dearer)
        )
        if not set(first) - {up} <= set(then):
            return first
    return None


def test_complements_are_told_from_substitutes():
    sets = [few for size in (1, 2, 3) for few in itertools.combinations(range(3), size)]
    pair = [float({0, 1} <= set(few)) for few in sets]
    assert breaks_substitutes(pair, sets, np.random.default_rng(1)) == (0, 1)  # noqa: TID251


class TestEquilibria:
    def test_one_good_costs_what_the_last_buyer_would_give(self):
        # 300 of 1000 would give 0.9, 300 more 0.5, the others 0.2. With 450 loaves the price is 0.5.
        bread = Market(
            supply={"bread": 450}, bundles=[{"bread": 1}], types="abc", values=[[0.9], [0.5], [0.2]]
        )
        game = make(bread, rounds=2000, epsilon=50)
        reports = ["a"] * 300 + ["b"] * 300 + ["c"] * 400
        outcome = game.run(reports, rng=unsafe_seeded(1))
        assert outcome.decision.prices[0] == pytest.approx(0.5, abs=0.05)
        told = [len(signal) for signal in outcome.signals]
        assert sum(told[:300]) > 290
        assert sum(told[600:]) < 20
        assert abs(sum(told) - 450) < 60

    def test_what_there_is_enough_of_costs_nothing(self):
        for plenty in (10**4, 10**9):
            outcome = make(stall(plenty, plenty), epsilon=100).run(["both"] * 1000, rng=unsafe_seeded(2))
            assert max(outcome.decision.prices) < 0.01
            assert {signal for signal in outcome.signals} == {(("apples", 1), ("pears", 1))}

    @pytest.mark.parametrize("seed", range(6))
    def test_markets_drawn_by_lot_against_linear_programs(self, seed):
        generator = np.random.default_rng(seed)  # noqa: TID251
        goods = ("x", "y", "z")
        bundles = [{"x": 1}, {"y": 2}, {"z": 1}, {"x": 1, "y": 1}, {"y": 1, "z": 2}]
        table = generator.random((4, 5)).round(3).tolist()
        market = Market(
            supply=dict(zip(goods, generator.integers(200, 3000, 3).tolist(), strict=True)),
            bundles=bundles,
            types=range(4),
            values=[[None if value < 0.1 else value for value in row] for row in table],
        )
        game = make(market, players=4000, rounds=800, epsilon=20)
        reports = generator.integers(0, 4, 4000).tolist()
        people = np.bincount(reports, minlength=4)
        decision = game.release(reports, rng=unsafe_seeded(seed)).value
        assert game.gap(reports, decision) <= game.error(0.001)
        told = game.favourites(decision)
        welfare = np.mean([people @ market.values[np.arange(4), row] for row in told])
        assert welfare >= best_welfare(market, people) - 4000 * game.error(0.001)
        # The measure is no smaller than what it is said to be of: the welfare that is missed.
        assert game.gap(reports, decision) * 4000 >= best_welfare(market, people) - welfare - 1e-6

    def test_gross_substitutes_buyers_of_several_goods(self):
        """Each type has two needs, which goods meet more or less: substitutes, of which two are wanted."""
        goods, generator = ("x", "y", "z"), np.random.default_rng(6)  # noqa: TID251
        sets = [few for size in (1, 2, 3) for few in itertools.combinations(range(3), size)]
        needs = generator.random((4, 2, 3)) / 2
        values = [[meet_needs(kind, few) for few in sets] for kind in needs]
        for kind in values:
            assert breaks_substitutes(kind, sets, generator) is None
        market = Market(
            supply={"x": 2500, "y": 1500, "z": 2000},
            bundles=[{goods[good]: 1 for good in few} for few in sets],
            types=range(4),
            values=values,
        )
        game = make(market, players=4000, rounds=4000, epsilon=20)
        decision = game.release([0, 1, 2, 3] * 1000, rng=unsafe_seeded(7)).value
        assert game.gap([0, 1, 2, 3] * 1000, decision) <= game.error(0.001) < 0.12
        told = np.array(game.favourites(decision))
        welfare = 1000 * sum(market.values[kind, told[:, kind]].mean() for kind in range(4))
        assert welfare == pytest.approx(best_welfare(market, [1000] * 4), rel=0.01)
        assert max(len(market.bundles[one]) for one in told[:, 0]) > 1

    def test_lots_stay_within_the_overshoot(self):
        game = make(stall(4000, 3000), players=10_000, rounds=500, epsilon=20)
        reports = [KINDS[player % 3] for player in range(10_000)]
        for seed in range(5):
            bought = allocate(game.market, game.run(reports, rng=unsafe_seeded(seed)).signals)
            assert (bought <= np.array([4000, 3000]) + np.array(game.overshoot(0.001))).all()


class TestPromises:
    def test_the_budget_is_kept_by_all_rounds_together(self):
        for rounds in (1, 300):
            game = make(stall(), rounds=rounds)
            assert game.guarantee.implies(epsilon=1, delta=1e-6)
            assert not game.guarantee.implies(epsilon=0.99, delta=1e-6)

    def test_one_report_moves_demand_by_no_more_than_is_said(self):
        market = stall(bundles=[{"apples": 3}, {"pears": 2}, {"apples": 1, "pears": 1}])
        found = [((a - b) ** 2).sum() for a, b in itertools.product(market.contents, repeat=2)]
        assert max(found) == market.square_shift == 13
        replayed = audit.replay(
            make(market, players=3, rounds=20), (KINDS, ["both", *KINDS[1:]]), rng=unsafe_seeded(3)
        )
        assert replayed.holds
        assert replayed.total > 0

    def test_the_error_falls_with_players(self):
        errors = [
            make(stall(n // 3, n // 4), players=n, rounds=4 * math.isqrt(n)).error(0.05)
            for n in (10**4, 10**6)
        ]
        assert errors[0] / errors[1] > 3

    def test_few_players_have_no_bound(self):
        with pytest.raises(NoBound):
            make(stall(3, 2), players=9).error(0.05)

    def test_no_lie_gains_more_than_is_said_in_any_profile(self):
        bread = Market(
            supply={"bread": 1}, bundles=[{"bread": 1}], types=["hungry", "full"], values=[[1], [0]]
        )
        game = make(bread, players=2, rounds=2, epsilon=6, delta=0.01)
        found = game.misreport_gain(types=["hungry", "full"], players=2)
        assert 0 < found.gain <= game.truthfulness


class TestWhatIsTold:
    def test_everybody_pays_the_posted_prices_of_what_is_told(self):
        game = make(stall())
        outcome = game.run([KINDS[player % 3] for player in range(1000)], rng=unsafe_seeded(4))
        prices = dict(zip(outcome.decision.goods, outcome.decision.prices, strict=True))
        for paid, bundle in zip(outcome.payments, outcome.signals, strict=True):
            assert paid == pytest.approx(sum(prices[good] * many for good, many in bundle))

    def test_regrets_are_told_from_what_is_published(self):
        game = make(stall(), epsilon=50, rounds=1000)
        reports = [KINDS[player % 3] for player in range(1000)]
        decision = game.release(reports, rng=unsafe_seeded(5)).value
        regrets = [game.regret(kind, decision) for kind in KINDS]
        assert np.mean([regrets[player % 3] for player in range(1000)]) <= game.gap(reports, decision) + 1e-9
        assert "apples: " in repr(decision)

    def test_odd_reports_buy_nothing_and_count_nowhere(self):
        game = make(stall(), players=3, rounds=3)
        for odd in (None, "eve", 7, math.nan, [], {}, object()):
            outcome = game.run(["sweet", odd, "sour"], rng=unsafe_seeded(1))
            assert (outcome.payments[1], outcome.signals[1]) == (0, ())


def test_what_is_wrong_is_refused():
    for changes in (
        {"supply": {}},
        {"supply": [1]},
        {"supply": {"apples": 0, "pears": 1}},
        {"bundles": []},
        {"bundles": [{}]},
        {"bundles": [{"plums": 1}] * 3},
        {"bundles": [{"apples": 0}] * 3},
        {"bundles": [{"apples": 1}] * 3},
        {"bundles": [{"apples": 1 << 40}, {"pears": 1}, {"pears": 2}]},
        {"types": ["a", "a", "b"]},
        {"values": [[1, 1, 1]]},
        {"values": [[1, 1, 2]] * 3},
        {"values": [[1, 1, -1]] * 3},
        {"values": [[1, 1, math.nan]] * 3},
    ):
        with pytest.raises(InvalidParameter):
            stall(**changes)
    for changes in ({"players": 0}, {"rounds": 0}, {"rounds": 1 << 20}, {"market": 1}, {"delta": 0}):
        with pytest.raises(InvalidParameter):
            make(**{"market": stall()} | changes)
    for reports in (["sweet"], "sweet", 5, None):
        with pytest.raises(InvalidParameter):
            make(stall(), players=2).release(reports)


def test_markets_are_values():
    assert stall() == stall() != stall(1, 1)
    assert hash(stall()) == hash(stall())
    assert "2 goods, 3 bundles, 3 types" in repr(stall())
    with pytest.raises(AttributeError):
        stall().goods = ()


def test_more_than_a_float_holds_is_enough_for_all():
    outcome = make(stall(apples=10**400), players=3).run(["both"] * 3, rng=unsafe_seeded(1))
    assert len(outcome.signals) == 3


def test_who_is_of_no_type_wants_nothing():
    game = make(stall(apples=1, pears=1), players=2)
    prices = game.release(["eve", None], rng=unsafe_seeded(1)).value
    assert 0 <= game.gap(["eve", None], prices) < 2
