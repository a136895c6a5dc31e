"""Text is compared byte by byte on every engine, whatever collation the owner's columns have."""

from __future__ import annotations

from collections import Counter

import duckdb
import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot

from discreet import AddRemove
from discreet.data import Category, Identifier, Row, Schema, Table, Text, User

COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"
CASES = tuple(
    f"{a}{b}{c}{d}{e}{f}" for a in "vV" for b in "aA" for c in "lL" for d in "uU" for e in "eE" for f in "sS"
)
LONG = (*CASES, "ann", "Ann", COMPOSED, DECOMPOSED, "cafe", "CAFE")
FEW = ("ann", "Ann", COMPOSED, DECOMPOSED, "back\\slash", "it's")
CELLS = (
    *("ann", "Ann", "ANN", "ann ", "ann\t", COMPOSED, DECOMPOSED, "cafe", "CAFE", "values", "VALUES"),
    *("vAlUeS", "back\\slash", "it's", "stra\u00dfe", "strasse", "\ufb01", "fi", "", " ", "elsewhere", None),
)
SCHEMA = Schema(
    "words",
    columns=(
        Identifier("who"),
        Category("long", values=LONG, other="cafe"),
        Category("few", values=FEW),
        Text("note"),
    ),
    unit=User(column="who", max_rows=3, max_groups=2),
    neighbours=AddRemove("who"),
)


def query(sql):
    return sqlglot.parse_one(sql, read="duckdb")


def expected(cells=CELLS):
    """The relation by the documented rule."""
    return Counter(
        (cell if cell in LONG else "cafe", cell if cell in FEW else None, cell)
        for cell in cells
        if cell is not None
    )


def loaded(data, **more):
    with Table(data, schema=SCHEMA, **more) as table:
        rows = table._source.execute(query('SELECT "long", few, note FROM words'))
        counts = "SELECT COUNT(*) AS n, COUNT(DISTINCT who) AS u, COUNT(DISTINCT note) AS t FROM words"
        ((n, users, notes),) = table._source.execute(query(counts))
        grouped = table._source.execute(query("SELECT note, COUNT(*) AS n FROM words GROUP BY note"))
        again = table._source.execute(
            query("WITH w AS (SELECT note FROM words) SELECT note, COUNT(*) AS n FROM w GROUP BY note")
        )
        same = table._source.execute(
            query("SELECT COUNT(*) AS n FROM words AS a JOIN words AS b ON a.who = b.who")
        )
        cells = table.histogram(["long"]).total
    return Counter(rows), (n, users, notes), dict(grouped), dict(again), same[0][0], cells


def check(data, cells=CELLS):
    present = [cell for cell in cells if cell is not None]
    size = len(present)
    rows, counts, grouped, again, same, total = loaded(data)
    assert rows == expected(cells)
    assert counts == (size, size, size), "every row is there once, and no two users became one"
    assert grouped == again == dict.fromkeys(present, 1)
    assert same == total == size


def insert(connection, kind, cells=CELLS, mark="?"):
    connection.execute(f'CREATE TABLE words (who {kind}, "long" {kind}, few {kind}, note {kind})')
    for cell in cells:
        connection.execute(f"INSERT INTO words VALUES ({', '.join([mark] * 4)})", [cell] * 4)


@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NOCASE.NOACCENT.NFC"])
@pytest.mark.parametrize("by", ["column", "setting", "file"])
def test_duckdb_collations_are_not_met(by, collation, tmp_path):
    stored = tmp_path / "words.duckdb"
    connection = duckdb.connect(stored if by == "file" else ":memory:")
    if by == "setting":
        connection.execute(f"SET default_collation = '{collation}'")
    insert(
        connection,
        "VARCHAR" if by == "setting" else f"VARCHAR COLLATE {collation}",
        (*CELLS, "ann\0", "ann\0b"),
    )
    connection.execute("CREATE VIEW seen AS SELECT * FROM words")
    assert connection.execute("SELECT COUNT(DISTINCT who) FROM words").fetchone() < (len(CELLS) + 1,), "teeth"
    if by == "file":
        connection.close()
    for table in ("words", "main.seen"):
        check((stored if by == "file" else connection, table), (*CELLS, "ann\0", "ann\0b"))


