"""An interval of a quotient covers as often as it says, and is narrower than a box of its parts."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from discreet.data.plan.facts import VectorSensitivity
from discreet.data.plan.measures import Measure
from discreet.data.pricing.budget import Vector
from discreet.data.pricing.noisy_vector import NoisyVector
from discreet.data.pricing.ratios import LaplaceNumber, enclose_ratio, tail
from discreet.noise import DiscreteLaplace


@pytest.mark.parametrize(
    ("one", "other"), [(3.0, 1.0), (1.0, 3.0), (2.0, 2.0), (2.0, 2.0 + 1e-7), (2.0, 0.0)]
)
def test_the_tail_of_a_difference(one: float, other: float) -> None:
    """Against an integral over the first number."""
    for t in (0.5, 3.0, 12.0):
        step, total = 0.002, 0.0
        for k in range(-25_000, 25_000):
            x = (k + 0.5) * step
            weight = math.exp(-abs(x) / one) / (2 * one) * step
            near, far = (abs(t - x), t - x > 0), (abs(-t - x), -t - x > 0)
            beyond = 0.0
            for size, is_beyond in (near, (far[0], not far[1])):
                lost = 0.5 * math.exp(-size / other) if other else 0.0
                beyond += lost if is_beyond else 1 - lost
            total += weight * beyond
        assert tail(t, one, other) == pytest.approx(total, rel=2e-3)


CASES = [(40, 24, 3, 2), (-90, 30, 4, 1), (60, 50, 6, 5)]


@pytest.mark.parametrize(("total", "rows", "one", "other"), CASES)
def test_the_true_quotient_is_missed_as_rarely_as_said(total: int, rows: int, one: int, other: int) -> None:
    """Exactly: the weights of all noises of a window, outside which less than a thousandth lies."""
    beta, missed, seen = 0.2, 0.0, 0.0
    first, second = (DiscreteLaplace(Fraction(scale)) for scale in (one, other))
    weights = [
        {z: float(law.pmf(z)) for z in range(-8 * s, 8 * s + 1)} for law, s in ((first, one), (second, other))
    ]
    true = Fraction(total, rows)
    for z, weight in weights[0].items():
        for y, times in weights[1].items():
            if z % 3 or y % 2:  # a part of them is enough, and is weighted like the whole
                continue
            found = enclose_ratio(
                LaplaceNumber(total + z, first.scale), LaplaceNumber(rows + y, second.scale), beta
            )
            missed += weight * times * (found is not None and not found[0] <= true <= found[1])
            seen += weight * times
    assert missed / seen <= beta
    assert missed / seen > beta / 4  # a box of the parts misses a tenth as often


def test_a_quotient_by_what_may_be_0_may_be_anything() -> None:
    assert enclose_ratio(LaplaceNumber(5, Fraction(2)), LaplaceNumber(3, Fraction(2)), 0.05) is None
    low, high = enclose_ratio(LaplaceNumber(50, Fraction(2)), LaplaceNumber(-100, Fraction(2)), 0.05) or (
        0,
        0,
    )
    assert low < Fraction(-1, 2) < high < 0


def test_a_quotient_that_is_hardly_bounded_has_ends_all_the_same() -> None:
    """At a great doubt, where the reach of the divisor is a little more than what it looks like."""
    scale, beta = Fraction(10**9), 0.9
    least = math.floor(10**9 * math.log(1 / beta))
    for rows in range(least, least + 12_000, 500):
        found = enclose_ratio(LaplaceNumber(5 * 10**8, scale), LaplaceNumber(rows, scale), beta)
        assert found is None or found[0] < Fraction(5 * 10**8, rows) < found[1]


def test_dropped_digits_widen_both_the_number_and_its_steps() -> None:
    """The true number is up to 3 of 4 above, and the steps of the noise are up to 4 from a continuous one."""
    moved = VectorSensitivity(l0=1, linf=1, l1=1, l2_squared=1)
    vector = Vector((), Measure("rows"), 1, 2, moved, DiscreteLaplace(Fraction(3)))
    assert NoisyVector(vector, (5,)).laplace(0) == LaplaceNumber(20, Fraction(12), slack=3 + 4 - 1)
