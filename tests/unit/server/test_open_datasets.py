"""What a registration opens: one book, lines of people and groups, versions, and engines by configuration."""

import os
import subprocess
import sys
from contextlib import closing
from fractions import Fraction

import duckdb
import pytest
from click.testing import CliRunner
from tests.unit.server.conftest import SCHEMA, write_home

from discreet.cli.main import commands
from discreet.core.errors import BudgetExceeded, DataSetChanged, InvalidParameter, LedgerRefused
from discreet.curator.ledger.events import WHOLE
from discreet.curator.ledger.journal import LedgerJournal
from discreet.server.access import KeyFacts
from discreet.server.open_datasets import OpenDatasets, open_table
from discreet.server.registered.registration import read_registration

MEAN = "SELECT AVG(age) AS m FROM {}"


def write_two(folder, *, shared="0.5", more="", people="epsilon = 1\ndelta = 1e-6"):
    """Register two tables about the same people, each with a budget of 1, all of it 1 as well."""
    folder.mkdir(exist_ok=True)
    write_home(folder)
    said = ["tick = 0", "[people.residents]", people]
    for name in ("visits", "claims"):
        (folder / f"{name}.toml").write_text(SCHEMA.replace('"visits"', f'"{name}"'))
        said.append(
            f'[datasets.{name}]\ndata = "visits.csv"\nschema = "{name}.toml"\nepsilon = 1\ndelta = 1e-9\n'
            f'shared = {shared}\nquestion = [0.1, 0]\npeople = "residents"\n{more}'
        )
    path = folder / "discreet.toml"
    path.write_text("\n".join(said))
    return path


def test_people_in_two_tables_have_one_budget(tmp_path):
    opened = OpenDatasets(read_registration(write_two(tmp_path, shared="0")))
    doors = [opened.get(name).curator.analyst("acme", share=1) for name in ("visits", "claims")]
    for k in range(6):
        doors[0].sql(MEAN.format("visits") + f" WHERE age > {k}", insist=True)
    for k in range(4):
        doors[1].sql(MEAN.format("claims") + f" WHERE age > {k}", insist=True)
    with pytest.raises(BudgetExceeded, match="residents"):
        doors[1].sql(MEAN.format("claims") + " WHERE age > 9", insist=True)
    opened.close()


def test_a_shared_hypothesis_counts_for_its_people(tmp_path):
    path = write_two(tmp_path)
    opened = OpenDatasets(read_registration(path))  # a half each: all of it
    door = opened.get("claims").curator.analyst("acme", share=1)
    with pytest.raises(BudgetExceeded, match="residents"):
        door.sql(MEAN.format("claims"), insist=True)
    spent = opened.book.state.accounts["people", "residents"].sum(WHOLE).known
    opened.close()
    again = OpenDatasets(read_registration(path))  # nothing is charged twice
    assert again.book.state.accounts["people", "residents"].sum(WHOLE).known == spent
    assert again.get("visits").curator.ledger.entries()[0].charge == ()
    again.close()


def test_a_hypothesis_that_its_people_cannot_pay_for_is_not_measured(tmp_path):
    path = write_two(tmp_path, people="epsilon = 0.7\ndelta = 1e-6")
    with pytest.raises(BudgetExceeded, match="residents"):
        OpenDatasets(read_registration(path))


