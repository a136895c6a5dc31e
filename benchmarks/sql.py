"""DP SQL on DuckDB against the same plain query, in one run: wall time and accuracy.

Both sides read the same loaded table in the same connection settings. Times are medians of a few calls, first
call left out; what is done once a table (bounding users' rows) is timed cold, and once more when it is kept.
"""

from __future__ import annotations

import importlib
import math
import time
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import duckdb
import numpy as np

import discreet as dp
from discreet.data import Category, Identifier, Integer, Row, Schema, Table, User

pyarrow: Any = importlib.import_module("pyarrow")
ROWS, USER_ROWS, PER_USER = 10_000_000, 2_000_000, 8
PLAIN_BAR, WINDOW_BAR = 2.0, 1.5
REGIONS = ("north", "south", "east", "west")
COLUMNS = (Category("region", values=REGIONS), Integer("spent", lower=Fraction(0), upper=Fraction(100_000)))
BY_ROW = Schema("visits", columns=COLUMNS, unit=Row(), neighbours=dp.AddRemove("row"))
BY_USER = Schema(
    "visits",
    columns=(Identifier("who"), *COLUMNS),
    unit=User(column="who", max_rows=4, max_groups=4),
    neighbours=dp.AddRemove("who"),
)
CLAMP = "LEAST(GREATEST(spent, 0), 1000)"


def data(rows: int, users: int | None) -> Any:
    """Return an Arrow table of random visits."""
    generator = np.random.default_rng(7)  # noqa: TID251
    codes = pyarrow.array(generator.integers(0, len(REGIONS), rows, dtype=np.int8))
    columns = {
        "region": pyarrow.DictionaryArray.from_arrays(codes, pyarrow.array(REGIONS)).cast("string"),
        "spent": generator.integers(0, 100_001, rows),
    }
    if users is not None:
        columns["who"] = pyarrow.array(generator.integers(0, users, rows)).cast("string")
    return pyarrow.table(columns)


def loaded(frame: Any) -> Any:
    """Return a plain DuckDB with the same rows as a table."""
    connection = duckdb.connect()
    connection.register("frame", frame)
    connection.execute("CREATE TABLE visits AS SELECT * FROM frame")
    return connection


def seconds(work: Callable[[], object], repeats: int = 5) -> float:
    """Return the median wall time of one call, after a first one."""
    work()
    return float(np.median([once(work) for _ in range(repeats)]))


def once(work: Callable[[], object]) -> float:
    """Return the wall time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def show(name: str, ours: float, plain: float, bar: float | None) -> None:
    verdict = "" if bar is None else f"bar {bar:g}x {'met' if ours <= bar * plain else 'MISSED'}"
    print(f"{name:52} {ours * 1e3:9.1f} {plain * 1e3:9.1f} {ours / plain:7.2f}  {verdict}")


def one_row_per_user() -> None:
    frame = data(ROWS, None)
    plain = loaded(frame)
    queries = {
        "count by region": (
            "SELECT region, COUNT(*) FROM visits GROUP BY region",
            "SELECT region, COUNT(*) FROM visits GROUP BY region",
        ),
        "bounded sum by region": (
            "SELECT region, SUM(spent, contribution_bounds_per_row => (0, 1000)) FROM visits GROUP BY region",
            f"SELECT region, SUM({CLAMP}) FROM visits GROUP BY region",
        ),
        "sum by region (plain side does not clamp)": (
            "SELECT region, SUM(spent) FROM visits GROUP BY region",
            "SELECT region, SUM(spent) FROM visits GROUP BY region",
        ),
    }
    print(f"\n{ROWS:,} rows, one row a user, epsilon 1")
    print(f"{'what':52} {'ours ms':>9} {'plain ms':>9} {'ratio':>7}")
    with Table(frame, schema=BY_ROW) as table:
        for name, (ours, theirs) in queries.items():
            base = seconds(lambda text=theirs: plain.execute(text).fetchall())  # type: ignore[misc]
            mine = seconds(lambda text=ours: table.sql(text, epsilon=1, delta=0))  # type: ignore[misc]
            show(name, mine, base, PLAIN_BAR)
    plain.close()


def bounded_users() -> None:
    frame = data(USER_ROWS, USER_ROWS // PER_USER)
    plain = loaded(frame)
    bounded = "SUM(spent, contribution_bounds_per_row => (0, 1000))"
    ours = f"SELECT region, COUNT(*), {bounded} FROM visits GROUP BY region"
    place = "ROW_NUMBER() OVER (PARTITION BY who ORDER BY {})"
    theirs = (
        f"SELECT region, COUNT(*), SUM({CLAMP}) FROM (SELECT *, {place} AS place FROM visits) "
        "WHERE place <= 4 GROUP BY region"
    )
    hashed = theirs.format("MD5('key' || who || region || spent)")
    by_value = theirs.format("spent")
    print(f"\n{USER_ROWS:,} rows, {PER_USER} a user of which 4 count, epsilon 1")
    print(f"{'what':52} {'ours ms':>9} {'plain ms':>9} {'ratio':>7}")
    base = seconds(lambda: plain.execute(hashed).fetchall(), repeats=2)
    by_column = seconds(lambda: plain.execute(by_value).fetchall(), repeats=2)
    cold = []
    for _ in range(2):
        with Table(frame, schema=BY_USER) as table:
            cold.append(once(lambda t=table: t.sql(ours, epsilon=1, delta=0)))  # type: ignore[misc]
            warm = seconds(lambda t=table: t.sql(ours, epsilon=1, delta=0))  # type: ignore[misc]
    show("first question, plain window by a hash of the row", float(np.median(cold)), base, WINDOW_BAR)
    show("first question, plain window by one column (biased)", float(np.median(cold)), by_column, None)
    show("every later question (bounded rows are kept)", warm, base, WINDOW_BAR)
    plain.close()


def accuracy() -> None:
    """Compare the error of released counts and sums with the textbook's Laplace noise at the same epsilon."""
    frame, epsilon, runs = data(20_000, None), 0.5, 1500
    text = "SELECT region, {} AS v FROM visits GROUP BY region"
    calls = {
        "count": ("COUNT(*)", 1),
        "sum in [0, 1000]": ("SUM(spent, contribution_bounds_per_row => (0, 1000))", 1000),
    }
    print(f"\nroot mean squared error, epsilon {epsilon}, {runs} releases of 4 groups")
    print(f"{'what':52} {'ours':>9} {'Laplace':>9} {'ratio':>7}")
    with Table(frame, schema=BY_ROW) as table:
        for name, (call, sensitivity) in calls.items():
            truth = np.array(table.sql(text.format(call), epsilon=10**9, delta=0).column("v"), dtype=float)
            found = [table.sql(text.format(call), epsilon=epsilon, delta=0).column("v") for _ in range(runs)]
            ours = math.sqrt(float(np.mean((np.array(found, dtype=float) - truth) ** 2)))
            textbook = math.sqrt(2) * sensitivity / epsilon
            verdict = "bar 1x (3 % for chance) " + ("met" if ours <= 1.03 * textbook else "MISSED")
            print(f"{name:52} {ours:9.2f} {textbook:9.2f} {ours / textbook:7.3f}  {verdict}")


def main() -> None:
    """Print times against plain DuckDB, then errors."""
    one_row_per_user()
    bounded_users()
    accuracy()


if __name__ == "__main__":
    main()
