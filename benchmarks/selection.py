"""Exact selection over many candidates against numpy's insecure Gumbel-max: CPU time, in one run."""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.noisy_max import MaxNoise, NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.scores import Selection
from discreet.mechanisms.top_k import TopK

BAR = 3.0
"""How many times numpy's Gumbel-max a selection over 1e6 candidates may take."""
SMALL_BAR = 100e-6
"""Seconds for one choice among ten."""


def cpu_seconds(work: Callable[[], object], repeats: int) -> float:
    """Return the median CPU time of one call."""
    work()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return float(np.median(times))


def mechanisms(size: int) -> dict[str, Selection]:
    public: dict[str, Any] = {"sensitivity": 1, "epsilon": 1, "size": size}
    return {
        "exponential mechanism": Exponential(**public),
        "permute-and-flip": PermuteAndFlip(**public),
        "noisy max, exponential noise": NoisyMax(noise=MaxNoise.EXPONENTIAL, **public),
        "noisy max, Gumbel noise": NoisyMax(noise=MaxNoise.GUMBEL, **public),
        "noisy max, Laplace noise": NoisyMax(noise=MaxNoise.LAPLACE, **public),
        "top-10": TopK(k=10, **public),
    }


def opendp_rows(scores: NDArray[np.int64], repeats: int) -> list[tuple[str, float]]:
    """Time OpenDP where it is installed."""
    if importlib.util.find_spec("opendp") is None:
        return []
    import opendp.prelude as peer

    peer.enable_features("contrib")
    space = peer.vector_domain(peer.atom_domain(T=float, nan=False)), peer.linf_distance(T=float)
    values = scores.astype(float).tolist()
    rows = []
    for name, measure in (
        ("OpenDP noisy max, exponential noise", peer.max_divergence()),
        ("OpenDP noisy max, Gumbel noise", peer.zero_concentrated_divergence()),
    ):
        meter = peer.m.make_noisy_max(*space, measure, 2.0)
        rows.append((name, cpu_seconds(partial(meter, values), repeats)))
    return rows


def measure(size: int, repeats: int) -> list[tuple[str, float]]:
    generator = np.random.default_rng(7)  # noqa: TID251
    scores = generator.integers(0, 1000, size)
    rate = 0.5

    def gumbel_max() -> int:
        return int(np.argmax(scores * rate + generator.gumbel(size=size)))

    rows = [("numpy Gumbel-max (insecure)", cpu_seconds(gumbel_max, repeats))]
    for name, mechanism in mechanisms(size).items():
        rows.append((name, cpu_seconds(partial(mechanism.release, scores), repeats)))
    return rows + opendp_rows(scores, max(1, repeats // 10))


def main() -> None:
    """Print one table a size, with the ratio to numpy and whether the bars hold."""
    for size, repeats in ((10, 500), (1_000, 200), (1_000_000, 9)):
        rows = measure(size, repeats)
        reference = rows[0][1]
        print(f"\n{size:,} candidates, epsilon 1, CPU time of one choice")
        print(f"{'what':38} {'ms':>10} {'x numpy':>9}")
        for name, seconds in rows:
            verdict = ""
            if not name.startswith(("numpy", "OpenDP", "top")):
                if size == 1_000_000:
                    verdict = f"bar {BAR:g}x {'met' if seconds <= BAR * reference else 'MISSED'}"
                elif size == 10:
                    verdict = f"bar {SMALL_BAR * 1e6:g} us {'met' if seconds <= SMALL_BAR else 'MISSED'}"
            print(f"{name:38} {seconds * 1e3:10.4f} {seconds / reference:9.2f}  {verdict}")


if __name__ == "__main__":
    main()
