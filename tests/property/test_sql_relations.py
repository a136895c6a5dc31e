"""Subqueries and joins mean what SQL says: an engine that runs the text itself agrees."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from engine_rows import fill
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import AddRemove
from discreet.data import Boolean, Category, Dimension, Identifier, Integer, Schema, Table, User
from discreet.data.engines.rendering.render import render
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.facts import facts
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql

SHOPS = Dimension(
    "shops",
    key="shop",
    columns=(
        Integer("shop", lower=1, upper=4),
        Category("city", values=("york", "leeds")),
        Integer("size", lower=0, upper=9),
    ),
)
KINDS = Dimension(
    "kinds",
    key="kind",
    columns=(Category("kind", values=("a", "b", "c")), Integer("weight", lower=-2, upper=3, null=0)),
)
SALES = Schema(
    "sales",
    columns=(
        Identifier("who"),
        Category("kind", values=("a", "b", "c")),
        Integer("shop", lower=1, upper=4),
        Integer("home", lower=1, upper=4),
        Integer("n", lower=-5, upper=5),
        Boolean("paid"),
    ),
    unit=User(column="who", max_rows=50, max_groups=9),
    neighbours=AddRemove("who"),
    dimensions=(SHOPS, KINDS),
)
GIFTS = Schema(
    "gifts",
    columns=(Identifier("who"), Integer("price", lower=0, upper=5)),
    unit=User(column="who", max_rows=50, max_groups=9),
    neighbours=AddRemove("who"),
)
TABLES = PlanTables.of((SALES, GIFTS))
POLICY = Policy(epsilon=Fraction(1), delta=Fraction(0))


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[duckdb.DuckDBPyConnection, Table]]:
    raw = duckdb.connect(config={"threads": 1})
    raw.execute("CREATE TABLE sales (who TEXT, kind TEXT, shop BIGINT, home BIGINT, n BIGINT, paid BOOLEAN)")
    domains = (
        "uvwxyz",
        ("a", "b", "c", None),
        (1, 2, 3, 4, None),
        (4, 3, None),
        range(-5, 6),
        (True, False, None),
    )
    cycles = [itertools.cycle(domain) for domain in domains]
    raw.executemany(
        "INSERT INTO sales VALUES (?, ?, ?, ?, ?, ?)", [[next(c) for c in cycles] for _ in range(90)]
    )
    raw.execute("CREATE TABLE gifts (who TEXT, price BIGINT)")
    raw.execute("INSERT INTO gifts VALUES ('u', 3), ('u', 5), ('v', 0), ('w', NULL), ('nobody', 2)")
    raw.execute("CREATE TABLE shops (shop BIGINT, city TEXT, size BIGINT)")
    raw.execute("INSERT INTO shops VALUES (1, 'york', 3), (2, 'leeds', NULL), (4, NULL, 5)")  # and no shop 3
    raw.execute("CREATE TABLE kinds (kind TEXT, weight BIGINT)")
    raw.execute("INSERT INTO kinds VALUES ('a', 2), ('c', -2)")
    parts: dict[str, Any] = {"shops": (raw, "shops"), "kinds": (raw, "kinds")}
    table = Table((raw, "sales"), schema=SALES, joined=[((raw, "gifts"), GIFTS)], dimensions=parts)
    yield raw, table
    table.close()
    raw.close()


def understood(text: str) -> Plan:
    plan = parse(text, schemas=TABLES, policy=POLICY)
    assert parse(to_sql(plan, TABLES), schemas=TABLES, policy=POLICY) == plan
    return plan


def agree(engines: tuple[duckdb.DuckDBPyConnection, Table], text: str) -> None:
    """The exact measures of counts and sums, which are all that is asked here, in the text's own order."""
    raw, table = engines
    plan = understood(text)
    known = facts(plan, TABLES)
    found: dict[Any, Any] = {}
    for query in render(known):
        for group, values in fill(query, table._source.execute(query.tree), known.tables):
            found.setdefault(group, {}).update(zip(query.measures, values, strict=True))
    width = len(plan.keys)
    expected = {row[:width]: row[width:] for row in raw.execute(text).fetchall() if None not in row[:width]}
    assert expected.keys() <= found.keys()
    for group, values in found.items():
        ours = [values[known.measured[one][0]] * known.measured[one][0].unit for one in plan.aggregates]
        theirs = expected.get(group, (0,) * len(ours))
        assert ours == [cell or 0 for cell in theirs], (text, group)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*), SUM(n) FROM (SELECT * FROM sales WHERE n > 0) AS t WHERE paid",
        "SELECT COUNT(*), SUM(m) FROM (SELECT 2 * n - 1 AS m, paid FROM sales) AS t WHERE m > 0 OR paid",
        "SELECT SUM(a * b) FROM (SELECT n + 1 AS a, n - 1 AS b FROM sales) AS t",
        "WITH t AS (SELECT n - 1 AS n, n AS old FROM sales), "
        "u AS (SELECT n - 1 AS n, old FROM t WHERE n > -3) "
        "SELECT COUNT(*), SUM(n), SUM(old * n) FROM u WHERE n < old",
        "WITH sales AS (SELECT * FROM sales WHERE paid) SELECT COUNT(*) FROM sales",
        "WITH t AS (SELECT * FROM sales WHERE n > 0 OR paid) "
        "SELECT COUNT(*) FROM t WHERE n < 3 OR kind = 'a'",
        "WITH t(a, b) AS (SELECT kind, n FROM sales) SELECT a, SUM(b) FROM t GROUP BY a",
        "SELECT city, COUNT(*) FROM (SELECT s.*, city, size FROM sales AS s JOIN shops USING (shop)) AS t "
        "WHERE size IS NULL OR size > n GROUP BY city",
        "SELECT COUNT(*), SUM(size) FROM sales JOIN (SELECT shop, size FROM shops WHERE city = 'york') AS s "
        "USING (shop)",
        "SELECT city, COUNT(*), SUM(n), SUM(size) FROM sales LEFT JOIN shops USING (shop) GROUP BY city",
        "SELECT COUNT(*), COUNT(size), SUM(size + n) FROM sales LEFT JOIN shops USING (shop)",
        "SELECT COUNT(*) FROM sales LEFT JOIN shops ON sales.shop = shops.shop WHERE shops.shop IS NULL",
        "SELECT COUNT(*) FROM sales LEFT JOIN shops USING (shop) WHERE shop = 3",
        "SELECT COUNT(*), SUM(weight), SUM(weight * size) FROM sales LEFT JOIN kinds USING (kind) "
        "LEFT JOIN shops USING (shop)",
        "SELECT COUNT(*), SUM(weight + size) FROM sales JOIN kinds USING (kind) JOIN shops USING (shop)",
        "SELECT COUNT(*), SUM(a.size - b.size) FROM sales JOIN shops AS a ON sales.shop = a.shop "
        "JOIN shops AS b ON sales.home = b.shop",
        "SELECT COUNT(*), SUM(a.size) FROM sales JOIN shops AS a USING (shop) "
        "LEFT JOIN shops AS b ON sales.home = b.shop WHERE b.city IS NULL OR b.city = 'york'",
        "SELECT COUNT(*), COUNT(weight) FROM sales LEFT JOIN kinds USING (kind)",
        "SELECT COUNT(*), SUM(n) FROM sales LEFT JOIN kinds USING (kind) WHERE weight IS NULL",
        "SELECT weight, COUNT(*) FROM sales LEFT JOIN kinds USING (kind) GROUP BY weight",
        "SELECT COUNT(*) FROM sales SEMI JOIN shops USING (shop)",
        "SELECT COUNT(*), SUM(n) FROM sales ANTI JOIN shops ON sales.home = shops.shop WHERE paid",
        "SELECT COUNT(*), SUM(a.n * b.n), SUM(a.n - b.n) FROM sales AS a JOIN sales AS b USING (who)",
        "SELECT COUNT(*), COUNT(g.who), COUNT(price), SUM(price), SUM(n) FROM sales "
        "LEFT JOIN gifts AS g USING (who)",
        "SELECT COUNT(DISTINCT g.who), COUNT(DISTINCT g.who) FILTER (WHERE price > 1), COUNT(DISTINCT s.who) "
        "FROM sales AS s LEFT JOIN gifts AS g ON s.who = g.who",
        "SELECT COUNT(*), SUM(n) FROM sales AS s LEFT JOIN gifts AS g ON s.who = g.who "
        "WHERE g.who IS NULL OR price > 2",
        "SELECT COUNT(*) FROM sales AS s LEFT JOIN gifts AS g ON s.who = g.who "
        "WHERE g.who IS NOT NULL AND paid",
        "SELECT SUM(k), SUM(p), COUNT(*) FROM (SELECT s.who, COUNT(g.who) AS k, SUM(COALESCE(price, 0)) AS p "
        "FROM sales AS s LEFT JOIN gifts AS g ON s.who = g.who GROUP BY s.who) AS t",
        "SELECT COUNT(*), SUM(price) FROM (SELECT who, n FROM sales WHERE paid) AS s JOIN "
        "(SELECT who AS w, price FROM gifts WHERE price > 1) AS g ON s.who = g.w",
        "SELECT COUNT(*), SUM(m) FROM (SELECT who, COUNT(*) AS m FROM sales WHERE shop IN "
        "(SELECT shop FROM shops WHERE city = 'york') GROUP BY who) AS t",
        "SELECT COUNT(*), SUM(m), SUM(top) FROM (SELECT a.who, COUNT(*) AS m, MAX(price) AS top FROM sales "
        "AS a JOIN gifts USING (who) LEFT JOIN shops USING (shop) WHERE size IS NULL GROUP BY a.who) AS t",
        "SELECT SUM(a), SUM(b), COUNT(b), SUM(c), COUNT(c) FROM (SELECT who, COUNT(*) FILTER (WHERE paid) "
        "AS a, SUM(n) FILTER (WHERE n > 3 AND kind = 'a') AS b, MIN(n) FILTER (WHERE shop > home) AS c "
        "FROM sales GROUP BY who) AS t",
        "SELECT SUM(a), SUM(b), SUM(c), SUM(d) FROM (SELECT who, COUNTIF(n > 0 OR paid) AS a, COUNT(kind) "
        "AS b, COUNT(paid) AS c, COUNT(kind) FILTER (WHERE n > 2) AS d FROM sales GROUP BY who) AS t",
        "SELECT SUM(a), SUM(b * c), COUNT(*) FROM (SELECT who, COUNT(DISTINCT kind) AS a, COUNT(DISTINCT "
        "n) AS b, COUNT(DISTINCT paid) FILTER (WHERE shop = 2) AS c FROM sales WHERE n < 4 GROUP BY who) t",
        "SELECT COUNT(*) FROM (SELECT who FROM sales WHERE n > 1 GROUP BY who HAVING COUNT(DISTINCT kind) > 2"
        " AND COUNT(*) FILTER (WHERE paid) > 1) AS t",
    ],
)
def test_queries_count_and_add_up_what_sql_does(
    engines: tuple[duckdb.DuckDBPyConnection, Table], text: str
) -> None:
    agree(engines, text)


