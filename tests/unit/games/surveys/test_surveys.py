"""Surveys that pay: auctions by hand, every lie, budgets, and what cannot be had."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NeighboursMismatch, NoBound
from discreet.core.neighbours import Bidder
from discreet.games import FairQuery, MinCost, OneBit, TakeItOrLeaveIt, enumerate_outcomes
from discreet.testing import unsafe_seeded

VALUES = (0, 1, 2, 5, 9)


def fair(**changes):
    return FairQuery(**{"players": 3, "budget": 2, "epsilon": 1, "neighbours": OneBit()} | changes)


def cheapest(**changes):
    return MinCost(**{"players": 3, "highest": 6, "epsilon": 1, "neighbours": OneBit()} | changes)


def offers(**changes):
    public = {"players": 3, "offers": [2, 6], "share": 0.5, "epsilon": 2, "neighbours": Bidder()}
    return TakeItOrLeaveIt(**public | changes)


def settle(game, values):
    """Return who sells, at what epsilon and price: they follow from the values alone."""
    return game.purchase([(0, Fraction(value)) for value in values])


def fair_by_hand(values, budget, cap):
    """Return (k, price, epsilon) by the definition."""
    n, ranked = len(values), sorted(values)
    small = [j for j in range(1, n) if 1 / (n - j) <= cap]
    k = max((j for j in small if Fraction(ranked[j - 1], n - j) <= Fraction(budget, j)), default=0)
    price = min(Fraction(budget, k), Fraction(ranked[k], n - k)) if k else None
    return k, price, Fraction(1, n - k)


@pytest.mark.parametrize("epsilon", [1, 0.5])
def test_fair_query_by_hand_with_every_lie(epsilon):
    game = fair(players=4, budget=3, epsilon=epsilon)
    for values in itertools.product(VALUES[::2], repeat=4):
        bought = settle(game, values)
        k, price, sold = fair_by_hand(values, 3, epsilon)
        assert (len(bought.sellers), bought.epsilon) == (k, sold)
        assert k == 0 or bought.price == price
        assert bought.price * k <= 3 or k == 0, "never over budget"
        for player, lie in itertools.product(range(4), (*VALUES, 0.5, 4)):
            honest, lied = settle(game, values), settle(game, (*values[:player], lie, *values[player + 1 :]))
            gains = [
                each.price - each.epsilon * values[player] if player in each.sellers else 0
                for each in (honest, lied)
            ]
            assert gains[0] >= max(0, gains[1])


@pytest.mark.parametrize("epsilon", [1, 0.5])
def test_min_cost_by_hand_with_every_lie(epsilon):
    game = cheapest(players=4, epsilon=epsilon)
    assert game.sellers == 4 - math.floor(1 / epsilon)
    for values in itertools.product((0, 2, 5, 9), repeat=4):
        bought, ranked = settle(game, values), sorted(values)
        cheap = [value for value in ranked if value <= 6]
        assert len(bought.sellers) == min(len(cheap), game.sellers)
        assert bought.price == Fraction(epsilon) * min(6, ranked[game.sellers])
        for player, lie in itertools.product(range(4), (*VALUES, 0.5, 4, 7)):
            lied = settle(game, (*values[:player], lie, *values[player + 1 :]))
            gains = [
                each.price - each.epsilon * values[player] if player in each.sellers else 0
                for each in (bought, lied)
            ]
            assert gains[0] >= max(0, gains[1])


def test_at_the_ends_nobody_sells_or_all_who_ask_little():
    values = (0, 1, 5, 9)
    assert settle(fair(players=4, epsilon=0.2), values).sellers == frozenset()
    assert settle(cheapest(players=4, epsilon=0.2), values).sellers == frozenset()
    everybody = settle(cheapest(players=4, epsilon=2), values)
    assert everybody.sellers == {0, 1, 2} and everybody.price == 2 * 6, "a fixed price: nothing to gain"
    answers = [[(bit, value) for value in values] for bit in (0, 1)]
    for game in (fair(players=4, epsilon=0.2), cheapest(players=4, epsilon=0.2)):
        zeros, ones = ({o.decision: p for o, p in enumerate_outcomes(game, each)} for each in answers)
        assert zeros == ones, "where nothing is bought nothing is told"


def test_the_shipped_search_finds_no_lie_either():
    asks = [(1, 0), (1, 1), (0, 5)]
    for game in (fair(players=2), cheapest(players=2)):
        assert game.misreport_gain(types=asks, players=2).gain == 0
    one = offers(players=2, offers=[3], epsilon=20)
    assert one.misreport_gain(types=[(1, 0.1), (0, 9)], players=2).gain == 0


def test_the_estimate_by_hand():
    answers = [(1, 0), (1, 9), (0, 9)]
    law = {}
    for outcome, chance in enumerate_outcomes(fair(budget=1), answers):
        law[outcome.decision] = law.get(outcome.decision, 0) + float(chance)
        assert outcome.signals == (Fraction(1, 2), 0, 0)
        assert outcome.payments == (-1, 0, 0)
    mean = sum(value * chance for value, chance in law.items())
    assert mean == pytest.approx(1 + 2 / 2)
    q = math.exp(-1 / 2)
    assert law[2.0] == pytest.approx((1 - q) / (1 + q))


def test_min_cost_keeps_its_error():
    survey = MinCost.for_error(alpha=20, beta=Fraction(1, 3), players=100, highest=10, neighbours=OneBit())
    assert survey.error(Fraction(1, 3)) <= 20
    rng = unsafe_seeded(1)
    answers = [(int(person % 3 == 0), person % 7) for person in range(100)]
    worst = [(1, person % 7) for person in range(100)]
    for case, truth in ((answers, 34), (worst, 100)):
        missed = sum(abs(survey.release(case, rng=rng).value - truth) > 20 for _ in range(100))
        assert missed <= 52, "a third of 100, and 4 standard deviations"


def test_fair_query_says_what_it_missed():
    game = fair(players=1000, budget=50, epsilon=0.05)
    assert game.missed(950, beta=0.05) == pytest.approx(50 * (0.5 + math.log(20)) + 1)
    with pytest.raises(NoBound, match="MinCost"):
        game.error(0.05)


def test_a_fixed_price_is_biased_and_an_auction_for_sensitive_prices_tells():
    """Whoever has the bit asks ten times as much: a fixed price buys zeros, and prices alone tell."""
    people = [(1, 10)] * 300 + [(0, 1)] * 700
    naive = [bit for bit, value in people if value <= 5]
    assert sum(naive) / len(naive) == 0, "the estimate of 300 in 1000 is 0, whatever the noise"
    auction, near = cheapest(players=1000, highest=5, epsilon=0.5), [*people[1:], (0, 1)]
    sold = [len(auction.purchase(auction._read(each)).sellers) for each in (people, near)]
    assert sold == [700, 701], "who sells betrays one person's price with certainty: no finite epsilon"
    told = offers(players=1000, offers=[1, 6], epsilon=0.5, share=0.8).run(people, rng=unsafe_seeded(3))
    assert told.decision.offer == 6 and abs(told.decision.estimate - 300) < 120


def test_an_offer_is_taken_where_it_is_worth_what_epsilon_costs():
    game = offers(players=4, offers=[2], epsilon=2)
    for outcome, _ in itertools.islice(enumerate_outcomes(game, [(1, 1), (0, 1.01), (1, None), (1, 0)]), 50):
        assert outcome.payments == (-2, 0, 0, -2) and outcome.signals == (2, 0, 0, 2)


def test_later_groups_are_not_asked():
    game = offers(players=40, offers=[2, 6], epsilon=50, share=0.5)
    outcome = game.run([(1, 0)] * 40, rng=unsafe_seeded(4))
    assert outcome.decision.offer == 2 and 0 < sum(-paid for paid in outcome.payments) < 80
    nobody = game.run([(1, 10**9)] * 40, rng=unsafe_seeded(5))
    assert nobody.decision.offer is None and set(nobody.payments) == {0}
    with pytest.raises(NoBound, match="nobody knows"):
        game.error(0.1)


ODD = (None, 3, "ab", (1,), (1, 2, 3), {}, object(), (1, math.nan), (1, -1), (1, "x"))


@pytest.mark.parametrize("odd", ODD)
def test_odd_answers_are_not_for_sale_and_decide_nothing_else(odd):
    read = fair()._read([(1, 2), odd, (True, Decimal("0.5"))])
    assert read[0] == (1, 2) and read[2] == (1, Fraction(1, 2)) and read[1][1] is None
    assert fair()._read([(1, math.inf), (2, 1), (np.float64(1), np.int64(3))]) == [(1, None), (0, 1), (1, 3)]
    fair().release([(1, 2), odd, (0, 1)])


@pytest.mark.parametrize("bad", ["abc", 3, None, [(1, 1)] * 4, [(1, 1)] * 2, np.zeros(3)])
def test_other_data_are_refused(bad):
    for game in (fair(), cheapest(), offers()):
        with pytest.raises(InvalidParameter, match=r"a bit and a price a person|3 answers"):
            game.release(bad)


def test_bad_parameters_are_refused():
    for make in (fair, cheapest):
        for bad in ({"epsilon": 0}, {"epsilon": math.nan}, {"players": 1}):
            with pytest.raises(InvalidParameter):
                make(**bad)
        with pytest.raises(NeighboursMismatch, match="OneBit"):
            make(neighbours=Bidder())
    for bad in ({"offers": []}, {"offers": [2, 1]}, {"share": 1}, {"offers": "12"}, {"budget": 1}):
        with pytest.raises((InvalidParameter, TypeError)):
            offers(**bad)
    with pytest.raises(NeighboursMismatch, match="Bidder"):
        offers(neighbours=OneBit())


def test_one_bit_is_a_relation():
    domain = [(bit, value) for bit in (0, 1) for value in (1, 2)]
    found = list(OneBit().pairs(domain, 2))
    assert len(found) == 4 * 8 and all(OneBit().distance(*pair) == 1 for pair in found)
    assert OneBit().distance([(0, 1)], [(0, 2)]) == math.inf == OneBit().distance([(0, 1)], [])
    assert "not hidden" in str(OneBit())


@pytest.mark.parametrize("make_survey", [fair, cheapest, offers])
def test_one_odd_answer_decides_nothing_about_an_array_of_objects(make_survey):
    survey, ragged = make_survey(), np.empty(3, dtype=object)
    ragged[:] = [(1, 1), None, (0, 2)]
    odd = survey.run(ragged, rng=unsafe_seeded(1))
    table = np.array([(1, 1), (0, None), (0, 2)], dtype=object)
    assert odd == survey.run(table, rng=unsafe_seeded(1))


def test_a_price_that_a_mask_hides_is_no_price():
    """It was 0, which sells before all others."""
    table = np.ma.masked_array([(1.0, 1.0), (1.0, 0.0), (0.0, 2.0)], [(0, 0), (0, 1), (1, 0)])
    assert fair()._read(table) == [(1, 1), (1, None), (0, 2)]
