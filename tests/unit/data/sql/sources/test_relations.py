# ruff: noqa: E501  # queries read better in one line
"""What stands for what once subqueries are put into a query, what is refused, and how much work it may be."""

from __future__ import annotations

import time

import pytest
from sql_schemas import TABLES, VISITS, plan
from sqlglot import exp

from discreet.core.errors import Refused
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.facts import facts
from discreet.data.plan.nodes import Plan
from discreet.data.sql.sources.names import MAX_COPIED
from discreet.data.sql.sources.relations import MAX_LEVELS, flatten
from discreet.data.sql.text import parse_text

PER_USER = "SELECT user_id, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY user_id"


def same(text: str, other: str) -> bool:
    return canonicalise(plan(text)) == canonicalise(plan(other))


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("SELECT COUNT(*) FROM (SELECT * FROM visits)", "SELECT COUNT(*) FROM visits"),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM visits) AS visits WHERE visits.age > 3",
            "SELECT COUNT(*) FROM visits WHERE age > 3",
        ),
        # The inner name hides the table's own column of the same name.
        ("SELECT SUM(age) FROM (SELECT income AS age FROM visits) AS t", "SELECT SUM(income) FROM visits"),
        (
            "SELECT SUM(a) FROM (SELECT age AS income, income AS a FROM visits) AS t",
            "SELECT SUM(income) FROM visits",
        ),
        # Brackets: a product of sums, not a sum of products.
        (
            "SELECT SUM(2 * a) FROM (SELECT age + 1 AS a FROM visits) AS t",
            "SELECT SUM(2 * age + 2) FROM visits",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE age > 3 OR active) AS t WHERE age < 9 OR active",
            "SELECT COUNT(*) FROM visits WHERE (age > 3 OR active) AND (age < 9 OR active)",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM visits WHERE NOT active) AS t WHERE NOT age > 3",
            "SELECT COUNT(*) FROM visits WHERE age <= 3 AND active = FALSE",
        ),
        (
            "WITH a AS (SELECT * FROM visits), b AS (SELECT * FROM a) SELECT r, COUNT(*) FROM (SELECT region AS r FROM b) AS c GROUP BY r",
            "SELECT region, COUNT(*) FROM visits GROUP BY region",
        ),
        (
            "WITH a AS MATERIALIZED (SELECT age FROM visits) SELECT SUM(age) FROM a",
            "SELECT SUM(age) FROM visits",
        ),
        (
            "WITH a AS (WITH b AS (SELECT age AS x FROM visits) SELECT x AS y FROM b) SELECT SUM(y) FROM a",
            "SELECT SUM(age) FROM visits",
        ),
        # A name hides the table after its own definition, and not within it.
        (
            "WITH visits AS (SELECT * FROM visits WHERE age > 3), t AS (SELECT * FROM visits WHERE age < 9) SELECT COUNT(*) FROM t",
            "SELECT COUNT(*) FROM visits WHERE age > 3 AND age < 9",
        ),
        ("WITH stores AS (SELECT * FROM visits) SELECT SUM(age) FROM stores", "SELECT SUM(age) FROM visits"),
        (
            "SELECT city, COUNT(*) FROM (SELECT v.store AS s FROM visits AS v) AS t JOIN stores ON t.s = stores.store GROUP BY city",
            "SELECT city, COUNT(*) FROM visits JOIN stores USING (store) GROUP BY city",
        ),
        (
            "SELECT city, COUNT(*) FROM (SELECT store FROM visits) AS t JOIN stores USING (store) GROUP BY city",
            "SELECT city, COUNT(*) FROM visits JOIN stores USING (store) GROUP BY city",
        ),
        (
            "SELECT r AS x, COUNT(*) FROM (SELECT region AS r FROM visits) AS t GROUP BY x",
            "SELECT region, COUNT(*) FROM visits GROUP BY region",
        ),
        (
            "WITH a AS (SELECT age FROM visits) SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) SUM(age) FROM a",
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.5) SUM(age) FROM visits",
        ),
        (
            f"SELECT COUNT(*) FROM ({PER_USER} HAVING COUNT(*) > 2) AS t",
            f"SELECT COUNT(*) FROM ({PER_USER}) AS t WHERE n > 2",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT DISTINCT user_id FROM visits) AS t",
            f"SELECT COUNT(*) FROM ({PER_USER}) AS t",
        ),
        (
            "SELECT AVG(d) FROM (SELECT user_id, MAX(age) - MIN(age) AS d FROM visits GROUP BY user_id) AS t",
            "SELECT AVG(a - b) FROM (SELECT user_id, MAX(age) AS a, MIN(age) AS b FROM visits GROUP BY user_id) AS t",
        ),
    ],
)
def test_a_name_stands_for_its_expression(text: str, other: str) -> None:
    assert same(text, other)


