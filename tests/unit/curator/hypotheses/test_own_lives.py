"""Conversations of one's own over the lives of a curator: gone on with, charged once, and ended for ever."""

import sqlite3
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from tests.quick_disk import tmp_path
from tests.unit.curator.conftest import BY_ROW, BY_USER, REPLACED, curator

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import (
    AnswerLost,
    ConversationClosed,
    EngineFailed,
    KeyReused,
    LedgerRefused,
    Refused,
)
from discreet.curator.hypotheses import own_conversations
from discreet.curator.hypotheses.own_conversations import OPEN
from discreet.curator.hypotheses.own_opening import OwnOpening
from discreet.curator.ledger.books.recovery import recover
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.query import TableQuery

__all__ = ["tmp_path"]
OFFER = {"epsilon": 0.5, "delta": 1e-8}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


def reopen(path, **given):
    return curator(**({"shared": 0, "ledger": path} | given))


def count(door, called):
    """Return the counts that cost no look at the data."""
    universe = door.universe_of(called)
    return [(one.value, one.kind) for one in door.ask(Marginals.of_order(universe, 1), conversation=called)]


def ask_odd(door, called):
    """Ask what no measured table tells: it goes through the gate."""
    universe = door.universe_of(called)
    cells = np.random.default_rng(3).random(universe.shape) < 0.5  # noqa: TID251
    axes = tuple(range(len(universe.shape)))
    return door.ask(TableQuery(universe, axes, "odd cells", table=cells), conversation=called)


@pytest.mark.parametrize(
    "given",
    [{}, {"schema": BY_USER}, {"schema": REPLACED}, {"promise": OneAnalystToMany()}, {"version": "2"}],
    ids=["rows", "users", "replaced", "apart", "version"],
)
def test_it_goes_on_in_later_lives_at_no_further_cost(path, given):
    with reopen(path, **given) as owner:
        door = owner.analyst("acme", share=0.9)
        called = door.open_conversation(["region", "smoker"], **OFFER, key="mine")
        told, spent = count(door, called), owner.ledger.spent("acme")
    for _ in range(2):
        with reopen(path, **given) as owner:
            door = owner.analyst("acme", share=0.9)
            assert door.open_conversation(["region", "smoker"], **OFFER, key="mine") == called
            assert count(door, called) == told
            assert len(door.synthetic(20, conversation=called)) == 20
            assert owner.ledger.spent("acme") == spent
            with pytest.raises(KeyReused):
                door.open_conversation(["region"], **OFFER, key="mine")
            with pytest.raises(ConversationClosed):  # hers and nobody else's, in every life
                owner.analyst("rival", share=0.1).universe_of(called)


def test_lives_that_used_the_gate_cost_measured_answers(path):
    with reopen(path) as owner:
        door = owner.analyst("acme")
        called = door.open_conversation(["region", "age", "smoker"], **OFFER)
        mine = owner._service._own.find(owner._service.open_desk("acme", 1), called)._conversation
        sides, before = mine._public.sides, mine.measured
        ask_odd(door, called)
        measured = mine.measured - before
    with reopen(path) as owner:
        desk = owner._service.open_desk("acme", 1)
        mine = owner._service._own.find(desk, called)._conversation
        struck = mine._lives.struck(mine._plan, sides)
        assert struck >= 1
        assert mine.measured == measured + struck


def test_what_is_closed_is_closed_in_all_lives(path):
    with reopen(path) as owner:
        door = owner.analyst("acme")
        first, second = (door.open_conversation(["region"], **OFFER) for _ in range(2))
        door.close_conversation(first)
        spent = owner.ledger.spent()
    with reopen(path) as owner:
        door = owner.analyst("acme")
        door.close_conversation(second)  # it need not be looked at for that
        for called in (first, second):
            for ask in (door.universe_of, door.close_conversation):
                with pytest.raises(ConversationClosed):
                    ask(called)
        assert owner.ledger.spent() == spent


@pytest.mark.parametrize("now", [{"version": "2"}, {"schema": BY_USER}])
def test_it_is_about_the_rows_that_it_measured(path, now):
    with reopen(path) as owner:
        called = owner.analyst("acme").open_conversation(["region"], **OFFER)
    if "schema" in now:
        path = path.with_name("other.db")  # another unit is another budget, which knows nothing of it
    with reopen(path, **now) as owner, pytest.raises(ConversationClosed):
        owner.analyst("acme").universe_of(called)


def test_nothing_is_looked_at_once_the_data_are_retired(path):
    with reopen(path) as owner:
        called = owner.analyst("acme").open_conversation(["region"], **OFFER)
        owner.ledger.retire("the study ended")
    with reopen(path) as owner, pytest.raises(ConversationClosed, match="retired"):
        owner.analyst("acme").universe_of(called)


