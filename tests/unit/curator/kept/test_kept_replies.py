"""Replies that a book keeps: a key stands for one reply, for ever, and nothing is bought twice."""

import json
import sqlite3
import threading
import time
from fractions import Fraction

import pytest
from tests.quick_disk import tmp_path
from tests.unit.curator.conftest import curator
from tests.unit.curator.ledger.conftest import book, ledger_server

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import (
    BudgetExceeded,
    EngineFailed,
    InvalidParameter,
    KeyReused,
    LedgerRefused,
    Refused,
)
from discreet.curator import failures, limits
from discreet.curator.kept import kept_replies
from discreet.curator.kept.kept_replies import KeptReplies
from discreet.curator.kept.written_reply import write_reply
from discreet.curator.ledger.books.files import open_book
from discreet.curator.service import Service
from discreet.data import Table

__all__ = ["book", "ledger_server", "tmp_path"]
BY_REGION = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
INCOME = "SELECT region, AVG(income) AS mean, COUNT(*) AS n FROM people GROUP BY region"
PRICED = {"shared": 0, "epsilon": 4, "delta": 0, "question": (Fraction(1, 4), 0)}
PRICE = {"epsilon": Fraction(1, 4)}


def told(reply):
    return json.dumps(write_reply(reply))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


class Crash(BaseException):
    """The end of a process, as far as a test can have it."""


# Keys ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("given", "text"), [(PRICED, INCOME), ({}, BY_REGION)], ids=["priced", "free"])
def test_a_key_stands_for_one_reply(book, given, text):
    """In every kind of book, in this curator and the next one; retries are in no history."""
    with curator(ledger=book, **given) as one:
        acme = one.analyst("acme")
        first = acme.sql(text, key="k1", insist=True)
        again = acme.sql(f"  {text.lower().replace('people', 'People')} ", key="k1", insist=True)
        assert told(first) == told(again) and not again.repeated
        assert again.intervals is not first.intervals  # whoever writes in hers spoils no other
        assert len(acme.history) == 1
        entries = one.ledger.entries()
    with curator(ledger=book, **given) as one:
        acme = one.analyst("acme")
        later = acme.sql(text, key="k1", insist=True)
        assert told(later) == told(first)
        assert repr(later) == repr(first)
        assert one.ledger.entries() == entries
        assert one.ledger.spent() == (PRICE if given is PRICED else {name: 0 for name in one.ledger.budget})


def test_what_a_key_stands_for_is_the_whole_request(book):
    with curator(ledger=book, **PRICED) as one:
        acme = one.analyst("acme")
        one.ledger.cap_study("flu", Fraction(1, 2), purpose="how the flu spread")
        asked = {"query": INCOME, "insist": True, "key": "k1"}
        acme.sql(**asked)
        for change in (
            {"query": f"{INCOME} LIMIT 1"},
            {"query": INCOME.replace("mean", "average")},
            {"fresh": True},
            {"insist": False},
            {"study": "flu"},
        ):
            with pytest.raises(KeyReused):
                acme.sql(**asked | change)
        assert one.ledger.spent() == PRICE
        assert one.analyst("blue").sql(INCOME, key="k1").repeated  # her key is another one


def test_a_key_for_numbers_that_were_given_before_is_remembered_too(book):
    with curator(ledger=book, **PRICED) as one:
        acme = one.analyst("acme")
        acme.sql(INCOME, insist=True)
        reply = acme.sql(f"{INCOME} ORDER BY mean LIMIT 2", insist=True, key="k1")
        assert reply.repeated and len(reply) == 2
        with pytest.raises(KeyReused):
            acme.sql(INCOME, insist=True, key="k1")
    with curator(ledger=book, **PRICED) as one:
        assert told(
            one.analyst("acme").sql(f"{INCOME} ORDER BY mean LIMIT 2", insist=True, key="k1")
        ) == told(reply)
        assert one.ledger.spent() == PRICE


