"""What books note besides charges: uses, retirement, times, journals and paces."""

import sqlite3
from fractions import Fraction

import pytest
from tests.unit.curator.ledger.spending import TENTH, opened, spend

from discreet.core.errors import (
    BudgetExceeded,
    InvalidParameter,
    LedgerRefused,
    Refused,
)
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.recovery import recover


def test_uses_without_a_known_loss_are_shown(book):
    ledger = opened(book)
    ledger.note_use("a map that was published in 2019", "unknown")
    ((what, loss),) = [(use.what, use.loss) for use in ledger.uses()]
    assert (what, loss) == ("a map that was published in 2019", "unknown")
    assert ledger.spent() == {"epsilon": 0}


def test_a_data_set_that_is_retired_answers_nothing_more(path):
    book = open_book(path)
    ledger = opened(book)
    ledger.retire("its people were told so")
    ledger.retire("twice")
    assert ledger.fit("acme", TENTH) == 0
    book.close()
    book = open_book(path)
    with pytest.raises(Refused, match="retired"):
        opened(book).reserve("acme", "q", TENTH)
    book.close()


def test_time_never_runs_backwards(path, monkeypatch):
    clock = {"now": 2_000_000_000.0}
    monkeypatch.setattr("time.time", lambda: clock["now"])
    spend(path)
    for now in (2_000_000_000 - 3 * 10**8, 2_000_000_100):
        clock["now"] = now
        spend(path)
    book = open_book(path)
    times = [entry.time for entry in opened(book).entries()]
    assert times == sorted(times) and times[0] >= 2_000_000_000
    book.close()


def test_journals_only_grow_and_outlive_the_process(path):
    for life in range(3):
        book = open_book(path)
        ledger = opened(book)
        journal = ledger.journal("shared")
        assert journal.read() == tuple(b"note %d" % n for n in range(life))
        journal.append(b"note %d" % life)
        assert ledger.journal("other").read() == ()
        assert ledger.reserve("acme", "q", TENTH) == life
        book.close()
    recover(path)
    book = open_book(path)
    assert len(opened(book).journal("shared").read()) == 3
    book.close()
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE answers SET answer = x'00' WHERE number = 1")
    connection.close()
    book = open_book(path)
    with pytest.raises(LedgerRefused, match="note 1 of shared"):
        opened(book).journal("shared").read()
    with pytest.raises(InvalidParameter, match="one line"):
        opened(book, name="visits\nshared")
    book.close()


def test_no_more_than_a_pace_is_spent_in_each_period(book, monkeypatch):
    ledger = opened(book, pace=(Fraction(2, 10), 3600))
    start = 1_900_000_800  # the beginning of an hour
    monkeypatch.setattr(book, "_clock", start)
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    for hours in range(2):
        monkeypatch.setattr("time.monotonic", lambda hours=hours: 3600.0 * hours + 5)
        for _ in range(2):
            ledger.reserve("acme", "q", TENTH)
        with pytest.raises(BudgetExceeded, match=r"in 3600 seconds.*next period"):
            ledger.reserve("blue", "q", TENTH)
    # A clock that is put back gives nothing back.
    monkeypatch.setattr("time.monotonic", lambda: -(10.0**8))
    with pytest.raises(BudgetExceeded, match="in 3600 seconds"):
        ledger.reserve("acme", "q", TENTH)
    assert ledger.spent() == {"epsilon": Fraction(4, 10)}
    with pytest.raises(LedgerRefused, match="pace"):
        opened(book)


def test_periods_follow_each_other_and_do_not_slide(book, monkeypatch):
    """As it is documented: the end of one period and the beginning of the next have a share each."""
    ledger = opened(book, pace=(Fraction(2, 10), 3600))
    monkeypatch.setattr(book, "_clock", 1_900_000_800)
    for seconds in (3599.0, 3600.0):
        monkeypatch.setattr("time.monotonic", lambda seconds=seconds: seconds)
        for _ in range(2):
            ledger.reserve("acme", "q", TENTH)
    with pytest.raises(BudgetExceeded, match="next period"):
        ledger.reserve("acme", "q", TENTH)


@pytest.mark.parametrize("pace", [(2, 60), (0, 60), (1, 0), (1,), "1/2", (Fraction(1, 2), 1.5)])
def test_a_pace_is_a_share_and_seconds(book, pace):
    with pytest.raises(InvalidParameter):
        opened(book, pace=pace)
