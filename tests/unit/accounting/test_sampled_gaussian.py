"""DP-SGD in one call: between dp_accounting's optimistic and pessimistic distributions, in both orders."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting import dp_sgd, dp_sgd_noise
from discreet.accounting.amplification import PoissonLoss
from discreet.core.errors import InvalidParameter
from discreet.core.loss import GaussianLoss

GRID = list(
    itertools.product(
        (0.001, 0.01, 0.2), (0.6, 1.1, 4.0), ((1, 1e-5), (300, 1e-6), (10_000, 1e-5), (3000, 1e-9))
    )
)


def theirs(rate, noise, steps, delta, *, pessimistic):
    found = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution").from_gaussian_mechanism(
        noise,
        sampling_prob=rate,
        pessimistic_estimate=pessimistic,
        value_discretization_interval=1e-4,
    )
    return found.self_compose(steps).get_epsilon_for_delta(delta)


def test_the_number_of_the_page():
    found = dp_sgd(sampling_rate=0.01, noise=1.1, steps=10_000, delta=1e-5)
    assert 5.1926 <= found <= 5.1935
    assert dp_sgd(sampling_rate=Fraction(1, 100), noise=Fraction(11, 10), steps=10_000, delta=1e-5) == found


@pytest.mark.parametrize(("rate", "noise", "run"), GRID)
def test_agrees_with_the_distributions_of_dp_accounting(rate, noise, run):
    steps, delta = run
    if rate * math.sqrt(steps) / noise > 15:
        pytest.skip("an epsilon beyond any use, where theirs needs minutes")
    ours = dp_sgd(sampling_rate=rate, noise=noise, steps=steps, delta=delta)
    # Theirs rounded down is no bound on ours but for its truncation, which is far below the slack here.
    assert theirs(rate, noise, steps, delta, pessimistic=False) <= ours + 1e-9
    assert ours <= 1.01 * theirs(rate, noise, steps, delta, pessimistic=True) + 1e-6


@pytest.mark.parametrize("rate", [0.003, 0.1, 0.7])
@pytest.mark.parametrize("noise", [0.5, 1.3, 6.0])
@pytest.mark.parametrize("delta", [1e-3, 1e-6])
def test_one_step_is_never_below_the_exact_curve(rate, noise, delta):
    """Both orders of N(0, s^2) and its mixture with N(1, s^2), known in closed form."""

    def tail(x):
        return math.erfc(x / math.sqrt(2)) / 2

    def with_unit(epsilon):  # mixture against N(0): above the point where the ratio is e^epsilon
        if math.exp(epsilon) <= 1 - rate:
            return 1.0
        x = noise**2 * math.log((math.exp(epsilon) - 1 + rate) / rate) + 0.5
        return (
            (1 - rate) * tail(x / noise) + rate * tail((x - 1) / noise) - math.exp(epsilon) * tail(x / noise)
        )

    def without_unit(epsilon):  # N(0) against the mixture: below that point
        if math.exp(-epsilon) <= 1 - rate:
            return 0.0
        x = noise**2 * math.log((math.exp(-epsilon) - 1 + rate) / rate) + 0.5
        mixture = (1 - rate) * tail(-x / noise) + rate * tail((1 - x) / noise)
        return tail(-x / noise) - math.exp(epsilon) * mixture

    found = dp_sgd(sampling_rate=rate, noise=noise, steps=1, delta=delta)
    if found > 0:
        exact = max(with_unit(found), without_unit(found))
        assert exact <= delta * (1 + 1e-9)
        assert max(with_unit(found * 0.98 - 1e-4), without_unit(found * 0.98 - 1e-4)) > delta
    else:
        assert max(with_unit(0.0), without_unit(0.0)) <= delta


def test_two_steps_are_never_below_the_exact_curve():
    """Two steps by brute force: a fine product of both loss densities, in both orders."""
    rate, noise, delta = 0.3, 1.2, 1e-3
    points = np.linspace(-12 * noise, 12 * noise + 1, 3000)
    base = np.exp(-(points**2) / (2 * noise**2))
    moved = (1 - rate) * base + rate * np.exp(-((points - 1) ** 2) / (2 * noise**2))
    base, moved = base / base.sum(), moved / moved.sum()
    found = dp_sgd(sampling_rate=rate, noise=noise, steps=2, delta=delta)
    for first, second in ((moved, base), (base, moved)):
        loss = np.log(first / second)
        both = loss[:, None] + loss[None, :]
        weights = first[:, None] * first[None, :]

        def stick(epsilon, both=both, weights=weights):
            return float(np.sum(weights * np.maximum(0.0, -np.expm1(epsilon - both))))

        assert stick(found) <= delta * (1 + 1e-6)


def test_a_rate_of_one_is_plain_gaussian_noise():
    found = dp_sgd(sampling_rate=1, noise=20, steps=100, delta=1e-5)
    assert found == pytest.approx(GaussianLoss(Fraction(1, 2)).epsilon(1e-5), rel=1e-9)


def test_more_steps_less_noise_and_a_higher_rate_cost_more():
    usual = {"sampling_rate": 0.02, "noise": 1.5, "steps": 500, "delta": 1e-6}
    base = dp_sgd(**usual)
    for worse in ({"sampling_rate": 0.03}, {"noise": 1.4}, {"steps": 600}, {"delta": 1e-7}):
        assert dp_sgd(**(usual | worse)) > base


def test_a_coarse_inner_grid_stays_above_a_fine_one():
    loss = PoissonLoss(GaussianLoss(Fraction(1)), Fraction(1, 50))
    exact = loss.delta(Fraction(1, 2))
    for step in (Fraction(1, 10), Fraction(1, 1000), Fraction(1, 100_000)):
        pair = loss.pld(step)
        assert all(each.step == step for each in pair)
        assert exact <= max(each.delta(Fraction(1, 2)) for each in pair) * (1 + 1e-12)
    assert max(each.delta(Fraction(1, 2)) for each in pair) <= exact * 1.01


@pytest.mark.parametrize("epsilon", [0.3, 2, 9])
def test_the_noise_for_an_epsilon_is_enough_and_hardly_more(epsilon):
    usual = {"sampling_rate": 0.02, "steps": 800, "delta": 1e-5}
    noise = dp_sgd_noise(epsilon=epsilon, **usual)
    assert dp_sgd(noise=noise, **usual) <= epsilon
    assert dp_sgd(noise=float(noise) * 0.998, **usual) > epsilon


@pytest.mark.parametrize(
    "wrong",
    [
        {"sampling_rate": 0},
        {"sampling_rate": 1.1},
        {"sampling_rate": math.nan},
        {"noise": 0},
        {"noise": math.inf},
        {"steps": 0},
        {"steps": 1.5},
        {"delta": 0},
        {"delta": 1},
        {"noise": "1"},
    ],
)
def test_what_is_no_training_is_refused(wrong):
    (name,) = wrong
    with pytest.raises(InvalidParameter, match=name):
        dp_sgd(**({"sampling_rate": 0.1, "noise": 1, "steps": 10, "delta": 1e-5} | wrong))


def test_extreme_parameters_have_an_answer():
    for rate, noise, steps in itertools.product((1e-7, 0.999), (0.01, 1000), (1, 10_000)):
        assert dp_sgd(sampling_rate=rate, noise=noise, steps=steps, delta=1e-6) >= 0
