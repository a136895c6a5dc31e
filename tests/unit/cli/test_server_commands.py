"""The commands of a server's owner: what they check, what they write, and what they never show."""

import json
import os
import shutil
import signal
import socket
import stat
import subprocess
import threading
from fractions import Fraction

import pytest
from click.testing import CliRunner
from tests.discreet_server import BY_WARD, Served, add_analyst, make_folder, write_table
from tests.servers import absent

from discreet.cli.main import commands
from discreet.client import connect
from discreet.core.errors import InvalidParameter, ServerUnreachable
from discreet.server.access import Access
from discreet.server.open_datasets import OpenDatasets
from discreet.server.registered.registration import read_registration

BUDGET = ("--epsilon", "1", "--delta", "1e-9")


def run(*arguments, env=None):
    return CliRunner().invoke(commands, [str(one) for one in arguments], env=env)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    write_table(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def registered(folder):
    assert run("register", "visits.csv", "--schema", "visits.toml", *BUDGET).exit_code == 0
    return folder


def test_a_table_is_registered_with_all_that_was_said(folder):
    said = run(
        *("register", "visits.csv", "--schema", "visits.toml", *BUDGET, "--purpose", 'why "so"', "--json"),
        *("--expects", "20", "--promise", "one analyst to many", "--name", "visits"),
    )
    told = json.loads(said.output)
    assert told == {"name": "visits", "config": "discreet.toml", "keys": {}} | {
        "hidden": "adding or removing one row",
        "shared": "1/2",
        "columns": ["ward", "age", "cents"],
        "rest": "1/2",
        "question": "1/40",
    }
    facts = read_registration(folder / "discreet.toml").datasets["visits"]
    assert (facts.epsilon, float(facts.delta), facts.expects, facts.purpose) == (1, 1e-9, 20, 'why "so"')
    assert facts.data == folder / "visits.csv" and str(facts.promise)
    assert not (folder / "budget.db").exists(), "nothing is measured before a server runs"


def test_examples_of_questions_are_expected_by_several_options(folder):
    given = ("register", "visits.csv", "--schema", "visits.toml", *BUDGET)
    assert run(*given, "--expects", "SELECT * FROM visits").exit_code == 1
    assert run(*given, "--expects", BY_WARD, "--expects", "SELECT AVG(cents) FROM visits").exit_code == 0
    facts = read_registration(folder / "discreet.toml").datasets["visits"]
    assert facts.expects == (BY_WARD, "SELECT AVG(cents) FROM visits")


def test_how_the_budget_is_divided_is_said_when_it_is(folder):
    given = ("register", "visits.csv", "--schema", "visits.toml", *BUDGET)
    said = run(*given).output
    assert "epsilon 0.8 buys the shared hypothesis: counts over ward, age, cents" in said
    assert "epsilon 0.2 is for questions with a price, at most 0.02 each: 10 or more" in said
    assert "--expects 100" in said and "Nobody may ask yet" in said
    (folder / "discreet.toml").unlink()
    said = run(*given, "--expects", "SELECT AVG(cents) FROM visits", "--analyst", "acme").output
    assert "No shared hypothesis" in said and "at most 1 each: 1 or more" in said
    assert "--expects" not in said and "acme may use all" in said and "Her key is in acme.key" in said


def test_whom_the_budget_protects_is_said_where_it_is_set(folder):
    """A column that says whose a row is protects nobody by itself: no unit, and a patient is a single row."""
    whole = (folder / "visits.toml").read_text()
    (folder / "visits.toml").write_text(whole + '[columns.who]\nkind = "identifier"\n')
    rows = (folder / "visits.csv").read_text().splitlines()
    wider = [f"{row},{'who' if not place else place // 2}" for place, row in enumerate(rows)]
    (folder / "visits.csv").write_text("\n".join(wider) + "\n")
    given = ("register", "visits.csv", "--schema", "visits.toml", *BUDGET)
    said = run(*given).output
    assert "What it hides: adding or removing one row." in said
    assert "who says whose a row is, and single rows are protected" in said and 'column = "who"' in said
    (folder / "discreet.toml").unlink()
    unit = '[unit]\ncolumn = "who"\nmax_rows = 2\nmax_groups = 1\n'
    (folder / "visits.toml").write_text((folder / "visits.toml").read_text() + unit)
    said = run(*given).output
    assert "adding or removing one who, of whom 2 rows count" in said and "single rows" not in said


def test_several_analysts_are_let_in_at_once(folder):
    """The last one alone had a key."""
    given = (
        "register",
        "visits.csv",
        "--schema",
        "visits.toml",
        *BUDGET,
        "--analyst",
        "acme",
        "--analyst",
        "blue",
    )
    said = run(*given, "--promise", "one analyst to many").output
    assert "acme may use 1/2" in said and "blue may use 1/2" in said
    assert all((folder / f"{name}.key").read_text().startswith("dk_") for name in ("acme", "blue"))


def test_a_key_that_opens_nothing_says_so(registered):
    assert "`discreet analysts grant eve --dataset" in run("analysts", "add", "eve").output
    assert "opens no data set" not in run("analysts", "add", "ann", "--role", "auditor").output
    assert (
        "opens no data set"
        not in run("analysts", "add", "bob", "--dataset", "visits", "--share", "1/2").output
    )
    said = run("analysts", "add", "cid", "--dataset", "visits", "--share", "50%").output
    assert "share must be a number, got share='50%'. Write it as 0.5 or 1/2" in said


def test_what_is_registered_stays_as_it_is(registered):
    before = (registered / "discreet.toml").read_bytes()
    said = run("register", "visits.csv", "--schema", "visits.toml", "--epsilon", "9", "--delta", "0")
    assert said.exit_code == 1 and "registered once" in said.output
    assert (registered / "discreet.toml").read_bytes() == before
    (registered / "taxes.toml").write_text(
        (registered / "visits.toml").read_text().replace("visits", "taxes")
    )
    assert run("register", "visits.csv", "--schema", "taxes.toml", *BUDGET).exit_code == 0
    after = (registered / "discreet.toml").read_bytes()
    assert after.startswith(before)
    assert list(read_registration(registered / "discreet.toml").datasets) == ["visits", "taxes"]
    assert sorted(os.listdir(registered)) == ["discreet.toml", "taxes.toml", "visits.csv", "visits.toml"]


def test_a_version_says_how_much_less_its_hypothesis_costs(registered):
    said = run("register", "visits.csv", "--schema", "visits.toml", "--version", "2026-12").output
    assert "is version 2026-12 from now on" in said
    assert "That is 0.062 of what the first one cost: its counts are so much further off" in said


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"--epsilon": "nan"}, "epsilon must be"),
        ({"--epsilon": "0"}, "epsilon must be"),
        ({"--epsilon": "1/3"}, "epsilon must be a decimal number"),
        ({"--delta": "0.5"}, "Write large_delta = true into the registration file"),
        ({"--delta": "-1"}, "delta must be"),
        ({"--name": "other"}, "as its schema says"),
        ({"--expects": "0"}, "expects must be"),
        ({"--expects": "many"}, 'expects must be a number of questions, "counts", or'),
        ({"--schema": "half.toml"}, "columns.age"),
        ({"--schema": "more.toml"}, "more"),
        ({"--schema": "wards.toml"}, "exactly the public tables that the schema declares (wards), got none"),
        ({"--config": "sub/discreet.toml"}, "leads out of it. Move it there"),
        ({"--config": "nowhere/discreet.toml"}, "a folder that exists"),
    ],
    ids=str,
)
def test_what_is_wrong_is_refused_and_nothing_is_written(folder, change, words):
    (folder / "sub").mkdir()
    whole = (folder / "visits.toml").read_text()
    (folder / "half.toml").write_text(whole.replace("upper = 9\n", ""))
    (folder / "more.toml").write_text(whole + '[columns.more]\nkind = "boolean"\n')
    public = '[dimensions.wards]\nkey = "ward"\n[dimensions.wards.columns.ward]\n'
    public += 'kind = "category"\nvalues = ["x"]\n'
    (folder / "wards.toml").write_text(whole + public)
    given = {"--schema": "visits.toml", "--epsilon": "1", "--delta": "0"} | change
    said = run("register", "visits.csv", *[part for pair in given.items() for part in pair])
    assert said.exit_code == 1 and words in said.output and "Traceback" not in said.output
    assert "north" not in said.output
    assert not list(folder.rglob("*discreet.toml*"))


