"""One reader for graphs: NetworkX graphs, SciPy sparse matrices, edge arrays and edge lists.

The vertices are public and belong to the mechanism; the edges are private and are read at the door, each by
itself. Repeated edges count once. Loops, and whatever is no edge between two public vertices, count nowhere:
no record decides how the others are read, or whether there is an answer.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, TypeVar

import numpy as np
from scipy import sparse

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array, Integers
from discreet.core.loss import Loss, PureLoss
from discreet.core.neighbours import Edge
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.core.progress import LongRun
from discreet.optimisation.common.labels import bare_array, find_pair, read_labels

Value = TypeVar("Value")
Edges = Integers
"""An array of shape (edges, 2): different edges between different vertices, the smaller end first, sorted."""


@dataclass(frozen=True, slots=True, repr=False)
class Vertices:
    """The public vertices: a number of them, numbered from 0, or their names."""

    size: int
    names: tuple[Hashable, ...] | None = None

    @classmethod
    def of(cls, vertices: int | Iterable[Hashable] | Vertices, name: str = "vertices") -> Vertices:
        """Read a parameter, which errors call by its name: how many vertices, or what they are called."""
        if type(vertices) is Vertices:  # read again, as whoever made it may have filled it himself
            return cls.of(vertices.size if vertices.names is None else vertices.names, name)
        if isinstance(vertices, str | bytes | bytearray) or not isinstance(vertices, Iterable):
            return cls(checks.integer(1, **{name: vertices}))
        names = read_labels(vertices, name)
        if not names or len(set(names)) != len(names):
            rule = "different names, at least one"
            raise InvalidParameter(name=name, rule=rule, got=f"{len(names)} names")
        return cls(len(names), None if names == tuple(range(len(names))) else names)

    @classmethod
    def of_graph(cls, graph: Any) -> Vertices:
        """Take the vertices of a NetworkX graph or of a square sparse matrix as the public ones."""
        if is_networkx(graph):
            return cls.of(list(graph.nodes))
        if _is_sparse(graph) and graph.shape[0] == graph.shape[1]:
            return cls.of(int(graph.shape[0]))
        raise InvalidParameter(
            name="graph", rule="a NetworkX graph or a square sparse matrix", value=type(graph).__name__
        )

    def name(self, place: int) -> Hashable:
        """Return what a vertex is called."""
        return place if self.names is None else self.names[place]

    def all(self) -> Sequence[Hashable]:
        """Return the names of all vertices, in order."""
        return range(self.size) if self.names is None else self.names

    def places(self) -> dict[Hashable, int]:
        """Return the number of every vertex."""
        return {name: place for place, name in enumerate(self.all())}

    def __repr__(self) -> str:
        return f"<{self.size} vertices>"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class EdgeSet:
    """Private edges as one value: comparable, and without a shape that would tell how many there are."""

    ends: Edges

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EdgeSet) and np.array_equal(self.ends, other.ends)

    def __hash__(self) -> int:
        return hash(self.ends.tobytes())

    def __repr__(self) -> str:
        return "EdgeSet(...)"


@frozen
class OfGraph(LongRun[Any, Value]):
    """What all mechanisms about private edges share: public vertices, and a budget for one edge."""

    vertices: Public[int | Iterable[Hashable] | Vertices, Vertices] = public(Vertices.of)
    epsilon: Exact = public(checks.positive)

    @property
    def neighbours(self) -> Edge:  # type: ignore[override]
        """One edge is hidden."""
        return Edge()

    @property
    def loss(self) -> Loss:
        """The budget."""
        return PureLoss(self.epsilon)


def read_edges(graph: Any, vertices: Vertices) -> Edges:
    """Return the edges of a graph that join two of the given public vertices.

    Parameters
    ----------
    graph
        A NetworkX graph, a square sparse matrix (an entry is an edge, in either triangle), an array of
        shape (edges, 2), or pairs of vertices.
    vertices
        The public vertices. Matrices speak of them by number, and so do the numbers of an array.

    Raises
    ------
    InvalidParameter
        When it is none of these as a whole, whatever its edges are. The message quotes no edge.
    """
    try:
        ends = _read_ends(graph, vertices)
    except Exception:  # whatever is wrong with the private edges must look the same
        raise _no_graph() from None
    low, high = ends.min(axis=1), ends.max(axis=1)
    keys = np.sort((low * vertices.size + high)[low != high])
    keys = keys[np.diff(keys, prepend=-1) > 0]
    return np.stack([keys // vertices.size, keys % vertices.size], axis=1)


def _read_ends(graph: Any, vertices: Vertices) -> Edges:
    if _is_sparse(graph):
        if graph.shape != (vertices.size, vertices.size):
            raise _no_graph()
        entries = graph.tocoo()
        there = entries.data != 0
        return np.stack([entries.row[there], entries.col[there]], axis=1).astype(np.int64)
    if isinstance(graph, np.ndarray):
        return _read_array(bare_array(graph), vertices)
    if is_networkx(graph):
        return _read_pairs(graph.edges(), vertices.places())
    if isinstance(graph, str | bytes | Mapping):
        raise _no_graph()
    return _read_pairs(graph, vertices.places())


def _read_array(pairs: Array, vertices: Vertices) -> Edges:
    """Read an array of whatever type: one odd end among numbers makes texts or objects of all of them."""
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise _no_graph()
    if pairs.dtype.kind in "iuf":
        inside = (pairs >= 0) & (pairs < vertices.size) & (pairs == np.floor(pairs))
        return np.asarray(pairs[inside.all(axis=1)], dtype=np.int64)
    named = {name: place for name, place in vertices.places().items() if not isinstance(name, Number)}
    return _read_pairs(pairs.tolist(), named | {place: place for place in range(vertices.size)})


def _read_pairs(pairs: Iterable[Any], places: Mapping[Hashable, int]) -> Edges:
    ends = [found for found in (find_pair(pair, places) for pair in pairs) if found is not None]
    return np.array(ends, dtype=np.int64).reshape(-1, 2)


def is_networkx(graph: Any) -> bool:
    """Tell whether something looks like a NetworkX graph; that package need not be there."""
    return hasattr(graph, "nodes") and hasattr(graph, "edges")


def _is_sparse(graph: Any) -> bool:
    return bool(sparse.issparse(graph))


def _no_graph() -> InvalidParameter:
    return InvalidParameter(
        name="graph",
        rule="a graph, a sparse matrix or pairs, on the public vertices",
        got="something else",
        hint="Of a dense matrix pass scipy.sparse.csr_array(matrix)",
    )
