"""Where people may be, where facilities may open, and how far it is: all of it public.

Distances are whole numbers of a declared unit, rounded up: rounding up keeps the triangle inequality.
Costs are then whole numbers too. They are added up in 64-bit floats, and no sum ever passes 2**53, so
every one of them is exact in any order of summation.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from scipy.sparse.csgraph import dijkstra
from scipy.spatial.distance import cdist

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import fix_array, is_fixed
from discreet.optimisation.common.graphs import Vertices, is_networkx

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_EXACT = 1 << 53
_FEWEST = 1 << 24
"""People that may share one place before its count is clipped; a metric that allows fewer is refused."""
_ROWS = 1 << 20
"""Distances that are worked on at a time."""
_NUMBERS = (int, float, np.integer, np.floating)


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Metric:
    """Distances from every place where people may be to every site where a facility may open.

    Attributes
    ----------
    distances
        One row a place, one column a site, in units; read-only.
    unit
        What one unit is worth.
    """

    distances: NDArray[np.int32]
    unit: Fraction
    _digest: bytes

    def __init__(self, distances: ArrayLike, *, unit: checks.Number) -> None:
        step = checks.positive(unit=unit)
        given = _numbers(distances, "distances")
        if given.ndim != 2 or not given.size or given.dtype.kind not in "iuf":
            raise InvalidParameter(name="distances", rule="a table of numbers", value=given.shape)
        if not (np.isfinite(given).all() and given.min() >= 0):
            raise InvalidParameter(name="distances", rule="finite and >= 0", value="some that are not")
        self._set(np.ceil(given.astype(np.float64) / float(step) - 1e-9), step)

    def _set(self, units: NDArray[Any], step: Fraction) -> None:
        if units.max() * len(units) > _EXACT // _FEWEST:
            most = _EXACT // _FEWEST // len(units)
            raise InvalidParameter(name="unit", rule=f"so coarse that distances are <= {most}", value=step)
        table = fix_array(units.astype(np.int32, copy=False))
        digest = hashlib.blake2b(f"{table.shape} {step} ".encode() + table.tobytes(), digest_size=16)
        for name, value in (("distances", table), ("unit", step), ("_digest", digest.digest())):
            object.__setattr__(self, name, value)

    @classmethod
    def of(cls, metric: Metric) -> Metric:
        """Return the same distances, made anew: a Metric that is handed in may hold anything."""
        given = checks.instance(Metric, metric=metric)
        table, step = given.distances, checks.positive(unit=given.unit)
        whole = is_fixed(table) and table.ndim == 2 and table.size and table.dtype == np.int32
        if not whole or table.min() < 0:
            raise InvalidParameter(name="metric", rule="a Metric with its own table", got="another")
        self = cls.__new__(cls)
        self._set(table, step)
        return self

    @classmethod
    def points(cls, sites: ArrayLike, *, unit: checks.Number, places: ArrayLike | None = None) -> Self:
        """Take straight-line distances between points; people are at the sites unless places are given."""
        there = _numbers(sites, "sites", np.float64)
        here = there if places is None else _numbers(places, "places", np.float64)
        if there.ndim != 2 or here.ndim != 2 or there.shape[1] != here.shape[1]:
            raise InvalidParameter(name="sites", rule="points, one a row", value=there.shape)
        return cls(cdist(here, there), unit=unit)

    @classmethod
    def graph(
        cls, graph: Any, *, unit: checks.Number, sites: Sequence[int] | None = None, length: str = "length"
    ) -> Self:
        """Take shortest paths in a connected, undirected graph; people are at its vertices.

        Parameters
        ----------
        graph
            A NetworkX graph, a square SciPy sparse matrix of lengths, or an array of rows (u, v, length).
        unit
            What one unit of distance is worth.
        sites
            The vertices, by their number, where a facility may open; all of them where left out.
        length
            The attribute of a NetworkX edge that holds its length; an edge without it has length 1.
        """
        lengths = _lengths(graph, length)
        chosen = None if sites is None else [checks.index(lengths.shape[0], sites=site) for site in sites]
        paths = np.atleast_2d(dijkstra(lengths, directed=False, indices=chosen))
        if not np.isfinite(paths).all():
            raise InvalidParameter(name="graph", rule="connected", value="a graph in several pieces")
        return cls(paths.T, unit=unit)

    @property
    def places(self) -> int:
        """How many places there are."""
        return int(self.distances.shape[0])

    @property
    def sites(self) -> int:
        """How many sites there are."""
        return int(self.distances.shape[1])

    @property
    def diameter(self) -> int:
        """The largest distance, in units."""
        return int(self.distances.max())

    @property
    def reach(self) -> int:
        """How many units apart two sites can be for one person: the spread of any choice among sites."""
        return int((self.distances.max(axis=1) - self.distances.min(axis=1)).max())

    def counts(self, people: Any) -> Floats:
        """Count the people at every place.

        Parameters
        ----------
        people
            One place number a person. Whatever is no place's number counts nowhere.
        """
        counts = np.bincount(_known(people, self.places), minlength=self.places)
        # Clipping moves no two neighbours further apart, and keeps every sum below 2**53.
        most = _EXACT // (self.places * max(1, self.diameter))
        return np.minimum(counts, most).astype(np.float64)

    def costs(self, counts: Floats, sets: Sequence[Sequence[int]] | Integers) -> Integers:
        """Return, for every set of sites, what the people travel to their nearest one, in units."""
        found = []
        chosen = np.asarray(sets, dtype=np.int64)
        for few in np.array_split(chosen, math.ceil(chosen.size * self.places / _ROWS)):
            nearest = self.distances[:, few].min(axis=2)
            found.append(counts @ nearest.astype(np.float64))
        return np.concatenate(found).astype(np.int64)

    def cost(self, people: Any, chosen: Sequence[int]) -> float:
        """Return the true cost of a set of sites, in the user's own unit. Not private: for evaluations."""
        return float(int(self.costs(self.counts(people), [list(chosen)])[0]) * self.unit)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield the table in blocks of rows, as floats."""
        rows = max(1, _ROWS // self.sites)
        for start in range(0, self.places, rows):
            where = slice(start, start + rows)
            yield where, self.distances[where].astype(np.float64)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Metric) and self._digest == other._digest

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"<metric: {self.places} places, {self.sites} sites, unit {float(self.unit):g}>"


@dataclass(frozen=True, slots=True)
class Medians:
    """The sites that were chosen. Everybody finds their own without telling anyone.

    Attributes
    ----------
    sites
        The chosen sites, by number, in rising order.
    metric
        The public distances.
    """

    sites: tuple[int, ...]
    metric: Metric

    def nearest(self, place: int) -> int:
        """Return the chosen site that is nearest to a place."""
        row = self.metric.distances[checks.index(self.metric.places, place=place)]
        return min(self.sites, key=lambda site: (int(row[site]), site))

    def assignment(self) -> Integers:
        """Return the nearest chosen site of every place."""
        near = self.metric.distances[:, self.sites].argmin(axis=1)
        chosen: Integers = np.array(self.sites, dtype=np.int64)[near]
        return chosen

    def __repr__(self) -> str:
        return f"Medians(sites={self.sites})"


def read_k(k: int, metric: Metric) -> int:
    """Check how many sites to open."""
    count = checks.integer(1, k=k)
    if count > metric.sites:
        raise InvalidParameter(name="k", rule=f"at most the {metric.sites} sites", value=k)
    return count


def _known(people: Any, places: int) -> Integers:
    """Return the places of the people who are at one.

    One person's number must not decide how the others' are read, or whether they are: a large one, a missing
    one or a fraction among them changes the type of an array.
    """
    if not isinstance(people, np.ndarray | list | tuple) or getattr(people, "ndim", 1) != 1:
        raise InvalidParameter(name="data", rule="place numbers, one a person", value=type(people).__name__)
    if isinstance(people, np.ndarray) and people.dtype.kind in "iuf":
        known = (people >= 0) & (people < places) & (people == np.floor(people))
        return np.asarray(people[known], dtype=np.int64)
    numbers = [one for one in people if isinstance(one, _NUMBERS) and not isinstance(one, bool)]
    return np.array([int(one) for one in numbers if 0 <= one < places and one == int(one)], dtype=np.int64)


def _numbers(given: ArrayLike, name: str, dtype: Any = None) -> NDArray[Any]:
    """Return a plain array of one's own."""
    try:
        return np.array(given, dtype=dtype)
    except (TypeError, ValueError):
        raise InvalidParameter(name=name, rule="a table of numbers", got="something else") from None


