"""Votes: the law by hand, lies, fear of being found out, and what the printed rule costs."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas
import polars
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Bidder
from discreet.games import (
    PricedVote,
    PrivateVote,
    bound_cost,
    enumerate_outcomes,
    find_misreport,
    measure_information,
    measure_outcome,
)
from discreet.games.common.misreports import list_profiles
from discreet.games.common.reports import find_reports
from discreet.testing import unsafe_seeded

SIDES = ("a", "b")
KINDS = ((0, 1), (1, 0), (0, 0))


def vote(**changes):
    return PrivateVote(**{"outcomes": SIDES, "epsilon": 1, "neighbours": Bidder()} | changes)


def priced(**changes):
    return PricedVote(**{"outcomes": SIDES, "epsilon": 6, "grid": 1, "neighbours": Bidder()} | changes)


def wins_by_hand(gap, epsilon):
    """Return Pr[gap + Lap(2 / epsilon) > 0]."""
    tail = math.exp(-epsilon / 2 * abs(gap)) / 2
    return 1 - tail if gap > 0 else tail


@pytest.mark.parametrize("epsilon", [0.3, 2])
def test_law_and_privacy_by_an_enumeration_of_its_own(epsilon):
    game, worst = vote(epsilon=epsilon), 0.0
    for votes in itertools.product((*SIDES, None), repeat=4):
        gap = votes.count("a") - votes.count("b")
        law = {outcome.decision: float(chance) for outcome, chance in enumerate_outcomes(game, votes)}
        assert law["a"] == pytest.approx(wins_by_hand(gap, epsilon), abs=1e-12)
        for other in (gap - 2, gap + 2):
            a, b = wins_by_hand(gap, epsilon), wins_by_hand(other, epsilon)
            worst = max(worst, math.log(a / b), math.log((1 - a) / (1 - b)))
    assert worst == pytest.approx(epsilon)


def test_no_vote_gains_but_the_true_one():
    assert vote().misreport_gain(types=SIDES, players=4).gain == 0


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
def test_fear_of_being_found_out_changes_no_vote_beyond_the_required_gap(epsilon):
    """Costs of both outcomes as hostile as the model allows, on all others' votes."""
    game, needed = vote(epsilon=epsilon), 0.0
    for others in itertools.product(SIDES, repeat=4):
        costs = measure_outcome(game, ("a", *others), player=0, types=list(SIDES))
        assert max(costs.values()) <= epsilon * (1 + 1e-12)
        needed = max(needed, sum(costs.values()))
    assert needed <= game.required_gap
    assert epsilon > 1 or needed > 0.8 * game.required_gap

    def truth_less_lie(gap, costs):
        laws = [enumerate_outcomes(game, (own, "a", "b")) for own in SIDES]
        moved = sum(
            sign * float(p)
            for sign, law in zip((1, -1), laws, strict=True)
            for o, p in law
            if o.decision == "a"
        )
        return moved * (gap - costs["a"] - costs["b"])

    costs = measure_outcome(game, ("a", "a", "b"), player=0, types=list(SIDES))
    assert truth_less_lie(game.required_gap * 1.001, costs) > 0
    assert truth_less_lie(sum(costs.values()) * 0.9, costs) < 0


def test_section_10_3_3_the_printed_rule_is_two_epsilon_and_can_be_lied_to():
    """Lap(1 / epsilon) on either sum of utilities: one report moves their difference by 2."""

    def wins(gap, epsilon):
        """Return Pr[gap + Lap(1 / epsilon) - Lap(1 / epsilon) > 0]."""
        x = epsilon * abs(gap)
        tail = math.exp(-x) * (1 + x / 2) / 2
        return 1 - tail if gap > 0 else tail

    losses = [math.log(wins(2 - far, 1) / wins(-far, 1)) for far in (4, 12, 400)]
    assert losses[1] == pytest.approx(1.846, abs=1e-3)
    assert losses[0] > 1.5 and losses[2] == pytest.approx(2, abs=0.01)
    # Others want a 0.2 more; the truth is (.4, .6), and to claim (0, 1) pays.
    truth, lie = wins(0.2 - 0.2, 0.1), 1 - wins(0.2 - 1, 0.1)
    assert truth == pytest.approx(0.5) and lie == pytest.approx(0.520, abs=1e-3)


def test_the_loser_wins_no_more_often_than_the_error_says():
    game = vote(epsilon=0.5)
    for beta in (0.4, 0.05, 1e-4):
        behind = int(game.error(beta))
        assert wins_by_hand(-(behind + 1), 0.5) <= beta
        assert behind == 0 or wins_by_hand(-behind, 0.5) > beta


@pytest.mark.parametrize("players", [1, 2])
def test_no_lie_gains_where_there_are_prices(players):
    game = priced(epsilon=12)
    assert game.misreport_gain(types=KINDS[:2], players=players).gain == 0


def test_truth_is_best_whatever_the_noise():
    """Path by path, which is more than in expectation."""
    game, types = priced(epsilon=20), KINDS
    for reports in itertools.product(types, repeat=2):
        honest = [game.utility(reports[0], outcome, 0) for outcome, _ in enumerate_outcomes(game, reports)]
        for lie in types:
            lied = {}
            for outcome, _ in enumerate_outcomes(game, (lie, reports[1])):
                lied.setdefault(outcome.decision, []).append(game.utility(reports[0], outcome, 0))
            assert max(map(max, lied.values())) <= max(honest)


