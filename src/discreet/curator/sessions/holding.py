"""What a session holds: private data, whom they protect, and what a mechanism is given of them.

Everything that can be known of a request from public facts is looked at here before anything is charged:
which data a mechanism is for, and what its guarantee means for whom the data protect.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

from discreet.accounting.units import PrivacyUnit
from discreet.core import checks
from discreet.core.errors import InvalidParameter, NeighboursMismatch, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss
from discreet.core.mechanism import Promise
from discreet.core.neighbours import ROWS, AddRemove, BidderToOthers, Neighbours, Replace
from discreet.core.sensitive import Sensitive, lend
from discreet.curator.hypotheses.opening import Opening
from discreet.curator.ledger.books.files import open_ledger
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.sessions.purchases import Purchase
from discreet.data.table import Declared, Table
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.asked import Countable

Reader = Callable[[Any], Any]
"""A function of the owner's: from what the session lends to what a mechanism is given."""


class Holding(ABC):
    """Private data that one session holds."""

    name: str
    neighbours: Neighbours

    @abstractmethod
    def per_unit(self, guarantee: Guarantee) -> Guarantee:
        """Return what a guarantee means for whom the data protect; raise where it says nothing of them."""

    @abstractmethod
    def find_reader(self, mechanism: Promise) -> Callable[[], Any]:
        """Return what reads the data of a mechanism where nobody says how; refuse where that is not known."""

    @abstractmethod
    def read(self, reader: Reader) -> Any:
        """Let a function of the owner's read."""

    def make_reader(self, mechanism: Promise, read: Reader | None) -> Callable[[], Any]:
        """Return what gets the data of a mechanism, by a function of the owner's or as is usual."""
        if read is None:
            return self.find_reader(mechanism)
        reader: Reader = checks.function("the data", read=read)
        return lambda: self.read(reader)

    def price(self, kind: str, mechanism: Promise) -> Purchase:
        """Return what a mechanism costs whom the data protect, with the pair that it was bought for."""
        own: Guarantee = checks.exactly(Guarantee, guarantee=mechanism.guarantee)
        guarantee, bought = self.per_unit(own), mechanism.bought
        pair = bought if guarantee is own and isinstance(bought, ApproxLoss) else None
        if pair is not None and not guarantee.implies(epsilon=pair.value, delta=pair.mass):
            pair = None
        return Purchase(kind, repr(mechanism), guarantee, pair)

    def universe(self, columns: Iterable[str] | None = None) -> Universe:
        """Return what workloads are built over; public."""
        raise Refused(
            what="universe",
            why=f"{self.name} has no declared values",
            way_out="Open the session on a Table or a Histogram",
        )

    def need_table(self) -> Table:
        """Return the table, where there is one."""
        raise Refused(
            what="question",
            why=f"{self.name} has no columns to ask about by SQL",
            way_out="Open the session on a Table, or on a frame with schema=, or use release and run",
        )

    @property
    def countable(self) -> Countable | Histogram:
        """What releases are planned for; nothing is read."""
        raise Refused(
            what="workload",
            why=f"{self.name} has no declared values to count",
            way_out="Open the session on a Table or a Histogram, or use run",
        )

    def is_of(self, data: object) -> bool:
        """Tell whether these are the data that the session was opened on."""
        return data is self.countable

    @property
    def stated(self) -> Neighbours | None:
        """The change of rows that releases must hide, where the data do not say so themselves."""
        return None

    def open_ledger(self, where: object, epsilon: Fraction, delta: Fraction) -> Ledger:
        """Open a ledger for these data alone, in a file where there is one."""
        file = where if isinstance(where, str | os.PathLike) else None
        ledger = open_ledger(file, epsilon, delta, neighbours=self.neighbours, name=self.name)
        try:
            if ledger.durable:
                Opening(ledger).require_none()
        except BaseException:
            ledger.close()
            raise
        return ledger

    def require_open(self) -> None:  # noqa: B027 - most are never closed
        """Raise where the data were closed by whoever opened them."""

    def take(self) -> None:  # noqa: B027 - most cannot be taken
        """Take the data out of the hands of whoever had them, where that is possible."""

    def close(self) -> None:  # noqa: B027 - most have nothing to give back
        """Read nothing more."""


