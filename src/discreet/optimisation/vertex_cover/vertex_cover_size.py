"""The size of a smallest vertex cover, within a factor of two and a little noise."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.mechanisms.laplace import laplace_scale, laplace_step
from discreet.noise import DiscreteLaplace
from discreet.optimisation.common.graphs import OfGraph, read_edges
from discreet.optimisation.common.tiny import graph_pairs
from discreet.optimisation.vertex_cover.matching import matching_size


@frozen
class VertexCoverSize(OfGraph[int]):
    """Release twice the size of a maximum matching, with noise.

    Privacy: (epsilon, 0) for one edge: it moves a maximum matching by at most one.
    Accuracy: error(beta) is the exact quantile of the noise. Without noise, the smallest cover has at most
    the released number of vertices and at least half of it.
    Time: that of a maximum matching; fast where the graph is bipartite.

    Parameters
    ----------
    vertices, epsilon
        As in `VertexCover`.

    Examples
    --------
    >>> VertexCoverSize(vertices=100, epsilon=1).error(0.05)
    6.0
    """

    @property
    def scale(self) -> Fraction:
        """The scale of the noise on the size of the matching."""
        return laplace_scale(1, self.epsilon)

    @property
    def loss(self) -> Loss:
        """The exact curve of integer noise."""
        return DiscreteLaplaceLoss(1, self.scale)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the release is more than alpha off twice the matching with probability <= beta."""
        b = checks.probability(beta=beta)
        return 2.0 * DiscreteLaplace(self.scale).reach(b)

    def _draw(self, data: Any, rng: Rng) -> int:
        found = matching_size(read_edges(data, self.vertices), self.vertices.size)
        return 2 * int(rng.perform(laplace_step(1, self.epsilon), found))


def _tiny() -> Iterator[Tiny]:
    yield Tiny(VertexCoverSize(vertices=4, epsilon=2), graph_pairs(4, 2))


CARD = Card(
    title="Size of a smallest vertex cover",
    theorem="(epsilon, 0)-differential privacy for an edge; twice a maximum matching plus integer noise",
    reference="[Roth10] Section 7.5",
    example=lambda: (VertexCoverSize(vertices=("ann", "bob", "cy", "dee"), epsilon=1), [("ann", "bob")]),
    tiny=_tiny,
)
