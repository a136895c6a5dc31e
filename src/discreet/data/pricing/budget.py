"""What one question costs and which noise it gets: decided from public facts, before a row is read.

Every grouping set has a few vectors of whole numbers to be measured (`plan_facts`). Each gets the same share
of the budget: no measure is known to matter more than another. Two ways are compared, and the one that
predicts the smaller errors is taken:

* discrete Laplace noise everywhere. The shares of epsilon add up, and delta pays for thresholds only;
* discrete Gaussian noise everywhere, where delta > 0. The squares of mu add up to one Gaussian loss.

Quantiles are chosen exactly at their share of epsilon, in both ways: half of it for the value and a quarter
for either end of its interval. The smallest, the largest and the most frequent value are one choice each.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from discreet.accounting.composition import Composed
from discreet.core.bounds import each_of
from discreet.core.errors import InternalError, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import (
    ApproxLoss,
    BoundedRangeLoss,
    DiscreteLaplaceLoss,
    GaussianLoss,
    Loss,
    gaussian_delta,
)
from discreet.core.neighbours import Neighbours
from discreet.core.rounding import shorten_up
from discreet.data.plan.facts import Facts, SetFacts, VectorSensitivity, facts, finder
from discreet.data.plan.key_nodes import Key
from discreet.data.plan.measures import CHOSEN, Measure
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.gaussian_share import find_factor, find_variance
from discreet.data.pricing.modes import ModeChoices
from discreet.data.pricing.quantiles import QuantileChoices, spread_per_row, units_off
from discreet.data.pricing.thresholds import KeysAbove, threshold
from discreet.mechanisms.gaussian import discrete_loss
from discreet.mechanisms.laplace import laplace_scale
from discreet.mechanisms.scores import rate_within
from discreet.noise import AddNoise, DiscreteGaussian, DiscreteLaplace

MAX_CHOICES = 10_000_000
"""Groups times declared values that one quantile may have."""

MAX_FRACTION = 1_000_000
"""The largest denominator of a quantile: ranks are counted in as many parts of a row."""

CONFIDENCE = Fraction(95, 100)
"""The probability for which the intervals of quantiles are chosen."""

Side = Literal[-1, 0, 1]
Place = tuple[SetFacts, Measure, VectorSensitivity]

_PARTS: dict[Side, Fraction] = {0: Fraction(1, 2), -1: Fraction(1, 4), 1: Fraction(1, 4)}
_RESOLUTION = 30  # binary digits of the largest move of one entry: far finer than the noise
_BETA = Fraction(1, 20)


@dataclass(frozen=True, slots=True)
class Vector:
    """One vector to be measured: a number a group.

    Parameters
    ----------
    keys, measure, cells
        What is measured; `cells` is None where a threshold finds the groups.
    dropped
        Last binary digits left out before the noise, so that sums of large numbers fit 64 bits.
    moved
        How far neighbours are apart after that.
    noise
        What is added to each entry.
    threshold, failure
        Where groups are found: the noisy number of units they need, and what that costs in delta.
    """

    keys: tuple[Key, ...]
    measure: Measure
    cells: int | None
    dropped: int
    moved: VectorSensitivity
    noise: DiscreteLaplace | DiscreteGaussian
    threshold: int | None = None
    failure: Fraction = Fraction(0)

    @property
    def loss(self) -> DiscreteLaplaceLoss | GaussianLoss:
        """What the noise costs."""
        if isinstance(self.noise, DiscreteLaplace):
            return DiscreteLaplaceLoss(self.moved.l1, self.noise.scale)
        return discrete_loss(Fraction(self.moved.l2_squared), self.noise.variance)

    @property
    def step(self) -> AddNoise:
        """The random step that adds the noise."""
        return AddNoise(self.noise, *self._norm)

    @property
    def finding(self) -> KeysAbove:
        """The random step that finds the groups."""
        if self.threshold is None:
            raise InternalError("declared groups are not found by a threshold")
        return KeysAbove(self.noise, self.threshold, *self._norm)

    @property
    def _norm(self) -> tuple[Fraction, int]:
        if isinstance(self.noise, DiscreteLaplace):
            return Fraction(self.moved.l1), 1
        return shorten_up(Fraction(self.moved.l2), 10), 2


@dataclass(frozen=True, slots=True)
class QuantileChoice:
    """One quantile to be chosen in every group, or one end of its interval.

    `side` is -1 for the lower end, 0 for the value and 1 for the upper end. The largest value of a group is
    the lower end of its quantile 1, and the smallest the upper end of its quantile 0: inside the rows, as
    near to their end as the budget tells. Nothing but the declared bounds is known of what lies beyond.
    """

    keys: tuple[Key, ...]
    measure: Measure
    cells: int | None
    step: QuantileChoices
    side: Side
    extreme: bool = False

    @property
    def loss(self) -> BoundedRangeLoss:
        """What choosing in all groups costs together."""
        moved = spread_per_row(self.step.point) * self.step.sensitivity
        return BoundedRangeLoss(self.step.rate * moved)


@dataclass(frozen=True, slots=True)
class ModeChoice:
    """The most frequent value to be chosen in every group."""

    keys: tuple[Key, ...]
    measure: Measure
    cells: int | None
    step: ModeChoices

    @property
    def loss(self) -> BoundedRangeLoss:
        """What choosing in all groups costs together: one row moves one score by 1."""
        return BoundedRangeLoss(self.step.rate * self.step.sensitivity)


@dataclass(frozen=True, slots=True)
class Budget:
    """How a question will be answered. Holds public facts only."""

    epsilon: Fraction
    delta: Fraction
    facts: Facts
    vectors: tuple[Vector, ...]
    choices: tuple[QuantileChoice | ModeChoice, ...]

    @property
    def neighbours(self) -> Neighbours:
        """Which change is hidden."""
        return self.facts.neighbours

    @property
    def loss(self) -> Loss:
        """Everything the answer costs."""
        parts = self._losses()
        parts += [ApproxLoss(Fraction(0), vector.failure) for vector in self.vectors if vector.failure]
        return Composed(tuple((loss, 1) for loss in parts))

    @property
    def guarantee(self) -> Guarantee:
        """The loss with the change it is about."""
        return Guarantee(self.loss, self.neighbours)

    @property
    def route(self) -> str:
        """The noise that was chosen, in words."""
        kinds = ["discrete Gaussian noise" if self._gaussian else "discrete Laplace noise"] * bool(
            self.vectors
        )
        kinds += ["exact choices"] * bool(self.choices)
        return " and ".join(kinds)

    @property
    def spent_delta(self) -> Fraction:
        """The delta that is really used: nothing where neither a threshold nor Gaussian noise needs it."""
        return self.delta if self._gaussian else sum((v.failure for v in self.vectors), Fraction(0))

    @property
    def _gaussian(self) -> bool:
        return any(isinstance(vector.noise, DiscreteGaussian) for vector in self.vectors)

    def aim(self, choice: QuantileChoice, groups: int) -> QuantileChoices:
        """Return the random step of a choice in so many groups, aimed at its side of the quantile.

        The ends of all intervals of a histogram hold at once with probability `CONFIDENCE`.
        """
        if choice.side == 0:
            return choice.step
        known = self.facts
        ends = 2 * len(known.points.get(choice.measure, ())) + len(known.extremes.get(choice.measure, ()))
        each_set = each_of(len(self.facts.sets), 1 - CONFIDENCE)
        off = units_off(choice.step.span, choice.step.rate, each_of(max(1, groups * ends), each_set))
        return replace(choice.step, shift=choice.side * (off + 1))

    def _losses(self) -> list[Loss]:
        return [*(vector.loss for vector in self.vectors), *(choice.loss for choice in self.choices)]

    def kept(self) -> bool:
        """Check that the loss is at most (epsilon, delta), by sums that hold whatever else is true."""
        pure, square, spread = Fraction(0), Fraction(0), Fraction(0)
        for loss in self._losses():
            view = loss.gaussian()
            if view is None:
                pure += loss.exact_epsilon() or 0
            else:
                square, spread = square + view[0], spread + view[1]
        mass = sum((vector.failure for vector in self.vectors), Fraction(0))
        if pure > self.epsilon:
            return False
        return mass + Fraction(gaussian_delta(square, spread, self.epsilon - pure)) <= self.delta


def budget(plan: Plan, tables: PlanTables, policy: Policy) -> Budget:
    """Decide the noise of every measure of a plan.

    Raises
    ------
    Refused
        When a quantile has too many values to choose from.
    """
    epsilon = min(policy.epsilon, plan.options.epsilon or policy.epsilon)
    delta = policy.delta if plan.options.delta is None else min(policy.delta, plan.options.delta)
    return _budget(plan, tables, epsilon, delta)


@lru_cache(maxsize=256)
def _budget(plan: Plan, tables: PlanTables, epsilon: Fraction, delta: Fraction) -> Budget:
    known = facts(plan, tables)
    counted = finder(known)
    places = [(one, measure, moved) for one in known.sets for measure, moved in one.measures]
    measured = [place for place in places if place[1].kind not in CHOSEN]
    share = epsilon / (len(measured) + sum(known.choices(measure) for _, measure, _ in places))
    choices = tuple(choice for place in places for choice in _choices(known, place, share))
    ways = [_laplace(known, counted, measured, share, delta)]
    if delta > 0 and measured:
        ways.append(_gaussian(known, counted, measured, share, delta))
    vectors = ways[0] if len(ways) == 1 or not _better(ways[1], ways[0]) else ways[1]
    made = Budget(epsilon, delta, known, vectors, choices)
    if not made.kept():
        raise InternalError(f"a planned answer costs more than epsilon {epsilon}, delta {delta}")
    return made


def _choices(known: Facts, place: Place, share: Fraction) -> Iterator[QuantileChoice | ModeChoice]:
    """Yield what is chosen of one measure: quantiles with their ends, ends of rows, the commonest value."""
    one, measure, moved = place
    for point in known.points.get(measure, ()):
        for side, part in _PARTS.items():
            yield _choice(*place, point, share * part, side)
    for point in known.extremes.get(measure, ()):
        yield replace(_choice(*place, point, share, -1 if point else 1), extreme=True)
    if measure.kind == "values":
        _check_choices(one, measure)
        rows = max(1, moved.l1)
        step = ModeChoices(measure.width, rate_within(share, rows), Fraction(rows))
        yield ModeChoice(one.keys, measure, one.cells, step)


def _check_choices(one: SetFacts, measure: Measure) -> None:
    if measure.width * (one.cells or 1) > MAX_CHOICES:
        raise Refused(
            what="mode" if measure.kind == "values" else "quantile",
            why=f"it has more than {MAX_CHOICES} declared values to choose from, all groups together",
            way_out="Give contribution_bounds_per_row, or ask for fewer groups",
        )


def _choice(  # noqa: PLR0917  # a place is three of them
    one: SetFacts, measure: Measure, moved: VectorSensitivity, point: Fraction, share: Fraction, side: Side
) -> QuantileChoice:
    _check_choices(one, measure)
    if point.denominator > MAX_FRACTION:
        raise Refused(
            what="quantile",
            why=f"it is a fraction with a denominator above {MAX_FRACTION}",
            way_out="Round it to six decimals",
        )
    rows = max(1, moved.l1)
    rate = rate_within(share, spread_per_row(point) * rows)
    step = QuantileChoices(point, measure.row, rate, Fraction(rows))
    return QuantileChoice(one.keys, measure, one.cells, step, side)


def _laplace(
    known: Facts, counted: Measure, places: list[Place], share: Fraction, delta: Fraction
) -> tuple[Vector, ...]:
    vectors = _measure(places, lambda moved: DiscreteLaplace(laplace_scale(moved.l1, share)))
    return _with_thresholds(known, counted, vectors, delta)


def _gaussian(
    known: Facts, counted: Measure, places: list[Place], share: Fraction, delta: Fraction
) -> tuple[Vector, ...]:
    """Give every vector the same part of mu^2; thresholds get half of delta where there are some."""
    squares: Counter[int] = Counter()
    for moved, times in Counter(moved for _, _, moved in places).items():
        squares[coarsen(moved)[1].l2_squared] += times
    half = delta / 2 if any(one.cells is None for one, _, _ in places) else Fraction(0)
    factor = find_factor(tuple(sorted(squares.items())), share * len(places), delta - half)
    vectors = _measure(places, lambda moved: DiscreteGaussian(find_variance(moved.l2_squared, factor)))
    return _with_thresholds(known, counted, vectors, half)


def _measure(
    places: list[Place], find_noise: Callable[[VectorSensitivity], DiscreteLaplace | DiscreteGaussian]
) -> list[Vector]:
    """Give every vector its noise: that of a move is found once, and a cube has the same many times."""
    found: dict[VectorSensitivity, tuple[int, VectorSensitivity, DiscreteLaplace | DiscreteGaussian]] = {}
    for moved in dict.fromkeys(moved for _, _, moved in places):
        dropped, coarse = coarsen(moved)
        found[moved] = dropped, coarse, find_noise(coarse)
    return [Vector(one.keys, measure, one.cells, *found[moved]) for one, measure, moved in places]


def _with_thresholds(
    known: Facts, counted: Measure, vectors: list[Vector], delta: Fraction
) -> tuple[Vector, ...]:
    """Set the threshold of every vector that finds groups; each gets an equal part of delta."""
    finding = [vector.cells is None and vector.measure == counted for vector in vectors]
    if not any(finding):
        return tuple(vectors)
    part, groups = delta / sum(finding), min(known.groups_per_unit, known.rows_per_unit)
    return tuple(
        replace(vector, threshold=threshold(vector.noise, groups=groups, delta=part), failure=part)
        if finds
        else vector
        for vector, finds in zip(vectors, finding, strict=True)
    )


def _better(one: tuple[Vector, ...], other: tuple[Vector, ...]) -> bool:
    """Tell whether the errors at 95 % of one way are smaller, in the geometric mean over the vectors."""
    gain = 0.0
    pairs = zip(one, other, strict=True)
    for (cells, noise, against), times in Counter((a.cells, a.noise, b.noise) for a, b in pairs).items():
        beta = each_of(cells or 1, _BETA)
        gain += times * math.log((noise.reach(beta) + 1) / (against.reach(beta) + 1))
    return gain < 0


def coarsen(moved: VectorSensitivity) -> tuple[int, VectorSensitivity]:
    """Return how many binary digits to drop, and how far neighbours are apart after dropping them.

    Dropping digits rounds down to multiples of 2^dropped, so a move of d becomes at most one more than
    d / 2^dropped, and stays 0 where d is 0. A sensitivity of 0 is raised to 1: no answer is ever free.
    """
    dropped = max(0, moved.linf.bit_length() - _RESOLUTION)
    if not dropped:
        least = (max(1, moved.l0), max(1, moved.linf), max(1, moved.l1), max(1, moved.l2_squared))
        return 0, VectorSensitivity(*least)
    size = 1 << dropped
    linf = -(-moved.linf // size)
    length = -(-moved.l2_squared // size**2) + 2 * -(-moved.l1 // size) + moved.l0
    return dropped, VectorSensitivity(
        l0=moved.l0,
        linf=linf,
        l1=min(moved.l1 // size + moved.l0, moved.l0 * linf),
        l2_squared=min(length, moved.l0 * linf**2),
    )
