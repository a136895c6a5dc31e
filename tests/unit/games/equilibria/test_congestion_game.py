"""Congestion games: equilibria by hand and at scale, what following costs, what lies gain, odd reports."""

import itertools
import math

import numpy as np
import pytest

from discreet import audit
from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import AddRemove, Bidder
from discreet.games import CongestionGame, Network, Routes, Traffic
from discreet.testing import unsafe_seeded

BRAESS = Network(
    roads=[("s", "a"), ("s", "b"), ("a", "t"), ("b", "t"), ("a", "b")],
    latencies=[[0, 1], [1], [1], [0, 1], [0]],
    trips=[("s", "t"), ("s", "a")],
    longest=3,
)


def make(ways, **changes):
    given = {"players": 50_000, "rounds": 60, "epsilon": 1, "delta": 1e-6, "neighbours": Bidder()} | changes
    return CongestionGame(ways=ways, **given)


def lanes(size, **changes):
    given = {"latencies": [[0, 1]] * size, "types": ["any"], "costs": [[0] * size]} | changes
    return Routes(**given)


class TestEquilibria:
    def test_equal_roads_are_shared_equally(self):
        game = make(lanes(4))
        outcome = game.run(["any"] * 50_000, rng=unsafe_seeded(1))
        assert outcome.decision.shares == pytest.approx([0.25] * 4, abs=0.02)
        told = np.bincount(outcome.signals, minlength=4) / 50_000
        assert told == pytest.approx([0.25] * 4, abs=0.03)

    def test_pigou(self):
        # One road always costs 1/2, the other its share: half of all take each, and nobody gains.
        roads = lanes(2, latencies=[[0.5], [0, 1]])
        outcome = make(roads).run(["any"] * 50_000, rng=unsafe_seeded(2))
        assert np.bincount(outcome.signals) / 50_000 == pytest.approx([0.5, 0.5], abs=0.05)

    def test_braess(self):
        # All go s-a-b-t at cost 2, though half on either side would pay 1.5.
        game = make(BRAESS)
        outcome = game.run([("s", "t")] * 50_000, rng=unsafe_seeded(3))
        assert sum(signal == (0, 4, 3) for signal in outcome.signals) > 49_000
        assert game.regrets([("s", "t")] * 50_000, outcome.signals).mean() < 0.02

    def test_types_go_where_they_can_and_want(self):
        roads = lanes(3, types="abc", costs=[[0, 5, 5], [None, 0, 0], [0, None, 0]])
        game = make(roads, players=3000)
        kinds = list("abc") * 1000
        outcome = game.run(kinds, rng=unsafe_seeded(4))
        told = {kind: set(outcome.signals[place::3]) for place, kind in enumerate("abc")}
        assert told["a"] == {0}
        assert 0 not in told["b"]
        assert 1 not in told["c"]
        assert game.regrets(kinds, outcome.signals).mean() <= game.error(0.01)

    def test_without_noise_the_steps_are_frank_wolfe_on_the_potential(self):
        # A budget beyond all bounds leaves no noise worth the name: the published counts are those by hand.
        game = make(
            lanes(3, latencies=[[0, 1], [0.2, 1], [0.3, 0, 1]]), players=10**6, epsilon=10**7, rounds=200
        )
        decision = game._decide(game._read(["any"] * 10**6), unsafe_seeded(5))
        mean = np.zeros(3)
        for turn, row in enumerate(decision.counts):
            costs = np.array([mean[0], 0.2 + mean[1], 0.3 + mean[2] ** 2])
            wanted = np.zeros(3)
            wanted[costs.argmin()] = 10**6
            assert np.abs(np.array(row) - wanted).max() < 100
            mean += 2 / (turn + 2) * (np.array(row) / 10**6 - mean)
        costs = game.ways.latencies.costs(mean)
        assert costs @ mean - costs.min() < 1e-2


