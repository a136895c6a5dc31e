"""Random histories of a durable ledger with restarts and a second process, against a model of fractions."""

import shutil
import tempfile
from fractions import Fraction

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from tests.quick_disk import SHARED_MEMORY

from discreet.core.errors import BudgetExceeded, InternalError, KeyReused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.core.neighbours import AddRemove
from discreet.curator.ledger.books.files import open_book
from discreet.curator.ledger.ledger import Ledger

ROWS = AddRemove("row")


class Lives(RuleBasedStateMachine):
    """Two processes on one book. The model: who reserved each entry, its price, state and answer."""

    def __init__(self):
        super().__init__()
        self.folder = tempfile.mkdtemp(dir=SHARED_MEMORY if SHARED_MEMORY.is_dir() else None)
        self.books = [None, None]
        self.ledgers = [None, None]
        self.model, self.keys = [], {}
        for place in range(2):
            self.open(place)

    def open(self, place):
        self.books[place] = open_book(f"{self.folder}/budget.db", together=True)
        self.ledgers[place] = Ledger(
            epsilon=1, delta=0, neighbours=ROWS, book=self.books[place], name="visits"
        )

    @rule(place=st.integers(0, 1))
    def restart(self, place):
        """End one process; what it had not finished stays charged."""
        self.books[place].close()
        self.open(place)
        for entry in self.model:
            if entry["by"] == place:
                entry["by"] = None

    @rule(place=st.integers(0, 1), amount=st.integers(1, 300), key=st.none() | st.integers(0, 5))
    def reserve(self, place, amount, key):
        epsilon, what = Fraction(amount, 1000), f"question {amount}"
        known = self.keys.get(key) if key is not None else None
        spent = sum((one["cost"] for one in self.model if one["state"] != "voided"), Fraction(0))
        item = Guarantee(PureLoss(epsilon), ROWS)
        try:
            number = self.ledgers[place].reserve("acme", what, item, key=key and str(key) if key else None)
        except BudgetExceeded:
            is_free = known is None or not key or self.model[known]["state"] == "voided"
            assert is_free and spent + epsilon > 1
        except KeyReused:
            assert self.model[known]["what"] != what
        else:
            # What was given back was never answered, so its key is free for the same question.
            if key and known is not None and self.model[known]["state"] != "voided":
                assert number == known
                return
            assert number == len(self.model) and spent + epsilon <= 1
            self.model.append(
                {"by": place, "cost": epsilon, "state": "reserved", "what": what, "answer": None}
            )
            if key:
                self.keys[key] = number

    @precondition(lambda self: self.model)
    @rule(
        place=st.integers(0, 1),
        data=st.data(),
        step=st.sampled_from(["start", "finish", "void", "take_over"]),
    )
    def move(self, place, data, step):
        number = data.draw(st.integers(0, len(self.model) - 1))
        entry, ledger = self.model[number], self.ledgers[place]
        mine = entry["by"] == place
        answer = bytes(data.draw(st.binary(min_size=1, max_size=2)))
        live = entry["state"] not in ("finished", "voided")
        allowed = {
            "start": mine and entry["state"] == "reserved",
            "finish": (live and (entry["state"] == "started" or not mine)) or entry["state"] == "finished",
            "void": mine and entry["state"] == "reserved",
            "take_over": not mine and live,
        }[step]
        ledger._book.refresh()
        try:
            said = getattr(ledger, step)(number, *([answer] if step == "finish" else []))
        except InternalError:
            assert not allowed
            return
        assert allowed
        if step == "finish":
            entry["answer"] = entry["answer"] or answer
            assert said == entry["answer"]
            entry["state"] = "finished"
        elif step == "void":
            entry["state"] = "voided"
        else:
            entry["state"] = "started"

    @invariant()
    def sums_and_answers_agree(self):
        spent = sum((one["cost"] for one in self.model if one["state"] != "voided"), Fraction(0))
        for book, ledger in zip(self.books, self.ledgers, strict=True):
            book.refresh()
            assert ledger.spent() == {"epsilon": spent}
            assert len(ledger.entries()) == len(self.model)
            for number, one in enumerate(self.model):
                if one["answer"] is not None:
                    assert ledger.answer(number) == one["answer"]

    def teardown(self):
        for book in self.books:
            book.close()
        shutil.rmtree(self.folder)


TestLives = Lives.TestCase
TestLives.settings = settings(max_examples=20, stateful_step_count=25)


@pytest.mark.soak
def test_many_lives():
    from hypothesis.stateful import run_state_machine_as_test

    run_state_machine_as_test(Lives, settings=settings(max_examples=500, stateful_step_count=50))


def test_a_later_life_finds_the_entries_of_each_analyst(tmp_path):
    names = ["acme", "acm", 'acme","key":"x', "Ünal", 'a "b"', "a\\b"]
    for life in range(2):
        book = open_book(tmp_path / "budget.db")
        ledger = Ledger(epsilon=1, delta=0, neighbours=ROWS, book=book, name="visits")
        for place, name in enumerate(names if not life else ()):
            for number in range(place + 1):
                ledger.reserve(name, f'"analyst":"{name}"', Guarantee(PureLoss(Fraction(1, 100)), ROWS))
                ledger.start(len(ledger.entries()) - 1)
                assert ledger.entries(name)[-1].number == len(ledger.entries()) - 1, number
        found = {name: ledger.entries(name) for name in names}
        assert {name: len(listed) for name, listed in found.items()} == dict(
            zip(names, range(1, 7), strict=True)
        )
        assert all(entry.analyst == name for name, listed in found.items() for entry in listed)
        assert not ledger.entries("nobody")
        book.close()
