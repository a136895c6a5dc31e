"""One question, one seed, one key: the same answer to the last digit on every engine."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sqlglot import exp

from discreet import AddRemove
from discreet.data import Category, Decimal, Identifier, Integer, Schema, Table, Text, User
from discreet.data.ask import ask, plan_question
from discreet.data.engines.base import Source
from discreet.data.plan.nodes import Policy
from discreet.testing import unsafe_seeded

SCHEMA = Schema(
    "trips",
    columns=(
        Identifier("who"),
        Category("zone", values=("it's", "b", "c")),
        Integer("km", lower=-5, upper=50),
        Decimal("fare", lower=0, upper=9, grid=Fraction("0.5")),
        Text("note"),
    ),
    unit=User(column="who", max_rows=3, max_groups=2),
    neighbours=AddRemove("who"),
)
STRANGE = ("", "%", "_", "!", "\\", "'", "\u00e9", "\u00c9", "K", "\u212a", "\U0001f600")
ROWS = {
    "who": [f"u{i % 70}" if i % 5 else None for i in range(400)],
    "zone": [("it's", "b", None, "elsewhere")[i % 4] for i in range(400)],
    "km": [None if i % 13 == 0 else (i * 37) % 70 - 10 for i in range(400)],
    "fare": [(i % 23) / 2 for i in range(400)],
    "note": [None if i % 7 == 0 else f"{STRANGE[i % 11]}note {i % 2}" for i in range(400)],
}
QUESTIONS = (
    "SELECT zone, COUNT(*), COUNT(DISTINCT who), SUM(km), AVG(fare) FROM trips GROUP BY ROLLUP(zone)",
    "SELECT STDDEV(km), MEDIAN(fare), SUM(km, contribution_bounds_per_group => (0, 60)) FROM trips "
    "WHERE km > 0",
    "SELECT note, COUNT(*), VAR_POP(fare) FROM trips GROUP BY note",
    "SELECT COUNT(*), COUNT(note) FILTER (WHERE km > 3), COUNTIF(note IS NULL), SUM((km + 2 * fare) % 4) "
    "FROM trips WHERE note IS NOT NULL OR fare > 2",
    "SELECT COUNTIF(note LIKE '!_note_%' ESCAPE '!'), COUNTIF(note NOT LIKE '_note%1'), "
    "COUNTIF(note ILIKE 'kNOTE%'), "
    "COUNTIF(LOWER(note) IN ('\\note 1', '''note 0', '\U0001f600note 1')), COUNTIF(note LIKE '_note 0'), "
    "COUNTIF(note LIKE '\\\\%' ESCAPE '\\'), COUNTIF(note <> '\u00e9note 1') FROM trips",
    "SELECT COALESCE(zone, 'none') AS k, RANGE_BUCKET(km, [0, 9, 30]) AS b, AVG(POWER(fare, 1.5)), "
    "SUM(LN(km + 6)) FROM trips GROUP BY zone, b",
    "SELECT d, COUNT(*), SUM(n), AVG(s), SUM(e), SUM(f) FROM (SELECT who, COUNT(DISTINCT zone) AS d, "
    "COUNT(DISTINCT km) AS e, COUNT(DISTINCT (fare, zone)) FILTER (WHERE km < 30) AS f, COUNT(note) AS n, "
    "SUM(km) FILTER (WHERE note IS NULL OR zone = 'b') AS s FROM trips GROUP BY who) AS t GROUP BY d",
)


@pytest.fixture(autouse=True)
def one_secret(monkeypatch):
    """Which rows of a user count must be the same on every table."""
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")


@pytest.fixture
def one_hash(monkeypatch):
    """Each engine has a hash of its own for the order of a user's rows; here all use the one they share."""
    for name in ("duckdb.DuckDB", "postgres.Postgres", "spark.Spark"):
        monkeypatch.setattr(f"discreet.data.engines.{name}.hash_row", Source.hash_row)


