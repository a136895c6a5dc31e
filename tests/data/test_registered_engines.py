"""One registration file, tables on other engines: registered, served and asked over HTTP."""

from __future__ import annotations

import duckdb
import psycopg
import pytest
from click.testing import CliRunner
from tests.unit.server.conftest import WARDS, serving

from discreet.cli.main import commands
from discreet.client import connect
from discreet.core.errors import EngineFailed, InvalidParameter, OpenFailed
from discreet.server.open_datasets import OpenDatasets, open_table
from discreet.server.registered.registration import read_registration

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


PUBLIC = """
[dimensions.regions]
key = "ward"
[dimensions.regions.columns.ward]
kind = "category"
values = ["north", "south", "west"]
[dimensions.regions.columns.region]
kind = "category"
values = ["coast", "hills"]
"""


def register(folder, name, *options, declared=""):
    """Register a table as its owner does, from the shell."""
    (folder / f"{name}.toml").write_text(SCHEMA.format(name) + declared)
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
        source = server.datasets.get("claims").curator._table._source
        with monkeypatch.context() as patch, pytest.raises(EngineFailed):
            patch.setattr(source, "_limit", 0.05)
            patch.setattr(source, "_sql", lambda _: "SELECT pg_sleep(60)")  # a question that takes too long
            ask(server, "claims", least=5)
        ask(server, "claims", least=6)
    assert "tester" not in (folder / "discreet.toml").read_text(), "the connection string is nowhere"


def test_a_public_table_of_the_same_server_is_joined(folder, postgres_dsn):
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(
            "CREATE TABLE regions AS SELECT * FROM "
            "(VALUES ('north', 'coast'), ('south', 'coast'), ('west', 'hills')) AS r(ward, region)"
        )
        try:
            given = ("--engine", "postgres", "--dsn-env", "CLAIMS_DSN", "--table", "public.claims")
            register(folder, "claims", *given, "--public", "regions=public.regions", declared=PUBLIC)
            with serving(folder / "discreet.toml") as server:
                key = server.datasets.access.make_key("acme")
                server.datasets.access.grant("acme", "claims", 1)
                sql = "SELECT region, COUNT(*) AS n FROM claims JOIN regions USING (ward) GROUP BY region"
                with connect(f"http://127.0.0.1:{server.port}", key) as acme:
                    found = dict(acme.sql(sql).rows)
        finally:
            owner.execute("DROP TABLE regions")
    assert abs(found["coast"] - 2 * ROWS / 3) < 100 and abs(found["hills"] - ROWS / 3) < 100


def test_no_public_table_of_a_server_holds_private_rows_by_another_name(folder, postgres_dsn):
    from discreet.data.engines.postgres import reads_table

    given = ("--engine", "postgres", "--dsn-env", "CLAIMS_DSN", "--table", "claims")
    register(folder, "claims", *given)
    path = folder / "discreet.toml"
    path.write_text(path.read_text() + '\n[datasets.claims.public]\nregions = "public.claims"\n')
    with pytest.raises(InvalidParameter, match="nobody is to be hidden"):
        OpenDatasets(read_registration(path))
    made = """CREATE SCHEMA odd; CREATE VIEW odd.seen AS SELECT ward FROM claims;
        CREATE MATERIALIZED VIEW "odd"."Seen it" AS SELECT * FROM odd.seen;
        CREATE TABLE odd.regions (ward text);
        CREATE VIEW odd.joined AS SELECT * FROM claims JOIN odd.regions USING (ward);
        CREATE TABLE odd.whole (LIKE claims) PARTITION BY LIST (ward);
        CREATE TABLE odd.north PARTITION OF odd.whole FOR VALUES IN ('north');
        CREATE TABLE odd.south PARTITION OF odd.whole FOR VALUES IN ('south')"""
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(made)
        try:
            holding = [("odd.seen", "claims"), ("odd.Seen it", "public.claims"), ("odd.joined", "claims")]
            holding += [("odd.north", "odd.whole"), ("odd.whole", "odd.south")]
            for public, private in holding:
                assert reads_table(postgres_dsn, public=public, private=private, timeout=9), (public, private)
            others = [("odd.regions", "claims"), ("odd.regions", "odd.joined"), ("odd.north", "odd.south")]
            for public, private in others:
                assert not reads_table(postgres_dsn, public=public, private=private, timeout=9), public
        finally:
            owner.execute("DROP SCHEMA odd CASCADE")


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
