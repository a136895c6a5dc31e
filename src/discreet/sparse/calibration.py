"""From a budget to noise: which scales, when the threshold is drawn, and what it really costs.

Everything here is computed from public parameters. With neighbours that move every query by at most
`shift` units, one AboveThreshold with threshold noise of scale b1 and query noise of scale b2 loses at
most shift (1 / b1 + 2 / b2), and shift (1 / b1 + 1 / b2) where all queries move the same way. Drawing the
threshold once for c positive answers multiplies the second term by c and the first by one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.core.errors import InternalError, InvalidParameter
from discreet.core.loss import GaussianLoss, Loss, ZCDPLoss
from discreet.core.rounding import above, shorten_down, shorten_up
from discreet.noise import DiscreteGaussian, DiscreteLaplace, OneSidedGeometric
from discreet.sparse.accuracy import comparison_failure, find_error
from discreet.sparse.loss import SparseLoss
from discreet.sparse.plan import Form, NoiseKind, Rule, SparsePlan, SparseSetting

PLANNED_BETA = 0.05
"""Plans compete by the error they miss with this probability."""

_ROOM = 1 - Fraction(1, 10**9)  # so that rounding a curve up does not overrun the budget


@lru_cache(maxsize=1024)
def make_plan(setting: SparseSetting) -> SparsePlan:
    """Return the plan with the smallest error over the planned number of questions that a rule allows."""
    if setting.noise is NoiseKind.GAUSSIAN:
        plans = [_gaussian(setting)]
    elif setting.rule is Rule.BOOK:
        plans = [_linear(setting, Form.REDRAWN, _book_epsilon(setting), Fraction(1))]
    else:
        forms = list(Form) if setting.form is None and setting.positives > 1 else [setting.form or Form.ONCE]
        plans = [_best_scale(setting, form, ratio) for form in forms for ratio in _ratios(setting, form)]
    plan = plans[0] if len(plans) == 1 else min(plans, key=lambda each: _planned_error(each, setting))
    require(plan.loss, setting.epsilon, setting.delta)
    return plan


def _planned_error(plan: SparsePlan, setting: SparseSetting) -> int:
    asked = {"queries": setting.queries, "positives": setting.positives}
    return find_error(lambda alpha: comparison_failure(plan, alpha, **asked), PLANNED_BETA)


def require(loss: Loss, epsilon: Fraction, delta: Fraction) -> None:
    """Raise unless a loss keeps within a budget: the last look before anything is promised."""
    if not (loss.delta(epsilon) <= delta or loss.epsilon(delta) <= epsilon):
        raise InternalError(f"the planned noise costs more than epsilon {epsilon}, delta {delta}")


def find_largest(fits: Callable[[Fraction], bool], start: Fraction) -> Fraction:
    """Return nearly the largest number that fits, from one that does."""
    low = start
    while fits(2 * low):
        low *= 2
    high = 2 * low
    while high - low > low / 10**5:
        middle = shorten_down((low + high) / 2, 8)
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def _ratios(setting: SparseSetting, form: Form) -> list[Fraction]:
    """Return the splits, query budget over threshold budget, that are worth trying.

    The sum of both variances is least at the power 2/3 of the number of shifts the query noise covers.
    Many questions meet many query noises but few thresholds, and then more on the queries is better.
    """
    covered = setting.factor * (setting.positives if form is Form.ONCE else 1)
    return [shorten_up(Fraction((weight * covered) ** (2 / 3)), 9) for weight in (1, 2, 4)]


def _best_scale(setting: SparseSetting, form: Form, ratio: Fraction) -> SparsePlan:
    """Return the plan with the largest loss a step that keeps within the budget."""
    steps = 1 if form is Form.ONCE else setting.positives
    pure = setting.epsilon / steps
    if setting.delta == 0:
        return _linear(setting, form, pure, ratio)

    def fits(step: Fraction) -> bool:
        return _linear(setting, form, step, ratio).loss.delta(setting.epsilon) <= setting.delta

    return _linear(setting, form, find_largest(fits, pure), ratio)


def _linear(setting: SparseSetting, form: Form, step: Fraction, ratio: Fraction) -> SparsePlan:
    """Return Laplace or exponential noise whose every threshold costs at most `step`."""
    shift, once = setting.shift, form is Form.ONCE
    answers = setting.positives if once else 1
    b1 = shorten_up(shift * (1 + ratio) / step, 12)
    # The book's scales do not know monotone queries: they cover two shifts always.
    covered = answers * (2 if setting.rule is Rule.BOOK else setting.factor)
    b2 = shorten_up(covered * shift * (1 + ratio) / (step * ratio), 12)
    one_way = answers * shift / b2
    high = shift / b1 + setting.factor * one_way
    loss = SparseLoss(
        low=one_way if setting.monotone else high, high=high, count=1 if once else setting.positives
    )
    if setting.noise is NoiseKind.LAPLACE:
        return SparsePlan(form, DiscreteLaplace(b1), DiscreteLaplace(b2), 0, loss)
    return SparsePlan(form, OneSidedGeometric(b1), OneSidedGeometric(b2), round(b2 - b1), loss)


def _book_epsilon(setting: SparseSetting) -> Fraction:
    """Return the epsilon of each AboveThreshold inside [DR14] Algorithm 2."""
    if setting.delta == 0:
        return setting.epsilon / setting.positives
    root = above(math.sqrt(8 * setting.positives * above(-math.log(setting.delta))))
    return setting.epsilon / Fraction(root)


def _gaussian(setting: SparseSetting) -> SparsePlan:
    """Return Gaussian noise for `positives` AboveThresholds, each (epsilon', delta')-private."""
    if setting.delta == 0 or setting.form is Form.ONCE or setting.rule is Rule.BOOK:
        raise InvalidParameter(
            name="noise",
            rule="exponential or Laplace where delta is 0, the threshold drawn once, or the rule the book's",
            value=setting.noise,
        )
    count, target = setting.positives, setting.delta
    mass = shorten_down(target * _ROOM / (1 if count == 1 else 2 * count), 12)

    def compose(step: Fraction) -> SparseLoss:
        return SparseLoss(low=step, high=step, count=count, mass=mass)

    step = setting.epsilon
    if count > 1:
        step = find_largest(
            lambda e: compose(e).delta(setting.epsilon) <= target, setting.epsilon / (4 * count)
        )

    def fits(precision: Fraction) -> bool:
        return _gaussian_mass(setting, *_variances(setting, precision), step) <= mass

    threshold, query = _variances(setting, find_largest(fits, _small_precision(fits, setting)))
    return SparsePlan(Form.REDRAWN, DiscreteGaussian(threshold), DiscreteGaussian(query), 0, compose(step))


def _small_precision(fits: Callable[[Fraction], bool], setting: SparseSetting) -> Fraction:
    precision = Fraction(1)
    while not fits(precision):
        precision /= 4
        if precision < Fraction(1, 1 << 100):
            raise InvalidParameter(name="delta", rule="a number floats can hold", value=setting.delta)
    return precision


def _variances(setting: SparseSetting, precision: Fraction) -> tuple[Fraction, Fraction]:
    """Return the variances of least sum whose precisions, weighted by squared shifts, add up to this."""
    a, square = setting.factor, setting.shift**2
    return shorten_up(square * (1 + a) / precision, 12), shorten_up(square * a * (1 + a) / precision, 12)


def _gaussian_mass(setting: SparseSetting, threshold: Fraction, query: Fraction, epsilon: Fraction) -> float:
    """Return the failure probability of one AboveThreshold at epsilon.

    A positive answer at question i shifts the threshold by one shift and that question's noise by one or
    two; the excess probability is at most the hockey-stick divergence of that shift, once for each i.
    Only negative answers shift the threshold alone.
    """
    square = Fraction(setting.shift**2)
    both = square / threshold + setting.factor**2 * square / query
    each = _shift_delta(both, min(threshold, query), epsilon)
    return above(setting.queries * each + _shift_delta(square / threshold, threshold, epsilon))


def _shift_delta(mu_squared: Fraction, variance: Fraction, epsilon: Fraction) -> float:
    """Return delta for integer Gaussian noise whose squared shift over variance is given."""
    if 4 * variance <= 2:
        return ZCDPLoss(mu_squared / 2).delta(epsilon)
    return GaussianLoss(Fraction(above(math.sqrt(mu_squared))), (1 - 1 / (4 * variance)) ** -2).delta(epsilon)
