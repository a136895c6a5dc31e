"""Memoised unary encoding: exact tables of a report, of several and of the memo; what a device keeps."""

import itertools
import json
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.local.frequencies.test_oracles import at_most_exp
from tests.unit.local.test_client import WITHOUT, walk

from discreet import audit, local
from discreet.audit.museum.local import EXHIBITS
from discreet.core.errors import InvalidParameter, Refused
from discreet.local import client
from discreet.local.laws.memos import MemoKernel
from discreet.local.laws.responses.unary import UnaryKernel
from discreet.testing import unsafe_seeded

F = Fraction
BUDGETS = [(2, F(1), F(1, 2)), (3, F(3), F(1)), (2, F(5), F(1, 10)), (3, F(2), F(19, 10))]
every_budget = pytest.mark.parametrize(("size", "epsilon", "once"), BUDGETS)


def worst(tables):
    return max(a[seen] / b[seen] for a, b in itertools.permutations(tables, 2) for seen in a)


def compose(kernel, value, reports):
    """The law of several reports from one memo, summed over all memos."""
    law = Counter()
    for memo, chance in kernel.kept.law(value):
        turns = list(kernel.list_turns(memo))
        for drawn in itertools.product(turns, repeat=reports):
            law[tuple(report for report, _ in drawn)] += chance * math.prod(p for _, p in drawn)
    return law


@every_budget
def test_one_report_has_the_whole_table_of_its_own_budget(size, epsilon, once):
    kernel = MemoKernel.make(size, epsilon, once)
    tables = [compose(kernel, value, 1) for value in range(size)]
    plain = UnaryKernel.optimised(size, once)
    for value, table in enumerate(tables):
        assert {(report,): p for report, p in kernel.law(value)} == table
        assert {(report,): p for report, p in plain.law(value)} == table
    assert worst(tables) == kernel.ratio == kernel.ratio_after(1) == plain.ratio
    assert at_most_exp(kernel.ratio, once) and 0 < kernel.flip < F(1, 2)


@every_budget
def test_all_reports_for_ever_cost_no_more_than_the_memo(size, epsilon, once):
    kernel = MemoKernel.make(size, epsilon, once)
    memos = [dict(kernel.kept.law(value)) for value in range(size)]
    assert worst(memos) == kernel.kept.ratio and at_most_exp(kernel.kept.ratio, epsilon)
    after = [kernel.ratio_after(days) for days in (1, 2, 3, 10, 100, 1000)]
    assert after == sorted(after) and after[-1] <= kernel.kept.ratio
    if once >= 1:
        assert after[-1] > kernel.kept.ratio * F(999, 1000), "in the long run nothing else hides the memo"


@pytest.mark.parametrize(("size", "reports"), [(2, 2), (2, 3), (3, 2)])
def test_several_reports_have_the_price_that_is_said(size, reports):
    survey = local.MemoisedUnary(epsilon=3, once=1, domain=size)
    kernel = survey.memos
    ratio = worst([compose(kernel, value, reports) for value in range(size)])
    assert ratio == kernel.ratio_after(reports)
    told = survey.loss_after(reports).value
    assert at_most_exp(ratio, told) and not at_most_exp(ratio, told - F(1, 10**12))


def test_prices_end_at_both_budgets():
    survey = local.MemoisedUnary(epsilon=5, once=1, domain=4)
    assert 1.9 < survey.loss_after(2).value < 2
    assert survey.loss_after(1).value == 1 and survey.loss_after(10**9).value == 5
    assert local.MemoisedUnary(epsilon=1000, once=900, domain=2).loss_after(2).value == 1000


@every_budget
def test_a_device_draws_memos_and_reports_from_the_tables(size, epsilon, once):
    survey = local.MemoisedUnary(epsilon=epsilon, once=once, domain=size)
    device = client.open_survey(survey.survey)
    assert device.kernel == survey.kernel and device.header == survey.header
    kernel = survey.memos
    for value in range(size):
        law = walk(lambda below, value=value: device.memoise(value, below=below).kept)
        assert {memo: p for memo, p in law.items() if p} == dict(kernel.kept.law(value))
        law = walk(lambda below, value=value: kernel.draw(value, below))
        assert {report: p for report, p in law.items() if p} == dict(kernel.law(value))
    memo = device.memoise(0)
    law = walk(lambda below: memo.encode(below=below).code)
    assert {report: p for report, p in law.items() if p} == dict(kernel.list_turns(memo.kept))


def test_a_memo_is_kept_as_text_and_read_by_the_same_survey_alone():
    survey = local.MemoisedUnary(epsilon=2, once=1, domain=["bus", "car", "foot"])
    device = client.open_survey(survey.survey)
    memo = device.memoise("car")
    assert device.read_memo(memo.to_json()) == memo
    assert hex(memo.kept) not in repr(memo) and "for ever" in repr(memo)
    assert survey.estimate([memo.encode().to_json(), survey.memoise("bus").encode()]).people == 2
    other = client.open_survey(
        local.MemoisedUnary(epsilon=2, once=F(1, 2), domain=["bus", "car", "foot"]).survey
    )
    written = json.loads(memo.to_json())
    odd = [json.dumps({**written, "memo": text}) for text in ("", "  ", "zz", "0", "0000", "ff", 3)]
    for reader, text in [
        (other, memo.to_json()),
        (device, memo.encode().to_json()),
        *((device, x) for x in odd),
    ]:
        with pytest.raises(Refused):
            reader.read_memo(text)
    with pytest.raises(Refused):
        survey.estimate([memo.to_json()])
    with pytest.raises(Refused, match="without a memo"):
        client.open_survey(local.SymmetricUnary(epsilon=1, domain=3).survey).memoise(1)


