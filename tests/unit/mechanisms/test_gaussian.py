import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from discreet.audit.exact_report import exact
from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.loss import GaussianLoss
from discreet.core.neighbours import AddRemove
from discreet.mechanisms.gaussian import (
    CARD,
    NARROWEST,
    ClassicalGaussian,
    ConcentratedGaussian,
    Gaussian,
    discrete_loss,
)
from discreet.noise import DiscreteGaussian
from discreet.testing import unsafe_seeded

ORACLES = [  # (epsilon, delta) -> the smallest standard deviation for sensitivity 1, continuous noise
    (0.1, 1e-6, 36.30469),
    (0.5, 1e-5, 7.03183),
    (1, 1e-6, 4.22468),
    (1, 1e-9, 5.49527),
    (5, 1e-6, 0.98005),
    (10, 1e-6, 0.54109),
]
BAD = [0, -1, float("nan"), float("inf"), True, "1", None, [1]]


@pytest.mark.parametrize("name", ["l2_sensitivity", "epsilon", "delta", "grid"])
@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("kind", [Gaussian, ClassicalGaussian])
def test_bad_numbers_are_refused_by_name(kind, name, bad):
    if name == "grid" and bad is None:
        return
    public = {"l2_sensitivity": 1, "epsilon": 0.5, "delta": 0.01, "grid": 0.1} | {name: bad}
    with pytest.raises(InvalidParameter, match=f"{name} must be"):
        kind(**public)


@pytest.mark.parametrize("bad", BAD)
def test_bad_rhos_are_refused(bad):
    with pytest.raises(InvalidParameter, match=r"rho must be (a number, )?finite and > 0"):
        Gaussian.for_rho(bad, l2_sensitivity=1)


@pytest.mark.parametrize("bad", [1, 2, 0])
def test_delta_lies_strictly_between_0_and_1(bad):
    with pytest.raises(InvalidParameter, match="delta must be strictly between 0 and 1"):
        Gaussian(l2_sensitivity=1, epsilon=1, delta=bad)


@pytest.mark.parametrize("bad", [0, -1, 1.5, True, "2", None])
def test_bad_sizes_are_refused(bad):
    with pytest.raises(InvalidParameter, match="size must be an integer >= 1"):
        Gaussian(l2_sensitivity=1, epsilon=1, delta=0.1, size=bad)


def test_bad_neighbours_and_small_integer_sensitivities_are_refused():
    with pytest.raises(InvalidParameter, match="neighbours"):
        Gaussian(l2_sensitivity=1, epsilon=1, delta=0.1, neighbours="row")
    with pytest.raises(
        InvalidParameter, match=r"Pass grid=, for instance grid=0.01, to release real numbers"
    ):
        Gaussian(l2_sensitivity=0.5, epsilon=1, delta=0.1)


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), ORACLES)
def test_on_a_fine_grid_the_analytic_oracles_are_met(epsilon, delta, sigma):
    mechanism = Gaussian(l2_sensitivity=1, epsilon=epsilon, delta=delta, grid=0.0005)
    assert sigma * (1 - 2e-5) <= mechanism.sigma <= sigma * (1 + 2e-5)
    assert mechanism.guarantee.implies(epsilon=epsilon, delta=delta)


@pytest.mark.parametrize(("epsilon", "delta", "sigma"), ORACLES)
def test_on_the_integers_the_price_of_discreteness_is_small(epsilon, delta, sigma):
    mechanism = Gaussian(l2_sensitivity=1, epsilon=epsilon, delta=delta)
    assert sigma < mechanism.sigma < sigma * 1.07
    assert mechanism.guarantee.implies(epsilon=epsilon, delta=delta)


@pytest.mark.parametrize(("epsilon", "delta", "_"), ORACLES)
def test_less_variance_would_break_the_promise(epsilon, delta, _):
    mechanism = Gaussian(l2_sensitivity=1, epsilon=epsilon, delta=delta, grid=0.01)
    less = mechanism.variance * (1 - Fraction(1, 10**9))
    assert discrete_loss(mechanism.square_shift, less).delta(epsilon) > delta


def hockey_stick(variance, moves, epsilon):
    """Return delta(epsilon) of the discrete Gaussian in len(moves) dimensions, by summation."""
    v, reach = float(variance), math.ceil(12 * math.sqrt(variance)) + max(moves)
    z = np.arange(-reach, reach + 1)
    total = np.exp(-(z**2) / (2 * v)).sum()
    left = right = np.ones(())
    for move in moves:
        left = np.multiply.outer(left, np.exp(-((z - move) ** 2) / (2 * v)) / total)
        right = np.multiply.outer(right, np.exp(-(z**2) / (2 * v)) / total)
    return float(np.maximum(0, left - math.exp(epsilon) * right).sum())


