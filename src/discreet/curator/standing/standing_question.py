"""What may stand over time: counts of rows by the day, week or month of the declared time column."""

from __future__ import annotations

import datetime
from dataclasses import dataclass, replace
from fractions import Fraction

from discreet.core.errors import InternalError, Refused
from discreet.data.ask import price_plan
from discreet.data.plan.evaluate import ABSENT
from discreet.data.plan.facts import VectorSensitivity
from discreet.data.plan.key_nodes import ComputedKey, Key
from discreet.data.plan.keys import list_groups, name_group
from discreet.data.plan.nodes import After, Aggregate, Options, Ordering, Output, Plan, Policy, Windowed
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.plan.tabulate import MAX_TABULATED, tabulate
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.schema.columns import Code
from discreet.data.schema.schema import Date, Row
from discreet.data.sql.printing import to_sql

PERIODS = 10_000
"""The most days, weeks or months that a question may stand for."""

_WHAT = "a standing question"
_SHAPE = (
    "Write SELECT day, COUNT(*) FROM ... GROUP BY day for the count of every day, or "
    "SUM(COUNT(*)) OVER (ORDER BY day) for the count of all days so far"
)


@dataclass(frozen=True, slots=True)
class StandingQuestion:
    """A question that stands, read from SQL.

    Attributes
    ----------
    text
        The question in canonical form.
    plan
        What is read for it: a count for every period. Its noise is not the question's.
    periods, ends
        What the periods are called by, in order, and the last declared day in each.
    is_running
        Whether it asks for the count of all periods so far, not for that of each.
    sensitivity
        How far one unit moves the counts of all periods.
    clock
        The time column as it is declared: it decides in which period a row is.
    """

    text: str
    plan: QuestionPlan
    periods: tuple[datetime.date, ...]
    ends: tuple[datetime.date, ...]
    is_running: bool
    sensitivity: VectorSensitivity
    clock: Date

    def count_over(self, today: datetime.date) -> int:
        """Return how many periods ended before a day."""
        return sum(end < today for end in self.ends)

    def count_through(self, day: datetime.date) -> int:
        """Return how many periods begin no later than a day."""
        return sum(first <= day for first in self.periods)


def read_standing(plan: Plan, tables: PlanTables) -> StandingQuestion:
    """Read a question as one that stands.

    Raises
    ------
    Refused
        For anything that is no count by a period of the time column. Nothing was read or charged.
    """
    schema = tables.schema(plan.table)
    if schema.time is None:
        raise _refuse(
            f"no time column of {schema.name} is declared",
            'Ask the owner to declare one (time = "day" in the schema), or ask the question by itself',
        )
    if not isinstance(schema.unit, Row):
        raise _refuse(
            f"which rows of one {schema.unit.name} count is chosen anew whenever the table is opened",
            "Ask the question by itself",
        )
    if (
        plan.joins
        or plan.units is not None
        or plan.branches
        or len(plan.sets) != 1
        or plan.options != Options()
    ):
        raise _refuse("it counts rows of one table, with one GROUP BY and no options", _SHAPE)
    key, aggregate, is_running = _read_outputs(plan)
    fields = (key,) if isinstance(key, Field) else key.number.fields
    if fields != (Field(schema.name, schema.time),):
        raise _refuse(f"it must be grouped by {schema.time}, or by a week or month of it", _SHAPE)
    order = (Ordering(key, descending=False, missing_first=True),)
    if replace(plan.after, order=()) != After() or [one.what for one in plan.after.order] not in ([], [key]):
        raise _refuse("HAVING, LIMIT, QUALIFY and other orders look at one answer", _SHAPE)
    if plan.after.order and plan.after.order[0].descending:
        raise _refuse("it is answered in the order of time", f"Order by {schema.time}, or not at all")
    name = next(one.name for one in plan.outputs if one.what != key)
    daily = replace(plan, outputs=(Output("period", key), Output(name, aggregate)), after=After(order=order))
    return _plan_reading(to_sql(plan, tables), daily, tables, key, is_running)


