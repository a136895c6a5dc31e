"""The split auction: no lie gains, whatever the lots; the law by hand; what it sells."""

import itertools
import math

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound
from discreet.core.neighbours import Bidder
from discreet.games import PostedPrice, SplitAuction, enumerate_outcomes

BIDS = (0, 1, 2, 3)


def make(**changes):
    return SplitAuction(**{"prices": BIDS[1:], "epsilon": 2, "bidders": 3, "neighbours": Bidder()} | changes)


def test_no_lie_gains_in_any_profile():
    assert make().misreport_gain(types=(0, 2, 3), players=3).gain == 0
    assert make(bidders=2).misreport_gain(types=BIDS, players=2).gain == 0
    assert (
        PostedPrice(prices=BIDS[1:], epsilon=2, neighbours=Bidder())
        .misreport_gain(types=BIDS, players=3)
        .gain
        > 0
    )


def law_by_hand(bids, epsilon):
    """Return the law of (groups, prices) by the definition, in floats."""

    def choose(group):
        weights = [math.exp(epsilon * price * sum(bid >= price for bid in group) / 3) for price in BIDS[1:]]
        return [weight / sum(weights) for weight in weights]

    law = {}
    for groups in itertools.product((0, 1), repeat=len(bids)):
        sides = [[bid for bid, group in zip(bids, groups, strict=True) if group == side] for side in (0, 1)]
        first, second = choose(sides[1]), choose(sides[0])
        for a, b in itertools.product(range(3), repeat=2):
            law[groups, BIDS[1 + a], BIDS[1 + b]] = first[a] * second[b] / 2 ** len(bids)
    return law


def test_law_and_privacy_by_an_enumeration_of_its_own():
    game, worst = make(bidders=2), 0.0
    laws = {bids: law_by_hand(bids, 2) for bids in itertools.product(BIDS, repeat=2)}
    for bids, law in laws.items():
        found = {}
        for outcome, chance in enumerate_outcomes(game, bids):
            key = (outcome.decision.groups, outcome.decision.first, outcome.decision.second)
            found[key] = found.get(key, 0) + float(chance)
        assert found == pytest.approx(law, abs=1e-12)
        for player, other in itertools.product(range(2), BIDS):
            near = laws[(*bids[:player], other, *bids[player + 1 :])]
            worst = max(worst, *(math.log(law[key] / near[key]) for key in law))
    assert 0.8 * 2 < worst <= 2 * (1 + 1e-12)


def test_everybody_pays_the_price_of_the_own_group_or_nothing():
    game = make(bidders=4)
    for outcome, _ in enumerate_outcomes(game, (0, 1, 2, 3)):
        prices = (outcome.decision.first, outcome.decision.second)
        own = [prices[group] for group in outcome.decision.groups]
        assert outcome.signals == tuple(bid >= price for bid, price in zip((0, 1, 2, 3), own, strict=True))
        paid = zip(outcome.signals, own, strict=True)
        assert outcome.payments == tuple(price if sold else 0 for sold, price in paid)


def test_few_bidders_have_no_bound():
    with pytest.raises(NoBound):
        make().error(0.05)
    assert make(bidders=10_000).error(0.05) < 3 * 10_000 / 10


def test_another_number_of_bids_is_refused_and_not_told():
    for bids in ([1, 2], [1, 2, 3, 1], np.ones(7)):
        with pytest.raises(InvalidParameter, match="3 bids, got another number of them"):
            make().release(bids)
    with pytest.raises(InvalidParameter):
        make(bidders=0)
