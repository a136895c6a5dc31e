"""A query around an answer shows what an engine would compute of it, and costs what the answer costs."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Category, Integer, Row, Schema, Table
from discreet.data.ask import ask, plan_question
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql
from discreet.testing import unsafe_seeded

VISITS = Schema(
    "v",
    columns=(
        Category("ward", values=("a", "b", "c", "d")),
        Category("sex", values=("f", "m")),
        Integer("x", lower=0, upper=9),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
TABLES = PlanTables.of(VISITS)
POLICY = Policy(epsilon=Fraction(1), delta=Fraction(0))
ROWS = [("aaaabbbccd"[i % 10], "fm"[i // 10 % 3 % 2], i * 7 % 9) for i in range(230)]
PER_WARD = "(SELECT ward, COUNT(*) AS n FROM v GROUP BY ward) AS q"
BOTH = "(SELECT ward, sex, COUNT(*) AS n, SUM(x) AS s FROM v GROUP BY ward, sex) AS q"
QUESTIONS = (
    f"SELECT AVG(n) FROM {PER_WARD}",
    f"SELECT AVG(q.n), MAX(n) - MIN(n) AS spread, COUNT(*) AS k, SUM(n) AS s FROM {PER_WARD} WHERE n > 40",
    f"SELECT COUNT(*) AS k, SUM(n) AS s FROM {PER_WARD} WHERE n > 1000",
    f"SELECT * FROM {PER_WARD} WHERE n > 40 ORDER BY n DESC LIMIT 2",
    f"SELECT ward, AVG(n) AS m, SUM(s) / SUM(n) AS r FROM {BOTH} GROUP BY ward ORDER BY ward",
    f"SELECT sex, MAX(n) AS m FROM {BOTH} WHERE n > 5 GROUP BY 1 HAVING MAX(n) > 9 ORDER BY 1",
    f"SELECT ward AS w, COUNT(*) AS k FROM {BOTH} WHERE n > 30 GROUP BY w ORDER BY k DESC, w",
    "WITH a AS (SELECT ward, COUNT(*) AS n FROM v WHERE x > 2 GROUP BY ward) "
    "SELECT SUM(CASE WHEN n > 50 THEN n ELSE 0 END) AS big, COUNT(*) FILTER (WHERE n > 50) AS k FROM a",
    "WITH a AS (SELECT ward, COUNT(*) AS n FROM v GROUP BY ward), b AS (SELECT ward, n, n * 2 AS d FROM a "
    "WHERE n > 10) SELECT ward, CASE WHEN d > 90 THEN 'big' ELSE '' END AS e, d + 1 AS f FROM b ORDER BY 1",
    "WITH rows AS (SELECT * FROM v WHERE sex = 'f'), a AS (SELECT ward, SUM(x) AS s FROM rows GROUP BY ward) "
    "SELECT MIN(s) AS least FROM a",
    "SELECT a / b AS m FROM (SELECT SUM(x) AS a, COUNT(*) AS b FROM v) AS q",
    "SELECT ward, r FROM (SELECT ward, RANK() OVER (ORDER BY COUNT(*) DESC) AS r FROM v GROUP BY ward) AS q "
    "WHERE r <= 2 ORDER BY r",
    "SELECT ward, share FROM (SELECT ward, COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS share FROM v "
    "GROUP BY ward) AS q WHERE ward <> 'a' ORDER BY ward",
    f"SELECT ward, n, RANK() OVER (ORDER BY n DESC) AS r FROM {PER_WARD} WHERE n > 40 ORDER BY r",
    f"SELECT AVG(n) AS n, MAX(n) AS m FROM {PER_WARD}",
    "SELECT AVG(n) FROM (SELECT ward, COUNT(*) FROM v GROUP BY ward HAVING COUNT(*) > 60) AS q(w, n)",
    "SELECT ward, COUNT(*) * 1.0 / (SELECT COUNT(*) FROM v) AS share FROM v WHERE x > 2 GROUP BY ward "
    "ORDER BY 1",
    "SELECT ward, AVG(x) - (SELECT AVG(x) FROM v WHERE sex = 'f') AS d FROM v WHERE ward IN ('a', 'b') "
    "GROUP BY ward HAVING SUM(x) > (SELECT 0.1 * SUM(x) FROM v) ORDER BY d DESC",
    "SELECT ward, sex, COUNT(*) - (SELECT COUNT(*) FROM v WHERE x < 4) AS d FROM v "
    "GROUP BY ROLLUP(ward, sex) HAVING COUNT(*) > 20 ORDER BY ward NULLS FIRST, sex NULLS FIRST",
    "WITH t AS (SELECT SUM(x) AS s, COUNT(*) AS n FROM v) SELECT COUNT(*) * 100.0 / (SELECT n FROM t) AS a, "
    "(SELECT s / n FROM t) AS b FROM v WHERE sex = 'm'",
    "SELECT MAX(n) AS m FROM (SELECT n FROM (SELECT ward, COUNT(*) AS n FROM v GROUP BY ward) AS i) AS o",
)


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[duckdb.DuckDBPyConnection, Table]]:
    frame = pd.DataFrame(ROWS, columns=["ward", "sex", "x"])
    raw = duckdb.connect(config={"threads": 1})
    raw.register("v", frame)
    with Table(frame, schema=VISITS) as table:
        yield raw, table
    raw.close()


def numbers(rows: Any) -> list[list[Any]]:
    return [
        [cell if isinstance(cell, str | None) else pytest.approx(float(cell)) for cell in row] for row in rows
    ]


@pytest.mark.parametrize("text", QUESTIONS)
def test_it_shows_what_an_engine_computes(engines: tuple[Any, Table], text: str) -> None:
    raw, table = engines
    assert {(ward, sex) for ward, sex, _ in ROWS} == {(ward, sex) for ward in "abcd" for sex in "fm"}
    found = table.sql(text, epsilon=10**9, delta=0)
    cursor = raw.execute(text)
    assert [list(row) for row in found.rows] == numbers(cursor.fetchall())
    plan = parse(text, schemas=VISITS, policy=POLICY)
    assert parse(to_sql(plan, TABLES), schemas=VISITS, policy=POLICY) == plan


def test_it_measures_what_the_inner_query_measures() -> None:
    inner = parse("SELECT ward, COUNT(*) AS n FROM v GROUP BY ward", schemas=VISITS, policy=POLICY)
    for text in QUESTIONS[:2]:
        assert canonicalise(parse(text, schemas=VISITS, policy=POLICY)) == canonicalise(inner)
    # What is not read is not measured.
    unread = parse(f"SELECT SUM(n) AS s FROM {BOTH}", schemas=VISITS, policy=POLICY)
    assert [one.kind for one in unread.aggregates] == ["count"]


def test_intervals_hold_where_noise_chooses_the_rows(engines: tuple[Any, Table]) -> None:
    """A ward of 69 rows beside a bound of 60: whether it is counted is in doubt, and is said to be."""
    raw, table = engines
    text = f"SELECT COUNT(*) AS k, SUM(n) AS s, AVG(n) AS m, MAX(n) AS most FROM {PER_WARD} WHERE n > 60"
    ((k, s, m, most),) = raw.execute(text).fetchall()
    truth = {"k": k, "s": s, "m": m, "most": most}
    prepared = plan_question(text, schemas=VISITS, policy=Policy(epsilon=Fraction("0.3"), delta=Fraction(0)))
    widths, misses, runs = set(), 0, 60
    for seed in range(runs):
        answer = ask(prepared, source=table._source, rng=unsafe_seeded(seed))
        for name, value in truth.items():
            ((low, high),) = answer.interval(name, 0.95)
            misses += not low <= value <= high
            widths.add(high - low if name == "k" else 0)
    assert misses <= 0.05 * runs * len(truth)
    assert max(widths) >= 1, "the doubt about who is counted is not said"


REFUSED = [
    (f"SELECT MEDIAN(n) FROM {PER_WARD}", "MEDIAN of an answer"),
    (f"SELECT ward, AVG(n) FROM {PER_WARD}", "neither a key of the outer GROUP BY nor an aggregate"),
    (f"SELECT n, COUNT(*) FROM {PER_WARD} GROUP BY n", "it names keys of the inner GROUP BY"),
    (f"SELECT zip FROM {PER_WARD}", "it is not declared. Columns: ward, n"),
    (f"SELECT other.n FROM {PER_WARD}", "no table of FROM has this name"),
    (f"SELECT COUNT(*) FROM {PER_WARD}", "which groups there are is public"),
    (f"SELECT DISTINCT ward FROM {PER_WARD}", "DISTINCT: it is not part of the language"),
    (f"SELECT AVG(n) FROM {PER_WARD} JOIN v USING (ward)", "GROUP BY in a subquery"),
    (f"SELECT SUM(AVG(n)) FROM {PER_WARD}", "an aggregate of an aggregate"),
    (f"SELECT AVG(n) OVER () AS z, AVG(n) AS y FROM {PER_WARD}", "it stands beside aggregates"),
    (f"SELECT COUNT(DISTINCT n) FROM {PER_WARD}", "not part of the language"),
    (f"SELECT *, AVG(n) FROM {PER_WARD}", "single rows"),
    (
        "SELECT AVG(n) FROM (SELECT ward, COUNT(*) FROM v GROUP BY ward) AS q(n)",
        "2 columns, and 1 names",
    ),
    (
        "SELECT AVG(n) FROM (SELECT ward, COUNT(*) AS n FROM v GROUP BY ward ORDER BY 2 LIMIT 3) AS q",
        "LIMIT in a subquery",
    ),
    (
        "SELECT AVG(m) FROM (SELECT ward, MAX(n) AS m FROM "
        "(SELECT ward, sex, COUNT(*) AS n FROM v GROUP BY ward, sex) AS i GROUP BY ward) AS o",
        "QUALIFY in a subquery",
    ),
]


@pytest.mark.parametrize(("text", "words"), REFUSED)
def test_the_rest_is_refused_by_name(text: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        parse(text, schemas=VISITS, policy=POLICY)
    assert words in str(caught.value) and caught.value.way_out
