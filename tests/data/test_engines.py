"""The same queries on every engine give the same bytes, and the bytes a plain Python reading gives."""

from __future__ import annotations

import csv
import datetime
import hashlib
import math
import threading
from collections import Counter, defaultdict
from dataclasses import replace
from decimal import Decimal as Exact
from fractions import Fraction
from pathlib import Path

import duckdb
import pandas as pd
import polars as pl
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot

from discreet import AddRemove
from discreet.data import (
    Boolean,
    Category,
    Date,
    Decimal,
    Dimension,
    Identifier,
    Integer,
    Schema,
    Table,
    Text,
    User,
)
from discreet.data.engines import base
from discreet.data.engines.rendering.render import render
from discreet.data.plan.facts import facts
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse

ENGINES = ("duckdb", "csv", "parquet", "pandas", "polars", "arrow", "postgres", "spark")
DAY = datetime.date
UTC = datetime.UTC
ODD = ("north", "it's", 'say "hi"', "back\\slash", "semi;--", "snö", "percent%s", "{brace}", "new $$ dollar")
LONG = tuple(f"code{k}" for k in range(200))

SCHEMA = Schema(
    "visits",
    columns=(
        Identifier("user_id"),
        Integer("age", lower=0, upper=120),
        Integer("decade", lower=-50, upper=150, grid=10, null=0),
        Decimal("spent", lower=-10, upper=500, grid=0.01),
        Decimal("price", lower=0, upper=99.5, grid=0.25, null=0),
        Boolean("member", null=False),
        Date("day", lower=DAY(2020, 1, 1), upper=DAY(2021, 12, 31)),
        Date("moment", lower=DAY(2020, 1, 1), upper=DAY(2021, 12, 31), null=DAY(2020, 1, 1)),
        Category("region", values=ODD, other="north"),
        Category("store", values=(1, 2, 3)),
        Category("code", values=LONG, other="code7", null="code0"),
        Text("note"),
    ),
    unit=User(column="user_id", max_rows=3, max_groups=2),
    neighbours=AddRemove("user_id"),
    dimensions=(
        Dimension(
            "stores",
            key="store",
            columns=(Category("store", values=(1, 2, 3)), Category("city", values=("york", "leeds"))),
        ),
    ),
)
DIMENSION = [{"store": 1, "city": "york"}, {"store": 2, "city": "leeds"}, {"store": 3, "city": "york"}]

TYPES = {
    "user_id": (pa.string(), "text"),
    "age": (pa.int64(), "bigint"),
    "decade": (pa.float64(), "double precision"),
    "spent": (pa.float64(), "double precision"),
    "price": (pa.decimal128(38, 10), "numeric"),
    "member": (pa.bool_(), "boolean"),
    "day": (pa.date32(), "date"),
    "moment": (pa.timestamp("us", tz="UTC"), "timestamptz"),
    "region": (pa.string(), "text"),
    "store": (pa.int32(), "integer"),
    "code": (pa.string(), "varchar(40)"),
    "note": (pa.string(), "text"),
    "undeclared": (pa.string(), "text"),
}

AGES = (30, None, 0, 120, 121, -1, 2**63 - 1, -(2**63), 47)
REALS = (
    0.29,
    math.nan,
    math.inf,
    -math.inf,
    -0.0,
    5e-324,
    1.7976931348623157e308,
    2.0**53 + 2,
    None,
    0.285,
    12.345,
    -3.005,
)
PRICES = (
    Exact("1.125"),
    None,
    Exact("-4"),
    Exact("1e27"),
    Exact("99.49"),
    Exact("-1e27"),
    Exact("0.1249999999"),
)
DAYS = (DAY(2020, 1, 1), None, DAY(1, 1, 1), DAY(9999, 12, 31), DAY(2021, 6, 5), DAY(2020, 2, 29))
MOMENTS = (
    datetime.datetime(2020, 12, 31, 23, 59, 59, 999999, tzinfo=UTC),
    None,
    datetime.datetime(2021, 1, 1, tzinfo=UTC),
    datetime.datetime(1969, 12, 31, 1, tzinfo=UTC),
    datetime.datetime(2261, 1, 1, tzinfo=UTC),
)


