"""With a budget that leaves no noise, an answer is what DuckDB itself says of the same rows."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from fractions import Fraction

import duckdb
import pyarrow as pa
import pytest

from discreet import AddRemove
from discreet.data import Boolean, Category, Date, Decimal, Identifier, Integer, Schema, Table, User

DAY = datetime.date(2023, 11, 15)
SCHEMA = Schema(
    "t",
    columns=(
        Identifier("who"),
        Identifier("receipt"),
        Category("g", values=("a", "b", "c")),
        Integer("x", lower=0, upper=12),
        Decimal("y", lower=0, upper=50, grid=Fraction("0.5")),
        Boolean("flag"),
        Date("day", lower=DAY, upper=datetime.date(2024, 6, 30)),
    ),
    unit=User(column="who", max_rows=6, max_groups=6),
    neighbours=AddRemove("who"),
)
SIZE = 240
ROWS = pa.table(
    {
        "who": [f"u{k % 60}" for k in range(SIZE)],
        "receipt": [None if k % 5 == 0 else f"r{k // 2}" for k in range(SIZE)],
        "g": [("a", "b", "b", "c", "a", "a", None)[k % 7] for k in range(SIZE)],
        "x": [None if k % 11 == 0 else (k * k + k // 9) % 13 for k in range(SIZE)],
        "y": [(k * 37 % 101) / 2 for k in range(SIZE)],
        "flag": [k % 3 == 0 for k in range(SIZE)],
        "day": [None if k % 13 == 0 else DAY + datetime.timedelta(k * k % 229) for k in range(SIZE)],
    }
)
QUESTIONS = (
    # Combinations
    "SELECT COUNT(DISTINCT (g, x)) AS n FROM t WHERE g IS NOT NULL AND x IS NOT NULL",
    "SELECT COUNT(DISTINCT (x, y, flag)) AS n FROM t WHERE x IS NOT NULL",
    "SELECT COUNT(DISTINCT x + 2 * y) AS n, COUNT(DISTINCT UPPER(g)) AS m FROM t",
    "SELECT flag, COUNT(DISTINCT x % 4) AS n FROM t GROUP BY flag ORDER BY flag",
    # One row for each unit and what it holds
    "SELECT COUNT(*) AS n FROM (SELECT DISTINCT who, g FROM t WHERE g IS NOT NULL) AS u",
    "SELECT g, COUNT(*) AS n FROM (SELECT DISTINCT who, g, flag FROM t) AS u WHERE g IS NOT NULL "
    "GROUP BY g ORDER BY g",
    "SELECT AVG(n) AS n FROM (SELECT who, COUNT(DISTINCT x) AS n FROM t GROUP BY who) AS u",
    "SELECT SUM(n) AS n, MAX(m) AS m, SUM(k) AS k FROM (SELECT who, COUNT(DISTINCT y) AS n, "
    "COUNT(DISTINCT x % 4) FILTER (WHERE flag) AS m, COUNT(DISTINCT x * y) AS k FROM t GROUP BY who "
    "HAVING COUNT(DISTINCT g) > 1) AS u",
    "SELECT n, COUNT(*) AS c FROM (SELECT who, COUNT(DISTINCT (x, flag)) AS n FROM t WHERE x > 1 "
    "GROUP BY who) AS u GROUP BY n HAVING COUNT(*) > 1 ORDER BY n",
    "SELECT AVG(b - a) AS n FROM (SELECT who, MIN(x) AS a, MAX(x) AS b FROM t GROUP BY who) AS u",
    # First and last days under a condition, and what holds in some or all rows of a unit
    "SELECT COUNT(*) AS n, SUM(CASE WHEN p IS NULL THEN 1 ELSE 0 END) AS m, COUNTIF(p < f + INTERVAL 30 DAY) "
    "AS k FROM (SELECT who, MIN(day) AS f, MIN(day) FILTER (WHERE x > 5) AS p FROM t GROUP BY who) AS u",
    "SELECT EXTRACT(MONTH FROM p) AS m, COUNT(*) AS n FROM (SELECT who, MAX(CASE WHEN x > 3 AND y > 9 "
    "THEN day END) AS p FROM t GROUP BY who) AS u WHERE p >= '2023-12-01' GROUP BY m HAVING COUNT(*) > 0 "
    "ORDER BY m",
    "SELECT COUNTIF(o) AS a, COUNTIF(e) AS b, COUNTIF(o AND NOT e) AS c, SUM(CAST(e AS INT)) AS d FROM ("
    "SELECT who, BOOL_OR(x > 9) AS o, BOOL_AND(y > 10) FILTER (WHERE flag) AS e FROM t GROUP BY who) AS u",
    "SELECT COUNT(*) AS n FROM (SELECT who FROM t GROUP BY who HAVING BOOL_OR(flag) OR SUM(y > 30) > 1) AS u",
    "SELECT SUM(a) AS a FROM (SELECT who, AVG(CAST(flag AS INT)) AS a FROM t GROUP BY who) AS u",
    # Numbers and dates as text
    "SELECT CONCAT(EXTRACT(YEAR FROM day), '-Q', EXTRACT(QUARTER FROM day)) AS q, COUNT(*) AS n FROM t "
    "WHERE day IS NOT NULL GROUP BY q ORDER BY q",
    "SELECT LPAD(CAST(x * 10 AS VARCHAR), 3, '0') AS k, COUNT(*) AS n FROM t WHERE x IS NOT NULL GROUP BY k "
    "ORDER BY k",
    "SELECT g || (x % 3) AS k, COUNT(*) AS n FROM t WHERE g IS NOT NULL AND x IS NOT NULL GROUP BY k "
    "ORDER BY k",
    "SELECT COUNT(*) AS n FROM t WHERE CAST(day AS VARCHAR) LIKE '2024-01-1%' OR day::TEXT = '2023-12-01'",
    "SELECT COUNTIF(CAST(x + 2 * CAST(flag AS INT) AS VARCHAR) IN ('7', '12')) AS n FROM t",
    # Groups whose values have larger steps than one
    "SELECT CASE WHEN x < y THEN 'less' WHEN x > 90 THEN 'never' ELSE 'more' END AS k, COUNT(*) AS n FROM t "
    "GROUP BY k ORDER BY k",
    "SELECT UPPER(g) AS k, COUNT(*) AS n FROM t WHERE g IN ('a', 'c') GROUP BY k UNION ALL "
    "SELECT 'all', COUNT(*) FROM t WHERE flag ORDER BY k",
    "SELECT 12 - x AS k, COUNT(*) AS n FROM t WHERE x IN (4, 8) GROUP BY k UNION ALL "
    "SELECT 77, COUNT(*) FROM t ORDER BY k",
    # Whether a text, a date or an identifier is there
    "SELECT COUNT(UPPER(g)) AS a, COUNT(DATE_TRUNC('month', day)) AS b, COUNT(band) FILTER (WHERE flag) AS c "
    "FROM (SELECT g, day, flag, CASE WHEN x > 9 THEN 'high' WHEN x > 5 THEN 'low' END AS band FROM t) AS u",
    "SELECT SUM(n) AS n FROM (SELECT who, COUNT(CONCAT(g, '!')) AS n FROM t WHERE g IS NOT NULL "
    "GROUP BY who) AS u",
    "SELECT COUNT(receipt) FILTER (WHERE flag) AS a, COUNT(CASE WHEN x > 4 THEN receipt END) AS b, "
    "COUNT(CASE WHEN x > 4 THEN who END) AS c, COUNT(CASE WHEN flag THEN g END) AS d FROM t "
    "WHERE x IS NOT NULL",
    "SELECT flag, COUNT(receipt) AS n FROM t WHERE who IS NOT NULL AND (receipt IS NULL OR y > 20) "
    "GROUP BY flag ORDER BY flag",
    "SELECT SUM(n) AS n, SUM(m) AS m FROM (SELECT who, COUNT(receipt) AS n, "
    "COUNT(CASE WHEN flag THEN receipt END) AS m FROM t GROUP BY who) AS u",
    "SELECT COUNT(receipt) AS n FROM t WHERE flag UNION ALL SELECT COUNT(receipt) FROM t",
    # Other spellings
    "SELECT COUNT(*) AS n FROM t WHERE g = ANY(['a', 'c']) AND x <> ALL([1, 2])",
    "SELECT COUNT(*) AS n FROM t WHERE day >= MAKE_DATE(2024, 1, 1)",
    # Curves
    "SELECT SUM(FLOOR(LOG10(y + 1))) AS n, COUNTIF(SQRT(x) < 3) AS m FROM t",
    "SELECT SUM(LN(y + 1)) AS s, SUM(SQRT(y)) AS q, SUM(EXP(x / 4)) AS e, SUM(POWER(y, 0.5)) AS p FROM t",
    "SELECT FLOOR(LN(x)) AS k, COUNT(*) AS n FROM t WHERE x > 0 GROUP BY k ORDER BY k",
    # Windows over an answer
    "SELECT x, NTILE(5) OVER (ORDER BY x) AS n, COUNT(*) AS m FROM t WHERE x IS NOT NULL GROUP BY x "
    "ORDER BY x",
    "SELECT x, NTILE(4) OVER (ORDER BY SUM(y)) AS n, PERCENT_RANK() OVER (ORDER BY SUM(y)) AS p, "
    "CUME_DIST() OVER (ORDER BY SUM(y)) AS c FROM t WHERE x IS NOT NULL GROUP BY x ORDER BY x",
    "SELECT g, FIRST_VALUE(SUM(y)) OVER (ORDER BY g) AS f, LAST_VALUE(SUM(y)) OVER (ORDER BY g "
    "ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS l FROM t WHERE g IS NOT NULL "
    "GROUP BY g ORDER BY g",
    "SELECT COUNT(*) AS n FROM t WHERE (g, flag) IN (('a', TRUE), ('c', FALSE))",
)


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    with Table(ROWS, schema=SCHEMA) as made:
        yield made


@pytest.mark.parametrize("question", QUESTIONS)
def test_no_noise_leaves_what_is_true(question: str, table: Table) -> None:
    with duckdb.connect() as plain:
        plain.register("t", ROWS)
        wanted = plain.execute(question.replace("COUNTIF", "COUNT_IF")).fetchall()
    found = table.sql(question, epsilon=10**9, delta=0).rows
    assert len(found) == len(wanted)
    for row, other in zip(found, wanted, strict=True):
        for value, true in zip(row, other, strict=True):
            assert value == (true if isinstance(true, str) else pytest.approx(float(true), rel=1e-4))
