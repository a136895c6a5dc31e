"""Curators whose budget is in a file: the next one goes on where the last one was, and pays nothing twice."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from tests.quick_disk import tmp_path
from tests.unit.curator.conftest import BY_ROW, BY_USER, COLUMNS, REGIONS, REPLACED, curator, people

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import (
    AnswerLost,
    BudgetExceeded,
    BudgetNotKept,
    DataSetChanged,
    EngineFailed,
    InvalidParameter,
    LedgerRefused,
)
from discreet.core.neighbours import AddRemove
from discreet.curator import curator as curators
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.books.recovery import recover
from discreet.curator.sessions.session import Session
from discreet.data import Category, Row, Schema
from discreet.queries.query import TableQuery
from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights

__all__ = ["tmp_path"]
BY_REGION = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
INCOME = "SELECT AVG(income) AS mean FROM people"
NO_DELTA = {"delta": 0, "epsilon": 4}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "budget.db"


def odd(universe):
    """A question that no measured table tells about: it goes through the gate."""
    cells = np.random.default_rng(3).random(universe.shape) < 0.5  # noqa: TID251
    axes = tuple(range(len(universe.shape)))
    return TableQuery(universe, axes, "odd cells", table=cells)


def lives(path, count=2, **given):
    """Ask the same in one life after the other; return what each was told."""
    told = []
    for _ in range(count):
        with curator(ledger=path, **given) as one:
            acme = one.analyst("acme", share=1)
            counts = acme.sql(BY_REGION)
            mean = acme.sql(INCOME, insist=True)
            acme.sql(f"{INCOME} WHERE age > {20 + len(one.ledger.entries())}", insist=True)
            told.append((counts, mean, one.ledger.spent("acme")))
    return told


def test_a_history_goes_on_with_what_was_bought_before(path, monkeypatch):
    with curator(ledger=path) as one:
        acme, blue = one.analyst("acme"), one.analyst("blue")
        bought = acme.sql(INCOME, insist=True)
        acme.sql(BY_REGION)
        blue.sql(f"{INCOME} WHERE age > 30", insist=True)
        for key in (None, "k"):
            monkeypatch.setattr(one._service, "_measure", lambda *_: None)
            with pytest.raises(EngineFailed):
                acme.sql(f"{INCOME} WHERE region = '{REGIONS[bool(key)]}'", insist=True, key=key)
    with curator(ledger=path) as one:
        kept = one.analyst("acme").history
        assert [(asked.number, asked.kind) for asked in kept] == [(0, "priced"), (1, "failed"), (2, "failed")]
        assert kept[0].what.startswith("SELECT AVG(") and kept[0].cost == bought.cost
        one.analyst("acme").sql(INCOME, insist=True)
        assert [(asked.number, asked.repeated) for asked in one.analyst("acme").history][3:] == [(3, True)]
        assert len(one.analyst("blue").history) == 1 and one.analyst("carol").history == ()


@pytest.mark.parametrize(
    "given",
    [
        {},
        NO_DELTA,
        {"schema": BY_USER},
        {"schema": REPLACED},
        {"schema": REPLACED} | NO_DELTA,
        {"promise": OneAnalystToMany()},
        {"promise": OneAnalystToMany(), "schema": REPLACED},
        {"promise": OneAnalystToMany()} | NO_DELTA,
    ],
    ids=str,
)
def test_the_hypothesis_is_measured_once_and_prices_add_up(path, given):
    first, second = lives(path, **given)
    # Measured anew, noise would differ.
    assert first[0].column("n") == second[0].column("n")
    assert first[1].column("mean") == second[1].column("mean")
    assert second[1].repeated and not second[1].cost
    # Two were bought in the first life, one in the second.
    assert {name: amount * 3 / 2 for name, amount in first[2].items()} == second[2]


def test_a_budget_that_is_spent_stays_spent(path):
    given = {"epsilon": 2, "delta": 0, "question": (0.25, 0)}
    with curator(ledger=path, **given) as one:
        acme = one.analyst("acme")
        for age in (20, 21):
            acme.sql(f"{INCOME} WHERE age = {age}", insist=True)
    with curator(ledger=path, **given) as one:
        assert one.analyst("acme").share == 1
        with pytest.raises(BudgetExceeded):
            one.analyst("acme").sql(INCOME, insist=True)
        one.analyst("acme").sql(BY_REGION)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"epsilon": 3}, "a budget is set once"),
        ({"columns": ("region", "smoker")}, "other columns"),
        ({"promise": OneAnalystToMany()}, "a budget is set once"),
    ],
)
def test_a_curator_is_opened_as_it_was(path, changes, words):
    lives(path, count=1)
    with pytest.raises(LedgerRefused, match=words):
        curator(ledger=path, **changes)
    lives(path, count=1)  # and nothing is left open by a refusal


@pytest.mark.parametrize("promise", [None, OneAnalystToMany()])
def test_values_that_changed_places_are_noticed(path, promise):
    """What was measured for one value would be told of another."""
    given = {"ledger": path, "promise": promise}
    with curator(**given):
        pass
    turned = Category("region", values=REGIONS[::-1])
    schema = Schema("people", columns=(turned, *COLUMNS[1:]), unit=Row(), neighbours=AddRemove("row"))
    with pytest.raises(LedgerRefused, match="other values"):
        curator(schema=schema, **given)


@pytest.mark.parametrize("promise", [None, OneAnalystToMany()])
def test_what_was_measured_is_not_read_as_something_else(path, promise, monkeypatch):
    given = {"ledger": path, "promise": promise}
    with curator(**given) as one:
        assert one._shared is not None
    for module in ("shared", "published"):
        monkeypatch.setattr(f"discreet.curator.hypotheses.{module}.ORDER", 1)
    with pytest.warns(DataSetChanged, match="every count has a price now"), curator(**given) as one:
        assert one._shared is None


def test_all_of_a_budget_is_set_once(path, tmp_path):
    """The ledger's part may be the same in two budgets; what was promised is the whole."""
    with curator(ledger=path, epsilon=2, delta=0, shared=0.5) as one:
        one.analyst("acme").sql(BY_REGION)
    for refused in (
        lambda: curator(ledger=path, epsilon=1, delta=0, shared=0),
        lambda: Session(people(), schema=BY_ROW, epsilon=1, delta=0, ledger=path),
    ):
        with pytest.raises(LedgerRefused, match="a shared hypothesis of epsilon 1"):
            refused()
    other = tmp_path / "other.db"
    with curator(ledger=other, epsilon=1, delta=0, shared=0) as one:
        one.analyst("acme").sql(INCOME, insist=True)
    with pytest.raises(LedgerRefused, match="no shared hypothesis beside it"):
        curator(ledger=other, epsilon=2, delta=0, shared=0.5)
    with curator(ledger=other, epsilon=1, delta=0, shared=0) as one:
        assert one.ledger.spent()["epsilon"] > 0


