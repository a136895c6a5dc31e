"""The engine is shut once loaded, says one constant sentence when it fails, and never shows a value."""

from __future__ import annotations

import copy
import gc
import io
import logging
import os
import pickle  # noqa: TID251  # to see it refused
import stat
import traceback

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
import sqlglot

from discreet import AddRemove
from discreet.core.errors import DiscreetError, EngineFailed, InternalError, TableClosed
from discreet.data import (
    Category,
    Integer,
    Row,
    Schema,
    Table,
    Text,
    format_schema,
)
from discreet.data.engines import duckdb as duckdb_module
from discreet.data.table import draw_key

CANARY = "CANARY7f3a"
ROWS = Row()
NOTES = Schema(
    "notes",
    columns=(Integer("age", lower=0, upper=100), Category("region", values=("n", "s")), Text("note")),
    unit=ROWS,
    neighbours=AddRemove("row"),
)
TYPES = [("age", "UTINYINT"), ("region", "ENUM('n', 's')"), ("note", "VARCHAR")]
FRAME = {"age": [1, 50, 300], "region": ["n", CANARY, None], "note": [CANARY, CANARY + "2", None]}


def query(sql):
    return sqlglot.parse_one(sql, read="duckdb")


@pytest.fixture
def notes():
    with Table(pd.DataFrame(FRAME), schema=NOTES) as table:
        yield table


ESCAPES = (
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_csv_auto('/etc/passwd')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/passwd')",
    "SELECT * FROM read_blob('/etc/passwd')",
    "SELECT * FROM read_parquet('/etc/passwd')",
    "SELECT * FROM read_json('/etc/passwd')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM hidden",
    "SELECT * FROM parquet_metadata('/etc/passwd')",
    "COPY notes TO '{folder}/stolen.csv'",
    "COPY notes FROM '/etc/passwd'",
    "EXPORT DATABASE '{folder}/stolen'",
    "IMPORT DATABASE '{folder}/stolen'",
    "ATTACH '{folder}/stolen.db' AS stolen",
    "INSTALL httpfs",
    "LOAD httpfs",
    "LOAD '{folder}/evil.duckdb_extension'",
    "CREATE SECRET stolen (TYPE s3)",
    "SET threads = 1",
    "SET enable_external_access = true",
    "SET python_enable_replacements = true",
    "SET temp_directory = '{folder}'",
    "RESET lock_configuration",
    "SET lock_configuration = false",
    "PRAGMA enable_profiling = 'json'",
    "SET profiling_output = '{folder}/stolen'",
    "SET enable_logging = true",
    "SET log_query_path = '{folder}/stolen'",
)


@pytest.mark.parametrize("sql", ESCAPES)
@pytest.mark.parametrize("fresh", [False, True], ids=["connection", "cursor"])
def test_the_loaded_engine_cannot_be_left(notes, tmp_path, sql, fresh):
    hidden = pd.DataFrame({"a": [CANARY]})
    assert len(hidden) == 1
    connection = notes._source._connection
    connection = connection.cursor() if fresh else connection
    with pytest.raises(duckdb.Error):
        connection.execute(sql.format(folder=tmp_path)).fetchall()
    assert not list(tmp_path.iterdir())


def test_an_open_engine_would_have_been_left(tmp_path):
    """Show that the list above has teeth: a plain connection does what the locked one refuses."""
    connection = duckdb.connect()
    hidden = pd.DataFrame({"a": [CANARY]})
    assert connection.execute("SELECT * FROM hidden").fetchall() == [(hidden.a[0],)]
    assert connection.execute("SELECT content FROM read_text('/etc/passwd')").fetchall()
    connection.execute(f"COPY (SELECT 1) TO '{tmp_path}/stolen.csv'")
    assert list(tmp_path.iterdir())


def test_settings_are_as_declared(notes):
    asked = "SELECT name, value FROM duckdb_settings()"
    settings = dict(notes._source._connection.cursor().execute(asked).fetchall())
    for name in (
        "enable_external_access",
        "autoinstall_known_extensions",
        "autoload_known_extensions",
        "allow_community_extensions",
        "allow_unsigned_extensions",
        "python_enable_replacements",
    ):
        assert settings[name] == "false", name
    assert settings["lock_configuration"] == "true"
    assert settings["pandas_analyze_sample"] == "0"
    assert settings["memory_limit"] and settings["temp_directory"] == notes._source._spill