def test_a_file_that_is_no_registration_is_left_alone(folder):
    (folder / "discreet.toml").write_text("this is not TOML")
    assert run("register", "visits.csv", "--schema", "visits.toml", *BUDGET).exit_code == 1
    assert (folder / "discreet.toml").read_text() == "this is not TOML"


def test_the_first_analyst_is_let_in_while_registering(folder):
    given = ("register", "visits.csv", "--schema", "visits.toml", *BUDGET, "--analyst")
    assert run(*given, "../acme").exit_code == 1
    (folder / "taken.key").write_text("kept")
    assert run(*given, "taken").exit_code == 1 and (folder / "taken.key").read_text() == "kept"
    assert not (folder / "discreet.toml").exists()
    said = run(*given, "acme")
    assert said.exit_code == 0, said.output
    key = (folder / "acme.key").read_text().strip()
    assert key not in said.output
    assert stat.S_IMODE((folder / "acme.key").stat().st_mode) == 0o600
    access = Access(folder / "access.db")
    assert access.find(key).name == "acme" and access.find_share("acme", "visits") == 1
    access.close()


def test_a_key_is_printed_once_and_listed_never(registered):
    said = run("analysts", "add", "acme", "--dataset", "visits", "--share", "1/3", "--days", "7")
    key = said.stdout.strip()
    assert said.exit_code == 0 and key.startswith("dk_") and "\n" not in key
    assert "shown only now" in said.stderr
    listed = run("analysts", "list")
    assert "acme (analyst)" in listed.output and "1/3 of visits" in listed.output and key not in listed.output
    (row,) = json.loads(run("analysts", "list", "--json", "--dataset", "visits").output)
    assert row["shares"] == {"visits": "1/3"} and row["expires"] - row["created"] == 7 * 86_400
    assert key.split("_")[2] not in json.dumps(row)
    assert run("analysts", "revoke", "acme").output == "1 key revoked.\n"
    assert run("analysts", "revoke", "acme").exit_code == 1
    assert "revoked" in run("analysts", "list").output


