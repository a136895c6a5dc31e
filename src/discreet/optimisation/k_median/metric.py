"""Where people may be, where facilities may open, and how far it is: all of it public.

Distances are whole numbers of a declared unit, rounded up: rounding up keeps the triangle inequality.
Costs are then whole numbers too. They are added up in 64-bit floats, and no sum ever passes 2**53, so
every one of them is exact in any order of summation.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Hashable, Iterable, Iterator, Sequence
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
from discreet.core.fixed import Array, Floats, Integers, fix_array, is_fixed
from discreet.core.neighbours import Neighbours
from discreet.core.parameters import Exact, frozen, public
from discreet.core.progress import LongRun
from discreet.mechanisms.count import count_moved_cells
from discreet.mechanisms.scores import rate_within
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.common.graphs import Vertices, is_networkx
from discreet.optimisation.common.labels import bare_array, find_places, is_number_below, read_labels

Names = Iterable[Hashable] | Vertices

_EXACT = 1 << 53
_FEWEST = 1 << 24
"""People that may share one place before its count is clipped; a metric that allows fewer is refused."""
_ROWS = 1 << 20
"""Distances that are worked on at a time."""


@dataclass(frozen=True, slots=True, init=False, eq=False, repr=False)
class Metric:
    """Distances from every place where people may be to every site where a facility may open.

    Attributes
    ----------
    distances
        One row a place, one column a site, in units; read-only.
    unit
        What one unit is worth.
    place_names, site_names
        What places and sites are called; their numbers where no names were declared.
    """

    distances: NDArray[np.int32]
    unit: Fraction
    place_names: Vertices
    site_names: Vertices
    _digest: bytes

    def __init__(
        self,
        distances: ArrayLike,
        *,
        unit: checks.Number,
        place_names: Names | None = None,
        site_names: Names | None = None,
    ) -> None:
        step = checks.positive(unit=unit)
        given = _numbers(distances, "distances")
        if given.ndim != 2 or not given.size or given.dtype.kind not in "iuf":
            raise InvalidParameter(name="distances", rule="a table of numbers", value=given.shape)
        if not (np.isfinite(given).all() and given.min() >= 0):
            raise InvalidParameter(name="distances", rule="finite and >= 0", value="some that are not")
        self._set(np.ceil(given.astype(np.float64) / float(step) - 1e-9), step, place_names, site_names)

    def _set(self, units: Array, step: Fraction, places: Names | None, sites: Names | None) -> None:
        if units.max() * len(units) > _EXACT // _FEWEST:
            most = _EXACT // _FEWEST // len(units)
            raise InvalidParameter(name="unit", rule=f"so coarse that distances are <= {most}", value=step)
        table = fix_array(units.astype(np.int32, copy=False))
        here = _read_names(len(table), place_names=places)
        there = _read_names(table.shape[1], site_names=sites)
        written = f"{table.shape} {step} {here.names!r} {there.names!r} ".encode()
        digest = hashlib.blake2b(written + table.tobytes(), digest_size=16).digest()
        for name, value in zip(Metric.__slots__, (table, step, here, there, digest), strict=True):
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
        self._set(table, step, given.place_names, given.site_names)
        return self

    @classmethod
    def points(cls, sites: ArrayLike, *, unit: checks.Number, places: ArrayLike | None = None) -> Self:
        """Take straight-line distances between points; people are at the sites unless places are given.

        People are counted by the number of their point, from 0: who is listed by coordinates counts nowhere.
        """
        there = _numbers(sites, "sites", np.float64)
        here = there if places is None else _numbers(places, "places", np.float64)
        if there.ndim != 2 or here.ndim != 2 or there.shape[1] != here.shape[1]:
            raise InvalidParameter(name="sites", rule="points, one a row", value=there.shape)
        return cls(cdist(here, there), unit=unit)

    @classmethod
    def graph(
        cls, graph: Any, *, unit: checks.Number, sites: Names | None = None, length: str = "length"
    ) -> Self:
        """Take shortest paths in a connected, undirected graph; people are at its vertices.

        Vertices keep their names, or numbers: people are counted by them, and sites are called by them.

        Parameters
        ----------
        graph
            A NetworkX graph, a square SciPy sparse matrix of lengths, or rows (u, v, length), as an array
            or in a list.
        unit
            What one unit of distance is worth.
        sites
            The vertices where a facility may open; all of them where left out.
        length
            The attribute of a NetworkX edge that holds its length; an edge without it has length 1.
        """
        names, lengths = _read_lengths(graph, length)
        known, chosen = names.places(), None
        if sites is not None:
            chosen = [_find_known(known, sites=site) for site in checks.several(sites=sites)]
        paths = np.atleast_2d(dijkstra(lengths, directed=False, indices=chosen))
        if not np.isfinite(paths).all():
            raise InvalidParameter(name="graph", rule="connected", value="a graph in several pieces")
        opened = names if chosen is None else [names.name(place) for place in chosen]
        return cls(paths.T, unit=unit, place_names=names, site_names=opened)

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
            One place a person, by its name where places have names, else by its number. Whatever is no
            place counts nowhere.
        """
        counts = np.bincount(_find_people(people, self.place_names), minlength=self.places)
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

    def cost(self, people: Any, chosen: Iterable[Hashable]) -> float:
        """Return the true cost of a set of sites, in the user's own unit. Not private: for evaluations."""
        known = self.site_names.places()
        places = [_find_known(known, chosen=site) for site in chosen]
        return float(int(self.costs(self.counts(people), [places])[0]) * self.unit)

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
        The chosen sites: their names, or numbers, in the order of all sites.
    metric
        The public distances.
    """

    sites: tuple[Hashable, ...]
    metric: Metric

    @classmethod
    def of(cls, chosen: Iterable[int], metric: Metric) -> Medians:
        """Return the sites with these numbers, by their names."""
        return cls(tuple(map(metric.site_names.name, chosen)), metric)

    def nearest(self, place: Hashable) -> Hashable:
        """Return the chosen site that is nearest to a place."""
        return self._find_nearest()[_find_known(self.metric.place_names.places(), place=place)]

    def assignment(self) -> dict[Hashable, Hashable]:
        """Return the nearest chosen site of every place."""
        return dict(zip(self.metric.place_names.all(), self._find_nearest(), strict=True))

    def _find_nearest(self) -> list[Hashable]:
        known = self.metric.site_names.places()
        near = self.metric.distances[:, [known[site] for site in self.sites]].argmin(axis=1)
        return [self.sites[place] for place in near.tolist()]

    def __repr__(self) -> str:
        return f"Medians(sites={self.sites})"


def require_people(neighbours: Neighbours) -> Neighbours:
    """Return neighbours that must add, remove or replace a person."""
    count_moved_cells(neighbours)
    return neighbours


@frozen
class OfPeople(LongRun[Any, Medians]):
    """What all ways to open sites share: the distances, how many sites, a budget, and what is hidden."""

    metric: Metric = public(Metric.of)
    k: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    neighbours: Neighbours = public(require_people)

    def _complete(self) -> None:
        if self.k > self.metric.sites:
            raise InvalidParameter(name="k", rule=f"at most the {self.metric.sites} sites", value=self.k)

    def _choice_within(self, range_: Fraction, spread: int) -> ExponentialChoice:
        """Return a choice by costs whose differences one person moves by at most `spread` units."""
        moved = spread * count_moved_cells(self.neighbours)
        return ExponentialChoice(rate_within(range_, moved), Fraction(moved))


def _find_people(people: Any, names: Vertices) -> Integers:
    """Return the places of the people who are at one.

    One person's place must not decide how the others' are read, or whether they are: a large number, a
    missing one or a fraction among them changes the type of an array.
    """
    kind = type(people).__name__
    people = bare_array(people)
    if not isinstance(people, np.ndarray | list | tuple) or getattr(people, "ndim", 1) != 1:
        hint = "Pass a list or an array of their numbers, or names where the metric has some: no coordinates"
        raise InvalidParameter(name="data", rule="places, one a person", got=f"a {kind}", hint=hint)
    if names.names is not None:
        return np.array(find_places(people, names.places()), dtype=np.int64)
    if isinstance(people, np.ndarray) and people.dtype.kind in "iuf":
        known = (people >= 0) & (people < names.size) & (people == np.floor(people))
        return np.asarray(people[known], dtype=np.int64)
    return np.array([int(one) for one in people if is_number_below(names.size, one)], dtype=np.int64)


def _find_known(known: dict[Hashable, int], **named: Hashable) -> int:
    """Return the number of a public place or site; the keyword names it in the error."""
    ((name, label),) = named.items()
    places = find_places([label], known)
    if not places:
        raise InvalidParameter(name=name, rule="one of those that were declared", value=label)
    return places[0]


def _read_names(size: int, **given: Names | None) -> Vertices:
    """Return names, one for each of so many places or sites; the keyword names the parameter."""
    ((name, names),) = given.items()
    read = Vertices.of(size if names is None else names, name)
    if read.size != size:
        raise InvalidParameter(name=name, rule=f"{size} names", value=read.size)
    return read


def _numbers(given: ArrayLike, name: str, dtype: Any = None) -> Array:
    """Return a plain array of one's own."""
    try:
        return np.array(given, dtype=dtype)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(name=name, rule="a table of numbers", got="something else") from None


