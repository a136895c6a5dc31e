"""What is over is read from the book by its place: it stays what it was, and memory holds only the last."""

import contextlib
from fractions import Fraction

import pytest

from discreet.core.errors import KeyReused, LedgerRefused, LedgerStopped
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books import by_place, durable, places
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.ledger import Ledger

ROWS = AddRemove("row")
ITEM = Guarantee(PureLoss(Fraction(1, 1000)), ROWS)


@pytest.fixture(autouse=True)
def little_memory(monkeypatch):
    """Keep next to nothing in memory, so that a short history is read from the disk."""
    monkeypatch.setattr(by_place, "RECENT", 3)
    monkeypatch.setattr(durable, "MOST", 2)
    monkeypatch.setattr(places, "_WAITING", 5)
    monkeypatch.setattr(by_place, "_AT_ONCE", 4)


def open_ledger(book):
    return Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="visits")


def ask(ledger, number, who="acme"):
    """Ask a question under a key as far as the number says: void, charged only, or answered."""
    place = ledger.reserve(
        who, f"q{number}", ITEM, key=f"k{number}", request=f"r{number}", question=f"d{number}"
    )
    if number % 7 == 3:
        ledger.void(place)
    elif number % 5:
        ledger.start(place)
        ledger.finish(place, f"answer {number}".encode())
    return place


def tell(ledger, count):
    """Return everything that the ledger says of a history."""
    return (
        ledger.entries(),
        ledger.entries("blue"),
        [ledger.answer(number) for number in range(count)],
        [ledger.receipt(number) for number in range(count)],
        [ledger.find_bought(f"d{number}") for number in range(count)],
        [ledger.has_key("acme", f"k{number}") for number in range(count)],
        [ledger.given("acme", f"g{number}") for number in range(count)],
        ledger.spent(),
    )


def test_what_was_kept_nowhere_is_told_as_in_memory(book, tmp_path):
    """The same history in a book of each kind tells the same."""
    count, ledger, memory = 40, open_ledger(book), open_ledger(None)
    for one in (ledger, memory):
        for number in range(count):
            ask(one, number, who="blue" if number % 4 == 1 else "acme")
            one.give("acme", f"g{number}", f"r{number}", f"free {number}".encode())
    ours, wanted = tell(ledger, count), tell(memory, count)
    told = [[(e.number, e.analyst, e.what, e.state, e.charge, e.answer) for e in one] for one in ours[:2]]
    assert told == [
        [(e.number, e.analyst, e.what, e.state, e.charge, e.answer) for e in one] for one in wanted[:2]
    ]
    assert (ours[2], *ours[4:]) == (wanted[2], *wanted[4:])
    assert [one.number for one in ledger.entries("blue", last=3)] == [29, 33, 37]
    assert ledger.entries(last=2) == ledger.entries()[-2:]
    for number in range(count):
        with pytest.raises(KeyReused):
            ledger.find_key("blue" if number % 4 == 1 else "acme", f"k{number}", "another request")
        assert ledger.give("acme", f"g{number}", f"r{number}", b"another") == f"free {number}".encode()


def test_a_later_life_tells_the_same(tmp_path):
    told = []
    for life in range(2):
        with contextlib.closing(open_book(tmp_path / "budget.db")) as book:
            ledger = open_ledger(book)
            for number in range(30 if not life else 0):
                ask(ledger, number)
                ledger.give("acme", f"g{number}", f"r{number}", f"free {number}".encode())
            told.append([part for place, part in enumerate(tell(ledger, 30)) if place not in (0, 1)])
            told[-1].append([(e.what, e.answer, e.charge) for e in ledger.entries()])
            assert [ledger.answer(number) for number in (1, 2, 4)] == [b"answer 1", b"answer 2", b"answer 4"]
            records = ledger._account.records
            assert len(records._over) <= 3 and len(records._going) == sum(
                n % 7 != 3 and not n % 5 for n in range(30)
            )
    assert told[0] == told[1]


