"""Aggregates beside counts, sums and averages: one plan for every way to write them."""

from __future__ import annotations

from fractions import Fraction

import pandas as pd
import pytest
from sql_schemas import ORDERS, POLICY, STORES, TABLES, VISITS, plan

from discreet import AddRemove
from discreet.data import Identifier, Schema, Table, Text, User
from discreet.data.plan.facts import facts
from discreet.data.plan.nodes import Aggregate
from discreet.data.plan.numbers import constant, variable
from discreet.data.plan.row_nodes import Choice, Field
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql

HALF = Fraction(1, 2)
AGE, INCOME, DAY = (variable(Field("visits", name)) for name in ("age", "income", "day"))
SAME = [
    (
        Aggregate("quantile", AGE, points=(HALF,)),
        (
            "MEDIAN(age)",
            "QUANTILE(age, 0.5)",
            "PERCENTILE_CONT(age, 0.5)",
            "PERCENTILE_DISC(age, 0.5)",
            "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY age)",
            "PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY age DESC)",
            "APPROX_QUANTILES(age, 100)[OFFSET(50)]",
            "APPROX_QUANTILES(age, 2)[SAFE_ORDINAL(2)]",
            "APPROX_PERCENTILE(age, 0.5)",
            "PERCENTILE_APPROX(age, 0.5, 10000)",
            "PERCENTILE(age, 0.5)",
            "APPROX_QUANTILE(age, 0.5)",
        ),
    ),
    (
        Aggregate("quantile", AGE, points=(Fraction(1, 10), Fraction(9, 10))),
        (
            "PERCENTILE(age, ARRAY(0.1, 0.9))",
            "APPROX_PERCENTILE(age, ARRAY[0.1, 0.9], 100)",
            "PERCENTILE_CONT(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY age)",
        ),
    ),
    (Aggregate("maximum", AGE), ("MAX(age)",)),
    (Aggregate("minimum", DAY), ("MIN(day)",)),
    (Aggregate("quantile", DAY, points=(HALF,)), ("MEDIAN(day)", "PERCENTILE_DISC(day, 0.5)")),
    (Aggregate("count"), ("COUNT(*)", "COUNT(1)", "COUNT(store)", "COUNT(user_id)")),
    (Aggregate("count", column=Field("visits", "region")), ("COUNT(region)",)),
    (Aggregate("count", column=Field("visits", "note")), ("COUNT(note)",)),
    (Aggregate("count_units"), ("COUNT(DISTINCT user_id)", "APPROX_COUNT_DISTINCT(user_id)")),
    (
        Aggregate("count_distinct", column=Field("visits", "region")),
        ("COUNT(DISTINCT region)", "APPROX_COUNT_DISTINCT(region)", "APPROX_DISTINCT(visits.region)"),
    ),
    (Aggregate("mode", column=Field("visits", "age")), ("MODE(age)", "MODE() WITHIN GROUP (ORDER BY age)")),
    (Aggregate("correlation", AGE, other=INCOME), ("CORR(age, income)", "CORR(income, age)")),
    (Aggregate("slope", INCOME, other=AGE), ("REGR_SLOPE(income, age)",)),
]


@pytest.mark.parametrize(("expected", "spellings"), SAME)
def test_spellings_of_one_thing_are_one_plan(expected: Aggregate, spellings: tuple[str, ...]) -> None:
    for text in spellings:
        found = plan(f"SELECT {text} AS v FROM visits")
        assert found.aggregates == (expected,), text
        assert parse(to_sql(found, TABLES), schemas=TABLES, policy=POLICY) == found


