"""A number of all rows beside those of groups: measured once more, with noise of its own."""

from __future__ import annotations

from fractions import Fraction

import pytest
from sql_schemas import TABLES, plan

from discreet.core.errors import Refused
from discreet.data.ask import price_plan
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.nodes import Policy
from discreet.data.sql.printing import to_sql

TOTAL = "MAX(CASE WHEN region IS NULL THEN {} END) OVER ()"
SHARE = "SELECT region, COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits GROUP BY region"
PER_USER = "(SELECT user_id, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY user_id)"

SAME = [
    (
        SHARE,
        "WITH t AS (SELECT COUNT(*) AS n FROM visits) "
        "SELECT region, COUNT(*) / (SELECT n FROM t) AS share FROM visits GROUP BY region",
        "WITH t AS (SELECT COUNT(*) AS n FROM visits) "
        "SELECT region, COUNT(*) / ANY_VALUE(n) AS share FROM visits, t GROUP BY region",
        "SELECT v.region, COUNT(*) / t.n AS share FROM visits v "
        "CROSS JOIN (SELECT COUNT(*) AS n FROM visits) t GROUP BY v.region, t.n",
        f"SELECT region, COUNT(*) / {TOTAL.format('COUNT(*)')} AS share FROM visits "
        "GROUP BY GROUPING SETS ((region), ()) QUALIFY NOT (region IS NULL)",
    ),
    (
        "SELECT region, SUM(cost) AS s FROM visits GROUP BY region "
        "HAVING SUM(cost) > (SELECT 0.2 * SUM(cost) FROM visits)",
        "SELECT region, SUM(cost) AS s FROM visits GROUP BY GROUPING SETS ((region), ()) QUALIFY "
        f"SUM(cost) > {TOTAL.format('0.2 * SUM(cost)')} AND NOT (region IS NULL)",
    ),
    (
        "SELECT COUNT(*) / (SELECT COUNT(*) FROM visits) AS share FROM visits WHERE active",
        "SELECT (SELECT COUNT(*) FROM visits WHERE active) / (SELECT COUNT(*) FROM visits) AS share",
        "SELECT COUNTIF(active) / COUNT(*) AS share FROM visits",
    ),
    (
        "SELECT region, AVG(cost) - (SELECT AVG(cost) FROM visits WHERE active) AS d FROM visits "
        "WHERE region IN ('n', 's') GROUP BY region",
        "SELECT region, AVG(cost) FILTER (WHERE region IN ('n', 's')) - "
        f"{TOTAL.format('AVG(cost) FILTER (WHERE active)')} AS d FROM visits "
        "WHERE region IN ('n', 's') OR active GROUP BY GROUPING SETS ((region), ()) "
        "QUALIFY NOT (region IS NULL) AND (region = 'n' OR region = 's')",
    ),
    (
        f"WITH u AS {PER_USER} SELECT AVG(total) / (SELECT AVG(total) FROM u WHERE n > 2) AS r FROM u",
        f"SELECT AVG(total) / AVG(total) FILTER (WHERE n > 2) AS r FROM {PER_USER}",
    ),
    (
        "SELECT COUNT(*) AS n FROM visits WHERE active "
        "HAVING COUNT(*) > (SELECT COUNT(*) FROM visits) / 2 QUALIFY COUNT(*) > 3",
        "SELECT COUNTIF(active) AS n FROM visits "
        "HAVING COUNTIF(active) > COUNT(*) / 2 AND COUNTIF(active) > 3",
    ),
]


@pytest.mark.parametrize("spellings", SAME, ids=[one[0][:60] for one in SAME])
def test_it_is_a_hidden_total_of_the_same_question(spellings: tuple[str, ...]) -> None:
    plans = [plan(text) for text in spellings]
    assert len({canonicalise(one) for one in plans}) == 1
    for one in plans:
        assert plan(to_sql(one, TABLES)) == one


def test_it_has_its_part_of_the_price() -> None:
    policy = Policy(epsilon=Fraction(1), delta=Fraction(0))
    made = price_plan(plan(SHARE), TABLES, policy)
    assert [(len(one.keys), one.measure.kind) for one in made.budget.vectors] == [(0, "rows"), (1, "rows")]
    assert made.budget.kept() and made.guarantee.implies(epsilon=1, delta=0)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SHARE.replace("FROM visits)", "FROM orders)"), "Write the same FROM in both"),
        (
            SHARE.replace("FROM visits)", "FROM visits JOIN stores USING (store))"),
            "Write the same FROM in both",
        ),
        (SHARE.replace("FROM visits)", "FROM visits GROUP BY region)"), "several rows"),
        (SHARE.replace("(SELECT COUNT(*)", "(SELECT COUNT(*), SUM(age)"), "several rows"),
        (SHARE.replace("FROM visits)", "FROM visits HAVING COUNT(*) > 3)"), "its other clauses"),
        (SHARE.replace("(SELECT COUNT(*)", "(SELECT MODE(region)"), "it is no number"),
        (SHARE.replace("SELECT region,", "SELECT region, SUM(COUNT(*)) OVER (),"), "SUM(COUNT(*)) OVER ()"),
        (
            "SELECT note, COUNT(*) / (SELECT COUNT(*) FROM visits) FROM visits WHERE active GROUP BY note",
            "Write the same WHERE",
        ),
        (
            f"SELECT AVG(n) / (SELECT AVG(n) FROM {PER_USER.replace('GROUP', 'WHERE active GROUP')}) "
            f"FROM {PER_USER}",
            "Read the same subquery in both",
        ),
        (
            "SELECT region, COUNT(*), "
            + ", ".join(f"(SELECT SUM(age + {k}) FROM visits)" for k in range(21))
            + " FROM visits GROUP BY region",
            "more than 20",
        ),
        (
            "SELECT income, COUNT(*) / (SELECT COUNT(*) FROM visits) FROM visits WHERE income < 900 "
            "GROUP BY income",
            "more than 200 groups",
        ),
        ("SELECT SUM(cost - (SELECT AVG(cost) FROM visits)) FROM visits", "its answer would be exact"),
        (
            "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
            "its answer would be exact",
        ),
        (
            "SELECT COUNT(*) FROM visits ORDER BY (SELECT AVG(cost) FROM visits)",
            "a subquery in an expression",
        ),
        ("WITH a AS (SELECT * FROM orders) " + SHARE, "nothing reads it"),
    ],
)
def test_what_is_no_number_of_the_same_rows_is_refused(text: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan(text)
    assert words.lower() in str(caught.value).lower()
