"""Whatever is asked and whatever the data are: one reply a question, sound intervals, bounded scores."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from itertools import product
from typing import Any

import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import discreet as dp
from discreet.core.errors import DiscreetError
from discreet.data import Boolean, Category, Decimal, Identifier, Integer, Schema, Table, Text, User
from discreet.data.answer import Answer
from discreet.data.budget import coarsened
from discreet.data.estimates import enclosure, estimate
from discreet.data.plan import Aggregate
from discreet.data.plan_facts import Measure, Sensitivity
from discreet.data.quantiles import runs, spread_per_row
from discreet.testing import unsafe_seeded

ROWS = 60
SCHEMA = Schema(
    "t",
    columns=(
        Identifier("who"),
        Category("g", values=("a", "b")),
        Integer("x", lower=-5, upper=20),
        Decimal("y", lower=0, upper=1, grid=Fraction("0.1"), null=0),
        Boolean("flag"),
        Text("note"),
    ),
    unit=User(column="who", max_rows=2, max_groups=2),
    neighbours=dp.AddRemove("who"),
)


def frames() -> dict[str, pd.DataFrame]:
    normal = pd.DataFrame(
        {
            "who": [f"canary-user-{i}" for i in range(ROWS)],
            "g": [("a", "b", "canary-g")[i % 3] for i in range(ROWS)],
            "x": [float(i % 26 - 5) for i in range(ROWS)],
            "y": [(i % 11) / 10 for i in range(ROWS)],
            "flag": [bool(i % 2) for i in range(ROWS)],
            "note": [f"canary-note-{i}" for i in range(ROWS)],
        }
    )
    missing = normal.copy()
    for name in ("who", "g", "flag", "note"):
        missing[name] = pd.Series([None] * ROWS, dtype=object)
    missing["x"] = missing["y"] = math.nan
    zero = normal.assign(x=0.0, y=0.0, flag=False, note="", who="")
    odd = (math.inf, -math.inf, math.nan, 1.8e308, 5e-324, -0.0)
    extremes = normal.assign(
        x=[odd[i % 6] for i in range(ROWS)], y=[odd[(i + 1) % 6] for i in range(ROWS)], g="canary-g"
    )
    return {"normal": normal, "missing": missing, "zero": zero, "extremes": extremes}


@pytest.fixture(scope="module")
def tables() -> Iterator[dict[str, Table]]:
    opened = {name: Table(frame, schema=SCHEMA) for name, frame in frames().items()}
    yield opened
    for table in opened.values():
        table.close()


AGGREGATES = (
    "COUNT(*)",
    "COUNT(x)",
    "COUNT(DISTINCT who)",
    "SUM(x)",
    "SUM(2 * x - y)",
    "SUM(x * x * y)",
    "AVG(y)",
    "VARIANCE(x)",
    "STDDEV_POP(x - y)",
    "MEDIAN(x)",
    "QUANTILE(y, 0.99)",
    "APPROX_QUANTILES(x, 3)",
    "SUM(x, contribution_bounds_per_group => (0, 3))",
    "AVG(x, contribution_bounds_per_row => (0, 3))",
    # Not of the language, or only of some schema: refused alike on all data.
    "MAX(x)",
    "SUM(note)",
    "AVG(1 / x)",
    "list(note)",
    "COUNT(DISTINCT x)",
    "SUM(CAST(note AS INT))",
    "error('x')",
)
CONDITIONS = (
    "x > 3",
    "NOT x > 3",
    "x * x <= y + 5",
    "g = 'a'",
    "g IN ('a', 'zzz')",
    "g LIKE '%b'",
    "flag",
    "y IS NULL",
    "x IS NOT NULL",
    "1 = 0",
    "x BETWEEN -2 AND 1e3",
    "who = 'canary-user-1'",
    "note = 'canary-note-1'",
    "x / 0 > 1",
)
GROUPS = ("", "g", "flag, g", "CUBE(g, flag)", "ROLLUP(g, note)", "note", "x", "who", "y, flag")


@st.composite
def queries(draw: st.DrawFn) -> str:
    calls = draw(st.lists(st.sampled_from(AGGREGATES), min_size=1, max_size=3))
    tests = draw(st.lists(st.sampled_from(CONDITIONS), max_size=2))
    group = draw(st.sampled_from(GROUPS))
    keys = [
        key
        for key in ("g", "flag", "note", "x", "y")
        if key in group.replace("(", ",").replace(")", ",").replace(" ", "").split(",")
    ]
    text = f"SELECT {', '.join([*keys, *calls])} FROM t"
    text += f" WHERE {draw(st.sampled_from((' AND ', ' OR '))).join(tests)}" if tests else ""
    return text + (f" GROUP BY {group}" if group else "")


def reply(table: Table, text: str, delta: Fraction) -> tuple[Any, ...]:
    """What an analyst sees, but for the noisy numbers."""
    try:
        answer = table.sql(text, epsilon=1, delta=delta, rng=unsafe_seeded(7))
    except DiscreetError as problem:
        assert "canary" not in str(problem).replace(text, "") or "canary" in text
        return type(problem).__name__, str(problem)
    said = repr(answer) + answer._repr_html_() + repr(answer.explanation)
    assert "canary" not in said
    keys = [i for i, output in enumerate(answer.outputs) if not isinstance(output.what, Aggregate)]
    shape = tuple(
        tuple(row[i] if i in keys else _kind(row[i]) for i in range(len(row))) for row in answer.rows
    )
    _check_intervals(answer)
    # A text that all rows share is shown, as it should be; one that nobody shares is not.
    declared = tuple(row for row in shape if "" not in row)
    return "answer", answer.columns, repr(answer.explanation), answer.guarantee, declared


def _kind(cell: Any) -> Any:
    return tuple(map(_kind, cell)) if isinstance(cell, tuple) else type(cell).__name__


def _check_intervals(answer: Answer) -> None:
    for output in answer.outputs:
        if isinstance(output.what, Aggregate):
            for low, high in answer.interval(output.name, 0.95):
                assert math.isfinite(low) and math.isfinite(high) and low <= high


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=queries(), delta=st.sampled_from([Fraction(0), Fraction("1e-6")]))
def test_one_question_one_reply_on_all_data(tables: dict[str, Table], text: str, delta: Fraction) -> None:
    replies = {reply(table, text, delta) for table in tables.values()}
    assert len(replies) == 1, replies


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
    stated = Sensitivity(len(gaps), max(gaps, default=0), sum(gaps), sum(g * g for g in gaps))
    dropped, coarse = coarsened(stated)
    after = [abs((a + m >> dropped) - (a >> dropped)) for a, m in zip(left, moves, strict=True)]
    assert max(after) <= coarse.linf
    assert sum(after) <= coarse.l1
    assert sum(a * a for a in after) <= coarse.l2_squared


@pytest.mark.parametrize("point", [Fraction(0), Fraction(1, 5), Fraction(1, 2), Fraction(2, 3), Fraction(1)])
def test_one_row_moves_quantile_scores_as_stated_and_no_less(point: Fraction) -> None:
    """Brute force over all histograms of up to three rows a value, and every row that could come."""
    span, widest = (0, 3), 0
    for counts in product(range(3), repeat=4):
        before = _scores(dict(enumerate(counts)), point, span)
        for new in range(4):
            after = _scores({v: c + (v == new) for v, c in enumerate(counts)}, point, span)
            moved = [b - a for a, b in zip(before, after, strict=True)]
            assert max(map(abs, moved)) <= spread_per_row(point) // 2
            widest = max(widest, max(moved) - min(moved))
    assert widest <= spread_per_row(point)
    if 0 < point < 1:
        assert widest == spread_per_row(point)


def _scores(histogram: dict[int, int], point: Fraction, span: tuple[int, int]) -> list[int]:
    given = {v: count for v, count in histogram.items() if count}
    return [score for first, last, score in runs(given, point, span) for _ in range(first, last + 1)]
