"""What the front end refuses, and that it says so in terms of the request only."""

from __future__ import annotations

import pytest
from sql_schemas import CLAUSE, PURE, count, plan

from discreet.core.errors import Refused

V = "SELECT COUNT(*) FROM visits "

# Every one of these passed a front end that only listed allowed kinds of nodes.
ESCAPES = [
    CLAUSE.format("epsilon=-1"),
    "SELECT COUNT(*) FROM other.visits",
    "SELECT COUNT(*) FROM a.b.visits",
    "SELECT AVG(DISTINCT income) FROM visits",
    V + "RIGHT JOIN stores USING (store)",
    V + "FULL OUTER JOIN stores USING (store)",
    V + "CROSS JOIN stores",
    V + "NATURAL JOIN stores",
    V + ", stores",
    V + "JOIN stores",
    V + "GROUP BY 1",
    "SELECT COUNT(*) FROM visits AS stores JOIN stores USING (store)",
    "SELECT user_id, COUNT(*) FROM visits GROUP BY user_id",
    "SELECT income FROM visits",
    "SELECT COUNT(*) FROM visits a, visits b",
    "SELECT COUNT(*) FROM visits; DROP TABLE visits",
    V + "WHERE pg_sleep(1) > 0",
    "SELECT COUNT(*) FROM read_csv('/etc/passwd')",
    V + "WHERE income > (SELECT MAX(income) FROM visits)",
    V + "WHERE 1/(age-30) > 0",
]

WITHOUT_MEANING = [
    "",
    "   ",
    "DROP TABLE visits",
    "EXPLAIN SELECT COUNT(*) FROM visits",
    "(SELECT COUNT(*) FROM visits) LIMIT 1",
    "FROM visits",
    "SELECT",
    "SELECT COUNT(*)",
    "SELECT COUNT(*) FROM",
    "SELECT COUNT(*) FROM nowhere",
    "SELECT COUNT(*) FROM stores",
    "SELECT COUNT(*) FROM `a.visits`",
    "SELECT COUNT(*) FROM visits@x",
    "SELECT COUNT(*) FROM visits AS v(a, b)",
    "SELECT COUNT(*) FROM visits TABLESAMPLE (10 PERCENT)",
    "SELECT COUNT(*) FROM visits FOR UPDATE",
    "SELECT COUNT(*) INTO x FROM visits",
    "WITH t AS (SELECT 1) SELECT COUNT(*) FROM t",
    "SELECT WITH t AS (SELECT 1) COUNT(*) FROM visits",
    V + "UNION SELECT COUNT(*) FROM visits",
    V + "EXCEPT SELECT COUNT(*) FROM visits",
    V + "UNION ALL SELECT COUNT(*) FROM orders",
    V + "QUALIFY 1 = 1",
    V + "WINDOW w AS (PARTITION BY age)",
    V + "GROUP BY DISTINCT region",
    V + "GROUP BY DISTINCT age",
    V + "GROUP BY ROLLUP(region) WITH ROLLUP WITH CUBE",
    V + "GROUP BY ALL WITH ROLLUP",
    V + "GROUP BY visits.nothing",
    V + "GROUP BY day + 4000000",
    V + "GROUP BY day - 800000",
    V + "GROUP BY other.age",
    V + "GROUP BY income, cost",
    V + "GROUP BY CUBE(region, age, store, active, note, income, day)",
]

