from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.loss import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    RenyiLoss,
    ZCDPLoss,
    renyi_delta,
    zcdp_delta,
)
from discreet.core.losses.pld import LossDistribution, common_unit, from_floats, from_points

TENTH = Fraction(1, 10)
ALL = [
    PureLoss(TENTH),
    ApproxLoss(TENTH, Fraction(1, 1000)),
    ZCDPLoss(TENTH),
    RenyiLoss(((2.0, 0.1), (8.0, 0.3))),
    BoundedRangeLoss(TENTH),
    LaplaceLoss(TENTH),
    DiscreteLaplaceLoss(2, Fraction(10)),
    GaussianLoss(TENTH),
    GaussianLoss(TENTH, Fraction(11, 10)),
]


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_losses_are_frozen_hashable_and_refuse_nonsense(loss):
    assert loss in {loss}
    with pytest.raises(AttributeError):
        setattr(loss, dataclasses.fields(loss)[0].name, Fraction(1))
    for epsilon in (math.nan, math.inf, -1, "1", True):
        with pytest.raises(InvalidParameter):
            loss.delta(epsilon)
    for delta in (math.nan, 1, -0.1, "1", True):
        with pytest.raises(InvalidParameter):
            loss.epsilon(delta)
    for order in (1, 0.5, math.nan, math.inf):
        with pytest.raises(InvalidParameter):
            loss.renyi(order)


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_extreme_arguments_do_not_overflow(loss):
    for epsilon in (0, 1e-300, 1e-9, 1e5, 1e9):
        assert 0 <= loss.delta(epsilon) <= 1
    for delta in (0, 1e-300, 1 - 1e-12):
        assert loss.epsilon(delta) >= 0
    assert loss.renyi(1 + 1e-12) >= 0
    assert loss.renyi(1e12) >= 0


@pytest.mark.parametrize("loss", ALL, ids=str)
def test_exact_views_are_at_least_the_truth_and_at_most_the_float(loss):
    if loss.exact_rho() is not None:
        assert loss.exact_rho() <= Fraction(loss.zcdp())
    assert loss.exact_failure() <= Fraction(loss.failure)
    epsilon = loss.exact_epsilon()
    if epsilon is not None:
        assert loss.epsilon(loss.exact_failure()) >= epsilon


@pytest.mark.parametrize("loss", [loss for loss in ALL if loss.pld(TENTH)], ids=str)
def test_distributions_agree_with_the_curve(loss):
    for distribution in loss.pld(Fraction(1, 5000)):
        for epsilon in (0.0, 0.02, 0.07):
            lower = 0.0 if isinstance(loss, BoundedRangeLoss) else loss.delta(epsilon) * (1 - 1e-12)
            pure = PureLoss(TENTH).delta(epsilon) if isinstance(loss, BoundedRangeLoss) else 0.0
            assert lower <= distribution.delta(epsilon)
            assert distribution.delta(epsilon) <= max(loss.delta(epsilon), pure) * 1.01 + 1e-9


def test_zero_losses_cost_nothing():
    for loss in (
        PureLoss(Fraction(0)),
        LaplaceLoss(Fraction(0)),
        GaussianLoss(Fraction(0)),
        DiscreteLaplaceLoss(0, Fraction(5)),
        ZCDPLoss(Fraction(0)),
        BoundedRangeLoss(Fraction(0)),
    ):
        assert loss.delta(0) == 0
        assert loss.epsilon(0) == 0
        pair = loss.pld(TENTH)
        assert pair is None or pair[0].epsilon(1e-9) == 0


def test_a_delta_that_underflows_is_not_a_promise_of_zero():
    assert GaussianLoss(TENTH).delta(1000) > 0
    assert ZCDPLoss(TENTH).delta(10_000) > 0
    assert zcdp_delta(0.0, 1.0) == 0
    assert renyi_delta(2.0, 0.0, 1.0) == 0
    assert zcdp_delta(math.inf, 1.0) == 1


def test_wide_gaussians_never_overflow():
    assert GaussianLoss(Fraction(100), Fraction(10)).delta(1) == 1
    assert math.isfinite(GaussianLoss(Fraction(100)).epsilon(1e-9))


def test_renyi_points_are_read_at_the_next_order():
    loss = RenyiLoss(((8.0, 0.3), (2.0, 0.1)))
    assert (loss.renyi(1.5), loss.renyi(3), loss.renyi(9)) == (0.1, 0.3, math.inf)
    assert RenyiLoss(()).delta(1) == 1
    for bad in (((1.0, 0.1),), ((2.0, -1.0),), ((2.0, math.nan),), ((math.nan, 1.0),)):
        with pytest.raises(InvalidParameter):
            RenyiLoss(bad)


def test_composing_distributions():
    one = from_points(TENTH, [(Fraction(1, 5), 0.5), (-TENTH, 0.5)])
    two = one.compose(one)
    assert two.low == -2
    assert two.masses == pytest.approx([0.25, 0, 0, 0.5, 0, 0, 0.25], abs=1e-9)
    assert one.power(0).epsilon(0) == 0
    assert one.power(3).masses.sum() == pytest.approx(1)
    with pytest.raises(InvalidParameter):
        one.compose(from_points(Fraction(1, 3), [(Fraction(1), 1.0)]))
    with pytest.raises(ValueError, match="read-only"):
        one.masses[0] = 0


def test_tails_go_to_infinity_or_up():
    masses = np.array([1e-12, 0.3, 0.7, 1e-13])
    kept = LossDistribution(Fraction(1), 0, masses, 0.0).trim(low=1e-10, high=1e-12)
    assert kept.low == 1
    assert kept.masses[0] >= 0.3 + 1e-12 * 0.99
    assert kept.infinity >= 1e-13
    assert math.isinf(kept.epsilon(1e-14))


def test_splitting_keeps_both_masses():
    """A loss between two grid points keeps its P mass and its Q mass."""
    for losses in ([0.034], [-0.07], [0.1]):
        split = from_floats(TENTH, np.array(losses), np.array([0.5]))
        assert split.masses.sum() == pytest.approx(0.5, rel=1e-11)
        q_mass = float(np.sum(split.masses * np.exp(-split.losses())))
        assert q_mass == pytest.approx(0.5 * math.exp(-losses[0]), rel=1e-11)


def test_common_unit():
    assert common_unit([Fraction(1, 6), Fraction(1, 4), Fraction(0)]) == Fraction(1, 12)
    assert common_unit([]) == 0
