"""k-median by private local search: one exponential mechanism a swap."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import lru_cache
from typing import Any, Self

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.composition import Composed
from discreet.core import checks
from discreet.core.bounds import each_of
from discreet.core.card import Card, Tiny
from discreet.core.fixed import Floats
from discreet.core.loss import BoundedRangeLoss, Loss
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import Exact, Public, frozen, public
from discreet.core.progress import track
from discreet.core.rng import Rng
from discreet.core.rounding import shorten_down, up
from discreet.mechanisms.count import count_moved_cells
from discreet.mechanisms.exponential import range_for_rho, units_behind
from discreet.noise.selection import ExponentialChoice
from discreet.optimisation.k_median.metric import Medians, Metric, OfPeople
from discreet.optimisation.k_median.swaps import Swaps, spread_out
from discreet.optimisation.k_median.tiny import PEOPLE, line, town

CALIBRATIONS = ("tight", "thesis")


@frozen
class KMedian(OfPeople):
    """Open k sites so that people are near one: a local search whose every swap is chosen privately.

    Privacy: (epsilon, delta): `steps` choices of bounded range, pure where delta is 0, else through zCDP.
    Each choice is calibrated to how far one person can move it from the present sites, which is public.
    Accuracy: with probability 1 - beta, cost <= 5 OPT + (1 - 1/k)^steps cost(start) + error(beta), for
    distances that are a metric.
    Time: O(places * sites) a step.

    Parameters
    ----------
    metric
        The public distances.
    k
        How many sites to open.
    epsilon, delta
        The budget of one release. A delta above 0 allows much larger steps.
    steps
        How many swaps to choose; 2 k where left out. More of them make each one noisier.
    neighbours
        `AddRemove` or `Replace` of a person.
    calibration
        "tight", or "thesis" for the printed algorithm: twice the noise, the diameter for every choice, a
        swap in every step, and a last choice among all sets that were visited.

    Examples
    --------
    >>> town = Metric.points([[0, 0], [0, 3], [4, 0]], unit=1)
    >>> KMedian(metric=town, k=1, epsilon=10, delta=0, steps=1, neighbours=AddRemove("person")).error(0.05)
    1.0
    """

    ratio = 5.0

    delta: Exact = public(checks.delta)
    steps: Public[int | None, int] = public(checks.integer, 1, default=None)
    calibration: str = public(checks.one_of, CALIBRATIONS, default="tight")

    def _complete(self) -> None:
        OfPeople._complete(self)  # noqa: SLF001 - its own base
        self._set(steps=self.steps or 2 * self.k)

    @classmethod
    def as_printed(cls, *, metric: Metric, k: int, epsilon: checks.Number, neighbours: Neighbours) -> Self:
        """Return the algorithm of Theorem 46 with its number of steps, 6 k ln(sites)."""
        steps = max(1, math.ceil(6 * checks.integer(1, k=k) * math.log(metric.sites)))
        given: dict[str, Any] = {"metric": metric, "k": k, "epsilon": epsilon, "neighbours": neighbours}
        return cls(delta=0, steps=steps, calibration="thesis", **given)

    @property
    def choices(self) -> int:
        """How many private choices a release makes."""
        return self.steps + (self.calibration == "thesis")

    @property
    def range_(self) -> Fraction:
        """The range of the log-likelihood ratio of one choice."""
        if self.calibration == "thesis":
            # The printed exponent is epsilon / (2 diameter (steps + 1)), whatever the neighbours are.
            return self.epsilon * count_moved_cells(self.neighbours) / (2 * self.choices)
        return range_of_one(self.epsilon, self.delta, self.choices)

    @property
    def loss(self) -> Loss:
        """The composition of all choices."""
        return Composed(((BoundedRangeLoss(self.range_), self.choices),))

    def error(self, beta: checks.Number) -> float:
        """Return alpha: with probability 1 - beta, cost <= 5 OPT + (1 - 1/k)^steps cost(start) + alpha.

        From every set of sites some swap, or staying, brings the cost a k-th of the way to 5 OPT; a choice
        that falls short of the best by g each time adds up to k g at most. The printed algorithm chooses
        once more, among the sets it has seen.
        """
        each = Fraction(each_of(self.choices, beta))
        swaps = self.k * (self.metric.sites - self.k) + 1
        short = self._behind(swaps, each) * self.k * (1 - (1 - Fraction(1, self.k)) ** self.steps)
        if self.calibration == "thesis":
            short += self._behind(self.steps + 1, each)
        return up(short * self.metric.unit)

    def _draw(self, data: Any, rng: Rng) -> Medians:
        counts = self.metric.counts(data)
        chosen = spread_out(self.metric, self.k)
        seen = [chosen]
        for _ in track(range(self.steps), total=self.steps, label="k-median"):
            swaps = Swaps(self.metric, chosen)
            chosen = swaps.result(self._choose(swaps, counts, rng))
            seen.append(chosen)
        if self.calibration == "thesis":
            costs = self.metric.costs(counts, seen)
            chosen = seen[rng.perform(self._choice(self.metric.diameter), -costs)]
        return Medians.of(chosen, self.metric)

    def _choose(self, swaps: Swaps, counts: Floats, rng: Rng) -> int:
        costs = swaps.costs(counts)
        if self.calibration == "tight":
            return rng.perform(self._choice(swaps.spread()), -costs)
        moves = costs[:-1] if costs.size > 1 else costs  # where all sites are open, staying is all there is
        return rng.perform(self._choice(self.metric.diameter), -moves)

    def _choice(self, spread: int) -> ExponentialChoice:
        return self._choice_within(self.range_, max(1, spread))

    def _behind(self, candidates: int, beta: Fraction) -> int:
        """Return how many units a choice falls short of the best, but with probability beta."""
        spread = self.metric.diameter if self.calibration == "thesis" else self.metric.reach
        return units_behind((candidates - 1) * (1 - beta) / beta, self._choice(spread).rate)


@lru_cache(maxsize=256)
def range_of_one(epsilon: Fraction, delta: Fraction, count: int) -> Fraction:
    """Return the range of each of `count` adaptive choices that cost (epsilon, delta) together."""
    pure = shorten_down(epsilon / count, 12)
    if delta == 0:
        return pure
    return max(pure, range_for_rho(zcdp_rho(epsilon=epsilon, delta=delta) / count))


def _tiny() -> Iterator[Tiny]:
    person = AddRemove("person")
    for metric, k, steps, epsilon, delta in (
        (line(0, 6, 7), 1, 1, 1, 0),
        (line(0, 1, 7, 9), 2, 1, 2, 0),
        (line(0, 2, 5), 1, 2, 2, 0),
        (line(0, 2, 5), 1, 2, 1, 0.001),
    ):
        mechanism = KMedian(metric=metric, k=k, epsilon=epsilon, delta=delta, steps=steps, neighbours=person)
        yield Tiny(mechanism, list(person.pairs(range(metric.places), 4 - steps)), tight=steps == 1)
    replace = Replace("person")
    moved = KMedian(metric=line(0, 5, 10), k=1, epsilon=1, delta=0, steps=1, neighbours=replace)
    yield Tiny(moved, list(replace.pairs(range(3), 3)), tight=False)
    printed = KMedian.as_printed(metric=line(0, 3), k=1, epsilon=2, neighbours=person)
    yield Tiny(printed, list(person.pairs(range(2), 2)), tight=False)


CARD = Card(
    title="k-median by private local search",
    theorem="(epsilon, delta)-differential privacy; cost <= 5 OPT + a part of the start + error(beta)",
    reference="[Roth10] Theorem 46, with [AGKMMP04] for the swaps",
    example=lambda: (
        KMedian(metric=town(6), k=3, epsilon=1, delta=1e-6, neighbours=AddRemove("person")),
        PEOPLE,
    ),
    tiny=_tiny,
)
