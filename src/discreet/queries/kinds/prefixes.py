"""Prefixes: how many rows have at most a value, for every value of an ordered attribute."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from itertools import accumulate
from typing import Any

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.fixed import Array
from discreet.queries.query import ProductQuery, read_axes
from discreet.queries.universe import Universe
from discreet.queries.workload import Tabled


class Prefixes(Tabled):
    """For each of some attributes and each of its values: the rows at or before it, in declared order.

    Sensitivity: a row with an attribute's first value is in all of its prefixes.

    Parameters
    ----------
    attributes
        Names; the values are taken in the order they are declared in.

    >>> ages = Prefixes(Universe([("age", range(4))]), ["age"])
    >>> ages.answers(np.array([5, 1, 0, 2])).tolist()
    [5, 6, 6, 8]
    """

    __slots__ = ("_offsets", "_sizes")

    def __init__(self, universe: Universe, attributes: Iterable[str]) -> None:
        super().__init__(universe)
        self.sets = tuple((axis,) for axis in universe.axes(attributes))
        if not self.sets:
            raise InvalidParameter(name="attributes", rule="a list of at least one name", value=())
        self._sizes = tuple(universe.shape[axis] for (axis,) in self.sets)
        self._offsets = (0, *accumulate(self._sizes))

    def restate(self, universe: Universe) -> Prefixes:
        """Return the same prefixes over a universe, made anew from their attributes."""
        axes = read_axes((axis for (axis,) in self.sets), universe, "attributes")
        return Prefixes(universe, [universe.names[axis] for axis in axes])

    def __len__(self) -> int:
        return self._offsets[-1]

    def _query(self, index: int) -> ProductQuery:
        place = bisect_right(self._offsets, index) - 1
        (axis,) = self.sets[place]
        last = index - self._offsets[place]
        attribute = self.universe.attributes[axis]
        mask = np.arange(attribute.size) <= last
        name = f"{attribute.name}<={attribute.values[last]!r}"
        return ProductQuery(self.universe, (axis,), name, masks=[mask])

    def _from_tables(self, vector: Array) -> Array:
        return np.concatenate([np.cumsum(part) for part in self._parts(vector)])

    def _to_tables(self, vector: Array) -> Array:
        return np.concatenate([np.cumsum(part[::-1])[::-1] for part in self._parts(vector)])

    def _parts(self, vector: Array) -> list[Array]:
        return np.split(vector, self._offsets[1:-1])

    def closed_form(self, *, replaced: bool, power: int) -> int:
        """Return the number of prefixes, or of those that tell the first value from the last."""
        del power
        return sum(size - replaced for size in self._sizes)

    def extents(self) -> Iterable[tuple[Any, Any]]:
        """List the extents: the last prefix of an attribute is 1 everywhere."""
        return [(0, 1), (1, 1)] if max(self._sizes) > 1 else [(1, 1)]
