"""Work and memory that cost nothing have an end, and nobody waits for what another one asks."""

import math
import sys
import threading
import time

import numpy as np
import pandas
import pytest
from tests.unit.curator.conftest import curator

import discreet as dp
from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import Refused
from discreet.curator import history, limits, records
from discreet.curator.curator import Curator
from discreet.curator.hypotheses.shared import Shared
from discreet.data import Integer, Row, Schema, Table, ask
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.rectangles import Rectangles
from discreet.queries.query import ProductQuery, TableQuery
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries
from discreet.query_release.online import batch as online_batch
from discreet.query_release.online import history as online_history
from discreet.query_release.online.boxes import _Listed
from discreet.query_release.online.conversation import WeightsConversation
from discreet.query_release.synopses.online_answer import OnlineAnswer

MEAN = "SELECT AVG(income) AS mean FROM people"
EAST = "SELECT COUNT(*) AS n FROM people WHERE region = 'east'"
ODD = "SELECT COUNT(*) AS n FROM people WHERE region = 'east' OR age < 25"
BY_ALL = "SELECT region, age, smoker, COUNT(*) AS n FROM people GROUP BY region, age, smoker"


def wide(*sizes, **given):
    """A curator of whole numbers from 0, and a few made-up rows."""
    generator = np.random.default_rng(3)  # noqa: TID251
    frame = pandas.DataFrame({f"c{i}": generator.integers(0, size, 500) for i, size in enumerate(sizes)})
    columns = tuple(Integer(f"c{i}", lower=0, upper=size - 1) for i, size in enumerate(sizes))
    schema = Schema("t", columns=columns, unit=Row(), neighbours=dp.AddRemove("row"))
    public = {"epsilon": 1, "delta": 1e-6, "columns": list(frame), **given}
    return Curator(Table(frame, schema=schema), **public)


# Work -------------------------------------------------------------------------------------------------


def calls_of(act):
    """Count the functions that are called: the same on every machine."""
    count = 0

    def seen(frame, event, argument):
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(seen)
    try:
        act()
    finally:
        sys.setprofile(None)
    return count


def seconds_of(act):
    """Processor time of the quickest of three."""
    taken = []
    for _ in range(3):
        start = time.thread_time()
        act()
        taken.append(time.thread_time() - start)
    return min(taken)


WORST = {
    "plain groups": "SELECT c0, c1, c2, COUNT(*) AS n FROM t GROUP BY c0, c1, c2",
    "a condition over two columns": "SELECT c0, c1, COUNT(*) AS n FROM t WHERE c1 < c2 GROUP BY c0, c1",
    "a condition over other columns": "SELECT c0, COUNT(*) AS n FROM t WHERE c1 < c2 GROUP BY c0",
    "a condition over all columns": (
        "SELECT c0, c1, c2, COUNT(*) AS n FROM t WHERE c0 < c1 OR c2 > c0 GROUP BY c0, c1, c2"
    ),
    "every grouping": "SELECT c0, c1, c2, COUNT(*) AS n FROM t GROUP BY CUBE(c0, c1, c2)",
}


@pytest.fixture(scope="module", params=[None, OneAnalystToMany()], ids=["shared", "published"])
def two_sizes(request):
    """Curators of cubes, the second of eight times the cells."""
    with (
        wide(12, 12, 12, promise=request.param, tick=0) as small,
        wide(24, 24, 24, promise=request.param, tick=0) as large,
    ):
        yield small, large


@pytest.mark.parametrize("text", WORST.values(), ids=WORST)
def test_free_groups_cost_no_more_than_n_log_n(two_sizes, text):
    """Eight times the cells: at most 8 log(8 n) / log(n) times the calls, and less than quadratic time."""
    work, seconds = [], []
    for one in two_sizes:
        acme = one.analyst("acme", share=1)

        def fresh(acme=acme, one=one):
            one._service._records = records.Records()
            assert acme.sql(text).kind != "priced"

        fresh()
        work.append(calls_of(fresh))
        seconds.append(seconds_of(fresh))
    small, large = 12**3, 24**3
    growth = large * math.log(large) / (small * math.log(small))
    assert work[1] <= growth * work[0]
    assert seconds[1] <= 3 * growth * (seconds[0] + 0.002), "a quadratic one takes 64 times as long"


