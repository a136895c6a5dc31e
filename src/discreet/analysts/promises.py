"""What is hidden between analysts, in words, in the type, and as code.

A mechanism for many analysts makes two promises. One is about the people in the data. The other is about
the analysts: what one of them asks changes what *all the others together* receive by little, or not at all.
Colluding analysts and false accounts are covered, because the promise is about their joint view.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar, cast

from discreet.analysts.query_book import Caps, QueryBook
from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Mechanism, Release
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.parameters import Exact, frozen, public
from discreet.core.progress import LongRun
from discreet.core.rng import SYSTEM, Rng
from discreet.core.sensitive import Sensitive
from discreet.queries.histogram import Histogram
from discreet.queries.query import LinearQuery
from discreet.queries.universe import Universe
from discreet.query_release.base import read_histogram
from discreet.query_release.synopses.synopsis import Synopsis

NOTHING = PureLoss(Fraction(0))
"""The loss of perfect privacy: the others' view does not depend on what is hidden."""


class AnalystPromise(Neighbours):
    """Which change of a query book is hidden, and from whom."""

    way_out: ClassVar[str] = "Pass OneQueryToMany(), OneAnalystToMany() or ManyToOne()"

    def observers(self, left: QueryBook, right: QueryBook) -> tuple[str, ...]:
        """Return the analysts whose joint view of neighbouring books must be alike: all who ask the same."""
        changed = left.find_changed(right)
        return tuple(name for name in left.names if name not in changed)

    def pairs(self, domain: Sequence[LinearQuery], size: int) -> Iterator[tuple[QueryBook, QueryBook]]:
        """List every ordered pair of neighbouring books of two analysts with up to `size` queries each.

        Parameters
        ----------
        domain
            The queries an analyst may ask, over one universe.
        size
            The public number of places each analyst has; any of them may be empty.
        """
        caps, names = Caps(analysts=2, queries=size), ("first", "second")
        books = [
            QueryBook(domain[0].universe, caps, names, dict(enumerate(places)))
            for places in itertools.product((None, *domain), repeat=caps.places)
        ]
        for left, right in itertools.permutations(books, 2):
            if self.distance(left, right) == 1:
                yield left, right


@dataclass(frozen=True, slots=True)
class OneQueryToMany(AnalystPromise):
    """Hides one query of one analyst from all the others together."""

    def __str__(self) -> str:
        return "adding, removing or changing one query of one analyst, towards all the others together"

    def distance(self, left: QueryBook, right: QueryBook) -> float:
        """Places that hold different queries."""
        return len(left.differences(right)) if left.is_like(right) else math.inf


@dataclass(frozen=True, slots=True)
class OneAnalystToMany(AnalystPromise):
    """Hides everything one analyst asks from all the others together."""

    def __str__(self) -> str:
        return "changing every query of one analyst, towards all the others together"

    def distance(self, left: QueryBook, right: QueryBook) -> float:
        """Analysts who ask something else."""
        return len(left.find_changed(right)) if left.is_like(right) else math.inf


@dataclass(frozen=True, slots=True)
class ManyToOne(AnalystPromise):
    """Hides everything the others ask from one analyst alone. Says nothing about two who share notes."""

    def __str__(self) -> str:
        return "changing every query of all the other analysts, towards one of them alone"

    def distance(self, left: QueryBook, right: QueryBook) -> float:
        """One step changes all analysts but one, so two steps lead anywhere where there are two of them."""
        if not left.is_like(right):
            return math.inf
        changed = len(left.find_changed(right))
        if changed < len(left.names):
            return min(changed, 1)
        return 2 if changed > 1 else math.inf

    def observers(self, left: QueryBook, right: QueryBook) -> tuple[str, ...]:
        """Return one analyst who asks the same: the promise is about each of them alone."""
        return AnalystPromise.observers(self, left, right)[:1]


def perfect(promise: AnalystPromise) -> Guarantee:
    """Return perfect analyst privacy, (0, 0): the others' view does not depend on the hidden queries."""
    return Guarantee(NOTHING, checks.instance(AnalystPromise, promise=promise))


def is_perfect(guarantee: Guarantee) -> bool:
    """Tell whether a guarantee is (0, 0)."""
    return guarantee.epsilon(0) == 0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class QueriesAndData:
    """What the curator holds: the data, and who asked what. Both are private, each towards someone else."""

    histogram: Histogram
    book: QueryBook

    def __post_init__(self) -> None:
        checks.instance(Histogram, histogram=self.histogram)
        checks.exactly(QueryBook, book=self.book)  # another one could hand out queries that nobody wrote down
        if self.histogram.universe != self.book.universe:
            raise InvalidParameter(name="histogram", rule="over the universe of the book", got="another one")

    def __repr__(self) -> str:
        return f"<QueriesAndData: {self.histogram!r}, {self.book!r}>"


def require_swaps(neighbours: Neighbours) -> Neighbours:
    """Return neighbours that must leave the number of rows alone, since that is public."""
    if not isinstance(checks.instance(Neighbours, neighbours=neighbours), Replace):
        raise NeighboursMismatch("games and thresholds need a public number of rows. Pass Replace('row')")
    return neighbours


