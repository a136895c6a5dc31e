"""Connections mean what their owner wrote, never show a password, give up in time and say why by a code."""

from __future__ import annotations

import logging
import subprocess
import time
import traceback
from types import SimpleNamespace

import duckdb
import pandas as pd
import psycopg
import pytest
import sqlglot
from psycopg.conninfo import conninfo_to_dict

from discreet import AddRemove
from discreet.core.errors import EngineFailed, InvalidParameter, OpenFailed
from discreet.data import Category, Date, Identifier, Integer, Row, Schema, Table, Text, User
from discreet.data.engines import open_source
from discreet.data.template import template

SECRET = "CANARY7f3a"
NUMBERS = Schema("t", columns=(Integer("a", lower=0, upper=9),), unit=Row(), neighbours=AddRemove("row"))
SUM = "SELECT SUM(a) AS s FROM t"
SLOW = "SELECT COUNT(*) AS n FROM t AS a, t AS b, t AS c, t AS d, t AS e WHERE a.a + b.a + c.a + d.a > e.a"


def query(sql):
    return sqlglot.parse_one(sql, read="duckdb")


def total(data, **more):
    with Table(data, schema=NUMBERS, **more) as table:
        return table._source.execute(query(SUM))[0][0]


@pytest.fixture
def server(postgres_dsn):
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        connection.execute("CREATE TABLE t (a int)")
        connection.execute("INSERT INTO t SELECT 1 FROM generate_series(1, 300)")
        yield connection
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


@pytest.fixture
def roles(server):
    """A role that may do nothing, one that may read, and one that may also keep temporary tables."""
    server.execute("REVOKE TEMPORARY ON DATABASE postgres FROM PUBLIC")
    for name in ("nobody", "reader", "analysis"):
        server.execute(f"CREATE ROLE {name} LOGIN")
    server.execute("GRANT USAGE ON SCHEMA public TO reader, analysis")
    server.execute("GRANT SELECT (a) ON t TO reader, analysis")
    server.execute("GRANT TEMPORARY ON DATABASE postgres TO analysis, nobody")
    yield server
    server.execute("REVOKE ALL ON t FROM reader, analysis")
    server.execute("REVOKE ALL ON SCHEMA public FROM reader, analysis, nobody")
    server.execute("REVOKE TEMPORARY ON DATABASE postgres FROM analysis, nobody")
    server.execute("DROP ROLE nobody, reader, analysis")
    server.execute("GRANT TEMPORARY ON DATABASE postgres TO PUBLIC")


def reason(data, schema=NUMBERS, **more):
    with pytest.raises(OpenFailed) as caught:
        Table(data, schema=schema, **more)
    assert caught.value.__cause__ is None and caught.value.__context__ is None
    assert caught.value.way_out in str(caught.value)
    return caught.value.reason


def test_the_options_of_a_connection_string_hold(server, postgres_dsn, monkeypatch):
    server.execute("CREATE SCHEMA other")
    server.execute("CREATE TABLE other.t AS SELECT 2 AS a")
    server.execute("CREATE ROLE powerless; GRANT USAGE ON SCHEMA public TO powerless")
    try:
        options = {
            "": 300,
            "?options=-csearch_path%3Dother": 2,
            "?options=-c%20search_path%3Dother,public": 2,
        }
        for ending, truth in options.items():
            assert total((postgres_dsn + ending, "t")) == truth, ending
        parts = conninfo_to_dict(postgres_dsn)
        keywords = " ".join(f"{name}={value}" for name, value in parts.items())
        assert total((f"{keywords} options='-c search_path=other'", "t")) == 2
        assert reason((f"{postgres_dsn}?options=-crole%3Dpowerless", "t")) == "permission"
        monkeypatch.setenv("PGOPTIONS", "-c search_path=other")
        assert total((postgres_dsn, "t")) == 2
        monkeypatch.delenv("PGOPTIONS")
        hostile = (
            "-ctimezone%3DPacific/Auckland%20-cstandard_conforming_strings%3Doff%20-cclient_encoding%3DLATIN1"
        )
        server.execute(
            "CREATE TABLE words AS SELECT 'back\\slash'::text AS w, '2020-01-01 23:30+00'::timestamptz AS m"
        )
        words = Schema(
            "words",
            columns=(
                Category("w", values=("back\\slash", "sn\u2603w")),
                Date("m", lower=pd.Timestamp("2020-01-01").date(), upper=pd.Timestamp("2020-12-31").date()),
            ),
            unit=Row(),
            neighbours=AddRemove("row"),
        )
        with Table((f"{postgres_dsn}?options={hostile}", "words"), schema=words) as table:
            found = table._source.execute(query("SELECT m FROM words WHERE w = 'back\\slash'"))
            assert found == [(18262,)], "what the meaning of a query rests on is set after them"
    finally:
        server.execute("DROP SCHEMA other CASCADE")
        server.execute("DROP OWNED BY powerless; DROP ROLE powerless")