@pytest.mark.parametrize("promise", [None, OneAnalystToMany()])
def test_more_groups_than_are_answered_at_once_are_refused_by_name(monkeypatch, promise):
    with wide(60, 50, 50, promise=promise, tick=0, shared=0.5) as one:
        acme = one.analyst("acme", share=1)
        monkeypatch.setattr(limits, "GROUPS", 100_000)
        text = "SELECT c0, c1, c2, COUNT(*) AS n FROM t GROUP BY c0, c1, c2"
        for act in (
            lambda: acme.sql(text),
            lambda: acme.plan(text),
            lambda: acme.ask(Marginals(acme.universe, [acme.universe.names])),
        ):
            with pytest.raises(Refused, match=r"1[0-9]* numbers.*at most 100000.*fewer groups"):
                act()
        assert acme.history == ()
        assert not any(one.ledger.spent().values()), "it did not become a question that is paid for"
        assert acme.plan(text, fresh=True).kind == "priced"


def test_conditions_that_take_too_much_work_are_refused_by_name(monkeypatch):
    with wide(20, 20, 20) as one:
        acme = one.analyst("acme")
        monkeypatch.setattr(limits, "WORK", 1)
        parts = " OR ".join(f"c0 + {i} * c1 < c2" for i in range(3))
        with pytest.raises(Refused, match=r"too much work.*shorter condition.*fresh=True buys"):
            acme.sql(f"SELECT COUNT(*) AS n FROM t WHERE {parts}")
        assert acme.sql("SELECT COUNT(*) AS n FROM t WHERE c0 < c1 OR c0 > c2").kind != "priced"


def test_columns_of_the_same_number_are_work_too(monkeypatch):
    with wide(20, 20) as one:
        acme = one.analyst("acme")
        monkeypatch.setattr(limits, "SHOWN", 100)
        monkeypatch.setattr(limits, "COMPUTED", 50)
        asked = "SELECT c0, {} FROM t GROUP BY c0"
        for column, most in (("COUNT(*) AS n{}", 5), ("AVG(CASE WHEN c1 > 9 THEN 1 ELSE 0 END) AS m{}", 2)):
            columns = [column.format(i) for i in range(most + 1)]
            with pytest.raises(Refused, match=r"too much work.*fresh=True buys"):
                acme.sql(asked.format(", ".join(columns)))
            assert acme.sql(asked.format(", ".join(columns[:most]))).kind != "priced"


def test_workloads_that_take_too_much_work_are_refused_by_name(monkeypatch):
    with wide(20, 20, 20) as one:
        acme = one.analyst("acme")
        monkeypatch.setattr(limits, "WORK", 1)  # what remains is 16 looks at every cell
        whole = TableQuery(acme.universe, (0, 1, 2), "q", table=np.ones((21, 21, 21), dtype=bool))
        with pytest.raises(Refused, match="too much work"):
            acme.ask(Queries(acme.universe, [whole] * 17))
        assert acme.history == ()
        assert len(acme.ask(Queries(acme.universe, [whole]))) == 1


def test_many_values_of_one_attribute_are_read_in_one_pass():
    """Sets of codes are compared by their runs: a table of n groups is not n squared bits."""
    with wide(30_000, shared=0.5) as one:
        acme = one.analyst("acme")
        assert len(acme.sql("SELECT c0, COUNT(*) AS n FROM t GROUP BY c0")) == 30_000
        assert seconds_of(lambda: acme.ask(Marginals(acme.universe, [["c0"]]))) < 3


def test_a_price_is_worked_out_only_where_someone_looks_at_it(monkeypatch):
    priced = []
    real = ask.budget
    monkeypatch.setattr(ask, "budget", lambda *given: priced.append(1) or real(*given))
    with curator() as one:
        acme = one.analyst("acme")
        acme.plan(EAST)
        acme.sql(EAST)
        acme.sql(EAST)
        assert priced == []
        acme.plan(EAST, fresh=True)
        assert priced == [1]
        acme.sql(MEAN)
        acme.sql(MEAN)
        assert priced == [1, 1]


# Memory -----------------------------------------------------------------------------------------------


def test_the_history_keeps_the_latest_questions_and_says_so(monkeypatch):
    monkeypatch.setattr(history, "HISTORY", 3)
    monkeypatch.setattr(history, "TEXT", 20)
    with curator() as one:
        acme = one.analyst("acme")
        for age in range(20, 25):
            acme.sql(f"SELECT COUNT(*) AS n FROM people WHERE age = {age}")
        assert [asked.number for asked in acme.history] == [2, 3, 4]
        assert all(len(asked.what) == 20 and asked.what.endswith("…") for asked in acme.history)
        assert repr(acme) == "<Analyst acme: 5 asked, the last 3 in the history>"


