"""What a session holds: read only once the ledger knows, and by nobody once it is closed."""

import copy
import os
import threading
from fractions import Fraction

import pytest
from tests.interrupts import everywhere, interrupted
from tests.unit.curator.conftest import BY_ROW, people
from tests.unit.curator.sessions.opened import ALL, ROWS, laplace, line, opened, total

import discreet as dp
from discreet.core.errors import (
    ConversationClosed,
    DiscreetError,
    EngineFailed,
    InvalidParameter,
    NeighboursMismatch,
    ReadFailed,
    Refused,
    TableClosed,
    TableHeld,
)
from discreet.curator import ledger
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.sessions import holding, purchases, session, spending
from discreet.curator.sessions.session import Session
from discreet.data import Table
from discreet.queries import Marginals


def test_data_are_read_after_the_ledger_knows():
    states = []
    with opened() as one:

        def read(table):
            states.append(one.history[0].state)
            assert one.left == 0.5
            return table.histogram(["region"]).total

        one.run(laplace(Fraction(1, 2)), read)
        assert states == ["started"]
        assert one.history[0].state == "finished"


def test_what_the_owners_function_says_is_withheld_and_the_charge_stays():
    def read(table):
        raise ValueError("row 4711 of Ann")

    with opened() as one:
        with pytest.raises(ReadFailed) as caught:
            one.run(laplace(Fraction(1, 2)), read)
        assert isinstance(caught.value, EngineFailed) and "4711" not in str(caught.value)
        assert caught.value.__context__ is None and caught.value.__cause__ is None
        assert one.left == 0.5 and one.history[0].state == "started"


def test_an_engine_that_fails_is_paid_all_the_same(monkeypatch):
    def fail(self, prepared, **given):
        raise RuntimeError("row 4711 of Ann")

    with opened() as one:
        monkeypatch.setattr(Table, "answer", fail)
        with pytest.raises(EngineFailed) as caught:
            one.sql(ALL, epsilon=0.5)
        assert "4711" not in str(caught.value) and caught.value.__context__ is None
        assert one.left == 0.5
        monkeypatch.undo()
        one.sql(ALL, epsilon=0.5)
        assert one.left == 0


def test_our_own_errors_are_told_without_what_they_came_from():
    def read(table):
        try:
            raise KeyError("Ann")
        except KeyError:
            return "no number"

    with opened() as one:
        with pytest.raises(InvalidParameter) as caught:
            one.run(laplace(Fraction(1, 2)), read)
        assert caught.value.__context__ is None
        assert one.left == 0.5


def test_ctrl_c_while_data_are_read_gives_nothing_back():
    def read(table):
        table.histogram(["region"])
        raise KeyboardInterrupt

    with opened() as one:
        with pytest.raises(KeyboardInterrupt):
            one.run(laplace(Fraction(1, 2)), read)
        assert one.left == 0.5 and one.history[0].state == "started"


def test_an_interrupt_at_any_line_never_refunds_what_was_seen():
    data = line()

    def attempt(at):
        one, seen = Session(data, epsilon=1, delta=0), []

        def read(histogram):
            seen.append(True)
            return histogram.total

        def work():
            one.run(laplace(Fraction(1, 4)), read)

        came = interrupted(work, at, spending, ledger, session, purchases, holding)
        assert one.left in (0.75, 1.0)
        if seen:
            assert one.left == 0.75, "data were touched and the charge is gone"
            assert len(one.history) == 1
        if one.left == 1:
            assert all(entry.state == "voided" for entry in one.history)
        one.run(laplace(Fraction(1, 4)), read)  # no lock is left behind
        return came

    everywhere(attempt, least=30)


# --- closed, copied, forked, twice ----------------------------------------------------------------------
def test_a_closed_session_answers_nothing_and_reads_nothing():
    one = opened()
    one.sql(ALL, epsilon=0.25)
    conversation = one.open(
        dp.AboveThreshold(threshold=10, sensitivity=1, epsilon=Fraction(1, 4), delta=0, neighbours=ROWS),
        lambda table: table.histogram(["region"]),
    )
    one.close()
    one.close()
    for ask in (
        lambda: one.sql(ALL, epsilon=0.25),
        lambda: one.plan(ALL, epsilon=0.25),
        lambda: one.run(laplace(Fraction(1, 4)), total),
        lambda: one.release(Marginals.of_order(one.universe(["region"]), 1), epsilon=0.1, delta=0),
    ):
        with pytest.raises(Refused, match="closed"):
            ask()
    with pytest.raises(ConversationClosed, match="session"):
        conversation.ask(lambda data: 0)
    assert one.left == 0.5 and len(one.history) == 2, "what was paid for can still be read"
    assert "closed" in repr(one)


