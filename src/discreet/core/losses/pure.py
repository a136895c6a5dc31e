"""Losses known by a worst case only: pure, approximate, bounded range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from discreet.core import checks
from discreet.core.losses.base import SLACK, FailingExactly, Loss, Pair, check_order, short
from discreet.core.losses.pld import from_points
from discreet.core.parameters import checked, public
from discreet.core.rounding import above, down, up


class RespondingLoss(Loss):
    """A loss that is, but for a failure mass, at most one epsilon, its `value`.

    So randomized response at that epsilon, the worst there is, covers it: these are its views.
    """

    if TYPE_CHECKING:

        @property
        def value(self) -> Fraction:
            """The epsilon."""

    def renyi(self, order: checks.Number) -> float:
        """Return the Rényi divergence of randomized response, the largest for this epsilon."""
        a, e = check_order(order), up(self.value)
        if e == 0:
            return 0.0
        # With p = 1 / (1 + e^-e): log of p^a (1-p)^(1-a) and of (1-p)^a p^(1-a), free of cancellation.
        log_p = -math.log1p(math.exp(-e))
        first, second = (a - 1) * e + log_p, log_p - a * e
        divergence = (first + math.log1p(math.exp(second - first))) / (a - 1)
        rounding = 1e-14 * (1 + a * e) / (a - 1)
        return max(0.0, min(e, above(self.zcdp() * a), divergence * (1 + SLACK) + rounding))

    def zcdp(self) -> float:
        """Return value * tanh(value / 2), attained by randomized response."""
        e = up(self.value)
        return above(e * math.tanh(e / 2), 6)

    def exact_epsilon(self) -> Fraction:
        """Return the value."""
        return self.value

    @property
    def unit(self) -> Fraction:
        """The value."""
        return self.value

    def __str__(self) -> str:
        return f"epsilon {short(self.value)}"


@dataclass(frozen=True, slots=True)
class EpsilonLoss(RespondingLoss):
    """A loss that is given by its epsilon."""

    value: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.non_negative(epsilon=self.value))


@dataclass(frozen=True, slots=True)
class PureLoss(EpsilonLoss):
    """(value, 0)-differential privacy and nothing more: randomized response at that epsilon."""

    def delta(self, epsilon: checks.Number) -> float:
        """Return the exact curve (e^value - e^epsilon) / (1 + e^value)."""
        gap = self.value - checks.non_negative(epsilon=epsilon)
        if gap <= 0:
            return 0.0
        # Written with negative exponents, so that no epsilon overflows.
        bound = -math.expm1(-up(gap)) / (1 + math.exp(-up(self.value)))
        return min(1.0, above(bound * (1 + SLACK)))

    def epsilon(self, delta: checks.Number) -> float:
        """Return log(e^value - delta (1 + e^value)), the inverse of the curve."""
        d = checks.delta(delta=delta)
        value = up(self.value)
        if self.delta(0) <= d:
            return 0.0
        # e^epsilon / e^value = (1 - d) - d e^-value; both terms to within a few units.
        kept, lost = float(1 - d), down(d) * math.exp(-value)
        error = 1e-15 * (kept + lost)
        if kept - lost <= 1e4 * error:
            return Loss.epsilon(self, d)  # the difference cancels: search instead
        # When d is tiny, log1p sees what 1 - d cannot.
        change = -down(d) * (1 + math.exp(-value))
        logarithm = (
            math.log1p(change) if d < Fraction(1, 2) else math.log(kept - lost) + error / (kept - lost)
        )
        return min(value, max(0.0, above(value + logarithm + SLACK * abs(logarithm))))

    def pld(self, step: Fraction) -> Pair:
        """Return the two losses of randomized response."""
        return _two_point(self.value, 1.0, 0.0, step)


@dataclass(frozen=True, slots=True)
class ApproxLoss(EpsilonLoss, FailingExactly):
    """(value, failure)-differential privacy and nothing more."""

    mass: Fraction

    def __post_init__(self) -> None:
        EpsilonLoss.__post_init__(self)
        object.__setattr__(self, "mass", checks.delta(delta=self.mass))

    def delta(self, epsilon: checks.Number) -> float:
        """Return the curve of the worst such mechanism: reveal with probability mass, else respond."""
        rest = PureLoss(self.value).delta(epsilon)
        return min(1.0, above(up(self.mass) + up(1 - self.mass) * rest)) if rest else up(self.mass)

    def epsilon(self, delta: checks.Number) -> float:
        """Return the inverse of the curve; infinity below the mass."""
        d = checks.delta(delta=delta)
        if d < self.mass:
            return math.inf
        return PureLoss(self.value).epsilon((d - self.mass) / (1 - self.mass))

    def pld(self, step: Fraction) -> Pair:
        """Return the two losses of randomized response and the mass at infinity."""
        return _two_point(self.value, up(1 - self.mass), up(self.mass), step)

    def exact_failure(self) -> Fraction:
        """Return the mass."""
        return self.mass

    def __str__(self) -> str:
        return f"epsilon {short(self.value)}, delta {short(self.mass)}"


@checked
class BoundedRangeLoss(Loss):
    """A log-likelihood ratio whose values span at most `range_`: the exponential mechanism."""

    range_: Fraction = public(checks.non_negative)

    def delta(self, epsilon: checks.Number) -> float:
        """Return the largest delta over two-point pairs with losses t and t - range.

        The maximum over t of p_t (1 - e^{epsilon - t}), p_t = (1 - e^{t - range}) / (1 - e^{-range}),
        lies at t = (range + epsilon) / 2.
        """
        gap = self.range_ - checks.non_negative(epsilon=epsilon)
        if gap <= 0:
            return 0.0
        half = -math.expm1(-up(gap) / 2)
        return min(1.0, above(half * half / -math.expm1(-down(self.range_)) * (1 + SLACK)))

    def epsilon(self, delta: checks.Number) -> float:
        """Return range + 2 log(1 - sqrt(delta (1 - e^-range))), the inverse of the curve."""
        d = checks.delta(delta=delta)
        r = up(self.range_)
        if self.delta(0) <= d:
            return 0.0
        logarithm = 2 * math.log1p(-math.sqrt(down(d) * -math.expm1(-r)) * (1 - SLACK))
        return min(r, max(0.0, above(r + logarithm + SLACK * abs(logarithm))))

    def zcdp(self) -> float:
        """Return z - 1 - log z with z = r / (1 - e^-r), below r^2 / 8."""
        r = up(self.range_)
        if r < 1e-2:
            return above(r * r / 8, 4)  # the closed form cancels here
        z = r / -math.expm1(-r)
        return min(above(r * r / 8, 4), z - 1 - math.log(z) + 2e-15 * (1 + z))

    def pld(self, step: Fraction) -> Pair:
        """Return the pure view: a bounded range says less about where the losses lie."""
        return PureLoss(self.range_).pld(step)

    def exact_epsilon(self) -> Fraction:
        """Return the range."""
        return self.range_

    @property
    def unit(self) -> Fraction:
        """The range."""
        return self.range_

    def __str__(self) -> str:
        return f"epsilon {short(self.range_)} (bounded range)"


def _two_point(value: Fraction, total: float, infinity: float, step: Fraction) -> Pair:
    e = float(value)
    high = above(total / (1 + math.exp(-e)), 6)
    low = above(total * math.exp(-e) / (1 + math.exp(-e)) * (1 + 4e-16 * (2 + e)), 6)
    # A loss of probability below e^-100 is lifted: two far apart losses would need an endless grid.
    points = [(value, high + low)] if e > 100 else [(value, high), (-value, low)]
    one = from_points(step, points, infinity)
    return one, one
