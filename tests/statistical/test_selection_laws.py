"""The samplers follow their exact laws: chi-square with a stated false-alarm rate and stated power.

Each law is accepted at ALPHA: a fresh seed alarms with probability 1e-6 a test, 1e-5 in all. The same
counts must reject the laws of a rate 10 % too small or too large, and of the mechanism most easily
confused with this one. The samples are large enough for every such rejection to be missed with
probability at most MISS, which the tests check from the non-central chi-square distribution.
"""

from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.noise import DiscreteLaplace
from discreet.noise.selection import (
    ExponentialChoice,
    FlippedChoice,
    NoisyArgmax,
    NoisyArgmaxGap,
    PeeledChoices,
)
from discreet.testing import unsafe_seeded

ALPHA, MISS = 1e-6, 2e-4
RATE, SPREAD = Fraction(1, 2), Fraction(2)
SCORES = np.array([0, 3, 6, 7])
BASE = (Fraction(4), Fraction(2), Fraction(1, 2), Fraction(1))


def exponential(rate):
    return ExponentialChoice(rate, SPREAD)


def weighted(rate):
    return ExponentialChoice(rate, SPREAD, BASE)


def flipped(rate):
    return FlippedChoice(rate, SPREAD)


def noisy(rate):
    return NoisyArgmax(DiscreteLaplace(1 / rate), SPREAD)


def peeled(rate):
    return PeeledChoices(rate, SPREAD, 2)


def pvalue(counts, law, draws):
    outcomes = list(law)
    expected = np.array([float(law[outcome]) for outcome in outcomes]) * draws
    seen = np.array([counts[outcome] for outcome in outcomes])
    return stats.chi2.sf(((seen - expected) ** 2 / expected).sum(), len(outcomes) - 1)


def missed(law, wrong, draws):
    """Return the probability that counts drawn from `law` pass as `wrong`."""
    shift = draws * sum(float((law[o] - wrong[o]) ** 2 / wrong[o]) for o in law)
    return stats.ncx2.cdf(stats.chi2.isf(ALPHA, len(law) - 1), len(law) - 1, shift)


@pytest.mark.parametrize(
    ("make", "confused_with", "draws"),
    [
        (exponential, flipped, 20_000),
        (weighted, exponential, 10_000),
        (flipped, exponential, 20_000),
        (noisy, flipped, 20_000),
        (peeled, None, 12_000),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_draws_follow_the_law_and_no_other(make, confused_with, draws):
    rng, primitive = unsafe_seeded(20), make(RATE)
    counts = Counter(primitive.sample(SCORES, rng) for _ in range(draws))
    law = dict(primitive.law(SCORES))
    assert pvalue(counts, law, draws) > ALPHA
    wrong = [dict(make(RATE * factor).law(SCORES)) for factor in (Fraction(9, 10), Fraction(11, 10))]
    if confused_with is not None:
        wrong.append(dict(confused_with(RATE).law(SCORES)))
    for other in wrong:
        assert missed(law, other, draws) < MISS
        assert pvalue(counts, other, draws) < ALPHA


def test_gaps_follow_their_law():
    """Gaps of five and more are one outcome."""
    scores, scale, draws = np.array([0, 2, 3]), Fraction(1), 10_000

    def grouped(factor):
        law = Counter()
        for (place, gap), p in NoisyArgmaxGap(DiscreteLaplace(scale / factor), SPREAD).law(scores):
            law[place, min(gap, 5)] += p
        return law

    rng, primitive = unsafe_seeded(22), NoisyArgmaxGap(DiscreteLaplace(scale), SPREAD)
    drawn = (primitive.sample(scores, rng) for _ in range(draws))
    counts, law = Counter((place, min(gap, 5)) for place, gap in drawn), grouped(1)
    assert pvalue(counts, law, draws) > ALPHA
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        wrong = grouped(factor)
        assert missed(law, wrong, draws) < MISS
        assert pvalue(counts, wrong, draws) < ALPHA


def test_many_candidates_follow_the_law_in_groups():
    """Many candidates on two levels: heavy use of the cumulative sums and of eight-bit coins."""
    values = np.zeros(16_000, dtype=np.int64)
    values[::2] = 4
    rng, draws = unsafe_seeded(21), 400
    for primitive, share in (
        (ExponentialChoice(RATE, SPREAD), 1 / (1 + np.exp(-2))),
        (FlippedChoice(RATE, SPREAD), 1 / (1 + np.exp(-2))),  # heads of so many candidates concentrate
    ):
        places = np.array([primitive.sample(values, rng) for _ in range(draws)])
        best = int((places % 2 == 0).sum())
        assert stats.binomtest(best, draws, share).pvalue > ALPHA
        assert stats.binomtest(best, draws, 0.5).pvalue < ALPHA
        # Where in the array the choice lies says nothing about the scores: uniform on eighths.
        eighths = np.bincount(places // 2_000, minlength=8)
        assert stats.chisquare(eighths).pvalue > ALPHA
