"""Columns, mappings, odd shapes: read by declared type alone, and never told about in an error."""

from collections import Counter
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.mechanisms.count import Count
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.gaussian import Gaussian
from discreet.mechanisms.geometric import Geometric
from discreet.mechanisms.grid import LIMIT, Grid
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.noisy_histogram import NoisyHistogram
from discreet.mechanisms.noisy_max import MaxNoise, NoisyMax
from discreet.mechanisms.permute_and_flip import PermuteAndFlip
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.randomized_response import RandomizedResponse
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.mechanisms.top_k import TopK
from discreet.testing import unsafe_seeded

PEOPLE = AddRemove("person")
THREE = [
    Laplace(sensitivity=1, epsilon=1, size=3),
    Laplace(sensitivity=1, epsilon=1, size=3, grid=0.5),
    Geometric(sensitivity=1, epsilon=1, size=3),
    Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6, size=3),
    NoisyHistogram(epsilon=1, cells=("a", "b", "c"), neighbours=PEOPLE),
    NoisyHistogram(epsilon=1, size=3, neighbours=PEOPLE),
    Exponential(sensitivity=1, epsilon=1, size=3),
    Exponential(sensitivity=1, epsilon=1, candidates=("a", "b", "c")),
    PermuteAndFlip(sensitivity=1, epsilon=1, size=3),
    NoisyMax(noise=MaxNoise.LAPLACE, sensitivity=1, epsilon=1, size=3),
    TopK(k=2, sensitivity=1, epsilon=1, size=3),
    RandomizedResponse(epsilon=1, categories=9, people=3),
]
ONE = [
    Laplace(sensitivity=1, epsilon=1),
    Gaussian(l2_sensitivity=1, epsilon=1, delta=1e-6),
    Count(epsilon=1, neighbours=PEOPLE),
    RandomizedResponse(epsilon=1),
]
COLUMNS = {
    "Int64": lambda values: pd.Series(values, dtype="Int64", index=["a", "b", "c"]),
    "UInt8": lambda values: pd.Series(values, dtype="UInt8", index=["a", "b", "c"]),
    "arrow": lambda values: pd.Series(values, dtype="int64[pyarrow]", index=["a", "b", "c"]),
    "polars": lambda values: pl.Series(values, dtype=pl.Int32),
}


def drawn(mechanism, data):
    value = mechanism.release(data, rng=unsafe_seeded(4)).value
    return value.tolist() if isinstance(value, np.ndarray) else value


@pytest.mark.parametrize("mechanism", THREE, ids=repr)
@pytest.mark.parametrize("make", COLUMNS.values(), ids=COLUMNS)
def test_columns_are_read_whether_or_not_an_entry_is_missing(mechanism, make):
    """The same draws as for a list with 0 in the place of what is missing."""
    full, gap = make([1, 2, 5]), make([1, None, 5])
    if isinstance(mechanism, NoisyHistogram) and mechanism.cells is None and isinstance(full, pd.Series):
        for column in (full, gap):
            with pytest.raises(InvalidParameter, match="Pass cells=, the public names of the cells"):
                mechanism.release(column)
        return
    assert drawn(mechanism, full) == drawn(mechanism, [1, 2, 5])
    assert drawn(mechanism, gap) == drawn(mechanism, [1, 0, 5]) == drawn(mechanism, [1, None, 5])
    assert drawn(mechanism, [1, pd.NA, 5]) == drawn(mechanism, [1, 0, 5])


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1.5, None]),
        pd.Series([1.5, None], dtype="Float64"),
        pd.Series([1.5, None], dtype="double[pyarrow]"),
        pl.Series([1.5, None]),
        pl.Series([1.5, float("nan")]),
    ],
)
def test_real_columns_need_a_grid_and_count_what_is_missing_as_zero(column):
    assert Grid(Fraction(1, 2)).to_units(column, 2).tolist() == [3, 0]
    with pytest.raises(InvalidParameter, match=r"Pass grid=, for instance grid=0.01"):
        Laplace(sensitivity=1, epsilon=1, size=2).release(column)
    with pytest.raises(InvalidParameter, match=r"of an integer type, got type .*64.* Pass integers"):
        Geometric(sensitivity=1, epsilon=1, size=2).release(column)


def test_narrow_floats_keep_their_own_decimals():
    """0.35 in 32 bits is read as 0.35, which is on the boundary; widened it would fall below."""
    narrow = pd.Series([0.35], dtype="Float32")
    grid = Grid(Fraction(1, 10))
    assert grid.to_units(narrow, 1).tolist() == grid.to_units(np.array([0.35], np.float32), 1).tolist() == [4]
    assert grid.to_units(narrow.astype("Float64"), 1).tolist() == [3]


