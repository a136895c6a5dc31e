"""A book in a SQLite file.

Of SQLite's settings only two were seen to keep every acknowledged change through a loss of power: a rollback
journal with `synchronous=EXTRA`, and a write-ahead log with `synchronous=FULL`. The second is faster, but
SQLite before 3.51.3 may lose a change there when two connections meet a checkpoint; so it is used from
that version on. Both settings are read back on every connection.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.books.chain import BookRow
from discreet.curator.ledger.books.crashes import reach
from discreet.curator.ledger.books.stores import MAKE_ROOM, Answers, is_full
from discreet.curator.ledger.events import RECOVER

SAFE_LOG = (3, 51, 3)
"""The first version of SQLite whose write-ahead log loses nothing."""

WAIT = 60_000  # milliseconds that a change waits for that of another process

_TABLES = """
CREATE TABLE IF NOT EXISTS rows (
    place INTEGER PRIMARY KEY, kind TEXT NOT NULL, body TEXT NOT NULL, digest BLOB NOT NULL
) STRICT;
CREATE TABLE IF NOT EXISTS answers (
    ledger TEXT NOT NULL, number INTEGER NOT NULL, answer BLOB NOT NULL, PRIMARY KEY (ledger, number)
) STRICT, WITHOUT ROWID;
"""


def choose_settings(version: tuple[int, ...]) -> tuple[str, int]:
    """Return the journal mode for a version of SQLite, and the `synchronous` that goes with it."""
    return ("wal", 2) if version >= SAFE_LOG else ("delete", 3)


class SQLiteStore:
    """One book in one file, which only its owner can read.

    Parameters
    ----------
    path
        The file. It is made if it is not there.
    together
        Whether other processes of the same server have it open too. Otherwise nobody else may.
    """

    def __init__(self, path: str | os.PathLike[str], *, together: bool = False) -> None:
        self.path = Path(path).resolve()
        self._lease = take_lease(self.path, together)
        try:
            self._connection = _connect(self.path)
            self._reader = _connect_reader(self.path)
        except BaseException:
            os.close(self._lease)
            raise

    @contextmanager
    def change(self) -> Iterator[SQLiteStore]:
        """Begin a change: as `Store.change`."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self
            reach("before commit")
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def read_after(self, place: int) -> Iterator[BookRow]:
        """List rows: as `Transaction.read_after`."""
        found = self._connection.execute(
            "SELECT place, kind, body, digest FROM rows WHERE place > ? ORDER BY place", (place,)
        )
        return map(BookRow._make, found)

    def append(self, rows: Iterable[BookRow], answers: Answers) -> None:
        """Add rows: as `Transaction.append`."""
        listed = [(row.place, row.kind, row.body, row.digest) for row in rows]
        self._connection.executemany("INSERT INTO rows VALUES (?, ?, ?, ?)", listed)
        self._connection.executemany("INSERT INTO answers VALUES (?, ?, ?)", answers)

    def read_answer(self, ledger: str, number: int) -> bytes | None:
        """Return what was kept: as `Store.read_answer`."""
        text = "SELECT answer FROM answers WHERE ledger = ? AND number = ?"
        try:
            found = self._connection.execute(text, (ledger, number)).fetchone()
        except sqlite3.DatabaseError:  # its page is damaged: whoever reads says that it is lost
            return None
        return None if found is None else bytes(found[0])

    def read_rows(self, places: Collection[int]) -> list[BookRow]:
        """Return rows: as `Store.read_rows`."""
        marks = ", ".join("?" * len(places))
        text = f"SELECT place, kind, body, digest FROM rows WHERE place IN ({marks})"  # noqa: S608 - marks only
        # A reader that is left open would keep everybody from writing.
        with contextlib.closing(self._reader.cursor()) as cursor, contextlib.suppress(sqlite3.DatabaseError):
            return [BookRow(*row) for row in cursor.execute(text, tuple(places)).fetchall()]
        return []

    def close(self) -> None:
        """Give the file back."""
        self._reader.close()
        self._connection.close()
        os.close(self._lease)


def take_lease(path: Path, together: bool) -> int:
    """Lock a file beside the book, for as long as this process has it open."""
    if path.exists() and path.stat().st_nlink > 1:
        raise LedgerRefused(
            why=f"{path.name} has a second name (a hard link), under which it could be opened unseen",
            way_out="Remove the other name",
        )
    lease = os.open(f"{path}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lease, (fcntl.LOCK_SH if together else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except OSError:
        holder = os.pread(lease, 32, 0).decode("ascii", "replace").strip()
        os.close(lease)
        raise LedgerRefused(
            why=f"{path.name} is open in another process{f' ({holder})' * holder.isdigit()}",
            way_out="One at a time answers from a budget. Ask the server that runs, or end it (Ctrl-C, "
            "SIGTERM) and start again: nothing is lost. Of a process that died the lock is gone too",
        ) from None
    if not together:
        os.ftruncate(lease, 0)
        os.pwrite(lease, str(os.getpid()).encode(), 0)  # for whoever comes second, and for nothing else
    return lease


def _connect_reader(path: Path) -> sqlite3.Connection:
    """Return a second connection, by which rows are read while the first one writes."""
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=WAIT / 1000)
    connection.execute("PRAGMA query_only = ON")
    connection.execute("PRAGMA trusted_schema = OFF")
    connection.execute("PRAGMA cell_size_check = ON")
    return connection


def _connect(path: Path) -> sqlite3.Connection:
    # A file that is there is not opened here: closing it would drop all locks that this process has on it,
    # those of another connection in the middle of a change too.
    with contextlib.suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=WAIT / 1000)
    try:
        mode, level = choose_settings(sqlite3.sqlite_version_info)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA cell_size_check = ON")
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute(f"PRAGMA synchronous = {level}")
        found = [
            connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("journal_mode", "synchronous")
        ]
        if found != [mode, level]:
            raise LedgerRefused(
                why=f"SQLite does not keep its settings here (journal {found[0]}, synchronous {found[1]})",
                way_out="Keep the ledger on a local disk that can be written to",
            )
        (sound,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if sound != "ok":
            raise LedgerRefused(why=f"{path.name} is damaged", way_out=RECOVER)
        connection.execute("BEGIN IMMEDIATE")
        for statement in filter(str.strip, _TABLES.split(";")):
            connection.execute(statement)
        connection.execute("COMMIT")
    except sqlite3.DatabaseError as problem:
        connection.close()
        if is_full(problem):
            raise LedgerRefused(why=f"the disk of {path.name} is full", way_out=MAKE_ROOM) from None
        raise LedgerRefused(why=f"{path.name} cannot be read ({problem})", way_out=RECOVER) from None
    except BaseException:
        connection.close()
        raise
    return connection
