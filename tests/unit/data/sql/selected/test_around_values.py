"""What is said around an answer is what DuckDB finds in the same rows, where noise is next to nothing."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Category, Integer, Row, Schema, Table
from discreet.data.ask import ask, plan_question
from discreet.data.plan.nodes import Policy
from discreet.testing import unsafe_seeded

SCHEMA = Schema(
    "t",
    columns=(
        Category("a", values=("p", "q", "r")),
        Integer("b", lower=0, upper=4),
        Integer("w", lower=0, upper=10**6),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
ROWS = [("pqr"[i % 5 % 3], i % 7 % 5, i * 997) for i in range(40)] + [(None, 1, 5), ("p", None, None)]
POLICY = Policy(epsilon=Fraction(10**7), delta=Fraction(0))
BY_A = "WITH i AS (SELECT a, COUNT(*) AS n FROM t WHERE a IS NOT NULL GROUP BY "


def _ask(text: str) -> list[tuple[Any, ...]]:
    frame = pd.DataFrame(ROWS, columns=["a", "b", "w"]).astype({"a": object, "b": "float64", "w": "float64"})
    with Table(frame, schema=SCHEMA) as table:
        plan = plan_question(text, schemas=SCHEMA, policy=POLICY)
        return [tuple(row) for row in ask(plan, source=table._source, rng=unsafe_seeded(1)).rows]


def _sort(rows: Any) -> list[tuple[Any, ...]]:
    numbers = (int, float, Fraction)
    shown = [
        tuple(round(float(c), 6) if isinstance(c, numbers) and not isinstance(c, bool) else c for c in row)
        for row in rows
    ]
    return sorted(shown, key=repr)


@pytest.mark.parametrize(
    "text",
    [
        BY_A + "a HAVING COUNT(*) > 8) SELECT 1.0 * SUM(n) / (SELECT SUM(n) FROM i) AS s FROM i WHERE n > 16",
        BY_A + "a HAVING COUNT(*) > 8) SELECT a, 1.0 * n / (SELECT SUM(n) FROM i) AS s FROM i WHERE n > 16",
        BY_A + "ROLLUP (a)) SELECT COALESCE(a, 'all') AS k, SUM(n) AS s FROM i GROUP BY k",
        BY_A + "ROLLUP (a)) SELECT a IS NULL AS k, SUM(n) AS s FROM i GROUP BY k",
        BY_A + "a) SELECT a = 'p' AS k, SUM(n) AS s FROM i GROUP BY k",
        "SELECT POWER(COUNT(*), 0.25) AS p, POWER(COUNT(*) - COUNT(*), 1.5) AS z FROM t",
        "SELECT FLOOR(LOG10(100000 + 0 * COUNT(*))) AS p, CEIL(LOG10(1000 + 0 * COUNT(*))) AS c FROM t",
        "SELECT SUM(STEPS(w, NULL, 5, NULL, 1000000, 3)) AS s FROM t",
    ],
)
def test_answers_are_those_of_the_engine(text: str) -> None:
    frame = pd.DataFrame(ROWS, columns=["a", "b", "w"])
    con = duckdb.connect()
    con.register("t", frame)
    written = text.replace("STEPS(w, NULL, 5, NULL, 1000000, 3)", "CASE WHEN w > 5 THEN 3 END")
    assert _sort(_ask(text)) == _sort(con.execute(written).fetchall())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "SELECT a, n / (SELECT SUM(n) FROM t) AS s FROM (SELECT a, COUNT(*) AS n FROM t GROUP BY a) AS t",
            "column n: it is not declared",
        ),
        (
            BY_A
            + "a) SELECT a, n / (SELECT SUM(n) FROM i) AS s, RANK() OVER (ORDER BY n) FROM i WHERE n > 3",
            "OVER beside a subquery",
        ),
        (BY_A + "a) SELECT a, n / (SELECT SUM(n) FROM x.i) AS s FROM i", "schema before"),
        (BY_A + "a) SELECT j.a = 'p' AS k, SUM(n) AS s FROM i GROUP BY j.a = 'p'", "no table of FROM"),
        ("SELECT SUM(STEPS(w, NULL, 1000000, NULL)) AS s FROM t", "always missing"),
        ("SELECT SUM(LOG(1.0000001, w + 1)) AS s FROM t", "from 1.01 on"),
    ],
)
def test_what_would_be_read_otherwise_is_refused(text: str, words: str) -> None:
    with pytest.raises(Refused, match=words):
        plan_question(text, schemas=SCHEMA, policy=POLICY)
