"""The sound part of a damaged book, and what is added to it so that nothing spent is forgotten."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.book import SEPARATOR, MemoryBook, find_place
from discreet.curator.ledger.books.anchor import AnchorState, read_anchor, refuse_unreadable
from discreet.curator.ledger.books.chain import BookRow, Head
from discreet.curator.ledger.events import ANY_LOST, WHOLE, Given, LineCharge, Recovered

KeptAnswers = list[tuple[str, int, bytes]]


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
        The book as it was before: a file, or the name of a table beside the new one.
    """

    kept: int
    lost: int
    raised: tuple[tuple[str, str, str], ...]
    anchored: bool
    put_aside: Path


@dataclass(frozen=True, slots=True)
class Mended:
    """A book that can be gone on with.

    Attributes
    ----------
    rows, answers
        What it holds.
    head, book, sums
        What its anchor says.
    kept, lost, raised, anchored
        As in `Recovery`.
    time
        When it was recovered.
    """

    rows: list[BookRow]
    answers: KeptAnswers
    head: Head
    book: str
    sums: dict[tuple[str, str, str], LineCharge]
    kept: int
    lost: int
    raised: tuple[tuple[str, str, str], ...]
    anchored: bool
    time: int

    def report(self, put_aside: Path) -> Recovery:
        """Return what was done."""
        return Recovery(self.kept, self.lost, self.raised, self.anchored, put_aside)

    def anchor(self, inode: int) -> AnchorState:
        """Return what its anchor says."""
        return AnchorState(self.book, inode, self.head, self.sums)


def mend(rows: list[BookRow], answers: KeptAnswers, beside: Path) -> Mended:
    """Add to the sound rows of a book what its anchor knows was spent, or everything where there is none."""
    sound = _Sound(rows)
    known = sound.believe(_read_anchor(beside))
    lost = 0 if known is None else max(0, known.head.place - len(sound.rows))
    before = sound.sums
    # Shares that were set aside may be among what is lost: of such a budget nothing can be believed.
    spent = sound.spend_all(apart_only=known is not None) if lost or known is None else ()
    # Whole budgets may be among it too; only an anchor tells which.
    told = (ANY_LOST,) if known is None else tuple(known.sums.values())
    raised = Recovered((*told, *spent), "recovery", sound.book.now(), cut=bool(lost or known is None))
    last = sound.add(raised)
    return Mended(
        rows=[*sound.rows, last],
        answers=sound.keep(answers),
        head=sound.head,
        book=sound.name,
        sums=sound.book.state.list_lost() | sound.sums,
        kept=len(sound.rows),
        lost=lost,
        raised=tuple(place for place, total in sound.sums.items() if total != before.get(place)),
        anchored=known is not None,
        time=raised.time,
    )


class _Sound:
    """The beginning of a book that is as it was written."""

    def __init__(self, rows: Iterable[BookRow]) -> None:
        self.book, self.rows = MemoryBook(), list[BookRow]()
        with contextlib.suppress(LedgerRefused):  # what cannot have happened ends what is sound
            for row in rows:
                self.book.take(row.event)
                self.rows.append(row)
        self.head = Head(self.rows[-1].place, self.rows[-1].digest) if self.rows else Head()
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
        if place > len(self.rows):  # its sums are needed, and must be all of them
            return anchor if anchor.is_whole else None
        return anchor if self.rows[place - 1].digest == digest else None

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
            listed = enumerate(account.records.list_now())
            finished |= {(name, number): one.answer for number, one in listed}
            for journal, notes in account.journals.items():
                finished |= {(f"{name}{SEPARATOR}{journal}", number): one for number, one in notes.items()}
        given = (row.event for row in self.rows if row.kind == "given")
        finished |= {find_place(one): one.answer for one in given if isinstance(one, Given)}
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
    except OSError as problem:  # it may be sound, and without it everything would count as spent
        raise refuse_unreadable(path, problem) from None
