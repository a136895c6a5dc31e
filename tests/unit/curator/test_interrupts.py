"""An interrupt before any line: what is charged stays charged, and what was not started comes back."""

import itertools
from fractions import Fraction
from functools import cache

import pytest
from tests.interrupts import everywhere, interrupted
from tests.unit.curator.conftest import curator

from discreet.accounting import filters
from discreet.analysts.promises import OneAnalystToMany
from discreet.core.errors import BudgetExceeded, InvalidParameter
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss, ZCDPLoss
from discreet.core.neighbours import AddRemove
from discreet.curator import curator as curators
from discreet.curator import doors, history, records, service
from discreet.curator.ledger import book, ledger, lines, shares, state
from discreet.curator.ledger.entries import Ticket
from discreet.curator.ledger.ledger import Ledger
from discreet.data import Table

ROWS = AddRemove("row")
HALF = Fraction(1, 2)


def require_sums(one):
    """What is spent is the sum of all charges that were not given back, on every line, within the budget."""
    one.left()
    account, shares = one._account, one._shares
    live = [record.reserved for record in account.records.values() if record.state != "voided"]
    for line in {line.name: line for who in ("acme", "blue") for line in shares.find_lines(who)}.values():
        charges = [charge.amounts for each in live for charge in each.charges if charge.line == line.name]
        for place, (amount, endless) in enumerate(zip(line.sum.amounts, line.sum.endless, strict=True)):
            assert amount == sum(charge[place] or 0 for charge in charges)
            assert endless == sum(charge[place] is None for charge in charges)
        assert line.filter.fits(line.spent, share=line.share)
    assert [entry.number for entry in one.entries()] == list(range(len(one.entries())))


def pure(epsilon, bought=None):
    return Guarantee(PureLoss(Fraction(epsilon)), ROWS), bought


LEDGERS = {
    "pure": (0, False, pure("1/1000"), pure("9/10")),
    "apart": (0, True, pure("1/1000"), pure("9/20")),
    "either": (
        Fraction(1, 1000),
        False,
        (Guarantee(ZCDPLoss(Fraction(1, 10**6)), ROWS), ApproxLoss(Fraction(1, 1000), Fraction(1, 10**7))),
        (Guarantee(ZCDPLoss(Fraction(1, 60)), ROWS), None),
    ),
}


@pytest.mark.parametrize("kind", LEDGERS)
def test_an_interrupt_at_any_line_of_the_ledger_loses_no_charge(kind, monkeypatch):
    """Entries and charges in two lists got out of step, and a void gave another question's charge back."""
    delta, apart, cheap, dear = LEDGERS[kind]
    monkeypatch.setattr(filters.Filter, "cost", cache(filters.Filter.cost))
    # The filters of ledgers keep nothing: one is enough.
    monkeypatch.setattr(shares, "make_filter", cache(filters.make_filter))

    def attempt(at):
        one = Ledger(epsilon=1, delta=delta, neighbours=ROWS, apart=apart)
        for who in ("acme", "blue"):
            one.cap(who, HALF if apart else 1)
        given = Ticket()

        def reserve(who, what, ticket=None):
            item, bought = what
            return one.reserve(who, "q", item, bought=bought, ticket=ticket)

        def work():
            first, second = reserve("acme", cheap), reserve("acme", cheap, given)
            one.start(first)
            one.finish(first)
            one.void(second)
            one.void(reserve("blue", cheap))

        came = interrupted(work, at, ledger, book, state, shares, lines)
        assert one.void_unless_started(given)
        require_sums(one)
        # From here on nobody is interrupted, and everything adds up.
        for _ in range(5):
            try:
                small, large = reserve("acme", cheap), reserve("acme", dear)
            except BudgetExceeded:
                break
            one.start(large)
            one.finish(large)
            one.void(small)
            require_sums(one)
        else:
            raise AssertionError("more was answered than the budget allows")
        return came

    everywhere(attempt, least=60)


def test_what_was_reserved_for_a_ticket_comes_back_until_it_is_started():
    one, ticket = Ledger(epsilon=1, delta=0, neighbours=ROWS), Ticket()
    assert one.void_unless_started(ticket)  # nothing was reserved for it
    number = one.reserve("acme", "q", pure("1/2")[0], ticket=ticket)
    assert ticket.number == number
    assert one.void_unless_started(ticket) and one.void_unless_started(ticket)
    assert one.spent() == {"epsilon": 0}
    again = Ticket()
    one.start(one.reserve("acme", "q", pure("1/2")[0], ticket=again))
    assert not one.void_unless_started(again)
    assert one.spent() == {"epsilon": HALF}


