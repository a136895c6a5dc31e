"""Choices, quotients and functions of one column: one form for one meaning, and no value beyond 64 bits."""

from __future__ import annotations

import datetime
import math
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from sql_schemas import POLICY, TABLES

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Boolean, Date, Decimal, Integer, Row, Schema, Table
from discreet.data.plan.atoms import MAX_WEIGHT, choose, complement, floor_quotient, simplify
from discreet.data.plan.canonical import compare, conjunction, is_there
from discreet.data.plan.facts import facts
from discreet.data.plan.numbers import MAX_UNITS, add, constant, multiply, negate, scale, variable
from discreet.data.plan.row_nodes import (
    FALSE,
    TRUE,
    Choice,
    Condition,
    Field,
    Polynomial,
    Quotient,
    StepFunction,
    Within,
)
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql

AGE, INCOME, COST = (variable(Field("visits", name)) for name in ("age", "income", "cost"))
REGION = Field("visits", "region")


def above(number: Polynomial, bound: int) -> Condition:
    return compare(add(number, constant(-bound)), ">", TABLES)


def atom_of(number: Polynomial | None) -> Any:
    assert number is not None
    (atom,) = number.atoms
    return atom


def test_a_function_of_one_column_is_a_list_of_its_values() -> None:
    found = atom_of(
        choose([(above(AGE, 64), constant(4)), (above(AGE, 17), constant(2))], constant(0), TABLES)
    )
    assert found == StepFunction(Field("visits", "age"), ((17, 0), (64, 1), (120, 2)), None)
    assert atom_of(floor_quotient(AGE, constant(50), TABLES)) == StepFunction(
        Field("visits", "age"), ((49, 0), (99, 1), (120, 2)), None
    )


def test_what_makes_no_difference_is_left_out() -> None:
    assert choose([(TRUE, AGE)], INCOME, TABLES) == AGE
    assert choose([(FALSE, INCOME)], AGE, TABLES) == AGE
    assert choose([(above(INCOME, 5), AGE)], AGE, TABLES) == AGE
    assert choose([(above(INCOME, 5), None)], None, TABLES) is None
    one = choose([(above(INCOME, 5), AGE), (above(COST, 1), AGE)], None, TABLES)
    assert len(atom_of(one).cases) == 1
    assert floor_quotient(AGE, constant(1), TABLES) == AGE
    assert choose([(above(AGE, 5), AGE)], AGE, TABLES) == AGE


def test_ranges_are_those_where_the_condition_holds() -> None:
    sized = choose([(compare(COST, "<", TABLES), negate(COST))], COST, TABLES)
    assert scale(sized or COST, TABLES).span == (0, 500)
    apart = add(INCOME, negate(multiply(constant(1000), AGE)))
    absolute = choose([(compare(apart, "<", TABLES), negate(apart))], apart, TABLES)
    assert isinstance(atom_of(absolute), Choice)
    assert scale(absolute or apart, TABLES).span == (0, 120_000)


def test_a_quotient_is_missing_where_its_denominator_is_not_positive() -> None:
    found = floor_quotient(INCOME, add(AGE, constant(-60)), TABLES)
    quotient = atom_of(found)
    assert isinstance(quotient, Quotient) and quotient.span == (0, 100_000)
    assert TABLES.nullable(quotient)
    assert floor_quotient(INCOME, constant(0), TABLES) is None
    assert floor_quotient(INCOME, constant(-1), TABLES) is None
    assert floor_quotient(INCOME, add(AGE, constant(-200)), TABLES) is None
    assert floor_quotient(INCOME, add(AGE, negate(AGE)), TABLES) is None


