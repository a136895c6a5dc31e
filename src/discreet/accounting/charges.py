"""What filters and odometers add up: exact amounts in named coordinates, each object one budget.

Amounts are Fractions on a grid that is fixed in advance by the budget, so that denominators stay bounded
whatever is charged. The grid holds the budget itself, its parts by every count up to 128, and decimals:
what a person writes is charged as written, and everything else is rounded up.
"""

from __future__ import annotations

import math
import os
import threading
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn, Self

from discreet.accounting.composition import Item, price
from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter, NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.loss import Loss
from discreet.core.mechanism import Promise, Release
from discreet.core.neighbours import Neighbours

FINENESS = math.lcm(*range(1, 129)) * 10**18


@dataclass(frozen=True, slots=True)
class Charge:
    """Amounts in the coordinates of a filter. They are added up and taken back without error.

    Attributes
    ----------
    names
        The coordinates.
    finite
        The sum of the amounts in each coordinate.
    endless
        How many of the charges have no finite amount there, as Gaussian noise has no pure epsilon.
    """

    names: tuple[str, ...]
    finite: tuple[Fraction, ...]
    endless: tuple[int, ...]

    @classmethod
    def of(cls, names: tuple[str, ...], amounts: Iterable[Fraction | None]) -> Self:
        """Return the charge with these amounts; None where there is no finite one."""
        listed = tuple(amounts)
        return cls(
            names, tuple(amount or Fraction(0) for amount in listed), tuple(int(a is None) for a in listed)
        )

    @property
    def amounts(self) -> dict[str, Fraction]:
        """The amounts by name; a coordinate without a finite one is left out."""
        return {n: a for n, a, e in zip(self.names, self.finite, self.endless, strict=True) if not e}

    def __add__(self, other: Charge) -> Charge:
        return self._combine(other, 1)

    def __sub__(self, other: Charge) -> Charge:
        return self._combine(other, -1)

    def _combine(self, other: Charge, sign: int) -> Charge:
        if self.names != other.names:
            raise InvalidParameter(name="charge", rule=f"in {', '.join(self.names)}", value=other.names)
        return Charge(
            self.names,
            tuple(a + sign * b for a, b in zip(self.finite, other.finite, strict=True)),
            tuple(a + sign * b for a, b in zip(self.endless, other.endless, strict=True)),
        )

    def __str__(self) -> str:
        return words(self.amounts)


def grid_unit(budget: Fraction) -> Fraction:
    """Return the unit that charges against a budget are rounded up to: far below anything that matters."""
    return Fraction(1, budget.denominator * FINENESS)


def round_up(amount: Fraction, unit: Fraction) -> Fraction:
    """Return the smallest multiple of a unit that is at least the amount."""
    return math.ceil(amount / unit) * unit


def words(amounts: dict[str, Fraction]) -> str:
    """Say amounts with six digits."""
    return ", ".join(f"{name} {float(amount):.6g}" for name, amount in amounts.items())


def statements(item: Item) -> tuple[tuple[Loss, ...], Neighbours | None]:
    """Return what is known of an item's loss, and the change it is about.

    A mechanism may say it twice: by its loss, and by what it was bought as. The second is believed only
    where the first implies it: a release about persons may come from a mechanism that was bought for rows.
    """
    loss, neighbours = price(item)
    bought = _find_bought(item)
    if bought is None or bought == loss or not _implies(loss, bought):
        return (loss,), neighbours
    return (loss, bought), neighbours


def _find_bought(item: Item) -> Loss | None:
    if isinstance(item, Promise):
        return item.bought
    if not isinstance(item, Release):
        return None
    own = getattr(item, "bought", item.mechanism.bought)
    return own.loss if isinstance(own, Guarantee) else own


@lru_cache(maxsize=4096)
def _implies(loss: Loss, bought: Loss) -> bool:
    epsilon, delta = bought.exact_epsilon(), bought.exact_failure()
    return epsilon is not None and delta < 1 and loss.implies(epsilon=epsilon, delta=delta)


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
