"""What engines answer, put into the order of the declared groups: how tests read the queries of a plan."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from discreet.core.errors import InternalError
from discreet.data.engines.rendering.render import EngineQuery
from discreet.data.plan.keys import list_groups
from discreet.data.plan.row_nodes import TRUE, Condition
from discreet.data.plan.tables import PlanTables
from discreet.data.schema.columns import Code


def fill(
    query: EngineQuery,
    rows: Iterable[tuple[Code | None, ...]],
    tables: PlanTables,
    where: Condition = TRUE,
) -> list[tuple[tuple[Code, ...], tuple[int, ...]]]:
    """Return one entry per declared group in declared order, zero where the engine found nothing.

    The keys of the result depend on the schema alone: a group that is only in the data is left out.
    """
    if query.measures[0].kind == "histogram":
        raise InternalError("the rows of a histogram are read by `histograms`")
    width = len(query.keys)
    found = {tuple(row[:width]): tuple(int(cell or 0) for cell in row[width:]) for row in rows}
    nothing = (0,) * len(query.measures)
    return [(group, found.get(group, nothing)) for group in _groups(query, tables, where)]


def histograms(
    query: EngineQuery,
    rows: Iterable[tuple[Code | None, ...]],
    tables: PlanTables,
    where: Condition = TRUE,
) -> list[tuple[tuple[Code, ...], dict[int, int]]]:
    """Return, for every declared group in declared order, how many rows have which value (in steps)."""
    width = len(query.keys)
    found: dict[tuple[Code | None, ...], dict[int, int]] = {}
    for row in rows:
        found.setdefault(tuple(row[:width]), {})[int(row[width] or 0)] = int(row[width + 1] or 0)
    return [(group, found.get(group, {})) for group in _groups(query, tables, where)]


def _groups(query: EngineQuery, tables: PlanTables, where: Condition) -> Iterable[tuple[Code, ...]]:
    return itertools.product(*(list_groups(key, where, tables) for key in query.keys))
