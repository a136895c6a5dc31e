"""Answers as a whole mean what the SQL says: an engine that runs the text itself shows the same rows.

The budget is so large that noise is 0 but with probability 1e-9.
"""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Boolean, Category, Date, Integer, Row, Schema, Table
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql
from discreet.testing import unsafe_seeded

SALES = Schema(
    "sales",
    columns=(
        Category("kind", values=("a", "b", "c")),
        Category("shop", values=(1, 2, 3)),
        Integer("n", lower=-10, upper=20),
        Boolean("paid"),
        Date("day", lower=datetime.date(2020, 1, 1), upper=datetime.date(2020, 1, 9)),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
POLICY = Policy(epsilon=Fraction(10**6), delta=Fraction(0))
CONFIDENCES = (Fraction(1, 2), Fraction(999, 1000))


def rows() -> list[tuple[Any, ...]]:
    """Every pair of values meets, so that no group is empty: a declared one is shown all the same."""
    kinds, shops, numbers = ("a", "b", "b", "c", None), (1, 2, 3, None), (*range(-10, 21, 3), 4, 5, None)
    days = itertools.cycle([*SALES.column("day").domain(), None])
    listed = itertools.product(kinds, shops, numbers, (True, True, False, None))
    return [(*row, next(days)) for row in listed]


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[duckdb.DuckDBPyConnection, Table]]:
    raw = duckdb.connect(config={"threads": 1})
    raw.execute("CREATE TABLE sales (kind TEXT, shop BIGINT, n BIGINT, paid BOOLEAN, day DATE)")
    raw.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?)", rows())
    table = Table((raw, "sales"), schema=SALES)
    yield raw, table
    table.close()
    raw.close()


def as_rows(found: Any) -> list[tuple[Any, ...]]:
    return [
        tuple(round(float(cell), 6) if isinstance(cell, int | float | Fraction) else cell for cell in row)
        for row in found
    ]


def agrees(engines: tuple[duckdb.DuckDBPyConnection, Table], text: str, *, in_order: bool) -> int:
    """Compare, look for the true value in every interval, and return how many rows there were."""
    raw, table = engines
    plan = parse(text, schemas=SALES, policy=POLICY)
    assert parse(to_sql(plan, PlanTables.of(SALES)), schemas=SALES, policy=POLICY) == plan
    answer = table.answer(table.plan(text, epsilon=POLICY.epsilon, delta=0), rng=unsafe_seeded(1))
    ours, theirs = as_rows(answer.rows), as_rows(raw.execute(text).fetchall())
    if not in_order:
        ours, theirs = sorted(ours, key=repr), sorted(theirs, key=repr)
    assert ours == theirs, text
    for name in answer.numbers:
        for confidence in CONFIDENCES:
            ends = answer.interval(name, confidence)
            for (low, high), value in zip(ends, answer.column(name), strict=True):
                assert value is None or low <= value <= high, (text, name)  # type: ignore[operator]
    return len(ours)


WHERE = st.sampled_from(
    [
        "",
        "WHERE paid",
        "WHERE NOT paid",
        "WHERE n > 0",
        "WHERE n <= 3 AND shop <> 2",
        "WHERE kind IN ('a', 'b')",
    ]
)
ONE = st.sampled_from(
    [
        "COUNT(*)",
        "COUNT(n)",
        "SUM(n)",
        "COUNT(*) FILTER (WHERE n > 2)",
        "COUNT(kind)",
        "2 * SUM(n) - COUNT(*)",
    ]
)
KEYS = st.sampled_from(
    [
        ("kind", "WHERE kind IS NOT NULL", "GROUP BY kind"),
        ("'all'", "", ""),
        ("CASE WHEN n > 5 THEN 'high' ELSE 'low' END", "WHERE n IS NOT NULL", "GROUP BY 1"),
    ]
)


@st.composite
def selects(draw: st.DrawFn) -> str:
    key, needed, grouped = draw(KEYS)
    where = draw(WHERE)
    if needed:
        where = f"{needed} AND ({where.removeprefix('WHERE ')})" if where else needed
    having = draw(st.sampled_from(["", "HAVING COUNT(*) > 15"])) if grouped else ""
    return f"SELECT {key} AS k, {draw(ONE)} AS m, {draw(ONE)} AS o FROM sales {where} {grouped} {having}"


