"""Intervals cover as often as they say, and groups of one user appear as rarely as delta says."""

from __future__ import annotations

import math
from fractions import Fraction

import pandas as pd
import pytest

import discreet as dp
from discreet.audit.empirical import proportion_bounds
from discreet.data import Category, Identifier, Integer, Row, Schema, Table, Text, User
from discreet.data.ask import ask, plan_question
from discreet.data.plan.nodes import Policy
from discreet.data.pricing.thresholds import KeysAbove
from discreet.testing import unsafe_seeded

ALPHA = 1e-9
COLUMNS = (
    Identifier("who"),
    Category("g", values=("a", "b", "c")),
    Integer("x", lower=0, upper=30, null=0),
    Text("note"),
)
FRAME = pd.DataFrame(
    {
        "who": [f"u{i}" for i in range(900)],
        "g": [("a", "b", "b")[i % 3] for i in range(900)],
        "x": [(7 * i) % 31 for i in range(900)],
        "note": [f"n{i % 2}" for i in range(900)],
    }
)
TRUTH = FRAME.groupby("g")["x"]


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_intervals_cover_all_cells_at_once(delta: str) -> None:
    """False-alarm rate 1e-9 a column; intervals made for 50 % are found out with power above 0.999."""
    schema = Schema("t", columns=COLUMNS, unit=Row(), neighbours=dp.AddRemove("row"))
    text = (
        "SELECT g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a, STDDEV_POP(x) AS d, LN(COUNT(*)) AS l, "
        "POWER(AVG(x), 0.7) AS p, EXP(AVG(x) / 10) AS e, SUM(x) / COUNT(*) AS r FROM t GROUP BY g"
    )
    prepared = plan_question(text, schemas=schema, policy=Policy(epsilon=Fraction(1), delta=Fraction(delta)))
    truth = {
        "n": [TRUTH.size().get(g, 0) for g in "abc"],
        "s": [TRUTH.sum().get(g, 0) for g in "abc"],
        "a": [TRUTH.mean().get(g) for g in "abc"],
        "d": [TRUTH.std(ddof=0).get(g) for g in "abc"],
    }
    truth["l"] = [math.log(n) if n else None for n in truth["n"]]
    means = truth["r"] = truth["a"]
    truth["p"] = [None if mean is None else mean**0.7 for mean in means]
    truth["e"] = [None if mean is None else math.exp(mean / 10) for mean in means]
    runs, missed, narrow = 200, dict.fromkeys(truth, 0), 0
    with Table(FRAME, schema=schema) as table:
        rng = unsafe_seeded(2024)
        for _ in range(runs):
            answer = ask(prepared, source=table._source, rng=rng)
            for name, wanted in truth.items():
                missed[name] += not _covers(answer.interval(name, 0.9), wanted)
            narrow += not _covers(answer.interval("s", 0.5), truth["s"])
    for name, failures in missed.items():
        low, _ = proportion_bounds(failures, runs, alpha=ALPHA)
        assert low <= 0.1, (name, failures)
    # Exact quantiles are not wasteful: sums miss nearly as often as they may.
    _, high = proportion_bounds(missed["s"], runs, alpha=ALPHA)
    assert high >= 0.1
    low, _ = proportion_bounds(narrow, runs, alpha=ALPHA)
    assert low > 0.1


def _covers(intervals: tuple[tuple[float, float], ...], truth: list[float | None]) -> bool:
    pairs = zip(intervals, truth, strict=True)
    return all(t is None or low - 1e-9 <= t <= high + 1e-9 for (low, high), t in pairs)


@pytest.mark.parametrize("groups", [1, 3])
def test_groups_of_one_user_appear_as_rarely_as_delta_says(groups: int) -> None:
    """Through the planned step itself.

    False-alarm rate 1e-9; a threshold two lower is found out with power above 0.999. One lower may still be
    sound: thresholds are whole numbers.
    """
    unit = User(column="who", max_rows=groups, max_groups=groups)
    schema = Schema("t", columns=COLUMNS, unit=unit, neighbours=dp.AddRemove("who"))
    policy = Policy(epsilon=Fraction(3), delta=Fraction("0.02"))
    prepared = plan_question(
        "SELECT note, COUNT(DISTINCT who) FROM t GROUP BY note", schemas=schema, policy=policy
    )
    (finder,) = prepared.budget.vectors
    step = finder.finding
    own = {(f"secret {i}",): 1 for i in range(groups)}
    others = {("common",): 500}
    rng, runs = unsafe_seeded(99), 20_000
    seen = sum(len(step.sample({**own, **others}, rng)) > 1 for _ in range(runs))
    low, _ = proportion_bounds(seen, runs, alpha=ALPHA)
    assert low <= finder.failure == Fraction("0.02")
    lower = KeysAbove(step.noise, step.threshold - 2, step.sensitivity, step.norm)
    wrong = sum(len(lower.sample({**own, **others}, rng)) > 1 for _ in range(runs))
    low, _ = proportion_bounds(wrong, runs, alpha=ALPHA)
    assert low > finder.failure
