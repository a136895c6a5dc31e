"""Counterexamples to printed statements about noise: what docs/errata.md says, checked."""

import itertools
import math
from fractions import Fraction

import mpmath
import pytest

from discreet.audit.exact_report import exact
from discreet.core.loss import DiscreteLaplaceLoss, LaplaceLoss
from discreet.mechanisms.gaussian import ClassicalGaussian, Gaussian
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_histogram import theorem_3_8
from discreet.noise import DiscreteLaplace


def gaussian_delta(sigma, epsilon):
    """Return delta(epsilon) of continuous Gaussian noise at sensitivity 1, to 40 digits."""
    with mpmath.workdps(40):
        s, e = mpmath.mpf(sigma), mpmath.mpf(epsilon)
        return mpmath.ncdf(1 / (2 * s) - e * s) - mpmath.exp(e) * mpmath.ncdf(-1 / (2 * s) - e * s)


def classical_sigma(epsilon, delta):
    return math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def upper_tail(m, mu, epsilon):
    """Return P[mean of m Bernoulli(mu) > (1 + epsilon) mu], exactly."""
    return sum(
        math.comb(m, k) * mu**k * (1 - mu) ** (m - k) for k in range(m + 1) if k > (1 + epsilon) * mu * m
    )


def test_multiplicative_chernoff_is_false_for_large_epsilon():
    """[DR14] Theorem 3.2 has no restriction on epsilon; m = 1, mu = 0.01, epsilon = 50 refutes it."""
    mu = Fraction(1, 100)
    assert upper_tail(1, mu, 50) == Fraction(1, 100)
    assert math.exp(-0.01 * 50**2 / 3) < 2.5e-4


def test_multiplicative_chernoff_holds_up_to_one():
    for m, mu in itertools.product((1, 5, 20, 60), (Fraction(1, 100), Fraction(1, 10), Fraction(1, 2))):
        for epsilon in (Fraction(k, 10) for k in range(11)):
            assert upper_tail(m, mu, epsilon) <= math.exp(-m * mu * epsilon**2 / 3)


@pytest.mark.parametrize(("epsilon", "delta", "actual"), [(0.1, 1e-5, 7.09e-3), (0.5, 1e-5, 7.26e-4)])
def test_footnote_1_variance_has_the_wrong_power(epsilon, delta, actual):
    """[DR14] footnote 1: with variance log(1 / delta) / epsilon delta is 70 to 700 times too large."""
    sigma = math.sqrt(math.log(1 / delta) / epsilon)
    assert math.isclose(gaussian_delta(sigma, epsilon), actual, rel_tol=0.01)
    assert gaussian_delta(sigma, epsilon) > 70 * delta
    assert gaussian_delta(classical_sigma(epsilon, delta), epsilon) <= delta


def test_section_3_5_3_parameter_is_a_standard_deviation():
    """[DR14] section 3.5.3 says variance; taken at its word, delta is 1000 times too large."""
    parameter = classical_sigma(0.5, 1e-5)
    assert math.isclose(gaussian_delta(math.sqrt(parameter), 0.5), 1.05e-2, rel_tol=0.01)
    assert gaussian_delta(parameter, 0.5) <= 1e-5


def test_classical_calibration_is_false_at_epsilon_ten():
    """[DR14] Theorem A.1 outside its range: 0.52988 where 0.54109 is needed, delta 1.9e-6 instead of 1e-6."""
    sigma = classical_sigma(10, 1e-6)
    assert math.isclose(sigma, 0.52988, rel_tol=1e-5)
    assert 1.9e-6 < gaussian_delta(sigma, 10) < 1.91e-6
    needed = Gaussian(l2_sensitivity=1, epsilon=10, delta=1e-6, grid=0.0001).sigma
    assert math.isclose(needed, 0.54109, rel_tol=1e-5)