def test_a_service_is_read_by_libpq(server, postgres_dsn, tmp_path, monkeypatch):
    parts = conninfo_to_dict(postgres_dsn)
    lines = ["[private]", *(f"{name}={value}" for name, value in parts.items())]
    (tmp_path / "services").write_text("\n".join(lines) + "\n")
    monkeypatch.setenv("PGSERVICEFILE", str(tmp_path / "services"))
    assert total(("service=private", "t")) == 300


def test_the_catalogue_of_a_duckdb_name_is_kept(tmp_path):
    owner = duckdb.connect()
    owner.execute("CREATE TABLE t AS SELECT 1 AS a")
    owner.execute(f"ATTACH '{tmp_path / 'other.duckdb'}' AS other")
    owner.execute("CREATE TABLE other.main.t AS SELECT 5 AS a")
    owner.execute("CREATE SCHEMA other.deep")
    owner.execute("CREATE TABLE other.deep.t AS SELECT 7 AS a")
    names = {"t": 1, "main.t": 1, "other.main.t": 5, "other.deep.t": 7, "other.t": 5, "memory.main.t": 1}
    assert {name: total((owner, name)) for name in names} == names
    for wrong in ("a.b.c.d", "other..t", ""):
        with pytest.raises(InvalidParameter, match="catalogue"):
            Table((owner, wrong), schema=NUMBERS)
    assert reason((owner, "other.main.missing")) == "not found"


SPELLINGS = (
    f"postgresql://user:{SECRET}@127.0.0.1:1/x?connect_timeout=1",
    f" postgresql://user:{SECRET}@127.0.0.1:1/x?connect_timeout=1",
    f"POSTGRESQL://user:{SECRET}@127.0.0.1:1/x",
    f"postgres:/user:{SECRET}@127.0.0.1:1/x",
    f"postgresql:user:{SECRET}",
    f"postgresql+psycopg://user:{SECRET}@127.0.0.1:1/x",
    f"host=127.0.0.1 port=1 password={SECRET} connect_timeout=1",
    f"HOST = 127.0.0.1 PORT=1 PASSWORD = {SECRET}",
    f" password ='{SECRET}' host=127.0.0.1 port=1",
    f"mysql://user:{SECRET}@127.0.0.1/x",
    f"user:{SECRET}@127.0.0.1/x",
    f"'password={SECRET}'",
    f"jdbc:postgresql://127.0.0.1/x?user=u&password={SECRET}",
)


@pytest.mark.parametrize("dsn", SPELLINGS)
def test_no_spelling_of_a_connection_string_shows_its_password(dsn):
    for data in (
        (dsn, "t"),
        dsn,
        (dsn, "t", "u"),
        [dsn, "t"],
        ("t", dsn),
        (f"{dsn}.duckdb", "t"),
        f"{dsn}.csv",
    ):
        with pytest.raises((InvalidParameter, OpenFailed)) as caught:
            open_source({"t": data})
        assert SECRET not in "".join(traceback.format_exception(caught.value)), data


def test_what_is_missing_to_read_is_told_by_a_code(roles, postgres_dsn):
    def of(role):
        return postgres_dsn.replace("tester@", f"{role}@")

    with pytest.raises(InvalidParameter, match="an existing table in a schema that the role may use"):
        Table((of("nobody"), "t"), schema=NUMBERS)
    roles.execute("GRANT USAGE ON SCHEMA public TO nobody")
    assert reason((of("nobody"), "t")) == "permission"
    assert reason((of("reader"), "t")) == "no temporary tables"
    assert total((of("analysis"), "t")) == 300, (
        "USAGE, SELECT on the declared columns and TEMPORARY are enough"
    )
    assert template((of("reader"), "t"), name="t"), "a template needs no temporary table"
    roles.execute("CREATE VIEW broken AS SELECT 1 / (a - a) AS a FROM t")
    assert reason((postgres_dsn, "broken")) == "unreadable"
    with pytest.raises(InvalidParameter, match="an existing table"):
        Table((postgres_dsn, "missing"), schema=NUMBERS)