def test_unsigned_columns_are_clamped_and_never_wrap():
    assert Grid(None).to_units(pd.Series([2**64 - 1], dtype="uint64"), 1).tolist() == [LIMIT]
    assert Grid(None).to_units(pl.Series([2**64 - 1], dtype=pl.UInt64), 1).tolist() == [LIMIT]


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(["a", "b"]),
        pd.Series([True, None], dtype="boolean"),
        pd.Series([1, 2], dtype="category"),
        pd.Series([1, 2], dtype="Sparse[int64]"),
        pd.Series([1, 2], dtype=object),
        pl.Series([True, None]),
        pl.Series(["a", None]),
        pl.Series([1, 2], dtype=pl.Int128),
        pd.DataFrame({"a": [1, 2]}),
    ],
)
def test_columns_of_other_types_are_refused_by_their_type(column):
    for mechanism in (
        Laplace(sensitivity=1, epsilon=1, size=2),
        Laplace(sensitivity=1, epsilon=1, size=2, grid=1),
        Exponential(sensitivity=1, epsilon=1, candidates="ab"),
        NoisyHistogram(epsilon=1, cells="ab", neighbours=PEOPLE),
    ):
        with pytest.raises(InvalidParameter, match="of a type of numbers, got type"):
            mechanism.release(column)


@pytest.mark.parametrize(
    "arrays",
    [
        [np.array(["a", "b"]), np.array(["a", "a long name"])],
        [np.array([b"a", b"b"]), np.array([b"a", b"long"])],
        [np.array(["2020", "2021"], "datetime64"), np.array(["2020-01-01", "2021-01-01"], "datetime64")],
        [pl.Series(["a", "b"], dtype=pl.Enum(found)) for found in (["a", "b"], ["a", "b", "zoe"])],
    ],
    ids=["texts", "bytes", "times", "categories"],
)
def test_no_error_tells_what_the_data_made_of_their_type(arrays):
    """The widest text of all rows is in the name of an array's type, and so is the finest time."""
    numbers, words = Laplace(sensitivity=1, epsilon=1, size=2, grid=1), set()
    for array in arrays:
        with pytest.raises(InvalidParameter, match="of a type of numbers, got type") as refused:
            numbers.release(array)
        words.add(str(refused.value))
    assert len(words) == 1


@pytest.mark.parametrize("mechanism", [*THREE, *ONE], ids=repr)
def test_no_error_tells_how_many_rows_there_are(mechanism):
    """Two wrong lengths, as list, array and column: the same words, and no number but the public size."""
    for make in (list, np.array, pl.Series, pd.Series):
        words = set()
        for rows in (5003, 7117):
            if getattr(mechanism, "cells", None) or getattr(mechanism, "candidates", None):
                make = pl.Series if make is pd.Series else make  # noqa: PLW2901 - labels fit any length
            with pytest.raises(InvalidParameter) as caught:
                mechanism.release(make([1] * rows))
            words.add(str(caught.value))
            assert caught.value.value is None
        (message,) = words
        assert "data must be" in message
        assert "5003" not in message and "7117" not in message


@pytest.mark.parametrize("rows", [np.zeros((17, 19), int), pd.DataFrame({"a": [1, 2]})])
def test_reports_of_many_do_not_print_their_shape(rows):
    many = RandomizedResponse(epsilon=1)
    with pytest.raises(InvalidParameter) as caught:
        many.release_many(rows)
    assert "19" not in str(caught.value)
    with pytest.raises(InvalidParameter) as caught:
        many.estimate(np.zeros((17, 19), int))
    assert "19" not in str(caught.value)


def test_wrong_lengths_say_the_way_out():
    cases = [
        (Laplace(sensitivity=1, epsilon=1), "one number, .*size=, the public number of values"),
        (NoisyHistogram(epsilon=1, size=4, neighbours=PEOPLE), "4 counts, one a cell, .*value_counts"),
        (PermuteAndFlip(sensitivity=1, epsilon=1, size=4), "4 scores in the order of the candidates"),
        (Count(epsilon=1, neighbours=PEOPLE), r"one count, .*int\(\(series > 40\).sum\(\)\)"),
        (RandomizedResponse(epsilon=1), "one integer from 0 to categories - 1, here 1, .*release_many"),
    ]
    for mechanism, words in cases:
        with pytest.raises(InvalidParameter, match=f"data must be {words}"):
            mechanism.release([1, 2, 3])


def test_the_hint_of_whole_numbers_is_not_a_grid():
    for mechanism in (
        Count(epsilon=1, neighbours=PEOPLE),
        Geometric(sensitivity=1, epsilon=1),
        RandomizedResponse(epsilon=1),
    ):
        with pytest.raises(InvalidParameter, match="Pass integers") as caught:
            mechanism.release(2.0)
        assert "grid" not in str(caught.value)


@pytest.mark.parametrize("mechanism", ONE, ids=repr)
def test_an_array_without_axes_is_one_number(mechanism):
    assert drawn(mechanism, np.array(1)) == drawn(mechanism, 1)
    assert isinstance(drawn(mechanism, np.array(1)), int)


