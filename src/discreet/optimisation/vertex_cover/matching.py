"""The size of a maximum matching: by SciPy where the graph is bipartite, by Edmonds' blossoms elsewhere."""

from __future__ import annotations

from collections import deque

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from discreet.core.progress import track
from discreet.optimisation.common.graphs import Edges


def matching_size(edges: Edges, size: int) -> int:
    """Return how many edges a maximum matching has.

    Time: O(edges * sqrt(vertices)) for a bipartite graph, O(vertices * edges) and more for others.
    """
    if not len(edges):
        return 0
    side = _sides(edges, size)
    if side is None:
        return _Blossoms(edges, size).run()
    left = np.where(side[edges[:, 0]] == 0, edges[:, 0], edges[:, 1])
    right = edges.sum(axis=1) - left
    table = sparse.csr_matrix((np.ones(len(edges)), (left, right)), shape=(size, size))
    return int((csgraph.maximum_bipartite_matching(table, perm_type="column") >= 0).sum())


def _sides(edges: Edges, size: int) -> np.ndarray[tuple[int], np.dtype[np.int64]] | None:
    """Return a colouring with two colours, or None where there is none.

    In the double cover every vertex appears twice, and a bipartite component falls apart into two copies.
    """
    rows = np.concatenate([edges[:, 0], edges[:, 1]])
    columns = np.concatenate([edges[:, 1], edges[:, 0]]) + size
    double = sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(2 * size, 2 * size))
    _, part = csgraph.connected_components(double, directed=False)
    first, second = part[:size], part[size:]
    if np.any(first == second):
        return None
    return np.asarray(first > second, dtype=np.int64)


class _Blossoms:
    """Edmonds' algorithm: search for augmenting paths from every free vertex, shrinking odd cycles."""

    def __init__(self, edges: Edges, size: int) -> None:
        self._size = size
        self._next: list[list[int]] = [[] for _ in range(size)]
        for u, v in edges.tolist():
            self._next[u].append(v)
            self._next[v].append(u)
        self._mate = [-1] * size

    def run(self) -> int:
        """Match greedily, then augment until nothing is left to gain."""
        for u in range(self._size):
            free = (v for v in self._next[u] if self._mate[v] < 0)
            if self._mate[u] < 0 and (v := next(free, -1)) >= 0:
                self._mate[u], self._mate[v] = v, u
        roots = [v for v in range(self._size) if self._mate[v] < 0 and self._next[v]]
        for root in track(roots, total=len(roots), label="matching"):
            if self._mate[root] < 0:
                self._augment(root)
        return sum(mate >= 0 for mate in self._mate) // 2

    def _augment(self, root: int) -> None:
        self._parent = [-1] * self._size
        self._base = list(range(self._size))
        self._seen = bytearray(self._size)
        self._seen[root] = 1
        self._queue = deque([root])
        while self._queue:
            u = self._queue.popleft()
            for v in self._next[u]:
                if self._base[u] == self._base[v] or self._mate[u] == v:
                    continue
                if v == root or (self._mate[v] >= 0 and self._parent[self._mate[v]] >= 0):
                    self._shrink(u, v)
                elif self._parent[v] < 0:
                    self._parent[v] = u
                    if self._mate[v] < 0:
                        self._flip(v)
                        return
                    self._seen[self._mate[v]] = 1
                    self._queue.append(self._mate[v])

    def _flip(self, v: int) -> None:
        while v >= 0:
            u = self._parent[v]
            following = self._mate[u]
            self._mate[v], self._mate[u] = u, v
            v = following

    def _shrink(self, u: int, v: int) -> None:
        top = self._meet(u, v)
        inside = bytearray(self._size)
        self._mark(u, top, v, inside)
        self._mark(v, top, u, inside)
        for w in range(self._size):
            if inside[self._base[w]]:
                self._base[w] = top
                if not self._seen[w]:
                    self._seen[w] = 1
                    self._queue.append(w)

    def _meet(self, u: int, v: int) -> int:
        """Return the base where the paths of two vertices to the root meet."""
        passed = set()
        while True:
            u = self._base[u]
            passed.add(u)
            if self._mate[u] < 0:
                break
            u = self._parent[self._mate[u]]
        v = self._base[v]
        while v not in passed:
            v = self._base[self._parent[self._mate[v]]]
        return v

    def _mark(self, v: int, top: int, child: int, inside: bytearray) -> None:
        while self._base[v] != top:
            inside[self._base[v]] = inside[self._base[self._mate[v]]] = 1
            self._parent[v] = child
            child = self._mate[v]
            v = self._parent[child]