@pytest.mark.parametrize(("given", "text"), [(PRICED, INCOME), ({}, BY_REGION)], ids=["priced", "free"])
def test_many_threads_with_one_key_are_charged_once(book, given, text):
    with curator(ledger=book, **given) as one:
        acme, replies, start = one.analyst("acme"), [], threading.Barrier(64)

        def ask():
            start.wait(60)
            replies.append(acme.sql(text, key="k1", insist=True))

        threads = [threading.Thread(target=ask) for _ in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(replies) == 64 and len(set(map(told, replies))) == 1
        assert len(one.ledger.entries()) == (given is PRICED)


@pytest.mark.parametrize("is_answered", [True, False])
def test_two_processes_with_one_key_are_charged_once_and_say_the_same(path, monkeypatch, is_answered):
    """Both were new to the key when they looked. The second goes on while the first may still be at it."""
    books = [open_book(path, together=True) for _ in range(2)]
    first, second = (curator(ledger=one, **PRICED) for one in books)
    replies = []
    keep, look = Service._keep, KeptReplies.find_use

    def overtake(self, *given):
        """Let the other one answer between the engine's answer and its keeping."""
        if self is first._service:
            replies.append(second.analyst("acme").sql(INCOME, insist=True, key="k1"))
        return keep(self, *given)

    def know_nothing(self, *given):
        return None if self is second._service._kept else look(self, *given)

    with monkeypatch.context() as patch:
        patch.setattr(KeptReplies, "find_use", know_nothing)
        patch.setattr(KeptReplies, "find_bought", lambda self, *given: None)
        if not is_answered:
            patch.setattr(Service, "_keep", overtake)
        replies.append(first.analyst("acme").sql(INCOME, insist=True, key="k1"))
        if is_answered:
            replies.append(second.analyst("acme").sql(INCOME, insist=True, key="k1"))
    assert told(replies[0]) == told(replies[1])
    second.ledger._book.refresh()
    assert first.ledger.spent() == second.ledger.spent() == PRICE
    for one in (first, second, *books):
        one.close()


@pytest.mark.parametrize("key", ["", " ", "k" * 256, "kö", "a\nb", "a\0", 7, b"k"])
def test_a_key_is_short_plain_text(key):
    with curator(**PRICED) as one, pytest.raises(InvalidParameter, match="key"):
        one.analyst("acme").sql(INCOME, insist=True, key=key)
    with curator(**PRICED) as one:
        one.analyst("acme").sql(INCOME, insist=True, key="k" * 255)


def test_how_much_is_kept_at_no_cost_is_bounded(monkeypatch):
    monkeypatch.setattr(limits, "KEYS", 2)
    with curator() as one:
        acme = one.analyst("acme")
        for key in "ab":
            acme.sql(BY_REGION, key=key)
        with pytest.raises(Refused, match="Ask without a key"):
            acme.sql(BY_REGION, key="c")
        acme.sql(BY_REGION)
        acme.sql(BY_REGION, key="a")
        one.analyst("blue").sql(BY_REGION, key="c")


# Charged and not answered --------------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["_measure", "_keep"])
def test_what_was_charged_under_a_key_and_never_said_is_answered_once(path, monkeypatch, place):
    """A crash after the charge, while the engine works or before its answer is kept."""

    def crash(*given):
        raise Crash

    with curator(ledger=path, **PRICED) as one:
        with monkeypatch.context() as patch:
            patch.setattr(Service, place, crash)
            with pytest.raises(Crash):
                one.analyst("acme").sql(INCOME, insist=True, key="k1")
        assert one.ledger.entries()[0].state == "started"
    replies = []
    for _ in range(2):
        with curator(ledger=path, **PRICED) as one:
            acme = one.analyst("acme")
            for text in (f"{INCOME} LIMIT 1", INCOME):
                if text != INCOME:
                    with pytest.raises(KeyReused):
                        acme.sql(text, insist=True, key="k1")
                    continue
                replies.append(acme.sql(text, insist=True, key="k1"))
            assert one.ledger.entries()[0].state == "finished"
            assert one.ledger.spent() == PRICE
            assert acme.sql(INCOME, insist=True).repeated  # and it is bought for everybody
    assert told(replies[0]) == told(replies[1])
    assert replies[0].cost == PRICE and not replies[0].repeated


def test_an_interrupt_leaves_the_key_to_whoever_asks_again(monkeypatch):
    """In the same life: what was charged is answered, what was given back is charged anew."""
    for place, state in (("_measure", "started"), ("_require_open", "voided")):
        with curator(**PRICED) as one:
            acme = one.analyst("acme")
            plain, calls = getattr(Service, place), []

            def fail(self, *given, plain=plain, calls=calls, place=place):
                calls.append(given)
                if place == "_measure" or len(calls) == 3:  # the third time is behind the reservation
                    raise KeyboardInterrupt
                return plain(self, *given)

            with monkeypatch.context() as patch:
                patch.setattr(Service, place, fail)
                with pytest.raises(KeyboardInterrupt):
                    acme.sql(INCOME, insist=True, key="k1")
            assert [entry.state for entry in one.ledger.entries()] == [state]
            reply = acme.sql(INCOME, insist=True, key="k1")
            assert told(acme.sql(INCOME, insist=True, key="k1")) == told(reply)
            assert one.ledger.spent() == PRICE


def test_what_would_be_answered_otherwise_now_is_not_answered_on_an_old_charge(path, monkeypatch):
    with curator(ledger=path, **PRICED) as one, monkeypatch.context() as patch:
        patch.setattr(Service, "_keep", lambda *given: (_ for _ in ()).throw(Crash()))
        with pytest.raises(Crash):
            one.analyst("acme").sql(INCOME, insist=True, key="k1")
    with curator(ledger=path, **PRICED | {"question": (Fraction(1, 2), 0)}) as one:
        with pytest.raises(LedgerRefused, match="new key"):
            one.analyst("acme").sql(INCOME, insist=True, key="k1")
        assert one.ledger.spent() == PRICE


def test_a_failure_that_was_told_is_told_again(path, monkeypatch):
    """Whether the engine fails may depend on the data: an answer beside it would be a second one."""

    def fail(*given, **named):
        raise RuntimeError("secret")

    with curator(ledger=path, **PRICED) as one, monkeypatch.context() as patch:
        patch.setattr(Table, "answer", fail)
        with pytest.raises(EngineFailed):
            one.analyst("acme").sql(INCOME, insist=True, key="k1")
    for _ in range(2):
        with curator(ledger=path, **PRICED) as one:
            acme = one.analyst("acme")
            with pytest.raises(EngineFailed):
                acme.sql(INCOME, insist=True, key="k1")
            assert one.ledger.spent() == PRICE
    with curator(ledger=path, **PRICED) as one:  # another request is another charge
        assert one.analyst("acme").sql(INCOME, insist=True, key="k2").cost == PRICE


def test_whoever_saw_the_engine_fail_too_often_has_no_earlier_charge_answered_either(path, monkeypatch):
    """Each failure may tell one bit, whichever life its question was charged in."""
    with curator(ledger=path, **PRICED) as one, monkeypatch.context() as patch:
        patch.setattr(Service, "_measure", lambda *given: (_ for _ in ()).throw(Crash()))
        with pytest.raises(Crash):
            one.analyst("acme").sql(INCOME, insist=True, key="k1")
    with curator(ledger=path, **PRICED) as one:
        acme = one.analyst("acme")
        with monkeypatch.context() as patch:
            patch.setattr(Table, "answer", None)
            for age in range(21, 21 + failures.MOST):
                with pytest.raises(EngineFailed):
                    acme.sql(f"SELECT COUNT(*) AS n FROM people WHERE age > {age}", insist=True)
            with pytest.raises(Refused, match="within a day"):
                acme.sql(INCOME, insist=True, key="k1")
        now = time.time()
        monkeypatch.setattr(time, "time", lambda: now + 86_500)
        assert acme.sql(INCOME, insist=True, key="k1").cost == PRICE


# What was bought before ----------------------------------------------------------------------------------


def test_what_was_bought_is_given_again_in_a_later_life(book):
    with curator(ledger=book, **PRICED) as one:
        first = one.analyst("acme").sql(INCOME, insist=True)
        assert (first.receipt is not None) == book.durable
    with curator(ledger=book, **PRICED) as one:
        blue = one.analyst("blue")
        assert blue.plan(INCOME).kind == "repeated"
        assert blue.plan(INCOME).error("n") is not None
        again = blue.sql(
            "SELECT COUNT(*) AS people, region FROM people GROUP BY region ORDER BY 1 DESC LIMIT 1"
        )
        assert again.cost == PRICE  # fewer numbers are another question
        turned = blue.sql(f"{INCOME} ORDER BY mean DESC LIMIT 2")
        assert turned.repeated and not turned.cost and turned.receipt is None
        best = sorted(first.rows, key=lambda row: -row[1])[:2]
        assert list(turned.rows) == best
        same = blue.sql(INCOME)
        assert same.rows == first.rows and same.intervals == first.intervals
        assert same.interval("mean", 0.99) == first.interval("mean", 0.99)
        assert one.ledger.spent() == {"epsilon": Fraction(1, 2)}


def test_noise_of_another_plan_is_not_taken_for_this_one(path, monkeypatch):
    with curator(ledger=path, **PRICED) as one:
        first = one.analyst("acme").sql(INCOME, insist=True, key="k1")
    with curator(ledger=path, **PRICED | {"question": (Fraction(1, 2), 0)}) as one:
        acme = one.analyst("acme")
        assert told(acme.sql(INCOME, insist=True, key="k1")) == told(first)  # as it was shown
        other = acme.sql(INCOME, insist=True)
        assert other.cost == {"epsilon": Fraction(1, 2)} and other.rows != first.rows
    monkeypatch.setattr(kept_replies, "find_plan_digest", lambda plan: "of another version")
    with curator(ledger=path, **PRICED) as one:
        assert one.analyst("acme").sql(INCOME, insist=True).cost == PRICE


def test_an_answer_that_is_lost_is_bought_again_but_not_under_its_key(path):
    with curator(ledger=path, **PRICED) as one:
        one.analyst("acme").sql(INCOME, insist=True, key="k1")
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE answers SET answer = x'00'")
    connection.close()
    with curator(ledger=path, **PRICED) as one:
        acme = one.analyst("acme")
        with pytest.raises(LedgerRefused, match="lost or damaged"):
            acme.sql(INCOME, insist=True, key="k1")
        assert acme.sql(INCOME, insist=True).cost == PRICE
        assert one.ledger.spent() == {"epsilon": Fraction(1, 2)}


def test_under_a_promise_nobody_is_given_what_another_bought(path):
    given = PRICED | {"promise": OneAnalystToMany()}
    shares = {"acme": Fraction(1, 2), "blue": Fraction(1, 2)}
    with curator(ledger=path, **given) as one:
        first = one.analyst("acme", share=shares["acme"]).sql(INCOME, insist=True, key="k1")
        assert first.receipt is None  # its place would tell how many others asked
    with curator(ledger=path, **given) as one:
        acme, blue = (one.analyst(name, share=part) for name, part in shares.items())
        assert blue.plan(INCOME).kind == "priced"
        assert blue.sql(INCOME, insist=True, key="k1").cost == PRICE
        assert told(acme.sql(INCOME, insist=True, key="k1")) == told(first)
        assert acme.sql(INCOME, insist=True).rows == first.rows
        assert one.ledger.spent("acme") == PRICE


# Studies -------------------------------------------------------------------------------------------------


def test_a_study_is_charged_beside_the_analyst(book):
    with curator(ledger=book, **PRICED) as one:
        one.ledger.cap_study("flu", Fraction(1, 16), purpose="how the flu spread")
        acme = one.analyst("acme")
        assert acme.plan(INCOME, study="flu").cost == PRICE
        acme.sql(INCOME, insist=True, study="flu")
        assert [entry.study for entry in one.ledger.entries()] == ["flu"]
        with pytest.raises(BudgetExceeded, match="study flu"):
            acme.sql(f"{INCOME} HAVING n > 5".replace("AVG", "SUM"), insist=True, study="flu")
        for ask in (acme.plan, acme.sql):
            with pytest.raises(InvalidParameter, match="the owner registered"):
                ask(INCOME, study="cold")
        assert one.ledger.spent() == PRICE
