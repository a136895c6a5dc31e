"""Universes and histograms: codes, cells, records, marginals, and what they refuse to show."""

import copy
import pickle  # noqa: TID251  # to see it refused
import subprocess
import sys

import numpy as np
import pytest

from discreet.core.errors import DiscreetError, InvalidParameter, Refused
from discreet.data.schema.columns import Boolean, Category, Integer
from discreet.queries import Attribute, Histogram, Universe

PEOPLE = Universe([("age", range(3)), ("region", ("north", "south")), ("smoker", (False, True))])


def test_cells_records_and_codes_name_the_same_thing():
    assert (PEOPLE.size, PEOPLE.shape, PEOPLE.names) == (12, (3, 2, 2), ("age", "region", "smoker"))
    for cell, record in enumerate(PEOPLE.records()):
        assert PEOPLE.cell(record) == cell
        assert PEOPLE.record(cell) == record
        codes = [[PEOPLE.code(axis, value) for axis, value in enumerate(record)]]
        assert PEOPLE.ravel(codes).tolist() == [cell]
        assert PEOPLE.unravel([cell]).tolist() == codes


def test_attributes_read_as_pairs_of_a_name_and_values():
    (name, values), *_ = PEOPLE.attributes
    assert (name, values) == ("age", (0, 1, 2))
    assert PEOPLE.attribute("smoker") == Attribute("smoker", (False, True))
    assert PEOPLE == Universe(PEOPLE.attributes)
    assert PEOPLE != PEOPLE.project(["age"])
    assert PEOPLE.project(["smoker", "age"]).names == ("age", "smoker")


def test_declared_columns_make_a_universe_with_missing_last():
    class Column:
        def __init__(self, name, nullable):
            self.name, self.nullable = name, nullable

        def domain(self):
            return (1, 2)

    universe = Universe.from_columns([Column("sure", nullable=False), Column("maybe", nullable=True)])
    assert [a.values for a in universe.attributes] == [(1, 2), (1, 2, None)]


def test_a_universe_may_be_far_larger_than_memory():
    wide = Universe((f"q{i}", range(10)) for i in range(30))
    assert wide.size == 10**30
    assert wide.cell((0,) * 29 + (7,)) == 7
    assert wide.record(10**30 - 1) == (9,) * 30
    with pytest.raises(Refused, match="sparse histogram"):
        wide.require_dense()
    with pytest.raises(Refused, match="rows of codes"):
        wide.ravel(np.zeros((1, 30), dtype=int))
    rows = np.array([[3] * 30, [4] * 30, [3] * 30])
    histogram = Histogram.from_records(wide, rows)
    assert not histogram.is_dense
    assert sorted(histogram.entries()[1].tolist()) == [1, 2]
    assert histogram.total == 3
    small = histogram.marginal(["q0", "q29"])
    assert small.is_dense
    assert small.counts()[3, 3] == 2
    large = histogram.marginal([f"q{i}" for i in range(20)])
    assert not large.is_dense
    assert large.total == 3
    with pytest.raises(Refused):
        histogram.counts()
    with pytest.raises(Refused):
        Histogram.dense(wide, [1])


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ([], "at least one attribute"),
        ([("a", ())], "at least one value"),
        ([("a", (1, 1))], "without duplicates"),
        ([("a", (1,)), ("a", (2,))], "without duplicate names"),
        ([("", (1,))], "not empty"),
        ([(3, (1,))], "not empty"),
        ([("a", "xy")], "a list of values"),
        ([("a", 3)], "a list of values"),
    ],
)
def test_a_universe_refuses_what_it_cannot_number(attributes, message):
    with pytest.raises(InvalidParameter, match=message):
        Universe(attributes)


@pytest.mark.parametrize(
    "call",
    [
        lambda: PEOPLE.axis("income"),
        lambda: PEOPLE.axes(["age", "age"]),
        lambda: PEOPLE.axes("age"),
        lambda: PEOPLE.cell((1, "north")),
        lambda: PEOPLE.cell((1, "east", True)),
        lambda: PEOPLE.cell((1, ["north"], True)),
        lambda: PEOPLE.record(12),
        lambda: PEOPLE.record(-1),
        lambda: PEOPLE.unravel([12]),
        lambda: PEOPLE.unravel([0.5]),
        lambda: PEOPLE.ravel([[0, 0, 2]]),
        lambda: PEOPLE.ravel([[0, -1, 0]]),
        lambda: PEOPLE.ravel([[0, 0]]),
        lambda: PEOPLE.ravel([[0.0, 0.0, 0.0]]),
    ],
)
def test_names_cells_and_codes_outside_are_refused(call):
    with pytest.raises(InvalidParameter):
        call()


