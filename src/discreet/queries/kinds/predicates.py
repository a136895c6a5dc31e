"""Arbitrary predicates, as functions or as masks."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.queries.kinds.weighted import arrange
from discreet.queries.query import Predicate, PredicateQuery, TableQuery, read_array
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries


class Predicates(Queries):
    """Rows for which a predicate of some attributes holds.

    Parameters
    ----------
    predicates
        Pairs of a list of names and either a function or an array of booleans. A function takes one array
        of codes a name, all of one length, and returns one boolean a row; it must look at nothing else, and
        is asked here about all combinations of codes, never later. An array has one axis a name. Name only
        the attributes that matter: the cost grows with them.

    >>> universe = Universe([("age", range(100)), ("children", range(10))])
    >>> odd = Predicates(universe, [(["age", "children"], lambda age, children: children > age)])
    >>> odd.query(0).table().sum()
    np.int64(45)
    """

    __slots__ = ()

    def __init__(self, universe: Universe, predicates: Iterable[tuple[Iterable[str], Any]]) -> None:
        listed = [_make_query(universe, i, names, holds) for i, (names, holds) in enumerate(predicates)]
        super().__init__(universe, listed)


def _make_query(universe: Universe, index: int, given: Iterable[str], holds: Any) -> TableQuery:
    names = given if isinstance(given, str) else tuple(given)  # a text is refused by the universe
    name = f"predicate {index} of {', '.join(names)}"
    if callable(holds):
        axes = universe.axes(names)
        places = [axes.index(universe.axis(each)) for each in names]
        held = PredicateQuery(universe, axes, name, holds=_reorder(holds, places))
        # The function is asked now, before there are any data, and forgotten.
        return TableQuery(universe, axes, name, table=held.table())
    axes, mask = arrange(universe, names, read_array(holds, name))
    if mask.dtype != np.bool_:
        raise InvalidParameter(name=name, rule="a function or an array of booleans", value=mask.dtype)
    return TableQuery(universe, axes, name, table=mask)


def _reorder(holds: Callable[..., Any], places: list[int]) -> Predicate:
    def ask(*columns: Any) -> Any:
        return holds(*(columns[place] for place in places))

    return ask
