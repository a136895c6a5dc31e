"""What a share of the budget is, alone and beside the shares of others."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.curator.conftest import BY_ROW, curator, people

import discreet as dp
from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import BudgetExceeded, InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss, ZCDPLoss
from discreet.curator.curator import Curator
from discreet.curator.ledger.ledger import Ledger
from discreet.data import Row, Schema, Table, Text

ROWS = dp.AddRemove("row")


HALF = Fraction(1, 2)


PROMISES = pytest.mark.parametrize("promise", [None, OneAnalystToMany()])


@PROMISES
def test_a_share_that_would_not_count_is_refused(promise):
    with curator(shared=0, promise=promise) as one:
        door = one.analyst("acme", share=HALF)
        assert one.analyst("acme") is door
        assert one.analyst("acme", share=0.5) is door
        for other in (0.25, 1):
            with pytest.raises(InvalidParameter, match=r"1/2.*set once"):
                one.analyst("acme", share=other)


def test_a_share_that_was_not_given_is_not_lost():
    with curator(shared=0, promise=OneAnalystToMany()) as one:
        one.ledger.cap("taken", Fraction(1, 10))
        with pytest.raises(InvalidParameter, match=r"the 1/10 that taken has: a share is set once"):
            one.analyst("taken", share=HALF)
        with pytest.raises(InvalidParameter, match=r"at most 9/10: the rest is set aside"):
            one.analyst("acme", share=1)
        assert one.analyst("acme", share=Fraction(9, 10)).share == Fraction(9, 10)


def test_every_share_is_enough_for_keys_that_a_threshold_finds():
    """By default such a question costs less delta than any sensible share has."""
    columns = (Text("who"), *BY_ROW.columns)
    schema = Schema("people", columns=columns, unit=Row(), neighbours=ROWS)
    for promise in (None, OneAnalystToMany()):
        with Curator(
            Table(people(), schema=schema), epsilon=4, delta=1e-6, columns=["region"], promise=promise, tick=0
        ) as one:
            small = one.analyst("small", share=Fraction(3, 10))
            text = "SELECT who, COUNT(*) AS n FROM people GROUP BY who"
            assert 0 < small.sql(text).cost["delta"] <= one.ledger.budget["delta"] / 50


def outcomes(ledger, steps, shares, watched):
    """What one analyst is told: every charge, refusal and balance of her own."""
    seen = []
    for place, share in enumerate(shares):
        ledger.cap(f"a{place}", share)
    for who, cost in steps:
        try:
            ledger.reserve(f"a{who}", "q", Guarantee(cost, ROWS))
            told = "fits"
        except BudgetExceeded as error:
            told = str(error)
        if who == watched:
            seen.append((told, ledger.left(f"a{who}")))
    return seen


SHARES = [(HALF, HALF), (Fraction(1, 3),) * 3, (0.7, 0.3), (Fraction(9, 10), Fraction(1, 100), 0.09)]


@given(data=st.data(), shares=st.sampled_from(SHARES), pure=st.booleans())
@settings(max_examples=50, deadline=None)
def test_shares_within_the_whole_keep_analysts_apart(data, shares, pure):
    """Whatever all others spend, one is told what she would be told alone, to the last digit."""
    who, amount, is_pure = st.integers(0, len(shares) - 1), st.integers(1, 60), st.booleans()
    steps = data.draw(st.lists(st.tuples(who, amount, is_pure), min_size=1, max_size=40))
    priced = [
        (one, PureLoss(Fraction(much, 120)) if pure or plain else ZCDPLoss(Fraction(much, 9000)))
        for one, much, plain in steps
    ]
    watched = data.draw(st.integers(0, len(shares) - 1))

    def ledger():
        return Ledger(epsilon=1, delta=0 if pure else 1e-6, neighbours=ROWS, apart=True)

    alone = outcomes(ledger(), [step for step in priced if step[0] == watched], shares, watched)
    among = ledger()
    assert outcomes(among, priced, shares, watched) == alone
    assert not any(among.left().values()) or sum(map(Fraction, shares)) < 1


@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_a_share_apart_is_a_ledger_of_its_own(share, delta):
    """It promises its part of epsilon and delta, so that all shares together promise the whole."""
    steps = [(0, ZCDPLoss(Fraction(1, 3000))), (0, PureLoss(Fraction(1, 40)))] * 60
    steps = [step for step in steps if delta or isinstance(step[1], PureLoss)]
    part = Ledger(epsilon=1, delta=delta, neighbours=ROWS, apart=True)
    own = Ledger(epsilon=share, delta=share * delta, neighbours=ROWS, apart=True)
    told = outcomes(part, steps, (share,), 0)
    assert told == outcomes(own, steps, (1,), 0)
    assert {one[0] == "fits" for one in told} == {True, False}


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_shares_of_one_budget_do_not(delta):
    """The same comparison sees what leaks where one budget has two ways to go on, or is too small."""
    first = PureLoss(HALF) if not delta else ZCDPLoss(Fraction(1, 100))
    steps = [(0, first), (1, PureLoss(HALF)), (1, PureLoss(Fraction(1, 10)))]

    def told(asked, **given):
        ledger = Ledger(epsilon=1, delta=delta, neighbours=ROWS, **given)
        return outcomes(ledger, asked, (HALF, HALF if delta else Fraction(3, 4)), 1)

    assert told(steps) != told(steps[1:])
    if delta:
        assert told(steps, apart=True) == told(steps[1:], apart=True)