class TestBounds:
    @pytest.mark.parametrize("players", [2_000, 20_000])
    def test_mean_regrets_keep_to_the_error(self, players):
        generator = np.random.default_rng(players)  # noqa: TID251
        roads = Routes(
            latencies=[[a, b, c] for a, b, c in generator.random((6, 3)).round(2)],
            routes=[[0], [1], [2, 3], [3, 4], [5], [0, 5]],
            types=range(5),
            costs=generator.random((5, 6)).round(2),
        )
        game = make(roads, players=players, rounds=300, epsilon=4)
        kinds = generator.integers(0, 5, players).tolist()
        for seed in range(3):
            outcome = game.run(kinds, rng=unsafe_seeded(seed))
            assert game.regrets(kinds, outcome.signals).mean() <= game.error(0.001)

    def test_the_error_falls_with_players_and_rounds(self):
        errors = [make(lanes(3), players=n, rounds=3200).error(0.05) for n in (10**4, 10**5, 10**6)]
        assert errors[0] / errors[1] > 3
        assert errors[0] > errors[1] > errors[2]
        assert make(lanes(3), rounds=800).error(0.05) < make(lanes(3), rounds=100).error(0.05)

    def test_few_players_have_no_bound(self):
        with pytest.raises(NoBound):
            make(lanes(3), players=20).error(0.05)

    def test_noise_of_the_mean_does_not_grow_with_the_rounds(self):
        spread = []
        for rounds in (20, 320):
            game = make(lanes(2), players=1000, rounds=rounds)
            noise = math.sqrt(float(game.variance))
            weights = np.arange(1, rounds + 1) / (rounds * (rounds + 1) / 2)
            spread.append(noise * math.sqrt(float((weights**2).sum())))
        assert spread[0] == pytest.approx(spread[1], rel=0.05)

    def test_the_budget_is_kept_by_all_rounds_together(self):
        for ways, rounds in ((lanes(2), 1), (lanes(5), 70), (BRAESS, 300)):
            game = make(ways, rounds=rounds)
            assert game.guarantee.implies(epsilon=1, delta=1e-6)
            assert not game.guarantee.implies(epsilon=0.99, delta=1e-6)

    def test_largeness_and_span(self):
        game = make(lanes(2, latencies=[[0, 2], [1, 0, 3]]), players=100)
        assert game.largeness == pytest.approx(6 / 100)
        assert game.ways.span == pytest.approx(2)  # 0 on empty roads, 2 on full ones
        assert game.truthfulness == pytest.approx(2 * game.guarantee.truthfulness)

    def test_regret_is_told_from_what_is_published_alone(self):
        game = make(lanes(2, latencies=[[0.5], [0, 1]]), players=1000, rounds=2)
        # First all take road 1, which is empty; then road 0, which is cheaper at 1/2.
        decision = Traffic(((0, 1000), (1000, 0)), 2, 1000)
        assert decision.shares == pytest.approx([2 / 3, 1 / 3])
        assert game.regret("any", decision) == pytest.approx(2 / 3 * (0.5 - 1 / 3))
        with pytest.raises(InvalidParameter):
            game.regret("other", decision)


def test_no_lie_gains_more_than_is_said_in_any_profile():
    home = Routes(latencies=[[0, 1]], routes=[[0], []], types=["g", "s"], costs=[[0, 0.5], [0.5, 0]])
    game = CongestionGame(ways=home, players=2, rounds=2, epsilon=6, delta=0.01, neighbours=Bidder())
    assert game.misreport_gain(types=["g", "s"], players=2).gain <= game.truthfulness < game.ways.span


