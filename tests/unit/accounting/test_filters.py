"""from __future__ import annotations"""

from __future__ import annotations

import copy
import math
import pickle  # noqa: TID251 - to see that it is refused
import threading
from fractions import Fraction

import pytest

from discreet.accounting.amplification import PoissonLoss
from discreet.accounting.composition import compose
from discreet.accounting.failing import FailingLoss
from discreet.accounting.filters import (
    AdvancedFilter,
    ApproxFilter,
    ConcentratedFilter,
    EitherFilter,
    PureFilter,
    RenyiFilter,
)
from discreet.accounting.odometer import Odometer
from discreet.core.errors import BudgetExceeded, DiscreetError, InvalidParameter
from discreet.core.loss import ApproxLoss, GaussianLoss, LaplaceLoss, Loss, PureLoss, RenyiLoss, ZCDPLoss

TENTH = Fraction(1, 10)


FILTERS = [
    lambda: PureFilter(epsilon=1),
    lambda: ApproxFilter(epsilon=1, delta=1e-6),
    lambda: ConcentratedFilter(rho=1, failure=0),
    lambda: AdvancedFilter(epsilon=1, delta=1e-6, failure=0),
    lambda: EitherFilter(epsilon=1, delta=1e-6, failure=0),
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


@pytest.mark.parametrize(
    "most", [Fraction(1, 3), Fraction(1, 7), Fraction(355, 113), Fraction("0.1"), Fraction(1)]
)
def test_a_budget_holds_itself_and_its_parts_exactly(most):
    assert PureFilter(epsilon=most).try_spend(PureLoss(most))
    for count in (3, 7, 60, 127):
        budget = PureFilter(epsilon=most)
        assert all(budget.try_spend(PureLoss(most / count)) for _ in range(count))
        assert budget.left == {"epsilon": 0}
        assert not budget.try_spend(PureLoss(Fraction(1, 10**40)))


def test_other_charges_are_rounded_up_to_a_grid_that_no_charge_refines():
    budget = PureFilter(epsilon=1)
    total = Fraction(0)
    for place in range(200):
        odd = Fraction(1, 10**30 + 2 * place + 1)
        budget.spend(PureLoss(odd))
        total += odd
        assert total <= budget.spent["epsilon"] <= total + Fraction(place + 1, 10**60)
    assert total.denominator.bit_length() > 10_000
    assert budget.spent["epsilon"].denominator.bit_length() < 300


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
        with pytest.raises(DiscreetError, match="double"):
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


def spend_until_refused(budget, loss):
    granted = 0
    while budget.try_spend(loss):
        granted += 1
    return granted


@pytest.mark.parametrize("epsilon", [1, 3])
@pytest.mark.parametrize("step", [Fraction(1), Fraction(1, 3), TENTH, Fraction(1, 100)])
@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
def test_more_delta_never_buys_less(epsilon, step, delta):
    pure = spend_until_refused(PureFilter(epsilon=epsilon), PureLoss(step))
    advanced = AdvancedFilter(epsilon=epsilon, delta=delta, failure=0)
    either = EitherFilter(epsilon=epsilon, delta=delta, failure=0)
    assert either.guarantee == advanced.guarantee
    assert spend_until_refused(either, PureLoss(step)) == max(
        pure, spend_until_refused(advanced, PureLoss(step))
    )


def test_an_either_filter_goes_on_as_long_as_one_way_is_open():
    budget = EitherFilter(epsilon=1, delta=1e-6, failure=1e-7)
    for _ in range(10):
        budget.spend(PureLoss(TENTH))  # rhos are used up after the third
    assert budget.left == {"epsilon": 0, "delta": Fraction(1, 10**7)}
    assert budget.spent["rho"] > budget.budget["rho"]
    assert not budget.try_spend(PureLoss(Fraction(1, 10**9)))
    assert budget.try_spend(PureLoss(Fraction(0)))

    noisy = EitherFilter(epsilon=1, delta=1e-6, failure=1e-7)
    noisy.spend(GaussianLoss(Fraction(1, 20)))
    assert set(noisy.spent) == set(noisy.left) == {"rho", "delta"}
    assert not noisy.try_spend(PureLoss(Fraction(1, 2)))  # the epsilons do not count any more
    noisy.spend(PureLoss(TENTH))
    noisy.spend(ApproxLoss(TENTH, Fraction(1, 10**7)))
    assert noisy.left["delta"] == 0
    assert not noisy.try_spend(ApproxLoss(Fraction(1, 100), Fraction(1, 10**12)))
    with pytest.raises(InvalidParameter, match="RenyiFilter"):
        noisy.spend(RenyiLoss(((2.0, 0.1),)))


class TwoStories(Loss):
    """A loss that knows an epsilon and a rho, each but for an eighth, and not that it is the same eighth."""

    def delta(self, epsilon):
        return 0.125 if epsilon >= 1 else 1.0

    def zcdp(self):
        return 0.01

    @property
    def failure(self):
        return 0.125


def test_epsilon_and_rho_of_an_either_filter_hold_but_for_one_and_the_same_event():
    """Or an analyst could go one way after failures of one kind, and the other way after the others."""
    assert TwoStories().epsilon(0.125) <= 1 + 1e-12
    assert TwoStories().exact_epsilon() is None
    budget = EitherFilter(epsilon=2, delta=0.5, failure=0.2)
    assert "epsilon" not in budget.cost(TwoStories()).amounts
    for common in (
        ApproxLoss(TENTH, TENTH),
        FailingLoss(LaplaceLoss(TENTH), TENTH),
        PoissonLoss(ApproxLoss(TENTH, TENTH), Fraction(1, 2)),
        compose(ApproxLoss(TENTH, Fraction(1, 20)), counts=[2]).loss,
    ):
        assert {"epsilon", "rho", "delta"} == set(budget.cost(common).amounts)


def test_a_failing_loss_has_its_epsilon_at_its_own_mass():
    third = Fraction(1, 3)
    loss = FailingLoss(PureLoss(third), third)
    assert loss.epsilon(third) == pytest.approx(1 / 3)
    assert math.isinf(loss.epsilon(third - Fraction(1, 10**12)))
    assert loss.epsilon(Fraction(1, 2)) == PureLoss(third).epsilon(Fraction(1, 6))


def test_charges_are_taken_back_exactly():
    budget = EitherFilter(epsilon=1, delta=1e-6, failure=0)
    sure, noisy = budget.cost(PureLoss(Fraction(1))), budget.cost(GaussianLoss(Fraction(1, 20)))
    assert budget.fits(sure) and budget.fits(noisy) and not budget.fits(sure + noisy)
    assert sure + noisy - noisy == sure
    assert budget.left_of(sure + noisy - noisy) == {"epsilon": 0, "delta": 0}
    half = Fraction(1, 2)
    assert not budget.fits(sure, share=half)
    assert budget.fits(budget.cost(PureLoss(half)), share=half)
    assert budget.spent == {"epsilon": 0, "rho": 0, "delta": 0}, "asking spends nothing"
    with pytest.raises(InvalidParameter, match="charge must be in epsilon"):
        _ = sure + PureFilter(epsilon=1).nothing


@pytest.mark.parametrize("kind", [AdvancedFilter, EitherFilter])
@pytest.mark.parametrize("failure", [0, 2e-7, 9e-7])
def test_rho_and_failures_share_one_delta(kind, failure):
    budget = kind(epsilon=1, delta=1e-6, failure=failure).budget
    whole = FailingLoss(ZCDPLoss(budget["rho"]), budget["delta"])
    assert whole.implies(epsilon=1, delta=1e-6)
    more = FailingLoss(ZCDPLoss(budget["rho"] * Fraction(1001, 1000)), budget["delta"])
    assert not more.implies(epsilon=1, delta=1e-6)


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
