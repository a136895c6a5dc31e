"""Claims of query release: the largest error of a workload, on tables and queries of all kinds."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case, generator, synopsis_case, tables

from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.kinds.union import Union
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.universe import Universe
from discreet.queries.workload import Workload
from discreet.query_release.explicit.mwem import MWEM
from discreet.query_release.explicit.projection import Projection
from discreet.query_release.explicit.small_database import SmallDatabase
from discreet.query_release.linear.independent import Independent
from discreet.query_release.linear.interval_search import IntervalSearch
from discreet.query_release.linear.range_tree import RangeTree
from discreet.query_release.linear.rectangle_tree import RectangleTree
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.linear.split import Split
from discreet.query_release.models.adaptive import Adaptive
from discreet.query_release.models.max_entropy import MaxEntropy
from discreet.query_release.population_count import PopulationCount

PERSON, SWAP = AddRemove("person"), Replace("person")
LINE = Universe([("x", range(1024))])
PLANE = Universe([("x", range(16)), ("y", range(12))])
SURVEY = Universe([("a", range(4)), ("b", range(3)), ("c", (0, 1))])
ROWS = 3000


def asked_of(universe: Universe, names: list[str]) -> dict[str, Workload]:
    """Queries over some attributes that no theorem was written for, beside those that one was."""
    shape = tuple(universe.shape[universe.axis(name)] for name in names)
    draw = generator(7)
    checked = np.indices(shape).sum(axis=0) % 2
    return {
        "every second cell": Predicates(universe, [(names, checked == 0)]),
        "random subsets": Predicates(universe, [(names, draw.random(shape) < 0.5) for _ in range(6)]),
        "weights up to 50": Weighted(universe, [(names, draw.integers(-50, 51, shape)) for _ in range(5)]),
        "weighted boxes": Weighted(
            universe, [(names, np.where(np.indices(shape)[0] < k, 9, 0)) for k in (1, 5)]
        ),
        "everybody": Predicates(universe, [(names, np.ones(shape, dtype=bool))]),
    }


def _trees() -> dict[str, list[Case]]:
    found: dict[str, list[Case]] = {"range-tree": [], "rectangle-tree": []}
    lines = {"prefixes": Prefixes(LINE, ["x"]), **asked_of(LINE, ["x"])}
    planes = {"boxes": Rectangles.every(PLANE, ["x", "y"]), **asked_of(PLANE, ["x", "y"])}
    for name, kind, universe, workloads in (
        ("range-tree", RangeTree, LINE, lines),
        ("rectangle-tree", RectangleTree, PLANE, planes),
    ):
        data = tables(universe, ROWS)["heavy"]
        for label, workload in workloads.items():
            for delta, neighbours in ((0, PERSON), (1e-6, PERSON), (0, SWAP)):
                mechanism = kind(workload=workload, epsilon=1, delta=delta, neighbours=neighbours)
                case = f"{label}, delta {delta}, {type(neighbours).__name__}"
                found[name].append(synopsis_case(case, mechanism, workload, data))
    return found


def _intervals() -> list[Case]:
    universe = Universe([("x", range(64))])
    rows = 400_000
    public: dict[str, Any] = {"epsilon": 40, "rows": rows, "accuracy": 0.3, "neighbours": SWAP}
    ranges = Prefixes(universe, ["x"])
    weighed = Weighted(universe, [(["x"], np.where(np.arange(64) < k, 7, 0)) for k in range(1, 64, 3)])
    found = []
    for label, data in tables(universe, rows).items():
        for kind, workload in (("prefixes", ranges), ("weighted", weighed)):
            mechanism = IntervalSearch(workload=workload, **public)
            found.append(synopsis_case(f"{kind}, {label}", mechanism, workload, data))
    return found


def _tabled() -> dict[str, list[Case]]:
    """Mechanisms for tables and for any queries over a small universe."""
    names = list(SURVEY.names)
    pairs, any_queries = Marginals.of_order(SURVEY, 2), asked_of(SURVEY, names)
    found: dict[str, list[Case]] = {}

    def add(name: str, label: str, mechanism: Any, workload: Workload, data: Histogram, **more: Any) -> None:
        found.setdefault(name, []).append(synopsis_case(label, mechanism, workload, data, **more))

    real = Weighted(SURVEY, [(["a"], [0.1, 0.2, 0.7, 1.0]), (["b"], [0.3, -0.5, 0.1])])
    for label, data in tables(SURVEY, ROWS).items():
        for delta, neighbours in ((0, PERSON), (1e-6, PERSON), (1e-6, SWAP)):
            public: dict[str, Any] = {"epsilon": 1, "delta": delta, "neighbours": neighbours}
            kind = f"{label}, delta {delta}, {type(neighbours).__name__}"
            add("independent", kind, Independent(workload=pairs, **public), pairs, data)
            if delta:
                add("residual-marginals", kind, ResidualMarginals(workload=pairs, **public), pairs, data)
                only = [workload for workload in any_queries.values() if workload.is_integral]
                for place, workload in enumerate(only[: 3 if label == "heavy" else 1]):
                    projected = Projection(workload=workload, rows=ROWS, **public)
                    add("projection", f"{kind}, {place}", projected, workload, data)
        add("independent", f"weights on a grid, {label}", _gridded(real), real, data)
    both = Union([pairs, any_queries["weights up to 50"]], [1, 3])
    parts = (
        Independent(workload=both.parts[0], epsilon=0.5, delta=0, neighbours=PERSON),
        RectangleTree(workload=both.parts[1], epsilon=0.5, delta=0, neighbours=PERSON),
    )
    split = Split(workload=both, mechanisms=parts, epsilon=1, delta=0, neighbours=PERSON)
    add("split", "tables and weights", split, both, tables(SURVEY, ROWS)["heavy"])
    return found


def _gridded(workload: Workload) -> Independent:
    return Independent(workload=workload, epsilon=1, delta=0, neighbours=PERSON, grid=0.1)


def _small_databases() -> dict[str, list[Case]]:
    coins = Universe([("a", range(3)), ("b", (0, 1))])
    queries = Conjunctions.of_width(coins, 2)
    weights = Weighted(coins, [(["a"], [0.0, 0.33, 1.0]), (["b"], [-1.0, 0.5])])
    found: dict[str, list[Case]] = {"small-database": []}
    for label, data in tables(coins, 1000).items():
        for neighbours in (PERSON, SWAP):
            public: dict[str, Any] = {"epsilon": 2, "rows": 1000, "size": 6, "neighbours": neighbours}
            kind = f"{label}, {type(neighbours).__name__}"
            found["small-database"].append(
                synopsis_case(kind, SmallDatabase(workload=queries, **public), queries, data)
            )
            linear = SmallDatabase(workload=weights, grid=0.1, **public)
            found["small-database"].append(synopsis_case(f"{kind}, real weights", linear, weights, data))
    return found


def _noise_alone() -> dict[str, list[Case]]:
    """Claims about what was measured, or about another synopsis than the one that answers."""
    pairs, singles = Marginals.of_order(SURVEY, 2), Conjunctions.of_width(SURVEY, 2)
    data = tables(SURVEY, ROWS)["heavy"]
    public: dict[str, Any] = {"epsilon": 1, "delta": 1e-6, "neighbours": PERSON}
    entropy = MaxEntropy(workload=pairs, **public)
    adaptive = Adaptive(workload=Marginals.of_order(SURVEY, 1), rounds=1, choices=3, **public)
    many = tables(SURVEY, 10**6)["heavy"]
    mwem = MWEM(workload=singles, epsilon=50, delta=1e-6, neighbours=SWAP, rounds=4, rows=10**6)
    off_grid = Weighted(SURVEY, [(["a"], [0.14, 0.26, 0.7, 1.0])])
    rounded = _gridded(off_grid)

    def measured(rng: Rng) -> float:
        value = entropy.release(data, rng=rng).value
        return float(np.abs(value.values - entropy.measured.answers(data)).max())

    def first_tables(rng: Rng) -> float:
        done = adaptive.release(data, rng=rng).value.measurements[: len(SURVEY.shape)]
        own = [data.marginal([SURVEY.names[one.axes[0]]]).counts() for one in done]
        return float(max(np.abs(one.counts - true).max() for one, true in zip(done, own, strict=True)))

    def averaged(rng: Rng) -> float:
        found = mwem.release(many, rng=rng).value.average().answers(singles)
        return float(np.abs(found - singles.answers(many)).max())

    def on_grid(rng: Rng) -> float:
        found = rounded.release(data, rng=rng).value.answers(off_grid)
        return float(np.abs(found - rounded.measured.answers(data) * 0.1).max())

    return {
        "max-entropy.measured_error": [Case("heavy", entropy.measured_error, measured)],
        "adaptive.measured_error": [Case("heavy", adaptive.measured_error, first_tables)],
        "mwem.averaged_error": [Case("a million rows", mwem.averaged_error, averaged)],
        "independent.measured_error": [Case("off the grid", rounded.measured_error, on_grid)],
    }


def _population() -> dict[str, list[Case]]:
    mechanism = PopulationCount(rows=10_000, epsilon=1, missed=1e-3, neighbours=Replace("row"))

    def off(count: int) -> Any:
        return lambda rng: abs(mechanism.release(count, rng=rng).value - count)

    samples = generator(5)

    def beyond(rng: Rng) -> float:
        drawn = int(samples.binomial(10_000, Fraction(1, 3)))
        return abs(mechanism.release(drawn, rng=rng).value - 10_000 / 3)

    return {
        "population-count": [Case(str(count), mechanism.error, off(count)) for count in (0, 4321, 10_000)],
        "population-count.population_error": [Case("a third", mechanism.population_error, beyond)],
    }


def cases() -> dict[str, list[Case]]:
    """All cases, by card; claims beside `error` have the name of their method behind a dot."""
    return {
        **_trees(),
        **_tabled(),
        **_small_databases(),
        **_noise_alone(),
        **_population(),
        "interval-search": _intervals(),
    }