@pytest.mark.parametrize("moves", [(1,), (3,), (1, 1), (2, 1), (1, 1, 1)])
@pytest.mark.parametrize(
    "variance", [Fraction(3, 10), Fraction(1, 2), Fraction(1), Fraction(4), Fraction(25)]
)
def test_the_loss_covers_the_discrete_noise_in_one_two_and_three_dimensions(moves, variance):
    if len(moves) == 3 and variance > 4:
        return
    loss = discrete_loss(Fraction(sum(m * m for m in moves)), variance)
    for epsilon in (0, 0.1, 0.5, 1, 2, 3, 5):
        assert hockey_stick(variance, moves, epsilon) <= loss.delta(epsilon) + 1e-14


def test_the_continuous_curve_is_false_on_the_integers():
    """Negative control: without the slack the same check fails somewhere."""
    worst = max(
        hockey_stick(variance, (1,), epsilon) / GaussianLoss(Fraction(1) / root).delta(epsilon)
        for root in (Fraction(1), Fraction(2))
        for variance in (root**2,)
        for epsilon in np.linspace(0.1, 5, 50).tolist()
    )
    assert worst > 1.05


@pytest.mark.parametrize("tiny", list(CARD.tiny()), ids=lambda tiny: repr(tiny.mechanism))
def test_exact_loss_is_within_the_claim_and_near_it(tiny):
    report = exact(tiny.mechanism, tiny.pairs)
    assert report.holds, report
    assert report.ratio > 0.99


def test_noise_a_fifth_too_small_is_caught():
    """Negative control: the audit of the right claim on noise for a larger budget."""

    class TooSmall(Gaussian):
        __slots__ = ()

        @property
        def loss(self):
            return discrete_loss(self.square_shift, self.variance * Fraction(5, 4))

    assert not exact(TooSmall(l2_sensitivity=1, epsilon=2, delta=1e-3), [(0, 1)]).holds


@pytest.mark.parametrize("count", [1, 2, 3, 7, 50])
def test_counts_that_all_move_cost_the_root_of_their_number(count):
    mechanism = Gaussian(l2_sensitivity=math.sqrt(count), epsilon=1, delta=1e-6, size=count)
    assert mechanism.square_shift == count
    one = Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6).sigma
    assert math.isclose(mechanism.sigma, math.sqrt(count) * one, rel_tol=0.02)


def test_real_vectors_pay_for_the_rounding_of_every_coordinate():
    fine = Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, grid=0.0001, size=4)
    assert 1e8 < fine.square_shift < 1e8 * 1.001
    coarse = Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, grid=1, size=4)
    assert coarse.square_shift == 4
    assert Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, grid=0.3).square_shift == 16


def test_rho_is_a_way_in():
    mechanism = Gaussian.for_rho(0.1, l2_sensitivity=2)
    assert isinstance(mechanism, ConcentratedGaussian)
    assert mechanism.variance == 20
    assert mechanism.loss.zcdp() <= 0.1 * (1 + 1e-12)
    wide = ConcentratedGaussian.for_error(alpha=20, beta=0.05, l2_sensitivity=2)
    assert wide.error(0.05) <= 20
    assert Gaussian.for_rho(wide.rho * Fraction(97, 100), l2_sensitivity=2).error(0.05) > 20
    assert Gaussian.for_rho(1000, l2_sensitivity=1).variance == NARROWEST


def test_classical_calibration_is_the_textbooks_and_costs_more():
    for epsilon, delta in ((0.1, 1e-6), (0.5, 1e-5), (0.99, 0.1), (0.99, 0.9)):
        classical = Gaussian.classical(l2_sensitivity=1, epsilon=epsilon, delta=delta, grid=0.001)
        assert math.isclose(classical.sigma, math.sqrt(2 * math.log(1.25 / delta)) / epsilon, rel_tol=1e-9)
        assert classical.guarantee.implies(epsilon=epsilon, delta=delta)
        analytic = Gaussian(l2_sensitivity=1, epsilon=epsilon, delta=delta, grid=0.001)
        assert classical.sigma > 1.1 * analytic.sigma