def test_no_quotient_leaves_64_bits() -> None:
    """An engine adds denominators until the numerator is not negative: that must fit as well."""
    most = MAX_UNITS // 120
    below = add(AGE, constant(1))
    assert floor_quotient(multiply(constant(-(10**9)), INCOME), below, TABLES) is not None
    with pytest.raises(Refused, match="64-bit"):
        floor_quotient(multiply(constant(-most // 2000), INCOME), below, TABLES)
    with pytest.raises(Refused, match="64-bit"):
        floor_quotient(multiply(constant(10**17), INCOME), constant(3), TABLES)


def test_what_repeats_itself_is_refused_before_it_grows() -> None:
    number, other = INCOME, multiply(constant(800), AGE)
    with pytest.raises(Refused, match=f"more than {MAX_WEIGHT} parts"):
        for step in range(40):
            test = compare(add(number, negate(other)), "<", TABLES)
            number, other = choose([(test, other)], add(number, constant(step)), TABLES) or number, number


def test_a_complement_holds_wherever_the_condition_does_not() -> None:
    there = is_there(INCOME, TABLES)
    assert complement(there, TABLES) == Within(Field("visits", "income"), (), missing=True)
    mixed = conjunction([there, above(add(INCOME, multiply(constant(900), AGE)), 3)], TABLES)
    assert complement(complement(there, TABLES), TABLES) == there
    assert complement(mixed, TABLES) not in (TRUE, FALSE)


def test_a_long_column_is_left_as_it_is_written() -> None:
    found = simplify(
        multiply(constant(2), variable(atom_of(floor_quotient(INCOME, constant(7), TABLES)))), TABLES
    )
    assert isinstance(atom_of(found), Quotient)
    assert scale(found or INCOME, TABLES).unit == Fraction(2)


LONG = Schema(
    "t",
    columns=(
        Date("day", lower=datetime.date(1990, 1, 1), upper=datetime.date(2039, 1, 1)),
        Integer("n", lower=0, upper=40_000, null=0),
        Boolean("f"),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)


@pytest.mark.parametrize(
    ("number", "span"),
    [
        ("EXTRACT(DOW FROM day)", (0, 6)),
        ("EXTRACT(DAY FROM day)", (1, 31)),
        ("EXTRACT(DOY FROM day)", (1, 366)),
        ("EXTRACT(WEEK FROM day)", (1, 53)),
        ("n % 10", (0, 9)),
        ("100 * (n % 7) - 300", (-3, 3)),
    ],
)
def test_what_repeats_too_often_to_be_listed_has_its_own_range(number: str, span: tuple[int, int]) -> None:
    """Its parts would tell the range of the whole column: noise for 17,898 days where there are 31."""
    for call in (
        "SUM({})",
        "AVG({})",
        "MEDIAN({})",
        "SUM({}) FILTER (WHERE f)",
        "SUM(CASE WHEN f THEN {} END)",
    ):
        text = f"SELECT {call.format(number)} AS v FROM t"
        asked = parse(text, schemas=LONG, policy=POLICY)
        assert facts(asked, LONG).sets[0].measures[0][0].row == span
        assert parse(to_sql(asked, PlanTables.of(LONG)), schemas=LONG, policy=POLICY) == asked


def test_a_number_that_is_held_to_its_range_has_the_values_it_had() -> None:
    days = [datetime.date(1990, 1, 1) + datetime.timedelta(k) for k in range(0, 17_000, 97)]
    rows = pd.DataFrame({"day": pd.to_datetime([*days, None]), "n": 7, "f": True})
    with Table(rows, schema=LONG) as table:
        text = "SELECT SUM(EXTRACT(DAY FROM day)) AS s, COUNT(EXTRACT(DOW FROM day)) AS n FROM t"
        answer = table.sql(text, epsilon=10**8, delta=0)
    assert answer.column("s") == (sum(day.day for day in days),)
    assert answer.column("n") == (len(days),)


def test_a_power_of_a_list_of_values_is_a_list_of_values() -> None:
    steps = choose([(above(AGE, 17), constant(3))], constant(2), TABLES)
    assert steps is not None and isinstance(atom_of(steps), StepFunction)
    squared = simplify(multiply(steps, steps), TABLES)
    assert squared == choose([(above(AGE, 17), constant(9))], constant(4), TABLES)


MANY = Schema(
    "t",
    columns=(
        Integer("b", lower=0, upper=10**6),
        Integer("s", lower=-(10**6), upper=10**6),
        Decimal("p", lower=0, upper=10**5, grid=Fraction("0.05")),
        Integer("x", lower=-5, upper=9),
        Integer("y", lower=-2, upper=3),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)


def ends(text: str) -> tuple[Fraction, Fraction]:
    """Between what a number is priced, after it was printed and read again."""
    plan = parse(f"SELECT SUM({text}) FROM t", schemas=MANY, policy=POLICY)
    assert parse(to_sql(plan, PlanTables.of(MANY)), schemas=MANY, policy=POLICY) == plan
    (found,) = plan.aggregates
    exact = scale(found.number, PlanTables.of(MANY))  # type: ignore[arg-type]
    return exact.span[0] * exact.unit, exact.span[1] * exact.unit


@pytest.mark.parametrize(
    ("text", "low", "high"),
    [
        ("b % 10", 0, 9),
        ("b - 10 * FLOOR(b / 10)", 0, 9),
        ("MOD(s, 10)", -9, 9),
        ("s % -7", -6, 6),
        ("p % 1", 0, Fraction("0.95")),
        ("b % 2.5", 0, 2),
        ("7 - 2 * ((b + 3) % 10)", -11, 7),
        ("(x * y) % 4", -3, 3),
        ("b % 10 + b", 0, 10**6 + 9),
    ],
)
def test_a_remainder_is_priced_by_its_own_range(text: str, low: Any, high: Any) -> None:
    """However many values the number has that is divided."""
    assert ends(text) == (low, high)


@pytest.mark.parametrize("by", [1.5, 2, 3, 4, 7])
def test_no_remainder_lies_beyond_its_range(by: float) -> None:
    low, high = ends(f"(x + 2 * y) % {by}")
    seen = [Fraction(x + 2 * y) for x in range(-5, 10) for y in range(-2, 4)]
    rests = [one - math.trunc(one / Fraction(by)) * Fraction(by) for one in seen]
    assert (low, high) == (min(rests), max(rests))


def test_an_engine_computes_remainders_of_long_columns() -> None:
    rows = [{"b": b, "s": s, "p": 0.35, "x": 1, "y": 1} for b, s in ((10**6 - 1, -37), (7, 999), (0, -10))]
    with Table(pd.DataFrame(rows), schema=MANY) as table:
        answer = table.sql("SELECT SUM(b % 10), SUM(s % 10), SUM(p % 0.2) FROM t", epsilon=10**9, delta=0)
        groups = table.sql("SELECT s % 4 AS k, COUNT(*) AS n FROM t GROUP BY k", epsilon=10**9, delta=0)
    assert [float(cell) for cell in answer.rows[0]] == pytest.approx([16, 2, 0.45], abs=1e-3)
    assert [(int(k), round(n)) for k, n in groups.rows] == [
        *((-3, 0), (-2, 1), (-1, 1), (0, 0), (1, 0), (2, 0), (3, 1))
    ]
