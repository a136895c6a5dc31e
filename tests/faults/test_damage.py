"""Disks that fail or change what was written: no answer without a durable charge, no charge forgotten."""

import random  # noqa: TID251 - which bit is flipped, no noise
import shutil
from fractions import Fraction

import apsw
import pytest
from tests.faults.client import TINY, open_ledger

from discreet.core.errors import LedgerRefused, LedgerStopped
from discreet.curator.ledger.books import anchor, sqlite


def spend(path, times):
    book, ledger = open_ledger(path, 1, together=False)
    try:
        for _ in range(times):
            number = ledger.reserve("acme", "q", TINY)
            ledger.start(number)
            ledger.finish(number, b"41")
    finally:
        book.close()
    return ledger.spent()["epsilon"]


def flip_bits(tmp_path, count):
    """Flip one bit of a book, again and again; return how often it was refused."""
    path = tmp_path / "budget.db"
    before = spend(path, 20)
    sound, chance, refused = path.read_bytes(), random.Random(7), 0
    told = path.with_name("budget.db.anchor").read_bytes()
    for _ in range(count):
        harmed = bytearray(sound)
        harmed[chance.randrange(len(sound))] ^= 1 << chance.randrange(8)
        path.write_bytes(harmed)
        try:
            book, ledger = open_ledger(path, 1, together=False)
        except (LedgerRefused, LedgerStopped):
            refused += 1
        else:
            assert ledger.spent()["epsilon"] >= before
            for number in range(20):
                try:
                    assert ledger.answer(number) == b"41"
                except LedgerRefused:
                    refused += 1
            book.close()
        path.with_name("budget.db.anchor").write_bytes(told)
    return refused


def test_a_flipped_bit_never_gives_budget_back(tmp_path):
    assert flip_bits(tmp_path, 100) > 30


@pytest.mark.soak
def test_a_thousand_flipped_bits(tmp_path):
    flip_bits(tmp_path, 1000)


FAILS = {"write": apsw.FullError, "open": apsw.CantOpenError, "memory": apsw.NoMemError}
"""What is raised where a disk is full, a process has too many files, or no memory."""


class FailingSystem(apsw.VFS):
    """A file system whose n-th write, sync, removal or opening fails, or where the memory is full then."""

    def __init__(self, kind, at):
        self.kind, self.left = kind, at
        super().__init__("failing", "")

    def pass_by(self, kind):
        if kind == self.kind:
            self.left -= 1
            if self.left == 0:
                raise FAILS.get(kind, apsw.IOError)("no luck")

    def tear(self, data):
        """Return how much of a write gets through: all of it, but once."""
        if self.kind == "torn write":
            self.left -= 1
            if self.left == 0:
                return data[: len(data) // 2]
        return data

    def xOpen(self, name, flags):
        self.pass_by("open")
        return FailingFile(self, name, flags)

    def xDelete(self, name, sync):
        self.pass_by("remove")
        super().xDelete(name, sync)


class FailingFile(apsw.VFSFile):
    def __init__(self, system, name, flags):
        self.system = system
        super().__init__("", name, flags)

    def xWrite(self, data, offset):
        self.system.pass_by("write")
        self.system.pass_by("memory")
        kept = self.system.tear(data)
        super().xWrite(kept, offset)
        if len(kept) < len(data):
            raise apsw.IOError("written in part")

    def xSync(self, flags):
        self.system.pass_by("sync")
        super().xSync(flags)


def fail_once(path, monkeypatch, kind, at):
    """Let the n-th call fail while charges are made; tell whether that stopped the book."""
    told, stopped, book = [], False, None
    spend(path, 2)
    system = FailingSystem(kind, at)

    def connect(name, **_):
        return apsw.Connection(str(name), vfs="failing")

    with monkeypatch.context() as patch:
        patch.setattr(sqlite.sqlite3, "connect", connect)
        try:
            book, ledger = open_ledger(path, 1, together=False)
            for _ in range(20):
                told.append(ledger.reserve("acme", "q", TINY))
        except LedgerStopped:
            stopped = True
            with pytest.raises(LedgerStopped):  # and it does not come back by itself
                ledger.reserve("acme", "q", TINY)
        except (LedgerRefused, apsw.Error):
            pass  # while it was opened: nothing was asked
        finally:
            if book is not None:
                book.close()
    system.unregister()
    assert spend(path, 0) >= Fraction(2 + len(told), 1000)
    return stopped


@pytest.mark.parametrize("kind", ["write", "torn write", "sync", "remove", "open", "memory"])
def test_a_disk_that_fails_once_stops_the_book(tmp_path, monkeypatch, kind):
    found = [fail_once(tmp_path / f"budget{at}.db", monkeypatch, kind, at) for at in range(1, 41)]
    assert sum(found) >= 20


@pytest.mark.parametrize("name", ["write", "fsync"])
def test_an_anchor_that_cannot_be_written_stops_the_book(tmp_path, monkeypatch, name):
    path = tmp_path / "budget.db"
    book, ledger = open_ledger(path, 1, together=False)
    ledger.reserve("acme", "q", TINY)

    def fail(handle, *data):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(anchor.os, name, fail)
    with pytest.raises(LedgerStopped, match="disk is full"):
        ledger.reserve("acme", "q", TINY)
    monkeypatch.undo()
    book.close()
    assert spend(path, 0) == Fraction(2, 1000)  # it was committed, and nobody was told: it counts


def test_a_book_without_its_log_or_journal_is_noticed(tmp_path):
    """A copy of the file alone, taken while a change was under way, is not what was acknowledged."""
    path = tmp_path / "budget.db"
    spend(path, 1)
    shutil.copy(path, f"{path}.copy")
    spend(path, 1)
    path.write_bytes((tmp_path / "budget.db.copy").read_bytes())
    with pytest.raises(LedgerRefused, match="an older copy"):
        open_ledger(path, 1, together=False)
