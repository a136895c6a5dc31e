"""A device and the collector draw from one table, and a device needs no array library."""

import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import count, product

import numpy as np
import pytest
from scipy import stats
from tests.unit.local.frequencies.test_oracles import ORACLES

from discreet import local
from discreet.core.errors import InvalidParameter
from discreet.local import client
from discreet.queries import TableQuery, Universe
from discreet.testing import unsafe_seeded

F = Fraction
SIZES = [(2, F(1)), (4, F(1, 2)), (5, F(2)), (3, F(4))]
WITHOUT = """
import sys
class Block:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("numpy", "scipy"):
            raise ImportError(name)
sys.meta_path.insert(0, Block())
from discreet.local import client
for line in sys.stdin:
    print(client.open_survey(line).encode("car").to_json())
assert "numpy" not in sys.modules
"""


def walk(draw):
    """Return the exact law of a program that draws whole numbers below bounds, by walking all of its ways.

    Draws of one bound and then the next are the levels of a tree; bounds far above a few hundred are compared
    with one threshold alone by every table, which is found by bisection, so that few ways are walked.
    """
    law = Counter()
    ways = [((), F(1))]
    while ways:
        chosen, chance = ways.pop()
        given = iter(chosen)
        asked = []

        def below(bound, given=given, asked=asked):
            try:
                return next(given)
            except StopIteration:
                asked.append(bound)
                raise Asked from None

        try:
            law[draw(below)] += chance
        except Asked:
            (bound,) = asked
            ways += [
                ((*chosen, pick), chance * F(count, bound)) for pick, count in picks(draw, chosen, bound)
            ]
    return law


class Asked(Exception):
    """The program wants one more number."""


def picks(draw, chosen, bound):
    """Return numbers below a bound, each with how many numbers lead the same way."""
    if bound <= 64:
        return [(pick, 1) for pick in range(bound)]
    seen = {}

    def branch(number):
        if number not in seen:
            seen[number] = trace(draw, (*chosen, number))
        return seen[number]

    low, high = 0, bound - 1  # one threshold: the first numbers lead one way, the others another
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if branch(middle) == branch(0) else (low, middle)
    return [(0, low), (bound - 1, bound - low)]


def trace(draw, chosen):
    """Return what follows after these numbers: the next bounds, all further numbers being 0 and then 1."""
    found = []
    for rest in (0, 1):
        given, asked = iter(chosen), []

        def below(bound, given=given, asked=asked, rest=rest):
            pick = next(given, None)
            if pick is None:
                asked.append(bound)
                return min(rest, bound - 1)
            return pick

        found.append((draw(below), tuple(asked)))
    return tuple(found)


@pytest.mark.parametrize("kind", ORACLES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("size", "epsilon"), [(2, F(1)), (3, F(1, 2)), (4, F(2))])
def test_what_a_device_draws_is_the_table_exactly(kind, size, epsilon):
    oracle = kind(epsilon=epsilon, domain=size)
    device = client.open_survey(oracle.survey)
    assert device.kernel == oracle.kernel
    for value in range(size):
        law = walk(lambda below, value=value: device.encode(value, below=below).code)
        assert {report: p for report, p in law.items() if p} == dict(oracle.kernel.law(value))


@pytest.mark.parametrize("kind", ORACLES, ids=lambda kind: kind.__name__)
@pytest.mark.parametrize(("size", "epsilon"), SIZES)
def test_a_device_and_the_collector_draw_from_one_law(kind, size, epsilon):
    """Chi-square of both against the table; a fresh seed fails with probability below 1e-6 a case."""
    oracle = kind(epsilon=epsilon, domain=size)
    device, rng = client.open_survey(oracle.survey), unsafe_seeded(9)
    value, draws = size - 1, 4000

    def below(bound):
        bits = (bound - 1).bit_length()
        while (drawn := rng.bits(bits) if bits else 0) >= bound:
            pass
        return drawn

    alone = Counter(device.encode(value, below=below).code for _ in range(draws))
    batch = oracle.encode_many(np.full(draws, value), rng=rng)
    together = Counter(report.code for report in batch)
    table = dict(oracle.kernel.law(value))
    for seen in (alone, together):
        assert set(seen) <= set(table)
        reports = [report for report, p in table.items() if p * draws >= 5]
        expected = np.array([float(table[report]) * draws for report in reports])
        counts = np.array([seen[report] for report in reports])
        rest = draws - expected.sum()
        square = float(((counts - expected) ** 2 / expected).sum())
        freedom = len(reports) - (rest < 1e-6)
        assert stats.chi2.sf(square, freedom) > 1e-6


