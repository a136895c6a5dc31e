"""The conversation of private multiplicative weights: one hypothesis, asked by everybody."""

from __future__ import annotations

import contextlib
import math
from fractions import Fraction
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from discreet.core.errors import ConversationClosed, InvalidParameter
from discreet.core.fixed import Floats, Integers
from discreet.core.mechanism import Conversation
from discreet.core.rng import Rng
from discreet.noise import AddNoise
from discreet.queries.histogram import Histogram
from discreet.queries.query import Axes, LinearQuery, weigh
from discreet.queries.workload import Workload
from discreet.queries.written import write_workload
from discreet.query_release.fitting.weights import Hypothesis, KeptTables
from discreet.query_release.linear.residual_marginals import ResidualMarginals
from discreet.query_release.online.batch import Batch
from discreet.query_release.online.boxes import Boxes, read_workload
from discreet.query_release.online.gate import NONE, FirstAbove
from discreet.query_release.online.history import MeasuredBand, Record, relearn
from discreet.query_release.online.lives import Journal, Lives
from discreet.query_release.online.one_box import OneBox, add_errors, settle_box
from discreet.query_release.online.questions import Question, read_question
from discreet.query_release.online.warm_start import known_by, starting_weights
from discreet.query_release.synopses.online_answer import FREE, MEASURED, STALE, OnlineAnswer, OnlineAnswers
from discreet.query_release.synopses.synopsis import Weights
from discreet.sparse.plan import Form

if TYPE_CHECKING:
    from discreet.query_release.online.multiplicative_weights import MultiplicativeWeights

BETA = Fraction(1, 20)
"""The probability that the stated errors of one kind fail, all of a conversation together."""


_ALL_GIVEN = "all {} measured answers have been given; last(query) still answers from what was learned"
_OWING = "an answer could not be written down; last(query) still answers from what was learned"
_MOST = 1 << 60  # units; more are cut off, so that nothing wraps, and no two counts get further apart by it


