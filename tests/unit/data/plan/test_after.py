"""What is computed from released values: SQL's meaning, checked against an engine, and never an error."""

from __future__ import annotations

import datetime
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sql_schemas import TABLES, plan

from discreet.core.errors import Refused
from discreet.data.plan.after import compute, evaluate, find_sort, linear_parts
from discreet.data.plan.nodes import Aggregate, Computed, Constant
from discreet.data.plan.row_nodes import Field

COUNT = Aggregate("count")
N = "COUNT(*)"
NUMBERS = st.recursive(
    st.sampled_from([N, "0", "3", "-2", "0.5", "2.25", "NULL"]),
    lambda inner: st.one_of(
        st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
        st.builds("{}({}, {})".format, st.sampled_from(["COALESCE", "NULLIF"]), inner, inner),
        st.builds("{}({})".format, st.sampled_from(["ABS", "FLOOR", "CEIL", "ROUND", "SIGN"]), inner),
        st.builds("CASE WHEN {} < {} THEN {} ELSE {} END".format, inner, inner, inner, inner),
        st.builds("CASE WHEN {} IS NULL OR NOT {} <= 1 THEN {} END".format, inner, inner, inner),
        st.builds("IF({} BETWEEN {} AND 2, {}, 1)".format, inner, inner, inner),
    ),
    max_leaves=6,
)


@pytest.fixture(scope="module")
def engine() -> Any:
    with duckdb.connect(config={"threads": 1}) as opened:
        yield opened


@settings(max_examples=200, deadline=None)
@given(NUMBERS, st.integers(-3, 4))
def test_values_are_those_of_sql(engine: Any, text: str, count: int) -> None:
    expression = plan(f"SELECT COUNT(*), {text} AS v FROM visits").outputs[1].what
    found = evaluate(expression, lambda _: Fraction(count))
    own = text.replace(N, f"CAST({count} AS DOUBLE)").replace("NULL", "CAST(NULL AS DOUBLE)")
    own = own.replace("IS CAST(NULL AS DOUBLE)", "IS NULL").replace("CAST(NULL AS DOUBLE)IF", "NULLIF")
    ((expected,),) = engine.execute(f"SELECT {own}").fetchall()
    assert (found is None) == (expected is None)
    assert found is None or float(found) == pytest.approx(float(expected))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("100.0 * COUNT(*) / 8", Fraction(175, 2)),
        ("COUNT(*) / 0", None),
        ("SAFE_DIVIDE(COUNT(*), COUNT(*) - 7)", None),
        ("SQRT(-COUNT(*))", None),
        ("SQRT(COUNT(*) + 2)", Fraction(3)),
        ("ROUND(COUNT(*) / 3, 2)", Fraction("2.33")),
        ("ROUND(-COUNT(*) / 2)", Fraction(-4)),
        ("ROUND(1234 * COUNT(*), -3)", Fraction(9000)),
        ("TRUNC(-COUNT(*) / 2)", Fraction(-3)),
        ("-COUNT(*) % 4", Fraction(-3)),
        ("MOD(COUNT(*), 4)", Fraction(3)),
        ("COUNT(*) DIV 2", Fraction(3)),
        ("POWER(COUNT(*), 2)", Fraction(49)),
        ("CAST(COUNT(*) / 2 AS INT64)", Fraction(4)),
        ("CAST(COUNT(*) / 3 AS DECIMAL(10, 1))", Fraction("2.3")),
        ("SAFE_CAST(COUNT(*) / 4 AS FLOAT64)", Fraction(7, 4)),
        ("COUNT(*)::NUMERIC / 4", Fraction(7, 4)),
        ("IFNULL(NULLIF(COUNT(*), 7), 1)", Fraction(1)),
        ("GREATEST(COUNT(*), 9, 2)", Fraction(9)),
        ("LEAST(COUNT(*), NULL)", None),
        ("CASE COUNT(*) WHEN 7 THEN 'seven' ELSE 'more' END", "seven"),
        ("COUNT(*) IN (1, 7)", True),
        ("COUNT(*) NOT IN (1, 7)", False),
        ("COUNT(*) > 7 OR NULL", None),
        ("DATE '2020-03-01'", datetime.date(2020, 3, 1)),
    ],
)
def test_functions_by_hand(text: str, value: object) -> None:
    expression = plan(f"SELECT COUNT(*), {text} AS v FROM visits").outputs[1].what
    assert evaluate(expression, lambda _: Fraction(7)) == value