def test_a_crash_behind_the_charge_of_people_loses_nothing(tmp_path, monkeypatch):
    path = write_two(tmp_path, shared="0.25")

    def crash(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(LedgerJournal, "append", crash)  # the charge is written, and the claim is not
        with pytest.raises(KeyboardInterrupt):
            OpenDatasets(read_registration(path))
    with closing(OpenDatasets(read_registration(path))) as opened:
        assert [one.curator.universe.names for one in opened] == [("ward", "age")] * 2
        people = opened.book.state.accounts["people", "residents"]
        assert people.sum(WHOLE).entries == 2


def write_hidden(folder, *, version, shared="0"):
    """Register one table without a promise, and one with one, on the same book."""
    path = write_two(folder, shared="0")
    said = path.read_text().replace('people = "residents"\n', "")
    visits, claims = said.split("[datasets.claims]")
    promised = f'promise = "one analyst to many"\nversion = "{version}"\n'
    path.write_text(
        f"{visits}[datasets.claims]{claims.replace('shared = 0', f'shared = {shared}')}{promised}"
    )
    return path


def ask_about(opened, name, who, number=0):
    key = KeyFacts("0" * 16, who, "analyst", 0)
    question = MEAN.format(name) + f" WHERE age > {number}"
    return opened.find_door(opened.get(name), key).sql(question, insist=True)


def test_no_receipt_tells_of_a_promised_data_set_in_the_same_book(tmp_path):
    with closing(OpenDatasets(read_registration(write_hidden(tmp_path, version="1")))) as opened:
        opened.access.grant("acme", "visits", 1)
        opened.access.grant("union", "claims", 1)
        ask_about(opened, "claims", "union")
        assert ask_about(opened, "visits", "acme").receipt is None
    with closing(OpenDatasets(read_registration(write_two(tmp_path / "open", shared="0")))) as opened:
        opened.access.grant("acme", "visits", 1)
        assert ask_about(opened, "visits", "acme").receipt is not None


def test_under_a_promise_who_asked_first_changes_nothing(tmp_path):
    with closing(OpenDatasets(read_registration(write_hidden(tmp_path, version="1", shared=0.25)))) as opened:
        for who in ("acme", "union"):
            opened.access.grant(who, "claims", Fraction(3, 5))
        with pytest.raises(InvalidParameter, match="at most 2/5"):
            ask_about(opened, "claims", "union")
        assert ask_about(opened, "claims", "acme").cost


@pytest.mark.parametrize("asks", [True, False])
def test_under_a_promise_no_question_takes_the_room_of_a_version(tmp_path, asks):
    with closing(OpenDatasets(read_registration(write_hidden(tmp_path, version="1", shared=0.25)))) as opened:
        for who in ("acme", "union"):
            opened.access.grant(who, "claims", Fraction(1, 2))
        if asks:
            ask_about(opened, "claims", "union")
    with pytest.warns(DataSetChanged, match="no room"):
        later = OpenDatasets(read_registration(write_hidden(tmp_path, version="2", shared=0.25)))
    with closing(later) as opened:
        assert ask_about(opened, "claims", "acme").cost and ask_about(opened, "claims", "union").cost


def test_groups_share_and_stay_as_they_were(tmp_path):
    group = 'groups.pool = {{ members = ["a", "b"], share = {} }}\nshared = 0\nquestion = [0.1, 0]'
    path = write_home(tmp_path, options=group.format(0.2), delta=0)
    opened = OpenDatasets(read_registration(path))
    doors = {name: opened.get("visits").curator.analyst(name, share=1) for name in "abc"}
    doors["a"].sql(MEAN.format("visits"), insist=True)
    doors["b"].sql(MEAN.format("visits") + " WHERE age > 5", insist=True)
    with pytest.raises(BudgetExceeded, match="pool"):
        doors["a"].sql(MEAN.format("visits") + " WHERE age > 6", insist=True)
    doors["c"].sql(MEAN.format("visits") + " WHERE age > 6", insist=True)
    opened.close()
    OpenDatasets(read_registration(path)).close()
    write_home(tmp_path, options=group.format(0.5), delta=0)
    with pytest.raises(InvalidParameter, match="set once"):
        OpenDatasets(read_registration(path))


def test_a_pace_is_kept(tmp_path):
    options = "pace = [0.1, 1000000000]\nshared = 0\nquestion = [0.1, 0]"
    opened = OpenDatasets(read_registration(write_home(tmp_path, options=options, delta=0)))
    door = opened.get("visits").curator.analyst("acme", share=1)
    door.sql(MEAN.format("visits"), insist=True)
    with pytest.raises(BudgetExceeded, match="seconds"):
        door.sql(MEAN.format("visits") + " WHERE age > 6", insist=True)
    opened.close()


def test_another_version_is_bought_anew_on_the_same_budget(tmp_path):
    options = 'version = "{}"\nshared = 0\nquestion = [0.1, 0]'
    path = write_home(tmp_path, options=options.format("first"), delta=0)
    opened = OpenDatasets(read_registration(path))
    opened.get("visits").curator.analyst("acme", share=1).sql(MEAN.format("visits"), insist=True)
    opened.close()
    write_home(tmp_path, options=options.format("second"), delta=0, rows=2500)
    opened = OpenDatasets(read_registration(path))
    door = opened.get("visits").curator.analyst("acme", share=1)
    assert door.sql(MEAN.format("visits"), insist=True).cost["epsilon"] == Fraction(1, 10)
    assert opened.get("visits").curator.ledger.spent()["epsilon"] == Fraction(1, 5)
    opened.close()


def test_a_file_that_changed_is_refused_with_the_command_that_adds_a_version(tmp_path, monkeypatch):
    path = write_home(tmp_path)
    OpenDatasets(read_registration(path)).close()
    data = tmp_path / "visits.csv"
    os.utime(data, ns=(1, 1))  # touched, and the same still
    OpenDatasets(read_registration(path)).close()
    rows = data.read_bytes()
    for other in (rows + b"north,5\n", rows.replace(b"north,0", b"north,9", 1)):  # of another size, and not
        data.write_bytes(other)
        with pytest.raises(InvalidParameter, match=r"discreet.toml, \[datasets.visits\].*--version NAME"):
            OpenDatasets(read_registration(path))
    monkeypatch.chdir(tmp_path)
    add = ("register", "visits.csv", "--schema", "visits.toml", "--version")
    said = CliRunner().invoke(commands, [*add, "2026-12"])
    assert said.exit_code == 0 and "epsilon 0.05 of what is for questions" in said.output
    assert CliRunner().invoke(commands, [*add, "2026-12"]).exit_code == 1, "it has that version"
    assert CliRunner().invoke(commands, [*add, "x", "--epsilon", "9", "--delta", "0"]).exit_code == 2
    with closing(OpenDatasets(read_registration(path))) as opened:
        curator = opened.get("visits").curator
        assert curator.universe.names and curator.ledger.spent()["epsilon"] == Fraction(1, 20)
    data.write_bytes(rows)
    with pytest.raises(InvalidParameter, match="version 2026-12 was first served from"):
        OpenDatasets(read_registration(path))
    path.write_text(path.read_text().replace('version = "2026-12"\n', ""))
    OpenDatasets(read_registration(path)).close()  # the first one again


def test_a_version_may_be_another_table_of_a_database(tmp_path, monkeypatch):
    write_home(tmp_path)
    with duckdb.connect(tmp_path / "visits.duckdb") as database:
        for name, rows in (("first", 20), ("second", 30)):
            database.execute(f"CREATE TABLE {name} AS SELECT 'north' AS ward, 5 AS age FROM range({rows})")
    (tmp_path / "discreet.toml").unlink()
    monkeypatch.chdir(tmp_path)
    put = ("register", "visits.duckdb", "--schema", "visits.toml", "--table")
    for given in (("first", "--epsilon", "1", "--delta", "0"), ("second", "--version", "2026-12")):
        said = CliRunner().invoke(commands, [*put, *given])
        assert said.exit_code == 0, said.output
    facts = read_registration(tmp_path / "discreet.toml").datasets["visits"]
    assert (facts.table, facts.version) == ("second", "2026-12")


def test_a_file_that_is_written_while_it_is_read_is_refused(tmp_path, monkeypatch):
    path = write_home(tmp_path)

    def read(facts):
        found = open_table(facts)
        facts.data.write_text(facts.data.read_text() + "north,5\n")
        return found

    with monkeypatch.context() as patch:
        patch.setattr("discreet.server.open_datasets.open_table", read)
        with pytest.raises(InvalidParameter, match="left alone while it is read"):
            OpenDatasets(read_registration(path))
    OpenDatasets(read_registration(path)).close()


def test_a_promise_cannot_be_taken_back(tmp_path):
    path = write_home(tmp_path, options='promise = "one analyst to many"')
    OpenDatasets(read_registration(path)).close()
    write_home(tmp_path)
    with pytest.raises(LedgerRefused, match="apart"):
        OpenDatasets(read_registration(path))


def test_whatever_fails_on_the_way_gives_everything_back(tmp_path):
    path = write_home(
        tmp_path, options="[datasets.none]\ndata = 'none.csv'\nschema = 'none.toml'\nepsilon = 1\ndelta = 0"
    )
    with pytest.raises(InvalidParameter, match="schema"):
        OpenDatasets(read_registration(path))
    write_home(tmp_path)
    OpenDatasets(read_registration(path)).close()  # the book is free again


def test_a_server_loads_what_its_first_answer_needs_and_nothing_else():
    """Each of these takes a tenth of the time in which a server is back after a crash, or more."""
    code = (
        "import sys, discreet.server.serving, discreet.server.open_datasets, discreet.server.app; "
        "heavy = {'scipy.optimize', 'scipy.special', 'jinja2', 'wsproto', 'pandas'} & set(sys.modules); "
        "heavy |= {'discreet.testing'} & set(sys.modules); "  # no noise that can be foretold is at hand
        "sys.exit(f'{heavy} were loaded' if heavy else 0)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
