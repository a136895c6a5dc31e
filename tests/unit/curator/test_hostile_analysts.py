"""A curious or clumsy analyst, several threads of one, and an owner who makes mistakes."""

import random  # noqa: TID251
import signal
import sys
import threading
import types
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.curator.conftest import BY_ROW, BY_USER, curator, people

import discreet as dp
from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import BudgetExceeded, EngineFailed, InvalidParameter, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss, ZCDPLoss
from discreet.curator.curator import Curator
from discreet.curator.history import History
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ticks import FairLock, Ticks
from discreet.data import Row, Schema, Table, Text
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import LinearQuery
from discreet.queries.workload import Queries
from discreet.queries.written import write_query

MEAN = "SELECT AVG(income) AS mean FROM people"
EAST = "SELECT COUNT(*) AS n FROM people WHERE region = 'east'"
ROWS = dp.AddRemove("row")
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


# Shares -----------------------------------------------------------------------------------------------


@PROMISES
def test_a_share_that_would_not_count_is_refused(promise):
    with curator(shared=0, promise=promise) as one:
        door = one.analyst("acme", share=HALF)
        assert one.analyst("acme") is door
        assert one.analyst("acme", share=0.5) is door
        for other in (0.25, 1):
            with pytest.raises(InvalidParameter, match=r"1/2.*set once"):
                one.analyst("acme", share=other)


def test_a_share_that_was_not_given_is_not_lost():
    with curator(shared=0, promise=OneAnalystToMany()) as one:
        one.ledger.cap("taken", Fraction(1, 10))
        with pytest.raises(InvalidParameter, match=r"the 1/10 that taken has: a share is set once"):
            one.analyst("taken", share=HALF)
        with pytest.raises(InvalidParameter, match=r"at most 9/10: the rest is set aside"):
            one.analyst("acme", share=1)
        assert one.analyst("acme", share=Fraction(9, 10)).share == Fraction(9, 10)


def test_every_share_is_enough_for_keys_that_a_threshold_finds():
    """By default such a question costs less delta than any sensible share has."""
    columns = (Text("who"), *BY_ROW.columns)
    schema = Schema("people", columns=columns, unit=Row(), neighbours=ROWS)
    for promise in (None, OneAnalystToMany()):
        with Curator(
            Table(people(), schema=schema), epsilon=4, delta=1e-6, columns=["region"], promise=promise, tick=0
        ) as one:
            small = one.analyst("small", share=Fraction(3, 10))
            text = "SELECT who, COUNT(*) AS n FROM people GROUP BY who"
            assert 0 < small.sql(text).cost["delta"] <= one.ledger.budget["delta"] / 50


def outcomes(ledger, steps, shares, watched):
    """What one analyst is told: every charge, refusal and balance of her own."""
    seen = []
    for place, share in enumerate(shares):
        ledger.cap(f"a{place}", share)
    for who, cost in steps:
        try:
            ledger.reserve(f"a{who}", "q", Guarantee(cost, ROWS))
            told = "fits"
        except BudgetExceeded as error:
            told = str(error)
        if who == watched:
            seen.append((told, ledger.left(f"a{who}")))
    return seen


SHARES = [(HALF, HALF), (Fraction(1, 3),) * 3, (0.7, 0.3), (Fraction(9, 10), Fraction(1, 100), 0.09)]


@given(data=st.data(), shares=st.sampled_from(SHARES), pure=st.booleans())
@settings(max_examples=50, deadline=None)
def test_shares_within_the_whole_keep_analysts_apart(data, shares, pure):
    """Whatever all others spend, one is told what she would be told alone, to the last digit."""
    who, amount, is_pure = st.integers(0, len(shares) - 1), st.integers(1, 60), st.booleans()
    steps = data.draw(st.lists(st.tuples(who, amount, is_pure), min_size=1, max_size=40))
    priced = [
        (one, PureLoss(Fraction(much, 120)) if pure or plain else ZCDPLoss(Fraction(much, 9000)))
        for one, much, plain in steps
    ]
    watched = data.draw(st.integers(0, len(shares) - 1))

    def ledger():
        return Ledger(epsilon=1, delta=0 if pure else 1e-6, neighbours=ROWS, apart=True)

    alone = outcomes(ledger(), [step for step in priced if step[0] == watched], shares, watched)
    among = ledger()
    assert outcomes(among, priced, shares, watched) == alone
    assert not any(among.left().values()) or sum(map(Fraction, shares)) < 1


