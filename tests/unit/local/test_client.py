"""A device and the collector draw from one table, and a device needs no array library."""

import subprocess
import sys
from collections import Counter
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy import stats
from tests.unit.local.test_oracles import ORACLES

from discreet.local import client
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
