"""The sampler of cuts on graphs far beyond enumeration, where the law is known by counting.

Cuts of a cycle are its even sets of edges; those of cliques and stars are known by how many vertices they
take. ALPHA is the false-alarm rate of a fresh seed, 1e-6 a case. The same counts must reject the laws of a
rate 20 % too small or too large; each rejection is missed with probability at most MISS, checked from the
non-central chi-square distribution.
"""

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from discreet.optimisation.min_cut.choice import SMALL, CutChoice, ManyCuts
from discreet.optimisation.min_cut.trees import certified_minimum
from discreet.testing import unsafe_seeded

ALPHA, MISS, SHIFT = 1e-6, 1e-3, Fraction(1, 5)
RARE = 8.0  # expected draws below which classes of cuts are pooled


def weights_of(size, edges, star=0):
    weights = np.zeros((size, size), dtype=np.int64)
    for u, v in edges:
        weights[u, v] += 1
        weights[v, u] += 1
    weights[0, 1:] += star
    weights[1:, 0] += star
    return weights


class Cycle:
    """k edges are cut, in binom(size, k) ways, for every even k."""

    def __init__(self, size):
        self.weights = weights_of(size, [(v, (v + 1) % size) for v in range(size)])
        self.classes = {k: (math.comb(size, k), k) for k in range(2, size + 1, 2)}

    def of(self, side):
        inside = np.zeros(len(self.weights), dtype=bool)
        inside[list(side)] = True
        return int((inside != np.roll(inside, 1)).sum())


class Clique:
    """A side of s vertices costs s (size - s)."""

    def __init__(self, size):
        self.weights = weights_of(size, itertools.combinations(range(size), 2))
        self.classes = {s: (math.comb(size - 1, s), s * (size - s)) for s in range(1, size)}

    def of(self, side):
        return len(side)


class Halls:
    """Two cliques, a bridge between their first vertices, and a star around the first of all."""

    def __init__(self, left, right, bridge, star):
        size, self.left = left + right, left
        cliques = (itertools.combinations(range(left), 2), itertools.combinations(range(left, size), 2))
        self.weights = weights_of(size, [*itertools.chain(*cliques), *[(0, left)] * bridge], star)
        self.classes = {
            (i, j, head): (
                math.comb(left - 1, i) * math.comb(right - 1, j - head),
                i * (left - i) + j * (right - j) + bridge * head + star * (i + j),
            )
            for i, j, head in itertools.product(range(left), range(right + 1), (0, 1))
            if i + j and 0 <= j - head < right
        }

    def of(self, side):
        return sum(v < self.left for v in side), sum(v >= self.left for v in side), int(self.left in side)


class Star:
    """Every vertex costs the same, on its own."""

    def __init__(self, size, weight):
        self.weights = weights_of(size, (), weight)
        self.classes = {s: (math.comb(size - 1, s), s * weight) for s in range(1, size)}

    def of(self, side):
        return len(side)


def law_of(graph, rate):
    logs = {each: math.log(ways) - float(rate) * cost for each, (ways, cost) in graph.classes.items()}
    top = max(logs.values())
    total = sum(math.exp(log - top) for log in logs.values())
    return {each: math.exp(log - top) / total for each, log in logs.items()}


def pools(law, draws):
    """Return classes of cuts, the likeliest first, pooled until every pool is expected often enough."""
    pools, pool, mass = [], [], 0.0
    for each in sorted(law, key=law.__getitem__, reverse=True):
        pool, mass = [*pool, each], mass + law[each]
        if mass * draws >= RARE:
            pools, pool, mass = [*pools, pool], [], 0.0
    pools[-1] += pool
    return pools


@pytest.mark.parametrize(
    ("graph", "rate", "draws"),
    [
        (Cycle(40), Fraction(3, 2), 300),
        (Clique(20), Fraction(1, 8), 300),
        (Halls(13, 9, 4, 2), Fraction(2, 5), 600),
        (Star(40, 3), Fraction(1), 400),
    ],
    ids=["cycle", "clique", "halls", "star"],
)
def test_large_graphs_follow_the_law_and_no_other(graph, rate, draws):
    assert len(graph.weights) > SMALL
    cuts, rng = ManyCuts(graph.weights, rate, *certified_minimum(graph.weights)), unsafe_seeded(17)
    counts = Counter(graph.of(cuts.draw(rng)) for _ in range(draws))
    laws = {factor: law_of(graph, rate * factor) for factor in (1, 1 - SHIFT, 1 + SHIFT)}
    assert set(counts) <= set(laws[1])
    some = pools(laws[1], draws)
    seen = np.array([sum(counts[each] for each in pool) for pool in some])
    expected = {
        factor: draws * np.array([sum(law[each] for each in pool) for pool in some])
        for factor, law in laws.items()
    }
    freedom = len(some) - 1
    right = stats.chi2.sf(((seen - expected[1]) ** 2 / expected[1]).sum(), freedom)
    assert right > ALPHA
    for factor in (1 - SHIFT, 1 + SHIFT):
        apart = ((expected[1] - expected[factor]) ** 2 / expected[factor]).sum()
        assert stats.ncx2.cdf(stats.chi2.isf(ALPHA, freedom), freedom, apart) < MISS
        assert stats.chi2.sf(((seen - expected[factor]) ** 2 / expected[factor]).sum(), freedom) < ALPHA


def test_the_choice_takes_the_same_way():
    """Of all cuts of a large cycle, one that the choice draws is one that the list and the rest can give."""
    graph = Cycle(SMALL + 4)
    drawn = [CutChoice(Fraction(5), Fraction(1)).sample(graph.weights, unsafe_seeded(s)) for s in range(40)]
    assert all(side and 0 not in side for side in drawn)
    # Two edges are cut with probability above 0.99; fewer than 30 of 40 has probability below 1e-9.
    assert law_of(graph, Fraction(5))[2] > 0.99
    assert sum(graph.of(side) == 2 for side in drawn) >= 30