def test_whoever_would_report_from_the_value_each_time_is_refused():
    survey = local.MemoisedUnary(epsilon=2, once=1, domain=3)
    device = client.open_survey(survey.survey)
    for encode in (survey.encode, device.encode):
        with pytest.raises(Refused, match="memoise"):
            encode(1)
    with pytest.raises(
        Refused, match=r"memoise_many\(values\) once, keep the memos, and call their encode_many"
    ):
        survey.encode_many([1, 2])


def test_a_device_needs_no_array_library():
    survey = local.MemoisedUnary(epsilon=2, once=1, domain=["bus", "car", "foot"])
    program = WITHOUT.replace('.encode("car")', '.memoise("car").encode()')
    assert program != WITHOUT
    done = subprocess.run(
        [sys.executable, "-c", program], input=survey.survey, text=True, capture_output=True, check=True
    )
    assert survey.estimate([done.stdout.strip()]).people == 1


def test_memos_of_a_column_stay_and_reports_do_not():
    survey, rng = local.MemoisedUnary(epsilon=4, once=2, domain=20), unsafe_seeded(4)
    values = np.minimum(np.arange(6000) % 40, 19)
    truth = np.bincount(values, minlength=20)
    memos = survey.memoise_many(values, rng=rng)
    days = [memos.encode_many(rng=rng) for _ in range(3)]
    for day in days:
        found = survey.estimate(day)
        assert np.abs(found.counts - truth).max() <= found.error(1e-6)
        assert found.people == len(memos) and found.oracle.once == 2
        turned = np.bitwise_count(day.payload ^ memos.kept).sum() / (6000 * 20)
        assert turned == pytest.approx(float(survey.memos.flip), abs=0.006)  # five standard deviations
    assert (days[0].payload != days[1].payload).any()
    assert not memos.kept.flags.writeable and "UNSAFE" in repr(memos) and "for ever" in repr(memos)
    assert local.OptimisedUnary(epsilon=2, domain=20).mean_square == pytest.approx(survey.mean_square)


def test_the_predicted_mean_square_is_the_seen_one():
    """60 runs of 40 values: relative deviation of the mean about 3 %; 12 % is four of them."""
    oracle = local.MemoisedUnary(epsilon=3, once=F(3, 2), domain=40, people=2000)
    values, rng = np.minimum(np.arange(2000) % 100, 39), unsafe_seeded(3)
    truth = np.bincount(values, minlength=40)
    seen = []
    for _ in range(60):
        memos = oracle.memoise_many(values, rng=rng)
        memos.encode_many(rng=rng)
        seen.append(((oracle.estimate(memos.encode_many(rng=rng)).counts - truth) ** 2).mean())
    assert np.mean(seen) == pytest.approx(oracle.mean_square, rel=0.12)


@pytest.mark.parametrize("once", [0, -1, 2, 3])
def test_one_report_costs_less_than_all(once):
    with pytest.raises(InvalidParameter, match="once"):
        local.MemoisedUnary(epsilon=2, once=once, domain=3)


@pytest.mark.parametrize(
    "domain", ['{"values":3,"once":"2"}', '{"values":3,"once":"1","more":1}', '{"values":3,"once":1}', "3"]
)
def test_a_survey_with_another_price_is_refused(domain):
    with pytest.raises(Refused):
        client.open_survey(f'{{"version":1,"kind":"memoised-unary","epsilon":"2","domain":{domain}}}')


def test_the_format_of_version_one_stays_as_it_is():
    survey = local.MemoisedUnary(epsilon=2, once=F(1, 2), domain=["bus", "car", "foot"])
    assert survey.survey == (
        '{"domain":{"once":"1/2","values":["bus","car","foot"]},"epsilon":"2",'
        '"kind":"memoised-unary","version":1}'
    )
    assert survey.header.domain == "d7d0a45834849e1b"


def test_the_museum_keeps_what_draws_anew_each_day():
    (exhibit,) = (each for each in EXHIBITS if each.name == "report-fresh-every-day")
    assert not audit.exact(exhibit.broken().mechanism, exhibit.broken().pairs).holds


def test_an_error_is_bought_with_the_price_of_one_report():
    given = {"alpha": 60, "beta": F(1, 20), "domain": 8, "people": 400}
    bought = local.MemoisedUnary.for_error(epsilon=4, **given)
    assert bought.error(F(1, 20)) <= 60 and bought.epsilon == 4
    cheaper = local.MemoisedUnary(epsilon=4, once=bought.once * F(99, 100), domain=8, people=400)
    assert cheaper.error(F(1, 20)) > 60
    with pytest.raises(InvalidParameter, match="once"):
        local.MemoisedUnary.for_error(epsilon=F(1, 2), **given)