def test_a_conversation_that_is_opened_while_the_session_closes_is_closed_too():
    one = opened()

    class Closing(dp.AboveThreshold):
        def open(self, data, *, rng):
            threading.Thread(target=one.close).start()
            while not one._purse.closed:
                pass
            return dp.AboveThreshold.open(self, data, rng=rng)

    mechanism = Closing(threshold=10, sensitivity=1, epsilon=Fraction(1, 4), delta=0, neighbours=ROWS)
    assert one.open(mechanism, lambda table: table.histogram(["region"])).closed


def test_a_second_session_on_the_same_table_is_refused():
    table = Table(people(50), schema=BY_ROW)
    with pytest.raises(InvalidParameter):
        Session(table, epsilon=-1, delta=0)  # which takes nothing away
    with pytest.raises(NeighboursMismatch):
        Session(table, ledger=Ledger(epsilon=1, delta=0, neighbours=dp.Replace("row")))
    with Session(table, epsilon=1, delta=0) as one:
        for again in (
            lambda: Session(table, epsilon=1, delta=0),
            lambda: table.sql(ALL, epsilon=1, delta=0),
            lambda: table.histogram(["region"]),
            lambda: list(table.marginals([["region"]])),
            table.hand_over,
        ):
            with pytest.raises(TableHeld):
                again()
        assert table.universe(["region"]) == one.universe(["region"]), "public facts stay"
        assert table.plan(ALL, epsilon=1, delta=0).epsilon == 1
        assert one.sql(table.plan(ALL, epsilon=1, delta=0)).columns == ("n",)
    assert "people" in repr(table)
    with pytest.raises(TableHeld):
        Session(table, epsilon=1, delta=0)


def test_two_threads_cannot_both_have_a_table():
    for _ in range(20):
        table, made, refused = Table(people(5), schema=BY_ROW), [], []
        gate = threading.Barrier(4)

        def take(table=table, made=made, refused=refused, gate=gate):
            gate.wait()
            try:
                made.append(Session(table, epsilon=1, delta=0))
            except TableHeld as problem:
                refused.append(problem)

        threads = [threading.Thread(target=take) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(made) == 1 and len(refused) == 3
        made[0].close()


def test_a_table_that_its_owner_closed_is_refused_before_anything_is_charged():
    with Table(people(50), schema=BY_ROW) as table:
        one = Session(table, epsilon=1, delta=0)
    workload = Marginals.of_order(one.universe(["region"]), 1)
    for ask in (
        lambda: one.sql(ALL, epsilon=0.5),
        lambda: one.release(workload, epsilon=0.5, delta=0),
        lambda: one.run(laplace(0.5), lambda table: table.histogram(["region"]).total),
    ):
        with pytest.raises(TableClosed):
            ask()
    assert one.left == 1 and not one.history


def test_closing_the_owners_table_closes_the_sessions():
    table = Table(people(20), schema=BY_ROW)
    one = Session(table, epsilon=1, delta=0)
    table.close()
    with pytest.raises(DiscreetError):
        one.sql(ALL, epsilon=0.5)


def test_a_loan_is_over_when_the_function_returns():
    kept = []
    with opened() as one:
        one.run(laplace(Fraction(1, 4)), lambda table: kept.append(table) or 3)
        lent = kept[0]
        for reading in (lent.histogram, lent.universe, lambda: lent.marginals([["region"]])):
            with pytest.raises(Refused, match="lent"):
                reading()
        assert repr(lent) == "TableLoan(...)"
        assert not hasattr(lent, "__dict__")


def test_a_session_cannot_be_copied_pickled_or_forked(monkeypatch):
    one = Session(line(), epsilon=1, delta=0)
    for double in (copy.copy, copy.deepcopy, lambda each: each.__reduce_ex__(4)):
        with pytest.raises(DiscreetError, match="double"):
            double(one)
    there = os.getpid() + 1
    monkeypatch.setattr(os, "getpid", lambda: there)
    with pytest.raises(DiscreetError, match="another process"):
        one.run(laplace(Fraction(1, 4)), total)
