"""Books put back, lost or changed: no charge is forgotten, nothing is told that cannot be believed."""

import shutil
import sqlite3
from fractions import Fraction

import pytest
from tests.unit.curator.ledger.spending import TENTH, opened, spend

from discreet.core.errors import (
    BudgetExceeded,
    InvalidParameter,
    LedgerRefused,
)
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.recovery import recover


def test_an_older_copy_is_refused_and_recovering_loses_no_charge(path):
    spend(path, times=2)
    shutil.copy(path, f"{path}.old")
    spent = spend(path, times=3)
    with open(f"{path}.old", "rb") as old, open(path, "r+b") as new:  # in place: the file is the same one
        new.write(old.read())
        new.truncate()
    with pytest.raises(LedgerRefused, match="an older copy was put back"):
        open_book(path)
    done = recover(path)
    assert done.anchored and done.lost > 0 and ("data", "visits", "all") in done.raised
    assert spend(path, times=0) == spent == {"epsilon": Fraction(5, 10)}
    spend(path, times=5)
    with pytest.raises(BudgetExceeded):
        spend(path)


def test_a_copy_is_refused(path, tmp_path):
    spend(path)
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    for ending in ("", ".anchor"):
        shutil.copy(f"{path}{ending}", elsewhere / f"budget.db{ending}")
    with pytest.raises(LedgerRefused, match="it is a copy"):
        open_book(elsewhere / "budget.db")
    (elsewhere / "budget.db.anchor").unlink()
    with pytest.raises(LedgerRefused, match="anchor is missing"):
        open_book(elsewhere / "budget.db")


def test_without_an_anchor_everything_counts_as_spent(path):
    spend(path)
    path.with_name("budget.db.anchor").unlink()
    done = recover(path)
    assert not done.anchored
    with pytest.raises(BudgetExceeded):
        spend(path)
    assert spend(path, times=0) == {}  # no finite sum


def test_budgets_that_were_lost_are_not_given_again(path):
    spend(path)
    shutil.copy(path, f"{path}.old")
    spend(path, name="prices")
    shutil.copy(f"{path}.old", path)
    recover(path)
    with pytest.raises(LedgerRefused, match="was lost"):
        spend(path, name="prices")
    assert spend(path) == {"epsilon": Fraction(2, 10)}


def test_shares_apart_that_were_lost_are_not_given_again(path):
    book = open_book(path)
    opened(book, apart=True).cap("acme", Fraction(1, 2))
    book.close()
    shutil.copy(path, f"{path}.old")
    book = open_book(path)
    ledger = opened(book, apart=True)
    ledger.cap("blue", Fraction(1, 2))
    ledger.reserve("blue", "q", TENTH)
    book.close()
    shutil.copy(f"{path}.old", path)
    recover(path)
    book = open_book(path)
    ledger = opened(book, apart=True)
    with pytest.raises(InvalidParameter, match="at most 0"):
        ledger.cap("carol", Fraction(1, 4))
    with pytest.raises(BudgetExceeded):
        ledger.reserve("acme", "q", TENTH)
    book.close()


@pytest.mark.parametrize(
    "harm",
    [
        "DELETE FROM rows WHERE place = 3",
        "DELETE FROM rows WHERE place = (SELECT MAX(place) FROM rows)",
        "UPDATE rows SET body = REPLACE(body, 'acme', 'blue') WHERE place = 3",
        "UPDATE rows SET kind = 'used' WHERE place = 3",
        "UPDATE rows SET place = place + 100 WHERE place > 3",
        "DELETE FROM rows",
        "DROP TABLE rows",
    ],
)
def test_rows_that_were_changed_are_noticed(path, harm):
    spent = spend(path, times=2)
    with sqlite3.connect(path) as connection:
        connection.execute(harm)
    connection.close()
    with pytest.raises(LedgerRefused):
        open_book(path)
    if harm.startswith(("DELETE FROM rows WHERE", "UPDATE")):
        recover(path)
        assert spend(path, times=0) == spent
    else:
        with pytest.raises(LedgerRefused, match="nothing in it can be read"):
            recover(path)


def test_an_answer_on_a_damaged_page_is_called_lost(path):
    book = open_book(path)
    ledger = opened(book)
    number = ledger.reserve("acme", "q", TENTH)
    ledger.start(number)
    ledger.finish(number, b"41" * 20_000)  # pages of its own, which nothing else needs
    book.close()
    book = open_book(path)
    ledger = opened(book)
    with sqlite3.connect(path) as connection:
        size = connection.execute("PRAGMA page_size").fetchone()[0]
        (root,) = connection.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'answers'").fetchone()
    connection.close()
    with open(path, "r+b") as file:
        file.seek((root - 1) * size)
        file.write(b"\xff" * size)
    book._store._connection.execute("PRAGMA cache_size = 0")
    with pytest.raises(LedgerRefused, match="lost or damaged"):
        ledger.answer(number)
    assert ledger.spent() == {"epsilon": Fraction(1, 10)}
    book.close()


@pytest.mark.parametrize("harm", ["UPDATE answers SET answer = x'00'", "DELETE FROM answers"])
def test_an_answer_that_was_changed_is_not_given(path, harm):
    spend(path)
    with sqlite3.connect(path) as connection:
        connection.execute(harm)
    connection.close()
    book = open_book(path)
    with pytest.raises(LedgerRefused, match="lost or damaged"):
        opened(book).answer(0)
    book.close()