@pytest.mark.parametrize("share", [Fraction(1, 3), Fraction(9, 10)])
@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_a_share_apart_is_a_ledger_of_its_own(share, delta):
    """It promises its part of epsilon and delta, so that all shares together promise the whole."""
    steps = [(0, ZCDPLoss(Fraction(1, 3000))), (0, PureLoss(Fraction(1, 40)))] * 60
    steps = [step for step in steps if delta or isinstance(step[1], PureLoss)]
    part = Ledger(epsilon=1, delta=delta, neighbours=ROWS, apart=True)
    own = Ledger(epsilon=share, delta=share * delta, neighbours=ROWS, apart=True)
    told = outcomes(part, steps, (share,), 0)
    assert told == outcomes(own, steps, (1,), 0)
    assert {one[0] == "fits" for one in told} == {True, False}


@pytest.mark.parametrize("delta", [0, 1e-6])
def test_shares_of_one_budget_do_not(delta):
    """The same comparison sees what leaks where one budget has two ways to go on, or is too small."""
    first = PureLoss(HALF) if not delta else ZCDPLoss(Fraction(1, 100))
    steps = [(0, first), (1, PureLoss(HALF)), (1, PureLoss(Fraction(1, 10)))]

    def told(asked, **given):
        ledger = Ledger(epsilon=1, delta=delta, neighbours=ROWS, **given)
        return outcomes(ledger, asked, (HALF, HALF if delta else Fraction(3, 4)), 1)

    assert told(steps) != told(steps[1:])
    if delta:
        assert told(steps, apart=True) == told(steps[1:], apart=True)


# Closing ----------------------------------------------------------------------------------------------


@PROMISES
def test_a_closed_curator_answers_and_charges_nothing(promise):
    with curator(promise=promise) as one:
        acme = one.analyst("acme", share=1)
        query = Marginals(one.universe, [["region"]])
        acme.sql(MEAN)
    spent = one.ledger.spent()
    for act in (
        lambda: acme.sql(MEAN),
        lambda: acme.sql(MEAN + " WHERE age < 22"),
        lambda: acme.sql(EAST),
        lambda: acme.plan(EAST),
        lambda: acme.ask(query),
    ):
        with pytest.raises(Refused, match="closed"):
            act()
    assert one.ledger.spent() == spent
    assert len(acme.history) == 1


@PROMISES
def test_closing_waits_for_the_engine_and_refuses_who_waits(monkeypatch, promise):
    """One question is in the engine, another waits for it: the first is answered, the second not charged."""
    one = curator(promise=promise)
    doors = [one.analyst(name, share=HALF) for name in ("acme", "blue")]
    inside, free, answer, seen = threading.Event(), threading.Event(), Table.answer, {}

    def slow(table, prepared, **given):
        inside.set()
        assert free.wait(60)
        return answer(table, prepared, **given)

    def ask(door):
        try:
            seen[door.name] = door.sql(MEAN + f" WHERE income > {len(door.name) + ord(door.name[0])}").kind
        except (Refused, EngineFailed) as error:
            seen[door.name] = type(error)

    monkeypatch.setattr(Table, "answer", slow)
    asking = [threading.Thread(target=ask, args=(door,)) for door in doors]
    asking[0].start()
    assert inside.wait(60)
    asking[1].start()
    closing = threading.Thread(target=one.close)
    while not one.ledger.entries("blue") and promise is not None:
        asking[1].join(0.01)
    closing.start()
    closing.join(0.2)
    assert closing.is_alive()
    free.set()
    for thread in (*asking, closing):
        thread.join(60)
    assert seen == {"acme": "priced", "blue": Refused}
    assert one.ledger.spent("acme")["rho"] > 0
    assert one.ledger.spent("blue")["rho"] == 0


# Time -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("asked", [0, 0.1, 0.25, 0.4, 0.5, 0.51, 0.7, 0.999, 1, 7.3])
@pytest.mark.parametrize("work", [0, 0.2, 0.499])
def test_nobody_works_while_replies_leave(clock, asked, work):
    """A reply that leaves while someone else's question is worked on leaves late: milliseconds tell."""
    held = Ticks(1)
    clock.now += asked
    with held.hold():
        begun = clock.now
        clock.now += work
        ended = clock.now
    assert begun % 1 >= 0.25
    assert ended < int(begun) + 1
    assert clock.now == int(begun) + 1
    assert clock.now - 100 - asked <= 1.5


def test_all_is_noted_before_a_reply_leaves(monkeypatch, clock):
    """What is done after the tick would hold up the replies of others, who leave at the same time."""
    with curator(promise=OneAnalystToMany(), tick=1) as one:
        acme, noted, until = one.analyst("acme", share=1), [], Ticks._sleep

        def watched(self, wanted):
            noted.append(len(acme.history))
            until(self, wanted)

        monkeypatch.setattr(Ticks, "_sleep", watched)
        acme.sql(EAST)
        acme.ask(Marginals(one.universe, [["region"]]))
        assert noted == [0, 1, 1, 2]
        assert clock.now == 102


