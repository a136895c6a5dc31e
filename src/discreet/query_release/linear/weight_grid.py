"""Queries with real weights as queries with whole ones, in units of a grid, and their sensitivity."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Neighbours
from discreet.queries.query import LARGEST, TableQuery
from discreet.queries.workload import Queries, Workload


@lru_cache(maxsize=256)
def sensitivity_of(workload: Workload, neighbours: Neighbours, norm: float) -> Fraction:
    """Return the workload's sensitivity, or a bound on it; kept, since the search for it may take seconds."""
    return workload.sensitivity_bound(neighbours, norm=norm)


@lru_cache(maxsize=64)
def on_grid(workload: Workload, grid: Fraction | None) -> Workload:
    """Return the workload with its weights in whole units of the grid, rounded to the nearest.

    Queries are public, so rounding their weights touches no data: the answers are those of other queries, off
    by at most half a unit a row, and exact.
    """
    if grid is None:
        if not workload.is_integral:
            raise InvalidParameter(
                name="grid",
                rule="given where weights are not whole numbers",
                value=None,
                hint="Pass the unit that weights are rounded to, such as 0.01",
            )
        return workload
    if workload.largest_weight / grid > LARGEST:
        raise InvalidParameter(
            name="grid", rule=f"so coarse that no weight has more than {LARGEST} units", value=float(grid)
        )
    rounded = [
        TableQuery(
            workload.universe,
            query.axes,
            query.name,
            table=np.rint(query.table() / float(grid)).astype(np.int64),
        )
        for query in workload
    ]
    return Queries(workload.universe, rounded)
