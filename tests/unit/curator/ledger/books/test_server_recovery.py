"""Books on a server that are damaged or were put back: checked and recovered as files are."""

from fractions import Fraction

import psycopg
import pytest
from click.testing import CliRunner

from discreet.cli.main import commands
from discreet.core.errors import BudgetExceeded, InvalidParameter, LedgerRefused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books import postgres
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.recovery import recover
from discreet.curator.ledger.books.verification import verify
from discreet.curator.ledger.ledger import Ledger

ROWS = AddRemove("row")
TENTH = Guarantee(PureLoss(Fraction(1, 10)), ROWS)
SECRET = "postgresql://tester:hunter2@127.0.0.1:1/nowhere"


@pytest.fixture
def anchor(tmp_path):
    return tmp_path / "anchor"


def spend(address, anchor, times=1):
    book = open_book(address, anchor=anchor)
    try:
        ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="visits")
        for _ in range(times):
            number = ledger.reserve("acme", "q", TENTH)
            ledger.start(number)
            ledger.finish(number, b"41")
        return ledger.spent()
    finally:
        book.close()


def harm(address, text):
    with psycopg.connect(address, autocommit=True) as connection:
        return connection.execute(text)


def run(*arguments):
    return CliRunner().invoke(commands, ["ledger", *map(str, arguments)])


def test_a_sound_book_is_told_while_it_is_in_use(address, anchor):
    spend(address, anchor, 3)
    book = open_book(address, anchor=anchor)
    said = run("verify", address, "--anchor", anchor)
    assert said.exit_code == 0
    assert "data visits: epsilon 1, delta 0; 3 charged, epsilon 0.3 spent" in said.output
    with pytest.raises(LedgerRefused, match="open in another process"):
        recover(address, anchor=anchor)
    book.close()


@pytest.mark.parametrize(
    "text",
    [
        "DELETE FROM discreet.rows WHERE place = 4",
        "DELETE FROM discreet.rows WHERE place > 5",
        "UPDATE discreet.rows SET body = replace(body, 'acme', 'blue') WHERE place = 3",
        "UPDATE discreet.rows SET digest = '' WHERE place = 6",
    ],
)
def test_rows_that_were_changed_are_noticed_and_no_charge_is_lost(address, anchor, text):
    spent = spend(address, anchor, 4)
    harm(address, text)
    with pytest.raises(LedgerRefused):
        verify(address, anchor=anchor)
    with pytest.raises(LedgerRefused):
        open_book(address, anchor=anchor)
    said = run("recover", address, "--anchor", anchor, "--yes")
    assert said.exit_code == 0 and "the old one is rows_before_" in said.output
    assert "data visits, all: has spent more than its entries say" in said.output
    assert verify(address, anchor=anchor).budgets[0].spent == spent
    assert spend(address, anchor, 0) == spent
    # What it was before is there to be looked at, as often as it takes.
    recover(address, anchor=anchor)
    kept = "SELECT count(*) FROM pg_tables WHERE schemaname = 'discreet' AND tablename LIKE 'rows_before_%'"
    assert harm(address, kept).fetchone() == (2,)
    spend(address, anchor, 6)
    with pytest.raises(BudgetExceeded):
        spend(address, anchor)


def test_answers_that_are_sound_are_kept(address, anchor):
    spend(address, anchor, 2)
    harm(address, "UPDATE discreet.answers SET answer = '42' WHERE number = 1")
    assert recover(address, anchor=anchor).lost == 0
    book = open_book(address, anchor=anchor)
    ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="visits")
    assert ledger.answer(0) == b"41"
    with pytest.raises(LedgerRefused, match="lost or damaged"):
        ledger.answer(1)
    book.close()


def test_without_an_anchor_everything_counts_as_spent(address, anchor):
    spend(address, anchor)
    anchor.unlink()
    with pytest.raises(LedgerRefused):
        verify(address, anchor=anchor)
    assert not recover(address, anchor=anchor).anchored
    with pytest.raises(BudgetExceeded):
        spend(address, anchor)


def test_a_damaged_page_costs_no_row_before_it(address, anchor, monkeypatch):
    """A read of many rows fails as a whole; then one by one, up to the first that cannot be read."""
    spent = spend(address, anchor, 4)
    execute = postgres.PostgresStore._execute

    def fail(self, text, values=None):
        if "LIMIT" in text and values[0] + values[1] >= 6:
            raise psycopg.DataError("invalid page in block 7")
        return execute(self, text, values)

    with monkeypatch.context() as patch:
        patch.setattr(postgres.PostgresStore, "_execute", fail)
        done = recover(address, anchor=anchor)
    assert (done.kept, done.lost) == (5, 5)
    assert spend(address, anchor, 0) == spent


def test_nothing_that_is_said_holds_the_address(anchor):
    for command in ("verify", "recover"):
        more = ["--yes"] if command == "recover" else []
        for where, words in (
            (SECRET, "cannot be reached"),
            (SECRET.replace("postgresql", "mysql"), "where must be"),
        ):
            said = run(command, where, "--anchor", anchor, *more)
            assert said.exit_code == 1 and words in said.output
            assert "hunter2" not in said.output and "Traceback" not in said.output
        said = run(command, SECRET, *more)
        assert "anchor must be given for a server" in said.output and "hunter2" not in said.output
    with pytest.raises(InvalidParameter, match="anchor"):
        recover(SECRET)


def test_a_data_base_without_a_book_is_refused(ledger_server, anchor):
    anchor.write_text("{}")
    said = run("verify", ledger_server.replace("/postgres", "/template1"), "--anchor", anchor)
    assert said.exit_code == 1 and "Traceback" not in said.output
