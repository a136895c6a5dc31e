"""Entries as a book has them: how each was reserved, and how far it is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, TypeVar

from discreet.curator.ledger.entries import NEXT, State
from discreet.curator.ledger.events import Given, Reserved, read_reserved


class EntryRecord:
    """An entry as it was reserved, and how far it is.

    Parameters
    ----------
    reserved
        How it was reserved: the event, or its body as it was written, read when somebody asks.
    analyst, question
        Whose it is, and the digest of the question: as in the event.
    state, answer
        How far it is, and the digest of what was kept with it.

    Attributes
    ----------
    first, row
        The place of the row that reserved it, and place and digest of its last one; 0 and None where the book
        has no rows.
    """

    __slots__ = ("_reserved", "analyst", "answer", "first", "question", "row", "state")

    def __init__(
        self,
        reserved: Reserved | str,
        *,
        analyst: str,
        question: str | None,
        state: State = "reserved",
        answer: str | None = None,
    ) -> None:
        self._reserved, self.analyst, self.question = reserved, analyst, question
        self.state, self.answer = state, answer
        self.first = 0
        self.row: tuple[int, bytes] | None = None

    @classmethod
    def of(cls, event: Reserved) -> EntryRecord:
        """Return the entry that an event reserved."""
        return cls(event, analyst=event.analyst, question=event.question)

    @property
    def reserved(self) -> Reserved:
        """How it was reserved."""
        if isinstance(self._reserved, str):
            self._reserved = read_reserved(self._reserved)
        return self._reserved

    @property
    def is_final(self) -> bool:
        """Whether it stays as it is."""
        return not NEXT[self.state]

    def move(self, state: State, answer: str | None) -> EntryRecord:
        """Return the entry in another state."""
        moved = EntryRecord(
            self._reserved,
            analyst=self.analyst,
            question=self.question,
            state=state,
            answer=answer or self.answer,
        )
        moved.first, moved.row = self.first, self.row
        return moved

    def note_row(self, place: int, digest: bytes) -> None:
        """Note the row that brought it here."""
        self.first, self.row = self.first or place, (place, digest)


Name_contra = TypeVar("Name_contra", contravariant=True)
Found = TypeVar("Found")


class ByName(Protocol[Name_contra, Found]):
    """What is known by names, of which there may be very many."""

    def get(self, name: Name_contra, /) -> Found | None:
        """Return what has a name; None where nothing has."""

    def __setitem__(self, name: Name_contra, found: Found, /) -> None:
        """Give something a name."""


class GivenReplies(ByName[tuple[str, str], Given], Protocol):
    """Replies that were not charged, by analyst and key."""

    def note_row(self, event: Given, place: int) -> None:
        """Note the row of a reply."""


class EntryRecords(Protocol):
    """The entries of one budget by number, from 0 without a gap."""

    def __len__(self) -> int:
        """Return how many there are."""

    def __getitem__(self, number: int, /) -> EntryRecord:
        """Return one of them."""

    def __setitem__(self, number: int, record: EntryRecord, /) -> None:
        """Put an entry behind all others, or in the place of what it was."""

    def note_row(self, number: int, place: int, digest: bytes) -> None:
        """Note the row that brought an entry to where it is."""

    def list_now(self, analyst: str | None = None, last: int | None = None) -> Sequence[EntryRecord]:
        """List them as they are now, in order: all, or those of one analyst, or the last of these."""


class MemoryRecords(dict[int, EntryRecord]):
    """Entries that are kept in memory: as `EntryRecords`."""

    def note_row(self, number: int, place: int, digest: bytes) -> None:
        """Note a row: as `EntryRecords.note_row`."""
        self[number].note_row(place, digest)

    def list_now(self, analyst: str | None = None, last: int | None = None) -> Sequence[EntryRecord]:
        """List them: as `EntryRecords.list_now`."""
        found = tuple(one for one in self.values() if analyst is None or one.analyst == analyst)
        return found if last is None else found[max(0, len(found) - last) :]


class MemoryReplies(dict[tuple[str, str], Given]):
    """Replies that are kept in memory: as `GivenReplies`."""

    def note_row(self, event: Given, place: int) -> None:
        """Do nothing: they are here."""
