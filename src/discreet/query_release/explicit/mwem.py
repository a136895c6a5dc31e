"""MWEM: choose what the hypothesis gets most wrong, measure it, learn it, again and again."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from discreet.core import checks
from discreet.core.bounds import require_useful
from discreet.core.card import Card, Tiny
from discreet.core.errors import NoBound
from discreet.core.fixed import Array
from discreet.core.loss import Loss
from discreet.core.neighbours import AddRemove, Replace
from discreet.core.parameters import frozen, public
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.core.rounding import above, down
from discreet.queries.histogram import Histogram
from discreet.queries.kinds.conjunctions import Conjunctions
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.universe import Universe
from discreet.query_release.base import WorkloadRelease
from discreet.query_release.explicit.mwem_plan import SURE, MWEMPlan, Questions, plan, questions, resize
from discreet.query_release.fitting.weights import Hypothesis
from discreet.query_release.synopses.synopsis import Weights, WeightsLater
from discreet.query_release.tiny import list_pairs

_MOST_ROWS = 1 << 60  # of the hypothesis, so that its answers fit 64 bits
_SWEEPS = 20  # over all measurements, after each round
_STRIDE = 4.0  # a step is at most this over the variance that a query can have


class Round(NamedTuple):
    """One round's released numbers: the candidate that was chosen, and its noisy answers."""

    choice: int
    values: tuple[int, ...]


class LearnedHypothesis(WeightsLater):
    """The last hypothesis, and how it came about.

    Attributes
    ----------
    rounds
        What was released, round by round.
    """

    def __init__(self, mechanism: MWEM, hypothesis: Hypothesis, rounds: tuple[Round, ...]) -> None:
        self.universe, self.rounds = hypothesis.universe, rounds
        self.transcript = (hypothesis.total, rounds)
        self._mechanism, self._hypothesis = mechanism, hypothesis

    def _compute(self) -> Array:
        hypothesis = self._hypothesis.copy()  # as it was before the last round
        learn(hypothesis, self._mechanism, self.rounds)
        return np.asarray(hypothesis.array)

    def average(self) -> Weights:
        """Return the mean of the hypotheses before each round: what the accuracy theorem is about."""
        hypothesis = Hypothesis(self.universe, self._hypothesis.total)
        mean = np.zeros(self.universe.shape)
        for place in range(len(self.rounds)):
            mean += hypothesis.array / len(self.rounds)
            learn(hypothesis, self._mechanism, self.rounds[: place + 1])
        return Weights(self.universe, mean, transcript=self.transcript)


@frozen
class MWEM(WorkloadRelease):
    """Learn a weight for every cell in rounds: choose a question, measure it, multiply the weights.

    For marginals a question is a whole table, for other workloads a single query.

    Privacy: (epsilon, delta): the exponential mechanism and one noisy measurement a round, composed by zCDP,
    or as pure losses where delta is 0; where rows may be added or removed, their number is measured once.
    Accuracy: averaged_error(beta) bounds the largest error of `synopsis.average()`, on `rows` rows or fewer.
    The last hypothesis, which the synopsis answers from, has no theorem, so no error(beta), and is usually
    better.
    Time: the workload's answers and a few passes over the universe a round.

    Parameters
    ----------
    workload
        Queries with whole weights.
    epsilon, delta
        The budget of all rounds together.
    neighbours
        The change that is hidden.
    rounds
        How many questions are measured.
    rows
        The most rows there are, for `averaged_error` only. Public.

    Examples
    --------
    >>> universe = Universe([("age", range(10)), ("smoker", (False, True)), ("sex", ("f", "m"))])
    >>> asked = Marginals.of_order(universe, 2)
    >>> mwem = MWEM(workload=asked, epsilon=1, delta=0, neighbours=AddRemove("person"), rounds=3)
    >>> mwem.guarantee.loss.epsilon(0) <= 1
    True
    """

    rounds: int = public(checks.integer, 1)
    rows: int | None = public(checks.integer, 1, default=None)

    def _complete(self) -> None:
        questions(self.workload, self.neighbours)  # refuses what cannot be asked

    @property
    def plan(self) -> MWEMPlan:
        """The mechanisms of the rounds."""
        return plan(self.asked, self.neighbours, self.rounds, self.epsilon, self.delta)

    @property
    def asked(self) -> Questions:
        """What a round may ask."""
        return questions(self.workload, self.neighbours)

    @property
    def loss(self) -> Loss:
        """All rounds, and the count of the rows, composed."""
        return self.plan.loss

    def error(self, beta: checks.Number) -> float:
        """Refuse: the last hypothesis, which the synopsis answers from, has no theorem."""
        checks.probability(beta=beta)
        raise NoBound(
            what="the answers of the last hypothesis",
            why="the theorem is about the mean of all of them",
            way_out="Ask synopsis.average() within averaged_error(beta), or see standard_errors",
        )

    def averaged_error(self, beta: checks.Number) -> float:
        """Return a bound on every error of `synopsis.average()`.

        Raises
        ------
        NoBound
            Where `rows` is unknown, where whole tables are measured, or where the theorem promises no more
            than that a count is between none and all of the rows.
        """
        missed = down(checks.probability(beta=beta))
        asked, made = self.asked, self.plan
        if self.rows is None or asked.widest > 1 or missed <= 2 * SURE:
            raise NoBound(
                what="the averaged hypothesis",
                why="the theorem is about single queries, a number of rows, and a beta that is not tiny",
                way_out="Pass rows=, and the queries one by one; or see standard_errors",
            )
        # The count's noise, and those of the measurements, are within their bounds but for SURE in all.
        counted = made.counting.error(min(missed, SURE / 2)) if made.counting is not None else 0.0
        rows = self.rows + counted
        # Every round lowers the divergence from the data, log |universe| at first, by 2 (v / rows width)^2,
        # where v is how far beyond the slack the measurement was missed.
        potential = math.log(self.workload.universe.size) / (2 * self.rounds)
        learned = rows * asked.width * math.sqrt(potential)
        chosen = made.choosing.error(missed / (2 * self.rounds)) if made.choosing is not None else 0.0
        return require_useful(
            above(learned + 2 * made.slack(asked) + chosen + 1, steps=16),
            trivial=float(self.rows * asked.width),
            what="the averaged hypothesis",
            way_out="Take more rounds, pay a larger epsilon, or see standard_errors",
        )

    def _draw(self, data: Any, rng: Rng) -> LearnedHypothesis:
        histogram = self._histogram(data)
        asked, made = self.asked, self.plan
        truth = self.workload.answers(histogram)
        counting = made.counting
        total = histogram.total if counting is None else counting.release(histogram.total, rng=rng).value
        hypothesis = Hypothesis(self.workload.universe, min(max(1, total), _MOST_ROWS))
        rounds: list[Round] = []
        for _ in track(range(self.rounds), total=self.rounds, label="learning"):
            if rounds:
                learn(hypothesis, self, tuple(rounds))
            choice = 0
            if made.choosing is not None:
                scores = asked.scores(truth, asked.predict(hypothesis), made.mean_noise())
                choice = made.choosing.release(scores, rng=rng).value
            true = asked.numbers(truth, choice)
            values = np.atleast_1d(resize(made.measuring, len(true)).release(true, rng=rng).value)
            rounds.append(Round(choice, tuple(values.tolist())))
        return LearnedHypothesis(self, hypothesis, tuple(rounds))


