from __future__ import annotations

import copy
import math
import pickle  # noqa: TID251 - to see that it is refused
import threading
from fractions import Fraction

import numpy as np
import pytest

from discreet.accounting.filters import (
    AdvancedFilter,
    ApproxFilter,
    ConcentratedFilter,
    Odometer,
    PureFilter,
    RenyiFilter,
)
from discreet.core.errors import BudgetExceeded, InvalidParameter
from discreet.core.loss import ApproxLoss, GaussianLoss, LaplaceLoss, PureLoss, RenyiLoss, ZCDPLoss

TENTH = Fraction(1, 10)

FILTERS = [
    lambda: PureFilter(epsilon=1),
    lambda: ApproxFilter(epsilon=1, delta=1e-6),
    lambda: ConcentratedFilter(rho=1, failure=0),
    lambda: AdvancedFilter(epsilon=1, delta=1e-6, failure=0),
    lambda: RenyiFilter(order=8, divergence=1, failure=0),
]


@pytest.mark.parametrize("make", FILTERS)
def test_a_filter_stops_and_says_what_is_left(make):
    budget = make()
    for _ in range(100_000):
        if not budget.try_spend(PureLoss(Fraction(1, 20))):
            break
    before = budget.spent
    with pytest.raises(BudgetExceeded) as caught:
        budget.spend(PureLoss(Fraction(1, 20)))
    assert budget.spent == before, "a refused charge must cost nothing"
    assert "left" in str(caught.value)
    assert all(amount >= 0 for amount in budget.left.values())
    assert "spent" in repr(budget)


def test_exactly_the_budget_fits():
    budget = PureFilter(epsilon=1)
    for _ in range(10):
        budget.spend(PureLoss(TENTH))
    assert budget.left == {"epsilon": 0}
    assert not budget.try_spend(PureLoss(Fraction(1, 10**12)))
    assert budget.try_spend(PureLoss(Fraction(0)))
    assert budget.guarantee == PureLoss(Fraction(1))


def test_charges_are_rounded_up_and_budgets_down():
    budget = PureFilter(epsilon=Fraction(1, 3))
    budget.spend(PureLoss(Fraction(1, 7)))
    assert budget.spent["epsilon"] > Fraction(1, 7)
    assert budget.spent["epsilon"] + budget.left["epsilon"] <= Fraction(1, 3)


def test_an_infinite_charge_is_refused():
    assert not PureFilter(epsilon=1).try_spend(GaussianLoss(TENTH))
    assert not ApproxFilter(epsilon=1, delta=1e-3).try_spend(GaussianLoss(TENTH))
    assert not ConcentratedFilter(rho=1, failure=0).try_spend(RenyiLoss(((2.0, 0.1),)))
    assert not ConcentratedFilter(rho=1, failure=0).try_spend(ApproxLoss(TENTH, Fraction(1, 10**9)))
    assert ConcentratedFilter(rho=1, failure=1e-6).try_spend(ApproxLoss(TENTH, Fraction(1, 10**9)))
    with pytest.raises(InvalidParameter, match="finite charge"):
        PureFilter(epsilon=1).spend(GaussianLoss(TENTH))
    with pytest.raises(InvalidParameter):
        PureFilter(epsilon=1).try_spend(1)


@pytest.mark.parametrize("make", [*FILTERS, lambda: Odometer(delta=1e-6)])
def test_a_budget_cannot_be_copied(make):
    budget = make()
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="double"):
            attempt(budget)


