"""Whole conversations drawn through the shipped samplers, against the exact law of their transcripts.

A chi-square test on 16,000 conversations with a fixed seed. Under a fresh seed it would raise a false
alarm with probability 1e-6; scales that are ten per cent off are rejected with probability above 0.999,
since the non-centrality is at least 105 and the bar 30.7 at three degrees of freedom.
"""

from collections import Counter
from dataclasses import replace
from fractions import Fraction

from scipy import stats

from discreet import audit
from discreet.noise import OneSidedGeometric
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.tiny import each_value
from discreet.testing import unsafe_seeded

RUNS = 16_000
VALUES = (-10, -5, 8)


def statistic(counts, law):
    return sum((counts[key] - RUNS * float(p)) ** 2 / (RUNS * float(p)) for key, p in law.items())


def law_of(mechanism):
    return audit.output_distribution(
        lambda data, rng: each_value(3)(mechanism.open(data, rng=rng)), VALUES
    ).probabilities


def test_conversations_have_the_exact_law_and_no_other(monkeypatch):
    mechanism = AboveThreshold(sensitivity=1, epsilon=1, delta=0, threshold=2, queries=3)
    rng, script = unsafe_seeded(20261115), each_value(3)
    counts = Counter(script(mechanism.open(VALUES, rng=rng)) for _ in range(RUNS))
    bar = stats.chi2.isf(1e-6, len(law_of(mechanism)) - 1)
    assert statistic(counts, law_of(mechanism)) < bar
    plan = mechanism.plan
    for factor in (Fraction(9, 10), Fraction(11, 10)):
        scaled = replace(
            plan,
            query_noise=OneSidedGeometric(plan.query_noise.scale * factor),
            threshold_noise=OneSidedGeometric(plan.threshold_noise.scale * factor),
        )
        with monkeypatch.context() as patch:
            patch.setattr(AboveThreshold, "plan", property(lambda self, scaled=scaled: scaled))
            wrong = law_of(mechanism)
        assert statistic(counts, wrong) > bar
