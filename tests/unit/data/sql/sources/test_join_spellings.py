"""Older ways to write joins, and other words around a question, are the plans that new ones are."""

from __future__ import annotations

import pytest
from sql_schemas import plan

from discreet.core.errors import Refused
from discreet.data.plan.canonical import canonicalise

SAME = [
    (
        "SELECT COUNT(*) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id WHERE o.user_id IS NULL",
        "SELECT COUNT(*) FROM visits LEFT OUTER JOIN orders USING (user_id) WHERE (orders.user_id IS NULL)",
        "SELECT COUNT(*) FROM visits WHERE user_id NOT IN (SELECT user_id FROM orders)",
    ),
    (
        "SELECT COUNT(*) FROM visits v LEFT JOIN orders o ON o.user_id = v.user_id AND o.price > 3 "
        "WHERE v.active AND (v.age > 2 OR v.cost > 1) AND o.user_id IS NULL",
        "SELECT COUNT(*) FROM visits v WHERE active AND (age > 2 OR cost > 1) AND NOT EXISTS "
        "(SELECT 1 FROM orders o WHERE o.user_id = v.user_id AND o.price > 3)",
    ),
    (
        "SELECT s.city, COUNT(*) FROM visits v, stores s WHERE v.store = s.store AND v.active "
        "GROUP BY s.city",
        "SELECT s.city, COUNT(*) FROM visits v CROSS JOIN stores s WHERE s.store = v.store AND v.active "
        "GROUP BY s.city",
        "SELECT city, COUNT(*) FROM visits JOIN stores USING (store) WHERE active GROUP BY city",
    ),
    (
        "SELECT AVG(n) FROM (SELECT v.user_id, COUNT(*) AS n FROM visits v, orders o WHERE "
        "o.user_id = v.user_id GROUP BY v.user_id) AS t",
        "SELECT AVG(n) FROM (SELECT visits.user_id, COUNT(*) AS n FROM visits JOIN orders ON "
        "orders.user_id = visits.user_id GROUP BY visits.user_id) AS t",
    ),
    (
        "SELECT COUNT(*) FROM visits v LEFT ANTI JOIN orders o ON v.user_id = o.user_id",
        "SELECT COUNT(*) FROM visits ANTI JOIN orders USING (user_id)",
        "SELECT COUNT(*) FROM visits WHERE user_id NOT IN (SELECT user_id FROM orders)",
    ),
    (
        "WITH dear AS (SELECT user_id FROM orders WHERE price > 3) "
        "SELECT COUNT(*) FROM visits SEMI JOIN dear USING (user_id)",
        "SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT user_id FROM orders WHERE price > 3)",
    ),
    (
        "SELECT COUNT(*) FROM visits v LEFT SEMI JOIN orders o ON v.user_id = o.user_id AND o.price > 3 "
        "ANTI JOIN orders p ON p.user_id = v.user_id AND p.price < 2 WHERE v.active",
        "SELECT COUNT(*) FROM visits WHERE active AND user_id IN (SELECT user_id FROM orders "
        "WHERE price > 3) AND NOT EXISTS (SELECT 1 FROM orders WHERE orders.user_id = visits.user_id "
        "AND price < 2)",
    ),
    (
        "SELECT DATETIME_TRUNC(day, MONTH) AS m, COUNT(*) FROM visits WHERE day >= "
        "TIMESTAMP '2020-01-05 00:00:00' AND TIMESTAMP_DIFF(day, '2020-01-01', DAY) > 9 GROUP BY m",
        "SELECT DATE_TRUNC(day, MONTH) AS m, COUNT(*) FROM visits WHERE day >= DATE '2020-01-05' AND "
        "DATE_DIFF(day, '2020-01-01', DAY) > 9 GROUP BY m",
        "SELECT TIMESTAMP_TRUNC(day, MONTH) AS m, COUNT(*) FROM visits WHERE day >= '2020-01-05T00:00Z' "
        "AND DATE_DIFF(day, '2020-01-01 00:00:00.000+00:00', DAY) > 9 GROUP BY m",
    ),
    (
        "SELECT RANGE_BUCKET(age, [10, 20.5, 60]) AS k, DATE_TRUNC(day, WEEK(MONDAY)) AS w, COUNT(*) "
        "FROM visits GROUP BY k, w",
        "SELECT WIDTH_BUCKET(age, ARRAY[10, 20.5, 60]) AS k, DATE_TRUNC('week', day) AS w, COUNT(*) "
        "FROM visits GROUP BY 1, 2",
        "SELECT CASE WHEN age < 10 THEN 0 WHEN age < 20.5 THEN 1 WHEN age < 60 THEN 2 WHEN age >= 60 THEN 3 "
        "END AS k, DATE_TRUNC(day, ISOWEEK) AS w, COUNT(*) FROM visits GROUP BY k, w",
    ),
    (
        "SELECT region, active, COUNT(*) FROM visits GROUP BY region, active GROUPING SETS "
        "((region), (active))",
        "SELECT region, active, COUNT(*) FROM visits GROUP BY GROUPING SETS ((region), (active))",
    ),
    (
        "-- all\nSELECT COUNT(*) /* of /* them */ */ FROM visits -- ; DROP",
        "SELECT COUNT(*) FROM visits",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE day > DATEADD(month, -2, DATE '2020-06-30')",
        "SELECT COUNT(*) FROM visits WHERE day > DATE '2020-06-30' - INTERVAL 2 MONTH",
        "SELECT COUNT(*) FROM visits WHERE day > DATE_ADD('month', -2, DATE '2020-06-30')",
    ),
    (
        "SELECT DATEPART(day, day) AS d, COUNT(*) FROM visits GROUP BY d",
        "SELECT EXTRACT(DAY FROM day) AS d, COUNT(*) FROM visits GROUP BY d",
        "SELECT DATEPART(day, t.day) AS d, COUNT(*) FROM (SELECT day FROM visits) AS t GROUP BY d",
    ),
    (
        "SELECT region, GROUPING(region) AS g, COUNT(*) FROM visits GROUP BY ROLLUP(region)",
        "SELECT region, CASE WHEN region IS NULL THEN 1 ELSE 0 END AS g, COUNT(*) FROM visits "
        "GROUP BY ROLLUP(region)",
    ),
    (
        "SELECT s.city, COUNT(*) FROM visits v JOIN stores s ON (v.active AND v.store = s.store) "
        "AND s.city = 'york' GROUP BY s.city",
        "SELECT city, COUNT(*) FROM visits JOIN stores USING (store) WHERE active AND city = 'york' "
        "GROUP BY city",
    ),
    (
        "SELECT COUNT(*) FROM visits v JOIN orders o ON v.age = o.price AND o.user_id = v.user_id",
        "SELECT COUNT(*) FROM visits v JOIN orders o ON o.user_id = v.user_id WHERE v.age = o.price",
    ),
    ("SELECT COUNT() FROM visits", "SELECT COUNT(*) FROM visits"),
    ("SELECT /*+ BROADCAST(s) */ COUNT(*) FROM visits", "SELECT COUNT(*) FROM visits"),
    (
        "SELECT GROUPING_ID() AS g, COUNT(*) FROM visits GROUP BY region, active WITH CUBE",
        "SELECT GROUPING_ID(region, active) AS g, COUNT(*) FROM visits GROUP BY CUBE(region, active)",
    ),
    (
        "SELECT CAST(day AS TEXT)[1:7] AS m, COUNT(*) FROM visits GROUP BY m",
        "SELECT SUBSTR(CAST(day AS TEXT), 1, 7) AS m, COUNT(*) FROM visits GROUP BY m",
    ),
    ("SELECT SIZE(COLLECT_SET(region)) FROM visits", "SELECT COUNT(DISTINCT region) FROM visits"),
    (
        "WITH vip AS (SELECT user_id FROM orders GROUP BY user_id HAVING SUM(price) > 9) "
        "SELECT COUNT(*) FROM visits v JOIN vip ON v.user_id = vip.user_id WHERE v.active",
        "SELECT COUNT(*) FROM visits WHERE active AND user_id IN "
        "(SELECT user_id FROM orders GROUP BY 1 HAVING SUM(price) > 9)",
        "SELECT COUNT(*) FROM visits SEMI JOIN "
        "(SELECT user_id, SUM(price) AS s FROM orders GROUP BY user_id) AS o "
        "ON o.user_id = visits.user_id AND o.s > 9 WHERE active",
        "SELECT COUNT(*) FROM visits v JOIN (SELECT user_id, SUM(price) AS s FROM orders GROUP BY user_id) o "
        "USING (user_id) WHERE o.s > 9 AND v.active",
    ),
    (
        "SELECT COUNT(*) FROM visits v JOIN (SELECT DISTINCT user_id FROM orders) o ON o.user_id = v.user_id",
        "SELECT COUNT(*) FROM visits WHERE user_id IN (SELECT user_id FROM orders GROUP BY user_id)",
    ),
    (
        "WITH vip AS (SELECT user_id FROM orders GROUP BY user_id HAVING COUNT(*) > 1) "
        "SELECT COUNT(*) FROM visits v LEFT JOIN vip ON v.user_id = vip.user_id WHERE vip.user_id IS NULL",
        "SELECT COUNT(*) FROM visits WHERE user_id NOT IN "
        "(SELECT user_id FROM orders GROUP BY user_id HAVING COUNT(*) > 1)",
    ),
    (
        "SELECT region, AVG(n) FROM (SELECT user_id, region, COUNT(*) AS n FROM visits GROUP BY ALL) "
        "GROUP BY ALL",
        "SELECT region, AVG(n) FROM (SELECT user_id, region, COUNT(*) AS n FROM visits GROUP BY 1, 2) "
        "GROUP BY region",
    ),
    (
        "SELECT GROUPING_ID(region, active) AS g, COUNT(*) FROM visits GROUP BY CUBE(region, active)",
        "SELECT GROUPING(region, active) AS g, COUNT(*) FROM visits GROUP BY region, active WITH CUBE",
        "SELECT GROUPING(region) * 2 + GROUPING(active) * 1 AS g, COUNT(*) FROM visits "
        "GROUP BY CUBE(region, active)",
    ),
]


