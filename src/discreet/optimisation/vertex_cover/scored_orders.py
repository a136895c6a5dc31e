"""Random orders of vertices that have scores: by degree times score, with or without classes to dump."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from discreet.core.progress import track
from discreet.core.rng import Primitive, Rng
from discreet.optimisation.common.graphs import Edges, EdgeSet
from discreet.optimisation.common.orders import Integers, OnEdges, edge_pairs, shuffle
from discreet.optimisation.common.repeated_choices import Order


@dataclass(frozen=True, slots=True)
class ScoredOrder(OnEdges, Primitive[EdgeSet, Order]):
    """Take vertices one after the other, with probability ~ (degree in what is left + ghosts) * score.

    Attributes
    ----------
    levels
        The class of every vertex, from 0. Vertices of a class share a score.
    scores
        The score of every class, a whole number.
    ghosts
        What a vertex without edges weighs.
    fakes
        How many imagined vertices every class has besides. They can be taken, and are not put out.
    limit
        Where given: as soon as so many vertices of class j or higher have been taken, the rest of class j
        is dumped, in random order; smallest class first.
    """

    levels: tuple[int, ...]
    scores: tuple[int, ...]
    ghosts: Fraction
    fakes: tuple[int, ...]
    limit: int | None = None

    @classmethod
    def of(cls, scores: Sequence[int], ghosts: Fraction) -> ScoredOrder:
        """Return the order by given scores of the vertices: no imagined vertices, nothing dumped."""
        different = sorted(set(scores), reverse=True)
        level = {score: place for place, score in enumerate(different)}
        return cls(tuple(level[s] for s in scores), tuple(different), ghosts, (0,) * len(different))

    def sample(self, value: EdgeSet, rng: Rng) -> Order:
        """Draw the class, then an edge end or a vertex of it, along random orders drawn beforehand."""
        run = _Run(self, value.ends, rng)
        return tuple(track(run.steps(), total=len(self.levels), label="vertex cover"))

    def law(self, value: EdgeSet) -> Iterator[tuple[Order, Fraction]]:
        """Yield every order with its probability, from the definition."""
        found: dict[Order, Fraction] = {}
        edges = edge_pairs(value)
        start = _State((), frozenset(range(len(self.levels))), self.fakes, (0,) * len(self.scores), edges)
        for order, chance in self._extend(start, Fraction(1)):
            found[order] = found.get(order, Fraction(0)) + chance
        yield from found.items()

    def find_due(self, taken: Sequence[int], dumped: set[int]) -> int | None:
        """Return the smallest class that is due to be dumped."""
        if self.limit is None:
            return None
        due = (j for j in range(len(taken)) if j not in dumped and sum(taken[j:]) >= self.limit)
        return next(due, None)

    def _extend(self, state: _State, chance: Fraction) -> Iterator[tuple[Order, Fraction]]:
        dump = self.find_due(state.taken, set(state.dumped))
        if dump is not None:
            rest = [v for v in state.left if self.levels[v] == dump]
            for tail in itertools.permutations(rest):
                yield from self._extend(state.dump(dump, tail), chance / math.factorial(len(rest)))
            return
        if not state.left:
            yield state.order, chance
            return
        weights = {v: (state.degree(v) + self.ghosts) * self.scores[self.levels[v]] for v in state.left}
        fakes = [count * self.ghosts * self.scores[j] for j, count in enumerate(state.fakes)]
        total = sum(weights.values()) + sum(fakes)
        for vertex, weight in weights.items():
            yield from self._extend(state.take(vertex, self.levels[vertex]), chance * weight / total)
        for level, weight in enumerate(fakes):
            if weight:
                yield from self._extend(state.take_fake(level), chance * weight / total)


@dataclass(frozen=True, slots=True)
class _State:
    """Where the definition stands: what was put out, what is left, how many of each class were taken."""

    order: Order
    left: frozenset[int]
    fakes: tuple[int, ...]
    taken: tuple[int, ...]
    edges: frozenset[tuple[int, ...]]
    dumped: tuple[int, ...] = ()

    def degree(self, vertex: int) -> int:
        return sum(vertex in edge for edge in self.edges)

    def take(self, vertex: int, level: int) -> _State:
        edges = frozenset(edge for edge in self.edges if vertex not in edge)
        taken = _change(self.taken, level, 1)
        return _State((*self.order, vertex), self.left - {vertex}, self.fakes, taken, edges, self.dumped)

    def take_fake(self, level: int) -> _State:
        fakes, taken = _change(self.fakes, level, -1), _change(self.taken, level, 1)
        return _State(self.order, self.left, fakes, taken, self.edges, self.dumped)

    def dump(self, level: int, tail: Order) -> _State:
        edges = frozenset(edge for edge in self.edges if not set(edge) & set(tail))
        fakes = (*self.fakes[:level], 0, *self.fakes[level + 1 :])
        dumped = (*self.dumped, level)
        return _State((*self.order, *tail), self.left - set(tail), fakes, self.taken, edges, dumped)


def _change(counts: tuple[int, ...], place: int, by: int) -> tuple[int, ...]:
    return (*counts[:place], counts[place] + by, *counts[place + 1 :])


class _Run:
    """One draw of a `ScoredOrder`.

    Every class has a random order of its edge ends and one of its vertices. A draw chooses a class, then
    an undrawn end or a vertex or a fake of it. An end whose edge is covered already is passed over.
    """

    def __init__(self, plan: ScoredOrder, edges: Edges, rng: Rng) -> None:
        self._plan, self._rng = plan, rng
        self._draw = Integers(rng).below
        levels = np.array(plan.levels, dtype=np.int64)
        ends = np.concatenate([edges, edges[:, ::-1]])
        ends = ends[shuffle(len(ends), rng)]
        vertices = shuffle(levels.size, rng)
        classes = range(len(plan.scores))
        self._ends = [ends[levels[ends[:, 0]] == j].tolist() for j in classes]
        self._vertices = [vertices[levels[vertices] == j].tolist() for j in classes]
        self._left = [len(mine) for mine in self._vertices]
        self._fakes = list(plan.fakes)
        self._taken = [0] * len(plan.scores)
        self._gone = bytearray(levels.size)
        self._dumped: set[int] = set()

    def steps(self) -> Iterator[int]:
        """Yield the vertices that are put out."""
        remaining = len(self._gone)
        while remaining:
            level, vertex = self._pick()
            self._taken[level] += 1
            if vertex is not None:
                yield vertex
                remaining -= 1
            while (due := self._plan.find_due(self._taken, self._dumped)) is not None:
                for vertex in self._dump(due):
                    yield vertex
                    remaining -= 1

    def _pick(self) -> tuple[int, int | None]:
        p, q = self._plan.ghosts.numerator, self._plan.ghosts.denominator
        while True:
            ghosts = [p * (a + b) for a, b in zip(self._left, self._fakes, strict=True)]
            masses = [
                score * (g + q * len(ends))
                for score, g, ends in zip(self._plan.scores, ghosts, self._ends, strict=True)
            ]
            place = self._draw(sum(masses))
            level = 0
            while place >= masses[level]:
                place -= masses[level]
                level += 1
            place //= self._plan.scores[level]
            if place < ghosts[level]:
                return level, self._ghost(level, place // p)
            vertex, other = self._ends[level].pop()
            if not (self._gone[vertex] or self._gone[other]):
                self._take(vertex, level)
                return level, vertex

    def _ghost(self, level: int, place: int) -> int | None:
        """Take a vertex for its ghosts, or a fake."""
        if place >= self._left[level]:
            self._fakes[level] -= 1
            return None
        vertex: int = self._vertices[level].pop()
        while self._gone[vertex]:
            vertex = self._vertices[level].pop()
        self._take(vertex, level)
        return vertex

    def _take(self, vertex: int, level: int) -> None:
        self._gone[vertex] = 1
        self._left[level] -= 1

    def _dump(self, level: int) -> list[int]:
        rest = [vertex for vertex in self._vertices[level] if not self._gone[vertex]]
        for vertex in rest:
            self._gone[vertex] = 1
        self._dumped.add(level)
        self._left[level] = self._fakes[level] = 0
        self._ends[level] = []
        # Their order was random from the start, whatever was taken: no new shuffle is needed.
        return rest
