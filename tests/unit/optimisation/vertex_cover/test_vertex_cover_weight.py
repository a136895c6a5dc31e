"""What a cheapest cover weighs: against all covers, and against linear programming."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

from discreet.core.errors import InvalidParameter
from discreet.optimisation.vertex_cover.vertex_cover_weight import VertexCoverWeight
from discreet.testing import unsafe_seeded

CERTAIN = 10_000  # at this epsilon there is no noise


def draw_graph(seed):
    source = np.random.default_rng(seed)  # noqa: TID251 - test data
    size = int(source.integers(2, 7))
    edges = [pair for pair in itertools.combinations(range(size), 2) if source.random() < 0.5]
    return size, edges, source.integers(1, 9, size).tolist()


def solve_by_hand(size, edges, weights):
    rows = -np.array([[end in edge for end in range(size)] for edge in edges], dtype=float)
    return linprog(weights, A_ub=rows, b_ub=-np.ones(len(edges)), bounds=(0, 1)).fun if edges else 0.0


@pytest.mark.parametrize("seed", range(25))
def test_without_noise_it_is_twice_the_fractional_cover_and_between_one_and_two_real_ones(seed):
    size, edges, weights = draw_graph(seed)
    found = VertexCoverWeight(vertices=size, weights=weights, epsilon=CERTAIN).release(edges).value
    assert float(found) == pytest.approx(2 * solve_by_hand(size, edges, weights))
    covers = itertools.chain.from_iterable(itertools.combinations(range(size), k) for k in range(size + 1))
    best = min(
        sum(weights[v] for v in cover) for cover in covers if all(u in cover or v in cover for u, v in edges)
    )
    assert found / 2 <= best <= found


@pytest.mark.parametrize("seed", range(25))
def test_one_edge_moves_it_by_the_second_largest_weight_at_most(seed):
    size, edges, weights = draw_graph(seed)
    made = VertexCoverWeight(vertices=size, weights=weights, epsilon=CERTAIN)
    whole = made.release(edges).value
    for edge in edges:
        less = made.release([other for other in edges if other != edge]).value
        assert 0 <= whole - less <= 2 * made.sensitivity * made.unit
    assert made.sensitivity * made.unit == sorted(weights)[-2]


def test_weights_have_a_common_unit():
    made = VertexCoverWeight(vertices=3, weights=[0.5, 2, 3], epsilon=CERTAIN)
    assert made.unit == Fraction(1, 2) and made.sensitivity == 4
    assert made.release([(0, 1), (1, 2)]).value == 4
    with pytest.raises(InvalidParameter, match="Round them"):
        VertexCoverWeight(vertices=2, weights=[1.0000000001, 1], epsilon=1)
    with pytest.raises(InvalidParameter, match="weights must be 3 numbers"):
        VertexCoverWeight(vertices=3, weights=[1, 1], epsilon=1)


def test_the_noise_has_the_error_that_is_told():
    made = VertexCoverWeight(vertices=4, weights=[1, 2, 2, 9], epsilon=1)
    values = [made.release([(0, 3), (1, 2)], rng=unsafe_seeded(seed)).value for seed in range(100)]
    assert sum(abs(value - 6) <= made.error(0.2) for value in values) >= 75