def made(engine: str, folder, request):
    frame = pa.table(ROWS)
    if engine == "postgres":
        dsn = request.getfixturevalue("postgres_dsn")
        with psycopg.connect(dsn, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS trips_raw")
            kinds = "who text, zone text, km bigint, fare double precision, note text"
            connection.execute(f"CREATE TABLE trips_raw ({kinds})")
            cursor = connection.cursor()
            rows = list(zip(*ROWS.values(), strict=True))
            cursor.executemany("INSERT INTO trips_raw VALUES (%s, %s, %s, %s, %s)", rows)
        return dsn, "trips_raw"
    if engine == "spark":
        pq.write_table(frame, folder / "trips.parquet")
        return request.getfixturevalue("spark_session").read.parquet(str(folder / "trips.parquet"))
    return frame


def answers(data):
    policy = Policy(epsilon=Fraction(2), delta=Fraction("1e-2"))
    with Table(data, schema=SCHEMA) as table:
        for text in QUESTIONS:
            prepared = plan_question(text, schemas=SCHEMA, policy=policy)
            answer = ask(prepared, source=table._source, rng=unsafe_seeded(8))
            assert len(answer)
            yield answer.columns, answer.rows


def counted(data):
    """The cells of histograms with their counts, by values; the kept rows are those of one key."""
    with Table(data, schema=SCHEMA) as table:
        made = [table.histogram(), table.histogram(["fare", "zone"], sparse=True)]
        made += table.marginals([["zone"], ["km"]])
        for histogram in made:
            codes, counts = histogram.entries()
            cells = histogram.universe.ravel(codes).tolist()
            yield sorted(zip(map(histogram.universe.record, cells), counts.tolist(), strict=True), key=repr)


def test_histograms_hold_the_kept_rows():
    """Counted in plain Python from the rows the engine keeps."""
    with Table(pa.table(ROWS), schema=SCHEMA) as table:
        rows = table._source.execute(exp.select("zone", "km", "fare").from_("trips"))
    values = [(zone, km, None if fare is None else fare * Fraction("0.5")) for zone, km, fare in rows]
    assert max(Counter(name for name in ROWS["who"] if name).values()) > 3, "nobody is bounded"
    whole, pair, zones, kms = counted(pa.table(ROWS))
    assert dict(whole) == Counter(values)
    assert dict(pair) == Counter((fare, zone) for zone, _, fare in values)
    assert dict(zones) == Counter((zone,) for zone, *_ in values) and ((None,)) in dict(zones)
    assert dict(kms) == Counter((km,) for _, km, _ in values)


@pytest.mark.parametrize("engine", ["postgres", "spark"])
def test_every_engine_counts_what_duckdb_counts(engine, tmp_path, request, one_hash):
    assert list(counted(made(engine, tmp_path, request))) == list(counted(pa.table(ROWS)))


@pytest.mark.parametrize("engine", ["postgres", "spark"])
def test_every_engine_gives_the_answer_of_duckdb(engine, tmp_path, request, one_hash):
    assert list(answers(made(engine, tmp_path, request))) == list(answers(pa.table(ROWS)))


def test_a_list_of_units_is_looked_up_in_memory(postgres_dsn: str) -> None:
    """A server that has little memory for each step would read the list again for every row: for minutes."""
    count = 40_000
    columns = (Identifier("who"), Integer("x", lower=0, upper=9))
    unit = User(column="who", max_rows=1, max_groups=1)
    listed, others = (
        Schema(name, columns=columns, unit=unit, neighbours=AddRemove("who")) for name in ("listed", "others")
    )
    with psycopg.connect(postgres_dsn, autocommit=True) as server:
        for name, step in (("listed", 1), ("others", 2)):
            server.execute(
                f"CREATE TABLE {name} AS SELECT 'user ' || i * {step} AS who, i % 10 AS x "
                f"FROM generate_series(1, {count}) AS i"
            )
    little = f"{postgres_dsn}?options=-c%20work_mem%3D64kB"
    joined = [((little, "others"), others)]
    try:
        with Table((little, "listed"), schema=listed, joined=joined, timeout=10) as table:
            text = "SELECT COUNT(*) FROM listed WHERE who NOT IN (SELECT who FROM others)"
            assert table.sql(text, epsilon=10**9, delta=0).rows == ((count // 2,),)
    finally:
        with psycopg.connect(postgres_dsn, autocommit=True) as server:
            server.execute("DROP TABLE listed, others")
