"""A book that outlives its process.

One thread writes. It takes everything that waits, decides one thing after the other on all that was written
before, by whatever process, writes the rows in one transaction, then the anchor; and only then tells those
who wait. So a charge is durable before whoever asked for it can touch data, and many charges share the cost
of one. Where writing fails nobody knows whether the rows are there: the book stops, and counts them as
written when it is opened again and finds them.
"""

from __future__ import annotations

import os
import queue
import secrets
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from discreet.core.errors import LedgerRefused, LedgerStopped
from discreet.curator.ledger.book import Book, Decision, find_place
from discreet.curator.ledger.books.anchor import Anchor, AnchorState, read_anchor, write_anchor
from discreet.curator.ledger.books.by_place import make_placed_account
from discreet.curator.ledger.books.chain import FIRST, BookRow, Head, find_digest
from discreet.curator.ledger.books.crashes import reach
from discreet.curator.ledger.books.places import Places
from discreet.curator.ledger.books.receipts import Receipt
from discreet.curator.ledger.books.stores import FULL, Store, Transaction, is_full
from discreet.curator.ledger.events import RECOVER, Began, Event, LineCharge, Opened
from discreet.curator.ledger.folding import Folder
from discreet.curator.ledger.state import Account, BookState

MOST = 256
"""The most changes that one transaction holds."""

RENEW = 4096
"""How many notes an anchor takes until it is written anew: it is read whole when the book is opened."""


@dataclass(slots=True)
class _Request:
    """Something that waits to be decided."""

    decide: Decision
    answer: bytes | None = None
    only_reads: bool = False
    event: Event | None = None
    refusal: Exception | None = None
    is_told: bool = False
    # Taken until somebody is told. Not an event: an interrupt while one waits can leave its inner lock taken,
    # and whoever tells would wait for that for ever.
    _waits: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        self._waits.acquire()

    def wait(self, seconds: float) -> bool:
        """Wait to be told; tell whether it happened."""
        return self.is_told or self._waits.acquire(timeout=seconds)

    def tell(self) -> None:
        """Let whoever waits go on."""
        if not self.is_told:
            self.is_told = True
            self._waits.release()


