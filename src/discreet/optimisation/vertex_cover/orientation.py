"""The result of a private vertex cover: for every pair of vertices, which of the two covers it."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.errors import InvalidParameter
from discreet.core.parameters import frozen
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import up
from discreet.optimisation.common.graphs import EdgeSet, OfGraph, read_edges
from discreet.optimisation.common.repeated_choices import Order


@dataclass(frozen=True, slots=True, repr=False)
class Orientation:
    """An order of all vertices. A pair, edge or not, is covered by the end that comes first.

    The order may be published. The vertices that cover a real edge may not: only someone who holds an edge
    knows that it is there, and asks which of its ends to use.

    Attributes
    ----------
    order
        All vertices.
    """

    order: tuple[Hashable, ...]
    _ranks: dict[Hashable, int] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_ranks", {vertex: rank for rank, vertex in enumerate(self.order)})

    def which_end(self, u: Hashable, v: Hashable) -> Hashable:
        """Return the end that covers the pair {u, v}, whether or not it is an edge."""
        return u if self._rank(u) <= self._rank(v) else v

    def instruction(self, u: Hashable, v: Hashable) -> str:
        """Say in words what the owner of the edge {u, v} does. It tells nothing about other edges."""
        return f"If you hold the edge between {u} and {v}, use {self.which_end(u, v)}."

    def cover(self, edges: Iterable[tuple[Hashable, Hashable]]) -> frozenset[Hashable]:
        """Return the vertices that cover the given edges. Not private: for the owner of the edges only."""
        return frozenset(self.which_end(u, v) for u, v, *_ in edges)

    def _rank(self, vertex: Hashable) -> int:
        try:
            return self._ranks[vertex]
        except (KeyError, TypeError):
            raise InvalidParameter(name="vertex", rule="one of the public vertices", value=vertex) from None

    def __repr__(self) -> str:
        shown = ", ".join(map(repr, self.order[:5]))
        return f"Orientation({shown}{', ...' if len(self.order) > 5 else ''})"


@frozen
class OfOrder(OfGraph[Orientation]):
    """What all covers share: one random order, and a ratio that holds on average."""

    _what: ClassVar[str] = "the cost of this cover"

    @property
    @abstractmethod
    def ratio(self) -> float:
        """How many times the least cost the expected cost is at most."""

    @property
    @abstractmethod
    def _trivial(self) -> float:
        """How many times the least cost any cover costs at most."""

    @property
    @abstractmethod
    def _order(self) -> Primitive[EdgeSet, Order]:
        """The step that meets the edges."""

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the cover costs more than alpha times the least with probability <= beta."""
        bound = up(Fraction(self.ratio) / checks.probability(beta=beta))
        return require_useful(bound, trivial=self._trivial, least=1.0, what=self._what, way_out=MORE)

    def _draw(self, data: Any, rng: Rng) -> Orientation:
        order = rng.perform(self._order, EdgeSet(read_edges(data, self.vertices)))
        return Orientation(tuple(map(self.vertices.name, order)))
