"""Every way numbers come in, on every grid, into every mechanism that reads numbers.

A pair is made of exact decimals within the sensitivity. Each side is then written in a way of its own: as a
list, an array, a column, a mapping, as entries that share a label and have to be added up. Whatever the way,
no step may be given an input that moved further than it allows for.
"""

import math
import tempfile
from decimal import Decimal
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet import audit
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
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
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.tiny import each_value
from discreet.testing import unsafe_seeded

NAMES = ("a", "b", "c")
SIZE = len(NAMES)
GRIDS = (
    None,
    Fraction(1),
    Fraction(1, 10),
    Fraction(1, 3),
    Fraction(7),
    Fraction(1, 1000),
    Fraction(1, 2**40),
)


def real(values):
    return [float(v) for v in values]


def whole(values):
    return [int(v) for v in values]


def masked(values, dtype):
    """Write zeros as masked entries, with a number beneath that differs from data to data."""
    hidden = [v == 0 for v in values]
    beneath = [
        sum(map(abs, values)) * 1000 + 7 if hide else v for v, hide in zip(values, hidden, strict=True)
    ]
    return np.ma.array([float(v) if dtype is float else int(v) for v in beneath], dtype, mask=hidden)


class Derived(np.ndarray):
    """A class of arrays that computes in its own way: one that nobody here has heard of."""

    def __array_ufunc__(self, *_args, **_kwargs):
        return np.array([1e6, 0, 0])

    def astype(self, *_args, **_kwargs):
        return np.array([1e6, 0, 0])

    __array__ = astype


def mapped(array):
    """Return an array that lies in a file, as one that does not fit into memory would."""
    with tempfile.TemporaryFile() as file:
        array.tofile(file)
        return np.memmap(file, array.dtype, "c", shape=array.shape)


REALS = {
    "list": real,
    "tuple": lambda values: tuple(real(values)),
    "decimals": lambda values: [Decimal(repr(v)) for v in real(values)],
    "fractions": list,
    "numpy scalars": lambda values: [np.float64(v) for v in values],
    "array": lambda values: np.array(real(values)),
    "float32": lambda values: np.array(real(values), np.float32),
    "long double": lambda values: np.array([repr(v) for v in real(values)], np.longdouble),
    "polars": lambda values: pl.Series(real(values)),
    "masked": lambda values: masked(values, float),
    "unmasked": lambda values: np.ma.array(real(values)),
    "file": lambda values: mapped(np.array(real(values))),
    "arrays without axes": lambda values: [np.array(v) for v in real(values)],
    "gaps": lambda values: [v or None for v in real(values)],
    "odd gaps": lambda values: [v or ("none", math.nan, [9])[i % 3] for i, v in enumerate(real(values))],
}
INTEGERS = {
    "list": whole,
    "tuple": lambda values: tuple(whole(values)),
    **{kind: lambda values, kind=kind: np.array(whole(values), kind) for kind in "i2 i4 i8 u2 u4 u8".split()},
    "polars": lambda values: pl.Series(whole(values)),
    "masked": lambda values: masked(values, int),
    "file": lambda values: mapped(np.array(whole(values))),
    "whole floats": real,
    "gaps": lambda values: [v or math.nan for v in whole(values)],
}
COLUMNS = {
    "pandas": lambda values: pd.Series(real(values)),
    "pandas, a type with gaps": lambda values: pd.Series(real(values), dtype="Float64"),
}


def labelled(write, dtype):
    """Return the ways to write numbers with their names, and as several entries that share a name."""
    return {
        "mapping": lambda values: dict(zip(NAMES, write(values), strict=True)),
        "column": lambda values: pd.Series(write(values), index=NAMES, dtype=dtype),
        "column, turned round": lambda values: pd.Series(write(values[::-1]), index=NAMES[::-1], dtype=dtype),
        "shared": lambda values: split_up(values, write, dtype, (1, -2, 3)),
        "shared by many": lambda values: split_up(values, write, dtype, [Fraction(499, 1000)] * 40),
    }