def test_outputs_keep_the_names_that_were_written() -> None:
    found: Plan = plan("SELECT r, COUNT(*) AS k FROM (SELECT region AS r FROM visits) AS t GROUP BY r")
    assert [one.name for one in found.outputs] == ["r", "k"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "SELECT SUM(income) FROM (SELECT age FROM visits) AS t",
            "column income: it is not declared. Columns: age",
        ),
        ("SELECT SUM(v.age) FROM (SELECT age FROM visits AS v) AS t", "v: no table of FROM has this name"),
        (
            "SELECT SUM(visits.age) FROM (SELECT age FROM visits) AS t",
            "visits: no table of FROM has this name",
        ),
        ("SELECT SUM(discreet_r0.age) FROM (SELECT age FROM visits) AS t", "no table of FROM has this name"),
        ("SELECT COUNT(*) FROM discreet_units", "it is not declared"),
        ("WITH a AS (SELECT age FROM visits) SELECT COUNT(*) FROM discreet_units", "it is not declared"),
        (
            "SELECT SUM(a) FROM (SELECT age AS a, income AS a FROM visits) AS t",
            "several columns have this name",
        ),
        (
            "SELECT SUM(store) FROM (SELECT * FROM visits JOIN stores ON visits.store = stores.store) AS t",
            "several columns",
        ),
        ("WITH a AS (SELECT age FROM visits) SELECT COUNT(*) FROM visits", "WITH a: nothing reads it"),
        (
            "WITH a AS (SELECT age FROM visits), a AS (SELECT age FROM visits) SELECT COUNT(*) FROM a",
            "given twice",
        ),
        (
            "WITH a AS (SELECT * FROM b), b AS (SELECT * FROM visits) SELECT COUNT(*) FROM a JOIN b USING (age)",
            "table b: it is not declared",
        ),
        ("WITH RECURSIVE a AS (SELECT * FROM visits) SELECT COUNT(*) FROM a", "recursive"),
        (
            "WITH a(x) AS (SELECT age, income FROM visits) SELECT SUM(x) FROM a",
            "it has 2 columns, and 1 names",
        ),
        ("SELECT COUNT(*) FROM (SELECT * FROM visits LIMIT 5) AS t", "LIMIT in a subquery"),
        ("SELECT COUNT(*) FROM (SELECT * FROM visits ORDER BY age) AS t", "ORDER BY in a subquery"),
        (
            "SELECT COUNT(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM visits) AS t",
            "UNION in a subquery",
        ),
        ("SELECT COUNT(*) FROM (SELECT AVG(age) AS a FROM visits) AS t", "which groups there are is public"),
        (
            "SELECT COUNT(*) FROM (SELECT region, COUNT(*) AS n FROM visits GROUP BY region) AS t "
            "JOIN visits USING (region)",
            "GROUP BY user_id",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT user_id, note, COUNT(*) AS n FROM visits GROUP BY user_id, note) AS t",
            "declared columns of visits",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT user_id, age, COUNT(*) AS n FROM visits GROUP BY user_id) AS t",
            "Aggregate it",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT age, COUNT(*) AS n FROM people GROUP BY age) AS t JOIN people USING (age)",
            "a unit of people is one row",
        ),
        (
            "SELECT SUM(n) FROM (SELECT user_id, STDDEV(age) AS n FROM visits GROUP BY user_id) AS t",
            "Use COUNT, SUM, AVG, MIN, MAX or BOOL_OR",
        ),
        (
            "SELECT SUM(n) FROM (SELECT user_id, SUM(DISTINCT age) AS n FROM visits GROUP BY user_id) AS t",
            "only COUNT takes DISTINCT",
        ),
        (
            "SELECT SUM(n) FROM (SELECT user_id, COUNT(DISTINCT note) AS n FROM visits GROUP BY user_id) AS t",
            "the values of note are not declared",
        ),
        (
            "SELECT SUM(n) FROM (SELECT user_id, SUM(age, contribution_bounds_per_row => (0, 1)) AS n FROM visits GROUP BY user_id) AS t",
            "it takes one number",
        ),
        (
            "SELECT SUM(n) FROM (SELECT user_id, SUM(1) AS n FROM visits GROUP BY user_id) AS t",
            "computed of a constant",
        ),
        (f"SELECT user_id, COUNT(*) FROM ({PER_USER}) AS t GROUP BY user_id", "it would show single units"),
        (f"SELECT COUNT(*) FROM ({PER_USER}) AS t JOIN visits USING (user_id)", "Join inside the subquery"),
        (f"SELECT AVG(t.n) FROM visits v JOIN ({PER_USER}) AS t USING (user_id)", "Join inside the subquery"),
        (f"SELECT AVG(n) FROM visits v JOIN ({PER_USER}) AS t USING (user_id)", "Join inside the subquery"),
        (
            f"SELECT COUNT(*) FROM ({PER_USER}) AS a JOIN ({PER_USER}) AS b USING (user_id)",
            "Join inside the subquery",
        ),
        (
            f"SELECT SUM(n) FROM (SELECT user_id, SUM(n) AS n FROM ({PER_USER}) AS t GROUP BY user_id) AS u",
            "one row a unit already",
        ),
        (
            "SELECT COUNT(*) FROM (SELECT user_id, ROW_NUMBER() OVER (PARTITION BY user_id ORDER BY day) AS k FROM visits) AS t WHERE k = 1",
            "OVER in a subquery",
        ),
        ("SELECT COUNT(*) FROM visits WHERE age > (SELECT AVG(age) FROM visits)", "Ask for its number first"),
        ("SELECT COUNT(*) FROM visits WHERE age IN (SELECT age FROM visits)", "it must compare user_id"),
        ("SELECT COUNT(*) FROM visits WHERE region IN (SELECT city FROM stores)", "it must compare store"),
        (
            "SELECT COUNT(*) FROM visits WHERE store + 1 IN (SELECT store FROM stores)",
            "one column with one column",
        ),
        ("SELECT COUNT(*) FROM visits WHERE store IN (SELECT store FROM stores LIMIT 1)", "LIMIT"),
        (
            "SELECT COUNT(*) FROM visits WHERE EXISTS (SELECT 1 FROM stores WHERE city = 'york')",
            "it must compare store",
        ),
        (
            "SELECT COUNT(*) FROM visits LEFT JOIN (SELECT * FROM stores WHERE city = 'york') AS s USING (store)",
            "it drops rows on its own",
        ),
        ("SELECT COUNT(*) FROM visits FULL JOIN stores USING (store)", "FULL JOIN"),
        (
            "SELECT COUNT(*) FROM orders RIGHT JOIN visits USING (user_id)",
            "with the table first whose rows count",
        ),
        (
            "SELECT COUNT(*) FROM visits v LEFT JOIN orders o ON o.user_id = v.user_id AND o.price > 3",
            "the rest in an aggregate",
        ),
        ("SELECT one, COUNT(*) FROM (SELECT 1 AS one FROM visits) AS t GROUP BY one", "it is a constant"),
        ("SELECT COUNT(*) FROM (SELECT age, secret(age) AS x FROM visits) AS t", "secret"),
        ("SELECT COUNT(*) FROM (SELECT age, nowhere AS x FROM visits) AS t", "column nowhere"),
        ("SELECT COUNT(*) FROM (SELECT age, 1 / age FROM visits) AS t", "division"),
    ],
)
def test_refusals_name_the_part_and_the_way_out(text: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan(text)
    assert words in str(caught.value)


def test_a_query_without_subqueries_is_left_as_it_is() -> None:
    tree, _ = parse_text("SELECT COUNT(*) FROM visits AS v WHERE v.age > 3")
    flat = flatten(tree, TABLES, lambda _: None)
    assert flat.tree is tree
    assert flat.units is None


def test_the_tree_that_was_read_is_not_changed() -> None:
    tree, _ = parse_text(f"WITH a AS ({PER_USER}) SELECT n, SUM(s + n) FROM a WHERE n > 1 GROUP BY n")
    before = tree.sql()
    made = flatten(tree, TABLES, lambda _: None)
    assert tree.sql() == before
    assert made.units is not None
    assert {table.name for table in made.tree.find_all(exp.Table)} == {"discreet_units"}


def test_max_rows_of_the_request_narrow_the_values() -> None:
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 2, max_groups_contributed = 2) "
    found = plan(f"{asked} n, COUNT(*) FROM ({PER_USER}) AS t GROUP BY n")
    assert found.options.max_rows == 2
    assert found.options.max_groups is None
    with pytest.raises(Refused):
        plan(f"{asked} COUNT(*) FROM ({PER_USER}) AS t WHERE n = 3")  # nobody has three rows
    assert VISITS.unit.max_rows == 5
    assert plan(f"SELECT COUNT(*) FROM ({PER_USER}) AS t WHERE n = 3").units is not None