class TestNetworks:
    def test_paths_are_the_cheapest_by_trying_all(self):
        generator = np.random.default_rng(11)  # noqa: TID251
        for longest in (1, 2, 3, 5):
            roads = [
                (a, b)
                for a in range(5)
                for b in range(5)
                if a != b and (b == (a + 1) % 5 or (a * b) % 3 == 1)
            ]
            direct = [road for road in roads]
            trips = direct if longest < 4 else [(a, b) for a in range(5) for b in range(5) if a != b]
            net = Network(roads=roads, latencies=[[1]] * len(roads), trips=trips, longest=longest)
            known = {road: place for place, road in enumerate(net.roads)}
            for _ in range(5):
                costs = generator.random(len(roads))
                answers = net.respond(costs)
                for kind, (start, end) in enumerate(net.types):
                    best = min(
                        sum(costs[known[pair]] for pair in itertools.pairwise(path))
                        for size in range(longest)
                        for middle in itertools.permutations(set(range(5)) - {start, end}, size)
                        for path in [(start, *middle, end)]
                        if all(pair in known for pair in itertools.pairwise(path))
                    )
                    way = net.name(answers, kind)
                    assert len(way) <= longest
                    assert [net.roads[way[0]][0], net.roads[way[-1]][1]] == [start, end]
                    assert all(net.roads[a][1] == net.roads[b][0] for a, b in itertools.pairwise(way))
                    assert net.price(costs, kind, way) == pytest.approx(best)
                    assert net.cheapest(costs)[kind] == pytest.approx(best)
                    assert sorted(way) == np.flatnonzero(answers.used[kind]).tolist()

    def test_one_report_moves_the_counts_by_no_more_than_is_said(self):
        apart = Network(
            roads=[(1, 2), (2, 3), (4, 5), (5, 6)],
            latencies=[[1]] * 4,
            trips=[(1, 3), (4, 6)],
            longest=2,
        )
        forced = lanes(3, routes=[[0], [1, 2], []], types=["a", "b"], costs=[[0, 9, 9], [9, 0, 9]])
        for ways in (BRAESS, apart, forced):
            people = np.eye(len(ways.types), dtype=np.int64)
            seen = 0
            for costs in itertools.product((0, 0.4, 1), repeat=len(ways.latencies)):
                answers = ways.respond(np.array(costs, dtype=float))
                loads = [np.zeros(len(ways.latencies)), *(ways.count_users(answers, one) for one in people)]
                for one, other in itertools.combinations(loads, 2):
                    assert one.max() <= 1
                    assert ((one - other) ** 2).sum() <= ways.square_shift
                    seen = max(seen, ((one - other) ** 2).sum())
            assert seen >= (2 if ways is BRAESS else ways.square_shift)

    def test_a_replay_moves_by_no_more_than_one_answer_a_round(self):
        kinds = [("s", "t")] * 30
        game = make(BRAESS, players=30, rounds=15)
        report = audit.replay(game, (kinds, [*kinds[:-1], ("s", "a")]), rng=unsafe_seeded(7))
        assert report.holds
        assert report.total > 0


def test_odd_reports_are_counted_nowhere_and_told_nothing():
    game = make(lanes(2), players=4, rounds=3)
    for odd in (None, "eve", 7, math.nan, [], {}, object()):
        outcome = game.run(["any", odd, "any", "any"], rng=unsafe_seeded(1))
        assert outcome.signals[1] is None
        assert game.regrets(["any", odd, "any", "any"], outcome.signals)[1] == 0
    assert "4 players" in repr(outcome)


def test_what_is_wrong_is_refused():
    with pytest.raises(InvalidParameter, match="Routes or a Network"):
        make(object())
    for changes in ({"players": 0}, {"rounds": 0}, {"rounds": 1 << 20}, {"players": 1 << 50}, {"delta": 0}):
        with pytest.raises(InvalidParameter):
            make(lanes(2), **changes)
    with pytest.raises(ValueError, match="one player's report"):
        make(lanes(2), neighbours=AddRemove())
    for reports in (["any"] * 3, "any", 5, None):
        with pytest.raises(InvalidParameter):
            make(lanes(2), players=4).release(reports)
    for changes in (
        {"latencies": []},
        {"latencies": [[]] * 2},
        {"latencies": [[1, -1], [0]]},
        {"latencies": [[math.inf], [0]]},
        {"latencies": [[0] * 14] * 2},
        {"routes": [[0], [0, 0]]},
        {"routes": [[0], [2]]},
        {"routes": []},
        {"types": ["any", "any"]},
        {"types": []},
        {"costs": [[0]]},
        {"costs": [[None, None]]},
        {"costs": [[0, -1]]},
        {"costs": [[0, 1e300]]},
    ):
        with pytest.raises(InvalidParameter):
            lanes(2, **changes)
    net = {"roads": [(1, 2), (2, 3)], "latencies": [[1]] * 2, "trips": [(1, 3)], "longest": 2}
    for changes in (
        {"longest": 1},
        {"trips": [(3, 1)]},
        {"trips": [(1, 1)]},
        {"roads": [(1, 2)]},
        {"trips": [(1, 9)]},
    ):
        with pytest.raises(InvalidParameter):
            Network(**net | changes)


def test_ways_are_values():
    assert lanes(2) == lanes(2) != lanes(3)
    assert hash(lanes(2)) == hash(lanes(2))
    assert lanes(2) != lanes(2, costs=[[0, 1]])
    assert lanes(2) != lanes(2, latencies=[[0, 1], [0, 2]])
    assert BRAESS != lanes(2)
    assert "2 resources" in repr(lanes(2))
    with pytest.raises(AttributeError):
        BRAESS.longest = 1
    with pytest.raises(ValueError, match="read-only"):
        lanes(2).latencies.table[0, 0] = 1