INNER = st.sampled_from(
    [
        "",
        "city = 'york'",
        "city <> 'york'",
        "city IS NULL",
        "size > 3",
        "NOT size > 3",
        "size IS NULL OR size < 4",
    ]
)


def list_keys(column: str, word: str, condition: str) -> str:
    where = f" WHERE {condition}" if condition else ""
    return f"{column} {word} (SELECT shop FROM shops{where})"


def ask_for_row(column: str, word: str, condition: str) -> str:
    where = f" AND ({condition})" if condition else ""
    return f"{word} (SELECT 1 FROM shops AS s WHERE s.shop = sales.{column}{where})"


MATCHES = st.one_of(
    st.builds(list_keys, st.sampled_from(["shop", "home"]), st.sampled_from(["IN", "NOT IN"]), INNER),
    st.builds(
        ask_for_row, st.sampled_from(["shop", "home"]), st.sampled_from(["EXISTS", "NOT EXISTS"]), INNER
    ),
    st.sampled_from(["paid", "n > 0", "kind IN (SELECT kind FROM kinds WHERE weight > 0)"]),
)
CONDITIONS = st.recursive(
    MATCHES,
    lambda inner: (
        inner.map("NOT ({})".format)
        | st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner)
    ),
    max_leaves=4,
)


