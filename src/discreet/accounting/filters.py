"""Filters: budgets for losses that are themselves chosen adaptively.

A filter answers "may I spend this?" and is itself the guarantee: whatever an analyst does, choosing each
mechanism and each loss after seeing all earlier answers, the whole transcript stays within the
budget. A filter is one object with one state: it cannot be copied or pickled, since a copied budget is a
doubled budget.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from fractions import Fraction
from operator import methodcaller
from typing import ClassVar

from discreet.accounting.calibrate import zcdp_rho
from discreet.accounting.charges import Charge, Single, grid_unit, round_up, statements, words
from discreet.accounting.composition import Item, price
from discreet.accounting.failing import FailingLoss
from discreet.core import checks
from discreet.core.errors import BudgetExceeded, InvalidParameter
from discreet.core.loss import ApproxLoss, Loss, PureLoss, RenyiLoss, ZCDPLoss
from discreet.core.losses.base import check_order
from discreet.core.neighbours import Neighbours
from discreet.core.rounding import up

_VIEWS: dict[str, Callable[[Loss], Fraction | None]] = {
    "epsilon": methodcaller("exact_epsilon"),
    "rho": methodcaller("exact_rho"),
    "delta": methodcaller("exact_failure"),
}
"""What a loss costs in a coordinate."""

HELD_BACK = Fraction(1, 10)
"""The part of a budget's delta that the deltas of single charges may add up to, whichever way it goes on."""


class Filter(Single):
    """A budget that stops in time. Sums are exact, one for each coordinate.

    Charges are mechanisms, releases, guarantees or losses. Those that say what they hide must all hide the
    same change: the one given as `neighbours`, or the first one charged.
    """

    way_out: ClassVar[str]
    """What to use for a loss that has no finite charge here."""

    ways: ClassVar[tuple[tuple[str, ...], ...]]
    """Sets of coordinates: charges fit as long as all the sums of one set are within the budget."""

    def __init__(
        self, budget: Mapping[str, Fraction], guarantee: Loss, neighbours: Neighbours | None
    ) -> None:
        super().__init__(neighbours)
        self._guarantee = guarantee
        self._budget = dict(budget)
        self._units = tuple(grid_unit(most) for most in budget.values())
        self._spent = self.nothing

    @property
    def guarantee(self) -> Loss:
        """The loss of everything this filter will ever let through, together."""
        return self._guarantee

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        """Return what a loss costs, one number a coordinate."""
        return tuple(_VIEWS[name](loss) for name in self._budget)

    @property
    def budget(self) -> dict[str, Fraction]:
        """The most that may be charged, coordinate by coordinate."""
        return dict(self._budget)

    @property
    def units(self) -> tuple[Fraction, ...]:
        """What charges are rounded up to, coordinate by coordinate."""
        return self._units

    @property
    def nothing(self) -> Charge:
        """The charge of what costs nothing, to start a sum with."""
        return Charge.of(tuple(self._budget), (Fraction(0) for _ in self._budget))

    def fits(self, total: Charge, *, share: Fraction = Fraction(1)) -> bool:
        """Tell whether charges that add up to `total` are within this share of the budget.

        It reads no state: ledgers that keep their own sums ask it.
        """
        return any(self._open_ways(total, share))

    def left_of(self, total: Charge, *, share: Fraction = Fraction(1)) -> dict[str, Fraction]:
        """Return what charges that add up to `total` leave, in the coordinates that can still be spent."""
        usable = {name for way in self._open_ways(total, share) for name in way}
        return {n: share * self._budget[n] - a for n, a in total.amounts.items() if n in usable}

    def _open_ways(self, total: Charge, share: Fraction) -> list[tuple[str, ...]]:
        amounts = total.amounts
        return [
            way
            for way in self.ways
            if all(n in amounts and amounts[n] <= share * self._budget[n] for n in way)
        ]

    def cost(self, item: Item) -> Charge | None:
        """Return the charge, rounded up; None where the item has no finite charge.

        Of two true statements about an item, the one that takes the smaller part of the budget.
        """
        return next(iter(self._costs(item)[0]), None)

    def _costs(self, item: Item) -> tuple[list[Charge], Neighbours | None]:
        """Return what may be charged for an item, the cheapest first, and the change it is about."""
        losses, neighbours = statements(item)
        self._require(neighbours)
        costs = [cost for cost in map(self._charge, losses) if cost is not None]
        return sorted(costs, key=self._part), neighbours

    def _charge(self, loss: Loss) -> Charge | None:
        amounts = self._charges(loss)
        if any(not amount >= 0 for amount in amounts if amount is not None):
            raise InvalidParameter(name="loss", rule="one that costs at least nothing", value=loss)
        rounded = (
            amount if amount is None else round_up(amount, unit)
            for amount, unit in zip(amounts, self._units, strict=True)
        )
        charge = Charge.of(tuple(self._budget), rounded)
        return charge if any(set(way) <= set(charge.amounts) for way in self.ways) else None

    def _part(self, charge: Charge) -> Fraction | float:
        """Return the share of the whole budget that a charge takes, by the way that takes the least."""
        amounts = charge.amounts
        return min(
            max(self._part_of(name, amounts[name]) for name in way)
            for way in self.ways
            if set(way) <= set(amounts)
        )

    def _part_of(self, name: str, amount: Fraction) -> Fraction | float:
        most = self._budget[name]
        return amount / most if most else (math.inf if amount else Fraction(0))

    def try_spend(self, item: Item) -> bool:
        """Charge an item if it fits, and tell whether it did. Nothing is charged otherwise.

        Raises
        ------
        NeighboursMismatch
            When it hides another change than this filter is about. Nothing is charged.
        """
        costs, neighbours = self._costs(item)
        with self._lock:
            self._require(neighbours)  # another thread may have fixed them just now
            for cost in costs:
                after = self._spent + cost
                if self.fits(after):
                    self._neighbours = self._neighbours or neighbours  # before: no charge is about nothing
                    self._spent = after
                    return True
            return False

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
            raise BudgetExceeded(asked=str(cost), left=words(self.left), budget=type(self).__name__)

    @property
    def spent(self) -> dict[str, Fraction]:
        """What has been charged; a coordinate in which a charge was not finite is left out."""
        return self._spent.amounts

    @property
    def left(self) -> dict[str, Fraction]:
        """What remains, in the coordinates that can still be spent."""
        return self.left_of(self._spent)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: spent {words(self.spent)}; left {words(self.left)}>"


