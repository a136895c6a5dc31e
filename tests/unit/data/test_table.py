"""Tables are made of files, frames and connections as their schema says, and templates of types alone."""

from __future__ import annotations

import dataclasses
import importlib
import subprocess
import sys
import threading
import traceback

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlglot

from discreet import AddRemove
from discreet.core.errors import EngineFailed, InvalidParameter, MissingExtra
from discreet.data import (
    Boolean,
    Category,
    Date,
    Decimal,
    Dimension,
    Identifier,
    Integer,
    Row,
    Schema,
    Table,
    Text,
    User,
)
from discreet.data.engines import open_source
from discreet.data.template import template

CANARY = "CANARY7f3a"
ROWS = Row()
NOTES = Schema(
    "notes",
    columns=(Integer("age", lower=0, upper=100), Category("region", values=("n", "s")), Text("note")),
    unit=ROWS,
    neighbours=AddRemove("row"),
)
FRAME = {"age": [1, 50, 300], "region": ["n", CANARY, None], "note": [CANARY, CANARY + "2", None]}


def query(sql):
    return sqlglot.parse_one(sql, read="duckdb")


class Forbidden:
    """A cell that must not be looked at."""

    def __str__(self):
        raise AssertionError("a value was read")

    __repr__ = __bool__ = __float__ = __int__ = __eq__ = __hash__ = __len__ = __str__


