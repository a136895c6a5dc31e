"""Checking a book from outside: whoever may read the file can do it, also while it is in use."""

from __future__ import annotations

import os
import sqlite3
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.book import MemoryBook
from discreet.curator.ledger.books.anchor import AnchorState, read_anchor, refuse_unreadable
from discreet.curator.ledger.books.chain import BookRow, Head
from discreet.curator.ledger.books.stores import is_server, load_postgres, require_anchor
from discreet.curator.ledger.events import DATA, RECOVER, WHOLE
from discreet.curator.ledger.lines import read_charge
from discreet.curator.ledger.state import Account, BookState


@dataclass(frozen=True, slots=True)
class BudgetReport:
    """What a book says of one budget.

    Attributes
    ----------
    kind, name
        Whose it is: that of a data set, or of people.
    epsilon, delta, neighbours
        The budget, and the change that it is about.
    entries
        How many questions were charged.
    spent
        What is reserved or spent, coordinate by coordinate; what has no finite sum is left out.
    retired
        Why nothing more is answered; empty where that is not so.
    """

    kind: str
    name: str
    epsilon: Fraction
    delta: Fraction
    neighbours: str
    entries: int
    spent: dict[str, Fraction]
    retired: str


@dataclass(frozen=True, slots=True)
class BookReport:
    """What a sound book says."""

    book: str
    rows: int
    budgets: tuple[BudgetReport, ...]


@dataclass(frozen=True, slots=True)
class SoundBook:
    """A book that was read whole and found sound.

    Attributes
    ----------
    rows
        Everything that was written, in order.
    state
        What follows from it.
    """

    rows: tuple[BookRow, ...]
    state: BookState


def verify(where: str | os.PathLike[str], *, anchor: str | os.PathLike[str] | None = None) -> BookReport:
    """Return what a book says, once every row is checked.

    Parameters
    ----------
    where, anchor
        As in `open_book`; a file.

    Raises
    ------
    LedgerRefused
        When it cannot be believed.
    """
    sound = read_book(where, anchor=anchor)
    budgets = tuple(map(_report, sound.state.accounts.values()))
    return BookReport(sound.state.book["began"].book, len(sound.rows), budgets)


def read_book(where: str | os.PathLike[str], *, anchor: str | os.PathLike[str] | None = None) -> SoundBook:
    """Read a book whole, check every row against the one before it and the last against the anchor.

    Parameters
    ----------
    where, anchor
        As in `open_book`.

    Raises
    ------
    LedgerRefused
        When it cannot be believed.
    """
    # The anchor is read before the rows: more may be written in between.
    if is_server(where):
        known = _read_anchor(require_anchor(anchor))
        listed = load_postgres().read_rows(os.fspath(where))
    else:
        path = Path(where).resolve()
        beside = path.with_name(f"{path.name}.anchor") if anchor is None else Path(anchor)
        known, listed = _read_anchor(beside), _read(path)
    rows = list(Head().follow(listed))
    place = 0 if known is None else known.head.place
    if known is None or len(rows) < place or rows[place - 1].digest != known.head.digest:
        raise LedgerRefused(why="it does not hold the row that its anchor knows", way_out=RECOVER)
    return SoundBook(tuple(rows), MemoryBook.of(row.event for row in rows).state)


def _read_anchor(path: Path) -> AnchorState | None:
    try:
        return read_anchor(path)
    except OSError as problem:
        raise refuse_unreadable(path, problem) from None


def _read(path: Path) -> list[BookRow]:
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)
    except sqlite3.Error:
        raise LedgerRefused(why=f"{path.name} cannot be opened", way_out="Check the path") from None
    try:
        found = connection.execute("SELECT place, kind, body, digest FROM rows ORDER BY place").fetchall()
    except sqlite3.Error:
        raise LedgerRefused(why=f"{path.name} is damaged, or no book", way_out=RECOVER) from None
    finally:
        connection.close()
    return [BookRow(*row) for row in found]


def _report(account: Account) -> BudgetReport:
    opened = account.opened
    # Where shares are apart, each is charged by itself; of one data set they add up.
    lines = [*account.sums] if opened.apart else [WHOLE]
    spent: dict[str, Fraction] = {}
    for line in lines:
        for name, amount in read_charge(account.sum(line), account.coordinates(line)).amounts.items():
            spent[name] = spent.get(name, Fraction(0)) + amount
    return BudgetReport(
        kind=opened.kind,
        name=opened.name,
        epsilon=opened.epsilon,
        delta=opened.delta,
        neighbours=opened.neighbours,
        entries=len(account.records) if opened.kind == DATA else account.sum(WHOLE).entries,
        spent=spent,
        retired="".join(one.why for one in account.retired.values()),
    )
