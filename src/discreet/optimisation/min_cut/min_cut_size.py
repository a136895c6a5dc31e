"""How many edges hold a graph together: the size of its smallest cut, with a little noise."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.card import Card, Tiny
from discreet.core.loss import DiscreteLaplaceLoss, Loss
from discreet.core.neighbours import Edge
from discreet.core.parameters import frozen
from discreet.core.rng import Rng
from discreet.mechanisms.laplace import laplace_scale, laplace_step
from discreet.noise import DiscreteLaplace
from discreet.optimisation.common.graphs import OfGraph, read_edges
from discreet.optimisation.min_cut.curve import smallest_cuts
from discreet.optimisation.min_cut.min_cut import adjacency_of


@frozen
class MinCutSize(OfGraph[int]):
    """Release the number of edges of a smallest cut, with noise.

    Privacy: (epsilon, 0) for one edge: every cut it crosses gains one, and no other changes.
    Accuracy: error(beta) is the exact quantile of the noise, whatever the number of vertices. To name a
    cut of that size costs O(log n / epsilon) edges more: see `MinCut`.
    Time: that of packing spanning trees; 600 vertices take less than a second.

    Parameters
    ----------
    vertices
        How many vertices there are, or their names. Public; two at least.
    epsilon
        The budget of one release.

    Examples
    --------
    >>> MinCutSize(vertices=100, epsilon=1).error(0.05)
    3.0
    """

    def _complete(self) -> None:
        checks.integer(2, vertices=self.vertices.size)

    @property
    def scale(self) -> Fraction:
        """The scale of the noise."""
        return laplace_scale(1, self.epsilon)

    @property
    def loss(self) -> Loss:
        """The exact curve of integer noise."""
        return DiscreteLaplaceLoss(1, self.scale)

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the release is more than alpha off the smallest cut with probability at most beta."""
        return float(DiscreteLaplace(self.scale).reach(checks.probability(beta=beta)))

    def _draw(self, data: Any, rng: Rng) -> int:
        adjacency = adjacency_of(read_edges(data, self.vertices), self.vertices.size)
        smallest = smallest_cuts(adjacency.astype(np.bool_)).values(unit=1, last=0)[0]
        return int(rng.perform(laplace_step(1, self.epsilon), int(smallest)))


def _tiny() -> Iterator[Tiny]:
    yield Tiny(MinCutSize(vertices=3, epsilon=2), list(Edge().pairs(range(3), 3)))


CARD = Card(
    title="Size of a smallest cut",
    theorem="(epsilon, 0)-differential privacy for an edge; the exact size plus integer noise",
    reference="[Roth10] Section 7.1.1; [DR14] Theorem 3.6",
    example=lambda: (
        MinCutSize(vertices=6, epsilon=1),
        [*itertools.combinations(range(3), 2), *itertools.combinations(range(3, 6), 2), (0, 3)],
    ),
    tiny=_tiny,
)