class WeightsConversation(Conversation[Any]):
    """Answers `ask(query)` and `ask_many(workload)` until its measured answers are used up.

    A question that was asked before has the same answer again, at no cost: those that were measured for good,
    others as long as the record has room. After the last measured answer it closes; `last(query)` still
    answers, from the record or from the last hypothesis.

    Attributes
    ----------
    measured
        How many answers were measured so far.
    tested
        How many questions went through the gate so far.
    """

    def __init__(
        self, mechanism: MultiplicativeWeights, histogram: Histogram, rng: Rng, lives: Lives | None = None
    ) -> None:
        super().__init__(mechanism, rng)
        self.measured = self.tested = 0
        self._lives = Lives() if lives is None else lives
        self._public, self._scale = mechanism, mechanism.scale
        self._plan = self._lives.widen(mechanism.plan, mechanism.sides)
        self._moved = Fraction(self._scale)
        self._most = _MOST // self._scale * self._scale
        self._hidden: list[int | None] = [None] * mechanism.sides  # the thresholds' noise; never published
        self._history: list[MeasuredBand] = []
        self._record = Record()
        # What was read here and by nobody else; of batches, the true counts of what needs the gate.
        self._read: WeakKeyDictionary[Question | Batch, Integers | None] = WeakKeyDictionary()
        self._transcript: list[Any] = []
        self._counts = histogram.counts()
        self._tables = KeptTables(self._true_table, mechanism.universe.size)
        synopsis = self._start(histogram)
        self._known = known_by(mechanism.start, synopsis, beta=float(BETA))
        if synopsis is None:
            self._hypothesis = Hypothesis(mechanism.universe, self._size(histogram))
        else:
            weights = starting_weights(synopsis)
            total = float(weights.sum()) if mechanism.rows is None else mechanism.rows
            self._hypothesis = Hypothesis(mechanism.universe, total, weights)
            self._transcript.append(synopsis.transcript)
        for kept in self._lives.answers:
            self._record.keep(kept.question.key, self._learn(kept.question, kept.noisy))
        self._strike(len(self._lives.answers) + self._lives.struck(self._plan, mechanism.sides))

    def _start(self, histogram: Histogram) -> Any:
        """Return the tables that the hypothesis begins with; those of the first life, if there was one."""
        start, lives = self._public.start, self._lives
        if isinstance(start, ResidualMarginals) and lives.journal is not None:
            if lives.start is not None:
                return start.restore(lives.start, rows=self._public.rows)
            synopsis: Any = start.release(histogram, rng=self._rng).value
            lives.begin(synopsis.noisy)
            return synopsis
        return None if start is None else start.release(histogram, rng=self._rng).value

    def _size(self, histogram: Histogram) -> float:
        """Return the public number of rows, or measure it, or what it was measured to be before."""
        if self._public.rows is not None:
            if self._lives.start is None:
                self._lives.begin(np.zeros(0, dtype=np.int64))
            return self._public.rows
        if self._lives.start is None:
            step = AddNoise(self._plan.values, sensitivity=self._moved)
            noisy = int(self._rng.perform(step, histogram.total * self._scale))
            self._lives.begin(np.array([noisy], dtype=object))
        else:
            noisy = int(self._lives.start[0])
        self._transcript.append(noisy)
        return max(1.0, noisy / self._scale)

    def _strike(self, measured: int) -> None:
        """Count measured answers that are used up, and close where none is left."""
        self.measured = measured
        if measured >= self._public.updates:
            self.close(_ALL_GIVEN.format(self._public.updates))

    # What may be asked ---------------------------------------------------------------------------

    def ask(self, query: Any, **public: Any) -> Any:
        """Answer one question, or a workload as `ask_many` does; see `Conversation.ask`."""
        return self.ask_many(query) if issubclass(type(query), Workload) else super().ask(query, **public)

    def ask_many(self, workload: Workload) -> OnlineAnswers:
        """Answer a workload as if its questions were asked one by one, in order.

        Once the last measured answer is given, the rest of the workload is answered as `last` would. Other
        threads may ask in between.
        """
        fixed = write_workload(workload, self._public.universe)
        if not fixed.is_predicates:
            return self._each(fixed)
        batch = self.read(fixed)
        settled = len(fixed) - len(batch.rest)
        self.ask(batch)
        with contextlib.suppress(ConversationClosed):
            while batch.is_open:
                self.ask(batch)
        with self._turn:
            self._asked += settled + len(batch.rest)
        return self.answers(batch)

    def _each(self, workload: Workload) -> OnlineAnswers:
        """Answer weighted queries one by one; all are read before the first is answered, or none is."""
        answers: list[OnlineAnswer] = []
        # All of them are read first: one that is refused must not lose the answers before it.
        for question in [self._read_one(query) for query in workload]:
            try:
                answers.append(self.ask(question))
            except ConversationClosed:
                if not answers:
                    raise
                answers.append(self._last(question))
                self._asked += 1
        return OnlineAnswers.of(answers)

    def read(self, workload: Workload) -> Batch:
        """Read a workload of predicates and answer what needs no look at the data. Takes no turn."""
        batch = self._make_batch(workload)
        self._read[batch] = np.zeros(0, dtype=np.int64)
        if batch.is_open:
            counts = batch.workload.answers(self._counts)[batch.places]
            self._read[batch] = np.minimum(counts, self._most // self._scale) * self._scale
        return batch

    def foretell(self, workload: Workload) -> tuple[Floats, Floats]:
        """Return the errors that predicates would be answered with, if asked now: own ones, and all at once.

        From public numbers alone: what needs the gate either passes it or is measured, and has the larger of
        both errors; once the conversation is closed there is no bound for all at once.
        """
        batch = self._make_batch(workload)
        gate, measured = math.inf, 0.0
        if not self.closed:
            bars = self._plan.raise_bars(self.tested, len(batch.rest) + 1, queries=self._public.queries)
            gate = max(float(self._free_errors(bars).max()), self._plan.value_error(BETA) / self._scale)
            measured = self._measured_error
        return batch.foretell(self._hypothesis, self._record, gate=gate, measured=measured)

    def learn_errors(self, notes: Journal | None = None) -> None:
        """Learn now how far answers are off by themselves, so that no question takes longer for it.

        Parameters
        ----------
        notes
            Where that is written down for later lives, or was in an earlier one.
        """
        if self._known is not None and notes is not None:
            self._known.recall(notes)
        elif self._known is not None:
            _ = self._known.own

    @property
    def _measured_error(self) -> float:
        """By how much one measured answer is off at most, but for BETA."""
        return self._plan.values.reach(BETA) / self._scale

    def _make_batch(self, workload: Workload) -> Batch:
        reading = read_workload(write_workload(workload, self._public.universe))
        return Batch(reading, self._known, scale=self._scale, most=self._most, bar=self._plan.bar)

    @property
    def hypothesis(self) -> Hypothesis:
        """What is believed now. Learning replaces it: this one stays as it is."""
        return self._hypothesis

    def answers(self, batch: Batch) -> OnlineAnswers:
        """Return the answers to a batch; questions that are still open are answered as `last` would."""
        return batch.answers(self._hypothesis, self._record)

    def settle_box(self, box: OneBox) -> OnlineAnswers | None:
        """Answer one box where that needs no look at the data; None where it does. Takes no turn."""
        return settle_box(box, self._known, scale=self._scale, most=self._most, bar=self._plan.bar)

    def settle(self, query: LinearQuery) -> Question | OnlineAnswer:
        """Read a question; answer it where that needs no look at the data. Takes no turn."""
        question = self._read_one(query)
        return self._settle(question) or question

    def last(self, query: LinearQuery) -> OnlineAnswer:
        """Answer from the record, or from the hypothesis without a look at the data; also after closing."""
        return self._last(self._read_one(query))

    def _read_one(self, query: LinearQuery) -> Question:
        question = read_question(query, self._public.universe, self._scale)
        self._read[question] = None
        return question

    def _settle(self, question: Question) -> OnlineAnswer | None:
        """Return the answer where that needs no look at the data."""
        if question.is_empty:
            return OnlineAnswer(0.0, 0.0, FREE)
        answer = self._answer_unchecked(question)
        return answer if answer.error * self._scale <= self._plan.bar else None

    def _last(self, question: Question) -> OnlineAnswer:
        return self._settle(question) or self._record.get(question.key) or self._answer_unchecked(question)

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
        # Batches and questions may have been read before the turn, but only by this conversation: whoever
        # made one by hand could put any weights into it. Types are compared, since a class can be claimed.
        if type(query) in (Batch, Question) and query not in self._read:
            raise InvalidParameter(name="query", rule="one that this conversation has read", got="another")
        if type(query) is Batch:
            return self._advance(query, self._read[query])  # type: ignore[arg-type]
        question = query if type(query) is Question else self._read_one(query)
        return self._settle(question) or self._one(question)

    # One question --------------------------------------------------------------------------------

    def _one(self, question: Question) -> OnlineAnswer:
        earlier = self._record.get(question.key)
        if earlier is not None:
            return earlier
        answer = self._answer_unchecked(question)
        said = min(round(answer.value * self._scale), self._most)
        truth = min(int(weigh(self._tables[question.axes], question.units)), self._most)
        bars, place = self._test(np.array([truth]), np.array([said]))
        if place != NONE:
            return self._record.keep(question.key, self._measure(question, truth))
        error = float(self._free_errors(bars)[0])
        own = min(answer.own, error)
        return self._record.keep(question.key, OnlineAnswer(answer.value, error, FREE, own))

    def _answer_unchecked(self, question: Question) -> OnlineAnswer:
        """Answer from public weights with what is publicly known of the error: a bound, or nothing."""
        weights, noise, deviation = self._hypothesis, math.inf, math.inf
        if self._known is not None and question.codes is not None:
            boxes = Boxes.of_codes(question.codes[None], self._public.universe)
            deviation, noise = (float(each[0]) for each in self._known.spreads(boxes))
            weights = self._known.weights if noise < math.inf else weights
        said = round(float(np.vdot(weights.table(question.axes), question.units)))
        value = said / self._scale
        if self._known is None:
            return OnlineAnswer(value, math.inf, STALE)
        own = float(self._known.own_errors(np.array([value]), np.array([deviation]))[0])
        if noise == math.inf:
            return OnlineAnswer(value, math.inf, STALE, own)
        off = abs(said - self._known.estimate(question))
        error = float(add_errors(off, noise, self._scale)) / self._scale
        return OnlineAnswer(value, error, FREE, min(own, error))

    def _true_table(self, axes: Axes) -> Integers:
        others = tuple(axis for axis in range(self._counts.ndim) if axis not in axes)
        return np.asarray(self._counts.sum(axis=others))

    def _free_errors(self, bars: Integers) -> Floats:
        """Return the errors of answers that passed the gate under some thresholds."""
        allowed = float(self._plan.free_error(BETA))
        return np.asarray((bars - self._plan.bar + allowed) / self._scale, dtype=np.float64)

    # The gate ------------------------------------------------------------------------------------

    def _test(self, truth: Integers, said: Integers) -> tuple[Integers, int]:
        """Test questions in order until the first alarm: their public thresholds, and where it was."""
        if self._lives.is_owing:  # a later life could not tell how many alarms there were
            self.close(_OWING)
            raise ConversationClosed(f"this conversation is closed: {_OWING}")
        self._lives.use_gate()
        for side, hidden in enumerate(self._hidden):
            if hidden is None:
                step = AddNoise(self._plan.thresholds, sensitivity=Fraction(0))
                self._hidden[side] = int(self._rng.perform(step, 0))
        bars = self._plan.raise_bars(self.tested, len(truth), queries=self._public.queries)
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
        """Close, or forget a threshold's noise, before anything else can go wrong.

        In this order: an interrupt must not leave it open for one threshold more than was paid for.
        """
        updates = self._public.updates
        self._lives.owe()
        if self.measured + 1 >= updates:
            self.close(_ALL_GIVEN.format(updates))
        self.measured += 1
        if self._plan.form is Form.REDRAWN:
            self._hidden[side] = None

    def _measure(self, question: Question, truth: int) -> OnlineAnswer:
        noisy = int(self._rng.perform(AddNoise(self._plan.values, sensitivity=self._moved), truth))
        self._lives.keep(question, noisy)
        return self._learn(question, noisy)

    def _learn(self, question: Question, noisy: int) -> OnlineAnswer:
        """Move the hypothesis to where a measured answer allows it to be."""
        error = self._plan.value_error(BETA)
        low, high = (noisy - error) / self._scale, (noisy + error) / self._scale
        self._history.append(MeasuredBand(question.axes, question.units / self._scale, low, high))
        self._transcript.append((question.key, noisy))
        # A new one: whoever reads the old one meanwhile, without a turn, reads it whole.
        hypothesis = self._hypothesis.copy()
        relearn(hypothesis, self._history)
        self._hypothesis = hypothesis
        return OnlineAnswer(noisy / self._scale, error / self._scale, MEASURED, self._measured_error)

    # Many questions ------------------------------------------------------------------------------

    def _advance(self, batch: Batch, truth: Integers) -> None:
        """Answer the next questions of a batch, up to the first alarm among them."""
        before, fresh = len(batch.rest), batch.take(self._record)
        if not batch.says(self._hypothesis):  # another thread's question taught it something
            batch.say(self._hypothesis)
        bars, alarm = self._test(truth[fresh], batch.said[fresh]) if len(fresh) else (fresh, NONE)
        stop = len(fresh) if alarm == NONE else alarm
        passed = fresh[:stop]
        values, errors = batch.said[passed] / self._scale, self._free_errors(bars[:stop])
        owns = batch.own_errors(values, errors, batch.places[passed])
        arrays = (array.tolist() for array in (passed, values, errors, owns))
        for place, value, error, own in zip(*arrays, strict=True):
            answer = OnlineAnswer(value, error, FREE, own)
            batch.fill(place, self._record.keep(batch.keys[place], answer))
        if alarm != NONE:
            place = int(fresh[stop])
            query = batch.workload.query(int(batch.places[place]))
            question = read_question(query, self._public.universe, self._scale)
            answer = self._measure(question, int(truth[place]))
            batch.fill(place, self._record.keep(question.key, answer))
            batch.put_back(fresh[stop + 1 :])
        self._asked += before - len(batch.rest) - 1  # `ask` adds one