def _pick(choices, k):
    return choices[k % len(choices)]


ROWS = [
    {
        "user_id": None if k % 37 == 5 else f"u{k % 11}" if k % 3 else "Heavy ",
        "age": _pick(AGES, k),
        "decade": _pick(REALS, k * 7 + 1) if k % 2 else float(k - 60),
        "spent": _pick(REALS, k),
        "price": _pick(PRICES, k),
        "member": _pick((True, False, None), k),
        "day": _pick(DAYS, k),
        "moment": _pick(MOMENTS, k),
        "region": _pick((*ODD, None, "elsewhere", "NORTH", "north "), k),
        "store": _pick((1, 2, 3, None, 4, -1), k),
        "code": _pick((*LONG[:50], None, "nothing declared"), k * 3),
        "note": _pick(("a", None, "snö ☃", "CANARY-note"), k),
        "undeclared": "CANARY-undeclared",
    }
    for k in range(400)
]


def expected() -> list[tuple[object, ...]]:
    """The relation of codes, by the rule of the documentation."""
    rows = [row for row in ROWS if row["user_id"] is not None]
    return [tuple(_code(column, row[column.name]) for column in SCHEMA.columns) for row in rows]


def _code(column, value):
    null = getattr(column, "null", None)
    missing = None if null is None else column.encode(null)
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return missing
    if isinstance(column, Integer | Decimal):
        if value <= column.lower:
            return column.code_lower
        if value >= column.upper:
            return column.code_upper
        exact = isinstance(value, int | Exact)
        steps = (Fraction(value) if exact else float(value)) * column.grid.denominator / column.grid.numerator
        return math.floor(steps + (Fraction(1, 2) if exact else 0.5))
    if isinstance(column, Date):
        day = value.date() if isinstance(value, datetime.datetime) else value
        return column.encode(min(max(day, column.lower), column.upper))
    if isinstance(column, Category):
        if value in column.values:
            return value
        return missing if column.other is None else column.other
    return int(value) if isinstance(value, bool) else value


def arrow_table() -> pa.Table:
    return pa.table({name: pa.array(column, type=TYPES[name][0]) for name, column in columns().items()})


def columns() -> dict[str, list[object]]:
    return {name: [row[name] for row in ROWS] for name in ROWS[0]}


