"""Every view of every loss is an upper bound: floats against 60 digits, over extreme parameters."""

from __future__ import annotations

import math
import random  # noqa: TID251 - test data
from fractions import Fraction

import mpmath as mp
import pytest

from discreet.core.loss import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    LaplaceLoss,
    PureLoss,
    ZCDPLoss,
)
from discreet.core.losses import normal

CASES = 1500
TIGHT = mp.mpf(1) + mp.mpf(10) ** -9


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def number(x):
    return mp.mpf(x.numerator) / x.denominator if isinstance(x, Fraction) else mp.mpf(x)


def read(x: float) -> Fraction:
    return Fraction(repr(x))


def log_uniform(rng: random.Random, low: float, high: float) -> float:
    return float(f"{math.exp(rng.uniform(math.log(low), math.log(high))):.12g}")


def epsilons(seed: int):
    """Pairs (value, epsilon): far apart, close together, one zero."""
    rng = random.Random(seed)
    for _ in range(CASES):
        value = log_uniform(rng, 1e-9, 1e5)
        kind = rng.random()
        if kind < 0.4:
            epsilon = value * rng.random()
        elif kind < 0.7:
            epsilon = max(0.0, value * (1 - log_uniform(rng, 1e-14, 1e-2)))
        elif kind < 0.8:
            epsilon = 0.0
        else:
            epsilon = log_uniform(rng, 1e-9, 1e5)
        yield read(value), read(epsilon)


def deltas(seed: int):
    rng = random.Random(seed)
    for _ in range(CASES):
        value = log_uniform(rng, 1e-9, 1e5)
        near_one = rng.random() < 0.2
        yield (
            read(value),
            read(1 - log_uniform(rng, 1e-12, 0.5) if near_one else log_uniform(rng, 1e-300, 0.9)),
        )


def pure_delta(value, epsilon):
    return mp.mpf(0) if epsilon >= value else (1 - mp.exp(epsilon - value)) / (1 + mp.exp(-value))


def laplace_delta(value, epsilon):
    return mp.mpf(0) if epsilon >= value else -mp.expm1((epsilon - value) / 2)


def range_delta(r, epsilon):
    return mp.mpf(0) if epsilon >= r else mp.expm1((epsilon - r) / 2) ** 2 / -mp.expm1(-r)


CURVES = [(PureLoss, pure_delta), (LaplaceLoss, laplace_delta), (BoundedRangeLoss, range_delta)]


@pytest.mark.parametrize(("kind", "exact"), CURVES)
def test_delta_is_above_and_tight(kind, exact):
    for value, epsilon in epsilons(1):
        claim, truth = mp.mpf(kind(value).delta(epsilon)), exact(number(value), number(epsilon))
        assert truth <= claim <= truth * TIGHT + mp.mpf("1e-320"), (value, epsilon)


@pytest.mark.parametrize(("kind", "exact"), CURVES)
def test_epsilon_is_above_and_tight(kind, exact):
    for value, delta in deltas(2):
        claim = kind(value).epsilon(delta)
        assert exact(number(value), mp.mpf(claim)) <= number(delta), (value, delta)
        if claim > 0:  # a thousandth less must not do, unless delta is out of the range of floats
            below = mp.mpf(claim) - mp.mpf("1e-3") * claim
            assert exact(number(value), below) > number(delta), (value, delta)


def test_approx_curve_is_above():
    rng = random.Random(3)
    for value, epsilon in epsilons(3):
        mass = read(log_uniform(rng, 1e-300, 0.99))
        m = number(mass)
        truth = m + (1 - m) * pure_delta(number(value), number(epsilon))
        assert truth <= mp.mpf(ApproxLoss(value, mass).delta(epsilon)) <= truth * TIGHT
        delta = mass + (1 - mass) * read(log_uniform(rng, 1e-12, 0.9))
        claim = mp.mpf(ApproxLoss(value, mass).epsilon(delta))
        assert m + (1 - m) * pure_delta(number(value), claim) <= number(delta)


def pure_renyi(e, a):
    p = 1 / (1 + mp.exp(-e))
    q = mp.exp(-e) / (1 + mp.exp(-e))
    return mp.log(p**a * q ** (1 - a) + q**a * p ** (1 - a)) / (a - 1)


def laplace_renyi(e, a):
    return mp.log(a / (2 * a - 1) * mp.exp((a - 1) * e) + (a - 1) / (2 * a - 1) * mp.exp(-a * e)) / (a - 1)


@pytest.mark.parametrize(("kind", "exact"), [(PureLoss, pure_renyi), (LaplaceLoss, laplace_renyi)])
def test_renyi_is_above(kind, exact):
    rng = random.Random(4)
    for _ in range(CASES):
        value, order = read(log_uniform(rng, 1e-9, 1e3)), 1 + log_uniform(rng, 1e-5, 1e4)
        claim, truth = mp.mpf(kind(value).renyi(order)), exact(number(value), mp.mpf(order))
        assert truth <= claim
        if value > Fraction(1, 100) and order > 1.01:
            assert claim <= truth * (1 + mp.mpf("1e-6"))


def test_zcdp_is_above():
    rng = random.Random(5)
    for _ in range(CASES):
        value = read(log_uniform(rng, 1e-9, 1e5))
        e = number(value)
        z = e / -mp.expm1(-e)
        for claim, truth in (
            (PureLoss(value).zcdp(), e * mp.tanh(e / 2)),
            (LaplaceLoss(value).zcdp(), e + mp.expm1(-e)),
            (BoundedRangeLoss(value).zcdp(), z - 1 - mp.log(z)),
            (GaussianLoss(value).zcdp(), e * e / 2),
        ):
            assert truth <= mp.mpf(claim) <= truth * mp.mpf("1.01")


