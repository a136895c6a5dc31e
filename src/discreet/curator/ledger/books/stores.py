"""Where a durable book keeps its rows: what it needs of a database."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Protocol

from discreet.curator.ledger.books.chain import BookRow

Answers = Iterable[tuple[str, int, bytes]]
"""Ledgers, numbers of entries there, and what is kept with them."""


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

    def close(self) -> None:
        """Give everything back."""