@pytest.mark.parametrize(
    ("value", "units"),
    [
        ("2.5", 25), ("0.05", 1), ("-0.05", 0), ("NaN", 0), ("sNaN", 0), ("Infinity", LIMIT),
        ("-Infinity", -LIMIT), ("1E+999999999", LIMIT), ("-1E+999999999", -LIMIT), ("1E-999999999", 0),
    ],
)  # fmt: skip
def test_decimals_of_any_size(value, units):
    assert Grid(Fraction(1, 10)).to_units(Decimal(value), 1) == units
    assert Grid(Fraction(1, 10)).to_units([Decimal(value)], 1).tolist() == [units]


@pytest.mark.parametrize("unit", [Fraction(1, 3), Fraction(10**30), Fraction(1, 10**30), Fraction(7)])
def test_taming_a_decimal_does_not_move_it(unit):
    edges = [unit / 2, unit / 2 * (1 - Fraction(1, 10**6)), LIMIT * unit, LIMIT * unit * 2, 3 * unit]
    for edge in edges:
        value = Decimal(edge.numerator) / Decimal(edge.denominator)
        assert Grid(unit).to_units(value, 1) == Grid(unit).to_units(Fraction(value), 1)


def test_decimals_need_a_grid():
    with pytest.raises(InvalidParameter, match="Pass grid="):
        Grid(None).to_units(Decimal(2), 1)


WARDS = pd.Series(list("BBBDDAXX"))
CELLS = ("A", "B", "C", "D")


@pytest.mark.parametrize(
    "counts",
    [
        WARDS.value_counts(),
        WARDS.value_counts().astype("Int64"),
        WARDS.value_counts().sample(frac=1, random_state=1),
        Counter(WARDS),
        {"D": 2, "B": 3, "A": 1, "C": None, "X": 2},
        pd.Series([1, 1, 2, 2], index=["A", "B", "B", "D"]),
    ],
)
def test_labelled_counts_go_to_their_cells(counts):
    """In the order of the cells: missing ones count as 0, undeclared ones are dropped, twins add up."""
    histogram = NoisyHistogram(epsilon=50, cells=CELLS, neighbours=PEOPLE)
    assert histogram.cells == CELLS
    assert dict(zip(histogram.cells, drawn(histogram, counts), strict=True)) == dict(A=1, B=3, C=0, D=2)
    selection = TopK(k=2, sensitivity=1, epsilon=200, candidates=CELLS)
    assert drawn(selection, counts) == ("B", "D")


def test_a_histogram_without_cells_refuses_labels_whatever_they_are():
    histogram = NoisyHistogram(epsilon=1, size=3, neighbours=PEOPLE)
    for counts in (WARDS.value_counts(), pd.Series([1, 2, 3]), Counter("abc"), pd.Series([1, 2])):
        with pytest.raises(InvalidParameter, match="Pass cells=, the public names of the cells"):
            histogram.release(counts)
    with pytest.raises(InvalidParameter, match="need candidates="):
        PermuteAndFlip(sensitivity=1, epsilon=1, size=3).release(Counter("abc"))


def test_cells_are_declared_once():
    for wrong in ({}, {"size": 2, "cells": ("a", "b")}):
        with pytest.raises(InvalidParameter, match="size must be"):
            NoisyHistogram(epsilon=1, neighbours=PEOPLE, **wrong)
    for names in ((), ("a", "a")):
        with pytest.raises(InvalidParameter, match="cells must be different names"):
            NoisyHistogram(epsilon=1, neighbours=PEOPLE, cells=names)
    named = NoisyHistogram(epsilon=1, neighbours=PEOPLE, cells=("a", "b"))
    assert named != NoisyHistogram(epsilon=1, neighbours=PEOPLE, size=2)
    assert (named.size, named.guarantee) == (
        2,
        NoisyHistogram(epsilon=1, neighbours=PEOPLE, size=2).guarantee,
    )
    assert NoisyHistogram.for_error(alpha=9, beta=0.05, cells=("a", "b"), neighbours=PEOPLE).cells == (
        "a",
        "b",
    )
    assert "cells=('a', 'b')" in repr(named)


def test_rows_in_columns():
    ages = pd.Series([30, 40, 50] * 100, dtype="Int64")
    mean = SubsampleAggregate(
        function=np.mean, blocks=5, lower=0, upper=100, epsilon=100, grid=1, neighbours=PEOPLE
    )
    assert drawn(mean, ages) == drawn(mean, ages.to_numpy())
    assert drawn(mean, pl.Series(ages.to_list())) == drawn(mean, ages.to_numpy())
    longest = SubsampleAggregate(
        function=lambda rows: max(map(len, rows)),
        blocks=1, lower=0, upper=9, epsilon=100, grid=1, neighbours=PEOPLE,
    )  # fmt: skip
    assert drawn(longest, pd.Series(["a", "bbb"])) == drawn(longest, ["a", "bbb"]) == 3
    median = ProposeTestRelease.median(
        bound=1, lower=0, upper=100, grid=1,
        epsilon_test=50, epsilon_release=50, delta=1e-6, neighbours=Replace("row"),
    )  # fmt: skip
    assert drawn(median, pd.Series([40] * 99 + [None], dtype="Int64")) == 40
