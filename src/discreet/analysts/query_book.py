"""Who asks what: the query book that many analysts fill, each on pages of their own."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType
from typing import Self, cast

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import Fixed, Integers, fix_array, seal
from discreet.core.parameters import checked, public
from discreet.queries.query import LinearQuery, read_name
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries, Workload
from discreet.queries.written import write_query, write_workload


@checked
class Caps:
    """How much may be asked at most. Public, and the only thing about the book that parameters may use.

    Attributes
    ----------
    analysts
        How many analysts there may be.
    queries
        How many queries each of them may ask.
    """

    analysts: int = public(checks.integer, 1)
    queries: int = public(checks.integer, 1)

    @property
    def places(self) -> int:
        """How many places the book has, taken or not."""
        return self.analysts * self.queries


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """What one analyst asks: queries that are answered together, and their places, ascending."""

    places: Integers
    queries: Workload

    def items(self) -> Iterator[tuple[int, LinearQuery]]:
        """List places and queries."""
        return zip(self.places.tolist(), self.queries, strict=True)


class QueryBook(Fixed):
    """Queries at fixed places. Who takes part is public; what they ask, and how much, is not.

    Queries are written down as they come in: nothing that analysts hand in is kept, and nothing is believed.

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
    universe: Universe
    caps: Caps
    names: tuple[str, ...]
    _pages: Mapping[int, Page]

    def __init__(
        self,
        universe: Universe,
        caps: Caps,
        names: Iterable[str],
        places: Mapping[int, LinearQuery | None] | None = None,
    ) -> None:
        self._set(universe, caps, names)
        pages: dict[int, dict[int, LinearQuery]] = {}
        for given, query in (places or {}).items():
            if query is not None:
                place = checks.index(len(self.names) * self.caps.queries, place=given)
                pages.setdefault(place // self.caps.queries, {})[place] = query
        self._pages = MappingProxyType({owner: self._write_page(own) for owner, own in pages.items()})

    def _set(self, universe: Universe, caps: Caps, names: Iterable[str]) -> None:
        self.universe = checks.instance(Universe, universe=universe)
        given = checks.instance(Caps, caps=caps)
        self.caps = Caps(given.analysts, given.queries)
        self.names = tuple(read_name(checks.text(names=name)) for name in names)
        if len(self.names) > self.caps.analysts or len(set(self.names)) < len(self.names):
            rule = f"at most {self.caps.analysts} different names"
            raise InvalidParameter(name="names", rule=rule, value=self.names)

    def _write_page(self, own: Mapping[int, LinearQuery]) -> Page:
        places = sorted(own)
        queries = Queries(self.universe, [write_query(own[place], self.universe) for place in places])
        return self._check_page(places, queries)

    def _check_page(self, places: Sequence[int], queries: Workload) -> Page:
        """Return a page of queries that were written down, and must count."""
        if not queries.is_predicates:
            raise Refused(
                what="a weighted query",
                why="the games are played with counting queries, every weight 0 or 1",
                way_out="Ask for the counts it is made of and add them up",
            )
        return Page(fix_array(np.array(places, dtype=np.int64)), queries)

    def with_queries(self, analyst: str, queries: Iterable[LinearQuery] | Workload) -> QueryBook:
        """Return the book with more queries of one analyst, each at their first free place."""
        owner = self._owner(analyst)
        return self._with({owner: self._fill(owner, queries)})

    def without(self, place: int) -> QueryBook:
        """Return the book with one place emptied; everything else stays where it is."""
        owner = place // self.caps.queries
        left = {other: query for other, query in self._own(owner).items() if other != place}
        return self._with({owner: self._write_page(left) if left else None})

    def fill(self, asked: Mapping[str, Iterable[LinearQuery] | Workload]) -> QueryBook:
        """Return the book with more queries of several analysts."""
        owners = {self._owner(name): own for name, own in asked.items()}
        return self._with({owner: self._fill(owner, own) for owner, own in owners.items()})

    def _fill(self, owner: int, queries: Iterable[LinearQuery] | Workload) -> Page | None:
        first = owner * self.caps.queries
        if issubclass(type(queries), Workload) and owner not in self._pages:
            fixed = write_workload(cast("Workload", queries), self.universe)
            self._check_cap(len(fixed))
            return self._check_page(range(first, first + len(fixed)), fixed)
        own, more = self._own(owner), list(islice(queries, self.caps.queries + 1))
        self._check_cap(len(own) + len(more))
        free = (place for place in range(first, first + self.caps.queries) if place not in own)
        own |= dict(zip(free, more, strict=False))
        return self._write_page(own) if own else None

    def _check_cap(self, queries: int) -> None:
        if queries > self.caps.queries:
            raise Refused(
                what=f"query number {self.caps.queries + 1} of one analyst",
                why=f"the public cap is {self.caps.queries}",
                way_out="Ask less, or open a book with larger caps",
            )

    def _with(self, pages: Mapping[int, Page | None]) -> QueryBook:
        found = {**self._pages, **pages}
        kept = {owner: page for owner, page in found.items() if page is not None}
        return self._of(self.universe, self.caps, self.names, kept)

    @classmethod
    def _of(cls, universe: Universe, caps: Caps, names: tuple[str, ...], pages: Mapping[int, Page]) -> Self:
        self = cls.__new__(cls)
        self._set(universe, caps, names)
        self._pages = MappingProxyType(dict(pages))
        seal(self)
        return self

    def page(self, analyst: str) -> Page | None:
        """Return one analyst's queries as they are kept, to be answered together, or None."""
        return self._pages.get(self._owner(analyst))

    def list_asked(self, analyst: str) -> dict[int, LinearQuery]:
        """Return one analyst's queries by place."""
        return self._own(self._owner(analyst))

    def pages(self) -> Iterator[Page]:
        """List what was asked, analyst by analyst. Only mechanisms should call this."""
        return (self._pages[owner] for owner in sorted(self._pages))

    def items(self) -> Iterator[tuple[int, LinearQuery]]:
        """List all places that are taken, ascending. Only mechanisms should call this."""
        for page in self.pages():
            yield from page.items()

    def is_like(self, other: QueryBook) -> bool:
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

    def find_changed(self, other: QueryBook) -> tuple[str, ...]:
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
    return QueryBook(universe, caps, asked).fill(asked)
