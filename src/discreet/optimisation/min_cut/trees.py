"""Spanning trees that certify which cuts are small.

Weights are symmetric matrices of integers. A packing is a family of spanning trees with a `value` p: no edge
carries more than its weight over p of the trees. So a cut of cost x crosses an average tree at most x / p
times, and as it crosses every tree at least once, fewer than half of x / p - 1 of the trees are crossed more
than twice. All cuts that cross a tree at most twice are found with a few sums over its matrix. That makes the
search for all cuts of cost below 3 p exact, and the proof that none is missing is the packing itself.

A side of a cut is given by the vertices that are not with vertex 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.fixed import Bools, Integers
from discreet.core.progress import track

Sides = Bools

NARROW = (1 << 31) - 1
"""Above all costs that fit in 32 bits: at least this is the cost of what is no cut."""
MOST_TREES = 1024
"""Where searching for better packings ends."""
_ROWS = 1 << 14  # sides that are unfolded at a time


@dataclass(frozen=True)
class SpanningTree:
    """A spanning tree rooted at vertex 0, its vertices in depth-first order, with their parents."""

    order: Integers
    parents: Integers

    @classmethod
    def star(cls, size: int) -> SpanningTree:
        """Return the tree in which every vertex hangs on vertex 0."""
        return cls(np.arange(size), np.zeros(size, dtype=np.int64))

    @cached_property
    def ends(self) -> Integers:
        """For every place, one past the last place of its subtree."""
        size = len(self.order)
        place = np.empty(size, dtype=np.int64)
        place[self.order] = np.arange(size)
        ends = list(range(1, size + 1))
        above = place[self.parents].tolist()
        for k in range(size - 1, 0, -1):
            ends[above[k]] = max(ends[above[k]], ends[k])
        return np.array(ends, dtype=np.int64)

    def crossings(self, side: Sides) -> int:
        """Count the edges of the tree between the side and the rest."""
        return int(np.count_nonzero(side[self.order[1:]] != side[self.parents[1:]]))

    def side(self, places: Iterable[int]) -> Sides:
        """Return the side whose cut crosses the tree exactly in the edges above the given places."""
        turns = np.zeros(len(self.order) + 1, dtype=np.int64)
        for k in places:
            turns[k] += 1
            turns[self.ends[k]] += 1
        side = np.zeros(len(self.order), dtype=np.bool_)
        side[self.order] = (np.cumsum(turns)[:-1] & 1).astype(np.bool_)
        return side

    def pairs(self, weights: Integers) -> tuple[Integers, Integers]:
        """Return cost and size of the sides that cross the tree above the places i + 1 <= j + 1.

        Entries below the diagonal are at least `NARROW` and above all costs. A pair stands for the symmetric
        difference of two subtrees. It costs what both cost, less twice what leaves both: what joins them,
        where they are apart; what leaves the larger one from inside the smaller one, where that lies in it.
        """
        # Half the width is twice the speed; no sum below exceeds twice the sum of all weights.
        kind: Any = np.int32 if 4 * int(weights.sum()) < NARROW else np.int64
        ordered = weights.astype(kind)[np.ix_(self.order, self.order)]
        degrees = np.concatenate([[0], np.cumsum(ordered.sum(axis=1))]).astype(kind)
        sums = np.zeros((len(ordered) + 1, len(ordered) + 1), dtype=kind)
        np.cumsum(np.cumsum(ordered, axis=0, dtype=kind), axis=1, out=sums[1:, 1:])
        starts, ends = np.arange(1, len(ordered)), self.ends[1:]
        rows = sums[ends] - sums[starts]
        joint = rows[:, ends] - rows[:, starts]
        volumes = degrees[ends] - degrees[starts]
        alone, lengths = volumes - np.diagonal(joint), ends - starts
        inside = starts[None, :] < ends[:, None]
        joint = np.where(inside, volumes[None, :] - joint, joint)
        costs = alone[:, None] + alone[None, :] - 2 * joint
        sizes = lengths[:, None] + np.where(inside, -lengths[None, :], lengths[None, :])
        np.fill_diagonal(costs, alone)
        np.fill_diagonal(sizes, lengths)
        costs[np.tri(len(costs), k=-1, dtype=np.bool_)] = np.iinfo(kind).max
        return costs, sizes


@dataclass(frozen=True, slots=True)
class Packing:
    """Trees, repeated ones repeated, and the certified value."""

    trees: tuple[SpanningTree, ...]
    value: Fraction

    def covers(self, cost: int, searched: int) -> bool:
        """Tell whether every cut of that cost crosses one of the first trees at most twice."""
        return 2 * self.value * searched > len(self.trees) * (cost - self.value)


def packings(weights: Integers) -> Iterator[Packing]:
    """Yield better and better packings: the star around vertex 0, then 4, 8, 16, ... trees.

    The value of the later ones tends to the largest possible, which is at least half of the smallest cut.
    """
    size = len(weights)
    around = int(weights[0, 1:].min())
    if around > 0:
        yield Packing((SpanningTree.star(size),), Fraction(around))
    rows, columns = np.nonzero(np.triu(weights, 1))
    if csgraph.connected_components(sparse.coo_array(weights), directed=False)[0] > 1:
        yield Packing((SpanningTree.star(size),), Fraction(0))
        return
    greedy = _Greedy(size, rows, columns, weights[rows, columns])
    count = 4
    while True:
        yield greedy.grow(count)
        count *= 2


class _Greedy:
    """Adds spanning trees one by one, each along the edges that will carry least for their weight."""

    def __init__(self, size: int, rows: Integers, columns: Integers, weights: Integers) -> None:
        self._size, self._weights = size, weights
        self._keys = rows * size + columns
        self._matrix = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(size, size))
        self._carried = np.zeros(len(rows), dtype=np.int64)
        self._trees: list[SpanningTree] = []

    def grow(self, count: int) -> Packing:
        """Return a packing of so many trees."""
        while len(self._trees) < count:
            self._matrix.data = (1 + self._carried) / self._weights
            found = csgraph.minimum_spanning_tree(self._matrix)
            used = found.tocoo()
            self._carried[np.searchsorted(self._keys, used.row.astype(np.int64) * self._size + used.col)] += 1
            order, parents = csgraph.depth_first_order(found, 0, directed=False)
            parents[0] = 0  # the root has none
            self._trees.append(SpanningTree(order.astype(np.int64), parents[order].astype(np.int64)))
        loaded = self._carried > 0
        share = float((self._weights[loaded] / self._carried[loaded]).min()) * (1 - 1e-12)
        value = Fraction(int(share * len(self._trees) * 2**20), 2**20)  # a short number, never too large
        return Packing(tuple(self._trees), value)


def certified_minimum(weights: Integers) -> tuple[int, Packing]:
    """Return the cost of the smallest cut and the packing that proves it."""
    least = int(weights.sum(axis=1).min())
    known: set[int] = set()  # packings grow: most of their trees were met before
    for packing in packings(weights):
        if packing.value == 0:
            return 0, packing
        for searched, tree in enumerate(packing.trees):
            if packing.covers(least, searched):
                break
            if id(tree) not in known:
                least = min(least, int(tree.pairs(weights)[0].min()))
                known.add(id(tree))
        if packing.covers(least, len(packing.trees)):
            return least, packing
    raise InternalError("a packing of a connected graph can always be improved")


def cuts_up_to(most: int, weights: Integers, packing: Packing) -> tuple[Sides, Integers]:
    """Return every side of cost at most `most`, one a row, and the costs. Needs most < 3 * packing.value."""
    if not packing.covers(most, len(packing.trees)):
        raise InvalidParameter(name="most", rule="below 3 times the value of the packing", value=most)
    found: list[NDArray[np.uint8]] = []
    for searched, tree in enumerate(track(packing.trees, total=len(packing.trees), label="cuts")):
        if packing.covers(most, searched):
            break
        costs, _ = tree.pairs(weights)
        first, second = np.nonzero(costs <= most)
        found.extend(_pack(tree, first + 1, second + 1))
    rows = np.unique(np.concatenate(found), axis=0)
    sides = np.unpackbits(rows, axis=1, count=len(weights)).astype(np.bool_)
    return sides, cut_costs(sides, weights)


def near_minimum_cuts(weights: Integers, most: int) -> tuple[Sides, Integers]:
    """Return every side of cost at most `most`, one a row, and the costs: exact, certified, not private.

    Raises
    ------
    InvalidParameter
        When the bound is too high for the trees: one below 3/2 of the smallest cut always works.
    """
    for packing in packings(weights):
        if packing.covers(most, len(packing.trees)):
            return cuts_up_to(most, weights, packing)
        if packing.value == 0 or len(packing.trees) >= MOST_TREES:
            break
    raise InvalidParameter(name="most", rule="below 3/2 of the smallest cut", value=most)


def _pack(tree: SpanningTree, first: Integers, second: Integers) -> Iterator[NDArray[np.uint8]]:
    """Yield the sides above pairs of places, a bit a vertex. A place paired with itself stands alone."""
    size = len(tree.order)
    yield np.zeros((0, (size + 7) // 8), dtype=np.uint8)
    place = np.arange(size)
    for start in range(0, len(first), _ROWS):
        a, b = first[start : start + _ROWS, None], second[start : start + _ROWS, None]
        inside = (a <= place) & (place < tree.ends[a])
        inside ^= (b <= place) & (place < tree.ends[b]) & (a != b)
        sides = np.empty_like(inside)
        sides[:, tree.order] = inside
        yield np.packbits(sides, axis=1)


def cut_costs(sides: Sides, weights: Integers) -> Integers:
    """Return the cost of every side."""
    costs = [np.zeros(0, dtype=np.int64)]
    for start in range(0, len(sides), _ROWS):
        block = sides[start : start + _ROWS].astype(np.int64)
        # Floats are exact here: the sums stay far below 2**53 for any graph that fits in memory.
        inner = (block.astype(np.float64) @ weights.astype(np.float64) * block).sum(axis=1)
        costs.append(block @ weights.sum(axis=1) - inner.astype(np.int64))
    return np.concatenate(costs)


def all_cut_costs(weights: Integers) -> Integers:
    """Return the cost of every side; entry b - 1 is for the vertices whose bits, vertex 1 first, b has."""
    costs = np.zeros(1, dtype=np.int64)
    degrees = weights.sum(axis=1)
    for v in range(1, len(weights)):
        joint = np.zeros(1, dtype=np.int64)
        for u in range(1, v):
            joint = np.concatenate([joint, joint + weights[u, v]])
        costs = np.concatenate([costs, costs + degrees[v] - 2 * joint])
    return costs[1:]