@pytest.mark.parametrize(
    "what",
    [
        "COUNT(DISTINCT DATE_TRUNC(day, WEEK(MONDAY)))",
        "COUNT(DISTINCT DATE_TRUNC(day, WEEK), region)",
        "COUNT(DISTINCT 3 * age + 1)",
        "COUNT(DISTINCT age, 5)",
        "COUNT(DISTINCT age) FILTER (WHERE 1 = 1)",
        "COUNT(DISTINCT age) FILTER (WHERE age = 30)",
        "COUNT(DISTINCT CASE WHEN age < 20 THEN 2 ELSE 7 END, region) FILTER (WHERE region <> 'n')",
        "COUNT(DISTINCT 2 * age) FILTER (WHERE region = 'n' AND age > 7)",
    ],
)
def test_what_is_told_apart_is_read_again_as_it_was(what: str) -> None:
    """Else a question that was paid for is another one after a restart, and charged again."""
    found = plan(f"SELECT {what} AS n FROM visits")
    assert parse(to_sql(found, TABLES), schemas=TABLES, policy=POLICY) == found


def test_default_names() -> None:
    listed = (
        "MAX(age), COUNT(DISTINCT region), MODE(region), CORR(age, income), ROUND(AVG(age), 1), COUNT(note)"
    )
    names = [output.name for output in plan(f"SELECT {listed} FROM visits").outputs]
    assert names == ["max_age", "distinct_region", "mode_region", "corr", "average_age", "count_note"]


def test_pairs_share_their_sums() -> None:
    listed = "CORR(age, income), COVAR_POP(age, income), REGR_R2(income, age), REGR_COUNT(age, income)"
    (one,) = facts(plan(f"SELECT {listed} FROM visits"), TABLES).sets
    assert len(one.measures) == 6
    assert {measure.kind for measure, _ in one.measures} == {"sum", "squares", "rows"}


def test_a_column_of_a_joined_table_is_counted_too() -> None:
    found = plan("SELECT COUNT(DISTINCT city) FROM visits JOIN stores USING (store)")
    assert found.aggregates == (Aggregate("count_distinct", column=Field(STORES.name, "city")),)
    found = plan("SELECT COUNT(DISTINCT price) FROM visits JOIN orders USING (user_id)")
    ((measure, moved),) = facts(found, TABLES).sets[0].measures
    assert measure.width == 51
    assert moved.l1 == VISITS.unit.max_rows * ORDERS.unit.max_rows


def test_a_condition_does_not_make_free_text_a_number() -> None:
    """What is counted is 1 in the rows that have both; nothing is computed of the text itself."""
    text = "SELECT COUNT(note) FILTER (WHERE age > 3) AS n FROM visits"
    (found,) = plan(text).aggregates
    assert found.number is not None and found.column is None
    (choice,) = found.number.atoms
    assert isinstance(choice, Choice)
    assert [value for _, value in choice.cases] == [constant(1)] and choice.otherwise is None
    assert plan("SELECT COUNTIF(age > 3 AND note IS NOT NULL) AS n FROM visits") == plan(text)
    assert plan("SELECT COUNTIF(NOT (note IS NULL OR age <= 3)) AS n FROM visits") == plan(text)


def test_free_text_is_there_or_not() -> None:
    rows = [("a", "x"), ("a", None), ("b", ""), ("b", None), ("c", "y"), (None, "z")]
    declared = Schema(
        "t",
        columns=(Identifier("who"), Text("note")),
        unit=User(column="who", max_rows=3, max_groups=1),
        neighbours=AddRemove("who"),
    )
    with Table(pd.DataFrame(rows, columns=["who", "note"], dtype=object), schema=declared) as table:
        for text, expected in (
            ("SELECT COUNT(*) FROM t WHERE note IS NULL", [2]),
            ("SELECT COUNT(*), COUNTIF((note) IS NULL) FROM t WHERE NOT note IS NULL", [3, 0]),
            ("SELECT COUNTIF(note IS NULL), COUNT(DISTINCT who) FILTER (WHERE note IS NULL) FROM t", [2, 2]),
            ("SELECT SUM(n) FROM (SELECT who, COUNT(note) AS n FROM t GROUP BY who) AS u", [3]),
        ):
            found = table.sql(text, epsilon=10**9, delta=0).rows[0]
            assert [round(cell) for cell in found] == expected, text
