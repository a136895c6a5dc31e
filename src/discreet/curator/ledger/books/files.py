"""Opening books: by the path of a file, or by the address of a PostgreSQL server."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter, LedgerRefused
from discreet.core.neighbours import Neighbours
from discreet.curator.ledger.book import Book, MemoryBook
from discreet.curator.ledger.books.anchor import refuse_unreadable
from discreet.curator.ledger.books.durable import DurableBook
from discreet.curator.ledger.books.sqlite import SQLiteStore
from discreet.curator.ledger.books.stores import (
    MAKE_ROOM,
    Store,
    is_full,
    is_server,
    load_postgres,
    require_anchor,
)
from discreet.curator.ledger.events import DATA, RECOVER, Event, Retired
from discreet.curator.ledger.ledger import Ledger


def open_book(
    where: str | os.PathLike[str],
    *,
    anchor: str | os.PathLike[str] | None = None,
    together: bool = False,
) -> DurableBook:
    """Open the book of an owner's ledgers, or begin one.

    Parameters
    ----------
    where
        A file for SQLite, or `postgresql://…`.
    anchor
        The file that tells whether an older copy of the book was put back; best on another disk. By default
        beside the file, with `.anchor` behind its name. Must be given for PostgreSQL.
    together
        Whether several processes of one server have it open. Otherwise a second one is refused.

    Raises
    ------
    LedgerRefused
        When it is damaged, rolled back, a copy, or open elsewhere. Nothing is changed.
    """
    checks.instance(bool, together=together)
    if is_server(where):
        beside = require_anchor(anchor)
        server: Store = load_postgres().PostgresStore(os.fspath(where), together=together)
        return _open(server, beside, None, together)
    file = SQLiteStore(where, together=together)
    beside = file.path.with_name(f"{file.path.name}.anchor")
    return _open(file, beside if anchor is None else Path(anchor), file.path, together)


def open_ledger(
    where: str | os.PathLike[str] | Book | None,
    epsilon: Fraction,
    delta: Fraction,
    *,
    neighbours: Neighbours,
    name: str,
    **more: Any,
) -> Ledger:
    """Open a ledger in a book of its own, which is closed with it, or in one that is open.

    Parameters
    ----------
    where
        A path, a book, or None for memory.
    epsilon, delta, neighbours, name, more
        As in `Ledger`.
    """
    budget: Any = {"epsilon": epsilon, "delta": delta, "neighbours": neighbours, **more}
    if isinstance(where, Book):
        return Ledger(**budget, book=where, name=name)
    book: Book = MemoryBook() if where is None else open_book(where)
    try:
        return Ledger(**budget, book=book, name=name, own=True)
    except BaseException:
        book.close()
        raise


def retire_dataset(
    where: str | os.PathLike[str], name: str, why: str, *, anchor: str | os.PathLike[str] | None = None
) -> None:
    """Answer nothing more from a data set of a book that nobody has open, for ever; say why.

    Parameters
    ----------
    where, anchor
        As in `open_book`.
    name, why
        Which data set, and why: everybody can read it.
    """
    checks.text(why=why)
    with contextlib.closing(open_book(where, anchor=anchor)) as book:

        def decide() -> Event | None:
            known = [its_name for kind, its_name in book.state.accounts if kind == DATA]
            if name not in known:
                rule = f"a data set of this book ({', '.join(known) or 'none is'})"
                raise InvalidParameter(name="name", rule=rule, value=name)
            return None if book.state.data(name).retired else Retired(name, why, time=book.now())

        book.write(decide)


def _open(store: Store, anchor: Path, home: Path | None, together: bool) -> DurableBook:
    try:
        return DurableBook(store, anchor.absolute(), home=home, alone=not together)
    except sqlite3.Error as problem:
        store.close()
        if is_full(problem):
            raise LedgerRefused(why="its disk is full", way_out=MAKE_ROOM) from None
        raise LedgerRefused(why="it is damaged", way_out=RECOVER) from None
    except OSError as problem:
        store.close()
        raise refuse_unreadable(anchor, problem) from None
    except BaseException:
        store.close()
        raise
