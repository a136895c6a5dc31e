"""Books that outlive their process: what was charged stays, whatever becomes of the process or the file."""

import shutil
import sqlite3
import threading
from fractions import Fraction

import pytest

from discreet.core.errors import (
    BudgetExceeded,
    InternalError,
    InvalidParameter,
    KeyReused,
    LedgerRefused,
    LedgerStopped,
    Refused,
)
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss, ZCDPLoss
from discreet.core.neighbours import AddRemove, Replace
from discreet.curator.ledger.books import sqlite
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.recovery import recover
from discreet.curator.ledger.entries import Ticket
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.people import People

ROWS = AddRemove("row")
TENTH = Guarantee(PureLoss(Fraction(1, 10)), ROWS)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


def opened(book, **changes):
    return Ledger(**{"epsilon": 1, "delta": 0, "neighbours": ROWS, "book": book, "name": "visits"} | changes)


def spend(path, times=1, **changes):
    """Open a book, spend tenths of the budget and close it; return what is spent then."""
    book = open_book(path)
    try:
        ledger = opened(book, **changes)
        for _ in range(times):
            number = ledger.reserve("acme", "SELECT COUNT(*) FROM visits", TENTH)
            ledger.start(number)
            ledger.finish(number, b"41")
    finally:
        book.close()
    return ledger.spent()


def test_a_ledger_goes_on_where_it_was(path):
    spend(path, times=4)
    book = open_book(path)
    ledger = opened(book)
    assert ledger.spent() == {"epsilon": Fraction(4, 10)}
    assert [(entry.number, entry.state, entry.loss) for entry in ledger.entries()] == [
        (number, "finished", "epsilon 0.1") for number in range(4)
    ]
    assert ledger.answer(2) == b"41"
    for _ in range(6):
        ledger.reserve("acme", "q", TENTH)
    with pytest.raises(BudgetExceeded):
        ledger.reserve("acme", "q", TENTH)
    book.close()


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": 2}, {"delta": Fraction(1, 10**6)}, {"neighbours": Replace("row")}, {"apart": True}],
)
def test_a_budget_is_set_once(path, changes):
    spend(path)
    book = open_book(path)
    with pytest.raises(LedgerRefused, match="a budget is set once"):
        opened(book, **changes)
    assert opened(book).spent() == {"epsilon": Fraction(1, 10)}
    book.close()


def test_shares_and_studies_outlive_the_process(path):
    book = open_book(path)
    ledger = opened(book)
    ledger.cap("acme", Fraction(1, 2))
    ledger.cap_group("alliance", ["acme", "blue"], Fraction(7, 10))
    ledger.cap_study("flu", Fraction(3, 10), purpose="how the flu spread")
    book.close()
    book = open_book(path)
    ledger = opened(book)
    assert ledger.share("acme") == Fraction(1, 2)
    for _ in range(3):
        ledger.reserve("acme", "q", TENTH, study="flu")
    with pytest.raises(BudgetExceeded, match="study flu"):
        ledger.reserve("acme", "q", TENTH, study="flu")
    for _ in range(2):
        ledger.reserve("acme", "q", TENTH)
    with pytest.raises(BudgetExceeded, match="share of acme"):
        ledger.reserve("acme", "q", TENTH)
    for _ in range(2):
        ledger.reserve("blue", "q", TENTH)
    with pytest.raises(BudgetExceeded, match="group alliance"):
        ledger.reserve("blue", "q", TENTH)
    ledger.reserve("carol", "q", TENTH)
    with pytest.raises(InvalidParameter, match="the owner registered"):
        ledger.reserve("carol", "q", TENTH, study="cold")
    assert [entry.study for entry in ledger.entries()] == ["flu"] * 3 + [None] * 5
    book.close()


