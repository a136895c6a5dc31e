"""Many threads at once, and things that break inside: what fits is granted, and no lock stays taken."""

import copy
import multiprocessing
import pickle  # noqa: TID251 - to see that it is refused
import threading
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.curator.conftest import BY_USER, REPLACED, curator

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import BudgetExceeded, DiscreetError, EngineFailed, Refused
from discreet.curator.ticks import _Turn
from discreet.data import Table
from discreet.queries.kinds.marginals import Marginals
from discreet.query_release.online.conversation import WeightsConversation

MEAN = "SELECT AVG(income) AS mean FROM people"
PROMISES = pytest.mark.parametrize("promise", [None, OneAnalystToMany()], ids=["together", "apart"])
THREADS = 8


def run_all(acts):
    """Start all at once, and wait for all."""
    ready = threading.Barrier(len(acts))

    def begin(act):
        ready.wait(60)
        act()

    threads = [threading.Thread(target=begin, args=(act,)) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not any(thread.is_alive() for thread in threads)


@PROMISES
@pytest.mark.parametrize("given", [{"delta": 0}, {"delta": 1e-6}, {"schema": BY_USER}, {"schema": REPLACED}])
def test_exactly_as_many_are_granted_as_fit(promise, given):
    """Eight threads ask ten different questions each, of which seven fit, all together."""
    with curator(epsilon=7, shared=0, question=(1, 0), promise=promise, **given) as one:
        door, granted, refused = one.analyst("acme", share=1), [], []

        def ask(number):
            for place in range(10):
                try:
                    granted.append(door.sql(f"{MEAN} WHERE income > {10 * number + place}").kind)
                except BudgetExceeded as error:
                    refused.append(str(error))

        run_all([lambda number=number: ask(number) for number in range(THREADS)])
        assert len(granted) == 7 and len(refused) == 10 * THREADS - 7
        assert len(door.history) == 7
        assert one.ledger.spent("acme")["epsilon"] == 7
        assert {entry.state for entry in one.ledger.entries()} == {"finished"}


def test_analysts_at_once_get_what_the_whole_budget_has():
    with curator(epsilon=5, delta=0, shared=0, question=(1, 0)) as one:
        doors, granted = [one.analyst(f"a{n}", share=Fraction(4, 5)) for n in range(THREADS)], []

        def ask(door):
            for place in range(5):
                try:
                    door.sql(f"{MEAN} WHERE income > {place + 100 * int(door.name[1:])}")
                    granted.append(door.name)
                except BudgetExceeded:
                    continue

        run_all([lambda door=door: ask(door) for door in doors])
        assert len(granted) == 5
        assert all(granted.count(name) <= 4 for name in granted)


@pytest.mark.parametrize("name", ["blue", "acme"])
@pytest.mark.parametrize("problem", [RuntimeError, MemoryError, KeyboardInterrupt, SystemExit, GeneratorExit])
@PROMISES
def test_what_breaks_in_the_engine_is_charged_and_holds_nothing(monkeypatch, promise, problem, name):
    """Data may have been read, so the charge stays; the next question, of anybody, finds all locks free."""
    with curator(shared=0, promise=promise) as one:
        acme, next_one = one.analyst("acme", share=Fraction(1, 2)), name

        def broken(*_, **__):
            raise problem("row 4711 of Ann")

        monkeypatch.setattr(Table, "answer", broken)
        seen = []

        def ask():
            try:
                acme.sql(MEAN)
            except BaseException as error:
                seen.append(type(error))

        run_all([ask])
        assert seen == [EngineFailed if issubclass(problem, Exception) else problem]
        monkeypatch.undo()
        (entry,) = one.ledger.entries()
        assert entry.state == "started"
        assert [asked.kind for asked in acme.history] == ["failed"]
        assert acme.history[0].cost == dict(entry.charge)
        replies = []
        door = one.analyst(next_one, share=Fraction(1, 2))
        run_all([lambda: replies.append(door.sql(MEAN))])
        assert replies[0].kind == "priced" and not replies[0].repeated
        assert not one._service._records._turns


@PROMISES
def test_an_interrupt_in_line_gives_the_reservation_back(monkeypatch, promise):
    """She had not reached the engine: nothing was read, and her share is whole."""
    with curator(shared=0, promise=promise) as one:
        acme, blue = (one.analyst(name, share=Fraction(1, 2)) for name in ("acme", "blue"))
        before, enter = acme.left, _Turn.__enter__

        def interrupted(turn):
            if turn._line is one._service.engine:
                raise KeyboardInterrupt
            return enter(turn)

        with monkeypatch.context() as patched:
            patched.setattr(_Turn, "__enter__", interrupted)
            with pytest.raises(KeyboardInterrupt):
                acme.sql(MEAN)
        assert acme.left == before
        assert [entry.state for entry in one.ledger.entries()] == ["voided"]
        assert acme.history == ()
        run_all([lambda: acme.sql(MEAN), lambda: blue.sql(MEAN)])
        assert len(acme.history) == len(blue.history) == 1


@pytest.mark.parametrize("where", ["read", "_advance", "_measure", "_test"])
def test_what_breaks_in_the_conversation_holds_nothing(monkeypatch, where):
    odd = "SELECT age, COUNT(*) AS n FROM people WHERE region = 'east' OR smoker = 'no' GROUP BY age"
    with curator(epsilon=20) as one:
        acme, blue = one.analyst("acme"), one.analyst("blue")

        def broken(*_, **__):
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(WeightsConversation, where, broken)
            if where == "_measure":
                patched.setattr(WeightsConversation, "_test", lambda *_: (np.full(1, 10**6), 0))
            with pytest.raises(KeyboardInterrupt):
                acme.sql(odd)
        seen = []
        run_all([lambda: seen.append(blue.sql(odd)), lambda: seen.append(acme.sql(odd))])
        assert len({reply.rows for reply in seen}) == 1
        assert blue.ask(Marginals(one.universe, [["age"]]))


@PROMISES
def test_questions_of_all_kinds_at_once(promise):
    """Threads of several analysts, free and priced, repeated and refused, while one closes the curator."""
    one = curator(epsilon=50, promise=promise, question=(Fraction(1, 10), 0))
    doors = [one.analyst(f"a{n}", share=Fraction(1, THREADS)) for n in range(THREADS - 1)]
    problems = []

    def ask(door, number):
        for place in range(6):
            try:
                door.sql(f"SELECT region, COUNT(*) AS n FROM people WHERE age > {20 + place} GROUP BY region")
                door.sql(f"SELECT COUNT(*) AS n FROM people WHERE age > {20 + place} OR region = 'east'")
                door.sql(f"{MEAN} WHERE age < {23 + (place + number) % 3}")
                door.ask(Marginals(door.universe, [["region", "smoker"]]))
                assert door.left and door.plan(MEAN)
                with pytest.raises(Refused):
                    door.sql("SELECT income FROM people")
            except Refused as error:
                if "closed" not in str(error):
                    problems.append(error)
                return
            except (BudgetExceeded, EngineFailed) as error:
                problems.append(error)

    acts = [lambda door=door, n=n: ask(door, n) for n, door in enumerate(doors)]
    run_all([*acts, lambda: (threading.Event().wait(0.5), one.close())])
    assert problems == []
    states = {entry.state for entry in one.ledger.entries()}
    assert states <= {"finished", "voided"}
    prices = {text for entry in one.ledger.entries() if entry.state == "finished" for text in [entry.what]}
    if promise is None:
        assert len(prices) == sum(entry.state == "finished" for entry in one.ledger.entries())


def _ask_in_child(one, door, answers):
    for act in (
        lambda: door.sql(MEAN),
        lambda: door.sql("SELECT COUNT(*) AS n FROM people"),
        lambda: door.plan(MEAN),
        lambda: door.ask(Marginals(door.universe, [["age"]])),
        lambda: one.ledger.reserve("acme", "q", one.guarantee),
    ):
        try:
            act()
            answers.put("answered")
        except DiscreetError as error:
            answers.put("process" if "process" in str(error) else str(error))


def test_copies_and_forks_are_refused():
    with curator() as one:
        acme = one.analyst("acme")
        for thing in (one, one.ledger, acme, one._shared._conversation):
            for act in (copy.copy, copy.deepcopy, pickle.dumps):
                with pytest.raises(DiscreetError):
                    act(thing)
        with pytest.raises((DiscreetError, TypeError)):
            pickle.dumps(one._service)
        context = multiprocessing.get_context("fork")
        answers = context.SimpleQueue()
        child = context.Process(target=_ask_in_child, args=(one, acme, answers))
        child.start()
        seen = [answers.get() for _ in range(5)]
        child.join(60)
        assert seen == ["process"] * 5
        assert not any(one.ledger.spent().values())
