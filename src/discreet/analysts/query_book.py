"""Who asks what: the query book that many analysts fill, each on pages of his own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries, Workload


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


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """What one analyst asks: queries that are answered together, and their places, ascending."""

    places: NDArray[np.int64]
    queries: Workload

    def items(self) -> Iterator[tuple[int, LinearQuery]]:
        """List places and queries."""
        return zip(self.places.tolist(), self.queries, strict=True)


class QueryBook:
    """Queries at fixed places. Who takes part is public; what he asks, and how much, is not.

    Analyst number i owns the places i * caps.queries and following. A query keeps its place for ever, so
    that what one analyst adds or removes moves nobody else's queries.

    Memory: what the queries take. A workload that fills a page is kept as it is, however many queries it has.

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

    __slots__ = ("_pages", "caps", "names", "universe")

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
        pages: dict[int, dict[int, LinearQuery]] = {}
        for place, query in (places or {}).items():
            if query is not None:
                checks.index(len(self.names) * caps.queries, place=place)
                pages.setdefault(place // caps.queries, {})[place] = query
        self._pages = {owner: self._page(own) for owner, own in pages.items()}

    def _page(self, own: Mapping[int, LinearQuery]) -> Page:
        places = sorted(own)
        queries = [checks.instance(LinearQuery, query=own[place]) for place in places]
        for query in queries:
            self._check(query.universe, query.is_predicate)
        return Page(np.array(places, dtype=np.int64), Queries(self.universe, queries))

    def _check(self, universe: Universe, is_predicate: bool) -> None:
        if universe != self.universe:
            raise InvalidParameter(name="query", rule="over the universe of the book", got="another one")
        if not is_predicate:
            raise Refused(
                what="a weighted query",
                why="the games are played with counting queries, every weight 0 or 1",
                way_out="Ask for the counts it is made of and add them up",
            )

    def with_queries(self, analyst: str, queries: Iterable[LinearQuery] | Workload) -> QueryBook:
        """Return the book with more queries of one analyst, each at his first free place."""
        owner = self._owner(analyst)
        return self._with({owner: self._filled(owner, queries)})

    def without(self, place: int) -> QueryBook:
        """Return the book with one place emptied; everything else stays where it is."""
        owner = place // self.caps.queries
        left = {other: query for other, query in self._own(owner).items() if other != place}
        return self._with({owner: self._page(left) if left else None})

    def filled(self, asked: Mapping[str, Iterable[LinearQuery] | Workload]) -> QueryBook:
        """Return the book with more queries of several analysts."""
        owners = {self._owner(name): own for name, own in asked.items()}
        return self._with({owner: self._filled(owner, own) for owner, own in owners.items()})

    def _filled(self, owner: int, queries: Iterable[LinearQuery] | Workload) -> Page | None:
        first = owner * self.caps.queries
        if isinstance(queries, Workload) and owner not in self._pages:
            self._check(queries.universe, queries.is_predicates)
            self._check_cap(len(queries))
            return Page(np.arange(first, first + len(queries), dtype=np.int64), queries)
        own, more = self._own(owner), list(queries)
        self._check_cap(len(own) + len(more))
        free = (place for place in range(first, first + self.caps.queries) if place not in own)
        own |= dict(zip(free, more, strict=False))
        return self._page(own) if own else None

    def _check_cap(self, queries: int) -> None:
        if queries > self.caps.queries:
            raise Refused(
                what=f"query number {self.caps.queries + 1} of one analyst",
                why=f"the public cap is {self.caps.queries}",
                way_out="Ask less, or open a book with larger caps",
            )

    def _with(self, pages: Mapping[int, Page | None]) -> QueryBook:
        made = QueryBook(self.universe, self.caps, self.names)
        found = {**self._pages, **pages}
        made._pages = {owner: page for owner, page in found.items() if page is not None}
        return made

    def page(self, analyst: str) -> Page | None:
        """Return one analyst's queries as they are kept, to be answered together; None where he has none."""
        return self._pages.get(self._owner(analyst))

    def asked_by(self, analyst: str) -> dict[int, LinearQuery]:
        """Return one analyst's queries by place."""
        return self._own(self._owner(analyst))

    def pages(self) -> Iterator[Page]:
        """List what was asked, analyst by analyst. Only mechanisms should call this."""
        return (self._pages[owner] for owner in sorted(self._pages))

    def items(self) -> Iterator[tuple[int, LinearQuery]]:
        """List all places that are taken, ascending. Only mechanisms should call this."""
        for page in self.pages():
            yield from page.items()

    def like(self, other: QueryBook) -> bool:
        """Tell whether everything public about two books is the same."""
        return (self.universe, self.caps, self.names) == (other.universe, other.caps, other.names)

    def differences(self, other: QueryBook) -> tuple[int, ...]:
        """Return the places that hold different queries."""
        found: list[int] = []
        for owner in sorted({*self._pages, *other._pages}):
            if self._pages.get(owner) is not other._pages.get(owner):
                mine, theirs = self._own(owner), other._own(owner)
                places = sorted({*mine, *theirs})
                found += [place for place in places if not _same(mine.get(place), theirs.get(place))]
        return tuple(found)

    def changed(self, other: QueryBook) -> tuple[str, ...]:
        """Return the analysts who ask something else in the other book."""
        owners = {place // self.caps.queries for place in self.differences(other)}
        return tuple(self.names[owner] for owner in sorted(owners))

    def _own(self, owner: int) -> dict[int, LinearQuery]:
        page = self._pages.get(owner)
        return {} if page is None else dict(page.items())

    def _owner(self, analyst: str) -> int:
        return self.names.index(checks.one_of(self.names, analyst=analyst))

    def __repr__(self) -> str:
        # Not how much was asked: that is nobody else's business.
        return f"<QueryBook: {len(self.names)} analysts, at most {self.caps.queries} queries each>"


def _same(left: LinearQuery | None, right: LinearQuery | None) -> bool:
    """Tell whether two queries count the same cells."""
    if left is None or right is None or left is right:
        return left is right
    mine, theirs = left.vector(), right.vector()
    return mine.shape == theirs.shape and bool((mine == theirs).all())


def book_of(
    universe: Universe, caps: Caps, asked: Mapping[str, Iterable[LinearQuery] | Workload]
) -> QueryBook:
    """Make a book from each analyst's queries, in order."""
    return QueryBook(universe, caps, asked).filled(asked)