def doubled(levels: int) -> str:
    """Each level names the one before twice, so what a name stands for doubles."""
    parts = ["a0 AS (SELECT age AS x FROM visits)"]
    parts += [f"a{k} AS (SELECT x + x AS x FROM a{k - 1})" for k in range(1, levels)]
    return f"WITH {', '.join(parts)} SELECT SUM(x) FROM a{levels - 1}"


def joined(levels: int) -> str:
    parts = ["a0 AS (SELECT user_id, age FROM visits)"]
    for k in range(1, levels):
        parts.append(
            f"a{k} AS (SELECT p.user_id, p.age FROM a{k - 1} AS p JOIN a{k - 1} AS q USING (user_id))"
        )
    return f"WITH {', '.join(parts)} SELECT COUNT(*) FROM a{levels - 1}"


@pytest.mark.parametrize("make", [doubled, joined])
def test_what_doubles_with_every_level_is_refused_before_it_is_built(make: object) -> None:
    assert callable(make)
    assert plan(make(2)) is not None
    started = time.process_time()  # of this process: others may have the cores
    with pytest.raises(Refused, match=f"{MAX_COPIED} copies|read twice at most"):
        plan(make(MAX_LEVELS))
    with pytest.raises(Refused, match="read twice at most"):
        plan(joined(3))
    assert time.process_time() - started < 2  # built, it would take minutes


