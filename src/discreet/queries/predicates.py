"""Arbitrary predicates, as functions or as masks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.queries.query import LinearQuery, Predicate, PredicateQuery, TableQuery
from discreet.queries.universe import Universe
from discreet.queries.weighted import arranged
from discreet.queries.workload import Queries


class Predicates(Queries):
    """Rows for which a predicate of some attributes holds.

    Parameters
    ----------
    predicates
        Pairs of a list of names and either a function or an array of booleans. A function takes one array
        of codes a name, all of one length, and returns one boolean a row; it must look at nothing else. An
        array has one axis a name. Name only the attributes that matter: the cost grows with them.

    >>> universe = Universe([("age", range(100)), ("children", range(10))])
    >>> odd = Predicates(universe, [(["age", "children"], lambda age, children: children > age)])
    >>> odd.query(0).table().sum()
    np.int64(45)
    """

    def __init__(self, universe: Universe, predicates: Iterable[tuple[Sequence[str], Any]]) -> None:
        listed = [_made(universe, i, names, holds) for i, (names, holds) in enumerate(predicates)]
        super().__init__(universe, listed)


def _made(universe: Universe, index: int, names: Sequence[str], holds: Any) -> LinearQuery:
    name = f"predicate {index} of {', '.join(names)}"
    if callable(holds):
        axes = universe.axes(names)
        places = [axes.index(universe.axis(each)) for each in names]
        return PredicateQuery(universe, axes, name, holds=_reordered(holds, places))
    axes, mask = arranged(universe, names, np.asarray(holds))
    if mask.dtype != np.bool_:
        raise InvalidParameter(name=name, rule="a function or an array of booleans", value=mask.dtype)
    return TableQuery(universe, axes, name, table=mask)


def _reordered(holds: Callable[..., Any], places: list[int]) -> Predicate:
    def asked(*columns: Any) -> Any:
        return holds(*(columns[place] for place in places))

    return asked
