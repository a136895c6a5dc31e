"""Road networks: whoever goes from one place to another takes the cheapest path."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Bools, Floats, Integers, fix_array
from discreet.core.rounding import above
from discreet.games.common.reports import read_kinds
from discreet.games.equilibria.latencies import Latencies
from discreet.games.equilibria.ways import Ways

LARGEST = 1 << 24
"""Numbers of one table of the search at most: starts * places * roads into a place."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The cheapest path of every trip: the roads it uses, and the last of them, round by round."""

    used: Bools
    roads: tuple[Integers, ...]


class Network(Ways):
    """Roads between places, and the trips that people may want to make.

    Parameters
    ----------
    roads
        One-way roads, each as (from, to).
    latencies
        For each road coefficients of 1, of the share of all players on it, of its square, ...; >= 0.
    trips
        What a player may want: (from, to). These are the types.
    longest
        No path uses more roads; it bounds what one report moves.
    """

    __slots__ = ("_ends", "_into", "_starts", "_tails", "longest", "places", "roads")

    def __init__(
        self,
        *,
        roads: Iterable[tuple[Hashable, Hashable]],
        latencies: Iterable[Iterable[checks.Number]],
        trips: Iterable[tuple[Hashable, Hashable]],
        longest: int,
    ) -> None:
        self.latencies = Latencies.read(latencies=latencies)
        self.roads: tuple[Any, ...] = tuple(_read_pair("roads", road) for road in checks.several(roads=roads))
        if len(self.roads) != len(self.latencies):
            rule = f"{len(self.latencies)} of them, as many as latencies"
            raise InvalidParameter(name="roads", rule=rule, value=len(self.roads))
        self.types = read_kinds(trips=[_read_pair("trips", trip) for trip in checks.several(trips=trips)])
        self.places: tuple[Hashable, ...] = tuple(dict.fromkeys(end for road in self.roads for end in road))
        self.longest = checks.integer(1, longest=longest)
        known = {place: number for number, place in enumerate(self.places)}
        ends = [known.get(end, -1) for trip in self.types for end in trip]  # type: ignore[attr-defined]
        if min(ends) < 0:
            rule = "between places that some road leads from or to"
            raise InvalidParameter(name="trips", rule=rule, got="other places")
        tails = np.array([known[start] for start, _ in self.roads])
        self._tails: Integers = fix_array(tails)
        starts, which = np.unique(np.array(ends[::2]), return_inverse=True)
        self._starts: Integers = fix_array(starts)
        self._ends: Integers = fix_array(np.stack([which, np.array(ends[1::2])]))
        self._into: Integers = fix_array(_list_roads_into([known[end] for _, end in self.roads], len(known)))
        if len(starts) * self._into.size > LARGEST:
            raise InvalidParameter(
                name="roads", rule="so few that all can be searched", value=len(self.roads)
            )
        self._seal_with(self.roads, self.longest)
        if not self.respond(self.latencies.table[:, 0]).used.any(axis=1).all():
            rule = f"between places that are at most {self.longest} roads apart"
            raise InvalidParameter(name="trips", rule=rule, got="others", hint="Raise longest")

    @property
    def square_shift(self) -> int:
        """Return how many roads two paths use together at most."""
        return 2 * self.longest

    @property
    def steepest(self) -> float:
        """Return the sum of the largest slopes that a path could have: longest of them."""
        return above(float(np.sort(self.latencies.slopes)[-self.longest :].sum()), self.longest + 4)

    def respond(self, costs: Floats) -> Paths:
        """Return the cheapest paths, by Bellman's equation, one road longer at a time.

        A longer path replaces a shorter one only if it is cheaper, so none comes by a place twice.
        """
        starts, into = len(self._starts), self._into
        best = np.full((starts, len(self.places)), np.inf)
        best[np.arange(starts), self._starts] = 0.0
        prices, tails = np.append(costs, np.inf)[into], np.append(self._tails, 0)[into]
        last = []
        for _ in range(self.longest):
            tried = best[:, tails] + prices
            which = tried.argmin(axis=2)
            found = np.take_along_axis(tried, which[:, :, None], axis=2)[:, :, 0]
            shorter = found < best
            last.append(np.where(shorter, into[np.arange(len(self.places)), which], -1))
            best = np.where(shorter, found, best)
        return self._follow_back(last)

    def _follow_back(self, last: Sequence[Integers]) -> Paths:
        """Return the paths that the last roads into each place lead back along."""
        start, place = self._ends[0], self._ends[1].copy()
        used, roads = np.zeros((len(place), len(self.roads)), dtype=bool), []
        for step in reversed(last):
            road = step[start, place]
            came = road >= 0
            used[np.flatnonzero(came), road[came]] = True
            place = np.where(came, self._tails[road], place)
            roads.append(road)
        return Paths(used, tuple(roads))

    def cheapest(self, costs: Floats) -> Floats:
        """Return what the cheapest path of every trip costs."""
        return np.asarray(self.respond(costs).used @ costs)

    def count_users(self, answers: Paths, people: Integers) -> Integers:
        """Return how many are on each road."""
        return np.asarray(people @ answers.used.astype(np.int64))

    def name(self, answers: Paths, kind: int) -> tuple[int, ...]:
        """Return the numbers of the roads of a path, in order."""
        return tuple(int(road[kind]) for road in reversed(answers.roads) if road[kind] >= 0)

    def uses(self, way: tuple[int, ...]) -> tuple[int, ...]:
        """Return the roads of a path."""
        return way

    @property
    def worst(self) -> float:
        """Return what the dearest roads cost together with everybody on them."""
        full = np.sort(self.latencies.costs(np.ones(len(self.latencies))))
        return above(float(full[-self.longest :].sum()), self.longest + 4)


def _read_pair(name: str, pair: Any) -> tuple[Hashable, Hashable]:
    ends = checks.several(**{name: pair})
    if len(ends) != 2 or ends[0] == ends[1]:
        raise InvalidParameter(name=name, rule="pairs of different places", value=len(ends))
    return read_kinds(**{name: ends})  # type: ignore[return-value]


def _list_roads_into(heads: Sequence[int], places: int) -> Integers:
    """Return the roads into each place, filled up with a road that costs infinity."""
    into: list[list[int]] = [[] for _ in range(places)]
    for road, head in enumerate(heads):
        into[head].append(road)
    width = max(map(len, into))
    return np.array([roads + [len(heads)] * (width - len(roads)) for roads in into])
