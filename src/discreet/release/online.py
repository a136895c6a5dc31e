"""The conversation of private multiplicative weights: one hypothesis, asked by everybody."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import InvalidParameter
from discreet.core.mechanism import Conversation
from discreet.core.rng import Rng
from discreet.noise import AddNoise
from discreet.queries.histogram import Histogram
from discreet.queries.query import Array, Axes, LinearQuery, weighted
from discreet.queries.workload import Workload
from discreet.queries.written import written_down
from discreet.release.answer import Answer
from discreet.release.gate import NONE, FirstAbove
from discreet.release.online_history import Measured, relearn
from discreet.release.online_questions import (
    Bools,
    Key,
    Question,
    read_boxes,
    read_keys,
    read_question,
)
from discreet.release.synopsis import Weights
from discreet.release.warm_start import known_by, starting_weights
from discreet.release.weights import Hypothesis
from discreet.sparse.plan import Form

if TYPE_CHECKING:
    from discreet.release.multiplicative_weights import MultiplicativeWeights

BETA = Fraction(1, 20)
"""The probability that the stated errors of one kind fail, all of a conversation together."""

FREE, MEASURED, STALE = "free", "measured", "stale"

Int64s = NDArray[np.int64]

_MOST = 1 << 60  # units; more are cut off, so that nothing wraps, and no two counts get further apart by it


@dataclass(frozen=True, slots=True, eq=False)
class Answers:
    """The answers to a workload, in its order. Public.

    Attributes
    ----------
    values, errors, kinds
        What `Answer` has, as arrays.
    """

    values: NDArray[np.float64]
    errors: NDArray[np.float64]
    kinds: NDArray[Any]

    def __len__(self) -> int:
        return len(self.values)

    def __getitem__(self, index: int) -> Answer:
        return Answer(float(self.values[index]), float(self.errors[index]), str(self.kinds[index]))

    def __iter__(self) -> Iterator[Answer]:
        return (self[index] for index in range(len(self)))


class WeightsConversation(Conversation[Any]):
    """Answers `ask(query)` and `ask_many(workload)` until its measured answers are used up.

    A question that was asked before has the same answer again, at no cost. After the last measured answer it
    closes; `last(query)` still answers, from the record or from the last hypothesis.

    Attributes
    ----------
    measured
        How many answers were measured so far.
    tested
        How many questions went through the gate so far.
    """

    def __init__(self, mechanism: MultiplicativeWeights, histogram: Histogram, rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self.measured = self.tested = 0
        self._public, self._plan, self._scale = mechanism, mechanism.plan, mechanism.scale
        self._moved = Fraction(self._scale)
        self._most = _MOST // self._scale * self._scale
        self._hidden: list[int | None] = [None] * mechanism.sides  # the thresholds' noise; never published
        self._history: list[Measured] = []
        self._record: dict[Key, Answer] = {}
        self._transcript: list[Any] = []
        self._counts = histogram.counts()
        self._tables: dict[Axes, Array] = {}
        start = mechanism.start
        synopsis = None if start is None else start.release(histogram, rng=rng).value
        self._known = known_by(start, synopsis, beta=float(BETA))
        if synopsis is None:
            self._hypothesis = Hypothesis(mechanism.universe, self._size(histogram))
        else:
            weights = starting_weights(synopsis)
            total = float(weights.sum()) if mechanism.rows is None else mechanism.rows
            self._hypothesis = Hypothesis(mechanism.universe, total, weights)
            self._transcript.append(synopsis.transcript)

    def _size(self, histogram: Histogram) -> float:
        """Return the public number of rows, or measure it."""
        if self._public.rows is not None:
            return self._public.rows
        step = AddNoise(self._plan.values, sensitivity=self._moved)
        noisy = int(self._rng.perform(step, histogram.total * self._scale))
        self._transcript.append(noisy)
        return max(1.0, noisy / self._scale)

    # What may be asked ---------------------------------------------------------------------------

    def ask_many(self, workload: Workload) -> Answers:
        """Answer a workload as if its questions were asked one by one, in order.

        Once the last measured answer is given, the rest of the workload is answered as `last` would.
        """
        fixed = written_down(workload, self._public.universe)
        answers: Answers = self.ask(fixed)
        self.asked += len(fixed) - 1
        return answers

    def last(self, query: LinearQuery) -> Answer:
        """Answer from the record, or from the hypothesis without a look at the data; also after closing."""
        question = read_question(query, self._public.universe, self._scale)
        with self._turn:
            return self._recalled(question) or self._unchecked(question)

    @property
    def synopsis(self) -> Weights:
        """The hypothesis as it is now, as a synopsis."""
        with self._turn:
            return Weights(
                self._public.universe, self._hypothesis.array.copy(), transcript=tuple(self._transcript)
            )

    def _answer(self, query: Any, **public: Any) -> Any:
        if public:
            raise InvalidParameter(name="ask", rule="given a query only", value=sorted(public))
        if issubclass(type(query), Workload):
            return self._many(written_down(query, self._public.universe))
        return self._one(read_question(query, self._public.universe, self._scale))

    # One question --------------------------------------------------------------------------------

    def _one(self, question: Question) -> Answer:
        earlier = self._recalled(question)
        if earlier is not None:
            return earlier
        answer = self._unchecked(question)
        if not answer.error * self._scale <= self._plan.bar:
            said = min(round(answer.value * self._scale), self._most)
            truth = min(int(weighted(self._true_table(question.axes), question.units)), self._most)
            bar, place = self._test(np.array([truth]), np.array([said]))
            answer = (
                self._measure(question, truth)
                if place != NONE
                else Answer(answer.value, self._free_error(bar[0]), FREE)
            )
        self._record[question.key] = answer
        return answer

    def _recalled(self, question: Question) -> Answer | None:
        return self._record.get(question.key)

    def _unchecked(self, question: Question) -> Answer:
        """Answer from public weights with what is publicly known of the error: a bound, or nothing."""
        weights, noise = self._hypothesis, math.inf
        if self._known is not None and question.codes is not None:
            noise = float(self._known.noise(question.codes[None])[0])
            weights = self._known.weights if noise < math.inf else weights
        said = round(float(np.vdot(weights.table(question.axes), question.units)))
        if self._known is None or noise == math.inf:
            return Answer(said / self._scale, math.inf, STALE)
        error = abs(said - self._known.estimate(question)) / self._scale + noise
        return Answer(said / self._scale, error, FREE)

    def _true_table(self, axes: Axes) -> Array:
        """Return true counts over some axes; they are kept, the data do not change."""
        if axes not in self._tables:
            others = tuple(axis for axis in range(self._counts.ndim) if axis not in axes)
            self._tables[axes] = self._counts.sum(axis=others)
        return self._tables[axes]

    def _free_error(self, bar: Any) -> float:
        return float(int(bar) - self._plan.bar + self._plan.free_error(BETA)) / self._scale

    # The gate ------------------------------------------------------------------------------------

    def _test(self, truth: Int64s, said: Int64s) -> tuple[Int64s, int]:
        """Test questions in order until the first alarm: their public thresholds, and where it was."""
        for side, hidden in enumerate(self._hidden):
            if hidden is None:
                step = AddNoise(self._plan.thresholds, sensitivity=Fraction(0))
                self._hidden[side] = int(self._rng.perform(step, 0))
        bars = self._plan.raised(self.tested, len(truth), questions=self._public.questions)
        gap = truth - said
        sides = [gap, -gap] if len(self._hidden) == 2 else [np.abs(gap)]
        tests = np.empty((2, len(sides) * len(gap)), dtype=np.int64)
        for side, values in enumerate(sides):
            tests[0, side :: len(sides)] = values
            tests[1, side :: len(sides)] = bars + self._hidden[side]  # type: ignore[operator]
        first = self._rng.perform(FirstAbove(self._plan.tests, sensitivity=self._moved), tests)
        place, side = (NONE, NONE) if first == NONE else divmod(first, len(sides))
        self.tested += len(gap) if place == NONE else place + 1
        if place != NONE:
            self._count(side)
        return bars, place

    def _count(self, side: int) -> None:
        """Close, or forget a threshold's noise, before anything else can go wrong."""
        self.measured += 1
        if self._plan.form is Form.REDRAWN:
            self._hidden[side] = None
        updates = self._public.updates
        if self.measured >= updates:
            given = f"all {updates} measured answers have been given"
            self.close(f"{given}; last(query) still answers from what was learned")

    def _measure(self, question: Question, truth: int) -> Answer:
        noisy = int(self._rng.perform(AddNoise(self._plan.values, sensitivity=self._moved), truth))
        error = self._plan.value_error(BETA)
        low, high = (noisy - error) / self._scale, (noisy + error) / self._scale
        self._history.append(Measured(question.axes, question.units / self._scale, low, high))
        self._transcript.append((question.key, noisy))
        relearn(self._hypothesis, self._history)
        return Answer(noisy / self._scale, error / self._scale, MEASURED)

    # Many questions ------------------------------------------------------------------------------

    def _many(self, workload: Workload) -> Answers:
        found: dict[Key, Answer] = {}
        if workload.is_predicates:
            codes, boxes = read_boxes(workload)
            keys = read_keys(workload, codes, boxes)
            self._batch(workload, keys, codes, boxes)
        else:
            # All of them are read first: one that is refused must not lose the answers before it.
            questions = [read_question(query, self._public.universe, self._scale) for query in workload]
            keys = [self._turn_by_turn(question, found) for question in questions]
        answers = [
            self._record.get(key) or found.get(key) or self.last(workload.query(place))
            for place, key in enumerate(keys)
        ]
        return Answers(
            np.array([answer.value for answer in answers]),
            np.array([answer.error for answer in answers]),
            np.array([answer.kind for answer in answers]),
        )

    def _turn_by_turn(self, question: Question, found: dict[Key, Answer]) -> Key:
        if question.key not in self._record:
            found[question.key] = self._unchecked(question) if self.closed else self._one(question)
        return question.key

    def _batch(self, workload: Workload, keys: list[Key], codes: Bools, boxes: Bools) -> None:
        """Answer the new questions of a workload of predicates, alarm by alarm."""
        first: dict[Key, int] = {}
        for place, key in enumerate(keys):
            if key not in self._record:
                first.setdefault(key, place)
        rest = np.fromiter(first.values(), dtype=np.int64, count=len(first))
        if not len(rest):
            return
        truth = np.minimum(workload.answers(self._counts)[rest], self._most // self._scale) * self._scale
        close, noise, off = self._known_answers(workload, rest, codes, boxes)
        while len(rest) and not self.closed:
            said = self._units(workload.answers(self._hypothesis.array)[rest])
            said = np.where(noise < np.inf, close, said)
            errors = off + noise * self._scale
            tested = np.flatnonzero(~(errors <= self._plan.bar))
            bars, alarm = self._test(truth[tested], said[tested]) if len(tested) else (tested, NONE)
            stop = len(rest) if alarm == NONE else int(tested[alarm])
            errors[tested] = [self._free_error(bar) * self._scale for bar in bars.tolist()]
            for place, value, error in zip(
                rest[:stop].tolist(), said[:stop].tolist(), errors[:stop].tolist(), strict=True
            ):
                self._record[keys[place]] = Answer(value / self._scale, error / self._scale, FREE)
            if alarm == NONE:
                return
            place = int(rest[stop])
            question = read_question(workload.query(place), self._public.universe, self._scale)
            self._record[keys[place]] = self._measure(question, int(truth[stop]))
            left = slice(stop + 1, None)
            rest, truth, close, noise, off = rest[left], truth[left], close[left], noise[left], off[left]

    def _units(self, counts: Array) -> Int64s:
        """Return public counts in whole units."""
        return np.asarray(np.rint(np.minimum(counts * self._scale, float(self._most))), dtype=np.int64)

    def _known_answers(
        self, workload: Workload, rest: Int64s, codes: Bools, boxes: Bools
    ) -> tuple[Int64s, Array, Array]:
        """Return what the warm start says to boxes, the bound on its noise, and how far it moved from it."""
        noise, off = np.full(len(rest), np.inf), np.zeros(len(rest))
        close = np.zeros(len(rest), dtype=np.int64)
        if self._known is not None:
            inside = boxes[rest]
            noise[inside] = self._known.noise(codes[rest[inside]])
            close = self._units(workload.answers(self._known.weights.array)[rest])
            off = np.abs(close - workload.answers(self._known.array)[rest] * self._scale)
        return close, noise, off
