"""Whatever the data are: sound intervals, sensitivities that survive rounding, bounded scores."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import AddRemove
from discreet.data import Boolean, Integer, Row, Schema, Table
from discreet.data.ask import ask, plan_question
from discreet.data.plan.facts import VectorSensitivity
from discreet.data.plan.measures import Measure
from discreet.data.plan.nodes import Policy
from discreet.data.pricing.budget import coarsen
from discreet.data.pricing.estimates import enclosure, estimate
from discreet.data.pricing.quantiles import runs, spread_per_row
from discreet.testing import unsafe_seeded

VALUES = st.lists(st.integers(-4, 10), max_size=8)


@settings(max_examples=300, deadline=None)
@given(
    values=VALUES,
    errors=st.tuples(*[st.tuples(st.integers(0, 20), st.integers(0, 20))] * 3),
    centre=st.integers(-4, 10),
)
def test_intervals_hold_the_truth_wherever_it_is_in_the_box(
    values: list[int], errors: tuple[tuple[int, int], ...], centre: int
) -> None:
    moved = [v - centre for v in values]
    exact = (sum(m * m for m in moved), sum(moved), len(moved))
    box = [(e - below, e + above) for e, (below, above) in zip(exact, errors, strict=True)]
    unit = Fraction(1, 2)
    squares, total = (Measure(kind, None, unit, (-4, 10), centre) for kind in ("squares", "sum"))
    counted = Measure("rows")
    n, half = len(values), 0.5
    if n:
        mean = sum(values) / n
        low, high = enclosure("average", [total, counted], box[1:])
        assert low - 1e-12 <= mean * half <= high + 1e-12
        spread = sum((v - mean) ** 2 for v in values)
        for kind, divisor in (("pop", n), ("samp", n - 1)):
            if divisor:
                truth = spread / divisor * half**2
                low, high = enclosure(f"variance_{kind}", [squares, total, counted], box)
                assert low - 1e-9 <= truth <= high + 1e-9
                low, high = enclosure(f"deviation_{kind}", [squares, total, counted], box)
                assert low - 1e-6 <= math.sqrt(truth) <= high + 1e-6
                found = estimate(f"variance_{kind}", [squares, total, counted], [Fraction(e) for e in exact])
                assert found == pytest.approx(truth, abs=1e-9)


@settings(max_examples=300, deadline=None)
@given(
    left=st.lists(st.integers(-(1 << 60), 1 << 60), min_size=4, max_size=4),
    moves=st.lists(st.integers(-(1 << 40), 1 << 40) | st.just(0), min_size=4, max_size=4),
)
def test_dropping_digits_moves_no_further_than_stated(left: list[int], moves: list[int]) -> None:
    gaps = [abs(m) for m in moves if m]
    stated = VectorSensitivity(len(gaps), max(gaps, default=0), sum(gaps), sum(g * g for g in gaps))
    dropped, coarse = coarsen(stated)
    after = [abs((a + m >> dropped) - (a >> dropped)) for a, m in zip(left, moves, strict=True)]
    assert max(after) <= coarse.linf
    assert sum(after) <= coarse.l1
    assert sum(a * a for a in after) <= coarse.l2_squared


@pytest.mark.parametrize("shift", [0, -3, 4])
@pytest.mark.parametrize("point", [Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(2, 3), Fraction(1)])
def test_one_row_moves_quantile_scores_as_stated_and_no_less(point: Fraction, shift: int) -> None:
    """Brute force over all histograms of up to three rows a value, and every row that could come."""
    span, widest = (0, 3), 0
    for counts in product(range(3), repeat=4):
        before = _scores(dict(enumerate(counts)), point, span, shift)
        assert max(before) == 0
        for new in range(4):
            after = _scores({v: c + (v == new) for v, c in enumerate(counts)}, point, span, shift)
            moved = [b - a for a, b in zip(before, after, strict=True)]
            assert max(map(abs, moved)) <= spread_per_row(point) // 2
            widest = max(widest, max(moved) - min(moved))
    assert widest <= spread_per_row(point)
    if 0 < point < 1 and not shift:
        assert widest == spread_per_row(point)


def _scores(histogram: dict[int, int], point: Fraction, span: tuple[int, int], shift: int) -> list[int]:
    given = {v: count for v, count in histogram.items() if count}
    return [score for first, last, score in runs(given, point, span, shift) for _ in range(first, last + 1)]


@pytest.mark.parametrize("rare", [3, 0, 400])
def test_ratios_hold_where_the_denominator_may_be_nothing(rare: int) -> None:
    """A few rows below a sum, with noise of about 10: intervals of ratios hold 95 times in 100."""
    declared = Schema(
        "t",
        columns=(Integer("x", lower=0, upper=9), Boolean("rare")),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    rows = [(i % 10, i < rare) for i in range(600)]
    total, count = sum(x for x, _ in rows), rare
    text = "SELECT SUM(x) / COUNTIF(rare) AS r, COUNTIF(rare) / COUNT(*) AS s FROM t"
    policy = Policy(epsilon=Fraction(1, 2), delta=Fraction(0))
    prepared = plan_question(text, schemas=declared, policy=policy)
    misses, finite, tries = 0, 0, 40
    with Table(pd.DataFrame(rows, columns=["x", "rare"]), schema=declared) as table:
        for seed in range(tries):
            answer = ask(prepared, source=table._source, rng=unsafe_seeded(seed))
            ((low, high),) = answer.interval("r", 0.95)
            misses += count > 0 and (low is None or not low <= Fraction(total, count) <= high)
            finite += low is not None and high - low < 20
            ((low, high),) = answer.interval("s", 0.95)
            misses += not low <= Fraction(count, len(rows)) <= high
    assert misses <= 0.05 * 2 * tries
    assert finite == (tries if rare == 400 else 0), "a ratio says how much it says"
