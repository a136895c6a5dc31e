"""The planner's choice against every mechanism, measured: census tables, conjunctions, ranges.

A plan sees the schema, the budget and about how many rows there are. Then every mechanism that applies is run
on the data. The choice must be within 1.15x of the best of them. The detailed tables are those of
`release_explicit`, `release_factored`, `release_ranges` and `release_kernels`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from benchmarks import release_ranges
from benchmarks.adult import ADULT64, DELTA, EPSILONS, SMALL6, Census, census, errors
from benchmarks.release_explicit import QUERIES
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.union import Union
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.planning.planner import ReleasePlan, plan
from discreet.testing import unsafe_seeded

BAR, SEEDS = 1.15, 2


class Row(NamedTuple):
    """One line of the benchmark: a workload, a budget, the data, and how the error is counted."""

    name: str
    workload: Workload
    epsilon: float
    delta: float
    data: Histogram
    by: str
    measure: Callable[[Any], float]
    unit: str


def tables(found: Census) -> Iterator[Row]:
    """List the census tables at three budgets: average L1 error."""
    truth = found.truth()

    def average(answers: Any) -> float:
        return errors(found.workload, truth, answers, found.rows).average_l1

    for epsilon in EPSILONS:
        yield Row(
            found.name, found.workload, epsilon, DELTA, found.histogram, "average", average, "average L1"
        )


def conjunctions(found: Census) -> Iterator[Row]:
    """Ask a million random conjunctions of three conditions: largest error."""
    generator = np.random.default_rng(11)  # noqa: TID251
    universe, parts = found.universe, []
    shares = generator.multinomial(QUERIES, np.full(len(found.workload.sets), 1 / len(found.workload.sets)))
    for axes, share in zip(found.workload.sets, shares, strict=True):
        codes = np.stack([generator.integers(0, universe.shape[axis], share) for axis in axes], axis=1)
        parts.append(Conjunctions.from_codes(universe, axes, codes))
    workload = Union(parts)
    truth = workload.answers(found.histogram)

    def largest(answers: Any) -> float:
        return float(np.abs(answers - truth).max())

    yield Row("10^6 conjunctions", workload, 1.0, DELTA, found.histogram, "largest", largest, "largest, rows")


def ranges() -> Iterator[Row]:
    """Ask for all ranges over 2^16 values: the largest error of any range."""
    counts = release_ranges.incomes()
    workload = Prefixes(Universe([("income", range(release_ranges.DOMAIN))]), ["income"])
    data, truth = Histogram.dense(workload.universe, counts), np.cumsum(counts)

    def largest(answers: Any) -> float:
        return release_ranges.largest_error(answers - truth)

    for delta in release_ranges.BARS:
        yield Row("ranges 2^16", workload, 1.0, delta, data, "largest", largest, "largest, rows")


def measured(row: Row, planned: ReleasePlan) -> dict[str, float]:
    """Return the error of every mechanism that applies, as a mean over seeds."""
    found = {}
    for each in planned.applicable:
        if each.mechanism is not None:
            runs = [
                row.measure(
                    each.mechanism.release(row.data, rng=unsafe_seeded(seed)).value.answers(row.workload)
                )
                for seed in range(SEEDS)
            ]
            found[each.name] = float(np.mean(runs))
    return found


def report(row: Row) -> bool:
    """Plan, measure, print; tell whether the choice was good enough."""
    start = time.process_time()
    planned = plan(
        row.workload,
        epsilon=row.epsilon,
        delta=row.delta,
        rows=row.data.total,
        by=row.by,
    )
    planning = time.process_time() - start
    found = measured(row, planned)
    best = min(found, key=lambda name: found[name])
    chosen = planned.best.name
    ratio = found[chosen] / found[best]
    verdict = "met" if ratio <= BAR else "MISSED"
    print(
        f"{row.name:18} {row.epsilon:7g} {row.delta:6g} {row.unit:14} {chosen:12} {found[chosen]:9.4g} "
        f"{best:12} {found[best]:9.4g} {ratio:6.2f}x {verdict:6} {planning:6.1f}",
        flush=True,
    )
    for each in planned.applicable:
        error = f"predicted average {each.average:9.4g}, largest {each.largest:9.4g} rows"
        print(f"    {each.name:16} measured {found[each.name]:9.4g}; {error}", flush=True)
    return ratio <= BAR


def main() -> None:
    """Print one table."""
    small, large = census(SMALL6), census(ADULT64)
    rows = list(ranges())
    if small is not None and large is not None:
        rows = [*tables(small), *tables(large), *conjunctions(small), *rows]
    print(f"the planner's choice beside the best mechanism, mean of {SEEDS} seeds; bar {BAR}x")
    print(
        f"{'workload':18} {'epsilon':>7} {'delta':>6} {'error':14} {'chosen':12} {'its error':>9} "
        f"{'best':12} {'its error':>9} {'ratio':>7} {'bar':6} {'plan s':>6}"
    )
    met = [report(row) for row in rows]
    print(f"{sum(met)} of {len(met)} rows within {BAR}x")


if __name__ == "__main__":
    main()
