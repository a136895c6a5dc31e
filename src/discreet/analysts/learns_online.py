"""What online mechanisms share: gates, batches that public ticks close, and hypotheses that are drawn.

A *guess* answers questions until it has been wrong too often. What a question is, what is drawn, and how one
answers the other is for the mechanism to say.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np

from discreet.accounting.composition import Composed
from discreet.analysts.online_queries_plan import (
    PLANNED_BETA,
    Budgets,
    OnlineCandidate,
    OnlineSizes,
    candidates,
)
from discreet.analysts.promises import Delivery, LearnsTogether, Leftover, OneQueryToMany
from discreet.core import checks
from discreet.core.bounds import require_useful
from discreet.core.errors import BudgetTooSmall, InvalidParameter, NoBound
from discreet.core.fixed import Integers
from discreet.core.loss import Loss, PureLoss, ZCDPLoss
from discreet.core.mechanism import Conversation
from discreet.core.parameters import Exact, Public, derived, frozen, public
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.noise.selection import ExponentialChoice
from discreet.queries.histogram import Histogram
from discreet.query_release.synopses.synopsis import Weights


@dataclass(slots=True)
class Epoch:
    """The guess that answers now, the bad questions it has met, and what may end its time."""

    guess: Weights
    closing: Conversation[bool] | None
    batch: list[Integers] = field(default_factory=list)

    def is_full(self, size: int) -> bool:
        """Tell whether the batch seems full; the conversation is about the batch that the question holds."""
        return self.closing is not None and self.closing.ask(lambda _: len(self.batch), threshold=size)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is known of one release: the data, who takes part, and what each asks at which place."""

    histogram: Histogram
    names: tuple[str, ...]
    questions: dict[str, dict[int, Any]]


