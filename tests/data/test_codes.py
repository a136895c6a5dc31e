"""Codes and bounding, against definitions: whatever the cells, codes stay within bounds and users apart."""

from __future__ import annotations

import datetime
import math
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import psycopg
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import AddRemove
from discreet.data import (
    Boolean,
    Category,
    Date,
    Decimal,
    Identifier,
    Integer,
    Row,
    Schema,
    Table,
    Text,
    User,
)

EXTREMES = (math.nan, math.inf, -math.inf, -0.0, 5e-324, -1.7976931348623157e308, 2.0**53 + 2, 1e19)


def query(sql):
    return sqlglot.parse_one(sql, read="duckdb")


def codes(column, cells, kind):
    schema = Schema("t", columns=(column,), unit=Row(), neighbours=AddRemove("row"))
    with Table(pa.table({"x": pa.array(cells, type=kind)}), schema=schema) as table:
        # Rows of one relation come back in the order they were loaded.
        return [row[0] for row in table._source.execute(query("SELECT x FROM t"))]


@settings(max_examples=40, deadline=None)
@given(
    low=st.integers(-(2**53), 2**53 - 1),
    width=st.integers(1, 2**54),
    grid=st.sampled_from([Fraction(1), Fraction(1, 100), Fraction(1, 3), Fraction(7), Fraction(5, 8)]),
    cells=st.lists(st.none() | st.sampled_from(EXTREMES) | st.floats(), max_size=20),
)
@example(low=2**53 - 2, width=1, grid=Fraction(1, 3), cells=[2.0**53 / 3 + k for k in range(-4, 5)])
@example(low=-5, width=10, grid=Fraction(1, 100), cells=[0.005, 0.015, -0.005, 0.045, 0.0349999999])
def test_numbers_become_the_nearest_code_within_the_bounds(low, width, grid, cells):
    upper = min(low + width, 2**53)
    column = Decimal("x", lower=low * grid, upper=upper * grid, grid=grid)
    found = codes(column, cells, pa.float64())
    assert len(found) == len(cells)
    for cell, code in zip(cells, found, strict=True):
        if cell is None or math.isnan(cell):
            assert code is None
            continue
        assert low <= code <= upper
        if not math.isinf(cell):
            nearest = min(max(Fraction(cell) / grid, low), upper)
            assert abs(code - nearest) <= Fraction(1, 2) + abs(nearest) / 2**50


@settings(max_examples=20, deadline=None)
@given(
    lower=st.integers(-(2**53), 2**53 - 1),
    cells=st.lists(st.none() | st.integers(-(2**63), 2**63 - 1), max_size=20),
)
def test_whole_numbers_are_clamped_exactly(lower, cells):
    column = Integer("x", lower=lower, upper=2**53)
    wanted = [None if cell is None else min(max(cell, lower), 2**53) for cell in cells]
    assert codes(column, cells, pa.int64()) == wanted


def visits(most):
    return Schema(
        "visits",
        columns=(Identifier("who"), Text("name"), Integer("spent", lower=0, upper=99)),
        unit=User(column="who", max_rows=most, max_groups=1),
        neighbours=AddRemove("who"),
    )


def by_own_rows(frame):
    with Table(frame, schema=visits(2)) as table:
        return sorted(table._source.execute(query("SELECT name, spent FROM visits")))


def by_row_number(frame):
    order = "ROW_NUMBER() OVER (PARTITION BY who ORDER BY MD5('key' || CAST(rowid AS TEXT)))"
    ordered = f"SELECT *, {order} AS place FROM visits"
    with Table(frame, schema=visits(100)) as table:
        found = table._source.execute(query(f"SELECT name, spent FROM ({ordered}) AS o WHERE place <= 2"))
    return sorted(found)


def changes_others(kept):
    """Count the users whose removal changes which rows of somebody else are kept."""
    rows = [(f"u{k % 5}", (k * 37) % 100) for k in range(60)] + [("heavy", k) for k in range(40)]
    frame = pd.DataFrame(
        [(who, who, spent) for who, spent in reversed(rows)], columns=["who", "name", "spent"]
    )
    whole = kept(frame)
    changed = 0
    for user in ("u0", "u3", "heavy"):
        without = kept(frame[frame.who != user])
        changed += without != [row for row in whole if row[0] != user]
    return changed


