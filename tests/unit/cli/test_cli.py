import json
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from click.testing import CliRunner

from discreet.catalogue import catalogue
from discreet.cli.main import commands


def run(*arguments):
    return CliRunner().invoke(commands, arguments)


def test_nothing_at_all_is_answered_by_the_help():
    for group in ((), ("analysts",), ("registry",)):
        said = run(*group).output
        assert said.startswith("Usage: ") and "Commands:" in said and "Error" not in said


def test_the_catalogue_lists_every_card():
    listed = json.loads(run("catalogue", "--json").output)
    assert [row["name"] for row in listed] == [card.name for card in catalogue()]
    assert all(row["theorem"] and row["reference"] for row in listed)
    assert "laplace" in run("catalogue").output


def test_an_audit_prints_claim_measurement_and_ratio():
    result = run("audit", "laplace", "--json", "--draws", "2000")
    assert result.exit_code == 0
    rows = json.loads(result.output)
    assert all(row["holds"] for row in rows)
    exact = [row["ratio"] for row in rows if row["method"] == "exact"]
    assert max(exact) >= 0.8
    assert 0 < min(exact) <= max(exact) <= 1
    assert {row["method"] for row in rows} == {"exact", "sampler"}
    assert "claimed against measured" in run("audit", "laplace", "--draws", "0").output


def test_an_audit_of_an_unknown_mechanism_names_the_known_ones():
    near = run("audit", "laplacian")
    assert near.exit_code == 2
    assert "Did you mean laplace?" in near.output
    assert "permute-and-flip" in run("audit", "xyzzy").output
    assert run("audit", "laplace", "--samples", "-5").exit_code == 2


def test_a_broken_guarantee_makes_the_audit_fail(monkeypatch):
    from discreet.audit.rows import AuditRow

    broken = AuditRow("M", "exact", "epsilon at delta 0", 1.0, 2.0, 2.0, False)
    monkeypatch.setattr("discreet.cli.audit.audit_card", lambda card, samples, draws: [broken])
    result = run("audit", "laplace")
    assert result.exit_code == 1
    assert "NO" in result.output


def test_the_demo_asks_and_writes_a_report(tmp_path, monkeypatch):
    monkeypatch.setattr("discreet.cli.demo.SWEEP", 50)
    monkeypatch.setattr("discreet.cli.demo.BATCHES", 1)
    result = run("demo", "--out", str(tmp_path / "report"))
    assert result.exit_code == 0, result.output
    assert "epsilon 1, delta 1e-09" in result.output
    assert "5,053 counting questions" in result.output
    words = " ".join(result.output.split())
    assert "The server is killed" in words and "the very same one, and nothing more is charged" in words
    left = re.findall(r"left (?:then|now): +(.*)", result.output)
    assert len(left) == 4 and len(set(left)) == 1, "nothing is spent twice"
    page = (tmp_path / "report" / "index.html").read_text()
    assert page.count("<svg") == 6
    assert "5,053 questions, one budget" in page
    assert "<script" not in page
    assert 'class="number"' in page


def test_init_writes_names_and_types_but_no_value(tmp_path):
    data = tmp_path / "visits.csv"
    data.write_text("age,ward\n31,canary-ward\n")
    out = tmp_path / "visits.toml"
    assert run("init", str(data), "--out", str(out)).exit_code == 0
    text = out.read_text()
    assert 'name = "visits"' in text
    assert "[columns.ward]" in text
    assert "canary" not in text
    again = run("init", str(data), "--out", str(out))
    assert again.exit_code == 1
    assert "exists already" in again.output
    assert "canary" not in run("init", str(data)).output


@pytest.fixture
def database(tmp_path):
    path = tmp_path / "wards.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("CREATE TABLE visits (age BIGINT, ward VARCHAR)")
        connection.execute("INSERT INTO visits SELECT 31, 'canary' FROM range(40)")
    return str(path)


