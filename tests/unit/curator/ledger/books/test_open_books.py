"""Books while they are open: once, by their owner, on a disk that may be full."""

import shutil
import sqlite3
import threading
from fractions import Fraction

import pytest
from tests.unit.curator.ledger.spending import TENTH, opened, spend

from discreet.core.errors import (
    InvalidParameter,
    LedgerRefused,
    LedgerStopped,
)
from discreet.curator.ledger.books import sqlite
from discreet.curator.ledger.books.files import open_book


def test_a_book_is_open_once(path):
    book = open_book(path)
    with pytest.raises(LedgerRefused, match="open in another process"):
        open_book(path)
    book.close()
    open_book(path).close()


def test_a_second_name_is_refused(path):
    spend(path)
    path.with_name("second.db").hardlink_to(path)
    with pytest.raises(LedgerRefused, match="hard link"):
        open_book(path)


def test_a_closed_book_answers_nothing(path):
    book = open_book(path)
    ledger = opened(book)
    book.close()
    with pytest.raises(LedgerStopped, match="is closed"):
        ledger.reserve("acme", "q", TENTH)


@pytest.mark.parametrize("name", ["append", "change"])
def test_a_book_that_cannot_write_stops(path, monkeypatch, name):
    book = open_book(path)
    ledger = opened(book)
    ledger.reserve("acme", "q", TENTH)

    def fail(*given):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(sqlite.SQLiteStore, name, fail)
    with pytest.raises(LedgerStopped, match="could not write"):
        ledger.reserve("acme", "q", TENTH)
    monkeypatch.undo()
    with pytest.raises(LedgerStopped):  # it does not try again: nobody knows what is on the disk
        ledger.reserve("acme", "q", TENTH)
    assert spend(path, times=0) == {"epsilon": Fraction(1, 10)}


def test_receipts_show_whether_a_book_was_put_back(path):
    spend(path)
    shutil.copy(path, f"{path}.old")
    book = open_book(path)
    ledger = opened(book)
    number = ledger.reserve("acme", "q", TENTH)
    receipt = ledger.receipt(number)
    assert (receipt.ledger, receipt.number) == ("visits", number)
    book.close()
    store = sqlite.SQLiteStore(path)
    assert receipt.is_in(store.read_after(0))
    store.close()
    store = sqlite.SQLiteStore(f"{path}.old")
    assert not receipt.is_in(store.read_after(0))
    store.close()


def test_a_receipt_is_for_an_entry_that_is_there(book):
    ledger = opened(book)
    for number in (0, -1, 7):
        with pytest.raises(InvalidParameter, match="number"):
            ledger.receipt(number)
    number = ledger.reserve("acme", "q", TENTH)
    receipt = ledger.receipt(number)
    assert (receipt is not None) == book.durable


def test_a_receipt_names_no_row_that_is_not_on_the_disk(path, monkeypatch):
    """While a row is being written it is in memory already: if that fails, it never was."""
    book = open_book(path)
    ledger = opened(book)
    writes, waits, asked = threading.Event(), threading.Event(), []
    append = sqlite.SQLiteStore.append

    def slow(self, rows, answers):
        if rows and rows[0].kind == "reserved":
            writes.set()
            waits.wait(10)
            raise sqlite3.OperationalError("disk I/O error")
        append(self, rows, answers)

    monkeypatch.setattr(sqlite.SQLiteStore, "append", slow)

    def ask(call):
        try:
            asked.append(call())
        except LedgerStopped as stopped:
            asked.append(stopped)

    first = threading.Thread(target=ask, args=(lambda: ledger.reserve("acme", "q", TENTH),))
    first.start()
    writes.wait(10)
    second = threading.Thread(target=ask, args=(lambda: ledger.receipt(0),))
    second.start()
    second.join(0.2)
    assert asked == []
    waits.set()
    first.join()
    second.join()
    assert [type(one) for one in asked] == [LedgerStopped] * 2


def test_a_full_disk_is_called_that(path):
    book = open_book(path)
    ledger = opened(book)
    ledger.reserve("acme", "q", TENTH)
    pages = book._store._connection.execute("PRAGMA page_count").fetchone()[0]
    book._store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerStopped, match=r"disk is full.*Free room.*Open it again"):
        ledger.reserve("acme", "q" * 100_000, TENTH)
    assert spend(path, times=0) == {"epsilon": Fraction(1, 10)}


def test_a_full_disk_is_no_damage_when_a_book_is_opened(path, monkeypatch):
    spend(path)

    class Full(sqlite3.OperationalError):
        sqlite_errorcode = sqlite3.SQLITE_FULL

    def fail(*given):
        raise Full("database or disk is full")

    for name in ("change", "read_after"):
        with monkeypatch.context() as patch:
            patch.setattr(sqlite.SQLiteStore, name, fail)
            with pytest.raises(LedgerRefused, match=r"disk is full.*Free room") as refused:
                open_book(path)
            assert "recover" not in str(refused.value)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "choose_settings", fail)
        with pytest.raises(LedgerRefused, match=r"the disk of .* is full.*Free room"):
            open_book(path)


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ((3, 40, 1), ("delete", 3)),
        ((3, 51, 2), ("delete", 3)),
        ((3, 51, 3), ("wal", 2)),
        ((3, 54, 1), ("wal", 2)),
    ],
)
def test_a_write_ahead_log_needs_a_sqlite_that_loses_nothing(version, settings):
    assert sqlite.choose_settings(version) == settings


def test_only_the_owner_can_read_it(path):
    spend(path)
    for file in (path, path.with_name("budget.db.anchor")):
        assert file.stat().st_mode & 0o077 == 0