def test_a_hot_standby_is_refused_by_name(server, standby_dsn):
    assert template((standby_dsn, "t"), name="t"), "a template needs no temporary table"
    assert reason((standby_dsn, "t")) == "hot standby"


def test_a_database_in_another_encoding_is_refused(server, postgres_dsn):
    server.execute("CREATE DATABASE old ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0")
    dsn = postgres_dsn.replace("/postgres", "/old")
    with psycopg.connect(dsn) as connection:
        connection.execute("CREATE TABLE t (a int)")
    try:
        with pytest.raises(InvalidParameter, match="a database in UTF8"):
            Table((dsn, "t"), schema=NUMBERS)
    finally:
        server.execute("DROP DATABASE old WITH (FORCE)")


def test_a_lock_that_somebody_keeps_is_not_waited_for(server, postgres_dsn):
    with psycopg.connect(postgres_dsn) as other:
        other.execute("LOCK TABLE t IN ACCESS EXCLUSIVE MODE")
        began = time.monotonic()
        assert reason((postgres_dsn, "t"), timeout=0.5) == "time-out"
        assert time.monotonic() - began < 20
        assert reason((f"{postgres_dsn}?options=-clock_timeout%3D200", "t")) == "time-out", "the owner's own"


def test_a_lost_session_fails_constantly_until_it_is_opened_again(server, postgres_dsn, caplog):
    with Table((f"{postgres_dsn}?application_name=gone", "t"), schema=NUMBERS) as table:
        server.execute("INSERT INTO t VALUES (9)")
        server.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'gone'"
        )
        for _ in range(2):
            with pytest.raises(EngineFailed) as caught:
                table._source.execute(query(SUM))
            assert str(caught.value) == str(EngineFailed()) and type(caught.value) is EngineFailed
        assert caplog.messages == ["a question failed in postgres: lost connection"] * 2
        table.reopen()
        assert table._source.execute(query(SUM)) == [(309,)], "of the moment it was opened again"
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            table._source._connection.execute("INSERT INTO public.t VALUES (1)")
        server.execute("ALTER TABLE t RENAME TO elsewhere")
        with pytest.raises(OpenFailed, match="not found"):
            table.reopen()
        with pytest.raises(EngineFailed):
            table._source.execute(query(SUM))
    with Table(pd.DataFrame({"a": [1]}), schema=NUMBERS) as frame:
        with pytest.raises(InvalidParameter, match="connected to again"):
            frame.reopen()


def expires(table, caplog, slow=SLOW):
    for run in (table._source.execute, table._source.arrays):
        caplog.clear()
        began = time.monotonic()
        with pytest.raises(EngineFailed) as caught:
            run(query(slow))
        assert time.monotonic() - began < 30
        assert str(caught.value) == str(EngineFailed()) and type(caught.value) is EngineFailed
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        assert caplog.messages == [f"a question failed in {table._source.dialect}: time-out"]
    assert table._source.execute(query(SUM)) == [(300,)], "the next question is answered"


def test_duckdb_gives_up_in_time(caplog):
    with Table(pd.DataFrame({"a": [1] * 300}), schema=NUMBERS, timeout=0.3) as table:
        expires(table, caplog)


def test_postgres_gives_up_in_time(server, postgres_dsn, caplog):
    with Table((postgres_dsn, "t"), schema=NUMBERS, timeout=0.3) as table:
        expires(table, caplog)


def test_spark_gives_up_in_time(spark_session, caplog):
    frame = spark_session.sql("SELECT CAST(1 AS INT) AS a FROM range(300)")
    spark_session.sparkContext.setLocalProperty("spark.jobGroup.id", "mine")
    # Tasks that sleep can be woken; those of a long loop would keep the test's two cores to its end.
    asleep = "REFLECT('java.lang.Thread', 'sleep', CAST(300 + a AS BIGINT)) IS NOT NULL"
    with Table(frame, schema=NUMBERS, timeout=4) as table:
        expires(table, caplog, f"SELECT COUNT(*) AS n FROM t WHERE {asleep}")
    assert spark_session.sparkContext.getLocalProperty("spark.jobGroup.id") == "mine"
    spark_session.sparkContext.setLocalProperty("spark.jobGroup.id", None)


