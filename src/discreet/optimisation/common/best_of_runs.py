"""The best of many runs of a private algorithm, for the price of three.

Repeating an algorithm and publishing the best run costs as much as all of them, if their number is fixed. If
it is random and forgets how many have been made, it costs at most three runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Generic, TypeVar

from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.errors import InvalidParameter
from discreet.core.loss import Loss, PureLoss
from discreet.core.mechanism import Mechanism
from discreet.core.neighbours import Neighbours
from discreet.core.parameters import Exact, MaybeExact, frozen, public
from discreet.core.rng import TAIL, Primitive, Rng
from discreet.core.rounding import above, down
from discreet.core.sensitive import lend
from discreet.mechanisms.exponential import Exponential
from discreet.mechanisms.grid import evaluate_finite
from discreet.mechanisms.laplace import Laplace
from discreet.noise.oracle import bernoulli

Data = TypeVar("Data")
Value = TypeVar("Value")


@dataclass(frozen=True, slots=True)
class RunCount(Primitive[None, int]):
    """Draw how many runs to make: after each one, stop with probability `stop`. It meets no data."""

    stop: Fraction
    sensitivity: Fraction = Fraction(0)

    def sample(self, value: None, rng: Rng) -> int:
        """Toss until it says stop."""
        count = 1
        while not bernoulli(self.stop, rng):
            count += 1
        return count

    def law(self, value: None) -> Iterator[tuple[int, Fraction]]:
        """Yield every number up to a negligible rest."""
        count, rest = 1, Fraction(1)
        while rest > TAIL:
            yield count, rest * self.stop
            count, rest = count + 1, rest * (1 - self.stop)

    def distance(self, value: None, other: None) -> Fraction:
        """Return zero."""
        return Fraction(0)


@dataclass(frozen=True, slots=True)
class Run(Generic[Value]):
    """The run that was published: what it released and its noisy score."""

    value: Value
    score: float


@frozen
class BestOfRuns(Mechanism[Data, Run[Value]], Generic[Data, Value]):
    """Run a mechanism a random number of times, score every run privately, publish the best one.

    Privacy: (3 (base + epsilon), 0), however many runs there are. With q the probability of an outcome of
    one run and r that of a better one, the best of a geometric number of runs is that outcome with
    probability stop q / ((stop + (1 - stop) r) (stop + (1 - stop) (r + q))); each of the three moves
    by e^(base + epsilon) at most. Two outcomes are never equally good: ties go by a public order.
    Accuracy: where the score falls by one for every unit of the base's error, such as minus the cost, the
    published run is within error(beta) of its base's target with probability 1 - beta.
    Time: 1 / stop runs on average.

    Parameters
    ----------
    base
        A mechanism with a pure loss. What it releases must print differently where it differs.
    score
        How good a release is on the data; larger is better. Not private: it is made so here. An exception,
        and what is no finite number, counts as 0.
    sensitivity
        How far the score of one release moves between neighbours; whole where no grid is declared.
    epsilon
        The budget of the noise on one score, besides what the base costs.
    stop
        The probability to stop after a run: 1 / 20 makes 20 runs on average. Public.
    grid
        The unit that scores are rounded to; 1 where left out.
    """

    base: Mechanism[Data, Value] = public(checks.instance, Mechanism)
    score: Callable[[Data, Value], Any] = public(checks.function, "data and a release")
    sensitivity: Exact = public(checks.positive)
    epsilon: Exact = public(checks.positive)
    stop: Exact = public(checks.probability)
    grid: MaybeExact = public(checks.positive, default=None)

    def _complete(self) -> None:
        if self.grid is None and self.sensitivity.denominator != 1:
            hint = "Pass grid=, the unit to round scores to"
            rule = "whole where no grid is declared"
            raise InvalidParameter(name="sensitivity", rule=rule, value=self.sensitivity, hint=hint)
        if not math.isfinite(self.base.loss.epsilon(0)):
            raise InvalidParameter(name="base", rule="a mechanism with a pure loss", value=self.base.loss)

    @property
    def neighbours(self) -> Neighbours:  # type: ignore[override]
        """Those of the base."""
        return self.base.neighbours

    @property
    def meter(self) -> Laplace:
        """What makes one score private."""
        given: dict[str, Any] = {"sensitivity": self.sensitivity, "epsilon": self.epsilon}
        return Laplace(**given, grid=self.grid, neighbours=self.neighbours)

    @property
    def loss(self) -> Loss:
        """Three times what one run and its score cost."""
        return PureLoss(3 * (Fraction(self.base.loss.epsilon(0)) + Fraction(self.meter.loss.epsilon(0))))

    @property
    def bought(self) -> Loss:
        """The loss: `epsilon` is the price of one score, not of the release."""
        return self.loss

    def error(self, beta: checks.Number) -> float:
        """Return alpha: the published run misses the base's target by more with probability at most beta.

        One of the runs is within base.error(b), where all runs miss that with probability beta / 2; and no
        score of them, and of the ones after them, is off by more than the noise of as many runs as are
        made with probability 1 - beta / 4. Rounding puts two scores at most one unit nearer to each other.
        """
        half = checks.probability(beta=beta) / 2
        all_miss = half / (self.stop + (1 - self.stop) * half)
        runs = math.ceil(math.log(down(half / 2)) / math.log1p(-down(self.stop))) + 1
        noise = self.meter.error(each_of(runs, half / 2))
        rounding = 1 if self.grid is None else 0  # a declared grid's is part of the noise's error
        return above(self.base.error(all_miss) + 2 * noise + rounding)

    def _draw(self, data: Data, rng: Rng) -> Run[Value]:
        runs = [self._run(data, rng) for _ in range(rng.perform(RunCount(self.stop), None))]
        return max(runs, key=lambda run: (run.score, repr(run.value)))

    def _run(self, data: Data, rng: Rng) -> Run[Value]:
        value = self.base.release(data, rng=rng).value
        score: Fraction | int = evaluate_finite(lambda rows: self.score(rows, lend(value)), data, Fraction(0))
        if self.grid is None:  # a whole sensitivity holds for the nearest whole numbers too
            score = math.floor(score + Fraction(1, 2))
        return Run(value, self.meter.release(score, rng=rng).value)


def _worth(scores: Any, place: Any) -> Any:
    return scores[place]


def _make(*, stop: Fraction) -> BestOfRuns[Any, Any]:
    base = Exponential(sensitivity=1, epsilon=1, size=2)
    return BestOfRuns(base=base, score=_worth, sensitivity=1, epsilon=1, stop=stop)


def _tiny() -> Iterator[Tiny]:
    # One run, all but surely: the law of many is a closed form of it, which tests of their own enumerate.
    yield Tiny(_make(stop=1 - TAIL / 2), [((0, 1), (1, 0)), ((0, 0), (1, 0))], tight=False)


CARD = Card(
    title="The best of many private runs",
    theorem="(3 epsilon, 0)-differential privacy for the best of any number of (epsilon, 0) runs with scores",
    reference="[LT19] Theorem 3.1; [Roth10] Section 7.1.1",
    example=lambda: (_make(stop=Fraction(1, 10)), (30, 41)),
    tiny=_tiny,
)
