"""Laws over random rational parameters: masses, tails and reaches fit together."""

from __future__ import annotations

from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.rng import TAIL
from discreet.noise import (
    AddNoise,
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    NoisyComparison,
    OneSidedGeometric,
    tails,
)
from discreet.noise.samplers import shift_for, split
from discreet.testing import unsafe_seeded

F = Fraction
CLOSE = F(1, 2**98)

scales = st.fractions(min_value=F(1, 20), max_value=30, max_denominator=1000)
wide_scales = st.one_of(
    scales,
    st.integers(1, 10**15).map(F),
    st.fractions(min_value=1000, max_value=10**9, max_denominator=10**6),
)
betas = st.one_of(
    st.fractions(min_value=F(1, 10**6), max_value=F(99, 100)), st.integers(2, 60).map(lambda k: F(1, 7**k))
)


def laws(parameter: Fraction) -> list[Noise]:
    return [DiscreteLaplace(parameter), OneSidedGeometric(parameter), DiscreteGaussian(parameter)]


@settings(max_examples=15, deadline=None)
@given(scales)
def test_masses_sum_to_one_and_tails_are_their_sums(scale: Fraction) -> None:
    for law in laws(scale):
        window = law.window()
        total = sum((law.pmf(z) for z in window), F(0))
        assert 1 - TAIL - CLOSE * len(window) <= total <= 1 + CLOSE * len(window)
        for z in (window[0], window[len(window) // 2], 0, 1, 2, window[-1]):
            assert abs(law.tail(z) - law.tail(z + 1) - law.pmf(z)) < CLOSE


@settings(max_examples=40, deadline=None)
@given(wide_scales, betas)
def test_reach_is_the_smallest(scale: Fraction, beta: Fraction) -> None:
    """Against 600-bit arithmetic for the two laws with closed forms."""
    with mpmath.workprec(600):
        inverse, level = (
            mpmath.mpf(scale.denominator) / scale.numerator,
            mpmath.mpf(beta.numerator) / beta.denominator,
        )
        q = mpmath.exp(-inverse)
        for law, factor in ((DiscreteLaplace(scale), 2 / (1 + q)), (OneSidedGeometric(scale), mpmath.mpf(1))):
            t = law.reach(beta)
            assert factor * mpmath.exp(-(t + 1) * inverse) <= level
            assert t == 0 or factor * mpmath.exp(-t * inverse) > level


@settings(max_examples=25, deadline=None)
@given(st.fractions(min_value=F(1, 20), max_value=400, max_denominator=50), betas)
def test_gaussian_reach_is_the_smallest(variance: Fraction, beta: Fraction) -> None:
    t = DiscreteGaussian(variance).reach(beta)
    with mpmath.workprec(700):
        v, level = (
            mpmath.mpf(variance.numerator) / variance.denominator,
            mpmath.mpf(beta.numerator) / beta.denominator,
        )
        weights = [mpmath.exp(-x * x / (2 * v)) for x in range(t + 40 + int(40 * v**0.5))]
        total = 2 * mpmath.fsum(weights) - 1
        assert 2 * mpmath.fsum(weights[t + 1 :]) / total <= level
        assert t == 0 or 2 * mpmath.fsum(weights[t:]) / total > level


@settings(max_examples=60, deadline=None)
@given(
    st.fractions(min_value=64, max_value=90_000, max_denominator=50),
    st.floats(1.01, 12),
    st.integers(3, 14),
    st.sampled_from((-1, 1)),
)
def test_integrals_decide_as_the_sum_does_or_not_at_all(
    variance: Fraction, deviations: float, digits: int, side: int
) -> None:
    """Beside the tail itself, ever nearer to it."""
    x = 2 + int(deviations * float(variance) ** 0.5)
    low, high = tails._sum_tail(variance, x, 640)
    half = F(low if side < 0 else high, 1 << 640) * (1 + F(side, 10**digits))
    decided = tails._compare_by_integrals(variance, x, tails._log(half))
    assert decided in (None, side > 0)
    # Neighbouring x are apart by about one part in a standard deviation: there it always tells.
    for step in (-1, 1):
        near = tails._compare_by_integrals(variance, x + 2 * step, tails._log(half))
        assert near in (None, step > 0)
    assert variance < 10_000 or tails._compare_by_integrals(variance, x + 2, tails._log(half)) is True


@settings(max_examples=25, deadline=None)
@given(st.integers(2049, 10**12), betas)
def test_wide_gaussian_bounds_are_from_above_and_tight(sigma: int, beta: Fraction) -> None:
    law = DiscreteGaussian(F(sigma) ** 2)
    t = law.reach(beta)
    with mpmath.workprec(400):
        level = mpmath.mpf(beta.numerator) / beta.denominator
        # The sum over x >= t + 1 lies between the integrals from t + 1 and, as weights fall, from t.
        assert mpmath.erfc((t + 1) / (sigma * mpmath.sqrt(2))) <= level
        assert mpmath.erfc(max(0, t - 2 - t * 1e-9) / (sigma * mpmath.sqrt(2))) >= level
        for x in (1, sigma // 2, sigma + 2, 3 * sigma):
            bound = law.tail(x)
            bound_mp = mpmath.mpf(bound.numerator) / bound.denominator
            assert mpmath.erfc(x / (sigma * mpmath.sqrt(2))) / 2 <= bound_mp
            assert bound_mp <= mpmath.erfc((x - 1) / (sigma * mpmath.sqrt(2))) / 2 * (1 + 1e-8)
            assert law.tail(1 - x) == 1 - bound


@pytest.mark.parametrize("variance", [F(1, 3), F(63), F(64), F(65), F(10**6), F(10**18) + F(1, 3)])
def test_gaussian_masses_against_mpmath(variance: Fraction) -> None:
    """The total is a sum below variance 64 and a closed form above; both to 2**-100."""
    with mpmath.workprec(400):
        v = mpmath.mpf(variance.numerator) / variance.denominator
        total = mpmath.jtheta(3, 0, mpmath.exp(-1 / (2 * v))) if v < 100 else mpmath.sqrt(2 * mpmath.pi * v)
        for x in (0, 1, -3, int(v**0.5), 5 * int(v**0.5)):
            mass = DiscreteGaussian(variance).pmf(x)
            truth = mpmath.exp(-(mpmath.mpf(x) ** 2) / (2 * v)) / total
            assert abs(mpmath.mpf(mass.numerator) / mass.denominator - truth) < mpmath.mpf(2) ** -100


@settings(max_examples=60, deadline=None)
@given(wide_scales, st.integers(1, 200))
def test_split_covers_every_digit_once(scale: Fraction, head: int) -> None:
    shift, digits = split(scale, head)
    assert shift == shift_for(scale, head)
    assert scale < head << shift
    assert shift == 0 or scale >= head << (shift - 1)
    covered = [place for part in digits for place in range(part.shift, part.shift + part.width)]
    assert covered == list(range(shift))
    assert all(1 <= part.width <= 8 for part in digits)


@settings(max_examples=12, deadline=None)
@given(st.fractions(min_value=F(1, 1000), max_value=10**14, max_denominator=10**6), st.integers(0, 40))
def test_samples_of_random_laws_stay_in_reach(scale: Fraction, size: int) -> None:
    """A draw leaves the reach of 1e-15 with that probability; arrays and single draws."""
    rng = unsafe_seeded(size)
    for law in laws(scale):
        reach = law.reach(F(1, 10**15))
        drawn = law.sample(size, rng)
        assert drawn.dtype == np.int64
        assert drawn.shape == (size,)
        assert all(abs(x) <= reach for x in [*drawn.tolist(), law.draw(rng)])
        assert not isinstance(law, OneSidedGeometric) or (drawn >= 0).all()


@settings(max_examples=20, deadline=None)
@given(scales, st.integers(-50, 50), st.integers(-50, 50))
def test_primitives_state_the_law_they_sample(scale: Fraction, value: int, threshold: int) -> None:
    noise = DiscreteLaplace(min(scale, F(3)))
    compare = dict(NoisyComparison(noise, F(1)).law((value, threshold)))
    add = dict(AddNoise(noise, F(1)).law(value))
    assert sum(compare.values()) == 1
    above = sum((p for out, p in add.items() if out >= threshold), F(0))
    assert abs(above - compare[True]) < 2 * TAIL
