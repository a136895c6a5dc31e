"""Means: exact tables, no bias, the least variance, and numbers of all kinds."""

import itertools
import math
from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas
import pytest
from scipy import stats
from tests.unit.local.frequencies.test_oracles import at_most_exp
from tests.unit.local.test_client import walk

from discreet import local
from discreet.core.errors import InvalidParameter, Refused
from discreet.local import client
from discreet.testing import unsafe_seeded

F = Fraction
MEANS = [local.SignMean, local.PiecewiseMean, local.HybridMean]
BUDGETS = [F(1, 2), F(1), F(2), F(5)]
every_mean = pytest.mark.parametrize("kind", MEANS, ids=lambda kind: kind.__name__)
every_budget = pytest.mark.parametrize("epsilon", BUDGETS, ids=float)


@every_mean
@every_budget
@pytest.mark.parametrize("steps", [2, 6])
def test_the_whole_table_keeps_the_claim_and_has_no_bias(kind, epsilon, steps):
    kernel = kind(epsilon=epsilon, lower=-1, upper=1, steps=steps).numbers
    tables = [dict(kernel.law(place)) for place in range(steps + 1)]
    assert all(sum(table.values()) == 1 for table in tables)
    worst = max(a[report] / b[report] for a, b in itertools.permutations(tables, 2) for report in a)
    assert worst == kernel.ratio and at_most_exp(worst, epsilon)
    for place, table in enumerate(tables):
        mean = sum(kernel.estimate(report) * p for report, p in table.items())
        assert mean == kernel.number(place) == F(2 * place, steps) - 1
        assert sum(
            kernel.estimate(report) ** 2 * p for report, p in table.items()
        ) - mean**2 == kernel.variance(place)
    assert max(kernel.variance(place) for place in range(steps + 1)) == kernel.worst_variance


@every_mean
def test_a_device_draws_from_the_same_table(kind):
    survey = kind(epsilon=2, lower=0, upper=4, steps=4)
    device = client.open_survey(survey.survey)
    assert device.kernel == survey.kernel
    for place in range(5):
        law = walk(lambda below, place=place: device.encode(place, below=below).code)
        assert {report: p for report, p in law.items() if p} == dict(survey.kernel.law(place))


@every_mean
@every_budget
def test_columns_are_drawn_from_the_same_table(kind, epsilon):
    """Chi-square against the table, at 1e-6 a case."""
    survey, draws = kind(epsilon=epsilon, lower=0, upper=4, steps=4), 6000
    for place in (0, 3):
        batch = survey.encode_many(np.full(draws, place), rng=unsafe_seeded(3))
        seen, table = Counter(report.code for report in batch), dict(survey.kernel.law(place))
        assert set(seen) <= set(table)
        common = [report for report, p in table.items() if p * draws >= 5]
        expected = np.array([float(table[report]) * draws for report in common])
        counts = np.array([seen[report] for report in common])
        assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(common)) > 1e-6


@every_budget
def test_the_hybrid_is_never_worse_than_its_parts(epsilon):
    sign, place, both = (kind(epsilon=epsilon, lower=0, upper=1).variance for kind in MEANS)
    assert both <= min(sign, place)
    if epsilon == 1:
        assert both < 0.95 * min(sign, place)
    root = math.exp(epsilon / 2)
    assert sign == pytest.approx(((root**2 + 1) / (root**2 - 1)) ** 2 / 4)
    continuous = root / (3 * (root - 1) ** 2)
    assert 0.85 * continuous < place < 1.001 * continuous  # a grid has windows that no interval has


@every_mean
def test_means_are_estimated_in_their_own_unit(kind):
    survey = kind(epsilon=2, lower=1000, upper=3000)
    wages = np.linspace(1200, 2600, 20_000)
    found = survey.estimate(survey.encode_many(wages, rng=unsafe_seeded(4)))
    assert abs(found.value - 1900) <= found.error(1e-6)
    assert found.standard_error <= found.survey.standard_error * 1.2  # the numbers differ too
    low, high = found.interval(0.999)
    assert low < 1900 < high and "20000 reports" in repr(found)
    lines = [report.to_json() for report in survey.encode_many(wages[:50], rng=unsafe_seeded(5))]
    assert survey.estimate(lines).people == 50
    assert survey.estimate(lines[:1]).standard_error == survey.estimate(lines[:1]).survey.standard_error


def test_numbers_of_all_kinds_are_read_alike():
    grid = local.SignMean(epsilon=1, lower=0, upper=10, steps=10).values
    near = {3: 3, 3.4: 3, Decimal("3.6"): 4, F(7, 2): 4, -1: 0, 99: 10, math.inf: 10, -math.inf: 0}
    odd = [None, math.nan, "3", True, b"3", Decimal("nan"), Decimal("sNaN"), object()]
    assert [grid.read(value) for value in near] == list(near.values())
    assert [grid.read(value) for value in odd] == [5] * len(odd)
    assert grid.read(Decimal("1e9999")) == 10 and grid.read(Decimal("-1e9999")) == 0
    assert grid.read(Decimal("1e-9999")) == 0 and grid.read(10**400) == 10
    survey = local.SignMean(epsilon=900, lower=-1, upper=1, steps=2)
    for column in (
        [1, 1],
        np.array([1.0, 7.0]),
        pandas.Series([1, 3]),
        np.array([1, 2**62], dtype=np.uint64),
    ):
        assert survey.encode_many(column).payload.sum() == 2
    assert np.isin(survey.encode_many(np.array([np.nan, -np.inf])).payload[1], 0)


def test_a_range_that_is_none_is_refused():
    for wrong in ({"lower": 1, "upper": 1}, {"lower": 2, "upper": 1}):
        with pytest.raises(InvalidParameter, match="upper"):
            local.HybridMean(epsilon=1, **wrong)
    for steps in (3, 1, 1 << 21):
        with pytest.raises(InvalidParameter, match="steps"):
            local.HybridMean(epsilon=1, lower=0, upper=1, steps=steps)


@pytest.mark.parametrize(
    "domain",
    [
        '{"lower":"0","upper":"1","steps":2.0}',
        '{"lower":"0.5","upper":"1","steps":2}',
        '{"lower":"--1","upper":"1","steps":2}',
        '{"lower":0,"upper":"1","steps":2}',
        '{"lower":"0","upper":"1"}',
    ],
)
def test_a_survey_with_another_range_is_refused(domain):
    with pytest.raises(Refused):
        client.open_survey(f'{{"version":1,"kind":"sign-mean","epsilon":"1","domain":{domain}}}')


def test_bounds_below_nothing_travel():
    survey = local.SignMean(epsilon=1, lower=F(-1, 3), upper=0)
    assert client.open_survey(survey.survey).domain == survey.values
