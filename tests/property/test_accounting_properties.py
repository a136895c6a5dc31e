"""Laws every accountant must obey, on random losses and on random adaptive spenders."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.accounting.amplification import PoissonLoss
from discreet.accounting.composition import Composed, compose
from discreet.accounting.filters import AdvancedFilter, ApproxFilter, ConcentratedFilter, PureFilter
from discreet.accounting.group import GroupLoss
from discreet.accounting.optimal import compose_equal
from discreet.core.loss import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    ZCDPLoss,
)

amounts = st.fractions(min_value=Fraction(1, 1000), max_value=2, max_denominator=1000)
masses = st.fractions(min_value=Fraction(1, 10**9), max_value=Fraction(1, 10**5), max_denominator=10**9)
finite = st.one_of(
    st.builds(PureLoss, amounts),
    st.builds(ApproxLoss, amounts, masses),
    st.builds(LaplaceLoss, amounts),
    st.builds(BoundedRangeLoss, amounts),
    st.builds(DiscreteLaplaceLoss, st.integers(1, 5), st.fractions(1, 50, max_denominator=20)),
)
losses = st.one_of(finite, st.builds(GaussianLoss, amounts), st.builds(ZCDPLoss, amounts))
deltas = st.sampled_from([Fraction(1, 10**3), Fraction(1, 10**6), Fraction(1, 10**9)])
QUICK = settings(max_examples=25, deadline=None)


@QUICK
@given(losses, st.lists(st.floats(0, 5), min_size=2, max_size=6))
def test_curves_fall(loss, epsilons):
    values = [loss.delta(e) for e in sorted(epsilons)]
    assert all(a >= b - 1e-13 for a, b in itertools.pairwise(values))
    assert all(0 <= v <= 1 for v in values)


@QUICK
@given(losses, deltas)
def test_the_two_views_are_inverse(loss, delta):
    delta = delta + loss.exact_failure()
    epsilon = loss.epsilon(delta)
    assert loss.delta(epsilon) <= delta * (1 + Fraction(1, 10**9))
    if epsilon > 1e-6:
        assert loss.delta(epsilon * (1 - 1e-3)) > delta * (1 - Fraction(1, 10**9))


@QUICK
@given(losses, losses, deltas)
def test_a_composition_is_never_cheaper_than_a_part(one, other, delta):
    delta = delta + one.exact_failure() + other.exact_failure()
    both = compose(one, other).epsilon(delta)
    assert both >= max(one.epsilon(delta), other.epsilon(delta)) * (1 - 1e-9)


@QUICK
@given(finite, st.integers(2, 30))
def test_counts_multiply(loss, count):
    one = Composed(((loss, count),))
    assert one == Composed(tuple((loss, 1) for _ in range(count)))
    assert one.exact_epsilon() == count * loss.exact_epsilon()
    assert one.zcdp() >= count * loss.zcdp() * (1 - 1e-12)


@QUICK
@given(finite, st.integers(2, 30), deltas)
def test_no_route_is_below_the_optimum_for_its_own_family(loss, count, delta):
    """For randomized response itself, everything must lie on or above the optimal theorem."""
    value = loss.exact_epsilon()
    exact = compose_equal(epsilon=value, delta=0, count=count).epsilon(delta)
    table = compose(PureLoss(value), counts=[count]).table(delta)
    assert all(epsilon >= exact * (1 - 1e-9) for _, epsilon in table)
    assert min(epsilon for _, epsilon in table) <= exact * (1 + 1e-9)


@QUICK
@given(finite, st.integers(2, 5))
def test_sampling_helps_and_groups_cost(loss, size):
    delta = Fraction(1, 10**4)
    assert PoissonLoss(loss, Fraction(1, 10)).epsilon(delta) <= loss.epsilon(delta) * (1 + 1e-9)
    assert GroupLoss(loss, size).epsilon(delta) >= loss.epsilon(delta) * (1 - 1e-9)


# --- adaptive spenders ---------------------------------------------------------------------------------

requests = st.lists(finite, min_size=1, max_size=40)


@QUICK
@given(requests)
def test_pure_and_approximate_filters_are_never_late(asked):
    pure, approx = PureFilter(epsilon=3), ApproxFilter(epsilon=3, delta=Fraction(1, 10**5))
    granted_pure, granted_approx = [], []
    for loss in asked:
        if pure.try_spend(loss):
            granted_pure.append(loss)
        if approx.try_spend(loss):
            granted_approx.append(loss)
    assert sum(loss.exact_epsilon() for loss in granted_pure) <= 3
    assert all(loss.failure == 0 for loss in granted_pure)
    assert sum(loss.exact_epsilon() for loss in granted_approx) <= 3
    assert sum(loss.exact_failure() for loss in granted_approx) <= Fraction(1, 10**5)


@settings(max_examples=10, deadline=None)
@given(st.lists(losses, min_size=1, max_size=40))
def test_concentrated_filters_keep_their_promise(asked):
    """What a filter let through, taken as a fixed composition, is within the filter's guarantee."""
    for budget in (
        ConcentratedFilter(rho=1, failure=Fraction(1, 10**6)),
        AdvancedFilter(epsilon=2, delta=Fraction(1, 10**5), failure=Fraction(1, 10**6)),
    ):
        granted = [loss for loss in asked if budget.try_spend(loss)]
        whole = Composed(tuple((loss, 1) for loss in granted))
        epsilon = budget.guarantee.epsilon(Fraction(1, 10**5))
        assert math.isfinite(epsilon)
        assert whole.epsilon(Fraction(1, 10**5)) <= epsilon * (1 + 1e-9)


def test_a_late_filter_would_be_seen():
    """The control of the test above: one charge forgotten breaks the promise."""
    budget = AdvancedFilter(epsilon=2, delta=Fraction(1, 10**5), failure=0)
    granted = [GaussianLoss(Fraction(1, 4))]  # not charged
    while budget.try_spend(GaussianLoss(Fraction(1, 100))):
        granted.append(GaussianLoss(Fraction(1, 100)))
    with pytest.raises(AssertionError):
        assert Composed(tuple((loss, 1) for loss in granted)).epsilon(Fraction(1, 10**5)) <= 2