@pytest.mark.parametrize("moment", ["before it is measured", "before it is told"])
def test_a_crash_behind_the_charge_is_gone_on_from_under_its_key(path, monkeypatch, moment):
    def fail(*given, **named):
        raise KeyboardInterrupt

    def list_measured(ledger):
        return [name for name in ledger.list_journals() if name.startswith("notes of own")]

    with reopen(path) as owner, monkeypatch.context() as patch:
        if moment == "before it is measured":
            patch.setattr(own_conversations.Shared, "open", fail)
        else:
            patch.setattr(owner.ledger, "finish", fail)
        for key in ("mine", None):
            with pytest.raises(KeyboardInterrupt):
                owner.analyst("acme").open_conversation(["region"], **OFFER, key=key)
        spent, before = owner.ledger.spent(), list_measured(owner.ledger)
        assert spent["epsilon"] == 1
    for _ in range(2):
        with reopen(path) as owner:
            door = owner.analyst("acme")
            called = door.open_conversation(["region"], **OFFER, key="mine")
            told = count(door, called)
            assert owner.ledger.spent() == spent
            after = list_measured(owner.ledger)
            # Of one charge the book holds one measurement, whoever made it.
            assert set(before) <= set(after) and len(after) == (2 if before else 1)
    with reopen(path) as owner:
        door = owner.analyst("acme")
        assert count(door, called) == told


@pytest.mark.parametrize("is_broken", [False, True])
def test_two_processes_with_one_key_measure_once_and_tell_one_name(path, monkeypatch, is_broken):
    """Each measured a conversation for one charge, and one took a failure of the other for a name."""
    from discreet.curator.ledger.books.files import open_book

    both, opened = threading.Barrier(2), own_conversations.Shared.open
    books = [open_book(path, together=True) for _ in range(2)]
    owners = [curator(shared=0, ledger=book) for book in books]
    doors = [owner.analyst("acme") for owner in owners]

    def open_shared(table, **given):
        both.wait(20)
        if is_broken and table is owners[0]._table:
            raise ValueError("alice is 64")
        return opened(table, **given)

    def ask(door):
        try:
            return door.open_conversation(["region"], **OFFER, key="mine")
        except (LedgerRefused, EngineFailed) as problem:  # another one is at it, or failed
            return type(problem)

    with monkeypatch.context() as patch:
        patch.setattr(own_conversations.Shared, "open", open_shared)
        with ThreadPoolExecutor(2) as pool:
            told = set(pool.map(ask, doors))
    told |= set(map(ask, doors))
    names = told - {LedgerRefused, EngineFailed}
    assert len(names) <= 1 and (names or is_broken)
    assert not (names and EngineFailed in told and not is_broken)
    ledger = owners[0].ledger
    ledger.refresh()
    assert len([name for name in ledger.list_journals() if name.startswith("notes of own")]) <= 1
    for each in (*owners, *books):
        each.close()


def test_a_name_that_stands_for_nothing_is_not_remembered(path):
    with reopen(path) as owner:
        for called in ("0" * 16, "1" * 16):
            with pytest.raises(ConversationClosed):
                owner.analyst("acme").universe_of(called)
        assert not any("own" in name for name in owner.ledger._account.journals)


def test_columns_that_are_not_declared_any_more_end_it_without_a_failure(path):
    with reopen(path) as owner:
        called = owner.analyst("acme").open_conversation(["region"], **OFFER)
    fewer = replace(BY_ROW, columns=tuple(one for one in BY_ROW.columns if one.name != "region"))
    with reopen(path, schema=fewer, columns=None) as owner:
        for _ in range(4):  # three failures of the engine a day are told
            with pytest.raises(ConversationClosed):
                owner.analyst("acme").universe_of(called)


def test_what_cannot_go_on_is_not_read_again_and_again(path, monkeypatch):
    with reopen(path) as owner:
        called = owner.analyst("acme").open_conversation(["region"], **OFFER)
    reads, opened = [], own_conversations.Shared.open

    def open_shared(table, **given):
        reads.append(table)
        return opened(table, **given)

    monkeypatch.setattr(own_conversations.Shared, "open", open_shared)
    monkeypatch.setattr(OwnOpening, "settle", refuse_plan)
    with reopen(path) as owner:
        for _ in range(3):
            with pytest.raises(ConversationClosed):
                owner.analyst("acme").universe_of(called)
    assert len(reads) == 1


def refuse_plan(self, plan):
    raise ConversationClosed("another plan")


