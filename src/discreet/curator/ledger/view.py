"""What a ledger shows: entries, sums and what is left. Nothing is changed by looking."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from fractions import Fraction
from typing import Any, NoReturn

from discreet.core import checks
from discreet.core.errors import AnswerLost, DiscreetError, InvalidParameter, KeyReused
from discreet.core.guarantee import Guarantee
from discreet.core.neighbours import Neighbours
from discreet.curator.amounts import Amounts
from discreet.curator.ledger.book import KEYS, SEPARATOR, Book, MemoryBook, require_storable
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.ledger.entries import Entry, KeyUse, State
from discreet.curator.ledger.entry_records import EntryRecord
from discreet.curator.ledger.events import DATA, Used
from discreet.curator.ledger.people import People
from discreet.curator.ledger.shares import Shares
from discreet.curator.ledger.state import Account


class LedgerView:
    """One budget for one data set, as far as it can be read.

    Parameters
    ----------
    epsilon, delta
        The budget of everything together.
    neighbours
        The change that all charges must be about.
    apart
        Whether a share is a budget of its own that nothing others spend can touch, and not a bound on what
        one analyst uses of the common one. Shares then add up to at most 1, and so do their guarantees.
    book
        Where it is kept. By default in memory, where it dies with the process.
    name
        What it is called in the book. A ledger that is there already goes on where it was, and must be
        opened with the same budget.
    people
        The budget, over all data sets of the book, of the people whose data these are.
    own
        Whether the book is this ledger's alone, and is closed with it.
    pace
        A share of the budget, and seconds: no more than that is charged in each period of so long, by a clock
        that never runs backwards. Periods follow each other from the beginning of 1970 on, so two shares may
        be charged within a moment: one at the end of a period, one at the beginning of the next.
    """

    def __init__(
        self,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        neighbours: Neighbours,
        apart: bool = False,
        book: Book | None = None,
        name: str = DATA,
        people: People | None = None,
        pace: tuple[checks.Number, int] | None = None,
        own: bool = False,
    ) -> None:
        self._name = checks.text(name=name)
        if SEPARATOR in name:
            raise InvalidParameter(name="name", rule="one line of text", value=name)
        require_storable(name=name)
        self._own = checks.instance(bool, own=own)
        if people is not None and book is None:
            raise InvalidParameter(
                name="people", rule="given with a book, which their data sets share", got="no book"
            )
        self._book: Book = MemoryBook() if book is None else checks.instance(Book, book=book)
        self._shares = Shares(
            self._book,
            self._name,
            epsilon=checks.positive(epsilon=epsilon),
            delta=checks.delta(delta=delta),
            neighbours=checks.instance(Neighbours, neighbours=neighbours),
            apart=checks.instance(bool, apart=apart),
            people=None if people is None else checks.instance(People, people=people),
            pace=_read_pace(pace),
        )

    @property
    def guarantee(self) -> Guarantee:
        """What everything that is ever charged here promises together."""
        return self._shares.guarantee

    @property
    def budget(self) -> Amounts:
        """The budget, coordinate by coordinate."""
        return Amounts(self._shares.budget)

    @property
    def is_cut(self) -> bool:
        """Whether rows were lost in a recovery: journals may not say all that was written in them."""
        return bool(self._book.look(lambda: self._book.state.cuts))

    @property
    def durable(self) -> bool:
        """Whether it outlives the process."""
        return self._book.durable

    @property
    def is_apart(self) -> bool:
        """Whether shares are budgets of their own."""
        return self._shares.is_apart

    @property
    def whole_epsilon(self) -> Fraction:
        """The epsilon of the whole budget."""
        return self._shares.whole_epsilon

    def list_journals(self) -> list[str]:
        """List the journals in which something was noted."""
        return self._book.look(lambda: [name for name, notes in self._account.journals.items() if notes])

    @property
    def has_people(self) -> bool:
        """Whether the people in the data have a budget over several data sets."""
        return self._shares.has_people

    def share(self, analyst: str) -> Fraction | None:
        """Return the share an analyst was allowed; None where none was."""
        return self._book.look(lambda: self._shares.given_to(analyst))

    def require_study(self, study: str) -> None:
        """Raise unless the owner registered a study."""
        self._book.look(lambda: self._shares.require_study(study))

    def answer(self, number: int) -> bytes | None:
        """Return the answer that was kept for an entry; None where none was."""
        digest = self._book.look(lambda: self._find_record(number).answer)
        if digest is None:
            return None
        return self._read_kept(self._name, number, digest, "the answer that was kept")

    def given(self, analyst: str, key: str) -> bytes | None:
        """Return the reply to a request with a key that was not charged; None where there was none."""
        found = self._book.look(lambda: self._account.given.get((analyst, key)))
        if found is None:
            return None
        where = f"{self._name}{KEYS}"
        return self._read_kept(where, found.number, found.answer, "the reply that was kept for this key")

    def _read_kept(self, where: str, number: int, digest: str, what: str) -> bytes:
        kept = self._book.read_answer(where, number)
        if kept is None or hashlib.sha256(kept).hexdigest() != digest:
            raise AnswerLost(
                why=f"{what} is lost or damaged",
                way_out="It was given once, and is not computed again. Ask anew, which is charged anew",
            )
        return kept

    def find_key(self, analyst: str, key: str, request: str) -> KeyUse | None:
        """Return what an analyst's key stands for; None where it is new, or its charge was given back.

        Raises
        ------
        KeyReused
            When it came with another request.
        """
        return self._book.look(lambda: self._require_use(analyst, key, request))

    def has_key(self, analyst: str, key: str | None) -> bool:
        """Tell whether an analyst's key stands for something that was answered or charged."""
        if key is None:
            return False
        use = self._book.look(lambda: self._find_use(analyst, key))
        return use is not None and not use.is_undone

    def _find_use(self, analyst: str, key: str) -> KeyUse | None:
        account = self._account
        given = account.given.get((analyst, key))
        if given is not None:
            return KeyUse(given.request, None)
        number = account.keys.get((analyst, key))
        if number is None:
            return None
        record = account.records[number]
        return KeyUse(record.reserved.request, number, record.state == "voided")

    def _require_use(self, analyst: str, key: str, request: str | None) -> KeyUse | None:
        """Return what a key stands for; None where it is to be answered. It must be the same request."""
        use = self._find_use(analyst, key)
        if use is not None and use.request != request:
            raise KeyReused
        return None if use is None or use.is_undone else use

    def find_bought(self, question: str) -> int | None:
        """Return the last entry that answered a question, by its digest; None where none did."""
        return self._book.look(lambda: self._account.bought.get(question))

    @property
    def tells_others(self) -> bool:
        """Whether places in the book tell what is asked of a ledger that promises to hide that."""
        return self._book.look(self._book.state.is_apart)

    def receipt(self, number: int) -> Receipt | None:
        """Return what proves later that an entry was made here; None where the book dies with the process."""
        self._book.look(lambda: self._find_record(number))
        return self._book.find_receipt(self._name, number)

    def entry(self, number: int) -> Entry:
        """Return one entry."""
        return self._book.look(lambda: self._show(self._find_record(number)))

    def name_bought(self, number: int) -> str:
        """Return what is to be called what an entry paid for: the same in all lives, and hard to guess."""
        life = self._book.look(lambda: self._find_record(number).reserved.life)
        return hashlib.sha256(f"{life} {number}".encode()).hexdigest()[:16]

    def entries(self, analyst: str | None = None, *, last: int | None = None) -> tuple[Entry, ...]:
        """List the entries in order, or those of one analyst, or the last of these."""
        return tuple(map(self._show, self._book.look(lambda: self._account.records.list_now(analyst, last))))

    def uses(self) -> tuple[Used, ...]:
        """List the uses that were noted and not charged."""
        return self._book.look(lambda: tuple(self._account.uses.values()))

    def spent(self, analyst: str | None = None) -> Amounts:
        """Return what is reserved or spent, by all or by one analyst; leaves out what has no finite sum."""

        def see() -> Amounts:
            return Amounts(self._shares.spent(analyst).amounts)

        return self._book.look(see)

    def left(self, analyst: str | None = None) -> Amounts:
        """Return what the data set has left, or what one analyst may still spend of it.

        Where shares are apart: what is not set aside yet, or what is left of one's own. A coordinate in
        which nothing more can be spent has 0 left.
        """
        return Amounts(self._book.look(lambda: self._shares.left(analyst)))

    @property
    def _account(self) -> Account:
        return self._book.state.data(self._name)

    def _find_record(self, number: int) -> EntryRecord:
        records = self._account.records
        return records[checks.index(len(records), number=number)]

    def _state(self, record: EntryRecord) -> State:
        """Return how far an entry is, as far as this life knows: another may have touched data for it."""
        reserved = record.reserved
        if record.state == "reserved" and (
            reserved.life != self._book.life or (self._name, reserved.number) in self._book.started
        ):
            return "started"
        return record.state

    def _show(self, record: EntryRecord) -> Entry:
        return replace(self._account.show(record), state=self._state(record))

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a ledger cannot be copied or pickled: that would double the budget")

    def __repr__(self) -> str:
        count = self._book.look(lambda: len(self._account.records))
        return f"<Ledger: {count} entries; left {self.left().paid}>"


def _read_pace(pace: Any) -> tuple[Fraction, int] | None:
    if pace is None:
        return None
    if not isinstance(pace, tuple) or len(pace) != 2:
        raise InvalidParameter(name="pace", rule="a pair (share of the budget, seconds)", value=pace)
    share = checks.positive(share=pace[0])
    if share > 1:
        raise InvalidParameter(name="share", rule="at most 1", value=pace[0])
    return share, checks.integer(1, seconds=pace[1])
