"""The odometer: how much has been lost so far, at any time, when the losses are chosen adaptively."""

from __future__ import annotations

import math
from fractions import Fraction

from discreet.accounting.charges import Single
from discreet.accounting.composition import Item, price
from discreet.core import checks
from discreet.core.neighbours import Neighbours
from discreet.core.rounding import down, up

EPSILON_UNIT = Fraction(1, 10**9)
RHO_UNIT = Fraction(1, 10**12)
DELTA_UNIT = Fraction(1, 10**18)

_ONE_OFF = 31  # orders an odometer watches


class Odometer(Single):
    """How much has been lost so far, at any time, for losses chosen adaptively.

    With probability at least 1 - delta - (failure masses charged), the realised privacy loss of all
    answers together is at most `epsilon` at **every** time. For a fixed order a the exponential of
    (a - 1) (realised loss - a * rho so far) is a supermartingale, so by Ville's inequality the
    loss never exceeds a * rho + ln(1/share) / (a - 1) but with probability `share`; the delta is shared
    among 31 orders fixed in advance, and the smallest of the bounds is reported. The sum of pure
    epsilons holds with certainty.
    """

    def __init__(self, *, delta: checks.Number, neighbours: Neighbours | None = None) -> None:
        super().__init__(neighbours)
        self._delta = checks.probability(delta=delta)
        self._rho: Fraction | None = Fraction(0)
        self._pure: Fraction | None = Fraction(0)
        self._failure = Fraction(0)

    def record(self, item: Item) -> None:
        """Add a mechanism, release, guarantee or loss that has been spent."""
        loss, neighbours = price(item)
        with self._lock:
            self._require(neighbours)
            self._neighbours = self._neighbours or neighbours
            self._rho = _add(self._rho, loss.exact_rho(), RHO_UNIT)
            self._pure = _add(self._pure, loss.exact_epsilon(), EPSILON_UNIT)
            self._failure += math.ceil(loss.exact_failure() / DELTA_UNIT) * DELTA_UNIT

    @property
    def failure(self) -> float:
        """The probability with which `epsilon` may be wrong at some time."""
        return min(1.0, up(self._delta + self._failure))

    @property
    def epsilon(self) -> float:
        """A bound on the realised loss so far; infinity where a recorded loss allows none."""
        with self._lock:
            rho, pure = self._rho, self._pure
        bound = math.inf if pure is None else up(pure)
        if rho is None:
            return bound
        price = -math.log(down(self._delta / _ONE_OFF))
        for power in range(-10, _ONE_OFF - 10):
            excess = 2.0**power
            bound = min(bound, ((1 + excess) * up(rho) + price / excess) * (1 + 1e-14))
        return bound

    def __repr__(self) -> str:
        return f"<Odometer: epsilon {self.epsilon:.6g} but with probability {self.failure:.4g}>"


def _add(total: Fraction | None, amount: Fraction | None, unit: Fraction) -> Fraction | None:
    return None if total is None or amount is None else total + math.ceil(amount / unit) * unit
