"""Folding: all rows at once give the state that one event after the other gives."""

import json
import random  # noqa: TID251 - which way a history goes, no noise
import time
from dataclasses import replace
from fractions import Fraction

import pytest

from discreet.core.errors import BudgetExceeded, LedgerRefused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss, ZCDPLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.book import MemoryBook
from discreet.curator.ledger.books.chain import Head
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.sqlite import SQLiteStore
from discreet.curator.ledger.events import (
    Given,
    LineCharge,
    Moved,
    Recovered,
    Reserved,
    decode,
    encode,
)
from discreet.curator.ledger.folding import Folder
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.people import People
from discreet.curator.ledger.state import BookState

ROWS = AddRemove("row")
ITEMS = [
    Guarantee(PureLoss(Fraction(1, 100)), ROWS),
    Guarantee(PureLoss(Fraction(1, 70)), ROWS),
    Guarantee(ZCDPLoss(Fraction(1, 1000)), ROWS),
]


def live(chance, book, steps):
    """Let anything happen that can happen to two ledgers."""
    people = People(name="residents", epsilon=1, delta=Fraction(1, 1000))
    budget = {"epsilon": 1, "delta": Fraction(1, 1000), "neighbours": ROWS, "book": book}
    ledgers = [Ledger(**budget, name="a", people=people), Ledger(**budget, name="b", pace=(1, 3600))]
    ledgers.append(Ledger(**budget, name="c", apart=True))
    for who in ("acme", "blue"):
        ledgers[2].cap(who, Fraction(1, 2))
    ledgers[0].cap_study("flu", Fraction(1, 2), purpose="why")
    for step in range(steps):
        ledger = chance.choice(ledgers)
        who = chance.choice(("acme", "blue"))
        numbers = [entry.number for entry in ledger.entries() if entry.state == "reserved"]
        match chance.randrange(9):
            case 0 | 1 | 2:
                study = "flu" if ledger is ledgers[0] and chance.random() < 0.5 else None
                key = chance.choice((None, f"k{step}"))
                question = chance.choice((None, f"q{step % 5}"))
                try:
                    ledger.reserve(
                        who, f"ask {step}", chance.choice(ITEMS), study=study, key=key, question=question
                    )
                except BudgetExceeded:
                    pass
            case 3 | 4 if numbers:
                number = chance.choice(numbers)
                ledger.start(number)
                ledger.finish(number, chance.choice((None, b"41", f"answer {step}".encode())))
            case 5 if numbers:
                ledger.void(chance.choice(numbers))
            case 6:
                ledger.give(who, f"g{step}", f"r{step}", b"free" * chance.randrange(4))
            case 7:
                ledger.journal("notes").append(f"note {step}".encode())
            case 8:
                ledger.note_use(f"use {step}", "unknown")
        if step == steps // 2:
            ledgers[0].cap_group("alliance", ["acme", "blue"], Fraction(3, 4))


def dump(state, rows):
    """Return everything that a state says, of all names that are in some rows."""
    events = [row.event for row in rows]
    keys = {(one.analyst, one.key) for one in events if isinstance(one, Reserved | Given)}
    questions = {one.question for one in events if isinstance(one, Reserved) and one.question}
    return {
        "book": state.book,
        "times": state.times,
        "cuts": state.cuts,
        "lost": state.lost,
        "accounts": {
            place: (
                one.opened,
                one.lines,
                one.sums,
                [(each.reserved, each.state, each.answer) for each in one.records.list_now()],
                {name: one.keys.get(name) for name in keys},
                {name: one.given.get(name) for name in keys},
                one.given_to,
                {name: one.bought.get(name) for name in questions},
                {name: notes for name, notes in one.journals.items() if notes},
                one.uses,
                one.retired,
            )
            for place, one in state.accounts.items()
        },
    }


def find_last(book, rows):
    """Return the last row of every entry, as receipts say; it must be the last one about it."""
    told = {}
    for row in rows:
        if isinstance(row.event, Reserved | Moved):
            told[row.event.ledger, row.event.number] = row.place, row.digest.hex()
    found = {place: book.find_receipt(*place) for place in told}
    assert {place: (one.place, one.digest) for place, one in found.items()} == told
    return found


def fold(rows):
    state = BookState()
    folder = Folder(state)
    for row in rows:
        folder.take(*row)
    folder.settle()
    return state


