"""`discreet ledger`: what it prints, and what it refuses."""

import json
from fractions import Fraction

import pytest
from click.testing import CliRunner
from tests.faults.client import TINY, open_ledger

from discreet.cli.main import commands
from discreet.core.errors import Refused


@pytest.fixture
def path(tmp_path):
    book, ledger = open_ledger(tmp_path / "budget.db", 1, together=False)
    for _ in range(3):
        ledger.reserve("acme", "q", TINY)
    ledger.retire("nobody asks any more")
    book.close()
    return tmp_path / "budget.db"


def run(*arguments):
    return CliRunner().invoke(commands, ["ledger", *map(str, arguments)])


def test_a_sound_book_is_told_line_by_line(path):
    said = run("verify", path)
    assert said.exit_code == 0
    assert "data visits: epsilon 1, delta 0; 3 charged, epsilon 0.003 spent; retired: nobody" in said.output
    report = json.loads(run("verify", path, "--json").output)
    (budget,) = report["budgets"]
    assert Fraction(budget["spent"]["epsilon"]) == Fraction(3, 1000)


def test_a_book_can_be_checked_while_it_is_in_use(path):
    book, _ = open_ledger(path, 1, together=False)
    assert run("verify", path).exit_code == 0
    book.close()


def test_a_book_that_was_put_back_is_refused_and_recovered(path):
    before = path.read_bytes()
    book, ledger = open_ledger(path, 1, together=False)
    ledger.note_use("a map", "unknown")
    book.close()
    path.write_bytes(before)
    said = run("verify", path)
    assert said.exit_code == 1 and "discreet ledger recover" in said.output
    assert "--yes" in run("recover", path).output
    said = run("recover", path, "--yes")
    assert said.exit_code == 0 and "lost 1" in said.output
    assert run("verify", path).exit_code == 0


def test_without_an_anchor_all_is_spent(path):
    path.with_name("budget.db.anchor").unlink()
    assert "every budget in it counts as spent" in run("recover", path, "--yes").output


def test_a_file_that_is_no_book_is_refused(tmp_path):
    other = tmp_path / "other.db"
    other.write_text("not a database at all, but long enough to look like one" * 20)
    for command in (["verify"], ["recover", "--yes"]):
        said = run(*command, other)
        assert said.exit_code == 1 and "Traceback" not in said.output


def test_a_data_set_is_retired_for_ever(tmp_path):
    path = tmp_path / "budget.db"
    book, ledger = open_ledger(path, 1, together=False)
    ledger.reserve("acme", "q", TINY)
    words = ("retire", path, "visits", "--why", "the study ended")
    assert "is open in another process" in run(*words, "--yes").output
    book.close()
    assert run(*words).exit_code == 2, "it must be meant"
    assert "a data set of this book (visits)" in run("retire", path, "vsits", "--why", "x", "--yes").output
    for _ in range(2):
        assert run(*words, "--yes").exit_code == 0
    assert "1 charged, epsilon 0.001 spent; retired: the study ended" in run("verify", path).output
    book, ledger = open_ledger(path, 1, together=False)
    with pytest.raises(Refused, match="retired"):
        ledger.reserve("acme", "another", TINY)
    book.close()
