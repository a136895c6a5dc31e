"""What the median mechanisms share: public parameters, the gate, and the conversation they open.

The conversation keeps candidates: data sets that agree with everything published so far. A question is put
to all of them, and their median answer is the guess. A sparse-vector gate compares the guess with the truth.
Where they are close, the guess is the answer; where they are not, a fresh noisy answer is, and the candidates
that disagree with it are dropped. The guess is a function of published numbers, so the compared distance
moves between neighbours no further than the true answer does: by one row.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, read_error, require_useful
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Integers
from discreet.core.loss import Loss
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.parameters import Exact, MaybeExact, Public, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import above, up
from discreet.core.sensitive import Sensitive
from discreet.noise import AddNoise, Noise, NoisyComparison
from discreet.queries.histogram import Histogram
from discreet.queries.query import LinearQuery, weigh
from discreet.queries.universe import Universe
from discreet.queries.written import write_query
from discreet.query_release.base import read_histogram, require_rows
from discreet.query_release.median.candidates import Agreeing
from discreet.query_release.synopses.online_answer import OnlineAnswer
from discreet.sparse import accuracy
from discreet.sparse.conversation import QUERIES
from discreet.sparse.numeric_sparse import NumericSparse
from discreet.sparse.plan import Form

STATED = Fraction(1, 20)
"""The failure probability that the error of an `OnlineAnswer` is stated for."""
MOST_UNITS = 1 << 52
"""The most units all rows together may weigh, so that floats hold every answer of a candidate."""
EMPTY = "no candidate agrees with all the measured answers"
"""Why a conversation ends whose published answers contradict one another."""


def read_grid(*, grid: checks.Number) -> Fraction:
    """Return the unit of weights, which must divide 1."""
    unit = checks.positive(grid=grid)
    if unit.numerator != 1:
        raise InvalidParameter(name="grid", rule="1 divided by a whole number", value=grid)
    return unit


@frozen
class MedianParameters(Interactive[Histogram, OnlineAnswer]):
    """Public parameters of a median mechanism that compares guesses through a sparse-vector gate."""

    universe: Universe = public(checks.instance, Universe)
    rows: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    updates: int = public(checks.integer, 1)
    threshold: Exact = public(checks.positive)
    width: Public[checks.Number | None, Fraction] = public(checks.positive, default=None)
    grid: MaybeExact = public(read_grid, default=None)
    queries: int = public(checks.integer, 1, default=QUERIES)
    neighbours: Neighbours = public(require_rows)

    def _complete(self) -> None:
        given: Any = self.width
        if given is None:
            self._set(width=self.threshold / 2)
        self.universe.require_dense()
        if self.rows * units_of(self.grid) > MOST_UNITS:
            rule = f"at most {MOST_UNITS} units of the grid"
            raise InvalidParameter(name="rows", rule=rule, value=self.rows)
        _ = self.gate.plan  # refuses what cannot be planned
        self._check_room()

    @abstractmethod
    def _check_room(self) -> None:
        """Raise where the candidates are too many, or too large, to be kept."""

    @classmethod
    def _for_budget(cls, alpha: checks.Number, public: dict[str, Any]) -> Callable[[Fraction], Self]:
        """Four fifths of alpha are the threshold, so that noise within the rest lets every update halve."""
        close = checks.positive(alpha=alpha) * 4 / 5
        return lambda epsilon: cls(epsilon=epsilon, threshold=close, **public)

    @property
    def gate(self) -> NumericSparse:
        """The sparse-vector technique that tests guesses and measures answers, and its whole cost."""
        return NumericSparse(
            sensitivity=1,
            epsilon=self.epsilon,
            delta=self.delta,
            positives=self.updates,
            threshold=self.threshold,
            grid=self.grid,
            queries=self.queries,
            neighbours=self.neighbours,
        )

    @property
    def loss(self) -> Loss:
        """The cost of a whole conversation, however many questions are asked."""
        return self.gate.loss

    @abstractmethod
    def candidates(self) -> Agreeing:
        """Return all data sets: nothing has been published yet."""

    def error(self, beta: checks.Number, *, queries: int | None = None) -> float:
        """Return alpha: with probability 1 - beta every answer before closing is within alpha.

        A guess passes the gate within threshold + noise, a measured answer is within noise. Weights on a
        grid add half a unit a row. `queries` is how many questions the statement is about.
        """
        bound = above(self.gate.error(beta, queries=queries) + up(self.threshold + self._rounding))
        return require_useful(bound, trivial=float(self.rows), what="the answers", way_out=MORE)

    def measured_error(self, beta: checks.Number) -> float:
        """Return alpha: with probability 1 - beta every measured answer is within alpha."""
        b, gate = checks.probability(beta=beta), self.gate
        alpha = accuracy.find_error(
            lambda units: accuracy.value_failure(gate.value_noise, units, positives=self.updates), b
        )
        return up(alpha * gate.on.step + self._rounding)

    @property
    def _rounding(self) -> Fraction:
        return self.rows * (self.grid or Fraction(0)) / 2

    def _begin(self, data: Sensitive[Histogram], rng: Rng) -> Conversation[OnlineAnswer]:
        return GatedConversation(self, data, rng)


class MedianConversation(Conversation[OnlineAnswer]):
    """Answers linear queries from the candidates' median where it is good, from the data where it is not.

    A repeated question gets its first answer again, at no cost. After closing, `last` still answers from
    the candidates that are left; those answers are not checked against the data.
    """

    _value_noise: Noise
    """The fresh noise of measured answers."""

    def __init__(self, mechanism: Any, data: Sensitive[Histogram], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self.measured = 0
        self._public = mechanism
        public = mechanism.rows if isinstance(mechanism.neighbours, Replace) else None
        histogram = read_histogram(
            data.reveal(), mechanism.universe, neighbours=mechanism.neighbours, rows=public
        )
        self._counts = Sensitive(histogram.counts().reshape(-1))
        self._units = units_of(mechanism.grid)
        self._candidates: Agreeing = mechanism.candidates()
        self._pending: tuple[Integers, int] | None = None
        self._record: dict[bytes, OnlineAnswer] = {}
        self._errors: dict[str, float] = mechanism_errors(mechanism)

    @abstractmethod
    def _is_hard(self, truth: int, guess: int, weights: Integers) -> bool:
        """Tell, with noise, whether the guess is too far from the truth."""

    def _answer(self, query: Any, **public: Any) -> OnlineAnswer:
        if public:
            raise InvalidParameter(name="ask", rule="given a query alone", value=sorted(public))
        weights, key = self._read(query)
        if key not in self._record:
            self._record[key] = self._answer_fresh(weights)
        return self._record[key]

    def _read(self, query: Any) -> tuple[Integers, bytes]:
        """Return the weights of a query, and what its answer is filed under."""
        weights = read_weights(query, self._public.universe, self._units)
        return weights, hashlib.sha256(weights.tobytes()).digest()

    def _answer_fresh(self, weights: Integers) -> OnlineAnswer:
        truth, guess = int(weigh(self._counts.reveal(), weights)), self._guess(weights)
        if not self._is_hard(truth, guess, weights):
            return self._make_answer(guess, "free")
        if self.measured + 1 >= self._public.updates:  # before it is counted: no interrupt leaves it open
            self.close(f"all {self._public.updates} measured answers have been given")
        self.measured += 1
        noise = AddNoise(self._value_noise, sensitivity=Fraction(self._units))
        answer = int(self._rng.perform(noise, truth))
        self._pending = (weights, answer)
        if not self.closed:
            self._settle()
        return self._make_answer(answer, "measured")

    def last(self, query: LinearQuery) -> OnlineAnswer:
        """Answer from the record, or from the candidates without a look at the data; also after closing."""
        weights, key = self._read(query)
        with self._turn:
            if key in self._record:
                return self._record[key]
            self._settle()
            return self._make_answer(self._guess(weights), "stale")

    def _guess(self, weights: Integers) -> int:
        """Return the lower median of the candidates' answers."""
        answers = self._candidates.answers(weights)
        middle = (answers.size - 1) // 2
        return round(float(np.partition(answers, middle)[middle]))

    def _settle(self) -> None:
        """Drop the candidates that disagree with the newest measurement; close if that would be all."""
        if self._pending is None:
            return
        (weights, answer), self._pending = self._pending, None
        width = int(self._public.width * self._units)
        left = self._candidates.cut(weights, answer, width)
        if left is None:
            self.close(EMPTY)
        else:
            self._candidates = left

    def _make_answer(self, units: int, kind: str) -> OnlineAnswer:
        return OnlineAnswer(units / self._units, self._errors[kind], kind)


