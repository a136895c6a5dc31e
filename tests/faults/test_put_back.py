"""Books that are put back, copied or opened twice, and clocks that leap: nothing is spent a second time."""

import os
import random  # noqa: TID251 - which copy, and when, no noise
import shutil
from collections import Counter
from fractions import Fraction

import pytest
from tests.faults.client import ROWS, TINY, open_ledger

from discreet.core.errors import BudgetExceeded, LedgerRefused
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.recovery import recover
from discreet.curator.ledger.ledger import Ledger

PRICE = Fraction(1, 1000)


def charge(path, times):
    """Open a book, charge so often, and close it; return what is spent then."""
    book, ledger = open_ledger(path, 1, together=False)
    try:
        for _ in range(times):
            number = ledger.reserve("acme", "q", TINY)
            ledger.start(number)
            ledger.finish(number, b"41")
        return ledger.spent()["epsilon"]
    finally:
        book.close()


def overwrite(path, old):
    """Put an earlier content into the very same file."""
    with open(path, "r+b") as file:
        file.write(old)
        file.truncate()


def replace(path, old):
    """Put an earlier content in the place of the file, as backups do."""
    path.with_name("copy").write_bytes(old)
    os.replace(path.with_name("copy"), path)


def forget_notes(path, _):
    """Put the anchor back, and leave the book: it is further than the anchor, and so counts."""
    path.with_name("budget.db.anchor").write_bytes(path.with_name("old.anchor").read_bytes())


def put_back(folder, chance):
    """Copy a book at some moment, charge more, and put the copy back; nothing may be forgotten then."""
    path, how = folder / "budget.db", chance.choice([overwrite, replace, forget_notes])
    charge(path, chance.randrange(5))
    book, ledger = open_ledger(path, 1, together=False)
    with pytest.raises(LedgerRefused, match="open in another process"):
        open_ledger(path, 1, together=False)
    ledger.reserve("acme", "q", TINY)
    old = path.read_bytes()  # while it is open: what lies beside it is not copied
    shutil.copy(path.with_name("budget.db.anchor"), path.with_name("old.anchor"))
    ledger.reserve("acme", "q", TINY)
    book.close()
    spent = charge(path, chance.randrange(5))
    how(path, old)
    try:
        assert charge(path, 0) == spent
        return False
    except LedgerRefused:
        recover(path)
        assert charge(path, 0) >= spent
        return True


def put_back_often(tmp_path, times):
    chance, refused = random.Random(8), 0
    for trial in range(times):
        folder = tmp_path / str(trial)
        folder.mkdir()
        refused += put_back(folder, chance)
    return refused


def test_a_book_that_is_put_back_gives_no_budget_back(tmp_path):
    assert put_back_often(tmp_path, 20) >= 5


@pytest.mark.soak
def test_a_hundred_books_that_are_put_back(tmp_path):
    assert put_back_often(tmp_path, 100) >= 40


def leap(path, monkeypatch, lives):
    """Charge in many lives by a clock that leaps for years, within lives too; keys and periods stay."""
    chance, clock, began = random.Random(9), {}, 2_000_000_000.0
    monkeypatch.setattr("time.time", lambda: clock["now"])
    known, pace = {}, (2 * PRICE, 3600)
    for life in range(lives):
        # Ten years ahead it leaps only late: from then on no period of the ledger's begins.
        off = [0, 0, -1, 1, -4000, chance.uniform(-3e8, 0), 3e8 if life > 0.8 * lives else -3e8]
        clock["now"] = began + 2500 * life + chance.choice(off)
        book = open_book(path)
        ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="visits", pace=pace)
        for key in (f"key{life}", f"key{chance.randrange(life + 1)}"):
            try:
                number = ledger.reserve("acme", f"question {key}", TINY, key=key)
            except BudgetExceeded:
                assert key not in known  # what was charged is known for ever
            else:
                assert known.setdefault(key, number) == number
            clock["now"] += chance.choice([-1e8, -1, 1, 1e8])
        times = [entry.time for entry in ledger.entries()]
        book.close()
    assert times == sorted(times) and len(times) == len(known)
    assert max(Counter(at // pace[1] for at in times).values()) <= 2
    return len(known)


def test_clocks_that_leap_make_no_budget(tmp_path, monkeypatch):
    assert leap(tmp_path / "budget.db", monkeypatch, 20) >= 10


@pytest.mark.soak
def test_clocks_that_leap_two_hundred_times(tmp_path, monkeypatch):
    assert leap(tmp_path / "budget.db", monkeypatch, 200) >= 100
