"""Books that outlive their process: what was charged stays, whatever becomes of the process or the file."""

import threading
from fractions import Fraction

import pytest
from tests.unit.curator.ledger.spending import ROWS, TENTH, opened, spend

from discreet.core.errors import (
    BudgetExceeded,
    InternalError,
    InvalidParameter,
    KeyReused,
    LedgerRefused,
)
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ZCDPLoss
from discreet.core.neighbours import Replace
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.entries import Ticket
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ledger.people import People


def test_a_ledger_goes_on_where_it_was(path):
    spend(path, times=4)
    book = open_book(path)
    ledger = opened(book)
    assert ledger.spent() == {"epsilon": Fraction(4, 10)}
    assert [(entry.number, entry.state, entry.loss) for entry in ledger.entries()] == [
        (number, "finished", "epsilon 0.1") for number in range(4)
    ]
    assert ledger.answer(2) == b"41"
    for _ in range(6):
        ledger.reserve("acme", "q", TENTH)
    with pytest.raises(BudgetExceeded):
        ledger.reserve("acme", "q", TENTH)
    book.close()


@pytest.mark.parametrize(
    "changes",
    [{"epsilon": 2}, {"delta": Fraction(1, 10**6)}, {"neighbours": Replace("row")}, {"apart": True}],
)
def test_a_budget_is_set_once(path, changes):
    spend(path)
    book = open_book(path)
    with pytest.raises(LedgerRefused, match="a budget is set once"):
        opened(book, **changes)
    assert opened(book).spent() == {"epsilon": Fraction(1, 10)}
    book.close()


def test_shares_and_studies_outlive_the_process(path):
    book = open_book(path)
    ledger = opened(book)
    ledger.cap("acme", Fraction(1, 2))
    ledger.cap_group("alliance", ["acme", "blue"], Fraction(7, 10))
    ledger.cap_study("flu", Fraction(3, 10), purpose="how the flu spread")
    book.close()
    book = open_book(path)
    ledger = opened(book)
    assert ledger.share("acme") == Fraction(1, 2)
    for _ in range(3):
        ledger.reserve("acme", "q", TENTH, study="flu")
    with pytest.raises(BudgetExceeded, match="study flu"):
        ledger.reserve("acme", "q", TENTH, study="flu")
    for _ in range(2):
        ledger.reserve("acme", "q", TENTH)
    with pytest.raises(BudgetExceeded, match="share of acme"):
        ledger.reserve("acme", "q", TENTH)
    for _ in range(2):
        ledger.reserve("blue", "q", TENTH)
    with pytest.raises(BudgetExceeded, match="group alliance"):
        ledger.reserve("blue", "q", TENTH)
    ledger.reserve("carol", "q", TENTH)
    with pytest.raises(InvalidParameter, match="the owner registered"):
        ledger.reserve("carol", "q", TENTH, study="cold")
    assert [entry.study for entry in ledger.entries()] == ["flu"] * 3 + [None] * 5
    book.close()


def test_people_in_two_data_sets_have_one_budget(book):
    people = People(name="residents", epsilon=1, delta=0)
    visits, prices = (opened(book, name=name, people=people) for name in ("visits", "prices"))
    for _ in range(6):
        visits.reserve("acme", "q", TENTH)
    for _ in range(4):
        prices.reserve("blue", "q", TENTH)
    for ledger in (visits, prices):
        with pytest.raises(BudgetExceeded, match="the budget of residents"):
            ledger.reserve("acme", "q", TENTH)
    assert visits.left()["epsilon"] == Fraction(4, 10)
    assert visits.left("acme") == {"epsilon": 0}
    visits.void(0)
    prices.reserve("blue", "q", TENTH)
    with pytest.raises(LedgerRefused, match="a budget is set once"):
        opened(book, name="third", people=People(name="residents", epsilon=2, delta=0))


def test_people_without_a_book_would_share_with_nobody():
    for book in ({}, {"book": None}):
        with pytest.raises(InvalidParameter, match="no book"):
            Ledger(epsilon=1, delta=0, neighbours=ROWS, people=People(name="all", epsilon=1, delta=0), **book)


def test_people_with_another_kind_of_budget_refuse_what_it_cannot_count(book):
    ledger = opened(
        book, delta=Fraction(1, 10**6), people=People(name="residents", epsilon=Fraction(1, 2), delta=0)
    )
    with pytest.raises(InvalidParameter, match="finite charge"):
        ledger.reserve("acme", "q", Guarantee(ZCDPLoss(Fraction(1, 100)), ROWS))
    for _ in range(5):
        ledger.reserve("acme", "q", TENTH)
    with pytest.raises(BudgetExceeded, match="residents"):
        ledger.reserve("acme", "q", TENTH)


