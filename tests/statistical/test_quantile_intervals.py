"""Intervals of quantiles cover as often as they say, whatever the data look like."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.audit.empirical import proportion_bounds
from discreet.data import Category, Integer, Row, Schema, Table
from discreet.data.ask import ask, plan_question
from discreet.data.plan.nodes import Policy
from discreet.data.pricing.budget import Budget, QuantileChoice
from discreet.data.pricing.quantiles import QuantileChoices
from discreet.testing import unsafe_seeded

ALPHA = 1e-6
RUNS = 300
SCHEMA = Schema(
    "t",
    columns=(Category("g", values=("a", "b", "c")), Integer("x", lower=0, upper=1000)),
    unit=Row(),
    neighbours=dp.AddRemove("row"),
)
PLACES = np.arange(300)
DATA = {
    "even": PLACES,
    "skewed": np.minimum(1000, (1.02**PLACES).astype(int)),
    "one atom": np.full(300, 321),
    "atom of zeros": np.where(PLACES % 10 < 4, 0, PLACES),
    # The worst case: all values between the atoms miss, and score as well as a miss can.
    "atoms at the bounds": np.where(PLACES % 2, 0, 1000),
    "a few rows": np.array([3, 500, 501]),
}


def quantiles(values: np.ndarray, point: Fraction) -> tuple[int, int]:
    """The smallest and the largest quantile of some values; all between are quantiles too."""
    ordered, rank = np.sort(values), point * len(values)
    smallest = min(v for v in ordered if (ordered <= v).sum() >= rank)
    largest = max(v for v in ordered if (ordered < v).sum() <= rank)
    return int(smallest), int(largest)


def failures(kind: str, *, point: str = "0.5", groups: str = "", runs: int = RUNS) -> int:
    """How many runs leave a quantile of some group outside its interval; an empty group has none."""
    frame = pd.DataFrame({"g": np.where(np.arange(len(DATA[kind])) % 3, "a", "b"), "x": DATA[kind]})
    parts = [frame[frame["g"] == group] for group in "abc"] if groups else [frame]
    truth = [quantiles(part["x"].to_numpy(), Fraction(point)) if len(part) else (500, 500) for part in parts]
    text = f"SELECT QUANTILE(x, {point}) AS m FROM t {groups}"
    prepared = plan_question(text, schemas=SCHEMA, policy=Policy(epsilon=Fraction(2), delta=Fraction(0)))
    missed, rng = 0, unsafe_seeded(5)
    with Table(frame, schema=SCHEMA) as table:
        for _ in range(runs):
            answer = ask(prepared, source=table._source, rng=rng)
            pairs = zip(answer.interval("m", 0.95), truth, strict=True)
            missed += not all(low <= first <= last <= high for (low, high), (first, last) in pairs)
    return missed


@pytest.mark.parametrize("kind", DATA)
def test_an_interval_holds_every_quantile(kind: str) -> None:
    """False-alarm rate 1e-6 a case; misses of 40 % are found with power above 0.99."""
    low, _ = proportion_bounds(failures(kind, runs=60, point="0.9"), 60, alpha=ALPHA)
    assert low <= 0.05


def test_the_worst_data_are_missed_as_often_as_allowed_and_no_more() -> None:
    """False-alarm rate 2e-6; misses of 20 % are found with power above 0.99."""
    low, high = proportion_bounds(failures("atoms at the bounds"), RUNS, alpha=ALPHA)
    assert low <= 0.05 <= high


def test_intervals_of_all_groups_hold_at_once() -> None:
    low, _ = proportion_bounds(failures("atoms at the bounds", groups="GROUP BY g"), RUNS, alpha=ALPHA)
    assert low <= 0.05


def test_ends_aimed_a_fifth_closer_are_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """On the worst data; by the same check, with power above 0.999."""
    aimed = Budget.aim

    def closer(budget: Budget, choice: QuantileChoice, groups: int) -> QuantileChoices:
        step = aimed(budget, choice, groups)
        return replace(step, shift=int(step.shift * 0.8))

    monkeypatch.setattr(Budget, "aim", closer)
    low, _ = proportion_bounds(failures("atoms at the bounds"), RUNS, alpha=ALPHA)
    assert low > 0.05
