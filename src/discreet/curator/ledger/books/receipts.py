"""Receipts: what an analyst keeps to prove that an entry was made, should the book be put back."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from discreet.curator.ledger.books.chain import BookRow


@dataclass(frozen=True, slots=True)
class Receipt:
    """The last row of an entry. It holds no data, and no question.

    Attributes
    ----------
    book, ledger, number
        The book, the ledger in it, and the entry there.
    place, digest
        The row, and the digest of it and of all before it: a book that was ever changed or put back before
        this row has another one there, or none.
    """

    book: str
    ledger: str
    number: int
    place: int
    digest: str

    def is_in(self, rows: Iterable[BookRow]) -> bool:
        """Tell whether a book still has the row."""
        return any((row.place, row.digest.hex()) == (self.place, self.digest) for row in rows)
