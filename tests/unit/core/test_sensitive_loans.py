"""No function that meets the data can change them, for whoever comes after it."""

import datetime
import time
from collections import Counter, OrderedDict, deque
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.sensitive import lend, make_lender
from discreet.mechanisms.laplace import Laplace
from discreet.mechanisms.propose_test_release import ProposeTestRelease
from discreet.mechanisms.subsample_aggregate import SubsampleAggregate
from discreet.optimisation.common.best_of_runs import BestOfRuns
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.sparse.above_threshold import AboveThreshold
from discreet.sparse.numeric_sparse import NumericSparse
from discreet.sparse.sparse import Sparse


class Row:
    """A mutable row of the owner's."""

    def __init__(self, age):
        self.age = age

    def __eq__(self, other):
        return self.age == other.age

    __hash__ = None


def grow(data):
    data.extend(list(data) * 9)


def hold_itself():
    data = [[1]]
    data.append(data)
    return data


def poke(data):
    data[0] = 99


def reach_in(data):
    data[0][0] = 99


def frozen_array():
    array = np.array([1, 2])
    array.flags.writeable = False
    return array


MUTABLE = {
    "list": (lambda: [1, 2, 3], grow),
    "list of lists": (lambda: [[1], [2]], reach_in),
    "tuple of lists": (lambda: ([1], [2]), reach_in),
    "list of dictionaries": (lambda: [{0: 1}, {0: 2}], reach_in),
    "list of rows": (lambda: [Row(1), Row(2)], lambda data: setattr(data[0], "age", 99)),
    "fractions": (lambda: [Fraction(1), Fraction(2)], lambda data: setattr(data[0], "_numerator", 99)),
    "dictionary": (lambda: {0: 1, 1: 2}, poke),
    "dictionary of lists": (lambda: {0: [1], 1: [2]}, reach_in),
    "ordered": (lambda: OrderedDict({0: 1}), poke),
    "counter": (lambda: Counter("abca"), lambda data: data.update("zzz")),
    "set": (lambda: {1, 2}, lambda data: data.add(99)),
    "deque": (lambda: deque([1, 2]), grow),
    "bytearray": (lambda: bytearray(b"ab"), poke),
    "array": (lambda: np.array([1, 2]), poke),
    "view": (lambda: np.arange(6)[::2], lambda data: (data.base if data.base is not None else data).fill(99)),
    "read-only array": (frozen_array, lambda data: (data.setflags(write=True), data.fill(99))),
    "array of lists": (lambda: np.array([[1], [2, 3]], dtype=object), reach_in),
    "masked": (lambda: np.ma.array([1, 2], mask=[0, 1]), lambda data: (data.fill(9), data.mask.fill(True))),
    "frame": (lambda: pd.DataFrame({"a": [1, 2]}), lambda data: data.__setitem__("a", 99)),
    "values of a frame": (lambda: pd.DataFrame({"a": [1, 2]}), lambda data: write_through(data["a"].values)),
    "index": (lambda: pd.DataFrame({"a": [1]}, index=[7]), lambda data: write_through(data.index.values)),
    "columns": (lambda: pd.DataFrame({7: [1]}), lambda data: write_through(data.columns.values)),
    "series of lists": (lambda: pd.Series([[1], [2]]), lambda data: data[0].append(9)),
    "two columns of one name": (
        lambda: pd.DataFrame([[[1], [2]]], columns=["a", "a"]), lambda data: data.iloc[0, 1].append(9)
    ),
    "holds itself": (hold_itself, lambda data: data[0].append(9)),
    "frame of lists": (lambda: pd.DataFrame({"a": [[1], [2]]}), lambda data: data["a"][0].append(9)),
    "series": (lambda: pd.Series([1, 2]), poke),
    "polars": (lambda: pl.Series([1, 2]), poke),
    "polars frame": (lambda: pl.DataFrame({"a": [1, 2]}), lambda data: data.extend(data)),
}  # fmt: skip


def write_through(array):
    array.setflags(write=True)
    array.fill(99)


def written(data):
    """Write data down with all that lies in them."""
    if isinstance(data, pd.DataFrame | pd.Series):
        return f"{data.to_numpy().tolist()} {list(data.index)} {data.dtypes}"
    if isinstance(data, pl.DataFrame | pl.Series):
        return str(data.to_dict(as_series=False) if isinstance(data, pl.DataFrame) else data.to_list())
    if isinstance(data, list):
        return str([getattr(row, "age", row) for row in data])
    return str(data)


@pytest.mark.parametrize(("make", "change"), MUTABLE.values(), ids=MUTABLE)
def test_what_a_function_does_to_its_loan_nobody_else_sees(make, change):
    data, lender = make(), make_lender(make())
    for loan in (lend(data), lender(), lender()):
        assert written(loan) == written(make())
        assert type(loan) is type(data)
        change(loan)
    assert written(data) == written(lender()) == written(make())


SETTLED = [
    1, 1.5, "text", b"bytes", None, True, Decimal(3), (1, "a"), ((1, 2), ("a", None)), frozenset({1, (2, 3)}),
    np.float32(2), range(9), datetime.date(2020, 1, 1), (),
    Histogram.dense(Universe([("a", range(2))]), [1, 2]),
]  # fmt: skip