def test_shares_apart_have_no_people_groups_or_studies(book):
    with pytest.raises(InvalidParameter, match="apart"):
        opened(book, name="a", apart=True, people=People(name="residents", epsilon=1, delta=0))
    ledger = opened(book, apart=True)
    with pytest.raises(InvalidParameter, match="apart"):
        ledger.cap_group("alliance", ["acme"], 1)
    with pytest.raises(InvalidParameter, match="apart"):
        ledger.cap_study("flu", 1, purpose="why")


def test_a_key_is_charged_once(book):
    ledger = opened(book)
    number = ledger.reserve("acme", "q", TENTH, key="k1")
    assert ledger.reserve("acme", "q", TENTH, key="k1") == number
    with pytest.raises(KeyReused):
        ledger.reserve("acme", "another", TENTH, key="k1")
    assert ledger.reserve("blue", "another", TENTH, key="k1") != number
    assert ledger.spent() == {"epsilon": Fraction(2, 10)}
    ledger.void(number)
    with pytest.raises(KeyReused):
        ledger.reserve("acme", "another", TENTH, key="k1")
    again = ledger.reserve("acme", "q", TENTH, key="k1")  # nothing was answered: it may come again
    assert again != number
    assert ledger.reserve("acme", "q", TENTH, key="k1") == again
    assert ledger.spent() == {"epsilon": Fraction(2, 10)}


def test_a_known_key_is_given_back_by_nobody_else(book):
    """A second caller who is interrupted holds no ticket for what the first reserved."""
    ledger = opened(book)
    number = ledger.reserve("acme", "q", TENTH, key="k1")
    second = Ticket()
    assert ledger.reserve("acme", "q", TENTH, key="k1", ticket=second) == number
    assert second.number is None
    assert ledger.void_unless_started(second)
    assert ledger.entry(number).state == "reserved"
    assert ledger.spent() == {"epsilon": Fraction(1, 10)}


def test_one_answer_a_charge(book):
    ledger = opened(book)
    number = ledger.reserve("acme", "q", TENTH)
    assert ledger.answer(number) is None
    ledger.start(number)
    assert ledger.finish(number, b"41") == b"41"
    assert ledger.finish(number, b"42") == b"41"
    assert ledger.answer(number) == b"41"


def test_what_was_charged_in_another_life_can_be_answered_and_never_comes_back(path):
    book = open_book(path)
    number = opened(book).reserve("acme", "q", TENTH, key="k1")
    book.close()
    book = open_book(path)
    ledger = opened(book)
    assert ledger.entry(number).state == "started"  # for all that this life knows
    with pytest.raises(InternalError):
        ledger.void(number)
    assert not ledger.void_unless_started(Ticket(number))
    assert ledger.reserve("acme", "q", TENTH, key="k1") == number
    ledger.take_over(number)
    assert ledger.finish(number, b"41") == b"41"
    with pytest.raises(InternalError):
        ledger.take_over(number)
    mine = ledger.reserve("acme", "q", TENTH)
    with pytest.raises(InternalError):
        ledger.take_over(mine)
    assert ledger.spent() == {"epsilon": Fraction(2, 10)}
    book.close()


def test_two_processes_of_one_server_share_a_budget(path):
    """Two books on one file, as two workers have them: each sees what the other wrote before it decides."""
    first, second = (open_book(path, together=True) for _ in range(2))
    one, other = opened(first), opened(second)
    for _ in range(5):
        one.reserve("acme", "q", TENTH)
        other.reserve("blue", "q", TENTH)
    for ledger in (one, other):
        with pytest.raises(BudgetExceeded):
            ledger.reserve("acme", "q", TENTH)
        assert len(ledger.entries()) == 10
    # One takes over what the other reserved: the other cannot give it back from then on.
    other.take_over(0)
    with pytest.raises(InternalError):
        one.void(0)
    one.void(2)
    second.refresh()
    assert other.spent() == {"epsilon": Fraction(9, 10)}
    first.close()
    second.close()


def test_many_threads_share_transactions(path):
    book = open_book(path)
    ledger, refused = opened(book, epsilon=10), []

    def work():
        for _ in range(10):
            try:
                number = ledger.reserve("acme", "q", TENTH)
            except BudgetExceeded:
                refused.append(1)
            else:
                ledger.start(number)
                ledger.finish(number, b"41")

    threads = [threading.Thread(target=work) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(ledger.entries()), len(refused)) == (100, 60)
    book.close()
    assert spend(path, times=0, epsilon=10) == {"epsilon": 10}
