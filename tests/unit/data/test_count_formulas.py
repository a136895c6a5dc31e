"""What is made of counts lies between its ends wherever its counts lie between theirs."""

import itertools
import math
from fractions import Fraction

import pytest

from discreet.data.count_formulas import QuantilesOf, TimesCount, TimesShare

FORMULAS = {
    "a count": TimesCount(Fraction(1), 0),
    "a negative multiple": TimesCount(Fraction(-5, 2), 0),
    "a share": TimesShare(Fraction(3), 0, 2),
    "a negative share": TimesShare(Fraction(-1, 4), 1, 2),
    "quantiles": QuantilesOf(
        (Fraction(-1), Fraction(3, 2), Fraction(8)),
        (0, 1, 2),
        2,
        (Fraction(0), Fraction(1, 4), Fraction(1, 2), Fraction(1)),
    ),
}


@pytest.mark.parametrize("name", FORMULAS)
def test_every_value_lies_between_the_ends(name):
    formula = FORMULAS[name]
    spans = [(low, high) for low in range(4) for high in range(low, 5)]
    reached = 0
    for ends in itertools.product(spans, spans, spans):
        low, high = zip(*formula.ends(ends.__getitem__), strict=True)
        for counts in itertools.product(*(range(a, b + 1) for a, b in ends)):
            if not counts[0] <= counts[1] <= counts[2]:  # rows up to one value are among those up to the next
                continue
            values = formula.values(counts.__getitem__)
            if None not in values:
                assert all(a <= value <= b for a, value, b in zip(low, values, high, strict=True))
                reached += values in (low, high)
    assert reached > 500


@pytest.mark.parametrize("name", FORMULAS)
def test_without_an_upper_end_of_a_count_there_still_is_what_is_possible(name):
    formula = FORMULAS[name]
    ends = formula.ends(lambda _: (2, math.inf))
    values = formula.values([2, 3, 400].__getitem__)
    assert all(low <= value <= high for (low, high), value in zip(ends, values, strict=True))


def test_nothing_counted_has_no_average_and_no_quantile():
    for name, formula in FORMULAS.items():
        values = formula.values([0, 0, 0].__getitem__)
        assert values == ((0,) if isinstance(formula, TimesCount) else (None,) * len(values)), name


def test_multiples_of_counts_have_a_step():
    assert [formula.step for formula in FORMULAS.values()] == [1, Fraction(5, 2), None, None, None]
    assert [formula.is_whole for formula in FORMULAS.values()] == [True, *[False] * 4]
    assert QuantilesOf((Fraction(1), Fraction(4)), (0, 1), 1, (Fraction(1, 2),)).is_whole