@pytest.mark.parametrize("data", SETTLED, ids=lambda data: type(data).__name__)
def test_what_cannot_be_changed_is_lent_as_it_is(data):
    assert lend(data) is data
    assert make_lender(data)() is data


def test_a_loan_is_made_of_what_the_owner_holds_by_then():
    """A stream that the owner goes on to fill: its questions are about what is there when they are asked."""
    data = [1]
    lender = make_lender(data)
    data.append(2)
    assert lender() == [1, 2]


def test_what_cannot_be_copied_is_refused_by_its_class():
    for data in ((value for value in "abc"), [[1], (value for value in "abc")], time):
        with pytest.raises(
            InvalidParameter, match="data must be of a class whose objects can be copied"
        ) as caught:
            make_lender(data)
        assert caught.value.__cause__ is None and caught.value.value is None


def test_functions_inside_the_data_do_not_stand_in_the_way():
    rows = [[1], lambda: 2]
    loan = lend(rows)
    loan[0].append(9)
    assert rows[0] == [1] and loan[1] is rows[1]


@pytest.mark.parametrize("kind", [AboveThreshold, Sparse, NumericSparse])
@pytest.mark.parametrize(("make", "change"), MUTABLE.values(), ids=MUTABLE)
def test_no_question_changes_the_data_of_the_next(kind, make, change):
    public = {} if kind is AboveThreshold else {"positives": 1}
    data, seen = make(), []
    talk = kind(sensitivity=1, epsilon=1, delta=0, threshold=10**9, **public).open(data)
    talk.ask(lambda rows: (change(rows), 0)[1])
    talk.ask(lambda rows: seen.append(written(rows)) or 0)
    assert seen == [written(make())]
    assert written(data) == written(make())


def test_no_histogram_can_be_written_into():
    counts, codes = np.array([1, 2]), np.array([[0], [1]])
    universe = Universe([("a", range(2))])
    for table in (Histogram.dense(universe, counts), Histogram.sparse(universe, codes, counts)):
        for array in (table.counts() if table.is_dense else table.entries()[1], *table.entries()):
            if table.is_dense and array is not table.counts():
                continue  # made for this call
            with pytest.raises(ValueError, match="cannot set WRITEABLE flag"):
                array.setflags(write=True)
        with pytest.raises(AttributeError, match="cannot be changed"):
            table.universe = None
    counts[0] = codes[0] = 1
    assert Histogram.sparse(universe, [[0], [1]], [1, 2]).total == table.total == 3
    assert table.entries()[0].tolist() == [[0], [1]]


def test_one_shot_mechanisms_lend_too():
    public = {"grid": 1, "neighbours": Replace("row")}
    rows = [[5], [6], [7]]

    def spoil(block):
        total = sum(row[0] for row in block)
        for row in block:
            row[0] = 1000
        return total

    SubsampleAggregate(function=spoil, blocks=2, lower=0, upper=20, epsilon=1, **public).release(rows)
    assert rows == [[5], [6], [7]]
    seen = []

    def keep(block):
        seen.append(sum(row[0] for row in block))
        return 0

    tested = {"bound": 1, "epsilon_test": 50, "epsilon_release": 50, "delta": 1e-6, **public}
    ProposeTestRelease(distance=lambda block: spoil(block) and 99, value=keep, **tested).release(rows)
    assert seen == [18] and rows == [[5], [6], [7]]


def test_a_score_changes_neither_the_data_nor_what_is_published():
    data = [3, 4]

    def score(rows, value):
        value.fill(rows[0])
        rows.clear()
        return 1

    best = BestOfRuns(
        base=Laplace(sensitivity=1, epsilon=1, size=2, neighbours=AddRemove("row")),
        score=score, sensitivity=1, epsilon=1, stop=0.9,
    )  # fmt: skip
    values = {tuple(best.release(data).value.value) for _ in range(30)}
    assert data == [3, 4]
    assert values != {(3, 3)}


def test_a_million_rows_are_lent_in_reasonable_time():
    """About a millisecond for an array and 50 for a list; the bounds leave room for a busy machine."""
    for data, seconds in ((np.arange(10**6), 0.5), (list(range(10**6)), 2.0)):
        start = time.perf_counter()
        make_lender(data)()
        assert time.perf_counter() - start < seconds


def test_the_declared_type_of_a_column_is_not_decided_by_its_cells():
    """Copying cells one by one must not turn a large whole number into a float, or None into NaN."""
    mixed = pd.Series([2**60 + 1, 0.5, None, [1]], dtype=object, name="x")
    for held, lent in ((mixed, lend(mixed)), (mixed.to_frame(), lend(mixed.to_frame()))):
        column = lent if lent.ndim == 1 else lent["x"]
        assert list(column) == [2**60 + 1, 0.5, None, [1]]
        assert [type(cell) for cell in column] == [int, float, type(None), list]
        assert column.dtype == object and column.name == "x" and held is not lent
        assert column.iloc[3] is not mixed.iloc[3]
