"""Which change to the data a guarantee hides, in words, in the type, and as code.

Every relation is executable: ``distance(a, b)`` counts how many steps apart two data sets are, and
``pairs(domain, size)`` lists every pair of neighbours over a tiny domain, so that tests can check a
guarantee on all of them. Guarantees over different neighbours do not compose.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

from discreet.core import checks
from discreet.core.parameters import Exact, checked, public

Row = Hashable
Rows = tuple[Row, ...]


class Neighbours(ABC):
    """A neighbouring relation. Frozen, comparable by value, free of data."""

    way_out: ClassVar[str] = "Pass AddRemove('row') or Replace('row')"

    @abstractmethod
    def __str__(self) -> str:
        """Say in words what is hidden, to complete "protects ..."."""

    @abstractmethod
    def distance(self, left: Any, right: Any) -> float:
        """Count the steps between two data sets (infinity where there is no path)."""

    @abstractmethod
    def pairs(self, domain: Sequence[Any], size: int) -> Iterator[tuple[Any, Any]]:
        """List every ordered pair of neighbours made of elements of `domain`, at most `size` of them."""


class _Multisets(Neighbours):
    """One element more or fewer."""

    __slots__ = ()

    def distance(self, left: Sequence[Row], right: Sequence[Row]) -> float:
        """Size of the symmetric difference of two multisets."""
        a, b = Counter(left), Counter(right)
        return (a - b).total() + (b - a).total()

    def pairs(self, domain: Sequence[Row], size: int) -> Iterator[tuple[Rows, Rows]]:
        """All multisets of at most `size` rows, each with one row fewer, in both orders."""
        for count in range(1, size + 1):
            for rows in itertools.combinations_with_replacement(domain, count):
                for row in dict.fromkeys(rows):
                    fewer = list(rows)
                    fewer.remove(row)
                    yield rows, tuple(fewer)
                    yield tuple(fewer), rows


class _Positions(Neighbours):
    """One position holds another element; length and order are public."""

    __slots__ = ()

    def distance(self, left: Sequence[Row], right: Sequence[Row]) -> float:
        """Positions that differ."""
        if len(left) != len(right):
            return math.inf
        return sum(a != b for a, b in zip(left, right, strict=True))

    def pairs(self, domain: Sequence[Row], size: int) -> Iterator[tuple[Rows, Rows]]:
        """All sequences of length `size` that differ in one position."""
        for stream in itertools.product(domain, repeat=size):
            for place, other in itertools.product(range(size), domain):
                if stream[place] != other:
                    yield stream, (*stream[:place], other, *stream[place + 1 :])


@checked
class _Units(Neighbours):
    unit: str = public(checks.text, default="row")


@dataclass(frozen=True, slots=True)
class AddRemove(_Units, _Multisets):
    """Hides whether one `unit` is present. The number of units is private."""

    def __str__(self) -> str:
        return f"adding or removing one {self.unit}"


ROWS = AddRemove("row")
"""What a sensitivity is taken to be about where its owner does not say otherwise."""


@dataclass(frozen=True, slots=True)
class Replace(_Units):
    """Hides the content of one `unit`. The number of units is public."""

    def __str__(self) -> str:
        return f"changing one {self.unit}"

    def distance(self, left: Sequence[Row], right: Sequence[Row]) -> float:
        """Rows that differ between two multisets of one size."""
        if len(left) != len(right):
            return math.inf
        return (Counter(left) - Counter(right)).total()

    def pairs(self, domain: Sequence[Row], size: int) -> Iterator[tuple[Rows, Rows]]:
        """All multisets of exactly `size` rows that differ in one row."""
        for rest in itertools.combinations_with_replacement(domain, size - 1):
            for a, b in itertools.permutations(domain, 2):
                yield (*rest, a), (*rest, b)


@dataclass(frozen=True, slots=True)
class LocalReport(Neighbours):
    """Hides one person's whole answer from everybody, the collector included."""

    def __str__(self) -> str:
        return "changing one person's own value, even from the collector"

    def distance(self, left: Row, right: Row) -> float:
        """0 for equal values, else 1."""
        return 0 if left == right else 1

    def pairs(self, domain: Sequence[Row], size: int = 1) -> Iterator[tuple[Row, Row]]:
        """All ordered pairs of different values."""
        del size
        yield from itertools.permutations(domain, 2)


@dataclass(frozen=True, slots=True)
class Event(_Positions):
    """Hides one event of a stream: one position holds another symbol; length and order are public."""

    def __str__(self) -> str:
        return "changing one event of the stream"


@dataclass(frozen=True, slots=True)
class EventPresence(_Positions):
    """Hides whether one event of a stream took place: a step holds an element, or nothing (None).

    The number of steps is public. Putting another element in the place of one is two steps.
    """

    def __str__(self) -> str:
        return "adding or removing one event of the stream, whose length is public"

    def distance(self, left: Sequence[Row], right: Sequence[Row]) -> float:
        """Count the events to remove, and those to put in the places of nothing."""
        if len(left) != len(right):
            return math.inf
        return sum((a is not None) + (b is not None) for a, b in zip(left, right, strict=True) if a != b)

    def pairs(self, domain: Sequence[Row], size: int) -> Iterator[tuple[Rows, Rows]]:
        """All streams of length `size`, each with one of its events removed, in both orders."""
        for stream in itertools.product((None, *domain), repeat=size):
            for place in (place for place, event in enumerate(stream) if event is not None):
                without = (*stream[:place], None, *stream[place + 1 :])
                yield stream, without
                yield without, stream