def test_a_key_can_go_to_a_new_file_that_nobody_else_reads(registered):
    given = ("analysts", "add", "acme", "--dataset", "visits", "--share", "0.5", "--out", "acme.key")
    said = run(*given)
    key = (registered / "acme.key").read_text().strip()
    assert said.exit_code == 0 and key not in said.output
    assert stat.S_IMODE((registered / "acme.key").stat().st_mode) == 0o600
    before = len(json.loads(run("analysts", "list", "--json").output))
    assert run(*given).exit_code == 1
    assert len(json.loads(run("analysts", "list", "--json").output)) == before, "no key is made for nothing"


def test_shares_are_set_once_and_fit_in_the_budget_under_a_promise(folder):
    run("register", "visits.csv", "--schema", "visits.toml", *BUDGET, "--promise", "one analyst to many")
    assert run("analysts", "add", "acme", "--dataset", "visits", "--share", "0.75").exit_code == 0
    too_much = run("analysts", "add", "blue", "--dataset", "visits", "--share", "0.5")
    assert too_much.exit_code == 1 and "at most 1/4" in too_much.output
    assert run("analysts", "add", "blue", "--dataset", "visits", "--share", "1/4").exit_code == 0
    again = run("analysts", "grant", "acme", "--dataset", "visits", "--share", "0.5")
    assert again.exit_code == 1 and "set once" in again.output
    assert run("analysts", "grant", "acme", "--dataset", "visits", "--share", "0.75").exit_code == 0


