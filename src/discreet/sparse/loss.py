"""What a sparse-vector conversation costs, as an exact curve.

One AboveThreshold has a log-likelihood ratio within [-low, high] on every transcript, for neighbours
taken in one order, and within [-high, low] in the other. The worst mechanism with that property gives
one bit: its two losses are `high` and `-low`. Restarts on the same neighbours keep the order, so the
whole conversation is at worst `count` such bits, and their sum is binomial.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from discreet.accounting.optimal import log_factorials
from discreet.core import checks
from discreet.core.loss import BoundedRangeLoss, GaussianLoss, Loss, Pair, PureLoss, gaussian_pld
from discreet.core.losses import normal
from discreet.core.losses.base import FailingExactly
from discreet.core.losses.pld import LossDistribution, from_floats
from discreet.core.rounding import above, down, up

_SLACK = 1e-12  # relative: far above the rounding errors of the sums it covers
_NEGLIGIBLE = 1e-40  # masses below this are not told apart; all of them together count as infinite loss

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SparseLoss(FailingExactly):
    """`count` steps with losses in [-low, high], each failing with probability `mass`, and released values.

    Attributes
    ----------
    low, high
        The range of one step's log-likelihood ratio; `low <= high`. Equal for general queries.
    count
        How often the threshold is drawn: the number of steps.
    mass
        The failure probability of one step (Gaussian noise only).
    value, values
        The pure loss of one released value, and how many there are.
    mu, slack
        The Gaussian loss of all released values together.
    """

    low: Fraction
    high: Fraction
    count: int
    mass: Fraction = Fraction(0)
    value: Fraction = Fraction(0)
    values: int = 0
    mu: Fraction = Fraction(0)
    slack: Fraction = Fraction(1)

    @property
    def pure(self) -> Fraction | None:
        """The pure epsilon, or None where there is none."""
        return None if self.mass or self.mu else self._most

    @property
    def _most(self) -> Fraction:
        """The largest loss of all bits and pure values together."""
        return self.count * self.high + self.values * self.value

    def delta(self, epsilon: checks.Number) -> float:
        """Sum the curve over the losses the bits can add up to, in the worse of the two orders."""
        e = checks.non_negative(epsilon=epsilon)
        orders = {(self.low, self.high), (self.high, self.low)}
        beyond = not self.mu and e >= self._most
        rest = 0.0 if beyond else max(self._curve(fall, rise, down(e)) for fall, rise in orders)
        if rest >= 1:
            return 1.0
        kept = self.count * math.log1p(-up(self.mass)) + math.log1p(-rest)
        return max(0.0, min(1.0, -math.expm1(kept) * (1 + _SLACK)))

    def epsilon(self, delta: checks.Number) -> float:
        """Return the pure epsilon at delta 0, else invert the curve."""
        found = Loss.epsilon(self, delta)
        return found if self.pure is None else min(up(self.pure), found)

    def renyi(self, order: checks.Number) -> float:
        """Add up the divergences of the steps and the values; zCDP where that is smaller."""
        concentrated = Loss.renyi(self, order)
        a = float(order)
        step = max(_divergence(self.low, self.high, a), _divergence(self.high, self.low, a))
        values = self.values * PureLoss(self.value).renyi(a) if self.values else 0.0
        gaussian = GaussianLoss(self.mu).renyi(a) if self.mu else 0.0
        return min(concentrated, above(self.count * min(step, up(self.high)) + values + gaussian))

    def zcdp(self) -> float:
        """Add up the steps, the better of bounded range and pure, and the values."""
        values = self.values * PureLoss(self.value).zcdp() if self.values else 0.0
        step = min(BoundedRangeLoss(self.low + self.high).zcdp(), PureLoss(self.high).zcdp())
        return above(self.count * step + values + GaussianLoss(self.mu).zcdp())

    def exact_epsilon(self) -> Fraction | None:
        """Return the largest loss of all that does not fail; None with Gaussian values."""
        return None if self.mu else self._most

    def exact_failure(self) -> Fraction:
        """Return the sum of the steps' failure masses."""
        return min(Fraction(1), self.count * self.mass)

    def pld(self, step: Fraction) -> Pair:
        """Return the losses of the bits, of the values and the mass at infinity.

        One conversation may rise with a person while another one falls, so a monotone conversation has no
        order of its own to offer to a composition: there each of its steps counts as a pure one.
        """
        either = self._distribution(self.high, self.high, step)
        return either, either

    def _distribution(self, fall: Fraction, rise: Fraction, step: Fraction) -> LossDistribution:
        losses, masses, lost = self._points(fall, rise)
        one = from_floats(step, losses, masses, above(self.failure + lost))
        if not self.mu:
            return one
        square = self.mu * self.mu
        return one.compose(gaussian_pld(square, self.slack * square, step)[0])

    def _points(self, fall: Fraction, rise: Fraction) -> tuple[Floats, Floats, float]:
        """Return the losses that bits and pure values add up to, bounds on their masses, and the rest."""
        losses, masses, lost = _bits(fall, rise, self.count)
        if self.values:
            more, weights, rest = _bits(self.value, self.value, self.values)
            losses = np.add.outer(losses, more).ravel()
            masses = np.multiply.outer(masses, weights).ravel()
            lost += rest
        return losses, masses, lost

    def _curve(self, fall: Fraction, rise: Fraction, epsilon: float) -> float:
        losses, masses, lost = self._points(fall, rise)
        if not self.mu:
            excess = losses > epsilon
            terms = masses[excess] * -np.expm1(epsilon - losses[excess])
        else:
            mu, slack = up(self.mu), up(self.slack)
            terms = masses * np.array(
                [_gaussian_delta(mu, slack, epsilon - loss) for loss in losses.tolist()]
            )
        return min(1.0, (float(terms.sum()) + lost) * (1 + _SLACK))

    def __str__(self) -> str:
        if self.pure is not None and self.count == 1 and self.values <= 1:
            return f"epsilon {float(self.pure):.6g}"
        parts = [f"{self.count} x epsilon {float(self.high):.6g}"]
        if self.mass:
            parts.append(f"delta {self.failure:.6g}")
        if self.values:
            parts.append(f"{self.values} values of epsilon {float(self.value):.6g}")
        if self.mu:
            parts.append(f"values of Gaussian loss mu {float(self.mu):.6g}")
        return ", ".join(parts)


