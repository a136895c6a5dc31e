"""Unions: what is priced is what is answered, whatever the weights are."""

import math
from fractions import Fraction

import numpy as np
import pytest

from discreet.core.errors import InternalError, InvalidParameter, Refused
from discreet.core.neighbours import AddRemove, Replace
from discreet.queries import Histogram, Marginals, Parities, Queries, TableQuery, Union, Universe, Weighted
from discreet.queries.query import LARGEST
from discreet.queries.written import write_workload

ROW, SWAP = AddRemove("row"), Replace("row")
LINE = Universe([("a", (0, 1))])
FIRST = Queries(LINE, [TableQuery(LINE, (0,), "first", table=[1, 0])])


def test_nested_weights_are_multiplied_before_anything_is_priced():
    """2^40 times 2^40 wrapped to 0 in tables, which set the sensitivity, and not in answers."""
    nested = Union([Union([FIRST], [2**40])], [2**40])
    for workload in (nested, write_workload(nested)):
        assert workload.sensitivity(SWAP, norm=math.inf) == 2**80 <= workload.sensitivity(ROW, norm=1)
        for data in ([1, 5], Histogram.dense(LINE, [1, 5]), Histogram.sparse(LINE, [[0], [1]], [1, 5])):
            assert workload.answers(data).tolist() == [workload.query(0).evaluate(data)] == [float(2**80)]
        assert workload.query(0).at(np.array([[0], [1]])).tolist() == [float(2**80), 0.0]
    assert Union([Union([FIRST], [3])], [5]).query(0).table().tolist() == [15, 0]
    assert type(Union([FIRST], [3]).query(0)) is TableQuery


def test_weights_that_leave_the_range_of_floats_are_refused():
    """1e300 times 1e300 is finite in no float, and passed the door."""
    huge = Weighted(LINE, [(["a"], [1e300, 0.0])])
    for act in (
        lambda: Union([huge], [10**300]),
        lambda: Union([Union([FIRST], [10**300])], [10**300]),
        lambda: Union([FIRST], [10**400]),
        lambda: Union([FIRST], [Fraction(1, 10**400)]),
        lambda: huge.query(0).multiply(10**300),
        lambda: huge.query(0).multiply(-1),
        lambda: Union([FIRST], [-1]),
    ):
        with pytest.raises(InvalidParameter):
            act()


def test_parts_are_kept_where_multiplying_rounds_nothing():
    listed = Weighted(LINE, [(["a"], [3, -1])])
    union = Union([Marginals(LINE, [["a"]]), listed], [Fraction(1, 3), 2])
    assert [type(part).__name__ for part in union.parts] == ["Marginals", "Queries"]
    assert union.weights == (Fraction(1 / 3), 1), "the very number that answers are multiplied by"
    assert union.names == ("0.3333333333333333 * (a=0)", "0.3333333333333333 * (a=1)", *union.names[2:])
    assert union.query(2).name == union.names[2] == "2 * (sum of weights over a)"
    assert union.query(2).table().tolist() == [6, -2]


def test_a_weight_on_a_query_of_too_many_cells():
    """Its answers need no table; only the query by itself would."""
    wide = Universe((f"x{i}", range(2)) for i in range(60))
    union = Union([Parities(wide, [wide.names, ["x0"]])], [LARGEST])
    cells = np.zeros((1, 60), dtype=np.int64)
    assert union.answers(Histogram.sparse(wide, cells, [3])).tolist() == [3 * LARGEST] * 2
    many = Histogram.sparse(wide, cells, [2**50])
    assert union.answers(many).tolist() == [2**62 - 1] * 2, "cut off, and never refused because of the data"
    assert len(union.names) == 2 and union.sensitivity(ROW, norm=1) == 2 * LARGEST
    assert union.query(1).evaluate(many) == LARGEST * 2**50
    with pytest.raises(Refused, match="multiply the answer"):
        union.query(0)


def test_a_smallest_weight_above_the_largest_is_never_priced():
    """A negative scale turned the ends round: a sensitivity of -1000, which is below every limit."""

    class Turned(TableQuery):
        def extent(self):
            return tuple(reversed(super().extent()))

    workload = Queries(LINE, [Turned(LINE, (0,), "turned", table=[0, 1000])])
    with pytest.raises(InternalError, match="smallest weight"):
        workload.sensitivity(SWAP, norm=math.inf)
    assert write_workload(workload).sensitivity(SWAP, norm=math.inf) == 1000
