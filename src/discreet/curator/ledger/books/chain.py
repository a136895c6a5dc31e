"""Rows of a book: each holds the digest of all before it, so nothing is changed or left out unseen."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.events import RECOVER, Event, decode, encode

FIRST = bytes(32)
"""What stands in place of the digest before the first row."""


class BookRow(NamedTuple):
    """One event as it is written down.

    Attributes
    ----------
    place
        Its place in the book, from 1, without a gap.
    kind, body
        The event.
    digest
        SHA-256 of the digest before it, its place, kind and body.
    """

    place: int
    kind: str
    body: str
    digest: bytes

    @property
    def event(self) -> Event:
        """What happened."""
        return decode(self.kind, self.body)


@dataclass(frozen=True, slots=True)
class Head:
    """The last row of a book."""

    place: int = 0
    digest: bytes = FIRST

    def write(self, event: Event) -> BookRow:
        """Return the row of an event that comes next."""
        kind, body = encode(event)
        place = self.place + 1
        return BookRow(place, kind, body, find_digest(self.digest, place, kind, body))

    def follow(self, rows: Iterable[BookRow]) -> Iterator[BookRow]:
        """List rows that come next, each once it is checked.

        Raises
        ------
        LedgerRefused
            At the first that does not come next, or is not what was written.
        """
        place, before = self.place, self.digest
        for row in rows:
            place += 1
            if row.place != place or row.digest != find_digest(before, place, row.kind, row.body):
                raise LedgerRefused(why=f"row {place} is missing or was changed", way_out=RECOVER)
            before = row.digest
            yield row


def find_digest(before: bytes, place: int, kind: str, body: str) -> bytes:
    """Return the digest of a row."""
    return hashlib.sha256(b"%b%d\n%b\n%b" % (before, place, kind.encode(), body.encode())).digest()
