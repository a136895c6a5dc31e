"""A server that dies at a named place between a question and its answer: the charge, and what a retry gets.

| place | charged before the retry | answered before the retry |
|---|---|---|
| before the charge is committed | no | no |
| behind it, and before the engine or behind it | yes | no |
| behind the commit of the answer, before or while it is sent | yes | yes: the retry gets those bytes |
"""

from fractions import Fraction

import pytest
from tests.discreet_server import Served, add_analyst, make_folder
from tests.faults.test_http import PRICE, Client, check_book

from discreet.curator.ledger.books.files import open_book

QUESTIONS = 12
PLACES = {
    **dict.fromkeys(["before commit", "after commit", "before anchor", "after anchor"]),  # charge or answer
    "before engine": "reserved",  # which counts as begun as soon as the life that reserved it is over
    "after engine": "reserved",
    "before sending": "finished",
    "while sending": "finished",
}


def read_records(folder):
    """Return the state and the kept answer's digest of every charge."""
    book = open_book(folder / "budget.db")
    try:
        return [(one.state, one.answer) for one in book.state.data("visits").records.list_now()]
    finally:
        book.close()


def crash(folder, place, times):
    """Serve one analyst until the place is reached; return what the book says then."""
    make_folder(folder, epsilon=40, delta=0, question=[PRICE, 0], shared=0, columns=None)
    key, address = add_analyst(folder, "a0"), {}
    server = Served(folder, DISCREET_CRASH_AT=f"{place}#{times}")
    address["port"] = server.port
    asking = Client("a0", key, QUESTIONS, address)
    asking.start()
    server.process.wait(timeout=60)
    server.stop()
    told, records = asking.told, read_records(folder)
    server = Served(folder)
    address["port"] = server.port
    asking.join(60)
    assert not asking.is_alive()
    server.stop()
    check_book(folder, [asking], QUESTIONS)
    assert read_records(folder)[: len(records)][:-1] == records[:-1]  # what was finished stays as it was
    return told, records, read_records(folder)


@pytest.mark.parametrize(
    ("place", "times"),
    [("before engine", 1), ("after engine", 10), ("before sending", 10), ("while sending", 1)],
)
def test_a_place_between_question_and_answer(tmp_path, place, times):
    told, records, after = crash(tmp_path, place, times)
    assert told == times - 1
    assert len(records) == times  # charged once, whatever came of it
    state, answer = records[-1]
    assert state == PLACES[place]
    if state == "finished":
        assert after[times - 1] == (state, answer)  # the retry got what nobody had been told
    else:
        assert answer is None


@pytest.mark.soak
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("times", [3, 4, 5, 12, 20])  # the first two are the book and the ledger
def test_every_place_at_many_times(tmp_path, place, times):
    if PLACES[place]:
        times = 1 + times % QUESTIONS
    told, records, _ = crash(tmp_path, place, times)
    charged = len(records)
    assert charged - told in (0, 1)
    assert sum(state == "finished" for state, _ in records) - told in (0, 1)
    assert Fraction(charged) * PRICE <= 40