def _lengths(graph: Any, length: str) -> Any:
    """Return the lengths of the edges as a sparse matrix."""
    if is_networkx(graph):
        place = Vertices.of_graph(graph).places()
        listed = [(place[u], place[v], far) for u, v, far in graph.edges(data=length, default=1)]
        return _table(_numbers(listed, "graph", np.float64).reshape(-1, 3), len(place))
    if isinstance(graph, np.ndarray) and graph.ndim == 2 and graph.shape[1] == 3 and len(graph):
        rows = _numbers(graph, "graph", np.float64)
        if not (np.isfinite(rows).all() and rows[:, :2].min() >= 0 and (rows[:, :2] % 1 == 0).all()):
            raise InvalidParameter(name="graph", rule="rows (u, v, length)", got="other numbers")
        return _table(rows, int(rows[:, :2].max()) + 1)
    if not sparse.issparse(graph) or len(set(getattr(graph, "shape", ()))) != 1:
        rule = "a graph, a square sparse matrix of lengths or rows (u, v, length)"
        raise InvalidParameter(name="graph", rule=rule, value=type(graph).__name__)
    matrix: Any = graph
    entries = matrix.tocoo()
    rows = np.stack([entries.row, entries.col, entries.data], axis=1).astype(np.float64)
    return _table(rows, int(entries.shape[0]))


def _table(rows: NDArray[Any], size: int) -> Any:
    """Return the lengths by ends: of edges between the same two vertices that of the shortest."""
    if not (np.isfinite(rows[:, 2]).all() and (rows[:, 2] >= 0).all()):
        raise InvalidParameter(name="graph", rule="of finite lengths >= 0", got="others")
    ends = np.sort(rows[:, :2].astype(np.int64), axis=1)
    order = np.lexsort((rows[:, 2], ends[:, 1], ends[:, 0]))
    ends, lengths = ends[order], rows[order, 2]
    first = np.ones(len(ends), dtype=np.bool_)
    first[1:] = (ends[1:] != ends[:-1]).any(axis=1)
    return sparse.coo_array((lengths[first], tuple(ends[first].T)), shape=(size, size)).tocsr()
