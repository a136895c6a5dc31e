"""Where entries, keys and questions are in a book: a list in a temporary file of this process.

Made anew from the rows each time a book is opened, which are checked then, so it is never older than they are
and nobody else's. It holds digests and places, no question and no answer, and is gone with its process.
"""

from __future__ import annotations

import hashlib
import sqlite3
from typing import Any, NamedTuple

from discreet.core.errors import LedgerStopped

CACHE = 1_024
"""Kilobytes of it that are kept in memory."""

_WAITING = 10_000
"""What is written to the file at once."""

_TABLES = """
CREATE TABLE entries (
    ledger INTEGER, number INTEGER, first INTEGER, last INTEGER, analyst BLOB, PRIMARY KEY (ledger, number)
) WITHOUT ROWID;
CREATE INDEX of_analyst ON entries (ledger, analyst, number);
CREATE TABLE names (name BLOB PRIMARY KEY, found INTEGER) WITHOUT ROWID;
"""


class EntryPlace(NamedTuple):
    """The rows of an entry: the one that reserved it, and its last one."""

    first: int
    last: int


class Places:
    """Finds rows of a book. Used by one thread at a time."""

    def __init__(self) -> None:
        # An empty name is a file that nobody else sees, and that is removed when it is closed.
        self._file = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for setting in (f"cache_size = -{CACHE}", "journal_mode = OFF", "synchronous = OFF"):
            self._file.execute(f"PRAGMA {setting}")
        for statement in filter(str.strip, _TABLES.split(";")):
            self._file.execute(statement)
        self._closed = ""
        self._ledgers: dict[str, int] = {}
        # What was noted last. Only who notes writes it to the file: an interrupt of who reads spoils nothing.
        self._entries: dict[tuple[int, int], tuple[int, int, bytes]] = {}
        self._names: dict[bytes, int] = {}

    def note_entry(self, ledger: str, number: int, analyst: str, place: EntryPlace) -> None:
        """Note where an entry is that stays as it is."""
        self._entries[self._find(ledger), number] = *place, _digest(analyst)
        self._write_many()

    def find_entry(self, ledger: str, number: int) -> EntryPlace | None:
        """Return where an entry is; None where that was not noted."""
        place = self._find(ledger), number
        known = self._entries.get(place)
        if known is None:
            text = "SELECT first, last FROM entries WHERE ledger = ? AND number = ?"
            known = next(iter(self._select(text, *place)), None)
        return None if known is None else EntryPlace(*known[:2])

    def list_of(self, ledger: str, analyst: str, last: int | None) -> list[int]:
        """List the numbers of an analyst's entries that were noted, or the last of them, in order."""
        own, digest = self._find(ledger), _digest(analyst)
        text = "SELECT number FROM entries WHERE ledger = ? AND analyst = ? ORDER BY number DESC LIMIT ?"
        found = self._select(text, own, digest, -1 if last is None else last)
        waiting = (place[1] for place, one in self._entries.items() if (place[0], one[2]) == (own, digest))
        return sorted({*waiting, *(number for (number,) in found)})

    def note_name(self, name: tuple[str, ...], found: int) -> None:
        """Note what a name stands for."""
        self._names[_digest(*name)] = found
        self._write_many()

    def find_name(self, name: tuple[str, ...]) -> int | None:
        """Return what a name stands for; None where it is new."""
        digest = _digest(*name)
        if digest in self._names:
            return self._names[digest]
        found = self._select("SELECT found FROM names WHERE name = ?", digest)
        return int(found[0][0]) if found else None

    def close(self, why: str) -> None:
        """Give the file back, and say why to whoever looks for something there."""
        self._closed = why
        self._file.close()

    def _select(self, text: str, *values: object) -> list[tuple[Any, ...]]:
        if self._closed:
            raise LedgerStopped(self._closed)
        return self._file.execute(text, values).fetchall()

    def _find(self, ledger: str) -> int:
        return self._ledgers.setdefault(ledger, len(self._ledgers))

    def _write_many(self) -> None:
        if len(self._entries) + len(self._names) >= _WAITING:
            entries = [(*place, *one) for place, one in self._entries.items()]
            self._file.execute("BEGIN")
            self._file.executemany("REPLACE INTO entries VALUES (?, ?, ?, ?, ?)", entries)
            self._file.executemany("REPLACE INTO names VALUES (?, ?)", sorted(self._names.items()))
            self._file.execute("COMMIT")
            self._entries.clear()
            self._names.clear()


def _digest(*name: str) -> bytes:
    return hashlib.blake2b(repr(name).encode(), digest_size=16).digest()