def test_people_in_two_data_sets_have_one_budget(book):
    people = People(name="residents", epsilon=1, delta=0)
    visits, prices = (opened(book, name=name, people=people) for name in ("visits", "prices"))
    for _ in range(6):
        visits.reserve("acme", "q", TENTH)
    for _ in range(4):
        prices.reserve("blue", "q", TENTH)
    for ledger in (visits, prices):
        with pytest.raises(BudgetExceeded, match="the budget of residents"):
            ledger.reserve("acme", "q", TENTH)
    assert visits.left()["epsilon"] == Fraction(4, 10)
    assert visits.left("acme") == {"epsilon": 0}
    visits.void(0)
    prices.reserve("blue", "q", TENTH)
    with pytest.raises(LedgerRefused, match="a budget is set once"):
        opened(book, name="third", people=People(name="residents", epsilon=2, delta=0))


def test_people_without_a_book_would_share_with_nobody():
    for book in ({}, {"book": None}):
        with pytest.raises(InvalidParameter, match="no book"):
            Ledger(epsilon=1, delta=0, neighbours=ROWS, people=People(name="all", epsilon=1, delta=0), **book)


def test_people_with_another_kind_of_budget_refuse_what_it_cannot_count(book):
    ledger = opened(
        book, delta=Fraction(1, 10**6), people=People(name="residents", epsilon=Fraction(1, 2), delta=0)
    )
    with pytest.raises(InvalidParameter, match="finite charge"):
        ledger.reserve("acme", "q", Guarantee(ZCDPLoss(Fraction(1, 100)), ROWS))
    for _ in range(5):
        ledger.reserve("acme", "q", TENTH)
    with pytest.raises(BudgetExceeded, match="residents"):
        ledger.reserve("acme", "q", TENTH)


def test_shares_apart_have_no_people_groups_or_studies(book):
    with pytest.raises(InvalidParameter, match="apart"):
        opened(book, name="a", apart=True, people=People(name="residents", epsilon=1, delta=0))
    ledger = opened(book, apart=True)
    with pytest.raises(InvalidParameter, match="apart"):
        ledger.cap_group("alliance", ["acme"], 1)
    with pytest.raises(InvalidParameter, match="apart"):
        ledger.cap_study("flu", 1, purpose="why")


def test_a_key_is_charged_once(book):
    ledger = opened(book)
    number = ledger.reserve("acme", "q", TENTH, key="k1")
    assert ledger.reserve("acme", "q", TENTH, key="k1") == number
    with pytest.raises(KeyReused):
        ledger.reserve("acme", "another", TENTH, key="k1")
    assert ledger.reserve("blue", "another", TENTH, key="k1") != number
    assert ledger.spent() == {"epsilon": Fraction(2, 10)}
    ledger.void(number)
    with pytest.raises(KeyReused):
        ledger.reserve("acme", "another", TENTH, key="k1")
    again = ledger.reserve("acme", "q", TENTH, key="k1")  # nothing was answered: it may come again
    assert again != number
    assert ledger.reserve("acme", "q", TENTH, key="k1") == again
    assert ledger.spent() == {"epsilon": Fraction(2, 10)}


def test_a_known_key_is_given_back_by_nobody_else(book):
    """A second caller who is interrupted holds no ticket for what the first reserved."""
    ledger = opened(book)
    number = ledger.reserve("acme", "q", TENTH, key="k1")
    second = Ticket()
    assert ledger.reserve("acme", "q", TENTH, key="k1", ticket=second) == number
    assert second.number is None
    assert ledger.void_unless_started(second)
    assert ledger.entry(number).state == "reserved"
    assert ledger.spent() == {"epsilon": Fraction(1, 10)}


def test_one_answer_a_charge(book):
    ledger = opened(book)
    number = ledger.reserve("acme", "q", TENTH)
    assert ledger.answer(number) is None
    ledger.start(number)
    assert ledger.finish(number, b"41") == b"41"
    assert ledger.finish(number, b"42") == b"41"
    assert ledger.answer(number) == b"41"


