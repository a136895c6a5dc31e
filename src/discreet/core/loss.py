"""Losses: what a mechanism costs.

A Loss in a stored ledger must mean the same for ever. So: no Loss class is removed; a changed analysis
gets a new class; a view that cannot be derived is infinity, never a guess.

Accountants read views, never class names:

``epsilon(delta)``  the smallest epsilon at a delta;  ``delta(epsilon)``  the reverse
``renyi(order)``    a bound on the Rényi divergence, failure mass apart
``zcdp()``          rho with renyi(order) <= rho * order for every order, failure mass apart
``failure``         probability that nothing is promised, on top of the Rényi views

Every view is rounded towards more loss.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction

from discreet.core import checks, normal
from discreet.core.errors import InvalidParameter
from discreet.core.rounding import above, up

ORDERS: tuple[float, ...] = tuple(
    [1 + 2.0**k for k in range(-14, -3)]
    + [1.1 + 0.1 * k for k in range(100)]
    + [float(round(11.5 * 1.15**k)) for k in range(80)]
)
"""The Rényi orders that are tried where there is no closed form. Any order gives a sound bound."""

_SLACK = 1e-13  # relative: far above the rounding errors of the few operations it covers


class Loss(ABC):
    """A description of privacy loss with several views."""

    @abstractmethod
    def delta(self, epsilon: checks.Number) -> float:
        """Return the smallest known delta at this epsilon, rounded up."""

    def epsilon(self, delta: checks.Number) -> float:
        """Return the smallest known epsilon at this delta, rounded up; infinity where there is none."""
        return _smallest_epsilon(self, float(checks.delta(delta=delta)))

    def renyi(self, order: checks.Number) -> float:
        """Return a bound on the Rényi divergence of an order > 1, without the failure mass."""
        if not float(order) > 1:
            raise InvalidParameter(name="order", rule="> 1", value=order)
        rho = self.zcdp()
        return math.inf if math.isinf(rho) else above(float(order) * rho)

    def zcdp(self) -> float:
        """Return rho such that the loss is rho-zCDP, without the failure mass."""
        return math.inf

    @property
    def failure(self) -> float:
        """The probability mass for which the Rényi views promise nothing."""
        return 0.0


@dataclass(frozen=True, slots=True)
class PureLoss(Loss):
    """(value, 0)-differential privacy and nothing more: randomized response at that epsilon."""

    value: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.non_negative(epsilon=self.value))

    def delta(self, epsilon: checks.Number) -> float:
        """Return the exact curve (e^value - e^epsilon) / (1 + e^value)."""
        gap = self.value - checks.non_negative(epsilon=epsilon)
        if gap <= 0:
            return 0.0
        # Written with negative exponents, so that no epsilon overflows.
        bound = -math.expm1(-float(gap)) / (1 + math.exp(-float(self.value)))
        return min(1.0, bound * (1 + _SLACK))

    def epsilon(self, delta: checks.Number) -> float:
        """Return log(e^value - delta (1 + e^value)), the inverse of the curve."""
        d = float(checks.delta(delta=delta))
        value = up(self.value)
        remaining = 1 - d * (1 + math.exp(-value))
        if d == 0 or remaining >= 1:
            return value
        if remaining <= math.exp(-value):
            return 0.0
        return min(value, max(0.0, (value + math.log(remaining)) * (1 + _SLACK) + _SLACK))

    def renyi(self, order: checks.Number) -> float:
        """Return the Rényi divergence of randomized response, the largest for this epsilon."""
        a, e = float(order), up(self.value)
        if not a > 1:
            raise InvalidParameter(name="order", rule="> 1", value=order)
        if e == 0:
            return 0.0
        # log( (e^{ae} e^{-...} ) ) for probabilities p = 1/(1+e^-e), q = 1-p, in logarithms.
        log_p, log_q = -math.log1p(math.exp(-e)), -e - math.log1p(math.exp(-e))
        first = a * log_p + (1 - a) * log_q
        second = a * log_q + (1 - a) * log_p
        divergence = (first + math.log1p(math.exp(second - first))) / (a - 1)
        rounding = 1e-14 * (1 + a * e) / (a - 1)
        return max(0.0, min(e, self.zcdp() * a, divergence * (1 + _SLACK) + rounding))

    def zcdp(self) -> float:
        """Return value * tanh(value / 2), attained by randomized response."""
        e = up(self.value)
        return above(e * math.tanh(e / 2))

    def __str__(self) -> str:
        return f"epsilon {_short(self.value)}"


@dataclass(frozen=True, slots=True)
class ApproxLoss(Loss):
    """(value, failure)-differential privacy and nothing more."""

    value: Fraction
    mass: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.non_negative(epsilon=self.value))
        object.__setattr__(self, "mass", checks.delta(delta=self.mass))

    def delta(self, epsilon: checks.Number) -> float:
        """Return the curve of the worst such mechanism: reveal with probability mass, else respond."""
        rest = PureLoss(self.value).delta(epsilon)
        return min(1.0, above(up(self.mass) + (1 - float(self.mass)) * rest)) if rest else up(self.mass)

    def epsilon(self, delta: checks.Number) -> float:
        """Return the inverse of the curve; infinity below the mass."""
        d = checks.delta(delta=delta)
        if d < self.mass:
            return math.inf
        return PureLoss(self.value).epsilon((d - self.mass) / (1 - self.mass))

    def renyi(self, order: checks.Number) -> float:
        """Return the Rényi view of the part that does not fail."""
        return PureLoss(self.value).renyi(order)

    def zcdp(self) -> float:
        """Return the zCDP view of the part that does not fail."""
        return PureLoss(self.value).zcdp()

    @property
    def failure(self) -> float:
        """The delta."""
        return up(self.mass)

    def __str__(self) -> str:
        return f"epsilon {_short(self.value)}, delta {_short(self.mass)}"


@dataclass(frozen=True, slots=True)
class ZCDPLoss(Loss):
    """rho-zero-concentrated differential privacy and nothing more."""

    rho: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", checks.non_negative(rho=self.rho))

    def delta(self, epsilon: checks.Number) -> float:
        """Convert by the best order [CKS20, Proposition 12]."""
        return zcdp_delta(up(self.rho), float(checks.non_negative(epsilon=epsilon)))

    def zcdp(self) -> float:
        """Return rho."""
        return up(self.rho)

    def __str__(self) -> str:
        return f"rho {_short(self.rho)} (zCDP)"


@dataclass(frozen=True, slots=True)
class RenyiLoss(Loss):
    """Rényi differential privacy known at a few orders only."""

    points: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        for order, value in self.points:
            if not (order > 1 and value >= 0):
                raise InvalidParameter(name="points", rule="(order > 1, value >= 0)", value=(order, value))
        object.__setattr__(self, "points", tuple(sorted(self.points)))

    def delta(self, epsilon: checks.Number) -> float:
        """Convert by the best of the known orders."""
        e = float(checks.non_negative(epsilon=epsilon))
        return min((renyi_delta(order, value, e) for order, value in self.points), default=1.0)

    def renyi(self, order: checks.Number) -> float:
        """Return the value at the next known order: the divergence grows with the order."""
        return min((value for known, value in self.points if known >= float(order)), default=math.inf)

    def __str__(self) -> str:
        return f"Rényi loss at {len(self.points)} orders"


@dataclass(frozen=True, slots=True)
class BoundedRangeLoss(Loss):
    """A log-likelihood ratio whose range, largest minus smallest, is at most `range_`: exponential mechanism."""

    range_: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "range_", checks.non_negative(range_=self.range_))

    def delta(self, epsilon: checks.Number) -> float:
        """Return the largest delta over two-point pairs with losses t and t - range.

        The maximum over t of p_t (1 - e^{epsilon - t}), p_t = (1 - e^{t - range}) / (1 - e^{-range}),
        lies at t = (range + epsilon) / 2.
        """
        r, e = up(self.range_), float(checks.non_negative(epsilon=epsilon))
        if e >= r:
            return 0.0
        half = -math.expm1((e - r) / 2)
        return min(1.0, half * half / -math.expm1(-r) * (1 + _SLACK))

    def zcdp(self) -> float:
        """Return z - 1 - log z with z = r / (1 - e^-r), below r^2 / 8."""
        r = up(self.range_)
        if r < 1e-2:
            return above(r * r / 8)  # the closed form cancels here
        z = r / -math.expm1(-r)
        return min(above(r * r / 8), z - 1 - math.log(z) + 4e-16 * z)

    def __str__(self) -> str:
        return f"epsilon {_short(self.range_)} (bounded range)"


@dataclass(frozen=True, slots=True)
class LaplaceLoss(Loss):
    """Continuous Laplace noise with sensitivity / scale = `value`. Noise on a grid has its own class."""

    value: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "value", checks.non_negative(epsilon=self.value))

    def delta(self, epsilon: checks.Number) -> float:
        """Return the exact curve 1 - e^{(epsilon - value) / 2}."""
        gap = self.value - checks.non_negative(epsilon=epsilon)
        return 0.0 if gap <= 0 else -math.expm1(-float(gap) / 2) * (1 + _SLACK)

    def renyi(self, order: checks.Number) -> float:
        """Return the exact Rényi divergence of two Laplace distributions."""
        a, e = float(order), up(self.value)
        if not a > 1:
            raise InvalidParameter(name="order", rule="> 1", value=order)
        first = (a - 1) * e + math.log(a / (2 * a - 1))
        second = -a * e + math.log((a - 1) / (2 * a - 1))
        divergence = (first + math.log1p(math.exp(second - first))) / (a - 1)
        rounding = 1e-14 * (1 + a * e) / (a - 1)
        return max(0.0, min(e, self.zcdp() * a, divergence * (1 + _SLACK) + rounding))

    def zcdp(self) -> float:
        """Return value + e^-value - 1, tight for continuous noise only."""
        e = up(self.value)
        if e < 1e-2:
            return above(e * e / 2)
        return min(above(e * e / 2), e + math.expm1(-e) + 4e-16 * (1 + e))

    def __str__(self) -> str:
        return f"epsilon {_short(self.value)}"


@dataclass(frozen=True, slots=True)
class DiscreteLaplaceLoss(Loss):
    """Discrete Laplace noise of a scale on integers that neighbours move by at most `shift` in total.

    With shift 1 it is exactly randomized response, so the continuous curve would be a false promise.
    """

    shift: int
    scale: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "shift", checks.integer(0, shift=self.shift))
        object.__setattr__(self, "scale", checks.positive(scale=self.scale))

    @property
    def value(self) -> Fraction:
        """The pure epsilon."""
        return self.shift / self.scale

    def delta(self, epsilon: checks.Number) -> float:
        """Sum the exact curve over the few values the loss takes."""
        e = checks.non_negative(epsilon=epsilon)
        if e >= self.value:
            return 0.0
        # The loss at output x is (|x - shift| - |x|) / scale: `value` up to 0, falling by 2 / scale
        # a step until -value. With m the last x whose loss is above e, the sum telescopes to
        # P[X <= m] - e^e P[X <= m - shift].
        steps = (self.shift - e * self.scale) / 2
        m = math.ceil(steps) - 1
        q = float(1 / self.scale)
        lower = self._cdf(m, q)
        return min(
            1.0, max(0.0, lower - math.exp(float(e) + self._log_cdf_negative(m - self.shift, q))) + 1e-15
        )

    @staticmethod
    def _cdf(m: int, q: float) -> float:
        tail = math.exp(-q * (abs(m) if m < 0 else m + 1)) / (1 + math.exp(-q))
        return tail if m < 0 else 1 - tail

    @staticmethod
    def _log_cdf_negative(m: int, q: float) -> float:
        return q * m - math.log1p(math.exp(-q))

    def epsilon(self, delta: checks.Number) -> float:
        """Return the pure epsilon at delta 0, else invert the curve."""
        d = checks.delta(delta=delta)
        return up(self.value) if d == 0 else min(up(self.value), _smallest_epsilon(self, float(d)))

    def renyi(self, order: checks.Number) -> float:
        """Return the pure view: exact for shift 1, sound for every shift."""
        return PureLoss(self.value).renyi(order)

    def zcdp(self) -> float:
        """Return the pure view: exact for shift 1, sound for every shift."""
        return PureLoss(self.value).zcdp()

    def __str__(self) -> str:
        return f"epsilon {_short(self.value)}"


@dataclass(frozen=True, slots=True)
class GaussianLoss(Loss):
    """Gaussian noise: mu = L2 sensitivity / standard deviation.

    `slack` is 1 for continuous noise. Noise on the integers of standard deviation s (in grid units) is
    covered in every dimension by slack = (1 - 1 / (4 s^2))^-2: the discrete Gaussian is below the
    rounded one in convex order, the rounded one below a Gaussian widened by that factor, and
    delta(epsilon) is the mean of a convex function of the noise (docs/algorithms/gaussian.md).
    """

    mu: Fraction
    slack: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", checks.non_negative(mu=self.mu))
        object.__setattr__(self, "slack", checks.at_least(1, slack=self.slack))

    def delta(self, epsilon: checks.Number) -> float:
        """Return the exact curve for slack 1, an upper bound otherwise, and never above zCDP's."""
        e, mu, r = float(checks.non_negative(epsilon=epsilon)), up(self.mu), up(self.slack)
        if mu == 0:
            return 0.0
        m2, spread = mu * mu, math.sqrt(r) * mu
        first = (r - 1) * m2 / 2 + normal.log_cdf((r * m2 - m2 / 2 - e) / spread)
        second = e + normal.log_cdf((-m2 / 2 - e) / spread)
        difference = math.exp(first) * -math.expm1(min(0.0, second - first))
        rounding = math.exp(first) * 1e-13 * (1 + abs(first))
        return min(1.0, difference + rounding, zcdp_delta(self.zcdp(), e))

    def zcdp(self) -> float:
        """Return mu^2 / 2, for continuous and discrete noise alike."""
        return up(self.mu * self.mu / 2)

    def __str__(self) -> str:
        return f"Gaussian loss mu {_short(self.mu)}"


