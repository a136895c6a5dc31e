"""Windows over an answer: whatever the true values are in their intervals, what is computed is enclosed."""

from __future__ import annotations

from fractions import Fraction
from typing import get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.data.plan.after import Exact
from discreet.data.plan.kinds import WindowFunction
from discreet.data.plan.nodes import Aggregate, Constant, Ordering, Windowed
from discreet.data.plan.row_nodes import Field
from discreet.data.pricing.computed import NOTHING, Enclosed, Possible, exactly
from discreet.data.pricing.windows import WindowRows

COUNT, KEY = Aggregate("count"), Field("t", "k")
RANKS = ("rank", "dense_rank", "row_number")
FRAMES = (None, (None, 0), (1, 1), (2, 0), (0, None), (1, None), (0, 0))
numbers = st.integers(-3, 6).map(Fraction)


@st.composite
def boxes(draw: st.DrawFn) -> tuple[Possible, Exact]:
    """What is possible of a row, and a value that is."""
    low = draw(numbers)
    width = draw(st.integers(0, 4))
    missing = draw(st.integers(0, 5)) == 0
    value: Exact = low + draw(st.integers(0, width))
    if missing and draw(st.booleans()):
        return (NOTHING, None) if draw(st.booleans()) else (Enclosed(low, low + width, missing=True), None)
    return Enclosed(low, low + width, missing=missing, step=Fraction(1)), value


@settings(max_examples=600, deadline=None)
@given(st.data(), st.sampled_from(get_args(WindowFunction)))
def test_the_true_value_is_enclosed(data: st.DataObject, function: WindowFunction) -> None:
    size = data.draw(st.integers(1, 7))
    column = data.draw(st.lists(boxes(), min_size=size, max_size=size))
    parts = data.draw(st.lists(st.integers(0, 1).map(Fraction), min_size=size, max_size=size))
    keys = data.draw(st.lists(numbers, min_size=size, max_size=size))
    second = data.draw(st.booleans())
    first = Ordering(COUNT if function in RANKS else KEY, data.draw(st.booleans()), data.draw(st.booleans()))
    order = (first, Ordering(KEY, False, False)) if second else (first,)
    if function not in (*RANKS, "lag", "lead") and data.draw(st.booleans()):
        order = ()
    window = Windowed(
        function,
        None if function in RANKS else COUNT,
        (KEY,),
        order,
        data.draw(st.sampled_from(FRAMES)) if order and function not in (*RANKS, "lag", "lead") else None,
        data.draw(st.integers(0, 3)),
        Constant(data.draw(st.sampled_from([None, Fraction(5)]))),
    )
    true: list[Exact] = [value for _, value in column]
    exact: list[list[Exact]] = [true if one.what == COUNT else [*keys] for one in order]
    truth = WindowRows(window, size, [[*parts]], exact).values(true)
    # The rows are sorted as the released values have it; keys are the same there.
    noisy: list[list[Exact]] = [[None] * size if one.what == COUNT else [*keys] for one in order]
    possible = [box for box, _ in column]
    orders = [possible if one.what == COUNT else [exactly(key) for key in keys] for one in order]
    found = WindowRows(window, size, [[*parts]], noisy).enclose(possible, orders)
    for enclosed, value in zip(found, truth, strict=True):
        assert isinstance(enclosed, Enclosed)
        if value is None:
            assert enclosed.missing, (window, column)
        else:
            assert isinstance(value, Fraction)
            assert enclosed.low <= value <= enclosed.high, (window, column, truth)
            assert enclosed.step is None or (value / enclosed.step).denominator == 1


def test_ranks_that_are_sure_are_exact() -> None:
    window = Windowed("dense_rank", None, (), (Ordering(COUNT, True, False),))
    column = [Enclosed(Fraction(low), Fraction(low + 1)) for low in (10, 30, 20, 30)]
    values: list[Exact] = [Fraction(10), Fraction(31), Fraction(20), Fraction(30)]
    rows = WindowRows(window, 4, [], [values])
    assert rows.values([]) == [4, 1, 3, 2]
    assert [(one.low, one.high) for one in rows.enclose([], [column])] == [  # type: ignore[union-attr]
        (3, 4),
        (1, 2),
        (2, 3),
        (1, 2),
    ]


@pytest.mark.parametrize("function", ["sum", "min", "max", "average", "count"])
def test_an_end_that_is_infinite_stays_so(function: WindowFunction) -> None:
    parts: list[Possible] = [Enclosed(Fraction(1), float("inf")), Enclosed(Fraction(2), Fraction(3))]
    (first, second) = WindowRows(Windowed(function, COUNT, (), ()), 2, [], []).enclose(parts, [])
    assert first == second and isinstance(first, Enclosed)
    high = {"min": 3, "count": 2}.get(function, float("inf"))
    assert first.high == high
