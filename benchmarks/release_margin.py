"""How much better must a model seem before a planner believes it? Tables to choose by, and others to check.

A model is tried on made-up people, so its prediction may be wrong by any factor; that of a mechanism whose
errors are noise alone cannot be. For every margin that a model may be asked to win by: how far the choice is
from the best mechanism on the real table (1 is as good as it), and how far its real error is above the one
that was predicted. The margin was chosen on the tables marked "tuned", before the others were looked at.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks import adult, error_bars
from discreet.datasets import people
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.planning import predict
from discreet.query_release.planning.planner import ReleasePlan, plan
from discreet.testing import unsafe_seeded

MARGINS = (1.0, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0)
BUDGETS = ((0.1, 0.0), (1.0, 0.0), (0.1, 1e-9), (1.0, 1e-9))
SEEDS = 4
LARGEST = 1 << 20


class Case(NamedTuple):
    """A table and what is asked of it."""

    name: str
    tuned: bool
    data: Histogram
    workload: Workload


class Outcome(NamedTuple):
    """What was planned and what came of it: the mean error of every mechanism."""

    case: Case
    planned: ReleasePlan
    real: dict[str, float]


def line(name: str, codes: Any, size: int, *, tuned: bool) -> Case:
    """Return a case of one number, asked how many are at most as large as each value."""
    universe = Universe([(name, range(size))])
    counts = np.bincount(np.clip(codes, 0, size - 1), minlength=size)
    return Case(name, tuned, Histogram.dense(universe, counts), Prefixes(universe, [name]))


def lines() -> Iterator[Case]:
    """List numbers: one peak, a long tail, heaps at round values, even ones; then those of real people."""
    draw = np.random.default_rng(3)  # noqa: TID251
    yield line("one peak", draw.normal(40, 12, 20_000).astype(np.int64), 100, tuned=True)
    yield line("long tail", draw.zipf(1.5, 20_000) - 1, 200, tuned=True)
    round_ones = 10 * draw.integers(1, 9, 30_000)
    heaped = np.where(draw.random(30_000) < 0.6, round_ones, draw.integers(0, 90, 30_000))
    yield line("heaps", heaped, 90, tuned=True)
    yield line("one heap", np.where(draw.random(30_000) < 0.5, 60, heaped), 120, tuned=True)
    yield line("even", draw.integers(0, 64, 5000), 64, tuned=True)
    survey = people()
    yield line("people's age", np.array(survey["age"], dtype=np.int64), 100, tuned=False)
    cents = (np.array(survey["earnings"], dtype=np.float64) * 2).astype(np.int64)
    yield line("people's pay", cents, 150, tuned=False)
    census = adult.census(adult.ADULT64)
    if census is not None:
        for name in ("hours-per-week", "age", "education-num"):
            counts = census.histogram.marginal([name]).counts()
            universe = Universe([(name, range(len(counts)))])
            yield Case(name, False, Histogram.dense(universe, counts), Prefixes(universe, [name]))


def cases() -> Iterator[Case]:
    """List all cases: one number each, then tables over two or three of several attributes."""
    yield from lines()
    for table in error_bars.tables(seed=1):
        if table.histogram.universe.size > LARGEST:
            continue  # nothing but models comes near there
        workload = Marginals.of_order(table.histogram.universe, table.order)
        yield Case(table.name, table.tuned, table.histogram, workload)
    census = adult.census(adult.SMALL6)
    if census is not None:
        yield Case("census, order 3", False, census.histogram, census.workload)


def measure(case: Case, epsilon: float, delta: float) -> Outcome:
    """Plan a case, and run every mechanism that applies."""
    planned = plan(case.workload, epsilon=epsilon, delta=delta, rows=case.data.total)
    truth, real = case.workload.answers(case.data), {}
    for each in planned.applicable:
        runs = [
            np.abs(
                each.mechanism.release(case.data, rng=unsafe_seeded(seed)).value.answers(case.workload)
                - truth
            ).mean()
            for seed in range(SEEDS * (5 if each.is_exact else 1))
            if each.mechanism is not None
        ]
        real[each.name] = float(np.mean(runs))
    return Outcome(case, planned, real)


def judge(outcomes: list[Outcome], margin: float) -> tuple[list[float], list[float]]:
    """Return how far choices by a margin are from the best, and from what was predicted of them."""
    behind, above = [], []
    kept, predict.MODELLED = predict.MODELLED, margin
    try:
        for one in outcomes:
            best = predict.choose(one.planned.predictions, dataclasses.replace(one.planned.facts))
            behind.append(one.real[best.name] / min(one.real.values()))
            above.append(one.real[best.name] / best.average)
    finally:
        predict.MODELLED = kept
    return behind, above


def main() -> None:
    """Print a line a case, then one a margin for the tables it was chosen on and for the others."""
    outcomes = []
    for case in cases():
        for epsilon, delta in BUDGETS:
            one = measure(case, epsilon, delta)
            outcomes.append(one)
            numbers = [(each.name, each.average, one.real[each.name]) for each in one.planned.applicable[:4]]
            shown = ", ".join(f"{name} {said:.3g} -> {real:.3g}" for name, said, real in numbers)
            print(f"{case.name:16} {epsilon:4g} {delta:6g} {one.planned.best.name}: {shown}", flush=True)
    for tuned in (True, False):
        chosen = [one for one in outcomes if one.case.tuned == tuned]
        print(
            "tuned on" if tuned else "not tuned on",
            f"{len(chosen)} cases: behind the best; above the prediction",
        )
        for margin in MARGINS:
            behind, above = judge(chosen, margin)
            print(
                f"  margin {margin:4g}: behind {_mean(behind):.3f}, at worst {max(behind):5.2f}; "
                f"above {_mean(above):.3f}, at worst {max(above):5.2f}"
            )


def _mean(ratios: list[float]) -> float:
    return float(np.exp(np.mean(np.log(ratios))))


if __name__ == "__main__":
    main()
