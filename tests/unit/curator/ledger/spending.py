"""Books with a little spent in them."""

from fractions import Fraction

from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.ledger import Ledger

ROWS = AddRemove("row")
TENTH = Guarantee(PureLoss(Fraction(1, 10)), ROWS)


def opened(book, **changes):
    return Ledger(**{"epsilon": 1, "delta": 0, "neighbours": ROWS, "book": book, "name": "visits"} | changes)


def spend(path, times=1, **changes):
    """Open a book, spend tenths of the budget and close it; return what is spent then."""
    book = open_book(path)
    try:
        ledger = opened(book, **changes)
        for _ in range(times):
            number = ledger.reserve("acme", "SELECT COUNT(*) FROM visits", TENTH)
            ledger.start(number)
            ledger.finish(number, b"41")
    finally:
        book.close()
    return ledger.spent()
