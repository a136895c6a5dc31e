"""A workload on its way through a conversation: what is publicly known of it, and what is still open.

Everything here is public, and is worked out before the conversation's turn is taken, so
that a turn is as short as what it does to the conversation.
"""

from __future__ import annotations

import numpy as np

from discreet.core.fixed import Array, Integers
from discreet.query_release.fitting.weights import Hypothesis
from discreet.query_release.online.boxes import WorkloadReading
from discreet.query_release.online.history import Record
from discreet.query_release.online.one_box import add_errors
from discreet.query_release.online.questions import Key
from discreet.query_release.online.warm_start import Known
from discreet.query_release.synopses.online_answer import FREE, MEASURED, STALE, OnlineAnswer, OnlineAnswers

BLOCK = 1 << 13
"""How many questions go through the gate in one turn."""


class Batch:
    """A workload of predicates that is being answered.

    Parameters
    ----------
    reading
        The workload.
    known
        What a warm start knows about boxes.
    scale, most, bar
        Units of a row, the most of them that are counted, and the error in units that needs no gate.

    Attributes
    ----------
    places
        The questions that need the gate, by place in the workload.
    keys
        Their identities.
    rest
        Which of them are not answered yet: places among `places`, equal questions once.
    said
        What the hypothesis says to `places`, in units.
    """

    def __init__(
        self, reading: WorkloadReading, known: Known | None, *, scale: int, most: int, bar: int
    ) -> None:
        self.workload, self._scale, self._most = reading.workload, scale, most
        count = len(self.workload)
        errors = np.full(count, np.inf)
        self._close = np.zeros(count, dtype=np.int64)
        if known is not None:
            self._close = self.units(self.workload.answers(known.weights.array))
            off = np.abs(self._close - self.workload.answers(known.array) * scale)
            self._deviations, noise = known.spreads(reading.boxes)
            errors = add_errors(off, noise, scale)
        self._known, self._empty = known, reading.empty
        self._close[reading.empty], errors[reading.empty] = 0, 0
        self._errors = errors
        self.places: Integers = np.flatnonzero(~(errors <= bar))
        self.keys: list[Key] = reading.keys(self.places)
        first: dict[Key, int] = {}
        for place, key in enumerate(self.keys):
            first.setdefault(key, place)
        self.rest: Integers = np.fromiter(first.values(), dtype=np.int64, count=len(first))
        self.said = np.zeros(0, dtype=np.int64)
        self._said_by: Hypothesis | None = None
        self._found: dict[Key, OnlineAnswer] = {}

    def units(self, counts: Array) -> Integers:
        """Return public counts in whole units."""
        return np.asarray(np.rint(np.minimum(counts * self._scale, float(self._most))), dtype=np.int64)

    @property
    def is_open(self) -> bool:
        """Whether some question needs the gate and was not answered yet."""
        return len(self.rest) > 0

    def says(self, hypothesis: Hypothesis) -> bool:
        """Tell whether `said` is what this hypothesis says."""
        return self._said_by is hypothesis

    def say(self, hypothesis: Hypothesis) -> None:
        """Answer the open questions from a hypothesis; those about known boxes from what is known."""
        if not self.says(hypothesis):
            said = self.units(self.workload.answers(hypothesis.array)[self.places])
            is_known = np.isfinite(self._errors[self.places])
            self.said = np.where(is_known, self._close[self.places], said)
            self._said_by = hypothesis

    def take(self, record: Record) -> Integers:
        """Take a block of open questions out, and return those that were not answered before."""
        block, self.rest = self.rest[:BLOCK], self.rest[BLOCK:]
        fresh = [place for place in block.tolist() if not self._recall(place, record)]
        return np.array(fresh, dtype=np.int64)

    def _recall(self, place: int, record: Record) -> bool:
        earlier = record.get(self.keys[place])
        if earlier is not None:
            self._found[self.keys[place]] = earlier
        return earlier is not None

    def put_back(self, places: Integers) -> None:
        """Put questions back that were taken and not answered."""
        self.rest = np.concatenate([places, self.rest])

    def fill(self, place: int, answer: OnlineAnswer) -> None:
        """Answer a question, and all that equal it."""
        self._found[self.keys[place]] = answer

    def own_errors(self, values: Array, errors: Array, places: Integers) -> Array:
        """Return how far answers to some questions may be off, each by itself; never more than proved."""
        if self._known is None:
            return errors.copy()
        own = self._known.own_errors(values, self._deviations[places])
        return np.asarray(np.minimum(np.where(self._empty[places], 0.0, own), errors))

    def answers(self, hypothesis: Hypothesis, record: Record) -> OnlineAnswers:
        """Return all answers; open questions are answered from the record, or by a hypothesis as it is."""
        values, errors = self._close / self._scale, self._errors / self._scale
        kinds = np.full(len(values), FREE, dtype=f"<U{len(MEASURED)}")
        if self.is_open:
            self.say(hypothesis)
        given: dict[int, OnlineAnswer] = {}
        for number, (place, key) in enumerate(zip(self.places.tolist(), self.keys, strict=True)):
            answer = self._found.get(key) or record.get(key)
            if answer is not None:
                given[place] = answer
                values[place], errors[place], kinds[place] = answer.value, answer.error, answer.kind
            else:
                values[place] = self.said[number] / self._scale
                kinds[place] = STALE if np.isinf(errors[place]) else FREE
        owns = self.own_errors(values, errors, np.arange(len(values)))
        for place, answer in given.items():
            owns[place] = answer.own
        return OnlineAnswers(values, errors, kinds, owns)

    def foretell(
        self, hypothesis: Hypothesis, record: Record, *, gate: float, measured: float
    ) -> tuple[Array, Array]:
        """Return the errors that answers would have, each by itself and all at once.

        What needs the gate and has no record has the error `gate`, or by itself that of the hypothesis or, if
        it is larger, of an answer that is `measured`.
        """
        now = self.answers(hypothesis, record)
        errors, owns = now.errors.copy(), now.owns.copy()
        for place, key in zip(self.places.tolist(), self.keys, strict=True):
            if record.get(key) is None:
                errors[place] = gate
                owns[place] = min(gate, max(owns[place], measured))
        return owns, errors

    def __repr__(self) -> str:
        return f"<batch of {len(self.workload)} questions, {len(self.rest)} of them open>"
