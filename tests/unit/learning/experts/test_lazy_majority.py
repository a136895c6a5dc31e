"""Lazy majority: the law of each round is that of weighted majority, draws are capped, the budget is kept."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import NoBound
from discreet.core.rng import Rng
from discreet.core.rounding import exp_bounds
from discreet.learning import SIGNED, Event, EventPresence, LazyMajority, Losses, WeightedMajority
from discreet.learning.experts.lazy_majority import Laziness, LazyFollower
from discreet.testing import unsafe_seeded


def lazy(**changed):
    given = {"experts": 10, "horizon": 1000, "epsilon": 1, "delta": 1e-6, "neighbours": Event()}
    return LazyMajority(**{**given, **changed})


@pytest.mark.parametrize("horizon", [2, 3, 40, 2000])
@pytest.mark.parametrize("delta", [0, 1e-6])
@pytest.mark.parametrize("losses", [Losses(0, 1, 3), SIGNED])
@pytest.mark.parametrize("neighbours", [Event(), EventPresence()])
def test_the_budget_is_kept(horizon, delta, losses, neighbours):
    mechanism = lazy(horizon=horizon, delta=delta, losses=losses, neighbours=neighbours)
    assert mechanism.loss.epsilon(delta) <= 1
    assert mechanism.laziness.draws <= horizon - 1


@pytest.mark.parametrize(
    ("rate", "keep"), [(Fraction(1, 50), Fraction(9, 10)), (Fraction(1), Fraction(1, 2))]
)
def test_the_coins_loss_is_that_of_its_worse_answer(rate, keep):
    steps, made = 3, Laziness(rate, keep, 5)
    stays = math.exp(-float(rate) * steps) * float(keep)
    worst = max(float(rate) * steps, math.log((1 - stays) / (1 - float(keep))))
    assert worst <= float(made.coin_loss(steps)) <= worst * (1 + 1e-6)


def test_the_coins_loss_is_never_less_however_small_it_is():
    """Exactly: the ratio of both probabilities of leaving, the smaller one rounded up, is within the loss."""
    for place in range(1, 100):
        made = Laziness(Fraction(place, 10**9), Fraction(place % 97 + 801, 1000), 3)
        _, stays = exp_bounds(made.rate, 160)
        _, within = exp_bounds(made.coin_loss(1), 160)
        likelier = (1 - made.keep * Fraction(stays, 1 << 160)) / (1 - made.keep)
        assert likelier * Fraction(within, 1 << 160) <= 1


def test_each_round_has_the_law_of_weighted_majority():
    """By recursion over the exact laws of coins and draws, with draws to spare."""
    rate, keep, losses = 0.3, 0.8, np.array([[2, 0, 1], [0, 3, 1], [1, 1, 0], [3, 0, 0]])
    scores, law = np.zeros(3), np.full(3, 1 / 3)
    for round_losses in losses:
        stays = law * keep * np.exp(-rate * round_losses)
        scores -= round_losses
        weights = np.exp(rate * scores) / np.exp(rate * scores).sum()
        law = stays + (1 - stays.sum()) * weights
        assert law == pytest.approx(weights)


def test_draws_are_capped_and_the_last_name_stays():
    follower = LazyFollower(Laziness(Fraction(1), Fraction(1, 2), 3), steps=10, spread=20, experts=50)
    rng, named = unsafe_seeded(5), []
    for _ in range(200):
        named.append(follower.choose(rng))
        follower.learn(np.full(50, 10))
    assert np.count_nonzero(np.diff(named)) == 3
    assert len(set(named[50:])) == 1


class Tired(Rng):
    """Says no to coins, and fails at the second draw; notes what was performed."""

    unsafe = True

    def __init__(self):
        self.performed = []

    def random_bytes(self, count):
        raise NotImplementedError

    def perform(self, primitive, value):
        self.performed.append(type(primitive).__name__)
        if self.performed.count("ExponentialChoice") == 2 and self.performed[-1] == "ExponentialChoice":
            raise OSError("no randomness")
        return 0


def test_a_coin_is_tossed_once_also_where_drawing_fails():
    rng, follower = Tired(), LazyFollower(Laziness(Fraction(1, 9), Fraction(1, 2), 5), 3, 6, 2)
    follower.choose(rng)
    follower.learn(np.array([1, 2]))
    with pytest.raises(OSError, match="no randomness"):
        follower.choose(rng)
    follower.choose(rng)
    assert rng.performed == ["ExponentialChoice", "KeepCoin", "ExponentialChoice", "ExponentialChoice"]


def test_fewer_draws_buy_a_larger_rate():
    large = {"experts": 1000, "horizon": 100_000, "epsilon": 1, "delta": 1e-6, "neighbours": Event()}
    mechanism, plain = LazyMajority(**large), WeightedMajority(**large)
    assert mechanism.laziness.rate > 4 * plain.rate
    assert mechanism.regret < 0.25 * plain.regret
    assert LazyMajority(**{**large, "delta": 0}).regret < 0.08  # where weighted majority promises nothing


def test_the_mean_regret_keeps_its_bound():
    mechanism = lazy(horizon=2000, epsilon=5)
    losses = (np.arange(2000)[:, None] + np.arange(10)) % 2 * 0.9 + (np.arange(10) != 4) * 0.1
    found = []
    for seed in range(5):
        named = mechanism.open(losses, rng=unsafe_seeded(seed)).ask(2000)
        found.append(losses[np.arange(2000), named].mean() - losses.mean(axis=0).min())
    assert 0 < np.mean(found) <= mechanism.regret < mechanism.error(0.05)


def test_an_error_needs_a_beta_above_the_chance_that_draws_run_out():
    assert lazy(horizon=10_000, epsilon=10).error(0.01) < 1
    with pytest.raises(NoBound, match="draws run out"):
        lazy(horizon=10_000, epsilon=10).error(1e-4)
