"""User-level questions on each engine against the plain query that bounds as they do, in one run.

The rows are 8 a user, of which 4 count, in at most 2 of 4 groups. The plain query chooses rows and groups by
an MD5 of their contents and does it anew every time; ours choose when the table is opened. CPU seconds are
those of this process and those below it, and of the PostgreSQL server that DISCREET_POSTGRES names (a
connection string of a superuser on this machine; it gets a table `discreet_visits`, dropped at the end).
"""

from __future__ import annotations

import importlib
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import sqlglot

import discreet as dp
from benchmarks import sql
from benchmarks.peers import common
from discreet.data import Identifier, Schema, Table, User

parquet: Any = importlib.import_module("pyarrow.parquet")
ROWS = int(os.environ.get("DISCREET_ENGINE_ROWS", "10000000"))
BAR = 0.5
SCHEMA = Schema(
    "visits",
    columns=(Identifier("who"), *sql.COLUMNS),
    unit=User(column="who", max_rows=4, max_groups=2),
    neighbours=dp.AddRemove("who"),
)
BOUNDED = "SUM(spent, contribution_bounds_per_row => (0, 1000))"
QUESTIONS = {
    "count": "SELECT region, COUNT(*) AS v FROM visits GROUP BY region",
    "sum": f"SELECT region, {BOUNDED} AS v FROM visits GROUP BY region",
    "mean a user": "SELECT AVG(n) AS v FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who)",
    "CASE sum": "SELECT region, SUM(CASE WHEN spent > 500 THEN 1 ELSE 0 END) AS v FROM visits "
    "GROUP BY region",
}
KEPT = """
SELECT who, region, spent FROM (
  SELECT who, region, spent, ROW_NUMBER() OVER (
    PARTITION BY who ORDER BY MD5('key' || who || '|' || region || '|' || CAST(spent AS TEXT))
  ) AS place FROM raw
) AS o WHERE place <= 4
"""
GROUPED = """
SELECT k, SUM(n) AS n, SUM(s) AS s FROM (
  SELECT k, n, s, DENSE_RANK() OVER (PARTITION BY who ORDER BY MD5('key' || who || '|' || k), k) AS place
  FROM (
    SELECT who, region AS k, COUNT(*) AS n, SUM(LEAST(GREATEST(spent, 0), 1000)) AS s
    FROM kept GROUP BY who, region
  ) AS t
) AS r WHERE place <= 2 GROUP BY k
"""
Started = Iterator[tuple[Any, Callable[[str, str], object], Callable[[], float]]]
"""The data as `Table` takes them, what runs a plain query or keeps it under a name, what counts CPU time."""


def keep(kind: str, name: str) -> str:
    return f"CREATE {kind} {name} AS " if name else ""


@contextmanager
def on_duckdb(path: Path) -> Started:
    with duckdb.connect() as plain:
        plain.execute(f"CREATE VIEW given AS SELECT * FROM read_parquet('{path}')")
        yield str(path), lambda name, text: plain.execute(keep("TABLE", name) + text).fetchall(), common.cpu


@contextmanager
def on_postgres(path: Path) -> Started:
    psycopg: Any = importlib.import_module("psycopg")
    dsn = os.environ["DISCREET_POSTGRES"]
    with psycopg.connect(dsn, autocommit=True) as plain:
        plain.execute("DROP TABLE IF EXISTS discreet_visits")
        plain.execute("CREATE TABLE discreet_visits (region text, spent bigint, who text)")
        with plain.cursor().copy("COPY discreet_visits (region, spent, who) FROM STDIN") as copy:
            for batch in parquet.ParquetFile(path).iter_batches(100_000, columns=["region", "spent", "who"]):
                rows = zip(*batch.to_pydict().values(), strict=True)
                copy.write("".join(f"{region}\t{spent}\t{who}\n" for region, spent, who in rows))
        plain.execute("ANALYZE discreet_visits")
        plain.execute("CREATE TEMPORARY VIEW given AS SELECT * FROM discreet_visits")
        ((folder,),) = plain.execute("SHOW data_directory").fetchall()
        server = int((Path(folder) / "postmaster.pid").read_text().split()[0])
        cpu = lambda: common.cpu() + common.cpu_below(server)  # noqa: E731
        yield (
            (dsn, "discreet_visits"),
            lambda name, text: plain.execute(keep("TEMPORARY TABLE", name) + text),
            cpu,
        )
        plain.execute("DROP TABLE discreet_visits CASCADE")


@contextmanager
def on_spark(path: Path) -> Started:
    local_session = importlib.import_module("discreet.data.engines.spark").local_session
    session = local_session()
    session.sparkContext.setLogLevel("OFF")
    frame = session.read.parquet(str(path))
    frame.createOrReplaceTempView("given")

    def run(name: str, text: str) -> object:
        if not name:
            return session.sql(text).collect()
        made = session.sql(text).persist()
        made.createOrReplaceTempView(name)
        return made.count()

    yield frame, run, common.cpu
    session.stop()


ENGINES = {"duckdb": on_duckdb, "postgres": on_postgres, "spark": on_spark}


def show(what: str, cold: Sequence[float], warm: Sequence[float], *verdicts: tuple[str, float]) -> None:
    said = [
        f"{name}: {ratio:.2f} of plain, {'met' if ratio <= BAR else 'MISSED'}" for name, ratio in verdicts
    ]
    times = f"{cold[0]:8.2f} ({cold[1]:.2f}) {warm[0]:8.2f} ({warm[1]:.2f})"
    print(f"{what:28} {times}  {'; '.join(said)}", flush=True)


def report(engine: str, path: Path) -> None:
    """Print the times of one engine."""
    with ENGINES[engine](path) as (data, plain, cpu):

        def spent(work: Callable[[], object]) -> tuple[float, float]:
            start, clock = cpu(), time.perf_counter()
            work()
            return cpu() - start, time.perf_counter() - clock

        def written(text: str) -> str:
            return sqlglot.transpile(text, read="duckdb", write=engine)[0]

        read = spent(lambda: plain("raw", "SELECT * FROM given"))
        kept = spent(lambda: plain("kept", written(KEPT)))
        grouped = spent(lambda: plain("", written(GROUPED)))
        opened: list[Table] = []
        opening = spent(lambda: opened.append(Table(data, schema=SCHEMA)))
        print(f"\n{engine}, {ROWS:,} rows: seconds of CPU (of wall time)")
        first = [sum(times) for times in zip(read, kept, grouped, strict=True)]
        show("plain: first, later", first, grouped)
        print(f"{'ours: opening the table':28} {opening[0]:8.2f} ({opening[1]:.2f})")
        with opened[0] as table:
            for place, (name, text) in enumerate(QUESTIONS.items()):
                cold = spent(lambda t=text: table.sql(t, epsilon=1, delta=0))  # type: ignore[misc]
                warm = spent(lambda t=text: table.sql(t, epsilon=1, delta=0))  # type: ignore[misc]
                verdicts = [("with opening", (opening[0] + cold[0]) / first[0])] if place == 0 else []
                show(f"ours: {name}", cold, warm, *verdicts, ("later", warm[0] / grouped[0]))


def main() -> None:
    """Print every engine that is there."""
    there = ["duckdb"]
    there += ["postgres"] if os.environ.get("DISCREET_POSTGRES") else []
    there += ["spark"] if shutil.which("java") and importlib.util.find_spec("pyspark") else []
    for engine in set(ENGINES) - set(there):
        print(f"{engine} is not there: left out")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        parquet.write_table(sql.data(ROWS, ROWS // 8), path)
        for engine in there:
            report(engine, path)


if __name__ == "__main__":
    main()
