"""Packings, the list of near-minimum cuts and the curve of smallest cuts, against brute force."""

import itertools

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter
from discreet.optimisation.min_cut.curve import smallest_cuts
from discreet.optimisation.min_cut.trees import (
    Packing,
    SpanningTree,
    all_cut_costs,
    certified_minimum,
    cut_costs,
    cuts_up_to,
    near_minimum_cuts,
    packings,
)


def random_weights(seed, largest=4):
    rng = np.random.default_rng(seed)  # noqa: TID251 - test data
    size = int(rng.integers(2, 9))
    upper = np.triu(
        rng.integers(1, largest + 1, size=(size, size)) * (rng.random((size, size)) < rng.random()), 1
    )
    return upper + upper.T


def side_of(bits, size):
    return np.array([False, *(bool(bits >> k & 1) for k in range(size - 1))])


def naive_cost(side, weights):
    return sum(weights[u, v] for u, v in itertools.combinations(range(len(side)), 2) if side[u] != side[v])


def test_all_costs_are_the_sums_over_crossing_edges():
    weights = random_weights(5)
    costs = all_cut_costs(weights)
    sides = [side_of(bits, len(weights)) for bits in range(1, 2 ** (len(weights) - 1))]
    assert costs.tolist() == [naive_cost(side, weights) for side in sides]
    assert costs.tolist() == cut_costs(np.array(sides), weights).tolist()


@pytest.mark.parametrize("largest", [4, 10**9])
def test_minimum_and_list_are_exact(largest):
    lists = 0
    for seed in range(80):
        weights = random_weights(seed, largest)
        costs = all_cut_costs(weights)
        least, packing = certified_minimum(weights)
        assert least == costs.min()
        if packing.value == 0:
            continue
        most = int(np.ceil(3 * float(packing.value))) - 1
        sides, found = cuts_up_to(most, weights, packing)
        assert sorted(found.tolist()) == sorted(costs[costs <= most].tolist())
        assert len({side.tobytes() for side in sides}) == len(sides)
        lists += len(sides) > 3
    assert lists > 20


def test_a_packing_never_claims_too_much():
    """The value times the average number of crossings never exceeds the cost of a cut."""
    closest = 0.0
    for seed in range(40):
        weights = random_weights(seed)
        costs = all_cut_costs(weights)
        for packing in packings(weights):
            for bits, cost in enumerate(costs.tolist(), start=1):
                crossed = np.mean([tree.crossings(side_of(bits, len(weights))) for tree in packing.trees])
                assert float(packing.value) * crossed <= cost * (1 + 1e-12)
                closest = max(closest, float(packing.value) * crossed / cost if cost else 0)
            if len(packing.trees) >= 16 or packing.value == 0:
                break
    assert closest > 0.99


def test_packings_reach_half_the_smallest_cut():
    weights = np.ones((6, 6), dtype=np.int64) - np.eye(6, dtype=np.int64)
    best = max(float(p.value) for p, _ in zip(packings(weights), range(7), strict=False))
    assert 2.5 <= best <= 3.0


def test_a_tree_turns_edges_into_sides_and_back():
    tree = SpanningTree(np.array([0, 2, 1, 3, 4]), np.array([0, 0, 2, 2, 0]))
    assert tree.ends.tolist() == [5, 4, 3, 4, 5]
    for count in range(1, 5):
        for places in itertools.combinations(range(1, 5), count):
            side = tree.side(places)
            assert not side[0] and tree.crossings(side) == count
    assert tree.side([1]).tolist() == [False, True, True, True, False]


def test_the_near_minimum_cuts_of_two_cliques():
    weights = np.zeros((40, 40), dtype=np.int64)
    weights[:20, :20] = weights[20:, 20:] = 1
    np.fill_diagonal(weights, 0)
    for u, v in ((0, 20), (1, 21), (2, 22)):
        weights[u, v] = weights[v, u] = 1
    sides, costs = near_minimum_cuts(weights, 3)
    assert costs.tolist() == [3]
    assert np.flatnonzero(sides[0]).tolist() == list(range(20, 40))


def test_a_bound_that_trees_cannot_reach_is_refused():
    weights = np.ones((5, 5), dtype=np.int64) - np.eye(5, dtype=np.int64)
    assert len(near_minimum_cuts(weights, 5)[0]) == 5
    with pytest.raises(InvalidParameter):
        cuts_up_to(12, weights, Packing((SpanningTree.star(5),), next(iter(packings(weights))).value))
    with pytest.raises(InvalidParameter):
        near_minimum_cuts(np.zeros((3, 3), dtype=np.int64), 1)


@pytest.mark.parametrize("seed", range(60))
def test_the_curve_is_exact(seed):
    graph = random_weights(seed) > 0
    costs = all_cut_costs(graph.astype(np.int64))
    sizes = np.array([bits.bit_count() for bits in range(1, len(costs) + 1)])
    values = smallest_cuts(graph).values(unit=3, last=40)
    assert values.tolist() == [int((3 * costs + star * sizes).min()) for star in range(41)]
