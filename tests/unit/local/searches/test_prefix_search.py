"""Prefix search: exact tables, one law everywhere, transforms beside brute force, and what is found."""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas
import pytest
from scipy import stats
from tests.unit.local.frequencies.test_oracles import at_most_exp
from tests.unit.local.test_client import walk

from discreet import local
from discreet.core.errors import InvalidParameter, NoBound, Refused
from discreet.local import client
from discreet.local.batches import read_column
from discreet.local.laws.domains import BitStrings
from discreet.local.laws.odds import bound_odds
from discreet.local.laws.prefixes import PrefixKernel
from discreet.local.searches.agreement import Agreement
from discreet.local.searches.children import LevelReports
from discreet.local.searches.descent import Descent
from discreet.local.searches.prefix_search import BEAM, WIDTH, _split
from discreet.local.steps import DrawReports
from discreet.testing import unsafe_seeded

F = Fraction
SMALL = [(4, 2, 1, 1), (8, 2, 2, 1), (4, 3, 1, 1), (8, 2, 1, 1), (4, 5, 2, 2), (8, 2, 1, 2)]
every_table = pytest.mark.parametrize(("inputs", "cells", "first", "step"), SMALL)


def table(inputs, cells, first, step):
    """A table of so many values and cells, with blocks of so many bits."""
    return PrefixKernel(inputs, bound_odds(F(1)), cells, first, step)


def test_the_tables_of_version_one_stay_as_they_are():
    """A table follows from length and epsilon alone: another choice of numbers is another version."""
    made = [local.PrefixSearch(epsilon=e, length=bits).prefixes for e, bits in ((1, 16), (2, 48), (3, 64))]
    found = [(each.cells, each.first, each.step, each.levels) for each in made]
    assert found == [(3, 16, 15, 1), (7, 20, 14, 3), (19, 16, 12, 5)]
    assert made[1].shares == (F(3, 11), F(3, 11), F(5, 11))


@every_table
def test_the_whole_table_keeps_the_claim_and_reaches_it(inputs, cells, first, step):
    kernel = table(inputs, cells, first, step)
    tables = [dict(kernel.law(value)) for value in range(inputs)]
    assert all(sum(each.values()) == 1 and each.keys() == tables[0].keys() for each in tables)
    assert all(0 <= report < kernel.size for report in tables[0])
    worst = max(a[report] / b[report] for a, b in itertools.permutations(tables, 2) for report in a)
    assert worst == kernel.ratio and at_most_exp(worst, F(1))


@every_table
def test_a_level_agrees_as_often_as_it_says_with_one_prefix_and_with_any_other(inputs, cells, first, step):
    """Two different prefixes share a cell for one vector in `cells`, exactly; the estimate has no bias."""
    kernel = table(inputs, cells, first, step)
    agreement = Agreement.of(kernel)
    for level, held, asked in itertools.product(range(kernel.levels), range(inputs), range(inputs)):
        shift = max(0, kernel.length - first - step * level)
        same = held >> shift == asked >> shift
        agrees = F(0)
        sizes = [kernel.vectors(each) for each in range(level + 1)]
        for vectors in itertools.product(*map(range, sizes)):
            for cell, chance in kernel.response.law(kernel.cell(vectors, held)):
                agrees += chance * (cell == kernel.cell(vectors, asked))
        agrees /= math.prod(sizes)
        assert agrees == (agreement.yes if same else agreement.no)


def test_a_device_draws_from_the_table():
    for kernel in (table(4, 2, 1, 1), table(8, 3, 2, 1)):
        for value in (0, 3):
            law = walk(lambda below, value=value, kernel=kernel: kernel.draw(value, below))
            assert {report: p for report, p in law.items() if p} == dict(kernel.law(value))


@pytest.mark.parametrize("kernel", [table(8, 2, 1, 1), table(8, 3, 1, 2), table(4, 5, 1, 1)], ids=repr)
def test_columns_are_drawn_from_the_table(kernel):
    """Chi-square against the table, at 1e-6 a case."""
    draws, value = 8000, kernel.inputs - 2
    places = np.full(draws, value, dtype=np.uint64)
    rows = DrawReports(kernel).sample(places, unsafe_seeded(2))
    seen = Counter(int.from_bytes(row.tobytes(), "little") for row in rows)
    law = dict(kernel.law(value))
    assert set(seen) <= set(law)
    common = [report for report, p in law.items() if p * draws >= 5]
    expected = np.array([float(law[report]) * draws for report in common])
    counts = np.array([seen[report] for report in common])
    assert len(common) > 10
    assert stats.chi2.sf(((counts - expected) ** 2 / expected).sum(), len(common)) > 1e-6


