"""Rows that nobody of ours would have written: a chain without a fault does not make them true."""

import json
import sqlite3

import pytest
from tests.unit.curator.ledger.test_folding import ITEMS, ROWS

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.books.chain import find_digest
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.recovery import recover
from discreet.curator.ledger.books.verification import verify
from discreet.curator.ledger.ledger import Ledger


def open_ledger(book):
    return Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="visits")


def write_book(path):
    """Write a book with one answer and one charge that is still to be answered; return its rows."""
    book = open_book(path)
    ledger = open_ledger(book)
    ledger.cap("acme", 0.5)
    ledger.journal("notes").append(b"one")
    number = ledger.reserve("acme", "q", ITEMS[0])
    ledger.start(number)
    ledger.finish(number, b"41")
    begun = ledger.reserve("acme", "r", ITEMS[0])
    ledger.give("acme", "k", "a request", b"free")
    book.close()
    book = open_book(path)
    open_ledger(book).resume(begun)  # written down in a later life only
    book.close()
    return read_rows(path)


def read_rows(path):
    connection = sqlite3.connect(path)
    rows = connection.execute("SELECT place, kind, body, digest FROM rows ORDER BY place").fetchall()
    connection.close()
    return rows


def add(path, kind, body):
    """Write a row behind the last one, by the rules of the chain."""
    place, _, _, before = read_rows(path)[-1]
    digest = find_digest(before, place + 1, kind, body)
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("INSERT INTO rows VALUES (?, ?, ?, ?)", [place + 1, kind, body, digest])
    connection.close()


def change(rows, kind, **harm):
    """Return a row of a kind as it was written, but for some of what it says."""
    body = next(row[2] for row in rows if row[1] == kind)
    return kind, json.dumps(json.loads(body) | harm, sort_keys=True, separators=(",", ":"))


def less_than_nothing(rows):
    kind, body = change(rows, "reserved", number=2)
    said = json.loads(body)
    for charge in said["charges"]:
        charge[3] = [f"-{amount}" for amount in charge[3]]
    return kind, json.dumps(said, sort_keys=True, separators=(",", ":"))


FORGED = {
    "an answered charge is given back": lambda rows: change(rows, "moved", state="voided", answer=None),
    "a charge that was begun is given back": lambda rows: change(
        rows, "moved", state="voided", answer=None, number=1
    ),
    "an answer is put in the place of another": lambda rows: change(rows, "moved", answer="0" * 64),
    "less than nothing is charged": less_than_nothing,
    "a charge is put in the place of another": lambda rows: change(rows, "reserved", what="nothing"),
    "a charge comes too early": lambda rows: change(rows, "reserved", number=7),
    "a budget is opened anew": lambda rows: change(rows, "opened", epsilon="1000"),
    "a share is given anew": lambda rows: change(rows, "capped", share="1"),
    "a book begins anew": lambda rows: change(rows, "began"),
    "a note is put in the place of another": lambda rows: change(rows, "kept", answer="0" * 64),
    "a reply is put in the place of another": lambda rows: change(rows, "given", answer="0" * 64),
    "a share of a budget that is not there": lambda rows: change(rows, "capped", ledger="nobody"),
    "a number that is none": lambda rows: change(rows, "moved", number="0"),
    "what nobody reads to the end": lambda rows: ("reserved", "[" * 100_000),
}


@pytest.mark.parametrize("forged", FORGED)
def test_a_row_that_cannot_have_been_written_is_not_believed(tmp_path, forged):
    path = tmp_path / "budget.db"
    rows = write_book(path)
    spent = {"epsilon": 2 * ITEMS[0].loss.exact_epsilon()}
    add(path, *FORGED[forged](rows))
    with pytest.raises(LedgerRefused):
        open_book(path)
    with pytest.raises(LedgerRefused):
        verify(path)
    report = recover(path)
    assert (report.kept, report.lost) == (len(rows), 0)
    book = open_book(path)
    ledger = open_ledger(book)
    assert ledger.spent() == spent
    assert ledger.share("acme") == 0.5
    assert [entry.state for entry in ledger.entries()] == ["finished", "started"]
    assert ledger.answer(0) == b"41"
    book.close()


def test_what_was_written_is_believed(tmp_path):
    path = tmp_path / "budget.db"
    rows = write_book(path)
    assert {kind for _, kind, _, _ in rows} == {
        "began",
        "opened",
        "capped",
        "kept",
        "reserved",
        "moved",
        "given",
    }
    assert verify(path).rows == len(rows)
    open_book(path).close()