@checked
class Contribution(Neighbours):
    """Hides what one person added to one step of a stream whose elements are sums over many.

    Parameters
    ----------
    most
        How much that is at most, in the units of the elements.
    """

    most: Exact = public(checks.positive)

    def __str__(self) -> str:
        return f"changing one element of the stream by at most {float(self.most):g}"

    def distance(self, left: Sequence[Any], right: Sequence[Any]) -> float:
        """Count the changes that lead from one stream of numbers to the other."""
        if len(left) != len(right):
            return math.inf
        return sum(
            math.ceil(abs(Fraction(a) - Fraction(b)) / self.most) for a, b in zip(left, right, strict=True)
        )

    def pairs(self, domain: Sequence[Any], size: int) -> Iterator[tuple[Rows, Rows]]:
        """All streams of length `size` over `domain` that differ at one step, by at most `most`."""
        for left, right in Event().pairs(domain, size):
            if self.distance(left, right) == 1:
                yield left, right


@dataclass(frozen=True, slots=True)
class UserEvents(Neighbours):
    """Hides every event of one user: streams of (user, element) where each of a user's steps holds nothing.

    The number of steps is public, so it does not change: that is what `UserStream` is about.
    """

    def __str__(self) -> str:
        return "removing or adding every event of one user, in a stream whose length is public"

    def distance(self, left: Sequence[Any], right: Sequence[Any]) -> float:
        """Count the users to blank in either stream until both are the same; meant for short streams."""
        if len(left) != len(right):
            return math.inf
        users = list(dict.fromkeys(event[0] for event in (*left, *right) if event is not None))
        ways = itertools.product(_subsets(users), repeat=2)
        found = [len(a) + len(b) for a, b in ways if _blank(left, a) == _blank(right, b)]
        return min(found)  # blanking everybody always does

    def pairs(self, domain: Sequence[tuple[Row, Row]], size: int) -> Iterator[tuple[Rows, Rows]]:
        """All streams of length `size`, each with all steps of one of its users blank, in both orders."""
        for stream in itertools.product((None, *domain), repeat=size):
            for user in dict.fromkeys(event[0] for event in stream if event is not None):
                without = _blank(stream, {user})
                yield stream, without
                yield without, stream


def _subsets(users: Sequence[Any]) -> list[set[Any]]:
    return [set(some) for count in range(len(users) + 1) for some in itertools.combinations(users, count)]


def _blank(stream: Sequence[Any], users: set[Any]) -> Rows:
    return tuple(None if event is None or event[0] in users else event for event in stream)


@dataclass(frozen=True, slots=True)
class UserStream(Neighbours):
    """Hides every event of one user: streams of (user, symbol) with all of a user's events left out.

    That changes how many there are [DR14, Definition 12.8], which nobody hides who shows a step an event.
    """

    def __str__(self) -> str:
        return "removing or adding every event of one user"

    def distance(self, left: Sequence[tuple[Row, Row]], right: Sequence[tuple[Row, Row]]) -> float:
        """Count the users to leave out of one stream and to add to the other; meant for short streams."""
        users = {user for user, _ in (*left, *right)}
        shared = {user for user, _ in left} & {user for user, _ in right}
        # The most users that both streams agree on stay; each other one is left out, added, or both.
        staying = next(
            count
            for count in range(len(shared), -1, -1)
            for kept in itertools.combinations(shared, count)
            if [e for e in left if e[0] in kept] == [e for e in right if e[0] in kept]
        )
        return len(users - shared) + 2 * (len(shared) - staying)

    def pairs(self, domain: Sequence[tuple[Row, Row]], size: int) -> Iterator[tuple[Rows, Rows]]:
        """All streams up to length `size`, each with one of its users left out, in both orders."""
        for count in range(1, size + 1):
            for stream in itertools.product(domain, repeat=count):
                for user in dict.fromkeys(user for user, _ in stream):
                    without = tuple(event for event in stream if event[0] != user)
                    yield stream, without
                    yield without, stream


@dataclass(frozen=True, slots=True)
class Edge(Neighbours):
    """Hides whether one edge of a graph is present. The vertices are public."""

    def __str__(self) -> str:
        return "adding or removing one edge"

    def distance(self, left: frozenset[Any], right: frozenset[Any]) -> float:
        """Edges that are in one graph only."""
        return len(left ^ right)

    def pairs(self, domain: Sequence[Any], size: int) -> Iterator[tuple[frozenset[Any], frozenset[Any]]]:
        """All graphs on the given vertices with at most `size` edges, each with one edge fewer."""
        possible = list(itertools.combinations(domain, 2))
        for count in range(1, min(size, len(possible)) + 1):
            for edges in itertools.combinations(possible, count):
                for edge in edges:
                    yield frozenset(edges), frozenset(edges) - {edge}
                    yield frozenset(edges) - {edge}, frozenset(edges)


@dataclass(frozen=True, slots=True)
class Bidder(_Positions):
    """Hides one bidder's report; who takes part is public."""

    def __str__(self) -> str:
        return "changing one bidder's report"


@dataclass(frozen=True, slots=True)
class BidderToOthers(_Positions):
    """Hides one bidder's report from all the others together: joint differential privacy.

    What goes to that bidder alone may tell the report. Who takes part is public.
    """

    def __str__(self) -> str:
        return "changing one bidder's report, towards all the others together"

    def observers(self, left: Sequence[Row], right: Sequence[Row]) -> tuple[int, ...]:
        """Return the bidders whose joint view must be alike: all who report the same on both sides."""
        return tuple(place for place, (a, b) in enumerate(zip(left, right, strict=True)) if a == b)


@dataclass(frozen=True, slots=True)
class OneQuery(_Multisets):
    """Hides one query from all analysts but its owner: query sets that differ in one query."""

    def __str__(self) -> str:
        return "adding or removing one query of one analyst, towards all the others"