def test_lives_that_used_the_gate_cost_measured_answers(path):
    with curator(ledger=path) as one:
        conversation = one._shared._conversation
        sides, before = one._shared._conversation._public.sides, conversation.measured
        one.analyst("acme").ask(odd(one.universe))
        measured = conversation.measured - before
    with curator(ledger=path) as one:
        conversation = one._shared._conversation
        struck = conversation._lives.struck(conversation._plan, sides)
        assert struck >= 1
        assert conversation.measured == measured + struck
        kept = conversation.measured
    with curator(ledger=path) as one:  # nobody asked in between
        assert one._shared._conversation.measured == kept


def test_a_measured_answer_is_given_again_in_the_next_life(path):
    answers = []
    for _ in range(2):
        with curator(ledger=path, epsilon=8) as one:
            conversation = one._shared._conversation
            if not answers:  # the alarm does not wait for a question that is far off
                conversation._plan = replace(conversation._plan, bar=-(10**9))
            answers.append(one.analyst("acme").ask(odd(one.universe)))
    assert answers[0].kind == "measured"
    assert answers[1] == answers[0]


def test_a_hypothesis_that_was_paid_for_and_lost_is_not_measured_again(path, monkeypatch):
    def fail(*given, **named):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(MultiplicativeWeights, "open_kept", fail)
        with pytest.raises(KeyboardInterrupt):
            curator(ledger=path)
    with curator(ledger=path) as one:
        assert one._shared is None
        reply = one.analyst("acme").sql(BY_REGION)
        assert reply.kind == "priced"
        assert "shared hypothesis" in one.ledger.uses()[0].what


