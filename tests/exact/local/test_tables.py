"""Tables of local randomizers written anew from their descriptions, in fractions, beside the shipped ones."""

import itertools
import math
from fractions import Fraction

import pytest
from mpmath import mp, mpf

from discreet import local
from discreet.queries import TableQuery, Universe

F = Fraction
BITS = Universe([(name, (0, 1)) for name in "abc"])
budgets = pytest.mark.parametrize("epsilon", [F(1, 3), F(1), F(7, 2)], ids=float)


def odds(epsilon):
    """The largest multiple of 2**-40 below e**epsilon."""
    with mp.workprec(200):
        return F(int(mp.exp(mpf(epsilon.numerator) / epsilon.denominator) * 2**40), 2**40)


@budgets
def test_statistical_queries(epsilon):
    r, weights = odds(epsilon), [0, F(1, 4), F(1, 2), 1, 1, 0, F(3, 4), 0]
    query = TableQuery(BITS, (0, 1, 2), "a function", table=[float(weight) for weight in weights])
    survey = local.StatisticalQuery(epsilon=epsilon, query=query)
    for record, weight in zip(BITS.records(), weights, strict=True):
        one = (1 + weight * (r - 1)) / (r + 1)
        assert dict(survey.kernel.law(survey.values.read(record))) == {0: 1 - one, 1: one}


@budgets
@pytest.mark.parametrize("width", [1, 2, 3])
def test_parities(epsilon, width):
    r, survey = odds(epsilon), local.FourierMarginals(epsilon=epsilon, universe=BITS, width=width)
    sets = [chosen for size in range(1, width + 1) for chosen in itertools.combinations(range(3), size)]
    for record in BITS.records():
        table = {}
        for place, chosen in enumerate(sets):
            odd = sum(record[each] for each in chosen) % 2
            table[2 * place + odd] = r / (r + 1) / len(sets)
            table[2 * place + 1 - odd] = 1 / (r + 1) / len(sets)
        assert dict(survey.kernel.law(survey.values.read(record))) == table


@budgets
def test_square_waves(epsilon):
    r, steps = odds(epsilon), 6
    survey = local.SquareWave(epsilon=epsilon, lower=0, upper=steps, steps=steps)
    window = max(1, round((epsilon * r - r + 1) / (r * (r - 1 - epsilon)) * steps))
    total = steps + window + (r - 1) * window
    for number in range(steps + 1):
        table = {
            report: (r if number <= report < number + window else 1) / total
            for report in range(steps + window)
        }
        assert dict(survey.kernel.law(survey.values.read(number))) == table


@budgets
def test_coordinates(epsilon):
    """From the law of one number, which has a test of its own."""
    survey = local.ManyMeans(epsilon=epsilon, lower=0, upper=2, steps=2, dimensions=3)
    part = local.HybridMean(epsilon=epsilon / survey.sampled, lower=0, upper=2, steps=2).kernel
    assert survey.sampled == (2 if epsilon > 2 else 1) and part.size <= 256 // 3
    for vector in itertools.product((0, 1, 2), repeat=3):
        table = {}
        for chosen in itertools.combinations(range(3), survey.sampled):
            for drawn in itertools.product(*(list(part.law(vector[each])) for each in chosen)):
                entries = [each * part.size + code for each, (code, _) in zip(chosen, drawn, strict=True)]
                report = sum(entry << 8 * place for place, entry in enumerate(entries))
                table[report] = math.prod((p for _, p in drawn), start=F(1, math.comb(3, survey.sampled)))
        assert dict(survey.kernel.law(survey.values.read(vector))) == table
