"""Filters and odometers: accounting when the losses themselves are chosen adaptively.

A filter answers "may I spend this?" and is itself the guarantee: whatever an analyst does, choosing each
mechanism and each loss after seeing all earlier answers, the whole transcript stays within the
budget. Charges are rounded up and budgets down to fixed-point grids, so sums are exact. A filter is one
object with one state: it cannot be copied or pickled, since a copied budget is a doubled budget.

An odometer answers "how much so far?" at any time, with one failure probability for all times together.
"""

from __future__ import annotations

import math
import os
import threading
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import ClassVar, NoReturn

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.composition import Item, price
from discreet.accounting.failing import FailingLoss
from discreet.core import checks
from discreet.core.errors import BudgetExceeded, DiscreetError, InvalidParameter, NeighboursMismatch
from discreet.core.loss import ApproxLoss, Loss, PureLoss, RenyiLoss, ZCDPLoss
from discreet.core.losses.base import checked_order
from discreet.core.mechanism import Promise, Release
from discreet.core.neighbours import Neighbours
from discreet.core.rounding import down, up

EPSILON_UNIT = Fraction(1, 10**9)
RHO_UNIT = Fraction(1, 10**12)
DELTA_UNIT = Fraction(1, 10**18)

_ONE_OFF = 31  # orders an odometer watches


class Single:
    """One budget, or one meter, about one kind of change. Copying it would double it."""

    def __init__(self, neighbours: Neighbours | None) -> None:
        given = None if neighbours is None else checks.instance(Neighbours, neighbours=neighbours)
        self._neighbours: Neighbours | None = given
        self._lock = threading.Lock()
        self._process = os.getpid()

    @property
    def neighbours(self) -> Neighbours | None:
        """The change that all charges are about: given, or that of the first charge; None so far."""
        return self._neighbours

    def _require(self, neighbours: Neighbours | None) -> None:
        """Raise if a charge is about another change; a bare loss is taken to be about this one.

        Also raise in a forked process, where a copy of the budget would be spent a second time.
        """
        if os.getpid() != self._process:
            raise DiscreetError(f"this {type(self).__name__} belongs to another process: a fork doubles it")
        if None not in (neighbours, self._neighbours) and neighbours != self._neighbours:
            raise NeighboursMismatch(
                f"this {type(self).__name__} is about {self._neighbours}, the charge about {neighbours}. "
                f"Build both with the same neighbours="
            )

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise DiscreetError(
            f"this {type(self).__name__} cannot be copied or pickled: that would double the budget"
        )


class Filter(Single, ABC):
    """A budget that stops in time. Sums are integers in the grid's units, one for each coordinate.

    Charges are mechanisms, releases, guarantees or losses. Those that say what they hide must all hide the
    same change: the one given as `neighbours`, or the first one charged.
    """

    way_out: ClassVar[str]
    """What to use for a loss that has no finite charge here."""

    def __init__(
        self, budget: tuple[tuple[str, Fraction, Fraction], ...], neighbours: Neighbours | None
    ) -> None:
        super().__init__(neighbours)
        self._names = tuple(name for name, _, _ in budget)
        self._units = tuple(unit for _, _, unit in budget)
        self._budget = tuple(math.floor(amount / unit) for _, amount, unit in budget)
        self._spent = (0,) * len(budget)

    @property
    @abstractmethod
    def guarantee(self) -> Loss:
        """The loss of everything this filter will ever let through, together."""

    @abstractmethod
    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        """Return what a loss costs, one number a coordinate."""

    def cost(self, item: Item) -> tuple[int, ...] | None:
        """Return the charge in grid units, rounded up; None where the item has no finite charge."""
        loss, neighbours = price(item)
        self._require(neighbours)
        for statement in (loss, *_bought(item)):
            charges = self._charges(statement)
            found = [charge for charge in charges if charge is not None]
            if any(charge < 0 for charge in found):
                raise InvalidParameter(name="loss", rule="one that costs at least nothing", value=statement)
            if len(found) == len(charges):
                pairs = zip(found, self._units, strict=True)
                return tuple(math.ceil(charge / unit) for charge, unit in pairs)
        return None

    def try_spend(self, item: Item) -> bool:
        """Charge an item if it fits, and tell whether it did. Nothing is charged otherwise.

        Raises
        ------
        NeighboursMismatch
            When it hides another change than this filter is about. Nothing is charged.
        """
        cost, (_, neighbours) = self.cost(item), price(item)
        if cost is None:
            return False
        with self._lock:
            self._require(neighbours)  # another thread may have fixed them just now
            after = tuple(a + b for a, b in zip(self._spent, cost, strict=True))
            if any(a > b for a, b in zip(after, self._budget, strict=True)):
                return False
            self._spent = after
            self._neighbours = self._neighbours or neighbours
            return True

    def spend(self, item: Item) -> None:
        """Charge an item.

        Raises
        ------
        BudgetExceeded
            When it does not fit. Nothing is charged, and no data may be touched.
        InvalidParameter
            When the item has no finite charge here, such as Gaussian noise in a pure filter.
        NeighboursMismatch
            When it hides another change than this filter is about. Nothing is charged.
        """
        cost = self.cost(item)
        if cost is None:
            raise InvalidParameter(
                name="item",
                rule=f"one that has a finite charge in this {type(self).__name__}",
                value=item,
                got=str(price(item)[0]),
                hint=self.way_out,
            )
        if not self.try_spend(item):
            asked = {name: c * unit for name, c, unit in zip(self._names, cost, self._units, strict=True)}
            raise BudgetExceeded(
                asked=self._words(asked), left=self._words(self.left), budget=type(self).__name__
            )

    @property
    def units(self) -> dict[str, Fraction]:
        """The grid unit of each coordinate."""
        return dict(zip(self._names, self._units, strict=True))

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

    way_out = "Use ApproxFilter, ConcentratedFilter or AdvancedFilter"

    def __init__(self, *, epsilon: checks.Number, neighbours: Neighbours | None = None) -> None:
        self._value = checks.positive(epsilon=epsilon)
        super().__init__((("epsilon", self._value, EPSILON_UNIT),), neighbours)

    @property
    def guarantee(self) -> PureLoss:
        """Pure differential privacy at the budget."""
        return PureLoss(self._value)

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        return (None if loss.exact_failure() else loss.exact_epsilon(),)


