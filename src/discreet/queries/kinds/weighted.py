"""Real-valued linear queries: a weight for each combination of values of a few attributes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from discreet.core.fixed import Array
from discreet.queries.query import Axes, TableQuery, read_array
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries


class Weighted(Queries):
    """Sums of weights: a row adds the weight of its values of some attributes.

    Whole weights keep whole answers; other weights are floats and taken as they are.

    Parameters
    ----------
    queries
        Pairs of a list of names and an array of weights with one axis a name, in the order of the names.

    >>> universe = Universe([("visits", (0, 1, 2, 5)), ("member", (False, True))])
    >>> Weighted(universe, [(["visits"], [0, 1, 2, 5])]).answers([[1, 0], [1, 1], [0, 0], [0, 2]]).tolist()
    [12]
    """

    __slots__ = ()

    def __init__(self, universe: Universe, queries: Iterable[tuple[Iterable[str], Any]]) -> None:
        super().__init__(universe, [_make_query(universe, *query) for query in queries])


def _make_query(universe: Universe, given: Iterable[str], weights: Any) -> TableQuery:
    names = given if isinstance(given, str) else tuple(given)  # a text is refused by the universe
    name = f"sum of weights over {', '.join(names)}"
    axes, table = arrange(universe, names, read_array(weights, name))
    return TableQuery(universe, axes, name, table=table)


def arrange(universe: Universe, names: Sequence[str], table: Array) -> tuple[Axes, Array]:
    """Return the axes of some names, ascending, and a table whose axes followed the names."""
    axes = universe.axes(names)
    order = [universe.axis(name) for name in names]
    if table.ndim == len(order):
        table = table.transpose([order.index(axis) for axis in axes])
    return axes, table
