"""What the front end understands, and that one question has one plan."""

from __future__ import annotations

from fractions import Fraction

import pytest
from sql_schemas import CLAUSE, ORDERS, TABLES, VISITS, count, plan

from discreet import AddRemove
from discreet.core.errors import InvalidParameter
from discreet.data import Category, Integer, Row, Schema
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.nodes import Aggregate, Options, Policy
from discreet.data.plan.numbers import add, constant, multiply, scale, variable
from discreet.data.plan.row_nodes import FALSE, TRUE, Compare, Field, Or, Within
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.printing import to_sql
from discreet.data.sql.rows.patterns import like

AGE = Field("visits", "age")
INCOME = Field("visits", "income")
REGION = Field("visits", "region")


def within(name: str, *spans: tuple[int, int], missing: bool = False) -> Within:
    return Within(Field("visits", name), spans, missing)


VARIANTS = [
    "age >= 18 AND region = 'n'",
    "AGE >= 18 AND REGION = 'n'",
    "age>=18 and region='n'",
    "\n age  >= 18\tAND\nregion = 'n' ",
    "visits.age >= 18 AND visits.region = 'n'",
    "\"age\" >= 18 AND `region` = 'n'",
    "(age >= 18) AND ((region = 'n'))",
    "region = 'n' AND age >= 18",
    "1 = 1 AND age >= 18 AND region = 'n'",
    "age >= 18 AND TRUE AND region = 'n'",
    "age >= 18 AND region = 'n' OR 1 = 0",
    "(age >= 18 AND region = 'n') OR FALSE",
    "age > 17 AND region = 'n'",
    "18 <= age AND region = 'n'",
    "NOT age < 18 AND region = 'n'",
    "NOT (age < 18 OR region <> 'n')",
    "NOT (age < 18 OR NOT region = 'n')",
    "age >= 18 AND age >= 10 AND region = 'n'",
    "age >= 18 AND age >= 18 AND region = 'n'",
    "age >= 17.5 AND region = 'n'",
    "age + 2 >= 20 AND region = 'n'",
    "2 * age >= 36 AND region = 'n'",
    "-age <= -18 AND region = 'n'",
    "age - 18 >= 0 AND region = 'n'",
    "0 <= 3 * (age - 18) AND region = 'n'",
    "age BETWEEN 18 AND 120 AND region = 'n'",
    "age BETWEEN 18 AND 9999 AND region = 'n'",
    "age NOT BETWEEN 0 AND 17 AND region = 'n'",
    "age >= 18 AND region IN ('n')",
    "age >= 18 AND region IN ('n', 'n')",
    "age >= 18 AND region NOT IN ('e', 's', 'w')",
    "age >= 18 AND region LIKE 'n%'",
    "age >= 18 AND region = 'n' AND age IS NOT NULL",
    "(age = 18 OR age > 18) AND region = 'n'",
    "age >= 18 AND (region = 'n' OR 2 < 1)",
]


@pytest.mark.parametrize("condition", VARIANTS)
def test_one_question_has_one_plan(condition: str) -> None:
    assert canonicalise(count(condition)) == canonicalise(count(VARIANTS[0]))
    assert count(condition) == count(VARIANTS[0])


def test_there_are_enough_variants() -> None:
    assert len(VARIANTS) >= 30


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) AS n, AVG(age), region FROM visits GROUP BY region;",
        "SELECT region AS r, AVG(age) AS a, COUNT(*) AS a2 FROM visits GROUP BY region",
        "SELECT AVG(age), COUNT(*), COUNT(1) FROM visits v GROUP BY v.region",
        "SELECT AVG(1 * age + 0), COUNT(*) FROM visits AS v GROUP BY GROUPING SETS ((v.region))",
    ],
)
def test_names_and_order_of_outputs_do_not_make_a_new_question(text: str) -> None:
    assert canonicalise(plan(text)) == canonicalise(
        plan("SELECT region, COUNT(*), AVG(age) FROM visits GROUP BY region")
    )


