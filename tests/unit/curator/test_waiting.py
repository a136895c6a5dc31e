"""Who waits for the engine, who may enter again, and how a curator closes meanwhile."""

import random  # noqa: TID251
import signal
import threading
import types
from fractions import Fraction

import pytest
from tests.unit.curator.conftest import BY_ROW, BY_USER, curator

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import EngineFailed, Refused
from discreet.curator.ticks import FairLock, Ticks
from discreet.data import Table
from discreet.queries.kinds.marginals import Marginals

MEAN = "SELECT AVG(income) AS mean FROM people"


EAST = "SELECT COUNT(*) AS n FROM people WHERE region = 'east'"


HALF = Fraction(1, 2)


PROMISES = pytest.mark.parametrize("promise", [None, OneAnalystToMany()])


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
