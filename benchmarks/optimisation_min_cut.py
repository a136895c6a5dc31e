"""Private minimum cut at scale, and its bound against the thesis's calibration."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.optimisation.common.graphs import Vertices, read_edges
from discreet.optimisation.min_cut.curve import smallest_cuts
from discreet.optimisation.min_cut.min_cut import MinCut, adjacency_of
from discreet.testing import unsafe_seeded

BAR = 60.0
"""Seconds for 1,000 vertices and 10,000 edges."""

Edges = NDArray[np.int64]


def random_edges(size: int, count: int, words: Any) -> Edges:
    """Draw about `count` different edges."""
    ends = words.words(2 * count, np.uint32).reshape(-1, 2) % size
    return read_edges(ends.astype(np.int64), Vertices(size))


def communities(size: int, count: int, bridges: int, words: Any) -> Edges:
    half = size // 2
    parts = [random_edges(half, count // 2, words), random_edges(half, count // 2, words) + half]
    across = np.stack([np.arange(bridges), half + np.arange(bridges)], axis=1)
    return np.concatenate([*parts, across])


def graphs() -> dict[str, tuple[int, Edges]]:
    words = unsafe_seeded(1)
    return {
        "random": (1000, random_edges(1000, 10_100, words)),
        "two communities, 3 bridges": (1000, communities(1000, 10_000, 3, words)),
        "two pieces": (1000, communities(1000, 10_000, 0, words)),
        "random, dense": (300, random_edges(300, 20_000, words)),
    }


def cost_of(side: frozenset[Any], edges: Edges) -> int:
    return sum((u in side) != (v in side) for u, v in edges.tolist())


def run(name: str, size: int, edges: Edges, epsilon: float, delta: float) -> None:
    mechanism = MinCut(vertices=size, epsilon=epsilon, delta=delta)
    least = int(smallest_cuts(adjacency_of(edges, size).astype(np.bool_)).values(unit=1, last=0)[0])
    wall, cpu = time.perf_counter(), time.process_time()
    cut = mechanism.release(edges, rng=unsafe_seeded(2)).value
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    above, bound = cost_of(cut.side, edges) - least, mechanism.error(0.05)
    thesis = MinCut(vertices=size, epsilon=epsilon, delta=0, calibration="thesis").error(0.05)
    verdict = "ok" if cpu <= BAR and (cut.failed or above <= bound) else "MISSED"
    print(
        f"{name:27} {size:5} {len(edges):6} {epsilon:7g} {delta:7g} {least:4} {above:6} {bound:7g} "
        f"{thesis:7g} {wall:7.1f} {cpu:6.1f}  {verdict}"
    )


def main() -> None:
    print(
        f"{'graph':27} {'n':>5} {'m':>6} {'epsilon':>7} {'delta':>7} {'OPT':>4} {'above':>6} {'bound':>7} "
        f"{'thesis':>7} {'wall':>7} {'cpu':>6}  bar {BAR:g} s and the bound for beta 0.05"
    )
    for name, (size, edges) in graphs().items():
        for epsilon, delta in ((1, 0), (1, 1e-6), (50, 0)):
            run(name, size, edges, epsilon, delta)


if __name__ == "__main__":
    main()
