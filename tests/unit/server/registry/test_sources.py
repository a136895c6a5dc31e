"""Sources: a book is read from outside while it is in use, wherever it is kept."""

from dataclasses import replace

import pytest
from tests.unit.server.registry.conftest import read, writing

from discreet.core.errors import InvalidParameter, LedgerRefused
from discreet.server.registered.registration import read_registration
from discreet.server.registry.sources import read_closed


def test_a_book_is_read_while_it_is_in_use(tmp_path):
    with writing(tmp_path) as past:
        past.ask()
        assert len(read(past.path).copy.records) == 1
        past.ask()
        source = read(past.path)
        assert dict(source.find_receipts((0, 1))) == {n: past.ledger.receipt(n) for n in (0, 1)}


def test_a_damaged_book_is_not_told_of(tmp_path):
    with writing(tmp_path) as past:
        past.ask()
    book = tmp_path / "budget.db"
    book.write_bytes(book.read_bytes().replace(b"SELECT secret", b"SELECT sacred"))
    with pytest.raises(LedgerRefused):
        read(past.path)


def test_a_book_on_a_server_needs_its_anchor(tmp_path):
    with writing(tmp_path) as past:
        pass
    elsewhere = replace(read_registration(past.path), book="postgresql://somewhere/book")
    with pytest.raises(InvalidParameter, match="anchor"):
        read_closed(elsewhere)


def test_what_no_question_moves_is_all_that_is_copied_for_the_public(tmp_path):
    from discreet.curator.ledger.books.verification import read_book
    from discreet.server.registry.sources import AccountCopy

    with writing(tmp_path, apart=True) as past:
        past.ledger.cap("acme", 1)
        past.ask()
        past.ledger.note_use("a map", loss="unknown")
    copy = AccountCopy.take(read_book(tmp_path / "budget.db").state, "visits", is_whole=False)
    assert (copy.records, copy.account.sums, copy.account.lines) == ((), {}, {})
    assert copy.uses[0].what == "a map"