class HeldTable(Holding):
    """A table, taken out of the hands of whoever opened it."""

    def __init__(self, table: Table) -> None:
        self._table = self._opened = table
        self.name, self.neighbours = table.schema.name, table.neighbours
        self._unit = PrivacyUnit.of(table)

    def per_unit(self, guarantee: Guarantee) -> Guarantee:
        """Return the loss towards all rows of a unit that count, where the guarantee is about rows."""
        return guarantee if guarantee.neighbours == self.neighbours else self._unit.per_unit(guarantee)

    def find_reader(self, mechanism: Promise) -> Callable[[], Any]:
        """Return what counts the rows over the universe of the mechanism's queries."""
        wanted = _find_universe(mechanism)
        if wanted is None:
            raise InvalidParameter(
                name="read",
                rule="given: a function from the table to the data of the mechanism",
                got="nothing",
                hint="For instance read=lambda table: table.histogram(['age'])",
            )
        _require_universe(self._table.universe(wanted.names), wanted)
        if self._unit.rows > 1 and mechanism.neighbours == self.neighbours:
            raise NeighboursMismatch(
                f"one unit has up to {self._unit.rows} rows here, and the mechanism counts one; build it "
                f"with neighbours={self._unit.row_neighbours!r}, and the session charges for all of them"
            )
        return lambda: self._table.histogram(wanted.names)

    def read(self, reader: Reader) -> Any:
        """Lend the table until the function returns."""
        loan = TableLoan(self._table)
        try:
            return reader(loan)
        finally:
            loan.end()

    def universe(self, columns: Iterable[str] | None = None) -> Universe:
        """Return every combination of declared values."""
        return self._table.universe(columns)

    def need_table(self) -> Table:
        """Return the table."""
        return self._table

    @property
    def countable(self) -> Countable:
        """The table."""
        return self._table

    def is_of(self, data: object) -> bool:
        """Tell whether it is the owner's table, which has no engine any more, or the one that took it."""
        return data is self._opened or data is self._table

    def require_open(self) -> None:
        """Raise where the owner closed the table, by a `with` that is over for instance."""
        self._table.require_open()

    def take(self) -> None:
        """Leave the owner's table without its engine; only one session ever gets it."""
        self._table = self._table.hand_over()

    def close(self) -> None:
        """Give the engine back."""
        self._table.close()


class TableLoan:
    """A table as long as a function of its owner's reads it, and nothing afterwards.

    This keeps mistakes apart, such as a table that is put aside and asked later, not hostile code.
    """

    __slots__ = ("_table",)

    def __init__(self, table: Table) -> None:
        self._table: Table | None = table

    def universe(self, columns: Iterable[str] | None = None) -> Universe:
        """Return every combination of the declared values of some columns."""
        return self._lent().universe(columns)

    def histogram(self, columns: Iterable[str] | None = None) -> Histogram:
        """Count the rows of every cell; see `Table.histogram`."""
        return self._lent().histogram(columns)

    def marginals(self, sets: Iterable[Iterable[str]]) -> Iterator[Histogram]:
        """Count the rows of many small universes; see `Table.marginals`."""
        return iter([self._lent().histogram(names) for names in sets])

    def end(self) -> None:
        """Lend it no longer."""
        self._table = None

    def _lent(self) -> Table:
        if self._table is None:
            raise Refused(
                what="table",
                why="it was lent for one reading, which is over",
                way_out="Read it in a function that is given to the session's run",
            )
        return self._table

    def __repr__(self) -> str:
        return "TableLoan(...)"


