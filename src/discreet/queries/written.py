"""Queries of people who are not believed: weights, written down once, and nothing else.

A subclass could claim any sensitivity, and a function could weigh cells otherwise once it was checked. So
whatever is code of the asker's is run here, before any data are read, and never again.
"""

from __future__ import annotations

from discreet.queries.conjunctions import Conjunctions, Disjunctions
from discreet.queries.marginals import Marginals
from discreet.queries.matrix import Matrix, SparseQuery
from discreet.queries.parities import Parities, ParityQuery
from discreet.queries.prefixes import Prefixes
from discreet.queries.query import LinearQuery, ProductQuery, TableQuery
from discreet.queries.rectangles import Ranges, Rectangles
from discreet.queries.universe import Universe
from discreet.queries.workload import Queries, Workload

_WORKLOADS = (Marginals, Prefixes, Rectangles, Ranges, Conjunctions, Disjunctions, Parities, Matrix)
_QUERIES = (TableQuery, ProductQuery, ParityQuery, SparseQuery)


def written_down(workload: Workload) -> Workload:
    """Return the same queries in kinds that are weights and nothing else."""
    if type(workload) in _WORKLOADS:
        return workload
    return Queries(workload.universe, [written(query) for query in workload])


def written(query: LinearQuery) -> LinearQuery:
    """Return the same query as a kind that is weights and nothing else."""
    if type(query) in _QUERIES:
        return query
    require_table(query.universe, query.axes)
    return TableQuery(query.universe, query.axes, query.name, table=query.table())


def require_table(universe: Universe, axes: tuple[int, ...]) -> None:
    """Raise unless a table over some axes fits in memory."""
    if axes:  # the count of all rows has none
        universe.project([universe.names[axis] for axis in axes]).require_dense()
