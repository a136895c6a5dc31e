"""How often the error bars of models hold: tables that they were tuned on, and tables that nobody tuned on.

Bars are `standard_errors` of five runs; "holds" is the share of all cells that lie within 1.96 of them,
"width" the root mean square of the bars over that of the errors. Every release has its own seed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks import adult
from discreet.core.neighbours import AddRemove
from discreet.datasets import people
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.explicit.mwem import MWEM
from discreet.query_release.explicit.projection import Projection
from discreet.query_release.models.adaptive import Adaptive
from discreet.query_release.models.max_entropy import MaxEntropy
from discreet.query_release.planning.bootstrap import standard_errors
from discreet.testing import unsafe_seeded

EPSILONS = (0.3, 1.0, 3.0)
DELTA = 1e-9
RUNS = 5
SURE = 1.96

Codes = NDArray[np.int64]
Draw = Any  # a numpy generator of table data


class Table(NamedTuple):
    """A table of people, and what is asked of it."""

    name: str
    tuned: bool
    histogram: Histogram
    order: int
    models: tuple[str, ...]


def kinds_of_people(draw: Draw, rows: int, shape: tuple[int, ...], kinds: int, evenness: float) -> Codes:
    """Draw rows of a few kinds of people, whose attributes do not depend on each other but for the kind."""
    kind = draw.integers(0, kinds, rows)
    columns = []
    for size in shape:
        ends = draw.dirichlet(np.full(size, evenness), kinds).cumsum(axis=1)
        columns.append((ends[kind] < draw.random(rows)[:, None]).sum(axis=1).clip(0, size - 1))
    return np.stack(columns, axis=1)


def chain(draw: Draw, rows: int, columns: int, size: int, kept: float) -> Codes:
    """Draw attributes each of which is mostly the one before."""
    found = [draw.integers(0, size, rows)]
    for _ in range(columns - 1):
        found.append(np.where(draw.random(rows) < kept, found[-1], draw.integers(0, size, rows)))
    return np.stack(found, axis=1)


def heavy(draw: Draw, rows: int, shape: tuple[int, ...]) -> Codes:
    """Draw values with heavy tails, the second of which depends on the first."""
    codes = np.stack([np.minimum(draw.zipf(1.6, rows) - 1, size - 1) for size in shape], axis=1)
    codes[:, 1] = (codes[:, 1] + codes[:, 0]) % shape[1]
    return np.asarray(codes, dtype=np.int64)


def arithmetic(draw: Draw, rows: int) -> Codes:
    """Draw attributes that nearly are functions of others."""
    a = draw.integers(0, 5, rows)
    b = (a + draw.choice([0, 0, 0, 1], rows)) % 5
    c = (a * b + draw.choice([0, 0, 1, 2], rows)) % 5
    d = ((a + c) % 2) ^ (draw.random(rows) < 0.1)
    return np.stack([a, b, c, d], axis=1)


def ages(draw: Draw, rows: int) -> Codes:
    """Draw an attribute of sixty values, and two that follow it."""
    age = np.clip(draw.normal(25, 12, rows), 0, 59).astype(np.int64)
    wage = np.clip(age / 5 + draw.normal(0, 1.5, rows), 0, 11).astype(np.int64)
    return np.stack([age, wage, (draw.random(rows) < wage / 14) + (age > 40).astype(np.int64)], axis=1)


def survey(draw: Draw, rows: int) -> Codes:
    """Return some of the bundled people: age by five years, eighths of earnings, and the rest as it is."""
    found = people()
    earned = np.array(found["earnings"], dtype=np.float64)
    columns = [np.unique(np.array(found["age"], dtype=np.float64) // 5, return_inverse=True)[1]]
    columns += [np.unique(found[name], return_inverse=True)[1] for name in ("gender", "region", "education")]
    columns.append(np.searchsorted(np.quantile(earned, np.linspace(0, 1, 9)[1:-1]), earned))
    chosen = draw.permutation(len(earned))[:rows]
    return np.asarray(np.stack(columns, axis=1)[chosen], dtype=np.int64)


def counted(codes: Codes) -> Histogram:
    """Return a histogram over as many values as there are, numbers and names in turn."""
    sizes = (codes.max(axis=0) + 1).tolist()
    values = [range(n) if place % 2 == 0 else [f"v{v}" for v in range(n)] for place, n in enumerate(sizes)]
    universe = Universe([(f"c{place}", each) for place, each in enumerate(values)])
    found = Histogram.from_records(universe, codes)
    return found.to_dense() if universe.is_dense else found


def tables(seed: int) -> Iterator[Table]:
    """List all tables."""
    draw = np.random.default_rng(seed)  # noqa: TID251
    small, wide = ("max-entropy", "projection", "mwem"), ("adaptive",)
    few = kinds_of_people(draw, 5000, (6, 4, 5, 3), 4, 0.3)
    yield Table("independent", True, counted(kinds_of_people(draw, 4000, (5, 4, 6, 2), 1, 0.7)), 2, small)
    yield Table("four kinds", True, counted(few), 3, small[:1])
    yield Table("heavy tails", True, counted(heavy(draw, 8000, (10, 7, 5, 3))), 2, small)
    yield Table("a chain", True, counted(chain(draw, 3000, 10, 4, 0.6)), 2, wide)
    eleven = kinds_of_people(draw, 9000, (5, 7, 3, 4, 6, 2, 9, 3, 5, 2, 4), 4, 0.4)
    yield Table("eleven columns", True, counted(eleven), 2, wide)
    yield Table("arithmetic", False, counted(arithmetic(draw, 3000)), 2, (*small, *wide))
    yield Table("few rows", False, counted(kinds_of_people(draw, 600, (8, 8, 6, 4), 3, 0.15)), 2, small)
    yield Table("sixty values", False, counted(ages(draw, 6000)), 2, small[:1])
    yield Table("bundled people", False, counted(survey(draw, 12_000)), 2, (*small, *wide))
    twelve = kinds_of_people(draw, 6000, (6, 5, 4, 3, 8, 2, 5, 4, 10, 3, 2, 6), 5, 0.3)
    yield Table("twelve columns", False, counted(twelve), 2, wide)
    census = adult.census(adult.SMALL6)
    if census is not None:
        yield Table("census", False, census.histogram, 2, small[:1])


def made(name: str, workload: Marginals, epsilon: float, rows: int) -> WorkloadRelease:
    """Return a mechanism by the name of its card."""
    public: dict[str, Any] = {
        "workload": workload,
        "epsilon": epsilon,
        "delta": DELTA,
        "neighbours": AddRemove("row"),
    }
    makes: dict[str, Callable[[], WorkloadRelease]] = {
        "max-entropy": lambda: MaxEntropy(**public),
        "adaptive": lambda: Adaptive(**public),
        "projection": lambda: Projection(rows=4 * rows, **public),
        "mwem": lambda: MWEM(rounds=min(10, len(workload.sets)), rows=rows, **public),
    }
    return makes[name]()


def main() -> None:
    """Print a line a table, model and budget, then the means of both halves."""
    means: dict[bool, list[float]] = {True: [], False: []}
    print(f"{'table':16} {'model':12} {'epsilon':>7} {'cells':>6} {'holds':>6} {'width':>6}")
    for table in tables(seed=1):
        workload = Marginals.of_order(table.histogram.universe, table.order)
        truth = workload.answers(table.histogram)
        for model in table.models:
            for epsilon in EPSILONS:
                mechanism = made(model, workload, epsilon, table.histogram.total)
                synopsis = mechanism.release(
                    table.histogram, rng=unsafe_seeded(len(means[table.tuned]))
                ).value
                bars = standard_errors(mechanism, synopsis, workload, runs=RUNS, rng=unsafe_seeded(1))
                off = np.abs(synopsis.answers(workload) - truth)
                holds, width = (
                    (off <= SURE * bars).mean(),
                    np.sqrt(np.square(bars).mean() / np.square(off).mean()),
                )
                means[table.tuned].append(float(holds))
                print(
                    f"{table.name:16} {model:12} {epsilon:7g} {len(truth):6d} {holds:6.3f} {width:6.2f}",
                    flush=True,
                )
    for tuned, found in means.items():
        kind = "tuned on" if tuned else "not tuned on"
        print(f"{kind:13} {len(found):3d} releases: mean {np.mean(found):.3f}, lowest {min(found):.3f}")


if __name__ == "__main__":
    main()
