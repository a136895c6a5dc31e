"""Numbers and moments mean the same on every engine: decimals as they are written, days in UTC."""

from __future__ import annotations

import datetime
import math
from decimal import Decimal as Exact
from fractions import Fraction

import duckdb
import psycopg
import pyarrow as pa
import pytest
import sqlglot
from hypothesis import example, given, settings
from hypothesis import strategies as st

from discreet import AddRemove
from discreet.data import Date, Decimal, Integer, Row, Schema, Table

WRITTEN = (
    "73.335",
    "-73.335",
    "0.285",
    "1.005",
    "-1.005",
    "2.675",
    "0.015",
    "-0.015",
    "0.005",
    "-0.005",
    "0",
)
CENTS = Schema(
    "t",
    columns=(Decimal("x", lower=-100, upper=100, grid=Fraction(1, 100)),),
    unit=Row(),
    neighbours=AddRemove("row"),
)
UPWARDS = [7334, -7333, 29, 101, -100, 268, 2, -1, 1, 0, 0]


def query(sql):
    return sqlglot.parse_one(sql, read="duckdb")


def codes(data, schema):
    with Table(data, schema=schema) as table:
        return [row[0] for row in table._source.execute(query(f"SELECT {schema.columns[0].name} FROM t"))]


def test_half_way_decimals_are_rounded_as_they_are_written(tmp_path):
    assert [math.floor(Fraction(one) * 100 + Fraction(1, 2)) for one in WRITTEN] == UPWARDS
    assert [math.floor(float(one) * 100 + 0.5) for one in WRITTEN] != UPWARDS, "binary numbers would not do"
    cells = [Exact(one) for one in WRITTEN]
    for kind in (pa.decimal128(6, 3), pa.decimal128(38, 30), pa.string()):
        column = pa.array(WRITTEN if kind == pa.string() else cells, type=kind)
        assert codes(pa.table({"x": column}), CENTS) == UPWARDS, kind
    (tmp_path / "t.csv").write_text("\n".join(["x", *WRITTEN]) + "\n")
    assert codes(tmp_path / "t.csv", CENTS) == UPWARDS