def test_records_fall_out_oldest_first_and_free_ones_push_out_none_that_was_paid_for(monkeypatch):
    monkeypatch.setattr(records, "ROWS", 10)
    monkeypatch.setattr(records, "LEAST_ROWS", 2)
    with curator(epsilon=20) as one:
        acme, blue = one.analyst("acme"), one.analyst("blue")
        paid, other = acme.sql(MEAN), blue.sql(EAST)
        for age in range(20, 30):
            acme.sql(f"SELECT COUNT(*) AS n FROM people WHERE age = {age}")
        assert acme.sql(MEAN).rows == paid.rows and acme.sql(MEAN).repeated
        assert blue.sql(EAST).rows == other.rows and blue.sql(EAST).repeated, "blue's are her own"
        assert acme.plan("SELECT COUNT(*) AS n FROM people WHERE age = 29").kind == "repeated"
        assert acme.plan("SELECT COUNT(*) AS n FROM people WHERE age = 20").kind == "shared"
        for age in range(21, 29):
            acme.sql(f"{MEAN} WHERE age < {age}")
        assert acme.plan(MEAN).kind == "repeated", "what fell out was paid for: the ledger has it"
        assert acme.sql(MEAN).rows == paid.rows
        assert len(one._service._records._replies) <= 3 * 10 // 2


def test_short_replies_take_room_as_well():
    """Each holds its question, so a long life of small ones must end somewhere."""
    kept = records.Records()

    class Short:
        kind, groups = "free", 1

    for key in range(2000):
        kept.keep("acme", key, Short())
    assert len(kept._replies) == records.ROWS // records.LEAST_ROWS < 1000


def test_a_reply_that_is_longer_than_the_room_is_kept_alone(monkeypatch):
    monkeypatch.setattr(records, "ROWS", 10)
    monkeypatch.setattr(records, "LEAST_ROWS", 2)
    with curator() as one:
        acme = one.analyst("acme")
        assert len(acme.sql(BY_ALL)) > 10
        assert acme.sql(BY_ALL).repeated
        acme.sql(EAST)
        assert not acme.sql(BY_ALL).repeated


def test_the_record_of_the_conversation_has_an_end(monkeypatch):
    """What was measured stays; other answers fall out, and are given again, as good as before."""
    monkeypatch.setattr(online_history, "RECORDED", 5)
    with curator(epsilon=20) as one:
        acme, universe = one.analyst("acme"), one.universe
        kept = one._shared._conversation._record
        masks = [
            np.arange(math.prod(universe.shape)).reshape(universe.shape) % 7 == rest for rest in range(7)
        ]
        odd = [TableQuery(universe, (0, 1, 2), "odd", table=mask | (masks[0])) for mask in masks]
        kinds = [acme.ask(query).kind for query in odd]
        assert len(kept._others) == min(5, kinds.count("free"))
        assert len(kept._measured) == kinds.count("measured")


def test_what_the_tables_tell_is_not_recorded():
    """It is worked out again: the same numbers, whoever asks, without a place in memory for each."""
    with curator() as one:
        acme, kept = one.analyst("acme"), one._shared._conversation._record
        first = acme.ask(Marginals(acme.universe, [["region", "age"]]))
        assert first == acme.ask(Marginals(acme.universe, [["region", "age"]]))
        assert not kept._others and not kept._measured


def test_what_nothing_meets_is_nothing_and_asks_no_gate():
    with curator() as one:
        acme, conversation = one.analyst("acme"), one._shared._conversation
        text = "SELECT region, COUNT(*) AS n FROM people WHERE region = 'east' GROUP BY region"
        assert [row[0] for row in acme.sql(text).rows] == ["east"], (
            "groups that WHERE leaves out are not listed"
        )
        never = ProductQuery(acme.universe, (0,), "never", masks=[np.zeros(4, dtype=bool)])
        assert acme.ask(never) == OnlineAnswer(0.0, 0.0, "free")
        assert conversation.tested == 0


# Locks ------------------------------------------------------------------------------------------------


