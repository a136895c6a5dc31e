"""Who asks what: the query book that many analysts fill, each on pages of his own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe


@dataclass(frozen=True, slots=True)
class Caps:
    """How much may be asked at most. Public, and the only thing about the book that parameters may use.

    Attributes
    ----------
    analysts
        How many analysts there may be.
    queries
        How many queries each of them may ask.
    """

    analysts: int
    queries: int

    def __post_init__(self) -> None:
        checks.integer(1, analysts=self.analysts)
        checks.integer(1, queries=self.queries)

    @property
    def places(self) -> int:
        """How many places the book has, taken or not."""
        return self.analysts * self.queries


class QueryBook:
    """Queries at fixed places. Who takes part is public; what he asks, and how much, is not.

    Analyst number i owns the places i * caps.queries and following. A query keeps its place for ever, so
    that what one analyst adds or removes moves nobody else's queries.

    Parameters
    ----------
    universe
        What all queries are over.
    caps
        The public limits.
    names
        The analysts, in the order they registered.
    places
        Queries by place; None where there is none. Counting queries only: every weight 0 or 1.
    """

    __slots__ = ("_places", "caps", "names", "universe")

    def __init__(
        self,
        universe: Universe,
        caps: Caps,
        names: Iterable[str],
        places: Mapping[int, LinearQuery | None] | None = None,
    ) -> None:
        self.universe: Universe = checks.instance(Universe, universe=universe)
        self.caps: Caps = checks.instance(Caps, caps=caps)
        self.names = tuple(checks.text(names=name) for name in names)
        if len(self.names) > caps.analysts or len(set(self.names)) < len(self.names):
            rule = f"at most {caps.analysts} different names"
            raise InvalidParameter(name="names", rule=rule, value=self.names)
        given = sorted((places or {}).items(), key=lambda item: item[0])
        self._places = {place: self._checked(place, query) for place, query in given if query is not None}

    def _checked(self, place: int, query: LinearQuery) -> LinearQuery:
        checks.index(len(self.names) * self.caps.queries, place=place)
        checks.instance(LinearQuery, query=query)
        if query.universe != self.universe:
            raise InvalidParameter(name="query", rule="over the universe of the book", got="another one")
        if not query.is_predicate:
            raise Refused(
                what="a weighted query",
                why="the games are played with counting queries, every weight 0 or 1",
                way_out="Ask for the counts it is made of and add them up",
            )
        return query

    def with_queries(self, analyst: str, queries: Iterable[LinearQuery]) -> QueryBook:
        """Return the book with more queries of one analyst, each at his first free place."""
        places, own = dict(self._places), self._own(analyst)
        free = (place for place in own if place not in self._places)
        for query in queries:
            place = next(free, None)
            if place is None:
                raise Refused(
                    what=f"query number {self.caps.queries + 1} of one analyst",
                    why=f"the public cap is {self.caps.queries}",
                    way_out="Ask less, or open a book with larger caps",
                )
            places[place] = query
        return QueryBook(self.universe, self.caps, self.names, places)

    def without(self, place: int) -> QueryBook:
        """Return the book with one place emptied; everything else stays where it is."""
        left = {other: query for other, query in self._places.items() if other != place}
        return QueryBook(self.universe, self.caps, self.names, left)

    def asked_by(self, analyst: str) -> dict[int, LinearQuery]:
        """Return one analyst's queries by place."""
        return {place: self._places[place] for place in self._own(analyst) if place in self._places}

    def items(self) -> Iterator[tuple[int, LinearQuery]]:
        """List all places that are taken, ascending. Only mechanisms should call this."""
        yield from self._places.items()

    def like(self, other: QueryBook) -> bool:
        """Tell whether everything public about two books is the same."""
        return (self.universe, self.caps, self.names) == (other.universe, other.caps, other.names)

    def differences(self, other: QueryBook) -> tuple[int, ...]:
        """Return the places that hold different queries."""
        places = sorted({*self._places, *other._places})
        return tuple(p for p in places if not _same(self._places.get(p), other._places.get(p)))

    def changed(self, other: QueryBook) -> tuple[str, ...]:
        """Return the analysts who ask something else in the other book."""
        owners = {place // self.caps.queries for place in self.differences(other)}
        return tuple(self.names[owner] for owner in sorted(owners))

    def _own(self, analyst: str) -> range:
        number = self.names.index(checks.one_of(self.names, analyst=analyst))
        return range(number * self.caps.queries, (number + 1) * self.caps.queries)

    def __repr__(self) -> str:
        # Not how much was asked: that is nobody else's business.
        return f"<QueryBook: {len(self.names)} analysts, at most {self.caps.queries} queries each>"


def _same(left: LinearQuery | None, right: LinearQuery | None) -> bool:
    """Tell whether two queries count the same cells."""
    if left is None or right is None or left is right:
        return left is right
    mine, theirs = left.vector(), right.vector()
    return mine.shape == theirs.shape and bool((mine == theirs).all())


def book_of(universe: Universe, caps: Caps, asked: Mapping[str, Iterable[Any]]) -> QueryBook:
    """Make a book from each analyst's queries, in order."""
    book = QueryBook(universe, caps, asked)
    for name, queries in asked.items():
        book = book.with_queries(name, queries)
    return book