@pytest.mark.parametrize(
    ("length", "cells", "first", "step"), [(6, 2, 3, 3), (7, 3, 1, 3), (6, 7, 4, 2), (5, 5, 2, 2)]
)
def test_transforms_count_what_a_look_at_every_report_counts(length, cells, first, step):
    kernel = table(1 << length, cells, first, step)
    values = np.arange(900, dtype=np.uint64) % np.uint64(1 << length)
    levels, named, vectors = _split(kernel, DrawReports(kernel).sample(values, unsafe_seeded(4)))
    for level in range(kernel.levels):
        mine = levels == level
        reports = LevelReports(kernel, level, named[mine], vectors[mine])
        before = kernel.begin(level)
        parents = np.arange(1 << before, dtype=np.uint64)
        width = kernel.width_of(level)
        counted = np.concatenate(list(reports.count_children(parents)))
        children = np.arange(1 << (before + width), dtype=np.uint64)
        assert np.array_equal(np.rint(counted), reports.count_matches(children))
        assert np.abs(counted - np.rint(counted)).max() < 0.01
        rest = kernel.length - before - width
        for child in (0, 1, (1 << before + width) - 1):
            pairs = zip(vectors[mine].tolist(), named[mine].tolist(), strict=True)
            slow = sum(kernel.cell(tuple(v[: level + 1]), child << rest) == cell for v, cell in pairs)
            assert slow == reports.count_matches(np.array([child], dtype=np.uint64))[0]


def test_common_values_are_found_and_no_others():
    survey = local.PrefixSearch(epsilon=3, length=40)
    common = [7, (1 << 40) - 1, 123_456_789_012, 1 << 39]
    rare = np.random.default_rng(5).integers(0, 1 << 40, 12_000)  # noqa: TID251
    values = np.concatenate([np.repeat(common, [20_000, 4000, 3000, 1000]), rare])
    batch = survey.encode_many(values, rng=unsafe_seeded(6))
    found = survey.estimate(batch, share=0.06)
    assert found.values == tuple(common[:3]) and found.people == 40_000
    assert np.abs(found.counts - [20_000, 4000, 3000]).max() < 5 * found.standard_errors.max()
    assert np.all(found.standard_errors < 0.02 * 40_000)
    again = survey.estimate(batch.to_bytes(), share=0.06)
    assert again.values == found.values and np.array_equal(again.counts, found.counts)
    assert found.shares[0] == pytest.approx(0.5, abs=0.02) and "40000 reports" in repr(found)
    assert repr(found).startswith(f"{{7: {found.counts[0]:.6g} ({found.standard_errors[0]:.3g}), ")
    assert len(survey.estimate(batch, share=0.9)) == 0


def test_a_value_that_most_hold_does_not_hide_or_multiply():
    """All siblings of a prefix that most people share inherit nothing of it."""
    survey = local.PrefixSearch(epsilon=3, length=32)
    values = np.repeat([5, 9], [36_000, 4000])
    found = survey.estimate(survey.encode_many(values, rng=unsafe_seeded(1)), share=0.08)
    assert found.values == (5, 9)


def test_two_values_with_one_beginning_are_told_apart():
    survey = local.PrefixSearch(epsilon=4, length=32)
    step = survey.prefixes.first
    inverse = pow(survey.values.multiplier, -1, 1 << 32)
    places = [(77 << (32 - step)) + 1, (77 << (32 - step)) + 2]
    alike = [place * inverse % (1 << 32) for place in places]
    values = np.repeat(alike, [12_000, 8000])
    found = survey.estimate(survey.encode_many(values, rng=unsafe_seeded(3)), share=0.2)
    assert found.values == tuple(alike)
    assert np.abs(found.counts - [12_000, 8000]).max() < 800


