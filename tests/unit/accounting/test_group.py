"""What one member of a group may cost."""

import math
from fractions import Fraction

import pytest

from discreet.accounting.group import GroupLoss, member_budget
from discreet.core.loss import ApproxLoss


@pytest.mark.parametrize("size", [1, 2, 3, 17])
@pytest.mark.parametrize(("epsilon", "delta"), [(1, 0), (1, Fraction(1, 10**9)), (8, Fraction(1, 10**6))])
def test_members_within_their_budget_keep_the_group_within_its_own(size, epsilon, delta):
    each, less = member_budget(epsilon=Fraction(epsilon), delta=Fraction(delta), size=size)
    assert size * each <= epsilon < size * each * (1 + Fraction(1, 10**9))
    exact = less * sum(Fraction(math.exp(each * place)) for place in range(size))
    assert exact <= delta <= exact * (1 + Fraction(1, 10**9))
    if delta:
        assert GroupLoss(ApproxLoss(each, less), size).delta(epsilon) <= delta * (1 + Fraction(1, 10**9))
