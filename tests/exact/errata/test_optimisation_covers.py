"""Counterexamples to sentences of the thesis, sections 7.5 to 7.7."""

import itertools
import math
from fractions import Fraction

import numpy as np

from discreet.optimisation.set_cover.set_cover_exhaustive import SetCoverExhaustive, sets_used
from discreet.optimisation.set_cover.set_cover_layered import _Costs, extensions
from discreet.optimisation.vertex_cover.vertex_cover import VertexCover
from discreet.optimisation.vertex_cover.vertex_cover_weighted import VertexCoverWeighted, class_loss
from discreet.testing import unsafe_seeded


def test_theorem_52_the_sum_of_inverses_is_not_below_the_logarithm():
    theta = n = 1
    total = sum(1 / (theta + k) for k in range(n + 1))
    assert total == 1.5 > math.log((theta + n) / theta)
    theta, n = 50, 100
    assert sum(1 / (theta + k) for k in range(n + 1)) > math.log((theta + n) / theta)


def test_theorem_52_the_constant_is_above_one():
    """Four vertices of one weight: an edge that is removed loses 1.16 epsilon, attained, not epsilon."""
    made = VertexCoverWeighted.as_printed(vertices=4, weights=(1, 1, 1, 1), epsilon=0.01)
    ghosts = 100.0
    attained = math.log1p(2 / (4 * ghosts)) + math.log1p(2 / (3 * ghosts))
    assert made.loss.epsilon(0) >= attained > 1.16 * 0.01
    assert class_loss(3, 12, Fraction(1, 2), 1e4) > 2.5e-4


def test_table_7_1_the_weighted_ratio_is_not_supported_by_the_proof():
    """Lemmas 17 and 18 give 4 (1 + h)(1 + 12); even our 2 (2 + h)(1 + 12) is above 16 (1 + 1 / epsilon)."""
    weights = [2**j for j in range(8) for _ in range(50)]
    for epsilon in (0.1, 1):
        made = VertexCoverWeighted(vertices=len(weights), weights=weights, epsilon=epsilon)
        assert made.ratio > 16 * (1 + 1 / epsilon)


def test_theorem_58_a_pointwise_delta_is_no_delta():
    """Every outcome within 1e-3, and the two distributions share nothing."""
    p, q = np.repeat([1e-3, 0.0], 1000), np.repeat([0.0, 1e-3], 1000)
    assert (p <= q + 1e-3).all()
    assert abs(np.maximum(p - q, 0).sum() - 1) < 1e-12


def test_section_7_7_5_the_printed_sign_prefers_dear_covers():
    """exp(+epsilon cost) favours the order that uses most sets; with minus it is the one that uses fewest."""
    made = SetCoverExhaustive(family=([0, 1, 2], [0], [1], [2]), epsilon=20)
    used = sets_used(made.family, np.array([True, True, True]))
    printed = np.exp(20.0 * (used - used.max()))
    assert used[np.argmax(printed)] == 3
    found = made.release([0, 1, 2], rng=unsafe_seeded(1)).value
    assert len(found.cover([0, 1, 2])) == 1


def test_lemma_23_the_score_of_an_early_class_hardly_moves():
    """The printed bound 2^(j_e - j + 1) falls with j; the true spread is at most 2^(j - j_e) and grows."""
    classes, family = (0, 1, 2), ({0, 1}, {0, 2}, {1, 2})  # costs 1, 1/2, 1/4

    def wanted(elements):
        return tuple(tuple(s for s in range(3) if e in family[s]) for e in sorted(elements))

    spreads = {}
    for without in ({0}, {1}, set(), {2}):
        for element in {0, 1, 2} - without:
            cheapest = max(classes[s] for s in range(3) if element in family[s])
            layouts = [((), ())]
            for level in range(3):
                layouts = [e for layout in layouts for e in extensions(layout, level, classes)]
                moved = [
                    _Costs(classes, wanted(without | {element})).least(e, level + 1)
                    - _Costs(classes, wanted(without)).least(e, level + 1)
                    for e in layouts
                ]
                spread = (max(moved) - min(moved)) / 4 * 2**level  # in the units of the class
                key = level - cheapest
                spreads[key] = max(spreads.get(key, 0.0), spread)
    assert all(spread <= 2.0**gap for gap, spread in spreads.items() if gap <= 0)
    assert spreads[0] == 1.0 and spreads[-1] == 0.5


def test_theorem_60_the_ratio_is_an_eighth_of_log_m_over_epsilon():
    """With m = 2^(2 epsilon k) and half the probability of more than k / 2 sets, the mean is k / 4."""
    m, epsilon = 2**20, 0.5
    k = math.log2(m) / (2 * epsilon)
    assert k / 2 / 2 == math.log2(m) / (8 * epsilon) < math.log2(m) / (4 * epsilon)


def test_algorithm_5_read_literally_never_ends():
    """Drawing from all sets puts one out again: two sets of equal size repeat with probability one half."""
    sizes = np.array([1, 1])
    weights = np.exp(0.1 * sizes)
    assert (weights / weights.sum())[0] == 0.5


def test_theorem_50_and_section_7_6_can_be_halved():
    """Interesting vertices weigh at most (2 + h) times what the best cover weighs, not 2 (1 + h) times.

    On every graph with five vertices and every cover: 2 m + h k <= (2 + h) (m + h a).
    """
    pairs = list(itertools.combinations(range(5), 2))
    for mask in range(1, 1 << 10):
        edges = [p for k, p in enumerate(pairs) if mask >> k & 1]
        touched = {v for e in edges for v in e}
        for cover in itertools.chain.from_iterable(itertools.combinations(range(5), r) for r in (1, 2, 3)):
            if all(set(e) & set(cover) for e in edges):
                for h in (0.1, 1.0, 10.0):
                    weight = sum(sum(v in e for e in edges) + h for v in cover)
                    assert 2 * len(edges) + h * len(touched) <= (2 + h) * weight + 1e-9
    assert VertexCover(vertices=10_000, epsilon=0.1).ratio < 31
