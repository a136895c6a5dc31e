"""What a conversation leaves behind when its process ends, so that another can go on.

What is public is written down: the tables it began with, and every measured answer, each before it is given.
What is secret, the noise of the thresholds, is not. A new life draws it anew, and pays for that: a threshold
that is drawn is a step of the gate, whether an alarm ended it or the end of a life. So for every life that
used the gate some measured answers are struck off, as many as the new thresholds cost, and the guarantee of
the whole conversation covers all its lives. That a life uses the gate is written down before it does.

An alarm whose answer could not be written down is no secret: whoever asked sees that something failed. It
ends its life, so that there is at most one in each, and every life that used the gate pays for one.

Answers that passed the gate are not written down: they are public, and cost nothing.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers, fix_array
from discreet.query_release.online.gate import GatePlan
from discreet.query_release.online.questions import Question
from discreet.sparse.plan import Form


class Journal(Protocol):
    """A list that outlives the process: whatever was added is there when `append` returns."""

    def read(self) -> Sequence[bytes]:
        """Return everything that was added, in order."""

    def append(self, note: bytes) -> None:
        """Add a note at the end."""


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """A measured answer: the question, and the noisy count in units of the grid."""

    question: Question
    noisy: int


@dataclass(slots=True)
class Lives:
    """What earlier lives of a conversation wrote down, and what this one does.

    Attributes
    ----------
    start
        The noisy numbers that the hypothesis began with; None in the first life.
    answers
        The measured answers of all lives before this one.
    used
        How many lives before this one used the gate.
    is_owing
        Whether there was an alarm whose answer is not written down (yet).
    """

    journal: Journal | None = None
    start: Integers | None = None
    answers: list[KeptAnswer] = field(default_factory=list)
    used: int = 0
    is_owing: bool = False
    _uses: bool = False

    @classmethod
    def read(cls, journal: Journal | None) -> Lives:
        """Return what a journal says; without one there is one life."""
        lives = cls(journal)
        for note in () if journal is None else journal.read():
            said: dict[str, Any] = json.loads(note)
            match said["kind"]:
                case "start":
                    lives.start = read_numbers(said["noisy"])
                case "gate":
                    lives.used += 1
                case "answer":
                    lives.answers.append(_read_answer(said))
                case other:
                    raise InvalidParameter(
                        name="journal",
                        rule="of a conversation with weights",
                        got=f"a note of kind {other}",
                    )
        return lives

    def begin(self, noisy: Integers) -> None:
        """Write down what the hypothesis begins with, before anything is answered from it."""
        self._append({"kind": "start", "noisy": [str(one) for one in noisy.ravel().tolist()]})

    def use_gate(self) -> None:
        """Write down that this life uses the gate, before it does for the first time."""
        if not self._uses:
            self._append({"kind": "gate"})
            self._uses = True

    def owe(self) -> None:
        """Note that there is an alarm: nothing more is tested before its answer is written down."""
        self.is_owing = self.journal is not None

    def keep(self, question: Question, noisy: int) -> None:
        """Write down a measured answer, before it is given."""
        units = [str(one) for one in question.units.ravel().tolist()]
        shape = list(question.units.shape)
        self._append(
            {
                "kind": "answer",
                "key": question.key.hex(),
                "axes": list(question.axes),
                "shape": shape,
                "units": units,
                "noisy": str(noisy),
            }
        )
        self.is_owing = False

    def _append(self, note: dict[str, Any]) -> None:
        if self.journal is not None:
            self.journal.append(json.dumps(note, separators=(",", ":")).encode())

    def struck(self, plan: GatePlan, sides: int) -> int:
        """Return how many measured answers the thresholds of earlier lives cost.

        Redrawn, every threshold is a step, and so is every alarm: each life before left `sides` steps open,
        and an alarm that was not written down is the end of one of them. Drawn once, one threshold is paid
        for in each order of two neighbours, which costs as much as (scale of the tests) / (scale of the
        thresholds) alarms, each of `3 - sides` shifts; an alarm that was not written down comes on top.
        """
        if plan.form is Form.REDRAWN:
            return sides * self.used
        return self.used + math.ceil(self.used * plan.tests.scale / plan.thresholds.scale / (3 - sides))

    def widen(self, plan: GatePlan, sides: int) -> GatePlan:
        """Return the plan for this life: errors hold for the thresholds of all lives together."""
        if plan.form is Form.REDRAWN:  # those that are struck off make room
            return plan
        return replace(plan, draws=plan.draws + sides * self.used)


def read_numbers(written: list[str]) -> Integers:
    """Return whole numbers that were written down."""
    numbers = [int(one) for one in written]
    fits = all(-(1 << 63) <= one < 1 << 63 for one in numbers)
    return np.array(numbers, dtype=np.int64 if fits else object)


def _read_answer(said: dict[str, Any]) -> KeptAnswer:
    units = read_numbers(said["units"]).reshape(said["shape"])
    question = Question(bytes.fromhex(said["key"]), tuple(said["axes"]), fix_array(units), None)
    return KeptAnswer(question, int(said["noisy"]))
