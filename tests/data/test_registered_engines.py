"""One registration file, tables on other engines: registered, served and asked over HTTP."""

from __future__ import annotations

import duckdb
import psycopg
import pytest
from click.testing import CliRunner
from tests.unit.server.conftest import WARDS, serving

from discreet.cli.main import commands
from discreet.client import connect
from discreet.core.errors import EngineFailed, OpenFailed
from discreet.server.open_datasets import open_table
from discreet.server.registration import read_registration

ROWS = 3000
SCHEMA = """
name = "{}"
neighbours = "add-remove"
[columns.ward]
kind = "category"
values = ["north", "south", "west"]
[columns.age]
kind = "integer"
lower = 0
upper = 99
"""
SPARK = """
[datasets.visits]
engine = "spark"
data = "visits.parquet"
schema = "visits.toml"
epsilon = 4
delta = 1e-6
shared = 0  # a hypothesis takes Spark half a minute
question = [1, 0]
"""
BY_WARD = "SELECT ward, COUNT(*) AS n FROM {} GROUP BY ward"
MEAN = "SELECT AVG(age) AS m FROM {}"


def register(folder, name, *options):
    """Register a table as its owner does, from the shell."""
    (folder / f"{name}.toml").write_text(SCHEMA.format(name))
    budget = ("--schema", f"{name}.toml", "--epsilon", "4", "--delta", "1e-6", "--expects", "4")
    said = CliRunner().invoke(commands, ["register", *options, *budget])
    assert said.exit_code == 0, said.output


def ask(server, name, *, least=0):
    """Ask for counts, and for a mean that is priced, as an analyst does."""
    access = server.datasets.access
    access.grant("acme", name, 1)
    with connect(f"http://127.0.0.1:{server.port}", access.make_key("acme"), dataset=name) as acme:
        counted = acme.sql(BY_WARD.format(name))
        assert [row[0] for row in counted.rows] == list(WARDS)
        assert all(abs(n - ROWS / 3) < 100 for _, n in counted.rows)
        mean = acme.sql(f"{MEAN.format(name)} WHERE age >= {least}")
        assert mean.kind == "priced" and abs(mean.rows[0][0] - (99 + least) / 2) < 10


@pytest.fixture
def folder(tmp_path, monkeypatch, postgres_dsn):
    """A folder with a Parquet file, and a table of a PostgreSQL server that holds the same rows."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CLAIMS_DSN", postgres_dsn)
    wards = f"{list(WARDS)!r}[1 + k % 3]"
    duckdb.sql(
        f"COPY (SELECT {wards} AS ward, CAST(k % 100 AS INT) AS age FROM range({ROWS}) AS r(k)) "
        f"TO '{tmp_path}/visits.parquet'"
    )
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(
            f"CREATE TABLE claims AS SELECT (ARRAY{list(WARDS)!r})[1 + k % 3] AS ward, k % 100 AS age "
            f"FROM generate_series(0, {ROWS - 1}) AS k"
        )
        yield tmp_path
        owner.execute("DROP TABLE claims")


def test_postgres_and_spark_answer_behind_one_registration(folder, spark_session, monkeypatch):
    register(folder, "claims", "--engine", "postgres", "--dsn-env", "CLAIMS_DSN", "--table", "public.claims")
    (folder / "visits.toml").write_text(SCHEMA.format("visits"))
    said = (folder / "discreet.toml").read_text().replace("tick = 0.5", "tick = 0")
    (folder / "discreet.toml").write_text(said + SPARK)
    with serving(folder / "discreet.toml") as server:
        assert [one.table._engine.dialect for one in server.datasets] == ["postgres", "spark"]
        ask(server, "claims")
        ask(server, "visits")
        source = server.datasets.get("claims").table._source
        with monkeypatch.context() as patch, pytest.raises(EngineFailed):
            patch.setattr(source, "_limit", 0.05)
            patch.setattr(source, "_sql", lambda _: "SELECT pg_sleep(60)")  # a question that takes too long
            ask(server, "claims", least=5)
        ask(server, "claims", least=6)
    assert "tester" not in (folder / "discreet.toml").read_text(), "the connection string is nowhere"


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (("--engine", "postgres", "--dsn-env", "NOT_SET", "--table", "claims"), "in the variable NOT_SET"),
        (("--engine", "postgres", "--table", "claims"), "--dsn-env"),
        (("--engine", "spark"), "DATA"),
        (("claims.toml", "--engine", "spark"), ".parquet"),
    ],
)
def test_what_is_missing_for_an_engine_is_said(tmp_path, monkeypatch, given, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "claims.toml").write_text(SCHEMA.format("claims"))
    budget = ("--schema", "claims.toml", "--epsilon", "1", "--delta", "0")
    said = CliRunner().invoke(commands, ["register", *given, *budget])
    assert said.exit_code and words in said.output
    assert not (tmp_path / "discreet.toml").exists()


def test_a_spark_file_that_is_not_there_is_refused_by_name(tmp_path, spark_session):
    (tmp_path / "visits.toml").write_text(SCHEMA.format("visits"))
    path = tmp_path / "discreet.toml"
    path.write_text(
        '[datasets.visits]\nengine = "spark"\ndata = "gone.parquet"\nschema = "visits.toml"\n'
        "epsilon = 1\ndelta = 0\n"
    )
    with pytest.raises(OpenFailed, match="not found"):
        open_table(read_registration(path).datasets["visits"])
