"""Words of SQL are names like any others: of tables, columns, keys and public tables, on every engine."""

from __future__ import annotations

import duckdb
import pandas as pd
import psycopg
import pytest

from discreet import AddRemove
from discreet.data import Category, Dimension, Identifier, Integer, Schema, Table, User

WORDS = (
    "values",
    "lateral",
    "with",
    "from",
    "select",
    "order",
    "group",
    "table",
    "user",
    "date",
    "unnest",
    "end",
    "case",
    "null",
    "true",
    "all",
    "union",
    "join",
    "where",
    "having",
    "limit",
    "interval",
    "primary",
    "default",
)


def names(place: int) -> list[str]:
    """Seven different words: of the table, its columns, the public table and its own column."""
    return [WORDS[(place + step) % len(WORDS)] for step in (0, 1, 5, 7, 11, 13, 17)]


def rows(place: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    _, who, number, kind, key, _, extra = names(place)
    data = pd.DataFrame(
        {
            who: [f"u{k % 10}" for k in range(60)],
            number: [k % 4 for k in range(60)],
            kind: [f"v{k % 2}" for k in range(60)],
            key: [k % 5 for k in range(60)],
        }
    )
    return data, pd.DataFrame({key: range(5), extra: [10 * k for k in range(5)]})


def schema(place: int) -> Schema:
    name, who, number, kind, key, other, extra = names(place)
    keys = Integer(key, lower=0, upper=4)
    public = Dimension(other, key=key, columns=(keys, Integer(extra, lower=0, upper=40)))
    return Schema(
        name,
        columns=(
            Identifier(who),
            Integer(number, lower=0, upper=3),
            Category(kind, values=("v0", "v1")),
            keys,
        ),
        unit=User(column=who, max_rows=6, max_groups=2),
        neighbours=AddRemove(who),
        dimensions=(public,),
    )


def frames(place, request):
    data, public = rows(place)
    return data, public


def tables(place, request):
    data, public = rows(place)
    connection = duckdb.connect()
    for name, frame in zip((names(place)[0], names(place)[5]), (data, public), strict=True):
        connection.register("given", frame)
        connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM given')
    return (connection, names(place)[0]), (connection, names(place)[5])


def server(place, request):
    dsn = request.getfixturevalue("postgres_dsn")
    data, public = rows(place)
    with psycopg.connect(dsn, autocommit=True) as connection:
        for name, frame in zip((names(place)[0], names(place)[5]), (data, public), strict=True):
            kinds = ["int" if pd.api.types.is_integer_dtype(frame[one]) else "text" for one in frame]
            listed = ", ".join(f'"{one}" {kind}' for one, kind in zip(frame, kinds, strict=True))
            connection.execute(f'DROP TABLE IF EXISTS "{name}"; CREATE TABLE "{name}" ({listed})'.encode())
            marks = ", ".join(["%s"] * len(frame.columns))
            with connection.cursor() as cursor:
                cursor.executemany(
                    f'INSERT INTO "{name}" VALUES ({marks})'.encode(), frame.to_numpy(object).tolist()
                )

    def drop():
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute(f'DROP TABLE "{names(place)[0]}", "{names(place)[5]}"'.encode())

    request.addfinalizer(drop)
    return (dsn, names(place)[0]), (dsn, names(place)[5])


@pytest.mark.parametrize("place", range(len(WORDS)), ids=WORDS)
@pytest.mark.parametrize("make", [frames, tables, server])
def test_words_are_names(make, place, request):
    name, who, number, kind, key, other, extra = names(place)
    data, public = make(place, request)
    frame, _ = rows(place)
    with Table(data, schema=schema(place), dimensions={other: public}) as table:
        answer = table.sql(
            f'SELECT "{kind}", SUM("{name}"."{number}"), COUNT(*), COUNT(DISTINCT "{who}") FROM "{name}" '
            f'JOIN "{other}" USING ("{key}") WHERE "{other}"."{extra}" >= 20 GROUP BY "{kind}"',
            epsilon=10**6,
            delta=0,
        )
        counted = table.histogram([kind, key])
    wanted = frame[frame[key] >= 2].groupby(kind)
    sums, counts = wanted[number].sum().tolist(), wanted[number].count().tolist()
    users = wanted[who].nunique().tolist()
    assert answer.rows == tuple(zip(("v0", "v1"), sums, counts, users, strict=True))
    assert counted.total == 60
