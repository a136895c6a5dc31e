"""Random orders of the vertices of a graph, drawn exactly.

The data are the edges; the outcome is an order of all vertices. Nothing but integers decides it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, partial

import numpy as np
from numpy.typing import NDArray

from discreet.core.progress import track
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import exp_fraction
from discreet.noise import coins
from discreet.optimisation.common.graphs import Edges, EdgeSet
from discreet.optimisation.common.repeated_choices import Order, mix_samples

_LARGEST_BLOCK = 8192
_FINE = 1 << 20


class Integers:
    """Uniform integers below changing bounds, cut from blocks of random words."""

    __slots__ = ("_block", "_rng", "_words")

    def __init__(self, rng: Rng) -> None:
        self._rng = rng
        self._words: list[int] = []
        self._block = 32

    def below(self, bound: int) -> int:
        """Draw a uniform integer in [0, bound) by rejection."""
        bits = bound.bit_length()
        while True:
            if not self._words:
                self._words = self._rng.words(self._block).tolist()
                self._block = min(2 * self._block, _LARGEST_BLOCK)
            word = self._words.pop()
            if bits > 64:
                word = word << (bits - 64) | self._rng.bits(bits - 64)
            else:
                word >>= 64 - bits
            if word < bound:
                return word


def shuffle(count: int, rng: Rng) -> NDArray[np.int64]:
    """Draw a uniform order of range(count): by random keys, all drawn again where two are equal."""
    while True:
        keys = rng.words(count)
        order = np.argsort(keys)
        ranked = keys[order]
        if not np.any(ranked[1:] == ranked[:-1]):
            return order.astype(np.int64)


@dataclass(frozen=True, slots=True)
class UniformOrder(Primitive[int, Order]):
    """Order so many things uniformly at random. It meets no data."""

    @property
    def sensitivity(self) -> Fraction:
        """Zero: the number is public."""
        return Fraction(0)

    def sample(self, value: int, rng: Rng) -> Order:
        """Shuffle."""
        return tuple(shuffle(value, rng).tolist())

    def law(self, value: int) -> Iterator[tuple[Order, Fraction]]:
        """Yield every order."""
        each = Fraction(1, math.factorial(value))
        yield from ((order, each) for order in itertools.permutations(range(value)))

    def distance(self, value: int, other: int) -> Fraction:
        """Return the difference of the numbers."""
        return Fraction(abs(value - other))


def edge_pairs(edges: EdgeSet) -> frozenset[tuple[int, ...]]:
    """Return the edges as pairs."""
    return frozenset(map(tuple, edges.ends.tolist()))


class OnEdges:
    """What all orders share: inputs are edges, neighbours differ in one."""

    __slots__ = ()

    @property
    def sensitivity(self) -> Fraction:
        """One edge."""
        return Fraction(1)

    def distance(self, value: EdgeSet, other: EdgeSet) -> Fraction:
        """Count the edges that are in one of the two only."""
        return Fraction(len(edge_pairs(value) ^ edge_pairs(other)))


@dataclass(frozen=True, slots=True)
class DegreeOrder(OnEdges, Primitive[EdgeSet, Order]):
    """Take `picks` vertices, each with probability ~ its degree in what is left, plus a weight.

    The rest is shuffled.

    With s vertices left the weight is `ghosts`, or ghosts * sqrt(size / s), rounded up to a multiple of
    1 / unit, where it is `growing`.

    The sampler draws edges and vertices in random orders, drawn beforehand. With s vertices and e undrawn
    edges left, the next draw is an edge with probability 2 e / (2 e + s weight); an edge that is already
    covered is passed over, another gives one of its ends by a fair coin. So a vertex is taken with
    probability proportional to its uncovered edges plus the weight.
    """

    size: int
    picks: int
    ghosts: Fraction
    growing: bool = False

    @property
    def unit(self) -> int:
        """What one edge weighs in whole numbers."""
        return self.ghosts.denominator * (_FINE if self.growing else 1)

    def weight(self, left: int) -> int:
        """Return the weight with so many vertices left, in units of 1 / unit."""
        if not self.growing:
            return self.ghosts.numerator
        p = self.ghosts.numerator * _FINE
        return math.isqrt(p * p * self.size // left) + 1

    def sample(self, value: EdgeSet, rng: Rng) -> Order:
        """Draw along two random orders."""
        taken = bytearray(self.size)
        order = list(track(self._pick(value.ends, taken, rng), total=self.picks, label="vertex cover"))
        rest = np.flatnonzero(np.frombuffer(taken, dtype=np.uint8) == 0)
        order += rest[shuffle(rest.size, rng)].tolist()
        return tuple(order)

    def _pick(self, edges: Edges, taken: bytearray, rng: Rng) -> Iterator[int]:
        mixed = edges[shuffle(len(edges), rng)]
        firsts, seconds = mixed[:, 0].tolist(), mixed[:, 1].tolist()
        vertices = shuffle(self.size, rng).tolist()
        draw, unit = Integers(rng).below, 2 * self.unit
        undrawn = len(firsts)
        for left in range(self.size, self.size - self.picks, -1):
            ghosts = left * self.weight(left)
            while True:
                place = draw(undrawn * unit + ghosts)
                if place < ghosts:
                    vertex = vertices.pop()
                    while taken[vertex]:  # the next one of the order, not a new draw
                        vertex = vertices.pop()
                    break
                undrawn -= 1
                if not (taken[firsts[undrawn]] or taken[seconds[undrawn]]):
                    vertex = (firsts if place & 1 else seconds)[undrawn]
                    break
            taken[vertex] = 1
            yield vertex

    def law(self, value: EdgeSet) -> Iterator[tuple[Order, Fraction]]:
        """Yield every order with its probability, from the definition."""
        yield from self._extend((), tuple(range(self.size)), edge_pairs(value), Fraction(1))

    def _extend(
        self, order: Order, rest: Order, edges: frozenset[tuple[int, ...]], chance: Fraction
    ) -> Iterator[tuple[Order, Fraction]]:
        if len(order) == self.picks:
            each = chance / math.factorial(len(rest))
            yield from (((*order, *tail), each) for tail in itertools.permutations(rest))
            return
        weight = Fraction(self.weight(len(rest)), self.unit)
        total = 2 * len(edges) + len(rest) * weight
        for vertex in rest:
            degree = sum(vertex in edge for edge in edges)
            left = frozenset(edge for edge in edges if vertex not in edge)
            others = tuple(other for other in rest if other != vertex)
            yield from self._extend((*order, vertex), others, left, chance * (degree + weight) / total)


@dataclass(frozen=True, slots=True)
class SampledOrder(OnEdges, Primitive[EdgeSet, Order]):
    """Forget every edge with probability exp(-epsilon), independently, and order by the others.

    Which edges were forgotten stays secret.
    """

    inner: Primitive[EdgeSet, Order]
    epsilon: Fraction

    def sample(self, value: EdgeSet, rng: Rng) -> Order:
        """Forget, then order."""
        forgotten = coins.bernoulli_exp(self.epsilon, len(value.ends), rng)
        return self.inner.sample(EdgeSet(value.ends[~forgotten]), rng)

    def law(self, value: EdgeSet) -> Iterator[tuple[Order, Fraction]]:
        """Mix the inner laws over all samples."""
        edges = sorted(edge_pairs(value))
        yield from mix_samples(edges, exp_fraction(self.epsilon), partial(_inner_law, self.inner))


@lru_cache(maxsize=4096)
def _inner_law(
    inner: Primitive[EdgeSet, Order], sample: tuple[tuple[int, ...], ...]
) -> tuple[tuple[Order, Fraction], ...]:
    return tuple(inner.law(EdgeSet(np.array(sample, dtype=np.int64).reshape(-1, 2))))
