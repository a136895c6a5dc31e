"""What was read when a table was opened is what every answer is about, whatever happens to the source."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pandas as pd
import psycopg
import pyarrow.parquet as pq
import pytest
import sqlglot

from discreet import AddRemove
from discreet.core.errors import EngineFailed, InvalidParameter
from discreet.data import Category, Dimension, Identifier, Schema, Table, User
from discreet.data.engines.encode import encode_rows

STORES = Dimension(
    "stores",
    key="store",
    columns=(Category("store", values=(1, 2, 3)), Category("city", values=("york", "leeds"))),
)


def users(name, **more):
    return Schema(
        name,
        columns=(Identifier("who"), Category("store", values=(1, 2, 3))),
        unit=User(column="who", max_rows=5, max_groups=2),
        neighbours=AddRemove("who"),
        **more,
    )


VISITS = users("visits", dimensions=(STORES,))
JOINED = "SELECT city, COUNT(*) AS n FROM visits JOIN stores ON visits.store = stores.store GROUP BY city"
TRUTH = [("leeds", 1), ("york", 2)]


def query(sql):
    return sqlglot.parse_one(sql, read="duckdb")


def run(table, sql=JOINED):
    return sorted(table._source.execute(query(sql)))


def fill(execute):
    for left in ("visits_raw", "stores_raw"):  # by other tests that had the same server before
        execute(f"DROP TABLE IF EXISTS {left}")
    execute("CREATE TABLE visits_raw AS SELECT * FROM (VALUES ('a', 1), ('b', 2), ('c', 3)) AS t(who, store)")
    stores = "(VALUES (1, 'york'), (2, 'leeds'), (3, 'york')) AS t(store, city)"
    execute(f"CREATE TABLE stores_raw AS SELECT * FROM {stores}")


@pytest.fixture
def server(postgres_dsn):
    with psycopg.connect(postgres_dsn, autocommit=True) as connection:
        yield connection
        connection.execute("DROP SCHEMA public CASCADE; CREATE SCHEMA public")


@pytest.fixture
def lake(spark_session, tmp_path):
    """Tables of Spark's catalogue, where inserts and overwrites refresh what was persisted."""
    tables = {
        "visits_raw": "VALUES ('a', 1), ('b', 2), ('c', 3) AS t(who, store)",
        "stores_raw": "VALUES (1, 'york'), (2, 'leeds'), (3, 'york') AS t(store, city)",
    }
    for name, rows in tables.items():
        place = (tmp_path / name).as_uri()
        spark_session.sql(f"CREATE TABLE {name} USING parquet LOCATION '{place}' AS SELECT * FROM {rows}")
    yield spark_session
    for name in tables:
        spark_session.sql(f"DROP TABLE {name}")


def open_lake(lake):
    stores = {"stores": lake.table("stores_raw")}
    return Table(lake.table("visits_raw"), schema=VISITS, dimensions=stores)


def test_a_spark_snapshot_outlives_every_change_of_its_source(lake):
    with open_lake(lake) as table:
        lake.sql("INSERT INTO stores_raw SELECT store, city FROM stores_raw, range(1000)")
        lake.sql("INSERT INTO visits_raw SELECT * FROM visits_raw")
        assert run(table) == TRUTH
        lake.sql("INSERT OVERWRITE visits_raw VALUES ('z', 1)")
        lake.catalog.clearCache()  # as when executors are lost, with all they had persisted
        assert run(table) == TRUTH
        folder = Path(table._source._checkpoint.private)
        assert folder.stat().st_mode & 0o777 == 0o700 and list(folder.rglob("*.parquet"))
    assert not folder.exists()
    assert lake.table("visits_raw").count() == 1, "the owner's own table is as the owner left it"


@pytest.mark.parametrize("ignored", ["false", "true"])
def test_a_spark_snapshot_that_was_touched_answers_nothing(lake, ignored):
    """Also where the owner's session says that missing and corrupt files may be passed over."""
    for setting in ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles"):
        lake.conf.set(setting, ignored)
    try:
        for harm in (_flip, _rewrite, _remove, _add):
            with open_lake(lake) as table:
                assert run(table) == TRUTH
                files = Path(table._source._checkpoint.private, "stores").glob("*.parquet")
                harm(max(files, key=lambda file: pq.read_metadata(file).num_rows))
                with pytest.raises(EngineFailed):
                    run(table)
    finally:
        for setting in ("spark.sql.files.ignoreMissingFiles", "spark.sql.files.ignoreCorruptFiles"):
            lake.conf.unset(setting)


def _flip(file):
    """Make another city of a city; length, time and the file system's own checksum agree with it."""
    before, content = file.stat(), bytearray(file.read_bytes())
    group = pq.read_metadata(file).row_group(0)
    city = next(group.column(k) for k in range(group.num_columns) if group.column(k).path_in_schema == "city")
    assert not city.has_dictionary_page, "so that the last byte is the last letter of a city"
    content[city.data_page_offset + city.total_compressed_size - 1] ^= 1
    file.with_name(f".{file.name}.crc").unlink()
    file.write_bytes(content)
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))


def _rewrite(file):
    content = file.read_bytes()
    file.with_name(f".{file.name}.crc").unlink()
    file.write_bytes(content)
    os.utime(file, (1, 1))


def _remove(file):
    file.unlink()


def _add(file):
    file.with_name("part-more.parquet").write_bytes(file.read_bytes())


