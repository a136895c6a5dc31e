"""What a plan derives from declared tables: spans that follow from the rows that count, what is missing."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
from sql_schemas import ORDERS, POLICY, STORES, TABLES, VISITS, plan

from discreet.core.errors import InternalError, Refused
from discreet.data import Date, Identifier, Integer
from discreet.data.plan.derived import (
    UNITS,
    averaging,
    declare_units,
    derive,
    drop_unread,
    list_kept_rows,
    make_nullable,
    relate,
    span_of_value,
)
from discreet.data.plan.facts import facts
from discreet.data.plan.nodes import Join, Units
from discreet.data.plan.numbers import add, constant, multiply, variable
from discreet.data.plan.row_nodes import TRUE, Field, UnitValue
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql

COST, AGE, INCOME = (variable(Field("visits", name)) for name in ("cost", "age", "income"))


@pytest.mark.parametrize(
    ("value", "rows", "unit", "span"),
    [
        (UnitValue("count"), 5, 1, (1, 5)),
        (UnitValue("count", INCOME), 5, 1, (0, 5)),
        (UnitValue("sum", AGE), 5, 1, (0, 600)),
        (UnitValue("sum", COST), 3, Fraction(1, 100), (-1500, 1500)),
        (UnitValue("sum", add(AGE, constant(10))), 3, 1, (10, 390)),  # one row at least
        (UnitValue("sum", add(AGE, constant(-200))), 3, 1, (-600, -80)),
        (UnitValue("min", COST), 5, Fraction(1, 100), (-500, 500)),
        (UnitValue("max", AGE), 5, 1, (0, 120)),
        (UnitValue("average", AGE), 5, Fraction(1, 100), (0, 12_000)),
        (UnitValue("average", INCOME), 5, Fraction(1, 10), (0, 1_000_000)),
        (UnitValue("distinct", AGE), 5, 1, (0, 5)),
        (UnitValue("distinct", AGE), 200, 1, (0, 121)),
    ],
)
def test_spans_follow_from_the_rows_that_count(
    value: UnitValue, rows: int, unit: Fraction, span: tuple[int, int]
) -> None:
    assert span_of_value(value, TABLES, rows) == (unit, span)


def test_the_grid_of_an_average_is_as_fine_as_its_values_allow() -> None:
    assert [averaging((0, top)) for top in (1, 99_999, 100_000, 999_999, 1_000_000, 10**12)] == [
        100,
        100,
        10,
        10,
        1,
        1,
    ]


@pytest.mark.parametrize("kind", ["sum", "average"])
def test_values_that_engines_could_not_hold_are_refused(kind: str) -> None:
    wide = multiply(multiply(INCOME, INCOME), INCOME)
    with pytest.raises(Refused, match="beyond what every engine holds"):
        span_of_value(UnitValue(kind, wide), TABLES, 5_000)  # type: ignore[arg-type]


def test_the_relation_of_units_has_one_row_of_each() -> None:
    units = Units(
        "visits", (), TRUE, (UnitValue("count"), UnitValue("max", variable(Field("visits", "day"))))
    )
    made = declare_units(units, TABLES, (("visits", 1),))
    assert made.name == UNITS
    assert made.unit.max_rows == made.unit.max_groups == 1
    assert made.neighbours == VISITS.neighbours
    who, count, last = made.columns
    assert isinstance(who, Identifier)
    assert isinstance(count, Integer) and (count.lower, count.upper) == (
        0,
        1,
    )  # a span has two values at least
    assert not count.nullable
    assert isinstance(last, Date) and last.nullable
    with pytest.raises(InternalError):
        declare_units(Units("people", (), TRUE, ()), TABLES, ())


def test_one_row_for_each_unit_has_no_time_of_its_own() -> None:
    timed = PlanTables.of(replace(VISITS, time="day"))
    inner = "SELECT user_id, COUNT(*) AS n, MAX(day) AS latest FROM visits GROUP BY user_id"
    text = f"SELECT AVG(n) AS mean FROM ({inner}) AS t WHERE latest >= '2020-06-01'"
    asked = parse(text, schemas=timed, policy=POLICY)
    assert asked == plan(text)
    assert facts(asked, timed).sets == facts(asked, TABLES).sets


def test_rows_of_joined_tables_multiply_and_those_of_a_request_are_fewer() -> None:
    inner = "SELECT a.user_id, COUNT(*) AS n FROM visits AS a {} GROUP BY a.user_id"
    text = f"COUNT(*) FROM ({inner}) AS t WHERE n > 1"
    join = "JOIN orders USING (user_id)"
    found = plan(f"SELECT {text.format(join)}")
    assert list_kept_rows(found, TABLES) == (("visits", 5), ("orders", 2))
    assert relate(found, TABLES).span(Field(UNITS, "count")) == (1, 10)
    assert facts(found, TABLES).rows_per_unit == 1
    asked = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 3) "
    assert relate(plan(asked + text.format(join)), TABLES).span(Field(UNITS, "count")) == (1, 6)
    again = plan(asked + text.format("JOIN visits AS b USING (user_id)"))
    assert relate(again, TABLES).span(Field(UNITS, "count")) == (1, 9)
    rows = plan(asked + "COUNT(*) FROM visits AS a JOIN visits AS b USING (user_id)")
    assert facts(rows, TABLES).rows_per_unit == 9


def test_a_left_join_makes_columns_that_may_be_missing() -> None:
    assert all(column.nullable for column in make_nullable(STORES).columns)
    found = plan("SELECT COUNT(*) FROM visits LEFT JOIN stores USING (store)")
    city = Field("stores", "city")
    assert relate(found, TABLES).column(city).nullable
    assert relate(found, TABLES) == TABLES  # priced for these tables, whatever a plan derives
    plain = plan("SELECT COUNT(*) FROM visits")
    unit = (Field("visits", "user_id"), Field("orders", "user_id"))
    joined = relate(replace(plain, joins=(Join("orders", *unit, outer=True),)), TABLES)
    assert joined.column(Field("orders", "price")).nullable and joined.column(unit[1]).nullable


def test_a_table_under_another_name_is_the_same_otherwise() -> None:
    again = derive(ORDERS, "discreet_orders_2", outer=False)
    assert again.name == "discreet_orders_2"
    assert again.columns == ORDERS.columns
    assert ORDERS.name == "orders"
    assert derive(ORDERS, "orders", outer=False) is ORDERS


def test_values_that_nothing_reads_are_dropped() -> None:
    found = plan(
        "SELECT COUNT(*) FROM (SELECT user_id, SUM(age) AS s, COUNT(*) AS n FROM visits GROUP BY user_id) "
        "AS t WHERE n > 1 AND s >= 0"
    )
    assert found.units is not None
    assert found.units.values == (UnitValue("count"),)
    assert drop_unread(found, TABLES) == found


@pytest.mark.parametrize("call", ["MIN(day) FILTER (WHERE active)", "MAX(CASE WHEN age > 30 THEN day END)"])
def test_a_first_day_of_some_rows_is_a_day(call: str) -> None:
    found = plan(
        f"SELECT DATE_TRUNC('month', d) AS m, COUNT(*) FROM (SELECT user_id, {call} AS d FROM visits "
        "GROUP BY user_id) AS t WHERE d > '2020-02-01' GROUP BY m"
    )
    assert found.units is not None
    _, day = declare_units(found.units, TABLES, (("visits", 5),)).columns
    assert isinstance(day, Date) and day.nullable
    assert (day.lower, day.upper) == (VISITS.column("day").lower, VISITS.column("day").upper)  # type: ignore[attr-defined]
    assert parse(to_sql(found, TABLES), schemas=TABLES, policy=POLICY) == found
