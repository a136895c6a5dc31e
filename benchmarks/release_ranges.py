"""All ranges over a domain of 2^16: the largest error of any range, in counts, as a median over runs.

Beside the tree: the capped binary search of the source, and independent noise on every prefix.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.universe import Universe
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.interval_search import IntervalSearch
from discreet.query_release.linear.range_tree import RangeTree

DOMAIN, ROWS, RUNS = 1 << 16, 1_000_000, 20
BARS = {0.0: 300.0, 1e-6: 270.0}
"""Counts that the largest error may reach at epsilon 1, by delta."""


def incomes() -> NDArray[np.int64]:
    """Return a long-tailed histogram, the same in every run."""
    generator = np.random.default_rng(20260101)  # noqa: TID251
    values = np.minimum(generator.lognormal(8.5, 1.0, ROWS).astype(np.int64), DOMAIN - 1)
    return np.bincount(values, minlength=DOMAIN)


def largest_error(prefixes: NDArray[np.float64]) -> float:
    """Return the largest error of a range, given the errors of all prefixes."""
    padded = np.concatenate([[0.0], prefixes])
    return float(padded.max() - padded.min())


def measure(mechanism: WorkloadRelease, counts: NDArray[np.int64], runs: int) -> tuple[float, float, float]:
    """Return the median and the largest of the largest errors, and the CPU seconds of a run."""
    data = Histogram.dense(mechanism.workload.universe, counts)
    truth, errors = np.cumsum(counts), []
    start = time.process_time()
    for _ in range(runs):
        synopsis = mechanism.release(data).value
        errors.append(largest_error(synopsis.answers(mechanism.workload) - truth))
    return float(np.median(errors)), max(errors), (time.process_time() - start) / runs


def mechanisms(delta: float, neighbours: Neighbours) -> dict[str, WorkloadRelease]:
    """Return what is compared."""
    workload = Prefixes(Universe([("income", range(DOMAIN))]), ["income"])
    public: dict[str, Any] = {"workload": workload, "epsilon": 1, "neighbours": neighbours}
    found: dict[str, WorkloadRelease] = {"range tree": RangeTree(delta=delta, **public)}
    if not delta and isinstance(neighbours, Replace):
        found["interval search (source)"] = IntervalSearch(rows=ROWS, accuracy=0.2, **public)
    found["independent prefixes"] = Independent(delta=delta, **public)
    return found


def main() -> None:
    """Print one table, with the proved bound of each mechanism beside what was measured."""
    counts = incomes()
    print(f"{DOMAIN:,} values, {ROWS:,} rows, epsilon 1, {RUNS} runs: largest error of all ranges, in counts")
    heads = f"{'median':>9} {'largest':>9} {'proved':>9} {'CPU s':>7}"
    print(f"{'mechanism':26} {'delta':>6} {'neighbours':12} {heads}")
    for delta, bar in BARS.items():
        for neighbours in (AddRemove("row"), Replace("row")):
            for name, mechanism in mechanisms(delta, neighbours).items():
                median, worst, seconds = measure(mechanism, counts, RUNS if name == "range tree" else 3)
                verdict = (
                    f"bar {bar:g} {'met' if median <= bar else 'MISSED'}" if name == "range tree" else ""
                )
                ends = 2 if isinstance(mechanism, Independent) else 1  # its bound is for prefixes
                print(
                    f"{name:26} {delta:6g} {type(neighbours).__name__:12} {median:9.0f} {worst:9.0f} "
                    f"{ends * mechanism.error(0.05):9.0f} {seconds:7.3f}  {verdict}"
                )


if __name__ == "__main__":
    main()
