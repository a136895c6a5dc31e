"""The base class of every loss, and the conversions between its views."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.losses.pld import LossDistribution
from discreet.core.rounding import above, down, up
from discreet.core.search import minimise

ORDERS: tuple[float, ...] = tuple(
    [1 + 2.0**k for k in range(-14, -3)]
    + [1.1 + 0.1 * k for k in range(100)]
    + [float(round(11.5 * 1.15**k)) for k in range(80)]
)
"""The Rényi orders that are tried where there is no closed form. Any order gives a sound bound."""

SLACK = 1e-13  # relative: far above the rounding errors of the few operations it covers
SMALLEST = math.nextafter(0.0, 1.0)

Pair = tuple[LossDistribution, LossDistribution]
"""A loss distribution for each order of the two neighbours; one object twice where they agree.

The first is for the data set with the unit against the one without, where that makes a difference.
"""


class Loss(ABC):
    """A description of privacy loss with several views."""

    @abstractmethod
    def delta(self, epsilon: checks.Number) -> float:
        """Return the smallest known delta at this epsilon, rounded up."""

    def epsilon(self, delta: checks.Number) -> float:
        """Return the smallest known epsilon at this delta, rounded up; infinity where there is none."""
        return smallest_epsilon(self.delta, down(checks.delta(delta=delta)))

    def implies(self, *, epsilon: checks.Number, delta: checks.Number) -> bool:
        """Tell whether this loss is at most (epsilon, delta). What is known exactly is compared exactly."""
        e, d = checks.non_negative(epsilon=epsilon), checks.delta(delta=delta)
        known = self.exact_epsilon()
        if known is not None and known <= e and self.exact_failure() <= d:
            return True
        return self.delta(e) <= d or self.epsilon(d) <= e

    def renyi(self, order: checks.Number) -> float:
        """Return a bound on the Rényi divergence of an order > 1, without the failure mass."""
        a = check_order(order)
        rho = self.zcdp()
        return math.inf if math.isinf(rho) else above(a * rho)

    def zcdp(self) -> float:
        """Return rho such that the loss is rho-zCDP, without the failure mass."""
        return math.inf

    def gaussian(self) -> tuple[Fraction, Fraction] | None:
        """Return (mu^2, slack * mu^2) where Gaussian noise covers the loss: both add up; None otherwise."""
        return None

    def pld(self, step: Fraction) -> Pair | None:
        """Return upper bounds on the loss distributions on a grid; None where they cannot be derived."""
        del step
        return None

    def exact_epsilon(self) -> Fraction | None:
        """Return the epsilon at the failure mass, for sums that must not drift; None where there is none.

        The exact views hold together: but for one event of the failure mass, on either neighbour, the rest
        has both this epsilon and that rho. A curve alone does not say so where there is a mass: None then.
        """
        value = math.inf if self.exact_failure() else self.epsilon(0)
        return None if math.isinf(value) else Fraction(value)

    def exact_rho(self) -> Fraction | None:
        """Return the zCDP view for sums that must not drift; None where there is none."""
        rho = self.zcdp()
        return None if math.isinf(rho) else Fraction(rho)

    def exact_failure(self) -> Fraction:
        """Return the failure mass for sums that must not drift."""
        return Fraction(self.failure)

    @property
    def failure(self) -> float:
        """The probability mass for which the Rényi views promise nothing."""
        return 0.0

    @property
    def unit(self) -> Fraction:
        """A step of which every loss that has positive probability is a multiple; 0 if there is none."""
        return Fraction(0)


class FailingExactly(Loss):
    """A loss whose `exact_failure` says what its failure mass is."""

    @property
    def failure(self) -> float:
        """The failure mass, rounded up."""
        return up(self.exact_failure())


def check_order(order: checks.Number) -> float:
    """Return a Rényi order, which must be > 1."""
    a = float(checks.exact(order=order))
    if not (a > 1 and math.isfinite(a)):
        raise InvalidParameter(name="order", rule="finite and > 1", value=order)
    return a


@lru_cache(maxsize=1 << 12)
def zcdp_delta(rho: float, epsilon: float) -> float:
    """Convert rho-zCDP to a delta at an epsilon, with the best order [CKS20, Proposition 12]."""
    if rho <= 0:
        return 0.0
    if math.isinf(rho):
        return 1.0
    rho = max(rho, 1e-280)  # below, the search for an order overflows; more rho is a sound bound

    def log_delta(log_excess: float) -> float:
        order = 1 + math.exp(log_excess)
        return _log_renyi_delta(order, order * rho, epsilon)

    # The bound is unimodal in the order. Any order is sound.
    high = math.log(max(10.0, 2 * (epsilon / rho + 1), 100 / rho))
    return _exp_up(log_delta(minimise(log_delta, math.log(1e-6), high, steps=80)))


def renyi_delta(order: float, divergence: float, epsilon: float) -> float:
    """Convert a Rényi divergence at one order to a delta at an epsilon."""
    return 0.0 if divergence <= 0 else _exp_up(_log_renyi_delta(order, divergence, epsilon))


def _exp_up(log_delta: float) -> float:
    # Never 0: a delta that underflows is not a promise of delta 0.
    if log_delta >= 0:
        return 1.0
    return min(1.0, max(SMALLEST, math.exp(log_delta) * (1 + 1e-12 * (1 + abs(log_delta)))))


def _log_renyi_delta(order: float, divergence: float, epsilon: float) -> float:
    if math.isinf(divergence):
        return math.inf
    return (order - 1) * (divergence - epsilon + math.log1p(-1 / order)) - math.log(order)


def smallest_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """Invert a curve delta(epsilon), which never increases, and round up."""
    if curve(0.0) <= delta:
        return 0.0
    high = 1.0
    while curve(high) > delta:
        high *= 2
        if high > 1e9:
            return math.inf
    low = 0.0
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if curve(middle) <= delta:
            high = middle
        else:
            low = middle
    return above(high)


def short(value: Fraction) -> str:
    """Print a parameter with six digits."""
    return f"{float(value):.6g}"