class Held:
    """Keeps the first call of a method waiting until it is let go."""

    def __init__(self, monkeypatch, owner, name):
        self.inside, self.free, real = threading.Event(), threading.Event(), getattr(owner, name)

        def slow(one, *given, **public):
            if not self.inside.is_set():
                self.inside.set()
                assert self.free.wait(60)
            return real(one, *given, **public)

        monkeypatch.setattr(owner, name, slow)


def all_of(one, door):
    """Everything a door can be asked that needs no engine, and what its owner does meanwhile."""
    door.sql(EAST)
    door.sql(ODD)
    door.sql(BY_ALL)
    door.ask(Marginals(door.universe, [["region", "smoker"]]))
    door.ask(Marginals(door.universe, [["age"]]).query(2))
    door.plan(MEAN)
    for refused in ("SELECT income FROM people", "", "SELECT COUNT(*) FROM nowhere"):
        with pytest.raises(Refused):
            door.sql(refused)
        with pytest.raises(Refused):
            door.plan(refused)
    assert door.left and door.history and repr(door) and repr(one)
    one.analyst(f"more {threading.get_ident()}", share=0.01)


BY_SMOKER = "SELECT smoker, COUNT(*) AS n FROM people GROUP BY smoker"  # no box
HOLDS = {
    "an answer from the hypothesis": (Shared, "_predicates", BY_SMOKER),
    "reading a workload": (WeightsConversation, "read", BY_SMOKER),
    "asking the hypothesis before the gate": (online_batch.Batch, "say", ODD + " AND smoker = 'no'"),
    "the engine": (Table, "answer", MEAN),
}


@pytest.mark.parametrize(("owner", "name", "text"), HOLDS.values(), ids=HOLDS)
def test_nobody_waits_for_what_another_analyst_asks(monkeypatch, owner, name, text):
    with curator(epsilon=8) as one:
        acme, blue = one.analyst("acme", share=0.4), one.analyst("blue", share=0.4)
        held = Held(monkeypatch, owner, name)
        slow = threading.Thread(target=acme.sql, args=(text,))
        slow.start()
        assert held.inside.wait(60)
        for door in (blue, acme):
            done = []
            other = threading.Thread(target=lambda door=door, done=done: done.append(all_of(one, door)))
            other.start()
            other.join(60)
            assert done, "somebody waited"
        assert slow.is_alive()
        held.free.set()
        slow.join(60)
        assert not slow.is_alive()


def test_the_gate_is_had_for_a_block_at_a_time(monkeypatch):
    """Questions of others come in between the blocks of a long workload."""
    monkeypatch.setattr(online_batch, "BLOCK", 4)
    with curator(epsilon=8) as one:
        acme, tested, real = one.analyst("acme"), [], WeightsConversation._test

        def watched(conversation, truth, said):
            tested.append(len(truth))
            return real(conversation, truth, said)

        monkeypatch.setattr(WeightsConversation, "_test", watched)
        acme.sql("SELECT age, COUNT(*) AS n FROM people WHERE region = 'east' OR smoker = 'no' GROUP BY age")
        assert sum(tested) >= 10 and max(tested) <= 4


def test_who_asks_the_same_at_once_pays_once(monkeypatch):
    with curator(shared=0) as one:
        held, replies = Held(monkeypatch, Table, "answer"), []
        doors = [one.analyst(name) for name in ("acme", "blue", "cyan")]
        threads = [threading.Thread(target=lambda d=d: replies.append(d.sql(MEAN))) for d in doors]
        threads[0].start()
        assert held.inside.wait(60)
        for thread in threads[1:]:
            thread.start()
            thread.join(0.05)
        held.free.set()
        for thread in threads:
            thread.join(60)
        assert len({reply.rows for reply in replies}) == 1
        assert sorted(reply.repeated for reply in replies) == [False, True, True]
        assert len(one.ledger.entries()) == 1
        assert not one._service._records._turns


def test_ranges_are_read_alike_one_by_one_and_by_passes():
    """Workloads with other structure are read by whichever way takes less work."""
    universe = Universe([("a", range(9)), ("b", range(7))])
    boxes = Rectangles(universe, [{"a": (i % 4, i % 4 + 3), "b": (i % 3, 5)} for i in range(80)])
    each, passes = _Listed._each(boxes), _Listed._passes(boxes)
    for one, other in zip(each[:3], passes[:3], strict=True):
        assert (one == other).all()
    reading = _Listed(boxes)
    reading._keys = []
    assert reading.keys(np.arange(80)) == each[3]
