"""What only PostgreSQL and Spark can hold or do, and that neither shows a value or leaves a trace."""

from __future__ import annotations

import datetime
import time
import traceback
from pathlib import Path

import psycopg
import pytest
import sqlglot

from discreet import AddRemove
from discreet.core.errors import EngineFailed, InternalError, InvalidParameter
from discreet.data import Category, Date, Decimal, Identifier, Integer, Row, Schema, Table, Text, User
from discreet.data.template import template

CANARY = "CANARY7f3a"
DAY = datetime.date
ODD = Schema(
    "odd",
    columns=(
        Identifier("who"),
        Decimal("huge", lower=-5, upper=5, grid=0.5),
        Integer("small", lower=-5, upper=5),
        Date("day", lower=DAY(2020, 1, 1), upper=DAY(2020, 12, 31)),
        Date("moment", lower=DAY(2020, 1, 1), upper=DAY(2020, 12, 31)),
        Category("mood", values=("happy", "sad")),
        Category("fixed", values=("ab", "abcd")),
    ),
    unit=User(column="who", max_rows=2, max_groups=1),
    neighbours=AddRemove("who"),
)
TEXTS = Schema(
    "texts", columns=(Integer("a", lower=0, upper=9), Text("note")), unit=Row(), neighbours=AddRemove("row")
)
FAILING = "SELECT CAST(note AS INT) AS x FROM texts"


def query(sql):
    return sqlglot.parse_one(sql, read="duckdb")


@pytest.fixture
def server(postgres_dsn):
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        yield connection
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


def constant(table, sql):
    """Run a query that must fail, and see that only the constant sentence comes out."""
    for run in (table._source.execute, table._source.arrays):
        with pytest.raises(EngineFailed) as caught:
            run(query(sql))
        assert caught.value.__cause__ is None and caught.value.__context__ is None
        assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_postgres_values_that_no_other_engine_holds(server, postgres_dsn):
    server.execute("CREATE TYPE mood AS ENUM ('happy', 'sad', 'CANARY7f3a')")
    server.execute(
        "CREATE TABLE odd (who uuid, huge numeric, small smallint, day date, moment timestamptz, "
        "mood mood, fixed char(4))"
    )
    row = "INSERT INTO odd VALUES (gen_random_uuid(), {})"
    server.execute(row.format("1e400, -32768, 'infinity', '-infinity', 'happy', 'ab'"))
    server.execute(row.format("-1e400, 32767, '-infinity', 'infinity', 'CANARY7f3a', 'abcd'"))
    server.execute(row.format("'NaN', 0, '2020-02-29', '2020-03-01 00:30+02', 'sad', 'zz'"))
    server.execute(row.format("'Infinity', NULL, '4713-01-01 BC', NULL, NULL, NULL"))
    server.execute("INSERT INTO odd VALUES (NULL, 1, 1, NULL, NULL, NULL, NULL)")
    with Table((postgres_dsn, "odd"), schema=ODD) as table:
        rows = table._source.execute(query("SELECT huge, small, day, moment, mood, fixed FROM odd"))
        lower, upper = 18262, 18627
        assert sorted(rows, key=repr) == sorted(
            [
                (10, -5, upper, lower, "happy", "ab"),
                (-10, 5, lower, upper, None, "abcd"),
                (None, 0, 18321, 18321, "sad", None),
                (10, None, lower, None, None, None),
            ],
            key=repr,
        )
    text = template((postgres_dsn, "public.odd"), name="odd")
    assert "# mood\n[columns.mood]" in text and CANARY not in text


def test_postgres_is_read_only_and_leaves_no_trace(server, postgres_dsn):
    server.execute("CREATE TABLE texts (a int, note text)")
    server.execute("INSERT INTO texts VALUES (1, %s), (20, NULL)", [CANARY])
    with Table((f"{postgres_dsn}?application_name=seen", "texts"), schema=TEXTS) as table:
        constant(table, FAILING)
        constant(table, "SELECT SUM(CAST(9223372036854775807 AS BIGINT) * a) AS s FROM texts WHERE a > 5")
        with pytest.raises(InternalError):
            table._source.execute(query("SELECT 1 AS x FROM pg_shadow"))
        for write in (
            "INSERT INTO public.texts VALUES (3)",
            "CREATE TABLE stolen AS SELECT 1",
            "DROP TABLE public.texts",
        ):
            with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
                table._source._connection.execute(write)
        assert table._source.execute(query("SELECT SUM(a) AS s FROM texts")) == [(10,)]
        server.execute("INSERT INTO texts VALUES (9, NULL)")
        assert table._source.execute(query("SELECT SUM(a) AS s FROM texts")) == [(10,)], "a snapshot"
        for k in range(12):
            assert table._source.execute(query(f"SELECT MIN(a + {k}) AS x FROM texts")) == [(1 + k,)]
        with pytest.raises(InvalidParameter, match="input must be"):
            table._source.raw("texts")
        names = server.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchall()
        assert names == [(1,)]
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'seen'"
    deadline = time.monotonic() + 10
    while server.execute(sessions).fetchone() != (0,):
        assert time.monotonic() < deadline, "the session ends with the table"


