"""Interrupts while a charge is being written: the book goes on, and what was begun stays charged."""

import signal
from fractions import Fraction

import pytest

from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.entries import Ticket
from discreet.curator.ledger.ledger import Ledger

ROWS = AddRemove("row")
ROUNDS = 4000


@pytest.fixture
def alarm():
    """Return a function that interrupts after some seconds, and once only."""
    is_armed = []

    def interrupt(*given):
        if is_armed:
            is_armed.clear()
            raise KeyboardInterrupt

    def arm(seconds):
        is_armed[:] = [True] if seconds else []
        signal.setitimer(signal.ITIMER_REAL, seconds)

    before = signal.signal(signal.SIGALRM, interrupt)
    yield arm
    arm(0)
    signal.signal(signal.SIGALRM, before)


def test_interrupts_at_any_moment(tmp_path, alarm):
    book = open_book(tmp_path / "budget.db")
    ledger = Ledger(epsilon=ROUNDS, delta=0, neighbours=ROWS, book=book)
    cost, begun, interrupts = Guarantee(PureLoss(Fraction(1)), ROWS), 0, 0
    for place in range(ROUNDS):
        ticket, is_begun = Ticket(), False
        try:
            alarm(1e-6 + 4e-4 * (place % 997) / 997)
            number = ledger.reserve("acme", "q", cost, ticket=ticket)
            ledger.start(number)
            is_begun = True
            ledger.finish(number)
            alarm(0)
        except KeyboardInterrupt:
            interrupts += 1
            assert not (ledger.void_unless_started(ticket) and is_begun)
        begun += is_begun
    charged = sum(entry.state != "voided" for entry in ledger.entries())
    assert interrupts > ROUNDS // 4
    assert charged >= begun
    assert ledger.spent() == {"epsilon": charged}
    book.close()
