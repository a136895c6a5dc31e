"""What must be true of a ledger after any history of clients who were killed, refused and retried."""

import hashlib
import time
from fractions import Fraction
from pathlib import Path

from tests.faults.client import ROWS

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.books.anchor import read_anchor
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.ledger import Ledger


def read_journal(path):
    """Return what a client was told: keys invoked, answered (with answer and place), and refused."""
    invoked, answered, refused = [], {}, set()
    for line in path.read_text().splitlines():
        match line.split():
            case ["invoke", key]:
                invoked.append(key)
            case ["ok", key, answer, place]:
                assert answered.setdefault(key, (bytes.fromhex(answer), int(place)))[0].hex() == answer
            case ["fail", key]:
                refused.add(key)
    return invoked, answered, refused


def _open_alone(where, anchor):
    """Open a book as the only one. PostgreSQL may notice a moment later that a client has ended."""
    for _ in range(100):
        try:
            return open_book(where, anchor=anchor)
        except LedgerRefused as error:
            if "open in another process" not in str(error):
                raise
            time.sleep(0.1)
    return open_book(where, anchor=anchor)


def check(where, journals, *, epsilon, spent=None, anchor=None):
    """Check a book against the journals of all its clients; return how many were answered."""
    book = _open_alone(where, anchor)
    ledger = Ledger(epsilon=Fraction(epsilon), delta=0, neighbours=ROWS, book=book, name="visits")
    account = book.state.data("visits")
    records = account.records
    total = sum((Fraction(1, 1000) for one in records.list_now() if one.state != "voided"), Fraction(0))
    assert (
        total == ledger.spent()["epsilon"] <= Fraction(epsilon)
    )  # no over-spend; sums are those of the rows
    listed = [one.reserved for one in records.list_now()]
    assert [one.number for one in listed] == list(range(len(records)))
    assert len({(one.analyst, one.key) for one in listed}) == len(records)  # one charge a key
    head, anchored = book._head, read_anchor(Path(anchor or f"{where}.anchor"))
    assert anchored.head.place <= head.place
    known = {one.key: one.number for one in listed}
    assert all(account.keys.get((one.analyst, one.key)) == one.number for one in listed)
    count = 0
    for journal in journals:
        invoked, answered, refused = read_journal(journal)
        for key, (answer, place) in answered.items():
            record = records[known[key]]
            assert record.state == "finished"
            assert record.answer == hashlib.sha256(answer).hexdigest()
            assert ledger.answer(known[key]) == answer
            assert place <= head.place
        assert not refused & set(known)
        # Whoever was answered before another asked stands before her.
        places = [answered[key][1] for key in invoked if key in answered]
        assert places == sorted(places)
        count += len(answered)
    if spent is not None:
        assert total == spent
    assert [row.place for row in book._store.read_after(0)] == list(range(1, head.place + 1))
    book.close()
    return count
