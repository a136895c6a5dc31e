from fractions import Fraction

import pytest
from tests.unit.curator.conftest import BY_ROW, curator

from discreet.core.errors import InvalidParameter, KeyReused, NotFree, Refused
from discreet.curator import question_reader
from discreet.curator.question_reader import LONG, READ, QuestionReader
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables

POLICY = Policy(epsilon=Fraction(1, 10), delta=Fraction(1, 10**8))
MEAN = "SELECT AVG(income) AS mean FROM people"


@pytest.fixture
def reader():
    return QuestionReader(PlanTables.of(BY_ROW), POLICY)


def test_what_it_may_cost_is_part_of_the_question(reader):
    plain = reader.read("acme", MEAN, epsilon=None, delta=None)
    cheap = reader.read("acme", MEAN, epsilon=0.05, delta=0)
    assert plain.plan.options.epsilon is None
    assert (cheap.plan.options.epsilon, cheap.plan.options.delta) == (Fraction(1, 20), 0)
    said = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=0.05, delta=0) AVG(income) AS mean FROM people"
    assert reader.read("acme", said, epsilon=None, delta=None) == cheap
    with pytest.raises(InvalidParameter, match="says it by itself"):
        reader.read("acme", said, epsilon=0.05, delta=None)


@pytest.mark.parametrize(
    "given", [{"epsilon": 0.2}, {"delta": 1e-7}, {"epsilon": 0}, {"epsilon": float("nan")}, {"delta": -1}]
)
def test_more_than_the_owner_allows_is_refused(reader, given):
    with pytest.raises(InvalidParameter):
        reader.read("acme", MEAN, **{"epsilon": None, "delta": None, **given})


def test_a_question_is_read_once(reader, monkeypatch):
    first = reader.read("acme", MEAN, epsilon=None, delta=None)
    monkeypatch.setattr(question_reader, "parse", lambda *_, **__: pytest.fail("read again"))
    assert reader.read("acme", MEAN, epsilon=None, delta=None) is first


def test_what_one_analyst_asked_is_read_again_for_another(reader):
    """Otherwise how long it takes would tell her that it was asked."""
    first = reader.read("acme", MEAN, epsilon=None, delta=None)
    assert reader.read("blue", MEAN, epsilon=None, delta=None) is not first
    for age in range(2 * READ):
        reader.read("blue", f"SELECT COUNT(*) FROM people WHERE age > {age}", epsilon=None, delta=None)
    assert reader.read("acme", MEAN, epsilon=None, delta=None) is first


def test_long_questions_are_not_remembered(reader):
    long = f"SELECT COUNT(*) FROM people WHERE age > 21 {' ' * LONG}"
    first, again = (reader.read("acme", long, epsilon=None, delta=None) for _ in range(2))
    assert first is not again


@pytest.mark.parametrize("text", ["", "nonsense", 7, None, b"SELECT 1"])
def test_what_is_no_question(reader, text):
    with pytest.raises((InvalidParameter, Refused)):
        reader.read("acme", text, epsilon=None, delta=None)


def test_a_question_that_is_to_cost_nothing_costs_nothing():
    with curator() as owner:
        door = owner.analyst("acme")
        assert door.sql("SELECT COUNT(*) AS n FROM people", pay=False).kind == "free"
        with pytest.raises(NotFree, match="pay=True"):
            door.sql(MEAN, pay=False)
        assert not any(owner.ledger.spent().values())
        bought = door.sql(MEAN, insist=True)
        assert door.sql(MEAN, pay=False).rows == bought.rows  # it was paid for


def test_another_price_is_another_question():
    with curator() as owner:
        door = owner.analyst("acme")
        cheap = door.sql(MEAN, epsilon=0.001, delta=0, insist=True)
        assert cheap.cost["epsilon"] == Fraction(1, 1000)
        assert door.sql(MEAN, insist=True).cost
        assert door.sql(MEAN, epsilon=0.001, delta=0, insist=True).rows == cheap.rows
        assert door.plan(MEAN, epsilon=0.002, delta=0).cost["epsilon"] == Fraction(1, 500)


def test_a_price_beside_several_selects_is_part_of_the_question(tmp_path):
    some = "SELECT 'some' AS who, AVG(income) AS mean FROM people WHERE age > 21"
    both = f"{some} UNION ALL SELECT 'all', AVG(income) FROM people"
    with curator(shared=0, ledger=tmp_path / "budget.db") as owner:
        door = owner.analyst("acme")
        bought = door.sql(both, epsilon=0.03, insist=True, key="mine")
        with pytest.raises(KeyReused):
            door.sql(both, epsilon=0.04, insist=True, key="mine")
        assert "epsilon" in owner.ledger.entry(0).what
    with curator(shared=0, ledger=tmp_path / "budget.db") as owner:
        again = owner.analyst("acme").sql(both, epsilon=0.03, insist=True, pay=False)
        assert again.rows == bought.rows
        assert again.repeated
