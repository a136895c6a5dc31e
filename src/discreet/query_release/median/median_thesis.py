"""The median mechanism with the constants of its source, repaired where they do not hold.

Nobody has that many rows: it is here to be compared with. `Constants` says how many it takes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.core import checks
from discreet.core.bounds import MORE, require_useful
from discreet.core.errors import NoBound, Refused
from discreet.core.fixed import Integers
from discreet.core.loss import ApproxLoss, Loss, PureLoss
from discreet.core.mechanism import Conversation, Interactive
from discreet.core.neighbours import Neighbours, Replace
from discreet.core.parameters import Exact, frozen, public
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import above, below, shorten_down, shorten_up, up
from discreet.core.sensitive import Sensitive
from discreet.noise import DiscreteLaplace, NoisyComparison
from discreet.queries.histogram import Histogram
from discreet.queries.universe import Universe
from discreet.query_release.median.candidates import Agreeing, Family, all_histograms, small_databases
from discreet.query_release.median.conversation import MedianConversation
from discreet.query_release.synopses.online_answer import OnlineAnswer
from discreet.sparse import accuracy as tails

FINE = 64
"""The closeness r is rounded to so many units of 1 / (accuracy x rows), its exact sensitivity."""
MOST_PRECISE = 1 << 40
"""Beyond this accuracy x rows, floats do not hold the closeness finely enough."""
UNLIKELY = Fraction(1, 10**300)
"""More than three times exp(-size x ln cells), for the smallest size there is."""

_HARD, _HARD_EFFICIENT = 20, 40


@dataclass(frozen=True, slots=True)
class Constants:
    """The constants (4.1) to (4.6) of [Roth10].

    The size of a small database has max(1, ln(1 / accuracy)) where the source has ln(1 / accuracy), which
    lets it fall to 0, and ln(2 queries / epsilon) is at least 1 likewise. The efficient version may need
    twice as many hard answers, and divides by as many.

    Attributes
    ----------
    size
        m of (4.1).
    hard
        How many hard answers there may be before the mechanism stops.
    step
        The epsilon of one noisy number, (4.2), rounded down.
    """

    queries: int
    accuracy: Fraction
    epsilon: Fraction
    size: int
    hard: int
    step: Fraction

    @classmethod
    def of(
        cls, *, cells: int, queries: int, accuracy: Fraction, epsilon: Fraction, efficient: bool
    ) -> Constants:
        """Compute them from what is wanted."""
        wide = above(math.log(queries) * max(1.0, -math.log(accuracy)), 8)
        size = math.ceil(160_000 * Fraction(wide) / accuracy**2)
        times = _HARD_EFFICIENT if efficient else _HARD
        spread = Fraction(above(math.log(cells), 4)) * size
        step = shorten_down(epsilon / (36 * times * spread), 12)
        return cls(queries, accuracy, epsilon, size, math.floor(times * spread), step)

    @property
    def rows(self) -> int:
        """The number of rows the theorem needs, (4.6)."""
        logs = above(self._log * math.log2(self.queries), 8)
        return math.ceil(30 * Fraction(logs) / (self.step * self.accuracy))

    def gap(self, rows: int) -> float:
        """Return the distance of two thresholds, (4.3)."""
        return 4 * self._log / float(self.step * self.accuracy * rows)

    def steps(self, rows: int) -> int:
        """Return how many thresholds there are above the lowest."""
        return math.floor(below(0.15 / self.gap(rows), 4))

    @property
    def _log(self) -> float:
        return max(1.0, math.log(2 * self.queries / self.epsilon))


@dataclass(frozen=True, slots=True)
class Steps(Primitive[None, int]):
    """Toss until tails, at most `most` times, and return how often heads came. It meets no data.

    The source draws from the same numbers in proportion to 2^-j, which gives the last one half of what the
    proof needs.
    """

    most: int
    sensitivity: Fraction = Fraction(0)

    def sample(self, value: None, rng: Rng) -> int:
        """Toss."""
        return next((n for n in range(self.most) if rng.bits(1)), self.most)

    def law(self, value: None) -> Iterator[tuple[int, Fraction]]:
        """Yield every number."""
        yield from ((n, Fraction(1, 2 << n)) for n in range(self.most))
        yield self.most, Fraction(1, 1 << self.most)

    def distance(self, value: None, other: None) -> Fraction:
        """Return zero."""
        return Fraction(0)


@frozen
class MedianThesis(Interactive[Histogram, OnlineAnswer]):
    """The median mechanism as published, with a random threshold for every question.

    Privacy: pure where the questions are few enough to count each of them as a bad one, and then at most
    epsilon / 2; else (epsilon, 10^-300). [Roth10] Theorems 21 and 22 with the repairs of their page.
    Accuracy: `accuracy` of all rows, with the probability of Theorem 19; error(beta) is infinite where that
    is less than 1 - beta, as it is for few queries.
    Time: O(family size x cells) a question.

    Parameters
    ----------
    universe
        What queries are about; predicates only.
    rows
        The public number of rows.
    epsilon
        The budget.
    accuracy
        The wanted error as a part of all rows.
    queries
        How many questions may be asked.
    efficient
        Keep random histograms instead of all small databases.
    """

    universe: Universe = public(checks.instance, Universe)
    rows: int = public(checks.integer, 1)
    epsilon: Exact = public(checks.positive)
    accuracy: Exact = public(checks.probability)
    queries: int = public(checks.integer, 2)
    efficient: bool = public(checks.instance, bool)

    def _complete(self) -> None:
        needed = self.constants.rows
        if self.rows < needed:
            raise Refused(
                what=f"the median mechanism as published on {self.rows} rows",
                why=f"its theorem needs {needed} rows for these queries, accuracy and epsilon",
                way_out="Use MedianMechanism or MedianPolytope themselves, which need no minimum",
            )
        if self.accuracy * self.rows > MOST_PRECISE:
            raise Refused(
                what=f"the median mechanism as published on {self.rows} rows",
                why="floats do not hold its measure of closeness finely enough",
                way_out="Use MedianMechanism or MedianPolytope themselves",
            )
        self.candidates()  # refuses what cannot be listed

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """One row is replaced: the number of rows is public."""
        return Replace("row")

    @property
    def constants(self) -> Constants:
        """The constants of the source."""
        return Constants.of(
            cells=self.universe.size,
            queries=self.queries,
            accuracy=self.accuracy,
            epsilon=self.epsilon,
            efficient=self.efficient,
        )

    @property
    def updates(self) -> int:
        """How many hard answers there may be."""
        return self.constants.hard

    @property
    def width(self) -> Fraction:
        """How far from a hard answer a candidate may be and stay."""
        return self.accuracy * self.rows / 50

    @property
    def grid(self) -> None:
        """None: queries are predicates."""

    @property
    def closeness_noise(self) -> DiscreteLaplace:
        """The noise of the closeness: Lap(2 / (accuracy rows step))."""
        return DiscreteLaplace(shorten_up(2 * FINE / self.constants.step, 12))

    @property
    def value_noise(self) -> DiscreteLaplace:
        """The noise of a hard answer: Lap(1 / step) rows."""
        return DiscreteLaplace(shorten_up(1 / self.constants.step, 12))

    @property
    def loss(self) -> Loss:
        """The cost of a whole conversation."""
        constants = self.constants
        if self.queries <= 9 * constants.hard:
            return PureLoss((self.queries + min(self.queries, constants.hard)) * constants.step)
        return ApproxLoss(self.epsilon, UNLIKELY)

    def error(self, beta: checks.Number) -> float:
        """Return alpha of Theorem 19; refuse where its failure probability is above beta."""
        half = checks.probability(beta=beta) / 2
        reach = float(self.constants.step * self.accuracy * self.rows)
        strays = above(self.queries * math.exp(-reach / 200), 8)
        if strays > half:
            raise NoBound(
                what="the answers",
                why=f"Theorem 19 fails with probability {min(1.0, strays):.3g}, which is above half of beta",
                way_out="Take more rows, or a larger accuracy",
            )
        bound = max(up(self.accuracy * self.rows), self.measured_error(half))
        return require_useful(bound, trivial=float(self.rows), what="the answers", way_out=MORE)

    def measured_error(self, beta: checks.Number) -> float:
        """Return alpha: with probability 1 - beta every hard answer is within alpha."""
        b, count = checks.probability(beta=beta), min(self.queries, self.constants.hard)
        noise = self.value_noise
        return float(tails.find_error(lambda a: tails.value_failure(noise, a, positives=count), b))

    def candidates(self) -> Agreeing:
        """Return all small databases, or random histograms."""
        if self.efficient:
            return all_histograms(self.universe.size, self.rows, 1)
        size = self.constants.size
        return Family(small_databases(self.universe.size, size), size=size, rows=self.rows)

    def _begin(self, data: Sensitive[Histogram], rng: Rng) -> Conversation[OnlineAnswer]:
        return ThesisConversation(self, data, rng)


class ThesisConversation(MedianConversation):
    """The conversation of Figure 4.1: a noisy closeness meets a fresh random threshold."""

    def __init__(self, mechanism: MedianThesis, data: Sensitive[Histogram], rng: Rng) -> None:
        super().__init__(mechanism, data, rng)
        constants = mechanism.constants
        self._tested = 0
        self._unit = FINE * float(mechanism.accuracy) * mechanism.rows
        self._near = float(mechanism.accuracy) * mechanism.rows
        self._gap, self._steps = constants.gap(mechanism.rows), Steps(constants.steps(mechanism.rows))
        self._closeness = NoisyComparison(mechanism.closeness_noise, sensitivity=Fraction(2 * FINE))
        self._value_noise = mechanism.value_noise

    def _is_hard(self, truth: int, guess: int, weights: Integers) -> bool:
        del guess
        self._tested += 1
        if self._tested >= self._public.queries:
            self.close(f"all {self._public.queries} questions have been asked")
        distances = np.abs(self._candidates.answers(weights) - truth)
        close = math.floor(float(np.exp(-distances / self._near).mean()) * self._unit + 0.5)
        step: Any = self._rng.perform(self._steps, None)
        bar = math.ceil((0.75 + self._gap * step) * self._unit)
        return not self._rng.perform(self._closeness, (close, bar))
