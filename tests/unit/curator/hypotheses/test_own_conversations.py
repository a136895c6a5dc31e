"""Conversations of one's own: priced, asked without end, and nobody else's."""

import re
from fractions import Fraction

import pytest
from tests.unit.curator.conftest import curator

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import (
    BudgetExceeded,
    ConversationClosed,
    EngineFailed,
    InvalidParameter,
    KeyReused,
    Refused,
)
from discreet.curator.hypotheses import own_conversations
from discreet.curator.hypotheses.own_conversations import OPEN
from discreet.curator.limits import SYNTHETIC
from discreet.queries.kinds.marginals import Marginals

OFFER = {"epsilon": 0.1, "delta": 1e-8}


def test_it_answers_what_it_was_opened_about_at_no_further_cost(frame):
    with curator(shared=0) as owner:
        door = owner.analyst("acme")
        called = door.open_conversation(["region", "smoker"], epsilon=0.5, delta=1e-8)
        spent = owner.ledger.spent()
        assert spent["epsilon"] == Fraction(1, 2)
        universe = door.universe_of(called)
        answers = door.ask(Marginals.of_order(universe, 1), conversation=called)
        truth = [int((frame["region"] == value).sum()) for value in ("east", "north", "west")]
        assert all(abs(one.value - true) < 200 for one, true in zip(answers, truth, strict=False))
        rows = door.synthetic(500, conversation=called).columns()
        assert {len(values) for values in rows.values()} == {500}
        assert set(rows) == {"region", "smoker"}
        assert owner.ledger.spent() == spent
        assert door.history[0].kind == "priced"


@pytest.mark.parametrize("delta", [0, 1e-8])
def test_one_that_would_say_nothing_is_refused_before_it_is_charged(delta):
    with curator() as owner:  # its hypothesis says how many rows there are
        door = owner.analyst("acme")
        poor = {"epsilon": 0.0002, "delta": delta}
        price = door.plan_conversation(["region", "smoker"], **poor)
        assert price.cost["epsilon"] == Fraction("0.0002") and price.error("counts") > 4000
        assert "would make it useful" in price.words and price.refusal is None
        with pytest.raises(Refused, match="nothing was charged") as refused:
            door.open_conversation(["region", "smoker"], **poor)
        assert not owner.ledger.entries() and not door.history
        enough = float(re.search(r"epsilon of ([\d.]+)", str(refused.value))[1])
        better = door.plan_conversation(["region", "smoker"], epsilon=enough * 1.01, delta=delta)
        assert better.words == "" and better.error("counts") < price.error("counts")
        assert door.open_conversation(["region", "smoker"], **poor, insist=True)
        assert len(owner.ledger.entries()) == 1


def test_without_a_known_size_nothing_is_judged():
    with curator(shared=0) as owner:
        assert owner.analyst("acme").plan_conversation(["region"], epsilon=0.0002, delta=0).words == ""


def test_a_price_says_whose_budget_a_conversation_exceeds():
    with curator(shared=0) as owner:
        door = owner.analyst("acme", share=Fraction(1, 100))
        price = door.plan_conversation(["region"], epsilon=1, delta=1e-8)
        assert price.refusal.startswith("the share of acme: asked epsilon 1")


@pytest.mark.parametrize("promise", [None, OneAnalystToMany()], ids=["together", "apart"])
def test_nobody_else_has_it(promise):
    with curator(shared=0, promise=promise) as owner:
        door, other = owner.analyst("acme", share=0.5), owner.analyst("rival", share=0.5)
        called = door.open_conversation(["region"], **OFFER)
        for act in (
            lambda: other.universe_of(called),
            lambda: other.synthetic(5, conversation=called),
            lambda: other.close_conversation(called),
            lambda: door.synthetic(5, conversation="0" * 16),
        ):
            with pytest.raises(ConversationClosed) as refused:
                act()
            assert called not in str(refused.value)
        assert door.synthetic(5, conversation=called) is not None


def test_closed_is_closed_and_its_price_stays():
    with curator(shared=0) as owner:
        door = owner.analyst("acme")
        called = door.open_conversation(["region"], **OFFER)
        spent = owner.ledger.spent()
        door.close_conversation(called)
        with pytest.raises(ConversationClosed):
            door.synthetic(5, conversation=called)
        assert owner.ledger.spent() == spent


