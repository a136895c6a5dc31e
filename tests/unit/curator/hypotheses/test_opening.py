"""Versions of the data: what was said of one is not said of another, and all are paid for by one budget."""

import json
import warnings
from collections import Counter
from contextlib import closing
from dataclasses import replace
from fractions import Fraction

import pytest
from tests.quick_disk import tmp_path
from tests.unit.curator.conftest import BY_USER, curator
from tests.unit.curator.ledger.conftest import book, ledger_server

from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import DataSetChanged, InvalidParameter, KeyReused, LedgerRefused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.core.rng import SystemRng
from discreet.curator.hypotheses.opening import WHO, Opening
from discreet.curator.hypotheses.shared import UPDATES, Shared
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.ledger import Ledger
from discreet.data import Table
from discreet.queries import Conjunctions, Universe
from discreet.query_release.online.gate import FirstAbove

__all__ = ["book", "ledger_server", "tmp_path"]
BY_REGION = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
INCOME = "SELECT AVG(income) AS mean FROM people"
GIVEN = {"epsilon": 4, "delta": 0, "shared": Fraction(1, 4), "question": (Fraction(1, 10), 0)}
PART = Fraction(3, 4)  # of a later version: a quarter of what is there for questions
TENTH = Fraction(1, 10)


def ask(book, version, **given):
    with curator(ledger=book, version=version, **GIVEN | given) as one:
        acme = one.analyst("acme", share=Fraction(1, 4))
        return (
            acme.sql(BY_REGION),
            acme.sql(INCOME, insist=True),
            one.ledger.spent()["epsilon"],
            one._shared is not None,
        )


def test_another_version_is_bought_and_measured_again_on_the_same_budget(book):
    first = ask(book, "2026-11")
    assert first[2] == TENTH and first[3]
    later = ask(book, "2026-12")
    assert later[3] and later[2] == 2 * TENTH + PART
    assert later[1].cost and later[1].column("mean") != first[1].column("mean")
    assert later[0].kind != "priced"
    # Back to the first: what was said of it is said again, and nothing is charged.
    again = ask(book, "2026-11")
    assert again[2] == later[2] and again[1].repeated
    assert again[1].column("mean") == first[1].column("mean")
    assert ask(book, "2026-12")[2] == later[2]


@pytest.mark.parametrize("promise", [None, OneAnalystToMany()])
def test_a_version_without_room_has_no_hypothesis_and_no_row_is_read_for_one(tmp_path, monkeypatch, promise):
    path = tmp_path / "budget.db"
    given = {"shared": Fraction(3, 4), "question": (Fraction(1, 100), 0), "promise": promise}
    with curator(ledger=path, **GIVEN | given) as one:
        one.analyst("acme", share=Fraction(1, 4))
        if promise is None:
            spent = Guarantee(PureLoss(Fraction(4, 5)), one.ledger.guarantee.neighbours)
            one.ledger.reserve("blue", "more than three quarters", spent)
        else:
            one.analyst("blue", share=Fraction(3, 4))
    monkeypatch.setattr(Table, "histogram", lambda *_: pytest.fail("rows were read"))
    monkeypatch.setattr(Table, "marginals", lambda *_: pytest.fail("rows were read"))
    for _ in range(2):
        with pytest.warns(DataSetChanged, match="smaller shared part"):
            counts, *_, measured = ask(path, "2026-12", **given)
        assert not measured and counts.kind == "priced"
    with pytest.raises(LedgerRefused, match="shared hypothesis"):
        curator(ledger=path, version="2026-12", **GIVEN | given | {"shared": 0, "epsilon": 1})


def test_under_a_promise_a_version_is_set_aside_for(tmp_path):
    path = tmp_path / "budget.db"
    given = {"promise": OneAnalystToMany(), "ledger": path, **GIVEN}
    half = Fraction(1, 2)
    for version, room in ((None, 1), ("2026-12", Fraction(3, 4)), ("2027-01", half), (None, half)):
        with curator(version=version, **given) as one:
            assert one._shared is not None
            assert one.ledger._shares._room_apart == room
    with curator(version="2027-01", **given) as one, pytest.raises(InvalidParameter, match="at most 1/2"):
        one.analyst("acme", share=Fraction(3, 4))


@pytest.mark.parametrize("delta", [0, Fraction(1, 10**6)])
def test_later_versions_fit_whatever_part_the_first_one_has(tmp_path, delta):
    given = {"epsilon": 4, "delta": delta, "shared": None, "ledger": tmp_path / "budget.db"}
    for life, version in enumerate((None, "2026-12", "2027-01", None, "2026-12")):
        with curator(version=version, **given) as one:
            assert one.analyst("acme").sql(BY_REGION).kind != "priced"
            assert one.ledger.spent()["epsilon"] == min(life, 2) * Fraction(1, 20) * 4


def test_a_crash_behind_the_charge_is_not_charged_again(tmp_path, monkeypatch):
    path = tmp_path / "budget.db"
    ask(path, "2026-11")
    pay = Opening._pay

    def crash(self, *given):
        assert pay(self, *given)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(Opening, "_pay", crash)
        with pytest.raises(KeyboardInterrupt):
            curator(ledger=path, version="2026-12", **GIVEN)
    assert ask(path, "2026-12")[2] == 2 * TENTH + PART