def test_discrete_laplace_is_the_exact_sum():
    rng = random.Random(6)
    for _ in range(CASES // 4):
        shift = rng.choice([1, 1, 2, 3, 7, 20])
        scale = read(log_uniform(rng, 1e-3, 1e6))
        loss = DiscreteLaplaceLoss(shift, scale)
        part = Fraction(rng.choice([0, 1, rng.random(), 1 - log_uniform(rng, 1e-12, 1e-2)]))
        epsilon = loss.value * part
        q = mp.exp(-1 / number(scale))
        truth = 1 / (1 + q) * -mp.expm1(number(epsilon - loss.value))
        for x in range(1, shift + 1):
            mass = (1 - q) / (1 + q) * q**x
            truth += mass * -mp.expm1(min(mp.mpf(0), number(epsilon - (shift - 2 * x) / scale)))
        claim = mp.mpf(loss.delta(epsilon))
        assert truth <= claim <= truth * TIGHT + mp.mpf("1e-15"), (shift, scale, epsilon)


def gaussian_truth(mu, r, e):
    square, spread = mu * mu, r * mu * mu
    root = mp.sqrt(spread)
    return mp.exp((r - 1) * square / 2) * mp.ncdf((spread - square / 2 - e) / root) - mp.exp(e) * mp.ncdf(
        (-square / 2 - e) / root
    )


def test_gaussian_curve_is_above_and_tight():
    rng = random.Random(7)
    for _ in range(CASES // 2):
        mu = read(log_uniform(rng, 1e-9, 20))
        m = float(mu)
        epsilon = read(abs(float(f"{m * m / 2 + m * rng.uniform(-3, 30):.12g}")))
        loss = GaussianLoss(mu)
        with mp.workdps(60 + int(m * m / 2)):  # e^epsilon times a tiny tail
            truth = gaussian_truth(number(mu), mp.mpf(1), number(epsilon))
        claim = mp.mpf(loss.delta(epsilon))
        assert truth <= claim, (mu, epsilon)
        if truth > mp.mpf("1e-300") and m > 1e-3:
            assert claim <= truth * (1 + mp.mpf("1e-6")), (mu, epsilon)


def test_gaussian_epsilon_is_above_and_infinite_at_zero():
    rng = random.Random(8)
    for _ in range(25):
        mu, delta = read(log_uniform(rng, 1e-3, 30)), read(log_uniform(rng, 1e-300, 0.3))
        claim = GaussianLoss(mu).epsilon(delta)
        with mp.workdps(60 + int(float(mu) ** 2)):
            assert gaussian_truth(number(mu), mp.mpf(1), mp.mpf(claim)) <= number(delta)
    assert math.isinf(GaussianLoss(Fraction(1, 10)).epsilon(0))
    assert math.isinf(ZCDPLoss(Fraction(1, 10)).epsilon(0))


def test_widened_gaussian_is_above_its_own_formula():
    rng = random.Random(9)
    for _ in range(60):
        mu, r = read(log_uniform(rng, 1e-3, 10)), 1 + read(log_uniform(rng, 1e-6, 2))
        epsilon = read(float(f"{float(mu) ** 2 / 2 + float(mu) * rng.uniform(0, 8):.12g}"))
        formula = gaussian_truth(number(mu), number(r), number(epsilon))
        concentrated = zcdp_truth(number(mu) ** 2 / 2, number(epsilon))
        assert min(formula, concentrated) <= mp.mpf(GaussianLoss(mu, r).delta(epsilon)) * (
            1 + mp.mpf("1e-20")
        )


def zcdp_truth(rho, epsilon):
    def log_delta(order):
        return (order - 1) * (order * rho - epsilon + mp.log1p(-1 / order)) - mp.log(order)

    low, high = mp.log(mp.mpf("1e-7")), mp.log(mp.mpf(200) / rho + 2 * epsilon / rho)
    ratio = (mp.sqrt(5) - 1) / 2
    for _ in range(70):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if log_delta(1 + mp.exp(a)) < log_delta(1 + mp.exp(b)):
            high = b
        else:
            low = a
    return min(mp.mpf(1), mp.exp(log_delta(1 + mp.exp((low + high) / 2))))


def test_zcdp_conversion_is_above_and_tight():
    rng = random.Random(10)
    for _ in range(80):
        rho = read(log_uniform(rng, 1e-9, 1e4))
        epsilon = read(float(f"{float(rho) + math.sqrt(float(rho)) * rng.uniform(0, 30):.12g}"))
        truth = zcdp_truth(number(rho), number(epsilon))
        claim = mp.mpf(ZCDPLoss(rho).delta(epsilon))
        assert truth * (1 - mp.mpf("1e-20")) <= claim
        assert truth < mp.mpf("1e-300") or claim <= truth * (1 + mp.mpf("1e-6"))


def test_log_cdf():
    rng = random.Random(11)
    for _ in range(400):
        x = rng.choice([-1, 1]) * log_uniform(rng, 1e-6, 200)
        truth = mp.log(mp.ncdf(x)) if x < 5 else mp.log1p(-mp.ncdf(-x))
        claim = mp.mpf(normal.log_cdf(x))
        assert abs(claim - truth) <= mp.mpf("2e-15") * (1 + abs(truth)), x


@pytest.mark.parametrize(
    ("epsilon", "delta", "rho"), [(1, 1e-6, 0.02435), (0.1, 1e-6, 0.00032), (3, 1e-6, 0.18507)]
)
def test_published_conversions(epsilon, delta, rho):
    assert ZCDPLoss(Fraction(rho)).delta(epsilon) == pytest.approx(delta, rel=0.05)


def test_published_laplace_curve():
    assert LaplaceLoss(Fraction(1)).delta(0.5) == pytest.approx(0.221199, abs=1e-6)
