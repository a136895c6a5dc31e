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
    """

    def __init__(self, book: Book, ledger: str, name: str) -> None:
        self._book, self._ledger, self._name = book, ledger, name

    def append(self, note: bytes) -> None:
        """Add a note. It is as durable as the book on return."""
        digest = hashlib.sha256(note).hexdigest()

        def decide() -> Event:
            return Kept(self._ledger, self._name, len(self._digests), digest)

        self._book.write(decide, note)

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
        return tuple(notes)

    @property
    def _digests(self) -> dict[int, str]:
        return self._book.state.data(self._ledger).journals[self._name]
