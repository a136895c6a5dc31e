"""The smallest cut of a graph and a star of growing weight, for all weights at once.

With weight w on every edge of the star around vertex 0, a side S costs cost(S) + w |S|. The smallest of these
lines is a concave function of w. Upper bounds come from any cuts; where the bound has a corner, a packing of
trees decides whether it is attained. A concave function that attains the bound in all corners attains it
everywhere, as all its slopes are at least 1.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.core.errors import InternalError
from discreet.core.fixed import Bools, Integers
from discreet.core.progress import track
from discreet.optimisation.min_cut.trees import NARROW, SpanningTree, packings

Line = tuple[int, int]
"""Size and cost of a side."""


@dataclass(frozen=True, slots=True)
class CutCurve:
    """The lines of the smallest cut, from the steepest to the flattest."""

    lines: tuple[Line, ...]

    def values(self, *, unit: int, last: int) -> Integers:
        """Return the smallest cut, edges counting `unit` each, for the star weights 0, 1, ..., last."""
        weights = np.arange(last + 1, dtype=np.int64)
        values = np.full(last + 1, np.iinfo(np.int64).max)
        for size, cost in self.lines:
            np.minimum(values, unit * cost + weights * size, out=values)
        return values


def smallest_cuts(adjacency: Bools) -> CutCurve:
    """Return the curve of a graph, exactly."""
    search = _Search(adjacency.astype(np.int64))
    certain: set[Fraction] = set()
    while True:
        lines = search.lines()
        corners = [Fraction(0)] + [
            Fraction(cost - steeper_cost, steeper - size)
            for (steeper, steeper_cost), (size, cost) in itertools.pairwise(lines)
        ]
        open_ = [corner for corner in corners if corner not in certain]
        if not open_:
            return CutCurve(tuple(lines))
        search.settle(open_[0])
        certain.add(open_[0])


class _Search:
    """The cheapest side found so far, for every size."""

    def __init__(self, adjacency: Integers) -> None:
        self._adjacency = adjacency
        self._costs = np.full(len(adjacency), NARROW)
        self._learn(SpanningTree.star(len(adjacency)))

    def lines(self) -> list[Line]:
        """Return the lines of the upper bound for weights from 0 on: sizes fall and costs rise."""
        hull: list[Line] = []
        for size in range(len(self._costs) - 1, 0, -1):
            cost = int(self._costs[size])
            if cost == NARROW:
                continue
            while hull and (
                cost <= hull[-1][1] or (len(hull) > 1 and _is_hidden(hull[-2], hull[-1], (size, cost)))
            ):
                hull.pop()
            hull.append((size, cost))
        return hull

    def settle(self, weight: Fraction) -> None:
        """Search until the bound is attained at one weight of the star."""
        edges, star = weight.denominator, weight.numerator
        weights = edges * self._adjacency
        weights[0, 1:] += star
        weights[1:, 0] += star
        known: set[int] = set()  # packings grow: most of their trees were met before
        for packing in packings(weights):
            if packing.value == 0:
                self._learn_pieces()
                return
            count = len(packing.trees)
            for searched, tree in enumerate(track(packing.trees, total=count, label="smallest cuts")):
                if packing.covers(self._least(edges, star), searched):
                    return
                if id(tree) not in known:
                    self._learn(tree)
                    known.add(id(tree))
            if packing.covers(self._least(edges, star), count):
                return
        raise InternalError("a packing of a connected graph can always be improved")

    def _least(self, edges: int, star: int) -> int:
        return min(edges * cost + star * size for size, cost in self.lines())

    def _learn(self, tree: SpanningTree) -> None:
        costs, sizes = tree.pairs(self._adjacency)
        real = costs < self._costs[sizes]  # few are better than what is known
        np.minimum.at(self._costs, sizes[real], costs[real].astype(np.int64))

    def _learn_pieces(self) -> None:
        """Without the star, a graph in pieces has a smallest cut of 0: any piece without vertex 0."""
        _, labels = csgraph.connected_components(sparse.coo_array(self._adjacency), directed=False)
        sizes = np.bincount(labels)
        self._costs[np.delete(sizes, labels[0])] = 0


def _is_hidden(steep: Line, middle: Line, flat: Line) -> bool:
    """Tell whether the middle line is nowhere below the two others."""
    return (middle[1] - steep[1]) * (middle[0] - flat[0]) >= (flat[1] - middle[1]) * (steep[0] - middle[0])