def test_what_was_charged_in_another_life_can_be_answered_and_never_comes_back(path):
    book = open_book(path)
    number = opened(book).reserve("acme", "q", TENTH, key="k1")
    book.close()
    book = open_book(path)
    ledger = opened(book)
    assert ledger.entry(number).state == "started"  # for all that this life knows
    with pytest.raises(InternalError):
        ledger.void(number)
    assert not ledger.void_unless_started(Ticket(number))
    assert ledger.reserve("acme", "q", TENTH, key="k1") == number
    ledger.take_over(number)
    assert ledger.finish(number, b"41") == b"41"
    with pytest.raises(InternalError):
        ledger.take_over(number)
    mine = ledger.reserve("acme", "q", TENTH)
    with pytest.raises(InternalError):
        ledger.take_over(mine)
    assert ledger.spent() == {"epsilon": Fraction(2, 10)}
    book.close()


def test_two_processes_of_one_server_share_a_budget(path):
    """Two books on one file, as two workers have them: each sees what the other wrote before it decides."""
    first, second = (open_book(path, together=True) for _ in range(2))
    one, other = opened(first), opened(second)
    for _ in range(5):
        one.reserve("acme", "q", TENTH)
        other.reserve("blue", "q", TENTH)
    for ledger in (one, other):
        with pytest.raises(BudgetExceeded):
            ledger.reserve("acme", "q", TENTH)
        assert len(ledger.entries()) == 10
    # One takes over what the other reserved: the other cannot give it back from then on.
    other.take_over(0)
    with pytest.raises(InternalError):
        one.void(0)
    one.void(2)
    second.refresh()
    assert other.spent() == {"epsilon": Fraction(9, 10)}
    first.close()
    second.close()


def test_many_threads_share_transactions(path):
    book = open_book(path)
    ledger, refused = opened(book, epsilon=10), []

    def work():
        for _ in range(10):
            try:
                number = ledger.reserve("acme", "q", TENTH)
            except BudgetExceeded:
                refused.append(1)
            else:
                ledger.start(number)
                ledger.finish(number, b"41")

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.entries()), len(refused)) == (100, 60)
    book.close()
    assert spend(path, times=0, epsilon=10) == {"epsilon": 10}


# What cannot be believed ---------------------------------------------------------------------------------


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


def test_a_book_is_open_once(path):
    book = open_book(path)
    with pytest.raises(LedgerRefused, match="open in another process"):
        open_book(path)
    book.close()
    open_book(path).close()


def test_a_second_name_is_refused(path):
    spend(path)
    path.with_name("second.db").hardlink_to(path)
    with pytest.raises(LedgerRefused, match="hard link"):
        open_book(path)


def test_a_closed_book_answers_nothing(path):
    book = open_book(path)
    ledger = opened(book)
    book.close()
    with pytest.raises(LedgerStopped, match="is closed"):
        ledger.reserve("acme", "q", TENTH)


@pytest.mark.parametrize("name", ["append", "change"])
def test_a_book_that_cannot_write_stops(path, monkeypatch, name):
    book = open_book(path)
    ledger = opened(book)
    ledger.reserve("acme", "q", TENTH)

    def fail(*given):
        raise sqlite3.OperationalError("disk I/O error")

    monkeypatch.setattr(sqlite.SQLiteStore, name, fail)
    with pytest.raises(LedgerStopped, match="could not write"):
        ledger.reserve("acme", "q", TENTH)
    monkeypatch.undo()
    with pytest.raises(LedgerStopped):  # it does not try again: nobody knows what is on the disk
        ledger.reserve("acme", "q", TENTH)
    assert spend(path, times=0) == {"epsilon": Fraction(1, 10)}