LABELLED_REALS = labelled(real, "float64") | {"gaps": labelled(real, "Float64")["shared by many"]}
LABELLED_INTEGERS = labelled(whole, "int64") | {"gaps": labelled(whole, "Int64")["shared"]}


def split_up(values, write, dtype, parts):
    """Write every value as several entries that add up to it, with an undeclared name among them."""
    labels, entries = ["other"], [Fraction(9)]
    for name, value in zip(NAMES, values, strict=True):
        pieces = [Fraction(part) if write is real else Fraction(math.floor(part)) for part in parts]
        pieces.append(value - sum(pieces))
        labels += [name] * len(pieces)
        entries += pieces
    order = [*range(0, len(labels), 2), *range(1, len(labels), 2)]
    return pd.Series(write([entries[i] for i in order]), index=[labels[i] for i in order], dtype=dtype)


EDGES = [Fraction(k, 1000) for k in (0, 499, 500, 501, -499, -500, -501, 1499, 1500, 49, 50, 51, 3500)]
numbers = st.integers(-5000, 5000).map(lambda k: Fraction(k, 1000)) | st.sampled_from(EDGES)
vectors = st.lists(numbers, min_size=SIZE, max_size=SIZE)
MOVES = {
    "L1": [(1, 0, 0), (0, Fraction(1, 2), Fraction(1, 2)), (Fraction(1, 4), Fraction(1, 2), Fraction(1, 4))],
    "L2": [(1, 0, 0), (Fraction(3, 5), Fraction(4, 5), 0), (Fraction(577, 1000),) * 3],
    "each": [(1, 1, 1), (1, 0, 1), (Fraction(1, 1000), 1, Fraction(999, 1000))],
}


@st.composite
def pairs(draw, norm, *, integers):
    """Two vectors of exact decimals at most one apart, in the L1, L2 or maximum norm."""
    left = draw(vectors)
    moves = draw(st.sampled_from([m for m in MOVES[norm] if not integers or set(m) <= {0, 1}]))
    signs = draw(st.lists(st.sampled_from((-1, 1)), min_size=SIZE, max_size=SIZE))
    if integers:
        low = draw(st.sampled_from((1, 6)))  # unsigned types hold no negative numbers
        left = [Fraction(max(math.floor(v), -5) % 11 + low) for v in left]
    return left, [v + sign * Fraction(m) for v, sign, m in zip(left, signs, moves, strict=True)]


def hold(mechanism, pair, script=None):
    report = audit.replay(mechanism, pair, script, rng=unsafe_seeded(1))
    assert report.holds, (mechanism, pair, report)
    assert report.distances


SELECTIONS = {
    "exponential": partial(Exponential),
    "flip": partial(PermuteAndFlip),
    "max": partial(NoisyMax, noise=MaxNoise.LAPLACE),
    "gap": partial(NoisyMax, noise=MaxNoise.LAPLACE, gap=True),
    "top": partial(TopK, k=2),
}
MEASURES = {
    "laplace": ("L1", partial(Laplace, sensitivity=1, epsilon=1, size=SIZE)),
    "gaussian": ("L2", partial(Gaussian, l2_sensitivity=1, epsilon=1, delta=1e-3, size=SIZE)),
}


def written(data, pair, *kinds):
    """Write both sides of a pair, each in a way of its own."""
    ways = st.sampled_from([write for kind in kinds for write in kind.values()])
    return tuple(data.draw(ways)(side) for side in pair)