def test_postgres_refuses_what_it_cannot_read(server, postgres_dsn):
    server.execute("CREATE TABLE texts (a text, note text)")
    with pytest.raises(InvalidParameter, match=r"texts\.a must be of a type that reads as Integer"):
        Table((postgres_dsn, "texts"), schema=TEXTS)
    for name in ("missing", "public.missing", 'texts"; DROP TABLE texts; --', "a.b.c", ""):
        with pytest.raises((InvalidParameter, EngineFailed)):
            Table((postgres_dsn, name), schema=TEXTS)
    assert server.execute("SELECT count(*) FROM texts").fetchall() == [(0,)]


def test_postgres_gives_up_after_a_while(server, postgres_dsn):
    from discreet.data.engines.encode import encode_rows
    from discreet.data.engines.postgres import Postgres

    server.execute("CREATE TABLE texts (a int, note text)")
    server.execute("INSERT INTO texts SELECT k, 'x' FROM generate_series(1, 3000) AS k")
    source = Postgres(postgres_dsn, {"texts": "texts"}, timeout=1)
    source.load({"texts": encode_rows(source, "texts", TEXTS.columns, unit=None)}, unique={})
    with pytest.raises(EngineFailed):
        source.execute(query("SELECT COUNT(*) AS n FROM texts AS a, texts AS b, texts AS c, texts AS d"))
    counted = query("SELECT COUNT(*) AS n FROM texts")
    assert source.execute(counted) == [(3000,)], "the next question is answered"
    source._connection.execute("BEGIN")
    source._connection.pgconn.send_query(b"SELECT pg_sleep(60)")  # as two interrupts in a row leave it
    assert source.execute(counted) == [(3000,)]
    source.close()


def test_spark_keeps_quiet_and_cleans_up(spark_session):
    spark_session.conf.set("spark.sql.session.timeZone", "Pacific/Auckland")
    spark_session.sql("SELECT 1 AS mine").createOrReplaceTempView("texts")
    moments = Schema(
        "texts",
        columns=(*TEXTS.columns, Date("moment", lower=DAY(2020, 1, 1), upper=DAY(2020, 12, 31))),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    frame = spark_session.sql(
        f"SELECT a, '{CANARY}' AS note, TIMESTAMP '2020-03-01 00:30:00+00:00' AS moment "
        "FROM VALUES (1), (70) AS t(a)"
    )
    before = set(view.name for view in spark_session.catalog.listTables())
    with Table(frame, schema=moments) as table:
        constant(table, FAILING)
        constant(table, "SELECT SUM(a * CAST(9223372036854775807 AS BIGINT)) AS s FROM texts")
        assert table._source.execute(query("SELECT SUM(a) AS s, MIN(moment) AS d FROM texts")) == [
            (10, 18322)
        ]
        assert CANARY not in repr(table)
        for k in range(10):
            assert table._source.execute(query(f"SELECT MIN(a + {k}) AS x FROM texts")) == [(1 + k,)]
        for again in (table._source.raw, table._source.columns):
            with pytest.raises(InvalidParameter, match="input must be"):
                again("texts")
    assert set(view.name for view in spark_session.catalog.listTables()) == before
    assert spark_session.sql("SELECT * FROM texts").collect()[0].mine == 1, "the owner's view is untouched"
    spark_session.catalog.dropTempView("texts")
    assert CANARY not in template(frame, name="texts")


def test_a_missing_server_is_an_error_in_ci(monkeypatch, request):
    """The fixtures skip only where no one relies on them."""
    absent = request.config.pluginmanager.getplugin(str(Path(__file__).with_name("conftest.py"))).absent
    monkeypatch.setenv("CI", "1")
    with pytest.raises(pytest.fail.Exception):
        absent("anything")
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception):
        absent("anything")
