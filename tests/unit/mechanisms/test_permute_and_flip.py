"""Permute-and-flip: error, loss, and how it compares with the exponential mechanism."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.audit.exact_report import exact
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.loss import BoundedRangeLoss, PureLoss
from discreet.core.neighbours import Replace
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.scores import Monotone, Sensitivity
from discreet.mechanisms.tiny import score_pairs
from discreet.noise.selection import ExponentialChoice, FlippedChoice
from discreet.testing import unsafe_seeded


def make(**changes):
    return PermuteAndFlip(**{"sensitivity": 1, "epsilon": 1, "size": 3} | changes)


def test_the_loss_is_pure_and_not_of_bounded_range():
    assert make(epsilon=Fraction(1, 2)).loss == PureLoss(Fraction(1, 2))
    assert make().loss.zcdp() > 3 * BoundedRangeLoss(Fraction(1)).zcdp()


def test_the_monotone_calibration_breaks_on_general_scores():
    report = exact(make(sensitivity=Monotone(1)), score_pairs(Sensitivity(1), [(0, 0, 0)]))
    assert not report.holds
    assert report.measured == pytest.approx(2)


@pytest.mark.parametrize("size", [2, 3, 6])
@pytest.mark.parametrize("beta", [0.4, 0.05, 1e-6])
def test_the_error_is_exact_on_the_worst_scores(size, beta):
    mechanism = make(size=size, epsilon=Fraction(2, 3))
    alpha = int(mechanism.error(beta))

    def beyond(gap):
        scores = np.zeros(size, dtype=np.int64)
        scores[0] = gap
        law = dict(FlippedChoice(mechanism.rate, Fraction(2)).law(scores))
        return float(1 - law[0])

    assert beyond(alpha + 1) <= beta * (1 + 1e-9)
    assert alpha == 0 or beyond(alpha) > beta * (1 - 1e-6)


def test_no_other_scores_are_worse_than_the_worst():
    mechanism = make(size=3, epsilon=1)
    alpha = int(mechanism.error(0.2))
    for others in itertools.product(range(0, alpha + 8, 3), repeat=2):
        scores = np.array([0, -others[0], -others[1]])
        law = dict(FlippedChoice(mechanism.rate, Fraction(2)).law(scores))
        assert sum(law[i] for i in range(3) if -scores[i] > alpha) <= Fraction(1, 5)


def test_the_error_is_never_above_the_exponential_mechanisms():
    for size, beta in itertools.product((1, 2, 100, 10**6), (0.5, 0.05, 1e-6, 1e-15)):
        for epsilon in (Fraction(1, 10), Fraction(3)):
            public = {"sensitivity": 1, "epsilon": epsilon, "size": size}
            assert PermuteAndFlip(**public).error(beta) <= Exponential(**public).error(beta)


def expected_error(primitive, scores):
    values = np.array(scores)
    return sum(p * int(values.max() - values[place]) for place, p in primitive.law(values))


def test_the_expected_error_is_never_above_the_exponential_mechanisms():
    flipped, chosen = (
        FlippedChoice(Fraction(1, 2), Fraction(2)),
        ExponentialChoice(Fraction(1, 2), Fraction(2)),
    )
    for scores in itertools.product(range(0, 8, 2), repeat=3):
        assert expected_error(flipped, scores) <= expected_error(chosen, scores) + Fraction(1, 2**90)
    assert expected_error(flipped, (0, 0, 4)) < Fraction(7, 10) * expected_error(chosen, (0, 0, 4))


def test_for_error_is_the_cheapest_and_cheaper_than_the_exponential_mechanism():
    public = {"sensitivity": Monotone(1), "size": 100}
    mechanism = PermuteAndFlip.for_error(alpha=10, beta=0.05, **public)
    assert mechanism.error(0.05) <= 10
    assert make(**public, epsilon=mechanism.epsilon * Fraction(99, 100)).error(0.05) > 10
    assert mechanism.epsilon < Exponential.for_error(alpha=10, beta=0.05, **public).epsilon


def test_it_chooses_the_best_when_the_budget_is_large():
    rng = unsafe_seeded(1)
    named = PermuteAndFlip(sensitivity=1, epsilon=100, candidates=("a", "b", "c"))
    assert {named.release((0, 5, 0), rng=rng).value for _ in range(50)} == {"b"}
    assert {make(epsilon=100).release(np.array([0, 0, 5]), rng=rng).value for _ in range(50)} == {2}
    assert make(size=1).release(3, rng=rng).value == 0
    assert make(grid=0.1).release([math.nan, math.inf, -math.inf], rng=rng).value == 1


@pytest.mark.parametrize("bad", [0, -1, math.nan, True, "1"])
def test_bad_budgets_are_refused(bad):
    with pytest.raises(InvalidParameter, match="epsilon"):
        make(epsilon=bad)


def test_monotone_scores_under_replacement_are_refused():
    with pytest.raises(NeighboursMismatch):
        make(sensitivity=Monotone(1), neighbours=Replace("row"))