def _read_lengths(graph: Any, length: str) -> tuple[Vertices, Any]:
    """Return the vertices and the lengths of the edges, as a sparse matrix."""
    if is_networkx(graph):
        return _read_rows(graph.edges(data=length, default=1), list(graph.nodes))
    if isinstance(graph, list | tuple) and graph:
        return _read_rows(graph, [])
    if isinstance(graph, np.ndarray) and graph.ndim == 2 and graph.shape[1] == 3 and len(graph):
        rows = _numbers(graph, "graph", np.float64)
        if not (np.isfinite(rows).all() and rows[:, :2].min() >= 0 and (rows[:, :2] % 1 == 0).all()):
            raise InvalidParameter(name="graph", rule="rows (u, v, length)", got="other numbers")
        return _read_rows(zip(*rows[:, :2].astype(np.int64).T.tolist(), rows[:, 2], strict=True), [])
    if not sparse.issparse(graph) or len(set(getattr(graph, "shape", ()))) != 1:
        rule = "a graph, a square sparse matrix of lengths or rows (u, v, length)"
        raise InvalidParameter(name="graph", rule=rule, value=type(graph).__name__)
    matrix: Any = graph
    entries = matrix.tocoo()
    rows = np.stack([entries.row, entries.col, entries.data], axis=1).astype(np.float64)
    return Vertices.of(int(entries.shape[0])), _table(rows, int(entries.shape[0]))


