"""What one row holds changes nothing about how others are read, and no refusal quotes a row."""

from __future__ import annotations

import collections
import datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from sklearn.exceptions import DataConversionWarning

import discreet as dp
from discreet.core.errors import InvalidParameter
from discreet.learning import (
    AdditiveClassifier,
    AdditiveLogistic,
    Choices,
    Range,
    RidgeRegressor,
    SecondMoments,
)
from discreet.learning.declared import encode
from discreet.learning.linear_models.links import Link
from discreet.learning.linear_models.noisy_newton import NoisyNewton
from discreet.testing import unsafe_seeded

COLUMNS = (Range(0, 100, bins=10), Choices(("x", 1)))
PLAIN = [[5, "x"], [55.5, 1], [99, "z"]]
ODD = ["text", b"bytes", None, 1j, [1, 2], {}, 2**70, -1e308, np.nan, True, Decimal("1e999"), Fraction(1, 3),
       datetime.date(2020, 1, 1), np.float32(3), np.str_("7"), object()]  # fmt: skip


def make_model():
    return AdditiveClassifier(epsilon=1, delta=1e-9, columns=list(COLUMNS))


def read(rows):
    return encode(COLUMNS, make_model()._read_rows(rows, fitting=True))


@pytest.mark.parametrize("odd", ODD, ids=[type(one).__name__ for one in ODD])
@pytest.mark.parametrize("way", ["lists", "tuples", "objects", "frame"])
def test_one_row_does_not_change_how_others_are_read(way, odd):
    def shape(rows):
        if way == "lists":
            return rows
        if way == "tuples":
            return tuple(map(tuple, rows))
        whole = np.empty((len(rows), 2), dtype=object)
        for place, row in enumerate(rows):
            whole[place, 0], whole[place, 1] = row
        return whole if way == "objects" else pd.DataFrame(whole, columns=["a", "b"])

    alone = read(shape(PLAIN))
    assert alone.tolist() == [[0, 0], [5, 1], [9, 2]]
    for place in (0, 1):
        row = [5, "x"]
        row[place] = odd
        assert (read(shape([*PLAIN, row]))[:3] == alone).all()


class Bare(list):
    """Raises where it is asked for what it holds."""

    def __iter__(self):
        raise RuntimeError("the data decide")

    __len__ = __getitem__ = __iter__


NO_ROW = [[], [1], [1, 2, 3], None, 5, "ab", np.array(5), np.array([[5, 1]]), {5: "x"}, object()]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("kind", [list, tuple, collections.deque])
@pytest.mark.parametrize("odd", NO_ROW, ids=[str(place) for place in range(len(NO_ROW))])
def test_a_row_of_another_length_is_missing_and_refuses_none(odd, kind):
    """It decided whether a fit was refused, and under add-or-remove so did an empty list."""
    for place in (0, 3):
        rows = [*PLAIN[:place], odd, *PLAIN[place:]]
        found = read(kind(rows)).tolist()
        assert found.pop(place) == [10, 2]
        assert found == read(PLAIN).tolist()
        make_model().fit(kind(rows), [0, 1, 1, 0], rng=unsafe_seeded(1))
    assert read([odd]).tolist() == [[10, 2]]
    assert read([]).shape == (0, 2)


def test_of_a_row_what_is_stored_is_read():
    masked = np.ma.masked_array([55, 1], mask=[False, True])
    assert read([Bare([5, "x"]), masked, np.array([99, 1])]).tolist() == [[0, 0], [5, 2], [9, 1]]


def test_a_list_does_not_say_how_many_columns_it_has():
    """Each of its rows would: what is declared has to."""
    model = RidgeRegressor(epsilon=1, delta=1e-9, columns=Range(0, 1), target=Range(0, 1))
    for rows in ([[1, 2]], [[1, 2], [1]], []):
        with pytest.raises(InvalidParameter, match="declaration for each column where X is a list"):
            model.fit(rows, [1] * len(rows))
    with pytest.raises(InvalidParameter, match="none for 0"):
        model.set_params(columns={"age": Range(0, 1)}).fit([[1], []], [1, 1])


@pytest.mark.parametrize("odd", ODD, ids=[type(one).__name__ for one in ODD])
def test_one_target_does_not_change_how_others_are_read(odd):
    target = make_model()._read_target([0, 1, odd], np.zeros((3, 2)))
    assert Choices((0, 1)).encode(target)[:2].tolist() == [0, 1]
    assert Range(0, 10, bins=10).encode(target)[:2].tolist() == [0, 1]


