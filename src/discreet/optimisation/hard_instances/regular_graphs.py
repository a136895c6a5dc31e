"""Graphs on which every private minimum cut must err: Theorem 42 of [Roth10], made explicit."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.optimisation.common.graphs import Edges


@dataclass(frozen=True, slots=True)
class HardCuts:
    """A regular graph whose smallest cuts are its single vertices, and the graphs with one vertex cut off.

    Vertices sit on a circle and know the `degree` / 2 next ones on both sides. An epsilon-private mechanism
    gives some vertex v a chance of 1 / n at most on the whole graph, hence of e^(epsilon degree) / n at most
    on the graph where v has lost all its edges. There the smallest cut is 0, and every cut but {v} has at
    least degree - 1 edges.

    Attributes
    ----------
    size, degree
        Vertices, and edges of each: even, at least 4, so far below the size that no arc is cut more cheaply.
    """

    size: int
    degree: int

    def __post_init__(self) -> None:
        checks.integer(4, degree=self.degree)
        if self.degree % 2:
            raise InvalidParameter(name="degree", rule="even", value=self.degree)
        checks.integer(2 * self.degree, size=self.size)

    @classmethod
    def against(cls, *, size: int, epsilon: checks.Number) -> HardCuts:
        """Return the graph with the largest bound for an epsilon."""
        budget, count = checks.positive(epsilon=epsilon), checks.integer(8, size=size)
        graphs = (cls(count, degree) for degree in range(4, count // 2 + 1, 2))
        return max(graphs, key=lambda graph: graph.error(budget))

    @property
    def edges(self) -> Edges:
        """The whole graph."""
        ends = [
            ((u, v) if u < v else (v, u))
            for u in range(self.size)
            for v in ((u + step) % self.size for step in range(1, self.degree // 2 + 1))
        ]
        return np.array(sorted(ends), dtype=np.int64)

    def without(self, vertex: int) -> Edges:
        """Return the graph in which one vertex has lost its edges."""
        checks.index(self.size, vertex=vertex)
        edges = self.edges
        return edges[np.flatnonzero((edges != vertex).all(axis=1))]

    def path(self, vertex: int) -> Iterator[Edges]:
        """Yield graphs from the whole one to the one without the vertex's edges, an edge fewer each."""
        edges = self.edges
        yield edges
        while (touching := (edges == vertex).any(axis=1)).any():
            edges = np.delete(edges, int(np.argmax(touching)), axis=0)
            yield edges

    def error(self, epsilon: checks.Number) -> float:
        """Return what every epsilon-private mechanism errs by, expected, on one of the graphs at least."""
        exponent = float(checks.positive(epsilon=epsilon)) * self.degree - math.log(self.size)
        return max(0.0, -math.expm1(exponent) * (self.degree - 1) * (1 - 1e-12)) if exponent < 0 else 0.0
