"""Counterexamples to what section 3.6 of [DR14] prints, and to a lemma built on it."""

import math
import warnings

import numpy as np
import pytest

from discreet import audit
from discreet.mechanisms.scores import Monotone
from discreet.noise import DiscreteLaplace
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.book import theorem_3_24, theorem_3_26, theorem_3_28
from discreet.sparse.numeric_sparse import NumericSparse
from discreet.sparse.sparse import Sparse


def grid_laplace(scale, units=50):
    """Return points, masses and upper tails of Laplace noise on a fine grid."""
    reach = int(45 * scale * units)
    x = np.arange(-reach, reach + 1)
    q = math.exp(-1 / (scale * units))
    mass = (1 - q) / (1 + q) * q ** np.abs(x)
    return x / units, mass, np.cumsum(mass[::-1])[::-1]


def test_monotone_queries_cost_three_quarters_with_the_books_scales():
    assert AboveThreshold.as_printed(epsilon=1, sensitivity=1).loss.pure == 1
    assert AboveThreshold.as_printed(epsilon=1, sensitivity=Monotone(1)).loss.pure == 0.75


def test_a_negative_answer_does_not_mean_a_value_below_the_noisy_threshold():
    """The proof of 3.24 drops the query noise: 'f < That' for a negative answer happens not to hold."""
    t, mass, _ = grid_laplace(2, 10)
    _, _, tails = grid_laplace(4, 10)
    value = 0.0
    below = np.searchsorted(grid_laplace(4, 10)[0], t - value)  # P[noise >= t - value] stands there
    negative = 1 - tails[np.clip(below, 0, len(tails) - 1)]
    assert (mass * negative)[t <= value].sum() > 0.1


def test_theorem_3_24_is_true_but_twice_what_is_needed():
    printed = theorem_3_24(queries=100, beta=0.05, epsilon=1)
    assert printed == pytest.approx(66.35, abs=0.05)
    book = AboveThreshold.as_printed(epsilon=1, sensitivity=1)
    assert book.error(0.05, queries=100) <= 33
    assert AboveThreshold(epsilon=1, delta=0, sensitivity=1).error(0.05, queries=100) <= 25


def test_theorem_3_26_is_off_by_one():
    """At most c = 1 value is large, yet the conversation closes before the last question."""
    mechanism = Sparse.as_printed(epsilon=1, delta=0, positives=1, sensitivity=1, threshold=0)
    large = 10**9
    assert theorem_3_26(queries=2, positives=1, beta=0.05, epsilon=1, delta=0) < large

    def closes_early(data, rng):
        conversation = mechanism.open(data, rng=rng)
        conversation.ask(lambda values: values[0])
        return conversation.closed

    assert audit.output_distribution(closes_early, (large, 0))[True] > 0.999999
    assert mechanism.error(0.05, queries=2) < large


@pytest.mark.parametrize(
    ("queries", "positives", "beta", "missed"),
    [(1, 1, 0.05, 0.2124), (10, 10, 0.01, 0.2125), (1000, 5, 0.05, 0.0512)],
)
def test_theorem_3_28_forgets_a_factor_for_delta_above_zero(queries, positives, beta, missed):
    """Some released value is off by more than the printed alpha far more often than beta / 2."""
    delta = 1e-6
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mechanism = NumericSparse.as_printed(
            epsilon=1, delta=delta, positives=positives, sensitivity=1, grid=0.1, threshold=0
        )
    public = {"queries": queries, "positives": positives, "beta": beta, "epsilon": 1, "delta": delta}

    def some_value_is_off(alpha):
        one = 2 * float(mechanism.value_noise.tail(math.floor(alpha / 0.1) + 1))
        return 1 - (1 - one) ** positives

    printed, corrected = (theorem_3_28(**public, printed=which) for which in (True, False))
    assert some_value_is_off(printed) == pytest.approx(missed, rel=0.01)
    assert some_value_is_off(printed) > beta / 2 > some_value_is_off(corrected) * 0.999


def test_theorem_3_28_is_right_for_delta_zero():
    mechanism = NumericSparse.as_printed(epsilon=1, delta=0, positives=3, sensitivity=1, threshold=0)
    alpha = theorem_3_28(queries=3, positives=3, beta=0.05, epsilon=1, delta=0)
    assert 3 * 2 * float(mechanism.value_noise.tail(math.floor(alpha) + 1)) <= 0.025


def test_delta_above_zero_helps_the_books_sparse_only_for_many_positive_answers():
    delta = 1e-6
    limit = 8 * math.log(1 / delta)
    assert 110 < limit < 111

    def scale(positives, given):
        return float(
            Sparse.as_printed(
                epsilon=1, delta=given, positives=positives, sensitivity=1
            ).plan.query_noise.scale
        )

    with pytest.warns(UserWarning, match="smaller with delta=0"):
        assert scale(110, delta) > scale(110, 0)
    assert scale(111, delta) < scale(111, 0)


def test_the_books_sparse_keeps_its_promise_for_delta_above_zero():
    for positives, epsilon in ((120, 1), (400, 10)):
        mechanism = Sparse.as_printed(epsilon=epsilon, delta=1e-6, positives=positives, sensitivity=1)
        assert mechanism.loss.delta(epsilon) <= 1e-6


def test_the_books_budget_of_ten_ninths_is_fine():
    """8/9 and 2/9 of epsilon add up to more than epsilon, but the values cost half of what they are given."""
    mechanism = NumericSparse.as_printed(epsilon=1, delta=0, positives=4, sensitivity=1)
    assert mechanism.loss.pure == 1
    assert mechanism.value_noise == DiscreteLaplace(36)


def test_sparse_does_not_hide_the_questions_of_others():
    """With redrawn thresholds an earlier question changes a later answer: .5000 becomes .4583."""
    t, mass, _ = grid_laplace(2)
    x, _, tails = grid_laplace(4)
    positive = tails[np.searchsorted(x, t - 1e-9)]  # P[T + noise >= T + t]
    alone = float((mass * positive).sum())
    redrawn = alone * alone + float((mass * (1 - positive) * positive).sum())
    assert alone == pytest.approx(0.5, abs=0.005)
    assert redrawn == pytest.approx(0.4583, abs=0.005)