def test_one_key_is_one_charge_long_after_it_left_memory(tmp_path):
    with contextlib.closing(open_book(tmp_path / "budget.db")) as book:
        ledger = open_ledger(book)
        for number in range(20):
            ask(ledger, number)
        spent = ledger.spent()
        for number in range(20):
            if number % 7 != 3:
                assert ask_again(ledger, number) == number
        assert ledger.spent() == spent
        again = ask_again(ledger, 3)  # given back, so its key is free
        assert again == 20 and ask_again(ledger, 3) == 20
        assert ledger.spent() == {"epsilon": spent["epsilon"] + Fraction(1, 1000)}


def ask_again(ledger, number, who="acme"):
    return ledger.reserve(
        who, f"q{number}", ITEM, key=f"k{number}", request=f"r{number}", question=f"d{number}"
    )


def test_two_processes_read_what_the_other_wrote(tmp_path):
    books = [open_book(tmp_path / "budget.db", together=True) for _ in range(2)]
    ledgers = [open_ledger(book) for book in books]
    for number in range(24):
        ask(ledgers[number % 2], number)
    for ledger in ledgers:
        ledger.refresh()
    assert tell(ledgers[0], 24)[2:] == tell(ledgers[1], 24)[2:]
    assert [e.what for e in ledgers[0].entries()] == [e.what for e in ledgers[1].entries()]
    assert [ask_again(ledgers[1 - number % 2], number) for number in (1, 2, 4, 5)] == [1, 2, 4, 5]
    for book in books:
        book.close()


def test_a_row_that_changed_since_it_was_checked_is_not_believed(tmp_path):
    with contextlib.closing(open_book(tmp_path / "budget.db")) as book:
        ledger = open_ledger(book)
        for number in range(20):
            ask(ledger, number)
        row = ledger._account.records[1].first
        with book._store.change() as change:  # as a disk might
            change._connection.execute(
                "UPDATE rows SET body = replace(body, 'q1', 'q9') WHERE place = ?", (row,)
            )
        for look in (lambda: ledger.entry(1), ledger.entries, lambda: ask_again(ledger, 1)):
            with pytest.raises(LedgerRefused, match=f"row {row} cannot be read, or was changed"):
                look()
        assert ledger.entry(4).what == "q4"  # others are as they were


def test_a_closed_book_says_so(tmp_path):
    book = open_book(tmp_path / "budget.db")
    ledger = open_ledger(book)
    for number in range(20):
        ask(ledger, number)
    book.close()
    with pytest.raises(LedgerStopped):
        ledger.entry(1)


def test_entries_that_are_listed_stay_as_they_were(tmp_path):
    """What went on when the list was made is told as it was then, whatever came of it since."""
    with contextlib.closing(open_book(tmp_path / "budget.db")) as book:
        ledger = open_ledger(book)
        for number in range(12):
            ask(ledger, number)
        waiting = ledger.reserve("acme", "waits", ITEM)
        listed = book.look(ledger._account.records.list_now)
        before = [one.state for one in listed]
        ledger.void(waiting)
        for number in range(20, 40):
            ask(ledger, number)
        assert len(listed) == 13 and [one.state for one in listed] == before
        assert [one.state for one in listed[-2:]] == before[-2:] and listed[12].state == "reserved"
        assert ledger.entry(waiting).state == "voided"


def test_what_is_not_on_the_disk_yet_is_not_looked_for_there(tmp_path, monkeypatch):
    """Somebody reads the whole history while an answer is being written: it is told as well."""
    with contextlib.closing(open_book(tmp_path / "budget.db")) as book:
        ledger = open_ledger(book)
        for number in range(20):
            ask(ledger, number)
        seen, append = [], book._store.append

        def read_meanwhile(rows, answers):
            ledger.entries()
            seen.append([one.state for one in ledger.entries()][20:])
            append(rows, answers)

        monkeypatch.setattr(book._store, "append", read_meanwhile)
        ask(ledger, 21)
        assert seen == [["reserved"], ["finished"]]
        assert not book.started, "what is over need not be remembered"
