"""Outward rounding against exact arithmetic (N7): never on the wrong side, never far off."""

import math
from fractions import Fraction

import mpmath
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core import rounding
from discreet.core.errors import InvalidParameter

MANY = settings(max_examples=200, deadline=None)
anything = st.fractions() | st.floats(allow_nan=False, allow_infinity=False).map(Fraction)
fractions_of_size = st.builds(
    lambda n, d, e: Fraction(n, d) * Fraction(2) ** e,
    st.integers(-(2**70), 2**70),
    st.integers(1, 2**70),
    st.integers(-1100, 1100),
)


@MANY
@given(anything | fractions_of_size)
def test_up_and_down_are_the_nearest_floats_outside(x):
    high, low = rounding.up(x), rounding.down(x)
    assert math.isinf(high) or Fraction(high) >= x
    assert math.isinf(low) or Fraction(low) <= x
    assert high == math.inf or math.nextafter(high, -math.inf) < x
    assert low == -math.inf or math.nextafter(low, math.inf) > x


def test_up_and_down_beyond_the_floats():
    huge = Fraction(10) ** 400
    largest = math.nextafter(math.inf, 0)
    assert (rounding.up(huge), rounding.down(huge)) == (math.inf, largest)
    assert (rounding.up(-huge), rounding.down(-huge)) == (-largest, -math.inf)
    tiny = Fraction(1, 10**400)
    assert (rounding.up(tiny), rounding.down(tiny)) == (5e-324, 0)
    assert (rounding.up(-tiny), rounding.down(-tiny)) == (0, -5e-324)


@pytest.mark.parametrize("value", [math.inf, -math.inf])
def test_infinities_stay(value):
    assert rounding.up(value) == value == rounding.down(value)


@MANY
@given(st.floats(-700, 709))
def test_exponentials_bracket_the_truth(x):
    with mpmath.workdps(60):
        truth = mpmath.exp(mpmath.mpf(x))
        assert truth <= mpmath.mpf(rounding.exp_up(x))
        assert rounding.exp_up(x) <= float(truth) * (1 + 1e-15) + 1e-320


@MANY
@given(st.floats(min_value=5e-324, allow_nan=False, allow_infinity=False))
def test_logarithms_bracket_the_truth(x):
    with mpmath.workdps(60):
        truth = mpmath.log(mpmath.mpf(x))
        low = rounding.log_down(x)
        assert mpmath.mpf(low) <= truth
        assert float(truth) - low <= 1e-15 * abs(float(truth)) + 1e-320


def test_exponentials_and_logarithms_at_the_ends():
    assert rounding.exp_up(710) == math.inf
    assert rounding.exp_up(-800) > 0
    assert rounding.log_down(0) == -math.inf


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False), st.integers(1, 5))
def test_steps(x, steps):
    if abs(x) < 1e308:
        assert rounding.below(x, steps) < x < rounding.above(x, steps)
        assert rounding.below(rounding.above(x, steps), steps) == x


@MANY
@given(
    st.builds(Fraction, st.integers(1, 10**40), st.integers(1, 10**40))
    | st.fractions(min_value=Fraction(1, 10**30)),
    st.integers(3, 15),
)
def test_shortened_numbers_are_outside_and_close(x, digits):
    high, low = rounding.shorten_up(x, digits), rounding.shorten_down(x, digits)
    assert low <= x <= high
    assert high / x <= 1 + Fraction(10) ** (2 - digits)
    assert x / low <= 1 + Fraction(10) ** (2 - digits)


def test_short_numbers_stay_themselves():
    assert rounding.shorten_up(Fraction(5, 2)) == Fraction(5, 2)
    assert rounding.shorten_up(Fraction(1, 3), 3) == Fraction(334, 1000)
    for bad in (0, -1):
        with pytest.raises(InvalidParameter):
            rounding.shorten_up(Fraction(bad))


@MANY
@given(
    st.fractions(min_value=0, max_value=300)
    | st.builds(Fraction, st.integers(0, 10**30), st.integers(1, 10**30)),
    st.integers(1, 300),
)
def test_exponential_bounds_are_certified(x, bits):
    lower, upper = rounding.exp_bounds(x, bits)
    with mpmath.workprec(bits + 400):
        truth = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator) * mpmath.mpf(2) ** bits
        assert lower <= truth <= upper
    assert 0 <= lower <= upper <= 1 << bits
    assert upper - lower <= 2


@pytest.mark.parametrize("x", [0, 1, Fraction(1, 10**50), 10**6, Fraction(10**20, 3)])
def test_exponential_bounds_at_the_ends(x):
    lower, upper = rounding.exp_bounds(Fraction(x), 128)
    with mpmath.workprec(500):
        truth = (
            mpmath.exp(-mpmath.mpf(Fraction(x).numerator) / Fraction(x).denominator) * mpmath.mpf(2) ** 128
        )
        assert lower <= truth <= upper


def test_negative_exponents_are_refused():
    with pytest.raises(InvalidParameter, match="x must be >= 0"):
        rounding.exp_bounds(Fraction(-1), 10)


@settings(deadline=None)
@given(st.fractions(min_value=0, max_value=80))
def test_exponential_fractions(x):
    with mpmath.workprec(400):
        truth = mpmath.exp(-mpmath.mpf(x.numerator) / x.denominator)
        value = rounding.exp_fraction(x)
        assert abs(mpmath.mpf(value.numerator) / value.denominator - truth) <= mpmath.mpf(2) ** -128
