"""Intervals of quantiles: missed as rarely as stated, in order, and honest about what they promise."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

import discreet as dp
from discreet.data import Category, Decimal, Row, Schema, Table, Text
from discreet.data.ask import plan_question
from discreet.data.plan.measures import Measure
from discreet.data.plan.nodes import Policy
from discreet.data.pricing.answer import Block, Chosen
from discreet.data.pricing.quantiles import QuantileChoices, runs, units_off
from discreet.testing import unsafe_seeded

SPAN = (-2, 9)
HISTOGRAMS = {
    "empty": {},
    "one row": {4: 1},
    "all alike": {4: 60},
    "all lowest": {-2: 60},
    "all highest": {9: 60},
    "two atoms": {0: 30, 7: 30},
    "atom with tails": {v: 40 if v == 3 else 2 for v in range(-2, 10)},
    "even": dict.fromkeys(range(-2, 10), 7),
}
POINTS = (Fraction(0), Fraction(1, 10), Fraction(1, 2), Fraction(2, 3), Fraction(1))
BETA = Fraction(1, 20)


def missed(step: QuantileChoices, histogram: dict[int, int], side: int) -> Fraction:
    """The exact probability that an end leaves some quantile of the data outside."""
    quantiles = [
        v
        for first, last, score in runs(histogram, step.point, step.span)
        for v in range(first, last + 1)
        if score == 0
    ]
    law = [(v, p) for (v,), p in step.law((histogram,))]
    if side < 0:
        return sum((p for v, p in law if v > min(quantiles)), Fraction(0))
    return sum((p for v, p in law if v < max(quantiles)), Fraction(0))


@pytest.mark.parametrize("name", HISTOGRAMS)
@pytest.mark.parametrize("side", [-1, 1])
def test_an_end_misses_as_rarely_as_stated(name: str, side: int) -> None:
    for point in POINTS:
        for rate in (Fraction(1, 10), Fraction(1), Fraction(10)):
            step = QuantileChoices(point, SPAN, rate, Fraction(1))
            aimed = replace(step, shift=side * (units_off(SPAN, rate, BETA) + 1))
            assert missed(aimed, HISTOGRAMS[name], side) <= BETA, (point, rate)


def test_an_end_aimed_closer_would_miss_too_often() -> None:
    """The same check finds out an end that is aimed at the quantile itself, or one row away from it."""
    rate = Fraction(1, 10)
    for shift in (0, 2):
        step = QuantileChoices(Fraction(1, 2), SPAN, rate, Fraction(1), -shift)
        assert missed(step, HISTOGRAMS["even"], -1) > BETA


def test_ends_of_several_quantiles_are_put_in_order() -> None:
    measure, half, most = Measure("histogram"), Fraction(1, 2), Fraction(9, 10)
    chosen = [
        Chosen(half, 0, (5,)),
        Chosen(half, -1, (3,)),
        Chosen(half, 1, (9,)),
        Chosen(most, 0, (4,)),
        Chosen(most, -1, (2,)),
        Chosen(most, 1, (7,)),
    ]
    block = Block(((),), {}, {measure: chosen})
    # The median is at most 7 because the nine tenths are, which are at least 3 because the median is.
    assert block.quantiles(measure, (half, most), 0) == [(3, 4, 7), (3, 5, 7)]
    assert block.quantiles(measure, (most,), 0) == [(3, 5, 7)]
    crossed = [Chosen(half, side, (value,)) for side, value in ((0, 5), (-1, 8), (1, 6))]
    assert Block(((),), {}, {measure: crossed}).quantiles(measure, (half,), 0) == [(5, 5, 6)]


SCHEMA = Schema(
    "t",
    columns=(
        Category("g", values=("a", "b")),
        Decimal("x", lower=0, upper=10, grid=Fraction("0.1")),
        Text("note"),
    ),
    unit=Row(),
    neighbours=dp.AddRemove("row"),
)
FRAME = pd.DataFrame(
    {
        "g": ["a"] * 2000 + ["b"] * 10,
        "x": [i % 101 / 10 for i in range(2000)] + [5.0] * 10,
        "note": ["n"] * 2010,
    }
)


def test_the_interval_of_a_quantile_in_an_answer() -> None:
    text = "SELECT g, MEDIAN(x) AS middle, APPROX_QUANTILES(x, 2) AS parts FROM t GROUP BY g"
    with Table(FRAME, schema=SCHEMA) as table:
        answer = table.sql(text, epsilon=4, delta=0, rng=unsafe_seeded(3))
    (low, high), _ = answer.interval("middle", 0.95)
    assert 3.5 < low <= 5 <= high < 6.5
    assert answer.interval("middle", 0.3) == answer.interval("middle", 0.95)
    # More than was paid for is not promised: the declared range is.
    assert answer.interval("middle", 0.951) == ((0, 10), (0, 10))
    for value, (lows, highs) in zip(answer.column("parts"), answer.interval("parts", 0.9), strict=True):
        assert isinstance(value, tuple) and len(value) == len(lows) == len(highs) == 3
        assert list(lows) == sorted(lows) and list(highs) == sorted(highs)
        assert all(a <= v <= b for a, v, b in zip(lows, value, highs, strict=True))
    assert answer.interval("parts", 0.99)[0] == ((0, 0, 0), (10, 10, 10))
    shown = repr(answer).splitlines()[1]
    assert f"{low:.6g}, {high:.6g}]" in shown and shown.count("[") == 4


def test_half_the_share_is_the_values_and_a_quarter_each_end() -> None:
    policy = Policy(epsilon=Fraction(1), delta=Fraction(0))
    prepared = plan_question("SELECT MEDIAN(x) AS m FROM t", schemas=SCHEMA, policy=policy)
    losses = {choice.side: choice.loss.exact_epsilon() for choice in prepared.budget.choices}
    assert losses == {0: Fraction(1, 2), -1: Fraction(1, 4), 1: Fraction(1, 4)}
    explained = repr(prepared)
    assert "lower end of quantile 0.5 of x: exact choice, epsilon 0.25" in explained
    error = prepared.error("m")
    assert f"off by at most {error:g} rows at 95 %, that of its interval's ends by" in explained


def test_ends_are_aimed_further_off_where_more_of_them_must_hold() -> None:
    policy = Policy(epsilon=Fraction(1), delta=Fraction("1e-3"))
    shifts = []
    for text in (
        "SELECT MEDIAN(x) FROM t",
        "SELECT g, MEDIAN(x) FROM t GROUP BY g",
        "SELECT note, MEDIAN(x), COUNT(*) FROM t GROUP BY note",
    ):
        budget = plan_question(text, schemas=SCHEMA, policy=policy).budget
        choice = next(one for one in budget.choices if one.side == 1)
        # A whole budget's worth of rate, so that only the number of ends matters.
        choice = replace(choice, step=replace(choice.step, rate=Fraction(1, 8)))
        shifts.append([budget.aim(choice, groups).shift for groups in (choice.cells or 1, 50)])
    assert shifts[0][0] < shifts[1][0] < shifts[1][1]
    assert shifts[2][0] == shifts[0][0] and shifts[2][1] == shifts[0][1]
    assert budget.aim(replace(choice, side=-1), 50).shift == -shifts[2][1]
    assert budget.aim(replace(choice, side=0), 50).shift == 0
