"""Metrics, graphs and set systems that callers hand in, and what is done with them."""

import inspect
from typing import Any

import networkx as nx
import numpy as np
from tests.contract.door_runs import armed, compare, kind_of
from tests.contract.hostile_objects import (
    Alarm,
    Disguised,
    NosyArray,
    NosyTuple,
    refilled,
    renamed,
    screaming,
)

from discreet import optimisation
from discreet.core.neighbours import AddRemove, Bidder
from discreet.games import FacilityLocation
from discreet.optimisation.common.graphs import Vertices
from discreet.optimisation.k_median.metric import Metric
from discreet.optimisation.set_cover.systems import SetSystem
from discreet.testing import unsafe_seeded

# Optimisation -------------------------------------------------------------------------------------------


def towns() -> list[Any]:
    table = np.array([[0, 1, 4], [1, 0, 3], [4, 3, 0]])
    honest = Metric(table, unit=1)
    return [
        screaming(Metric)(table, unit=1),
        renamed(Metric, table, unit=1),
        Metric(table.view(NosyArray), unit=1),
        refilled(Metric(table, unit=1), distances=honest.distances.view(NosyArray)),
        refilled(Metric(table, unit=1), _digest=Disguised(bytes)),
        Disguised(Metric),
    ]


def median(card: str) -> Any:
    kind = kind_of(card)
    public = {"k": 1, "epsilon": 1, "neighbours": AddRemove("person")} | (
        {"delta": 0} if card == "k-median" else {}
    )

    def run(metric: Any) -> Any:
        return armed(lambda: kind(metric=metric, **public), [0, 1, 1, 2], lambda medians: medians.sites)

    return lambda: compare([Metric(np.array([[0, 1, 4], [1, 0, 3], [4, 3, 0]]), unit=1)], towns(), run)


def facilities() -> None:
    def run(metric: Any) -> Any:
        public = {"k": 2, "epsilon": 1, "neighbours": Bidder()}
        return armed(
            lambda: FacilityLocation(metric=metric, **public), [0, 1, 1, 2], lambda where: where.outcome
        )

    compare([Metric(np.array([[0, 1, 4], [1, 0, 3], [4, 3, 0]]), unit=1)], towns(), run)


class NosyDict(dict):
    """A mapping that keeps every look at it."""

    def items(self) -> Any:
        Alarm.note("dict.items")
        return super().items()

    def __getitem__(self, key: Any) -> Any:
        Alarm.note("dict.getitem")
        return super().__getitem__(key)


SETS = {"a": [1, 2], "b": [2, 3], "c": [3, 1]}


def families() -> list[Any]:
    return [
        screaming(SetSystem)(SETS),
        renamed(SetSystem, SETS),
        NosyDict(SETS),
        {name: NosyTuple(own) for name, own in SETS.items()},
        refilled(SetSystem(SETS), _places=NosyDict({1: 0, 2: 1, 3: 2})),
        refilled(SetSystem(SETS), _members=SetSystem(SETS)._members.view(NosyArray)),
        refilled(SetSystem(SETS), names=NosyTuple(("a", "b", "c"))),
        Disguised(SetSystem),
    ]


def cover(card: str) -> Any:
    kind = kind_of(card)
    wanted = inspect.signature(kind).parameters
    public = {"epsilon": 1, "delta": 0.01, "costs": [1, 2, 4], "beta": 0.05}
    known = {name: value for name, value in public.items() if name in wanted}

    def run(family: Any) -> Any:
        return armed(lambda: kind(family=family, **known), [1, 3], lambda found: found.permutation)

    return lambda: compare([SETS], families(), run)


def vertices() -> list[Any]:
    return [
        NosyTuple((0, 1, 2, 3)),
        screaming(Vertices)(4),
        renamed(Vertices, 4),
        refilled(Vertices(4), names=NosyTuple((0, 1, 2, 3))),
        Disguised(Vertices),
    ]


def cut(card: str) -> Any:
    kind = kind_of(card)
    wanted = inspect.signature(kind).parameters
    public = {"epsilon": 1, "delta": 0, "weights": [1, 2, 4, 8]}
    known = {name: value for name, value in public.items() if name in wanted}
    edges = [(0, 1), (1, 2), (2, 3)]

    def run(given: Any) -> Any:
        return armed(lambda: kind(vertices=given, **known), edges, repr)

    return lambda: compare([4], vertices(), run)


def check_vertex_cover() -> None:
    class Graph(nx.Graph):
        @property
        def adj(self) -> Any:
            Alarm.note("graph.adj")
            return super().adj

    def run(graph: Any) -> Any:
        return repr(optimisation.cover_edges(graph, epsilon=1, rng=unsafe_seeded(5)).value)

    compare([nx.Graph([(0, 1), (1, 2)])], [Graph([(0, 1), (1, 2)]), nx.MultiGraph([(0, 1), (1, 2)])], run)


def check_set_cover() -> None:
    def run(family: Any) -> Any:
        return optimisation.cover_elements(family, [1, 3], epsilon=1, rng=unsafe_seeded(5)).value.permutation

    compare([SETS], families(), run)
