"""Spellings of four dialects are one plan; what could fail on a row, or says nothing, is refused by name."""

from __future__ import annotations

import datetime

import pytest
from sql_schemas import POLICY, TABLES, VISITS, plan

from discreet.core.errors import Refused
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.facts import facts
from discreet.data.plan.nodes import Plan
from discreet.data.sql.parse import parse

SAME = [
    (
        "SELECT COUNTIF(age > 17) FROM visits",
        "SELECT COUNT_IF(age > 17) FROM visits",
        "SELECT COUNT(*) FILTER (WHERE age >= 18) FROM visits",
        "SELECT SUM(CASE WHEN age > 17 THEN 1 ELSE 0 END) FROM visits",
        "SELECT SUM(IF(age > 17, 1, 0)) FROM visits",
        "SELECT COUNT(CASE WHEN NOT age < 18 THEN age END) FROM visits",
        "SELECT SUM((age > 17)::INT) FROM visits",
        "FROM visits SELECT COUNTIF(age > 17)",
    ),
    (
        "SELECT SUM(income) FILTER (WHERE region = 'n') FROM visits",
        "SELECT SUM(CASE WHEN region = 'n' THEN income END) FROM visits",
        "SELECT SUM(CASE region WHEN 'n' THEN income ELSE NULL END) FROM visits",
        "SELECT SUM(IF(UPPER(region) = 'N', income, NULL)) FROM visits",
    ),
    (
        "SELECT FLOOR(age / 10) AS k, COUNT(*) FROM visits GROUP BY FLOOR(age / 10)",
        "SELECT age // 10 AS k, COUNT(*) FROM visits GROUP BY 1",
        "SELECT DIV(age, 10) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT age DIV 10 AS k, COUNT(*) FROM visits GROUP BY age DIV 10",
        "SELECT TRUNC(age / 10) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT INT(age / 10) AS k, COUNT(*) FROM visits GROUP BY k",
    ),
    (
        "SELECT DATE_TRUNC('month', day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT DATE_TRUNC(day, MONTH) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT TRUNC(day, 'MM') AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT TRUNC(day, 'month') AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT CAST(DATE_TRUNC('month', day) AS DATE) AS k, COUNT(*) FROM visits GROUP BY k",
    ),
    (
        "SELECT EXTRACT(YEAR FROM day) * 100 + EXTRACT(MONTH FROM day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT YEAR(day) * 100 + MONTH(day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT date_part('year', day) * 100 + date_part('month', day) AS k, COUNT(*) FROM visits GROUP BY k",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE day >= CURRENT_DATE - INTERVAL '30 days'",
        "SELECT COUNT(*) FROM visits WHERE day >= DATE_SUB(CURRENT_DATE(), INTERVAL 30 DAY)",
        "SELECT COUNT(*) FROM visits WHERE day >= current_date - 30",
        "SELECT COUNT(*) FROM visits WHERE day >= '2020-05-31'",
        "SELECT COUNT(*) FROM visits WHERE DATE_DIFF(CURRENT_DATE, day, DAY) <= 30",
        "SELECT COUNT(*) FROM visits WHERE date_diff('day', day, now()) <= 30",
        "SELECT COUNT(*) FROM visits WHERE DATEDIFF(CURRENT_DATE, day) <= 30",
    ),
    (
        "SELECT COUNT(*) FROM visits WHERE region LIKE 'n%'",
        "SELECT COUNT(*) FROM visits WHERE region ILIKE 'N%'",
        "SELECT COUNT(*) FROM visits WHERE STARTS_WITH(region, 'n')",
        "SELECT COUNT(*) FROM visits WHERE REGEXP_CONTAINS(region, r'^n')",
        "SELECT COUNT(*) FROM visits WHERE region ~ '^n'",
        "SELECT COUNT(*) FROM visits WHERE region RLIKE '^n'",
        "SELECT COUNT(*) FROM visits WHERE LEFT(UPPER(region), 1) = 'N'",
        "SELECT COUNT(*) FROM visits WHERE SUBSTRING(region FROM 1 FOR 1) = 'n'",
        "SELECT COUNT(*) FROM visits WHERE STRPOS(region, 'n') = 1",
        "SELECT COUNT(*) FROM visits WHERE region || '!' = 'n!'",
        "SELECT COUNT(*) FROM visits WHERE CASE WHEN region = 'n' THEN TRUE ELSE FALSE END",
    ),
    (
        "SELECT AVG(COALESCE(income, 0)) FROM visits",
        "SELECT AVG(IFNULL(income, 0)) FROM visits",
        "SELECT AVG(NVL(income, 0)) FROM visits",
        "SELECT AVG(CASE WHEN income IS NULL THEN 0 ELSE income END) FROM visits",
    ),
    (
        "SELECT AVG(SAFE_DIVIDE(income, age)) FROM visits",
        "SELECT AVG(income / NULLIF(age, 0)) FROM visits",
    ),
    (
        "SELECT AVG(income / age) FROM visits WHERE age > 0",
        "SELECT AVG(income / NULLIF(age, 0)) FROM visits WHERE age > 0",
    ),
    (
        "SELECT COUNT(DISTINCT user_id) FILTER (WHERE active) FROM visits",
        "SELECT COUNT(DISTINCT CASE WHEN active THEN user_id END) FROM visits",
        "SELECT COUNT(DISTINCT IF(active, user_id, NULL)) FROM visits",
        "SELECT COUNT(DISTINCT IF(active, user_id)) FROM visits",
        "SELECT COUNT(CASE WHEN active THEN 1 END, contribution_bounds_per_group => (0, 1)) FROM visits",
    ),
    (
        "SELECT DAYNAME(day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT FORMAT_DATE('%A', day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT strftime(day, '%A') AS k, COUNT(*) FROM visits GROUP BY 1",
    ),
    (
        "SELECT ISODOW(day) AS k, COUNT(*) FROM visits GROUP BY k",
        "SELECT EXTRACT(ISODOW FROM day) AS k, COUNT(*) FROM visits GROUP BY k",
    ),
    (
        "SELECT region, store, COUNT(*) FROM visits GROUP BY ROLLUP (region, store)",
        "SELECT region, store, COUNT(*) FROM visits GROUP BY region, store WITH ROLLUP",
    ),
    (
        "SELECT region, store, COUNT(*) FROM visits GROUP BY CUBE (region, store)",
        "SELECT region, store, COUNT(*) FROM visits GROUP BY region, store WITH CUBE",
    ),
    (
        "SELECT MIN(day) FILTER (WHERE active) FROM visits",
        "SELECT MIN(CASE WHEN active THEN day END) FROM visits",
        "SELECT MIN(IF(active, day, NULL)) FROM visits",
    ),
    (
        "SELECT AVG(n) FROM (SELECT user_id, COUNT(*) FILTER (WHERE age > 17) AS n "
        "FROM visits GROUP BY user_id)",
        "SELECT AVG(n) FROM (SELECT user_id, COUNTIF(age > 17) AS n FROM visits GROUP BY user_id)",
        "SELECT AVG(n) FROM (SELECT user_id, COUNT(CASE WHEN age > 17 THEN 1 END) AS n "
        "FROM visits GROUP BY user_id)",
    ),
    (
        "SELECT AVG(n) FROM (SELECT user_id, SUM(income) FILTER (WHERE active) AS n "
        "FROM visits GROUP BY user_id)",
        "SELECT AVG(n) FROM (SELECT user_id, SUM(CASE WHEN active THEN income END) AS n "
        "FROM visits GROUP BY user_id)",
    ),
    (
        "SELECT SUM(active) FROM visits",
        "SELECT COUNT(*) FILTER (WHERE active) FROM visits",
        "SELECT SUM(CAST(active AS INT64)) FROM visits",
    ),
]  # fmt: skip


