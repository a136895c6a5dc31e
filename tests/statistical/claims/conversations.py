"""Claims of conversations about counts, and of counts in halfspaces."""

from __future__ import annotations

from typing import Any

import numpy as np
from tests.statistical.claims.harness import Case, generator, tables

from discreet.core.neighbours import AddRemove, Replace
from discreet.core.rng import Rng
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.halfspaces.half_planes import HalfPlanes
from discreet.query_release.halfspaces.halfspace_net import HalfspaceNet
from discreet.query_release.halfspaces.projected_halfspaces import ProjectedHalfspaces
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.median.median_mechanism import MedianMechanism
from discreet.query_release.median.median_polytope import MedianPolytope
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights

PERSON, ROW = AddRemove("person"), Replace("row")
PEOPLE = Universe([("age", range(4)), ("region", range(3)), ("smoker", (0, 1))])


def _questions(universe: Universe, count: int, *, whole: bool = True) -> list[TableQuery]:
    """Random subsets, and weights between 0 and 1 where they are allowed."""
    draw, axes = generator(11), tuple(range(len(universe.shape)))
    weights = [draw.random(universe.shape) for _ in range(count)]
    return [
        TableQuery(universe, axes, f"q{n}", table=(w < 0.5).astype(np.int64) if whole else np.round(w, 1))
        for n, w in enumerate(weights)
    ]


def _talk(label: str, mechanism: Any, data: Histogram, asked: list[TableQuery], **more: Any) -> Case:
    """The worst answer before closing; what is stale is promised nothing."""
    truth = [query.evaluate(data) for query in asked]

    def off(rng: Rng) -> float:
        worst = 0.0
        with mechanism.open(data, rng=rng) as talk:
            for query, true in zip(asked, truth, strict=True):
                if talk.closed:
                    break
                worst = max(worst, abs(talk.ask(query).value - true))
        return worst

    return Case(label, mechanism.error, off, **more)


def _weights() -> list[Case]:
    found = []
    public: dict[str, Any] = {"universe": PEOPLE, "epsilon": 2, "updates": 3, "queries": 30}
    start = ResidualMarginals(
        workload=Marginals.of_order(PEOPLE, 2), epsilon=1, delta=1e-9, neighbours=PERSON
    )
    for label, data in tables(PEOPLE, 3000).items():
        for kind, given in (
            ("pure", {"delta": 0, "neighbours": PERSON}),
            ("public rows", {"delta": 1e-9, "neighbours": ROW, "rows": 3000}),
            ("warm", {"delta": 1e-9, "neighbours": PERSON, "start": start}),
            ("a wrong guess of the rows", {"delta": 1e-9, "neighbours": PERSON, "rows": 300}),
        ):
            mechanism = MultiplicativeWeights(**public, **given)
            found.append(_talk(f"{kind}, {label}", mechanism, data, _questions(PEOPLE, 30)))
    real = MultiplicativeWeights(delta=1e-9, neighbours=PERSON, grid=0.1, **public)
    asked = _questions(PEOPLE, 30, whole=False)
    found.append(_talk("weights on a grid", real, tables(PEOPLE, 3000)["heavy"], asked))
    return found


def _medians() -> dict[str, list[Case]]:
    coins = Universe([("a", range(3)), ("b", (0, 1))])
    rows = 10_000
    public: dict[str, Any] = {
        "universe": coins,
        "rows": rows,
        "epsilon": 1,
        "delta": 1e-9,
        "updates": 8,
        "neighbours": ROW,
        "queries": 20,
    }
    found: dict[str, list[Case]] = {"median-mechanism": [], "median-polytope": []}
    for label, data in tables(coins, rows).items():
        for name, mechanism in (
            ("median-mechanism", MedianMechanism(threshold=1500, size=8, **public)),
            ("median-polytope", MedianPolytope(threshold=1500, **public)),
        ):
            found[name].append(_talk(label, mechanism, data, _questions(coins, 20)))
    for name, cases in list(found.items()):
        mechanism = cases[-1].bound.__self__
        found[f"{name}.measured_error"] = [_measured(mechanism, tables(coins, rows)["heavy"])]
    return found


def _measured(mechanism: Any, data: Histogram) -> Case:
    asked = _questions(mechanism.universe, 20)

    def off(rng: Rng) -> float:
        worst = 0.0
        with mechanism.open(data, rng=rng) as talk:
            for query in asked:
                if talk.closed:
                    break
                answer = talk.ask(query)
                if answer.kind == "measured":
                    worst = max(worst, abs(answer.value - query.evaluate(data)))
        return worst

    return Case("heavy", mechanism.measured_error, off)


def _halfspaces() -> dict[str, list[Case]]:
    plane = Universe([("x", range(-10, 11)), ("y", range(-10, 11))])
    space = Universe([(name, range(-2, 3)) for name in "xyz"])
    found: dict[str, list[Case]] = {"halfspace-net": [], "half-planes": []}
    for delta in (0, 1e-6):
        public: dict[str, Any] = {"epsilon": 1, "delta": delta, "neighbours": PERSON}
        planes = HalfPlanes(universe=plane, turn=16, **public)
        net = HalfspaceNet(universe=space, net=60, margin=0.4, **public)
        for name, mechanism, universe in (("half-planes", planes, plane), ("halfspace-net", net, space)):
            for label, data in tables(universe, 3000).items():
                found[name].append(_borders(f"{label}, delta {delta}", mechanism, data))
    projected = ProjectedHalfspaces(
        universe=space, projections=3, dimension=2, directions=8, seed=1, epsilon=1, neighbours=PERSON
    )
    data = tables(space, 3000)["heavy"]
    truth = np.asarray(projected.workload.answers(data))

    def off(rng: Rng) -> float:
        return float(np.abs(np.array(projected.release(data, rng=rng).value.transcript) - truth).max())

    found["projected-halfspaces.measured_error"] = [Case("heavy", projected.measured_error, off)]
    return found


def _borders(label: str, mechanism: Any, data: Histogram) -> Case:
    """How far the true count is outside of what an answer says it lies between."""
    codes, counts = data.entries()
    points = np.stack(
        [
            np.array(attribute.values)[codes[:, axis]]
            for axis, attribute in enumerate(data.universe.attributes)
        ],
        axis=1,
    )
    normals = generator(13).integers(-9, 10, (12, points.shape[1]))
    normals = normals[np.any(normals != 0, axis=1)]
    truth = [int(counts[points @ normal >= 0].sum()) for normal in normals]

    def off(rng: Rng) -> float:
        value = mechanism.release(data, rng=rng).value
        asked = [value.answer(tuple(map(int, normal))) for normal in normals]
        return max(max(b.low - true, true - b.high) for b, true in zip(asked, truth, strict=True))

    return Case(label, mechanism.error, off)


def cases() -> dict[str, list[Case]]:
    """All cases, by card; claims beside `error` have the name of their method behind a dot."""
    return {"multiplicative-weights": _weights(), **_medians(), **_halfspaces()}
