"""How near the number of rows so far can be told, day after day, by a counter of streams."""

from __future__ import annotations

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import Contribution, Replace
from discreet.data.schema.columns import Date
from discreet.data.schema.schema import Schema
from discreet.streams.elements import WholeElements
from discreet.streams.planning import CounterPlan, plan

MOST = 1 << 20
"""The most rows of one day that a planned counter takes for what they are."""


def plan_day_counts(schema: Schema, *, epsilon: checks.Number, delta: checks.Number) -> CounterPlan:
    """Plan a counter over the declared days of the time column: an element is the number of a day's rows.

    A unit's rows may lie on one day or on several: sums are then moved no further. Replacing a unit takes its
    rows from some days and puts as many on others.
    """
    days = [column for column in schema.columns if isinstance(column, Date) and column.name == schema.time]
    if not days:
        hint = 'Ask the owner to declare one, time = "day" in the schema, or plan a workload or questions'
        raise InvalidParameter(name=schema.name, rule="a table with a time column", got="none", hint=hint)
    (clock,) = days
    moved = schema.unit.max_rows * (2 if isinstance(schema.neighbours, Replace) else 1)
    return plan(
        (clock.upper - clock.lower).days + 1,
        epsilon,
        delta,
        Contribution(moved),
        elements=WholeElements(max(MOST, moved)),  # spread over days, a unit moves more than one of them can
    )