def zcdp_delta(rho: float, epsilon: float) -> float:
    """Convert rho-zCDP to a delta at an epsilon, with the best order [CKS20, Proposition 12]."""
    if rho <= 0:
        return 0.0
    if math.isinf(rho):
        return 1.0

    def log_delta(order: float) -> float:
        return _log_renyi_delta(order, order * rho, epsilon)

    # The bound is unimodal in the order; golden sections on log(order - 1). Any order is sound.
    low, high = math.log(1e-6), math.log(max(10.0, 2 * (epsilon / rho + 1), 100 / rho))
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(80):
        a, b = high - ratio * (high - low), low + ratio * (high - low)
        if log_delta(1 + math.exp(a)) < log_delta(1 + math.exp(b)):
            high = b
        else:
            low = a
    best = log_delta(1 + math.exp((low + high) / 2))
    return 1.0 if best >= 0 else math.exp(best) * (1 + 1e-12 * (1 + abs(best)))


def renyi_delta(order: float, divergence: float, epsilon: float) -> float:
    """Convert a Rényi divergence at one order to a delta at an epsilon."""
    best = _log_renyi_delta(order, divergence, epsilon)
    return 1.0 if best >= 0 else math.exp(best) * (1 + 1e-12 * (1 + abs(best)))


def _log_renyi_delta(order: float, divergence: float, epsilon: float) -> float:
    return (order - 1) * (divergence - epsilon + math.log1p(-1 / order)) - math.log(order)


def _smallest_epsilon(loss: Loss, delta: float) -> float:
    """Invert delta(epsilon), which never increases, and round up."""
    if loss.delta(0) <= delta:
        return 0.0
    high = 1.0
    while loss.delta(high) > delta:
        high *= 2
        if high > 1e9:
            return math.inf
    low = 0.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if loss.delta(middle) <= delta:
            high = middle
        else:
            low = middle
    return above(high)


def _short(value: Fraction) -> str:
    return f"{float(value):.6g}"
