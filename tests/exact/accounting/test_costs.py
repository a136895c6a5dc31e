"""Costs that no other file compares with 60 digits: each is on or above the truth, and not far above."""

from __future__ import annotations

import math
import random  # noqa: TID251 - test data
from fractions import Fraction

import mpmath as mp
import pytest

from discreet.accounting import advanced
from discreet.accounting.amplification import FixedSampleLoss, PoissonLoss, amplified_epsilon
from discreet.accounting.calibrate import per_step_epsilon, zcdp_rho
from discreet.accounting.group import GroupLoss, member_budget
from discreet.accounting.odometer import Odometer
from discreet.core.loss import ApproxLoss, LaplaceLoss, PureLoss, ZCDPLoss
from discreet.core.rounding import down, up

CASES = 150
COUNTS = [CASES, pytest.param(50_000, marks=pytest.mark.soak)]


@pytest.fixture(autouse=True)
def _digits():
    with mp.workdps(60):
        yield


def number(x: Fraction | float) -> mp.mpf:
    exact = Fraction(x)
    return mp.mpf(exact.numerator) / exact.denominator


class Draw(random.Random):
    def amount(self, low: float = -6, high: float = 1.5) -> Fraction:
        return Fraction(10 ** self.uniform(low, high)).limit_denominator(10**12) or Fraction(1, 10**6)

    def mass(self) -> Fraction:
        return Fraction(10 ** self.uniform(-20, -0.5)).limit_denominator(10**24)


def above(found: float, truth: mp.mpf, tight: float) -> None:
    assert mp.mpf(found) >= truth
    assert mp.mpf(found) <= truth * (1 + mp.mpf(tight)) + mp.mpf(10) ** -300


@pytest.mark.parametrize("cases", COUNTS)
def test_theorem_3_20(cases):
    draw = Draw(1)
    for _ in range(cases):
        steps = [(draw.amount(-4, 0.5), draw.randint(1, 1000)) for _ in range(3)]
        slack = draw.mass()
        squares = sum(k * number(e) ** 2 for e, k in steps)
        drift = sum(k * number(e) * mp.expm1(number(e)) for e, k in steps)
        root = mp.sqrt(2 * squares * -mp.log(number(slack)))
        above(advanced.advanced_sum(steps, slack), root + drift, 1e-11)
        epsilon = float(drift) * 2 + 1
        exponent = (mp.mpf(epsilon) - drift) ** 2 / (2 * squares)
        if exponent < 600:
            above(advanced.advanced_slack(steps, epsilon), mp.exp(-exponent), 1e-8)


@pytest.mark.parametrize("cases", COUNTS)
def test_amplified_epsilons_and_curves(cases):
    draw = Draw(2)
    for _ in range(cases):
        value, rate = draw.amount(-6, 2.5), Fraction(draw.randint(1, 999), 1000)
        truth = mp.log1p(number(rate) * mp.expm1(number(value)))
        above(amplified_epsilon(up(value), rate), truth, 1e-11)
        epsilon = Fraction(float(truth)) * draw.randint(0, 99) / 100
        inner = mp.log1p(mp.expm1(number(epsilon)) / number(rate))
        curve = number(rate) * (1 - mp.exp((inner - number(value)) / 2))
        for kind in (PoissonLoss, FixedSampleLoss):
            above(kind(LaplaceLoss(value), rate).delta(epsilon), max(mp.mpf(0), curve), 1e-6)


@pytest.mark.parametrize("cases", COUNTS)
def test_groups(cases):
    draw = Draw(3)
    for _ in range(cases):
        value, mass, size = draw.amount(-4, 0), draw.mass() / 10**4, draw.randint(1, 6)
        group = GroupLoss(ApproxLoss(value, mass), size)
        factor = sum(mp.exp(i * number(value)) for i in range(size))
        above(group.delta(size * value), number(mass) * factor, 1e-9)
        above(group.failure, number(mass) * factor, 1e-9)
        rho = draw.amount()
        above(GroupLoss(ZCDPLoss(rho), size).zcdp(), size**2 * number(rho), 1e-12)
        each, less = member_budget(epsilon=value, delta=mass, size=size)
        assert each * size <= value
        assert number(less) * sum(mp.exp(i * number(each)) for i in range(size)) <= number(mass)


@pytest.mark.parametrize("cases", COUNTS)
def test_failures_of_realised_losses(cases):
    draw = Draw(4)
    for _ in range(cases):
        value, mass = draw.amount(-4, 1), draw.mass() / 10**9
        odometer = Odometer(delta=Fraction(1, 10**300))
        odometer.record(ApproxLoss(value, mass))
        widening = max(number(value) / 10, mp.mpf(1) / 1000)
        above(odometer.failure, number(mass) / -mp.expm1(-widening), 1e-12)
        above(odometer.epsilon, number(value) + widening, 1e-12)


def test_calibrated_parameters_keep_their_targets():
    draw = Draw(5)
    for _ in range(12):
        epsilon, delta = draw.amount(-1, 1), draw.mass() / 100
        rho = zcdp_rho(epsilon=epsilon, delta=delta)
        assert ZCDPLoss(rho).delta(epsilon) <= delta < ZCDPLoss(rho * Fraction(1001, 1000)).delta(epsilon)
        order = 1 + math.exp(draw.uniform(-3, 5))  # any order bounds the conversion from above
        exponent = (order - 1) * (order * number(rho) - number(epsilon)) + (order - 1) * mp.log(1 - 1 / order)
        assert number(ZCDPLoss(rho).delta(epsilon)) <= mp.exp(exponent) / order * (1 + mp.mpf("1e-9"))
        count = draw.randint(2, 40)
        step = per_step_epsilon(count=count, epsilon=epsilon, delta=delta)
        assert step >= down(epsilon) / count * (1 - 1e-8)
        assert number(_binomial_delta(step, count, epsilon)) <= number(delta)


def _binomial_delta(step: Fraction, count: int, epsilon: Fraction) -> Fraction:
    """Return the optimal composition theorem's delta, in 60 digits."""
    e, whole = number(step), number(epsilon)
    p = 1 / (1 + mp.exp(-e))
    total = mp.mpf(0)
    for j in range(count + 1):
        loss = (2 * j - count) * e
        if loss > whole:
            total += mp.binomial(count, j) * p**j * (1 - p) ** (count - j) * (1 - mp.exp(whole - loss))
    return Fraction(str(total))


def test_pure_views_of_huge_losses():
    """Where 60 digits of p and 1 - p still tell them apart."""
    for value in (Fraction(1, 10**9), Fraction(1, 2), Fraction(20), Fraction(60)):
        p = 1 / (1 + mp.exp(-number(value)))
        for order in (1 + 1e-6, 1.5, 2.0, 300.0):
            a = mp.mpf(order)
            truth = mp.log(p**a * (1 - p) ** (1 - a) + (1 - p) ** a * p ** (1 - a)) / (a - 1)
            assert mp.mpf(PureLoss(value).renyi(order)) >= truth