class PureFilter(Filter):
    """Pure epsilons add up, however they are chosen."""

    way_out = "Use ApproxFilter, ConcentratedFilter, AdvancedFilter or EitherFilter"
    ways = (("epsilon",),)

    def __init__(self, *, epsilon: checks.Number, neighbours: Neighbours | None = None) -> None:
        value = checks.positive(epsilon=epsilon)
        super().__init__({"epsilon": value}, PureLoss(value), neighbours)

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        return (None if loss.exact_failure() else loss.exact_epsilon(),)


class ApproxFilter(Filter):
    """Epsilons and deltas add up, however they are chosen.

    A mechanism that was bought as a pair, such as `Gaussian`, is charged at its own epsilon and delta.
    """

    way_out = "Use ConcentratedFilter, AdvancedFilter or EitherFilter"
    ways = (("epsilon", "delta"),)

    def __init__(
        self, *, epsilon: checks.Number, delta: checks.Number, neighbours: Neighbours | None = None
    ) -> None:
        most = ApproxLoss(checks.positive(epsilon=epsilon), checks.delta(delta=delta))
        super().__init__({"epsilon": most.value, "delta": most.mass}, most, neighbours)


class ConcentratedFilter(Filter):
    """Rhos add up, however they are chosen, and so do failure masses [WRRW23].

    The guarantee is the zCDP budget, with the failure mass on top.
    """

    way_out = "Use RenyiFilter, at an order the loss is known for"
    ways: ClassVar[tuple[tuple[str, ...], ...]] = (("rho", "delta"),)

    def __init__(
        self, *, rho: checks.Number, failure: checks.Number, neighbours: Neighbours | None = None
    ) -> None:
        most, mass = ZCDPLoss(checks.positive(rho=rho)), checks.delta(failure=failure)
        super().__init__({"rho": most.rho, "delta": mass}, _add_failure(most, mass), neighbours)


