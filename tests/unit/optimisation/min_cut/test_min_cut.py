"""Private minimum cut: what goes in, what comes out, and what is promised."""

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from discreet.core.errors import DiscreetError, InvalidParameter, NoBound
from discreet.core.neighbours import Edge
from discreet.optimisation.hard_instances.regular_graphs import HardCuts
from discreet.optimisation.min_cut.min_cut import Cut, MinCut
from discreet.optimisation.min_cut.min_cut_exhaustive import MinCutExhaustive
from discreet.optimisation.min_cut.trees import all_cut_costs, near_minimum_cuts
from discreet.testing import unsafe_seeded


def two_cliques(size, bridges):
    half = size // 2
    inside = [pair for start in (0, half) for pair in itertools.combinations(range(start, start + half), 2)]
    return inside + [(k, half + k) for k in range(bridges)]


def matrix(edges, size):
    found = np.zeros((size, size), dtype=np.int64)
    for u, v in edges:
        found[u, v] = found[v, u] = 1
    return found


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_a_planted_cut_is_found(delta):
    mechanism = MinCut(vertices=40, epsilon=20, delta=delta)
    graph = two_cliques(40, 3)
    assert mechanism.error(0.01) < 16  # the next cuts have 16 more edges
    for seed in range(3):
        cut = mechanism.release(graph, rng=unsafe_seeded(seed)).value
        assert cut.side == frozenset(range(20, 40)) and not cut.failed
        assert cut.separates(0, 20) and not cut.separates(0, 1)


def test_small_budgets_give_no_cut_away():
    """At a tiny epsilon the star is heavier than any clique, and the planted cut is not found."""
    mechanism = MinCut(vertices=16, epsilon=0.1, delta=0)
    sides = {mechanism.release(two_cliques(16, 1), rng=unsafe_seeded(seed)).value.side for seed in range(8)}
    assert frozenset(range(8, 16)) not in sides and len(sides) > 4


def test_every_kind_of_graph_is_read_alike():
    edges = two_cliques(12, 2)
    kinds = [
        frozenset(edges),
        np.array(edges),
        sparse.coo_array(matrix(edges, 12)),
        SimpleNamespace(nodes=range(12), edges=lambda: edges),
    ]
    mechanism = MinCut(vertices=12, epsilon=30, delta=0)
    sides = {mechanism.release(kind, rng=unsafe_seeded(5)).value.side for kind in kinds}
    assert len(sides) == 1


def test_named_vertices_come_back_by_name():
    names = [f"v{k}" for k in range(12)]
    edges = [(names[u], names[v]) for u, v in two_cliques(12, 1)]
    cut = MinCut(vertices=names, epsilon=40, delta=0).release(edges, rng=unsafe_seeded(1)).value
    assert cut.side == frozenset(names[6:])


def test_fail_is_an_answer_of_its_own():
    assert Cut(frozenset()).failed and not Cut(frozenset({1})).failed


@pytest.mark.parametrize(
    "given",
    [
        {"vertices": 1, "epsilon": 1, "delta": 0},
        {"vertices": 5, "epsilon": 0, "delta": 0},
        {"vertices": 5, "epsilon": math.nan, "delta": 0},
        {"vertices": 5, "epsilon": 1, "delta": 1},
        {"vertices": 5, "epsilon": 1, "delta": 0, "calibration": "loose"},
        {"vertices": 5, "epsilon": 1, "delta": 0.1, "calibration": "thesis"},
    ],
)
def test_bad_parameters_are_refused(given):
    with pytest.raises(InvalidParameter):
        MinCut(**given)


@pytest.mark.parametrize("size", [1, 19])
def test_the_exhaustive_one_is_for_small_graphs(size):
    with pytest.raises(InvalidParameter):
        MinCutExhaustive(vertices=size, epsilon=1)