def test_levels_are_limited() -> None:
    text = "SELECT * FROM visits"
    for _ in range(MAX_LEVELS - 1):
        text = f"SELECT * FROM ({text}) AS t"
    assert plan(f"SELECT COUNT(*) FROM ({text}) AS t") is not None
    with pytest.raises(Refused, match="nested more than"):
        plan(f"SELECT COUNT(*) FROM (SELECT * FROM ({text}) AS t) AS t")


@pytest.mark.parametrize(
    "condition",
    [
        "DATE_TRUNC(day, MONTH) = DATE '2020-02-01'",
        "DATE_DIFF(day, DATE '2020-01-01', DAY) > 30",
        "LEAST(day, DATE '2020-03-01') > DATE '2020-02-01'",
        "GREATEST(DATE '2020-03-01', day) > DATE '2020-02-01'",
        "day > CURRENT_DATE - 10000",
    ],
)
def test_parts_of_dates_and_today_are_no_columns(condition: str) -> None:
    inner = f"SELECT COUNT(*) FROM (SELECT day FROM visits) AS t WHERE {condition}"
    assert same(inner, f"SELECT COUNT(*) FROM visits WHERE {condition}")


def test_who_is_not_in_a_list_that_compares_columns() -> None:
    """Where such a comparison is unknown, the row is not in the list either."""
    listed = "EXISTS (SELECT 1 FROM stores WHERE stores.store = visits.store AND visits.age > visits.income)"
    assert plan(f"SELECT COUNT(*) FROM visits WHERE NOT {listed}") is not None


@pytest.mark.parametrize(("most", "span"), [(2, (0, 2)), (3, (0, 3)), (5, (0, 4))])
def test_a_unit_has_no_more_different_values_than_rows_that_count(most: int, span: tuple[int, int]) -> None:
    text = (
        f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = {most}) SUM(n) FROM (SELECT user_id, "
        "COUNT(DISTINCT region) AS n FROM visits GROUP BY user_id) AS t"
    )
    ((measure, moved),) = facts(plan(text), TABLES).sets[0].measures
    assert measure.row == span
    assert moved.l1 == span[1]
