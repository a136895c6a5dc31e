"""A book with a past: entries of several kinds over weeks, written without waiting for them."""

from contextlib import contextmanager
from fractions import Fraction

import pytest
from tests.unit.server.conftest import write_home

from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss, ZCDPLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.ledger import Ledger
from discreet.server.access import Access
from discreet.server.registered.registration import read_registration
from discreet.server.registry.sources import read_closed

START = 1_790_000_000
DAY = 86_400
ROWS = AddRemove("row")
PURE = Guarantee(PureLoss(Fraction(1, 250)), ROWS)
GAUSSIAN = Guarantee(ZCDPLoss(Fraction(1, 200_000)), ROWS)
FLU = "how the flu spread in 2026"


class Past:
    """Writes what happened, at times of its own."""

    def __init__(self, ledger, book):
        self.ledger, self._time = ledger, START
        book.now = lambda: self._time

    def ask(self, item=PURE, *, day=0.0, analyst="acme", study=None, what="SELECT secret", end="finish"):
        self._time = START + int(day * DAY)
        number = self.ledger.reserve(analyst, what, item, study=study)
        if end == "void":
            self.ledger.void(number)
        elif end == "finish":
            self.ledger.start(number)
            self.ledger.finish(number)
        return number


@contextmanager
def writing(folder, *, part=Fraction(1, 2), delta=Fraction(1, 10**9), options="", apart=False):
    """Write a registration, and open its book; `part` of the budget is for questions."""
    promise = 'promise = "one analyst to many"\n' if apart else ""
    path = write_home(folder, rows=10, options=promise + options, delta=f"{float(delta):g}")
    book = open_book(folder / "budget.db")
    try:
        ledger = Ledger(
            epsilon=part, delta=part * delta, neighbours=ROWS, apart=apart, book=book, name="visits"
        )
        past = Past(ledger, book)
        past.path = path
        yield past
    finally:
        book.close()


def read(path):
    """Return what the registry of the one data set is made from."""
    (source,) = read_closed(read_registration(path))
    return source


def fill(folder, **options):
    """Write a past with a bit of everything; return the registration."""
    with writing(folder, **options) as past:
        past.ledger.cap("acme", Fraction(1, 2))
        past.ledger.cap_study("flu", Fraction(1, 3), purpose=FLU)
        past.ledger.note_use("a map that was printed in 2019", loss="unknown")
        for place in range(12):
            past.ask(
                GAUSSIAN if place % 3 == 2 else PURE,
                day=place,
                analyst="acme" if place % 2 else "blue",
                study="flu" if place % 4 == 0 else None,
                what=f"SELECT {place}",
                end="void" if place == 5 else "start" if place == 7 else "finish",
            )
    access = Access(folder / "access.db")
    access.grant("acme", "visits", Fraction(1, 2))
    access.add_study("visits", "flu", Fraction(1, 3), purpose=FLU)
    access.close()
    return past.path


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    return fill(tmp_path_factory.mktemp("filled"))


@pytest.fixture
def source(filled):
    return read(filled)
