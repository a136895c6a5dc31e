"""Intervals of what is computed from noisy numbers cover as often as they say, and are not far too wide."""

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
from discreet.noise import DiscreteGaussian, DiscreteLaplace
from discreet.testing import unsafe_seeded

ALPHA = 1e-9
RUNS = 300
SCHEMA = Schema(
    "t",
    columns=(
        Category("g", values=("a", "b", "c")),
        Integer("x", lower=0, upper=30, null=0),
        Integer("z", lower=-5, upper=5, null=0),
    ),
    unit=Row(),
    neighbours=dp.AddRemove("row"),
)
PLACES = np.arange(900)
FRAME = pd.DataFrame(
    {"g": np.where(PLACES % 3 == 0, "a", "b"), "x": (7 * PLACES) % 31, "z": (3 * PLACES) % 11 - 5}
)
COLUMNS = {
    "share": "100.0 * SUM(x) / COUNT(*)",
    "ratio": "SUM(z) / SUM(x)",
    "gap": "SUM(x) - 20 * COUNT(*)",
    "root": "SQRT(ABS(SUM(z) - COUNT(*)))",
    "best": "GREATEST(SUM(x), 14 * COUNT(*))",
    "cases": "CASE WHEN COUNT(*) > 299 THEN SUM(x) ELSE -SUM(x) END",
}


def truth(part: pd.DataFrame) -> dict[str, float | None]:
    n, x, z = len(part), int(part["x"].sum()), int(part["z"].sum())
    return {
        "share": 100 * x / n if n else None,
        "ratio": z / x if x else None,
        "gap": x - 20 * n,
        "root": abs(z - n) ** 0.5,
        "best": max(x, 14 * n),
        "cases": x if n > 299 else -x,
    }


@pytest.mark.parametrize("delta", ["0", "1e-6"])
def test_every_expression_covers_all_groups_at_once(delta: str) -> None:
    """False-alarm rate 1e-9 a column; a difference made for 50 % is found out with power above 0.999."""
    listed = ", ".join(f"{text} AS {name}" for name, text in COLUMNS.items())
    text = f"SELECT {listed} FROM t GROUP BY g ORDER BY g"
    prepared = plan_question(text, schemas=SCHEMA, policy=Policy(epsilon=Fraction(1), delta=Fraction(delta)))
    wanted = [truth(FRAME[FRAME["g"] == group]) for group in "abc"]
    missed, narrow, widths = dict.fromkeys(COLUMNS, 0), 0, []
    with Table(FRAME, schema=SCHEMA) as table:
        rng = unsafe_seeded(77)
        for _ in range(RUNS):
            answer = ask(prepared, source=table._source, rng=rng)
            for name in COLUMNS:
                missed[name] += not _covers(answer.interval(name, 0.9), [one[name] for one in wanted])
            narrow += not _covers(answer.interval("gap", 0.3), [one["gap"] for one in wanted])
            widths.append([high - low for low, high in answer.interval("share", 0.9)[:2]])
    for name, failures in missed.items():
        low, _ = proportion_bounds(failures, RUNS, alpha=ALPHA)
        assert low <= 0.1, (name, failures)
    low, _ = proportion_bounds(narrow, RUNS, alpha=ALPHA)
    assert low > 0.1
    # Not absurdly wide: at most twice what five standard deviations of the ratio's own noise would be.
    for place, group in enumerate("ab"):
        part = FRAME[FRAME["g"] == group]
        n, x = len(part), part["x"].sum()
        vectors = {vector.measure: vector.noise for vector in prepared.budget.vectors}
        known = prepared.budget.facts.measured
        count, total = (
            next(m for one in known for m in known[one] if m.kind == kind) for kind in ("rows", "sum")
        )
        sd = 100 * np.hypot(deviation(vectors[total]), x / n * deviation(vectors[count])) / n
        assert np.median(widths, axis=0)[place] <= 2 * 5 * sd


def deviation(noise: DiscreteLaplace | DiscreteGaussian) -> float:
    if isinstance(noise, DiscreteLaplace):
        return float(noise.scale) * 2**0.5
    return float(noise.variance) ** 0.5


def _covers(intervals: tuple[tuple[float, float], ...], wanted: list[float | None]) -> bool:
    pairs = zip(intervals, wanted, strict=True)
    return all(t is None or low - 1e-9 <= t <= high + 1e-9 for (low, high), t in pairs)
