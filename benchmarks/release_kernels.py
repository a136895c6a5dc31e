"""One round of multiplicative weights over a huge universe: time in passes over the weights, and memory.

    python -m benchmarks.release_kernels            2^26 cells of numpy floats, on one core
    python -m benchmarks.release_kernels --gpu      also 2^33 cells of 32-bit floats, where torch sees CUDA

A round answers a query over three attributes, multiplies by a table over them, and rescales.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.fitting.weights import Hypothesis

BITS, GPU_BITS = 26, 33
TIME_BAR, MEMORY_BAR = 3.0, 4.0
GPU_BAR = 2 * 40e-3
PLACES = ((0, 1, 2), (0, 12, 25), (11, 12, 13), (23, 24, 25))


def median(work: Callable[[], object], repeats: int, clock: Callable[[], float]) -> float:
    """Return the median time of one call, after a first one."""
    work()
    times = []
    for _ in range(repeats):
        start = clock()
        work()
        times.append(clock() - start)
    return float(np.median(times))


def one_round(hypothesis: Hypothesis, axes: tuple[int, ...]) -> Callable[[], None]:
    """Return a round whose every call starts from a table nobody has asked for yet."""
    query = TableQuery(hypothesis.universe, axes, "some", table=np.arange(8).reshape(2, 2, 2) % 2)

    def work() -> None:
        answer = hypothesis.answer(query)
        hypothesis.update(axes, (0.5 - answer / hypothesis.total) / 50 * query.table())
        hypothesis.forget()

    return work


def on_cpu() -> None:
    """Print the ratios to one pass, read both ways, and the peak."""
    universe = Universe((f"b{i}", (0, 1)) for i in range(BITS))
    tracemalloc.start()
    hypothesis = Hypothesis(universe, 1e6)
    vector = hypothesis.array.nbytes
    summed = median(hypothesis.array.sum, 5, time.process_time)
    copied = median(hypothesis.array.copy, 5, time.process_time)
    tracemalloc.reset_peak()
    print(f"2^{BITS} cells; one pass: sum {summed * 1e3:.0f} ms, copy {copied * 1e3:.0f} ms")
    print(f"{'attributes':>14} {'round ms':>9} {'x sum':>6} {'x copy':>7} {'vectors':>8}")
    for axes in PLACES:
        seconds = median(one_round(hypothesis, axes), 5, time.process_time)
        held = tracemalloc.get_traced_memory()[1] / vector
        met = seconds <= TIME_BAR * summed and held <= MEMORY_BAR
        bars = f"bars {TIME_BAR:g}x, {MEMORY_BAR:g} vectors {'met' if met else 'MISSED'}"
        ratios = f"{seconds / summed:6.2f} {seconds / copied:7.2f} {held:8.2f}"
        print(f"{axes!s:>14} {seconds * 1e3:9.0f} {ratios}  {bars}", flush=True)
    tracemalloc.stop()


def on_gpu() -> None:
    """Print the time of a round on a GPU, or say why there is none."""
    if importlib.util.find_spec("torch") is None:
        print("GPU: torch is not installed")
        return
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        print("GPU: torch sees no CUDA device")
        return
    free = torch.cuda.mem_get_info()[0]
    bits = GPU_BITS
    while 2.2 * 4 * 2**bits > free:  # the weights, and a copy while they are taken over
        bits -= 1
    universe = Universe((f"b{i}", (0, 1)) for i in range(bits))
    hypothesis = Hypothesis(universe, 1e6, torch.ones(universe.shape, dtype=torch.float32, device="cuda"))
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    print(f"GPU: {torch.cuda.get_device_name()}, 2^{bits} cells of 32-bit floats")
    for axes in (*PLACES[:3], (bits - 3, bits - 2, bits - 1)):
        work = one_round(hypothesis, axes)

        def timed(work: Callable[[], None] = work) -> None:
            work()
            torch.cuda.synchronize()

        seconds = median(timed, 5, time.perf_counter)
        peak = torch.cuda.max_memory_allocated() / (4 * 2**bits)
        bar = GPU_BAR * 2.0 ** (bits - GPU_BITS)
        met = "met" if seconds <= bar else "MISSED"
        ending = f"{peak:.2f} vectors  bar {bar * 1e3:.0f} ms {met}"
        print(f"{axes!s:>14} {seconds * 1e3:9.1f} ms, {ending}", flush=True)


def main() -> None:
    """Print the rows of this machine."""
    on_cpu()
    if "--gpu" in sys.argv:
        on_gpu()


if __name__ == "__main__":
    main()