def _read_rows(rows: Iterable[Any], vertices: list[Hashable]) -> tuple[Vertices, Any]:
    """Read edges between vertices that have names; 0, 1, ... in any order are taken for numbers."""
    try:
        listed = [(u, v, far) for u, v, far in rows]
    except (TypeError, ValueError):
        raise InvalidParameter(name="graph", rule="rows (u, v, length)", got="others") from None
    labels = read_labels((*vertices, *(end for u, v, _ in listed for end in (u, v))), "graph")
    different = dict.fromkeys(labels)
    numbered = different.keys() == set(range(len(different)))
    names = Vertices.of(len(different) if numbered else different, "graph")
    place = names.places()
    numbers = _numbers([(place[u], place[v], far) for u, v, far in listed], "graph", np.float64)
    return names, _table(numbers.reshape(-1, 3), names.size)


def _table(rows: Array, size: int) -> Any:
    """Return the lengths by ends: of edges between the same two vertices that of the shortest."""
    if not (np.isfinite(rows[:, 2]).all() and (rows[:, 2] >= 0).all()):
        raise InvalidParameter(name="graph", rule="of finite lengths >= 0", got="others")
    ends = np.sort(rows[:, :2].astype(np.int64), axis=1)
    order = np.lexsort((rows[:, 2], ends[:, 1], ends[:, 0]))
    ends, lengths = ends[order], rows[order, 2]
    first = np.ones(len(ends), dtype=np.bool_)
    first[1:] = (ends[1:] != ends[:-1]).any(axis=1)
    return sparse.coo_array((lengths[first], tuple(ends[first].T)), shape=(size, size)).tocsr()