@pytest.mark.parametrize("name", SELECTIONS)
@settings(max_examples=150, deadline=None)
@given(data=st.data(), integers=st.booleans())
def test_selection(name, data, integers):
    pair = data.draw(pairs("each", integers=integers))
    grid = data.draw(st.sampled_from(GRIDS if integers else GRIDS[1:]))
    kinds = (INTEGERS, LABELLED_INTEGERS) if integers else (REALS, LABELLED_REALS)
    mechanism = SELECTIONS[name](sensitivity=1, epsilon=1, candidates=NAMES, grid=grid)
    hold(mechanism, written(data, pair, *kinds))


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_thousand_entries_of_one_name_cross_one_boundary(name):
    """Rounded one by one they would move the score by a thousand, where it moves by one: a loss of 250."""
    left, right = (
        pd.Series([each] * 1000 + [0.0, 0.0], index=["a"] * 1000 + ["b", "c"]) for each in (0.4995, 0.5005)
    )
    hold(SELECTIONS[name](sensitivity=1, epsilon=1, candidates=NAMES, grid=1), (left, right))


@pytest.mark.parametrize("name", MEASURES)
@settings(max_examples=150, deadline=None)
@given(data=st.data(), integers=st.booleans())
def test_measurement(name, data, integers):
    norm, make = MEASURES[name]
    pair = data.draw(pairs(norm, integers=integers))
    grid = data.draw(st.sampled_from(GRIDS if integers else GRIDS[1:]))
    hold(make(grid=grid), written(data, pair, *((INTEGERS,) if integers else (REALS, COLUMNS))))


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_counts(data):
    pair = data.draw(pairs("L1", integers=True))
    histogram = NoisyHistogram(epsilon=1, cells=NAMES, neighbours=AddRemove("row"))
    hold(histogram, written(data, pair, INTEGERS, LABELLED_INTEGERS))
    hold(Geometric(sensitivity=1, epsilon=1, size=SIZE), written(data, pair, INTEGERS))


@settings(max_examples=40, deadline=None)
@given(rows=st.lists(numbers, min_size=3, max_size=8), other=numbers, place=st.integers(0, 2), data=st.data())
def test_rows(rows, other, place, data):
    changed = [*rows[:place], other, *rows[place + 1 :]]
    public = {
        "lower": -7,
        "upper": 7,
        "grid": data.draw(st.sampled_from(GRIDS[1:4])),
        "neighbours": Replace("row"),
    }
    median = ProposeTestRelease.median(bound=20, epsilon_test=1, epsilon_release=1, delta=1e-3, **public)
    hold(median, written(data, (rows, changed), REALS, COLUMNS))
    mean = SubsampleAggregate(function=lambda block: np.mean(real(block)), blocks=2, epsilon=1, **public)
    # What is missing from a list reaches the function as it is: then two ways of writing are two tables.
    full = {name: way for name, way in REALS.items() if "gaps" not in name}
    hold(mean, written(data, (rows, changed), full, COLUMNS))


@settings(max_examples=150, deadline=None)
@given(data=st.data(), grid=st.sampled_from(GRIDS))
def test_questions(data, grid):
    mechanism = AboveThreshold(sensitivity=1, epsilon=1, delta=0, threshold=1, grid=grid)
    ways = {name: REALS[name] for name in ("list", "decimals", "fractions", "numpy scalars", "long double")}
    hold(mechanism, written(data, data.draw(pairs("each", integers=False)), ways), each_value(SIZE))


DECIMALS = st.decimals(allow_nan=False) | st.just(Decimal("nan"))


@given(
    entries=st.lists(
        st.tuples(st.sampled_from("ab"), st.floats() | st.integers(-(2**70), 2**70) | DECIMALS),
        max_size=8,
    ),
    unit=st.sampled_from(GRIDS[1:]),
)
def test_labelled_entries_are_added_exactly_and_rounded_once(entries, unit):
    series = pd.Series([value for _, value in entries], index=[label for label, _ in entries], dtype=object)
    found = Grid(unit).by_label(Shared(series), ("a", "b"))
    for name, units in zip("ab", found.tolist(), strict=True):
        held = [value for label, value in entries if label == name and not math.isnan(value)]
        infinite = {math.copysign(1, v) for v in held if math.isinf(v)}
        if infinite:
            assert units == (LIMIT * infinite.pop() if len(infinite) == 1 else 0)
        else:
            exact = sum(
                (Fraction(repr(v)) if isinstance(v, float) else Fraction(v) for v in held), Fraction(0)
            )
            assert units == max(-LIMIT, min(LIMIT, math.floor(exact / unit + Fraction(1, 2))))


