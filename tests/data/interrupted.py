"""Interrupts itself while a table is opened, and while it is asked: run by test_interrupts.py."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from discreet import AddRemove, Table
from discreet.core.errors import DiscreetError
from discreet.data import Decimal, Identifier, Integer, Schema, User

ROWS = 400_000
SCHEMA = Schema(
    "t",
    columns=(Identifier("who"), Integer("age", lower=0, upper=99), Decimal("x", lower=0, upper=1, grid=0.01)),
    unit=User(column="who", max_rows=2, max_groups=2),
    neighbours=AddRemove("who"),
)
QUESTION = "SELECT age, AVG(x) AS m FROM t GROUP BY age"


def columns() -> dict[str, Any]:
    place = np.arange(ROWS)
    return {"who": [f"u{k}" for k in place % 100_000], "age": place % 100, "x": (place % 101) / 101}


def source(kind: str, given: list[str]) -> object:
    """Make the data of a kind."""
    if kind == "postgres":
        import psycopg

        with psycopg.connect(given[0], autocommit=True) as server:
            server.execute("DROP TABLE IF EXISTS interrupted")
            server.execute(
                "CREATE TABLE interrupted AS SELECT 'u' || k % 100000 AS who, k % 100 AS age, "
                f"(k % 101) / 101.0::float8 AS x FROM generate_series(1, {ROWS}) AS k"
            )
        return given[0], "interrupted"
    if kind == "spark":
        from discreet.data.engines.spark import local_session

        session = local_session()
        session.sparkContext.setLogLevel("OFF")
        return session.range(ROWS).selectExpr(
            "concat('u', id % 100000) AS who", "id % 100 AS age", "(id % 101) / 101.0D AS x"
        )
    frame = pd.DataFrame(columns())
    if kind == "frame":
        return frame
    if kind == "csv":
        frame.to_csv(f"{given[0]}/t.csv", index=False)
        return f"{given[0]}/t.csv"
    import duckdb

    owner = duckdb.connect()
    owner.register("frame", frame)
    owner.execute("CREATE TABLE t AS SELECT * FROM frame")
    owner.unregister("frame")
    return owner, "t"


def interrupt(work: Callable[[], object], share: float) -> bool:
    """Send SIGINT after a share of the time the work takes; say whether it came too late."""
    start = time.monotonic()
    work()
    wait = share * (time.monotonic() - start)
    timer = threading.Timer(wait, os.kill, [os.getpid(), signal.SIGINT])
    timer.start()
    try:
        work()
        time.sleep(wait + 2)  # the work was quicker this time: now it comes here
    except KeyboardInterrupt as caught:
        named = []
        error: BaseException | None = caught
        while error is not None:
            named.append(type(error).__name__)
            error = error.__cause__ or error.__context__
        assert named == ["KeyboardInterrupt"], named
        return True
    except DiscreetError as error:
        raise SystemExit(f"swallowed: {error}") from None
    raise SystemExit("no interrupt arrived")


def main(kind: str, given: list[str]) -> None:
    """Interrupt at several moments; all must arrive, and the table must still answer."""
    data = source(kind, given)
    for share in (0.2, 0.5, 0.8):
        interrupt(lambda: Table(data, schema=SCHEMA).close(), share)
    with Table(data, schema=SCHEMA) as table:
        whole = len(table.sql(QUESTION, epsilon=1, delta=0))

        def ask() -> None:
            table.sql(QUESTION, epsilon=1, delta=0)
            table.histogram(["age"])

        for share in (0.2, 0.5, 0.8):
            interrupt(ask, share)
            assert len(table.sql(QUESTION, epsilon=1, delta=0)) == whole
    print("held")


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # whoever runs us in the background ignores it
    main(sys.argv[1], sys.argv[2:])
