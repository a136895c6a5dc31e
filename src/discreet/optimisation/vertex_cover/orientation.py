"""The result of a private vertex cover: for every pair of vertices, which of the two covers it."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field

from discreet.core.errors import InvalidParameter


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
