"""Filters on random adaptive sequences: never later than dp_accounting, and never less for more."""

from __future__ import annotations

import random  # noqa: TID251 - test data
from fractions import Fraction

import dp_accounting
import pytest
from dp_accounting.pld import pld_privacy_accountant
from dp_accounting.rdp import rdp_privacy_accountant

from discreet.accounting.composition import Composed
from discreet.accounting.dp_events import to_event
from discreet.accounting.filters import (
    AdvancedFilter,
    ApproxFilter,
    ConcentratedFilter,
    EitherFilter,
    PureFilter,
)
from discreet.core.errors import InvalidParameter
from discreet.core.loss import ApproxLoss, GaussianLoss, LaplaceLoss, PureLoss, ZCDPLoss

DELTA = Fraction(1, 10**5)
FILTERS = [
    lambda epsilon, delta: EitherFilter(epsilon=epsilon, delta=delta, failure=0),
    lambda epsilon, delta: AdvancedFilter(epsilon=epsilon, delta=delta, failure=0),
]


def adaptive(seed: int):
    """Yield losses, large ones and small ones in turn as an analyst may who looks at what is left."""
    draw = random.Random(seed)
    for _ in range(60):
        size = Fraction(draw.choice([1, 2, 5, 20, 60, 150]), 100)
        yield draw.choice([LaplaceLoss, GaussianLoss])(size)


def granted_by(budget, seed: int) -> list:
    return [loss for loss in adaptive(seed) if budget.try_spend(loss)]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("make", FILTERS)
def test_what_a_filter_lets_through_is_within_its_budget_by_another_accountant(make, seed):
    budget = make(3, DELTA)
    granted = granted_by(budget, seed)
    assert len(granted) >= 2
    events = to_event(Composed(tuple((loss, 1) for loss in granted)))
    reference = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    assert reference.compose(events).get_epsilon(float(DELTA)) <= 3 + 1e-3
    # The reference would see a filter that is late.
    beyond = to_event(Composed((*((loss, 1) for loss in granted), (GaussianLoss(Fraction(3)), 1))))
    late = pld_privacy_accountant.PLDAccountant(value_discretization_interval=1e-3)
    assert late.compose(beyond).get_epsilon(float(DELTA)) > 3


@pytest.mark.parametrize("seed", range(4))
def test_a_concentrated_filter_never_beats_renyi_accounting(seed):
    budget = ConcentratedFilter(rho=Fraction(1, 5), failure=0)
    granted = granted_by(budget, seed)
    events = to_event(Composed(tuple((loss, 1) for loss in granted)))
    orders = [1 + 2.0**k for k in range(-3, 8)]
    reference = rdp_privacy_accountant.RdpAccountant(
        orders, dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
    )
    reference.compose(events)
    for order, divergence in zip(reference.orders, reference.rdp, strict=True):
        assert divergence <= order / 5 * (1 + 1e-9)


@pytest.mark.parametrize("make", FILTERS)
@pytest.mark.parametrize(
    "loss", [PureLoss(Fraction(1, 3)), GaussianLoss(Fraction(1, 20)), LaplaceLoss(Fraction(1, 9))]
)
def test_more_budget_never_allows_less(make, loss):
    counts = []
    for epsilon in (Fraction(1, 2), Fraction(1), Fraction(101, 100), Fraction(3)):
        for delta in (Fraction(1, 10**12), Fraction(1, 10**6), Fraction(1, 10**3)):
            budget, granted = make(epsilon, delta), 0
            while budget.try_spend(loss):
                granted += 1
            counts.append((epsilon, delta, granted))
    for epsilon, delta, granted in counts:
        assert all(more >= granted for other, least, more in counts if other >= epsilon and least >= delta), (
            epsilon,
            delta,
        )


BAD = [float("nan"), float("inf"), -1, -1e-300, True, "1", None, Fraction(-1, 10**9)]


@pytest.mark.parametrize("bad", BAD, ids=repr)
def test_no_budget_is_nonsense(bad):
    for make in (
        lambda: PureFilter(epsilon=bad),
        lambda: ApproxFilter(epsilon=bad, delta=0),
        lambda: ApproxFilter(epsilon=1, delta=bad),
        lambda: ConcentratedFilter(rho=bad, failure=0),
        lambda: ConcentratedFilter(rho=1, failure=bad),
        lambda: EitherFilter(epsilon=bad, delta=DELTA, failure=0),
        lambda: EitherFilter(epsilon=1, delta=bad, failure=0),
        lambda: EitherFilter(epsilon=1, delta=DELTA, failure=bad),
    ):
        with pytest.raises(InvalidParameter):
            make()
    for delta in (0, 1):
        with pytest.raises(InvalidParameter):
            EitherFilter(epsilon=1, delta=delta, failure=0)


class Strange(PureLoss):
    """A loss whose exact views are no amounts."""

    def exact_rho(self):
        return float("nan")

    def exact_failure(self):
        return Fraction(-1, 10)


def test_charges_that_are_no_amounts_are_refused():
    for budget in (
        ConcentratedFilter(rho=1, failure=Fraction(1, 10)),
        EitherFilter(epsilon=1, delta=DELTA, failure=0),
        ApproxFilter(epsilon=1, delta=DELTA),
    ):
        with pytest.raises(InvalidParameter, match="at least nothing"):
            budget.try_spend(Strange(Fraction(1, 10)))
        assert set(budget.spent.values()) == {0}


def test_a_failure_of_one_or_more_fits_nowhere():
    certain = Composed(((ApproxLoss(Fraction(1, 10), Fraction(9, 10)), 2), (ZCDPLoss(Fraction(0)), 1)))
    for budget in (
        ConcentratedFilter(rho=100, failure=Fraction(99, 100)),
        EitherFilter(epsilon=100, delta=Fraction(999, 1000), failure=Fraction(99, 100)),
    ):
        assert not budget.try_spend(certain)
