"""Intervals of extremes, correlations and lines cover as often as they say, and tell something."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.audit.empirical import proportion_bounds
from discreet.data import Category, Integer, Row, Schema, Table
from discreet.data.ask import ask, plan_question
from discreet.data.plan.nodes import Policy
from discreet.data.pricing.budget import Budget
from discreet.testing import unsafe_seeded

ALPHA = 1e-9
RUNS = 150
SCHEMA = Schema(
    "t",
    columns=(
        Category("g", values=("a", "b")),
        Integer("x", lower=0, upper=1000, null=0),
        Integer("y", lower=-50, upper=50, null=0),
    ),
    unit=Row(),
    neighbours=dp.AddRemove("row"),
)
PLACES = np.arange(1500)
FRAME = pd.DataFrame(
    {
        "g": np.where(PLACES % 3 == 0, "a", "b"),
        "x": 300 + (7 * PLACES) % 401,
        "y": np.clip(((7 * PLACES) % 401 - 200) // 8 + (13 * PLACES) % 21 - 10, -50, 50),
    }
)


def answers(listed: str, epsilon: int = 2):
    text = f"SELECT {listed} FROM t GROUP BY g"
    policy = Policy(epsilon=Fraction(epsilon), delta=Fraction(0))
    prepared = plan_question(text, schemas=SCHEMA, policy=policy)
    with Table(FRAME, schema=SCHEMA) as table:
        rng = unsafe_seeded(12)
        for _ in range(RUNS):
            yield ask(prepared, source=table._source, rng=rng)


def test_extremes_lie_inside_the_rows_and_near_their_end() -> None:
    """False-alarm rate 1e-9; values aimed at the very end lie beyond it in half of the runs or more."""
    parts = [FRAME[FRAME["g"] == group]["x"] for group in "ab"]
    missed = far = 0
    for answer in answers("MIN(x) AS low, MAX(x) AS high"):
        ends = zip(answer.interval("low", 0.95), answer.interval("high", 0.95), parts, strict=True)
        missed += any(part.min() > low[1] or part.max() < high[0] for low, high, part in ends)
        rows = answer.plan.error("high")
        far += any(
            (part > high).sum() > rows or (part < low).sum() > rows
            for (low, high), part in zip(answer.rows, parts, strict=True)
        )
        assert all(
            low == 0 and high == 1000
            for (low, _), (_, high) in zip(
                answer.interval("low", 0.95), answer.interval("high", 0.95), strict=True
            )
        )
        assert answer.interval("high", 0.99) == ((0, 1000),) * 2
    for failures in (missed, far):
        low, _ = proportion_bounds(failures, RUNS, alpha=ALPHA)
        assert low <= 0.1  # 5 % for either end, and for either error


def test_extremes_aimed_at_the_very_end_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Budget, "aim", lambda _, choice, __: choice.step)
    largest = [FRAME[FRAME["g"] == group]["x"].max() for group in "ab"]
    beyond = sum(
        any(high > most for (high,), most in zip(answer.rows, largest, strict=True))
        for answer in answers("MAX(x) AS high")
    )
    low, _ = proportion_bounds(beyond, RUNS, alpha=ALPHA)
    assert low > 0.1


def test_pairs_cover_all_groups_at_once_and_tell_something() -> None:
    """False-alarm rate 1e-9 a column."""
    calls = {
        "corr": "CORR(x, y)",
        "cov": "COVAR_SAMP(x, y)",
        "slope": "REGR_SLOPE(y, x)",
        "icept": "REGR_INTERCEPT(y, x)",
        "r2": "REGR_R2(y, x)",
    }
    parts = [FRAME[FRAME["g"] == group] for group in "ab"]
    truth = {name: [] for name in calls}
    for part in parts:
        slope, intercept = np.polyfit(part["x"], part["y"], 1)
        correlation = np.corrcoef(part["x"], part["y"])[0, 1]
        exact = (correlation, np.cov(part["x"], part["y"])[0, 1], slope, intercept, correlation**2)
        for name, value in zip(calls, exact, strict=True):
            truth[name].append(value)
    missed, widths = dict.fromkeys(calls, 0), []
    for answer in answers(", ".join(f"{call} AS {name}" for name, call in calls.items()), epsilon=20):
        for name in calls:
            pairs = zip(answer.interval(name, 0.9), truth[name], strict=True)
            missed[name] += not all(low - 1e-9 <= value <= high + 1e-9 for (low, high), value in pairs)
            assert all(
                low <= value <= high
                for (low, high), value in zip(answer.interval(name, 0.9), answer.column(name), strict=True)
            )
        widths.append(max(high - low for low, high in answer.interval("corr", 0.9)))
    for name, failures in missed.items():
        low, _ = proportion_bounds(failures, RUNS, alpha=ALPHA)
        assert low <= 0.1, (name, failures)
    assert np.median(widths) < 0.5
