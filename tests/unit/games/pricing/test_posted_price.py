"""Prices for pumpkins: revenues, the law by hand, lies, and bids that are none."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Bidder
from discreet.games import PostedPrice, enumerate_outcomes, price_ladder
from discreet.games.pricing.prices import add_revenues, count_reached

BIDS = (0, 0.25, 0.5, 0.75, 1)
ODD = (math.nan, None, "1", b"1", [1], {}, object(), Decimal("sNaN"), 1j, -1, -math.inf, lambda: 1, "eve")


def make(**changes):
    return PostedPrice(**{"prices": BIDS[1:], "epsilon": 1, "neighbours": Bidder()} | changes)


def law_by_hand(bids, prices, epsilon):
    """Return the probability of every price by the definition, in floats."""
    revenues = [price * sum(bid >= price for bid in bids) for price in prices]
    weights = [math.exp(epsilon * revenue / max(prices)) for revenue in revenues]
    return [weight / sum(weights) for weight in weights]


@pytest.mark.parametrize("players", [1, 2, 3])
def test_law_privacy_and_lies_by_an_enumeration_of_its_own(players):
    epsilon, prices = 1.5, BIDS[1:]
    game, worst, gain = make(epsilon=epsilon), 0.0, 0.0
    laws = {bids: law_by_hand(bids, prices, epsilon) for bids in itertools.product(BIDS, repeat=players)}
    for bids, law in laws.items():
        found = {outcome.decision: chance for outcome, chance in enumerate_outcomes(game, bids)}
        assert [float(found[price]) for price in prices] == pytest.approx(law, abs=1e-12)
        for player, lie in itertools.product(range(players), BIDS):
            other = laws[(*bids[:player], lie, *bids[player + 1 :])]
            worst = max(worst, *(math.log(a / b) for a, b in zip(law, other, strict=True)))
            worth = [bids[player] - price for price in prices]
            honest = sum(p * max(0, w) for p, w in zip(law, worth, strict=True))
            lied = sum(p * w for p, w, price in zip(other, worth, prices, strict=True) if lie >= price)
            gain = max(gain, lied - honest)
    assert worst <= epsilon * (1 + 1e-12)
    assert players == 1 or worst > 0.85 * epsilon
    assert gain <= game.truthfulness
    found = game.misreport_gain(types=BIDS, players=players)
    assert found.gain == pytest.approx(gain, abs=1e-12)
    assert players == 1 or gain > 0.25 * game.truthfulness


def test_what_a_lie_gains_comes_close_to_its_bound():
    game = make(prices=[1, 2, 3], epsilon=10)
    found = game.misreport_gain(types=[1, 2, 3], players=2)
    assert 0.95 * game.truthfulness < found.gain <= game.truthfulness


def test_the_revenue_is_missed_no_more_often_than_the_bound_says():
    game = make(epsilon=3)
    for bids in itertools.combinations_with_replacement(BIDS, 5):
        revenues = [price * sum(bid >= price for bid in bids) for price in BIDS[1:]]
        law = law_by_hand(bids, BIDS[1:], 3)
        for beta in (0.3, 0.05):
            behind = [p for p, r in zip(law, revenues, strict=True) if r < max(revenues) - game.error(beta)]
            assert sum(behind) <= beta


def test_revenues_of_the_pumpkins():
    prices = (1, 3, 3.01, 3.02)
    game = make(prices=prices)
    reached = count_reached([1, 1, 1, 3.01], game.prices)
    units = np.array([int(price / game.unit) for price in game.prices])
    assert (add_revenues(reached, units) * game.unit).tolist() == [4, 3, Fraction("3.01"), 0]


@pytest.mark.parametrize("odd", ODD)
def test_an_odd_bid_is_no_bid_and_decides_nothing_else(odd):
    game = make()
    assert count_reached([odd, 0.5, 1], game.prices).tolist() == [0, 2, 4]


def test_bids_are_read_alike_wherever_they_are_kept():
    prices = make(prices=[0.1, 0.3, 0.7, 3]).prices
    bids = [0.1, 0.3, 0.7, 0.69, math.inf, math.nan, -1.0, 3.0]
    expected = [1, 2, 3, 2, 4, 0, 0, 4]
    for kept in (bids, tuple(bids), np.array(bids), np.array(bids, dtype=object)):
        assert count_reached(kept, prices).tolist() == expected
    assert count_reached(np.array(bids, dtype=np.float32), prices).tolist() == expected
    assert count_reached([Fraction(3, 10), Decimal("0.3"), 10**400, 1], prices).tolist() == [2, 2, 4, 3]
    assert count_reached(np.array([0, 1, 3, 2**62]), prices).tolist() == [0, 3, 4, 4]
    assert count_reached(np.array([1, np.inf], dtype=np.float16), make(prices=[1, 99999]).prices)[1] == 2
    for yes in ([True, False], np.array([True, False]), [np.bool_(True), None]):
        assert count_reached(yes, prices).tolist() == [3, 0]
    assert count_reached([], prices).size == 0


@pytest.mark.parametrize("bad", ["12", {1: 2}, 5, None, np.zeros((2, 2)), np.array(["a"])])
def test_what_holds_no_bids_is_refused_by_its_type_alone(bad):
    with pytest.raises(InvalidParameter, match="bids, one a bidder"):
        make().release(bad)


@pytest.mark.parametrize(
    "prices", [(), (0, 1), (1, 1), (2, 1), (math.nan,), ("1",), "12", (1, 2**31), (-1, 1)]
)
def test_bad_prices_are_refused(prices):
    with pytest.raises(InvalidParameter, match="price"):
        make(prices=prices)


def test_a_ladder_loses_no_more_than_its_growth():
    ladder = price_ladder(lowest=0.05, highest=20, growth=0.1, unit=0.01)
    assert ladder[0] == Fraction("0.05") and ladder[-1] == 20
    for cents in range(5, 2001):
        price = Fraction(cents, 100)
        below = max(rung for rung in ladder if rung <= price)
        assert price <= below * Fraction(11, 10)
    with pytest.raises(InvalidParameter, match="highest"):
        price_ladder(lowest=2, highest=1, growth=0.1, unit=0.01)


def test_no_prices_are_said_to_be_none_of_them():
    with pytest.raises(
        InvalidParameter, match="prices must be increasing prices, at least one, got 0 of them"
    ):
        PostedPrice(prices=[], epsilon=1, neighbours=Bidder())


def test_a_list_of_prices_prints_as_it_was_written():
    assert repr(make()) == "PostedPrice(neighbours=Bidder(), prices=(0.25, 0.5, 0.75, 1), epsilon=1)"
    assert "prices=(3.01,)" in repr(make(prices=[3.01]))
