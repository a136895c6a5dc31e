"""k-median and public projects at scale: time, and quality against the printed calibrations, in one run."""

from __future__ import annotations

import time
from collections.abc import Callable
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from scipy.spatial import KDTree

from discreet.core.neighbours import AddRemove
from discreet.optimisation.k_median.k_median import KMedian
from discreet.optimisation.k_median.k_median_histogram import KMedianHistogram
from discreet.optimisation.k_median.metric import Metric
from discreet.optimisation.k_median.swaps import local_optimum, spread_out
from discreet.optimisation.public_projects.agents import read_agents
from discreet.optimisation.public_projects.public_projects import PublicProjects
from discreet.optimisation.public_projects.public_projects_sampled import PublicProjectsSampled

MEDIAN_BAR = 30.0
"""Seconds for 1e5 people, 2,000 sites and k = 20."""
PROJECTS_BAR = 10.0
"""Seconds for k = 100 of 1e4 items over 1e5 agents."""

PERSON, AGENT = AddRemove("person"), AddRemove("agent")


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    return work(), time.perf_counter() - start


def verdict(seconds: float, bar: float) -> str:
    return f"bar {bar:g} s {'met' if seconds <= bar else 'MISSED'}"


def city(sites: int, people: int) -> tuple[Metric, Any]:
    """Return sites in the unit square and people in a dozen towns, each at the nearest site."""
    generator = np.random.default_rng(1)  # noqa: TID251
    where, towns = generator.random((sites, 2)), generator.random((12, 2))
    homes = towns[generator.integers(0, 12, people)] + generator.normal(0, 0.06, (people, 2))
    return Metric.points(where, unit=0.001), KDTree(where).query(homes)[1]


def medians(sites: int, people: int, k: int) -> None:
    metric, places = city(sites, people)
    start = spread_out(metric, k)
    best, seconds = timed(lambda: local_optimum(metric, metric.counts(places), start))
    known = metric.cost(places, best)
    print(f"\nk-median: {people:,} people, {sites:,} sites, k = {k}")
    print(f"{'what':46} {'cost':>9} {'bound, added':>13} {'seconds':>8}")
    print(f"{'start, by public distances alone':46} {metric.cost(places, start):9.0f}")
    print(f"{'local search without privacy':46} {known:9.0f} {'':13} {seconds:8.2f}")
    public: dict[str, Any] = {"metric": metric, "k": k, "neighbours": PERSON}
    rows: list[tuple[str, Any]] = [
        ("histogram, epsilon 1", KMedianHistogram(epsilon=1, **public)),
        ("histogram, epsilon 0.1", KMedianHistogram(epsilon=0.1, **public)),
        ("local search, epsilon 1", KMedian(epsilon=1, delta=0, **public)),
        ("local search, epsilon 1, delta 1e-6", KMedian(epsilon=1, delta=1e-6, **public)),
        ("printed, epsilon 1, as many steps", KMedian(epsilon=1, delta=0, calibration="thesis", **public)),
    ]
    for name, mechanism in rows:
        release, seconds = timed(partial(mechanism.release, places))
        cost, added = metric.cost(places, release.value.sites), mechanism.error(0.05)
        left = (1 - 1 / k) ** mechanism.steps * metric.cost(places, start) if "search" in name else 0.0
        held = "within its bound" if cost <= 5 * known + left + added else "ABOVE ITS BOUND"
        print(f"{name:46} {cost:9.0f} {added:13.0f} {seconds:8.2f}  {verdict(seconds, MEDIAN_BAR)}, {held}")


def value(table: Any, chosen: tuple[int, ...]) -> int:
    return int((table[:, list(chosen)].sum(axis=1) > 0).sum())


def greedy(table: Any, k: int) -> tuple[int, ...]:
    rounds, chosen = read_agents(table, table.shape[1], Fraction(1)).begin(), []
    for _ in range(k):
        chosen.append(int(rounds.gains().argmax()))
        rounds.take(chosen[-1])
    return tuple(chosen)


def wishes(agents: int, items: int, each: int) -> Any:
    """Return agents with a few wishes each, popular items more often."""
    generator = np.random.default_rng(2)  # noqa: TID251
    popular = (items * generator.random((agents, each)) ** 4).astype(np.int64)
    rows = np.repeat(np.arange(agents), each)
    ones = np.ones(rows.size, dtype=np.int8)
    return sparse.csr_array((ones, (rows, popular.ravel())), shape=(agents, items))


def projects(agents: int, items: int, k: int) -> None:
    table = wishes(agents, items, 5)
    best, seconds = timed(lambda: value(table, greedy(table, k)))
    print(f"\npublic projects: {agents:,} agents, k = {k} of {items:,} items; greedy reaches {best:,}")
    print(f"{'what':46} {'of greedy':>9} {'exponent':>9} {'truthful':>9} {'seconds':>8}")
    print(f"{'greedy without privacy':46} {1:9.3f} {'':9} {'':9} {seconds:8.2f}")
    public: dict[str, Any] = {"resources": items, "k": k, "neighbours": AGENT}
    for epsilon in (0.1, 1):
        approximate = {"epsilon": epsilon, "delta": 1e-6, **public}
        rows: list[tuple[str, Any]] = [
            ("secret sample, pure", PublicProjectsSampled(epsilon=epsilon, **public)),
            ("delta 1e-6", PublicProjects(**approximate)),
            ("delta 0", PublicProjects(epsilon=epsilon, delta=0, **public)),
            ("printed, delta 1e-6", PublicProjects(calibration="thesis", **approximate)),
        ]
        for name, mechanism in rows:
            release, seconds = timed(partial(mechanism.release, table))
            share = value(table, release.value) / best
            numbers = f"{float(mechanism.range_):9.4f} {mechanism.truthfulness:9.4f} {seconds:8.2f}"
            print(f"epsilon {epsilon:<5g}{name:33} {share:9.3f} {numbers}  {verdict(seconds, PROJECTS_BAR)}")


def main() -> None:
    """Print both tables, at a small and at the full size."""
    medians(500, 100_000, 20)
    medians(2_000, 100_000, 20)
    projects(20_000, 1_000, 20)
    projects(100_000, 10_000, 100)


if __name__ == "__main__":
    main()