class GatedConversation(MedianConversation):
    """The conversation whose gate is a sparse-vector test."""

    def __init__(self, mechanism: MedianParameters, data: Sensitive[Histogram], rng: Rng) -> None:
        super().__init__(mechanism, data, rng)
        gate = mechanism.gate
        self._plan, self._value_noise = gate.plan, gate.value_noise
        self._bar = -(-mechanism.threshold * self._units // 1) + self._plan.offset
        self._hidden: int | None = None  # the threshold's noise; never published

    def _is_hard(self, truth: int, guess: int, weights: Integers) -> bool:
        del weights
        if self._hidden is None:
            step = AddNoise(self._plan.threshold_noise, sensitivity=Fraction(0))
            self._hidden = int(self._rng.perform(step, 0))
        test = NoisyComparison(self._plan.query_noise, sensitivity=Fraction(self._units))
        hard = bool(self._rng.perform(test, (abs(truth - guess), int(self._bar) + self._hidden)))
        if hard and self._plan.form is Form.REDRAWN:
            self._hidden = None
        return hard


@lru_cache(maxsize=64)
def mechanism_errors(mechanism: Any) -> dict[str, float]:
    """Return what each kind of answer may be off by; a stale one by anything."""
    return {
        "free": read_error(mechanism, STATED),
        "measured": mechanism.measured_error(STATED),
        "stale": float("inf"),
    }


def units_of(grid: Fraction | None) -> int:
    """Return how many units the weight 1 has."""
    return 1 if grid is None else grid.denominator


def read_weights(query: Any, universe: Universe, units: int) -> Integers:
    """Write a query down and return its weights over all cells in units; they must lie between 0 and 1."""
    fixed = write_query(query, universe)
    vector = fixed.vector().reshape(-1)
    if not (float(vector.min()) >= 0 and float(vector.max()) <= 1):
        hint = "Scale it: an answer is then scaled back"
        raise InvalidParameter(name="query", rule="of weights in [0, 1]", value=fixed.name, hint=hint)
    if units == 1 and not fixed.is_integral:
        hint = "Pass grid=0.001 or so to the mechanism"
        rule = "of weights 0 and 1 where no grid is declared"
        raise InvalidParameter(name="query", rule=rule, value=fixed.name, hint=hint)
    return np.asarray(np.rint(vector.astype(np.float64) * units), dtype=np.int64)
