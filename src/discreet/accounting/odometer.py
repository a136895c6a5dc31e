"""The odometer: how much has been lost so far, at any time, when the losses are chosen adaptively."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

from discreet.accounting.charges import Single
from discreet.accounting.composition import Item, price
from discreet.core import checks
from discreet.core.loss import Loss
from discreet.core.neighbours import Neighbours
from discreet.core.rounding import above, down, sum_up, up

_EXCESSES = tuple(2.0**power for power in range(-10, 21))  # the watched orders, less one
_WIDENING = Fraction(1, 10)  # what a loss with a failure mass is widened by, as a share of itself
_LEAST_WIDENING = Fraction(1, 1000)


class _Reading(NamedTuple):
    """Sums over what was recorded; None where a recorded loss has no such view."""

    pure: Fraction | None = Fraction(0)
    rho: Fraction | None = Fraction(0)
    widening: Fraction = Fraction(0)
    failure: Fraction = Fraction(0)


class Odometer(Single):
    """How much has been lost so far, at any time, for losses chosen adaptively.

    With probability at least 1 - `failure`, the realised privacy loss of all answers together, the logarithm
    of the ratio of their probabilities on the two neighbours, is at most `epsilon` at **every** time. For a
    fixed order a the exponential of (a - 1) (realised loss - a * rho so far) is a supermartingale, so by
    Ville's inequality the loss never exceeds a * rho + ln(1/share) / (a - 1) but with probability `share`;
    the delta is shared among 31 orders fixed in advance, and the smallest of the bounds is reported. The
    sum of pure epsilons holds with certainty.

    A loss with a failure mass m, as an (epsilon, delta) pair is, may lie a little above its epsilon far more
    often than m: it is counted as wider by w, a tenth of itself, and as failing with probability
    m / (1 - e^-w) (docs/accounting.md).
    """

    def __init__(self, *, delta: checks.Number, neighbours: Neighbours | None = None) -> None:
        super().__init__(neighbours)
        self._delta = checks.probability(delta=delta)
        self._reading = _Reading()

    def record(self, item: Item) -> None:
        """Add a mechanism, release, guarantee or loss that has been spent."""
        loss, neighbours = price(item)
        self._require(neighbours)  # before the lock, which a fork may have left taken
        pure, rho, mass = loss.exact_epsilon(), loss.exact_rho(), loss.exact_failure()
        widening, failure = (_widening(loss), _bound_failure(mass, _widening(loss))) if mass else (mass, mass)
        with self._lock:
            self._require(neighbours)  # another thread may have fixed them just now
            self._neighbours = self._neighbours or neighbours
            so_far = self._reading
            self._reading = _Reading(
                _add(so_far.pure, pure),
                _add(so_far.rho, rho),
                sum_up((so_far.widening, widening)),
                min(Fraction(1), sum_up((so_far.failure, failure))),
            )

    @property
    def failure(self) -> float:
        """The probability with which `epsilon` may be wrong at some time."""
        return min(1.0, up(self._delta + self._reading.failure))

    @property
    def epsilon(self) -> float:
        """A bound on the realised loss so far; infinity where a recorded loss allows none."""
        pure, rho, widening, _ = self._reading
        bound = math.inf if pure is None else up(pure + widening)
        if rho is None:
            return bound
        # Of the 31 bounds any may be the smallest, and which one depends on the answers.
        price = above(-math.log(down(self._delta / len(_EXCESSES))))
        for excess in _EXCESSES:
            bound = min(bound, ((1 + excess) * up(rho) + price / excess + up(widening)) * (1 + 1e-14))
        return bound

    def __repr__(self) -> str:
        return f"<Odometer: epsilon {self.epsilon:.6g} but with probability {self.failure:.4g}>"


def _widening(loss: Loss) -> Fraction:
    """Return by how much a loss with a failure mass is widened: a share of its own size."""
    size = loss.exact_epsilon()
    if size is None:
        size = Fraction(math.sqrt(2 * (loss.exact_rho() or 0)))
    return max(_LEAST_WIDENING, size * _WIDENING)


def _bound_failure(mass: Fraction, widening: Fraction) -> Fraction:
    """Return m / (1 - e^-w), rounded up: how often a loss may lie above its epsilon by more than w."""
    return mass * Fraction(above(1 / -math.expm1(-down(widening)), 6))


def _add(total: Fraction | None, amount: Fraction | None) -> Fraction | None:
    return None if total is None or amount is None else sum_up((total, amount))
