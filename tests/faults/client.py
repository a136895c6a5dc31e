"""A client that asks questions of a ledger until there is no more budget, in a process that may be killed.

Arguments: the book, the client's own journal, the first and the last key, epsilon. Every line of the journal
is on the disk before the next step: `invoke KEY`, `ok KEY ANSWER PLACE`, `fail KEY`.
"""

import os
import secrets
import sys
from fractions import Fraction
from pathlib import Path

from discreet.core.errors import BudgetExceeded
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.ledger import Ledger

ROWS = AddRemove("row")
TINY = Guarantee(PureLoss(Fraction(1, 1000)), ROWS)


def open_ledger(path, epsilon, *, together=True):
    book = open_book(path, together=together)
    try:
        return book, Ledger(epsilon=Fraction(epsilon), delta=0, neighbours=ROWS, book=book, name="visits")
    except BaseException:
        book.close()
        raise


def ask(ledger, key):
    """Ask the question of a key; whoever asked it before, and was killed, is answered now."""
    number = ledger.reserve("acme", f"question {key}", TINY, key=key)
    known = ledger.answer(number)
    if known is not None:
        return number, known
    if ledger.entry(number).state == "reserved":
        ledger.start(number)
    else:
        ledger.take_over(number)
    return number, ledger.finish(number, secrets.token_bytes(8))


def main(path, journal, first, last, epsilon):
    said = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(*words):
        os.write(said, (" ".join(map(str, words)) + "\n").encode())
        os.fsync(said)

    _, ledger = open_ledger(path, epsilon)
    told = [line.split() for line in Path(journal).read_text().splitlines()]
    done = {words[1] for words in told if words[0] in ("ok", "fail")}
    for place in range(int(first), int(last)):
        key = f"key{place}"
        if key in done:
            continue
        note("invoke", key)
        try:
            number, answer = ask(ledger, key)
        except BudgetExceeded:
            note("fail", key)
        else:
            note("ok", key, answer.hex(), ledger.receipt(number).place)


if __name__ == "__main__":
    main(*sys.argv[1:])
