"""Books of queries and the promises about them."""

import math
import time

import numpy as np
import pytest

from discreet.analysts.games.scores import GameTable
from discreet.analysts.promises import (
    Delivery,
    Leftover,
    ManyToOne,
    OneAnalystToMany,
    OneQueryToMany,
    QueriesAndData,
    perfect,
)
from discreet.analysts.query_book import Caps, QueryBook, book_of
from discreet.analysts.tiny import BOTH, COIN, HEADS, TAILS
from discreet.core.errors import InvalidParameter, Refused
from discreet.core.neighbours import Replace
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.query import TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.queries.written import write_workload
from discreet.query_release.synopses.synopsis import Weights

CAPS = Caps(analysts=3, queries=2)


def book(**asked):
    return book_of(COIN, CAPS, asked)


def weights(queries):
    return {place: query.vector().tolist() for place, query in queries.items()}


def counted(asked, name):
    return weights(asked.list_asked(name))


def test_what_one_analyst_does_moves_nobody_elses_queries():
    one = book(a=[HEADS], b=[TAILS])
    more = one.with_queries("a", [BOTH])
    assert counted(one, "b") == counted(more, "b") == weights({2: TAILS})
    assert counted(more, "a") == weights({0: HEADS, 1: BOTH})
    fewer = more.without(0)
    assert counted(fewer, "a") == weights({1: BOTH}), "a query keeps its place when another one goes"
    assert counted(fewer.with_queries("a", [TAILS]), "a") == weights({0: TAILS, 1: BOTH})
    assert counted(one, "a") == weights({0: HEADS}), "books never change"


def test_a_cap_is_a_cap():
    with pytest.raises(Refused, match="cap is 2"):
        book(a=[HEADS, TAILS, BOTH])
    with pytest.raises(InvalidParameter, match="at most 3 different names"):
        book(a=[], b=[], c=[], d=[])
    with pytest.raises(InvalidParameter, match="different names"):
        QueryBook(COIN, CAPS, ["a", "a"])
    for bad in ({"analysts": 0, "queries": 1}, {"analysts": 1, "queries": True}):
        with pytest.raises(InvalidParameter):
            Caps(**bad)


def test_a_workload_fills_a_page_as_it_is():
    three = Predicates(COIN, [(["x"], np.array(mask)) for mask in ([True, False], [False, True])])
    whole = book(a=three, b=[HEADS])
    page = whole.page("a")
    assert page.queries is write_workload(three), "kept as one, not taken apart"
    assert page.places.tolist() == [0, 1] and whole.page("b").places.tolist() == [2]
    assert weights(dict(whole.items())) == weights(dict(book(a=list(three), b=[HEADS]).items()))
    assert OneQueryToMany().distance(whole, book(a=list(three), b=[HEADS])) == 0
    assert OneQueryToMany().distance(whole, whole.without(1)) == 1
    assert counted(whole.without(0), "a") == weights({1: three.query(1)})
    assert whole.without(0).without(1).page("a") is None
    again = whole.without(0).with_queries("a", three.subset([0]))
    assert counted(again, "a") == weights(dict(enumerate(three)))
    with pytest.raises(Refused, match="cap is 2"):
        book(a=Predicates(COIN, [(["x"], np.array([True, False]))] * 3))
    weighted = TableQuery(COIN, (0,), "w", table=np.array([0.5, 1.0]))
    with pytest.raises(Refused, match="weighted"):
        book(a=Queries(COIN, [weighted]))


def test_a_million_places_are_no_burden():
    """A page for each of 1,000 analysts with 1,000 queries each; nothing is done a query at a time."""
    universe = Universe([("x", range(1000))])
    everything = Marginals(universe, [["x"]])
    caps = Caps(analysts=1000, queries=1000)
    begun = time.process_time()
    full = book_of(universe, caps, {f"a{place}": everything for place in range(1000)})
    shared = Weights(universe, np.arange(1000.0), transcript=())
    sent = Delivery(shared, tuple((name, ()) for name in full.names))
    answers = sent.answers("a999", full)
    assert answers == {999_000 + place: float(place) for place in range(1000)}
    assert time.process_time() - begun < 10, "a book that is copied for each analyst takes minutes"


def test_a_book_takes_counting_queries_over_its_universe_only():
    weighted = TableQuery(COIN, (0,), "w", table=np.array([0.5, 1.0]))
    with pytest.raises(Refused, match="weighted"):
        book(a=[weighted])
    other = Universe([("y", (0, 1))])
    with pytest.raises(InvalidParameter, match="over the universe that is asked about"):
        book(a=Predicates(other, [(["y"], np.array([True, False]))]))
    with pytest.raises(InvalidParameter, match="LinearQuery"):
        book(a=["heads"])
    with pytest.raises(InvalidParameter, match="place"):
        QueryBook(COIN, CAPS, ["a"], {2: HEADS})  # the second analyst's page, and there is none
    with pytest.raises(InvalidParameter, match="analyst"):
        book(a=[HEADS]).list_asked("b")
    with pytest.raises(InvalidParameter, match="analyst"):
        book(a=[HEADS]).fill({"b": [HEADS]})


