import time

import pytest

import discreet as dp
from discreet.core.errors import Refused
from discreet.curator.failures import MOST, Failures
from discreet.curator.ledger.books.files import open_book, open_ledger


def ledger(where):
    return open_ledger(where, 1, 0, neighbours=dp.AddRemove("row"), name="people")


def test_they_are_counted_by_analyst_for_a_day_and_over_lives(tmp_path, monkeypatch):
    book = tmp_path / "budget.db"
    first = ledger(book)
    counted = Failures(first)
    for _ in range(MOST):
        counted.require_few("eve")
        counted.note("eve")
    with pytest.raises(Refused, match="within a day"):
        counted.require_few("eve")
    counted.require_few("bob")
    first.close()
    second = ledger(book)
    again = Failures(second)
    with pytest.raises(Refused, match="within a day"):
        again.require_few("eve")
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now - 10**6)
    with pytest.raises(Refused, match="within a day"):  # a clock that was put back lets nobody in
        again.require_few("eve")
    monkeypatch.setattr(time, "time", lambda: now + 86_500)
    again.require_few("eve")
    second.close()


def test_those_of_other_processes_count_too(tmp_path):
    books = [open_book(tmp_path / "budget.db", together=True) for _ in range(2)]
    ledgers = [ledger(book) for book in books]
    here, there = map(Failures, ledgers)
    for _ in range(MOST):
        there.note("eve")
    ledgers[0].refresh()  # as every charge does
    with pytest.raises(Refused, match="within a day"):
        here.require_few("eve")
    here.require_few("bob")
    for book in books:
        book.close()
