"""Many linear queries against one pass over the histogram: CPU time as a ratio, and peak memory, in one run.

"One pass" can be read two ways, and the verdict is given for both: `counts.copy()` reads and writes every
cell, `counts.sum()` only reads them and is the stricter one.
"""

from __future__ import annotations

import time
import tracemalloc
from collections.abc import Callable
from functools import partial

import numpy as np

from discreet.queries.histogram import Histogram
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.parities import Parities
from discreet.queries.kinds.rectangles import Ranges
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload

TIME_BAR = 10.0
"""How many passes over the histogram all marginals, or their adjoint, may take."""
MEMORY_BAR = 3.0
"""How many dense histograms may be in memory at the peak, the data among them."""


def cpu_seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median CPU time of one call."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return float(np.median(times))


def peak_bytes(work: Callable[[], object]) -> int:
    """Return the most memory that one call holds at a time, its result included."""
    tracemalloc.start()
    work()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def verdict(value: float, bar: float) -> str:
    return f"bar {bar:g} {'met' if value <= bar else 'MISSED'}"


def marginals(bits: int, repeats: int) -> None:
    """Print the bars for all three-way marginals of 2 ** bits cells."""
    universe = Universe((f"b{i}", (0, 1)) for i in range(bits))
    generator = np.random.default_rng(7)  # noqa: TID251
    counts = generator.integers(0, 5, universe.shape)
    histogram = Histogram.dense(universe, counts)
    weights = counts.astype(np.float64)
    start = time.process_time()
    workload = Marginals.of_order(universe, 3)
    numbers = generator.integers(-9, 9, len(workload))
    cold = peak_bytes(partial(workload.answers, histogram))
    planned = time.process_time() - start
    copied, summed = cpu_seconds(counts.copy, repeats), cpu_seconds(counts.sum, repeats)
    print(f"\nall 3-way marginals of 2^{bits} cells: {len(workload.sets)} tables, {len(workload)} queries")
    print(f"one pass: copy {copied * 1e3:.2f} ms, sum {summed * 1e3:.2f} ms; plan, once: {planned:.2f} s")
    print(f"{'what':28} {'ms':>8} {'x copy':>7}  {'':14} {'x sum':>7}  {'':14} {'histograms':>10}")
    for name, work in (
        ("answers, counts", partial(workload.answers, histogram)),
        ("answers, float weights", partial(workload.answers, weights)),
        ("adjoint, integers", partial(workload.adjoint, numbers)),
        ("adjoint, floats", partial(workload.adjoint, numbers.astype(float))),
    ):
        seconds = cpu_seconds(work, repeats)
        held = 1 + max(peak_bytes(work), cold if name == "answers, counts" else 0) / counts.nbytes
        print(
            f"{name:28} {seconds * 1e3:8.2f} "
            f"{seconds / copied:7.2f}  {verdict(seconds / copied, TIME_BAR):14} "
            f"{seconds / summed:7.2f}  {verdict(seconds / summed, TIME_BAR):14} "
            f"{held:10.2f}  {verdict(held, MEMORY_BAR)}"
        )


def others(repeats: int) -> None:
    """Print what other families take, without bars."""
    generator = np.random.default_rng(8)  # noqa: TID251
    bits = Universe((f"b{i}", (0, 1)) for i in range(20))
    fewer = bits.project(bits.names[:16])
    small = Universe((name, range(size)) for name, size in zip("abcdef", (8, 7, 6, 5, 4, 6), strict=True))
    line = Universe([("t", range(1 << 16))])
    rows = [
        generator.integers(0, size, 1_000_000) for size in (small.shape[0], small.shape[2], small.shape[5])
    ]
    bounds = np.sort(generator.integers(0, 1 << 16, (100_000, 2)), axis=1)
    workloads: list[tuple[str, Workload]] = [
        ("all 1140 parities of order 3", Parities.of_order(bits, 3)),
        ("all 2^16 parities", Parities.every(fewer)),
        ("1e6 conjunctions of width 3", Conjunctions.from_codes(small, (0, 2, 5), np.stack(rows, axis=1))),
        ("1e5 ranges of 2^16 values", Ranges(line, "t", [(int(a), int(b)) for a, b in bounds])),
    ]
    print(f"\n{'other families':32} {'cells':>9} {'queries':>9} {'answers ms':>11} {'adjoint ms':>11}")
    for name, workload in workloads:
        counts = generator.integers(0, 5, workload.universe.shape)
        histogram = Histogram.dense(workload.universe, counts)
        numbers = generator.integers(-9, 9, len(workload))
        there = cpu_seconds(partial(workload.answers, histogram), repeats)
        back = cpu_seconds(partial(workload.adjoint, numbers), repeats)
        size = f"{workload.universe.size:9,} {len(workload):9,}"
        print(f"{name:32} {size} {there * 1e3:11.2f} {back * 1e3:11.2f}")


def main() -> None:
    """Print one table a size, with the ratios to one pass and whether the bars hold."""
    for bits, repeats in ((20, 51), (22, 21)):
        marginals(bits, repeats)
    others(5)


if __name__ == "__main__":
    main()
