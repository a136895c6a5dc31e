"""Recovery: of one book, that nobody has open, under whatever name, as often as it takes."""

import contextlib
import sqlite3
from fractions import Fraction

import pytest

from discreet.core.errors import LedgerRefused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.recovery import recover
from discreet.curator.ledger.books.verification import verify
from discreet.curator.ledger.ledger import Ledger

ROWS = AddRemove("row")


def spend(path):
    book = open_book(path)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book)
    ledger.reserve("acme", "q", Guarantee(PureLoss(Fraction(1, 4)), ROWS))
    spent = ledger.spent()["epsilon"]
    book.close()
    return spent


@pytest.mark.parametrize("together", [False, True])
def test_a_book_that_is_open_is_not_recovered(tmp_path, together):
    """What is charged while it is read would be lost, and others would go on with the old one."""
    path = tmp_path / "budget.db"
    spend(path)
    book = open_book(path, together=together)
    with pytest.raises(LedgerRefused, match="open in another process"):
        recover(path)
    book.close()
    recover(path)
    assert spend(path) == Fraction(1, 2)


def test_what_was_put_aside_stays_there(tmp_path):
    path = tmp_path / "budget.db"
    spend(path)
    kept = [path.read_bytes()]
    first = recover(path)
    kept.append(path.read_bytes())
    second = recover(path)
    assert [one.put_aside.read_bytes() for one in (first, second)] == kept


@pytest.mark.parametrize("name", ["a?b.db", "a%41.db", "a#b.db", "a[b]*.db"])
def test_any_name_of_a_file_will_do(tmp_path, name):
    path, other = tmp_path / name, tmp_path / "ab.db.recovered"
    other.write_bytes(b"another one")
    spend(path)
    assert verify(path).rows == 3
    recover(path)
    assert verify(path).rows == 4
    assert other.read_bytes() == b"another one"


@pytest.mark.parametrize("opened_between", [False, True])
def test_a_budget_that_was_lost_stays_lost_when_its_loss_is_lost_too(tmp_path, opened_between):
    """A second damage, before the row of the first recovery: otherwise it would be had once more, whole."""
    path = tmp_path / "budget.db"
    spend(path)
    with contextlib.closing(open_book(path)) as book:
        other = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="other")
        other.reserve("acme", "q", Guarantee(PureLoss(Fraction(1)), ROWS))
    for _ in range(2):
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as disk:
            disk.execute("DELETE FROM rows WHERE place > 3")
        assert recover(path).lost
        if opened_between:
            open_book(path).close()
    with contextlib.closing(open_book(path)) as book, pytest.raises(LedgerRefused, match="was lost"):
        Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="other")


@pytest.mark.parametrize("opened_between", [False, True])
def test_without_an_anchor_nobody_knows_which_budgets_were_lost(tmp_path, opened_between):
    """So none can be opened that is not there: it might be had once more, whole."""
    path, anchor = tmp_path / "budget.db", tmp_path / "budget.db.anchor"
    spend(path)
    with contextlib.closing(open_book(path)) as book:
        Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="other")
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as disk:
        disk.execute("DELETE FROM rows WHERE place > 3")
    anchor.unlink()
    assert not recover(path).anchored
    if opened_between:
        open_book(path).close()
        with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as disk:
            disk.execute("DELETE FROM rows WHERE place > 3")
        assert recover(path).anchored
    with contextlib.closing(open_book(path)) as book:
        with pytest.raises(LedgerRefused, match="without its anchor: other may have been in it"):
            Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="other")
        left = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book).left()
        assert set(left.values()) <= {0}
