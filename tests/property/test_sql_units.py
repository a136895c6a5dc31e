"""One row for each unit: it means what SQL means, and no unit moves an answer by more than one row's worth.

Tables are tiny, their users overlap, and some have far more rows than may count.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_sql_sensitivity import EVENT, ROWS, USERS, Case, Engine, fits, missing_or, schemas, worst

from discreet import AddRemove, Replace
from discreet.data import User
from discreet.data.plan.derived import UNITS, averaging, relate
from discreet.data.plan.facts import VectorSensitivity, facts
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.numbers import scale
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse

POLICY = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))
VALUES = {
    "n": "COUNT(*)",
    "cx": "COUNT(x)",
    "sx": "SUM(x)",
    "sy": "SUM(y)",
    "sp": "SUM(x * y - 1)",
    "mx": "MAX(x)",
    "mn": "MIN(x - 2 * y)",
    "ax": "AVG(x)",
    "ay": "AVG(y)",
    "d": "MAX(y) - MIN(y)",
    "cf": "COUNT(*) FILTER (WHERE x > y)",
    "sf": "SUM(y) FILTER (WHERE x > 0)",
    "dy": "COUNT(DISTINCT y)",
    "df": "COUNT(DISTINCT x - y) FILTER (WHERE y > 1)",
}
INNER = ("", "", "", "WHERE x > 0", "WHERE region <> 'a' OR x IS NULL", "WHERE flag OR x > y")
HAVING = ("", "", "", "HAVING COUNT(*) > 1", "HAVING SUM(x) <= 3", "HAVING MAX(x) > 0 OR COUNT(x) = 0")
OUTER = ("", "", "", "WHERE n > 1", "WHERE sx > mx", "WHERE mx IS NULL OR ax <= 1.5", "WHERE d = 0 AND n < 4")
CALLS = (
    "COUNT(*)",
    "COUNT(sx)",
    "COUNT(DISTINCT who)",
    "SUM(n)",
    "SUM(sx)",
    "SUM(sp)",
    "AVG(ax)",
    "AVG(ay + n)",
    "STDDEV(sx)",
    "MEDIAN(mn)",
    "SUM(d * n)",
    "SUM(cf - n)",
    "AVG(sf)",
    "SUM(dy)",
    "AVG(df)",
    "SUM(sx, contribution_bounds_per_row => (-2, 3))",
    "COUNT(*, contribution_bounds_per_group => (0, 1))",
)
GROUPS = ("", "", "n", "mx", "n, mx", "CUBE(cx, mx)")
JOINS = ("events", "events", "events JOIN zones USING (region)", "events JOIN orders USING (who)")


def written(calls: list[str], source: str, parts: tuple[str, str, str], group: str) -> str:
    where, having, outer = parts
    listed = ", ".join(f"{value} AS {name}" for name, value in VALUES.items())
    inner = f"SELECT events.who, {listed} FROM {source} {where} GROUP BY events.who {having}"
    return f"SELECT {', '.join(calls)} FROM ({inner}) AS u {outer}" + (f" GROUP BY {group}" if group else "")


@st.composite
def cases(draw: st.DrawFn) -> Case:
    unit = User(column="who", max_rows=draw(st.integers(1, 4)), max_groups=draw(st.sampled_from([1, 2])))
    declared = schemas(unit, draw(st.sampled_from([AddRemove, Replace])))
    calls = draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3))
    parts = draw(st.tuples(*map(st.sampled_from, (INNER, HAVING, OUTER))))
    text = written(calls, draw(st.sampled_from(JOINS)), parts, draw(st.sampled_from(GROUPS)))
    if draw(st.booleans()):
        options = f"OPTIONS(max_rows_contributed={draw(st.integers(1, unit.max_rows))})"
        text = text.replace("SELECT", f"SELECT WITH DIFFERENTIAL_PRIVACY {options}", 1)
    return Case(declared, parse(text, schemas=declared, policy=POLICY), text)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.connection.close()


@settings(max_examples=80, deadline=None)
@given(
    case=cases(),
    rows=ROWS,
    orders=st.lists(st.tuples(st.sampled_from(USERS), missing_or(st.integers(0, 5))), max_size=6),
    other=st.lists(EVENT, max_size=5),
)
def test_no_unit_moves_an_answer_by_more_than_its_row(
    engine: Engine, case: Case, rows: list[Any], orders: list[Any], other: list[Any]
) -> None:
    known = facts(case.plan, case.schemas)
    assert known.rows_per_unit == 1
    claimed = {(one.keys, measure): moved for one in known.sets for measure, moved in one.measures}
    table = {"events": [(user, *event) for user, event in rows], "orders": orders}
    for key, listed in worst(engine, case, table, other).items():
        assert all(fits(found, claimed[key]) for found in listed), (case.text, key, listed, claimed[key])


KEYED = (
    "SELECT {} FROM (SELECT who, region, {} FROM events GROUP BY who, region) AS u{}",
    "SELECT {} FROM (SELECT who, region, flag, {} FROM events WHERE flag GROUP BY who, region, flag) AS u{}",
    "SELECT {} FROM (SELECT events.who, region, {} FROM events JOIN orders USING (who) GROUP BY 1, 2) AS u{}",
)


@st.composite
def keyed_cases(draw: st.DrawFn) -> Case:
    unit = User(column="who", max_rows=draw(st.integers(1, 4)), max_groups=draw(st.sampled_from([1, 2, 3])))
    declared = schemas(unit, draw(st.sampled_from([AddRemove, Replace])))
    calls = ", ".join(draw(st.lists(st.sampled_from(CALLS), min_size=1, max_size=3)))
    listed = ", ".join(f"{value} AS {name}" for name, value in VALUES.items())
    group = draw(
        st.sampled_from(["", " GROUP BY region", " GROUP BY region", " WHERE n > 1 GROUP BY n, region"])
    )
    text = draw(st.sampled_from(KEYED)).format(calls, listed, group)
    return Case(declared, parse(text, schemas=declared, policy=POLICY), text)


@settings(max_examples=60, deadline=None)
@given(
    case=keyed_cases(),
    rows=ROWS,
    orders=st.lists(st.tuples(st.sampled_from(USERS), missing_or(st.integers(0, 5))), max_size=6),
    other=st.lists(EVENT, max_size=5),
)
def test_no_unit_moves_an_answer_by_more_than_its_rows_of_each_key(
    engine: Engine, case: Case, rows: list[Any], orders: list[Any], other: list[Any]
) -> None:
    known = facts(case.plan, case.schemas)
    claimed = {(one.keys, measure): moved for one in known.sets for measure, moved in one.measures}
    table = {"events": [(user, *event) for user, event in rows], "orders": orders}
    for key, listed in worst(engine, case, table, other).items():
        assert all(fits(found, claimed[key]) for found in listed), (case.text, key, listed, claimed[key])


@pytest.mark.parametrize(
    ("call", "group", "expected"),
    [
        ("COUNT(*)", "", VectorSensitivity(1, 9, 9, 81)),
        ("COUNT(*)", "region", VectorSensitivity(2, 1, 2, 2)),
        ("SUM(n)", "region", VectorSensitivity(2, 9, 18, 162)),
        ("COUNT(DISTINCT who)", "", VectorSensitivity(1, 1, 1, 1)),
    ],
)
def test_one_value_a_unit_and_key_is_stated(
    engine: Engine, call: str, group: str, expected: VectorSensitivity
) -> None:
    """One row of ann is in each region that counts; two of her three regions do."""
    declared = schemas(User(column="who", max_rows=9, max_groups=2), AddRemove)
    inner = "(SELECT who, region, COUNT(*) AS n FROM events GROUP BY who, region) AS u"
    text = f"SELECT {call} FROM {inner}" + (f" GROUP BY {group}" if group else "")
    case = Case(declared, parse(text, schemas=declared, policy=POLICY), text)
    ((_, claimed),) = facts(case.plan, declared).sets[0].measures
    assert claimed == expected
    ((_, listed),) = worst(engine, case, HEAVY, []).items()
    assert all(fits(one, claimed) for one in listed)
    if call == "COUNT(*)" and group:
        assert expected in listed


HEAVY = {
    "events": [("ann", region, x, 3, 1, "p") for region in "abc" for x in (4, 4, 4)]
    + [("bob", region, -3, 1, 0, "p") for region in "abc"],
    "orders": [],
}


@pytest.mark.parametrize(
    ("kind", "call", "expected"),
    [
        (AddRemove, "COUNT(*)", VectorSensitivity(1, 1, 1, 1)),
        (AddRemove, "SUM(n)", VectorSensitivity(1, 3, 3, 9)),
        (AddRemove, "SUM(sx)", VectorSensitivity(1, 12, 12, 144)),
        (AddRemove, "SUM(mx)", VectorSensitivity(1, 4, 4, 16)),
        (Replace, "SUM(sx)", VectorSensitivity(1, 21, 21, 441)),
        (Replace, "COUNT(*)", VectorSensitivity(1, 1, 1, 1)),
    ],
)
def test_the_statement_is_reached_and_less_would_be_wrong(
    engine: Engine, kind: Any, call: str, expected: VectorSensitivity
) -> None:
    declared = schemas(User(column="who", max_rows=3, max_groups=1), kind)
    where = "WHERE x > 0" if "COUNT" in call and kind is Replace else ""
    text = written([call], "events", (where, "", ""), "")
    case = Case(declared, parse(text, schemas=declared, policy=POLICY), text)
    ((_, listed),) = worst(engine, case, HEAVY, [("b", -3, 1, 0, "q")] * 3).items()
    ((_, claimed),) = facts(case.plan, declared).sets[0].measures
    assert claimed == expected
    assert expected in listed


def test_groups_of_a_count_change_in_one_place(engine: Engine) -> None:
    declared = schemas(User(column="who", max_rows=3, max_groups=2), AddRemove)
    text = written(["n", "COUNT(*)"], "events", ("", "", ""), "n")
    case = Case(declared, parse(text, schemas=declared, policy=POLICY), text)
    (one,) = facts(case.plan, declared).sets
    assert one.cells == 3
    ((_, claimed),) = one.measures
    assert claimed == VectorSensitivity(1, 1, 1, 1)
    ((_, vector),) = engine.vectors(case, HEAVY).items()
    assert vector == {(3,): 2}  # nobody has more rows than count


def rounded(total: int, count: int, span: tuple[int, int]) -> Fraction:
    """An average on the grid that is stated for it, the nearest value, halves up."""
    finer = averaging(span)
    return Fraction((2 * finer * total + count) // (2 * count), finer)


def evaluate(rows: list[tuple[Any, ...]], tests: tuple[Any, Any, Any]) -> list[dict[str, Any]]:
    """What SQL says of each unit, computed in Python."""
    inner, having, outer = tests
    units = defaultdict(list)
    for who, _, x, y, _, _ in rows:
        if inner(x, y):
            units[who].append((x, y))
    found = []
    for who, listed in units.items():
        xs, ys = [x for x, _ in listed if x is not None], [y for _, y in listed]
        positive = [y for x, y in listed if x is not None and x > 0]
        row = {
            "who": who,
            "n": len(listed),
            "cx": len(xs),
            "sx": sum(xs) if xs else None,
            "sy": sum(ys),
            "sp": sum(x * y - 1 for x, y in listed if x is not None) if xs else None,
            "mx": max(xs, default=None),
            "mn": min((x - 2 * y for x, y in listed if x is not None), default=None),
            "ax": rounded(sum(xs), len(xs), (-3, 4)) if xs else None,
            "ay": rounded(sum(ys), len(ys), (1, 3)),
            "d": max(ys) - min(ys),
            "cf": sum(x is not None and x > y for x, y in listed),
            "sf": sum(positive) if positive else None,
            "dy": len(set(ys)),
            "df": len({x - y for x, y in listed if x is not None and y > 1}),
        }
        if having(row) and outer(row):
            found.append(row)
    return found


TESTS: dict[str, Any] = {
    "": lambda *_: True,
    "WHERE x > 0": lambda x, _: x is not None and x > 0,
    "HAVING COUNT(*) > 1": lambda row: row["n"] > 1,
    "HAVING SUM(x) <= 3": lambda row: row["sx"] is not None and row["sx"] <= 3,
    "HAVING MAX(x) > 0 OR COUNT(x) = 0": lambda row: row["cx"] == 0 or row["mx"] > 0,
    "WHERE n > 1": lambda row: row["n"] > 1,
    "WHERE sx > mx": lambda row: row["sx"] is not None and row["sx"] > row["mx"],
    "WHERE mx IS NULL OR ax <= 1.5": lambda row: row["mx"] is None or row["ax"] <= Fraction(3, 2),
    "WHERE d = 0 AND n < 4": lambda row: row["d"] == 0 and row["n"] < 4,
}
WORDS = [[one for one in dict.fromkeys(listed) if one in TESTS] for listed in (INNER, HAVING, OUTER)]
SMALL = st.lists(
    st.tuples(st.sampled_from(USERS), st.just("a"), missing_or(st.integers(-3, 4)), st.integers(1, 3)),
    max_size=9,
)


@settings(max_examples=150, deadline=None)
@given(rows=SMALL, words=st.tuples(*map(st.sampled_from, WORDS)), name=st.sampled_from([*VALUES]))
def test_each_unit_has_the_values_that_sql_says(
    engine: Engine, rows: list[Any], words: tuple[str, str, str], name: str
) -> None:
    declared = schemas(User(column="who", max_rows=9, max_groups=1), AddRemove)
    text = written(["COUNT(*)", f"COUNT({name})", f"SUM({name})"], "events", words, "")
    case = Case(declared, parse(text, schemas=declared, policy=POLICY), text)
    full = [(*row, 1, "p") for row in rows]
    expected = evaluate(full, tuple(TESTS[one] for one in words))
    listed = [row[name] for row in expected if row[name] is not None]
    found = {
        (measure.kind, measure.number is None): vector.get((), 0) * measure.unit
        for (_, measure), vector in engine.vectors(case, {"events": full, "orders": []}).items()
    }
    assert found["rows", True] == len(expected)
    assert found.get(("rows", False), found["rows", True]) == len(listed)
    assert found["sum", False] == sum(listed)


@pytest.mark.parametrize("rows", [1, 2, 4])
def test_spans_of_values_are_exact(rows: int) -> None:
    """Every end of a stated span is reached by some rows, and nothing goes beyond."""
    declared = schemas(User(column="who", max_rows=rows, max_groups=1), AddRemove)
    text = written([f"SUM({name})" for name in VALUES], "events", ("", "", ""), "")
    plan = parse(text, schemas=declared, policy=POLICY)
    tables = relate(plan, PlanTables.of(declared))
    values = [(x, y) for x in (None, -3, 0, 4) for y in (1, 2, 3)]
    found = [
        evaluate([("ann", "a", x, y, 1, "p") for x, y in listed], (TESTS[""],) * 3)[0]
        for k in range(1, rows + 1)
        for listed in itertools.combinations_with_replacement(values, k)
    ]
    for output, name in zip(plan.outputs, VALUES, strict=True):
        exact = scale(output.what.number, tables)  # type: ignore[union-attr, arg-type]
        seen = [row[name] for row in found if row[name] is not None]
        low, high = (end * exact.unit for end in exact.span)
        assert low <= min(seen) and max(seen) <= high
        if name not in ("n", "d", "dy") or rows > 1:
            assert (low, high) == (min(seen), max(seen)) or name in ("d", "dy"), name


def test_a_question_of_units_has_one_plan() -> None:
    declared = schemas(User(column="who", max_rows=3, max_groups=1), AddRemove)

    def plan(text: str) -> Plan:
        return parse(text, schemas=declared, policy=POLICY)

    inner = "SELECT who, COUNT(*) AS n FROM events WHERE x > 0 GROUP BY who"
    first = plan(f"SELECT AVG(n) AS a FROM ({inner}) AS t WHERE n > 1")
    assert first.table == UNITS
    assert first.units is not None
    assert len(first.units.values) == 1
    for text in (
        f"SELECT AVG(t.n) AS a FROM ({inner} HAVING COUNT(*) > 1) AS t",
        f"WITH t AS ({inner}) SELECT AVG(n) AS a FROM t WHERE 2 <= n",
        f"WITH t(w, m) AS ({inner}) SELECT AVG(m) AS a FROM t AS u WHERE u.m > 1",
        "WITH e AS (SELECT who AS w, x AS z FROM events), f AS (SELECT w FROM e WHERE z > 0) "
        "SELECT AVG(n) AS a FROM (SELECT w, COUNT(w) AS n, 1 AS one FROM f GROUP BY w HAVING n >= 2) AS t",
        "SELECT AVG(n) AS a FROM (SELECT who, SUM(y) AS s, COUNT(y) AS n FROM events WHERE x > 0 GROUP BY 1) "
        "AS t WHERE n > 1 AND s > 0",
        f"SELECT AVG(m + 1 - 1) AS a FROM (SELECT n AS m FROM ({inner}) AS t WHERE n <> 1) AS s",
    ):
        assert plan(text) == first, text


def test_the_engine_itself_agrees() -> None:
    """DuckDB runs the text, and says the same as the queries that are written from its plan."""
    declared = schemas(User(column="who", max_rows=99, max_groups=1), AddRemove)
    rows = [
        (who, "abc"[i % 3], (i * 7) % 8 - 3, 1 + i % 3, i % 2, "p")
        for i in range(40)
        for who in USERS[: i % 5]
    ]
    calls = "COUNT(*), SUM(n), SUM(sx), SUM(sp), SUM(mx), SUM(d), COUNT(ax)"
    text = written(
        calls.split(", "), "events JOIN zones USING (region)", ("WHERE x <> 2", "HAVING n > 2", ""), ""
    )
    case = Case(declared, parse(text, schemas=declared, policy=POLICY), text)
    engine = Engine()
    found = engine.vectors(case, {"events": rows, "orders": []})
    ours = [vector[()] for vector in found.values()]
    expected = [int(cell) for cell in engine.connection.execute(text).fetchall()[0]]
    engine.connection.close()
    assert isinstance(engine.connection, duckdb.DuckDBPyConnection)
    assert set(expected) == set(ours)


def test_the_name_of_a_value_follows_from_it_alone() -> None:
    declared = schemas(User(column="who", max_rows=3, max_groups=1), AddRemove)
    names = set()
    for other in ("", ", MAX(x) AS b"):
        text = f"SELECT SUM(a) FROM (SELECT who, SUM(x * x) AS a{other} FROM events GROUP BY who) AS t"
        plan = parse(text, schemas=declared, policy=POLICY)
        names |= {field for one in plan.aggregates for field in one.number.fields}  # type: ignore[union-attr]
    assert len(names) == 1
    assert names != {Field(UNITS, "sum_x")}
