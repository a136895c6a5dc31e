"""The perturbed counter: sums without a horizon, never far behind the counter that knows the end."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.streams.counters.test_tree_counter import NoNoise

from discreet.core.errors import InvalidParameter
from discreet.streams import (
    BufferedCounter,
    Contribution,
    EndlessCounter,
    Event,
    PerturbedCounter,
    UserCap,
    UserEvents,
    WholeElements,
)
from discreet.streams.exponential_sums import RATE_BITS, WEIGHT_BITS, make_perturbed_encoder
from discreet.testing import unsafe_seeded


def counter(**given):
    return PerturbedCounter(**{"epsilon": 1, "delta": 1e-6, "neighbours": Event(), **given})


@pytest.mark.parametrize("horizon", [1, 2, 129, 1 << 20, 1 << 26])
def test_without_noise_answers_are_running_sums_however_they_are_pushed(horizon):
    stream = [place * 7 % 3 % 2 for place in range(min(horizon, 700))]
    truth = np.cumsum(stream)
    single = counter(horizon=horizon).open(rng=NoNoise())
    assert [single.push(bit) for bit in stream] == pytest.approx(truth, abs=0.01)
    several = counter(horizon=horizon).open(rng=NoNoise())
    parts = [several.push_many(stream[start : start + 200]) for start in range(0, len(stream), 200)]
    assert np.concatenate(parts) == pytest.approx(truth, abs=0.01)


def test_it_is_never_far_behind_the_counter_that_knows_the_end():
    unknown = counter()
    for power in range(4, 27):
        known = BufferedCounter(horizon=1 << power, epsilon=1, delta=1e-6, neighbours=Event())
        assert unknown.variance(1 << power) <= 1.32**2 * known.variance(1 << power)
    pieces = EndlessCounter(epsilon=1, delta=1e-6, neighbours=Event())
    assert all(unknown.variance(1 << power) < pieces.variance(1 << power) for power in (12, 16, 20, 26))


def coefficients(horizon, count):
    """The encoder, exactly."""
    encoder = make_perturbed_encoder(horizon)
    rates = [Fraction(rate, 1 << RATE_BITS) for rate in encoder.rates]
    weights = [Fraction(weight, 1 << WEIGHT_BITS) for weight in encoder.weights]
    return [sum(w * r**t for w, r in zip(weights, rates, strict=True)) for t in range(count)]


@pytest.mark.parametrize("cap", [1, 2, 3])
def test_noise_covers_every_choice_of_a_users_steps(cap):
    """All ways for her events to lie in eight steps, by exact sums of the coefficients."""
    length = 8
    users = counter(horizon=length, neighbours=UserEvents(), cap=UserCap(cap))
    column = coefficients(length, length)
    scale = users.fine * users.moved
    worst = 0
    for steps in itertools.combinations(range(length), cap):
        moved = [sum(column[t - step] for step in steps if step <= t) * scale for t in range(length)]
        worst = max(worst, sum(each**2 for each in moved))
    assert worst <= users.square_shift <= worst * Fraction(104, 100)


def test_noise_for_a_far_end_is_hardly_more():
    def grows(kind):
        near, far = (
            kind(horizon=1 << power, epsilon=1, delta=1e-6, neighbours=Event()) for power in (14, 26)
        )
        return far.noise.variance / far.fine**2 / (near.noise.variance / near.fine**2)

    assert grows(PerturbedCounter) < 1.15
    assert grows(BufferedCounter) > 1.5


def test_elements_that_floats_hold_coarsely_cost_noise_and_no_guarantee():
    fine, coarse = (
        counter(neighbours=Contribution(1), elements=WholeElements(most)) for most in (1, 1 << 12)
    )
    assert coarse.fine < fine.fine / 10
    assert fine.variance(100) < coarse.variance(100) < 1.25 * fine.variance(100)
    assert coarse.guarantee.implies(epsilon=1, delta=1e-6)


def test_seen_variance_is_the_stated_one():
    mechanism, rng = counter(horizon=64), unsafe_seeded(12)
    noises = np.array([mechanism.open([0] * 64, rng=rng).ask(64) for _ in range(1000)])
    stated = np.array([mechanism.variance(step) for step in range(1, 65)])
    assert np.all(np.abs(noises.var(axis=0) / stated - 1) < 5 * np.sqrt(2 / 1000))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"delta": 0}, "delta"),
        ({"horizon": (1 << 30) + 1}, "horizon"),
        ({"fineness": 0}, "fineness"),
        ({"elements": WholeElements(1 << 30), "neighbours": Contribution(1)}, "elements"),
    ],
)
def test_what_cannot_be_counted_is_refused_by_name(given, name):
    with pytest.raises(InvalidParameter, match=name):
        counter(**given)


def test_a_checkpoint_goes_on_where_it_stood():
    mechanism = counter(horizon=1000)
    first = mechanism.open(rng=NoNoise())
    first.push_many([1, 0, 1] * 50)
    second = mechanism.restore(first.checkpoint(), rng=NoNoise())
    assert second.push_many([1] * 150)[-1] == pytest.approx(250, abs=0.01)
