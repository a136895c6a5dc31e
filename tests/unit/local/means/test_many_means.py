"""Means of vectors: the exact table of small ones, no bias, and the least variance of all numbers sampled."""

import itertools
import json
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.local.frequencies.test_oracles import at_most_exp
from tests.unit.local.test_client import walk

from discreet import local
from discreet.core.errors import BudgetExceeded, InvalidParameter, NoBound, Refused
from discreet.local import client
from discreet.local.collecting import open_collector
from discreet.local.laws.coordinates import CoordinatesKernel
from discreet.local.laws.numbers import MixedKernel
from discreet.local.steps import DrawReports
from discreet.testing import unsafe_seeded

F = Fraction


def split(kernel, code):
    """Return (coordinate, report about it) of each entry."""
    base = 1 << 8 * kernel.stride
    entries = [code // base**k % base for k in range(kernel.sampled)]
    return [divmod(entry, kernel.part.size) for entry in entries]


@pytest.mark.parametrize("sampled", [1, 2])
@pytest.mark.parametrize("epsilon", [F(1), F(6)], ids=float)
def test_the_whole_table_keeps_the_claim_and_has_no_bias(sampled, epsilon):
    kernel = CoordinatesKernel(3, sampled, MixedKernel.make(3, epsilon / sampled))
    tables = [dict(kernel.law(value)) for value in range(27)]
    assert all(sum(table.values()) == 1 for table in tables)
    worst = max(a[report] / b[report] for a, b in itertools.permutations(tables, 2) for report in a)
    assert worst == kernel.ratio and at_most_exp(worst, epsilon)
    for value, table in enumerate(tables):
        places = [value // 3**k % 3 for k in range(3)]
        assert kernel.join(places) == value
        for coordinate, place in enumerate(places):
            about = [
                (p, kernel.part.estimate(part))
                for code, p in table.items()
                for which, part in split(kernel, code)
                if which == coordinate
            ]
            assert sum(p for p, _ in about) == F(sampled, 3)
            assert sum(p * told for p, told in about) / F(sampled, 3) == kernel.part.number(place)


def test_a_device_draws_from_the_same_table():
    survey = local.ManyMeans(epsilon=5, lower=0, upper=2, steps=2, dimensions=2)
    device = client.open_survey(survey.survey)
    assert device.kernel == survey.kernel and open_collector(survey.survey) == survey
    for vector in itertools.product((0, 1, 2), repeat=2):
        law = walk(lambda below, vector=vector: device.encode(vector, below=below).code)
        table = dict(survey.kernel.law(survey.values.read(vector)))
        assert {report: p for report, p in law.items() if p} == {r: p for r, p in table.items() if p}


@pytest.mark.parametrize("sampled", [1, 2])
def test_columns_are_drawn_from_the_same_table(sampled):
    assert local.ManyMeans.kind == "many-means", "importing it says how columns are drawn"
    kernel = CoordinatesKernel(3, sampled, MixedKernel.make(3, F(4)))
    draws, row = 40_000, np.array([2, 0, 1])
    drawn = DrawReports(kernel).sample(np.tile(row, (draws, 1)), unsafe_seeded(3))
    seen = Counter(int.from_bytes(each.tobytes(), "little") for each in drawn)
    table = dict(kernel.law(kernel.join(row.tolist())))
    assert set(seen) <= set(table)
    common = {code: draws * float(p) for code, p in table.items() if draws * p >= 5}
    square = sum((seen[code] - mean) ** 2 / mean for code, mean in common.items())
    assert square < len(common) + 7 * (2 * len(common)) ** 0.5


@pytest.mark.parametrize("epsilon", [F(1, 2), F(4), F(20)], ids=float)
def test_a_report_has_its_budget_and_no_more(epsilon):
    assert at_most_exp(CoordinatesKernel.make(0, epsilon, 9, 12).ratio, epsilon)


@pytest.mark.parametrize("epsilon", [F(1), F(4), F(9), F(20)], ids=float)
def test_no_other_number_of_coordinates_errs_less(epsilon):
    chosen = CoordinatesKernel.make(0, epsilon, 33, 12)
    assert chosen.worst_variance == 12 * F(1, chosen.sampled) * max(
        chosen.part.variance(p) + (1 - F(chosen.sampled, 12)) * chosen.part.number(p) ** 2 for p in range(33)
    )
    others = [CoordinatesKernel(12, k, MixedKernel.make(33, epsilon / k)) for k in range(1, 13)]
    assert chosen.worst_variance == min(other.worst_variance for other in others)
    assert (chosen.sampled > 1) is (epsilon > 2)


def test_means_are_estimated_without_bias_and_within_the_error():
    people = 40_000
    days = np.stack([np.full(people, hour) for hour in (2.0, 8.0, 20.0, 12.0)], axis=1)
    days[::2, 1] = 16.0
    survey = local.ManyMeans(epsilon=10, lower=0, upper=24, dimensions=4, people=people)
    assert survey.sampled > 1
    found = survey.estimate(survey.encode_many(days, rng=unsafe_seeded(4)))
    off = np.abs(found.values - [2, 12, 20, 12])
    assert off.max() <= found.error(1e-6) <= survey.error(1e-6)
    assert (off < 5 * found.standard_errors + 24 / 512).all()
    low, high = found.intervals(0.999)
    assert (low <= [2, 12, 20, 12]).all() and (high >= [2, 12, 20, 12]).all()
    assert found.counts.sum() == people * survey.sampled and "4 means" in repr(found)
    assert found.standard_errors.max() <= 1.3 * survey.standard_error + 24 / people**0.5


def test_vectors_of_all_kinds_are_read_alike():
    survey = local.ManyMeans(epsilon=1, lower=0, upper=4, steps=4, dimensions=3)
    read = survey.values.read_each
    assert read([1, 2.6, 9]) == read((1, 3, 4)) == read([np.float64(1), np.int64(3), 4, 7]) == [1, 3, 4]
    assert read([1]) == [1, 2, 2] and read(None) == read("abc") == read([None, "1", [2]]) == [2, 2, 2]
    assert survey.values.read([1, 3, 4]) == 1 + 3 * 5 + 4 * 25
    array = np.array([[1, 3, 4], [9, -1, 2]])
    for column in (array, array.astype(float), array.tolist(), list(array)):
        assert len(survey.encode_many(column)) == 2
    for wrong in (array[:, :2], array[None], "abc", np.array([["a", "b", "c"]])):
        with pytest.raises(InvalidParameter, match="data"):
            survey.encode_many(wrong)
    sure = local.ManyMeans(epsilon=900, lower=0, upper=1, steps=2, dimensions=1)
    for value in ([1], (1,), np.array([1.0]), np.array([1])):
        assert sure.estimate([sure.encode(value)]).values == pytest.approx([1])


def test_errors_beforehand_count_who_is_not_asked():
    few = local.ManyMeans(epsilon=1, lower=0, upper=1, dimensions=50, people=60)
    with pytest.raises(NoBound, match="fewer coordinates"):
        few.error(0.05)
    found = few.estimate(few.encode_many(np.zeros((60, 50))))
    off = np.abs(found.values).max()
    assert found.counts.min() == 0 and 0.5 < off <= found.error(0.05), "one report strays further than none"
    one = local.ManyMeans(epsilon=1, lower=0, upper=1, dimensions=1, people=1000)
    assert one.error(0.05) <= 1.2 * local.HybridMean(epsilon=1, lower=0, upper=1, people=1000).error(0.05)


@pytest.mark.parametrize(
    "change", [{"dimensions": 0}, {"dimensions": 2.0}, {"dimensions": 1 << 17}, {"steps": 3}, {"more": 1}]
)
def test_a_survey_that_was_tampered_with_is_refused(change):
    survey = json.loads(local.ManyMeans(epsilon=1, lower=0, upper=1, dimensions=3).survey)
    with pytest.raises((Refused, InvalidParameter)):
        client.open_survey(json.dumps({**survey, "domain": {**survey["domain"], **change}}))


def test_reports_that_no_device_sends_are_refused():
    survey = local.ManyMeans(epsilon=9, lower=0, upper=2, steps=2, dimensions=4)
    kernel = survey.coordinates
    report = survey.encode([0, 0, 0, 0])
    assert kernel.sampled >= 2
    twice = report.payload[: kernel.stride] * kernel.sampled
    for payload in (twice, b"\xff" * len(report.payload), report.payload[:-1], report.payload + b"\0"):
        with pytest.raises(Refused):
            survey.estimate([type(report)(report.header, payload)])


def test_the_oracle_of_the_local_model_charges_it():
    survey = local.ManyMeans(epsilon=1, lower=0, upper=1, dimensions=2)
    for people in ([[0.3, 0.4]], np.array([[0.3, 0.4]])):
        with local.LocalOracle(epsilon=1, people=1).open(people) as crowd:
            crowd.ask(survey, person=0)
            with pytest.raises(BudgetExceeded):
                crowd.ask(survey, person=0)
