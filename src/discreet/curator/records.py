"""Replies that were given: the same question has the same numbers again, at no further cost."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable
from weakref import WeakValueDictionary

from discreet.curator.limits import LEAST_ROWS, ROWS
from discreet.curator.reply import Reply


class Records:
    """Replies by question, so many rows for each who asked first; then the oldest of hers fall out.

    Those that were paid for are kept apart from the others, so that no number of free questions makes a
    paid reply fall out. The latest of either is kept however long it is.
    """

    def __init__(self) -> None:
        self._replies: dict[Hashable, Reply] = {}
        self._shelves: dict[tuple[str, bool], _Shelf] = {}
        self._turns: WeakValueDictionary[Hashable, threading.Lock] = WeakValueDictionary()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Reply | None:
        """Return the reply to a question; None where none is kept."""
        return self._replies.get(key)

    def keep(self, analyst: str, key: Hashable, reply: Reply) -> None:
        """Keep a reply to who asked first."""
        with self._lock:
            shelf = self._shelves.setdefault((analyst, reply.kind == "priced"), _Shelf())
            shelf.add(key, reply.groups)
            self._replies[key] = reply
            # A reply goes before its place on the shelf: nothing is kept that no shelf knows of.
            while (old := shelf.too_many()) is not None:
                self._replies.pop(old, None)
                shelf.drop(old)

    def turn(self, key: Hashable) -> threading.Lock:
        """Let one thread at a time answer a question: others who ask the same wait, and find it answered.

        Nobody waits for the answer to another question. A lock goes with the last who has or wants it.
        """
        with self._lock:
            return self._turns.setdefault(key, threading.Lock())


class _Shelf:
    """Keys in the order in which they came, each with the places that the rows of its reply take."""

    def __init__(self) -> None:
        self._places: OrderedDict[Hashable, tuple[int, int]] = OrderedDict()

    def add(self, key: Hashable, rows: int) -> None:
        """Add a key behind all others."""
        self._places.pop(key, None)
        start = next(reversed(self._places.values()))[1] if self._places else 0
        self._places[key] = start, start + max(rows, LEAST_ROWS)

    def too_many(self) -> Hashable | None:
        """Return the oldest key where it has to fall out."""
        (oldest, (start, _)), end = next(iter(self._places.items())), next(reversed(self._places.values()))[1]
        return oldest if end - start > ROWS and len(self._places) > 1 else None

    def drop(self, key: Hashable) -> None:
        """Make room."""
        del self._places[key]