def test_spill_directory_is_private_and_goes_away():
    table = Table(pd.DataFrame(FRAME), schema=NOTES)
    spill = table._source._spill
    assert stat.S_IMODE(os.stat(spill).st_mode) == 0o700
    table.close()
    assert not os.path.exists(spill)
    with pytest.raises(TableClosed):
        table._source.execute(query("SELECT COUNT(*) FROM notes"))
    dropped = Table(pd.DataFrame(FRAME), schema=NOTES)
    spill = dropped._source._spill
    del dropped
    gc.collect()
    assert not os.path.exists(spill), "also when nobody closes it"


def test_what_does_not_fit_is_spilled_to_the_private_directory_only(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(duckdb_module._BEFORE, "memory_limit", "64MB")
    rows = 600_000
    frame = pa.table({"age": range(rows), "region": ["n"] * rows, "note": [f"{k:0100}" for k in range(rows)]})
    with Table(frame, schema=NOTES) as table:
        assert os.listdir(table._source._spill), "the rows do not fit into the memory they were given"
        assert table._source.execute(query("SELECT COUNT(*) AS n FROM notes")) == [(rows,)]
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT * FROM elsewhere",
        "SELECT * FROM main.notes",
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM duckdb_settings()",
        "SELECT * FROM information_schema.tables",
        "SELECT (SELECT COUNT(*) FROM hidden) FROM notes",
        "SELECT * FROM notes JOIN duckdb_tables() ON TRUE",
        "WITH notes AS (SELECT * FROM notes) SELECT * FROM notes",
        "SELECT * FROM notes TABLESAMPLE 10 PERCENT",
        "WITH v AS (SELECT * FROM notes) SELECT * FROM main.v",
        "DROP TABLE notes",
        "INSERT INTO notes SELECT * FROM notes",
        "SET threads = 1",
    ],
)
def test_only_loaded_relations_are_read(notes, sql):
    for run in (notes._source.execute, notes._source.arrays):
        with pytest.raises(InternalError):
            run(query(sql))


def test_rows_are_whole_numbers_and_text(notes):
    assert notes._source.execute(query("SELECT age, region FROM notes ORDER BY age")) == [
        (1, "n"),
        (50, None),
        (100, None),
    ]
    for wrong in ("SELECT 0.5 AS x FROM notes", "SELECT CAST(1 AS DOUBLE) AS x FROM notes"):
        with pytest.raises(InternalError, match="whole numbers and text"):
            notes._source.execute(query(wrong))


FAILING = (
    "SELECT CAST(note AS INT) AS x FROM notes",
    "SELECT error(note) AS x FROM notes",
    "SELECT strptime(note, '%Y') AS x FROM notes",
    "SELECT SUM(age * CAST(9223372036854775807 AS BIGINT)) AS s FROM notes",
    "SELECT nothing AS x FROM notes",
)


@pytest.mark.parametrize("sql", FAILING)
def test_engine_errors_are_one_constant_sentence(notes, sql, caplog, capfd):
    caplog.set_level(logging.DEBUG)
    for run in (notes._source.execute, notes._source.arrays):
        with pytest.raises(EngineFailed) as caught:
            run(query(sql))
        error = caught.value
        assert str(error) == str(EngineFailed())
        assert error.__cause__ is None and error.__context__ is None
        text = io.StringIO()
        traceback.print_exception(error, file=text)
        shown = text.getvalue() + caplog.text + "".join(capfd.readouterr())
        assert CANARY not in shown and "notes" not in str(error)
    assert notes._source.execute(query("SELECT COUNT(*) AS n FROM notes")) == [(3,)], "still usable"


def test_nothing_of_the_data_is_shown(notes):
    hidden = [CANARY]
    for shown in (repr(notes), str(notes), f"{notes}", repr(notes._source), format_schema(notes.schema)):
        assert not any(secret in shown for secret in hidden)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(DiscreetError):
            leave(notes)
    assert repr(notes) == "Table('notes', 3 columns, duckdb)"


def test_keys_are_fresh():
    assert len(draw_key()) == 32 and draw_key() != draw_key()