def _read_outputs(plan: Plan) -> tuple[Key, Aggregate, bool]:
    """Return the period, what is counted in it, and whether that is added up over all periods so far."""
    keys = plan.sets[0]
    others = [one.what for one in plan.outputs if one.what not in keys]
    if len(keys) != 1 or len(others) != 1 or len(plan.outputs) != 2:
        raise _refuse("it asks for a period and one number", _SHAPE)
    (key,), (asked,) = keys, others
    is_running = isinstance(asked, Windowed) and _adds_up(asked, key)
    counted = asked.what if isinstance(asked, Windowed) and is_running else asked
    if not isinstance(counted, Aggregate) or counted.kind != "count" or counted.group_bounds is not None:
        raise _refuse("its number must be a count of rows, or the sum of these so far", _SHAPE)
    return key, counted, is_running


def _adds_up(window: Windowed, key: Key) -> bool:
    by_time = [(one.what, one.descending) for one in window.order] == [(key, False)]
    whole = window.frame in (None, (None, 0)) and not window.partition
    return window.function == "sum" and by_time and whole


def _plan_reading(text: str, daily: Plan, tables: PlanTables, key: Key, is_running: bool) -> StandingQuestion:
    # What it is priced at here is of no account: the noise of a standing question is its own.
    plan = price_plan(daily, tables, Policy(epsilon=Fraction(1), delta=Fraction(0)))
    codes = list_groups(key, daily.where, tables)
    if isinstance(key, ComputedKey) and key.kind != "date":
        raise _refuse("it must be grouped by days, weeks or months, not by numbers of them", _SHAPE)
    if not 1 <= len(codes) <= PERIODS:
        raise _refuse(
            f"it would stand for {len(codes)} periods; {PERIODS} is the most",
            "Group by week or month, or say by WHERE which days it is about",
        )
    ((_, sensitivity),) = plan.budget.facts.sets[0].measures
    days, ends = _name_days(codes, key, tables), _find_ends(codes, key, tables)
    if list(days) != sorted(days) or list(ends) != sorted(set(ends)):
        raise _refuse("its periods are not in the order of time", _SHAPE)
    return StandingQuestion(text, plan, days, ends, is_running, sensitivity, _find_clock(key, tables))


def _find_clock(key: Key, tables: PlanTables) -> Date:
    (field,) = (key,) if isinstance(key, Field) else key.number.fields
    column = tables.column(field)
    if not isinstance(column, Date):
        raise InternalError(f"{field.name} is no date")
    return column


def _name_days(codes: tuple[Code, ...], key: Key, tables: PlanTables) -> tuple[datetime.date, ...]:
    try:
        return tuple(name_group(key, code, tables) for code in codes)  # type: ignore[misc]
    except (ValueError, OverflowError):
        raise _refuse("some of its periods are called by days beyond the calendar", _SHAPE) from None


def _find_ends(codes: tuple[Code, ...], key: Key, tables: PlanTables) -> tuple[datetime.date, ...]:
    """Return the last declared day in each period, whatever the period is called."""
    clock = _find_clock(key, tables)
    if isinstance(key, Field):
        return tuple(clock.decode(code) for code in codes)  # type: ignore[misc]
    listed = tabulate(key.number, tables)
    if listed is None:
        raise _refuse(
            f"{clock.name} is declared over more than {MAX_TABULATED} days",
            f"Group by {clock.name} itself, and say by WHERE which days it is about",
        )
    if listed.missing != ABSENT and clock.nullable:  # a date that is filled in would be a second period
        raise _refuse("rows without a date are in no period", _SHAPE)
    last = {period: day for day, period in enumerate(listed.values.tolist(), listed.first)}
    return tuple(clock.decode(last[int(code)]) for code in codes)  # type: ignore[misc]


def _refuse(why: str, way_out: str) -> Refused:
    return Refused(what=_WHAT, why=why, way_out=way_out)
