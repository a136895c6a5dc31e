"""Lists of units mean what an engine says, and whether a unit is in one depends on its own rows alone."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pandas as pd
import pytest

from discreet import AddRemove, Replace
from discreet.core.errors import Refused
from discreet.data import Category, Identifier, Integer, Row, Schema, Table, User
from discreet.data.plan.facts import facts
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql

VISITS = Schema(
    "v",
    columns=(Identifier("who"), Category("ward", values=("a", "b")), Integer("x", lower=0, upper=9)),
    unit=User(column="who", max_rows=9, max_groups=2),
    neighbours=AddRemove("who"),
)
DRUGS = Schema(
    "d",
    columns=(Identifier("who"), Identifier("prescriber"), Category("drug", values=("p", "q"))),
    unit=User(column="who", max_rows=5, max_groups=1),
    neighbours=AddRemove("who"),
)
OTHERS = (
    Schema("staff", columns=DRUGS.columns, unit=DRUGS.unit, neighbours=Replace("who")),
    Schema("rows", columns=DRUGS.columns, unit=Row(), neighbours=AddRemove("row")),
)
TABLES = PlanTables.of((VISITS, DRUGS, *OTHERS))
POLICY = Policy(epsilon=Fraction(1), delta=Fraction(0))
QUESTIONS = (
    "SELECT COUNT(*) FROM v WHERE who IN (SELECT who FROM d WHERE drug = 'q')",
    "SELECT COUNT(*) FROM v WHERE who NOT IN (SELECT DISTINCT who FROM d WHERE drug = 'q') OR x = 9",
    "SELECT ward, COUNT(DISTINCT who) AS n FROM v WHERE EXISTS (SELECT 1 FROM d WHERE d.who = "
    "v.who AND drug = 'p') AND x > 3 GROUP BY ward ORDER BY ward",
    "SELECT COUNT(DISTINCT who) FROM v AS a WHERE NOT EXISTS (SELECT * FROM v AS b WHERE b.who = a.who "
    "AND b.x > 8)",
    "SELECT COUNT(DISTINCT who) FROM v WHERE who IN (SELECT who FROM v WHERE x = 9) AND who IN "
    "(SELECT who FROM d)",
    "SELECT AVG(n) FROM (SELECT who, COUNT(*) AS n FROM v WHERE who IN (SELECT who FROM d WHERE drug = 'p') "
    "GROUP BY who) AS t",
    "SELECT COUNT(*) FROM v JOIN d USING (who) WHERE v.who IN (SELECT who FROM v WHERE x = 3)",
    "WITH q AS (SELECT who FROM d WHERE drug = 'q') SELECT SUM(x) FROM v WHERE who IN (SELECT who FROM q)",
    "SELECT COUNT(*) FROM v LEFT JOIN d ON d.who = v.who AND d.drug = 'q' WHERE x > 2 AND d.who IS NULL",
    "SELECT COUNT(*), SUM(x) FROM v WHERE who IN (SELECT who FROM v GROUP BY who HAVING SUM(x) > 22)",
    "SELECT COUNT(*) FROM v WHERE x < 5 AND who NOT IN (SELECT who FROM d WHERE drug = 'q' GROUP BY who "
    "HAVING COUNT(*) >= 2 AND SUM(CASE WHEN drug = 'p' THEN 1 ELSE 0 END) = 0) OR x = 9",
    "WITH u AS (SELECT who, COUNT(*) AS n, AVG(x) AS a, MIN(x) AS low FROM v GROUP BY who) "
    "SELECT ward, COUNT(DISTINCT who) AS n FROM v WHERE who IN (SELECT who FROM u WHERE a > 4.5 AND low < 9) "
    "GROUP BY ward ORDER BY ward",
    "WITH u AS (SELECT who, COUNT(DISTINCT ward) AS n FROM v GROUP BY who) SELECT SUM(x) FROM v "
    "WHERE EXISTS (SELECT 1 FROM u WHERE u.who = v.who AND u.n > 1) AND NOT EXISTS "
    "(SELECT * FROM d WHERE d.who = v.who AND drug = 'q')",
    "SELECT AVG(n) FROM (SELECT who, COUNT(*) AS n FROM v WHERE who IN (SELECT who FROM d GROUP BY who "
    "HAVING COUNT(*) > 1) GROUP BY who) AS t",
    "WITH often AS (SELECT who FROM d GROUP BY 1 HAVING COUNT(*) > 1) SELECT COUNT(*), SUM(v.x) FROM v "
    "JOIN often ON often.who = v.who AND v.x > 1",
    "WITH t AS (SELECT who, SUM(x) AS s FROM v GROUP BY who) SELECT COUNT(*) FROM d JOIN t ON t.who = d.who "
    "WHERE t.s > 20 AND d.drug = 'p'",
    "SELECT COUNT(*) FROM v LEFT JOIN (SELECT who FROM d GROUP BY who HAVING COUNT(*) > 1) AS t "
    "ON t.who = v.who WHERE t.who IS NULL",
    "WITH w AS (SELECT *, x + 1 AS y FROM v), t AS (SELECT who, COUNT(*) AS n, MAX(x) AS m FROM w "
    "GROUP BY who) SELECT COUNT(*) FROM v WHERE who IN (SELECT who FROM t WHERE n > 4)",
    "SELECT COUNT(*) FROM v, d WHERE v.who = d.who AND (d.drug = 'q' OR v.x > 5)",
)


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[duckdb.DuckDBPyConnection, Table]]:
    visits = [(f"u{i % 40}", "ab"[i * i % 3 % 2], i * 7 % 10) for i in range(200)]
    drugs = [(f"u{i % 50}", f"u{i % 7}", "pq"[i % 3 % 2]) for i in range(60)]
    frames = {
        "v": pd.DataFrame([*visits, (None, "a", 9)], columns=["who", "ward", "x"]),
        "d": pd.DataFrame([*drugs, (None, "u1", "q")], columns=["who", "prescriber", "drug"]),
    }
    raw = duckdb.connect(config={"threads": 1})
    for name, frame in frames.items():
        raw.register("frame", frame)
        # Rows of nobody count nowhere.
        raw.execute(f"CREATE TABLE {name} AS SELECT * FROM frame WHERE who IS NOT NULL")
    with Table(frames["v"], schema=VISITS, joined=[(frames["d"], DRUGS)]) as table:
        yield raw, table
    raw.close()


@pytest.mark.parametrize("text", QUESTIONS)
def test_lists_of_units_are_those_of_an_engine(engines: tuple[Any, Table], text: str) -> None:
    raw, table = engines
    expected = [tuple(map(str, row)) for row in raw.execute(text).fetchall()]
    assert [tuple(map(str, row)) for row in table.sql(text, epsilon=10**9, delta=0).rows] == expected
    plan = parse(text, schemas=TABLES, policy=POLICY)
    assert parse(to_sql(plan, TABLES), schemas=TABLES, policy=POLICY) == plan


def test_a_list_costs_nothing() -> None:
    plain, listed = (
        facts(
            parse(f"SELECT ward, COUNT(*) FROM v{where} GROUP BY ward", schemas=TABLES, policy=POLICY),
            TABLES,
        )
        for where in ("", " WHERE who IN (SELECT who FROM d)")
    )
    assert [one.measures for one in plain.sets] == [one.measures for one in listed.sets]
    assert (plain.rows_per_unit, plain.groups_per_unit) == (listed.rows_per_unit, listed.groups_per_unit)


def test_a_list_is_of_all_rows_of_a_unit_that_are_kept() -> None:
    text = "SELECT {} COUNT(*) FROM v WHERE who IN (SELECT who FROM v GROUP BY who HAVING COUNT(*) > 2)"
    clause = "WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 1)"
    whole, few = (parse(text.format(one), schemas=TABLES, policy=POLICY) for one in ("", clause))
    assert whole.where == few.where and whole.options != few.options


REFUSED = [
    ("who IN (SELECT prescriber FROM d)", "it must compare who"),
    ("x IN (SELECT x FROM v)", "it must compare who"),
    ("ward IN (SELECT who FROM d)", "joined on the privacy unit"),
    ("who IN (SELECT who FROM staff)", "both protect the same unit"),
    ("who IN (SELECT who FROM rows)", "it must compare"),
    ("who IN (SELECT who FROM d WHERE who IN (SELECT who FROM v))", "it holds another one"),
    ("EXISTS (SELECT 1 FROM d WHERE d.who = v.who AND v.x > 3)", "with those around it"),
    ("EXISTS (SELECT 1 FROM d WHERE drug = 'p')", "it must compare who"),
    ("who IN (SELECT who FROM d LIMIT 3)", "LIMIT"),
    ("who IN (SELECT who FROM d GROUP BY who, drug HAVING COUNT(*) > 1)", "by more than the unit"),
    ("who IN (SELECT d.who FROM d JOIN v USING (who) GROUP BY d.who)", "or joins tables"),
    ("ward IN (SELECT ward FROM v GROUP BY ward HAVING COUNT(*) > 9)", "something else than the unit"),
    ("who IN (SELECT MAX(x) FROM v GROUP BY who)", "it must compare who"),
    ("who IN (SELECT MAX(x) + 1 FROM v GROUP BY who)", "it selects no unit"),
    ("ward IN (SELECT who FROM d GROUP BY who)", "joined on the privacy unit"),
    ("who IN (SELECT who FROM staff GROUP BY who)", "both protect the same unit"),
    ("who IN (SELECT who FROM v WHERE who IN (SELECT who FROM d) GROUP BY who)", "it holds another one"),
    ("EXISTS (SELECT 1 FROM d WHERE d.who = v.who GROUP BY d.who)", "unit IN (SELECT unit FROM t GROUP BY"),
    ("who IN (SELECT who FROM (SELECT who, FOO(SUM(x)) AS f FROM v GROUP BY who))", "FOO"),
    ("who IN (SELECT who FROM (SELECT who, FOO(x) AS f FROM v) GROUP BY who)", "FOO"),
    ("who IN (SELECT who FROM (SELECT who, FOO(x) AS f FROM v))", "FOO"),
    ("CASE WHEN who IN (SELECT who FROM d) THEN 1 ELSE 0 END = 1", "Put it in WHERE"),
]


@pytest.mark.parametrize(("condition", "words"), REFUSED)
def test_other_lists_are_refused(condition: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        parse(f"SELECT COUNT(*) FROM v WHERE {condition}", schemas=TABLES, policy=POLICY)
    assert words in str(caught.value) and caught.value.way_out
