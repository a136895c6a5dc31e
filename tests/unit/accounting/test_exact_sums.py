"""What people write adds up as written: no sum drifts by a float's last digit, and none grows without end."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.accounting.composition import Composed, compose
from discreet.accounting.filters import ConcentratedFilter, PureFilter
from discreet.accounting.group import GroupLoss
from discreet.core.errors import InvalidParameter
from discreet.core.loss import ApproxLoss, DiscreteLaplaceLoss, GaussianLoss, LaplaceLoss, PureLoss
from discreet.core.rounding import sum_up
from discreet.queries import Histogram, Marginals, Universe

AMOUNTS = st.fractions(min_value=Fraction(1, 900), max_value=3, max_denominator=997)
PARTS = st.lists(st.tuples(AMOUNTS, st.integers(1, 9)), min_size=1, max_size=4)


@pytest.mark.parametrize("tenths", (1, 2, 3, 6, 7, 11))
def test_a_pure_release_keeps_every_decimal_budget(tenths):
    universe = Universe([("a", (0, 1, 2)), ("b", (0, 1)), ("c", (0, 1, 2, 3))])
    epsilon = tenths / 10
    released = dp.release(
        Marginals.of_order(universe, 2),
        Histogram.dense(universe, [10] * 24),
        epsilon=epsilon,
        delta=0,
        rows=240,
    )
    assert released.guarantee.loss.exact_epsilon() <= Fraction(tenths, 10)
    assert released.guarantee.implies(epsilon=epsilon, delta=0)


@settings(max_examples=15, deadline=None)
@given(PARTS, st.sampled_from([PureLoss, LaplaceLoss, lambda value: DiscreteLaplaceLoss(1, 1 / value)]))
def test_pure_losses_imply_their_exact_sum(parts, kind):
    total = sum((value * count for value, count in parts), Fraction(0))
    whole = Composed(tuple((kind(value), count) for value, count in parts))
    assert whole.exact_epsilon() == total
    assert whole.delta(total) == 0
    assert whole.implies(epsilon=total, delta=0)
    assert PureFilter(epsilon=total).try_spend(whole)


def test_no_loss_implies_less_than_its_sum():
    whole = Composed(((PureLoss(Fraction(1, 3)), 3), (LaplaceLoss(Fraction(1, 7)), 2)))
    assert whole.implies(epsilon=Fraction(9, 7), delta=0)
    assert not whole.implies(epsilon=Fraction(9, 7) - Fraction(1, 10**15), delta=0)


@settings(max_examples=30, deadline=None)
@given(PARTS, st.fractions(Fraction(1, 10**9), Fraction(1, 10**3), max_denominator=10**9))
def test_failure_masses_imply_their_exact_sum(parts, mass):
    whole = Composed(tuple((ApproxLoss(value, mass), count) for value, count in parts))
    total, times = sum((value * count for value, count in parts), Fraction(0)), sum(c for _, c in parts)
    assert whole.implies(epsilon=total, delta=mass * times)
    assert not ApproxLoss(total, mass).implies(epsilon=total, delta=mass - Fraction(1, 10**20))


@settings(max_examples=30, deadline=None)
@given(AMOUNTS, st.integers(1, 12))
def test_groups_multiply_exactly(value, size):
    assert GroupLoss(PureLoss(value), size).exact_epsilon() == size * value
    assert GroupLoss(PureLoss(value), size).implies(epsilon=size * value, delta=0)
    approx = GroupLoss(ApproxLoss(value, Fraction(1, 10**40)), size)
    assert approx.exact_epsilon() == (size * value if approx.failure < 1 else None)


@settings(max_examples=40, deadline=None)
@given(st.fractions(Fraction(1, 60), 2, max_denominator=60), st.integers(1, 30))
def test_rhos_fill_their_budget(rho, count):
    noise = dp.Gaussian.for_rho(rho=rho, l2_sensitivity=1, grid=Fraction(1, 1000))
    assert rho * (1 - Fraction(1, 10**11)) <= noise.loss.exact_rho() <= rho
    budget = ConcentratedFilter(rho=rho * count, failure=0)
    for _ in range(count):
        budget.spend(noise)
    assert ConcentratedFilter(rho=rho * count, failure=0).try_spend(compose(noise, counts=[count]).loss)
    assert not budget.try_spend(noise)


def test_five_tenths_of_rho_are_a_half():
    budget = ConcentratedFilter(rho=Fraction(1, 2), failure=0)
    for _ in range(5):
        budget.spend(dp.Gaussian.for_rho(rho=Fraction(1, 10), l2_sensitivity=1))
    assert budget.left["rho"] == 0


def test_a_square_belongs_to_its_root():
    exact = GaussianLoss(Fraction("1.414213562373096"), square=Fraction(2))
    assert exact.exact_rho() == 1
    assert exact.delta(1) <= GaussianLoss(Fraction("1.414213562373096")).delta(1)
    assert GaussianLoss(Fraction(2), square=Fraction(4)) == GaussianLoss(Fraction(2))
    for square in (Fraction(3), Fraction(2001, 1000), Fraction(0), Fraction(-1)):
        with pytest.raises(InvalidParameter, match="square must be"):
            GaussianLoss(Fraction("1.414213562373096"), square=square)


def test_sums_of_odd_denominators_stay_short_and_are_never_less():
    odd = [Fraction(1, 10**30 + 2 * place + 1) for place in range(300)]
    total, exact = sum_up(odd), sum(odd, Fraction(0))
    assert exact.denominator.bit_length() > 20_000
    assert total.denominator.bit_length() <= 2048 + 100
    assert exact < total < exact + Fraction(1, 1 << 900)
    assert sum_up([Fraction(1, 3), Fraction(1, 6)]) == Fraction(1, 2)
    many = Composed(tuple((PureLoss(amount), 1) for amount in odd))
    assert many.exact_epsilon() >= exact