def test_an_interrupt_at_any_line_sets_no_share_aside_twice():
    def attempt(at):
        one = curator(shared=0, promise=OneAnalystToMany())
        came = interrupted(
            lambda: one.analyst("acme", share=Fraction(3, 4)), at, curators, ledger, book, state, doors
        )
        assert one.analyst("acme", share=Fraction(3, 4)).share == Fraction(3, 4)
        with pytest.raises(InvalidParameter, match="at most 1/4: the rest is set aside"):
            one.analyst("blue", share=HALF)
        one.close()
        return came

    everywhere(attempt, least=10)


@pytest.mark.parametrize("promise", [None, OneAnalystToMany()], ids=["together", "apart"])
def test_an_interrupt_at_any_line_of_a_question_leaves_no_reservation(monkeypatch, promise):
    """Whatever was touched is charged and in the history, whatever was not is whole; the next one works."""
    one = curator(shared=0, epsilon=10**6, question=(Fraction(1, 10), 0), promise=promise)
    acme, blue = one.analyst("acme", share=HALF), one.analyst("blue", share=HALF)
    given = one._service._table.sql("SELECT SUM(income) FROM people", epsilon=1, delta=0)
    monkeypatch.setattr(
        Table, "answer", lambda *_, **__: given
    )  # what the engine does is not what is tried here
    values = itertools.count()

    def attempt(at):
        text = f"SELECT SUM(income) FROM people WHERE income < {next(values) + 10}"
        came = interrupted(lambda: acme.sql(text), at, service, ledger, book, state, history, records)
        states = [entry.state for entry in one.ledger.entries()]
        assert "reserved" not in states
        require_sums(one.ledger)
        noted = {asked.what for asked in acme.history}
        if came and states and states[-1] == "started":
            assert one.ledger.entries()[-1].what in noted
        assert [asked.number for asked in acme.history] == list(range(len(acme.history)))
        return came

    everywhere(attempt, least=80)
    assert blue.sql("SELECT SUM(income) FROM people WHERE income < 5").kind == "priced"
    assert not one._service._records._turns
    one.close()


def test_replies_and_histories_stay_whole(monkeypatch):
    """Two structures that say the same are one: rows, room and numbers are read from the same place."""
    monkeypatch.setattr(records, "ROWS", 12)
    monkeypatch.setattr(records, "LEAST_ROWS", 3)

    class Kept:
        kind = "priced"
        groups = 2

    def attempt(at):
        kept, noted = records.Records(), history.History()

        def work():
            for key in range(8):
                kept.keep("acme", key, Kept())
                noted.note("q", "priced", {})

        came = interrupted(work, at, records, history)
        for key in range(10, 16):
            kept.keep("acme", key, Kept())
            noted.note("q", "priced", {})
        (shelf,) = kept._shelves.values()
        assert set(kept._replies) <= set(shelf._places)
        assert sum(end - start for start, end in shelf._places.values()) <= 12
        assert list(kept._replies) == [12, 13, 14, 15]
        assert [one.number for one in noted.list_questions()] == list(range(len(noted.list_questions())))
        return came

    everywhere(attempt, least=60)


def test_no_charge_is_about_nothing():
    """A filter that was interrupted is not left with a charge and free to take one about another change."""

    def attempt(at):
        one = filters.PureFilter(epsilon=1)
        came = interrupted(lambda: one.spend(pure("1/2")[0]), at, filters)
        assert one.neighbours == ROWS or one.spent == {"epsilon": 0}
        return came

    everywhere(attempt, least=10)


@pytest.mark.parametrize("fresh", [[1], None, "no", float("nan"), 1], ids=repr)
def test_whether_it_is_fresh_is_true_or_false(fresh):
    with curator(shared=0) as one:
        door = one.analyst("acme")
        for ask in (door.sql, door.plan):
            with pytest.raises(InvalidParameter, match="fresh"):
                ask("SELECT COUNT(*) FROM people", fresh=fresh)
        assert door.history == () and one.ledger.entries() == ()