def test_a_timeout_is_a_number_of_seconds():
    for wrong in (0, -1, float("nan"), "soon"):
        with pytest.raises(InvalidParameter, match="timeout"):
            Table(pd.DataFrame({"a": [1]}), schema=NUMBERS, timeout=wrong)


def test_spark_settings_of_the_session_change_no_text(spark_session):
    words = Schema(
        "t",
        columns=(Category("w", values=("back\\slash", "tab\\t", "it's")), Text("note")),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    frame = spark_session.sql(
        r"SELECT w, w AS note FROM VALUES (CHR(92) || 't'), ('back' || CHR(92) || 'slash'), "
        r"('tab' || CHR(92) || 't'), ('it' || CHR(39) || 's') AS t(w)"
    )
    for setting in ("true", "false"):
        spark_session.conf.set("spark.sql.parser.escapedStringLiterals", setting)
        try:
            with Table(frame, schema=words) as table:
                listed = "('tab\\t', 'it''s', 'back\\slash')"
                grouped = f"SELECT w, COUNT(*) AS n FROM t WHERE w IN {listed} GROUP BY w"
                rows = table._source.execute(query(grouped))
                assert sorted(rows) == [("back\\slash", 1), ("it's", 1), ("tab\\t", 1)], setting
        finally:
            spark_session.conf.unset("spark.sql.parser.escapedStringLiterals")


def test_spark_moves_no_rows_of_users_and_reads_the_others_from_files(spark_session):
    frame = spark_session.sql("SELECT CAST(id % 5 AS STRING) AS who, CAST(id % 3 AS INT) AS a FROM range(40)")
    whose = Schema(
        "visits",
        columns=(Identifier("who"), Integer("a", lower=0, upper=2)),
        unit=User(column="who", max_rows=4, max_groups=1),
        neighbours=AddRemove("who"),
    )
    with Table(frame, schema=whose) as table:
        source = table._source
        plain = source._resolve(query("SELECT COUNT(*) AS n FROM visits"))
        users = source._resolve(
            sqlglot.parse_one(
                "SELECT SUM(n) AS n FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who) AS u"
            )
        )
        plans = [spark_session.sql(source._sql(source._find_rows(one))) for one in (plain, users)]
        told = [one._jdf.queryExecution().executedPlan().toString() for one in plans]
        assert ["InMemoryTableScan" in one for one in told] == [False, True]
        # One exchange would be enough to add all up; a second one would move users' rows.
        assert "hashpartitioning(who" not in told[1].partition("InMemoryRelation")[0]
        assert source._rows(plain) == source._rows(users) == [(20,)]
    assert not [one for one in spark_session.catalog.listTables() if one.name.startswith("discreet_")]


def test_only_frames_of_one_classic_spark_session_are_read(spark_session):
    connect = type("DataFrame", (), {"__module__": "pyspark.sql.connect.dataframe"})()
    pandas = type("DataFrame", (), {"__module__": "pyspark.pandas.frame"})()
    for frame in (connect, pandas):
        with pytest.raises(InvalidParameter, match="a data frame of a classic Spark session"):
            open_source({"t": frame})
    frames = {"t": spark_session.sql("SELECT 1 AS a"), "u": spark_session.newSession().sql("SELECT 1 AS a")}
    with pytest.raises(InvalidParameter, match="frames of one Spark session"):
        open_source(frames)


def test_a_stopped_spark_session_is_a_lost_connection(spark_session, monkeypatch, caplog):
    """Stopping the shared session would stop other tests: a context without its gateway is what is left."""
    table = Table(spark_session.sql("SELECT 1 AS a"), schema=NUMBERS)
    source, session = table._source, spark_session
    stopped = SimpleNamespace(
        sparkContext=SimpleNamespace(getLocalProperty=lambda name: None._jsc), catalog=None, sql=session.sql
    )
    monkeypatch.setattr(source, "_session", stopped)
    with pytest.raises(EngineFailed) as caught:
        source.execute(query(SUM))
    assert caught.value.__context__ is None
    assert caplog.messages == ["a question failed in spark: lost connection"]
    folder = source._checkpoint.private
    table.close()
    assert not subprocess.run(["test", "-e", folder], check=False).returncode == 0


def test_cells_that_cannot_be_read_are_counted_for_the_owner(tmp_path, caplog):
    lines = [
        "who,day,amount,store,member,town",
        'a,05/01/2024,"1,234",1,yes,x',
        "b,2024-01-05,$5,two,maybe,y",
    ]
    lines += [
        "c,,,,,",
        "d, ,nan,3,true,z",
        "e,2024-01-05 10:00:00 Nowhere/Land,7,1e0,0,x",
        ",31.12.2024,7,1,1,x",
    ]
    (tmp_path / "t.csv").write_text("\n".join(lines) + "\n")
    day = pd.Timestamp("2024-01-01").date()
    schema = Schema(
        "t",
        columns=(
            Identifier("who"),
            Date("day", lower=day, upper=day.replace(month=12)),
            Integer("amount", lower=0, upper=9),
            Category("store", values=(1, 2)),
            Category("town", values=("x",)),
        ),
        unit=User(column="who", max_rows=1, max_groups=1),
        neighbours=AddRemove("who"),
    )
    undeclared = "cells with none of the declared values: 2; they are missing, and in no group"
    wanted = [
        "t.day: cells that are no day such as 2024-12-31: 3; they are missing",
        "t.amount: cells that are no number such as 1234.5: 2; they are missing",
        f"t.store: {undeclared}. If more is public, add values, or other",
        f"t.town: {undeclared}. If more is public, add values, or other",
    ]
    owner = duckdb.connect()
    owner.execute(
        "CREATE TABLE t AS SELECT * FROM read_csv(?, all_varchar = true)", [str(tmp_path / "t.csv")]
    )
    for data in (tmp_path / "t.csv", pd.read_csv(tmp_path / "t.csv", dtype=str), (owner, "t")):
        caplog.clear()
        Table(data, schema=schema).close()
        assert caplog.messages == wanted
        assert {record.name for record in caplog.records} == {"discreet.data"}
        assert all(record.levelno == logging.WARNING for record in caplog.records)
    caplog.clear()
    Table(pd.DataFrame({"a": ["1", " 2 ", None, ""]}), schema=NUMBERS).close()
    assert not caplog.messages, "nothing is said where nothing is lost"


def test_postgres_views_domains_and_generated_columns_are_read(server, postgres_dsn):
    server.execute("CREATE DOMAIN small AS int CHECK (VALUE >= 0)")
    server.execute("CREATE DOMAIN smaller AS small CHECK (VALUE < 100)")
    server.execute("CREATE TABLE base (a smaller, b int GENERATED ALWAYS AS (a * 2) STORED)")
    server.execute("INSERT INTO base SELECT k % 3 FROM generate_series(1, 30) AS k")
    server.execute("CREATE VIEW seen AS SELECT b AS a, random() AS other FROM base")
    server.execute("CREATE MATERIALIZED VIEW kept AS SELECT a FROM base")
    server.execute("CREATE TABLE parts (a smaller, k int) PARTITION BY LIST (k)")
    server.execute("CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1)")
    server.execute("INSERT INTO parts SELECT a, 1 FROM base")
    sums = {"base": 30, "seen": 60, "kept": 30, "parts": 30}
    assert {name: total((postgres_dsn, name)) for name in sums} == sums
    assert "# int4\n[columns.a]" in template((postgres_dsn, "base"), name="base")
    server.execute("CREATE DOMAIN many AS int[]")
    server.execute("CREATE TABLE arrays (a many)")
    with pytest.raises(InvalidParameter, match=r"t\.a must be of a type that reads as Integer"):
        Table((postgres_dsn, "arrays"), schema=NUMBERS)


def test_duckdb_views_enums_and_generated_columns_are_read():
    owner = duckdb.connect()
    owner.execute(f"CREATE TYPE mood AS ENUM ('sad', 'it''s', '{SECRET}')")
    owner.execute("CREATE TABLE base (a int, b int GENERATED ALWAYS AS (a * 2), mood mood)")
    owner.execute(f"INSERT INTO base (a, mood) VALUES (1, 'sad'), (2, 'it''s'), (3, '{SECRET}'), (4, NULL)")
    owner.execute("CREATE VIEW seen AS SELECT b AS a, mood FROM base")
    long = tuple(f"mood{k}" for k in range(40))
    schema = Schema(
        "t",
        columns=(Integer("a", lower=0, upper=9), Category("mood", values=("sad", "it's", *long))),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    with Table((owner, "seen"), schema=schema) as table:
        rows = table._source.execute(query("SELECT a, mood FROM t"))
    assert sorted(rows, key=repr) == [(2, "sad"), (4, "it's"), (6, None), (8, None)]
    assert SECRET not in template((owner, "seen"), name="t")