def test_a_table_of_a_database_is_named_by_an_option(database, tmp_path):
    text = run("init", database, "--table", "visits").output
    assert 'name = "visits"' in text
    assert 'kind = "integer"' in text
    assert "canary" not in text
    schema = tmp_path / "visits.toml"
    schema.write_text(
        'name = "visits"\nneighbours = "add-remove"\n[columns.age]\nkind = "integer"\nlower = 0\nupper = 9\n'
    )
    budget = ("--schema", str(schema), "--epsilon", "1000", "--delta", "0", "--json")
    question = "SELECT COUNT(*) AS n FROM visits"
    reply = run("ask", database, question, "--table", "visits", *budget)
    assert json.loads(reply.output)["rows"] == [[40]]
    for command in (("init", database), ("ask", database, question, *budget)):
        missing = run(*command)
        assert missing.exit_code == 2
        assert "--table" in missing.output
    wrong = run("init", database, "--table", "nothing")
    assert wrong.exit_code == 1
    assert "canary" not in wrong.output


def test_a_table_is_named_only_in_a_database(visits):
    result = run("init", visits[0], "--table", "visits")
    assert result.exit_code == 2
    assert ".duckdb" in result.output


def test_a_csv_template_says_that_a_column_of_text_may_hold_numbers(visits, tmp_path):
    assert "numbers and dates of a CSV file" in run("init", visits[0]).output
    bare = tmp_path / "odd.csv"
    bare.write_text("age;ward,naïve\n1,2\n")
    output = run("init", str(bare)).output
    assert "letters a to z, digits and _" in output


def test_a_file_whose_name_cannot_name_a_table_needs_another(tmp_path):
    data = tmp_path / "2024-visits.csv"
    data.write_text("age\n1\n")
    result = run("init", str(data))
    assert result.exit_code == 1
    assert "--name" in result.output
    assert run("init", str(data), "--name", "visits").exit_code == 0


def test_a_template_that_cannot_be_written_says_so(visits, tmp_path):
    result = run("init", visits[0], "--out", str(tmp_path / "nowhere" / "visits.toml"))
    assert result.exit_code == 2
    assert "--out must be a file that can be written" in result.output


def test_a_misspelt_command_is_told_the_nearest():
    result = run("ini")
    assert result.exit_code == 2
    assert "Did you mean init?" in result.output


def test_init_refuses_a_file_it_cannot_read_without_quoting_it(tmp_path):
    data = tmp_path / "secret.xlsx"
    data.write_text("canary")
    result = run("init", str(data))
    assert result.exit_code == 1
    assert "canary" not in result.output


def test_help_lists_every_command_without_importing_any():
    code = "import sys; from discreet.cli.main import commands; assert 'discreet.audit' not in sys.modules"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
    listed = run("--help").output
    for name in ("ask", "audit", "catalogue", "demo", "init", "plan"):
        assert name in listed
        assert run(name, "--help").exit_code == 0
    assert run("nonsense").exit_code == 2


@pytest.fixture
def visits(tmp_path):
    data, schema = tmp_path / "visits.csv", tmp_path / "visits.toml"
    data.write_text("age,ward\n" + "31,north\n" * 40 + "70,south\n" * 60)
    schema.write_text(
        'name = "visits"\nneighbours = "add-remove"\n'
        '[columns.age]\nkind = "integer"\nlower = 0\nupper = 120\n'
        '[columns.ward]\nkind = "category"\nvalues = ["north", "south"]\n'
    )
    return str(data), str(schema)


BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"


def test_ask_answers_with_error_bars_and_plan_prices_without_data(visits):
    data, schema = visits
    budget = ("--schema", schema, "--epsilon", "1000", "--delta", "0")
    reply = json.loads(run("ask", data, BY_WARD, *budget, "--json").output)
    assert reply["rows"] == [["north", 40], ["south", 60]]
    assert len(reply["intervals_95"]["n"]) == 2
    assert "adding or removing one row" in reply["guarantee"]
    assert reply["contribution_bounds"] == ["one row is protected"]
    assert "north" in run("ask", data, BY_WARD, *budget).output
    priced = run("plan", BY_WARD, "--schema", schema, "--epsilon", "0.5", "--delta", "0", "--json")
    assert priced.exit_code == 0, priced.output
    assert "0.5" in priced.output
    for command in (("ask", data), ("plan",)):
        refused = run(*command, BY_WARD, "--schema", schema, "--epsilon", "1e400", "--delta", "1e-9")
        assert refused.exit_code == 1
        assert "epsilon must be finite and >= 0.000001, and at most 1e308" in refused.output