@dataclass(frozen=True, slots=True)
class Leftover:
    """A private answer to one query that the synopsis answers badly. Only its owner receives it."""

    place: int
    count: float


@dataclass(frozen=True, slots=True)
class Delivery:
    """What one release sends to whom.

    Attributes
    ----------
    shared
        The synopsis that everybody receives.
    private
        For every analyst, what only she receives.
    """

    shared: Synopsis
    private: tuple[tuple[str, tuple[Leftover, ...]], ...]

    def leftovers(self, analyst: str) -> tuple[Leftover, ...]:
        """Return the private answers of one analyst."""
        return dict(self.private)[checks.one_of(tuple(name for name, _ in self.private), analyst=analyst)]

    def answers(self, analyst: str, book: QueryBook) -> dict[int, float]:
        """Return the estimated count of each of an analyst's queries, by place."""
        page, own = book.page(analyst), self.leftovers(analyst)
        private = {leftover.place: leftover.count for leftover in own}
        if page is None or len(private) == len(page.places):
            return private  # nothing is left for the synopsis to answer
        counts = self.shared.answers(page.queries)
        return dict(zip(page.places.tolist(), counts.tolist(), strict=True)) | private

    def seen_by(self, analysts: Iterable[str]) -> Delivery:
        """Return what some analysts see if they put everything they received together."""
        kept = tuple((name, own) for name, own in self.private if name in set(analysts))
        return Delivery(self.shared, kept)


@dataclass(frozen=True, slots=True, repr=False)
class AnalystRelease(Release[Delivery]):
    """A release with two guarantees: one for the people in the data, one for the analysts."""

    @property
    def analyst_guarantee(self) -> Guarantee:
        """What the others learn of one analyst's questions."""
        return cast("ManyAnalysts", self.mechanism).analyst_guarantee

    def __repr__(self) -> str:
        ending = ", UNSAFE: seeded noise" if self.unsafe_seeded else ""
        return (
            f"AnalystRelease({self.value.shared!r}, {self.mechanism.words}; {self.analyst_guarantee}{ending})"
        )


@frozen
class ManyAnalysts(LongRun[QueriesAndData, Delivery]):
    """A mechanism that serves many analysts at once, with one guarantee for people and one for analysts."""

    measures = False
    promise: ClassVar[AnalystPromise]
    universe: Universe = public(checks.instance, Universe)
    caps: Caps = public(checks.instance, Caps)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)

    @property
    @abstractmethod
    def analyst_loss(self) -> Loss:
        """What all the others together learn of what one analyst asks."""

    @property
    def analyst_guarantee(self) -> Guarantee:
        """The analyst loss together with the change of the book it is about."""
        return Guarantee(self.analyst_loss, self.promise)

    def release(
        self, data: QueriesAndData | Sensitive[QueriesAndData], *, rng: Rng = SYSTEM, progress: bool = False
    ) -> AnalystRelease:
        """Draw one release, with a progress bar on request. It costs both guarantees, whatever comes out."""
        made = LongRun.release(self, data, rng=rng, progress=progress)
        return AnalystRelease(made.value, self, made.unsafe_seeded)

    def _check(self, data: Any, *, rows: int | None = None) -> QueriesAndData:
        """Return data that must be a histogram, of a public size if that is one, and a book of these caps."""
        if type(data) is not QueriesAndData:
            rule, hint = "a QueriesAndData", "Make one with QueriesAndData(histogram, book)"
            raise InvalidParameter(name="data", rule=rule, got=f"a {type(data).__name__}", hint=hint)
        if data.book.universe != self.universe or data.book.caps != self.caps:
            rule = "a book over this universe with these caps"
            raise InvalidParameter(name="data", rule=rule, got="others")
        read_histogram(data.histogram, self.universe, neighbours=self.neighbours, rows=rows)
        return data


@frozen
class LearnsTogether(ManyAnalysts):
    """One that learns from what all ask, on a budget between analysts and a public number of rows."""

    rows: int = public(checks.integer, 1)
    analyst_epsilon: Exact = public(checks.positive)
    analyst_delta: Exact = public(checks.probability)
    neighbours: Neighbours = public(require_swaps)


@dataclass(frozen=True, slots=True)
class SeenByOthers(Mechanism[QueriesAndData, Delivery]):
    """What some analysts together see of a release, with the analyst promise as its guarantee.

    An audit of this mechanism, on books that are neighbours and one histogram, checks the promise.
    """

    whole: ManyAnalysts
    observers: tuple[str, ...]

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """The promise."""
        return self.whole.promise

    @property
    def loss(self) -> Loss:
        """What the others learn."""
        return self.whole.analyst_loss

    def error(self, beta: checks.Number) -> float:
        """Return the error of the whole."""
        return self.whole.error(beta)

    def _draw(self, data: QueriesAndData, rng: Rng) -> Delivery:
        return self.whole.release(data, rng=rng).value.seen_by(self.observers)