@pytest.mark.parametrize(
    "condition",
    [
        "age >= 19 AND region = 'n'",
        "age >= 18 OR region = 'n'",
        "age >= 18 AND region <> 'n'",
        "age >= 18",
        "income >= 18 AND region = 'n'",
        "age >= 18 AND region = 'n' AND cost > 0",
        "age >= 18 AND (region = 'n' OR region IS NULL)",
    ],
)
def test_another_question_has_another_plan(condition: str) -> None:
    assert canonicalise(count(condition)) != canonicalise(count(VARIANTS[0]))


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("TRUE", TRUE),
        ("1 = 0", FALSE),
        ("age > 500", FALSE),
        ("age < 500", TRUE),
        ("age IS NULL", FALSE),
        ("income IS NULL", within("income", missing=True)),
        ("income IS NOT NULL", within("income", (0, 100_000))),
        ("income < 500000", within("income", (0, 100_000))),
        ("NOT income > 5", within("income", (0, 5))),
        ("income > 5 OR income IS NULL", within("income", (6, 100_000), missing=True)),
        ("income >= 0 OR income IS NULL", TRUE),
        ("income > 5 AND income IS NULL", FALSE),
        ("income IN (3, 1, 2, 9)", within("income", (1, 3), (9, 9))),
        ("income <> 5", within("income", (0, 4), (6, 100_000))),
        ("cost > 0.015", within("cost", (2, 500))),
        ("cost <= -4.99", within("cost", (-500, -499))),
        ("-2 * cost > 1", within("cost", (-500, -51))),
        ("active", within("active", (1, 1))),
        ("NOT active", within("active", (0, 0))),
        ("active = FALSE", within("active", (0, 0))),
        ("TRUE <> active", within("active", (0, 0))),
        ("active IS TRUE", within("active", (1, 1))),
        ("active IS NOT TRUE", within("active", (0, 0), missing=True)),
        ("store IN (1, 3)", within("store", (0, 0), (2, 2))),
        ("income = income", within("income", (0, 100_000))),
        ("0 * income = 0", within("income", (0, 100_000))),
        ("age - age > 0", FALSE),
        ("age = age", TRUE),
        ("'n' = region", within("region", (1, 1))),
        ("region LIKE '_'", within("region", (0, 3))),
        ("region NOT LIKE '%s%'", within("region", (0, 1), (3, 3))),
        ("NOT region NOT LIKE 's'", within("region", (2, 2))),
        ("day < '2020-01-03'", within("day", (18262, 18263))),
        ("DATE '2020-12-31' = day", within("day", (18627, 18627))),
        ("day > DATE '1990-01-01'", within("day", (18262, 18627))),
        ("region = 'n' OR region = 's'", within("region", (1, 2))),
    ],
)
def test_conditions_on_one_column_are_sets_of_codes(condition: str, expected: object) -> None:
    assert count(condition).where == expected


def test_negation_keeps_missing_values_out_as_in_sql() -> None:
    # For a missing income the AND is false, so its negation holds; a plain comparison is unknown.
    both = count("NOT (income > 5 AND income IS NOT NULL)").where
    assert both == within("income", (0, 5), missing=True)
    assert count("NOT income > 5").where == within("income", (0, 5))


def test_conditions_on_several_columns_compare_a_polynomial_with_zero() -> None:
    first = count("income > 100 * age").where
    assert first == Compare(
        add(multiply(constant(100), variable(AGE)), multiply(constant(-1), variable(INCOME))), "<"
    )
    assert count("100 * age < income").where == first
    assert count("NOT income <= 100 * age").where == first
    assert count("0.5 * income > 50 * age").where == first
    assert count("age = income").where == count("2 * income - 2 * age = 0").where
    assert count("(age + 1) * (age - 1) > 3").where == count("age * age > 4").where


def test_or_of_ands_stays() -> None:
    found = count("(age > 5 AND region = 'n') OR (age < 3 AND region = 's')").where
    assert isinstance(found, Or)
    assert len(found.parts) == 2