class AdvancedFilter(ConcentratedFilter):
    """Advanced composition for adaptively chosen (epsilon_i, delta_i) [WRRW23].

    The published filter stops before sqrt(2 ln(1/slack) S) + S / 2 exceeds epsilon, S the sum of the
    epsilon_i^2, and before the delta_i exceed `failure`. Its proof goes through zCDP; this one takes
    the tight rho of every step and the tight conversion, so it stops later. The guarantee is the target
    (epsilon, delta): `failure` of its delta pays for failure masses, and the rest converts rho to epsilon.
    """

    def __init__(
        self,
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        failure: checks.Number,
        neighbours: Neighbours | None = None,
    ) -> None:
        target = ApproxLoss(checks.positive(epsilon=epsilon), checks.probability(delta=delta))
        mass = checks.delta(failure=failure)
        if not mass < target.mass:
            raise InvalidParameter(name="failure", rule=f"below delta, {float(target.mass)}", value=failure)
        rho = zcdp_rho(epsilon=target.value, delta=target.mass - mass)
        most = {"epsilon": target.value, "rho": rho, "delta": mass}
        used = {name for way in self.ways for name in way}
        Filter.__init__(self, {name: most[name] for name in most if name in used}, target, neighbours)


class EitherFilter(AdvancedFilter):
    """Goes on as long as pure epsilons add up to at most epsilon, *or* rhos to at most the rho of the target.

    Both together cost nothing extra. Whatever ends with the epsilons within the budget has a likelihood
    ratio of at most e^epsilon for certain; whatever ends otherwise was never refused by the rho rule, so the
    process stopped by that rule alone covers it (docs/accounting.md has the proof). Failure masses must
    stay within `failure` either way, and the rest of delta converts rho to epsilon.

    So it allows whatever `PureFilter` and `AdvancedFilter` allow, and a larger delta never allows less.
    """

    ways = (("epsilon", "delta"), ("rho", "delta"))


class RenyiFilter(Filter):
    """Rényi divergences of one order, fixed in advance, add up, however they are chosen [FZ21].

    The guarantee is the Rényi loss at the order, with the failure mass on top.
    """

    way_out = "Use an order the loss is known for"
    ways = (("divergence", "delta"),)

    def __init__(
        self,
        *,
        order: checks.Number,
        divergence: checks.Number,
        failure: checks.Number,
        neighbours: Neighbours | None = None,
    ) -> None:
        self._order = check_order(order)
        value, mass = checks.positive(divergence=divergence), checks.delta(failure=failure)
        most = _add_failure(RenyiLoss(((self._order, up(value)),)), mass)
        super().__init__({"divergence": value, "delta": mass}, most, neighbours)

    def _charges(self, loss: Loss) -> tuple[Fraction | None, ...]:
        divergence = loss.renyi(self._order)
        return None if math.isinf(divergence) else Fraction(divergence), loss.exact_failure()


def _add_failure(loss: Loss, mass: Fraction) -> Loss:
    return FailingLoss(loss, mass) if mass else loss


def make_filter(*, epsilon: checks.Number, delta: checks.Number, neighbours: Neighbours | None) -> Filter:
    """Return the filter of a budget that anything may be charged to: what ledgers and sessions spend from.

    Without delta epsilons add up. With one it goes on in either of two ways: while epsilons and deltas add up
    to at most (epsilon, a tenth of delta), or while rhos add up to at most what the rest of delta allows.
    """
    whole, missed = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
    if not missed:
        return PureFilter(epsilon=whole, neighbours=neighbours)
    held = missed * HELD_BACK
    return EitherFilter(epsilon=whole, delta=missed - held, failure=held, neighbours=neighbours)
