"""A door cannot be made into another one: whose it is, is no attribute of it."""

import copy
import gc
import pickle  # noqa: TID251 - to see that it is refused
import weakref
from fractions import Fraction

import pytest
from tests.unit.curator.conftest import curator

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import BudgetExceeded, DiscreetError, InvalidParameter
from discreet.curator.doors import Analyst

MEAN = "SELECT AVG(income) AS mean FROM people"
PARTS = ("name", "share", "turn", "note", "history", "left", "universe", "_curator", "_asked", "sql", "more")


@pytest.fixture
def doors():
    with curator(shared=0) as one:
        yield one, one.analyst("thief", share=Fraction(1, 1000)), one.analyst("victim", share=Fraction(1, 2))


@pytest.mark.parametrize("part", PARTS)
def test_nothing_of_a_door_can_be_set(doors, part):
    one, thief, victim = doors
    before = repr(thief)
    for act in (setattr, object.__setattr__):
        with pytest.raises(AttributeError):
            act(thief, part, getattr(victim, part, "victim") if part != "universe" else None)
    for act in (lambda: delattr(thief, part), lambda: object.__delattr__(thief, part)):
        with pytest.raises(AttributeError):
            act()
    assert (repr(thief), thief.name, thief.share) == (before, "thief", Fraction(1, 1000))
    with pytest.raises(BudgetExceeded, match="share of thief"):
        thief.sql(MEAN)
    assert not any(one.ledger.spent("victim").values())


def test_a_door_has_nothing_to_look_into(doors):
    _, thief, _ = doors
    assert not hasattr(thief, "__dict__")
    with pytest.raises(TypeError):
        vars(thief)
    public = {name for name in dir(thief) if not name.startswith("_")}
    assert public == {
        "name",
        "share",
        "universe",
        "universe_of",
        "plan",
        "sql",
        "ask",
        "synthetic",
        "open_conversation",
        "plan_conversation",
        "close_conversation",
        "plan_standing",
        "open_standing",
        "read_standing",
        "standing",
        "history",
        "left",
    }


def test_a_door_is_made_by_a_curator_alone(doors):
    _, thief, victim = doors
    with pytest.raises(InvalidParameter, match=r"Curator\.analyst"):
        Analyst()
    forged = object.__new__(Analyst)
    for act in (lambda: forged.name, lambda: forged.sql(MEAN), lambda: forged.left, lambda: repr(forged)):
        with pytest.raises(InvalidParameter, match="curator made"):
            act()
    for act in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(DiscreetError, match="copied"):
            act(thief)
    assert thief != victim and hash(thief) != hash(victim)


def test_what_a_door_shows_is_a_copy(doors):
    one, _, victim = doors
    victim.sql(MEAN)
    victim.history[0].cost.clear()
    victim.left.clear()
    assert victim.history[0].cost and victim.left
    assert one.analyst("victim") is victim


def test_a_door_keeps_its_curator_and_a_curator_without_doors_goes():
    one = curator(shared=0)
    acme, gone = one.analyst("acme"), weakref.ref(one._service)
    del one
    gc.collect()
    assert acme.sql(MEAN).kind == "priced"
    del acme
    gc.collect()
    assert gone() is None


def test_an_analyst_who_lost_her_door_finds_her_history_behind_the_next_one():
    with curator(shared=0, promise=OneAnalystToMany()) as one:
        one.analyst("acme", share=Fraction(1, 2)).sql(MEAN)
        gc.collect()
        assert len(one.analyst("acme").history) == 1
        assert one.analyst("acme").sql(MEAN).repeated


def test_what_was_promised_cannot_be_taken_back():
    with curator(promise=OneAnalystToMany()) as one:
        with pytest.raises(AttributeError):
            one.promise = None
        assert one.promise == OneAnalystToMany()