def test_ways_to_write_one_thing_are_one_plan() -> None:
    for one, other in (
        ("COUNT(*) > 3", "3 < COUNT(*)"),
        ("COUNT(*) BETWEEN 1 AND 3", "1 <= COUNT(*) AND COUNT(*) <= 3"),
        ("IF(COUNT(*) > 1, 1, 0)", "CASE WHEN COUNT(*) > 1 THEN 1 ELSE 0 END"),
        ("IFNULL(SUM(age), 0)", "COALESCE(SUM(age), 0)"),
        ("SAFE_DIVIDE(SUM(age), COUNT(*))", "SUM(age) / (COUNT(*))"),
        ("CAST(COUNT(*) AS FLOAT64)", "COUNT(*)::double precision"),
        ("ROUND(AVG(age))", "ROUND(AVG(age), 0)"),
    ):
        assert plan(f"SELECT {one} AS v, COUNT(*) FROM visits") == plan(
            f"SELECT {other} AS v, COUNT(*) FROM visits"
        )


def test_sorts() -> None:
    region, day, active = (Field("visits", name) for name in ("region", "day", "active"))
    assert [find_sort(one, TABLES) for one in (region, day, active, COUNT)] == [
        "text",
        "date",
        "truth",
        "number",
    ]
    assert find_sort(compute("-", [day, Constant(datetime.date(2020, 1, 1))], TABLES), TABLES) == "number"
    for function, parts in (
        ("+", [region, COUNT]),
        ("and", [COUNT]),
        ("=", [day, COUNT]),
        ("-", [day, COUNT]),
    ):
        with pytest.raises(Refused):
            compute(function, parts, TABLES)  # type: ignore[arg-type]


def test_deep_and_long_expressions_are_refused_by_name() -> None:
    chain = " + ".join(["COUNT(*)"] * 200)
    with pytest.raises(Refused, match="deep"):
        plan(f"SELECT {chain} AS v FROM visits")


def test_sums_of_aggregates_are_known_as_such() -> None:
    def parts(text: str) -> Any:
        found = linear_parts(plan(f"SELECT {text} AS v FROM visits").outputs[0].what)
        return None if found is None else list(found.values())

    assert parts("2 * COUNT(*) - SUM(age) / 4 + 7") == [2, Fraction(-1, 4)]
    assert parts("COUNT(*) - COUNT(*)") == [0]
    assert parts("COUNT(*) * SUM(age)") is None
    assert parts("COUNT(*) / SUM(age)") is None
    assert parts("COUNT(*) / 0") is None
    assert parts("ROUND(COUNT(*))") is None


def test_nothing_overflows() -> None:
    huge = Computed("*", (COUNT, Constant(Fraction(10) ** 90)))
    for _ in range(4):
        huge = Computed("*", (huge, huge))
    assert evaluate(huge, lambda _: Fraction(1)) == Fraction(10) ** (90 * 16)


@pytest.mark.parametrize(
    ("aggregate", "sort"),
    [
        ("MAX(day)", "date"),
        ("MEDIAN(day)", "date"),
        ("MAX(day) FILTER (WHERE active)", "date"),
        ("MAX(day) FILTER (WHERE age > income)", "date"),
        ("MIN(day) FILTER (WHERE day IN (DATE '2020-02-01', DATE '2020-02-03'))", "date"),
        ("MIN(day) FILTER (WHERE day = DATE '2020-02-01')", "date"),
        ("MAX(EXTRACT(MONTH FROM day))", "number"),
        ("MEDIAN(DATE '2021-01-01' - day)", "number"),
        ("MEDIAN(DATE_DIFF(DATE '2021-01-01', day, WEEK))", "number"),
        ("MAX(EXTRACT(DAY FROM day)) FILTER (WHERE active)", "number"),
    ],
)
def test_a_day_is_a_date_and_what_is_computed_from_it_a_number(aggregate: str, sort: str) -> None:
    asked = plan(f"SELECT {aggregate} AS v FROM visits")
    assert find_sort(asked.outputs[0].what, TABLES) == sort