def test_a_frame_of_numbers_is_read_like_one_with_text():
    numbers = pd.DataFrame({"a": [0.1, 33.3, 2**53 + 1], "b": [1, 1, 1]})
    text = pd.concat([numbers, pd.DataFrame({"a": ["q"], "b": ["q"]})])
    assert (read(numbers) == read(text)[:3]).all()


BIG = 2**53 + 1  # no float
FRAMES = {
    "polars": lambda ids: pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int64)}),
    "polars with text": lambda ids: pl.DataFrame({"id": pl.Series(ids, dtype=pl.Int64), "b": ["x"] * 3}),
    "nullable": lambda ids: pd.DataFrame({"id": pd.array(ids, dtype="Int64")}),
    "nullable beside floats": lambda ids: pd.DataFrame({"id": pd.array(ids, dtype="Int64"), "b": [0.5] * 3}),
    "categories": lambda ids: pd.DataFrame({"id": pd.Categorical(ids)}),
    "categories beside truths": lambda ids: pd.DataFrame({"id": pd.Categorical(ids), "b": [True] * 3}),
}


@pytest.mark.parametrize("way", FRAMES)
def test_a_missing_entry_rounds_no_other_one(way):
    """NumPy makes floats of whole numbers where one is missing, and numbers that are names are lost."""
    for last in (BIG, None, 7):
        model, names = make_model(), Choices((BIG, BIG + 2))
        frame = FRAMES[way]([BIG, BIG + 2, last])
        rows = model._read_rows(frame, fitting=True)
        assert names.encode(rows[:, 0]).tolist() == [0, 1, 0 if last == BIG else 2]
        with pytest.warns(DataConversionWarning):
            assert names.encode(model._read_target(frame[["id"]], rows)).tolist()[:2] == [0, 1]
        assert names.encode(model._read_target(frame["id"], rows)).tolist()[:2] == [0, 1]
        assert model.feature_names_in_.tolist() == list(frame.columns)


@pytest.mark.parametrize("whole", ["int64", "uint64"])
def test_a_missing_number_rounds_no_name_of_another_column(whole):
    """Pandas makes floats of the ages, and their common type with whole numbers is one of floats, too."""
    columns = (Range(0, 100, bins=10), Choices((BIG, BIG + 2)))
    for ages in ([5, 50, 7], [5, 50, None]):
        ids = pd.Series([BIG, BIG + 2, 7], dtype=whole)
        frame = pd.DataFrame({"age": ages, "id": ids})
        found = encode(columns, make_model()._read_rows(frame, fitting=True))
        assert found[:2].tolist() == [[0, 0], [5, 1]]


def test_columns_of_several_declared_types_are_read_side_by_side():
    """What NumPy has no common type for is no reason to refuse a frame, nor to look at what it holds."""
    wards = ("x", "y", None)
    frame = pd.DataFrame(
        {
            "ward": pd.Categorical(wards),
            "age": pd.array([5, None, 99], dtype="Int64"),
            "ill": pd.array([True, None, False], dtype="boolean"),
            "old": [False, True, True],
            "since": pd.to_datetime(["2020-01-01", None, "2021-01-01"]),
        }
    )
    columns = (Choices(("x", "y")), Range(0, 100, bins=10), *[Range(0, 2, bins=2)] * 3)
    read_as = encode(columns, make_model()._read_rows(frame, fitting=True))
    assert read_as.tolist() == [[0, 0, 1, 0, 2], [1, 10, 2, 1, 2], [2, 9, 0, 1, 2]]
    with pytest.raises(InvalidParameter, match="at least one column"):
        make_model().fit(frame[[]], [0, 1, 0])


@pytest.mark.filterwarnings("error")
def test_a_lazy_frame_is_not_worked_out():
    lazy = pl.LazyFrame({"a": [5, 55], "b": ["x", 1]}, strict=False)
    for read in (lambda: make_model().fit(lazy, [0, 1]), lambda: fitted().predict(lazy)):
        with pytest.raises(InvalidParameter, match="2D array"):
            read()


def test_a_class_derived_from_a_range_is_no_declaration():
    """It could look at a whole column, where one row would decide how others are read."""

    class Ranks(Range):
        def encode(self, column):
            return np.argsort(np.argsort(column)) // 10

    for columns in (Ranks(0, 1), [Ranks(0, 1)], {0: Ranks(0, 1)}):
        with pytest.raises(InvalidParameter, match="1 declarations"):
            AdditiveClassifier(epsilon=1, delta=1e-9, columns=columns).fit(np.eye(2)[:, :1], [0, 1])
    with pytest.raises(InvalidParameter, match="target"):
        RidgeRegressor(epsilon=1, delta=1e-9, columns=[Range(0, 1)], target=Ranks(0, 1)).fit([[1]], [1])


