"""Exact noise against OpenDP's exact noise and numpy's insecure floats: CPU time, side by side in one run."""

from __future__ import annotations

import importlib.util
import math
import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core.rng import SYSTEM
from discreet.mechanisms.laplace import Laplace
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise, OneSidedGeometric

SIZE = 1_000_000
PEER_SIZE = 50_000
"""OpenDP's cost a sample does not depend on the length; fewer samples keep the run short."""
SINGLES = 5_000
BATCHES = 7
PEER_BATCHES = 3
SCALES = (1, 10, 1000, 10**6)
INSECURE = np.random.default_rng(1)  # noqa: TID251  the floor to compare with; nothing is released

TIMES_PEER = 60.0
"""How many times OpenDP's throughput an array must reach."""
SHARE_OF_NUMPY = 1 / 8
"""The share of numpy's Laplace throughput that a discrete Laplace array must reach."""
COUNT_NS = 30_000.0
"""CPU time one noisy count may take."""


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; times in ns a sample, NaN where there is nothing to compare with."""

    what: str
    ns: float
    peer: float = math.nan
    numpy: float = math.nan
    bar: str = ""
    met: bool | None = None


def cpu_ns(work: Callable[[], object], samples: int, batches: int) -> float:
    """Return the median CPU time a sample, in nanoseconds."""
    work()
    times = []
    for _ in range(batches):
        start = time.process_time()
        work()
        times.append(time.process_time() - start)
    return float(np.median(times)) / samples * 1e9


def singles(draw: Callable[[], object]) -> Callable[[], None]:
    def work() -> None:
        for _ in range(SINGLES):
            draw()

    return work


def peer_times() -> dict[tuple[str, int], float]:
    """Time OpenDP's integer mechanisms where it is installed."""
    if importlib.util.find_spec("opendp") is None:
        return {}
    import opendp.prelude as peer

    peer.enable_features("contrib")
    atom = peer.atom_domain(T=int)
    zeros = [0] * PEER_SIZE
    found = {}
    for scale in SCALES:
        laplace = peer.m.make_laplace(peer.vector_domain(atom), peer.l1_distance(T=int), float(scale))
        gaussian = peer.m.make_gaussian(peer.vector_domain(atom), peer.l2_distance(T=float), float(scale))
        for name, mechanism in (("laplace", laplace), ("gaussian", gaussian)):
            found[name, scale] = cpu_ns(lambda m=mechanism: m(zeros), PEER_SIZE, PEER_BATCHES)  # type: ignore[misc]
    single = peer.m.make_laplace(atom, peer.absolute_distance(T=int), 10.0)
    found["single call laplace", 10] = cpu_ns(singles(lambda: single(1234)), SINGLES, PEER_BATCHES)
    return found


def floor_rows() -> list[Row]:
    def timed(what: str, work: Callable[[], object]) -> Row:
        return Row(what, cpu_ns(work, SIZE, BATCHES))

    return [
        timed("os.urandom, 2 bytes a sample", lambda: os.urandom(2 * SIZE)),
        timed("os.urandom, 8 bytes a sample", lambda: os.urandom(8 * SIZE)),
        timed("numpy laplace, insecure", lambda: INSECURE.laplace(0, 10, SIZE)),
        timed("numpy normal, insecure", lambda: INSECURE.normal(0, 10, SIZE)),
        timed("numpy geometric, insecure", lambda: INSECURE.geometric(0.1, SIZE)),
    ]


def array_rows(peers: dict[tuple[str, int], float], floor: dict[str, float]) -> list[Row]:
    laws: list[tuple[str, str, Callable[[int], Noise]]] = [
        ("laplace", "numpy laplace, insecure", lambda s: DiscreteLaplace(Fraction(s))),
        ("gaussian", "numpy normal, insecure", lambda s: DiscreteGaussian(Fraction(s) ** 2)),
        ("geometric", "numpy geometric, insecure", lambda s: OneSidedGeometric(Fraction(s))),
    ]
    rows = []
    for name, numpy_name, law in laws:
        for scale in SCALES:
            noise = law(scale)
            ns = cpu_ns(lambda n=noise: n.sample(SIZE, SYSTEM), SIZE, BATCHES)  # type: ignore[misc]
            peer, share = peers.get((name, scale), math.nan) / ns, floor[numpy_name] / ns
            wanted = [(f">= {TIMES_PEER:.0f} x OpenDP", peer / TIMES_PEER)] if name != "geometric" else []
            wanted += [(">= 1/8 of numpy", share / SHARE_OF_NUMPY)] if name == "laplace" else []
            known = [ratio for _, ratio in wanted if not math.isnan(ratio)]
            met = all(ratio >= 1 for ratio in known) if known else None
            rows.append(
                Row(f"{name}, scale {scale:g}", ns, peer, share, ", ".join(w for w, _ in wanted), met)
            )
    return rows


def single_rows(peers: dict[tuple[str, int], float]) -> list[Row]:
    laplace, gaussian = DiscreteLaplace(Fraction(10)), DiscreteGaussian(Fraction(100))
    mechanism = Laplace(sensitivity=1, epsilon=Fraction(1, 10))
    insecure = cpu_ns(singles(lambda: INSECURE.laplace(0, 10)), SINGLES, BATCHES)
    peer = peers.get(("single call laplace", 10), math.nan)

    def row(what: str, draw: Callable[[], Any], bar: float | None = None) -> Row:
        ns = cpu_ns(singles(draw), SINGLES, BATCHES)
        words = "" if bar is None else f"<= {bar / 1000:g} us"
        return Row(what, ns, peer / ns, insecure / ns, words, None if bar is None else ns <= bar)

    return [
        row("one laplace draw, scale 10", lambda: laplace.draw(SYSTEM)),
        row("one gaussian draw, scale 10", lambda: gaussian.draw(SYSTEM)),
        row("one noisy count, Laplace(...).release(1234)", lambda: mechanism.release(1234), COUNT_NS),
    ]


def number(value: float, form: str) -> str:
    return "" if math.isnan(value) else format(value, form)


def main() -> None:
    """Print the table."""
    peers = peer_times()
    floor = floor_rows()
    print(f"Noise: arrays of {SIZE:,}, median CPU time of {BATCHES} batches.")
    if not peers:
        print("opendp not installed: nothing to compare with, its column stays empty.")
    rows = [*floor, *(Row(f"OpenDP {name}, scale {scale:g}", ns) for (name, scale), ns in peers.items())]
    rows += array_rows(peers, {row.what: row.ns for row in floor}) + single_rows(peers)
    print(f"{'what':<46}{'ns a sample':>12}{'x OpenDP':>10}{'x numpy':>9}  {'bar':<36}met")
    for row in rows:
        met = "" if row.met is None else "yes" if row.met else "NO"
        cells = f"{row.ns:>12.1f}{number(row.peer, '.0f'):>10}{number(row.numpy, '.2f'):>9}"
        print(f"{row.what:<46}{cells}  {row.bar:<36}{met}")


if __name__ == "__main__":
    main()
