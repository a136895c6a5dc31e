"""Every sampler against its law.

Chi-square tests of fixed seeds at level ALPHA = 1e-7 each: about a hundred tests, so a fresh set of seeds
raises a false alarm with probability below 1e-5. Power: a scale that is wrong by 10 % in either direction
must be rejected at the same level by the same test. With N draws its noncentrality is about N / 110, which
leaves a miss probability below 1e-6, and below 2 % for the slow oracle.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.core.rng import Rng
from discreet.noise import (
    DiscreteGaussian,
    DiscreteLaplace,
    Noise,
    OneSidedGeometric,
    coins,
    oracle,
    samplers,
)
from discreet.testing import unsafe_seeded

ALPHA = 1e-7
ONE, MANY, SLOW = 30_000, 200_000, 12_000
F = Fraction


class Pool(Rng):
    """The bytes of a seeded generator, taken from it in large pieces: single draws are many."""

    unsafe = True

    def __init__(self, seed: int) -> None:
        self.source, self.pool, self.place = unsafe_seeded(seed), b"", 0

    def random_bytes(self, count: int) -> bytes:
        if self.place + count > len(self.pool):
            self.pool, self.place = self.source.random_bytes(max(count, 1 << 20)), 0
        self.place += count
        return self.pool[self.place - count : self.place]


def p_value(drawn: np.ndarray, law: Noise) -> float:
    """Chi-square over cells cut at up to 81 edges that the law itself makes about equally wide."""
    width = law.scale if not isinstance(law, DiscreteGaussian) else F(math.sqrt(law.variance))
    fine = 10 if drawn.size > SLOW else 3  # few draws want few cells, for the power
    edges = sorted({math.floor(width * k / fine) for k in range(-4 * fine, 4 * fine + 1)})
    tails = [F(1), *(law.tail(e) for e in edges), F(0)]
    expected = np.array([float(a - b) for a, b in itertools.pairwise(tails)]) * drawn.size
    place = np.searchsorted(np.array(edges), drawn, side="right")
    observed = np.bincount(place, minlength=expected.size).astype(float)
    full = expected >= 20
    if not full.all():
        observed = np.append(observed[full], observed[~full].sum())
        expected = np.append(expected[full], expected[~full].sum())
    if expected[-1] < 1e-9:  # a one-sided law leaves nothing for the cells below zero
        assert observed[-1] == 0
        observed, expected = observed[:-1], expected[:-1]
    statistic = ((observed - expected) ** 2 / expected).sum()
    return float(stats.chi2.sf(statistic, expected.size - 1))


def fits_and_would_see_ten_percent(
    drawn: np.ndarray, law: Callable[[Fraction], Noise], scale: Fraction
) -> None:
    assert p_value(drawn, law(scale)) > ALPHA
    assert p_value(drawn, law(scale * F(9, 10))) < ALPHA
    assert p_value(drawn, law(scale * F(11, 10))) < ALPHA


def gaussian(sigma: Fraction) -> DiscreteGaussian:
    return DiscreteGaussian(sigma**2)


CASES = [
    *((DiscreteLaplace, s) for s in (F(1, 2), F(1), F(10), F(100, 3), F(64), F(1000), F(10**6), F(10**12))),
    *((OneSidedGeometric, s) for s in (F(1), F(10), F(500, 3), F(10**6))),
    *((gaussian, s) for s in (F(1, 2), F(1), F(10), F(100), F(128), F(1000, 3), F(10**6), F(10**12))),
]


@pytest.mark.parametrize(("law", "scale"), CASES)
def test_arrays(law: Callable[[Fraction], Noise], scale: Fraction) -> None:
    drawn = law(scale).sample(MANY, unsafe_seeded(1))
    assert drawn.dtype == np.int64
    fits_and_would_see_ten_percent(drawn, law, scale)


@pytest.mark.parametrize(("law", "scale"), CASES)
def test_single_draws(law: Callable[[Fraction], Noise], scale: Fraction) -> None:
    rng, noise = Pool(2), law(scale)
    drawn = np.array([noise.draw(rng) for _ in range(ONE)])
    fits_and_would_see_ten_percent(drawn, law, scale)


@pytest.mark.parametrize(
    ("law", "sampler", "parameter", "scale"),
    [
        (DiscreteLaplace, oracle.discrete_laplace, F(10), F(10)),
        (OneSidedGeometric, oracle.geometric, F(7, 2), F(7, 2)),
        (gaussian, oracle.discrete_gaussian, F(9), F(3)),
    ],
)
def test_oracle(law: Callable, sampler: Callable, parameter: Fraction, scale: Fraction) -> None:
    rng = Pool(3)
    drawn = np.array([sampler(parameter, rng) for _ in range(SLOW)])
    fits_and_would_see_ten_percent(drawn, law, scale)


@pytest.mark.parametrize(
    ("law", "scale"), [(DiscreteLaplace, F(10)), (DiscreteLaplace, F(300)), (gaussian, F(150))]
)
def test_fast_samplers_agree_with_the_oracle(law: Callable, scale: Fraction) -> None:
    """Two-sample Kolmogorov-Smirnov; ten per cent off must be seen here as well."""
    slow, rng = (
        oracle.discrete_laplace if law is DiscreteLaplace else oracle.discrete_gaussian,
        Pool(4),
    )
    parameter = scale if law is DiscreteLaplace else scale**2
    reference = np.array([slow(parameter, rng) for _ in range(SLOW)])
    assert stats.ks_2samp(reference, law(scale).sample(MANY, rng)).pvalue > ALPHA
    for wrong in (F(9, 10), F(11, 10)):
        assert stats.ks_2samp(np.abs(reference), np.abs(law(scale * wrong).sample(MANY, rng))).pvalue < ALPHA


@pytest.mark.parametrize(
    ("law", "scale"), [(DiscreteLaplace, F(100)), (OneSidedGeometric, F(100)), (gaussian, F(130))]
)
@pytest.mark.parametrize("many", [True, False])
def test_every_integer_near_zero_has_its_own_probability(law: Callable, scale: Fraction, many: bool) -> None:
    """The low digits come from tables of their own: the cells here are single integers."""
    noise, rng = law(scale), Pool(5)
    size = 400_000 if many else 100_000
    drawn = noise.sample(size, rng) if many else np.array([noise.draw(rng) for _ in range(size)])
    lowest = 0 if law is OneSidedGeometric else -96
    near = drawn[(drawn >= lowest) & (drawn < 96)]
    expected = np.array([float(noise.pmf(z)) for z in range(lowest, 96)]) * size

    def p_of(values: np.ndarray) -> float:
        observed = np.bincount(values - lowest, minlength=expected.size)
        return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), expected.size))

    assert p_of(near) > ALPHA
    assert p_of(near ^ 31) < ALPHA  # teeth: the five lowest digits inverted


@pytest.mark.parametrize(
    ("noise", "deviation"),
    [
        (DiscreteLaplace(F(4)), 5.6421),
        (DiscreteLaplace(F(300)), 300 * 2**0.5),
        (gaussian(F(4)), 4),
        (gaussian(F(300)), 300),
    ],
)
def test_moments_and_symmetry(noise: Noise, deviation: float) -> None:
    """Mean and sign within 5.5 standard errors, the deviation within 1 %."""
    drawn = noise.sample(MANY, unsafe_seeded(6))
    limit = 5.5 / math.sqrt(MANY)
    assert abs(drawn.mean()) < limit * deviation
    assert abs(np.sign(drawn).mean()) < limit
    assert abs(drawn.std() / deviation - 1) < 0.015
    if deviation < 10:  # teeth: negative values moved by one, a slip with the folded sign
        assert abs((drawn - (drawn < 0)).mean()) > limit * deviation


def test_consecutive_draws_are_independent() -> None:
    """Correlation of neighbours, of their sizes and of their low bits: within 5.5 standard errors of zero."""
    for noise in (DiscreteLaplace(F(10)), DiscreteLaplace(F(10**6)), gaussian(F(1000))):
        drawn = noise.sample(MANY, unsafe_seeded(7))
        for series in (drawn, np.abs(drawn), drawn & 1):
            assert abs(np.corrcoef(series[:-1], series[1:])[0, 1]) < 5.5 / math.sqrt(MANY)
        assert (
            abs(np.corrcoef(np.abs(drawn), drawn < 0)[0, 1]) < 5.5 / math.sqrt(MANY) + 0.06
        )  # zero has no sign


def share(flags: np.ndarray, p: float) -> bool:
    return stats.binomtest(int(flags.sum()), flags.size, p).pvalue > ALPHA


@pytest.mark.parametrize("p", [F(1, 3), F(1, 2), F(1, 65536), F(10**30 - 1, 2 * 10**30), F(999, 1000)])
def test_bernoulli(p: Fraction) -> None:
    flags = coins.bernoulli(p, 10**6, unsafe_seeded(8))
    assert share(flags, float(p))
    assert p == F(1, 65536) or not share(flags, float(p) * (0.99 if p > F(1, 2) else 1.1))


@pytest.mark.parametrize("x", [F(0), F(1, 1000), F(1, 3), F(1), F(22, 7), F(10)])
def test_bernoulli_exp(x: Fraction) -> None:
    flags = coins.bernoulli_exp(x, 10**6, unsafe_seeded(9))
    assert share(flags, math.exp(-x))
    assert x < F(1, 10) or x == 10 or not share(flags, math.exp(-x * F(9, 10)))


@pytest.mark.parametrize("denominator", [1, 7, 1000, 10**9])
def test_bernoulli_exp_each(denominator: int) -> None:
    numerators = np.arange(5) * denominator // 2
    flags = coins.bernoulli_exp_each(np.repeat(numerators, 200_000), denominator, unsafe_seeded(10)).reshape(
        5, -1
    )
    for n, row in zip(numerators.tolist(), flags, strict=True):
        assert share(row, math.exp(-n / denominator))
        assert n == 0 or not share(row, math.exp(-0.9 * n / denominator))


@pytest.mark.parametrize("bound", [1, 2, 3, 10, 1000, 65536, 65537, 3 * 2**40, 2**62])
def test_uniform_below(bound: int) -> None:
    drawn = coins.uniform_below(bound, 100_000, unsafe_seeded(11))
    assert drawn.dtype == np.int64
    assert drawn.min() >= 0
    assert drawn.max() < bound
    cells = min(bound, 50)
    observed = np.bincount(((drawn.astype(object) * cells) // bound).astype(np.int64), minlength=cells)
    ends = [-(-i * bound // cells) for i in range(cells + 1)]
    expected = np.diff(np.array(ends, dtype=object)).astype(float) / bound * drawn.size
    assert stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), max(1, cells - 1)) > ALPHA


def test_the_chosen_path_depends_on_the_size_alone() -> None:
    """Up to FEW values are drawn one by one, with the same result as single draws from the same bits."""
    noise = DiscreteLaplace(F(10))
    rng = unsafe_seeded(12)
    singles = [noise.draw(rng) for _ in range(samplers.FEW)]
    assert noise.sample(samplers.FEW, unsafe_seeded(12)).tolist() == singles
