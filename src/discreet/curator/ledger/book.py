"""A book: one sequence of events, and all sums that follow from it.

Whoever changes something says how, given everything that happened before; the event is written down, and only
then taken. Taking it is a step that can be taken again: an interrupt in the middle of it leaves it to whoever
comes next, so that every change is whole or undone.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import ClassVar, NoReturn, Self, TypeVar

from discreet.core.errors import DiscreetError, InternalError, InvalidParameter
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.ledger.entries import Ticket
from discreet.curator.ledger.events import Event, Given, Kept, Moved, Reserved
from discreet.curator.ledger.possible import refuse_impossible, require_possible
from discreet.curator.ledger.state import BookState, Places

SEPARATOR = "\n"
"""Between the name of a ledger and that of a journal, which have none."""

KEYS = f"{SEPARATOR}{SEPARATOR}keys"
"""What the place of replies that were not charged begins with, behind the name of their ledger."""

Seen = TypeVar("Seen")
Decision = Callable[[], Event | None]
"""Says what happens next, or that nothing does; asked while nothing else can happen. It changes nothing."""


@dataclass(frozen=True, slots=True)
class _Step:
    """What an event changes."""

    places: Places
    ticket: Ticket
    number: int | None

    @classmethod
    def of(cls, event: Event, places: Places) -> _Step:
        if isinstance(event, Reserved):
            return cls(places, event.ticket, event.number)
        return cls(places, Ticket(), None)


def require_storable(**named: str) -> str:
    """Return a name that every database can hold: one that cannot be written would stop the whole book."""
    ((name, value),) = named.items()
    if "\0" in value or any("\ud800" <= letter <= "\udfff" for letter in value):
        raise InvalidParameter(name=name, rule="text without NUL and without halves of letters", value=value)
    return value


def find_place(event: Event) -> tuple[str, int]:
    """Return where something is kept with an event: that of an entry, of a key, or in a journal."""
    match event:
        case Moved(ledger=ledger, number=number):
            return ledger, number
        case Kept(ledger=ledger, journal=journal, number=number):
            return f"{ledger}{SEPARATOR}{journal}", number
        case Given(ledger=ledger, number=number):
            return f"{ledger}{KEYS}", number
    raise InternalError(f"nothing is kept with an event of the kind {type(event).__name__}")


class Book(ABC):
    """Keeps the ledgers of one owner: every event in order, and the state that follows from them."""

    durable: ClassVar[bool]
    """Whether it outlives the process."""

    def __init__(self, state: BookState | None = None) -> None:
        self.state = BookState() if state is None else state
        # Written with every charge and told to nobody: who sees the digest of a row cannot try out questions.
        self.life = secrets.token_hex(16)
        self._lock = threading.Lock()
        self._process = os.getpid()
        # What this process has begun to answer, whichever of its ledgers it was: it cannot be given back.
        self.started: set[tuple[str, int]] = set()
        self.version = 0  # grows with everything that happens, for those who keep what they saw
        self._step: _Step | None = None  # what happened last, as long as it is not taken
        self._clock = time.time() - time.monotonic()

    @abstractmethod
    def write(self, decide: Decision, answer: bytes | None = None) -> Event | None:
        """Write down what is decided, given everything that happened so far, and return it.

        Parameters
        ----------
        decide
            Says what happens; what it raises is raised here, and nothing has happened.
        answer
            What is kept with the event, where it finishes an entry.
        """

    @abstractmethod
    def read_answer(self, ledger: str, number: int) -> bytes | None:
        """Return what was kept with an entry; None where nothing was."""

    def find_receipt(self, ledger: str, number: int) -> Receipt | None:
        """Return what proves that an entry is in this book; None where there is no such thing."""
        return self.find_receipts(ledger, (number,)).get(number)

    @abstractmethod
    def find_receipts(self, ledger: str, numbers: Iterable[int]) -> dict[int, Receipt]:
        """Return what proves that entries are in this book; nothing where there is no such thing."""

    def look(self, see: Callable[[], Seen]) -> Seen:
        """Return what somebody sees of everything that happened so far."""
        with self._lock:
            self._take()
            return see()

    def refresh(self) -> None:
        """Take what other processes wrote, where others can."""
        self.write(lambda: None)

    def now(self) -> int:
        """Return the time in seconds: it never runs backwards, whatever the machine's clock does."""
        return max(int(self._clock + time.monotonic()), self.state.times["last"])

    @abstractmethod
    def close(self) -> None:
        """Write what waits, and nothing more."""

    def require_process(self) -> None:
        """Raise in a forked process, where a copy would be spent a second time."""
        if os.getpid() != self._process:
            raise DiscreetError("this ledger belongs to another process: a fork would double the budget")

    def take(self, event: Event) -> None:
        """Take an event that was written down elsewhere, unless it cannot have happened."""
        try:
            self._happen(event)
        except (KeyError, TypeError, ValueError):
            raise refuse_impossible() from None

    def _happen(self, event: Event, more: Places = ()) -> None:
        """Let an event happen: before the step is assigned it has not, after it it has."""
        require_possible(event, self.state)
        self.version += 1
        self._step = _Step.of(event, (*self.state.find_places(event), *more))
        self._take()
        if isinstance(event, Moved):  # its state says from now on that it cannot be given back
            self.started.discard((event.ledger, event.number))

    def _take(self) -> None:
        """Take the last step. To do so again changes nothing."""
        step = self._step
        if step is None:
            return
        for places, key, value in step.places:
            places[key] = value
        step.ticket.number = step.number
        self._step = None

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError("a ledger cannot be copied or pickled: that would double the budget")


class MemoryBook(Book):
    """A book in memory: it dies with its process."""

    durable = False

    def __init__(self) -> None:
        super().__init__()
        self._answers: dict[tuple[str, int], bytes] = {}

    @classmethod
    def of(cls, events: Iterable[Event]) -> Self:
        """Return a book in which these events happened."""
        book = cls()
        for event in events:
            book.take(event)
        return book

    def write(self, decide: Decision, answer: bytes | None = None) -> Event | None:
        """Write down what is decided: as `Book.write`."""
        with self._lock:
            self.require_process()
            self._take()
            event = decide()
            if event is not None:
                kept = () if answer is None else ((self._answers, find_place(event), answer),)
                self._happen(event, kept)
            return event

    def read_answer(self, ledger: str, number: int) -> bytes | None:
        """Return what was kept with an entry: as `Book.read_answer`."""
        with self._lock:
            return self._answers.get((ledger, number))

    def close(self) -> None:
        """Do nothing: what is in memory goes with it."""

    def find_receipts(self, ledger: str, numbers: Iterable[int]) -> dict[int, Receipt]:
        """Return nothing: there is no row that could be shown later."""
        return {}