AGGREGATES = [
    "*",
    "visits.*",
    "COUNT(*) OVER ()",
    "COUNT(2)",
    "COUNT(age, income)",
    "COUNT(DISTINCT user_id, age)",
    "COUNT(DISTINCT user_id, contribution_bounds_per_group => (0, 1))",
    "COUNT(*, contribution_bounds_per_row => (0, 1))",
    "COUNT(*, contribution_bounds_per_group => (3, 1))",
    "COUNT(*, contribution_bounds_per_group => (0, 1, 2))",
    "COUNT(*, contribution_bounds_per_group => 3)",
    "COUNT(*, contribution_bounds_per_group => (age, 3))",
    "COUNT(*, contribution_bounds_per_group => (0.5, 3))",
    "COUNT(*, bounds => (0, 1))",
    "SUM(age, contribution_bounds_per_row => (0, 5), contribution_bounds_per_group => (0, 5))",
    "SUM(age, contribution_bounds_per_row => (500, 600))",
    "SUM(age, contribution_bounds_per_row => (0.5, 6))",
    "SUM(age, contribution_bounds_per_group => (9000, 9001))",
    "STDDEV(age, contribution_bounds_per_group => (0, 1))",
    "SUM()",
    "SUM(1)",
    "SUM(age - age)",
    "SUM(age, income)",
    "SUM(DISTINCT age)",
    "SUM(age ORDER BY age)",
    "SUM(region)",
    "SUM(day)",
    "SUM(user_id)",
    "SUM(note)",
    "SUM(income * income * income * income)",
    "SUM(age * age * age * age * age)",
    "MIN(region)",
    "MIN(age, income)",
    "MIN(5)",
    "MAX(note)",
    "MAX(age, contribution_bounds_per_group => (0, 1))",
    "MODE(note)",
    "MODE(user_id)",
    "MODE(age + 1)",
    "CORR(age)",
    "CORR(age, 5)",
    "CORR(age, region)",
    "COUNT(DISTINCT age, note)",
    "COUNT(DISTINCT 1)",
    "QUANTILE(age, ARRAY[])",
    "QUANTILE(age, ARRAY[0.5, 0.5])",
    "QUANTILE(age, ARRAY[0.5, 2])",
    "APPROX_QUANTILES(age, 4)[OFFSET(5)]",
    "APPROX_QUANTILES(age, 4)[5]",
    "APPROX_QUANTILES(age, 4)[age]",
    "APPROX_QUANTILES(age, 4)[NEXT(1)]",
    "SUM(age)[OFFSET(0)]",
    "SUM(age) WITHIN GROUP (ORDER BY age)",
    "ANY_VALUE(region)",
    "ARRAY_AGG(region)",
    "STRING_AGG(note)",
    "LIST(region)",
    "SUMMARIZE(age)",
    "ERROR('x')",
    "MEDIAN(age, 0.5)",
    "PERCENTILE_CONT(age)",
    "PERCENTILE_CONT(age, 1.5)",
    "PERCENTILE_CONT(age, -0.5)",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age, income)",
    "MEDIAN(age) WITHIN GROUP (ORDER BY age)",
    "APPROX_QUANTILES(age, 0)",
    "APPROX_QUANTILES(age, 2.5)",
    "APPROX_QUANTILES(age, 1000)",
    "COUNT(*) AS n, SUM(age) AS N",
    "COUNT(*) AS `a  b`",
    "region, COUNT(*)",
    "dp.COUNT(*)",
]

CONDITIONS = [
    "age",
    "nothing = 1",
    "age = 'x'",
    "region = 1",
    'region = "n"',
    "region < 'n'",
    "region = store",
    "active = 1",
    "active > TRUE",
    "store > 1",
    "day = 3",
    "day = '2020-13-01'",
    "user_id = 'bob'",
    "note < 'x'",
    "note IS TRUE",
    "note LIKE note",
    "age LIKE '1%'",
    "region LIKE region",
    "region SIMILAR TO 'n'",
    "age BETWEEN SYMMETRIC 3 AND 1",
    "age IN ()",
    "age IN (SELECT 1)",
    "age IN UNNEST([1], [2])",
    "age IN UNNEST(age)",
    "age = ANY(1)",
    "EXISTS (SELECT 1)",
    "1 < age < 3",
    "age IS TRUE",
    "age = NULL",
    "age = ?",
    "age = :x",
    "age = @x",
    "age = 0x1F",
    "age = 1e400",
    "age = 1234567890123456789012",
    "age & 1 = 1",
    "age || 'x' = 'x'",
    "age ** 2 > 1",
    "LN(age) > 1",
    "1 / age > 0",
    "CAST(note AS INT) > 1",
    "age COLLATE x = 1",
    "(age, income) = (1, 2)",
]

