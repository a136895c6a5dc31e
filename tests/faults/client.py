"""Clients that ask questions of a ledger until there is no more budget, in a process that may be killed.

Arguments: the book, the first client's journal, the first and the last key, epsilon, how many clients share
the keys. Every line of a journal is on the disk before the next step: `invoke KEY`, `ok KEY ANSWER PLACE`,
`fail KEY`. The journals of further clients have a number behind their names.
"""

import os
import secrets
import sys
import threading
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


def open_ledger(where, epsilon, *, together=True):
    anchor = os.environ.get("ANCHOR")  # a book on a server has none beside it
    book = open_book(where, anchor=anchor, together=together)
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


def ask_all(ledger, journal, keys):
    said = os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def note(*words):
        os.write(said, (" ".join(map(str, words)) + "\n").encode())
        os.fsync(said)

    told = [line.split() for line in Path(journal).read_text().splitlines()]
    done = {words[1] for words in told if words[0] in ("ok", "fail")}
    for place in keys:
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
    os.close(said)


def name_journals(journal, clients):
    return [Path(f"{journal}{number or ''}") for number in range(clients)]


def main(where, journal, *numbers):
    first, last, clients = (int(numbers[place]) for place in (0, 1, 3))
    _, ledger = open_ledger(where, numbers[2])
    asking = [
        threading.Thread(target=ask_all, args=(ledger, one, range(first + number, last, clients)))
        for number, one in enumerate(name_journals(journal, clients))
    ]
    for one in asking:
        one.start()
    for one in asking:
        one.join()


if __name__ == "__main__":
    main(*sys.argv[1:])