ROWS = np.array([[0, 0, 1], [0, 0, 1], [2, 1, 0], [1, 0, 0]])
GROUPS = [((0, "north", True), 2), ((2, "south", False), 1), ((1, "north", False), 1)]


def test_every_way_in_gives_the_same_counts():
    from_rows = Histogram.from_records(PEOPLE, ROWS)
    expected = np.bincount(PEOPLE.ravel(ROWS), minlength=12).reshape(PEOPLE.shape)
    sparse = Histogram.sparse(PEOPLE, ROWS, np.ones(4, dtype=int))
    for histogram in (
        from_rows,
        sparse,
        Histogram.from_groups(PEOPLE, GROUPS),
        Histogram.dense(PEOPLE, expected),
    ):
        assert histogram.counts().tolist() == expected.tolist()
        assert histogram.counts().dtype == np.int64
        assert histogram.total == 4
        codes, counts = histogram.entries()
        again = Histogram.sparse(PEOPLE, codes, counts)
        assert again.counts().tolist() == expected.tolist()
        assert histogram.marginal(["smoker", "age"]).counts().tolist() == expected.sum(axis=1).tolist()
    assert from_rows.is_dense
    assert not sparse.is_dense
    assert Histogram.from_groups(PEOPLE, []).total == 0


def test_the_counts_cannot_be_changed_from_outside():
    given = np.ones(12, dtype=np.int64)
    histogram = Histogram.dense(PEOPLE, given)
    given[0] = 99
    assert histogram.total == 12
    with pytest.raises(ValueError, match="read-only"):
        histogram.counts()[0, 0, 0] = 5


def test_a_histogram_shows_no_count():
    for histogram in (Histogram.from_records(PEOPLE, ROWS), Histogram.sparse(PEOPLE, ROWS, [8191] * 4)):
        assert "8191" not in repr(histogram)
        assert "12 cells" in repr(histogram)
        for act in (pickle.dumps, copy.copy, copy.deepcopy, hash, bool, iter, len, lambda h: h == 1):
            with pytest.raises(DiscreetError):
                act(histogram)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Histogram.dense(PEOPLE, np.full(12, -8191)),
        lambda: Histogram.dense(PEOPLE, np.full(12, 8191.5)),
        lambda: Histogram.dense(PEOPLE, np.full(12, 2**60)),
        lambda: Histogram.dense(PEOPLE, np.full(11, 8191)),
        lambda: Histogram.dense(PEOPLE, ["8191"] * 12),
        lambda: Histogram.sparse(PEOPLE, [[0, 0, 8191]], [1]),
        lambda: Histogram.sparse(PEOPLE, [[0, 0, 0]], [1, 8191]),
        lambda: Histogram.from_records(PEOPLE, [[8191, 0, 0]]),
        lambda: Histogram.from_groups(PEOPLE, [((0, "8191", True), 1)]),
        lambda: Histogram.from_groups(PEOPLE, [((0, "north"), 8191)]),
        lambda: Histogram.from_groups(PEOPLE, [((0, "north", True, 8191), 1)]),
        lambda: Histogram.from_groups(PEOPLE, [((0, "north", True), 8191 * 2**60)]),
    ],
)
def test_bad_counts_are_refused_without_quoting_them(make):
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert "8191" not in str(caught.value)
    assert str(2**60) not in str(caught.value)


def test_counts_that_are_texts_are_refused_without_their_width():
    words = set()
    for text in ("a", "a long name"):
        with pytest.raises(InvalidParameter, match="array of whole numbers") as caught:
            Histogram.dense(PEOPLE, np.array([text] * 12))
        words.add(str(caught.value))
    assert len(words) == 1


def test_large_counts_whose_sum_fits_are_taken():
    counts = np.zeros(12, dtype=np.int64)
    counts[3] = 2**61
    assert Histogram.dense(PEOPLE, counts).total == 2**61


def test_the_package_is_not_loaded_by_importing_discreet():
    code = "import sys, discreet; sys.exit({'discreet.queries', 'scipy'} & set(sys.modules) != set())"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_declared_columns_of_a_schema_fit():
    columns = [
        Integer("age", lower=0, upper=3, null=0),
        Category("region", values=("north", "south")),
        Boolean("smoker", null=False),
    ]
    universe = Universe.from_columns(columns)
    assert universe.attributes[0] == ("age", (0, 1, 2, 3))
    assert universe.attributes[1] == ("region", ("north", "south", None))
    assert universe.attributes[2] == ("smoker", (False, True))