@pytest.mark.parametrize(
    "given",
    [
        ("add", "acme", "--dataset", "visits"),
        ("add", "acme", "--share", "1"),
        ("add", "acme", "--dataset", "taxes", "--share", "1"),
        ("add", "acme", "--dataset", "visits", "--share", "2"),
        ("add", "acme", "--dataset", "visits", "--share", "x"),
        ("add", "a b"),
        ("grant", "nobody", "--dataset", "visits", "--share", "1"),
        ("list", "--dataset", "taxes"),
    ],
    ids=" ".join,
)
def test_what_is_wrong_about_analysts_is_refused(registered, given):
    said = run("analysts", *given)
    assert said.exit_code and "Error" in said.output and "Traceback" not in said.output
    assert json.loads(run("analysts", "list", "--json").output) == []


def test_roles_other_than_analysts_need_no_share(registered):
    assert run("analysts", "add", "office", "--role", "auditor").exit_code == 0
    assert "office (auditor)" in run("analysts", "list").output
    other = run("analysts", "add", "office")
    assert other.exit_code == 1 and "role" in other.output


def test_studies_are_registered_once_with_a_purpose(registered):
    given = ("studies", "add", "flu", "--dataset", "visits", "--share", "0.2")
    assert run(*given).exit_code == 2
    assert run(*given, "--purpose", "how the flu spread").exit_code == 0
    assert run(*given, "--purpose", "another").exit_code == 1
    assert run("studies", "list").output == "flu of visits, 1/5 of the budget: how the flu spread\n"
    (row,) = json.loads(run("studies", "list", "--json", "--dataset", "visits").output)
    assert row == {"dataset": "visits", "name": "flu", "share": "1/5", "purpose": "how the flu spread"}
    assert run("studies", "list", "--dataset", "taxes").exit_code == 1


