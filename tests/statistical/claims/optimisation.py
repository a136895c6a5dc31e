"""Claims of private optimisation: how far from the best answer, on instances whose best answer is known."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case, generator

from discreet.core.neighbours import AddRemove
from discreet.core.rng import Rng
from discreet.optimisation.common.best_of_runs import CARD as BEST_OF_RUNS
from discreet.optimisation.k_median.k_median import KMedian
from discreet.optimisation.k_median.k_median_exhaustive import KMedianExhaustive
from discreet.optimisation.k_median.k_median_histogram import KMedianHistogram
from discreet.optimisation.k_median.metric import Metric
from discreet.optimisation.k_median.swaps import spread_out
from discreet.optimisation.min_cut.choice import all_cut_costs
from discreet.optimisation.min_cut.min_cut import MinCut
from discreet.optimisation.min_cut.min_cut_exhaustive import MinCutExhaustive
from discreet.optimisation.min_cut.min_cut_size import MinCutSize
from discreet.optimisation.public_projects.public_projects import PublicProjects
from discreet.optimisation.public_projects.public_projects_exhaustive import PublicProjectsExhaustive
from discreet.optimisation.public_projects.public_projects_sampled import PublicProjectsSampled
from discreet.optimisation.set_cover.set_cover import SetCover
from discreet.optimisation.set_cover.set_cover_exhaustive import SetCoverExhaustive
from discreet.optimisation.set_cover.set_cover_layered import SetCoverLayered
from discreet.optimisation.set_cover.set_cover_split import SetCoverSplit
from discreet.optimisation.set_cover.set_cover_weighted import SetCoverWeighted
from discreet.optimisation.vertex_cover.vertex_cover import VertexCover
from discreet.optimisation.vertex_cover.vertex_cover_sampled import VertexCoverSampled
from discreet.optimisation.vertex_cover.vertex_cover_size import VertexCoverSize
from discreet.optimisation.vertex_cover.vertex_cover_weight import VertexCoverWeight
from discreet.optimisation.vertex_cover.vertex_cover_weighted import VertexCoverWeighted

Edges = list[tuple[int, int]]
SIZE = 300


def _covers() -> dict[str, list[Case]]:
    star: Edges = [(0, leaf) for leaf in range(1, SIZE)]
    pairs: Edges = [(v, v + 1) for v in range(0, SIZE, 2)]
    found: dict[str, list[Case]] = {}
    for label, edges, fewest in (("a star", star, 1), ("pairs", pairs, SIZE // 2), ("one edge", star[:1], 1)):
        for name, kind in (("vertex-cover", VertexCover), ("vertex-cover-sampled", VertexCoverSampled)):
            mechanism = kind(vertices=SIZE, epsilon=2)
            found.setdefault(name, []).append(_cover(label, mechanism, edges, [1] * SIZE, fewest))
    weights = [40, *[1] * (SIZE - 1)]
    heavy = VertexCoverWeighted(vertices=SIZE, weights=[w * 40 for w in weights[:-1]] + [1], epsilon=2)
    found["vertex-cover-weighted"] = [
        _cover(label, heavy, edges, [float(w) for w in heavy.weights], least)
        for label, edges, least in (("a dear hub", star, 40 * 40), ("one leaf", star[-1:], 1))
    ]
    size = VertexCoverSize(vertices=SIZE, epsilon=1)

    def off(rng: Rng) -> float:
        return abs(size.release(pairs, rng=rng).value - 2 * len(pairs))

    found["vertex-cover-size"] = [Case("pairs", size.error, off)]
    dear = VertexCoverWeight(vertices=SIZE, weights=[2, 1] * (SIZE // 2), epsilon=1)

    def weight_off(rng: Rng) -> float:
        return abs(float(dear.release(pairs, rng=rng).value) - 2 * len(pairs))

    found["vertex-cover-weight"] = [Case("pairs", dear.error, weight_off)]
    return found


def _cover(label: str, mechanism: Any, edges: Edges, weights: list[float], least: float) -> Case:
    def ratio(rng: Rng) -> float:
        chosen = mechanism.release(edges, rng=rng).value.cover(edges)
        return sum(weights[v] for v in chosen) / least

    return Case(label, mechanism.error, ratio)


def _set_covers() -> dict[str, list[Case]]:
    """One set holds everything; the others are small, many, and often chosen at low rates."""
    many = 150
    family = [list(range(many)), *[[e] for e in range(many)]]
    costs = [1, *[5] * many]
    few = [list(range(5)), *[[e] for e in range(5)]]
    prices = [2, 1, 1, 1, 1, 20]
    loud = {"epsilon": 100, "delta": 1e-2}
    whole, single = list(range(many)), [7]

    def case(label: str, mechanism: Any, elements: list[int], price: list[int], least: float) -> Case:
        names = dict(enumerate(price))

        def ratio(rng: Rng) -> float:
            used = mechanism.release(elements, rng=rng).value.cover(elements)
            return sum(names[name] for name in used) / least

        return Case(label, mechanism.error, ratio)

    exhaustive = SetCoverExhaustive(family=few, epsilon=2)

    def beyond(rng: Rng) -> float:
        return len(exhaustive.release(range(5), rng=rng).value.cover(range(5))) - 1

    layered = SetCoverLayered(family=few, costs=prices, epsilon=100)
    found = {
        "set-cover-exhaustive": [Case("one for all", exhaustive.error, beyond)],
        "set-cover-layered": [
            case("one for all", layered, [0, 1, 2, 3], prices, 2),
            case("the dear one", layered, [4], prices, 2),
        ],
    }
    for name, mechanism in (
        ("set-cover", SetCover(family=family, **loud)),
        ("set-cover-weighted", SetCoverWeighted(family=family, costs=costs, beta=0.1, **loud)),
        ("set-cover-split", SetCoverSplit(family=family, costs=[*costs[:-1], 10**6], beta=0.1, **loud)),
    ):
        found[name] = [
            case("one for all", mechanism, whole, costs, 1),
            case("a single element", mechanism, single, costs, 1),
        ]
    return found


def _cuts() -> dict[str, list[Case]]:
    def graphs(size: int) -> dict[str, Edges]:
        half = size // 2
        halls = [*itertools.combinations(range(half), 2), *itertools.combinations(range(half, size), 2)]
        return {
            "two halls": [*halls, (0, half)],
            "complete": list(itertools.combinations(range(size), 2)),
            "a star": [(0, leaf) for leaf in range(1, size)],
        }

    def case(label: str, mechanism: Any, edges: Edges, least: int) -> Case:
        def above(rng: Rng) -> float:
            cut = mechanism.release(frozenset(edges), rng=rng).value
            if not cut.side:
                return math.inf
            return sum((u in cut.side) != (v in cut.side) for u, v in edges) - least

        return Case(label, mechanism.error, above)

    found: dict[str, list[Case]] = {"min-cut": [], "min-cut-exhaustive": []}
    for size, name, mechanisms in (
        (16, "min-cut", (MinCut(vertices=16, epsilon=8, delta=0), MinCut(vertices=16, epsilon=6, delta=0.1))),
        (10, "min-cut-exhaustive", (MinCutExhaustive(vertices=10, epsilon=2),)),
    ):
        for label, edges in graphs(size).items():
            matrix = np.zeros((size, size), dtype=np.int64)
            for u, v in edges:
                matrix[u, v] = matrix[v, u] = 1
            least = int(all_cut_costs(matrix).min())
            found[name] += [case(label, mechanism, edges, least) for mechanism in mechanisms]
    size_alone, ring = MinCutSize(vertices=6, epsilon=1), [(v, (v + 1) % 6) for v in range(6)]

    def off(rng: Rng) -> float:
        return abs(size_alone.release(ring, rng=rng).value - 2)

    found["min-cut-size"] = [Case("a ring", size_alone.error, off)]
    return found


def _medians() -> dict[str, list[Case]]:
    metric = Metric.points([(x, y) for x in range(4) for y in range(3)], unit=0.01)
    public: dict[str, Any] = {"metric": metric, "k": 2, "neighbours": AddRemove("person")}
    sets = list(itertools.combinations(range(metric.sites), 2))
    people = {
        "two towns": np.repeat([0, 11], 300),
        "two villages": np.repeat([0, 11], 40),
        "one far away": np.array([0] * 500 + [11]),
        "everywhere": np.arange(600) % 12,
        "few": np.repeat([0, 11], 10),
    }
    found: dict[str, list[Case]] = {}
    for label, places in people.items():
        optimum = min(float(metric.cost(places, chosen)) for chosen in sets)
        start = float(metric.cost(places, spread_out(metric, 2)))
        local = KMedian(epsilon=1, delta=1e-6, **public)
        for name, mechanism, target in (
            ("k-median", local, 5 * optimum + 0.5**local.steps * start),
            ("k-median-exhaustive", KMedianExhaustive(epsilon=1, **public), optimum),
            ("k-median-histogram", KMedianHistogram(epsilon=1, **public), 5 * optimum),
        ):

            def above(rng: Rng, m: Any = mechanism, p: Any = places, t: float = target) -> float:
                return float(metric.cost(p, m.release(p, rng=rng).value.sites)) - t

            found.setdefault(name, []).append(Case(label, mechanism.error, above))
    return found


def _projects() -> dict[str, list[Case]]:
    draw = generator(3)
    rare = np.zeros((16, 40), dtype=bool)
    rare[:8, 0] = rare[8:, 1] = True  # two items for a few, and 38 that nobody wants
    # Of items that all are wanted alike, any two do: nothing could be missed.
    tables = {"more and more": draw.random((2000, 12)) < np.arange(12) ** 2 / 300, "two for few": rare}
    found: dict[str, list[Case]] = {}
    for label, wishes in tables.items():
        items = wishes.shape[1]
        public: dict[str, Any] = {"resources": items, "k": 2, "epsilon": 1, "neighbours": AddRemove("agent")}
        for name, mechanism in (
            ("public-projects", PublicProjects(delta=0, **public)),
            ("public-projects", PublicProjects(delta=1e-6, **public)),
            ("public-projects-sampled", PublicProjectsSampled(**public)),
            ("public-projects-exhaustive", PublicProjectsExhaustive(**public)),
        ):
            best = max(_wanted(wishes, chosen) for chosen in itertools.combinations(range(items), 2))
            target = getattr(mechanism, "ratio", 1 - 1 / math.e) * best

            def short(rng: Rng, m: Any = mechanism, w: Any = wishes, t: float = target) -> float:
                return t - _wanted(w, m.release(w, rng=rng).value)

            found.setdefault(name, []).append(Case(label, mechanism.error, short))
    for name in ("public-projects", "public-projects-sampled", "public-projects-exhaustive"):
        found[f"{name}.rounded_error"] = [
            Case(case.label, case.bound.__self__.rounded_error, case.off) for case in found[name][-1:]
        ]
    return found


def _wanted(wishes: Any, chosen: Any) -> int:
    return int(wishes[:, list(chosen)].any(axis=1).sum())


def _best_of_runs() -> dict[str, list[Case]]:
    best, scores = BEST_OF_RUNS.example()[0], (30, 50)

    def short(rng: Rng) -> float:
        return float(max(scores) - scores[best.release(scores, rng=rng).value.value])

    return {"best-of-runs": [Case("two candidates", best.error, short)]}


def cases() -> dict[str, list[Case]]:
    """All cases, by card."""
    return {**_covers(), **_set_covers(), **_cuts(), **_medians(), **_projects(), **_best_of_runs()}