def _ask_all(one):
    """Ask what a hypothesis cannot know, until it has learnt all that it may."""
    door, universe = one.analyst("acme"), one.universe
    regions, ages = (universe.attribute(name).values for name in ("region", "age"))
    clauses = [{"region": [region], "age": [age]} for region in regions for age in ages]
    door.ask(Conjunctions(universe, clauses))


@pytest.mark.parametrize("first_asks", [True, False])
def test_two_curators_at_once_measure_no_more_than_one(tmp_path, monkeypatch, first_asks):
    def ring(self, primitive, value):  # every test of the gate is an alarm
        return 0 if isinstance(primitive, FirstAbove) else primitive.sample(value, self)

    monkeypatch.setattr(SystemRng, "perform", ring)
    with closing(open_book(tmp_path / "budget.db")) as book, curator(ledger=book, **GIVEN) as one:
        if first_asks:
            one.analyst("acme").sql(BY_REGION)
        with curator(ledger=book, **GIVEN) as other:
            for both in (other, one, other):
                _ask_all(both)
        kinds = Counter(json.loads(note)["kind"] for note in one.ledger.journal("shared").read())
        assert kinds["answer"] <= UPDATES and kinds["gate"] == 1 + first_asks


def test_of_two_that_open_at_once_one_measures(tmp_path):
    with closing(open_book(tmp_path / "budget.db")) as book:
        ledgers = [Ledger(epsilon=1, delta=0, neighbours=AddRemove("row"), book=book) for _ in range(2)]
        both = [Opening(ledger) for ledger in ledgers]
        universe = Universe([("a", (0, 1))])
        assert both[0].claim("shared", universe, TENTH, Fraction(0))
        with pytest.raises(LedgerRefused, match="somebody else"):
            both[1].claim("shared", universe, TENTH, Fraction(0))


def test_a_charge_comes_before_the_rows(tmp_path, monkeypatch):
    path = tmp_path / "budget.db"
    ask(path, "2026-11")
    read, seen = Table.histogram, []

    def watch(self, *given, **named):
        with pytest.raises(LedgerRefused, match=r"open in another process \(\d+\)\."):
            curator(ledger=path, **GIVEN)
        seen.append(given)
        return read(self, *given, **named)

    with monkeypatch.context() as patch:
        patch.setattr(Table, "histogram", watch)
        patch.setattr(Shared, "__init__", lambda *_: (_ for _ in ()).throw(KeyboardInterrupt()))
        with pytest.raises(KeyboardInterrupt):
            curator(ledger=path, version="2026-12", **GIVEN)
    assert seen
    with curator(ledger=path, version="2026-11", **GIVEN) as one:
        assert one.ledger.spent()["epsilon"] == TENTH + PART


def test_a_key_stands_for_its_reply_whatever_the_version(tmp_path):
    path = tmp_path / "budget.db"
    replies = []
    for version in ("2026-11", "2026-12"):
        with curator(ledger=path, version=version, **GIVEN) as one:
            acme = one.analyst("acme")
            replies.append(acme.sql(INCOME, insist=True, key="k1"))
            with pytest.raises(KeyReused):
                acme.sql(BY_REGION, key="k1")
    assert replies[0].rows == replies[1].rows


@pytest.mark.parametrize("epsilon", [Fraction(15, 4), 5])
def test_no_version_has_another_whole_beside_the_same_rest(tmp_path, epsilon):
    """The first version's hypothesis cost 1 of 4: no later one makes that less, or more, by what it says."""
    path, rest = tmp_path / "budget.db", 3
    other = {"epsilon": epsilon, "shared": 1 - rest / Fraction(epsilon)}
    with curator(ledger=path, **GIVEN) as one:
        assert one.ledger.whole_epsilon == rest
    for version in ("2026-12", None):
        with pytest.raises(LedgerRefused, match="epsilon"):
            curator(ledger=path, version=version, **GIVEN | other)
    with curator(ledger=path, version="2026-12", **GIVEN) as one:
        assert one.ledger.spent()["epsilon"] == PART
    for version in ("2026-12", "2027-01", None):
        with pytest.raises(LedgerRefused, match="epsilon"):
            curator(ledger=path, version=version, **GIVEN | other)


@pytest.mark.parametrize("version", ["", "a\nb", "a\0", 7])
def test_a_version_is_one_line_of_text(version):
    with pytest.raises(InvalidParameter, match="version"):
        curator(version=version, **GIVEN)


def test_one_version_warns_of_nothing(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error", DataSetChanged)
        for _ in range(2):
            ask(tmp_path / "budget.db", "2026-11")


@pytest.mark.parametrize("name", [WHO, f"{WHO} of 2027"])
def test_no_analyst_is_called_as_the_hypothesis_is(name):
    """A later version's hypothesis has a share under that name: whoever had it too would spend it again."""
    with curator(shared=0) as one, pytest.raises(InvalidParameter, match="share of its own"):
        one.analyst(name, share=0.1)


def test_a_hypothesis_that_stays_behind_under_another_schema_is_told_and_comes_back(book):
    """A number in the schema decides whether counts are free: its owner hears of it."""
    other = replace(BY_USER, unit=replace(BY_USER.unit, max_rows=3))
    given = GIVEN | {"ledger": book, "epsilon": 8}
    with curator(BY_USER, **given) as one:
        assert one._shared is not None
    with pytest.warns(DataSetChanged, match="every count has a price now"), curator(other, **given) as one:
        assert one._shared is None
    with curator(BY_USER, **given) as one:
        assert one._shared is not None
