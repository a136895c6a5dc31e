"""Distributions of numbers: the exact table, the fit, and intervals that hold."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.local.frequencies.test_oracles import at_most_exp
from tests.unit.local.test_client import walk

from discreet import local
from discreet.core.errors import BudgetExceeded, InvalidParameter, NoBound, Refused
from discreet.local import client
from discreet.local.collecting import open_collector
from discreet.local.distributions.distribution_estimate import list_chances
from discreet.local.laws.numbers import WindowKernel
from discreet.local.laws.odds import bound_odds
from discreet.testing import unsafe_seeded

F = Fraction


@pytest.mark.parametrize("epsilon", [F(1, 100), F(1), F(5)], ids=float)
@pytest.mark.parametrize("steps", [2, 8])
def test_the_whole_table_keeps_the_claim(steps, epsilon):
    survey = local.SquareWave(epsilon=epsilon, lower=-1, upper=1, steps=steps)
    tables = [dict(survey.waves.law(place)) for place in range(steps + 1)]
    assert all(sum(table.values()) == 1 for table in tables)
    worst = max(a[report] / b[report] for a, b in itertools.permutations(tables, 2) for report in a)
    assert worst == survey.waves.ratio and at_most_exp(worst, epsilon)
    chances = list_chances(survey.waves)
    for place, table in enumerate(tables):
        assert np.allclose([float(table[report]) for report in range(survey.waves.size)], chances[:, place])


@pytest.mark.parametrize("epsilon", [F(1, 2), F(1), F(3)], ids=float)
def test_no_other_window_tells_much_more(epsilon):
    """The information about a uniform place, by the definition, for all windows."""
    steps = 128

    def tell(window):
        chances = list_chances(WindowKernel(steps + 1, bound_odds(epsilon), window))
        mean = chances.mean(axis=1, keepdims=True)
        return float((chances * np.log(chances / mean)).sum(axis=0).mean())

    chosen = WindowKernel.wave(steps + 1, epsilon).window
    assert tell(chosen) >= 0.9 * max(tell(window) for window in range(1, steps + 2))
    root = math.exp(epsilon)
    share = (epsilon * root - root + 1) / (root * (root - 1 - epsilon))
    assert abs(chosen - float(share) * steps) < 1


def test_small_budgets_have_windows_of_the_whole_range():
    assert WindowKernel.wave(65, F(1, 10**8)).window == 64
    assert 60 <= WindowKernel.wave(65, F(1, 100)).window <= 64
    assert WindowKernel.wave(65, F(30)).window == 1


def test_a_device_draws_from_the_same_table():
    survey = local.SquareWave(epsilon=2, lower=0, upper=4, steps=4)
    device = client.open_survey(survey.survey)
    assert device.kernel == survey.kernel and open_collector(survey.survey) == survey
    for place in range(5):
        law = walk(lambda below, place=place: device.encode(place, below=below).code)
        assert {report: p for report, p in law.items() if p} == dict(survey.kernel.law(place))


def make_ages(people):
    """Two humps."""
    third = people // 3
    return np.concatenate([np.linspace(20, 35, third), np.linspace(50, 80, people - third)])


@pytest.mark.parametrize("epsilon", [1, 3])
def test_a_distribution_is_found_near_the_truth(epsilon):
    ages = make_ages(60_000)
    survey = local.SquareWave(epsilon=epsilon, lower=0, upper=100)
    found = survey.estimate(survey.encode_many(ages, rng=unsafe_seeded(2)))
    assert found.shares.min() >= 0 and found.shares.sum() == pytest.approx(1) and found.people == 60_000
    grid = np.searchsorted(np.sort(ages), found.numbers, side="right") / ages.size
    far = np.abs(np.cumsum(found.shares) - grid).mean()
    assert far < (0.05 if epsilon == 1 else 0.02)
    assert abs(found.mean - ages.mean()) < 3
    for level in (0.1, 0.5, 0.9):
        assert abs(found.quantile(level) - np.quantile(ages, level)) < (9 if epsilon == 1 else 5)
    assert abs(found.share(0, 42) - 1 / 3) < 0.08 and found.share(0, 100) == pytest.approx(1)
    assert "60000 reports" in repr(found)


def test_intervals_hold_the_truth_and_are_of_use():
    ages = make_ages(60_000)
    survey = local.SquareWave(epsilon=3, lower=0, upper=100, steps=32)
    found = survey.estimate(survey.encode_many(ages, rng=unsafe_seeded(4)))
    rounded = np.rint(ages * 32 / 100) * 100 / 32
    for level in (0.1, 0.5, 0.9):
        low, high = found.quantile_interval(level, 0.95)
        assert low <= np.quantile(rounded, level, method="inverted_cdf") <= high
        assert high - low < 40
    for low, high in ((0, 42), (50, 80), (90, 100)):
        least, most = found.share_interval(low, high, 0.95)
        assert least <= ((rounded >= low) & (rounded <= high)).mean() <= most
        assert most - least < 0.45
    assert found.share_interval(0, 100, 0.95) == pytest.approx((1, 1), abs=1e-5)


def test_intervals_hold_at_once_in_ninety_five_of_a_hundred_runs():
    """20 runs of few people: a miss has probability below 1/20 in each; more than 5 have one of 1e-4."""
    survey = local.SquareWave(epsilon=2, lower=0, upper=8, steps=8)
    numbers = np.repeat(np.arange(9), [0, 40, 40, 0, 0, 100, 0, 0, 20])
    missed, width = 0, 0.0
    means = np.cumsum(list_chances(survey.waves) @ np.bincount(numbers, minlength=9) / 200)[:-1]
    strays = []
    for seed in range(20):
        found = survey.estimate(survey.encode_many(numbers, rng=unsafe_seeded(seed)))
        spans = [found.share_interval(0, top, 0.95) for top in (1, 6)]
        missed += any(not low <= true <= high for (low, high), true in zip(spans, (0.2, 0.9), strict=True))
        width += spans[1][1] - spans[1][0]
        strays.append(np.abs(np.cumsum(found.seen)[:-1] / 200 - means).max() / found.stray(0.95))
    assert 0.5 < max(strays) and np.quantile(strays, 0.9) < 1
    assert missed <= 5 and width / 20 < 0.9


def test_reports_that_nobody_would_send_tell_nothing():
    """Hostile reports: no distribution makes them, and intervals are the widest there are."""
    survey = local.SquareWave(epsilon=1, lower=0, upper=8, steps=8)
    report = survey.encode(0)
    forged = [type(report)(report.header, bytes([survey.waves.size - 1]))] * 10_000
    found = survey.estimate(forged)
    assert found.share_interval(0, 4, 0.95) == (0, 1)
    assert found.quantile_interval(0.5, 0.95) == (0, 8)
    assert np.isfinite(found.shares).all()


def test_what_is_no_such_survey_is_refused():
    with pytest.raises(InvalidParameter, match="steps"):
        local.SquareWave(epsilon=1, lower=0, upper=1, steps=1026)
    with pytest.raises(InvalidParameter, match="steps"):
        local.SquareWave(epsilon=1, lower=0, upper=1, steps=3)
    survey = local.SquareWave(epsilon=1, lower=0, upper=1)
    with pytest.raises(NoBound, match="share_interval"):
        survey.error(0.05)
    found = survey.estimate([survey.encode(0.5)])
    for level in (0, 1, None):
        with pytest.raises(InvalidParameter, match="level"):
            found.quantile(level)
    with pytest.raises(Refused, match="kind"):
        survey.estimate([local.PiecewiseMean(epsilon=1, lower=0, upper=1, steps=64).encode(0.5)])


def test_the_oracle_of_the_local_model_charges_it():
    survey = local.SquareWave(epsilon=1, lower=0, upper=1)
    with local.LocalOracle(epsilon=1, people=1).open([0.3]) as people:
        people.ask(survey, person=0)
        with pytest.raises(BudgetExceeded):
            people.ask(survey, person=0)