@pytest.mark.parametrize(("delta", "first"), [(1e-5, 8.42), (1e-6, 8.79), (1e-9, 9.63)])
def test_where_the_classical_calibration_first_fails(delta, first):
    assert gaussian_delta(classical_sigma(first, delta), first) > delta
    assert gaussian_delta(classical_sigma(first - 0.01, delta), first - 0.01) < delta


def test_classical_calibration_holds_below_one():
    worst = max(
        gaussian_delta(classical_sigma(epsilon, delta), epsilon) / delta
        for epsilon in (0.01, 0.1, 0.5, 0.9, 0.999)
        for delta in (1e-12, 1e-6, 1e-3, 0.1, 0.5, 0.9, 0.99)
    )
    assert worst < 0.33
    with pytest.raises(ValueError, match="below 1"):
        ClassicalGaussian(l2_sensitivity=1, epsilon=1, delta=1e-6)


def test_proof_step_of_theorem_a_1_is_false_for_every_c_above_three_halves():
    """c^2 - epsilon + epsilon^2 / 4 c^2 >= c^2 - 8/9 fails at epsilon 1 as soon as c > 3/2."""

    def left_minus_right(c, epsilon):
        return -epsilon + epsilon**2 / (4 * c**2) + Fraction(8, 9)

    assert left_minus_right(Fraction(3, 2), 1) == 0
    for c in (Fraction(151, 100), Fraction(2), Fraction(5), Fraction(50)):
        assert left_minus_right(c, 1) < 0
    assert left_minus_right(Fraction(5), 1) + Fraction(-8, 9) == Fraction(-99, 100)


def test_discrete_laplace_at_one_unit_exceeds_the_continuous_curve():
    """Noise on the integers is not bounded by the continuous curve 1 - e^((e - epsilon) / 2)."""
    report = exact(Laplace(sensitivity=1, epsilon=1), [(0, 1)])
    measured = {(found.view, found.at): found.measured for found in report.findings}
    assert measured["delta", 0.5] > 0.287
    assert LaplaceLoss(Fraction(1)).delta(0.5) < 0.2212
    assert report.holds  # the shipped claim is the discrete one, and it is attained
    assert math.isclose(measured["delta", 0.5], DiscreteLaplaceLoss(1, Fraction(1)).delta(0.5), rel_tol=1e-9)


def test_discrete_laplace_at_one_unit_exceeds_the_continuous_zcdp():
    """Its zCDP parameter is epsilon tanh(epsilon / 2) = 0.462, not epsilon + e^-epsilon - 1 = 0.368."""
    report = exact(Laplace(sensitivity=1, epsilon=1), [(0, 1)])
    order = 1.001
    (measured,) = (found.measured for found in report.findings if (found.view, found.at) == ("renyi", order))
    assert measured > order * 0.46
    assert LaplaceLoss(Fraction(1)).zcdp() < 0.368
    assert measured <= order * math.tanh(0.5)


def test_theorem_3_8_needs_rounding_up_on_the_integers():
    """At epsilon 1, beta 0.39 the bound is 0.94; whole-number noise passes it with probability 0.54."""
    bound = theorem_3_8(size=1, beta=0.39, sensitivity=1, epsilon=1)
    noise = DiscreteLaplace(Fraction(1))
    assert 0.94 < bound < 0.95
    assert float(2 * noise.tail(math.floor(bound) + 1)) > 0.53
    assert float(2 * noise.tail(math.ceil(bound) + 1)) < 0.39


def test_coin_flips_say_yes_to_a_no_by_two_heads():
    """The proof of [DR14] Claim 3.5 names heads, tails; by its own rules that pair answers No."""

    def answer(truth, first, second):
        return truth if first == "tails" else second == "heads"

    flips = list(itertools.product(("heads", "tails"), repeat=2))
    assert [pair for pair in flips if answer(False, *pair)] == [("heads", "heads")]
    assert sum(answer(True, *pair) for pair in flips) == 3