def test_nothing_asked_is_printed():
    assert repr(book(a=[HEADS])) == repr(book(a=[])), "not even how much"
    asked = QueriesAndData(Histogram.dense(COIN, [17, 25]), book(a=[HEADS]))
    assert "17" not in repr(asked) and "predicate" not in repr(asked)


def test_distances_count_what_each_promise_hides():
    one, two = book(a=[HEADS, TAILS], b=[], c=[]), book(a=[BOTH, BOTH], b=[], c=[])
    three = book(a=[BOTH, BOTH], b=[HEADS], c=[])
    assert [OneQueryToMany().distance(one, other) for other in (one, two, three)] == [0, 2, 3]
    assert [OneAnalystToMany().distance(one, other) for other in (one, two, three)] == [0, 1, 2]
    assert [ManyToOne().distance(one, other) for other in (one, two, three)] == [0, 1, 1]
    assert ManyToOne().distance(one, book(a=[], b=[HEADS], c=[HEADS])) == 2
    smaller = book_of(COIN, Caps(3, 3), {"a": [], "b": [], "c": []})
    for promise in (OneQueryToMany(), OneAnalystToMany(), ManyToOne()):
        assert promise.distance(one, smaller) == math.inf
    assert ManyToOne().distance(book(a=[HEADS]), book(a=[TAILS])) == math.inf, "alone with all changed"


def test_equal_queries_are_equal_whoever_made_them():
    copy = TableQuery(COIN, (0,), "another name", table=np.array([False, True]))
    assert OneQueryToMany().distance(book(a=[HEADS]), book(a=[copy])) == 0
    assert OneQueryToMany().distance(book(a=[HEADS]), book(a=[TAILS])) == 1


def test_observers_are_all_who_ask_the_same():
    one, two = book(a=[HEADS], b=[], c=[]), book(a=[TAILS], b=[], c=[])
    assert OneQueryToMany().observers(one, two) == OneAnalystToMany().observers(one, two) == ("b", "c")
    assert ManyToOne().observers(one, two) == ("b",)


def test_promises_are_neighbours_with_words():
    for promise, word in (
        (OneQueryToMany(), "one query"),
        (OneAnalystToMany(), "every query of one analyst"),
    ):
        assert word in str(perfect(promise)) and "together" in str(promise)
    assert "alone" in str(ManyToOne())
    with pytest.raises(InvalidParameter, match="OneQueryToMany"):
        perfect(Replace("row"))


def test_asked_needs_one_universe():
    with pytest.raises(InvalidParameter, match="universe of the book"):
        QueriesAndData(Histogram.dense(Universe([("y", (0, 1))]), [1, 1]), book(a=[]))


def delivery():
    shared = Weights(COIN, np.array([3.0, 7.0]), transcript=(3, 7))
    return Delivery(shared, (("a", (Leftover(0, 9.0),)), ("b", ())))


def test_a_delivery_gives_everybody_the_synopsis_and_his_own():
    both = book(a=[HEADS, TAILS], b=[HEADS])
    assert delivery().answers("a", both) == {0: 9.0, 1: 3.0}
    assert delivery().answers("b", both) == {2: 7.0}
    assert delivery().seen_by(["b"]).private == (("b", ()),)
    assert delivery().seen_by(["a", "b"]) == delivery() and hash(delivery()) == hash(delivery())
    assert delivery().seen_by(["b"]) != delivery()
    with pytest.raises(InvalidParameter, match="analyst"):
        delivery().seen_by(["b"]).leftovers("a")


def test_the_table_knows_queries_and_cells():
    universe = Universe([("x", range(11))])
    masks = np.random.default_rng(3).integers(0, 2, (1500, 11)).astype(bool)  # noqa: TID251
    listed = list(Predicates(universe, [(["x"], mask) for mask in masks]))
    table = GameTable(QueryBook(universe, Caps(2, 1000), "ab", dict(enumerate(listed))))
    assert table.by_place.row(3).tolist() == masks[3].astype(int).tolist()
    assert table.by_place.row(1700).sum() == 0, "an empty place counts nothing"
    assert table.by_cell.row(4)[:1500].tolist() == masks[:, 4].astype(int).tolist()
    counts = np.arange(11)
    assert table.answers(Histogram.dense(universe, counts))[:1500].tolist() == (masks @ counts).tolist()