def test_nobody_overtakes_who_waits_for_the_engine():
    """Whoever leaves the engine and comes again at once is behind all who wait: one of each is the most."""
    with curator(shared=0, promise=OneAnalystToMany()) as one:
        served, held = [], threading.Event()

        def wait(name):
            with one._service.engine.turn():
                served.append(name)

        def flood():
            for _ in range(5):
                with one._service.engine.turn():
                    served.append("rival")
                    assert held.wait(60)

        rival = threading.Thread(target=flood)
        rival.start()
        while not served:
            rival.join(0.001)
        waiting = [threading.Thread(target=wait, args=(name,)) for name in ("acme", "blue")]
        for thread in waiting:
            last = one._service.engine._last
            thread.start()
            while one._service.engine._last is last:  # until she is in line
                thread.join(0.001)
        held.set()
        for thread in (rival, *waiting):
            thread.join(60)
        assert served == ["rival", "acme", "blue", *["rival"] * 4]


def test_who_has_the_engine_may_enter_again_and_nobody_else():
    """A handler of signals may close the curator while its own thread is in the engine."""
    line, served = FairLock(), []

    def wait():
        with line.turn():
            served.append("other")

    other = threading.Thread(target=wait)
    with line.turn():
        other.start()
        other.join(0.1)
        with line.turn():
            served.append("inner")
        other.join(0.1)
        served.append("outer")
    other.join(60)
    assert served == ["inner", "outer", "other"]


class Interrupted(Exception):
    """Stands for what a keyboard's interrupt does to whoever waits."""


def test_who_gives_up_leaves_the_line_and_keeps_the_order():
    """Those behind her wait for who was ahead of her, not for her."""
    line, served, inside = FairLock(), [], threading.Event()

    class Impatient:
        """The lock of who is ahead, as an interrupted thread meets it."""

        def __enter__(self):
            raise Interrupted

        def __exit__(self, *_):
            raise AssertionError

    def give_up():
        turn = line.turn()
        real = line.join

        def join(mine):
            real(mine)
            ahead, mine.before = mine.before, types.SimpleNamespace(_lock=Impatient(), before=mine.before)
            mine.before.before = ahead

        line.join = join
        try:
            with turn:
                served.append("never")
        except Interrupted:
            served.append("gave up")
            turn.before = turn.before.before
        finally:
            line.join = real

    def wait():
        with line.turn():
            served.append("next")

    first, second = threading.Thread(target=give_up), threading.Thread(target=wait)
    with line.turn():
        first.start()
        first.join(60)
        second.start()
        second.join(0.1)
        served.append("out")
        inside.set()
    second.join(60)
    assert served == ["gave up", "out", "next"]


def test_no_interrupt_blocks_the_line():
    """Interrupts at thousands of random moments: the line always goes on, and nobody holds it afterwards."""
    line, caught = FairLock(), 0

    def interrupt(*_):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    generator = random.Random(5)
    try:
        for _ in range(2000):
            try:
                signal.setitimer(signal.ITIMER_REAL, generator.uniform(1e-5, 2e-4))
                while True:
                    with line.turn(), line.turn():
                        pass
            except KeyboardInterrupt:
                caught += 1
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    served = []

    def wait():
        with line.turn():
            served.append("other")

    other = threading.Thread(target=wait, daemon=True)
    other.start()
    other.join(30)
    assert (served, caught) == (["other"], 2000)


def test_units_of_several_rows_pay_for_what_is_published_exactly():
    """All that is published and all that the ledger lets through: together no more than was promised."""
    for schema, delta, part in (
        (BY_ROW, 1e-6, Fraction(1, 7)),
        (BY_USER, 0, Fraction(1, 7)),
        (BY_USER, 1e-6, HALF),
    ):
        with curator(schema, epsilon=8, delta=delta, shared=part, promise=OneAnalystToMany()) as one:
            published = one._shared.guarantee
            rest = one.ledger.guarantee.loss
            assert published.neighbours == one.guarantee.neighbours == schema.neighbours
            if delta:
                assert published.loss.delta(part * 8) <= part * Fraction(1, 10**6)
                assert rest.delta((1 - part) * 8) <= (1 - part) * Fraction(1, 10**6) * (
                    1 + Fraction(1, 10**9)
                )
            else:
                inner = getattr(published.loss, "loss", published.loss)
                assert inner.exact_epsilon() * one._table.rows_per_unit <= part * 8
                assert rest.exact_epsilon() == (1 - part) * 8