def test_template_reads_names_and_types_only(tmp_path):
    frame = pd.DataFrame({"age": [1], "pay": [1.5], "who": ["x"], "ok": [True], "odd name": [1]})
    frame["when"] = pd.to_datetime(["2020-01-01"])
    frame["kind"] = pd.Categorical([CANARY])
    frame["secret"] = pd.Series([Forbidden()], dtype=object)
    text = template(frame, name="people")
    assert CANARY not in text
    for line in (
        'name = "people"',
        "[columns.age]",
        "[columns.when]",
        "[columns.secret]",
        "# DOUBLE",
        "# ENUM",
    ):
        assert line in text
    assert '"odd name" (BIGINT) cannot be declared' in text
    assert "cannot be declared: put commas between its names" in template(
        pd.DataFrame({"age;ward": [1]}), name="people"
    )
    nested = pd.DataFrame({"secret": frame["secret"]})
    nested["nested"] = pd.Series([[1]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
    assert "The column nested is of type BIGINT[], which cannot be declared" in template(
        nested, name="people"
    )
    other = frame.drop(columns="secret").assign(age=[99], who=[CANARY], kind=pd.Categorical(["other"]))
    assert template(frame.drop(columns="secret"), name="people") == template(other, name="people")
    path = tmp_path / "people.csv"
    path.write_text(f"age,who\n{CANARY},{CANARY}\n")
    assert CANARY not in template(path, name="people") and "[columns.who]" in template(path, name="people")


def test_template_becomes_a_schema_once_filled_in(tmp_path):
    text = template(pd.DataFrame({"age": [1], "region": ["n"], "ok": [True]}), name="people")
    path = tmp_path / "unfilled.toml"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match="valid TOML"):
        Table(pd.DataFrame(), schema=path)
    filled = text.replace("lower = ", "lower = 0 ").replace("upper = ", "upper = 9 ").replace("[]", '["n"]')
    path = tmp_path / "people.toml"
    path.write_text(filled)
    with Table(pd.DataFrame({"age": [12], "region": ["n"], "ok": [True]}), schema=path) as table:
        assert table._source.execute(query("SELECT age, region, ok FROM people")) == [(9, "n", 1)]


def test_csv_types_come_from_the_schema(tmp_path):
    schema = Schema(
        "t",
        columns=(
            Decimal("x", lower=0, upper=10, grid=0.5),
            Boolean("b"),
            Date("d", lower=pd.Timestamp("2020-01-01").date(), upper=pd.Timestamp("2020-12-31").date()),
            Category("c", values=(1, 2), other=2),
        ),
        unit=ROWS,
        neighbours=AddRemove("row"),
    )
    path = tmp_path / "t.csv"
    lines = [
        "x,b,d,c",
        "2.26,true,2020-01-02,1",
        f"{CANARY},{CANARY},{CANARY},{CANARY}",
        ",,,",
        "inf,0,1999-01-01,7",
    ]
    path.write_text("\n".join(lines) + "\n")
    with Table(path, schema=schema) as table:
        assert table._source.execute(query("SELECT x, b, d, c FROM t")) == [
            (5, 1, 18263, 1),
            (None, None, None, None),
            (None, None, None, None),
            (20, 0, 18262, 2),
        ]
    path.write_text("x,b,d,c\n1,true\n" + CANARY)
    with pytest.raises(EngineFailed) as caught:
        Table(path, schema=schema)
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_reads_files_frames_and_connections(tmp_path):
    frame = pd.DataFrame(FRAME)
    frame.to_csv(tmp_path / "n.csv.gz", index=False)
    arrow = pa.table(FRAME)
    for part in range(3):
        pq.write_table(arrow.slice(part, 1), tmp_path / f"part{part}.parquet")
    stored = tmp_path / "n.duckdb"
    with duckdb.connect(str(stored)) as connection:
        connection.execute("CREATE SCHEMA deep")
        connection.execute("CREATE TABLE deep.n AS SELECT * FROM arrow")
    live = duckdb.connect()
    live.execute("CREATE TABLE n AS SELECT * FROM arrow")
    reading = live.execute("SELECT age FROM n ORDER BY age")
    for data in (
        tmp_path / "n.csv.gz",
        str(tmp_path / "part*.parquet"),
        arrow,
        pl.DataFrame(FRAME),
        pl.LazyFrame(FRAME),
        (stored, "deep.n"),
        (live, "n"),
    ):
        with Table(data, schema=NOTES) as table:
            assert table._source.execute(query("SELECT SUM(age) AS s, COUNT(region) AS r FROM notes")) == [
                (151, 1)
            ]
    assert reading.fetchall() == [(1,), (50,), (300,)], "the owner's connection is not disturbed"
    live.execute("SET threads = 1")


@pytest.mark.parametrize(
    "data",
    [
        "none.parquet",
        "/etc/passwd",
        "http://169.254.169.254/x.csv",
        "s3://bucket/x.parquet",
        "data.pkl",
        "*.parquet",
        {"age": [1]},
        [1, 2],
        None,
        42,
        ("none.duckdb", "t"),
        ("a", "b", "c"),
        (object(), "t"),
    ],
)
def test_what_cannot_be_read_is_refused(data):
    with pytest.raises(InvalidParameter):
        Table(data, schema=NOTES)


def test_columns_and_types_that_do_not_fit():
    wrong = Schema("t", columns=(Boolean("flag"),), unit=ROWS, neighbours=AddRemove("row"))
    with pytest.raises(InvalidParameter, match="a column flag"):
        Table(pd.DataFrame(FRAME), schema=wrong)
    with pytest.raises(InvalidParameter, match=r"t\.flag must be of a type that reads as Boolean"):
        Table(pd.DataFrame({"flag": pd.to_datetime(["2020-01-01"])}), schema=wrong)
    ids = Schema("t", columns=(Identifier("id"),), unit=ROWS, neighbours=AddRemove("row"))
    with pytest.raises(InvalidParameter, match="DOUBLE"):
        Table(pd.DataFrame({"id": [1.0, None]}), schema=ids)
    with pytest.raises(InvalidParameter, match="schema must be"):
        Table(pd.DataFrame(FRAME), schema={"name": "t"})


def users(name, **more):
    return Schema(
        name,
        columns=(Identifier("who"), Category("town", values=(1, 2))),
        unit=User(column="who", max_rows=1, max_groups=1),
        neighbours=AddRemove("who"),
        **more,
    )


def test_ids_are_bytes_and_rows_without_one_are_left_out():
    frame = pd.DataFrame({"who": ["a", "A", "a ", "", None], "town": [1] * 5})
    with Table(frame, schema=users("t")) as table:
        assert table._source.execute(query("SELECT COUNT(DISTINCT who) AS n, COUNT(*) AS m FROM t")) == [
            (4, 4)
        ]
    by_row = Schema("t", columns=users("t").columns, unit=ROWS, neighbours=AddRemove("row"))
    with Table(frame, schema=by_row) as table:
        assert table._source.execute(query("SELECT COUNT(*) AS m FROM t")) == [(5,)], "here a row is a row"


def test_public_tables_need_unique_keys():
    towns = Dimension("towns", key="town", columns=(Category("town", values=(1, 2)), Boolean("north")))
    schema = users("t", dimensions=(towns,))
    data = pd.DataFrame({"who": ["a"], "town": [1]})
    good = pd.DataFrame({"town": [1, 2], "north": [True, False]})
    with Table(data, schema=schema, dimensions={"towns": good}) as table:
        joined = "SELECT north, COUNT(*) AS n FROM t JOIN towns ON t.town = towns.town GROUP BY north"
        assert table._source.execute(query(joined)) == [(1, 1)]
    for keys in ([1, 1], [1, None], [1, 3]):
        bad = pd.DataFrame({"town": keys, "north": [True, False]})
        with pytest.raises(InvalidParameter, match=r"towns\.town must be unique"):
            Table(data, schema=schema, dimensions={"towns": bad})
    for given in ({}, {"cities": good}, {"towns": good, "cities": good}):
        with pytest.raises(InvalidParameter, match="exactly the declared public tables"):
            Table(data, schema=schema, dimensions=given)


def test_public_tables_are_declared_alike():
    towns = Dimension("towns", key="town", columns=(Category("town", values=(1, 2)),))
    other = Dimension("towns", key="town", columns=(Category("town", values=(1, 2, 3)),))
    data = pd.DataFrame({"who": ["a"], "town": [1]})
    with pytest.raises(InvalidParameter, match="declared alike"):
        Table(
            data,
            schema=users("one", dimensions=(towns,)),
            joined=[(data, users("two", dimensions=(other,)))],
            dimensions={"towns": data},
        )


def test_booleans_and_long_lists_from_numbers():
    schema = Schema(
        "t",
        columns=(
            Boolean("flag"),
            Boolean("real", null=True),
            Category("few", values=(1, 2), other=2),
            Category("many", values=tuple(range(50)), other=7),
            Category("listed", values=tuple(range(50)), null=3),
        ),
        unit=ROWS,
        neighbours=AddRemove("row"),
    )
    cells = [0, 1, 2, None, -1]
    nan = [0.0, 1.0, 2.5, float("nan"), None]
    data = pa.table({"flag": cells, "real": nan, "few": nan, "many": nan, "listed": cells})
    with Table(data, schema=schema) as table:
        assert table._source.execute(query("SELECT flag, real, few, many, listed FROM t")) == [
            (0, 0, 2, 0, 0),
            (1, 1, 1, 1, 1),
            (None, 1, 2, 7, 2),
            (None, 1, None, None, 3),
            (None, 1, None, None, 3),
        ]


def test_after_loading_the_inputs_are_gone():
    with Table(pd.DataFrame(FRAME), schema=NOTES) as table:
        for again in (table._source.columns, table._source.raw):
            with pytest.raises(InvalidParameter, match="input must be"):
                again("notes")


@pytest.mark.parametrize(
    ("package", "module", "extra"),
    [
        ("sqlglot", "discreet.data.engines.base", "data"),
        ("duckdb", "discreet.data.engines.duckdb", "data"),
        ("psycopg", "discreet.data.engines.postgres", "postgres"),
        ("pyspark.sql", "discreet.data.engines.spark", "spark"),
    ],
)
def test_a_missing_driver_is_named_with_its_extra(monkeypatch, package, module, extra):
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.delitem(sys.modules, module, raising=False)
    with pytest.raises(MissingExtra, match=rf"discreet\[{extra}\]"):
        importlib.import_module(module)


def test_joined_private_tables_share_the_unit_and_the_engine():
    first = pd.DataFrame({"who": ["a", "b"], "town": [1, 2]})
    second = pa.table({"who": ["a", "a", "c"], "town": [1, 2, 2]})
    with Table(first, schema=users("one"), joined=[(second, users("two"))]) as table:
        rows = table._source.execute(query("SELECT COUNT(*) AS n FROM one JOIN two ON one.who = two.who"))
        assert rows == [(1,)], "one row of a user counts in each"
        assert [schema.name for schema in table.schemas] == ["one", "two"]
    with pytest.raises(InvalidParameter, match="the same unit"):
        Table(first, schema=users("one"), joined=[(pd.DataFrame(FRAME), NOTES)])
    with pytest.raises(InvalidParameter, match="named differently"):
        Table(first, schema=users("one"), joined=[(second, users("ONE"))])
    servers = [("postgresql://x", "t"), ("postgresql://y", "t")]
    with pytest.raises(InvalidParameter, match="tables of one server"):
        Table(servers[0], schema=users("one"), joined=[(servers[1], users("two"))])
    with pytest.raises(InvalidParameter, match="all of one engine"):
        Table(first, schema=users("one"), joined=[(("postgresql://x", "t"), users("two"))])


def test_a_password_is_never_shown():
    with pytest.raises(InvalidParameter) as caught:
        open_source({"t": (f"postgresql://user:{CANARY}@127.0.0.1:1/x?connect_timeout=1", "t")})
    assert CANARY not in "".join(traceback.format_exception(caught.value))


def test_a_schema_needs_no_engine():
    script = (
        "import sys, discreet.data.schema.schema; print({'duckdb', 'sqlglot', 'pandas'} & set(sys.modules))"
    )
    shown = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == "set()"


def test_csv_files_as_they_are_found(tmp_path):
    schema = Schema("t", columns=(Integer("a", lower=0, upper=9),), unit=ROWS, neighbours=AddRemove("row"))
    files = {
        "plain": b"a,b\n1,x\n2,y\n",
        "windows": b"\xef\xbb\xbfa,b\r\n1,x\r\n2,y\r\n",
        "quoted": b'"a","odd ""name"""\n"1","x,\n""y"""\n 2 ,\n',
        "unended": b"b,a\nx,1\ny,2",
    }
    for name, content in files.items():
        path = tmp_path / f"{name}.csv"
        path.write_bytes(content)
        with Table(path, schema=schema) as table:
            assert table._source.execute(query("SELECT SUM(a) AS s, COUNT(*) AS n FROM t")) == [(3, 2)], name
    empty = tmp_path / "empty.csv"
    empty.write_text("a,b\n")
    with Table(empty, schema=schema) as table:
        assert table._source.execute(query("SELECT COUNT(*) AS n FROM t")) == [(0,)]
    for wrong in ("", "a,A\n1,2\n"):
        empty.write_text(wrong)
        with pytest.raises(InvalidParameter):
            Table(empty, schema=schema)


TEXTS = {"x": ["1.5", "1e3", " 2 ", CANARY, "", None, "nan", "-inf", "0x1F", "1_0"]}


def test_text_is_parsed_alike_wherever_it_comes_from(tmp_path):
    """One column alone is cast: the shape in which an engine may move the cast into its file reader."""
    schema = Schema(
        "t", columns=(Decimal("x", lower=0, upper=100, grid=0.5),), unit=ROWS, neighbours=AddRemove("row")
    )
    arrow = pa.table(TEXTS)
    pq.write_table(arrow, tmp_path / "x.parquet")
    pd.DataFrame(TEXTS).to_csv(tmp_path / "x.csv", index=False)
    read = []
    for data in (tmp_path / "x.csv", tmp_path / "x.parquet", arrow, arrow.to_pandas(), pl.from_arrow(arrow)):
        with Table(data, schema=schema) as table:
            read.append(table._source.execute(query("SELECT x FROM t ORDER BY x NULLS FIRST")))
    assert all(rows == read[0] for rows in read[1:])
    assert (3,) in read[0] and (200,) in read[0] and (None,) in read[0]


def test_many_threads_read_one_table():
    wrong = []
    with Table(pd.DataFrame(FRAME), schema=NOTES) as table:

        def work(mine):
            for _ in range(5):
                rows = table._source.execute(query(f"SELECT SUM(age) + {mine} AS s FROM notes"))
                if rows != [(151 + mine,)]:
                    wrong.append(rows)

        threads = [threading.Thread(target=work, args=(mine,)) for mine in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


def test_libpq_words_are_a_postgres_address():
    for dsn in ("host=127.0.0.1 port=1", "postgres://127.0.0.1:1/x"):
        with pytest.raises(InvalidParameter, match="dsn must be"):
            open_source({"t": (dsn, "t")})


def test_only_a_plan_of_this_table_as_it_was_priced_is_answered():
    frame = pd.DataFrame({"a": [1, 2, 3]})
    narrow, wide = (
        Schema("t", columns=(Integer("a", lower=0, upper=top),), unit=ROWS, neighbours=AddRemove("row"))
        for top in (9, 900)
    )
    with Table(frame, schema=narrow) as table, Table(frame, schema=wide) as other:
        plan = table.plan("SELECT SUM(a) AS s FROM t", epsilon=1, delta=0)
        assert table.answer(plan).guarantee == plan.guarantee
        with pytest.raises(InvalidParameter, match="other schemas"):
            other.answer(plan)
        forged = dataclasses.replace(plan, bounds=())
        assert forged.guarantee == plan.guarantee
        with pytest.raises(InvalidParameter, match="changed"):
            table.answer(forged)
        for odd in (None, "SELECT", plan.budget):
            with pytest.raises(InvalidParameter, match="plan"):
                table.answer(odd)
