"""A curious or clumsy analyst, several threads of one, and an owner who makes mistakes."""

import sys
import threading
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.curator.conftest import curator

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import EngineFailed, InvalidParameter
from discreet.curator.history import History
from discreet.data import Table
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import LinearQuery
from discreet.queries.workload import Queries
from discreet.queries.written import write_query

MEAN = "SELECT AVG(income) AS mean FROM people"


EAST = "SELECT COUNT(*) AS n FROM people WHERE region = 'east'"


HALF = Fraction(1, 2)


PROMISES = pytest.mark.parametrize("promise", [None, OneAnalystToMany()])


def failing(monkeypatch):
    def fail(self, prepared, **given):
        raise ValueError("row 4711 of Ann")

    monkeypatch.setattr(Table, "answer", fail)


@PROMISES
def test_an_error_keeps_no_link_to_what_the_engine_said(monkeypatch, promise):
    with curator(shared=0, promise=promise) as one:
        acme = one.analyst("acme", share=1)
        failing(monkeypatch)
        with pytest.raises(EngineFailed) as caught:
            acme.sql(MEAN)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None


def test_what_cannot_be_shown_is_withheld_too(monkeypatch):
    """An answer that the reply stumbles over was read from data all the same."""
    with curator(shared=0) as one:
        acme = one.analyst("acme")
        monkeypatch.setattr(Table, "answer", lambda self, prepared, **given: "4711")
        with pytest.raises(EngineFailed):
            acme.sql(MEAN)
        assert one.ledger.entries()[0].state == "started"


def test_what_was_charged_without_an_answer_is_in_the_history(monkeypatch):
    with curator(shared=0) as one:
        acme = one.analyst("acme")
        acme.sql(MEAN)
        failing(monkeypatch)
        with pytest.raises(EngineFailed):
            acme.sql(EAST)
        assert [asked.kind for asked in acme.history] == ["priced", "failed"]
        for name, spent in one.ledger.spent("acme").items():
            assert sum(asked.cost[name] for asked in acme.history) == spent > 0 or name == "delta"


def test_nobody_can_write_in_what_another_is_told():
    """Without a promise records are shared; they are not handed out."""
    with curator() as one:
        acme, blue = one.analyst("acme"), one.analyst("blue")
        for text in (MEAN, EAST):
            first = acme.sql(text)
            told = dict(first.intervals)
            first.intervals.clear()
            again = blue.sql(text)
            assert again.intervals == told
            again.intervals.clear()
            assert acme.sql(text).intervals == told
        acme.history[0].cost.clear()
        assert acme.history[0].cost["rho"] > 0


def test_two_threads_of_one_analyst_have_one_history():
    """Each question has a number of its own, however the threads take turns."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        history = History()
        threads = [
            threading.Thread(target=lambda: [history.note("q", "free", {}) for _ in range(100)])
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
    finally:
        sys.setswitchinterval(before)
    assert [asked.number for asked in history.list_questions()] == list(range(800))


def test_an_analyst_needs_nothing_but_her_door():
    with curator(promise=OneAnalystToMany()) as one:
        acme = one.analyst("acme", share=HALF)
        assert acme.universe is one.universe
        assert len(acme.ask(Marginals(acme.universe, [["smoker"]]))) == 3
        assert acme.share == HALF


@PROMISES
@pytest.mark.parametrize("query", [None, "SELECT 1", [1], 3.5])
def test_what_is_no_query_is_refused_in_our_words(promise, query):
    with curator(promise=promise) as one, pytest.raises(InvalidParameter, match="query"):
        one.analyst("acme", share=1).ask(query)


class Nosy(LinearQuery):
    """Says that it counts one value, keeps whatever it is shown, and answers as it likes."""

    def __init__(self, universe, seen):
        super().__init__(universe, (0,), "nosy")
        self.seen = seen

    def table(self):
        return np.arange(self.shape[0]) == 0

    def at(self, codes):
        self.seen.append(codes)
        return self.table()[codes[:, 0]]

    def evaluate(self, data):
        self.seen.append(data)
        return 10**9


@PROMISES
def test_code_of_an_analyst_is_run_before_any_data_are_read(promise):
    seen = []
    with curator(promise=promise) as one:
        acme = one.analyst("acme", share=1)
        nosy = Nosy(acme.universe, seen)
        found = [acme.ask(nosy), *acme.ask(Queries(acme.universe, [nosy, nosy]))]
        assert seen == []
        honest = acme.ask(write_query(nosy))
    assert all(answer.value == pytest.approx(honest.value, abs=1) for answer in found)