class ApproxFilter(Filter):
    """Epsilons and deltas add up, however they are chosen.

    A mechanism that was bought as a pair, such as `Gaussian`, is charged at its own epsilon and delta.
    """

    way_out = "Use ConcentratedFilter or AdvancedFilter"

    def __init__(
        self, *, epsilon: checks.Number, delta: checks.Number, neighbours: Neighbours | None = None
    ) -> None:
        self._value = ApproxLoss(checks.positive(epsilon=epsilon), checks.delta(delta=delta))
        super().__init__(
            (("epsilon", self._value.value, EPSILON_UNIT), ("delta", self._value.mass, DELTA_UNIT)),
            neighbours,
        )

    @property
    def guarantee(self) -> ApproxLoss:
        """Approximate differential privacy at the budget."""
        return self._value

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        return loss.exact_epsilon(), loss.exact_failure()


class ConcentratedFilter(Filter):
    """Rhos add up, however they are chosen, and so do failure masses [WRRW23]."""

    way_out = "Use RenyiFilter, at an order the loss is known for"

    def __init__(
        self, *, rho: checks.Number, failure: checks.Number, neighbours: Neighbours | None = None
    ) -> None:
        self._rho, self._failure = checks.positive(rho=rho), checks.delta(failure=failure)
        super().__init__((("rho", self._rho, RHO_UNIT), ("delta", self._failure, DELTA_UNIT)), neighbours)

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
    the tight rho of every step and the tight conversion, so it stops later, unless the steps are so
    small that rounding each charge up to 1e-12 matters.
    """

    def __init__(
        self,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        failure: checks.Number,
        neighbours: Neighbours | None = None,
    ) -> None:
        d, f = checks.probability(delta=delta), checks.delta(failure=failure)
        if not f < d:
            raise InvalidParameter(name="failure", rule=f"below delta, {float(d)}", value=failure)
        self._target = ApproxLoss(checks.positive(epsilon=epsilon), d)
        super().__init__(rho=zcdp_rho(epsilon=epsilon, delta=d - f), failure=f, neighbours=neighbours)

    @property
    def guarantee(self) -> ApproxLoss:
        """The target (epsilon, delta)."""
        return self._target


class RenyiFilter(Filter):
    """Rényi divergences of one order, fixed in advance, add up, however they are chosen [FZ21]."""

    way_out = "Use an order the loss is known for"

    def __init__(
        self,
        *,
        order: checks.Number,
        divergence: checks.Number,
        failure: checks.Number,
        neighbours: Neighbours | None = None,
    ) -> None:
        self._order = checked_order(order)
        self._value, self._failure = checks.positive(divergence=divergence), checks.delta(failure=failure)
        coordinates = ("divergence", self._value, RHO_UNIT), ("delta", self._failure, DELTA_UNIT)
        super().__init__(coordinates, neighbours)

    @property
    def guarantee(self) -> Loss:
        """The Rényi loss at the order, with the failure mass on top."""
        loss = RenyiLoss(((self._order, up(self._value)),))
        return FailingLoss(loss, self._failure) if self._failure else loss

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        divergence = loss.renyi(self._order)
        return None if math.isinf(divergence) else Fraction(divergence), loss.exact_failure()


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


def _bought(item: Item) -> tuple[Loss, ...]:
    """Return what a mechanism was bought as: a second true statement, for filters that its loss escapes."""
    promise = item.mechanism if isinstance(item, Release) else item
    return (promise.bought,) if isinstance(promise, Promise) else ()


def _add(total: Fraction | None, amount: Fraction | None, unit: Fraction) -> Fraction | None:
    return None if total is None or amount is None else total + math.ceil(amount / unit) * unit
