"""The tree counter: its blocks, its noise, its errors."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.rng import Rng
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.streams import Event, TreeCounter, UserCap, UserEvents
from discreet.streams.blocks import tally
from discreet.streams.counters.tree_counter import choose_branching
from discreet.streams.noise_sums import NoiseSum, find_reach
from discreet.testing import unsafe_seeded


class NoNoise(Rng):
    """Adds nothing, and counts how often it was asked to."""

    unsafe = True
    met = 0

    def random_bytes(self, count):
        raise AssertionError

    def perform(self, primitive, value):
        self.met += np.size(value)
        return value.copy() if isinstance(value, np.ndarray) else value


def counter(horizon, **given):
    return TreeCounter(**{"horizon": horizon, "epsilon": 1, "delta": 0, "neighbours": Event(), **given})


@pytest.mark.parametrize("branching", [2, 3, 5, 64])
@pytest.mark.parametrize("horizon", [*range(1, 34), 64, 81, 100, 1000])
def test_answers_are_prefix_sums_however_they_are_pushed(horizon, branching):
    stream = [place * 7 % 3 % 2 for place in range(horizon)]
    truth = list(itertools.accumulate(stream))
    mechanism, rng = counter(horizon, branching=branching), NoNoise()
    single = mechanism.open(rng=rng)
    assert [single.push(bit) for bit in stream] == truth
    assert rng.met == horizon, "one noise a step"
    for size in (1, 2, 3, 7, horizon):
        several = mechanism.open(rng=NoNoise())
        parts = [several.push_many(stream[start : start + size]) for start in range(0, horizon, size)]
        assert np.concatenate(parts).tolist() == truth
        assert several.state.reveal()["run"] == single.state.reveal()["run"]
        assert several.closed and single.closed


def test_levels_and_scale_are_those_of_the_figure():
    assert [counter(horizon).levels for horizon in (1, 2, 3, 4, 5, 8, 9, 1024, 1025)] == [
        1, 1, 2, 2, 3, 3, 4, 10, 11
    ]  # fmt: skip
    assert counter(1024).noise == DiscreteLaplace(Fraction(10))
    assert isinstance(counter(1024, delta=1e-6).noise, DiscreteGaussian)


@pytest.mark.parametrize("branching", [2, 3, 10])
@pytest.mark.parametrize("horizon", [1, 2, 3, 8, 9, 11, 64, 100])
def test_variances_count_the_noises_that_an_answer_holds(horizon, branching):
    mechanism = counter(horizon, branching=branching)
    one = mechanism.variance(1)
    steps = [len(mechanism.list_levels(step)) for step in range(1, horizon + 1)]
    for step, blocks in enumerate(steps, 1):
        lengths = [branching**level for level in mechanism.list_levels(step)]
        assert sum(lengths) == step and mechanism.variance(step) == pytest.approx(blocks * one)
    laws = {law.times: count for count, law in mechanism._error_laws()}
    assert laws == {times: steps.count(times) for times in set(steps)}
    assert mechanism.mean_variance == pytest.approx(np.mean(steps) * one)


def test_the_best_branching_is_that_of_the_mean_variance():
    for horizon, delta in ((7, 0), (50, 0), (365, 0), (365, 1e-6), (5000, 0)):
        means = [counter(horizon, epsilon=0.01, delta=delta, branching=b).mean_variance for b in range(2, 65)]
        assert choose_branching(horizon, pure=delta == 0) == 2 + int(np.argmin(means))
    assert counter(365, branching=20).mean_variance < 0.25 * counter(365).mean_variance
    with pytest.raises(ValueError, match="branching"):
        counter(8, branching=3, consistent=True)


def test_seen_variance_is_the_stated_one():
    mechanism, rng = counter(16), unsafe_seeded(3)
    seen = np.array([mechanism.open([0] * 16, rng=rng).ask(16) for _ in range(2000)])
    stated = np.array([mechanism.variance(step) for step in range(1, 17)])
    # Kurtosis of a Laplace sum is at most 6: the standard error of a variance is at most sqrt(5 / n) of it.
    assert np.all(np.abs(seen.var(axis=0) / stated - 1) < 5 * np.sqrt(5 / 2000))


@pytest.mark.parametrize("last", [1, 2, 3, 10, 127, 128, 1000])
def test_ones_are_counted(last):
    ones = [step.bit_count() for step in range(1, last + 1)]
    assert tally(last, 2, last.bit_length(), lambda _: 1) == {k: ones.count(k) for k in set(ones)}


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(2), Fraction(9)])
@pytest.mark.parametrize("times", [1, 2, 3, 5])
def test_the_tail_of_a_laplace_sum_is_exact(scale, times):
    noise = DiscreteLaplace(scale)
    reach = 60 * max(1, int(scale))
    one = np.array([float(noise.pmf(z)) for z in range(-reach, reach + 1)])
    law = one
    for _ in range(times - 1):
        law = np.convolve(law, one)
    middle = law.size // 2
    for alpha in (0, 1, 5, 20):
        beyond = law[: middle - alpha].sum() + law[middle + alpha + 1 :].sum()
        assert NoiseSum(noise, times).beyond(alpha) == pytest.approx(beyond, rel=1e-7, abs=1e-12)


@pytest.mark.parametrize("variance", [Fraction(26, 100), Fraction(1), Fraction(30)])
@pytest.mark.parametrize("times", [1, 3, 8])
def test_the_tail_of_a_gaussian_sum_is_bounded_and_not_by_much(variance, times):
    noise = DiscreteGaussian(variance)
    reach = int(12 * float(variance) ** 0.5) + 12
    one = np.array([float(noise.pmf(z)) for z in range(-reach, reach + 1)])
    law = one
    for _ in range(times - 1):
        law = np.convolve(law, one)
    middle = law.size // 2
    for alpha in (0, 1, 3, 10):
        beyond = law[: middle - alpha].sum() + law[middle + alpha + 1 :].sum()
        bound = NoiseSum(noise, times).beyond(alpha)
        assert bound >= beyond * (1 - 1e-9) - 1e-13
        if variance == 30:
            nearer = law[: middle - alpha + 1].sum() + law[middle + alpha :].sum()
            assert bound <= nearer * 1.01, "not more than a unit too much"


def test_errors_of_one_step_and_of_all():
    mechanism = counter(1000)
    assert mechanism.error(0.05, step=512) < mechanism.error(0.05, step=511) < mechanism.error(0.05)
    alone = find_reach([(1, NoiseSum(mechanism.noise, 1))], 0.05)
    assert mechanism.error(0.05, step=512) == alone == mechanism.noise.reach(Fraction(1, 20))
    with pytest.raises(ValueError, match="at most the horizon"):
        mechanism.error(0.05, step=1001)


def test_users_cost_what_their_events_can_do():
    one = counter(64, delta=1e-6)
    many = counter(64, delta=1e-6, neighbours=UserEvents(), cap=UserCap(4))
    assert one.square_shift == 6 and many.square_shift == 4 * (1 + 2 + 4 * 4)
    assert counter(64, neighbours=UserEvents(), cap=UserCap(4)).total_shift == 24
    assert counter(3, neighbours=UserEvents(), cap=UserCap(100)).events == 3
