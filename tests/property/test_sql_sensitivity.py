"""Brute force: no unit moves any exact answer by more than `facts` says, whatever the table and the query.

Tables are tiny and their users overlap; some users have far more rows than may count. Every neighbour is
run through the real engine and the vectors are compared entry by entry.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet import AddRemove, Replace
from discreet.core.errors import Refused
from discreet.data import Boolean, Category, Dimension, Identifier, Integer, Row, Schema, Text, User
from discreet.data.engines.bounding import bound_rows
from discreet.data.engines.duckdb import DuckDB
from discreet.data.engines.readings import RowReading
from discreet.data.engines.rendering.render import EngineQuery, render
from discreet.data.plan.facts import VectorSensitivity, facts
from discreet.data.plan.measures import Measure
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse

USERS = ("ann", "bob", "cay", "dan")
COLUMNS = ("who", "region", "x", "y", "flag", "note")
ZONES = Dimension(
    "zones",
    key="region",
    columns=(Category("region", values=("a", "b", "c")), Integer("weight", lower=-2, upper=2)),
)
Table = dict[str, list[tuple[Any, ...]]]


def schemas(unit: Row | User, kind: type[AddRemove] | type[Replace]) -> tuple[Schema, ...]:
    events = Schema(
        "events",
        columns=(
            Identifier("who"),
            Category("region", values=("a", "b", "c")),
            Integer("x", lower=-3, upper=4),
            Integer("y", lower=1, upper=3, null=1),
            Boolean("flag"),
            Text("note"),
        ),
        unit=unit,
        neighbours=kind(unit.name),
        dimensions=(ZONES,),
    )
    if isinstance(unit, Row):
        return (events,)
    orders = Schema(
        "orders",
        columns=(Identifier("who"), Integer("price", lower=0, upper=5)),
        unit=User(column="who", max_rows=2, max_groups=1),
        neighbours=kind("who"),
    )
    return events, orders


def missing_or(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.one_of(st.none(), values, values)


EVENT = st.tuples(
    missing_or(st.sampled_from("abc")),
    # Codes beyond the bounds stand for a loader that failed to clamp: sums must still hold.
    missing_or(st.integers(-3, 4) | st.sampled_from([-(10**6), 10**6])),
    st.integers(1, 3),
    missing_or(st.integers(0, 1)),
    missing_or(st.sampled_from(["p", "q"])),
)
HEAVY_ROWS = [("ann", (region, x, 3, 1, "p")) for region in "abc" for x in (4, -3)]
ROWS = st.builds(
    lambda heavy, rows: HEAVY_ROWS * heavy + rows,
    st.sampled_from([1, 1, 0]),
    st.lists(st.tuples(st.sampled_from(USERS), EVENT), max_size=9),
)
CALLS = (
    "COUNT(*)",
    "COUNT(x)",
    "SUM(x)",
    "SUM(y)",
    "SUM(x - 2 * y)",
    "SUM(x * y)",
    "AVG(x)",
    "VAR_POP(x)",
    "STDDEV(y)",
    "MEDIAN(x)",
    "APPROX_QUANTILES(y, 2)",
    "SUM(x, contribution_bounds_per_row => (-1, 2))",
    "SUM(x, contribution_bounds_per_row => (2, 4))",
    "AVG(x, contribution_bounds_per_group => (-1, 2))",
    *("COUNT(DISTINCT x)", "COUNT(DISTINCT flag)", "COUNT(DISTINCT region)", "COUNT(DISTINCT note)") * 2,
    "COUNT(region)",
    "COUNT(note)",
    "MODE(region)",
    "MODE(x)",
    "MAX(x)",
    "CORR(x, y)",
    "REGR_SLOPE(x, y)",
    "COVAR_POP(x, 2 * x - y)",
    "COUNTIF(x > 0)",
    "COUNT(*) FILTER (WHERE flag OR x > y)",
    "SUM(CASE WHEN flag THEN x WHEN x > y THEN -y END)",
    "SUM(CASE WHEN x > y THEN 5 END)",
    "AVG(ABS(x - y))",
    "SUM(FLOOR(x / y))",
    "AVG(y / NULLIF(x, 0))",
    "SUM(GREATEST(x, y)) FILTER (WHERE region <> 'a')",
    "SUM(flag)",
    "VAR_POP(COALESCE(x, y))",
    "MEDIAN(x % 3)",
)
USER_CALLS = (
    "COUNT(DISTINCT events.who)",
    "COUNT(*, contribution_bounds_per_group => (0, 1))",
    "COUNT(*, contribution_bounds_per_group => (2, 3))",
    "SUM(x, contribution_bounds_per_group => (-1, 5))",
    "SUM(x, contribution_bounds_per_group => (2, 5))",
    "SUM(y, contribution_bounds_per_group => (0, 4))",
    "COUNT(DISTINCT events.who) FILTER (WHERE x > 0)",
    "COUNT(DISTINCT CASE WHEN flag THEN events.who END)",
    "SUM(CASE WHEN x > y THEN x ELSE 1 END, contribution_bounds_per_group => (-1, 5))",
)
# What is listed often is where a missing bound would show: everything counts, by several groups.
CONDITIONS = (
    *("TRUE",) * 6,
    "x > 0",
    "NOT x > 0",
    "region IN ('a', 'b')",
    "region <> 'a' OR x IS NULL",
    "flag OR x > y",
    "x * x <= y",
    "ABS(x - y) <= 2 OR region LIKE '%c'",
    "note_free",
    "note LIKE 'p%' OR note IN ('q', 'r')",
    "note NOT ILIKE 'P' AND x > 0",
)
MEMBERS = (
    "events.who IN (SELECT who FROM orders WHERE price > 2)",
    "events.who NOT IN (SELECT who FROM events WHERE flag)",
    "EXISTS (SELECT 1 FROM events AS e WHERE e.who = events.who AND e.x > 3) OR x < 0",
    "events.who IN (SELECT who FROM events GROUP BY who HAVING SUM(x) > 2 OR COUNT(*) = 1)",
    "events.who NOT IN (SELECT who FROM orders WHERE price > 0 GROUP BY who HAVING AVG(price) < 3)",
)
"""What is asked of other rows of the same user."""
GROUPS = (
    "",
    *("region",) * 4,
    "region, flag",
    "y",
    "CUBE(region, flag)",
    "note",
    "ROLLUP(region, note)",
    "x",
    "FLOOR(x / 2)",
    "CASE WHEN x > y THEN 'more' WHEN flag THEN 'flag' END, flag",
    "x > 0, UPPER(region)",
    "note, x % 2",
)


@dataclass(frozen=True)
class Case:
    schemas: tuple[Schema, ...]
    plan: Plan
    text: str

    @cached_property
    def tables(self) -> PlanTables:
        return PlanTables.of(self.schemas)

    @cached_property
    def queries(self) -> list[tuple[EngineQuery, str]]:
        made = render(facts(self.plan, self.schemas))
        return [(query, query.tree.sql(dialect="duckdb", identify=True)) for query in made]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    kind = draw(st.sampled_from([AddRemove, Replace]))
    by_user = draw(st.integers(0, 3)) > 0
    unit = User(
        column="who", max_rows=draw(st.integers(1, 5)), max_groups=draw(st.sampled_from([1, 1, 2, 3]))
    )
    declared = schemas(unit if by_user else Row(), kind)
    calls = draw(st.lists(st.sampled_from(CALLS + (USER_CALLS if by_user else ())), min_size=1, max_size=3))
    joins = [" JOIN zones USING (region)"] + ([" JOIN orders USING (who)"] if by_user else [])
    join = "".join(j for j in joins if draw(st.integers(0, 3)) == 0)
    if "zones" in join:
        calls.append("SUM(weight * y)")
    if "orders" in join:
        calls.append("SUM(price)")
    where = draw(st.sampled_from(CONDITIONS + MEMBERS if by_user else CONDITIONS)).replace(
        "note_free", "y = 2 OR flag IS NULL"
    )
    group = draw(st.sampled_from(GROUPS))
    text = f"SELECT {', '.join(calls)} FROM events{join} WHERE {where}"
    text += f" GROUP BY {group}" if group else ""
    if by_user and draw(st.booleans()):
        options = f"OPTIONS(max_rows_contributed={draw(st.integers(1, unit.max_rows))})"
        text = text.replace("SELECT", f"SELECT WITH DIFFERENTIAL_PRIVACY {options}", 1)
    return Case(declared, _parsed(text, declared), text)


def _parsed(text: str, declared: tuple[Schema, ...]) -> Plan:
    policy = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))
    try:
        return parse(text, schemas=declared, policy=policy)
    except Refused as refusal:
        # Bounds on a unit's total need a unit with more than one row.
        if "contribution bounds" not in refusal.what:
            raise
        return parse("SELECT COUNT(*) FROM events", schemas=declared, policy=policy)


HASHES: Any = SimpleNamespace(hash_row=partial(DuckDB.hash_row, None))


class Engine:
    """DuckDB with the three relations, refilled for every table."""

    def __init__(self) -> None:
        self.connection = duckdb.connect(config={"threads": 1})
        types = {"events": "who TEXT, region TEXT, x BIGINT, y BIGINT, flag BIGINT, note TEXT"}
        types |= {"orders": "who TEXT, price BIGINT", "zones": "region TEXT, weight BIGINT"}
        for name, columns in types.items():
            self.connection.execute(f"CREATE TABLE {name if name == 'zones' else name + '_raw'} ({columns})")
        self.connection.execute("INSERT INTO zones VALUES ('a', -2), ('b', 1), ('c', NULL)")

    def vectors(self, case: Case, table: Table) -> dict[tuple[Any, Measure], dict[Any, int]]:
        for name in ("events", "orders"):
            self.connection.execute(f"DELETE FROM {name}_raw")
            if table[name]:
                # All test values are numbers, plain words and None, so their tuples read as SQL.
                rows = ", ".join(map(str, table[name])).replace("None", "NULL")
                self.connection.execute(f"INSERT INTO {name}_raw VALUES {rows}")
        for declared in case.schemas:
            codes = exp.select("*").from_(f"{declared.name}_raw")
            if isinstance(declared.unit, User):
                codes = codes.where(exp.column(declared.unit.column).is_(exp.null()).not_())
                read = bound_rows(HASHES, RowReading(codes, None), declared, key="00ff")
                assert read.users is not None
                codes = read.users.over(codes)
            text = codes.sql(dialect="duckdb", identify=True)
            self.connection.execute(f"CREATE OR REPLACE TABLE {declared.name} AS {text}")
        found: dict[tuple[Any, Measure], dict[Any, int]] = {}
        for query, text in case.queries:
            rows = self.connection.execute(text).fetchall()
            for place, measure in enumerate(query.measures):
                width = len(rows[0]) - len(query.measures) if rows else 0
                # What is chosen from are the declared values; others are dropped before.
                if measure.kind == "values":
                    codes = case.tables.column(measure.column).codes()
                    rows = [row for row in rows if row[width - 1] in codes]
                found[query.keys, measure] = {row[:width]: int(row[width + place]) for row in rows}
        return found


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.connection.close()


def difference(left: dict[Any, int], right: dict[Any, int]) -> VectorSensitivity:
    """The distances between two vectors, where a group that was not found counts as zeros."""
    gaps = [abs(left.get(key, 0) - right.get(key, 0)) for key in {*left, *right}]
    gaps = [gap for gap in gaps if gap]
    return VectorSensitivity(len(gaps), max(gaps, default=0), sum(gaps), sum(gap * gap for gap in gaps))


def fits(moved: VectorSensitivity, claimed: VectorSensitivity) -> bool:
    return all(getattr(moved, norm) <= getattr(claimed, norm) for norm in ("l0", "linf", "l1", "l2_squared"))


def neighbours_of(case: Case, table: Table, other: list[tuple[Any, ...]]) -> Iterator[Table]:
    """Tables one step away: a unit removed, or its rows exchanged for `other`."""
    schema = case.schemas[0]
    replace = isinstance(schema.neighbours, Replace)
    if isinstance(schema.unit, Row):
        for i in range(len(table["events"])):
            rest = table["events"][:i] + table["events"][i + 1 :]
            added = [("zed", *event) for event in other[:1]] if replace else []
            if len(added) == replace:
                yield {"events": rest + added, "orders": table["orders"]}
        return
    for user in sorted({row[0] for row in (*table["events"], *table["orders"])}):
        left = {name: [row for row in rows if row[0] != user] for name, rows in table.items()}
        if replace:
            left["events"] += [(user, *event) for event in other]
            left["orders"] += [(user, 5), (user, 0), (user, 3)][: len(other)]
        yield left


def worst(
    engine: Engine, case: Case, table: Table, other: list[tuple[Any, ...]]
) -> dict[Any, list[VectorSensitivity]]:
    before = engine.vectors(case, table)
    moved = defaultdict(list)
    for neighbour in neighbours_of(case, table, other):
        after = engine.vectors(case, neighbour)
        assert before.keys() == after.keys()
        for key in before:
            moved[key].append(difference(before[key], after[key]))
    return moved


@settings(max_examples=80, deadline=None)
@given(
    case=cases(),
    rows=ROWS,
    orders=st.lists(st.tuples(st.sampled_from(USERS), missing_or(st.integers(0, 5))), max_size=6),
    other=st.lists(EVENT, max_size=5),
)
def test_no_unit_moves_an_answer_further_than_stated(
    engine: Engine, case: Case, rows: list[Any], orders: list[Any], other: list[Any]
) -> None:
    table: Table = {"events": [(user, *event) for user, event in rows], "orders": orders}
    claimed = {
        (one.keys, measure): sensitivity
        for one in facts(case.plan, case.schemas).sets
        for measure, sensitivity in one.measures
    }
    moved = worst(engine, case, table, other)
    for key, listed in moved.items():
        for found in listed:
            assert fits(found, claimed[key]), (case.text, key, found, claimed[key])


HEAVY: Table = {
    "events": [("ann", region, x, 3, 1, "p") for region in "abc" for x in (4, 4, 4, -3, -3, -3)]
    + [("bob", region, 4, 3, 1, "p") for region in "abc"],
    "orders": [],
}


@pytest.mark.parametrize(
    ("unit", "kind", "call", "group", "norms"),
    [
        (Row(), AddRemove, "COUNT(*)", "region", ("l0", "linf", "l1", "l2_squared")),
        (Row(), AddRemove, "SUM(x)", "region", ("l0", "linf", "l1", "l2_squared")),
        (Row(), Replace, "COUNT(*)", "region", ("l0", "linf", "l1", "l2_squared")),
        (Row(), Replace, "SUM(x)", "", ("l0", "linf", "l1", "l2_squared")),
        (
            User(column="who", max_rows=2, max_groups=2),
            AddRemove,
            "COUNT(*)",
            "",
            ("linf", "l1", "l2_squared"),
        ),
        (
            User(column="who", max_rows=9, max_groups=2),
            AddRemove,
            "COUNT(DISTINCT who)",
            "region",
            ("l0", "linf", "l1"),
        ),
        (
            User(column="who", max_rows=9, max_groups=2),
            AddRemove,
            "SUM(x, contribution_bounds_per_group => (0, 2))",
            "region",
            ("l0", "linf", "l1", "l2_squared"),
        ),
    ],
)
def test_the_statement_is_reached_and_less_would_be_wrong(  # noqa: PLR0917
    engine: Engine, unit: Row | User, kind: Any, call: str, group: str, norms: tuple[str, ...]
) -> None:
    declared = schemas(unit, kind)
    where = "WHERE x > 0 OR region = 'b'" if "SUM" not in call or "=>" in call else ""
    text = f"SELECT {call} FROM events {where}" + (f" GROUP BY {group}" if group else "")
    case = Case(declared, _parsed(text, declared), text)
    # A row (or user) far away from each of those that leave.
    other = [("c", -3, 1, 0, "q")] if group == "" else [("b", -3, 3, 1, "p")]
    ((key, listed),) = worst(engine, case, HEAVY, other).items()
    ((_, claimed),) = facts(case.plan, declared).sets[0].measures
    for norm in norms:
        reached = max(getattr(one, norm) for one in listed)
        assert reached == getattr(claimed, norm), (norm, key)
    smaller = VectorSensitivity(claimed.l0, claimed.linf - 1, claimed.l1 - 1, claimed.l2_squared - 1)
    assert not all(fits(one, smaller) for one in listed)


def test_bounding_depends_on_nobody_else(engine: Engine) -> None:
    """What is kept of one user is the same whoever else is there, in any order of rows."""
    declared = schemas(User(column="who", max_rows=3, max_groups=1), AddRemove)
    case = Case(declared, _parsed("SELECT MEDIAN(x), SUM(y) FROM events GROUP BY region", declared), "")
    ann = [row for row in HEAVY["events"] if row[0] == "ann"]
    alone = engine.vectors(case, {"events": ann, "orders": []})
    assert engine.vectors(case, {"events": ann[::-1], "orders": []}) == alone
    both = engine.vectors(case, HEAVY)
    bob = engine.vectors(case, {"events": [r for r in HEAVY["events"] if r[0] == "bob"], "orders": []})
    for key in alone:
        for group in {*alone[key], *bob[key], *both[key]}:
            assert both[key].get(group, 0) == alone[key].get(group, 0) + bob[key].get(group, 0)


def test_rows_without_an_owner_count_for_nobody(engine: Engine) -> None:
    declared = schemas(User(column="who", max_rows=3, max_groups=1), AddRemove)
    case = Case(declared, _parsed("SELECT COUNT(*) FROM events", declared), "")
    table: Table = {"events": [(None, "a", 1, 1, 1, "p")] * 4 + [("ann", "a", 1, 1, 1, "p")], "orders": []}
    ((_, vector),) = engine.vectors(case, table).items()
    assert vector == {(): 1}


def test_joined_private_tables_reach_the_product_of_their_bounds(engine: Engine) -> None:
    declared = schemas(User(column="who", max_rows=2, max_groups=1), AddRemove)
    case = Case(declared, _parsed("SELECT COUNT(*) FROM events JOIN orders USING (who)", declared), "")
    table: Table = {"events": HEAVY["events"], "orders": [("ann", 1), ("ann", 2), ("ann", 3)]}
    ((_, listed),) = worst(engine, case, table, []).items()
    ((_, claimed),) = facts(case.plan, declared).sets[0].measures
    assert claimed == VectorSensitivity(1, 4, 4, 16)
    assert claimed in listed


@pytest.mark.parametrize(
    ("max_rows", "max_groups", "call", "group", "claimed"),
    [
        (3, 1, "COUNT(DISTINCT x)", "", VectorSensitivity(1, 3, 3, 9)),
        (30, 1, "COUNT(DISTINCT x)", "", VectorSensitivity(1, 8, 8, 64)),
        (9, 1, "COUNT(DISTINCT flag)", "", VectorSensitivity(1, 2, 2, 4)),
        (9, 1, "COUNT(DISTINCT region)", "", VectorSensitivity(1, 3, 3, 9)),
        (30, 1, "COUNT(DISTINCT note)", "", VectorSensitivity(1, 30, 30, 900)),
        (30, 2, "COUNT(DISTINCT x)", "region", VectorSensitivity(2, 8, 16, 128)),
        (12, 2, "COUNT(DISTINCT x)", "region", VectorSensitivity(2, 8, 12, 80)),
    ],
)
def test_different_values_of_one_user_are_counted_as_stated_and_reached(  # noqa: PLR0917
    engine: Engine, max_rows: int, max_groups: int, call: str, group: str, claimed: VectorSensitivity
) -> None:
    """All values that a user alone has come and go with her, even where a loader lets others through."""
    declared = schemas(User(column="who", max_rows=max_rows, max_groups=max_groups), AddRemove)
    text = f"SELECT {call} FROM events" + (f" GROUP BY {group}" if group else "")
    case = Case(declared, _parsed(text, declared), text)
    ((_, stated),) = facts(case.plan, declared).sets[0].measures
    assert stated == claimed
    values = [(region, x, flag) for region in "abc" for x in range(-9, 12) for flag in (0, 1)]
    ann = [("ann", region, x, 1, flag, f"n{x}{region}") for region, x, flag in values]
    ann += [("ann", f"undeclared {i}", 10**6 + i, 1, 7 + i, f"m{i}") for i in range(40)]
    table: Table = {"events": [*ann, ("bob", "a", None, 1, None, None)], "orders": []}
    moved = [one for listed in worst(engine, case, table, []).values() for one in listed]
    assert all(fits(one, claimed) for one in moved)
    if max_rows >= 30 and not group:
        assert max(one.linf for one in moved) >= claimed.linf - 2  # which rows of hers are kept is drawn