def test_threads_never_overspend():
    budget = PureFilter(epsilon=1)
    granted = []

    def analyst():
        for _ in range(200):
            if budget.try_spend(PureLoss(Fraction(1, 100))):
                granted.append(1)

    threads = [threading.Thread(target=analyst) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(granted) == 100


@pytest.mark.parametrize("epsilon", [0.3, 1, 4])
@pytest.mark.parametrize("step", [0.01, 0.1])
def test_advanced_filter_allows_at_least_the_published_one(epsilon, step):
    delta = 1e-6
    budget = AdvancedFilter(epsilon=epsilon, delta=delta, failure=0)
    granted = 0
    while budget.try_spend(PureLoss(Fraction(str(step)))):
        granted += 1
    squares = 0.0
    published = 0
    while math.sqrt(2 * math.log(1 / delta) * (squares + step**2)) + (squares + step**2) / 2 <= epsilon:
        squares += step**2
        published += 1
    assert granted >= published
    # The optimal theorem for a fixed number of steps is a ceiling for any filter.
    ceiling = budget.guarantee
    assert ceiling == ApproxLoss(Fraction(str(epsilon)), Fraction(1, 10**6))


def test_advanced_filter_keeps_failures_apart():
    budget = AdvancedFilter(epsilon=1, delta=1e-6, failure=5e-7)
    assert budget.try_spend(ApproxLoss(TENTH, Fraction(4, 10**7)))
    assert not budget.try_spend(ApproxLoss(TENTH, Fraction(2, 10**7)))
    with pytest.raises(InvalidParameter):
        AdvancedFilter(epsilon=1, delta=1e-6, failure=1e-6)


def test_guarantees_of_filters_convert():
    assert ApproxFilter(epsilon=1, delta=TENTH).guarantee == ApproxLoss(Fraction(1), TENTH)
    zcdp = ConcentratedFilter(rho=Fraction(1, 50), failure=1e-9)
    assert zcdp.guarantee.zcdp() == 0.02
    assert zcdp.guarantee.renyi(2) >= 0.04
    assert zcdp.guarantee.delta(1) >= ZCDPLoss(Fraction(1, 50)).delta(1) + 1e-9
    assert zcdp.guarantee.failure >= 1e-9
    assert ConcentratedFilter(rho=1, failure=0).guarantee == ZCDPLoss(Fraction(1))
    renyi = RenyiFilter(order=8, divergence=Fraction(1, 2), failure=0).guarantee
    assert renyi.renyi(8) == 0.5
    assert math.isinf(renyi.renyi(9))
    failing = RenyiFilter(order=8, divergence=1, failure=1e-9).guarantee
    assert math.isinf(failing.zcdp())
    assert failing.exact_rho() is None
    assert failing.exact_failure() == Fraction(1, 10**9)
    assert "failing" in str(failing)


def test_odometer_grows_and_stays_above_pure_truth_and_below_the_sum():
    odometer = Odometer(delta=1e-6)
    last = 0.0
    for k in range(1, 1000):
        odometer.record(LaplaceLoss(TENTH))
        assert odometer.epsilon >= last
        last = odometer.epsilon
        assert last <= k * 0.1 + 1e-5
    rho = 999 * LaplaceLoss(TENTH).zcdp()
    best = rho + 2 * math.sqrt(rho * math.log(1e6))  # the bound at one time known in advance
    assert best <= last <= 1.3 * best
    assert odometer.failure == pytest.approx(1e-6)
    odometer.record(ApproxLoss(TENTH, Fraction(1, 10**6)))
    assert odometer.failure >= 2e-6
    odometer.record(RenyiLoss(((2.0, 0.1),)))
    assert math.isinf(odometer.epsilon)
    assert "probability" in repr(odometer)


def test_odometer_bound_holds_at_every_time_on_simulated_losses():
    """Realised losses of randomized response: 300 runs of 400 steps, checked at every step.

    The bound fails in a run with probability at most delta = 1e-3, so 300 sound runs show more than 4
    failures with probability below 1e-5. A bound at a quarter of the size must fail.
    """
    rng = np.random.default_rng(3)  # noqa: TID251 - test data
    epsilon, steps = 0.2, 400
    odometer, bounds = Odometer(delta=1e-3), []
    for _ in range(steps):
        odometer.record(PureLoss(Fraction(1, 5)))
        bounds.append(odometer.epsilon)
    p = 1 / (1 + math.exp(-epsilon))
    signs = np.where(rng.random((300, steps)) < p, epsilon, -epsilon)
    realised = np.cumsum(signs, axis=1)
    assert np.sum(np.any(realised > np.array(bounds), axis=1)) <= 4
    assert np.sum(np.any(realised > np.array(bounds) / 4, axis=1)) > 4