@settings(max_examples=120, deadline=None)
@given(st.lists(selects(), min_size=1, max_size=4), st.booleans())
def test_rows_below_one_another(
    engines: tuple[duckdb.DuckDBPyConnection, Table], parts: list[str], sorts: bool
) -> None:
    text = " UNION ALL ".join(parts)
    try:
        parse(text, schemas=SALES, policy=POLICY)
    except Refused as refused:
        assert "no row can meet its condition" in str(refused) or "computed of a constant" in str(refused)
        return
    agrees(engines, text + (" ORDER BY m DESC, o, k LIMIT 3 OFFSET 1" if sorts else ""), in_order=sorts)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT shop, COUNT(*) AS n FROM sales WHERE shop <> 2 GROUP BY shop UNION ALL "
        "SELECT shop, 10 * COUNT(*) FROM sales WHERE shop = 2 GROUP BY shop ORDER BY n + shop DESC",
        "WITH p AS (SELECT * FROM sales WHERE paid), q AS (SELECT * FROM p WHERE n > 1) "
        "SELECT 'p' AS w, COUNT(*) AS c FROM p UNION ALL (SELECT 'q', COUNT(*) FROM q) ORDER BY 1",
        "SELECT day, SUM(n) AS s FROM sales WHERE day > DATE '2020-01-03' GROUP BY day UNION ALL "
        "SELECT NULL, 0 FROM sales HAVING COUNT(*) > 10 ORDER BY day NULLS FIRST",
        "SELECT n // 6 AS h, COUNT(*) AS c FROM sales WHERE n > 0 GROUP BY h UNION ALL "
        "SELECT n // 6 AS h, COUNT(*) AS c FROM sales WHERE n > 4 AND paid GROUP BY h ORDER BY h, c",
    ],
)
def test_parts_of_one_question(engines: tuple[duckdb.DuckDBPyConnection, Table], text: str) -> None:
    assert agrees(engines, text, in_order=True) > 1


OVER = st.sampled_from(
    [
        "",
        "PARTITION BY kind",
        "ORDER BY shop",
        "PARTITION BY kind ORDER BY shop DESC",
        "ORDER BY kind, shop",
        "PARTITION BY paid ORDER BY kind",
        "ORDER BY kind, shop, paid ROWS BETWEEN 2 PRECEDING AND CURRENT ROW",
        "ORDER BY shop DESC, kind, paid ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING",
        "PARTITION BY kind ORDER BY shop, paid ROWS UNBOUNDED PRECEDING",
        "ORDER BY kind, shop, paid ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING",
        "PARTITION BY shop ORDER BY kind RANGE BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING",
    ]
)
TOTALS = st.builds(
    "{}({}) OVER ({})".format,
    st.sampled_from(["SUM", "AVG", "MIN", "MAX", "COUNT"]),
    st.sampled_from(["COUNT(*)", "SUM(n)", "NULLIF(COUNT(n), 33)", "COUNT(*) - SUM(n)"]),
    OVER,
)
RANKS = st.builds(
    "{}() OVER ({}ORDER BY {} {})".format,
    st.sampled_from(["RANK", "DENSE_RANK"]),
    st.sampled_from(["", "PARTITION BY kind ", "PARTITION BY paid "]),
    st.sampled_from(["COUNT(*)", "SUM(n)", "COUNT(*) / COUNT(n)", "shop", "SUM(n), kind"]),
    st.sampled_from(["", "DESC"]),
)
NEIGHBOURS = st.builds(
    "{}({}) OVER (ORDER BY kind, shop DESC, paid)".format,
    st.sampled_from(["LAG", "LEAD"]),
    st.sampled_from(["SUM(n)", "COUNT(*), 2", "COUNT(*), 3, 0", "SUM(n), 0"]),
)
UNIQUE = [
    "ROW_NUMBER() OVER (PARTITION BY kind ORDER BY shop DESC, paid)",
    "COUNT(*) OVER (PARTITION BY shop)",
]
WINDOWS = st.one_of(TOTALS, RANKS, NEIGHBOURS, st.sampled_from(UNIQUE))


@settings(max_examples=150, deadline=None)
@given(
    st.lists(WINDOWS, min_size=1, max_size=3),
    st.sampled_from(["", "HAVING COUNT(*) > 30", "HAVING SUM(n) < 200"]),
    st.sampled_from(["", "QUALIFY RANK() OVER (PARTITION BY kind ORDER BY COUNT(*) DESC, shop, paid) <= 2"]),
)
def test_windows_over_an_answer(
    engines: tuple[duckdb.DuckDBPyConnection, Table], windows: list[str], having: str, qualify: str
) -> None:
    shown = ", ".join(f"{one} AS w{place}" for place, one in enumerate(windows))
    there = "kind IS NOT NULL AND shop IS NOT NULL AND paid IS NOT NULL"
    text = (
        f"SELECT kind, shop, paid, COUNT(*) AS c, {shown}, 2 * {windows[0]} - COUNT(*) AS z FROM sales "
        f"WHERE {there} GROUP BY kind, shop, paid {having} {qualify}"
    )
    agrees(engines, text, in_order=False)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT kind, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share FROM sales WHERE kind IS NOT NULL "
        "GROUP BY kind ORDER BY share DESC, kind",
        "SELECT kind AS k, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM sales WHERE kind IS NOT NULL GROUP "
        "BY k UNION ALL SELECT 'paid', RANK() OVER (ORDER BY COUNT(*)) FROM sales WHERE paid ORDER BY r, k",
        "SELECT day, SUM(COUNT(*)) OVER (ORDER BY day) AS so_far, COUNT(*) - LAG(COUNT(*)) OVER (ORDER BY "
        "day) AS more FROM sales WHERE day IS NOT NULL GROUP BY day "
        "ORDER BY SUM(COUNT(*)) OVER (ORDER BY day) DESC",
    ],
)
def test_everyday_windows(engines: tuple[duckdb.DuckDBPyConnection, Table], text: str) -> None:
    assert agrees(engines, text, in_order=True) > 1
