"""What a book says once all its events are read: sums, entries and rules.

An event is taken by one step: a list of places and what stands there from then on. To take the same step
again changes nothing, so an interrupt in the middle of it leaves it to whoever comes next.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from discreet.curator.ledger.entries import Entry
from discreet.curator.ledger.entry_records import (
    ByName,
    EntryRecord,
    EntryRecords,
    GivenReplies,
    MemoryRecords,
    MemoryReplies,
)
from discreet.curator.ledger.events import (
    ANALYST,
    DATA,
    WHOLE,
    Amounts,
    Began,
    Capped,
    Event,
    Given,
    Kept,
    LineCharge,
    Moved,
    Opened,
    Recovered,
    Reserved,
    Retired,
    Used,
)


@dataclass(frozen=True, slots=True)
class LineSum:
    """What is reserved or spent on a line, in its units, and how many entries were ever made there.

    `endless` counts the charges without a finite amount in a coordinate.
    """

    amounts: tuple[int, ...]
    endless: tuple[int, ...]
    entries: int = 0

    def add(self, charge: Amounts) -> LineSum:
        """Return the sum with a charge on top."""
        return self._combine(charge, 1, self.entries + 1)

    def take_back(self, charge: Amounts) -> LineSum:
        """Return the sum without a charge that was added before."""
        return self._combine(charge, -1, self.entries)

    def raise_to(self, least: Amounts) -> LineSum:
        """Return the sum, at least as large as another in every coordinate."""
        amounts = tuple(max(a, b or 0) for a, b in zip(self.amounts, least, strict=True))
        endless = tuple(max(a, int(b is None)) for a, b in zip(self.endless, least, strict=True))
        return replace(self, amounts=amounts, endless=endless)

    def _combine(self, charge: Amounts, sign: int, entries: int) -> LineSum:
        return LineSum(
            tuple(a + sign * (b or 0) for a, b in zip(self.amounts, charge, strict=True)),
            tuple(a + sign * (b is None) for a, b in zip(self.endless, charge, strict=True)),
            entries,
        )

    @property
    def known(self) -> Amounts:
        """The amounts; None where one of the charges has no finite one."""
        return tuple(None if e else a for a, e in zip(self.amounts, self.endless, strict=True))


@dataclass(slots=True)
class Account:
    """One budget: how it was opened, the lines it has, and its entries in order.

    `keys` and `given` say what analysts' keys stand for, `given_to` how many replies, and bytes of them, each
    has without a charge; `bought` which entry answered a question last. With `records` these grow with every
    question, so a book with a disk has them in memory only as far as they are used.
    """

    opened: Opened
    lines: dict[str, Capped] = field(default_factory=dict)
    sums: dict[str, LineSum] = field(default_factory=dict)
    records: EntryRecords = field(default_factory=MemoryRecords)
    keys: ByName[tuple[str, str], int] = field(default_factory=dict)
    given: GivenReplies = field(default_factory=MemoryReplies)
    given_to: dict[str, tuple[int, int]] = field(default_factory=dict)
    bought: ByName[str, int] = field(default_factory=dict)
    journals: dict[str, dict[int, str]] = field(default_factory=lambda: defaultdict(dict))
    uses: dict[int, Used] = field(default_factory=dict)
    retired: dict[str, Retired] = field(default_factory=dict)

    def sum(self, line: str) -> LineSum:
        """Return what is reserved or spent on a line."""
        found = self.sums.get(line)
        if found is None:
            zeros = (0,) * len(self.coordinates(line))
            found = LineSum(zeros, zeros)
        return found

    def coordinates(self, line: str) -> tuple[tuple[str, Fraction], ...]:
        """Return what is counted on a line, and in which units."""
        capped = self.lines.get(line)
        stated = self.opened.coordinates if capped is None else capped.coordinates
        return tuple(zip(stated.names, stated.units, strict=True))

    def show(self, record: EntryRecord) -> Entry:
        """Return a record as people read it: with what the budget, or a share apart, was charged."""
        reserved = record.reserved
        own = [one for one in reserved.charges if one.kind == DATA]  # none of what was paid for beside it
        told = next((one for one in own if one.line == WHOLE), own[0] if own else None)
        stated = () if told is None else zip(told.amounts, self.coordinates(told.line), strict=True)
        return Entry(
            number=reserved.number,
            analyst=reserved.analyst,
            what=reserved.what,
            charge=tuple((name, amount * unit) for amount, (name, unit) in stated if amount is not None),
            state=record.state,
            loss=reserved.loss,
            study=reserved.study,
            time=reserved.time,
            question=reserved.question,
            plan=reserved.plan,
            answer=record.answer,
        )


Places = tuple[tuple[Any, Any, Any], ...]
"""Dictionaries, or what can be written to like one, keys, and what stands there from now on."""


class BookState:
    """All accounts of a book.

    Parameters
    ----------
    make_account
        Makes an account that was opened.
    """

    def __init__(self, make_account: Callable[[Opened], Account] = Account) -> None:
        self._make_account = make_account
        self.book: dict[str, Began] = {}
        self.accounts: dict[tuple[str, str], Account] = {}
        self.times: dict[str, int] = {"last": 0}
        self.cuts: dict[str, Recovered] = {}
        """The last recovery that lost rows: what journals say may not be all of it."""
        self.lost: dict[tuple[str, str], Recovered] = {}
        """Budgets that were there once, and of which no event is left."""

    def is_apart(self) -> bool:
        """Tell whether some budget promises to hide what is asked: then places in the book are not told."""
        return any(one.opened.apart for one in self.accounts.values())

    def list_lost(self) -> dict[tuple[str, str, str], LineCharge]:
        """Return what was spent on the lines of budgets of which no event is left."""
        return {
            (one.kind, one.name, one.line): one
            for place, event in self.lost.items()
            for one in event.sums
            if (one.kind, one.name) == place
        }

    def data(self, name: str) -> Account:
        """Return the account of a data set."""
        return self.accounts[DATA, name]

    def find_places(self, event: Event) -> Places:
        """Return what an event changes. Nothing is changed by this."""
        match event:
            case Reserved():
                return self._find_reserved(event)
            case Moved():
                return self._find_moved(event)
            case Opened(kind=kind, name=name):
                return ((self.accounts, (kind, name), self._make_account(event)),)
            case Capped():
                return self._find_capped(event)
            case Kept(ledger=ledger, journal=journal, number=number, answer=digest):
                return ((self.data(ledger).journals[journal], number, digest),)
            case Given():
                return self._find_given(event)
            case Used(ledger=ledger, time=time):
                uses = self.data(ledger).uses
                return ((uses, len(uses), event), self._note_time(time))
            case Retired(ledger=ledger, time=time):
                return ((self.data(ledger).retired, "retired", event), self._note_time(time))
            case Recovered(sums=sums, time=time):
                known = tuple(one for one in sums if (one.kind, one.name) in self.accounts)
                lost = [(one.kind, one.name) for one in sums if (one.kind, one.name) not in self.accounts]
                return (
                    *self._add_up(known, LineSum.raise_to),
                    *((self.lost, place, event) for place in lost),
                    *(((self.cuts, "last", event),) if event.cut else ()),
                    self._note_time(time),
                )
            case Began(time=time):
                return ((self.book, "began", event), self._note_time(time))

    def _find_capped(self, event: Capped) -> Places:
        account = self.data(event.ledger)
        lines = [ANALYST + one for one in event.members]
        past = [account.sums[line].known for line in lines if line in account.sums]
        if not past:
            return ((account.lines, event.line, event),)
        # A group begins with what its members have spent: they know what they learned before.
        zeros = (0,) * len(account.coordinates(event.line))
        total = reduce(LineSum.add, past, LineSum(zeros, zeros))
        begun = account.sum(event.line).raise_to(total.known)
        return ((account.lines, event.line, event), (account.sums, event.line, begun))

    def _find_reserved(self, event: Reserved) -> Places:
        account = self.data(event.ledger)
        keyed = () if event.key is None else ((account.keys, (event.analyst, event.key), event.number),)
        return (
            *self._add_up(event.charges, LineSum.add),
            (account.records, event.number, EntryRecord.of(event)),
            *keyed,
            self._note_time(event.time),
        )

    def _find_given(self, event: Given) -> Places:
        account = self.data(event.ledger)
        count, size = account.given_to.get(event.analyst, (0, 0))
        return (
            (account.given, (event.analyst, event.key), event),
            (account.given_to, event.analyst, (count + 1, size + event.size)),
            self._note_time(event.time),
        )

    def _find_moved(self, event: Moved) -> Places:
        account = self.data(event.ledger)
        records = account.records
        record = records[event.number]
        after = record.move(event.state, event.answer)
        back = self._add_up(record.reserved.charges, LineSum.take_back) if event.state == "voided" else ()
        question = record.question
        known = (
            () if question is None or event.answer is None else ((account.bought, question, event.number),)
        )
        return (*back, *known, (records, event.number, after))

    def _add_up(self, charges: tuple[LineCharge, ...], how: Callable[[LineSum, Amounts], LineSum]) -> Places:
        found = []
        for charge in charges:
            account = self.accounts[charge.kind, charge.name]
            found.append((account.sums, charge.line, how(account.sum(charge.line), charge.amounts)))
        return tuple(found)

    def note_row(self, event: Event, place: int, digest: bytes) -> None:
        """Note the row of an event that was taken, for what is read there again."""
        match event:
            case Reserved(ledger=ledger, number=number) | Moved(ledger=ledger, number=number):
                self.data(ledger).records.note_row(number, place, digest)
            case Given(ledger=ledger):
                self.data(ledger).given.note_row(event, place)

    def find_lines(self, event: Event) -> set[tuple[str, str, str]]:
        """Return the lines whose sums an event may have changed, each with the budget it is in."""
        match event:
            case Reserved(charges=charges):
                pass
            case Recovered(sums=sums):
                charges = tuple(one for one in sums if (one.kind, one.name) in self.accounts)
            case Moved(ledger=ledger, number=number):
                charges = self.data(ledger).records[number].reserved.charges
            case Capped(ledger=ledger, line=line, members=(_, *_)):
                return {(DATA, ledger, line)}
            case _:
                charges = ()
        return {(one.kind, one.name, one.line) for one in charges}

    def _note_time(self, time: int) -> tuple[dict[Any, Any], Any, Any]:
        return self.times, "last", max(time, self.times["last"])
