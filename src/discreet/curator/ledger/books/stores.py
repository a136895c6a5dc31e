"""Where a durable book keeps its rows: what it needs of a database."""

from __future__ import annotations

import errno
import importlib
import os
import sqlite3
from collections.abc import Collection, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.curator.ledger.books.chain import BookRow

FULL = "could not write because its disk is full, and has stopped. Free room there first"
"""Why a book stopped that nothing is wrong with."""

MAKE_ROOM = "Free room there, and open it again: nothing is wrong with what is in it"

Answers = Iterable[tuple[str, int, bytes]]
"""Ledgers, numbers of entries there, and what is kept with them."""


def is_server(where: str | os.PathLike[str]) -> bool:
    """Tell whether a book is on a server, and not in a file."""
    text = checks.text(where=os.fspath(where))
    if text.startswith(("postgresql://", "postgres://")):
        return True
    if "://" in text:  # not quoted: it may hold a password
        raise InvalidParameter(
            name="where", rule="the path of a file, or postgresql://…", got="another kind of address"
        )
    return False


def require_anchor(anchor: str | os.PathLike[str] | None) -> Path:
    """Return the anchor of a book on a server, which must be said: there is no file to be beside of."""
    if anchor is None:
        raise InvalidParameter(
            name="anchor", rule="given for a server: the path of a local file", value=anchor
        )
    return Path(anchor).absolute()


def load_postgres() -> Any:
    """Return the module for PostgreSQL, which needs an extra."""
    return importlib.import_module("discreet.curator.ledger.books.postgres")


def is_full(problem: BaseException) -> bool:
    """Tell whether what failed to be written found no room: SQLite, PostgreSQL or the disk says so."""
    return (
        getattr(problem, "sqlite_errorcode", None) == sqlite3.SQLITE_FULL
        or getattr(problem, "sqlstate", None) == "53100"
        or getattr(problem, "errno", None) in (errno.ENOSPC, errno.EDQUOT)
    )


class Transaction(Protocol):
    """One change of a store, while nobody else can change it."""

    def read_after(self, place: int) -> Iterable[BookRow]:
        """List the rows behind a place, in order."""

    def append(self, rows: Iterable[BookRow], answers: Answers) -> None:
        """Add rows behind all others, and what is kept with them."""


class Store(Protocol):
    """A database that holds one book. Used by one thread at a time."""

    def change(self) -> AbstractContextManager[Transaction]:
        """Begin a change; it is durable when the block is left, or undone where that raises."""

    def read_answer(self, ledger: str, number: int) -> bytes | None:
        """Return what was kept with an entry."""

    def read_rows(self, places: Collection[int]) -> list[BookRow]:
        """Return rows that are on the disk, as far as they can be read, while somebody may write."""

    def close(self) -> None:
        """Give everything back."""
