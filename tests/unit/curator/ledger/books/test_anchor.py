"""The anchor: whole or as it was, whatever the disk does."""

import os
import random  # noqa: TID251 - which bit is flipped, no noise
import shutil
import subprocess
import sys
from fractions import Fraction

import pytest

from discreet.core.errors import LedgerRefused, LedgerStopped
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books import durable
from discreet.curator.ledger.books.anchor import read_anchor
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.recovery import recover
from discreet.curator.ledger.books.verification import verify
from discreet.curator.ledger.ledger import Ledger

ROWS = AddRemove("row")


def spend(path):
    book = open_book(path)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book)
    ledger.reserve("acme", "q", Guarantee(PureLoss(Fraction(1, 2)), ROWS))
    book.close()


def test_an_anchor_that_a_full_disk_cuts_short_is_not_taken(tmp_path, monkeypatch):
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    spend(path)
    before, write = read_anchor(anchor), os.write
    assert before.sums
    with monkeypatch.context() as patch:
        patch.setattr(os, "write", lambda handle, data: write(handle, data[:70]))
        with pytest.raises(LedgerRefused, match=r"budget\.db\.anchor cannot be read or written"):
            open_book(path)
    assert read_anchor(anchor) == before
    open_book(path).close()


def test_an_anchor_must_be_a_file(tmp_path):
    with pytest.raises(LedgerRefused, match="Is a directory"):
        open_book(tmp_path / "budget.db", anchor=tmp_path)
    open_book(tmp_path / "budget.db").close()  # and nothing is left open by the refusal


def test_without_the_anchor_that_is_there_nothing_is_recovered(tmp_path):
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    spend(path)
    anchor.rename(tmp_path / "kept")
    anchor.mkdir()
    for look in (verify, recover):
        with pytest.raises(LedgerRefused, match="Is a directory"):
            look(path)
    anchor.rmdir()
    (tmp_path / "kept").rename(anchor)
    assert recover(path).raised == ()


def test_a_book_whose_first_row_was_never_written_is_begun_again(tmp_path):
    path = tmp_path / "budget.db"
    code = f"from discreet.curator import open_book; open_book({str(path)!r})"
    place = os.environ | {"DISCREET_CRASH_AT": "before commit"}
    subprocess.run([sys.executable, "-c", code], env=place, check=False)
    assert read_anchor(tmp_path / "budget.db.anchor").head.place == 1
    spend(path)
    path.unlink()  # but not one that was used
    with pytest.raises(LedgerRefused, match="another book"):
        open_book(path)


TENTH = Guarantee(PureLoss(Fraction(1, 10)), ROWS)


def spend_tenths(path, times):
    """Spend tenths in one life; return what is spent, which has no finite sum where all of it is."""
    book = open_book(path)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book)
    for number in range(times):
        ledger.reserve(f"analyst.{number}", "q", TENTH)
    spent = ledger.spent().get("epsilon", Fraction(1))
    book.close()
    return spent


def test_a_flipped_bit_of_the_anchor_gives_no_budget_back(tmp_path):
    """An older copy is put back, and the anchor that knows better was changed by the disk."""
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    spend_tenths(path, 2)
    old = path.read_bytes()
    spend_tenths(path, 4)
    sound, chance, kinds = anchor.read_bytes(), random.Random(3), set()
    for place in chance.sample(range(len(sound)), 120):
        harmed = bytearray(sound)
        harmed[place] ^= 1 << chance.randrange(8)
        anchor.write_bytes(harmed)
        path.write_bytes(old)
        with pytest.raises(LedgerRefused):
            open_book(path)
        kinds.add(recover(path).anchored)
        assert spend_tenths(path, 0) >= Fraction(6, 10)
        for left in tmp_path.glob("budget.db.before*"):
            left.unlink()
    assert False in kinds


def test_a_line_that_was_changed_is_told_from_one_that_was_cut_short(tmp_path):
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    spend_tenths(path, 3)
    sound = anchor.read_bytes()
    whole, last = read_anchor(anchor), sound.rstrip(b"\n").rpartition(b"\n")[2]
    begin = sound.rindex(last)
    for cut in range(begin, begin + len(last)):  # as a crash leaves it
        anchor.write_bytes(sound[:cut])
        read = read_anchor(anchor)
        assert read.is_whole and read.head.place == whole.head.place - 1
        anchor.write_bytes(sound[:cut] + b"\n" + last + b"\n")  # and another process goes on behind it
        assert read_anchor(anchor) == whole
    for place in range(begin, begin + len(last)):
        harmed = bytearray(sound)
        harmed[place] ^= 1
        anchor.write_bytes(harmed)
        with pytest.raises(LedgerRefused, match="damaged"):
            read_anchor(anchor)
    # In the middle it is left out: how far the book was, the last line says.
    harmed = bytearray(sound)
    harmed[begin - 40] ^= 1
    anchor.write_bytes(harmed)
    read = read_anchor(anchor)
    assert read.head == whole.head and not read.is_whole
    shutil.copy(anchor, tmp_path / "kept")
    assert spend_tenths(path, 0) == Fraction(3, 10)
    assert read_anchor(anchor).is_whole  # written anew