OPTIONS = [
    "epsilon=0",
    "epsilon=1e-400",
    "epsilon=0.0000001",
    "epsilon=1.0000001",
    "epsilon=1e6",
    "epsilon=NaN",
    "epsilon=Infinity",
    "epsilon=1e999",
    "epsilon=TRUE",
    "epsilon='1'",
    "epsilon=NULL",
    "epsilon=[1]",
    "epsilon=1+1",
    "epsilon=(1)",
    "epsilon=0.5, epsilon=0.5",
    "EPSILON=0.5, epsilon=0.5",
    "epsilon 0.5",
    "epsilon=0.5,",
    "=0.5",
    "",
    "delta=-1e-9",
    "delta=1",
    "delta=2e-6",
    "max_groups_contributed=0",
    "max_groups_contributed=3",
    "max_groups_contributed=1.5",
    "max_groups_contributed=-1",
    "max_rows_contributed=6",
    "privacy_unit_column=age",
    "group_selection_strategy=LAPLACE_THRESHOLD",
    "group_selection_strategy=NONE",
    "noise=NONE",
]


@pytest.mark.parametrize("text", ESCAPES + WITHOUT_MEANING)
def test_refuses_queries(text: str) -> None:
    with pytest.raises(Refused):
        plan(text)


@pytest.mark.parametrize("listed", AGGREGATES)
def test_refuses_outputs(listed: str) -> None:
    with pytest.raises(Refused):
        plan(f"SELECT {listed} FROM visits")


@pytest.mark.parametrize("condition", CONDITIONS)
def test_refuses_conditions(condition: str) -> None:
    with pytest.raises(Refused):
        count(condition)
    with pytest.raises(Refused):
        count(f"NOT ({condition})")
    with pytest.raises(Refused):
        count(f"1 = 0 AND ({condition})")


@pytest.mark.parametrize("options", OPTIONS)
def test_refuses_options(options: str) -> None:
    with pytest.raises(Refused):
        plan(CLAUSE.format(options))


@pytest.mark.parametrize(
    "text",
    [
        "SELECT WITH ANONYMIZATION OPTIONS(epsilon=1) COUNT(*) FROM visits",
        "SELECT WITH DIFFERENTIAL_PRIVACY COUNT(*) FROM visits",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1",
        "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon",
        "SELECT " + "WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) " * 2 + "COUNT(*) FROM visits",
        "SELECT COUNT(*) WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1) FROM visits",
        "SELECT COUNT(*) FROM visits /*",
        "SELECT COUNT(*) FROM visits WHERE region = \u2019n\u2019",
        "SELECT COUNT(*) FROM visits WHERE region = 'n",
        "SELECT COUNT(*) FROM visits WHERE region = 'n\x00'",
        "SELECT COUNT(*) FROM visits WHERE region = '\u202en'",
        "SELECT COUNT(*) FROM visits WHERE {{7*7}} = 1",
        "(" * 1_000_000,
        "SELECT " + "(" * 5_000 + "1" + ")" * 5_000,
        V + "WHERE " + "NOT " * 4_000 + "active",
        V + "WHERE age = " + "- " * 4_000 + "1",
        V + "WHERE " + "(" * 200 + "active" + ")" * 200,
        V + "WHERE " + " OR ".join(["age = 1"] * 1_000),
        V + "WHERE " + " OR ".join(["age = 1"] * 10_000),
        V + "WHERE age = " + "+".join(["1"] * 1_900),
        V + "WHERE age IN (" + ", ".join(["1"] * 1_001) + ")",
        V + "WHERE age IN (" + ", ".join(["1"] * 1_000_000) + ")",
        V + "WHERE region LIKE '" + "%" * 200 + "a'",
        V + "WHERE income > " + "*".join(f"(age + {k})" for k in range(9)),
        "SELECT " + "(SELECT " * 30 + "1" + ")" * 30 + " FROM visits",
        "SELECT " + ", ".join(["COUNT(*)"] * 101) + " FROM visits",
    ],
    ids=lambda text: text[:40],
)
def test_refuses_hostile_text(text: str) -> None:
    with pytest.raises(Refused):
        plan(text)


