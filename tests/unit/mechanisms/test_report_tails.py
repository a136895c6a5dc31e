"""The error of estimated frequencies: sound for every true frequency, and near the best there is."""

import math

import numpy as np
import pytest
from scipy import stats

from discreet.mechanisms import report_tails
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.report_tails import Crowd, ReportCoin, stray
from discreet.testing import unsafe_seeded


def crowd_of(mechanism):
    lie = (mechanism.categories - 1) * mechanism.other
    return Crowd(
        mechanism.people, ReportCoin(mechanism.keep, lie), ReportCoin(mechanism.other, 1 - mechanism.other)
    )


def law(mechanism, holders):
    """Return the probabilities of 0, 1, ... reports, from another library, and their mean."""
    n = mechanism.people
    masses = np.convolve(
        stats.binom.pmf(np.arange(holders + 1), holders, mechanism.keep),
        stats.binom.pmf(np.arange(n - holders + 1), n - holders, mechanism.other),
    )
    return masses, holders * mechanism.keep + (n - holders) * mechanism.other


def exact_tail(mechanism, holders, distance):
    masses, mean = law(mechanism, holders)
    return float(masses[np.abs(np.arange(masses.size) - mean) >= distance].sum())


CROWDS = [(people, epsilon) for people in (1, 7, 48, 49, 100, 333) for epsilon in (0.1, 1, 4, 12)]


@pytest.mark.parametrize(("people", "epsilon"), CROWDS)
def test_no_number_of_holders_strays_more_often(people, epsilon):
    mechanism = RandomizedResponse(epsilon=epsilon, people=people)
    deviation = mechanism.standard_error * people * math.tanh(epsilon / 2)
    for factor in (0.3, 1, 2, 3.3, 5):
        distance = factor * deviation + 1e-9
        worst = max(exact_tail(mechanism, m, distance) for m in range(0, people + 1, max(1, people // 60)))
        assert worst <= stray(crowd_of(mechanism), distance, 2) * (1 + 1e-9)


@pytest.mark.parametrize(("people", "epsilon"), [(9, 1), (9, 4), (60, 1), (60, 3)])
def test_three_categories_together(people, epsilon):
    mechanism = RandomizedResponse(epsilon=epsilon, categories=3, people=people)
    deviation = math.sqrt(people * mechanism._variance)
    for distance in (0.7 * deviation, 1.8 * deviation, 3 * deviation):
        alone = [exact_tail(mechanism, m, distance) for m in range(people + 1)]
        step = max(1, people // 12)
        splits = [
            (a, b, people - a - b) for a in range(0, people + 1, step) for b in range(0, people + 1 - a, step)
        ]
        worst = max(sum(alone[m] for m in split) for split in splits)
        assert worst <= stray(crowd_of(mechanism), distance, 3) * (1 + 1e-9)


@pytest.mark.parametrize("epsilon", [0.5, 2])
@pytest.mark.parametrize("few", [0, 10**9], ids=["ranges", "normal law"])
def test_every_way_to_bound_is_sound(epsilon, few, monkeypatch):
    """The same crowd through the ranges of a middling crowd and through the normal law of a large one."""
    monkeypatch.setattr(report_tails, "FEW", 0)
    monkeypatch.setattr(report_tails, "CROWD", 30 if few else 10**9)
    report_tails._bounds.cache_clear()
    mechanism = RandomizedResponse(epsilon=epsilon, people=40)
    for distance in (1, 2.5, 6, 11, 19):
        worst = max(exact_tail(mechanism, m, distance) for m in range(41))
        assert worst <= stray(crowd_of(mechanism), distance, 2) * (1 + 1e-9)
    report_tails._bounds.cache_clear()


@pytest.mark.parametrize("epsilon", [0.1, 1, 4])
@pytest.mark.parametrize("people", [48, 500, 3000])
@pytest.mark.parametrize("beta", [0.05, 1e-3])
def test_the_error_is_near_the_best_there_is(people, epsilon, beta):
    """No bound can be below the exact quantile at one number of holders."""
    mechanism = RandomizedResponse(epsilon=epsilon, people=people)
    found, best = mechanism.frequency_error(beta), 0.0
    for holders in (0, people // 3, people // 2):
        masses, mean = law(mechanism, holders)
        away = np.abs(np.arange(masses.size) - mean)
        order = np.argsort(away)
        place = np.searchsorted(np.cumsum(masses[order]), 1 - beta)
        best = max(best, away[order][place] / people / mechanism._contrast)
    assert best <= found <= 1.12 * best


def test_large_crowds_pass_to_the_normal_law_without_a_jump():
    small, large = (
        RandomizedResponse(epsilon=1, people=n).frequency_error(0.05) * math.sqrt(n)
        for n in (2**18, 2**18 + 1)
    )
    assert 0.99 < large / small < 1.03
    huge = RandomizedResponse(epsilon=1, people=10**9)
    assert huge.frequency_error(0.05) < 1.97 * huge.standard_error


@pytest.mark.parametrize("epsilon", [30, 40, 800])
@pytest.mark.parametrize("people", [1, 48, 5000, 10**6])
def test_reports_that_hardly_ever_lie_have_hardly_any_error(epsilon, people):
    mechanism = RandomizedResponse(epsilon=epsilon, categories=5, people=people)
    assert 0 <= mechanism.frequency_error(0.01) < 5 / people


@pytest.mark.parametrize("categories", [2, 4])
def test_releases_miss_as_rarely_as_promised(categories):
    """A sound bound at beta 0.1 is missed 75 times in 400 with probability below 1e-7."""
    mechanism, rng = RandomizedResponse(epsilon=1, categories=categories, people=300), unsafe_seeded(31)
    truth = np.zeros(300, dtype=np.int64)
    truth[:150] = 1
    shares = np.bincount(truth, minlength=categories) / 300
    bound = mechanism.frequency_error(0.1)
    missed = sum(
        np.abs(mechanism.estimate(mechanism.release(truth, rng=rng).value) - shares).max() > bound
        for _ in range(400)
    )
    assert 5 <= missed < 75  # and not so loose that it is hardly ever missed