def test_postgres_rounds_decimals_as_they_are_written(postgres_dsn):
    thirds = Schema(
        "t",
        columns=(Decimal("x", lower=-99, upper=99, grid=Fraction(3, 7)),),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    with psycopg.connect(postgres_dsn, autocommit=True) as server:
        server.execute("CREATE TABLE halves (x numeric)")
        for one in WRITTEN:
            server.execute("INSERT INTO halves VALUES (%s)", [one])
        assert sorted(codes((postgres_dsn, "halves"), CENTS)) == sorted(UPWARDS)
        sevenths = [math.floor(Fraction(one) * 7 / 3 + Fraction(1, 2)) for one in WRITTEN]
        assert sorted(codes((postgres_dsn, "halves"), thirds)) == sorted(sevenths)
        server.execute("DROP TABLE halves")


def test_spark_rounds_decimals_as_they_are_written(spark_session):
    values = ", ".join(f"({one}BD)" for one in WRITTEN)
    for kind in ("decimal(6, 3)", "decimal(38, 10)"):
        frame = spark_session.sql(f"SELECT CAST(x AS {kind}) AS x FROM VALUES {values} AS t(x)")
        assert sorted(codes(frame, CENTS)) == sorted(UPWARDS), kind
    schema = Schema(
        "t",
        columns=(Decimal("x", lower=-(10**9), upper=10**9, grid=Fraction("0.000025")),),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    frame = spark_session.sql(
        "SELECT CAST((id * 7919 % 1000003) * 977.0000125BD - 400000000 AS decimal(38, 10)) AS x "
        "FROM range(500)"
    )
    cells = [row.x for row in frame.collect()]
    wanted = [math.floor(Fraction(cell) / Fraction("0.000025") + Fraction(1, 2)) for cell in cells]
    assert sorted(codes(frame, schema)) == sorted(wanted)


@settings(max_examples=30, deadline=None)
@given(
    cells=st.lists(st.decimals(-(10**8), 10**8, places=6), max_size=30),
    grid=st.sampled_from(["0.000001", "0.01", "0.25", "3", "1/3", "0.000002", "2500"]),
)
@example(cells=[Exact("0.125"), Exact("-0.125"), Exact("0.375"), Exact("99999999.999999")], grid="0.25")
def test_decimals_become_the_nearest_step(cells, grid):
    step = Fraction(grid)
    top = 10**6 * step
    column = Decimal("x", lower=-top, upper=top, grid=step)
    schema = Schema("t", columns=(column,), unit=Row(), neighbours=AddRemove("row"))
    wanted = [min(max(math.floor(Fraction(cell) / step + Fraction(1, 2)), -(10**6)), 10**6) for cell in cells]
    assert codes(pa.table({"x": pa.array(cells, type=pa.decimal128(15, 6))}), schema) == wanted
    assert codes(pa.table({"x": pa.array(list(map(str, cells)), type=pa.string())}), schema) == wanted


@settings(max_examples=20, deadline=None)
@given(
    cells=st.lists(st.integers(-(2**63), 2**63 - 1), max_size=20), grid=st.sampled_from([1, 2, 7, 10, 2**40])
)
@example(cells=[5, -5, 15, -15, 4, -4, 6, -6, 2**53 + 1, -(2**53) - 1], grid=10)
def test_whole_numbers_become_the_nearest_step(cells, grid):
    top = 2**53 // grid * grid
    schema = Schema(
        "t",
        columns=(Integer("x", lower=-top, upper=top, grid=grid),),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    wanted = [math.floor(Fraction(min(max(cell, -top), top), grid) + Fraction(1, 2)) for cell in cells]
    assert codes(pa.table({"x": pa.array(cells, type=pa.int64())}), schema) == wanted


MOMENTS = {
    "2020-03-01": "2020-03-01",
    "2020-03-01 00:30:00": "2020-03-01",
    "2020-03-01T23:59:59.999999": "2020-03-01",
    "2020-03-01T00:30:00Z": "2020-03-01",
    "2020-03-01 00:30:00+02": "2020-02-29",
    "2020-03-01T00:30:00+02:00": "2020-02-29",
    "2020-03-01 00:30+0530": "2020-02-29",
    "2020-03-01 23:30:00-01": "2020-03-02",
    "2020-03-01 23:30:00.5-01:00": "2020-03-02",
    "2020-12-31 22:30:00-08": "2021-01-01",
    "2020-03-01 00:30:00 UTC": "2020-03-01",
    "2020-03-01 23:30:00 America/New_York": "2020-03-02",
    "05/01/2024": None,
    "2020-03-01 00:30:00+99:99 nowhere": None,
    "": None,
}
DAYS = Schema(
    "t",
    columns=(Date("x", lower=datetime.date(2020, 1, 1), upper=datetime.date(2021, 12, 31)),),
    unit=Row(),
    neighbours=AddRemove("row"),
)


@pytest.mark.parametrize("zone", ["UTC", "Pacific/Auckland", "America/Los_Angeles"])
def test_moments_in_text_are_cut_to_their_day_in_utc(zone, tmp_path, monkeypatch):
    monkeypatch.setenv("TZ", zone)
    wanted = [
        None if one is None else DAYS.columns[0].encode(datetime.date.fromisoformat(one))
        for one in MOMENTS.values()
    ]
    (tmp_path / "t.csv").write_text("\n".join(["x,y", *(f"{one},1" for one in MOMENTS)]) + "\n")
    assert codes(tmp_path / "t.csv", DAYS) == wanted
    assert codes(pa.table({"x": list(MOMENTS)}), DAYS) == wanted
    owner = duckdb.connect()
    owner.execute(f"SET TimeZone = '{zone}'")
    owner.execute("CREATE TABLE t AS SELECT unnest(?) AS x", [list(MOMENTS)])
    assert codes((owner, "t"), DAYS) == wanted