def test_spark_keeps_its_snapshot_where_the_owner_says(lake, tmp_path):
    lake.conf.set("spark.discreet.folder", (tmp_path / "named").as_uri())
    try:
        with open_lake(lake) as table:
            (folder,) = (tmp_path / "named").iterdir()
            assert folder.stat().st_mode & 0o077 == 0
            assert sorted(one.name for one in folder.iterdir()) == ["stores", "visits"]
            assert run(table) == TRUTH
        assert not list((tmp_path / "named").iterdir())
    finally:
        lake.conf.unset("spark.discreet.folder")


def test_a_cluster_needs_a_folder_that_its_executors_share():
    from discreet.data.engines.spark_files import Checkpoint

    session = SimpleNamespace(
        conf=SimpleNamespace(get=lambda name, default: default),
        sparkContext=SimpleNamespace(master="spark://there:7077"),
    )
    with pytest.raises(InvalidParameter, match=r"spark\.discreet\.folder must be"):
        Checkpoint(session)


@pytest.mark.parametrize("engine", ["duckdb", "postgres"])
def test_no_join_with_a_public_table_copies_a_row(engine, request):
    """Were a public table to repeat a key after it was checked, no join would meet it."""
    if engine == "postgres":
        owner = request.getfixturevalue("postgres_dsn")
        fill(request.getfixturevalue("server").execute)
    else:
        owner = duckdb.connect()
        fill(owner.execute)
    stores = {"stores": (owner, "stores_raw")}
    with Table((owner, "visits_raw"), schema=VISITS, dimensions=stores) as table:
        own = table._source._connection
        own.execute("SET default_transaction_read_only = off" if engine == "postgres" else "SELECT 1")
        own.execute("INSERT INTO stores SELECT * FROM stores")
        assert run(table) == TRUTH
        assert table._source.execute(query("SELECT COUNT(*) AS n FROM stores")) == [(3,)]


def test_no_join_with_a_public_table_of_spark_copies_a_row(lake):
    with open_lake(lake) as table:
        view = table._source._relations["stores"].name
        doubled = lake.table(view).union(lake.table(view)).localCheckpoint()
        doubled.createOrReplaceTempView(view)
        assert run(table) == TRUTH


def test_a_key_is_checked_again_when_a_table_is_opened_again(server, postgres_dsn):
    fill(server.execute)
    stores = {"stores": (postgres_dsn, "stores_raw")}
    with Table((postgres_dsn, "visits_raw"), schema=VISITS, dimensions=stores) as table:
        server.execute("INSERT INTO stores_raw SELECT * FROM stores_raw")
        with pytest.raises(InvalidParameter, match=r"stores\.store must be unique"):
            table.reopen()
        with pytest.raises(EngineFailed):
            run(table)


def test_postgres_tables_opened_together_are_of_one_moment(server, postgres_dsn):
    """Somebody moves a row from one table to the other between the two readings."""
    fill(server.execute)
    server.execute("CREATE TABLE moved AS SELECT * FROM visits_raw WHERE false")
    from discreet.data.engines.postgres import Postgres

    source = Postgres(postgres_dsn, {"one": "visits_raw", "two": "moved"}, timeout=600)
    read = {name: encode_rows(source, name, users(name).columns, unit="who") for name in ("one", "two")}
    keep = source._keep

    def slowly(name, select):
        kept = keep(name, select)
        with server.transaction():
            server.execute("INSERT INTO moved SELECT * FROM visits_raw")
            server.execute("DELETE FROM visits_raw")
        return kept

    source._keep = slowly
    source.load(read, unique={})
    counts = "SELECT COUNT(*) AS n FROM {}"
    assert [source.execute(query(counts.format(name))) for name in read] == [[(3,)], [(0,)]]
    source.close()


def test_duckdb_tables_opened_together_are_of_one_moment(tmp_path):
    owner = duckdb.connect(tmp_path / "t.duckdb")
    fill(owner.execute)
    owner.execute("CREATE TABLE moved AS SELECT * FROM visits_raw WHERE false")
    from discreet.data.engines.duckdb import DuckDB

    source = DuckDB({"one": (owner, "visits_raw"), "two": (owner, "moved")}, timeout=600)
    read = {name: encode_rows(source, name, users(name).columns, unit="who") for name in ("one", "two")}
    keep = source._keep

    def slowly(name, select):
        kept = keep(name, select)
        owner.execute("INSERT INTO moved SELECT * FROM visits_raw")
        return kept

    source._keep = slowly
    source.load(read, unique={})
    assert source.execute(query("SELECT COUNT(*) AS n FROM two")) == [(0,)]
    source.close()
    assert owner.execute("SELECT COUNT(*) FROM moved").fetchone() == (6,)


def test_later_changes_of_frames_files_and_tables_are_not_seen(tmp_path):
    frame = pd.DataFrame({"who": ["a", "b"], "store": [1, 2]})
    path, owner = tmp_path / "t.csv", duckdb.connect()
    frame.to_csv(path, index=False)
    owner.execute("CREATE TABLE t AS SELECT * FROM frame")
    for data in (frame, path, (owner, "t")):
        with Table(data, schema=users("t")) as table:
            path.write_text("who,store\n")
            owner.execute("INSERT INTO t SELECT * FROM t")
            frame["who"] = "c"
            counts = "SELECT COUNT(*) AS n, COUNT(DISTINCT who) AS u FROM t"
            assert table._source.execute(query(counts)) == [(2, 2)]
        frame["who"] = ["a", "b"]
        frame.to_csv(path, index=False)
        owner.execute("DELETE FROM t WHERE true")
        owner.execute("INSERT INTO t SELECT * FROM frame")
