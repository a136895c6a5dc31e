import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from discreet.audit.exact_report import exact
from discreet.core.errors import InvalidParameter
from discreet.mechanisms.geometric import CARD, Geometric
from discreet.mechanisms.laplace import Laplace
from discreet.testing import unsafe_seeded


@pytest.mark.parametrize("bad", [0, -1, 1.0, 1.5, float("nan"), True, "1", None, Fraction(1)])
def test_the_sensitivity_is_a_whole_number(bad):
    with pytest.raises(InvalidParameter, match="sensitivity must be an integer >= 1"):
        Geometric(sensitivity=bad, epsilon=1)


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "1", None])
def test_bad_epsilons_are_refused(bad):
    with pytest.raises(InvalidParameter, match=r"epsilon must be (a number, )?finite and > 0"):
        Geometric(sensitivity=1, epsilon=bad)


def test_there_is_no_grid_and_no_real_data():
    with pytest.raises(TypeError):
        Geometric(sensitivity=1, epsilon=1, grid=1)
    with pytest.raises(InvalidParameter, match="integer type"):
        Geometric(sensitivity=1, epsilon=1).release(1.5)


@pytest.mark.parametrize(("sensitivity", "epsilon"), [(1, 1), (1, 0.01), (4, 0.3), (1, 20)])
def test_pmf_and_variance_are_those_of_the_classical_parametrisation(sensitivity, epsilon):
    mechanism = Geometric(sensitivity=sensitivity, epsilon=epsilon)
    with mpmath.workdps(50):
        ratio = mpmath.exp(-1 / (mpmath.mpf(mechanism.scale.numerator) / mechanism.scale.denominator))
        assert ratio <= mechanism.ratio <= ratio * (1 + mpmath.mpf(10) ** -14)
        variance = 2 * ratio / (1 - ratio) ** 2
        assert variance <= mechanism.variance <= variance * (1 + mpmath.mpf(10) ** -13)
        for z in (-7, -1, 0, 1, 3):
            exact_mass = (1 - ratio) / (1 + ratio) * ratio ** abs(z)
            shown = mechanism.pmf(z)
            assert abs(mpmath.mpf(shown.numerator) / shown.denominator - exact_mass) < mpmath.mpf(2) ** -100
    assert math.isclose(mechanism.ratio, math.exp(-epsilon / sensitivity), rel_tol=1e-10)


@pytest.mark.parametrize("ratio", [Fraction(1, 2), 0.9, 0.01])
@pytest.mark.parametrize("sensitivity", [1, 3])
def test_the_ratio_is_a_way_in(ratio, sensitivity):
    mechanism = Geometric.for_ratio(ratio, sensitivity=sensitivity)
    assert math.isclose(mechanism.ratio, ratio, rel_tol=1e-11)
    assert math.isclose(float(mechanism.epsilon), -sensitivity * math.log(ratio), rel_tol=1e-12)


@pytest.mark.parametrize("bad", [0, 1, -0.5, 2, float("nan"), True, "0.5"])
def test_bad_ratios_are_refused(bad):
    with pytest.raises(InvalidParameter, match=r"ratio must be (a number, )?strictly between 0 and 1"):
        Geometric.for_ratio(bad, sensitivity=1)


def test_it_is_the_laplace_mechanism_on_the_integers():
    one, other = Geometric(sensitivity=2, epsilon=0.5), Laplace(sensitivity=2, epsilon=0.5)
    assert one.guarantee == other.guarantee
    assert one.error(0.05) == other.error(0.05)
    assert one.release(5, rng=unsafe_seeded(1)).value == other.release(5, rng=unsafe_seeded(1)).value
    assert one != other


def test_both_ways_in():
    mechanism = Geometric.for_error(alpha=10, beta=0.05, sensitivity=1)
    assert isinstance(mechanism, Geometric)
    assert mechanism == Geometric(epsilon=mechanism.epsilon, sensitivity=1)


@pytest.mark.parametrize("tiny", list(CARD.tiny()), ids=lambda tiny: repr(tiny.mechanism))
def test_exact_loss_is_the_claim(tiny):
    report = exact(tiny.mechanism, tiny.pairs)
    assert report.holds, report
    assert report.ratio > 0.999


def test_the_ratio_of_neighbours_is_e_to_the_epsilon_at_every_outcome():
    mechanism = Geometric(sensitivity=1, epsilon=1)
    for z in range(-20, 21):
        ratio = float(mechanism.pmf(z) / mechanism.pmf(z - 1))
        assert math.isclose(abs(math.log(ratio)), 1, rel_tol=1e-12)


def test_the_variance_of_next_to_no_noise_is_bounded():
    for epsilon in (709, 1000, 10**300):
        assert 0 < Geometric(sensitivity=1, epsilon=epsilon).variance < 1e-300


def test_sample_variance_tells_the_scale_apart():
    """200,000 draws: the variance is within 4 % (six standard errors, 2e-9); 0.9 and 1.1 are 19 % off."""
    mechanism = Geometric(sensitivity=1, epsilon=0.5, size=200_000)
    noise = mechanism.release(np.zeros(200_000, dtype=np.int64), rng=unsafe_seeded(4)).value
    assert abs(noise.var() / mechanism.variance - 1) < 0.04
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        assert abs(noise.var() / Geometric(sensitivity=1, epsilon=factor / 2).variance - 1) > 0.04