def write_csv(path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as stream:
        writer = csv.writer(stream)
        writer.writerow(ROWS[0])
        writer.writerows([_written(cell) for cell in row.values()] for row in ROWS)


def _written(cell):
    """Write a number out in full: text is rounded as it is written, doubles as they are."""
    if isinstance(cell, float) and math.isfinite(cell):
        return f"{Exact(cell):f}"
    return "" if cell is None else cell


def fill_postgres(dsn: str) -> None:
    with psycopg.connect(dsn) as connection:
        connection.execute("DROP TABLE IF EXISTS visits_raw")
        connection.execute("DROP TABLE IF EXISTS stores_raw")
        kinds = ", ".join(f'"{name}" {TYPES[name][1]}' for name in ROWS[0])
        connection.execute(f"CREATE TABLE visits_raw ({kinds})")
        marks = ", ".join(["%s"] * len(ROWS[0]))
        cursor = connection.cursor()
        cursor.executemany(f"INSERT INTO visits_raw VALUES ({marks})", [tuple(row.values()) for row in ROWS])
        connection.execute("CREATE TABLE stores_raw (store int, city text)")
        cursor.executemany(
            "INSERT INTO stores_raw VALUES (%s, %s)", [tuple(row.values()) for row in DIMENSION]
        )


@pytest.fixture(scope="session")
def inputs(tmp_path_factory, request):
    """Return, by engine, the data of the private and the public table."""
    folder = tmp_path_factory.mktemp("engines")
    arrow, stores = arrow_table(), pa.Table.from_pylist(DIMENSION)

    def made(engine):
        if engine == "duckdb":
            connection = duckdb.connect()
            connection.register("arrow", arrow)
            connection.execute("CREATE TABLE visits_raw AS SELECT * FROM arrow")
            return (connection, "visits_raw"), stores
        if engine == "csv":
            write_csv(folder / "visits.csv")
            return folder / "visits.csv", stores
        if engine in ("parquet", "spark"):
            pq.write_table(arrow, folder / "visits.parquet")
        if engine == "parquet":
            return str(folder / "visits.parquet"), stores
        if engine == "spark":
            read = request.getfixturevalue("spark_session").read.parquet
            pq.write_table(stores, folder / "stores.parquet")
            return read(str(folder / "visits.parquet")), read(str(folder / "stores.parquet"))
        if engine == "postgres":
            dsn = request.getfixturevalue("postgres_dsn")
            fill_postgres(dsn)
            return (dsn, "visits_raw"), (dsn, "public.stores_raw")
        if engine == "pandas":
            return arrow.to_pandas(), pd.DataFrame(DIMENSION)
        return (pl.from_arrow(arrow), pl.DataFrame(DIMENSION)) if engine == "polars" else (arrow, stores)

    return made


@pytest.fixture(params=ENGINES)
def table(request, inputs):
    """The shared table on each engine, all rows of every user."""
    data, stores = inputs(request.param)
    whole = replace(SCHEMA, unit=replace(SCHEMA.unit, max_rows=len(ROWS)))
    with Table(data, schema=whole, dimensions={"stores": stores}) as opened:
        yield opened


NAMES = [column.name for column in SCHEMA.columns]

SUMS = """
SELECT region, store, COUNT(*) AS n, COUNT(spent) AS present, COUNT(DISTINCT user_id) AS users,
       COALESCE(SUM(CAST(spent AS DECIMAL(38, 0))), 0) AS total
FROM {relation} GROUP BY region, store
"""


def query(sql):
    return sqlglot.parse_one(sql, read="duckdb")


def run(table, sql):
    return sorted(table._source.execute(query(sql)), key=repr)


def digest(rows):
    return hashlib.sha256(repr(sorted(rows, key=repr)).encode()).hexdigest()


def sums(rows):
    """The same aggregates in plain Python."""
    groups = defaultdict(list)
    for row in rows:
        cells = dict(zip(NAMES, row, strict=True))
        groups[cells["region"], cells["store"]].append((cells["user_id"], cells["spent"]))
    return [
        (
            *key,
            len(cells),
            sum(spent is not None for _, spent in cells),
            len({user for user, _ in cells}),
            sum(spent or 0 for _, spent in cells),
        )
        for key, cells in groups.items()
    ]


def by_user(rows):
    """The rows of each user, whatever the users are called: an engine may number them."""
    users = defaultdict(list)
    for user, *cells in rows:
        users[user].append(repr(cells))
    return sorted(sorted(cells) for cells in users.values())


@pytest.mark.parametrize("engine", ENGINES)
def test_a_user_has_few_rows_numbered_from_1_on(engine, inputs):
    data, stores = inputs(engine)
    with Table(data, schema=SCHEMA, dimensions={"stores": stores}) as few:
        rows = run(few, f"SELECT {', '.join(NAMES)} FROM visits")
        places = run(few, "SELECT user_id, discreet_place FROM visits")
    wanted = Counter(row[0] for row in expected())
    assert max(wanted.values()) > 3, "nobody is bounded"
    assert sorted(Counter(row[0] for row in rows).values()) == sorted(min(3, n) for n in wanted.values())
    numbers = defaultdict(list)
    for user, place in places:
        numbers[user].append(place)
    assert all(sorted(found) == list(range(1, len(found) + 1)) for found in numbers.values())
    whole, kept = Counter(repr(row[1:]) for row in expected()), Counter(repr(row[1:]) for row in rows)
    assert kept <= whole


def test_every_engine_gives_the_same_bytes(table):
    rows = expected()
    loaded = run(table, f"SELECT {', '.join(NAMES)} FROM visits")
    for place, name in enumerate(NAMES[1:], start=1):
        assert Counter(row[place] for row in loaded) == Counter(row[place] for row in rows), name
    assert by_user(loaded) == by_user(rows)
    assert digest(run(table, SUMS.format(relation="visits"))) == digest(sums(rows))

    kept = [row for row in rows if (row[1] or 0) > 30]
    assert by_user(run(table, f"SELECT {', '.join(NAMES)} FROM visits WHERE age > 30")) == by_user(kept)

    joined = run(
        table,
        "WITH v AS (SELECT * FROM visits WHERE age >= 30 OR region IN ('it''s', 'back\\slash')) "
        "SELECT s.city, COUNT(*) AS n FROM v JOIN stores AS s ON v.store = s.store GROUP BY s.city",
    )
    cells = [dict(zip(NAMES, row, strict=True)) for row in rows]
    city = {1: "york", 2: "leeds", 3: "york"}
    wanted = Counter(
        city[row["store"]]
        for row in cells
        if row["store"] and ((row["age"] or 0) >= 30 or row["region"] in ("it's", "back\\slash"))
    )
    assert joined == sorted(wanted.items())


def test_sums_do_not_wrap(table):
    big = " * ".join(["CAST(1000000000 AS DECIMAL(38, 0))"] * 3)
    ((total,),) = run(table, f"SELECT SUM(CAST({big} AS DECIMAL(38, 0))) AS total FROM visits")
    assert total == 10**27 * len(expected())


PLANS = (
    "SELECT COUNT(*) FROM visits",
    "SELECT region, COUNT(*), SUM(spent), AVG(age) FROM visits WHERE age > 17 AND NOT member GROUP BY region",
    "SELECT store, COUNT(DISTINCT user_id), SUM(price * 2 - age) FROM visits GROUP BY CUBE (store, region)",
    "SELECT city, STDDEV(spent) FROM visits JOIN stores ON visits.store = stores.store GROUP BY city",
    "SELECT COUNT(*) FROM visits WHERE region LIKE '%s%' OR day BETWEEN DATE '2020-02-01' AND '2021-01-01'",
    "SELECT member, PERCENTILE_CONT(spent, 0.5) FROM visits WHERE spent IS NOT NULL GROUP BY member",
)


def planned(table):
    """Run each plan as the compiler renders it."""
    tables, answers = PlanTables.of(table.schemas), []
    for text in PLANS:
        known = facts(parse(text, schemas=tables, policy=Policy(epsilon=1, delta=0)), tables)
        queries = render(known)
        answers += [(text, digest(table._source.execute(query.tree))) for query in queries]
    return answers


@pytest.mark.parametrize("engine", ENGINES)
def test_every_plan_gives_the_same_bytes(engine, inputs, monkeypatch):
    """With one secret, and with the hash that the engines share."""
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")
    for name in ("duckdb.DuckDB", "postgres.Postgres", "spark.Spark"):
        monkeypatch.setattr(f"discreet.data.engines.{name}.hash_row", base.Source.hash_row)
    answers = []
    for one in ("arrow", engine):
        data, stores = inputs(one)
        with Table(data, schema=SCHEMA, dimensions={"stores": stores}) as opened:
            answers.append(planned(opened))
    assert len({one for _, one in answers[0]}) > len(PLANS), "the answers are not all alike"
    assert answers[0] == answers[1]


def test_two_threads_ask_at_once(table):
    """Each is answered what it asked, whatever the other one asks meanwhile."""
    wrong, barrier = [], threading.Barrier(2, timeout=120)

    def work(mine):
        try:
            for turn in range(3):
                barrier.wait()
                added = 10 * mine + turn
                found = run(table, f"SELECT COUNT(*) + {added} AS n FROM visits")
                if found != [(rows + added,)]:
                    wrong.append(found)
        except BaseException as error:  # told by the main thread
            wrong.append(error)
            barrier.abort()

    ((rows,),) = run(table, "SELECT COUNT(*) AS n FROM visits")
    threads = [threading.Thread(target=work, args=(mine,)) for mine in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