def test_a_hypothesis_whose_notes_may_be_cut_off_is_not_gone_on_with(path):
    lives(path, count=1)
    before = path.read_bytes()
    lives(path, count=1)
    path.write_bytes(before)
    with pytest.raises(LedgerRefused):
        curator(ledger=path)
    recover(path)
    with curator(ledger=path) as one:
        assert one._shared is None


def test_another_plan_does_not_go_on_with_the_noise_of_the_first(path, monkeypatch):
    lives(path, count=1)
    monkeypatch.setattr(
        "discreet.curator.hypotheses.opening.repr", lambda plan: "another version", raising=False
    )
    with pytest.warns(DataSetChanged, match="another version"), curator(ledger=path) as one:
        assert one._shared is None


def test_a_budget_in_memory_is_said_to_die_once(path):
    curators._warn_once.cache_clear()
    with pytest.warns(BudgetNotKept, match="dies with the process"):
        curator(shared=0).close()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        curator(shared=0).close()
        curators._warn_once.cache_clear()
        curator(shared=0, ledger=path).close()


def test_two_processes_let_one_analyst_in_at_once(path, monkeypatch):
    """Whoever is slower finds the share that the other one has just set."""
    books = [open_book(path, together=True) for _ in range(2)]
    fast, slow = (curator(shared=0, ledger=book) for book in books)
    cap = slow.ledger.cap
    monkeypatch.setattr(slow.ledger, "cap", lambda *given: (fast.analyst("acme", share=0.5), cap(*given)))
    with pytest.raises(InvalidParameter, match="set once"):
        slow.analyst("acme", share=0.25)
    assert slow.analyst("acme").left == fast.analyst("acme").left
    for each in (fast, slow, *books):
        each.close()


def test_what_may_have_been_answered_before_rows_were_lost_is_not_answered_again(path, monkeypatch):
    """It had fresh noise, at no charge: two answers for one, and both of them true."""
    copies = []
    with curator(ledger=path, shared=0) as one:
        start = one.ledger.start
        monkeypatch.setattr(
            one.ledger, "start", lambda number: (copies.append(path.read_bytes()), start(number))
        )
        told = one.analyst("acme").sql(INCOME, insist=True, key="mine")
    path.write_bytes(copies.pop())
    recover(path)
    with curator(ledger=path, shared=0) as one:
        acme, spent = one.analyst("acme"), one.ledger.spent()
        with pytest.raises(AnswerLost, match="new key"):
            acme.sql(INCOME, insist=True, key="mine")
        assert one.ledger.spent() == spent
        again = acme.sql(INCOME, insist=True, key="another")
        assert again.cost == told.cost and one.ledger.spent() != spent


def test_no_version_is_paid_for_that_will_not_be_measured(path):
    with curator(ledger=path) as one:
        one.analyst("acme")
    before = path.read_bytes()
    with curator(ledger=path) as one:
        one.analyst("rival")
    path.write_bytes(before)
    recover(path)
    with pytest.warns(DataSetChanged, match="lost"), curator(ledger=path, version="2") as one:
        assert one._service.hypothesis is None
        assert not any(one.ledger.spent().values())