@pytest.mark.parametrize("text", [None, 3, b"SELECT COUNT(*) FROM visits"])
def test_refuses_what_is_not_text(text: object) -> None:
    with pytest.raises(Refused):
        plan(text)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM visits JOIN orders ON visits.age = orders.price",
        "SELECT COUNT(*) FROM visits JOIN visits AS b USING (user_id) JOIN visits AS c USING (user_id)",
        "SELECT COUNT(*) FROM visits JOIN visits USING (user_id)",
        "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.age = b.age",
        "SELECT COUNT(*) FROM visits JOIN people ON visits.age = people.age",
        "SELECT COUNT(*) FROM people JOIN visits ON visits.age = people.age",
        "SELECT COUNT(*) FROM people JOIN stores ON people.age = stores.store",
        "SELECT COUNT(*) FROM visits JOIN stores ON visits.age = stores.city",
        "SELECT COUNT(*) FROM visits JOIN stores ON visits.region = stores.store",
        "SELECT COUNT(*) FROM visits JOIN stores ON visits.cost = stores.store",
        "SELECT COUNT(*) FROM visits JOIN stores ON stores.store = stores.store",
        "SELECT COUNT(*) FROM visits JOIN stores ON visits.store = visits.store",
        "SELECT COUNT(*) FROM visits JOIN stores ON visits.store < stores.store",
        "SELECT COUNT(*) FROM visits JOIN stores ON visits.store = stores.store OR age > 3",
        "SELECT COUNT(*) FROM visits JOIN stores USING (store, city)",
        "SELECT COUNT(*) FROM visits JOIN LATERAL stores ON TRUE",
    ],
)
def test_refuses_joins_whose_fan_out_is_not_bounded(text: str) -> None:
    with pytest.raises(Refused):
        plan(text)


def test_groups_of_free_text_need_delta() -> None:
    text = "SELECT note, COUNT(*) FROM visits GROUP BY note"
    assert plan(text).keys[0].name == "note"
    with pytest.raises(Refused, match="delta"):
        plan(text, policy=PURE)
    with pytest.raises(Refused, match="delta"):
        plan(text.replace("SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(delta=0)"))
    with pytest.raises(Refused, match="PUBLIC_GROUPS"):
        plan(
            text.replace(
                "SELECT", "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(group_selection_strategy=PUBLIC_GROUPS)"
            )
        )


def test_refusals_say_what_why_and_the_way_out() -> None:
    with pytest.raises(Refused) as caught:
        plan("SELECT COUNT(*) FROM visits RIGHT JOIN stores USING (store)")
    assert caught.value.what == "RIGHT JOIN"
    assert caught.value.why
    assert caught.value.way_out


def test_refusals_show_a_short_printable_piece_of_the_request() -> None:
    name = "x" * 5_000
    with pytest.raises(Refused) as caught:
        count(f"{name} = 1")
    assert len(str(caught.value)) < 500
    assert str(caught.value).isprintable()


def test_pairs_of_units_and_values_are_counted_as_rows_of_a_subquery() -> None:
    with pytest.raises(Refused) as caught:
        plan("SELECT COUNT(DISTINCT region, user_id) FROM visits")
    assert caught.value.way_out.startswith(
        "Write SELECT COUNT(*) FROM (SELECT DISTINCT region, user_id FROM visits)"
    )
    assert plan(caught.value.way_out.removeprefix("Write ").removesuffix("."))
