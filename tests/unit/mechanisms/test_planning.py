from fractions import Fraction

import mpmath
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.bounds import each_of, find_cheapest
from discreet.core.errors import InvalidParameter
from discreet.mechanisms.laplace import Laplace


@given(
    size=st.integers(1, 10**7),
    beta=st.fractions(min_value=Fraction(1, 10**12), max_value=Fraction(999_999, 10**6)),
)
def test_each_share_is_the_exact_one_rounded_down(size, beta):
    with mpmath.workdps(60):
        kept = 1 - mpmath.mpf(beta.numerator) / beta.denominator
        exact = 1 - kept ** (mpmath.mpf(1) / size)
        share = each_of(size, beta)
        assert 0 < share <= exact
        assert share >= exact * (1 - mpmath.mpf(10) ** -14 / kept)  # near 1 beta itself is coarse
        assert share >= (1 - kept) / size * (1 - mpmath.mpf(10) ** -14)


@pytest.mark.parametrize("alpha", [1, 3, 10, 250])
def test_the_cheapest_fits_and_a_hundredth_less_does_not(alpha):
    def make(epsilon):
        return Laplace(sensitivity=1, epsilon=epsilon)

    found = find_cheapest(make, alpha=alpha, beta=0.05)
    assert found.error(0.05) <= alpha
    assert make(found.epsilon * Fraction(99, 100)).error(0.05) > alpha


def test_a_rounder_epsilon_must_fit_like_any_other():
    """The error of noise on a grid may rise a little where epsilon does."""

    def rises(mechanism, beta):
        return mechanism.error(beta) + (10 if mechanism.epsilon.denominator % 5 == 0 else 0)  # a decimal

    found = find_cheapest(
        lambda epsilon: Laplace(sensitivity=1, epsilon=epsilon), alpha=12, beta=0.05, error=rises
    )
    assert rises(found, 0.05) <= 12


def test_another_error_may_be_asked_for():
    found = find_cheapest(
        lambda epsilon: Laplace(sensitivity=1, epsilon=epsilon),
        alpha=5,
        beta=0.05,
        error=lambda mechanism, beta: 2 * mechanism.error(beta),
    )
    assert found.error(0.05) <= 2.5
    assert found.epsilon > Laplace.for_error(alpha=5, beta=0.05, sensitivity=1).epsilon


def test_an_error_out_of_reach_is_refused_with_the_cause():
    with pytest.raises(InvalidParameter, match="grid that is too coarse"):
        Laplace.for_error(alpha=0.1, beta=0.05, sensitivity=1, grid=1)


@pytest.mark.parametrize("bad", [0, 1, -1, float("nan"), True, "0.1", None])
def test_beta_is_checked(bad):
    with pytest.raises(InvalidParameter, match="beta"):
        each_of(3, bad)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "0.1", None])
def test_alpha_is_checked(bad):
    with pytest.raises(InvalidParameter, match="alpha"):
        Laplace.for_error(alpha=bad, beta=0.05, sensitivity=1)
