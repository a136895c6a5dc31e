"""The door for queries: what callers hand in becomes plain data here; whatever reads data takes only that.

A subclass could claim any sensitivity, an attribute could hide a method, a function could weigh cells
otherwise once it was checked, and a list could grow. So nothing that arrives is kept. A query of a kind that
is known is made anew from its fields, each read once and checked; of any other the weights are asked for, all
of them, and listed. All code of the caller's runs here, before any data are read, and never again.
"""

from __future__ import annotations

import math
from weakref import WeakKeyDictionary, WeakSet

from discreet.core.errors import InvalidParameter, Refused
from discreet.core.fixed import seal
from discreet.queries.kinds.conjunctions import Conjunctions, Disjunctions
from discreet.queries.kinds.groups import Groups
from discreet.queries.kinds.halfspaces import HalfspaceQuery, Halfspaces
from discreet.queries.kinds.marginals import Marginals
from discreet.queries.kinds.matrix import Matrix, SparseQuery
from discreet.queries.kinds.parities import Parities, ParityQuery
from discreet.queries.kinds.predicates import Predicates
from discreet.queries.kinds.prefixes import Prefixes
from discreet.queries.kinds.rectangles import Ranges, Rectangles
from discreet.queries.kinds.union import Union
from discreet.queries.kinds.weighted import Weighted
from discreet.queries.query import (
    LinearQuery,
    ProductQuery,
    TableQuery,
    read_axes,
    read_name,
    require_table,
)
from discreet.queries.universe import Attribute, Universe
from discreet.queries.workload import Queries, Workload

# Closed: these classes and none that is derived from them. Each `restate` reads its own fields only.
_QUERIES = (ProductQuery, TableQuery, ParityQuery, SparseQuery, HalfspaceQuery)
_STRUCTURED = (
    Marginals,
    Groups,
    Prefixes,
    Rectangles,
    Ranges,
    Conjunctions,
    Disjunctions,
    Parities,
    Matrix,
)
_COMPOUND = (Queries, Predicates, Weighted, Halfspaces, Union)

_LISTED = 1 << 27  # weights of all queries of a workload of another kind together
_FEWEST = 128  # weights that a query is counted as at least: it takes memory even with one

_made: WeakSet[Workload] = WeakSet()  # what this door made, which nobody can change
_known: WeakKeyDictionary[Workload, Workload] = WeakKeyDictionary()  # of which it made what


def write_query(query: LinearQuery, universe: Universe | None = None) -> LinearQuery:
    """Return the same query as plain data.

    Parameters
    ----------
    query
        A linear query of any kind.
    universe
        What it must be over; the written query is over this very one. Its own where left out.
    """
    kind = type(query)  # not __class__, which may say anything
    if not issubclass(kind, LinearQuery):
        raise _no_instance("query", LinearQuery, kind)
    return _write(query, _share_universe(query.universe, universe, "query"))


def write_workload(workload: Workload, universe: Universe | None = None) -> Workload:
    """Return the same queries as plain data.

    One workload of a known kind is written down once: two mechanisms for it are for the very same queries.

    Parameters
    ----------
    workload
        Linear queries of any kinds.
    universe
        What they must be over; the written ones are over this very one. Their own where left out.
    """
    kind = type(workload)
    if not issubclass(kind, Workload):
        raise _no_instance("workload", Workload, kind)
    if kind not in _STRUCTURED + _COMPOUND:
        return _remember(_write_all(workload, _share_universe(workload.universe, universe, "workload")))
    # Workloads of these kinds are equal to themselves alone.
    found = workload if workload in _made else _known.get(workload)
    if found is None:
        found = _remember(_write_all(workload, _share_universe(workload.universe, None, "workload")))
        _known[workload] = found
    shared = _share_universe(found.universe, universe, "workload")
    return found if shared is found.universe else _remember(_write_all(found, shared))


def _remember(workload: Workload) -> Workload:
    seal(workload)  # whichever way it was made: it is believed from here on
    _made.add(workload)
    return workload


def _write(query: LinearQuery, universe: Universe) -> LinearQuery:
    kind = type(query)
    if kind in _QUERIES:
        return query.restate(universe)  # type: ignore[attr-defined,no-any-return]
    name = read_name(query.name)
    axes = read_axes(query.axes, universe, name)
    require_table(universe, axes, name)
    return TableQuery(universe, axes, name, table=query.table())


def _write_all(workload: Workload, universe: Universe) -> Workload:
    kind = type(workload)
    if kind in _STRUCTURED:
        return workload.restate(universe)  # type: ignore[attr-defined,no-any-return]
    if kind is Union:
        return Union([write_workload(part, universe) for part in workload.parts], workload.weights)  # type: ignore[attr-defined]
    queries, room = [], math.inf if kind in _COMPOUND else _LISTED
    for query in workload:
        queries.append(write_query(query, universe))
        room -= max(_FEWEST, math.prod(queries[-1].shape))
        if room < 0:
            raise Refused(
                what=f"a workload of the unknown kind {kind.__name__}",
                why=f"its weights are listed one by one, and there are more than {_LISTED}",
                way_out="Use the kinds of discreet.queries: Marginals, Conjunctions, Matrix and others",
            )
    # Of what is a list all the same only halfspaces say more than the list does.
    halfspaces = kind is Halfspaces and all(type(query) is HalfspaceQuery for query in queries)
    return Halfspaces.of(universe, queries) if halfspaces else Queries(universe, queries)


def _share_universe(own: Universe, wanted: Universe | None, name: str) -> Universe:
    """Return the universe that a query is written over: the wanted one, which must equal its own."""
    if wanted is None:
        return _check_universe(own)
    if own is not wanted and (type(own) is not Universe or own != wanted):
        raise InvalidParameter(name=name, rule="over the universe that is asked about", got="another")
    return wanted


def _check_universe(universe: Universe) -> Universe:
    """Return a universe whose sizes must be those of its attributes."""
    if type(universe) is Universe:
        sizes = [len(each.values) for each in universe.attributes if type(each) is Attribute]
        said = (*universe.shape, universe.size)
        if all(type(size) is int for size in said) and said == (*sizes, math.prod(sizes)):
            return universe
    raise _no_instance("universe", Universe, type(universe))


def _no_instance(name: str, kind: type, got: type) -> InvalidParameter:
    hint = getattr(kind, "way_out", "")
    return InvalidParameter(
        name=name, rule=f"an instance of {kind.__name__}", got=f"a {got.__name__}", hint=hint
    )