def read(text: str) -> Plan:
    return canonicalise(parse(text, schemas=TABLES, policy=POLICY, today=datetime.date(2020, 6, 30)))


@pytest.mark.parametrize("spellings", SAME, ids=[one[0] for one in SAME])
def test_spellings_are_one_plan(spellings: tuple[str, ...]) -> None:
    first, *others = map(read, spellings)
    for text, other in zip(spellings[1:], others, strict=True):
        assert other == first, text


DAYS = ["DATE_TRUNC('day', day)", "DATE(day)", "CAST(day AS DATE)", "day::date", "day + 0"]


@pytest.mark.parametrize("written", DAYS)
def test_a_key_that_is_a_column_is_found_however_it_is_written(written: str) -> None:
    for key in (written, "d", "1"):
        found = plan(f"SELECT {written} AS d, COUNT(*) AS n FROM visits GROUP BY {key}")
        assert found == plan("SELECT day AS d, COUNT(*) AS n FROM visits GROUP BY day")


@pytest.mark.parametrize("name", ["SAFE_CAST", "TRY_CAST"])
def test_what_has_no_value_of_a_type_is_missing_in_a_safe_cast(name: str) -> None:
    found = plan(f"SELECT SUM({name}(REPLACE(region, 'e', '7') AS INT)) AS s FROM visits")
    assert found == plan("SELECT SUM(CASE WHEN region = 'e' THEN 7 END) AS s FROM visits")


@pytest.mark.parametrize(
    ("written", "weeks"),
    [
        ("DATE_DIFF(DATE '2020-03-02', day, WEEK)", 1),  # Sunday 2020-03-01 is between
        ("DATE_DIFF(DATE '2020-03-02', day, ISOWEEK)", 1),
        ("DATE_DIFF(DATE '2020-03-01', day, WEEK)", 1),
        ("DATE_DIFF(DATE '2020-03-01', day, ISOWEEK)", 0),
        ("DATE_DIFF('week', day, DATE '2020-03-01')", 0),
        ("DATEDIFF(week, day, DATE '2020-03-02')", 1),
    ],
)
def test_weeks_between_days_begin_when_the_dialect_says(written: str, weeks: int) -> None:
    asked = plan(f"SELECT COUNT(*) FROM visits WHERE {written} = {weeks} AND day = DATE '2020-02-29'")
    assert asked == plan("SELECT COUNT(*) FROM visits WHERE day = DATE '2020-02-29'")