def test_receipts_show_whether_a_book_was_put_back(path):
    spend(path)
    shutil.copy(path, f"{path}.old")
    book = open_book(path)
    ledger = opened(book)
    number = ledger.reserve("acme", "q", TENTH)
    receipt = ledger.receipt(number)
    assert (receipt.ledger, receipt.number) == ("visits", number)
    book.close()
    store = sqlite.SQLiteStore(path)
    assert receipt.is_in(store.read_after(0))
    store.close()
    store = sqlite.SQLiteStore(f"{path}.old")
    assert not receipt.is_in(store.read_after(0))
    store.close()


def test_a_receipt_is_for_an_entry_that_is_there(book):
    ledger = opened(book)
    for number in (0, -1, 7):
        with pytest.raises(InvalidParameter, match="number"):
            ledger.receipt(number)
    number = ledger.reserve("acme", "q", TENTH)
    receipt = ledger.receipt(number)
    assert (receipt is not None) == book.durable


def test_a_receipt_names_no_row_that_is_not_on_the_disk(path, monkeypatch):
    """While a row is being written it is in memory already: if that fails, it never was."""
    book = open_book(path)
    ledger = opened(book)
    writes, waits, asked = threading.Event(), threading.Event(), []
    append = sqlite.SQLiteStore.append

    def slow(self, rows, answers):
        if rows and rows[0].kind == "reserved":
            writes.set()
            waits.wait(10)
            raise sqlite3.OperationalError("disk I/O error")
        append(self, rows, answers)

    monkeypatch.setattr(sqlite.SQLiteStore, "append", slow)

    def ask(call):
        try:
            asked.append(call())
        except LedgerStopped as stopped:
            asked.append(stopped)

    first = threading.Thread(target=ask, args=(lambda: ledger.reserve("acme", "q", TENTH),))
    first.start()
    writes.wait(10)
    second = threading.Thread(target=ask, args=(lambda: ledger.receipt(0),))
    second.start()
    second.join(0.2)
    assert asked == []
    waits.set()
    first.join()
    second.join()
    assert [type(one) for one in asked] == [LedgerStopped] * 2


def test_a_full_disk_is_called_that(path):
    book = open_book(path)
    ledger = opened(book)
    ledger.reserve("acme", "q", TENTH)
    pages = book._store._connection.execute("PRAGMA page_count").fetchone()[0]
    book._store._connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(LedgerStopped, match=r"disk is full.*Free room.*Open it again"):
        ledger.reserve("acme", "q" * 100_000, TENTH)
    assert spend(path, times=0) == {"epsilon": Fraction(1, 10)}


def test_a_full_disk_is_no_damage_when_a_book_is_opened(path, monkeypatch):
    spend(path)

    class Full(sqlite3.OperationalError):
        sqlite_errorcode = sqlite3.SQLITE_FULL

    def fail(*given):
        raise Full("database or disk is full")

    for name in ("change", "read_after"):
        with monkeypatch.context() as patch:
            patch.setattr(sqlite.SQLiteStore, name, fail)
            with pytest.raises(LedgerRefused, match=r"disk is full.*Free room") as refused:
                open_book(path)
            assert "recover" not in str(refused.value)
    with monkeypatch.context() as patch:
        patch.setattr(sqlite, "choose_settings", fail)
        with pytest.raises(LedgerRefused, match=r"the disk of .* is full.*Free room"):
            open_book(path)


@pytest.mark.parametrize(
    ("version", "settings"),
    [
        ((3, 40, 1), ("delete", 3)),
        ((3, 51, 2), ("delete", 3)),
        ((3, 51, 3), ("wal", 2)),
        ((3, 54, 1), ("wal", 2)),
    ],
)
def test_a_write_ahead_log_needs_a_sqlite_that_loses_nothing(version, settings):
    assert sqlite.choose_settings(version) == settings


def test_only_the_owner_can_read_it(path):
    spend(path)
    for file in (path, path.with_name("budget.db.anchor")):
        assert file.stat().st_mode & 0o077 == 0


# What it notes -------------------------------------------------------------------------------------------


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