def test_a_few_at_once():
    with curator(shared=0) as owner:
        door = owner.analyst("acme")
        opened = [door.open_conversation(["region"], **OFFER) for _ in range(OPEN)]
        spent = owner.ledger.spent()
        with pytest.raises(Refused, match="Close one"):
            door.open_conversation(["region"], **OFFER)
        assert owner.ledger.spent() == spent
        door.close_conversation(opened[0])
        assert door.open_conversation(["region"], **OFFER) not in opened


@pytest.mark.parametrize(
    ("columns", "offer"),
    [
        ((), OFFER),
        (("nowhere",), OFFER),
        ("region", OFFER),
        (("region", 7), OFFER),
        (("income",), OFFER),  # too many values
        (("region",), {"epsilon": 0, "delta": 0}),
        (("region",), {"epsilon": float("nan"), "delta": 0}),
        (("region",), {"epsilon": 0.1, "delta": 1}),
        (("region",), {"epsilon": 0.1, "delta": 1e-8, "study": "unheard"}),
    ],
)
def test_what_is_refused_is_not_charged(columns, offer):
    with curator(shared=0) as owner:
        door = owner.analyst("acme")
        with pytest.raises((InvalidParameter, Refused)):
            door.open_conversation(columns, **offer)
        assert not any(owner.ledger.spent().values())


def test_what_does_not_fit_is_not_opened():
    with curator(shared=0) as owner:
        door = owner.analyst("acme", share=0.01)
        with pytest.raises(BudgetExceeded):
            door.open_conversation(["region"], epsilon=1, delta=1e-8)
        assert not any(owner.ledger.spent().values())


def test_what_fails_stays_charged_and_says_nothing(monkeypatch):
    def fail(*_, **__):
        raise ValueError("alice is 64")

    with curator(shared=0) as owner:
        door = owner.analyst("acme")
        monkeypatch.setattr(own_conversations.Shared, "open", fail)
        for _ in range(3):
            with pytest.raises(EngineFailed) as failed:
                door.open_conversation(["region"], **OFFER)
            assert "alice" not in str(failed.value)
            assert failed.value.__context__ is None
        assert owner.ledger.spent()["epsilon"] == Fraction(3, 10)
        with pytest.raises(Refused, match="failed at 3"):  # what makes it fail may be in the data
            door.open_conversation(["region"], **OFFER)
        with pytest.raises(Refused, match="failed at 3"):
            door.sql("SELECT AVG(income) FROM people", insist=True)
        assert owner.analyst("other").sql("SELECT AVG(income) FROM people", insist=True).kind == "priced"


def test_rows_are_counted():
    with curator() as owner:
        door = owner.analyst("acme")
        assert len(door.synthetic(50)) == 50
        for rows in (0, -1, True, 1.5, SYNTHETIC + 1):
            with pytest.raises((InvalidParameter, Refused)):
                door.synthetic(rows)


def test_under_one_key_it_is_opened_once():
    with curator(shared=0) as owner:
        door, other = owner.analyst("acme"), owner.analyst("rival")
        called = door.open_conversation(["region"], **OFFER, key="mine")
        spent = owner.ledger.spent()
        assert door.open_conversation(["region"], **OFFER, key="mine") == called
        assert owner.ledger.spent() == spent
        for changed in ((["smoker"], OFFER), (["region"], OFFER | {"epsilon": 0.2})):
            with pytest.raises(KeyReused):
                door.open_conversation(changed[0], **changed[1], key="mine")
        assert owner.ledger.spent() == spent
        assert other.open_conversation(["region"], **OFFER, key="mine") != called
        door.close_conversation(called)
        with pytest.raises(ConversationClosed):
            door.open_conversation(["region"], **OFFER, key="mine")


def test_in_memory_it_dies_with_its_curator():
    with curator(shared=0) as owner:
        called = owner.analyst("acme").open_conversation(["region"], **OFFER)
    with curator(shared=0) as owner, pytest.raises(ConversationClosed):
        owner.analyst("acme").universe_of(called)
