"""What a book keeps of a standing question: what it is, and every noisy number, before it is told."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from discreet.core.errors import ConversationClosed, InternalError
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.standing.standing_noise import PricedStanding

_ROOM = "standing "


@dataclass(frozen=True, slots=True)
class StandingFacts:
    """What is written down when a question is opened.

    Attributes
    ----------
    name, analyst
        What it is called, and whose it is.
    text
        The question in canonical form.
    epsilon, delta
        What was charged, as fractions written out.
    noise
        The digest of what it is answered with, and of which days are in which period.
    periods
        How many there are.
    """

    name: str
    analyst: str
    text: str
    epsilon: str
    delta: str
    noise: str
    periods: int = 0

    @classmethod
    def of(cls, name: str, analyst: str, priced: PricedStanding) -> StandingFacts:
        """Return the facts of a question under a name."""
        pair = str(priced.pair.value), str(priced.pair.mass)
        question = priced.question
        return cls(name, analyst, question.text, *pair, priced.digest, len(question.periods))


class StandingNotes:
    """The journal of one standing question.

    Parameters
    ----------
    ledger, number
        Where it is kept, and the entry that paid for it.

    Attributes
    ----------
    numbers
        The noisy numbers of the first periods.
    """

    def __init__(self, ledger: Ledger, number: int) -> None:
        # Two who read the same notes would each draw the noise of the same period.
        self._journal = ledger.journal(f"{_ROOM}{number}", alone=True)
        notes = [json.loads(note) for note in self._journal.read()]
        self._facts = StandingFacts(**notes[0]) if notes else None
        self.numbers = [int(one) for note in notes[1:] for one in note]

    @property
    def is_begun(self) -> bool:
        """Whether it is written down what the question is."""
        return self._facts is not None

    @property
    def facts(self) -> StandingFacts:
        """What the question is."""
        if self._facts is None:
            raise InternalError("a standing question without a first note")
        return self._facts

    def begin(self, facts: StandingFacts) -> None:
        """Write down what the question is."""
        self._journal.append(json.dumps(asdict(facts), sort_keys=True).encode())
        self._facts = facts

    def keep(self, numbers: Sequence[int]) -> None:
        """Write down noisy numbers behind those that are there."""
        self._journal.append(json.dumps([str(one) for one in numbers]).encode())
        self.numbers.extend(numbers)


def list_entries(ledger: Ledger) -> list[int]:
    """Return the entries that paid for standing questions."""
    return [int(name[len(_ROOM) :]) for name in ledger.list_journals() if name.startswith(_ROOM)]


def require_whole(ledger: Ledger) -> None:
    """Refuse where rows of the book were lost: noisy numbers may have been told that are not there."""
    if ledger.is_cut:
        raise ConversationClosed(
            "rows of the ledger were lost, and answers of standing questions may be among them: none goes "
            "on. Ask each question by itself"
        )
