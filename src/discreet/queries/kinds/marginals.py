"""Marginals: how many rows have each combination of values of a few attributes."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Self

import numpy as np

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.queries.query import ProductQuery, read_axes
from discreet.queries.tables import Axes
from discreet.queries.universe import Universe
from discreet.queries.workload import Tabled, require_sets


class Marginals(Tabled):
    """Every cell of the marginal tables over some sets of attributes, table by table.

    Time: the tables share their sums; all tables over three of twenty attributes cost a few passes.
    Sensitivity: a row is in one cell of each table.

    Parameters
    ----------
    sets
        Lists of attribute names; the empty list is the total.

    >>> universe = Universe([("a", (0, 1)), ("b", (0, 1, 2)), ("c", (0, 1))])
    >>> len(Marginals.of_order(universe, 2))  # 2 * 3 + 2 * 2 + 3 * 2
    16
    """

    __slots__ = ()

    def __init__(self, universe: Universe, sets: Iterable[Iterable[str]]) -> None:
        super().__init__(universe)
        self.sets = require_sets([universe.axes(names) for names in sets])

    @classmethod
    def of_order(cls, universe: Universe, order: int) -> Self:
        """Make the marginals over every set of `order` attributes."""
        checks.integer(0, order=order)
        if order > len(universe.attributes):
            rule = f"at most {len(universe.attributes)}, the number of attributes"
            raise InvalidParameter(name="order", rule=rule, value=order)
        return cls(universe, itertools.combinations(universe.names, order))

    def restate(self, universe: Universe) -> Marginals:
        """Return the same tables over a universe, made anew from their sets."""
        read = [read_axes(axes, universe, "sets") for axes in self.sets]
        return Marginals(universe, [[universe.names[axis] for axis in axes] for axes in read])

    def __len__(self) -> int:
        return self.tables.offsets[-1]

    def _query(self, index: int) -> ProductQuery:
        place = bisect_right(self.tables.offsets, index) - 1
        axes = self.sets[place]
        attributes = [self.universe.attributes[axis] for axis in axes]
        shape = [attribute.size for attribute in attributes]
        codes = np.unravel_index(index - self.tables.offsets[place], shape) if shape else ()
        name = ", ".join(f"{a.name}={a.values[c]!r}" for a, c in zip(attributes, codes, strict=True))
        masks = [np.arange(size) == code for size, code in zip(shape, codes, strict=True)]
        return ProductQuery(self.universe, axes, name or "total", masks=masks)

    def table(self, answers: Array, place: int) -> Array:
        """Return the part of some answers that belongs to one table, as an array over its attributes."""
        return self.tables.part(np.asarray(answers), checks.index(len(self.sets), place=place))

    def _from_tables(self, vector: Array) -> Array:
        return vector

    def _to_tables(self, vector: Array) -> Array:
        return vector

    def closed_form(self, *, replaced: bool, power: int) -> int:
        """Return the number of tables; twice those with two cells or more where a row is replaced."""
        del power
        return 2 * sum(map(self._varies, self.sets)) if replaced else len(self.sets)

    @property
    def is_uniform(self) -> bool:
        """Whether all columns have the same norm: every one does."""
        return True

    def classes(self) -> list[Array]:
        """Return labels: the attributes of some table tell all their values apart."""
        used = set().union(*self.sets)
        return [
            np.arange(n) if axis in used else np.zeros(n, int) for axis, n in enumerate(self.universe.shape)
        ]

    def extents(self) -> Iterable[tuple[Any, Any]]:
        """List the extents: only the cell of a table of one cell is 1 everywhere."""
        return {(0 if self._varies(axes) else 1, 1) for axes in self.sets}

    def _varies(self, axes: Axes) -> bool:
        return math.prod(self.universe.shape[axis] for axis in axes) > 1
