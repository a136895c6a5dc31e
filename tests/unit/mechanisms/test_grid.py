import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameter
from discreet.mechanisms.grid import LIMIT, Bounds, Grid, evaluate_finite

UNITS = st.sampled_from([Fraction(1), Fraction(1, 10), Fraction(1, 3), Fraction(7), Fraction(1, 1000)])


class Derived(np.ndarray):
    """An array that answers every question about itself in its own way."""

    def answer(self, *_args, **_kwargs):
        raise SystemExit("data")

    shape = dtype = property(answer)
    __array_ufunc__ = __array_function__ = __array__ = __getitem__ = __len__ = astype = answer


DECIMALS = st.decimals(min_value=-1000, max_value=1000, places=3).map(Fraction)


@given(unit=UNITS, value=DECIMALS, move=DECIMALS)
def test_one_rounded_value_moves_by_at_most_the_ceiling(unit, value, move):
    grid = Grid(unit)
    moved = abs(grid.to_units(value, 1) - grid.to_units(value + move, 1))
    assert moved <= math.ceil(abs(move) / unit)
    assert moved <= max(1, grid.shift(abs(move), 1))


@given(unit=UNITS, values=st.lists(st.tuples(DECIMALS, DECIMALS), min_size=2, max_size=4))
def test_a_rounded_vector_moves_by_at_most_the_shifts(unit, values):
    grid, size = Grid(unit), len(values)
    moved = [abs(grid.to_units(a, 1) - grid.to_units(b, 1)) for a, b in values]
    one = sum(abs(a - b) for a, b in values)
    assert sum(moved) <= max(grid.shift(one, size), size)
    square = sum((a - b) ** 2 for a, b in values)
    root = Fraction(math.isqrt(math.ceil(square * 10**12)) + 1, 10**6)
    assert sum(m * m for m in moved) <= grid.square_shift(root, size)


def test_the_shifts_of_vectors_are_attained():
    """A tiny move in one coordinate costs a whole unit: the extra units are needed."""
    grid = Grid(Fraction(1))
    left, right = (Fraction("0.499"), Fraction("0.499")), (Fraction("0.501"), Fraction("1.501"))
    moved = [abs(grid.to_units(a, 1) - grid.to_units(b, 1)) for a, b in zip(left, right, strict=True)]
    one = sum(abs(a - b) for a, b in zip(left, right, strict=True))
    assert sum(moved) == 3 == grid.shift(one, 2)
    assert sum(moved) > math.ceil(one)


@given(
    unit=UNITS,
    values=st.lists(
        st.floats(width=64) | st.sampled_from([0.05, -0.05, 2.0**53 + 1, -0.0, 5e-324]), min_size=1
    ),
)
def test_arrays_agree_with_numbers_one_by_one(unit, values):
    grid = Grid(unit)
    array = grid.to_units(np.array(values), len(values))
    assert array.tolist() == [grid.to_units(value, 1) for value in values]
    assert array.tolist() == grid.to_units(values, len(values)).tolist()


@given(values=st.lists(st.floats(width=32), min_size=1), unit=UNITS)
def test_float32_arrays_agree_with_numbers_one_by_one(unit, values):
    narrow = np.array(values, dtype=np.float32)
    grid = Grid(unit)
    assert grid.to_units(narrow, len(values)).tolist() == [grid.to_units(value, 1) for value in narrow]


def test_floats_are_read_as_decimals():
    """0.05 and -0.05 are 0.1 apart; as binary numbers they would be further apart and move by two units."""
    grid = Grid(Fraction(1, 10))
    assert grid.to_units(0.05, 1) - grid.to_units(-0.05, 1) == 1
    binary = [math.floor(Fraction(x) * 10 + Fraction(1, 2)) for x in (0.05, -0.05)]
    assert binary[0] - binary[1] == 2


@pytest.mark.parametrize("kind", [list, np.array])
def test_every_finite_or_not_finite_value_has_an_integer(kind):
    values = [float("nan"), float("inf"), float("-inf"), 1e300, -1e300, 5e-324, -0.0]
    units = Grid(Fraction(1, 100)).to_units(kind(values), 7)
    assert units.tolist() == [0, LIMIT, -LIMIT, LIMIT, -LIMIT, 0, 0]


@pytest.mark.parametrize(
    "data", [[2**63, -1], [2**70, -1], np.array([2**63, 5], dtype=np.uint64), (2**62 + 5, 3)]
)
def test_large_integers_are_clamped_and_never_raise_or_wrap(data):
    units = Grid(None).to_units(data, 2)
    assert units.dtype == np.int64
    assert units[0] == LIMIT
    assert units[1] == int(data[1])


def test_one_python_integer_stays_exact_at_any_size():
    assert Grid(None).to_units(10**40, 1) == 10**40


@pytest.mark.parametrize(
    ("unit", "units", "expected"),
    [
        (None, 3, 3),
        (Fraction(1), 3, 3),
        (Fraction(5), 3, 15),
        (Fraction(1, 10), 3, 0.3),
        (Fraction(3, 10), 1, 0.3),
    ],
)
def test_grid_values_are_the_decimals_a_person_expects(unit, units, expected):
    grid = Grid(unit)
    assert grid.from_units(units) == expected
    assert type(grid.from_units(units)) is type(expected)
    assert grid.from_units(np.array([units])).tolist() == [expected]