class Shared(dict):
    """A mapping whose keys repeat, as the items of a multi-dictionary do."""

    def __init__(self, series):
        super().__init__()
        self.series = series

    def keys(self):
        return list(self.series.index)

    def values(self):
        return list(self.series)


def test_huge_entries_cancel_exactly():
    """Clamping before adding would move this sum by five while the true sum stands still."""
    far = pd.Series([2**62 + 5, -(2**62)], index=["a", "a"])
    assert Grid(None).by_label(far, ("a",)).tolist() == [5]
    assert Grid(Fraction(1)).by_label(far, ("a",)).tolist() == [5]


FRAME = pd.DataFrame({"a": [1, 2, 3]})
REFUSED = {
    "generator": lambda: (v for v in (1, 2, 3)),
    "iterator": lambda: iter([1, 2, 3]),
    "range": lambda: range(3),
    "frame": lambda: FRAME,
    "polars frame": lambda: pl.DataFrame({"a": [1, 2, 3]}),
    "set": lambda: {1, 2, 3},
    "text": lambda: "123",
    "bytes": lambda: b"123",
    "a stranger's array": lambda: np.array([1, 2, 3]).view(Derived),
    "matrix": lambda: np.array([1, 2, 3]).view(np.matrix),
    "records": lambda: np.rec.fromarrays([[1, 2, 3]], names="a"),
    "objects": lambda: np.array([1, 2, 3], dtype=object),
    "object without axes": lambda: np.array([1, 2, 3, None][:3], dtype=object).reshape(3, 1),
    "truths": lambda: np.array([True, False, True]),
    "masked truths": lambda: np.ma.array([True, False, True], mask=[0, 1, 0]),
    "masked objects": lambda: np.ma.array([1, 2, 3], dtype=object, mask=[0, 1, 0]),
}


def everyone(grid):
    """Return every mechanism that reads three numbers."""
    whole = [
        Geometric(sensitivity=1, epsilon=1, size=SIZE),
        NoisyHistogram(epsilon=1, cells=NAMES, neighbours=AddRemove("row")),
        RandomizedResponse(epsilon=1, categories=9, people=SIZE),
    ]
    return [
        *(make(grid=grid) for _, make in MEASURES.values()),
        *(make(sensitivity=1, epsilon=1, candidates=NAMES, grid=grid) for make in SELECTIONS.values()),
        *(whole if grid is None else []),
    ]


@pytest.mark.parametrize("grid", [None, Fraction(1, 10)])
@pytest.mark.parametrize("make", REFUSED.values(), ids=REFUSED)
def test_what_holds_no_column_of_numbers_is_refused(make, grid):
    for mechanism in everyone(grid):
        with pytest.raises(InvalidParameter):
            mechanism.release(make())


@pytest.mark.parametrize("grid", [None, Fraction(1), Fraction(1000), Fraction(1, 10)])
def test_what_lies_under_a_mask_stays_there(grid):
    """A masked array does not divide under its mask: 5,000 grid units stood there for 5."""
    kind = "i8" if grid is None else "f8"
    for mechanism in everyone(grid):
        pair = (np.ma.array([beneath, 1, 2], kind, mask=[1, 0, 0]) for beneath in (5000, 6000))
        report = audit.replay(mechanism, tuple(pair), rng=unsafe_seeded(1))
        assert set(report.distances) == {0}, (mechanism, report)
    for beneath in (5000, 6000):
        assert Grid(grid).to_units(np.ma.array(beneath, kind, mask=True), 1) == 0
        assert Grid(grid).to_units(np.ma.array([beneath], kind, mask=[True]), 1).tolist() == [0]