def test_a_failure_that_was_told_is_told_again(path, monkeypatch):
    def fail(*given, **named):
        raise ValueError("alice is 64")

    with reopen(path) as owner, monkeypatch.context() as patch:
        patch.setattr(own_conversations.Shared, "open", fail)
        with pytest.raises(EngineFailed):
            owner.analyst("acme").open_conversation(["region"], **OFFER, key="mine")
    with reopen(path) as owner:
        door = owner.analyst("acme")
        with pytest.raises(EngineFailed):
            door.open_conversation(["region"], **OFFER, key="mine")
        assert [one.kind for one in door.history] == ["failed"]


def test_rows_that_a_recovery_lost_end_all_of_them(path):
    with reopen(path) as owner:
        called = owner.analyst("acme").open_conversation(["region", "age", "smoker"], **OFFER)
    before = path.read_bytes()
    with reopen(path) as owner:
        ask_odd(owner.analyst("acme"), called)
    path.write_bytes(before)  # its life that used the gate is forgotten
    recover(path)
    with reopen(path) as owner, pytest.raises(ConversationClosed):
        owner.analyst("acme").universe_of(called)


def test_after_a_recovery_a_new_one_is_opened_and_none_of_before_is_begun_again(path, monkeypatch):
    """A new one was charged and not opened; what may have been told before is not measured a second time."""
    copies = []
    with reopen(path) as owner:
        door, resume = owner.analyst("acme"), owner.ledger.resume
        monkeypatch.setattr(
            owner.ledger, "resume", lambda number: (copies.append(path.read_bytes()), resume(number))
        )
        told = door.open_conversation(["region"], **OFFER, key="mine")
    path.write_bytes(copies.pop())
    recover(path)
    with reopen(path) as owner:
        door, spent = owner.analyst("acme"), owner.ledger.spent("acme")
        with pytest.raises(AnswerLost):
            door.open_conversation(["region"], **OFFER, key="mine")
        with pytest.raises(ConversationClosed):
            door.universe_of(told)
        assert owner.ledger.spent("acme") == spent
        assert count(door, door.open_conversation(["region"], **OFFER))


def test_a_damaged_note_ends_its_own_conversation_alone(path):
    with reopen(path) as owner:
        door = owner.analyst("acme")
        lost, sound = (door.open_conversation(["region"], **OFFER) for _ in range(2))
        told = count(door, sound)
    with sqlite3.connect(path) as connection:
        changed = connection.execute(
            "UPDATE answers SET answer = x'00' WHERE ledger LIKE ?", [f"%notes of own {lost}"]
        )
        assert changed.rowcount >= 1
    connection.close()
    with reopen(path) as owner:
        door = owner.analyst("acme")
        with pytest.raises(ConversationClosed):
            door.universe_of(lost)
        assert count(door, sound) == told


def test_what_fails_when_it_is_read_again_is_one_constant_and_few_times(path, monkeypatch):
    def fail(*given, **named):
        raise ValueError("alice is 64")

    with reopen(path) as owner:
        called = owner.analyst("acme").open_conversation(["region"], **OFFER)
    with reopen(path) as owner:
        door = owner.analyst("acme")
        monkeypatch.setattr(own_conversations.Shared, "open", fail)
        for _ in range(3):
            with pytest.raises(EngineFailed) as failed:
                door.universe_of(called)
            assert "alice" not in str(failed.value) and failed.value.__context__ is None
        with pytest.raises(Refused, match="failed at 3"):
            door.universe_of(called)


def test_only_a_few_are_in_memory_at_once(path):
    with reopen(path, epsilon=40) as owner:
        door = owner.analyst("acme")
        names = [door.open_conversation(["region"], **OFFER) for _ in range(OPEN)]
    with reopen(path, epsilon=40) as owner:
        door = owner.analyst("acme")
        more = door.open_conversation(["region"], **OFFER)
        for called in names[1:]:
            count(door, called)
        with pytest.raises(Refused, match="which is the most"):
            door.universe_of(names[0])
        door.close_conversation(more)
        count(door, names[0])


def test_two_curators_on_one_book_do_not_both_go_on_with_it(path):
    """What is struck off follows from all notes: who has not read the last of them writes none."""
    from discreet.curator.ledger.books.files import open_book

    with reopen(path) as owner:
        called = owner.analyst("acme").open_conversation(["region", "age", "smoker"], **OFFER)
    books = [open_book(path, together=True) for _ in range(2)]
    try:
        owners = [curator(shared=0, ledger=book) for book in books]
        doors = [owner.analyst("acme") for owner in owners]
        for door in doors:
            count(door, called)
        for door in doors:
            ask_odd(door, called)
        mine = [
            owner._service._own.find(owner._service.open_desk("acme", 1), called)._conversation
            for owner in owners
        ]
        assert [one._lives._uses for one in mine] == [True, False]
        assert ask_odd(doors[1], called).kind == "stale"  # without a look at the data
    finally:
        for book in books:
            book.close()
