"""Plans of every shape, made from the plan's own node types.

Each maker of `plan_makers` fills every field of its dataclass, and says so: a new field stops the generator.
Kinds and signs are drawn from the `Literal`s, conditions from the union they are declared as. There is a plan
for each kind of unit and change, with each aggregate, with each option and clause; what else it has is drawn.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, get_args

from plan_makers import Maker
from plan_schemas import CHANGES, DELTA, MOST, OF_COLUMNS, PURE, UNITS, ZONES, Draw, schemas

from discreet.core.errors import Refused
from discreet.data import (
    Row,
    User,
)
from discreet.data.ask import plan_question
from discreet.data.plan.derived import relate
from discreet.data.plan.key_nodes import ComputedKey
from discreet.data.plan.keys import cells_of
from discreet.data.plan.kinds import Kind
from discreet.data.plan.nodes import After, Computed, Join, Plan, Windowed
from discreet.data.plan.row_nodes import FALSE, TRUE, Choice, Field, Quotient, StepFunction
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing.pairs import PAIRS
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.sql.printing import to_sql

__all__ = ["CASES", "CHANGES", "DELTA", "PURE", "UNITS", "ZONES", "Case", "prepared_plans", "schemas"]

CLAUSES = (
    "plain",
    "where",
    "group",
    "text group",
    "sets",
    "public join",
    "left join",
    "private join",
    "self join",
    "units",
    "row bounds",
    "group bounds",
    "epsilon",
    "delta",
    "max_rows",
    "max_groups",
    "steps",
    "choice",
    "quotient",
    "computed key",
    "computed",
    "after",
    "union",
    "window",
)
"""What a plan may have beside its aggregates: each is forced in its turn, and drawn now and then."""


def possible(unit: Row | User, kind: Kind, clause: str) -> bool:
    """Say whether the language has a clause for an aggregate of tables of a unit."""
    if isinstance(unit, Row) and (
        kind == "count_units" or clause in ("private join", "self join", "units", "max_rows", "max_groups")
    ):
        return False
    if clause in ("steps", "choice", "quotient") and kind in ("count_units", "mode"):
        return False
    if clause == "row bounds":
        return kind not in ("count", "count_units", *OF_COLUMNS, *PAIRS)
    # A count of one row is 0 or 1: a bound would say nothing.
    return clause != "group bounds" or kind in ("sum", "average") or (kind == "count" and unit != Row())


Case = tuple[Row | User, Any, Kind, str]
CASES: tuple[Case, ...] = tuple(
    case
    for case in itertools.product(UNITS, CHANGES, get_args(Kind), CLAUSES)
    if possible(case[0], case[2], case[3])
)


def prepared_plans(seed: int, cases: Iterable[Case] = CASES) -> Iterator[tuple[Case, QuestionPlan]]:
    """One plan for each unit, change, aggregate and clause."""
    for place, case in enumerate(CASES):
        if case in cases:
            yield case, _prepared(seed * len(CASES) + place, *case)


def _prepared(seed: int, unit: Row | User, change: Any, kind: Kind, clause: str) -> QuestionPlan:
    """Make plans until the language takes one, with its clause."""
    tables = PlanTables.of(schemas(unit, change))
    for attempt in range(200):
        draw = Draw(seed * 1_000 + attempt)
        policy = DELTA if clause in ("text group", "delta") or draw.once_in(3) else PURE
        try:
            plan = Maker(draw, tables, clause).plan(kind, text=policy.delta > 0)
            found = plan_question(to_sql(plan, tables), schemas=tables, policy=policy)
        except Refused:
            continue
        if _has(found.question, clause) and _cells(found.question, tables) <= MOST:
            return found
    raise AssertionError(f"no plan is accepted for {unit}, {change}, {kind}, {clause}")


def _has(plan: Plan, clause: str) -> bool:
    """Say whether a plan has a clause once it was parsed."""
    return {
        "plain": True,
        "where": plan.where not in (TRUE, FALSE),
        "group": bool(plan.keys),
        "text group": Field("events", "note") in plan.keys,
        "sets": len(plan.sets) > 1,
        "public join": any(join.table == "zones" for join in _joins(plan)),
        "left join": any(join.outer for join in _joins(plan)),
        "private join": any(join.table == "orders" for join in _joins(plan)),
        "self join": any(join.table == "events" for join in _joins(plan)),
        "units": plan.units is not None and bool(plan.units.values),
        "row bounds": any(one.row_bounds for one in plan.aggregates),
        # Where a row is the unit, and for averages, they are bounds on each row.
        "group bounds": any(one.group_bounds or one.row_bounds for one in plan.aggregates),
        "epsilon": plan.options.epsilon is not None,
        "delta": plan.options.delta is not None,
        "max_rows": plan.options.max_rows is not None,
        "max_groups": plan.options.max_groups is not None,
        "steps": StepFunction in _atoms(plan),
        "choice": Choice in _atoms(plan),
        "quotient": Quotient in _atoms(plan),
        "computed key": any(isinstance(key, ComputedKey) for key in plan.keys),
        "computed": any(isinstance(output.what, Computed) for output in plan.outputs),
        "after": plan.after != After(),
        "union": len(plan.branches) > 1,
        "window": any(isinstance(output.what, Windowed) for output in plan.outputs),
    }[clause]


def _atoms(plan: Plan) -> set[type]:
    """What the numbers of a plan's aggregates are computed from."""
    numbers = (one.number for one in plan.aggregates if one.number is not None)
    return {type(atom) for number in numbers for atom in number.atoms}


def _joins(plan: Plan) -> tuple[Join, ...]:
    return plan.joins if plan.units is None else plan.units.joins


def _cells(plan: Plan, tables: PlanTables) -> int:
    """How many declared groups a plan has, all sets together."""
    tables = relate(plan, tables)
    return sum(cells_of(keys, tables, plan.where) or 1 for keys in plan.sets)
