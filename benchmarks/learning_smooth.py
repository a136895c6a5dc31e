"""Would smooth sensitivity be better anywhere? Its noise, idealised, beside what the package releases.

Median, trimmed mean (5 % off either end) and interquartile range of incomes declared up to ten million, and
of ages; rows that are replaced, epsilon 1, delta 1e-6. Numbers are median absolute errors around the
statistic of the rows at hand.

* smooth: Laplace noise of scale 2 S / epsilon, where S is the smooth bound [NRS07] with
  beta = epsilon / (2 ln(2 / delta)), from the exact local sensitivities at every distance. Continuous and
  idealised; it never refuses.
* proposed: propose-test-release of the package, half of the budget each, where the proposed bound is the
  local sensitivity and a twentieth, or twice it. Nothing where rows are too near to a table that breaks it.
* chosen: exponential mechanisms on ranks, with no delta: the median; two quartiles; and for a mean two
  quantiles, a quarter of epsilon each, at which rows are clamped before a mean with Laplace noise.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.core.neighbours import Replace
from discreet.learning import propose_interquartile_range, propose_trimmed_mean
from discreet.mechanisms import ProposeTestRelease

EPSILON, DELTA, TRIM, DRAWS = 1.0, 1e-6, 0.05, 4000
BETA = EPSILON / (2 * math.log(2 / DELTA))


def moves(rows: Any, low: int, high: int, bounds: tuple[float, float]) -> Callable[[int], float]:
    """Return how far one more row can move what lies from place to place after some were replaced."""
    beyond = len(rows) + 2
    padded = np.concatenate([np.full(beyond, bounds[0]), np.sort(rows), np.full(beyond, bounds[1])])
    a, b = low + beyond, high + beyond
    return lambda k: float((padded[b : b + k + 2] - padded[a - k - 1 : a + 1]).max())


def smooth(local: Callable[[int], float], rows: int) -> float:
    distances = sorted({*range(300), *np.geomspace(300, max(301, rows), 100).astype(int).tolist()})
    bound = max(math.exp(-BETA * k) * local(k) for k in distances if k <= rows)
    return 2 / EPSILON * bound * math.log(2)


def choose(rows: Any, place: float, epsilon: float, bounds: tuple[float, float], generator: Any) -> Any:
    """Draw numbers whose rank is near a place, by the exponential mechanism over all numbers."""
    edges = np.concatenate([[bounds[0]], np.sort(rows), [bounds[1]]])
    widths = np.diff(edges)
    weights = widths * np.exp(-epsilon / 2 * np.abs(np.arange(len(widths)) - place))
    cells = generator.choice(len(widths), size=DRAWS, p=weights / weights.sum())
    return edges[cells] + generator.random(DRAWS) * widths[cells]


def proposed(mechanism: ProposeTestRelease, rows: Any) -> float:
    replies = [mechanism.release(rows).value for _ in range(40)]
    known = [abs(float(reply) - float(mechanism.value(rows))) for reply in replies if reply is not None]
    return float(np.median(known)) if len(known) > 20 else math.nan


def measure(name: str, rows: Any, bounds: tuple[float, float], grid: float, generator: Any) -> None:
    count, ordered = len(rows), np.sort(rows)
    public: dict[str, Any] = {"lower": bounds[0], "upper": bounds[1], "grid": grid}
    public |= {"neighbours": Replace("row"), "epsilon_test": EPSILON / 2, "epsilon_release": EPSILON / 2}
    public["delta"] = DELTA
    cut, quarter, middle = int(TRIM * count), math.ceil(count / 4) - 1, (count + 1) // 2 - 1
    last = math.ceil(3 * count / 4) - 1
    left = count - 2 * cut
    cases: dict[str, tuple[Callable[[int], float], Callable[[float], ProposeTestRelease], Any]] = {}
    one = moves(rows, middle, middle, bounds)
    found = choose(rows, count / 2, EPSILON, bounds, generator) - ordered[middle]
    cases["median"] = one, lambda bound: ProposeTestRelease.median(bound=bound, **public), found
    wide = moves(rows, cut, count - 1 - cut, bounds)
    low, high = (
        choose(rows, part * count, EPSILON / 4, bounds, generator)[:200] for part in (TRIM, 1 - TRIM)
    )
    clamped = np.array([np.clip(rows, a, b).mean() for a, b in zip(low, np.maximum(low, high), strict=True)])
    noise = generator.laplace(0, 2 * np.maximum(high - low, 0) / (EPSILON * count))
    off = clamped + noise - np.clip(rows, ordered[cut], ordered[-1 - cut]).mean()
    cases["trimmed mean"] = (
        lambda k: wide(k) / left,
        lambda bound: propose_trimmed_mean(trim=TRIM, bound=bound, **public),
        off,
    )
    first, third = moves(rows, quarter, quarter, bounds), moves(rows, last, last, bounds)
    ends = [choose(rows, part * count, EPSILON / 2, bounds, generator) for part in (0.25, 0.75)]
    cases["quartiles"] = (
        lambda k: max(first(k), third(k)),
        lambda bound: propose_interquartile_range(bound=bound, **public),
        ends[1] - ends[0] - (ordered[last] - ordered[quarter]),
    )
    for statistic, (local, make, chosen) in cases.items():
        near, far = (proposed(make(max(grid, local(0) * wider)), rows) for wider in (1.05, 2))
        ways = {"smooth": smooth(local, count), "proposed": near, "twice that": far}
        ways["chosen"] = float(np.median(np.abs(chosen)))
        shown = "  ".join(f"{way} {off:9.3f}" for way, off in ways.items())
        print(f"{name:8} {count:>6} rows  {statistic:13} {shown}")


def main() -> None:
    generator = np.random.default_rng(1)  # noqa: TID251
    for count in (1000, 5000, 20_000):
        measure("incomes", np.exp(generator.normal(10.5, 0.5, count)), (0, 1e7), 0.1, generator)
        measure("ages", generator.uniform(18, 90, count), (0, 120), 0.001, generator)


if __name__ == "__main__":
    main()
