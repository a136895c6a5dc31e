"""Filters and odometers: accounting when the losses themselves are chosen adaptively.

A filter answers "may I spend this?" and is itself the guarantee: whatever an analyst does, choosing each
mechanism and each loss after seeing all earlier answers, the whole transcript stays within the
budget. Charges are rounded up and budgets down to fixed-point grids, so sums are exact. A filter is one
object with one state: it cannot be copied or pickled, since a copied budget is a doubled budget.

An odometer answers "how much so far?" at any time, with one failure probability for all times together.
"""

from __future__ import annotations

import math
import threading
from abc import ABC, abstractmethod
from dataclasses import dataclass
from fractions import Fraction
from typing import NoReturn

from discreet.accounting.calibrate import zcdp_rho
from discreet.core import checks
from discreet.core.errors import BudgetExceeded, InvalidParameter
from discreet.core.loss import ApproxLoss, Loss, PureLoss, RenyiLoss, ZCDPLoss
from discreet.core.losses.base import checked_order
from discreet.core.rounding import down, up

EPSILON_UNIT = Fraction(1, 10**9)
RHO_UNIT = Fraction(1, 10**12)
DELTA_UNIT = Fraction(1, 10**18)

_ONE_OFF = 31  # orders an odometer watches


class Single:
    """A mixin for objects that hold a budget: copying one would double it."""

    def __copy__(self) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied: that would double the budget")

    def __deepcopy__(self, memo: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied: that would double the budget")

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be pickled: that would double the budget")


class Filter(Single, ABC):
    """A budget that stops in time. Sums are integers in the grid's units, one for each coordinate."""

    def __init__(self, budget: tuple[tuple[str, Fraction, Fraction], ...]) -> None:
        self._names = tuple(name for name, _, _ in budget)
        self._units = tuple(unit for _, _, unit in budget)
        self._budget = tuple(math.floor(amount / unit) for _, amount, unit in budget)
        self._spent = (0,) * len(budget)
        self._lock = threading.Lock()

    @property
    @abstractmethod
    def guarantee(self) -> Loss:
        """The loss of everything this filter will ever let through, together."""

    @abstractmethod
    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        """Return what a loss costs, one number a coordinate."""

    def cost(self, loss: Loss) -> tuple[int, ...] | None:
        """Return the charge in grid units, rounded up; None where the loss has no finite charge."""
        charges = self._charges(checks.instance(Loss, loss=loss))
        found = [charge for charge in charges if charge is not None]
        if len(found) < len(charges):
            return None
        return tuple(math.ceil(charge / unit) for charge, unit in zip(found, self._units, strict=True))

    def try_spend(self, loss: Loss) -> bool:
        """Charge a loss if it fits, and tell whether it did. Nothing is charged otherwise."""
        cost = self.cost(loss)
        if cost is None:
            return False
        with self._lock:
            after = tuple(a + b for a, b in zip(self._spent, cost, strict=True))
            if any(a > b for a, b in zip(after, self._budget, strict=True)):
                return False
            self._spent = after
            return True

    def spend(self, loss: Loss) -> None:
        """Charge a loss.

        Raises
        ------
        BudgetExceeded
            When it does not fit. Nothing is charged, and no data may be touched.
        InvalidParameter
            When the loss has no finite charge here, such as Gaussian noise in a pure filter.
        """
        if self.cost(loss) is None:
            raise InvalidParameter(
                name="loss", rule="one that has a finite charge in this filter", value=loss
            )
        if not self.try_spend(loss):
            raise BudgetExceeded(asked=loss, left=self._words(self.left), budget=type(self).__name__)

    @property
    def spent(self) -> dict[str, Fraction]:
        """What has been charged."""
        return {n: s * u for n, s, u in zip(self._names, self._spent, self._units, strict=True)}

    @property
    def left(self) -> dict[str, Fraction]:
        """What remains."""
        state = zip(self._names, self._budget, self._spent, self._units, strict=True)
        return {name: (most - used) * unit for name, most, used, unit in state}

    @staticmethod
    def _words(amounts: dict[str, Fraction]) -> str:
        return ", ".join(f"{name} {float(amount):.6g}" for name, amount in amounts.items())

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: spent {self._words(self.spent)}; left {self._words(self.left)}>"


class PureFilter(Filter):
    """Pure epsilons add up, however they are chosen."""

    def __init__(self, *, epsilon: checks.Number) -> None:
        self._value = checks.positive(epsilon=epsilon)
        super().__init__((("epsilon", self._value, EPSILON_UNIT),))

    @property
    def guarantee(self) -> PureLoss:
        """Pure differential privacy at the budget."""
        return PureLoss(self._value)

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        return (None if loss.exact_failure() else loss.exact_epsilon(),)


class ApproxFilter(Filter):
    """Epsilons and deltas add up, however they are chosen."""

    def __init__(self, *, epsilon: checks.Number, delta: checks.Number) -> None:
        self._value = ApproxLoss(checks.positive(epsilon=epsilon), checks.delta(delta=delta))
        super().__init__(
            (("epsilon", self._value.value, EPSILON_UNIT), ("delta", self._value.mass, DELTA_UNIT))
        )

    @property
    def guarantee(self) -> ApproxLoss:
        """Approximate differential privacy at the budget."""
        return self._value

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        return loss.exact_epsilon(), loss.exact_failure()


class ConcentratedFilter(Filter):
    """Rhos add up, however they are chosen, and so do failure masses [WRRW23]."""

    def __init__(self, *, rho: checks.Number, failure: checks.Number) -> None:
        self._rho, self._failure = checks.positive(rho=rho), checks.delta(failure=failure)
        super().__init__((("rho", self._rho, RHO_UNIT), ("delta", self._failure, DELTA_UNIT)))

    @property
    def guarantee(self) -> Loss:
        """The zCDP budget, with the failure mass on top."""
        return ZCDPLoss(self._rho) if not self._failure else FailingLoss(ZCDPLoss(self._rho), self._failure)

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        return loss.exact_rho(), loss.exact_failure()


class AdvancedFilter(ConcentratedFilter):
    """Advanced composition for adaptively chosen (epsilon_i, delta_i) [WRRW23].

    The published filter stops before sqrt(2 ln(1/slack) S) + S / 2 exceeds epsilon, S the sum of the
    epsilon_i^2, and before the delta_i exceed `failure`. Its proof goes through zCDP; this one takes
    the tight rho of every step and the tight conversion, so it never stops earlier.
    """

    def __init__(self, *, epsilon: checks.Number, delta: checks.Number, failure: checks.Number) -> None:
        d, f = checks.probability(delta=delta), checks.delta(failure=failure)
        if not f < d:
            raise InvalidParameter(name="failure", rule=f"below delta, {float(d)}", value=failure)
        self._target = ApproxLoss(checks.positive(epsilon=epsilon), d)
        super().__init__(rho=zcdp_rho(epsilon=epsilon, delta=d - f), failure=f)

    @property
    def guarantee(self) -> ApproxLoss:
        """The target (epsilon, delta)."""
        return self._target


class RenyiFilter(Filter):
    """Rényi divergences of one order, fixed in advance, add up, however they are chosen.

    The theorem is by V. Feldman and T. Zrnic, 2021.
    """

    def __init__(self, *, order: checks.Number, divergence: checks.Number, failure: checks.Number) -> None:
        self._order = checked_order(order)
        self._value, self._failure = checks.positive(divergence=divergence), checks.delta(failure=failure)
        super().__init__((("divergence", self._value, RHO_UNIT), ("delta", self._failure, DELTA_UNIT)))

    @property
    def guarantee(self) -> Loss:
        """The Rényi loss at the order, with the failure mass on top."""
        loss = RenyiLoss(((self._order, up(self._value)),))
        return FailingLoss(loss, self._failure) if self._failure else loss

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        divergence = loss.renyi(self._order)
        return None if math.isinf(divergence) else Fraction(divergence), loss.exact_failure()


@dataclass(frozen=True, slots=True)
class FailingLoss(Loss):
    """A loss on top of which a failure mass comes."""

    loss: Loss
    mass: Fraction

    def __post_init__(self) -> None:
        checks.instance(Loss, loss=self.loss)
        object.__setattr__(self, "mass", checks.delta(failure=self.mass))

    def delta(self, epsilon: checks.Number) -> float:
        """Return the sum of the inner delta and the mass."""
        return min(1.0, up(Fraction(self.loss.delta(epsilon)) + self.mass))

    def renyi(self, order: checks.Number) -> float:
        """Return the inner view."""
        return self.loss.renyi(order)

    def zcdp(self) -> float:
        """Return the inner view."""
        return self.loss.zcdp()

    def exact_rho(self) -> Fraction | None:
        """Return the inner view."""
        return self.loss.exact_rho()

    def exact_failure(self) -> Fraction:
        """Return the mass."""
        return self.mass

    @property
    def failure(self) -> float:
        """The mass."""
        return up(self.mass)

    def __str__(self) -> str:
        return f"{self.loss}, failing with probability {float(self.mass):.4g}"


class Odometer(Single):
    """How much has been lost so far, at any time, for losses chosen adaptively.

    With probability at least 1 - delta - (failure masses charged), the realised privacy loss of all
    answers together is at most `epsilon` at **every** time. For a fixed order a the exponential of
    (a - 1) (realised loss - a * rho so far) is a supermartingale, so by Ville's inequality the
    loss never exceeds a * rho + ln(1/share) / (a - 1) but with probability `share`; the delta is shared
    among 31 orders fixed in advance, and the smallest of the bounds is reported. The sum of pure
    epsilons holds with certainty.
    """

    def __init__(self, *, delta: checks.Number) -> None:
        self._delta = checks.probability(delta=delta)
        self._rho: Fraction | None = Fraction(0)
        self._pure: Fraction | None = Fraction(0)
        self._failure = Fraction(0)
        self._lock = threading.Lock()

    def record(self, loss: Loss) -> None:
        """Add a loss that has been spent."""
        checks.instance(Loss, loss=loss)
        with self._lock:
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
