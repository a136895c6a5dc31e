"""What the three sparse-vector mechanisms share: public parameters, and the conversation they open."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from fractions import Fraction
from typing import Any, Self, TypeVar

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.neighbours import ROWS, Neighbours
from discreet.core.parameters import Exact, MaybeExact, frozen, public
from discreet.core.rng import Rng
from discreet.core.rounding import up
from discreet.core.sensitive import Sensitive, make_lender
from discreet.mechanisms.grid import Grid, shield
from discreet.mechanisms.scores import Monotone, Scores, Sensitivity
from discreet.noise import AddNoise, Noise, NoisyComparison
from discreet.sparse import accuracy
from discreet.sparse.calibration import make_plan
from discreet.sparse.plan import Form, NoiseKind, Rule, SparsePlan, SparseSetting

Value = TypeVar("Value")

QUERIES = 1000
"""How many questions a mechanism is planned for where its owner does not say."""


@frozen
class SparseVector(Interactive[Any, Value]):
    """Public parameters of a sparse-vector mechanism and all that follows from them.

    Parameters
    ----------
    sensitivity
        How far neighbours move every query: a number, or `Monotone(number)` where all move the same way.
    epsilon, delta
        The budget of one conversation; delta may be 0.
    threshold
        The public threshold; without it every question brings its own.
    noise
        The noise of the tests: exponential (one-sided), Laplace, or Gaussian, which needs delta > 0.
    rule
        Budget divided for the smallest error, or the book's scales.
    grid
        The unit values are rounded to. Without it values are whole numbers.
    queries
        How many questions `error` speaks about. With Gaussian tests it is a cap.
    neighbours
        The change the sensitivity was computed for.
    """

    sensitivity: Scores = public(Sensitivity.read)
    epsilon: Exact = public(checks.positive)
    delta: Exact = public(checks.delta)
    threshold: MaybeExact = public(checks.exact, default=None)
    noise: NoiseKind = public(checks.instance, NoiseKind, default=NoiseKind.EXPONENTIAL)
    rule: Rule = public(checks.instance, Rule, default=Rule.OPTIMAL)
    grid: MaybeExact = public(checks.positive, default=None)
    queries: int = public(checks.integer, 1, default=QUERIES)
    neighbours: Neighbours = public(checks.instance, Neighbours, default=ROWS)

    def _complete(self) -> None:
        self.sensitivity.require(self.neighbours, Grid(self.grid))
        if self.rule is Rule.BOOK and self.noise is not NoiseKind.LAPLACE:
            raise InvalidParameter(name="noise", rule="Laplace under the book's rule", value=self.noise)
        _ = self.plan  # refuses what cannot be planned

    @property
    def cutoff(self) -> int:
        """The number of positive answers after which a conversation closes."""
        return 1

    @property
    def on(self) -> Grid:
        """The grid values are rounded to: whole numbers where none was declared."""
        return Grid(self.grid or Fraction(1))

    @property
    def shift(self) -> int:
        """The sensitivity in units of the grid."""
        return math.ceil(self.sensitivity.value / self.on.step)

    @property
    def plan(self) -> SparsePlan:
        """The noise laws, when the threshold is drawn, and the cost."""
        return make_plan(self._setting)

    @property
    def _setting(self) -> SparseSetting:
        return SparseSetting(
            shift=self.shift,
            monotone=isinstance(self.sensitivity, Monotone),
            positives=self.cutoff,
            epsilon=self.epsilon,
            delta=self.delta,
            noise=self.noise,
            form=getattr(self, "form", None),
            rule=self.rule,
            queries=self.queries,
        )

    @property
    def loss(self) -> Loss:
        """The cost of a whole conversation, however many questions are asked."""
        return self.plan.loss

    def error(self, beta: checks.Number, *, queries: int | None = None) -> float:
        """Return alpha: with probability 1 - beta no answer is wrong by more than alpha.

        A positive answer then means a value of at least threshold - alpha, a negative one a value of at
        most threshold + alpha. It follows that the conversation does not close before question k while
        fewer than the allowed number of earlier values reach threshold - alpha. Values and the declared
        threshold mean the numbers before they are put on the grid; where no grid is declared values are whole
        numbers, and thresholds that come with a question mean those rounded up to the grid.

        Parameters
        ----------
        beta
            The probability of missing it.
        queries
            How many questions the statement is about; by default the number the mechanism is planned for.
        """
        b = checks.probability(beta=beta)
        k = self.queries if queries is None else checks.integer(1, queries=queries)
        alpha = accuracy.find_error(lambda units: self._failure(units, k), b)
        lifted = Fraction(0)
        if self.threshold is not None:
            lifted = self.bar(self.threshold) * self.on.step - self.threshold
        return up(alpha * self.on.step + Grid(self.grid).rounding + lifted)

    def _failure(self, alpha: int, queries: int) -> float:
        return accuracy.comparison_failure(self.plan, alpha, queries=queries, positives=self.cutoff)

    def bar(self, threshold: Fraction) -> int:
        """Return a threshold in units of the grid, rounded up."""
        return math.ceil(threshold / self.on.step)

    @property
    def value_noise(self) -> Noise | None:
        """The fresh noise of released values, where values are released."""
        return None

    def _begin(self, data: Sensitive[Any], rng: Rng) -> Conversation[Value]:
        return SparseConversation(self, data, rng)


@frozen
class ManyPositives(SparseVector[Value]):
    """A sparse vector that goes on after its first positive answer.

    Parameters
    ----------
    positives
        The number of positive answers, or values, after which the conversation closes.
    form
        Whether the threshold is drawn once or again after each of them; by default whichever errs less.
    """

    positives: int = public(checks.integer, 1)
    form: Form | None = public(checks.instance, Form, default=None)

    @property
    def cutoff(self) -> int:
        """The number of positive answers after which a conversation closes."""
        return self.positives

    @classmethod
    def _follow_the_book(cls, share: float, *, delta: checks.Number, positives: int, **public: Any) -> Self:
        """Take the book's scales; warn where those for this share of delta are above those for delta 0."""
        given = checks.delta(delta=delta)
        if given > 0 and positives <= 8 * math.log(1 / (share * given)):
            warnings.warn(
                "with so few positive answers the book's noise is smaller with delta=0", stacklevel=3
            )
        book: dict[str, Any] = {"noise": NoiseKind.LAPLACE, "rule": Rule.BOOK}
        return cls(delta=delta, positives=positives, **book, **public)