@pytest.mark.parametrize("seed", range(12))
def test_all_at_once_is_the_same_as_one_after_the_other(tmp_path, seed):
    chance = random.Random(seed)
    path = tmp_path / "budget.db"
    with_rows = open_book(path)
    live(chance, with_rows, 120)
    if seed % 2:  # a recovery in the middle, after which more is charged, and something given back
        sums = (
            LineCharge(
                "data", "a", "all", tuple(10**15 for _ in with_rows.state.data("a").sum("all").amounts)
            ),
        )
        with_rows.write(lambda: Recovered(sums, "recovery", with_rows.now(), cut=bool(seed % 4)))
        for entry in Ledger(
            epsilon=1, delta=Fraction(1, 1000), neighbours=ROWS, book=with_rows, name="b", pace=(1, 3600)
        ).entries():
            if entry.state == "reserved":
                with_rows.write(lambda entry=entry: decode("moved", _void("b", entry.number)))
    with with_rows._store.change() as change:
        rows = list(change.read_after(0))
    live_state, last = dump(with_rows.state, rows), find_last(with_rows, rows)
    with_rows.close()
    slow = MemoryBook.of(row.event for row in rows).state
    assert dump(fold(rows), rows) == dump(slow, rows) == live_state
    again = open_book(path)
    assert dump(again.state, rows) == live_state
    assert find_last(again, rows) == last
    again.close()
    assert len(rows) > 60


def _void(ledger, number):
    return json.dumps({"ledger": ledger, "number": number, "state": "voided", "answer": None})


@pytest.mark.parametrize(
    "harm",
    [
        {"more": 1},
        {"charges": 7},
        {"charges": [["data", "visits", "all", ["1", "2", "3"]]]},
        {"charges": [["data", "visits", "all", ["one"]]]},
        {"charges": [["data", "nobody", "all", ["1"]]]},
        {"ledger": "nobody"},
        {"time": "now"},
        {"life": None, "number": None, "state": "finished"},
    ],
)
@pytest.mark.parametrize("kind", ["reserved", "moved"])
def test_what_this_version_does_not_know_is_refused(tmp_path, kind, harm):
    """A row of a later version is sound and means something else: it is not read as far as it goes."""
    path = tmp_path / "budget.db"
    book = open_book(path)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="visits")
    number = ledger.reserve("acme", "q", ITEMS[0])
    ledger.start(number)
    ledger.finish(number, b"41")
    with book._store.change() as change:
        rows = list(change.read_after(0))
    book.close()
    place = next(place for place, row in enumerate(rows) if row.kind == kind)
    body = json.dumps(json.loads(rows[place].body) | harm)
    if kind == "moved" and "charges" in harm:
        body = json.dumps(json.loads(rows[place].body) | {"state": "gone"})
    with pytest.raises(LedgerRefused):
        fold([*rows[:place], rows[place]._replace(body=body)])


def test_entries_are_read_when_somebody_asks(tmp_path):
    path = tmp_path / "budget.db"
    book = open_book(path)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="visits")
    ledger.reserve("acme", "q", ITEMS[0], key="k1")
    before = ledger.entries()
    book.close()
    book = open_book(path)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="visits")
    record = ledger._account.records[0]
    assert isinstance(record._reserved, str)
    assert [(one.what, one.charge) for one in ledger.entries()] == [(one.what, one.charge) for one in before]
    assert not isinstance(record._reserved, str)
    assert encode(record.reserved)[1] == rows_of(book)[2].body
    book.close()


def rows_of(book):
    with book._store.change() as change:
        return list(Head().follow(change.read_after(0)))


@pytest.mark.soak
def test_a_hundred_thousand_answered_entries_are_opened_in_three_seconds(tmp_path):
    path, count = tmp_path / "budget.db", 100_000
    book = open_book(path)
    ledger = Ledger(epsilon=10**6, delta=0, neighbours=ROWS, book=book, name="visits")
    ledger.reserve("acme", "SELECT region, COUNT(*) AS n FROM visits GROUP BY region", ITEMS[0])
    book.close()
    store = SQLiteStore(path)
    with store.change() as change:
        rows = list(change.read_after(0))
        first, head, more = rows[-1].event, Head(rows[-1].place, rows[-1].digest), []
        for number in range(1, count):
            for event in (
                replace(first, number=number, question=f"{number:064}", plan="0" * 64),
                Moved("visits", number, "finished", "0" * 64),
            ):
                more.append(head.write(event))
                head = Head(more[-1].place, more[-1].digest)
        change.append(more, [("visits", number, b"x" * 200) for number in range(1, count)])
    store.close()
    began = time.process_time()
    book = open_book(path)
    took = time.process_time() - began
    spent = Ledger(epsilon=10**6, delta=0, neighbours=ROWS, book=book, name="visits").spent()
    book.close()
    assert spent == {"epsilon": count * Fraction(1, 100)}
    assert took <= 3