def test_an_anchor_from_before_checksums_is_read(tmp_path):
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    spend_tenths(path, 2)
    whole = read_anchor(anchor)
    lines = [line.partition(b" ")[2][:-18] for line in anchor.read_bytes().split(b"\n") if line]
    anchor.write_bytes(b"\n".join(lines) + b"\n" + lines[-1][:20])
    assert read_anchor(anchor) == whole
    assert spend_tenths(path, 1) == Fraction(3, 10)


def test_where_rows_were_lost_a_damaged_anchor_does_not_say_what_was_spent(tmp_path):
    """The line of one analyst was noted once, in a line of the anchor that the disk changed."""
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    spend_tenths(path, 0)
    old = path.read_bytes()
    spend_tenths(path, 3)
    harmed = anchor.read_bytes()
    anchor.write_bytes(harmed.replace(b"analyst:analyst.1", b"analyst:analyst.9"))
    path.write_bytes(old)
    assert not recover(path).anchored
    assert spend_tenths(path, 0) == 1


def test_a_long_anchor_is_written_anew_and_knows_the_same(tmp_path, monkeypatch):
    """It is read whole when a book is opened, so it must not grow with everything that was ever charged."""
    monkeypatch.setattr(durable, "RENEW", 5)
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    book = open_book(path)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book)
    for number in range(40):
        ledger.reserve("acme", f"q{number}", Guarantee(PureLoss(Fraction(1, 100)), ROWS))
        if number == 20:
            shutil.copy(path, tmp_path / "older.db")
        known = read_anchor(anchor)
        assert known.head == book._head and known.is_whole
        assert known.sums["data", "data", "all"].amounts == ledger._account.sum("all").amounts
    assert anchor.read_bytes().count(b"\n") < 2 * 5 + 4
    book.close()
    os.link(path, tmp_path / "kept.db")  # so that its number on the disk stays its own
    path.write_bytes((tmp_path / "older.db").read_bytes())
    (tmp_path / "kept.db").unlink()
    with pytest.raises(LedgerRefused, match="ends at row"):
        open_book(path)


@pytest.mark.parametrize("place", ["before new anchor", "after new anchor"])
def test_a_crash_while_an_anchor_is_written_anew_loses_nothing(tmp_path, place):
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    code = f"""
from discreet.curator.ledger.books import durable
durable.RENEW = 4
from tests.unit.curator.ledger.books.test_anchor import spend_much
spend_much({str(path)!r})
"""
    # The first time is when the book is opened, and there is an old one from the second opening on.
    crash = os.environ | {"DISCREET_CRASH_AT": f"{place}#3", "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", code], env=crash, capture_output=True, check=False)
    told = ended.stdout.count(b"charged")
    assert ended.returncode < 0 and told > 2
    known = read_anchor(anchor)
    book = open_book(path)
    assert known.head == book._head and known.is_whole
    assert told <= len(Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book).entries()) <= told + 1
    book.close()


def spend_much(path):
    book = open_book(path)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book)
    for number in range(20):
        ledger.reserve("acme", f"q{number}", Guarantee(PureLoss(Fraction(1, 100)), ROWS))
        print("charged", flush=True)
    book.close()


def test_a_link_to_another_disk_stays_one(tmp_path):
    path, away = tmp_path / "budget.db", tmp_path / "away"
    away.mkdir()
    (tmp_path / "budget.db.anchor").symlink_to(away / "anchor")
    for _ in range(2):
        spend(path)
        assert (tmp_path / "budget.db.anchor").is_symlink()
    assert read_anchor(away / "anchor").head.place == 4


def test_a_book_that_cannot_renew_its_anchor_gives_everything_back_once(tmp_path, monkeypatch):
    path, real = tmp_path / "budget.db", durable.Anchor
    book = open_book(path)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book)

    def refuse(path):
        raise OSError(24, "too many open files")

    with monkeypatch.context() as patch:
        patch.setattr(durable, "RENEW", 1)
        patch.setattr(durable, "Anchor", refuse)
        with pytest.raises(LedgerStopped):
            ledger.reserve("acme", "q", Guarantee(PureLoss(Fraction(1, 2)), ROWS))
    assert durable.Anchor is real
    book = open_book(path)  # nobody holds it any more
    assert Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book).spent()["epsilon"] == Fraction(1, 2)
    book.close()