def test_one_masked_row_does_not_switch_the_median_off():
    median = ProposeTestRelease.median(
        bound=1, lower=0, upper=100, grid=1,
        epsilon_test=1, epsilon_release=1, delta=1e-6, neighbours=Replace("row"),
    )  # fmt: skip
    rows = np.full(201, 50.0)
    one = np.ma.array(rows, mask=[True] + [False] * 200)
    hold(median, (np.ma.array(rows), one))
    assert median.distance(one) == median.distance([0.0, *rows[1:]])


@pytest.mark.parametrize("exponent", [400, 4096, 4097, 5000, 6143, 6144, 6145, 10**6])
@pytest.mark.parametrize("sign", ["", "-"])
def test_decimals_of_any_size_are_read_without_a_word(exponent, sign):
    """Between 10**4096 and 10**6144 they were once refused, with the number in the message."""
    far, near = Decimal(f"{sign}1e{exponent}"), Decimal(f"{sign}1e-{exponent}")
    for mechanism in everyone(Fraction(1, 10)):
        mechanism.release([far, near, Decimal(1)])
        mechanism.release([1.0, far, near])
    labels = pd.Series([far, Decimal(1)], index=["a", "a"], dtype=object)
    assert Grid(Fraction(1)).by_label(Shared(labels), NAMES).tolist() == [int(f"{sign}{LIMIT}"), 0, 0]
    assert Grid(Fraction(1)).to_units([far, near, near], 3).tolist() == [int(f"{sign}{LIMIT}"), 0, 0]


ODD = [
    None,
    math.nan,
    np.float32("nan"),
    Decimal("sNaN"),
    pd.NA,
    pd.NaT,
    "three",
    b"3",
    1j,
    NotImplemented,
    [3],
    {},
    np.ma.masked,
]


@pytest.mark.parametrize("odd", ODD, ids=repr)
@pytest.mark.parametrize("grid", [None, Fraction(1, 10)])
def test_one_odd_entry_counts_as_0_wherever_it_stands(odd, grid):
    """Whether one entry is missing, or what it is, makes no error and decides no words."""
    units = Grid(grid).to_units([1, 0, 3], 3).tolist()
    for entries in ([1, odd, 3], (1, odd, 3), (1.0, odd, 3.0), [True, odd, np.int8(3)]):
        assert Grid(grid).to_units(entries, 3).tolist() == units
        assert Grid(grid).by_label(dict(zip(NAMES, entries, strict=True)), NAMES).tolist() == units
        for mechanism in everyone(grid):
            mechanism.release(entries)
    named = everyone(grid)[2:7] + ([everyone(grid)[8]] if grid is None else [])
    for mechanism in named:
        mechanism.release({"a": 1, "b": odd, "c": 3})


@pytest.mark.parametrize("exponent", [-1100, -1074, -1000, 1000, 1020])
def test_grids_that_floats_cannot_divide_by_are_refused(exponent):
    """A grid below 1e-308 is a subnormal float, wrong by a percent and more: values moved too far."""
    unit = Fraction(2) ** exponent
    with pytest.raises(InvalidParameter, match="grid must be between"):
        Laplace(sensitivity=1, epsilon=1, grid=unit)
    with pytest.raises(InvalidParameter, match="grid must be between"):
        Exponential(sensitivity=1, epsilon=1, size=2, grid=unit)


@pytest.mark.parametrize(
    "unit", [Fraction(10) ** -270, Fraction(1, 3) ** 500, Fraction(10) ** 270, Fraction(3) ** 500]
)
def test_the_farthest_grids_move_by_no_more_than_the_sensitivity(unit):
    grid, scale = Grid(unit), float(unit)
    values = np.array([0.5, 0.51, 7.49, 7.5, 99.999, 1e6, 2.0**52 + 0.5]) * scale
    assert grid.to_units(values, values.size).tolist() == [grid.to_units(float(v), 1) for v in values]
    noisy = grid.from_units(grid.to_units(values, values.size))
    assert np.all(np.abs(noisy - values) <= 0.51 * scale + np.abs(values) * 1e-15)