@pytest.mark.parametrize("epsilon", [1, 1.0, 2, 10])
def test_classical_calibration_refuses_epsilon_from_one_on_and_says_why(epsilon):
    with pytest.raises(InvalidParameter, match=r"below 1 .* 8\.42 .* Use Gaussian"):
        Gaussian.classical(l2_sensitivity=1, epsilon=epsilon, delta=1e-6)


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("delta", [1e-9, 1e-3, 0.1, 0.5, 0.9, 0.99])
def test_classical_calibration_holds_on_the_integers_too(epsilon, delta):
    mechanism = Gaussian.classical(l2_sensitivity=1, epsilon=epsilon, delta=delta)
    assert mechanism.loss.delta(epsilon) <= delta


def test_a_classical_calibration_that_breaks_its_promise_is_never_handed_out(monkeypatch):
    monkeypatch.setattr("discreet.mechanisms.gaussian.discrete_loss", lambda *_: GaussianLoss(Fraction(9)))
    with pytest.raises(InternalError, match="does not keep its promise"):
        Gaussian.classical(l2_sensitivity=1, epsilon=0.5, delta=1e-6)


@pytest.mark.parametrize("size", [1, 30])
def test_the_error_is_the_exact_quantile(size):
    mechanism = Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, size=size)
    noise, alpha = DiscreteGaussian(mechanism.variance), int(mechanism.error(0.05))
    assert (1 - 2 * noise.tail(alpha + 1)) ** size >= Fraction(95, 100)
    assert (1 - 2 * noise.tail(alpha)) ** size < Fraction(95, 100)


def test_budget_and_error_are_two_ways_in():
    mechanism = Gaussian.for_error(alpha=30, beta=0.05, delta=1e-6, l2_sensitivity=1)
    assert mechanism == Gaussian(epsilon=mechanism.epsilon, delta=1e-6, l2_sensitivity=1)
    assert mechanism.error(0.05) <= 30
    assert (
        Gaussian(l2_sensitivity=1, epsilon=mechanism.epsilon * Fraction(96, 100), delta=1e-6).error(0.05) > 30
    )


def test_sample_deviation_tells_the_scale_apart():
    """100,000 draws: within 1.5 % (six standard errors, 2e-9) of sigma; 0.9 and 1.1 of it are 10 % off."""
    mechanism = Gaussian(l2_sensitivity=100, epsilon=1, delta=1e-6, size=100_000)
    drawn = mechanism.release(np.zeros(100_000, dtype=np.int64), rng=unsafe_seeded(5))
    assert drawn.value.dtype == np.int64
    assert abs(drawn.value.std() / mechanism.sigma - 1) < 0.015
    for factor in (0.9, 1.1):
        assert abs(drawn.value.std() / (factor * mechanism.sigma) - 1) > 0.015
    assert abs(norm.cdf(1) - norm.cdf(-1) - np.mean(np.abs(drawn.value) < mechanism.sigma)) < 0.01


def test_values_release_and_describe():
    mechanism = Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, grid=0.5, neighbours=AddRemove("person"))
    released = mechanism.release(2.25, rng=unsafe_seeded(6))
    assert released.value * 2 == round(released.value * 2)
    assert "adding or removing one person" in str(released.guarantee)
    assert "epsilon=1, delta=1e-06" in repr(mechanism)
    assert {mechanism, mechanism} == {mechanism}
    with pytest.raises(AttributeError):
        mechanism.delta = 0.5


def test_three_classes_with_the_same_numbers_are_different_promises():
    public = {"l2_sensitivity": 1, "epsilon": Fraction(1, 2), "delta": Fraction(1, 100)}
    kinds = [Gaussian(**public), Gaussian.classical(**public)]
    assert all(a != b for a, b in itertools.combinations(kinds, 2))


def test_releases_print_what_was_bought():
    bought = "epsilon 1 at delta 1e-06 for adding or removing one row"
    assert Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6).words == bought
    assert repr(Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6).release(5)).endswith(f"(95 %), {bought}")
    two = Gaussian.classical(l2_sensitivity=1, epsilon=0.5, delta=1e-6, size=2).release([1, 2])
    assert repr(two).endswith(", epsilon 0.5 at delta 1e-06 for adding or removing one row")
    concentrated = Gaussian.for_rho(rho=0.5, l2_sensitivity=1)
    assert concentrated.words == str(concentrated.guarantee)
    assert concentrated.bought == concentrated.loss


@pytest.mark.parametrize("epsilon", [0.1, 1, 7])
@pytest.mark.parametrize("delta", [0.1, 1e-6, 1e-15])
def test_what_was_bought_is_kept(epsilon, delta):
    mechanism = Gaussian(l2_sensitivity=3, epsilon=epsilon, delta=delta)
    assert mechanism.loss.delta(mechanism.bought.value) <= mechanism.bought.mass
    assert mechanism.loss.delta(mechanism.bought.value * Fraction(9, 10)) > mechanism.bought.mass
