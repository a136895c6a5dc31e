"""Once a data set is retired its data are looked at no more; what was published stays."""

import pytest
from tests.quick_disk import tmp_path
from tests.unit.curator.conftest import curator

from discreet.analysts import OneAnalystToMany
from discreet.core.errors import ConversationClosed, DataSetChanged, Refused
from discreet.curator.hypotheses.own_conversations import Shared
from discreet.data import Table
from discreet.queries import Conjunctions

__all__ = ["tmp_path"]
KNOWN = "SELECT COUNT(*) AS n FROM people WHERE region = 'north' AND age < 25"
ODD = "SELECT COUNT(*) AS n FROM people WHERE (region = 'north' AND age < 25) OR smoker = 'yes'"


def watch(hypothesis, monkeypatch):
    """Return a list of the looks at the data that a conversation takes from here on."""
    looks, conversation = [], hypothesis._conversation
    test = type(conversation)._test
    monkeypatch.setattr(
        type(conversation), "_test", lambda self, *given: looks.append(self) or test(self, *given)
    )
    return looks


def test_the_shared_conversation_ends_and_what_was_published_stays(monkeypatch):
    with curator() as one:
        acme = one.analyst("acme")
        looks = watch(one._service.hypothesis, monkeypatch)
        before = acme.sql(KNOWN)
        asked = acme.sql(ODD.replace("25", "24"))
        assert len(looks) == 1  # the test can fail: such a question is tried on the data
        one.ledger.retire("the study is over")
        assert acme.sql(KNOWN).rows == before.rows
        assert acme.sql(ODD.replace("25", "24")).rows == asked.rows
        told = acme.sql(ODD)
        assert told.kind == "stale" and len(looks) == 1
        assert "no bound" in acme.plan(ODD.replace("25", "23")).columns[0].words
        with pytest.raises(Refused, match="retired"):
            acme.sql("SELECT AVG(income) AS mean FROM people")
        with pytest.raises(Refused, match="retired"):  # to insist would be no help
            acme.sql("SELECT AVG(income) AS mean FROM people", epsilon=1e-6)


def test_conversations_of_ones_own_end(monkeypatch):
    with curator() as one:
        acme = one.analyst("acme")
        own = acme.open_conversation(["region", "smoker"], epsilon=0.1, delta=0)
        count = Conjunctions(acme.universe_of(own), [{"region": ["north"]}])
        acme.ask(count, conversation=own)
        one.ledger.retire("the study is over")
        for use in (
            lambda: acme.ask(count, conversation=own),
            lambda: acme.synthetic(5, conversation=own),
            lambda: acme.universe_of(own),
        ):
            with pytest.raises(ConversationClosed, match="retired"):
                use()
        assert not one._service._own._open
        with pytest.raises(Refused, match="retired"):
            acme.open_conversation(["region"], epsilon=0.1, delta=0)


def test_another_process_may_retire_it(tmp_path, monkeypatch):
    """What the book says counts, whoever wrote it: a look at the data asks the book first."""
    with curator(ledger=tmp_path / "budget.db") as one:
        acme, service = one.analyst("acme"), one._service
        looks = watch(service.hypothesis, monkeypatch)
        retire = one.ledger.retire
        refresh = one.ledger._book.refresh
        monkeypatch.setattr(one.ledger._book, "refresh", lambda: (retire("elsewhere"), refresh()))
        assert acme.sql(ODD).kind == "stale" and not looks


def test_a_later_life_does_not_look_either(tmp_path, monkeypatch):
    book = tmp_path / "budget.db"
    with curator(ledger=book) as one:
        before = one.analyst("acme").sql(KNOWN)
        one.ledger.retire("the study is over")
    with curator(ledger=book) as one:
        looks = watch(one._service.hypothesis, monkeypatch)
        assert one.analyst("acme").sql(KNOWN).rows == before.rows
        assert one.analyst("acme").sql(ODD).kind == "stale" and not looks


def test_what_is_published_under_a_promise_stays():
    with curator(promise=OneAnalystToMany(), tick=0.001) as one:
        acme = one.analyst("acme", share=0.5)
        before = acme.sql(KNOWN)
        one.ledger.retire("the study is over")
        assert acme.sql(KNOWN).rows == before.rows
        assert acme.sql(KNOWN.replace("25", "26")).kind == "free"


def test_what_was_paid_for_before_is_not_measured_either(tmp_path, monkeypatch):
    """A charge under a key that a crash left without an answer is no leave to look at the data later."""
    book, mean = tmp_path / "budget.db", "SELECT AVG(income) AS mean FROM people"

    def crash(*given, **named):
        raise KeyboardInterrupt

    with curator(ledger=book, shared=0) as one, monkeypatch.context() as patch:
        acme = one.analyst("acme")
        patch.setattr(one._service, "_measure", crash)
        patch.setattr(Shared, "open", crash)
        for ask in (
            lambda: acme.sql(mean, key="mean"),
            lambda: acme.open_conversation(["region"], epsilon=0.2, delta=0, key="own"),
        ):
            with pytest.raises(KeyboardInterrupt):
                ask()
        one.ledger.retire("the study is over")
    with curator(ledger=book, shared=0) as one:
        acme = one.analyst("acme")
        for name in ("answer", "histogram"):
            monkeypatch.setattr(Table, name, lambda *given: pytest.fail("the data were looked at"))
        with pytest.raises(Refused, match="retired"):
            acme.sql(mean, key="mean")
        with pytest.raises(ConversationClosed, match="retired"):
            acme.open_conversation(["region"], epsilon=0.2, delta=0, key="own")


@pytest.mark.parametrize("promise", [None, OneAnalystToMany()])
def test_no_later_version_is_measured(tmp_path, promise):
    given = {"ledger": tmp_path / "budget.db", "promise": promise, "tick": 0}
    with curator(**given) as one:
        one.ledger.retire("the study is over")
        left = one.ledger.left()
    with pytest.warns(DataSetChanged, match="retired"), curator(**given, version="2") as one:
        assert one._service.hypothesis is None
        assert one.ledger.left() == left
