"""Weighted majority: the calibrated and the printed rate, and the bounds."""

import math

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NoBound
from discreet.learning import SIGNED, Event, EventPresence, Losses, Speed, WeightedMajority
from discreet.testing import unsafe_seeded


def majority(**changed):
    given = {"experts": 10, "horizon": 1000, "epsilon": 1, "delta": 1e-6, "neighbours": Event()}
    return WeightedMajority(**{**given, **changed})


def eta(mechanism):
    return float(mechanism.rate) * mechanism.losses.steps


def test_the_rate_is_the_root_of_two_rho_over_the_choices():
    rho = 0.02435  # of (1, 1e-6)
    assert eta(majority()) == pytest.approx(math.sqrt(2 * rho / 999), rel=1e-3)
    assert eta(majority(losses=SIGNED)) / 2 == pytest.approx(math.sqrt(2 * rho / 999) / 2, rel=1e-3)  # a unit
    assert eta(majority(neighbours=EventPresence())) == pytest.approx(math.sqrt(8 * rho / 999), rel=1e-3)
    assert eta(majority(delta=0)) == pytest.approx(1 / 2 / 999)
    assert eta(majority(epsilon=1000)) == pytest.approx(math.sqrt(8 * math.log(10) / 1000))  # and none beyond


@pytest.mark.parametrize("horizon", [2, 3, 50])
@pytest.mark.parametrize("delta", [0, 1e-6, 0.01])
@pytest.mark.parametrize("losses", [Losses(0, 1), SIGNED])
def test_the_budget_is_kept_and_used(horizon, delta, losses):
    mechanism = majority(horizon=horizon, delta=delta, losses=losses, epsilon=0.5)
    assert 0.45 < mechanism.loss.epsilon(delta) <= 0.5


def test_the_printed_rate_is_a_fifth_of_ours():
    printed = WeightedMajority.as_printed(experts=10, horizon=400, epsilon=1, delta=1e-6, neighbours=Event())
    assert eta(printed) == pytest.approx(1 / math.sqrt(32 * 400 * math.log(1e6)))
    assert 4.5 < eta(majority(horizon=400)) / eta(printed) < 4.8
    assert printed.speed is Speed.BOOK
    with pytest.raises(InvalidParameter, match="delta"):
        WeightedMajority.as_printed(experts=10, horizon=400, epsilon=1, delta=0, neighbours=Event())


def test_a_printed_rate_beyond_its_theorem_is_refused():
    with pytest.raises(InvalidParameter, match="keeps the budget"):
        WeightedMajority.as_printed(experts=10, horizon=400, epsilon=1, delta=0.999999, neighbours=Event())


def test_names_follow_the_weights():
    """After one round with losses (0, 1) the better expert is named with probability 1 / (1 + exp(-eta))."""
    mechanism = majority(experts=2, horizon=2, epsilon=2, delta=0)
    named = [mechanism.open([(0, 1), (0, 0)], rng=unsafe_seeded(seed)).ask(2)[1] for seed in range(2000)]
    assert np.mean(named) == pytest.approx(1 / (1 + math.exp(eta(mechanism))), abs=0.04)


def test_the_mean_regret_keeps_its_bound_against_alternating_losses():
    mechanism = majority(horizon=1000, epsilon=20)
    losses = (np.arange(1000)[:, None] + np.arange(10)) % 2 * 0.9 + (np.arange(10) != 4) * 0.1
    found = []
    for seed in range(30):
        named = mechanism.open(losses, rng=unsafe_seeded(seed)).ask(1000)
        found.append(losses[np.arange(1000), named].mean() - losses.mean(axis=0).min())
    assert 0 < np.mean(found) <= mechanism.regret < mechanism.error(0.05)


def test_the_regret_of_a_run_is_within_the_error_but_for_beta():
    """Drawn losses of two experts: a right bound at 0.2 fails in 20 of 40 runs less than once in 10^5."""
    mechanism = majority(experts=2, horizon=400, epsilon=50)
    generator = np.random.default_rng(8)  # noqa: TID251
    late, found = 0, []
    for seed in range(40):
        losses = (generator.random((400, 2)) < (0.5, 0.4)).astype(float)
        named = mechanism.open(losses, rng=unsafe_seeded(seed)).ask(400)
        found.append(losses[np.arange(400), named].mean() - losses.mean(axis=0).min())
        late += found[-1] > mechanism.error(0.2)
    assert late <= 20 and max(found) > mechanism.error(0.2) / 10
    assert mechanism.error(0.2) < 1


def test_a_regret_that_says_nothing_is_no_bound():
    with pytest.raises(NoBound):
        _ = majority(horizon=10).regret
    with pytest.raises(NoBound):
        majority(horizon=10).error(0.05)


def test_too_many_rounds_for_exact_sums_are_refused():
    with pytest.raises(InvalidParameter, match="2\\*\\*60"):
        majority(horizon=1 << 45)