def test_whole_square_shifts_of_integers():
    grid = Grid(None)
    assert grid.square_shift(Fraction(repr(math.sqrt(3))), 5) == 3  # the float is below the root
    assert Fraction(repr(math.sqrt(3))) ** 2 < 3
    assert grid.square_shift(Fraction("1.5"), 5) == 2  # 2.25: no integer vector is between sqrt(2) and 1.5
    for size in (1, 2, 3):
        for k in range(1, 30):
            assert grid.square_shift(Fraction(repr(math.sqrt(k))), size) == k


def test_square_shift_on_a_grid_covers_all_roundings():
    grid, steps = Grid(Fraction(1)), [Fraction(n, 4) for n in range(-6, 7)]
    for a, b in itertools.product(steps, repeat=2):
        moves = [
            max(abs(grid.to_units(x + a, 1) - grid.to_units(x, 1)) for x in steps),
            max(abs(grid.to_units(x + b, 1) - grid.to_units(x, 1)) for x in steps),
        ]
        root = Fraction(math.isqrt(math.ceil((a * a + b * b) * 10**12)) + 1, 10**6)
        assert moves[0] ** 2 + moves[1] ** 2 <= grid.square_shift(root, 2)


@pytest.mark.parametrize(
    ("data", "size"),
    [
        (True, 1), ("3", 1), (None, 1), (1j, 1), ({1: 2}, 1), (3, 2), ([1, 2, 3], 2),
        (np.array(["a", "b"]), 2), (np.array([True, False]), 2), (np.array([1j, 2]), 2),
        (np.zeros((2, 1)), 2), (np.array([1, 2]).view(np.matrix), 2),
        (np.array([1, 2], dtype=object), 2), (np.array([1, 2]).view(Derived), 2),
        (np.rec.fromarrays([[1, 2]]), 2), (np.array(1, dtype=object), 1), (np.array(True), 1),
        (np.timedelta64(1, "s"), 1), (np.ma.array(["a", "b"], mask=[0, 1]), 2),
    ],
)  # fmt: skip
@pytest.mark.parametrize("unit", [None, Fraction(1, 2)])
def test_wrong_shapes_and_types_are_refused(data, size, unit):
    with pytest.raises(InvalidParameter, match="data must be"):
        Grid(unit).to_units(data, size)


@pytest.mark.parametrize("data", [1.0, [1.5, 2], np.array([1.0, 2.0]), Fraction(1)])
def test_reals_without_a_grid_are_refused_with_a_hint(data):
    size = 1 if isinstance(data, float | Fraction) else 2
    with pytest.raises(InvalidParameter, match="Pass grid="):
        Grid(None).to_units(data, size)


def _raises(_):
    raise RuntimeError("secret 42")


@pytest.mark.parametrize(
    "function",
    [_raises, lambda _: float("nan"), lambda _: float("inf"), lambda _: None, lambda _: "7", lambda _: True,
     lambda _: [1, 2], lambda _: np.array([1.0, 2.0]), lambda _: np.nan, lambda rows: rows[9],
     lambda _: 1 / 0],
)  # fmt: skip
def test_whatever_a_function_does_wrong_looks_the_same(function):
    assert evaluate_finite(function, (1, 2), Fraction(5)) == 5


@pytest.mark.parametrize(
    "value", [3, 3.0, np.int8(3), np.float32(3), np.array([3.0]), np.array(3), Fraction(3)]
)
def test_numbers_of_every_kind_come_through(value):
    assert evaluate_finite(lambda _: value, (), Fraction(5)) == 3


@given(
    unit=UNITS,
    lower=st.fractions(-20, 20, max_denominator=100),
    span=st.fractions(8, 40, max_denominator=100),
    share=st.fractions(0, 1, max_denominator=1000),
)
def test_what_bounds_do_to_a_number_is_charged(unit, lower, span, share):
    """Bounds off the grid are rounded inwards, which may move a number by nearly a whole unit."""
    upper = lower + span + unit
    bounds = Bounds(unit, lower, upper)
    low, high = bounds.ends
    assert lower <= low * unit < lower + unit
    assert upper - unit < high * unit <= upper
    for value in (lower, upper, lower + share * (upper - lower)):
        assert abs(bounds.to_units(value) * unit - value) <= bounds.rounding
    at_the_ends = [abs(bounds.to_units(end) * unit - end) for end in (lower, upper)]
    assert bounds.rounding == max(unit / 2, *at_the_ends)
    assert bounds.to_units(upper + 99) == high
    assert bounds.clamp(np.array([low - 5, low, high + 5])).tolist() == [low, low, high]


@pytest.mark.parametrize(("lower", "upper"), [(1, 1), (2, 1), (0.2, 1.8), (10.2, 10.8)])
def test_bounds_hold_two_grid_values(lower, upper):
    with pytest.raises(InvalidParameter, match="upper must be such that two grid values lie between"):
        Bounds(Fraction(1), Fraction(lower), Fraction(upper))
