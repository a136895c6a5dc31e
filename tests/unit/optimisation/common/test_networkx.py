"""Real NetworkX graphs go in as they are."""

import itertools
import math
from datetime import date
from fractions import Fraction
from typing import ClassVar

import networkx as nx
import numpy as np
import pytest
from scipy import sparse

from discreet import optimisation
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove
from discreet.optimisation.common.graphs import Vertices, read_edges
from discreet.optimisation.k_median.k_median import KMedian
from discreet.optimisation.k_median.k_median_exhaustive import KMedianExhaustive
from discreet.optimisation.k_median.k_median_histogram import KMedianHistogram
from discreet.optimisation.k_median.metric import Metric
from discreet.optimisation.min_cut.min_cut import MinCut
from discreet.optimisation.set_cover.systems import SetSystem
from discreet.optimisation.vertex_cover.vertex_cover import VertexCover
from discreet.testing import unsafe_seeded

CLUB = nx.karate_club_graph()


def test_a_vertex_cover_names_an_end_of_every_edge():
    cover = optimisation.cover_edges(CLUB, epsilon=1, rng=unsafe_seeded(1)).value
    assert all(cover.which_end(u, v) in (u, v) for u, v in CLUB.edges)


def test_a_min_cut_at_a_huge_epsilon_is_the_true_one():
    cut = MinCut(vertices=tuple(CLUB.nodes), epsilon=10_000, delta=0).release(CLUB, rng=unsafe_seeded(1))
    plain = nx.Graph(CLUB.edges)
    crossing = sum(cut.value.separates(u, v) for u, v in plain.edges)
    assert crossing == nx.edge_connectivity(plain)


PAIRS = [(0, 1), (1, 2), (2, 3)]
SAME = (
    nx.MultiGraph([*PAIRS, (1, 0), (0, 1)]),
    nx.DiGraph([*PAIRS, (1, 0)]),
    nx.MultiDiGraph([*PAIRS, (2, 1), (2, 1)]),
    nx.Graph([*PAIRS, (2, 2)]),
)


@pytest.mark.parametrize("graph", SAME, ids=lambda graph: type(graph).__name__)
def test_loops_directions_and_parallel_edges_change_nothing(graph):
    expected = read_edges(nx.Graph(PAIRS), Vertices.of(4))
    assert read_edges(graph, Vertices.of(4)).tolist() == expected.tolist()


def test_the_shortest_of_parallel_edges_counts():
    roads = nx.MultiGraph()
    roads.add_edge("a", "b", length=5)
    roads.add_edge("b", "a", length=1)
    roads.add_edge("b", "c")
    roads.add_edge("c", "c", length=9)
    both = nx.MultiDiGraph(roads)
    rows = np.array([[0, 1, 5], [1, 0, 1], [1, 2, 1], [2, 2, 9]])
    ends = rows[:, :2].T
    matrix = sparse.coo_array((rows[:, 2], (ends[0], ends[1])), shape=(3, 3))
    twice = sparse.coo_array(([1, 5, 1], ([0, 0, 1], [1, 1, 2])), shape=(3, 3))
    for graph in (roads, both, rows, matrix, matrix.tocsr(), twice):
        assert Metric.graph(graph, unit=1).distances.tolist() == [[0, 1, 2], [1, 0, 1], [2, 1, 0]]


def test_places_are_called_by_their_names_not_by_the_order_they_came_in():
    roads = nx.Graph()
    roads.add_edge(2, 0, length=10)
    roads.add_edge(0, 1, length=1)
    town = Metric.graph(roads, unit=1)
    assert town.cost([2], [0]) == 10 and town.cost([2], [1]) == 11 and town.cost([1, 1, 5], [0]) == 2
    ways = (
        [(2, 0, 10), (0, 1, 1)],
        ((2, 0, 10), (0, 1, 1)),
        np.array([(2, 0, 10), (0, 1, 1)]),
        sparse.coo_array(([10, 1], ([2, 0], [0, 1])), shape=(3, 3)),
    )
    assert all(Metric.graph(way, unit=1) == town for way in ways)