EXTREMES = {
    "normal": pd.DataFrame({"age": [3, 4], "region": ["n", "s"], "note": ["a", "b"]}),
    "empty": pd.DataFrame(
        {
            "age": pd.Series([], dtype="int64"),
            "region": pd.Series([], dtype="str"),
            "note": pd.Series([], dtype=object),
        }
    ),
    "missing": pd.DataFrame({"age": [None] * 2, "region": [None] * 2, "note": [None] * 2}),
    "zero": pd.DataFrame({"age": [0] * 2, "region": [""] * 2, "note": [""] * 2}),
    "extreme": pd.DataFrame(
        {"age": [2**63 - 1, -(2**63)], "region": ["\U0001f600" * 99, "x\0y"], "note": ["'", "\\"]}
    ),
    "mixed": pd.DataFrame({"age": [1, CANARY], "region": ["n", 1.5], "note": [b"x", 3]}),
}


@pytest.mark.parametrize("values", ["(1, 'n', 'x')", "(NULL, NULL, NULL)", None])
def test_no_data_change_a_type_on_the_way_from_another_connection(values):
    owner = duckdb.connect()
    owner.execute("CREATE TABLE raw (age INT, region VARCHAR, note VARCHAR)")
    if values:
        owner.execute(f"INSERT INTO raw VALUES {values}")
    with Table((owner, "raw"), schema=NOTES) as table:
        described = table._source._connection.execute("DESCRIBE notes").fetchall()
        assert [row[1] for row in described] == [kind for _, kind in TYPES]


@pytest.mark.parametrize("data", EXTREMES.values(), ids=EXTREMES)
def test_no_data_changes_type_or_outcome(data):
    with Table(data, schema=NOTES) as table:
        described = table._source._connection.execute("DESCRIBE notes").fetchall()
        assert [(row[0], row[1]) for row in described] == TYPES
        ((count, total),) = table._source.execute(
            query("SELECT COUNT(*) AS n, COALESCE(SUM(CAST(age AS DECIMAL(38, 0))), 0) AS s FROM notes")
        )
        assert (count, type(total)) == (len(data), int)
        assert repr(table) == "Table('notes', 3 columns, duckdb)"


def test_codes_of_every_declared_width_are_kept_and_counted_as_they_are():
    """Bounds of each small type, both of them held: a type that is too small would lose or turn them."""
    spans = [
        (0, 255), (0, 256), (-1, 127), (-1, 128), (-128, 0), (-129, 0), (0, 65535), (0, 65536), (-32768, 0),
        (-32769, 0), (0, 2**32 - 1), (0, 2**32), (-(2**31), 0), (-(2**31) - 1, 0), (-(2**53), 2**53),
    ]  # fmt: skip
    columns = tuple(Integer(f"c{k}", lower=a, upper=b) for k, (a, b) in enumerate(spans))
    texts = Category("t", values=("z", "", "it's", "\u00e9", "a"))
    schema = Schema("wide", columns=(*columns, texts), unit=ROWS, neighbours=AddRemove("row"))
    rows = {f"c{k}": [a, b, None] for k, (a, b) in enumerate(spans)} | {"t": ["it's", "", None]}
    frame = pd.DataFrame({name: pd.array(cells, dtype="object") for name, cells in rows.items()})
    with Table(frame, schema=schema) as table:
        listed = ", ".join(f"MIN(c{k}), MAX(c{k}), COUNT(c{k})" for k in range(len(spans)))
        (found,) = table._source.execute(query(f"SELECT {listed} FROM wide"))
        assert found == tuple(number for a, b in spans for number in (a, b, 2))
        codes = table._source.execute(query("SELECT t FROM wide ORDER BY t"))
        assert codes == [("",), ("it's",), (None,)]
        for k in (2, 4):  # what positions are computed from lies outside of the small type
            counts = table.histogram([f"c{k}"]).counts()
            assert (counts[0], counts[-2], counts.sum()) == (1, 1, 3)


@pytest.mark.parametrize(
    "where", ["age < 3 OR age > 7", "region IN ('n', 's')", "NOT (region IN ('n') OR age = 1)", "age <> 5"]
)
def test_what_is_compared_with_true_is_what_was_asked(where):
    """Of ages and regions that are there or missing: there are three truths, and all of them stay."""
    ages, regions = [None, 1, 5, 9], [None, "n", "s"]
    frame = pd.DataFrame([(a, r, None) for a in ages for r in regions], columns=["age", "region", "note"])
    text = f"SELECT COUNT(*) AS n FROM notes WHERE {where}"
    plain = duckdb.connect()
    plain.register("notes", frame)
    ((expected,),) = plain.execute(text).fetchall()
    with Table(frame, schema=NOTES) as table:
        assert table._source.execute(query(text)) == [(expected,)]