@pytest.mark.parametrize(
    ("value", "pattern", "expected"),
    [
        ("", "", True),
        ("", "%", True),
        ("", "_", False),
        ("abc", "abc", True),
        ("abc", "a%", True),
        ("abc", "%c", True),
        ("abc", "%b%", True),
        ("abc", "a_c", True),
        ("abc", "_", False),
        ("abc", "%%%d", False),
        ("a.c", "a.c", True),
        ("abc", "a.c", False),
        ("aXbXc", "a%X%c", True),
        ("ab", "ba%", False),
    ],
)
def test_like(value: str, pattern: str, expected: bool) -> None:
    assert like(value, pattern) is expected


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("COUNT(*)", Aggregate("count")),
        ("COUNT(1)", Aggregate("count")),
        ("COUNT(income)", Aggregate("count", variable(INCOME))),
        ("COUNT(DISTINCT user_id)", Aggregate("count_units")),
        ("sum(age)", Aggregate("sum", variable(AGE))),
        ("SUM(ALL age)", Aggregate("sum", variable(AGE))),
        ("AVG(age)", Aggregate("average", variable(AGE))),
        ("VARIANCE(age)", Aggregate("variance_samp", variable(AGE))),
        ("VAR_POP(age)", Aggregate("variance_pop", variable(AGE))),
        ("STDDEV(age)", Aggregate("deviation_samp", variable(AGE))),
        ("STDDEV_POP(age)", Aggregate("deviation_pop", variable(AGE))),
        ("MEDIAN(age)", Aggregate("quantile", variable(AGE), points=(Fraction(1, 2),))),
        ("PERCENTILE_CONT(age, 0.25)", Aggregate("quantile", variable(AGE), points=(Fraction(1, 4),))),
        (
            "PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age)",
            Aggregate("quantile", variable(AGE), points=(Fraction(1, 4),)),
        ),
        (
            "APPROX_QUANTILES(age, 2)",
            Aggregate("quantile", variable(AGE), points=(Fraction(0), Fraction(1, 2), Fraction(1))),
        ),
        (
            "SUM(age, contribution_bounds_per_row => (10, 50))",
            Aggregate("sum", variable(AGE), row_bounds=(Fraction(10), Fraction(50))),
        ),
        (
            "SUM(age, contribution_bounds_per_group => (0, 50))",
            Aggregate("sum", variable(AGE), group_bounds=(Fraction(0), Fraction(50))),
        ),
        ("SUM(age, contribution_bounds_per_row => (-10, 5000))", Aggregate("sum", variable(AGE))),
        ("SUM(age, contribution_bounds_per_group => (0, 600))", Aggregate("sum", variable(AGE))),
        (
            "AVG(age, contribution_bounds_per_group => (-5, 50))",
            Aggregate("average", variable(AGE), row_bounds=(Fraction(0), Fraction(50))),
        ),
        (
            "COUNT(*, contribution_bounds_per_group => (0, 3))",
            Aggregate("count", group_bounds=(Fraction(0), Fraction(3))),
        ),
        ("COUNT(*, contribution_bounds_per_group => (0, 5))", Aggregate("count")),
    ],
)
def test_aggregates(call: str, expected: Aggregate) -> None:
    assert plan(f"SELECT {call} FROM visits").aggregates == (expected,)


def test_outputs_keep_their_order_and_get_names() -> None:
    found = plan("SELECT COUNT(*), region, SUM(age), SUM(age) AS s, SUM(age) FROM visits GROUP BY region")
    assert [output.name for output in found.outputs] == ["count", "region", "sum_age", "s", "sum_age_2"]


@pytest.mark.parametrize(
    ("group", "sets"),
    [
        ("region", [("region",)]),
        ("region, age, region", [("age", "region")]),
        ("(region, age)", [("age", "region")]),
        ("()", [()]),
        ("CUBE(region, age)", [(), ("age",), ("age", "region"), ("region",)]),
        ("ROLLUP(region, age)", [(), ("age", "region"), ("region",)]),
        ("ROLLUP(region), store", [("region", "store"), ("store",)]),
        ("CUBE((region, age))", [(), ("age", "region")]),
        ("GROUPING SETS ((region), age, ())", [(), ("age",), ("region",)]),
        ("GROUPING SETS (CUBE(region), (region, age))", [(), ("age", "region"), ("region",)]),
    ],
)
def test_grouping_sets(group: str, sets: list[tuple[str, ...]]) -> None:
    found = plan(f"SELECT COUNT(*) FROM visits GROUP BY {group}")
    assert [tuple(field.name for field in keys) for keys in found.sets] == sets