def test_payments_are_what_the_others_lose():
    game = priced(outcomes="abc", grid=0.5)
    read = game._read([(0, 1, 0.5), (1, 0, 0), (0, 0, 0)])
    fine = (np.array([4, 1, 2]) * 3 + np.arange(3)).tolist()
    paid, _ = game._settle(read, (0, tuple(fine)), None)
    without = np.array(fine) - 3 * read
    assert paid == [Fraction(int(row.max() - row[0]), 6) for row in without]
    assert min(paid) >= 0 and paid[2] == 0, "who moves nothing pays nothing"


def test_fear_changes_no_report_below_the_largest():
    game = priced(epsilon=0.05, grid=0.5)
    assert game.largest_fear == pytest.approx(0.5 / 2 / 0.1)

    def lied(fear, epsilon=0.05):
        """A lie that changes the outcome loses a fine unit at least, and saves 2 epsilon of fear at most."""
        return 2 * epsilon * fear - 0.5 / 2

    assert lied(game.largest_fear) <= 1e-12


def test_a_tie_costs_the_liar_a_fine_unit():
    """Two outcomes that all want alike never tie, so that a lie that changes the outcome loses something."""
    game = priced(epsilon=12)
    read = game._read([(1, 1), (0, 0)])
    for noise in itertools.product(range(-2, 3), repeat=2):
        total = (read.sum(axis=0) + noise) * 2 + np.arange(2)
        assert total[0] != total[1]


def test_costs_of_privacy_and_the_sandwich_paradox():
    """Mutual information rewards pretending to draw by lot, which nobody can see."""
    prior = {"rye": Fraction(1, 2), "wheat": Fraction(1, 2)}
    assert measure_information(prior, lambda kind: {kind: 1}) == 1
    assert measure_information(prior, lambda _: {"rye": 0.5, "wheat": 0.5}) == 0
    sandwiches = [{kind: Fraction(1, 2) for kind in prior}, {kind: Fraction(1, 2) for kind in prior}]
    assert sandwiches[0] == sandwiches[1], "what an observer sees is the same"
    with pytest.raises(InvalidParameter, match="add up to 1"):
        measure_information({"rye": 0.4}, lambda kind: {kind: 1})
    with pytest.raises(InvalidParameter, match="outcomes must be probabilities"):
        measure_information(prior, lambda kind: {kind: 0.7})
    thirds = dict.fromkeys(range(3), 1 / 3)
    assert measure_information(thirds, lambda kind: {kind: 1}) == pytest.approx(math.log2(3))
    assert bound_cost(vote(epsilon=0.5).guarantee, value=3) == 1.5
    constant = PricedVote(outcomes="x", epsilon=1, grid=1, neighbours=Bidder())
    cost = measure_outcome(constant, [(1,)], player=0, types=[(0,), (1,)])
    assert cost == pytest.approx({"x": 0}, abs=1e-9)
    with pytest.raises(InvalidParameter):
        measure_outcome(vote(), "ab", player=2, types=list(SIDES))


def test_random_profiles_of_more_outcomes_reward_no_lie():
    game = priced(outcomes="abc", epsilon=40)
    kinds = [(0, 1, 1), (1, 0, 0), (0, 0, 1)]
    found = find_misreport(game, profiles=[*list_profiles(kinds, 1)], lies=kinds, worth=game.utility)
    assert found.gain == 0


@pytest.mark.parametrize("odd", [None, "c", 3, math.nan, ("a",), [], object(), lambda: "a"])
def test_an_odd_vote_is_none(odd):
    assert vote()._read(["a", odd, "b"]).tolist() == [0, -1, 1]
    assert vote()._read(np.array(["b", "a"])).tolist() == [1, 0]


@pytest.mark.parametrize("bad", ["ab", 3, None, {"a": 1}])
def test_no_list_is_no_vote(bad):
    with pytest.raises(InvalidParameter, match="one a player"):
        vote().release(bad)


def test_bad_parameters_are_refused():
    for bad in ("a", "abc", "aa", [object(), 1], 5):
        with pytest.raises(InvalidParameter):
            vote(outcomes=bad)
    for bad in ({"grid": 0.3}, {"outcomes": ""}, {"epsilon": 0}):
        with pytest.raises(InvalidParameter):
            priced(**bad)


def test_payments_are_exact_where_sums_need_more_than_64_bits():
    game = PricedVote(outcomes="abc", epsilon=Fraction(1, 10**12), grid=1e-6, neighbours=Bidder())
    fine = (1 << 63, -5, 7)  # numpy would call these floats
    paid, _ = game._settle(game._read([[1, 0, 0.5]]), (0, fine), unsafe_seeded(1))
    assert paid == [0]
    paid, _ = game._settle(game._read([[0, 1, 0]]), (1, (1 << 63, (1 << 63) + 1, 7)), unsafe_seeded(1))
    assert paid == [1 - Fraction(1, 3 * 10**6)]


@pytest.mark.parametrize("kind", [list, np.array, pandas.Series, polars.Series])
def test_votes_may_be_a_column(kind):
    votes = ["a", "b", "b", "other", ""]
    assert find_reports(kind(votes), SIDES, "names").tolist() == [0, 1, 1, -1, -1]
    assert vote().release(kind(votes), rng=unsafe_seeded(1)) == vote().release(votes, rng=unsafe_seeded(1))


@pytest.mark.parametrize("kind", [pandas.Series, polars.Series])
def test_a_vote_that_is_missing_is_for_nobody(kind):
    assert find_reports(kind(["a", None, "b"]), SIDES, "names").tolist() == [0, -1, 1]
    with pytest.raises(InvalidParameter, match="got a DataFrame"):
        vote().release(pandas.DataFrame({"vote": ["a"]}))
