"""Replies that were given: the same question has the same numbers again, at no further cost."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from discreet.curator.limits import ROWS
from discreet.curator.reply import Reply


class Records:
    """Replies by question, so many rows for each who asked first; then the oldest of hers fall out.

    Those that were paid for are kept apart from the others, so that no number of free questions makes a
    paid reply fall out. The latest of either is kept however long it is.
    """

    def __init__(self) -> None:
        self._replies: dict[Hashable, Reply] = {}
        self._shelves: dict[tuple[str, bool], _Shelf] = {}
        self._turns: dict[Hashable, _Turn] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Reply | None:
        """Return the reply to a question; None where none is kept."""
        return self._replies.get(key)

    def keep(self, analyst: str, key: Hashable, reply: Reply) -> None:
        """Keep a reply to who asked first."""
        with self._lock:
            shelf = self._shelves.setdefault((analyst, reply.kind == "priced"), _Shelf())
            self._replies[key] = reply
            for old in shelf.add(key, len(reply)):
                del self._replies[old]

    @contextmanager
    def turn(self, key: Hashable) -> Iterator[None]:
        """Let one thread at a time answer a question: others who ask the same wait, and find it answered.

        Nobody waits for the answer to another question.
        """
        with self._lock:
            turn = self._turns.setdefault(key, _Turn())
            turn.wanted += 1
        try:
            with turn.lock:
                yield
        finally:
            with self._lock:
                turn.wanted -= 1
                if not turn.wanted:
                    self._turns.pop(key, None)


@dataclass(slots=True)
class _Turn:
    lock: threading.Lock = field(default_factory=threading.Lock)
    wanted: int = 0


class _Shelf:
    """Keys in the order in which they came, with the rows of their replies."""

    def __init__(self) -> None:
        self._rows: OrderedDict[Hashable, int] = OrderedDict()
        self._total = 0

    def add(self, key: Hashable, rows: int) -> Iterator[Hashable]:
        """Add a key, and yield those that fall out for it."""
        self._rows[key] = size = rows + 1  # an empty reply takes room as well
        self._total += size
        while self._total > ROWS and len(self._rows) > 1:
            old, less = self._rows.popitem(last=False)
            self._total -= less
            yield old
