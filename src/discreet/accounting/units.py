"""Rows against privacy units: what is promised about rows, said of those who have several.

Mechanisms about histograms hide one row. A unit of a table, a person say, may have several rows, and one who
is replaced takes some rows away and brings others. Whatever turns a budget for a unit into one for a row, or
a guarantee about rows into one about units, asks here.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Protocol, Self

from discreet.accounting.group import GroupLoss, member_budget
from discreet.core import checks
from discreet.core.errors import NeighboursMismatch
from discreet.core.guarantee import Guarantee
from discreet.core.neighbours import AddRemove, Neighbours, Replace
from discreet.core.parameters import checked, public


class HasUnits(Protocol):
    """A table that declares whom it protects."""

    @property
    def neighbours(self) -> Neighbours:
        """Which change of units is hidden."""

    @property
    def rows_per_unit(self) -> int:
        """How many rows of one unit count."""


@checked
class PrivacyUnit:
    """Whom a table protects, as a group of rows.

    Attributes
    ----------
    neighbours
        Which change of units is hidden: adding or removing one, or replacing one by another.
    rows
        The most rows that count of one unit.
    """

    neighbours: Neighbours = public(checks.instance, Neighbours)
    rows: int = public(checks.integer, 1)

    @classmethod
    def of(cls, table: HasUnits) -> Self:
        """Return the unit that a table declares."""
        return cls(table.neighbours, table.rows_per_unit)

    @property
    def row_neighbours(self) -> Neighbours:
        """The change of rows that a mechanism has to hide.

        A row is replaced only where every unit has one: the number of rows of a unit with several is private.
        """
        return Replace("row") if self._is_replaced and self.rows == 1 else AddRemove("row")

    def changes(self, neighbours: Neighbours) -> int:
        """Return how many changes of rows make up one change of a unit.

        Raises
        ------
        NeighboursMismatch
            Where they are not about rows, or take the number of rows for public and it is not.
        """
        if neighbours == AddRemove("row"):
            return self.rows * (2 if self._is_replaced else 1)
        if neighbours == self.row_neighbours:
            return 1
        raise NeighboursMismatch(
            f"a guarantee about {neighbours} says nothing about {self.neighbours}, where one "
            f"has up to {self.rows} rows; build the mechanism with neighbours=AddRemove('row')"
        )

    def row_budget(self, *, epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
        """Return what one change of rows may cost, so that one of a unit costs at most (epsilon, delta)."""
        return member_budget(epsilon=epsilon, delta=delta, size=self.changes(self.row_neighbours))

    def per_unit(self, guarantee: Guarantee) -> Guarantee:
        """Return what a guarantee about rows promises to one unit: the loss towards a group of rows."""
        size = self.changes(guarantee.neighbours)
        loss = guarantee.loss if size == 1 else GroupLoss(guarantee.loss, size)
        return Guarantee(loss, self.neighbours)

    @property
    def _is_replaced(self) -> bool:
        return isinstance(self.neighbours, Replace)
