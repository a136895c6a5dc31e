"""Lines: what one analyst, one study or all together may spend of a budget."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from discreet.accounting.charges import Charge
from discreet.accounting.composition import Item
from discreet.accounting.filters import Filter
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss
from discreet.core.neighbours import Neighbours
from discreet.curator.ledger.events import DATA, WHOLE, Coordinates, LineCharge
from discreet.curator.ledger.state import Account, LineSum

Offer = tuple[Charge | None, Charge | None]
"""What something costs by its loss, and what by the pair that it was bought for."""


@dataclass(frozen=True, slots=True)
class Line:
    """What may be spent in one place.

    Attributes
    ----------
    account, name
        The budget that it is in, and its name there.
    words, way_out
        What it is called when it refuses, and what to do then.
    filter, share
        Whether charges fit: within this share of the filter's budget.
    """

    account: Account
    name: str
    words: str
    way_out: str
    filter: Filter
    share: Fraction

    @property
    def is_whole(self) -> bool:
        """Whether it is the line of all that is asked of one data set."""
        return (self.account.opened.kind, self.name) == (DATA, WHOLE)

    @property
    def sum(self) -> LineSum:
        """What is reserved or spent here."""
        return self.account.sum(self.name)

    @property
    def spent(self) -> Charge:
        """What is reserved or spent here, in the filter's own terms."""
        return read_charge(self.sum, self.account.coordinates(self.name))

    @property
    def left(self) -> dict[str, Fraction]:
        """What is left, in the coordinates that can still be spent."""
        return self.filter.left_of(self.spent, share=self.share)

    def fits(self, charge: Charge) -> bool:
        """Tell whether a charge fits on top."""
        return self.filter.fits(self.spent + charge, share=self.share)

    def ends_pairs(self, charge: Charge) -> bool:
        """Tell whether it is this charge that makes epsilons and deltas add up to more than the budget."""
        return "epsilon" in self.left and not self._keeps_pairs(charge)

    def _keeps_pairs(self, charge: Charge) -> bool:
        return "epsilon" in self.filter.left_of(self.spent + charge, share=self.share)

    def choose(self, offer: Offer) -> Charge | None:
        """Return what is charged here: by both statements as long as that keeps both ways open.

        None where there is no finite charge.
        """
        plain, pair = offer
        if plain is None or pair is None:
            return plain or pair
        # The pair for the way of pairs, the rho for the other; the delta of the pair is enough for both.
        delta = max(pair.amounts["delta"], plain.amounts["delta"])
        both = pair.amounts | plain.amounts | {"delta": delta}
        joined = Charge.of(plain.names, (both.get(name) for name in plain.names))
        return joined if self._keeps_pairs(joined) else plain

    def write(self, charge: Charge) -> LineCharge:
        """Return a charge in units, as it is written down."""
        opened, stated = self.account.opened, self.account.coordinates(self.name)
        return LineCharge(opened.kind, opened.name, self.name, write_amounts(charge.amounts, stated))


def find_offer(budget: Filter, item: Item, bought: ApproxLoss | None, neighbours: Neighbours) -> Offer:
    """Return what an item costs in a filter's budget."""
    plain = budget.cost(item)
    if bought is None or (plain is not None and "epsilon" in plain.amounts):
        return plain, None
    return plain, budget.cost(Guarantee(bought, neighbours))


def write_amounts(
    amounts: Mapping[str, Fraction], stated: tuple[tuple[str, Fraction], ...]
) -> tuple[int | None, ...]:
    """Return amounts in units, rounded up; None where there is no finite one."""
    return tuple(-(-amounts[name] // unit) if name in amounts else None for name, unit in stated)


def read_charge(total: LineSum, stated: tuple[tuple[str, Fraction], ...]) -> Charge:
    """Return a sum of units in a filter's own terms."""
    names = tuple(name for name, _ in stated)
    return Charge(
        names, tuple(n * unit for n, (_, unit) in zip(total.amounts, stated, strict=True)), total.endless
    )


def find_coordinates(budget: Filter) -> Coordinates:
    """Return what is counted in a filter's budget, and in which units."""
    return Coordinates(tuple(budget.budget), budget.units)