def test_bad_graphs_are_refused_without_a_word_about_them():
    with pytest.raises(DiscreetError) as refusal:
        MinCut(vertices=5, epsilon=1, delta=0).release({77: [0]})
    assert "77" not in str(refusal.value)


@pytest.mark.parametrize("calibration", ["tight", "thesis"])
def test_the_parts_add_up_to_the_budget(calibration):
    mechanism = MinCut(vertices=50, epsilon=1.5, delta=0, calibration=calibration)
    assert 1.5 - 1e-9 < mechanism.loss.epsilon(0) <= 1.5
    assert mechanism.guarantee.neighbours == Edge()
    assert mechanism.loss.zcdp() < 1.5**2 / 8  # two steps of bounded range, not one


def test_the_tight_calibration_beats_the_thesis():
    for size in (100, 1000, 5000):
        tight = MinCut(vertices=size, epsilon=1, delta=0).error(0.05)
        thesis = MinCut(vertices=size, epsilon=1, delta=0, calibration="thesis").error(0.05)
        assert tight < 0.85 * thesis


def test_errors_grow_with_confidence_and_fail_limits_it():
    mechanism = MinCut(vertices=1000, epsilon=2, delta=1e-3)
    errors = [mechanism.error(beta) for beta in (0.5, 0.1, 0.01, 1e-3)]
    assert errors == sorted(errors)
    with pytest.raises(NoBound, match="no cut at all"):  # FAIL alone is more probable than that
        mechanism.error(1e-5)
    assert MinCut(vertices=1000, epsilon=2, delta=0).error(1e-9) < 250_000
    with pytest.raises(NoBound, match="no error is above 4 anyhow"):
        MinCut(vertices=4, epsilon=Fraction(1, 10), delta=0).error(0.05)


def test_the_error_is_kept_on_a_graph_where_it_says_something():
    """Seeded: in 30 runs no cut lies beyond the bound for beta 0.01."""
    mechanism, graph = MinCutExhaustive(vertices=12, epsilon=3), two_cliques(12, 1)
    weights = matrix(graph, 12)
    least, bound = int(all_cut_costs(weights).min()), mechanism.error(0.01)
    assert least == 1 and bound < 10
    for seed in range(30):
        side = mechanism.release(graph, rng=unsafe_seeded(seed)).value.side
        cost = sum((u in side) != (v in side) for u, v in graph)
        assert cost - least <= bound


def test_the_lower_bound_graphs_are_what_they_say():
    hard = HardCuts(size=30, degree=6)
    whole = matrix(hard.edges, 30)
    assert set(whole.sum(axis=1)) == {6}
    sides, costs = near_minimum_cuts(whole, 8)
    assert set(costs.tolist()) == {6} and len(sides) == 30  # the single vertices and nothing else
    cut_off = hard.without(7)
    rest = [v for v in range(30) if v != 7]
    inner = matrix(cut_off, 30)[np.ix_(rest, rest)]
    assert matrix(cut_off, 30)[7].sum() == 0
    assert near_minimum_cuts(inner, 5)[1].min() == 5  # every other cut has degree - 1 edges at least
    assert [len(graph) for graph in hard.path(7)] == list(range(90, 83, -1))
    assert Edge().distance({tuple(e) for e in hard.edges.tolist()}, {tuple(e) for e in cut_off.tolist()}) == 6


def test_no_mechanism_can_beat_the_lower_bound():
    hard = HardCuts.against(size=10_000, epsilon=0.05)
    least = hard.error(0.05)
    assert least > math.log(10_000) / (3 * 0.05) - 1  # better than the printed choice of the degree
    assert least < MinCut(vertices=10_000, epsilon=0.05, delta=0).error(0.5)
    assert HardCuts(size=30, degree=6).error(5) == 0
    for wrong in ({"size": 30, "degree": 5}, {"size": 30, "degree": 2}, {"size": 10, "degree": 6}):
        with pytest.raises(InvalidParameter):
            HardCuts(**wrong)
