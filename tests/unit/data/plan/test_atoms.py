"""Choices, quotients and functions of one column: one form for one meaning, and no value beyond 64 bits."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest
from sql_schemas import TABLES

from discreet.core.errors import Refused
from discreet.data.plan.atoms import MAX_WEIGHT, choose, complement, floor_quotient, simplify
from discreet.data.plan.canonical import compare, conjunction, is_there
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