@pytest.mark.parametrize(
    "labels", [[(0, 0), (0, 1), (5, 5)], ["a", "b", "c"], [163, 100, 120], [2, 0, 1], [1, "b", (3,)]]
)
def test_people_and_sites_of_a_graph_have_the_names_of_its_vertices(labels):
    first, second, third = labels
    roads = nx.Graph()
    roads.add_edge(first, second, length=4)
    roads.add_edge(second, third, length=1)
    for graph in (roads, [(first, second, 4), (second, third, 1)]):
        town = Metric.graph(graph, unit=1)
        assert town.cost([first, "nobody", 7.5], [third]) == 5
        kind = {"metric": town, "epsilon": 10_000, "neighbours": AddRemove("person")}
        for mechanism in (
            KMedian(k=1, delta=0, **kind),
            KMedianExhaustive(k=1, **kind),
            KMedianHistogram(k=1, **kind),
        ):
            found = mechanism.release([first] * 50 + [third], rng=unsafe_seeded(1)).value
            assert found.sites == (first,) and found.nearest(third) == first
            assert found.assignment() == dict.fromkeys(labels, first)
    few = Metric.graph(roads, unit=1, sites=[third])
    assert few.distances.T.tolist() == [[few.cost([place], [third]) for place in few.place_names.all()]]
    opened = KMedianExhaustive(metric=few, k=1, epsilon=1, neighbours=AddRemove("person")).release([])
    assert opened.value.sites == (third,)
    for unknown in ({"sites": ["nowhere"]}, {"sites": [third, third]}, {"sites": "abx"}):
        with pytest.raises(InvalidParameter, match="site"):
            Metric.graph(roads, unit=1, **unknown)
    with pytest.raises(InvalidParameter, match="place must be one of those that were declared"):
        opened.value.nearest("nowhere")


def test_names_tell_metrics_apart_and_are_as_many_as_places():
    table = [[0, 1], [1, 0]]
    metrics = [
        Metric(table, unit=1),
        Metric(table, unit=1, place_names=["a", "b"]),
        Metric(table, unit=1, site_names=[5, 6]),
    ]
    assert len(set(metrics)) == 3 and all(Metric.of(each) == each for each in metrics)
    assert Metric(table, unit=1, place_names=range(2)) == metrics[0]
    for wrong in (["a"], ["a", "a"], ["a", Nosy()], "a"):
        with pytest.raises(InvalidParameter, match="place_names"):
            Metric(table, unit=1, place_names=wrong)


def test_odd_lengths_are_refused_in_our_words():
    for far in (-1, math.nan, math.inf, "far", None):
        roads = nx.Graph()
        roads.add_edge(0, 1, length=far)
        with pytest.raises(InvalidParameter, match="graph"):
            Metric.graph(roads, unit=1)
    for row in ([-1, 1, 1], [0.5, 1, 1], [0, 1, -1]):
        with pytest.raises(InvalidParameter, match="graph"):
            Metric.graph(np.array([row], dtype=float), unit=1)


class Nosy:
    """A label that claims to be the vertex 7 and keeps what it is compared with."""

    seen: ClassVar[list] = []

    def __hash__(self):
        return hash(7)

    def __eq__(self, other):
        self.seen.append(other)
        return True


class Nosier(int):
    """The same, and an integer by birth."""

    __hash__ = Nosy.__hash__
    __eq__ = Nosy.__eq__
    seen = Nosy.seen


@pytest.mark.parametrize("label", [Nosy(), Nosier(7), (1, Nosy()), frozenset([Nosier(7)])])
def test_a_public_label_with_code_of_its_own_is_refused(label):
    Nosy.seen.clear()
    for given in ([label, 1, 2], nx.Graph([(label, 1)]).nodes):
        with pytest.raises(InvalidParameter, match="plain values"):
            VertexCover(vertices=given, epsilon=1)
        with pytest.raises(InvalidParameter, match="plain values"):
            MinCut(vertices=given, epsilon=1, delta=0)
    for family in ({"a": [label, 1]}, {label: [1, 2]}, [[label]], [{1, label}]):
        with pytest.raises(InvalidParameter, match="plain values"):
            SetSystem(family)


def test_a_private_label_with_code_of_its_own_counts_nowhere_and_is_never_asked():
    """Its answers, and its errors, would speak about whom it is compared with."""
    Nosy.seen.clear()
    vertices, system = Vertices.of([5, 6, 7]), SetSystem([[5, 6, 7]])
    town = Metric(np.eye(3), unit=1, place_names=[5, 6, 7])
    for label in (Nosy(), Nosier(7)):
        assert read_edges([(5, label), (5, 6)], vertices).tolist() == [[0, 1]]
        assert system.read([5, label]).tolist() == [True, False, False]
        assert town.counts([5, label]).tolist() == [1, 0, 0]
    assert Nosy.seen == []


class Screaming(nx.Graph):
    def edges(self):
        raise SystemError("alice")


def test_what_is_wrong_with_private_edges_is_not_said():
    for graph in (Screaming(PAIRS), {0: [1]}, "0123", 7, None, np.zeros((2, 3))):
        with pytest.raises(InvalidParameter, match="public vertices") as told:
            read_edges(graph, Vertices.of(4))
        assert "alice" not in str(told.value) and told.value.__cause__ is None


def test_labels_of_many_plain_types_go_together():
    labels = ["a", 1, 2.5, (1, "b"), date(2024, 1, 1), np.int64(9), b"x", Fraction(1, 3)]
    graph = nx.Graph(itertools.pairwise(labels))
    cover = optimisation.cover_edges(graph, epsilon=1, rng=unsafe_seeded(1)).value
    assert all(cover.which_end(u, v) in (u, v) for u, v in graph.edges)
    with pytest.raises(InvalidParameter, match="different names"):
        Vertices.of([1, True, 1.0])
