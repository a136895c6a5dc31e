"""Where a registry's figures come from: a ledger at one moment, of a running server or of a book on disk."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Literal

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.ledger.books.stores import is_server
from discreet.curator.ledger.books.verification import SoundBook, read_book
from discreet.curator.ledger.entry_records import EntryRecord
from discreet.curator.ledger.events import PEOPLE, WHOLE, Moved, Reserved, Retired, Used
from discreet.curator.ledger.state import Account, BookState, LineSum
from discreet.data.schema.schema import Schema
from discreet.data.schema.toml_file import read_schema
from discreet.server.access import Access, Study
from discreet.server.open_datasets import OpenDataset, OpenDatasets
from discreet.server.registered.registration import Dataset, Registration

Audience = Literal["public", "owner"]
"""Anybody, or the owner and whoever audits for her."""

Receipts = Callable[[Sequence[int]], Mapping[int, Receipt]]
"""Finds the receipts of entries by their numbers, all at once."""


@dataclass(frozen=True, slots=True, eq=False)
class AccountCopy:
    """One budget of a book at one moment.

    Attributes
    ----------
    account
        How it was opened, its lines and its sums; without its entries.
    records
        Its entries, in order.
    people
        The budget of the people that the data are about, where they have one.
    """

    account: Account
    records: Sequence[EntryRecord]
    people: Account | None = None

    @classmethod
    def take(cls, state: BookState, name: str, *, is_whole: bool) -> AccountCopy:
        """Copy what a book says of a budget, as nothing happens in it: all, or what no question moves."""
        account = state.data(name)
        if not is_whole:
            return cls(Account(account.opened, uses=dict(account.uses), retired=dict(account.retired)), ())
        people = account.opened.people
        shared = None if people is None else state.accounts[PEOPLE, people]
        return cls(_copy(account), account.records.list_now(), None if shared is None else _copy(shared))

    @property
    def uses(self) -> tuple[Used, ...]:
        """What the data were used for outside the book."""
        return tuple(self.account.uses.values())

    @property
    def retired(self) -> Retired | None:
        """Why nothing more is answered; None where that is not so."""
        return next(iter(self.account.retired.values()), None)


@dataclass(frozen=True, slots=True, eq=False)
class RegistrySource:
    """All that the registry of one data set is made from.

    Attributes
    ----------
    facts, schema
        What its owner registered and declared.
    grants, studies
        What was set aside for whom, by the owner.
    now
        The time in the book, in seconds; it never runs backwards.
    copy
        What the ledger says; None where the data set was never opened.
    find_receipts
        Finds the receipts of entries.
    shares_book
        Whether a data set under a promise between analysts is in the same book.
    """

    facts: Dataset
    schema: Schema
    grants: tuple[tuple[str, Fraction], ...]
    studies: tuple[Study, ...]
    now: int
    copy: AccountCopy | None
    find_receipts: Receipts
    shares_book: bool

    @property
    def is_apart(self) -> bool:
        """Whether analysts are promised that nobody learns what they ask."""
        return self.facts.promise is not None


def copy_open(datasets: OpenDatasets, dataset: OpenDataset, audience: Audience) -> RegistrySource:
    """Return what a data set of a running server has come to, as far as an audience may know it."""
    book, name = datasets.book, dataset.table.schema.name
    is_whole = audience == "owner" or not dataset.is_apart  # else even the time that this takes would tell

    def see() -> tuple[AccountCopy, int]:
        return AccountCopy.take(book.state, name, is_whole=is_whole), book.now()

    copy, now = book.look(see)
    return _gather(
        datasets.registration,
        dataset.facts,
        dataset.table.schema,
        datasets.access,
        now=now,
        copy=copy,
        find_receipts=lambda numbers: book.find_receipts(name, numbers),
        shares_book=datasets.is_apart,
    )


def read_closed(registration: Registration) -> tuple[RegistrySource, ...]:
    """Return what all data sets of a registration have come to, from the book on disk, which is only read.

    Raises
    ------
    LedgerRefused
        When the book cannot be believed, or is not the one of this registration.
    """
    is_there = is_server(registration.book) or Path(registration.book).exists()
    sound = read_book(registration.book, anchor=registration.anchor) if is_there else None
    access = Access(registration.access) if registration.access.exists() else None
    try:
        return tuple(
            _read_one(registration, facts, sound, access) for facts in registration.datasets.values()
        )
    finally:
        if access is not None:
            access.close()


def _read_one(
    registration: Registration, facts: Dataset, sound: SoundBook | None, access: Access | None
) -> RegistrySource:
    schema = read_schema(facts.schema)
    now = int(time.time())
    if sound is None or ("data", schema.name) not in sound.state.accounts:
        return _gather(registration, facts, schema, access, now=now)
    copy = AccountCopy.take(sound.state, schema.name, is_whole=True)
    opened = copy.account.opened
    if opened.apart != (facts.promise is not None):
        raise LedgerRefused(
            why=f"{facts.name} has {'no ' * (not opened.apart)}promise between analysts in the book, "
            "and the registration says otherwise",
            way_out="Put the promise back as it was: what was promised stays promised",
        )
    if opened.epsilon > facts.epsilon or opened.delta > facts.delta:
        raise LedgerRefused(
            why=f"{facts.name} has a larger budget in the book than in the registration",
            way_out="Check both paths: a budget is set once",
        )
    receipts = list_receipts(sound, schema.name)
    now = max(now, sound.state.times["last"])
    return _gather(
        registration,
        facts,
        schema,
        access,
        now=now,
        copy=copy,
        find_receipts=lambda _: receipts,
        shares_book=sound.state.is_apart(),
    )


def list_receipts(sound: SoundBook, ledger: str) -> dict[int, Receipt]:
    """Return the receipt of every entry of a ledger: its last row."""
    book, found = sound.state.book["began"].book, {}
    for row in sound.rows:
        event = row.event if row.kind in ("reserved", "moved") else None
        if isinstance(event, Reserved | Moved) and event.ledger == ledger:
            found[event.number] = Receipt(book, ledger, event.number, row.place, row.digest.hex())
    return found


def _gather(
    registration: Registration,
    facts: Dataset,
    schema: Schema,
    access: Access | None,
    *,
    now: int,
    copy: AccountCopy | None = None,
    find_receipts: Receipts = lambda _: {},
    shares_book: bool = False,
) -> RegistrySource:
    grants = () if access is None else access.list_grants()
    return RegistrySource(
        facts=facts,
        schema=schema,
        grants=tuple((name, share) for name, dataset, share in grants if dataset == facts.name),
        studies=() if access is None else access.list_studies(facts.name),
        now=now,
        copy=copy,
        find_receipts=find_receipts,
        shares_book=shares_book or any(one.promise is not None for one in registration.datasets.values()),
    )


def _copy(account: Account) -> Account:
    """Return an account as it is now. Entries are left out: they are many, and copied by themselves."""
    sums: Mapping[str, LineSum] = account.sums
    return Account(
        opened=account.opened,
        lines=dict(account.lines),
        sums=dict(sums) if account.opened.apart else {k: v for k, v in sums.items() if _is_told(k)},
        uses=dict(account.uses),
        retired=dict(account.retired),
    )


def _is_told(line: str) -> bool:
    """Tell whether a line is shown: not those of past periods, of which there may be very many."""
    return line == WHOLE or not line.startswith("period:")