def test_the_plan_holds_the_date() -> None:
    text = "SELECT COUNT(*) FROM visits WHERE day > CURRENT_DATE"
    plans = {parse(text, schemas=TABLES, policy=POLICY, today=datetime.date(2020, 6, day)) for day in (1, 2)}
    assert len(plans) == 2


def test_a_count_with_a_condition_has_the_price_of_a_count() -> None:
    plain = facts(plan("SELECT COUNT(*) FROM visits"), VISITS).sets[0].measures[0][1]
    for call in ("COUNTIF(age > 17)", "SUM(CASE WHEN income > age THEN 1 ELSE 0 END)", "SUM(active)"):
        assert facts(plan(f"SELECT {call} FROM visits"), VISITS).sets[0].measures[0][1] == plain


REFUSED = [
    ("SUM(1 / age)", "Write x / NULLIF(y, 0) or SAFE_DIVIDE(x, y)"),
    ("SUM(income / (age - 30))", "Write x / NULLIF(y, 0) or SAFE_DIVIDE(x, y)"),
    ("SUM(income / 0)", "Divide by something else"),
    ("SUM(age % 0)", "Divide by something else"),
    ("SUM(CASE WHEN age > 1 THEN 1 ELSE 'x' END)", "its values are a number and text"),
    ("SUM(COALESCE(age, 'x'))", "its values are a number and text"),
    ("SUM(LOWER(age))", "it takes text, not a number"),
    ("SUM(LOWER(region))", "it takes numbers, not a category"),
    ("SUM(ABS())", "it takes 1 argument."),
    ("SUM(ROUND(age, cost))", "it takes a whole number"),
    ("SUM(CAST(region AS INT))", "Use SAFE_CAST"),
    ("SUM(CAST((age / 10) AS BIGINT))", "Write FLOOR(x / 10), x // 10 or ROUND(x / 10)"),
    ("SUM((age / 10)::INT)", "others round"),
    ("SUM(CAST(day AS INT))", "Compare it as it is"),
    ("SUM(EXTRACT(hour FROM day))", "Ask the owner to declare it as a column"),
    ("SUM(EXTRACT(fortnight FROM day))", "Use YEAR, QUARTER, MONTH"),
    ("SUM(EXTRACT(WEEK(TUESDAY) FROM day))", "Write EXTRACT(WEEK FROM day), the week of ISO"),
    ("COUNTIF(day + INTERVAL 1 MONTH(age) > '2020-01-05')", "Write INTERVAL '30' DAY"),
    ("SUM(EXTRACT(YEAR(region) FROM day))", "Write EXTRACT(WEEK FROM day), the week of ISO"),
    ("SUM(HOUR(day))", "ask the owner to declare the hour"),
    ("COUNT(*) FILTER (WHERE day < TIMESTAMP '2020-02-03 10:00:00')", "< the next day"),
    ("COUNT(*) FILTER (WHERE day < '2020-02-03 00:00:61')", "dates have no time of day"),
    ("SUM(day + INTERVAL '1 hour' - day)", "Write INTERVAL '30' DAY"),
    ("SUM(CURRENT_DATE('x') - day)", "it takes 0 arguments"),
    ("COUNT(*) FILTER (WHERE FALSE)", "no row can meet its condition"),
    ("SUM(CASE WHEN age > 200 THEN age END)", "always missing"),
    ("AVG(CASE WHEN income > age THEN 5 END)", "computed of a constant"),
    ("SUM(note)", "free text"),
    ("SUM(CASE WHEN note < 'x' THEN 1 END)", "ask the owner to declare its values"),
    ("COUNT(DISTINCT CASE WHEN age > 1 THEN user_id ELSE user_id END)", "it has one condition"),
    ("SUM(POWER(age, -1))", "its exponent is a number from 0 to 10"),
    ("SUM(STEPS(age, 0, 1, 2))", "ascend"),
    ("SUM(STEPS(note, 0, 1, 2))", "a declared column"),
    ("SUM(WIDTH_BUCKET(age, 10, 0, 3))", "two bounds"),
]


@pytest.mark.parametrize(("call", "words"), REFUSED)
def test_what_has_no_value_is_refused_by_name(call: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan(f"SELECT {call} FROM visits")
    assert words in str(caught.value)


KEYS_REFUSED = [
    ("FLOOR(income / 2)", "coarser groups"),
    ("age / 7", "Write FLOOR(x / 10), or x // 10"),
    ("1 + 1", "the key is a constant"),
    ("UPPER(note)", "ask the owner"),
    ("LOWER(user_id)", "never compared"),
    ("7", "no item of SELECT has this place"),
    ("2", "that item is an aggregate"),
    ("c", "it is an aggregate"),
]


@pytest.mark.parametrize(("key", "words"), KEYS_REFUSED)
def test_keys_without_a_public_image_are_refused(key: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan(f"SELECT 'x' IS NULL AS a, COUNT(*) AS c FROM visits GROUP BY {key}")
    assert words in str(caught.value)