def learn(hypothesis: Hypothesis, mechanism: MWEM, rounds: tuple[Round, ...]) -> None:
    """Go over all measurements, the last one first, as long as any is clearly missed.

    A difference beyond what the noise explains has the right sign, so that a step towards the measurement
    brings the hypothesis nearer to the data.
    """
    asked, slack = mechanism.asked, mechanism.plan.slack(mechanism.asked)
    for _ in range(_SWEEPS):
        clear = False
        for choice, values in reversed(rounds):
            missed = asked.residual(hypothesis, choice, np.array(values), slack)
            if missed.width > 0:
                step = _STRIDE * missed.square / missed.width**2 / hypothesis.total
                hypothesis.update(missed.axes, missed.direction * step)
                clear = True
        if not clear:
            return


_PEOPLE = Universe([("sex", ("f", "m")), ("age", tuple(range(20, 70, 5))), ("smoker", (False, True))])
_EXAMPLE = Marginals.of_order(_PEOPLE, 2)
_PAIR = Universe([("a", (0, 1))])
_TABLE = Marginals(_PAIR, [["a"]])
_ONE = Conjunctions(_PAIR, [{"a": [1]}])
_BITS = Universe([("a", (0, 1)), ("b", (0, 1))])
_TWO = Conjunctions(_BITS, [{"a": [1]}, {"b": [1]}])


def _example() -> tuple[MWEM, Histogram]:
    mechanism = MWEM(
        workload=_EXAMPLE, epsilon=1, delta=1e-9, neighbours=AddRemove("person"), rounds=3, rows=5000
    )
    return mechanism, Histogram.dense(_PEOPLE, np.arange(40) * 7)


def _tiny() -> Iterator[Tiny]:
    for universe, workload, epsilon, delta, neighbours, rows, tight in (
        (_PAIR, _TABLE, 6, 0, Replace("row"), 2, True),
        (_PAIR, _TABLE, 6, Fraction(1, 100), Replace("row"), 1, False),
        (_BITS, _TWO, 8, 0, Replace("row"), 3, True),
        (_PAIR, _ONE, 2, Fraction(1, 100), AddRemove("row"), 1, True),
    ):
        mechanism = MWEM(workload=workload, epsilon=epsilon, delta=delta, neighbours=neighbours, rounds=1)
        yield Tiny(mechanism, list_pairs(universe, neighbours, rows), tight=tight)


CARD = Card(
    title="Multiplicative weights with the exponential mechanism (MWEM)",
    theorem="(epsilon, delta)-differential privacy; error rows * sqrt(log |universe| / rounds) plus noise",
    reference="[DR14] Section 4.2",
    example=_example,
    tiny=_tiny,
)