@settings(max_examples=100, deadline=None)
@given(CONDITIONS)
def test_lists_of_keys_choose_the_rows_that_sql_chooses(
    engines: tuple[duckdb.DuckDBPyConnection, Table], condition: str
) -> None:
    agree(engines, f"SELECT COUNT(*), SUM(n) FROM sales WHERE {condition}")


@pytest.mark.parametrize(
    "texts",
    [
        (
            "SELECT COUNT(*) FROM sales WHERE shop IN (SELECT shop FROM shops WHERE city = 'york')",
            "SELECT COUNT(*) FROM sales AS s WHERE EXISTS "
            "(SELECT * FROM shops AS t WHERE city = 'york' AND t.shop = s.shop)",
            "WITH t AS (SELECT shop AS k FROM shops WHERE city = 'york') "
            "SELECT COUNT(*) FROM sales WHERE shop IN (SELECT k FROM t)",
        ),
        (
            "SELECT COUNT(*) FROM sales SEMI JOIN shops USING (shop)",
            "SELECT COUNT(*) FROM sales LEFT SEMI JOIN shops ON sales.shop = shops.shop",
            "SELECT COUNT(*) FROM sales WHERE shop IN (SELECT shop FROM shops)",
            "SELECT COUNT(*) FROM sales LEFT JOIN shops USING (shop) WHERE shops.shop IS NOT NULL",
        ),
        (
            "SELECT SUM(n) FROM sales WHERE n > 0 AND paid",
            "SELECT SUM(n) FROM (SELECT n FROM sales WHERE n > 0 AND paid)",
            "WITH a AS (SELECT * FROM sales WHERE paid), b AS (SELECT a.n AS m FROM a) "
            "SELECT SUM(m) FROM b WHERE m > 0",
            "SELECT SUM(t.n) FROM (SELECT * EXCEPT (shop) FROM (SELECT * FROM sales) AS u WHERE u.n > 0) "
            "AS t WHERE t.paid",
        ),
    ],
)
def test_one_question_has_one_plan(texts: tuple[str, ...]) -> None:
    assert len({canonicalise(understood(text)) for text in texts}) == 1