READS_MORE = (
    "SELECT COUNT(*) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id WHERE o.price IS NULL",
    "SELECT COUNT(*) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id WHERE o.user_id IS NULL "
    "OR v.active",
    "SELECT COUNT(*) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id WHERE o.user_id IS NULL "
    "AND o.price > 1",
    "SELECT COUNT(o.user_id) FROM visits v LEFT JOIN orders o ON v.user_id = o.user_id "
    "WHERE o.user_id IS NULL",
)


@pytest.mark.parametrize("text", READS_MORE)
def test_a_left_join_whose_rows_are_read_is_one(text: str) -> None:
    assert [join.outer for join in plan(text).joins] == [True]


@pytest.mark.parametrize("spellings", SAME, ids=[one[0][:60] for one in SAME])
def test_spellings_are_one_plan(spellings: tuple[str, ...]) -> None:
    assert len({canonicalise(plan(text)) for text in spellings}) == 1


REFUSED = [
    (
        "SELECT COUNT(*) FROM visits v, stores s WHERE {}",
        ("s.city = 'york'", "v.store = s.store OR v.active", "v.store < s.store", "store = s.store"),
        "JOIN",
    ),
    ("SELECT COUNT(*) FROM visits v, orders o WHERE {}", ("v.age = o.price",), "on the privacy unit"),
    (
        "SELECT COUNT(*) FROM visits v {} JOIN orders o ON v.user_id = o.user_id WHERE o.user_id IS NULL",
        ("ASOF SEMI", "ASOF ANTI", "ASOF LEFT"),
        "JOIN",
    ),
    ("SELECT {} COUNT(*) FROM visits", ("TOP 5",), "Write LIMIT 5 at the end"),
    ("SELECT {} FROM visits v ANTI JOIN orders o ON v.user_id = o.user_id", ("SUM(o.price)",), "of FROM"),
    (
        "SELECT COUNT(*) FROM visits GROUP BY RANGE_BUCKET(age, [{}])",
        ("20, 10", "1, cost", "'a'", ""),
        "known",
    ),
    ("SELECT COUNT(*) FROM visits GROUP BY DATE_TRUNC(day, WEEK({}))", ("TUESDAY", "1"), "."),
    ("SELECT {} OVER () FROM visits", ("PERCENTILE_CONT(age, 0.5)", "MEDIAN(age)"), "Leave OVER out"),
    ("SELECT COUNT(*) FROM visits WHERE region SIMILAR TO {}", ("'e%'",), "REGEXP_LIKE"),
    ("SELECT region, COUNT(*) AS n FROM visits GROUP BY region SORT BY {}", ("n",), "ORDER BY"),
    ("SELECT SUM(age {} 2) FROM visits", ("^",), "POWER(x, 2)"),
    ("SELECT DISTINCT ON ({}) region, COUNT(*) FROM visits GROUP BY region", ("region",), "MIN(x) or MAX(x)"),
    ("SELECT {}('%d', COUNT(*)) FROM visits", ("FORMAT", "PRINTF"), "from the answer"),
    ("SELECT COUNT(*) FROM visits v WHERE {} > 3", ("(SELECT COUNT(*) FROM orders)",), "groups by the unit"),
    ("{} visits", ("DESCRIBE", "SUMMARIZE"), "What is declared is public"),
    ("{} visits ON region USING COUNT(*)", ("PIVOT",), "COUNT(*) FILTER"),
    ("{} SELECT COUNT(*) FROM visits", ("EXPLAIN",), "tells its price"),
    ("SELECT COUNT(*) FROM visits GROUP BY {}", ("user_id",), "SELECT AVG(n) FROM (SELECT user_id"),
    ("SELECT {}, COUNT(*) FROM visits", ("user_id",), "it would show single units"),
    ("SELECT AVG({}) FROM visits", ("TRY_CAST(region AS INT)",), "in any row"),
    (
        "SELECT GROUPING({}), COUNT(*) FROM visits GROUP BY region",
        ("COUNT(*)", "region, COUNT(*)"),
        "one key",
    ),
    ("SELECT COUNT(*) FROM visits WHERE day > DATEADD({}, 1, day)", ("'hour'", "1"), "a unit of whole days"),
]


@pytest.mark.parametrize(
    ("text", "words"), [(text.format(one), words) for text, listed, words in REFUSED for one in listed]
)
def test_what_asks_for_more_is_refused(text: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan(text)
    assert words in str(caught.value) and caught.value.way_out


def test_buckets_copy_no_more_than_a_question_may() -> None:
    """A long number and many bounds would make a query that is their product."""
    number, few = " + ".join(["age"] * 40), ", ".join(map(str, range(30)))
    assert plan(f"SELECT AVG(RANGE_BUCKET({number}, [{few}])) FROM visits")
    inside = "RANGE_BUCKET(DATE_DIFF(day, DATE '2020-01-01', WEEK(MONDAY)), [3, 9])"
    assert plan(f"SELECT SUM(RANGE_BUCKET({inside}, [1, 2])) FROM visits")
    many = ", ".join(map(str, range(60)))
    with pytest.raises(Refused, match="RANGE_BUCKET"):
        plan(f"SELECT AVG(RANGE_BUCKET({number}, [{many}])) FROM visits")
