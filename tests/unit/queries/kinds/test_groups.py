"""Counts by group, against the same counts one by one."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core.errors import InvalidParameter
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.groups import Groups
from discreet.queries.universe import Universe

UNIVERSE = Universe([("a", range(3)), ("b", range(4)), ("c", ("no", "yes")), ("d", range(5))])
COUNTS = np.arange(UNIVERSE.size).reshape(UNIVERSE.shape) ** 2 % 17


@st.composite
def groups(draw):
    """Any condition over some attributes, and up to three groupings by some, of some of their values."""
    every = range(len(UNIVERSE.shape))
    axes = tuple(sorted(draw(st.sets(st.sampled_from(every)))))
    size = int(np.prod([UNIVERSE.shape[axis] for axis in axes]))
    where = np.array(draw(st.lists(st.booleans(), min_size=size, max_size=size)), dtype=bool)
    listed = []
    for _ in range(draw(st.integers(1, 3))):
        keys = draw(st.lists(st.sampled_from(every), unique=True, max_size=3))
        codes = [draw(st.sets(st.integers(0, UNIVERSE.shape[axis] - 1), min_size=1)) for axis in keys]
        listed.append(tuple((axis, tuple(sorted(some))) for axis, some in zip(keys, codes, strict=True)))
    shape = [UNIVERSE.shape[axis] for axis in axes]
    return Groups(UNIVERSE, axes=axes, where=where.reshape(shape), groupings=listed)


@given(groups())
@settings(max_examples=100, deadline=None)
def test_together_is_one_by_one(workload):
    one_by_one = [query.evaluate(COUNTS) for query in workload]
    assert workload.answers(COUNTS).tolist() == one_by_one
    assert workload.answers(COUNTS).dtype == np.int64
    assert workload.answers(Histogram.from_records(UNIVERSE, UNIVERSE.unravel(np.arange(20)))).sum() <= 60
    numbers = np.arange(1, len(workload) + 1)
    assert (workload.adjoint(numbers) * COUNTS).sum() == (numbers * workload.answers(COUNTS)).sum()


def test_a_sparse_histogram_is_counted_alike():
    rows = UNIVERSE.unravel(np.array([0, 0, 7, 33, 119]))
    where = np.array([True, False, True])
    workload = Groups(UNIVERSE, axes=(0,), where=where, groupings=[((3, (0, 1, 2, 3, 4)),), ()])
    dense = Histogram.from_records(UNIVERSE, rows)
    sparse = Histogram.sparse(UNIVERSE, *dense.entries())
    assert workload.answers(sparse).tolist() == workload.answers(dense).tolist()


@pytest.mark.parametrize(
    "bad",
    [
        {"where": np.ones(3)},
        {"where": np.ones(2, dtype=bool)},
        {"axes": (0, 0)},
        {"groupings": []},
        {"groupings": [((1, ()),)]},
        {"groupings": [((1, (4,)),)]},
        {"groupings": [((9, (0,)),)]},
        {"groupings": [((1, (0,)), (1, (1,)))]},
        {"groupings": [((1, (2, 0, 2)),)]},
    ],
)
def test_others_are_refused(bad):
    given = {"axes": (0,), "where": np.ones(3, dtype=bool), "groupings": [()]} | bad
    with pytest.raises(InvalidParameter):
        Groups(UNIVERSE, **given)


def test_the_condition_stays_what_it_was():
    where = np.array([True, False, True])
    workload = Groups(UNIVERSE, axes=(0,), where=where, groupings=[()])
    before = workload.answers(COUNTS).tolist()
    where[:] = False
    assert workload.answers(COUNTS).tolist() == before
    with pytest.raises(ValueError, match="read-only"):
        workload.where[0] = False
