"""Questions: one identity whichever way they are written."""

import numpy as np
import pytest
from hypothesis import given, settings
from tests.unit.queries.kinds.test_groups import groups

from discreet.core.errors import InvalidParameter
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.kinds.union import Union
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.query import ProductQuery, TableQuery
from discreet.queries.universe import Universe
from discreet.query_release.online.boxes import NO_BOX, Boxes, read_workload
from discreet.query_release.online.questions import read_question

UNIVERSE = Universe([("a", range(4)), ("b", (0, 1)), ("c", range(3))])


def ask(query, scale=1):
    return read_question(query, UNIVERSE, scale)


def test_a_box_is_one_question_however_it_is_written():
    mask = np.array([False, True, True, False])
    ways = [
        ProductQuery(UNIVERSE, (0,), "one", masks=[mask]),
        ProductQuery(UNIVERSE, (0, 1), "two", masks=[mask, np.array([True, True])]),
        ProductQuery(UNIVERSE, (0,), "three", masks=[~mask], complement=True),
        TableQuery(UNIVERSE, (0,), "four", table=mask),
        Predicates(UNIVERSE, [(["a"], lambda a: (a == 1) | (a == 2))]).query(0),
        Rectangles(UNIVERSE, [{"a": (1, 2)}]).query(0),
    ]
    assert len({ask(query).key for query in ways}) == 1
    assert ask(ProductQuery(UNIVERSE, (0,), "other", masks=[~mask])).key != ask(ways[0]).key


def test_other_predicates_are_known_by_their_weights():
    odd = TableQuery(UNIVERSE, (0, 1), "odd", table=np.eye(4, 2) > 0)
    assert ask(odd).codes is None
    assert ask(odd).key == ask(TableQuery(UNIVERSE, (0, 1), "again", table=np.eye(4, 2))).key
    other = TableQuery(UNIVERSE, (0, 1), "other", table=np.eye(4, 2)[:, ::-1] > 0)
    assert ask(odd).key != ask(other).key, "the same codes of either attribute, other combinations"
    nothing = ProductQuery(UNIVERSE, (1,), "nothing", masks=[np.array([False, False])])
    assert ask(nothing).codes is None


def test_a_workload_is_read_like_its_questions():
    boxes = Rectangles(UNIVERSE, [{"a": (1, 2)}, {"b": (0, 0), "c": (1, 2)}, {"a": (0, 3)}])
    points = Conjunctions.from_codes(UNIVERSE, (0, 2), np.array([[0, 1], [3, 2]]))
    odd = Predicates(UNIVERSE, [(["a", "b"], np.eye(4, 2) > 0)])
    workload = Union([boxes, points, odd])
    reading = read_workload(workload)
    assert (reading.boxes.kinds == NO_BOX).tolist() == [False] * 5 + [True]
    assert reading.keys(np.arange(6)) == [ask(query).key for query in workload]
    assert reading.boxes.sizes[reading.boxes.kinds[0]].tolist() == [2, 2, 3]
    assert reading.boxes.runs.all()


@given(groups())
@settings(max_examples=100, deadline=None)
def test_groups_are_read_like_their_questions(workload):
    reading = read_workload(workload)
    keys, kinds = reading.keys(np.arange(len(workload))), reading.boxes.kinds
    for place, query in enumerate(workload):
        one = read_question(query, query.universe, 1)
        assert keys[place] == one.key
        assert reading.empty[place] == one.is_empty
        assert (kinds[place] == NO_BOX) == (one.codes is None)
        if one.codes is not None:
            box = Boxes.of_codes(one.codes[None], query.universe)
            assert reading.boxes.sizes[kinds[place]].tolist() == box.sizes[0].tolist()
            assert reading.boxes.runs[kinds[place]] == box.runs[0]


def test_conjunctions_are_read_from_their_own_codes_like_their_questions():
    """Every clause over subsets of codes, those that nothing meets among them."""
    some = [[], [0], [1], [0, 2], [2, 1, 1], [0, 1, 2]]
    clauses = [{"a": a, "c": c} for a in some for c in some] + [{"b": [1]}, {}, {"c": [2], "b": [0]}]
    workload = Conjunctions(UNIVERSE, clauses)
    reading = read_workload(workload)
    asked = [ask(query) for query in workload]
    assert reading.keys(np.arange(len(workload))) == [one.key for one in asked]
    assert reading.empty.tolist() == [one.is_empty for one in asked]
    for one, kind in zip(asked, reading.boxes.kinds, strict=True):
        assert (kind == NO_BOX) == (one.codes is None)
        if one.codes is not None:
            box = Boxes.of_codes(one.codes[None], UNIVERSE)
            assert reading.boxes.sizes[kind].tolist() == box.sizes[0].tolist()
            assert reading.boxes.runs[kind] == box.runs[0]


def test_marginals_are_read_as_groups():
    tables = Marginals(UNIVERSE, [["a", "c"], [], ["b"]])
    reading = read_workload(tables)
    assert reading.keys(np.arange(len(tables))) == [ask(query).key for query in tables]
    counts = np.arange(24).reshape(UNIVERSE.shape)
    assert reading.workload.answers(counts).tolist() == tables.answers(counts).tolist()


def test_what_a_predicate_does_not_depend_on_is_no_part_of_it():
    odd = np.eye(4, 2) > 0
    more = TableQuery(UNIVERSE, (0, 1, 2), "more", table=np.repeat(odd[..., None], 3, axis=2))
    assert ask(more).key == ask(TableQuery(UNIVERSE, (0, 1), "odd", table=odd)).key


def test_gaps_are_no_intervals():
    gap = ProductQuery(UNIVERSE, (0,), "gap", masks=[np.array([True, False, True, False])])
    assert not Boxes.of_codes(ask(gap).codes[None], UNIVERSE).runs[0]


def test_weights_need_a_grid_and_lie_between_zero_and_one():
    half = Weighted(UNIVERSE, [(["b"], [0.25, 1.0])]).query(0)
    assert ask(half, scale=4).units.tolist() == [1, 4]
    with pytest.raises(InvalidParameter, match="grid"):
        ask(half)
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        ask(Weighted(UNIVERSE, [(["b"], [0.5, 1.5])]).query(0), scale=4)
    elsewhere = Universe([("a", range(4))])
    with pytest.raises(InvalidParameter, match="universe"):
        ask(TableQuery(elsewhere, (0,), "q", table=np.ones(4)))