@lru_cache(maxsize=256)
def _bits(fall: Fraction, rise: Fraction, count: int) -> tuple[Floats, Floats, float]:
    """Return the losses j * rise - (count - j) * fall, upper bounds on their masses, and what is left out."""
    low, high = float(fall), float(rise)
    up_step, down_step = _log_chances(low, high)
    j = np.arange(count + 1, dtype=np.float64)
    factorials = log_factorials(count)
    logs = factorials[-1] - factorials - factorials[::-1] + j * up_step + (count - j) * down_step
    # Absolute errors of the logarithms are relative errors of the masses.
    slack = 1e-13 + 1e-15 * (4 * float(factorials[-1]) + count * (abs(up_step) + abs(down_step)))
    losses = j * high - (count - j) * low + 4e-16 * count * (high + low)
    masses = np.exp(logs) * (1 + slack)
    kept = masses > _NEGLIGIBLE
    return losses[kept], masses[kept], float(masses[~kept].sum()) * (1 + _SLACK)


def _log_chances(low: float, high: float) -> tuple[float, float]:
    """Return the logarithms of the chances of the losses `high` and `-low` of the one-bit pair."""
    both = math.log(-math.expm1(-low - high))
    return math.log(-math.expm1(-low)) - both, -low + math.log(-math.expm1(-high)) - both


def _divergence(fall: Fraction, rise: Fraction, order: float) -> float:
    """Return the Rényi divergence of the one-bit pair with losses `rise` and `-fall`."""
    low, high = float(fall), up(rise)
    log_rise, log_down = _log_chances(low, high)
    # p^a q^(1-a) = p e^{(a-1) loss}
    first, second = log_rise + (order - 1) * high, log_down - (order - 1) * low
    top = max(first, second)
    total = top + math.log(math.exp(first - top) + math.exp(second - top))
    rounding = 1e-13 * (1 + order * (high + low)) / (order - 1)
    return max(0.0, total / (order - 1) + rounding)


def _gaussian_delta(m: float, r: float, epsilon: float) -> float:
    """Return GaussianLoss's curve for mu `m` and slack `r` at any real epsilon, without its other routes."""
    square, spread = m * m, math.sqrt(r) * m
    first = (r - 1) * square / 2 + normal.log_cdf((r * square - square / 2 - epsilon) / spread)
    if first > 700:
        return 1.0
    second = epsilon + normal.log_cdf((-square / 2 - epsilon) / spread)
    difference = math.exp(first) * -math.expm1(min(0.0, second - first))
    return min(1.0, difference + math.exp(first) * 1e-13 * (1 + abs(first)))
