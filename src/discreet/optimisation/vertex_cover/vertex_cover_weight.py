"""What a cheapest vertex cover weighs, within a factor of two and a little noise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.parameters import derived, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.mechanisms.laplace import laplace_scale, laplace_step
from discreet.noise import DiscreteLaplace
from discreet.optimisation.common.graphs import Edges, OfGraph, read_edges
from discreet.optimisation.common.labels import Weights, require_count
from discreet.optimisation.common.tiny import graph_pairs

MOST_WEIGHT = 1 << 29
"""The largest sum of all weights, in their common unit: flows through both copies stay below 2^31."""


@frozen
class VertexCoverWeight(OfGraph[Fraction]):
    """Release twice the weight of a cheapest fractional cover, with noise.

    Privacy: (epsilon, 0) for one edge: buying its cheaper end repairs any cover, so one edge moves the
    weight by at most the second largest of all weights.
    Accuracy: error(beta) is the exact quantile of the noise. Without noise, the cheapest cover weighs at
    most what is released and at least half of it.
    Time: that of one maximum flow through two copies of the graph.

    Parameters
    ----------
    vertices, epsilon
        As in `VertexCover`.
    weights
        What each vertex costs: positive and public, in the order of the vertices.

    Attributes
    ----------
    unit
        The largest number that all weights are multiples of; so is what is released.

    Examples
    --------
    >>> VertexCoverWeight(vertices=4, weights=[1, 2, 2, 50], epsilon=1).error(0.05)
    12.0
    """

    weights: Weights = public(checks.each, checks.positive)
    unit: Fraction = derived()

    def _complete(self) -> None:
        checks.integer(2, vertices=self.vertices.size)
        require_count(self.vertices.size, weights=self.weights)
        below = math.lcm(*(weight.denominator for weight in self.weights))
        unit = Fraction(math.gcd(*(int(weight * below) for weight in self.weights)), below)
        if sum(self.weights) > MOST_WEIGHT * unit:
            rule = f"at most {MOST_WEIGHT:,} in all, in the unit {unit} that they have in common"
            raise InvalidParameter(name="weights", rule=rule, value=sum(self.weights), hint="Round them")
        self._set(unit=unit)

    @property
    def sensitivity(self) -> int:
        """How far one edge moves the weight of a fractional cover, in units: the second largest weight."""
        return int(sorted(self.weights)[-2] / self.unit)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on twice the weight, in units."""
        return laplace_scale(2 * self.sensitivity, self.epsilon)

    @property
    def loss(self) -> Loss:
        """The exact curve of integer noise."""
        return DiscreteLaplaceLoss(2 * self.sensitivity, self.scale)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the release is more than alpha off twice the weight with probability <= beta."""
        return up(DiscreteLaplace(self.scale).reach(checks.probability(beta=beta)) * self.unit)

    def _draw(self, data: Any, rng: Rng) -> Fraction:
        weights = np.array([int(weight / self.unit) for weight in self.weights], dtype=np.int64)
        found = double_cover(read_edges(data, self.vertices), weights)
        return int(rng.perform(laplace_step(2 * self.sensitivity, self.epsilon), found)) * self.unit


def double_cover(edges: Edges, weights: Integers) -> int:
    """Return twice the least weight of a fractional cover.

    A fractional cover of a graph is half of a cover of two copies of its vertices in which each edge joins
    either end to the other's copy; and the cheapest cover of a graph with two sides is a smallest cut.
    """
    size, total = len(weights), int(weights.sum())
    left, right = np.arange(size), np.arange(size, 2 * size)
    source, sink = np.full(size, 2 * size), np.full(size, 2 * size + 1)
    ends = (np.concatenate([edges[:, 0], edges[:, 1]]), np.concatenate([edges[:, 1], edges[:, 0]]) + size)
    rows, columns = np.concatenate([source, right, ends[0]]), np.concatenate([left, sink, ends[1]])
    room = np.concatenate([weights, weights, np.full(2 * len(edges), total)]).astype(np.int32)
    network = sparse.csr_array((room, (rows, columns)), shape=(2 * size + 2, 2 * size + 2))
    return int(csgraph.maximum_flow(network, 2 * size, 2 * size + 1).flow_value)


def _tiny() -> Iterator[Tiny]:
    yield Tiny(VertexCoverWeight(vertices=4, weights=[1, 1, 2, 3], epsilon=2), graph_pairs(4, 2))


CARD = Card(
    title="Weight of a cheapest vertex cover",
    theorem="(epsilon, 0)-differential privacy for an edge; twice a fractional cover plus integer noise",
    reference="[Roth10] Section 7.5.3; [DR14] Theorem 3.6",
    example=lambda: (
        VertexCoverWeight(vertices=("ann", "bob", "cy"), weights=[1, 2, 3], epsilon=1),
        [("ann", "bob")],
    ),
    tiny=_tiny,
)
