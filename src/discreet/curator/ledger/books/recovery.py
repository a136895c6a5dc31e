"""Recovery of a book that is damaged, was put back, or was copied: what was spent can only grow by it.

Whatever is sound from the beginning on is kept. What came after it is lost, but the anchor knows how much was
spent then, line by line; and where there is no anchor to believe, everything counts as spent.
"""

from __future__ import annotations

import itertools
import os
import sqlite3
from pathlib import Path
from typing import Any

from discreet.core.errors import DiscreetError, LedgerRefused
from discreet.curator.ledger.books.anchor import write_anchor
from discreet.curator.ledger.books.chain import BookRow, Head
from discreet.curator.ledger.books.sound import KeptAnswers, Recovery, mend
from discreet.curator.ledger.books.sqlite import SQLiteStore, take_lease
from discreet.curator.ledger.books.stores import is_server, load_postgres, require_anchor

_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite may leave beside a file."""


def recover(where: str | os.PathLike[str], *, anchor: str | os.PathLike[str] | None = None) -> Recovery:
    """Make a book usable again. Nobody may have it open, and every other copy of it must be gone.

    Parameters
    ----------
    where, anchor
        As in `open_book`.
    """
    if is_server(where):
        beside = require_anchor(anchor)
        return _recover_server(load_postgres().PostgresStore(os.fspath(where)), beside)
    path = Path(where).resolve()
    beside = path.with_name(f"{path.name}.anchor") if anchor is None else Path(anchor).absolute()
    if not path.exists():
        raise LedgerRefused(why=f"there is no {path.name}", way_out="Check the path")
    lease = take_lease(path, together=False)
    try:
        return _recover(path, beside)
    finally:
        os.close(lease)


def _recover_server(store: Any, beside: Path) -> Recovery:
    try:  # it has a lease as long as it is open
        rows, answers = store.read_sound()
        mended = mend(rows, answers, beside)
        aside = store.replace(mended.rows, mended.answers, mended.time)
        write_anchor(beside, mended.anchor(0))
    finally:
        store.close()
    return mended.report(Path(aside))


def _recover(path: Path, beside: Path) -> Recovery:
    mended = mend(*_read_sound(path), beside)
    fresh, aside = path.with_name(f"{path.name}.recovered"), _find_unused(path, mended.time)
    for ending in (*_BESIDE, ".lock", ""):
        Path(f"{fresh}{ending}").unlink(missing_ok=True)
    store = SQLiteStore(fresh)
    with store.change() as change:
        change.append(mended.rows, mended.answers)
    store.close()
    for ending in _BESIDE:
        if (old := Path(f"{path}{ending}")).exists():
            os.replace(old, f"{aside}{ending}")
    try:
        os.link(path, aside)  # so that there is a book at every moment
    except OSError:  # not every file system can do that
        os.replace(path, aside)
    os.replace(fresh, path)
    Path(f"{fresh}.lock").unlink()
    write_anchor(beside, mended.anchor(path.stat().st_ino))
    return mended.report(aside)


def _find_unused(path: Path, time: int) -> Path:
    """Return a name for the old file: one that was put aside before is not lost to it."""
    endings = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (path.with_name(f"{path.name}.before-{time}{ending}") for ending in endings)
    return next(name for name in names if not name.exists())


def _read_sound(path: Path) -> tuple[list[BookRow], KeptAnswers]:
    """Return the rows of a file up to the first that is not as it was written, and the answers it holds."""
    rows: list[BookRow] = []
    answers: KeptAnswers = []
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        connection.text_factory = bytes
        found = connection.execute("SELECT place, kind, body, digest FROM rows ORDER BY place")
        read = (BookRow(one[0], one[1].decode(), one[2].decode(), bytes(one[3])) for one in found)
        for row in Head().follow(read):
            _ = row.event  # one that cannot be read ends what is sound
            rows.append(row)
    except (sqlite3.Error, DiscreetError, ValueError, AttributeError, TypeError):
        pass  # whatever comes from here on is lost
    try:
        for ledger, number, answer in connection.execute("SELECT ledger, number, answer FROM answers"):
            answers.append((ledger.decode(), int(number), bytes(answer)))
    except (sqlite3.Error, ValueError, AttributeError, TypeError):
        pass
    connection.close()
    return rows, answers
