"""A price says beforehand which budget it exceeds, in the words of the refusal."""

from fractions import Fraction

import pytest

from discreet.core.errors import BudgetExceeded, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.amounts import Amounts
from discreet.curator.ledger.book import MemoryBook
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.people import People

ROWS = AddRemove("row")
TENTH = Guarantee(PureLoss(Fraction(1, 10)), ROWS)
FIFTH = Fraction(1, 5)


def open_with(limit):
    """Open a ledger of which one line has room for two questions, and all others for ten."""
    facts = {
        "data": {"epsilon": FIFTH},
        "people": {"people": People(name="residents", epsilon=FIFTH, delta=0)},
        "period": {"pace": (FIFTH, 3600)},
    }
    given = {"epsilon": 1, "delta": 0, "neighbours": ROWS, "book": MemoryBook(), "name": "visits"}
    ledger = Ledger(**given | facts.get(limit, {}))
    ledger.cap("acme", FIFTH if limit == "analyst" else 1)
    ledger.cap_group("alliance", ["acme"], FIFTH if limit == "group" else 1)
    ledger.cap_study("flu", FIFTH if limit == "study" else 1, purpose="how it spread")
    return ledger


@pytest.mark.parametrize(
    ("limit", "words"),
    [
        ("data", "the data set's budget: asked epsilon 0.1, left nothing"),
        ("analyst", "the share of acme: asked epsilon 0.1, left nothing"),
        ("group", "the share of the group alliance"),
        ("study", "the share of the study flu"),
        ("people", "the budget of residents"),
        ("period", "what may be spent in 3600 seconds"),
    ],
)
def test_a_price_names_the_line_that_it_exceeds(limit, words):
    ledger = open_with(limit)
    for _ in range(2):
        assert ledger.find_refusal("acme", TENTH, study="flu") is None
        ledger.reserve("acme", "q", TENTH, study="flu")
    told = ledger.find_refusal("acme", TENTH, study="flu")
    assert told is not None and told.startswith(words)
    with pytest.raises(BudgetExceeded) as caught:
        ledger.reserve("acme", "q", TENTH, study="flu")
    assert str(caught.value) == told
    assert len(ledger.entries()) == 2, "nothing is reserved by looking"


def test_what_is_used_up_is_named_beside_what_is_left():
    assert Amounts(epsilon=Fraction(0), delta=Fraction(1, 10)).there == "epsilon 0, delta 0.1"
    assert Amounts(epsilon=Fraction(0), delta=Fraction(0)).there == "nothing"


def test_a_retired_data_set_says_so_beforehand():
    ledger = open_with("")
    ledger.retire("moved")
    assert "retired" in str(ledger.find_refusal("acme", TENTH))
    with pytest.raises(Refused, match="retired"):
        ledger.reserve("acme", "q", TENTH)


def test_where_shares_are_apart_nothing_of_others_shows():
    told = []
    for others in (0, 4):
        ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, apart=True)
        ledger.cap("acme", FIFTH)
        ledger.cap("blue", Fraction(1, 2))
        for _ in range(others):
            ledger.reserve("blue", "q", TENTH)
        for _ in range(2):
            told.append(ledger.find_refusal("acme", TENTH))
            ledger.reserve("acme", "q", TENTH)
        told.append(ledger.find_refusal("acme", TENTH))
    assert told[:3] == told[3:] and told[:2] == [None, None]
    assert told[2].startswith("the share of acme: asked epsilon 0.1, left nothing")