@frozen
class LearnsOnline(LearnsTogether):
    """Public parameters of a mechanism that answers tick by tick, and what follows from them."""

    promise = OneQueryToMany()
    sizes: Public[OnlineSizes | None, OnlineSizes] = public(checks.instance, OnlineSizes, default=None)
    bound: Exact = public(checks.probability, default=Fraction(1, 2))
    off: float = derived()

    def _complete(self) -> None:
        given: Any = self.sizes
        if given is None:
            best = self._find_best(self.bound)
            self._set(sizes=best.sizes(self.span), off=best.rows_off(self.span))
        else:
            self._set(off=float(self.span))
        if self.analyst_loss.delta(self.analyst_epsilon) > self.analyst_delta:
            rule = "with a rate that keeps within the analysts' budget"
            raise InvalidParameter(name="sizes", rule=rule, value=self.sizes, hint="Take a smaller rate")

    # What the mechanisms differ in --------------------------------------------------------------------

    @property
    @abstractmethod
    def drawn(self) -> int:
        """From how many things a guess is drawn."""

    @property
    def shift(self) -> int:
        """How many units one row may move an answer."""
        return 1

    @property
    def span(self) -> int:
        """How many units the answers of two tables can be apart: all rows can be exchanged one by one."""
        return self.rows * self.shift

    @abstractmethod
    def _refuse(self, needed: float) -> NoBound:
        """Return the refusal where it would take so many rows to be useful."""

    @abstractmethod
    def _read_asked(self, data: Any) -> Asked:
        """Return checked data."""

    @abstractmethod
    def _guess(self, tally: Integers | None, history: tuple[Any, ...]) -> Weights:
        """Return what answers from the things that were drawn, or from all alike before any draw."""

    @abstractmethod
    def _answer_from(self, guess: Weights, question: Any) -> float:
        """Return the answer of a guess, in units."""

    @abstractmethod
    def _true_answer(self, question: Any, histogram: Histogram) -> int:
        """Return the answer of the data, in units."""

    @abstractmethod
    def _gains(self, question: Any) -> Integers:
        """Return the answer of every thing that may be drawn, in units above the least."""

    @abstractmethod
    def _limits(self, question: Any) -> tuple[float, float]:
        """Return the least and the largest answer that any data can have, in units."""

    @property
    def _unit(self) -> float:
        """What one unit of an answer is sent as."""
        return 1.0

    @property
    def _gain(self) -> int:
        """The largest gain there can be."""
        return 1

    # What follows from the public parameters -----------------------------------------------------------

    def _find_best(self, bound: Fraction) -> OnlineCandidate:
        """Return the sizes with the smallest error, or refuse."""
        tried = candidates(self._budgets)
        best = min(tried, key=lambda each: each.rows_off(self.span))
        if best.rows_off(self.span) >= bound * self.span:
            raise self._refuse(min(each.rows_needed(bound) for each in tried) / self.shift)
        return best

    @classmethod
    def _for_budget(cls, alpha: checks.Number, public: dict[str, Any]) -> Callable[[Fraction], Self]:
        def make(epsilon: Fraction) -> Any:
            try:
                return cls(epsilon=epsilon, **public)
            except NoBound as refused:
                raise BudgetTooSmall(
                    name="epsilon", rule="large enough for a useful bound", value=epsilon
                ) from refused

        return make

    @property
    def _budgets(self) -> Budgets:
        return Budgets(
            self.drawn,
            self.caps,
            self.epsilon,
            self.delta,
            self.analyst_epsilon,
            self.analyst_delta,
            self.neighbours,
            self.shift,
        )

    @property
    def loss(self) -> Loss:
        """One pure conversation for each analyst; all that is shared is computed from their answers."""
        gate = self._budgets.gate(self.sizes.positives)
        return Composed(((PureLoss(gate.epsilon), self.caps.analysts),))

    @property
    def analyst_loss(self) -> Loss:
        """All closings together, and every sample.

        A question makes its batch larger, and a later one smaller if it crowds out another: the first
        closing costs the noise of one side, the second that of the other. So the pair costs one epsilon.
        """
        closings = PureLoss(self._budgets.closing.epsilon)
        return Composed(((closings, 1), (ZCDPLoss(self.sizes.rho), 1)))

    def _error_units(self, beta: checks.Number) -> float:
        """Return alpha in units: no answer is off by more, but for beta.

        Thresholds are planned for one beta, and sizes that are given for none: otherwise there is no bound.
        """
        return require_useful(
            self.off if checks.probability(beta=beta) >= PLANNED_BETA else math.inf,
            trivial=float(self.span),
            what="the answers of online queries",
            way_out=f"Leave the sizes out, and ask for a beta of at least {float(PLANNED_BETA):g}",
        )

    # The release -------------------------------------------------------------------------------------

    def _draw(self, data: Any, rng: Rng) -> Delivery:
        asked = self._read_asked(data)
        gate = self._budgets.gate(self.sizes.positives)
        gates = {name: gate.open(asked.histogram, rng=rng) for name in asked.names}
        answers: dict[str, list[Leftover]] = {name: [] for name in asked.names}
        scores, history = np.zeros(self.drawn, dtype=np.int64), []
        epoch = self._begin(None, [], rng)
        for tick in track(range(self.caps.queries), total=self.caps.queries, label="answering"):
            for number, name in enumerate(asked.names):
                place = number * self.caps.queries + tick
                if place in asked.questions[name]:
                    count = self._answer(asked.questions[name][place], gates[name], epoch)
                    answers[name].append(Leftover(place, count * self._unit))
            if epoch.is_full(self.sizes.batch):
                scores = scores + sum(epoch.batch, np.zeros_like(scores))
                tally = self._sample(scores, rng)
                history.append((tick, tuple(tally.tolist())))
                epoch = self._begin(tally, history, rng)
        return self._deliver(epoch.guess, ((name, tuple(own)) for name, own in answers.items()))

    def _deliver(self, guess: Weights, private: Iterable[tuple[str, tuple[Leftover, ...]]]) -> Delivery:
        return Delivery(guess, tuple(private))

    def _begin(self, tally: Integers | None, history: list[Any], rng: Rng) -> Epoch:
        """Publish a guess, and watch over its batch unless it is the last one."""
        epoch = Epoch(self._guess(tally, tuple(history)), None)
        if len(history) < self.sizes.updates:
            epoch.closing = self._budgets.closing.open((), rng=rng)
        return epoch

    def _answer(self, question: Any, gate: Conversation[Any], epoch: Epoch) -> float:
        """Answer one question: from the guess, or where that is bad by its owner's own conversation."""
        answer = self._answer_from(epoch.guess, question)
        guess = round(answer)
        for sign in (1, -1):
            if gate.closed:
                break
            gap = gate.ask(
                lambda histogram, sign=sign: sign * (self._true_answer(question, histogram) - guess),
                threshold=self.sizes.threshold,
            )
            if gap is not None:
                epoch.batch.append(sign * self._gains(question))
                least, most = self._limits(question)
                answer = float(min(max(guess + sign * gap, least), most))
                break
        return answer

    def _sample(self, scores: Integers, rng: Rng) -> Integers:
        """Draw what the next guess is made of. Given the answers of the gates this does not read the data."""
        choose = ExponentialChoice(self.sizes.rate / self._gain, sensitivity=Fraction(0))
        found = [rng.perform(choose, scores) for _ in range(self.sizes.samples)]
        return np.bincount(found, minlength=scores.size)
