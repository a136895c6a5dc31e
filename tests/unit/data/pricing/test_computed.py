"""Interval arithmetic holds every value that its parts allow, and exact ends where they are easy."""

from __future__ import annotations

import datetime
import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.plan.after import evaluate
from discreet.data.plan.kinds import Function
from discreet.data.plan.nodes import Computed, Constant
from discreet.data.plan.row_nodes import Field
from discreet.data.pricing.computed import Enclosed, OneOf, enclose, exactly

A, B = Field("t", "a"), Field("t", "b")
ONE_NUMBER: tuple[Function, ...] = ("abs", "sign", "sqrt", "ln", "exp", "floor", "ceil", "round", "trunc")
TWO_NUMBERS: tuple[Function, ...] = ("+", "-", "*", "/", "%", "least", "greatest", "coalesce", "nullif")
SIGNS: tuple[Function, ...] = ("=", "<>", "<", "<=")
LEAVES = st.sampled_from([A, B]) | st.builds(
    Constant,
    st.fractions(-3, 3, max_denominator=4) | st.just(None),  # type: ignore[arg-type]
)


def _deeper(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    tests = st.builds(lambda f, a, b: Computed(f, (a, b)), st.sampled_from(SIGNS), inner, inner)
    tests |= st.builds(lambda a: Computed("is null", (a,)), inner)
    tests |= st.builds(lambda f, a, b: Computed(f, (a, b)), st.sampled_from(("and", "or")), tests, tests)
    tests |= st.builds(lambda a: Computed("not", (a,)), tests)
    return st.one_of(
        st.builds(lambda f, a: Computed(f, (a,)), st.sampled_from(ONE_NUMBER), inner),
        st.builds(lambda f, a, b: Computed(f, (a, b)), st.sampled_from(TWO_NUMBERS), inner, inner),
        st.builds(
            lambda f, a, n: Computed(f, (a, Constant(Fraction(n)))),
            st.sampled_from(("round", "trunc", "power")),
            inner,
            st.integers(0, 3),
        ),
        st.builds(
            lambda a, n: Computed("power", (a, Constant(n))),
            inner,
            st.sampled_from([Fraction(1, 2), Fraction(3, 2), Fraction(1, 3), Fraction("0.01")]),
        ),
        st.builds(lambda t, a, b: Computed("case", (t, a, b)), tests, inner, inner),
    )


EXPRESSIONS = st.recursive(LEAVES, _deeper, max_leaves=8)
ENDS = st.tuples(st.integers(-4, 4), st.integers(0, 5), st.sampled_from([Fraction(1), Fraction(1, 2)]))


@settings(max_examples=400, deadline=None)
@given(EXPRESSIONS, ENDS, ENDS)
def test_every_value_that_the_parts_allow_is_enclosed(what: Any, a: Any, b: Any) -> None:
    """Against brute force over all multiples of a step between the ends."""
    boxes = {}
    for field, (low, width, step) in ((A, a), (B, b)):
        boxes[field] = [(low + k) * step for k in range(width + 1)]
    found = enclose(
        what,
        lambda leaf: Enclosed(boxes[leaf][0], boxes[leaf][-1], step=(a if leaf == A else b)[2]),  # type: ignore[index]
    )
    for x, y in itertools.product(boxes[A], boxes[B]):
        value = evaluate(what, lambda leaf, x=x, y=y: x if leaf == A else y)  # type: ignore[misc]
        if isinstance(found, OneOf):
            assert found.values is None or value in found.values
        elif value is None:
            assert found.missing
        else:
            assert found.low <= value <= found.high, (what, x, y, value, found)


def between(function: Function, *parts: Any, box: dict[Field, Enclosed]) -> Any:
    return enclose(Computed(function, parts), box.__getitem__)


WHOLE = {
    A: Enclosed(Fraction(10), Fraction(20), step=Fraction(1)),
    B: Enclosed(Fraction(0), Fraction(5), step=Fraction(1)),
}


@pytest.mark.parametrize(
    ("function", "parts", "low", "high"),
    [
        ("+", (A, B), 10, 25),
        ("-", (A, B), 5, 20),
        ("*", (A, Constant(Fraction(-2))), -40, -20),
        ("/", (A, B), 2, 20),  # a count that is not 0 is 1 at least
        ("/", (B, A), 0, Fraction(1, 2)),
        ("least", (A, B), 0, 5),
        ("sqrt", (B,), 0, Fraction(9, 4)),
        ("floor", (Computed("/", (A, Constant(Fraction(3)))),), 3, 6),
        ("power", (Computed("-", (B, Constant(Fraction(2)))), Constant(Fraction(2))), 0, 9),
        ("case", (Computed("<", (B, A)), A, B), 10, 20),
        ("coalesce", (Computed("/", (A, B)), Constant(Fraction(0))), 0, 20),
    ],
)
def test_ends_are_as_near_as_they_can_be(function: Function, parts: Any, low: Any, high: Any) -> None:
    found = between(function, *parts, box=WHOLE)
    assert found.low == low
    assert found.high <= high and (function == "sqrt" or found.high == high)


def test_a_division_by_what_may_be_0_says_so() -> None:
    assert between("/", A, B, box=WHOLE).missing
    assert not between("/", B, A, box=WHOLE).missing
    around = {A: WHOLE[A], B: Enclosed(Fraction(-1), Fraction(1))}
    assert (between("/", A, B, box=around).low, between("/", A, B, box=around).high) == (-math.inf, math.inf)
    nothing = {A: WHOLE[A], B: Enclosed(Fraction(0), Fraction(0), step=Fraction(1))}
    assert between("/", A, B, box=nothing).empty


def test_infinite_ends_and_huge_numbers_do_not_fail() -> None:
    huge = Constant(Fraction(10) ** 400)
    box = {A: Enclosed(Fraction(0), math.inf), B: Enclosed(-math.inf, math.inf)}
    for function in ("+", "-", "*", "/", "%", "least", "greatest"):
        for parts in ((A, huge), (huge, A), (B, A), (A, B)):
            found = between(function, *parts, box=box)  # type: ignore[arg-type]
            assert found.low <= found.high
    for function in ONE_NUMBER:
        assert between(function, A, box=box).low >= (-math.inf if function == "ln" else 0)


def test_dates_and_texts() -> None:
    day = datetime.date(2020, 1, 5)
    later = Computed("-", (A, Constant(day)))
    found = enclose(later, lambda _: exactly(datetime.date(2020, 1, 9)))
    assert (found.low, found.high) == (4, 4)  # type: ignore[union-attr]
    same = enclose(Computed("=", (A, Constant("n"))), lambda _: exactly("n"))
    assert same == OneOf(frozenset((True,)))
    assert enclose(Computed("least", (A, Constant("n"))), lambda _: exactly("n")) == OneOf(None)
