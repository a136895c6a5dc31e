"""Declared columns: every value has a code, whatever it is, and no bound is read from data."""

from decimal import Decimal

import numpy as np
import pandas
import pytest

import discreet as dp
from discreet.core.errors import InvalidParameter
from discreet.learning import AdditiveClassifier, Choices, Range
from discreet.learning.declared import encode, read_columns


class Unhashable:
    __hash__ = None


class Shouting:
    def __hash__(self):
        raise RuntimeError("canary")


def objects(*values):
    made = np.empty(len(values), dtype=object)
    made[:] = values
    return made


def test_numbers_fall_into_parts_of_one_width():
    column = Range(0, 10, bins=5)
    assert column.encode(np.array([0, 1.99, 2, 9.99, 10])).tolist() == [0, 0, 1, 4, 4]
    assert column.size == 6


def test_what_is_outside_or_missing_has_its_code():
    column = Range(-1, 1, bins=2)
    odd = np.array([-np.inf, -7, np.nan, 7, np.inf])
    assert column.encode(odd).tolist() == [0, 0, 2, 1, 1]
    strange = objects(10**400, -(10**400), None, "0.5", Decimal("0.5"), True, Unhashable(), Decimal("sNaN"))
    assert column.encode(strange).tolist() == [1, 0, 2, 2, 1, 1, 2, 2]


def test_choices_are_those_declared():
    column = Choices(("a", "b"))
    assert column.encode(objects("b", "a", "c", None, Unhashable(), Shouting(), np.nan)).tolist() == [
        1,
        0,
        2,
        2,
        2,
        2,
        2,
    ]
    assert Choices((0, 1)).encode(np.array([1.0, 0.0, 0.5, np.nan])).tolist() == [1, 0, 2, 2]


def test_a_text_is_no_list_of_its_letters():
    with pytest.raises(InvalidParameter, match="Pass \\('north',\\) for one"):
        Choices("north")
    with pytest.raises(InvalidParameter, match="a list of values"):
        AdditiveClassifier(epsilon=1, delta=1e-9, columns=[Range(0, 1)], classes="no").fit([[1]], ["n"])


def test_a_code_depends_on_its_own_value_alone():
    numbers = np.random.default_rng(0).normal(size=1000)  # noqa: TID251
    column = Range(-3, 3, bins=100)
    alone = [int(column.encode(numbers[place : place + 1])[0]) for place in range(1000)]
    assert column.encode(numbers).tolist() == alone


def test_columns_are_declared_in_order_by_name_for_all_or_by_a_schema():
    age, ward = Range(0, 120), Choices(("x", "y"))
    assert read_columns([age, ward], ["age", "ward"]) == (age, ward)
    assert read_columns({"ward": ward, "age": age}, ["age", "ward"]) == (age, ward)
    assert read_columns(age, [0, 1, 2]) == (age,) * 3
    schema = dp.Schema(
        "people",
        columns=[
            dp.Integer("age", lower=0, upper=9),
            dp.Category("ward", values=["x", "y"]),
            dp.Boolean("smokes"),
        ],
        unit=dp.Row(),
        neighbours=dp.AddRemove("row"),
    )
    assert read_columns(schema, ["smokes", "age", "ward"]) == (
        Choices((False, True)),
        Range(0, 9, bins=10),
        ward,
    )


def test_what_is_not_declared_is_refused():
    for columns in (None, [Range(0, 1)], {"age": Range(0, 1)}, [Range(0, 1), (0, 1)], "ab"):
        with pytest.raises(InvalidParameter):
            read_columns(columns, ["age", "ward"])
    for bad in (
        {"lower": 1, "upper": 1},
        {"lower": 0, "upper": float("inf")},
        {"lower": 0, "upper": 1, "bins": 0},
    ):
        with pytest.raises(InvalidParameter):
            Range(**bad)
    with pytest.raises(InvalidParameter):
        Choices(("a", "a"))


def test_a_table_is_coded_column_by_column():
    table = np.array([[1, "x"], [99, "z"]], dtype=object)
    assert encode((Range(0, 10, bins=10), Choices(("x",))), table).tolist() == [[1, 0], [9, 1]]


def test_declarations_print_as_they_are_written():
    assert repr(Range(18, 90)) == "Range(18, 90)"
    assert repr(Range(0, 0.1, bins=4)) == "Range(0, 0.1, bins=4)"


def test_a_frame_declares_nothing():
    frame = pandas.DataFrame({"age": [31], "town": ["a"]})
    for columns in (frame, frame.to_numpy()):
        with pytest.raises(InvalidParameter, match="columns must be 2 declarations, one a column, got a"):
            read_columns(columns, ["age", "town"])
    with pytest.raises(InvalidParameter, match="columns must be 2 declarations, one a column, got 1"):
        read_columns([Range(0, 1)], ["age", "town"])
