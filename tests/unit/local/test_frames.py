"""Frames of pandas, polars and Arrow are read row by row, as lists of records are."""

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from discreet import local
from discreet.core.errors import InvalidParameter
from discreet.local.batches import read_column
from discreet.local.frames import read_rows
from discreet.queries import TableQuery, Universe

ROWS = [("no", 2, True), ("yes", 1, False), ("maybe", 7, None), (None, 2, True)]
NAMES = ("smokes", "rooms", "ill")
TABLE = Universe([("smokes", ("no", "yes")), ("rooms", (1, 2, 3)), ("ill", (False, True))])
LISTED = tuple((each.name, tuple(each.values)) for each in TABLE.attributes)


def make_frames(rows, names):
    """Return the same rows in every kind of frame."""
    columns = {name: [row[place] for row in rows] for place, name in enumerate(names)}
    table = pyarrow.table(columns)
    return [pandas.DataFrame(columns, dtype=object), polars.DataFrame(columns), table, *table.to_batches()]


@pytest.mark.parametrize("frame", make_frames([(1, *row) for row in ROWS], ("id", *NAMES)), ids=type)
def test_records_are_the_rows_of_a_frame_by_the_names_of_its_columns(frame):
    expected = read_rows(LISTED, ROWS)
    assert expected.tolist() == [[0, 1, 1], [1, 0, 0], [0, 0, 0], [0, 1, 1]]
    query = TableQuery(TABLE, (0, 2), "both", table=[[0, 0.25], [0.5, 1]])
    survey = local.StatisticalQuery(epsilon=1, query=query)
    assert np.array_equal(read_rows(LISTED, frame), expected)
    assert np.array_equal(read_column(survey.values, frame), read_column(survey.values, ROWS))


@pytest.mark.parametrize("frame", make_frames([(0, 1), (1, 1), (1, 0)], ("b", "a")), ids=type)
def test_bits_and_vectors_are_the_rows_of_a_frame(frame):
    bits = local.FourierMarginals(epsilon=1, universe=Universe([("a", (0, 1)), ("b", (0, 1))]), width=1)
    assert (
        read_column(bits.values, frame).tolist()
        == read_column(bits.values, [(1, 0), (1, 1), (0, 1)]).tolist()
    )
    means = local.ManyMeans(epsilon=1, lower=0, upper=1, steps=2, dimensions=2)
    assert read_column(means.values, frame).tolist() == [[0, 2], [2, 2], [2, 0]]
    assert means.estimate(means.encode_many(frame)).people == 3


@pytest.mark.parametrize("frame", make_frames([(0, 1), (1, 1)], ("a", "c")), ids=type)
def test_a_frame_without_a_column_for_each_attribute_is_refused(frame):
    bits = local.FourierMarginals(epsilon=1, universe=Universe([("a", (0, 1)), ("b", (0, 1))]), width=1)
    with pytest.raises(InvalidParameter, match="one column for each of a, b"):
        bits.encode_many(frame)
    with pytest.raises(InvalidParameter, match="a frame of 3 columns"):
        local.ManyMeans(epsilon=1, lower=0, upper=1, dimensions=3).encode_many(frame)
    for survey in (
        local.DirectResponse(epsilon=1, domain=3),
        local.SquareWave(epsilon=1, lower=0, upper=1),
        local.PrefixSearch(epsilon=1, length=8),
    ):
        with pytest.raises(InvalidParameter, match="a column of values"):
            survey.encode_many(frame)
    twice = pandas.DataFrame([[0, 1, 1]], columns=["a", "b", "b"])
    with pytest.raises(InvalidParameter, match="one column for each"):
        bits.encode_many(twice)


def test_an_array_of_numbers_is_no_list_of_vectors_or_records():
    one = Universe([("smokes", (0, 1))])
    for survey in (
        local.ManyMeans(epsilon=1, lower=0, upper=1, dimensions=3),
        local.FourierMarginals(epsilon=1, universe=one, width=1),
        local.StatisticalQuery(epsilon=1, query=TableQuery(one, (0,), "q", table=[0, 1])),
    ):
        for column in (np.zeros(4), pandas.Series([0, 1]), polars.Series([0, 1]), pyarrow.array([0, 1])):
            with pytest.raises(InvalidParameter, match="one for each person"):
                survey.encode_many(column)


def test_what_a_mask_hides_in_codes_is_no_value():
    """It counts as the first, as everything does that is none."""
    attributes = (("x", (0, 1, 2)), ("y", (0, 1)))
    hidden = np.ma.masked_array([[2, 1], [1, 1]], [[0, 1], [1, 0]])
    assert read_rows(attributes, hidden).tolist() == [[2, 0], [0, 1]]

    class Everywhere(np.ndarray):
        def __ge__(self, other):
            raise RuntimeError("somebody was there")

    with pytest.raises(InvalidParameter, match="known class"):
        read_rows(attributes, np.zeros((1, 2), dtype=int).view(Everywhere))