@pytest.fixture
def one_secret(monkeypatch):
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")


def test_bounding_by_own_rows_never_touches_another_user(one_secret):
    assert changes_others(by_own_rows) == 0


def test_bounding_by_row_number_would():
    assert changes_others(by_row_number) > 0


def test_rows_of_one_hash_are_told_apart_by_what_they_hold(one_secret, monkeypatch):
    """Otherwise the order in which others' rows come would decide."""
    constant = sqlglot.exp.Literal.number(1)
    monkeypatch.setattr("discreet.data.engines.duckdb.DuckDB.hash_row", lambda *_: constant.copy())
    rows = [("ann", "ann", spent) for spent in range(50)] * 2
    orders = (rows, rows[::-1], rows[1::2] + rows[::2])
    kept = [by_own_rows(pd.DataFrame(one, columns=["who", "name", "spent"])) for one in orders]
    assert kept[0] == kept[1] == kept[2] == [("ann", 0), ("ann", 0)]


@pytest.mark.parametrize("kind", ["duckdb", "postgres", "spark"])
def test_values_that_are_not_declared_are_counted_for_the_owner(kind, request, caplog):
    long = tuple(f"v{k}" for k in range(40))
    rows = [
        ("a", "v1", 1, 1),
        ("A ", "v99", 7, 2),
        ("a", "x", 2, 0),
        ("", "", None, None),
        (None, None, 3, 1),
    ]
    schema = Schema(
        "t",
        columns=(
            Category("short", values=("a",)),
            Category("long", values=long),
            Category("number", values=(1, 2)),
            Boolean("flag"),
        ),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    if kind == "postgres":
        dsn = request.getfixturevalue("postgres_dsn")
        with psycopg.connect(dsn, autocommit=True) as server:
            server.execute("DROP TABLE IF EXISTS lost")
            server.execute("CREATE TABLE lost (short text, long varchar, number int, flag int)")
            for row in rows:
                server.execute("INSERT INTO lost VALUES (%s, %s, %s, %s)", row)
        data = (dsn, "lost")
    elif kind == "spark":
        session = request.getfixturevalue("spark_session")
        data = session.createDataFrame(rows, "short string, long string, number int, flag int")
    else:
        data = pd.DataFrame(rows, columns=["short", "long", "number", "flag"])
    caplog.clear()
    if kind == "postgres":
        schema = replace(schema, columns=schema.columns[:3])  # PostgreSQL has truth values of its own
    Table(data, schema=schema).close()
    lost = {"short": 1, "long": 2, "number": 2}
    told = "they are missing, and in no group. If more is public, add values, or other"
    wanted = [f"t.{name}: cells with none of the declared values: {n}; {told}" for name, n in lost.items()]
    flags = ["t.flag: cells that are neither true nor false: 1; they are missing"]
    assert caplog.messages == wanted + flags * (kind != "postgres")
    caplog.clear()
    others = tuple(
        replace(column, other=column.values[0]) for column in schema.columns if isinstance(column, Category)
    )
    Table(data, schema=replace(schema, columns=others)).close()
    assert not caplog.messages, "a value that counts as another one is not lost"


def test_days_in_text_say_their_whole_year_or_are_missing(caplog):
    day = datetime.date(2024, 1, 5)
    texts = ["2024-01-05", "20240105", " 20240105 ", "2024-1-5", "0024-01-05"]
    lost = ["24-01-05", "24/01/05", "124-01-05 10:00+02", "20241305", "2024010", "202401055"]
    column = Date("x", lower=datetime.date(2000, 1, 1), upper=datetime.date(2030, 1, 1))
    assert codes(column, texts + lost, pa.string()) == [
        *[column.encode(day)] * 4,
        column.code_lower,
        *[None] * len(lost),
    ]
    told = f"t.x: cells that are no day such as 2024-12-31: {len(lost)}; they are missing"
    assert caplog.messages == [told]
    caplog.clear()
    codes(replace(column, null=day), texts + lost, pa.string())
    assert caplog.messages == [told.replace("they are missing", "they count as its null")]