def test_a_device_answers_about_records_and_vectors_without_one_too():
    habits = Universe([("smokes", ("no", "car")), ("ill", (0, 1))])
    ill = TableQuery(habits, (1,), "ill", table=[0, 0.5])
    surveys = [
        local.StatisticalQuery(epsilon=1, query=ill),
        local.FourierMarginals(epsilon=1, universe=habits, width=2),
        local.SquareWave(epsilon=1, lower=0, upper=1),
        local.ManyMeans(epsilon=1, lower=0, upper=1, dimensions=3),
    ]
    sent = "\n".join(survey.survey for survey in surveys)
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], input=sent, text=True, capture_output=True, check=True
    )
    for survey, line in zip(surveys, done.stdout.splitlines(), strict=True):
        assert len(survey.read_reports([line])) == 1


@pytest.mark.parametrize("kind", ORACLES)
def test_a_number_or_text_of_an_array_is_the_plain_one_on_a_device_too(kind):
    # They counted as the first value and as the middle of the range, without a word.
    for domain, values in (["bus", "car"], np.array(["car"])), (3, np.array([2])):
        device = client.open_survey(kind(epsilon=5, domain=domain).survey)

        def send(value, device=device):
            lots = (pow(3, 1000 * lot, 2**127 - 1) for lot in count(1))  # the same for each value
            return [device.encode(value, below=lambda bound: next(lots) % bound).payload for _ in range(30)]

        assert send(values[0]) == send(values[0].item()) != send(None)


def test_a_devices_mean_of_numbers_of_an_array_is_theirs():
    mean = local.HybridMean(epsilon=8, lower=0, upper=120)
    device = client.open_survey(mean.survey)
    for exact in np.float64(12), np.float32(12), np.int64(12):
        found = mean.estimate([device.encode(exact) for _ in range(200)])
        assert abs(found.value - 12) < 20  # the middle is 60; six standard errors and more


def test_a_device_needs_no_array_library():
    oracles = [
        kind(epsilon=F(1, 3), domain=names)
        for kind, names in product(ORACLES, (["bus", "car", "foot"], [1, "car"]))
    ]
    surveys = [oracle.survey for oracle in oracles]
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT], input="\n".join(surveys), text=True, capture_output=True, check=True
    )
    lines = done.stdout.splitlines()
    assert [oracle.estimate([line]).people for oracle, line in zip(oracles, lines, strict=True)] == [1] * 14


@pytest.mark.parametrize("kind", ["direct-response", "symmetric-unary", "projective-response"])
def test_a_survey_of_an_endless_budget_costs_a_device_no_endless_time(kind):
    text = f'{{"version":1,"kind":"{kind}","epsilon":"{10**59}","domain":5}}'
    device = client.open_survey(text)
    assert 1000 < device.kernel.ratio.numerator.bit_length() < 4000
    assert device.encode(3).payload  # it took more than an hour, or raised


@pytest.mark.parametrize("kind", ["symmetric-unary", "optimised-unary", "subset-selection", "memoised-unary"])
@pytest.mark.parametrize("values", [(1 << 20) + 1, 1 << 48])
def test_a_survey_of_endlessly_many_bits_costs_a_device_no_endless_time(kind, values):
    """A device that was sent one tossed a coin for each of 2**48 values."""
    domain = f'{{"values":{values},"once":"1/2"}}' if kind == "memoised-unary" else values
    device = client.open_survey(f'{{"version":1,"kind":"{kind}","epsilon":"1","domain":{domain}}}')
    for answer in (device.encode, device.memoise):
        with pytest.raises(InvalidParameter, match="small enough for a report of 1048576"):
            answer(3)


def test_the_shares_of_a_huge_budget_are_numbers():
    survey = local.SquareWave(epsilon=5000, lower=0, upper=10, steps=10)
    assert abs(survey.estimate(survey.encode_many([3] * 100)).shares.sum() - 1) < 1e-6