class DurableBook(Book):
    """A book in a database, with an anchor beside it.

    Parameters
    ----------
    store
        The database.
    anchor
        The file of the anchor.
    home
        The file that the book is in, if it is one.
    alone
        Whether no other process has it open.

    Raises
    ------
    LedgerRefused
        When it is damaged, or not as far as its anchor, or a copy. Nothing is changed.
    """

    durable = True

    def __init__(self, store: Store, anchor: Path, *, home: Path | None = None, alone: bool = True) -> None:
        super().__init__(BookState(self._make_account))
        self._store, self._head, self._places = store, Head(), Places()
        self._touched: set[tuple[str, str, str]] = set()
        self._stopped = ""
        inode = 0 if home is None else home.stat().st_ino
        with store.change() as change:
            known = read_anchor(anchor)
            self._read_all(change)
            # A crash may have come between the anchor of a new book and its first row; nothing was charged.
            is_new = known is None or (not self._head.place and known.head.place == 1)
            if is_new:
                self._begin(change)
            elif known is not None:
                self._require_anchored(known, change, inode)
            if is_new or alone:
                write_anchor(anchor, self._anchor_state(inode))
        self._touched.clear()
        self._durable = self._head.place  # rows up to here are on the disk, and the anchor knows of them
        self._anchor, self._notes = Anchor(anchor), 0
        self._renewed = (anchor, inode) if alone else None  # others append to the same anchor
        self._requests: queue.SimpleQueue[_Request | None] = queue.SimpleQueue()
        self._writer = threading.Thread(target=self._serve, name="ledger", daemon=True)
        self._writer.start()

    # Opening -------------------------------------------------------------------------------------------

    def _begin(self, change: Transaction) -> None:
        if self._head.place:
            raise LedgerRefused(
                why="its anchor is missing, so nobody can tell whether this is all that was written",
                way_out=f"Put the anchor back. {RECOVER}",
            )
        event = Began(secrets.token_hex(16), self.now())
        row = self._head.write(event)
        change.append([row], [])
        self._see(row)

    def _require_anchored(self, known: AnchorState, change: Transaction, inode: int) -> None:
        began = self.state.book.get("began")
        if began is None or began.book != known.book:
            raise LedgerRefused(
                why="its anchor belongs to another book", way_out=f"Check both paths. {RECOVER}"
            )
        if self._head.place < known.head.place or not _holds(change, known.head):
            raise LedgerRefused(
                why=f"it ends at row {self._head.place} and was at row {known.head.place} before: "
                "an older copy was put back, or rows were lost",
                way_out=RECOVER,
            )
        if inode != known.inode:
            raise LedgerRefused(
                why="it is a copy of the file that its anchor belongs to",
                way_out=f"Use the file itself: two copies would spend one budget twice. {RECOVER}",
            )

    def _anchor_state(self, inode: int) -> AnchorState:
        listed = [
            (kind, name, line)
            for (kind, name), account in self.state.accounts.items()
            for line in account.sums
        ]
        # What was lost is remembered too: the row that says so may be lost as well.
        sums = self.state.list_lost() | {place: self._find_sum(place) for place in listed}
        return AnchorState(self.state.book["began"].book, inode, self._head, sums)

    # Writing -------------------------------------------------------------------------------------------

    def write(self, decide: Decision, answer: bytes | None = None) -> Event | None:
        """Write down what is decided: as `Book.write`. It is durable on return."""
        return self._wait(_Request(decide, answer))

    def _wait(self, request: _Request) -> Event | None:
        self.require_process()
        if self._stopped:
            raise LedgerStopped(self._stopped)
        self._requests.put(request)
        while not request.wait(1):
            if not self._writer.is_alive():
                raise LedgerStopped(self._stopped)
        if request.refusal is not None:
            raise request.refusal
        return request.event

    def read_answer(self, ledger: str, number: int) -> bytes | None:
        """Return what was kept with an entry: as `Book.read_answer`."""
        found: list[bytes | None] = []

        def read() -> None:
            found.append(self._store.read_answer(ledger, number))

        self._wait(_Request(read, only_reads=True))
        return found[0]

    def find_receipts(self, ledger: str, numbers: Iterable[int]) -> dict[int, Receipt]:
        """Return what proves that entries are in this book, as far as they are."""
        found: dict[int, Receipt] = {}
        listed = tuple(numbers)

        def read() -> None:
            book = self.state.book["began"].book
            for number, (place, digest) in self._find_rows(ledger, listed).items():
                found[number] = Receipt(book, ledger, number, place, digest.hex())

        with self._lock:
            # Whoever was told that an entry is written need not wait for what others are writing.
            rows = self._find_rows(ledger, listed)
            is_durable = all(place <= self._durable for place, _ in rows.values())
            if is_durable:
                self.require_process()
                read()
        if not is_durable:
            self._wait(_Request(read, only_reads=True))
        return found

    def _find_rows(self, ledger: str, numbers: Iterable[int]) -> dict[int, tuple[int, bytes]]:
        """Return place and digest of the last row of each entry."""
        records = self.state.data(ledger).records
        return {number: row for number in numbers if (row := records[number].row) is not None}

    def _make_account(self, opened: Opened) -> Account:
        return make_placed_account(opened, self._places, self._read, self.look)

    def _read(self, places: Iterable[int]) -> dict[int, BookRow]:
        """Return rows that are on the disk, each checked against the one before it."""
        self.require_process()
        if self._stopped:
            raise LedgerStopped(self._stopped)
        listed = tuple(places)
        found = {row.place: row for row in self._store.read_rows({p for n in listed for p in (n - 1, n)})}
        for place in listed:
            row, before = found.get(place), found.get(place - 1)
            known = FIRST if place == 1 else None if before is None else before.digest
            if row is None or known is None or row.digest != find_digest(known, place, row.kind, row.body):
                raise LedgerRefused(
                    why=f"row {place} cannot be read, or was changed since the book was opened",
                    way_out=RECOVER,
                )
        return found

    def close(self) -> None:
        """Write what waits, and nothing more."""
        if os.getpid() == self._process and self._writer.is_alive():
            self._requests.put(None)
            self._writer.join()

    def _serve(self) -> None:
        """Write whatever waits, until told to stop or unable to."""
        waiting: list[_Request] = []
        try:
            while not self._stopped:
                waiting = self._next_requests()
                changes = [request for request in waiting if not request.only_reads]
                if changes:
                    self._write_all(changes)
                # What is read now is on the disk; and a damaged page spoils no change.
                for request in waiting:
                    if request.only_reads:
                        self._decide(request, [])
                for request in waiting:
                    request.tell()
        except BaseException as problem:  # whatever it was: nobody knows what is on the disk
            self._stopped = FULL if is_full(problem) else "could not write, and has stopped"
        finally:
            try:
                self._anchor.close()
                with self._lock:  # nobody else reads meanwhile
                    self._store.close()
                    self._places.close(self._stopped)
            finally:
                self._refuse(waiting)

    def _next_requests(self) -> list[_Request]:
        waiting, last = [], self._requests.get()
        while last is not None:
            waiting.append(last)
            if self._requests.empty() or len(waiting) == MOST:
                return waiting
            last = self._requests.get()
        self._stopped = "is closed"
        return waiting

    def _refuse(self, waiting: list[_Request]) -> None:
        """Tell everybody who was not told that it did not work, or that nobody knows."""
        while not self._requests.empty():
            waiting += filter(None, [self._requests.get()])
        for request in waiting:
            if not request.is_told:
                request.refusal = LedgerStopped(self._stopped)
                request.tell()

    def _write_all(self, waiting: list[_Request]) -> None:
        answers: list[tuple[str, int, bytes]] = []
        with self._store.change() as change:
            with self._lock:
                self._catch_up(change)
                rows = [row for request in waiting for row in self._decide(request, answers)]
            change.append(rows, answers)
        reach("after commit")
        if self._touched or rows:
            with self._lock:
                sums = [self._find_sum(place) for place in sorted(self._touched)]
            self._anchor.note(self._head, sums)
            self._touched.clear()
            self._renew_anchor()
        self._durable = self._head.place

    def _renew_anchor(self) -> None:
        """Write the anchor anew where it is long. After a crash there is the old one, which says the same."""
        self._notes += 1
        if self._renewed is not None and self._notes >= RENEW:
            path, inode = self._renewed
            with self._lock:
                state = self._anchor_state(inode)
            write_anchor(path, state)
            old, self._anchor, self._notes = self._anchor, Anchor(path), 0
            old.close()

    def _decide(self, request: _Request, answers: list[tuple[str, int, bytes]]) -> list[BookRow]:
        try:
            event = request.decide()
        except Exception as refusal:  # hers alone: others go on
            request.refusal = refusal
            return []
        if event is None:
            return []
        request.event = event
        row = self._head.write(event)
        if request.answer is not None:
            answers.append((*find_place(event), request.answer))
        self._see(row, event)
        return [row]

    def _read_all(self, change: Transaction) -> None:
        """Take everything that was ever written, each row checked against the one before it."""
        folder = Folder(self.state)
        row = None
        for row in self._head.follow(change.read_after(0)):
            folder.take(*row)
        folder.settle()
        self._head = Head() if row is None else Head(row.place, row.digest)

    def _catch_up(self, change: Transaction) -> None:
        """Take what other processes wrote."""
        for row in self._head.follow(change.read_after(self._head.place)):
            self._see(row)

    def _see(self, row: BookRow, event: Event | None = None) -> None:
        happened = row.event if event is None else event
        if event is None:
            self.take(happened)
        else:
            self._happen(happened)
        self._head = Head(row.place, row.digest)
        self.state.note_row(happened, row.place, row.digest)
        self._touched |= self.state.find_lines(happened)

    def _find_sum(self, place: tuple[str, str, str]) -> LineCharge:
        kind, name, line = place
        return LineCharge(kind, name, line, self.state.accounts[kind, name].sum(line).known)


def _holds(change: Transaction, head: Head) -> bool:
    """Tell whether a row is in the book as the anchor says."""
    row = next(iter(change.read_after(head.place - 1)), None)
    return row is not None and (row.place, row.digest) == (head.place, head.digest)
