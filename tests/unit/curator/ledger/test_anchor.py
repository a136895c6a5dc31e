"""The anchor: whole or as it was, whatever the disk does."""

import os
import subprocess
import sys
from fractions import Fraction

import pytest

from discreet.core.errors import LedgerRefused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books.anchor import read_anchor
from discreet.curator.ledger.books.files import open_book
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
