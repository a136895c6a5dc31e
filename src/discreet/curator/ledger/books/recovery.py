"""Recovery of a book that is damaged, was put back, or was copied: what was spent can only grow by it.

Whatever is sound from the beginning on is kept. What came after it is lost, but the anchor knows how much was
spent then, line by line; and where there is no anchor to believe, everything counts as spent.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from discreet.core.errors import DiscreetError, LedgerRefused
from discreet.curator.ledger.book import KEYS, SEPARATOR, MemoryBook
from discreet.curator.ledger.books.anchor import AnchorState, read_anchor, write_anchor
from discreet.curator.ledger.books.chain import BookRow, Head
from discreet.curator.ledger.books.sqlite import SQLiteStore, take_lease
from discreet.curator.ledger.events import WHOLE, LineCharge, Recovered

_BESIDE = ("-wal", "-shm", "-journal")
"""What SQLite may leave beside a file."""


@dataclass(frozen=True, slots=True)
class Recovery:
    """What a recovery did.

    Attributes
    ----------
    kept, lost
        Rows that were sound, and rows that the anchor knew of and are gone.
    raised
        Lines that have spent more than their entries say: kind and name of the budget, name of the line.
    anchored
        Whether there was an anchor to believe. Otherwise all budgets count as spent.
    put_aside
        The file as it was before.
    """

    kept: int
    lost: int
    raised: tuple[tuple[str, str, str], ...]
    anchored: bool
    put_aside: Path


def recover(where: str | os.PathLike[str], *, anchor: str | os.PathLike[str] | None = None) -> Recovery:
    """Make a book usable again. Nobody may have it open, and every other copy of it must be gone.

    Parameters
    ----------
    where, anchor
        As in `open_book`; a file.
    """
    path = Path(where).resolve()
    beside = path.with_name(f"{path.name}.anchor") if anchor is None else Path(anchor).absolute()
    if not path.exists():
        raise LedgerRefused(why=f"there is no {path.name}", way_out="Check the path")
    lease = take_lease(path, together=False)
    try:
        return _recover(path, beside)
    finally:
        os.close(lease)


def _recover(path: Path, beside: Path) -> Recovery:
    rows, answers = _read_sound(path)
    sound = _Sound(rows)
    known = sound.believe(_read_anchor(beside))
    lost = 0 if known is None else max(0, known.head.place - len(rows))
    before = sound.sums
    # Shares that were set aside may be among what is lost: of such a budget nothing can be believed.
    spent = sound.spend_all(apart_only=known is not None) if lost or known is None else ()
    told = () if known is None else tuple(known.sums.values())
    raised = Recovered((*told, *spent), "recovery", sound.book.now(), cut=bool(lost or known is None))
    last = sound.add(raised)
    fresh, aside = path.with_name(f"{path.name}.recovered"), _find_unused(path, raised.time)
    for ending in (*_BESIDE, ".lock", ""):
        Path(f"{fresh}{ending}").unlink(missing_ok=True)
    store = SQLiteStore(fresh)
    with store.change() as change:
        change.append([*rows, last], sound.keep(answers))
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
    write_anchor(beside, AnchorState(sound.name, path.stat().st_ino, sound.head, sound.sums))
    more = tuple(place for place, total in sound.sums.items() if total != before.get(place))
    return Recovery(len(rows), lost, more, known is not None, aside)


def _find_unused(path: Path, time: int) -> Path:
    """Return a name for the old file: one that was put aside before is not lost to it."""
    endings = itertools.chain([""], (f"-{number}" for number in itertools.count(2)))
    names = (path.with_name(f"{path.name}.before-{time}{ending}") for ending in endings)
    return next(name for name in names if not name.exists())


class _Sound:
    """The beginning of a book that is as it was written."""

    def __init__(self, rows: list[BookRow]) -> None:
        self.book, self._rows = MemoryBook.of(row.event for row in rows), rows
        self.head = Head(rows[-1].place, rows[-1].digest) if rows else Head()
        if not self.book.state.book:
            raise LedgerRefused(
                why="nothing in it can be read, not even which book it is",
                way_out="Begin another one, for other data: what was spent on these is not known any more",
            )

    @property
    def name(self) -> str:
        return self.book.state.book["began"].book

    def believe(self, anchor: AnchorState | None) -> AnchorState | None:
        """Return an anchor, unless it tells of another history."""
        if anchor is None:
            return None
        if anchor.book != self.name:
            raise LedgerRefused(why="the anchor belongs to another book", way_out="Check both paths")
        place, digest = anchor.head.place, anchor.head.digest
        return anchor if place > len(self._rows) or self._rows[place - 1].digest == digest else None

    @property
    def sums(self) -> dict[tuple[str, str, str], LineCharge]:
        """What every line has spent."""
        return {
            (kind, name, line): LineCharge(kind, name, line, total.known)
            for (kind, name), account in self.book.state.accounts.items()
            for line, total in account.sums.items()
        }

    def spend_all(self, *, apart_only: bool) -> tuple[LineCharge, ...]:
        """Return sums after which nothing is left of a budget: no way of adding up is open any more."""
        return tuple(
            LineCharge(kind, name, line, (None,) * len(account.coordinates(line)))
            for (kind, name), account in self.book.state.accounts.items()
            if account.opened.apart or not apart_only
            for line in {WHOLE, *account.lines}
        )

    def keep(self, answers: Iterable[tuple[str, int, bytes]]) -> list[tuple[str, int, bytes]]:
        """Return the answers that are as the book says."""
        finished: dict[tuple[str, int], str | None] = {}
        for (_, name), account in self.book.state.accounts.items():
            finished |= {(name, number): one.answer for number, one in account.records.items()}
            for journal, notes in account.journals.items():
                finished |= {(f"{name}{SEPARATOR}{journal}", number): one for number, one in notes.items()}
            finished |= {(f"{name}{KEYS}", one.number): one.answer for one in account.given.values()}
        return [
            (ledger, number, answer)
            for ledger, number, answer in answers
            if finished.get((ledger, number)) == hashlib.sha256(answer).hexdigest()
        ]

    def add(self, event: Recovered) -> BookRow:
        """Add an event, and return its row."""
        row = self.head.write(event)
        self.book.write(lambda: event)
        self.head = Head(row.place, row.digest)
        return row


def _read_anchor(path: Path) -> AnchorState | None:
    try:
        return read_anchor(path)
    except LedgerRefused:
        return None


def _read_sound(path: Path) -> tuple[list[BookRow], list[tuple[str, int, bytes]]]:
    """Return the rows of a file up to the first that is not as it was written, and the answers it holds."""
    rows: list[BookRow] = []
    answers: list[tuple[str, int, bytes]] = []
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        connection.execute("BEGIN EXCLUSIVE")
        connection.text_factory = bytes
        found = connection.execute("SELECT place, kind, body, digest FROM rows ORDER BY place")
        read = (BookRow(one[0], one[1].decode(), one[2].decode(), bytes(one[3])) for one in found)
        for _, row in Head().follow(read):
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
