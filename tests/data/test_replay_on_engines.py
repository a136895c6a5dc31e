"""The replay of `test_replay_grammar` in a smaller dose, on the engines that are servers.

PostgreSQL's text has a collation that sees neither case nor accents. The tables of both change once they were
opened: what was read then is what is answered about.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from plan_grammar import CASES, prepared_plans
from replayed_plans import (
    DUCKDB,
    NAMES,
    ZONE_ROWS,
    Opener,
    Rows,
    Tables,
    changed,
    holds,
    opened,
    orders_of,
    statements,
)
from replayed_spellings import SPELLINGS, USER_SPELLINGS, spelt_plans

from discreet import AddRemove
from discreet.data import Schema, Table, User

DOSES = {"postgres": (24, 6), "postgres, changed": (24, 6), "spark, changed": (160, 2)}
"""One plan of so many, on so many pairs of neighbours."""
ARROW = {
    "events": dict(
        zip(
            NAMES,
            [pa.string()] * 3
            + [pa.int32(), pa.float64(), pa.float64(), pa.int64(), pa.bool_(), pa.timestamp("us", "UTC")]
            + [pa.string()],
            strict=True,
        )
    ),
    "orders": {"who": pa.string(), "price": pa.float64()},
    "zones": {"g": pa.string(), "weight": pa.int32()},
}


@pytest.fixture(autouse=True)
def one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which rows of a user count must be the same on every table."""
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")


@pytest.fixture
def on_postgres(postgres_dsn: str) -> Iterator[Any]:
    """Return what opens tables of a schema of their own, under a collation that folds case."""
    places: list[str] = []
    with psycopg.connect(postgres_dsn, autocommit=True) as owner:
        owner.execute(
            "CREATE COLLATION IF NOT EXISTS public.folding "
            "(provider = icu, locale = 'und-u-ks-level1', deterministic = false)"
        )

        def opener(changes: bool) -> Opener:
            def open_(rows: Rows, declared: tuple[Schema, ...]) -> Table:
                places.append(f"place{len(places)}")
                owner.execute(f"CREATE SCHEMA {places[-1]}; SET search_path = {places[-1]}, public")
                for statement in statements(rows, "COLLATE folding"):
                    owner.execute(statement)
                parts = [(postgres_dsn, f"{places[-1]}.{name}") for name in ("events", "orders", "zones")]
                table = opened(parts, declared)
                if changes:
                    changed(owner)
                return table

            return open_

        yield opener
        for place in places:
            owner.execute(f"DROP SCHEMA {place} CASCADE")


@pytest.fixture
def on_spark(spark_session: Any, tmp_path: Path) -> Iterator[Any]:
    """Return what opens Parquet files of Spark, which are then written over."""
    places: list[Path] = []

    def opener(changes: bool) -> Opener:
        def open_(rows: Rows, declared: tuple[Schema, ...]) -> Table:
            places.append(tmp_path / f"place{len(places)}")
            listed = {"events": rows, "orders": orders_of(rows), "zones": ZONE_ROWS}
            parts = []
            for name, cells in listed.items():
                folder = places[-1] / name
                folder.mkdir(parents=True)
                _write(folder / "one.parquet", name, cells)
                parts.append(spark_session.read.parquet(str(folder)))
            table = opened(parts, declared)
            if changes:
                _write(places[-1] / "zones" / "two.parquet", "zones", [("a", 1), ("a", 2), ("b", 3)])
                _write(places[-1] / "events" / "one.parquet", "events", [*rows, *rows[:5]])
                (places[-1] / "orders" / "one.parquet").unlink()
            return table

        return open_

    yield opener


def _write(path: Path, name: str, rows: Any) -> None:
    columns = zip(*rows, strict=True)
    arrays = [pa.array(list(cells), kind) for cells, kind in zip(columns, ARROW[name].values(), strict=True)]
    pq.write_table(pa.table(dict(zip(ARROW[name], arrays, strict=True))), path)


@pytest.mark.parametrize("name", DOSES)
def test_no_input_moves_by_more_than_its_sensitivity(name: str, request: pytest.FixtureRequest) -> None:
    engine, _, changes = name.partition(", ")
    opener = request.getfixturevalue(f"on_{engine}")(bool(changes))
    (one_of, pairs), cases = DOSES[name], CASES
    if engine == "spark":
        # A table takes it seconds to open: those of one unit and one change will do.
        cases = [case for case in CASES if isinstance(case[0], User) and case[1] is AddRemove]
    chosen = cases[list(DOSES).index(name) :: one_of]
    assert holds(Tables(opener), prepared_plans(0, chosen), pairs) == pairs * len(chosen)


@pytest.mark.parametrize(
    ("name", "turn"),
    [
        ("frames", 0),
        ("postgres", 1),
        pytest.param("frames", 1, marks=pytest.mark.soak),
        pytest.param("postgres", 0, marks=pytest.mark.soak),
    ],
)
def test_no_input_of_what_is_spelt_moves_by_more_than_its_sensitivity(
    name: str, turn: int, request: pytest.FixtureRequest
) -> None:
    opener = DUCKDB[name] if name in DUCKDB else request.getfixturevalue(f"on_{name}")(False)
    pairs = 2
    count = len(SPELLINGS) + len(USER_SPELLINGS)
    assert holds(Tables(opener), spelt_plans(turn), pairs) == pairs * count