def test_frames_and_files_keep_every_byte(tmp_path):
    cells = (*CELLS, "ann\0", "ann\0b")
    frame = pa.table({name: pa.array(cells) for name in ("who", "long", "few", "note")})
    pq.write_table(frame, tmp_path / "words.parquet")
    for data in (frame, frame.to_pandas(), str(tmp_path / "words.parquet")):
        check(data, cells)


@pytest.fixture
def server(postgres_dsn):
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        yield connection
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


@pytest.mark.parametrize("kind", ["text", "varchar(20)", "word"])
def test_postgres_collations_are_not_met(server, postgres_dsn, kind):
    server.execute(
        "CREATE COLLATION loose (provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
    )
    server.execute("CREATE DOMAIN word AS text COLLATE loose CHECK (length(VALUE) < 99)")
    insert(server, kind if kind == "word" else f"{kind} COLLATE loose", mark="%s")
    server.execute("CREATE VIEW seen AS SELECT * FROM words")
    assert server.execute("SELECT COUNT(DISTINCT who) FROM words").fetchone() < (len(CELLS) - 1,), "teeth"
    for table in ("words", "public.seen"):
        check((postgres_dsn, table))


def test_blanks_at_the_end_of_char_are_padding_not_text(server, postgres_dsn):
    """CHAR(n) stores 'ann' and 'ann ' alike: one user, whose rows stay two."""
    server.execute('CREATE TABLE words (who char(8), "long" char(8), few char(8), note char(8))')
    for cell in ("ann", "ann  ", "Ann"):
        server.execute("INSERT INTO words VALUES (%s, %s, %s, %s)", [cell] * 4)
    rows, counts, *_ = loaded((postgres_dsn, "words"))
    assert rows == {("ann",) * 3: 2, ("Ann",) * 3: 1} and counts == (3, 2, 2)


def test_spark_collations_are_not_met(spark_session, tmp_path):
    cells = (*CELLS, "ann\0", "ann\0b")
    frame = pa.table({name: pa.array(cells) for name in ("who", "long", "few", "note")})
    pq.write_table(frame, tmp_path / "words.parquet")
    plain = spark_session.read.parquet(str(tmp_path / "words.parquet"))
    check(plain, cells)
    for collation in ("UTF8_LCASE", "UNICODE_CI_AI_RTRIM"):
        collated = plain.selectExpr(*(f"COLLATE({name}, '{collation}') AS {name}" for name in plain.columns))
        assert collated.select("who").distinct().count() < len(cells), "teeth"
        check(collated, cells)


def test_spark_text_that_is_no_utf_8_is_one_group(spark_session):
    """Bytes that Python cannot tell apart are made one text before they are counted, not after."""
    frame = spark_session.sql(
        "SELECT CAST(b AS STRING) AS who, 'ann' AS long, 'ann' AS few, CAST(b AS STRING) AS note "
        "FROM VALUES (X'FF'), (X'FE'), (X'FE'), (X'61') AS t(b)"
    )
    with Table(frame, schema=SCHEMA) as table:
        grouped = table._source.execute(query("SELECT note, COUNT(*) AS n FROM words GROUP BY note"))
    assert sorted(grouped) == [("a", 1), ("\ufffd", 3)]


@pytest.mark.parametrize("engine", ["duckdb", "spark"])
def test_single_floats_do_not_meet_two_whole_numbers(engine, request):
    """As 32-bit floats 2**24 and 2**24 + 1 are equal: a join on that would count a row twice."""
    values = tuple(2**24 + k for k in range(40))
    schema = Schema("t", columns=(Category("x", values=values),), unit=Row(), neighbours=AddRemove("row"))
    data = pa.table({"x": pa.array([float(2**24), float(2**24 + 2), 0.5], type=pa.float32())})
    if engine == "spark":
        rows = "FROM VALUES (16777216), (16777218), (0.5) AS t(x)"
        data = request.getfixturevalue("spark_session").sql(f"SELECT CAST(x AS FLOAT) AS x {rows}")
    with Table(data, schema=schema) as table:
        rows = table._source.execute(query("SELECT x FROM t"))
    assert sorted(rows, key=repr) == [(2**24,), (2**24 + 2,), (None,)]
