"""What the book's composition statements really give, each with its counterexample or its exact value."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import pytest

from discreet.accounting import advanced, calibrate, optimal
from discreet.accounting.composition import compose
from discreet.core.errors import InvalidParameter
from discreet.core.loss import PureLoss

DELTA = math.exp(-32)


def optimum(epsilon, count):
    return optimal.compose_equal(epsilon=epsilon, delta=0, count=count)


def test_example_3_7_gives_813_by_its_own_theorem():
    """Theorem 3.20 at 1/801 exceeds 1, so it justifies 1/813 only."""
    at_801, total = advanced.advanced_composition(epsilon=Fraction(1, 801), count=10_000, slack=DELTA)
    assert at_801 == pytest.approx(1.0143, abs=1e-4)
    assert total == pytest.approx(DELTA)
    assert advanced.advanced_composition(epsilon=Fraction(1, 813), count=10_000, slack=DELTA)[0] <= 1
    assert advanced.advanced_composition(epsilon=Fraction(1, 812), count=10_000, slack=DELTA)[0] > 1


def test_example_3_7_is_private_at_801_and_not_the_limit():
    assert optimum(Fraction(1, 801), 10_000).delta(1) == pytest.approx(1.380e-17, rel=1e-3)
    largest = calibrate.per_step_epsilon(count=10_000, epsilon=1, delta=DELTA)
    assert float(1 / largest) == pytest.approx(715.5, abs=0.05)
    assert optimum(largest, 10_000).delta(1) <= DELTA
    assert optimum(largest * Fraction(1001, 1000), 10_000).delta(1) > DELTA


def test_the_optimum_by_sixty_digits():
    with mp.workdps(60):
        e, k = mp.mpf(1) / 801, 10_000
        p = 1 / (1 + mp.exp(-e))
        truth, j = mp.mpf(0), (k + 801) // 2 + 1
        mass = mp.binomial(k, j) * p**j * (1 - p) ** (k - j)
        while j <= k and mass > mp.mpf("1e-60"):
            truth += mass * -mp.expm1(1 - (2 * j - k) * e)
            mass *= mp.mpf(k - j) / (j + 1) * p / (1 - p)
            j += 1
        claim = mp.mpf(optimum(Fraction(1, 801), k).delta(1))
        assert truth <= claim <= truth * (1 + mp.mpf("1e-6"))


def test_every_route_lies_between_the_optimum_and_theorem_3_20():
    composition = compose(PureLoss(Fraction(1, 801)), counts=[10_000])
    exact = optimum(Fraction(1, 801), 10_000).epsilon(DELTA)
    upper = advanced.advanced_composition(epsilon=Fraction(1, 801), count=10_000, slack=DELTA)[0]
    assert exact <= composition.epsilon(DELTA) * (1 + 1e-12)
    assert composition.epsilon(DELTA) <= upper


def test_corollary_3_21_fails_near_one():
    """At epsilon' = 0.99, one step and delta' = 0.999 the printed step is not private enough."""
    epsilon, slack = 0.99, 0.999
    step = epsilon / (2 * math.sqrt(2 * math.log(1 / slack)))
    truth = PureLoss(Fraction(step)).delta(epsilon)
    assert truth > slack
    assert truth == pytest.approx(0.99994, abs=1e-5)
    with pytest.raises(InvalidParameter, match="1/2"):
        advanced.corollary(epsilon=epsilon, count=1, slack=slack)


@pytest.mark.parametrize("count", [1, 3, 30, 1000])
@pytest.mark.parametrize("epsilon", [0.01, 0.5, 0.99])
@pytest.mark.parametrize("slack", [0.5, 0.1, 1e-3, 1e-9])
def test_corollary_3_21_holds_as_restricted(epsilon, count, slack):
    step = advanced.corollary(epsilon=epsilon, count=count, slack=slack)
    assert optimum(step, count).delta(Fraction(str(epsilon))) <= slack


def test_mean_loss_bound_of_lemma_3_18_is_twice_too_large():
    """KL of randomized response is epsilon tanh(epsilon / 2), half of epsilon (e^epsilon - 1) when small."""
    for epsilon in (1e-3, 1e-2):
        assert PureLoss(Fraction(epsilon)).zcdp() == pytest.approx(
            epsilon * math.expm1(epsilon) / 2, rel=2e-2
        )