def test_masked_entries_are_missing():
    rows = np.ma.masked_array([[5, 1], [55, 1]], mask=[[True, False], [False, True]])
    assert read(rows).tolist() == [[10, 1], [5, 2]]


CANARY = 7357_7357


@pytest.mark.parametrize(
    "rows",
    [
        np.full(3, CANARY),
        np.full((3, 2), CANARY * 1j),
        np.full((3, 2, 2), CANARY),
        pd.Series([CANARY, CANARY]),
        pd.DataFrame({"a": [CANARY * 1j], "b": [1]}),
        scipy.sparse.csr_array(np.full((3, 2), CANARY)),
        np.full((3, 2), CANARY, dtype="M8[s]"),
        float(CANARY),
        "a container that raises",
        "a frame that is none",
    ],
)
def test_no_refusal_quotes_a_row(rows):
    given = {"a container that raises": Raises(), "a frame that is none": LooksLikeAFrame()}
    rows = given.get(rows, rows) if isinstance(rows, str) else rows
    for read in (lambda: make_model().fit(rows, [0, 1, 1]), lambda: fitted().predict(rows)):
        with pytest.raises(InvalidParameter) as caught:
            read()
        assert str(CANARY) not in str(caught.value)
        assert caught.value.__cause__ is None
        assert caught.value.__context__ is None


@pytest.mark.parametrize("rows", [[CANARY, CANARY], [[CANARY, 1], [CANARY]], [[], []], []])
def test_what_is_to_be_foretold_has_rows_of_one_length(rows):
    with pytest.raises(InvalidParameter, match="rows of one length") as caught:
        fitted().predict(rows)
    assert str(CANARY) not in str(caught.value)


class Raises:
    def __array__(self, *_, **__):
        raise ValueError(f"cannot read {CANARY}")


class LooksLikeAFrame(Raises):
    columns, dtypes, shape = ("a", "b"), (np.dtype(float),) * 2, (3, 2)


def fitted():
    return make_model().fit(PLAIN, [0, 1, 1])


@pytest.mark.parametrize(
    "target",
    [
        np.full(3, CANARY * 1j),
        np.full((3, 2), CANARY),
        [CANARY] * 4,
        pd.DataFrame({"a": [CANARY * 1j] * 3}),
        pd.DataFrame({"a": [CANARY] * 3, "b": [CANARY] * 3}),
        Raises(),
        LooksLikeAFrame(),
        scipy.sparse.csr_array(np.full((3, 1), CANARY)),
        {CANARY},
        str(CANARY),
    ],
)
def test_no_refusal_quotes_a_target(target):
    for model in (make_model(), RidgeRegressor(epsilon=1, delta=1e-9, columns=COLUMNS, target=Range(0, 1))):
        with pytest.raises(ValueError, match=r"y|samples") as caught:
            model.fit(PLAIN, target)
        assert str(CANARY) not in str(caught.value)


@pytest.mark.parametrize(
    ("table", "target"),
    [
        ((7357, 0), (7357,)),
        ((7357, 2), (7357, 3)),
        ((7357, 2), (7357, 1, 1)),
        ((7357, 2), (7357, 0)),
        ((7357, 2), (7356,)),
        ((7357,), (7357,)),
    ],
)
def test_no_refusal_says_how_many_rows_there_are(table, target):
    """Whether one was added or removed is private."""
    with pytest.raises(InvalidParameter) as caught:
        make_model().fit(np.zeros(table), np.zeros(target))
    assert "735" not in str(caught.value)


@pytest.mark.parametrize("bounds", [(0, 10**400), (1, 1 + Fraction(1, 10**30)), (0, Fraction(1, 10**400))])
def test_bounds_that_floats_cannot_tell_are_refused(bounds):
    with pytest.raises(InvalidParameter, match="floats tell"):
        Range(*bounds)


def test_resolutions_too_fine_for_exact_sums_are_refused():
    plain = {"epsilon": 1, "delta": 1e-9, "neighbours": dp.AddRemove("row"), "resolution": 1 << 30}
    with pytest.raises(InvalidParameter, match="at most 4096"):
        AdditiveLogistic(shape=(2,), steps=1, **plain)
    with pytest.raises(InvalidParameter, match="at most 4096"):
        SecondMoments(size=2, length=2, **plain)
    with pytest.raises(InvalidParameter, match="at most 4096"):
        NoisyNewton(link=Link.LOGISTIC, size=2, length=2, **plain)