def test_without_a_registration_every_command_says_what_makes_one(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for given in (("analysts", "list"), ("studies", "list"), ("serve", "--port", "0")):
        said = run(*given)
        assert said.exit_code == 1 and "discreet register" in said.output
    assert not os.listdir(tmp_path)


def test_a_public_address_needs_tls_or_a_proxy(registered):
    said = run("serve", "--host", "0.0.0.0", "--port", "0")
    assert said.exit_code == 1 and "--behind-proxy" in said.output
    assert run("serve", "--certificate", "visits.toml").exit_code == 2
    assert not (registered / "budget.db").exists()


def test_an_address_that_is_taken_is_refused_before_a_table_is_measured(registered):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        said = run("serve", "--port", port)
    assert said.exit_code == 1 and f"port must be free at 127.0.0.1, got port={port}" in said.output
    said = run("serve", "--host", "192.0.2.7", "--port", "0", "--behind-proxy")
    assert said.exit_code == 1 and "host must be an address of this machine" in said.output
    assert not (registered / "budget.db").exists()


def test_the_shell_speaks_of_options(registered):
    url, key = "http://192.0.2.7", {"DISCREET_KEY": "dk_0"}
    said = run("ask", "--server", url, "SELECT COUNT(*) FROM visits", env=key)
    assert said.exit_code == 1 and "--send-key-in-clear" in said.output


def test_a_name_that_is_not_the_schemas_is_not_served(registered):
    path = registered / "discreet.toml"
    path.write_text(path.read_text().replace('[datasets."visits"]', "[datasets.other]"))
    with pytest.raises(InvalidParameter, match="as its schema says"):
        OpenDatasets(read_registration(path)).close()


def test_two_owners_register_at_the_same_time(folder):
    names = [f"table{place}" for place in range(4)]
    for name in names:
        text = (folder / "visits.toml").read_text().replace("visits", name)
        (folder / f"{name}.toml").write_text(text)
    from discreet.server.registered.registering import register

    def add(name):
        facts = {"data": "visits.csv", "schema": f"{name}.toml", "epsilon": 1, "delta": 0}
        register(folder / "discreet.toml", name, facts)

    threads = [threading.Thread(target=add, args=(name,)) for name in names]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert sorted(read_registration(folder / "discreet.toml").datasets) == names


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    folder = tmp_path_factory.mktemp("served")
    make_folder(folder)
    (folder / "acme.key").write_text(add_analyst(folder, "acme") + "\n")
    (folder / "poor.key").write_text(add_analyst(folder, "poor", share=Fraction(1, 1000)) + "\n")
    served = Served(folder)
    served.folder = folder
    yield served
    served.stop(signal.SIGKILL)


def test_questions_are_asked_and_priced_from_the_shell(served):
    there = ("--server", served.url, "--key-file", served.folder / "acme.key")
    said = run("ask", *there, BY_WARD)
    assert said.exit_code == 0 and "north" in said.output
    reply = json.loads(run("ask", *there, "--json", "--dataset", "visits", BY_WARD).output)
    assert [ward for ward, _ in reply["rows"]] == ["north", "south", "west"]
    assert "costs nothing" in run("plan", *there, BY_WARD).output
    assert (
        "epsilon" in json.loads(run("plan", *there, "--json", "SELECT AVG(cents) FROM visits").output)["cost"]
    )
    poor = ("--server", served.url, "--key-file", served.folder / "poor.key")
    mean = "SELECT AVG(cents) FROM visits WHERE age > 2"
    said = run("plan", *poor, mean)
    assert said.exit_code == 0 and "refused  the share of poor: asked" in said.output
    assert "the share of poor" in json.loads(run("plan", *poor, "--json", mean).output)["refusal"]
    refused = run("ask", *there, "SELECT * FROM visits")
    assert refused.exit_code == 1 and "single rows are never shown" in refused.output
    key = (served.folder / "acme.key").read_text().strip()
    assert run("ask", f"--server={served.url}", BY_WARD, env={"DISCREET_KEY": key}).exit_code == 0
    nowhere = run("ask", "--server", served.url, BY_WARD)
    assert nowhere.exit_code == 1 and "DISCREET_KEY" in nowhere.output
    wrong = run("ask", "--server", served.url, "--key-file", served.folder / "visits.toml", BY_WARD)
    assert wrong.exit_code == 1 and "category" not in wrong.output


def test_analysts_come_and_go_while_the_server_runs(served):
    config = ("--config", served.folder / "discreet.toml")
    out = served.folder / "late.key"
    assert (
        run(
            "analysts", "add", "late", "--dataset", "visits", "--share", "0.1", "--out", out, *config
        ).exit_code
        == 0
    )
    asked = ("ask", "--server", served.url, "--key-file", out, BY_WARD)
    assert run(*asked).exit_code == 0
    assert run("analysts", "revoke", "late", *config).exit_code == 0
    told = run(*asked).output
    assert "Send a key that is valid" in told and "revoked or past its last day" in told
    again = run("analysts", "add", "late", "--dataset", "visits", "--share", "0.1", "--out", out, *config)
    assert again.exit_code == 1 and "got late.key, which exists already" in again.output


def test_a_second_server_of_one_book_is_refused_and_the_first_stops_in_order(served):
    with pytest.raises(
        AssertionError, match=rf"budget.db is open in another process \({served.process.pid}\)\."
    ):
        Served(served.folder)
    status, said = served.stop(signal.SIGTERM)
    assert status == 0 and "Traceback" not in said and "north" not in said
    assert "leaked" not in said, "what an engine says of itself at the end is alarming, and nobody's affair"
    verified = run("ledger", "verify", served.folder / "budget.db")
    assert verified.exit_code == 0 and "sound" in verified.output


def test_a_server_with_tls_is_believed_by_whoever_knows_its_certificate(tmp_path):
    if shutil.which("openssl") is None:
        absent("openssl")
    make_folder(tmp_path)
    key = add_analyst(tmp_path, "acme")
    command = (
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=here"
    )
    files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "own.pem", "-out", "seen.pem"]
    subprocess.run([*command.split(), *files], cwd=tmp_path, check=True, capture_output=True)
    served = Served(tmp_path, "--certificate", "seen.pem", "--private-key", "own.pem")
    try:
        assert served.url.startswith("https://127.0.0.1:")
        with connect(served.url, key, authorities=tmp_path / "seen.pem") as door:
            assert door.datasets == ("visits",)
        with pytest.raises(ServerUnreachable, match="its certificate is not believed"):
            connect(served.url, key)
        with pytest.raises(ServerUnreachable):
            connect(served.url.replace("https", "http"), key, patience=0)
    finally:
        status, said = served.stop(signal.SIGINT)
    assert status == 0 and "Traceback" not in said and key not in said