class HeldHistogram(Holding):
    """Counts over a universe. Whoever made them may have them still."""

    name = "this histogram"

    def __init__(self, histogram: Histogram, neighbours: Neighbours | None) -> None:
        self._data = histogram
        self.neighbours = ROWS if neighbours is None else checks.instance(Neighbours, neighbours=neighbours)
        if not isinstance(self.neighbours, AddRemove | Replace):
            raise NeighboursMismatch(f"a histogram is about units that come, go or change: {self.neighbours}")
        # Where rows are what is protected, it does not matter whose they are.
        about_rows = self.neighbours in (ROWS, Replace("row"))
        self._unit = PrivacyUnit(self.neighbours, 1 if about_rows else histogram.rows_per_unit)

    def per_unit(self, guarantee: Guarantee) -> Guarantee:
        """Return the loss towards all rows of a unit, where the guarantee is about rows."""
        return guarantee if guarantee.neighbours == self.neighbours else self._unit.per_unit(guarantee)

    def find_reader(self, mechanism: Promise) -> Callable[[], Any]:
        """Return what sums out the attributes that the mechanism's queries are not about."""
        wanted, data = _find_universe(mechanism), self._data
        if wanted is None or wanted == data.universe:
            return lambda: data
        _require_universe(data.universe.project(wanted.names), wanted)
        return lambda: data.marginal(wanted.names)

    def read(self, reader: Reader) -> Any:
        """Hand out the histogram, which nobody can change."""
        return reader(self._data)

    def universe(self, columns: Iterable[str] | None = None) -> Universe:
        """Return the universe, or some of its attributes."""
        return self._data.universe if columns is None else self._data.universe.project(columns)

    @property
    def countable(self) -> Histogram:
        """The histogram."""
        return self._data

    @property
    def stated(self) -> Neighbours:
        """The change of rows that is hidden, which a histogram does not say."""
        return self._unit.row_neighbours


class HeldValue(Holding):
    """Anything else that is private, such as a graph, with the change of it that is hidden."""

    name = "this data set"

    def __init__(self, value: Any, neighbours: Neighbours) -> None:
        if isinstance(neighbours, BidderToOthers):
            # What the bidders are told differs from one to the next: added up at one desk it hides nothing.
            raise NeighboursMismatch(
                f"a session hides data from whoever holds it, not {neighbours}: pass Bidder(), and "
                "games release to everybody what their `release` does"
            )
        self._data = Sensitive(value)
        self.neighbours = checks.instance(Neighbours, neighbours=neighbours)

    def per_unit(self, guarantee: Guarantee) -> Guarantee:
        """Return the guarantee, which must be about the same change."""
        guarantee.require_same_neighbours(Guarantee(guarantee.loss, self.neighbours))
        return guarantee

    def find_reader(self, mechanism: Promise) -> Callable[[], Any]:
        """Return what hands over the data as they are."""
        return self._data.reveal

    def read(self, reader: Reader) -> Any:
        """Hand out a copy, so that the data stay what they are."""
        return reader(lend(self._data.reveal()))


def hold(data: Any, schema: Declared | None, neighbours: Neighbours | None) -> Holding:
    """Take private data, in any of the ways in which a session is given them."""
    if schema is not None:
        data = Table(data, schema=schema)
    if isinstance(data, Table):
        if neighbours is not None:
            raise InvalidParameter(
                name="neighbours", rule="left to the table, which declares them", value=neighbours
            )
        return HeldTable(data)
    if isinstance(data, Histogram):
        return HeldHistogram(data, neighbours)
    if neighbours is None:
        raise InvalidParameter(
            name="data",
            rule="a Table, a Histogram, anything a Table is made of with schema=, or data with neighbours=",
            got=f"a {type(data).__name__} alone",
        )
    return HeldValue(data, neighbours)


def _find_universe(mechanism: Promise) -> Universe | None:
    workload = getattr(mechanism, "workload", None)
    found = getattr(mechanism, "universe", None) or getattr(workload, "universe", None)
    return found if isinstance(found, Universe) else None


def _require_universe(known: Universe, wanted: Universe) -> None:
    if known != wanted:
        raise InvalidParameter(
            name="mechanism",
            rule="about the declared values of these columns",
            got="another universe",
            hint="Build its queries over the session's universe(columns)",
        )
