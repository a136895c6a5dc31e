"""Vertex cover on a secret sample of the edges, with weights or without: pure privacy by one-sidedness."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.parameters import frozen, public
from discreet.core.rounding import above, exp_bounds, shorten_up, up
from discreet.optimisation.common.labels import MaybeWeights, require_count, scores_of
from discreet.optimisation.common.orders import DegreeOrder, SampledOrder
from discreet.optimisation.common.tiny import graph_pairs
from discreet.optimisation.vertex_cover.orientation import OfOrder
from discreet.optimisation.vertex_cover.scored_orders import ScoredOrder


@frozen
class VertexCoverSampled(OfOrder):
    """Forget some edges at random, then order the vertices by what is left.

    Privacy: (epsilon, 0) for one edge. An added edge favours no order by more than 1 + 1 / ghosts, and each
    is forgotten with probability exp(-epsilon): both together lose epsilon either way. After [GKKMS24].
    Accuracy: the expected cover is at most `ratio` times the smallest; error(beta) is that ratio over beta.
    With weights no ratio is known but the trivial one.
    Time: O(vertices + edges).

    Parameters
    ----------
    vertices, epsilon
        As in `VertexCover`.
    weights
        What each vertex costs: positive and public, in the order of the vertices. Equal where left out.

    Examples
    --------
    >>> round(VertexCoverSampled(vertices=1000, epsilon=1).ratio, 1)
    12.8
    """

    weights: MaybeWeights = public(checks.each, checks.positive, default=None)

    def _complete(self) -> None:
        if self.weights is not None:
            require_count(self.vertices.size, weights=self.weights)

    @property
    def ghosts(self) -> Fraction:
        """The weight of a vertex without edges: exp(-epsilon), rounded up."""
        _, high = exp_bounds(self.epsilon, 200)
        return shorten_up(Fraction(high, 1 << 200), 6)

    @property
    def ratio(self) -> float:
        """How many times the smallest cover the expected cover is at most.

        Let every edge and every ghost ring at a random time. An edge that is silent at time t was kept with
        probability q(t), so that until t the algorithm pays at most 2 + ghosts / q(t) for every unit of the
        best cover that it takes; and it has taken all but exp(-ghosts t) of what it will take. Every t
        gives a bound.
        """
        size = self.vertices.size
        if self.weights is not None:
            return max(1.0, up((sum(self.weights) - min(self.weights)) / min(self.weights)))
        return max(1.0, min(size - 1.0, _best_ratio(float(self.epsilon), up(self.ghosts))))

    @property
    def _trivial(self) -> float:
        return self.ratio if self.weights is not None else self.vertices.size - 1.0

    @property
    def _order(self) -> SampledOrder:
        size = self.vertices.size
        if self.weights is None:
            return SampledOrder(DegreeOrder(size, size, self.ghosts), self.epsilon)
        return SampledOrder(ScoredOrder.of(scores_of(self.weights), self.ghosts), self.epsilon)


def _best_ratio(epsilon: float, ghosts: float) -> float:
    """Return the smallest (2 + ghosts / q(t)) / (1 - exp(-ghosts t)) on a grid of t, rounded up.

    An edge is kept with probability p = 1 - exp(-epsilon) and then rings at rate 2, so that q(t) is
    p exp(-2 t) / (p exp(-2 t) + 1 - p).
    """

    def bound(t: float) -> float:
        odds = math.exp(-2 * t) * math.expm1(min(epsilon, 700.0))
        return (2 + ghosts * (1 + 1 / odds)) / -math.expm1(-ghosts * t)

    return above(min(bound(2.0 ** (k / 16)) for k in range(-96, 97)) * (1 + 1e-12))


def _tiny() -> Iterator[Tiny]:
    yield Tiny(VertexCoverSampled(vertices=3, epsilon=1), graph_pairs(3, 3), tight=False)
    yield Tiny(VertexCoverSampled(vertices=4, epsilon=2), graph_pairs(4, 2))
    yield Tiny(VertexCoverSampled(vertices=4, epsilon=2, weights=(1, 2, 3, 8)), graph_pairs(4, 2))


CARD = Card(
    title="Vertex cover on a secret sample of the edges",
    theorem="(epsilon, 0)-differential privacy for an edge, with any public vertex weights",
    reference="[GKKMS24]; [Roth10] Section 7.6",
    example=lambda: (
        VertexCoverSampled(vertices=("ann", "bob", "cy", "dee"), epsilon=1, weights=(1, 1, 2, 5)),
        [("ann", "bob"), ("bob", "dee")],
    ),
    tiny=_tiny,
)
