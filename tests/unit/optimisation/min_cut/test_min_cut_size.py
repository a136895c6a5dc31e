"""The size of a smallest cut, exactly and with noise."""

import itertools

import networkx as nx
import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.optimisation.min_cut.min_cut_size import MinCutSize
from discreet.testing import unsafe_seeded

CERTAIN = 200  # at this epsilon the noise is zero but once in e^200


def smallest(edges, size):
    sides = (side for k in range(1, size) for side in itertools.combinations(range(size), k))
    return min(sum((u in side) != (v in side) for u, v in edges) for side in map(set, sides))


@pytest.mark.parametrize("seed", range(6))
def test_without_noise_it_is_the_smallest_cut(seed):
    source = np.random.default_rng(seed)  # noqa: TID251 - test data
    for size in (2, 3, 6, 8):
        edges = [pair for pair in itertools.combinations(range(size), 2) if source.random() < 0.6]
        found = MinCutSize(vertices=size, epsilon=CERTAIN).release(edges).value
        assert found == smallest(edges, size)


def test_a_larger_graph_agrees_with_networkx():
    graph = nx.gnp_random_graph(60, 0.2, seed=3)
    found = MinCutSize(vertices=60, epsilon=CERTAIN).release(graph).value
    assert found == nx.stoer_wagner(graph)[0]


def test_the_noise_has_the_error_that_is_told():
    made = MinCutSize(vertices=5, epsilon=1)
    ring = [(v, (v + 1) % 5) for v in range(5)]
    values = [made.release(ring, rng=unsafe_seeded(seed)).value for seed in range(100)]
    assert sum(abs(value - 2) <= made.error(0.2) for value in values) >= 75
    assert MinCutSize.for_error(alpha=10, beta=0.05, vertices=5).error(0.05) <= 10


def test_one_vertex_has_no_cut():
    with pytest.raises(InvalidParameter, match="vertices"):
        MinCutSize(vertices=1, epsilon=1)