def test_all_that_are_found_for_sure_are_found_however_many_begin_alike():
    survey = local.PrefixSearch(epsilon=12, length=20, people=300_000)
    held = 3_000
    assert survey.error(0.01) < held
    values = [survey.values.find_value(place) for place in range(survey.people // held)]  # one first block
    reports = survey.encode_many(np.repeat(np.array(values), held), rng=unsafe_seeded(3))
    assert set(survey.estimate(reports, share=held / survey.people).values) == set(values)


def test_a_prefix_is_shared_out_but_not_between_those_that_chance_may_have_put_in_order():
    """Two children within two standard deviations have all of it each; what is clear leaves the rest."""
    survey = local.PrefixSearch(epsilon=2, length=48, people=10**6)
    kernel, agreement = survey.prefixes, Agreement.of(survey.prefixes)
    none = np.zeros(0, dtype=np.int64)
    reports = LevelReports(kernel, 1, none, np.zeros((0, kernel.levels), dtype=np.int64))
    descent = Descent(agreement, 10**6, 0.01, 0.01, 10**5, WIDTH, BEAM)
    seen = np.zeros(1 << kernel.width_of(1))
    seen[[5, 9]] = 8200, 7900
    assert descent._pick(10_100.0, seen, reports) == [(False, 9150.0, 5), (False, 9000.0, 9)]
    seen[5] = 20_000
    assert descent._pick(20_000.0, seen, reports) == [(False, 20_000.0, 5)]


def test_the_spread_of_counts_is_as_said():
    """40 runs: the standard deviation is within 40 % of what is told."""
    survey = local.PrefixSearch(epsilon=3, length=24)
    assert survey.prefixes.levels == 2
    values = np.repeat([3, 1000], [6000, 2000])
    rng = unsafe_seeded(8)
    runs = [survey.estimate(survey.encode_many(values, rng=rng), share=0.5) for _ in range(40)]
    seen = np.array([found.counts[0] for found in runs if found.values[0] == 3])
    assert len(seen) == 40
    told = runs[0].standard_errors[0]
    assert 0.6 < seen.std(ddof=1) / told < 1.4
    assert abs(seen.mean() - 6000) < 4 * told / math.sqrt(40)


def test_values_of_all_kinds_are_read_alike():
    strings = BitStrings(24)
    assert strings.find_value(strings.read("oak")) == int.from_bytes(b"oak", "big")
    assert strings.read(b"oak") == strings.read("oak") and strings.read("a") == strings.read("a\0")
    odd = [None, "oaks", -1, 1 << 24, 2.5, True, b"four", object(), "\ud800x"]
    assert {strings.read(value) for value in odd[:-1]} == {0}
    numbers = [0, 5, (1 << 24) - 1, 1 << 24, -3]
    slow = [strings.read(number) for number in numbers]
    for column in (np.array(numbers), pandas.Series(numbers), numbers, np.array(numbers, dtype=object)):
        assert read_column(strings, column).tolist() == slow
    wide = BitStrings(64, salt=9)
    large = np.array([(1 << 64) - 1, 3], dtype=np.uint64)
    assert read_column(wide, large).tolist() == [wide.read(int(each)) for each in large]
    assert all(wide.find_value(wide.read(each)) == each for each in (0, 1, 12345, (1 << 64) - 1))
    assert BitStrings(64, salt=1).multiplier != wide.multiplier


def test_multiplied_values_rarely_begin_alike():
    """At most 2 / 2**10 of all salts make two values share ten bits: four of 2000."""
    for a, b in ((0, 1), (5, 5 + (1 << 20)), (123, 1 << 31)):
        alike = sum(
            (BitStrings(32, salt).read(a) ^ BitStrings(32, salt).read(b)) >> 22 == 0 for salt in range(2000)
        )
        assert alike <= 16


def test_surveys_travel_and_strangers_are_refused():
    survey = local.PrefixSearch(epsilon=F(7, 2), length=40, salt=12)
    device = client.open_survey(survey.survey)
    assert device.kernel == survey.kernel and device.domain == survey.values
    line = device.encode("Leeds").to_json()
    assert survey.estimate([line], share=0.5).people == 1
    with pytest.raises(Refused, match="domain"):
        local.PrefixSearch(epsilon=F(7, 2), length=40).estimate([line], share=0.5)
    for domain in ('{"bits":48.0,"salt":0}', '{"bits":48}', '{"bits":48,"salt":"x"}', "48"):
        with pytest.raises(Refused):
            client.open_survey(f'{{"version":1,"kind":"prefix-search","epsilon":"1","domain":{domain}}}')
    width = survey.kernel.width
    for bad in (b"\xff" * width, b"\0\0" + b"\xff" * (width - 2), b"\0" * (width - 1) + b"\1"):
        header = survey.encode(3).header
        with pytest.raises(Refused, match="no report"):
            survey.estimate([local.SentReport(header, bad)], share=0.5)


@pytest.mark.parametrize(
    ("name", "wrong"),
    [("length", {"length": 65}), ("length", {"length": 0}), ("salt", {"length": 8, "salt": 1 << 64})],
)
def test_a_search_that_is_none_is_refused(name, wrong):
    with pytest.raises(InvalidParameter, match=name):
        local.PrefixSearch(epsilon=1, **wrong)


def test_a_claim_is_made_only_where_there_is_one():
    with pytest.raises(NoBound, match="too few"):
        local.PrefixSearch(epsilon=1, length=48, people=1000).error(0.05)
    survey = local.PrefixSearch(epsilon=2, length=48, people=1_000_000)
    assert 25_000 < survey.error(0.05) < 34_000
    assert survey.error(0.01) > survey.error(0.05)


def test_what_is_found_for_sure_solves_its_inequality():
    agreement = Agreement.of(local.PrefixSearch(epsilon=2, length=48).prefixes)
    enough = agreement.least_mean(10**6, 15_000.0, 40.0)
    assert enough - agreement.stray(10**6, enough, 40.0, 0) == pytest.approx(15_000, rel=1e-9)
    for more in (1.0, 1000.0, 1e5):
        assert enough + more - agreement.stray(10**6, enough + more, 40.0, 0) >= 15_000
    assert WIDTH == 256
