"""What one member of a group may cost."""

import math
from fractions import Fraction

import pytest

from discreet.accounting.group import GroupLoss, member_budget
from discreet.core.loss import ApproxLoss, GaussianLoss, PureLoss, RenyiLoss, ZCDPLoss


@pytest.mark.parametrize("size", [1, 2, 3, 17])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (1, Fraction(1, 10**9)), (8, Fraction(1, 10**6))])
def test_members_within_their_budget_keep_the_group_within_its_own(size, epsilon, delta):
    each, less = member_budget(epsilon=Fraction(epsilon), delta=Fraction(delta), size=size)
    assert size * each <= epsilon < size * each * (1 + Fraction(1, 10**9))
    exact = less * sum(Fraction(math.exp(each * place)) for place in range(size))
    assert exact <= delta <= exact * (1 + Fraction(1, 10**9))
    if delta:
        assert GroupLoss(ApproxLoss(each, less), size).delta(epsilon) <= delta * (1 + Fraction(1, 10**9))


def test_members_of_a_group_with_an_epsilon_beyond_reason_pay_no_delta():
    """e to the epsilon is beyond floats: nothing of a delta is left for one, and an epsilon alone will do."""
    assert member_budget(epsilon=Fraction(10**30), delta=Fraction(1, 10**9), size=2) == (10**30 // 2, 0)


@pytest.mark.parametrize(
    ("loss", "size", "words"),
    [
        (PureLoss(Fraction(1, 3)), 3, "epsilon 1 (3 at once, epsilon 0.333333 each)"),
        (GaussianLoss(Fraction(1, 4)), 2, "Gaussian loss mu 0.5 (2 at once, Gaussian loss mu 0.25 each)"),
        (ZCDPLoss(Fraction(1, 100)), 3, "rho 0.09 (zCDP) (3 at once, rho 0.01 (zCDP) each)"),
        (RenyiLoss(((2.0, 0.1),)), 3, "Rényi loss at 1 orders, for groups of 3"),
    ],
)
def test_a_group_is_told_what_it_loses_together(loss, size, words):
    assert str(GroupLoss(loss, size)) == words


def test_a_group_is_told_its_delta_too():
    words = str(GroupLoss(ApproxLoss(Fraction(1, 3), Fraction(1, 10**9)), 3))
    assert words.startswith("epsilon 1, delta 4.3")
