"""Top-k: peeling in one shot."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.exact_report import exact
from discreet.core.errors import InvalidParameter
from discreet.core.loss import BoundedRangeLoss
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.scores import Monotone, Sensitivity
from discreet.mechanisms.tiny import score_pairs
from discreet.mechanisms.top_k import TopK
from discreet.noise.selection import PeeledChoices
from discreet.testing import unsafe_seeded


def make(**changes):
    return TopK(**{"k": 2, "sensitivity": 1, "epsilon": 1, "size": 4} | changes)


def test_a_count_that_does_not_multiply_is_caught():
    class ChargesOnce(TopK):
        @property
        def loss(self):
            return BoundedRangeLoss(self.rate * self.spread)

    report = exact(
        ChargesOnce(k=2, sensitivity=1, epsilon=1, size=3), score_pairs(Sensitivity(1), [(0, 0, 20)])
    )
    assert not report.holds


def test_the_budget_is_for_all_choices_together():
    mechanism = make(k=4, size=9, epsilon=2)
    assert mechanism.rate == Fraction(1, 4)
    assert mechanism.loss.epsilon(0) == pytest.approx(2)
    step = BoundedRangeLoss(Fraction(1, 2))
    assert mechanism.loss.zcdp() == pytest.approx(4 * step.zcdp())
    assert mechanism.loss.zcdp() <= 2**2 / (8 * 4) * (1 + 1e-12)


def test_one_choice_is_the_exponential_mechanism():
    one, single = make(k=1), Exponential(sensitivity=1, epsilon=1, size=4)
    assert one.rate == single.rate
    assert one.error(0.05) == single.error(0.05)
    assert one.loss.epsilon(1e-6) == pytest.approx(single.loss.epsilon(1e-6))


def test_for_rho_costs_rho_and_hardly_less():
    mechanism = TopK.for_rho(0.1, k=10, sensitivity=1, size=1000)
    assert mechanism.loss.zcdp() <= 0.1
    assert mechanism.loss.zcdp() >= 0.1 * (1 - 1e-6)
    assert mechanism.loss.epsilon(1e-6) < mechanism.loss.epsilon(0)


@pytest.mark.parametrize("beta", [0.3, 0.05])
def test_the_error_holds_for_every_place_on_hard_scores(beta):
    mechanism = make(k=2, size=4, epsilon=4)
    alpha = int(mechanism.error(beta))
    values = np.array([2 * alpha + 2, alpha + 1, 0, 0])
    ranked = sorted(values.tolist(), reverse=True)
    failed = Fraction(0)
    for order, p in PeeledChoices(mechanism.rate, Fraction(2), 2).law(values):
        if any(ranked[j] - values[place] > alpha for j, place in enumerate(order)):
            failed += p
    assert failed <= Fraction(str(beta))
    assert failed > Fraction(str(beta)) / 3  # the bound is not idle


def test_choices_come_in_order_and_differ():
    rng = unsafe_seeded(3)
    named = TopK(k=3, sensitivity=1, epsilon=400, candidates=("a", "b", "c", "d"))
    assert named.release([5, 90, 60, 30], rng=rng).value == ("b", "c", "d")
    for _ in range(50):
        chosen = make(k=4, epsilon=Fraction(1, 10)).release([5, 90, 60, 30], rng=rng).value
        assert sorted(chosen) == [0, 1, 2, 3]


def test_scores_of_any_value_are_taken():
    mechanism = make(grid=0.5, epsilon=1000)
    assert mechanism.release([math.nan, math.inf, -math.inf, 3.0], rng=unsafe_seeded(4)).value == (1, 3)


def test_for_error_goes_the_other_way():
    mechanism = TopK.for_error(alpha=10, beta=0.05, k=3, sensitivity=Monotone(1), size=100)
    assert mechanism.error(0.05) <= 10
    cheaper = make(k=3, sensitivity=Monotone(1), size=100, epsilon=mechanism.epsilon * Fraction(99, 100))
    assert cheaper.error(0.05) > 10


@pytest.mark.parametrize("k", [0, 5, -1, 1.5, True, None])
def test_k_is_a_number_of_candidates(k):
    with pytest.raises(InvalidParameter, match="k must be"):
        make(k=k)