def test_options_are_stored_when_they_tighten() -> None:
    budget = "epsilon=0.5, delta=1e-7, privacy_unit_column=user_id"
    bounds = "max_groups_contributed=1, max_rows_contributed=3"
    assert plan(CLAUSE.format(f"{budget}, {bounds}")).options == Options(
        Fraction(1, 2), Fraction(1, 10**7), 3, 1
    )
    same = "max_groups_contributed=2, max_rows_contributed=5, group_selection_strategy=PUBLIC_GROUPS"
    assert plan(CLAUSE.format(same)).options == Options()
    assert plan("SELECT COUNT(*) FROM visits").options == Options()


def test_joins_give_one_column_one_name() -> None:
    by_using = plan(
        "SELECT city, COUNT(*) FROM visits JOIN stores USING (store) WHERE store = 1 GROUP BY city"
    )
    by_on = plan(
        "SELECT s.city, COUNT(*) FROM visits v INNER JOIN stores AS s ON (s.store = v.store) "
        "WHERE s.store = 1 GROUP BY s.city"
    )
    assert by_using == by_on
    assert by_using.where == within("store", (0, 0))


def test_private_tables_join_on_the_unit() -> None:
    found = plan("SELECT SUM(price * age) FROM visits JOIN orders USING (user_id)")
    assert found.joins[0].table == "orders"
    counted = plan("SELECT COUNT(DISTINCT orders.user_id) FROM visits JOIN orders USING (user_id)")
    assert counted.aggregates == (Aggregate("count_units"),)


def test_bounds_of_arithmetic_are_exact() -> None:
    cost = Field("visits", "cost")
    one_minus = add(constant(1), multiply(constant(-1), variable(AGE)))
    assert scale(multiply(variable(INCOME), one_minus), TABLES).span == (-119 * 100_000, 100_000)
    assert scale(variable(cost), TABLES).span == (-500, 500)
    assert scale(multiply(variable(cost), variable(cost)), TABLES).span == (0, 250_000)
    found = scale(add(multiply(variable(cost), variable(INCOME)), constant(Fraction(1, 2))), TABLES)
    assert (found.unit, found.span) == (Fraction(1, 100), (-500 * 100_000 + 50, 500 * 100_000 + 50))
    # The two columns of a difference are independent, but x - x is not two columns.
    nothing = add(variable(AGE), multiply(constant(-1), variable(AGE)))
    assert scale(nothing, TABLES).span == (0, 0)


@pytest.mark.parametrize(
    "bad", [{"epsilon": 0, "delta": 0}, {"epsilon": 1, "delta": 1}, {"epsilon": float("nan"), "delta": 0}]
)
def test_a_policy_is_checked(bad: dict[str, float]) -> None:
    with pytest.raises(InvalidParameter):
        Policy(**bad)


def test_tables_with_one_name_are_refused() -> None:
    other = Schema(
        "Stores", columns=(Integer("x", lower=0, upper=1),), unit=Row(), neighbours=AddRemove("row")
    )
    with pytest.raises(InvalidParameter):
        PlanTables.of((VISITS, other))
    with pytest.raises(InvalidParameter):
        PlanTables.of((VISITS, Category("x", values=("a",))))  # type: ignore[arg-type]
    assert PlanTables.of(ORDERS).relation("ORDERS") is ORDERS
    with pytest.raises(InvalidParameter):
        TABLES.schema("stores")
    with pytest.raises(InvalidParameter):
        TABLES.column(Field("nowhere", "x"))