def test_ask_says_nothing_beside_its_answer(visits):
    data, schema = visits
    command = [sys.executable, "-m", "discreet", "ask", data, BY_WARD, "--schema", schema]
    done = subprocess.run(
        [*command, "--epsilon", "1", "--delta", "0"], check=True, capture_output=True, text=True
    )
    assert done.stdout.startswith("ward")
    assert done.stderr == ""


@pytest.mark.parametrize("epsilon", ["nan", "inf", "-1", "0", "1/0", "x"])
def test_ask_refuses_bad_budgets(visits, epsilon):
    data, schema = visits
    result = run("ask", data, BY_WARD, "--schema", schema, "--epsilon", epsilon, "--delta", "0")
    assert result.exit_code == 1
    assert "epsilon must be" in result.output


def test_ask_refuses_what_would_say_nothing_unless_told_to_insist(visits):
    data, schema = visits
    path = Path(schema)
    path.write_text("rows = 100\n" + path.read_text())
    given = ("ask", data, BY_WARD, "--schema", schema, "--epsilon", "0.01", "--delta", "0")
    refused = run(*given)
    assert refused.exit_code == 1
    assert "would make it useful; or give --insist" in refused.output
    assert run(*given, "--insist").exit_code == 0


def test_ask_joins_public_tables_whose_files_are_named(visits, tmp_path):
    data, schema = visits
    ward = 'kind = "category"\nvalues = ["north", "south"]\n'
    house = 'kind = "category"\nvalues = ["main", "annex"]\n'
    told = f'[dimensions.wards]\nkey = "ward"\n[dimensions.wards.columns.ward]\n{ward}'
    with Path(schema).open("a") as file:
        file.write(f"{told}[dimensions.wards.columns.house]\n{house}")
    (tmp_path / "wards.csv").write_text("ward,house\nnorth,main\nsouth,annex\n")
    by_house = "SELECT house, COUNT(*) AS n FROM visits JOIN wards USING (ward) GROUP BY house"
    given = ("ask", data, by_house, "--schema", schema, "--epsilon", "1000", "--delta", "0", "--json")
    reply = run(*given, "--public", f"wards={tmp_path / 'wards.csv'}")
    assert json.loads(reply.output)["rows"] == [["main", 40], ["annex", 60]]
    assert "Give --public wards=wards.csv, say" in run(*given).output
    for wrong in ("wards", "=wards.csv", "wards="):
        assert "--public takes NAME=FILE" in run(*given, "--public", wrong).output
    missing = run(*given, "--public", "wards=nowhere.csv").output
    assert "--public must name a file that exists, got wards='nowhere.csv'" in missing


def test_ask_refuses_what_is_outside_the_language(visits):
    data, schema = visits
    result = run("ask", data, "SELECT * FROM visits", "--schema", schema, "--epsilon", "1", "--delta", "0")
    assert result.exit_code == 1
    assert "31" not in result.output


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://user:canary@127.0.0.1/x",
        "host=127.0.0.1 password=canary",
        " POSTGRES://user:canary@h/x",
        "mysql://user:canary@h/x",
    ],
)
def test_a_connection_string_in_place_of_a_file_is_not_repeated(dsn, visits):
    for command in (
        ("init", dsn),
        ("init", dsn, "--table", "t"),
        ("ask", dsn, BY_WARD, "--schema", visits[1], "--epsilon", "1", "--delta", "0"),
    ):
        result = run(*command)
        assert result.exit_code == 2
        assert "opened from Python" in result.output
        assert "canary" not in result.output
    assert "nowhere.csv" in run("init", "nowhere.csv").output, "a plain path is"


