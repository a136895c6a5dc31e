"""Weighted majority without a horizon: what a schedule spends, and the regret after many rounds."""

import numpy as np
import pytest

from discreet.core.errors import NoBound
from discreet.core.loss import BoundedRangeLoss
from discreet.learning import EndlessMajority, Event, Losses
from discreet.testing import unsafe_seeded


def endless(**changed):
    given = {"experts": 10, "first": 100, "epsilon": 1, "delta": 1e-6, "neighbours": Event()}
    return EndlessMajority(**{**given, **changed})


def test_stretches_are_as_long_as_all_before_them():
    mechanism = endless(first=100)
    seen = [mechanism.stretch(looked) for looked in range(1, 801)]
    assert [seen.count(number) for number in range(4)] == [100, 100, 200, 400]
    assert mechanism.stretch(0) == 0


@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("first", [1, 3, 100])
def test_all_choices_ever_made_keep_the_budget(delta, first):
    """What choices cost, added up over a million rounds and more, stays below the promise and nears it."""
    mechanism = endless(delta=delta, first=first)
    total, budget = 0.0, float(mechanism.epsilon) if delta == 0 else mechanism.loss.zcdp()
    for number in range(40):
        range_ = mechanism.rate(number) * mechanism.spread
        choices = first if number == 0 else first << number - 1
        total += choices * (float(range_) if delta == 0 else BoundedRangeLoss(range_).zcdp())
    assert 0.9 * budget < total <= budget


def test_it_closes_before_sums_leave_64_bits():
    for steps in (1, 3, 1 << 16, 1 << 24):
        assert endless(losses=Losses(0, 1, steps)).last * steps <= 1 << 60


def test_rates_never_rise():
    mechanism = endless(epsilon=50)
    rates = [mechanism.rate(number) for number in range(12)]
    assert rates == sorted(rates, reverse=True)


def test_a_rate_for_ever_would_not_keep_any_budget():
    """The control: what the first rate would cost over the same rounds."""
    mechanism = endless()
    one = BoundedRangeLoss(mechanism.rate(0) * mechanism.spread).zcdp()
    assert 100 * one < mechanism.loss.zcdp() < 1000 * one


def test_the_rate_falls_while_it_is_used():
    conversation = endless(first=2).open(rng=unsafe_seeded(1))
    follower, used = conversation._follower, []
    for losses in np.ones((12, 10)):
        conversation.act()
        used.append(follower.choice.rate)
        conversation.observe(losses)
    mechanism = endless(first=2)
    assert used == [mechanism.rate(mechanism.stretch(looked)) for looked in range(12)]
    assert len(set(used)) == 4


def test_regret_falls_with_the_rounds():
    mechanism = endless(first=10_000)
    assert mechanism.regret(10**4) > mechanism.regret(10**6) > mechanism.regret(10**8)
    assert mechanism.error(0.05) == mechanism.error(0.05, rounds=10_000) > mechanism.regret(10_000)
    with pytest.raises(NoBound):
        mechanism.regret(10)