@pytest.mark.parametrize(
    ("text", "printed"),
    [
        ("SELECT COUNT(*) FROM visits", 'SELECT COUNT(*) AS "count" FROM "visits"'),
        (
            "SELECT region r, SUM(2 * cost - 1), COUNT(DISTINCT user_id) FROM visits v WHERE NOT v.active "
            "GROUP BY region",
            'SELECT "visits"."region" AS "r", SUM(-1 + 2 * "visits"."cost") AS "sum_cost", '
            'COUNT(DISTINCT "visits"."user_id") AS "units" FROM "visits" '
            'WHERE "visits"."active" IN (FALSE) GROUP BY "visits"."region"',
        ),
        (
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.1, delta=1e-25, max_rows_contributed=2) "
            "MEDIAN(age), APPROX_QUANTILES(age, 4), COUNT(*, contribution_bounds_per_group => (0, 2)) "
            "FROM visits JOIN stores USING (store) WHERE age < 3 OR day = '2020-02-29' OR cost IS NULL "
            "GROUP BY ROLLUP(city)",
            "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1, delta = 0.000000000000000001e-7, "
            'max_rows_contributed = 2) PERCENTILE_CONT("visits"."age", 0.5) AS "quantile_age", '
            'APPROX_QUANTILES("visits"."age", 4) AS "quantile_age_2", '
            'COUNT(*, contribution_bounds_per_group => (0, 2)) AS "count" '
            'FROM "visits" JOIN "stores" ON "visits"."store" = "stores"."store" '
            'WHERE (("visits"."age" >= 0 AND "visits"."age" <= 2) OR "visits"."cost" IS NULL OR '
            '("visits"."day" >= DATE \'2020-02-29\' AND "visits"."day" <= DATE \'2020-02-29\')) '
            'GROUP BY GROUPING SETS ((), ("stores"."city"))',
        ),
        (
            "SELECT SUM(age, contribution_bounds_per_row => (1, 9)) FROM visits "
            "WHERE (income > age AND income IS NOT NULL) OR 1 = 0 OR cost > 0.01 OR cost IS NULL",
            'SELECT SUM("visits"."age", contribution_bounds_per_row => (1, 9)) AS "sum_age" FROM "visits" '
            'WHERE (("visits"."age" + -1 * "visits"."income" < 0 AND "visits"."income" IS NOT NULL) OR '
            '("visits"."cost" IS NULL OR ("visits"."cost" >= 0.02 AND "visits"."cost" <= 5)))',
        ),
        ("SELECT COUNT(*) FROM visits WHERE 1 = 0", 'SELECT COUNT(*) AS "count" FROM "visits" WHERE FALSE'),
    ],
)
def test_plans_print_as_sql(text: str, printed: str) -> None:
    found = plan(text)
    assert to_sql(found, TABLES) == printed
    assert plan(printed) == found


@pytest.mark.parametrize(
    ("filled", "after", "same"),
    [
        ("COALESCE(region, 'none') AS region", "", True),
        ("IFNULL(region, 'none') AS r", "ORDER BY COUNT(*)", True),
        ("COALESCE(region, 'none') AS region", "ORDER BY region", True),
        ("COALESCE(age, -1) AS a", "", True),
        ("COALESCE(region, 'e') AS r", "", False),  # that is a group already
        ("COALESCE(age, 5) AS a", "", False),
        ("COALESCE(region, 'none') AS r, region", "", False),
        ("COALESCE(region, 'none') AS region", "HAVING region <> 'e'", False),
        ("COALESCE(region, 'none') AS r", "ORDER BY region", False),
        ("COALESCE(region, 'all') AS r", "WITH ROLLUP", False),
    ],
)
def test_what_is_shown_for_a_missing_key_is_a_group(filled: str, after: str, same: bool) -> None:
    column, shown = ("age" if "age" in filled else "region"), filled.split(" AS ", maxsplit=1)[0]
    found = plan(f"SELECT {filled}, COUNT(*) FROM visits GROUP BY {column} {after}")
    named = plan(
        f"SELECT {filled.replace(' AS region', ' AS r')}, COUNT(*) FROM visits GROUP BY {shown}"
        if same
        else f"SELECT {column}, COUNT(*) FROM visits GROUP BY {column}"
    )
    assert found.keys == named.keys


def test_a_key_that_is_named_with_its_table_is_filled_too() -> None:
    shown = "SELECT COALESCE(v.region, 'none') AS r, COUNT(*) FROM visits v GROUP BY v.region"
    inside = "SELECT COALESCE(x, 'none') AS r, COUNT(*) FROM (SELECT region AS x FROM visits) AS t GROUP BY x"
    plain = "SELECT COALESCE(region, 'none') AS r, COUNT(*) FROM visits GROUP BY r"
    assert len({canonicalise(plan(text)) for text in (shown, inside, plain)}) == 1