class SparseConversation(Conversation[Any]):
    """Answers `ask(query, threshold=...)` until it has given its last positive answer.

    A query is a function of the data. It runs once, on a loan: where the data could be changed it is handed a
    copy, made anew for every question (`discreet.core.sensitive` says what that costs). Whatever goes wrong
    inside it, and whatever it returns that is not a number, counts as the value 0, because an error message
    would be an answer nobody paid for. The bound on its sensitivity must include such failures.
    """

    def __init__(self, mechanism: SparseVector[Any], data: Sensitive[Any], rng: Rng) -> None:
        super().__init__(mechanism, rng)
        self._positives = self._tested = 0
        self._public = mechanism
        self._plan = mechanism.plan
        self._values = mechanism.value_noise
        self._lend = make_lender(data.reveal())
        self._moved = Fraction(mechanism.shift)
        self._hidden: int | None = None  # the threshold's noise; never published

    @property
    def positives(self) -> int:
        """How many positive answers have been given."""
        return self._positives

    def _answer(self, query: Any, **public: Any) -> Any:
        bar = self._bar(**public)
        if not callable(query):
            raise InvalidParameter(name="query", rule="a function of the data", value=type(query).__name__)
        value = self._evaluate(query)
        if self._hidden is None:
            step = AddNoise(self._plan.threshold_noise, sensitivity=Fraction(0))
            self._hidden = int(self._rng.perform(step, 0))
        self._tested += 1
        comparison = NoisyComparison(self._plan.query_noise, sensitivity=self._moved)
        positive = self._rng.perform(comparison, (value, bar + self._hidden))
        if self._public.noise is NoiseKind.GAUSSIAN and self._tested >= self._public.queries:
            self.close(f"all {self._public.queries} questions it was planned for have been asked")
        if positive:
            self._count()
        return self._reply(positive, value)

    def _bar(self, *, threshold: checks.Number | None = None) -> int:
        """Return the public threshold in units, rounded up, with the offset of one-sided noise."""
        given = self._public.threshold if threshold is None else checks.exact(threshold=threshold)
        if given is None:
            raise InvalidParameter(
                name="threshold", rule="given with the question where the mechanism has none", value=None
            )
        return self._public.bar(given) + self._plan.offset

    def _evaluate(self, query: Callable[[Any], Any]) -> int:
        def evaluate() -> int:
            value = query(self._lend())
            number = int(value) if isinstance(value, bool | np.bool_) else value
            return self._public.on.to_units(number, 1)  # type: ignore[return-value]

        return int(shield(evaluate, Fraction(0)))

    def _count(self) -> None:
        """Close, or forget the threshold's noise, before anything else can go wrong.

        In this order: an interrupt must not leave it open for one threshold more than was paid for.
        """
        cutoff = self._public.cutoff
        if self._positives + 1 >= cutoff:
            was = "its positive answer has" if cutoff == 1 else f"all {cutoff} positive answers have"
            self.close(f"{was} been given")
        self._positives += 1
        if self._plan.form is Form.REDRAWN:
            self._hidden = None

    def _reply(self, positive: bool, value: int) -> Any:
        if self._values is None:
            return positive
        if not positive:
            return None
        noisy = self._rng.perform(AddNoise(self._values, sensitivity=self._moved), value)
        return self._public.on.from_units(noisy)