@pytest.mark.parametrize("package", ["sqlglot", "duckdb"])
@pytest.mark.parametrize("command", ["demo", "ask"])
def test_a_command_without_its_extra_says_how_to_get_it(command, package, visits, tmp_path):
    data, schema = visits
    budget = ["--schema", schema, "--epsilon", "1", "--delta", "0"]
    arguments = {"demo": ["--out", str(tmp_path / "report")], "ask": [data, BY_WARD, *budget]}[command]
    code = (
        f"import sys; sys.modules[{package!r}] = None; sys.argv = {['discreet', command, *arguments]!r}; "
        "from discreet.cli import main; main()"
    )
    ended = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert ended.returncode == 1
    wanted = f"Error: {package} is not installed. Install it with: pip install 'discreet[data]'"
    assert ended.stderr.strip().endswith(wanted)
    assert "Traceback" not in ended.stderr


PASSWORDS = [
    ("init", "host=h", "password=hunter2"),
    ("init", "{data}", "password=hunter2"),
    ("init", "{data}", "password", "=", "hunter2"),
    ("init", "{data}", "--name", "postgresql://u:hunter2@h/db"),
    ("init", "{data}", "--name=password=hunter2"),
    ("init", "{data}", "--table", "postgresql://u:hunter2@h/db"),
    ("init", "{data}", "--out", "postgresql://u:hunter2@h/db"),
    ("init", "{data}", "--password=hunter2"),
    ("init", "{data}", "--password", "hunter2"),
    ("init", "postgresql://u:hunter2@h/db", "visits"),
    ("ask", "{data}", "host=h", "password=hunter2", *("--epsilon", "1", "--delta", "0")),
    (
        "ask",
        "{data}",
        "SELECT 1",
        "--schema",
        "postgresql://u:hunter2@h/db",
        "--epsilon",
        "1",
        "--delta",
        "0",
    ),
    ("ask", "{data}", "SELECT 1", "--schema", "{schema}", "--epsilon", "password=hunter2", "--delta", "0"),
    ("ask", "{data}", "password=hunter2", "--schema", "{schema}", "--epsilon", "1", "--delta", "0"),
    ("plan", "host=h", "password=hunter2", *("--schema", "{schema}", "--epsilon", "1", "--delta", "0")),
    ("plan", "--schema=password=hunter2", "SELECT 1"),
    ("audit", "password=hunter2"),
    ("audit", "--samples", "password=hunter2"),
    ("catalogue", "password=hunter2"),
    ("demo", "--out", "{data}/postgresql://u:hunter2@h"),
    ("postgresql://u:hunter2@h/db",),
    ("password=hunter2", "init"),
    ("--password=hunter2", "init"),
]


@pytest.mark.parametrize("given", PASSWORDS, ids=lambda given: " ".join(given)[:60])
def test_no_spelling_of_a_password_is_repeated(given, visits):
    data, schema = visits
    result = run(*(one.format(data=data, schema=schema) for one in given))
    assert result.exit_code
    assert "hunter2" not in result.output
    assert "Error" in result.output, "the rest is said"


def test_a_file_named_like_a_password_is_written_and_not_repeated(visits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for status in (0, 1):
        result = run("init", visits[0], "--out", "password=hunter2")
        assert result.exit_code == status
        assert "hunter2" not in result.output


def test_a_file_of_another_kind_is_told_the_kinds_in_the_command_lines_own_words(visits):
    schema = visits[1]
    result = run(
        "ask", schema, "SELECT COUNT(*) FROM visits", "--schema", schema, "--epsilon", "1", "--delta", "0"
    )
    assert result.exit_code and ".duckdb file with --table" in result.output
    assert "('file.duckdb'" not in result.output


def test_an_audit_says_how_far_it_is():
    result = run("audit", "laplace", "geometric", "--draws", "0")
    assert "auditing laplace (1 of 2)" in result.stderr
    assert "auditing" not in result.stdout
    assert "auditing" not in run("audit", "laplace", "geometric", "--draws", "0", "--json").output


def test_an_audit_of_everything_says_how_long_it_takes_before_it_begins(monkeypatch):
    begun = []
    monkeypatch.setattr("discreet.cli.audit.audit_card", lambda card, **_: begun.append(card.name) or [])
    for quiet in ((), ("--json",)):
        said = run("audit", *quiet).stderr
        assert said.startswith(f"Auditing all {len(set(begun))} mechanisms: about ten minutes")
    assert "[]" == run("audit", "--json").stdout.strip()
    assert "ten minutes" not in run("audit", "laplace").stderr
