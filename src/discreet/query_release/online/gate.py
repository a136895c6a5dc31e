"""The gate of private multiplicative weights: tests whether a hypothesis is off by more than a threshold.

One test asks whether a count lies above what the hypothesis says, another whether it lies below. Where
neighbours differ by one added row, all counts move the same way: the first kind of test rises, the second
falls. So in each order of the two neighbours only one of the two hidden thresholds has to be paid for, and
each alarm costs one shift of its noise, not two. docs/algorithms/multiplicative-weights.md has the proof.

Tests use one-sided (exponential) noise. A test whose value reaches its hidden threshold is then always
positive, so a hypothesis that passes is off by less than that threshold, however many questions are asked;
more questions only mean more false alarms, and those the public threshold keeps few. Of all plans within a
budget, of noise, threshold and the noise of measured values, the one with the smallest error is taken.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.errors import BudgetTooSmall, InvalidParameter, NeighboursMismatch
from discreet.core.fixed import Floats, Integers
from discreet.core.rng import Primitive, Rng
from discreet.core.rounding import above, shorten_up
from discreet.noise import DiscreteGaussian, DiscreteLaplace, Noise, OneSidedGeometric
from discreet.sparse.accuracy import find_error, value_failure
from discreet.sparse.calibration import PLANNED_BETA, find_largest, require
from discreet.sparse.loss import SparseLoss
from discreet.sparse.plan import Form

NONE = -1
"""What `FirstAbove` answers where no value reaches its bar."""

_CHUNK = 1 << 16  # tests drawn at a time: after an alarm the rest of the draws is thrown away
_SLACK = 1e-10  # relative: far above the rounding errors of the recursion
_NEGLIGIBLE = 1e-40  # masses below this are not told apart; all of them together count as infinite loss
_MOST_UNITS = 64
_LEAST = Fraction(1, 1 << 100)  # of the budget: below it there is no gate worth the name

RATIOS = (Fraction(1, 2), Fraction(1), Fraction(2), Fraction(4), Fraction(8))
"""Threshold noise is so many times narrower than test noise."""
SPREADS = (Fraction(1, 2), Fraction(1))
"""The spread of measured values, over the scale of the test noise: small, or an alarm teaches nothing."""
WASTED = Fraction(1, 4)
"""The part of the updates that may be lost to false alarms, in the mean."""
NEAR = Fraction(1, 4)
"""Alarms are false for questions that the hypothesis misses by less than this part of the threshold."""


@dataclass(frozen=True, slots=True)
class FirstAbove(Primitive[Integers, int]):
    """Given a row of values and a row of bars, return the first place where value + noise >= bar, or NONE.

    The noise is fresh for every test and not kept. It is as if the tests were made one after another, each
    only if no earlier one was positive.
    """

    noise: Noise
    sensitivity: Fraction

    def sample(self, value: Integers, rng: Rng) -> int:
        """Draw fresh noise for a few tests at a time, until one is positive."""
        values, bars = value
        for start in range(0, len(values), _CHUNK):
            part = slice(start, start + _CHUNK)
            noise = self.noise.draws(len(values[part]), rng)
            positive = np.flatnonzero(noise >= bars[part] - values[part])
            if len(positive):
                return start + int(positive[0])
        return NONE

    def law(self, value: Integers) -> Iterator[tuple[int, Fraction]]:
        """Yield every place with the probability that all tests before it were negative."""
        left = Fraction(1)
        for place, (number, bar) in enumerate(value.T.tolist()):
            positive = self.noise.tail(bar - number)
            if left and positive:
                yield place, left * positive
            left *= 1 - positive
        if left:
            yield NONE, left

    def distance(self, value: Integers, other: Integers) -> Fraction:
        """Return how far the values are apart at most; the bars must be the same public numbers."""
        if value.shape != other.shape or (value[1] != other[1]).any():
            raise NeighboursMismatch("a test met another threshold on the neighbour")
        return Fraction(int(np.abs(value[0] - other[0]).max(initial=0)))


@dataclass(frozen=True, slots=True)
class TwoSidedLoss(SparseLoss):
    """Steps of two kinds, mixed as the analyst likes: losses in [-low, high], or in [-high, low].

    The tests above and the tests below move in opposite ways between neighbours, and which kind the next
    alarm is of may depend on everything before. The worst such mixture is found by going backwards: with
    k + 1 steps left, the better of the two kinds for the attacker, each followed by the worst of k steps.
    """

    def _points(self, fall: Fraction, rise: Fraction) -> tuple[Floats, Floats, float]:
        """Return the losses of the worst mixture, which is the same in both orders, and their masses."""
        del fall, rise
        losses, masses, lost = _worst_mixture(self.low, self.high, self.count)
        if self.values:
            more, weights, rest = SparseLoss(self.value, self.value, self.values)._points(  # noqa: SLF001
                self.value, self.value
            )
            return (
                np.add.outer(losses, more).ravel(),
                np.multiply.outer(masses, weights).ravel(),
                lost + rest,
            )
        return losses, masses, lost


@lru_cache(maxsize=256)
def _worst_mixture(low: Fraction, high: Fraction, count: int) -> tuple[Floats, Floats, float]:
    """Return the losses and masses of a pair that dominates every mixture of `count` steps, and the rest.

    All losses are multiples of one unit, so delta(epsilon) of the worst mixture is computed without error on
    the grid of that unit. In between it is convex in e^epsilon, and the chord above it is the curve of the
    pair whose masses are read off its slopes.
    """
    ratio = high / low
    few, many = ratio.denominator, ratio.numerator
    unit = float(low) / few
    if max(few, many) > _MOST_UNITS or unit * many * (count + 1) > 600:
        raise InvalidParameter(name="high", rule="a small multiple of low", value=high)
    reach = many * (count + 1)
    epsilon = unit * np.arange(-reach, reach + 1)
    curve = np.maximum(0.0, -np.expm1(epsilon))
    before = -np.expm1(unit * np.arange(-reach - many, -reach))
    both = -math.expm1(-unit * (few + many))
    rises, falls = -math.expm1(-unit * few) / both, -math.expm1(-unit * many) / both
    size = len(curve)
    for _ in range(count):
        # Entry `many - loss` of the widened curve is where epsilon - loss begins.
        wide = np.concatenate([before, curve, np.zeros(many)])
        up_most, up_less = wide[:size], wide[many - few :][:size]
        down_most, down_less = wide[2 * many :][:size], wide[many + few :][:size]
        curve = np.maximum(
            rises * up_most + (1 - rises) * down_less, falls * up_less + (1 - falls) * down_most
        )
    slopes = np.diff(curve) / -np.diff(np.exp(epsilon))
    masses = np.maximum(np.exp(epsilon) * -np.diff(slopes, prepend=1.0, append=0.0), 0.0) * (1 + _SLACK)
    kept = masses > _NEGLIGIBLE
    return np.asarray(epsilon[kept], dtype=np.float64), masses[kept], float(masses[~kept].sum())


@dataclass(frozen=True, slots=True)
class GateSetting:
    """The public facts a gate depends on; numbers in units of the grid.

    Attributes
    ----------
    sides
        2 where neighbours move all counts one way: tests above and tests below. 1: tests on the distance.
    shift
        How far neighbours move a count.
    updates, extra
        How many alarms are paid for, and how many values beside those of the alarms are measured.
    square, spread
        The Gaussian loss spent before: mu^2, and slack times mu^2.
    queries
        How many questions the threshold is planned for.
    bar
        The public threshold, or None to plan it.
    """

    sides: int
    shift: int
    updates: int
    extra: int
    epsilon: Fraction
    delta: Fraction
    square: Fraction
    spread: Fraction
    queries: int
    bar: int | None


@dataclass(frozen=True, slots=True)
class GatePlan:
    """Noise laws and the threshold in units of the grid, and what a whole conversation costs."""

    form: Form
    thresholds: OneSidedGeometric
    tests: OneSidedGeometric
    values: Noise
    bar: int
    draws: int
    measured: int
    loss: SparseLoss

    def failure(self, alpha: int) -> float:
        """Bound the probability that some answer up to the planned number is off by more than alpha."""
        hidden = self.draws * math.exp(-max(0, alpha + 1 - self.bar) / float(self.thresholds.scale))
        return min(1.0, hidden * (1 + 1e-12) + value_failure(self.values, alpha, positives=self.measured))

    def error(self, beta: Fraction) -> int:
        """Return the smallest alpha whose failure is at most beta."""
        return find_error(self.failure, beta)

    def free_error(self, beta: Fraction) -> int:
        """Return by how much answers that pass the gate are off at most, but for beta."""
        return self.bar + self.thresholds.reach(beta / self.draws)

    def value_error(self, beta: Fraction) -> int:
        """Return by how much measured values are off at most, but for beta."""
        return self.values.reach(beta / self.measured)

    def raise_bars(
        self, asked: int, size: int, *, queries: int
    ) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
        """Return the thresholds of the next `size` tested questions after `asked` earlier ones.

        Beyond the planned number K the threshold of question j grows by 2 scale ln(j / K): false alarms
        then fall like (K / j)^2, and all later questions together bring no more of them than the first K.
        """
        places = np.arange(asked + 1, asked + size + 1)
        growth = 2 * float(self.tests.scale) * np.log(np.maximum(1.0, places / queries))
        return self.bar + np.ceil(growth).astype(np.int64)


@lru_cache(maxsize=256)
def plan_gate(setting: GateSetting) -> GatePlan:
    """Return the plan that misses the smallest error with the planned probability."""
    beta = Fraction(PLANNED_BETA)
    best = min(_list_candidates(setting), key=lambda plan: plan.error(beta))
    require(best.loss, setting.epsilon, setting.delta)
    return best


def _list_candidates(setting: GateSetting) -> Iterator[GatePlan]:
    # Composed thresholds need a delta, and one alarm needs no second threshold.
    forms = list(Form) if setting.delta and setting.updates > 1 else [Form.ONCE]
    for form in forms:
        # A threshold that is drawn often pays for its noise often, and never deserves the narrowest.
        for ratio in RATIOS if form is Form.ONCE else RATIOS[:3]:
            for spread in SPREADS:
                yield _scale_noise(setting, form, ratio, spread)


def _scale_noise(setting: GateSetting, form: Form, ratio: Fraction, spread: Fraction) -> GatePlan:
    """Return the plan of a form and two ratios with the least noise the budget allows."""

    def fits(step: Fraction) -> bool:
        loss = _make(setting, form, ratio, spread, setting.shift / step).loss
        if setting.delta == 0:
            return loss.pure is not None and loss.pure <= setting.epsilon
        return loss.delta(setting.epsilon) <= setting.delta

    start = setting.epsilon / (8 * setting.updates + 8)
    while not fits(start):
        start /= 4
        if start < setting.epsilon * _LEAST:  # what was spent before has left next to nothing
            raise BudgetTooSmall(name="start", rule="cheaper than the whole budget", got="nearly all of it")
    return _make(setting, form, ratio, spread, setting.shift / find_largest(fits, start))


def _make(setting: GateSetting, form: Form, ratio: Fraction, spread: Fraction, scale: Fraction) -> GatePlan:
    tests = shorten_up(scale, 12)
    each, c, two = setting.shift / tests, setting.updates, setting.sides == 2
    hidden = ratio * each
    alarm = each if two else 2 * each
    measured = c + setting.extra
    if form is Form.ONCE:
        most = hidden + c * alarm
        loss = SparseLoss(low=most, high=most, count=1)
    elif two:  # two thresholds to begin with, and one more after each alarm but the last
        loss = TwoSidedLoss(low=each, high=hidden + each, count=c + 1)
    else:
        loss = SparseLoss(low=hidden + alarm, high=hidden + alarm, count=c)
    values, loss = _add_values(setting, loss, spread * tests, measured)
    return GatePlan(
        form=form,
        thresholds=OneSidedGeometric(tests / ratio),
        tests=OneSidedGeometric(tests),
        values=values,
        bar=_bar(setting, ratio, tests) if setting.bar is None else setting.bar,
        draws=setting.sides if form is Form.ONCE else c + setting.sides - 1,
        measured=measured,
        loss=loss,
    )


def _add_values(
    setting: GateSetting, loss: SparseLoss, spread: Fraction, count: int
) -> tuple[Noise, SparseLoss]:
    """Add measured values, and what was spent before, to the loss of the tests."""
    shift = setting.shift
    fields = {"low": loss.low, "high": loss.high, "count": loss.count}
    if setting.delta == 0:
        scale = shorten_up(spread, 12)
        return DiscreteLaplace(scale), type(loss)(**fields, value=shift / scale, values=count)  # type: ignore[arg-type]
    variance = shorten_up(max(spread * spread, Fraction(1)), 12)
    square = count * shift**2 / variance
    total = square + setting.square
    wide = square * (1 - 1 / (4 * variance)) ** -2 + setting.spread
    mu = Fraction(above(math.sqrt(total)))
    return DiscreteGaussian(variance), type(loss)(**fields, mu=mu, slack=max(Fraction(1), wide / total))  # type: ignore[arg-type]


def _bar(setting: GateSetting, ratio: Fraction, tests: Fraction) -> int:
    """Return the threshold at which near misses waste no more than the allowed part of the updates.

    A question missed by less than NEAR of the threshold T raises an alarm on one of the sides with
    probability at most sides exp(-(1 - NEAR) T / scale), times the mean of exp(-hidden / scale), which is
    ratio / (1 + ratio).
    """
    alarms = setting.sides * setting.queries * ratio / (1 + ratio)
    odds = max(Fraction(1), alarms / (WASTED * setting.updates))
    return max(1, math.ceil(float(tests / (1 - NEAR)) * math.log(odds)))
