"""What does not hold as printed about the median mechanism, [Roth10] chapter 4, each as a number."""

import math
from fractions import Fraction

import pytest

from discreet.query_release.median.median_thesis import Constants, Steps

HALF = Fraction(1, 2)


def printed(most):
    """Return the law of Figure 4.1 step 2(b): j with probability proportional to 2^-j."""
    weights = [Fraction(1, 1 << j) for j in range(most + 1)]
    return [weight / sum(weights) for weight in weights]


def kept(law):
    """Return, for each smallest bad threshold, Pr[t in T minus s] / Pr[t in T]; T has at least two."""
    return [sum(law[s + 1 :]) / sum(law[s:]) for s in range(len(law) - 1)]


@pytest.mark.parametrize("most", [1, 2, 3, 6, 12])
def test_lemma_8_is_false_for_the_printed_thresholds(most):
    """The proof needs at least 1/2 and gets 1/3 at worst."""
    ratios = kept(printed(most))
    assert max(ratios) < HALF
    assert min(ratios) == Fraction(1, 3)


def test_the_ratios_of_the_printed_thresholds():
    last = [float(ratio) for ratio in kept(printed(12))[-3:]]
    assert last == pytest.approx([0.4667, 0.4286, 0.3333], abs=1e-4)


@pytest.mark.parametrize("most", [1, 2, 3, 6, 12])
def test_lemma_8_holds_for_the_repaired_thresholds(most):
    law = [p for _, p in Steps(most).law(None)]
    assert sum(law) == 1 and len(law) == most + 1
    assert kept(law) == [HALF] * most


def proved(hard_times, divided_by):
    """Return the loss the proof of Theorem 21 gives, over alpha, for a number of hard answers a m ln|X|.

    Of h hard answers follow 8 h bad easy ones, each of the 9 h costs twice alpha', and good ones half alpha.
    """
    return 2 * 9 * Fraction(hard_times, divided_by) + HALF


def test_lemma_11_answers_twice_the_hard_queries_that_4_2_pays_for():
    assert proved(20, 720) == 1
    assert proved(40, 720) == Fraction(3, 2)
    assert proved(40, 1440) == 1
    basic, efficient = (
        Constants.of(cells=16, queries=100, accuracy=HALF, epsilon=Fraction(1), efficient=kind)
        for kind in (False, True)
    )
    for constants, times in ((basic, 20), (efficient, 40)):
        total = proved(times, 1) - HALF  # 18 x times, of m ln|X| answers each
        assert float(total * constants.size * constants.step) * math.log(16) == pytest.approx(0.5, rel=1e-6)


def test_4_1_falls_to_zero_where_the_wanted_accuracy_is_low():
    """ln(1 / epsilon) goes to 0, and the family to one empty database; a sample needs ln k / epsilon^2."""
    accuracy = 0.999
    size = 160_000 * math.log(10) * math.log(1 / accuracy) / accuracy**2
    assert size < 400
    tight = 0.999999
    assert 160_000 * math.log(10) * math.log(1 / tight) / tight**2 < 1
    repaired = Constants.of(
        cells=2, queries=10, accuracy=Fraction(999, 1000), epsilon=Fraction(1), efficient=False
    )
    assert repaired.size > 160_000 * math.log(10)


def test_lemma_6_loses_a_factor_in_its_exponent_and_still_holds():
    """|f(S) - f(D)| may be epsilon / 50 + epsilon / 100: the exponent is 3/100, not 1/50."""
    assert 0.94 * math.exp(-1 / 50) > 0.92
    assert 0.94 * math.exp(-3 / 100) < 0.92
    assert 0.94 * math.exp(-3 / 100) > 0.91


@pytest.mark.parametrize(("queries", "failure"), [(50, 1.01), (100, 0.51)])
def test_lemma_3_says_nothing_at_the_least_number_of_rows(queries, failure):
    """At n of (4.6) the noise of r passes 1/100 with the printed delta, which is no small probability."""
    reach = 30 * math.log(2 * queries) * math.log2(queries)
    found = queries * math.exp(-reach / 200)
    assert found == pytest.approx(failure, abs=0.02)


def test_the_theorem_needs_more_rows_than_there_are():
    needed = Constants.of(
        cells=1024, queries=1000, accuracy=Fraction(1, 10), epsilon=Fraction(1), efficient=False
    )
    assert needed.rows > 10**16
    # And below 180 m ln|X| questions adding up the losses says all the theorem does, whatever n is.
    assert 9 * needed.hard > 10**11
    assert 2 * 9 * needed.hard * needed.step <= HALF
