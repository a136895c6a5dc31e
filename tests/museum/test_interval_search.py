"""The interval search as printed has no bound on its questions: a transcript of "yes" outspends the budget.

The shipped search, run along the same transcript, stays within its own.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.neighbours import Replace
from discreet.core.rng import Rng
from discreet.noise import DiscreteLaplace, NoisyComparison
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.universe import Universe
from discreet.query_release.linear.interval_search import IntervalSearch


class Yes(Rng):
    """Answers yes to every comparison and 0 to every count, and keeps the exact probability of doing so."""

    def __init__(self):
        self.logarithm, self.asked = 0.0, 0

    def random_bytes(self, count):
        raise AssertionError("every draw goes through a primitive")

    def perform(self, primitive, value):
        if isinstance(primitive, NoisyComparison):
            self.asked += 1
            self.logarithm += math.log(dict(primitive.law(value))[True])
            return True
        self.logarithm += sum(math.log(primitive.noise.pmf(-int(count))) for count in value)
        return np.zeros_like(value)


def printed_search(counts, *, bits, accuracy, epsilon, rng):
    """Run [Roth10] section 3.4 as printed: no cap, every question costs accuracy * epsilon / (4 bits)."""
    step = NoisyComparison(DiscreteLaplace(Fraction(4 * bits) / (accuracy * epsilon)), Fraction(1))
    before = np.concatenate([[0], np.cumsum(counts)])
    threshold = math.ceil(accuracy * int(before[-1]) / 4)
    start, last = 0, (1 << bits) - 1
    while start <= last:
        low, high = start, last
        while low < high:
            middle = (low + high) // 2
            yes = rng.perform(step, (int(before[middle + 1] - before[start]), threshold))
            low, high = (low, middle) if yes else (middle + 1, high)
        start = high + 1


def transcript_loss(run, left, right):
    """Return how much likelier the transcript of yes is on the first data, and the number of questions."""
    logarithms = []
    for counts in (left, right):
        rng = Yes()
        run(counts, rng)
        logarithms.append(rng.logarithm)
    return logarithms[0] - logarithms[1], rng.asked


def neighbours(bits, cell):
    """One of twenty points lies in a cell, or on the last value with all the others."""
    left, right = np.zeros((2, 1 << bits), dtype=np.int64)
    left[-1], left[cell], right[-1] = 19, 1, 20
    return left, right


@pytest.mark.parametrize(("bits", "cell", "least"), [(5, 15, 1.39), (6, 30, 2.24)])
def test_the_printed_search_outspends_its_budget(bits, cell, least):
    def run(counts, rng):
        printed_search(counts, bits=bits, accuracy=Fraction(1), epsilon=Fraction(1), rng=rng)

    loss, asked = transcript_loss(run, *neighbours(bits, cell))
    assert loss > least  # the claim is 1
    assert asked > 4 * bits


@pytest.mark.parametrize("bits", [4, 6])
@pytest.mark.parametrize("cap", [5, None])
def test_the_capped_search_stays_within_its_budget(bits, cap):
    workload = Prefixes(Universe([("x", range(1 << bits))]), ["x"])
    mechanism = IntervalSearch(
        workload=workload, epsilon=1, rows=20, accuracy=0.99, neighbours=Replace("row"), cap=cap
    )

    def run(counts, rng):
        mechanism.release(Histogram.dense(workload.universe, counts), rng=rng)

    for cell in range((1 << bits) - 1):
        loss, asked = transcript_loss(run, *neighbours(bits, cell))
        assert abs(loss) <= 1 + 1e-9
        assert asked <= mechanism.cap
