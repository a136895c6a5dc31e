"""Journals: what something that is answered from the data must not forget when its process ends."""

from __future__ import annotations

import hashlib

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.book import SEPARATOR, Book
from discreet.curator.ledger.events import RECOVER, Event, Kept


class LedgerJournal:
    """A list of notes in a book, which only grows.

    Parameters
    ----------
    book, ledger, name
        The book, the data set in it, and the journal there.
    alone
        Whether whoever adds a note must have read all others: what it says follows from them.
    """

    def __init__(self, book: Book, ledger: str, name: str, *, alone: bool = False) -> None:
        self._book, self._ledger, self._name, self._alone = book, ledger, name, alone
        self._seen = 0

    def append(self, note: bytes) -> None:
        """Add a note. It is as durable as the book on return.

        Raises
        ------
        LedgerRefused
            Where it is to be written alone, and somebody else wrote since it was read. Nothing is added.
        """
        digest = hashlib.sha256(note).hexdigest()

        def decide() -> Event:
            if self._alone and len(self._digests) != self._seen:
                raise LedgerRefused(
                    why=f"somebody else goes on with what is in {self._name}",
                    way_out="Open one curator of a data set at a time, or close this one and open it again",
                )
            return Kept(self._ledger, self._name, len(self._digests), digest)

        self._book.write(decide, note)
        self._seen += 1

    @property
    def count(self) -> int:
        """How many notes there are, as far as this process has read its book."""
        return self._book.look(lambda: len(self._digests))

    def read(self) -> tuple[bytes, ...]:
        """Return all notes, in order.

        Raises
        ------
        LedgerRefused
            When one of them is not as it was written.
        """
        digests = self._book.look(lambda: [self._digests[place] for place in range(len(self._digests))])
        notes = []
        for place, digest in enumerate(digests):
            note = self._book.read_answer(f"{self._ledger}{SEPARATOR}{self._name}", place)
            if note is None or hashlib.sha256(note).hexdigest() != digest:
                raise LedgerRefused(why=f"note {place} of {self._name} is lost or damaged", way_out=RECOVER)
            notes.append(note)
        self._seen = len(notes)
        return tuple(notes)

    @property
    def _digests(self) -> dict[int, str]:
        # One that nobody wrote in is not remembered: names are asked for that stand for nothing.
        return self._book.state.data(self._ledger).journals.get(self._name, {})
