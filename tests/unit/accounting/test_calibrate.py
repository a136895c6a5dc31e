from __future__ import annotations

from fractions import Fraction

import pytest

from discreet.accounting import calibrate
from discreet.accounting.composition import Composed
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.loss import DiscreteLaplaceLoss, GaussianLoss, PureLoss, ZCDPLoss
from discreet.optimisation.common.repeated_choices import SequentialLoss, sequential_range

SIGMAS = [
    (0.1, 1e-6, 36.30469),
    (0.5, 1e-5, 7.03183),
    (1, 1e-6, 4.22468),
    (1, 1e-9, 5.49527),
    (5, 1e-6, 0.98005),
    (10, 1e-6, 0.54109),
]


@pytest.mark.parametrize(("epsilon", "delta", "expected"), SIGMAS)
def test_gaussian_sigma(epsilon, delta, expected):
    sigma = calibrate.gaussian_sigma(epsilon=epsilon, delta=delta)
    assert float(sigma) == pytest.approx(expected, abs=6e-6)
    assert GaussianLoss(1 / sigma).delta(epsilon) <= delta
    assert GaussianLoss(1 / (sigma * Fraction(999, 1000))).delta(epsilon) > delta


@pytest.mark.parametrize(("epsilon", "delta", "rho"), [(1, 1e-6, 0.024356), (3, 1e-6, 0.18507)])
def test_zcdp_rho(epsilon, delta, rho):
    found = calibrate.zcdp_rho(epsilon=epsilon, delta=delta)
    assert float(found) == pytest.approx(rho, rel=1e-4)
    assert ZCDPLoss(found).delta(epsilon) <= delta < ZCDPLoss(found * Fraction(1001, 1000)).delta(epsilon)


def test_per_step_epsilon():
    assert calibrate.per_step_epsilon(count=7, epsilon=1, delta=0) == Fraction(1, 7)
    step = calibrate.per_step_epsilon(count=100, epsilon=1, delta=1e-6)
    assert step > Fraction(1, 100)
    assert Composed(((PureLoss(step), 100),)).implies(epsilon=1, delta=1e-6)
    assert not Composed(((PureLoss(step * Fraction(101, 100)), 100),)).implies(epsilon=1, delta=1e-6)


def test_generic_searches():
    scale = calibrate.smallest_noise(lambda s: DiscreteLaplaceLoss(3, s), epsilon=1, delta=0)
    assert scale == 3
    steps = calibrate.largest_parameter(lambda mu: Composed(((GaussianLoss(mu), 10),)), epsilon=1, delta=1e-6)
    assert float(steps) == pytest.approx(1 / (4.22468 * 10**0.5), rel=1e-5)


def test_a_target_out_of_reach():
    with pytest.raises(InvalidParameter, match="attainable"):
        calibrate.smallest(lambda _: False)
    with pytest.raises(InvalidParameter):
        calibrate.gaussian_sigma(epsilon=1, delta=0)


def test_the_result_is_checked_again():
    calls = []

    def fickle(x: Fraction) -> bool:
        calls.append(x)
        return x >= 1 and len(calls) < 30

    with pytest.raises(InternalError):
        calibrate.smallest(fickle)


@pytest.mark.parametrize("digits", [3, 9, 15])
def test_the_last_digits_of_a_rule_need_not_be_monotone(digits):
    """A curve computed in floats may miss its target once more, a hair beyond where it first met it."""

    def rough(x: Fraction) -> bool:
        return x >= 1 and not Fraction(1, 10**20) < x - 1 < Fraction(1, 10**10)

    found = calibrate.smallest(rough, digits=digits)
    assert rough(found) and found <= 1 + Fraction(1, 10 ** min(8, digits - 1))
    found = calibrate.largest(lambda x: rough(1 / x), digits=digits)
    assert rough(1 / found) and found >= 1 - Fraction(1, 10 ** min(8, digits - 1))


@pytest.mark.parametrize("rounds", [1, 2, 40])
@pytest.mark.parametrize("epsilon", [1, 4, 8, 64, 256, 300, 301, 512, 1000])
def test_every_epsilon_has_a_range(rounds, epsilon):
    """Epsilon 4 and 8 with one choice, at delta 1e-6, once ended in an InternalError."""
    delta = Fraction(1, 10**6)
    found = sequential_range(Fraction(epsilon), delta, rounds)
    assert SequentialLoss(found, rounds).delta(epsilon) <= delta
    assert SequentialLoss(found * (1 + Fraction(1, 10**6)), rounds).delta(epsilon) > delta
