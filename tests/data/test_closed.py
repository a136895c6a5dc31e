"""A closed table says that it is closed, on every engine and through every door."""

from __future__ import annotations

from collections.abc import Callable

import pandas as pd
import psycopg
import pytest

import discreet as dp
from discreet.core.errors import OpenFailed, TableClosed
from discreet.data import Integer, Row, Schema, Table

SCHEMA = Schema("t", columns=(Integer("a", lower=0, upper=3),), unit=Row(), neighbours=dp.AddRemove("row"))
FRAME = pd.DataFrame({"a": [0, 1, 2, 3]})
DOORS: dict[str, Callable[[Table], object]] = {
    "sql": lambda table: table.sql("SELECT COUNT(*) FROM t", epsilon=1, delta=0),
    "histogram": lambda table: table.histogram(),
    "marginals": lambda table: list(table.marginals([["a"]])),
    "release": lambda table: dp.release(dp.marginals(table, order=1), epsilon=1, delta=1e-6),
    "curator": lambda table: dp.Curator(table, epsilon=1, delta=1e-9),
}


@pytest.fixture(params=["duckdb", "postgres", "spark"])
def closed(request: pytest.FixtureRequest) -> Table:
    if request.param == "postgres":
        dsn = request.getfixturevalue("postgres_dsn")
        with psycopg.connect(dsn, autocommit=True) as server:
            server.execute("DROP TABLE IF EXISTS closed")
            server.execute("CREATE TABLE closed AS SELECT k % 4 AS a FROM generate_series(1, 20) AS k")
        data: object = (dsn, "closed")
    elif request.param == "spark":
        data = request.getfixturevalue("spark_session").createDataFrame([(0,), (1,)], "a int")
    else:
        data = FRAME
    with Table(data, schema=SCHEMA) as table:
        DOORS["sql"](table)
    return table


def test_every_door_says_that_the_table_is_closed(closed: Table) -> None:
    for name, ask in DOORS.items():
        with pytest.raises(TableClosed, match="the table is closed"):
            ask(closed)
            pytest.fail(name)
    closed.close()  # once more is once
    assert closed.universe(["a"]).size == 5, "what is public stays"


def test_a_closed_table_is_not_opened_again_behind_the_owners_back(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as server:
        server.execute("CREATE TABLE IF NOT EXISTS closed AS SELECT 1 AS a")
    with Table((postgres_dsn, "closed"), schema=SCHEMA) as table:
        table.reopen()
    with pytest.raises(TableClosed):
        table.reopen()


def test_a_lost_connection_is_no_closed_table(postgres_dsn: str) -> None:
    with psycopg.connect(postgres_dsn, autocommit=True) as server:
        server.execute("CREATE TABLE IF NOT EXISTS closed AS SELECT 1 AS a")
    with Table((postgres_dsn, "closed"), schema=SCHEMA) as table:
        table._source._connection.close()
        with pytest.raises(dp.errors.EngineFailed) as caught:
            DOORS["sql"](table)
        assert not isinstance(caught.value, OpenFailed)
