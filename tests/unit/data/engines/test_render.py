"""The SQL that engines are sent: word for word for three dialects, and run on one."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from engine_rows import fill, histograms
from sql_schemas import PEOPLE, POLICY, TABLES, plan
from sqlglot import exp

from discreet import AddRemove
from discreet.core.errors import InternalError, InvalidParameter
from discreet.data import Boolean, Category, Decimal, Identifier, Integer, Row, Schema, Table, Text, User
from discreet.data.engines.bounding import bound_rows, up_to
from discreet.data.engines.readings import PLACE, RowReading
from discreet.data.engines.rendering.render import render
from discreet.data.engines.rendering.render_expressions import number
from discreet.data.plan.facts import facts
from discreet.data.plan.nodes import Plan
from discreet.data.plan.numbers import scale
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse

GOLDEN = Path(__file__).with_name("render_golden.sql")
TRIPS = Schema(
    "trips",
    columns=(
        Identifier("who"),
        Category("zone", values=("it's", 'a"b', "b\\c")),
        Integer("km", lower=0, upper=50),
        Boolean("night"),
        Text("note"),
    ),
    unit=User(column="who", max_rows=3, max_groups=1),
    neighbours=AddRemove("who"),
)
QUERIES = {
    "rows": "SELECT region, COUNT(*), SUM(age) FROM people WHERE age >= 18 AND region <> 's' GROUP BY region",
    "users": "SELECT zone, AVG(km), COUNT(DISTINCT who) FROM trips WHERE night OR zone <> 'a\"b' "
    "GROUP BY zone",
    "totals": "SELECT SUM(2 * km - 1, contribution_bounds_per_group => (0, 99)) FROM trips WHERE km * km > 9",
    "values": "SELECT MEDIAN(km) FROM trips",
}
DIALECTS = ("duckdb", "postgres", "spark")


def made(text: str) -> Plan:
    return parse(text, schemas=(TRIPS, PEOPLE), policy=POLICY)


def golden() -> str:
    """Everything in one text: a change of the library that renders must show here."""
    parts = []
    for name, text in QUERIES.items():
        for dialect in DIALECTS:
            wide = dialect != "spark"
            for query in render(facts(made(text), (TRIPS, PEOPLE)), sums_widen=wide):
                shown = query.tree.sql(dialect=dialect, identify=True, pretty=True)
                parts.append(f"-- {name}, {dialect}\n{shown};\n")
    return "\n".join(parts)


def test_golden_sql() -> None:
    assert golden() == GOLDEN.read_text(encoding="utf-8")


def test_no_text_of_the_request_reaches_the_engine() -> None:
    text = (
        "SELECT COUNT(*) AS canary1, AVG(t.km) AS canary2 FROM trips AS t "
        "WHERE t.zone IN ('it''s') OR t.zone NOT LIKE 'canary3%' AND t.km > 1234567"
    )
    for dialect in DIALECTS:
        for query in render(facts(made(text), TRIPS)):
            shown = query.tree.sql(dialect=dialect, identify=True)
            assert "canary" not in shown
            assert "1234567" not in shown
            assert "it''s" in shown or "it\\'s" in shown


ROWS = [
    ("ann", "it's", 10, True, "p"),
    ("ann", "it's", 20, False, "p"),
    ("ann", 'a"b', 30, True, "q"),
    ("ann", "b\\c", 40, None, None),
    ("bob", "b\\c", 99, True, "q"),
    ("cay", None, 5, True, "q"),
    (None, "it's", 5, True, "q"),
]


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    with opened() as made:
        yield made


@contextmanager
def opened() -> Iterator[Table]:
    raw = duckdb.connect(config={"threads": 1})
    raw.execute("CREATE TABLE trips (who TEXT, zone TEXT, km BIGINT, night BOOLEAN, note TEXT)")
    raw.executemany("INSERT INTO trips VALUES (?, ?, ?, ?, ?)", ROWS)
    with Table((raw, "trips"), schema=TRIPS) as made:
        yield made
    raw.close()


def test_declared_keys_come_out_in_declared_order_and_zeros_are_filled_in(table: Table) -> None:
    text = "SELECT zone, COUNT(*) FROM trips WHERE night GROUP BY zone"
    (query,) = render(facts(made(text), TRIPS))
    found = fill(query, table._source.execute(query.tree), PlanTables.of(TRIPS))
    assert [group for group, _ in found] == [("it's",), ('a"b',), ("b\\c",)]
    assert dict(found)["b\\c",] == (1,)
    assert sum(values[0] for _, values in found) <= 2  # one group of ann, one of bob


def sum_of(expression: str, table: Table) -> int:
    (query,) = render(facts(made(f"SELECT SUM({expression}) FROM trips"), TRIPS))
    ((total,),) = table._source.execute(query.tree)
    return int((total or 0) * query.measures[0].unit)


def test_a_quotient_is_missing_where_the_denominator_is_not_positive(table: Table) -> None:
    """The three rows of ann that count, bob's and cay's: whatever is divided first, it is never by 0."""
    text = "FLOOR_DIV(100 * km, km * CAST(night AS INT) - 9)"
    kept = [(km, km * night - 9) for km, night in kept_rows(table) if night is not None]
    assert any(below < 0 for _, below in kept) and any(below > 0 for _, below in kept)
    assert sum_of(text, table) == sum(100 * km // below for km, below in kept if below > 0)
    for dialect in DIALECTS:
        (query,) = render(facts(made(f"SELECT SUM({text}) FROM trips"), TRIPS))
        shown = query.tree.sql(dialect=dialect, identify=True)
        assert "ELSE 1 END" in shown, "nothing keeps the divisor from 0"


WIDE = Schema(
    "t",
    columns=(
        Category("who", values=("ann", "bob")),
        Integer("x", lower=-(2**40), upper=2**40),
        Decimal("y", lower=-(2**31), upper=2**31, grid=Fraction("0.001")),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
DIVIDED = (
    "FLOOR(x / 3)",
    "CEIL(y / 3)",
    "ROUND(x / 7, -2)",
    "x % 3",
    "x // 1000",
    "TRUNC(y * 2 / 3, 1)",
    "FLOOR(1000000 / NULLIF(x, 0))",
    "CAST(y AS INT)",
    "FLOOR((x - y) / 11)",
    "WIDTH_BUCKET(x, -1000000, 1000000000, 10)",
)


@pytest.mark.parametrize("number", DIVIDED)
def test_a_quotient_of_wide_numbers_never_leaves_32_bits_by_its_literals(number: str) -> None:
    """An engine computes with literals alone in 32 bits, and fails only where some row is there to divide."""
    rows = pd.DataFrame({"who": ["bob", "bob"], "x": [5, -(2**40)], "y": [0.5, -(2.0**31)]})
    texts = [
        f"SELECT SUM(CASE WHEN who = 'ann' THEN {number} END) FROM t",
        f"SELECT COUNT(*) FROM t WHERE who = 'bob' AND {number} > 1",
        f"SELECT SUM({number}) FROM t",
    ]
    with Table(rows, schema=WIDE) as table:
        for text in texts:
            known = facts(parse(text, schemas=WIDE, policy=POLICY), WIDE)
            for query in render(known):
                table._source.execute(query.tree)
                for node in query.tree.find_all(exp.Mul, exp.Add, exp.Sub, exp.IntDiv):
                    assert node.find(exp.Cast, exp.Column) is not None, node.sql()


def test_steps_put_a_missing_value_where_it_belongs(table: Table) -> None:
    found = sum_of("CASE WHEN night THEN 4 WHEN NOT night THEN 2 ELSE 7 END", table)
    assert found == sum({True: 4, False: 2, None: 7}[night] for _, night in kept_rows(table))
    without = sum_of("CASE WHEN night THEN 4 WHEN NOT night THEN 2 END", table)
    assert without == sum({True: 4, False: 2, None: 0}[night] for _, night in kept_rows(table))


KINKED = {
    "CASE WHEN km > 20 THEN km ELSE 0 END": lambda km: km if km > 20 else 0,
    "CASE WHEN km > 20 THEN km END": lambda km: km if km > 20 else None,
    "LEAST(km, 5)": lambda km: min(km, 5),
    "ABS(km - 17)": lambda km: abs(km - 17),
    "LEAST(3 * km, 50 - km)": lambda km: min(3 * km, 50 - km),
    "CASE WHEN km < 5 THEN 1 WHEN km < 8 THEN 9 - km WHEN km = 30 THEN 7 ELSE 2 * km - 40 END": lambda km: (
        1 if km < 5 else 9 - km if km < 8 else 7 if km == 30 else 2 * km - 40
    ),
    "km * km": lambda km: km * km,
    "FLOOR(km / 3) + CASE WHEN km > 40 THEN km ELSE 0 END": lambda km: km // 3 + (km if km > 40 else 0),
}


@pytest.mark.parametrize("text", KINKED)
def test_lines_of_a_function_are_what_its_steps_are(text: str) -> None:
    (total,) = made(f"SELECT SUM({text}) FROM trips").aggregates
    assert total.number is not None
    tables = PlanTables.of(TRIPS)
    written = number(total.number, tables).sql("duckdb", identify=True)
    unit = scale(total.number, tables).unit
    rows = duckdb.sql(f"SELECT km, {written} FROM (SELECT range AS km FROM range(51)) AS trips").fetchall()
    assert {km: None if found is None else found * unit for km, found in rows} == {
        km: KINKED[text](km) for km in range(51)
    }


def test_a_function_that_is_a_line_from_somewhere_on_is_compared_once() -> None:
    (total,) = made("SELECT SUM(CASE WHEN km > 20 THEN km ELSE 0 END) FROM trips").aggregates
    assert total.number is not None
    assert len(list(number(total.number, PlanTables.of(TRIPS)).find_all(exp.LTE))) == 1


def kept_rows(table: Table) -> list[tuple[int, bool | None]]:
    tree = up_to(3, TRIPS)
    names = [one.alias_or_name for one in tree.selects]
    rows = [dict(zip(names, row, strict=True)) for row in table._source.execute(tree)]
    return [(int(row["km"] or 0), None if row["night"] is None else bool(row["night"])) for row in rows]


def test_a_user_counts_with_few_rows_in_few_groups(table: Table) -> None:
    text = "SELECT COUNT(*), COUNT(DISTINCT who) FROM trips"
    (query,) = render(facts(made(text), TRIPS))
    assert table._source.execute(query.tree) == [(3 + 1 + 1, 3)]
    text = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=1) COUNT(*) FROM trips"
    (query,) = render(facts(made(text), TRIPS))
    assert table._source.execute(query.tree) == [(3,)]


def test_no_question_chooses_rows_again(table: Table) -> None:
    """A tighter bound takes the first of the rows that were kept when the table was opened."""
    places = table._source.execute(exp.select("who", PLACE).from_("trips").order_by("who", PLACE))
    assert sorted(place for _, place in places) == [1, 1, 1, 2, 3]
    (query,) = render(facts(made("SELECT zone, SUM(km), COUNT(*) FROM trips GROUP BY zone"), TRIPS))
    assert "ROW_NUMBER" not in query.tree.sql() and "MD5" not in query.tree.sql()


def test_the_key_decides_which_rows_stay() -> None:
    """Otherwise the order would not depend on the secret at all."""
    asked = made("SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(max_rows_contributed=1) SUM(km) FROM trips")
    known = facts(asked, TRIPS)
    sums = set()
    for _ in range(24):
        with opened() as table:
            sums.add(table._source.execute(render(known)[0].tree)[0][0])
    assert len(sums) > 1
    assert all(sum_ in {bob + ann for bob in (55,) for ann in (10, 20, 30, 40)} for sum_ in sums)


def test_sums_do_not_wrap(table: Table) -> None:
    wide = Schema(
        "wide",
        columns=(Integer("x", lower=-(2**53), upper=2**53),),
        unit=PEOPLE.unit,
        neighbours=PEOPLE.neighbours,
    )
    raw = duckdb.connect(config={"threads": 1})
    raw.execute(f"CREATE TABLE wide AS SELECT {2**62}::BIGINT AS x FROM range(5000)")
    asked = parse("SELECT SUM(x), SUM(512 * x) FROM wide", schemas=wide, policy=POLICY)
    with Table((raw, "wide"), schema=wide) as opened:
        for widen in (False, opened._source.sums_widen):
            (query,) = render(facts(asked, wide), sums_widen=widen)
            assert opened._source.execute(query.tree) == [(5000 * 2**53, 5000 * 2**53)]
    raw.close()
    assert asked.aggregates[1].number != asked.aggregates[0].number


ODD = {
    "empty": [],
    "missing": [(None, None, None, None, None), ("ann", None, None, None, None)],
    "zero": [("", "", 0.0, False, "")] * 9,
    "odd": [
        ("ann", "it's", number, True, "x" * 9000)
        for number in (math.nan, math.inf, -math.inf, -0.0, 5e-324, 1e308)
    ],
}


@pytest.mark.parametrize("rows", ODD.values(), ids=ODD)
def test_every_table_gives_an_answer_of_one_shape(rows: list[tuple[object, ...]]) -> None:
    raw = duckdb.connect(config={"threads": 1})
    raw.execute("CREATE TABLE trips (who TEXT, zone TEXT, km DOUBLE, night BOOLEAN, note TEXT)")
    if rows:
        raw.executemany("INSERT INTO trips VALUES (?, ?, ?, ?, ?)", rows)
    asked = made(
        "SELECT zone, COUNT(*), SUM(km * km * km), AVG(km), STDDEV(km) FROM trips WHERE km < 60 GROUP BY zone"
    )
    with Table((raw, "trips"), schema=TRIPS) as opened:
        (query,) = render(facts(asked, TRIPS))
        found = fill(query, opened._source.execute(query.tree), PlanTables.of(TRIPS))
    raw.close()
    assert [group for group, _ in found] == [(code,) for code in TRIPS.column("zone").codes()]
    assert all(type(value) is int for _, values in found for value in values)


def test_histograms_count_rows_by_value(table: Table) -> None:
    (query,) = render(facts(made("SELECT MEDIAN(km) FROM trips WHERE night"), TRIPS))
    ((group, counts),) = histograms(query, table._source.execute(query.tree), PlanTables.of(TRIPS))
    assert group == ()
    assert counts.items() >= {50: 1, 5: 1}.items()
    with pytest.raises(InternalError):
        fill(query, [], PlanTables.of(TRIPS))


def test_groups_that_are_not_declared_come_as_they_are(table: Table) -> None:
    (query,) = render(facts(made("SELECT note, SUM(km) FROM trips GROUP BY note"), TRIPS))
    assert [measure.kind for measure in query.measures] == ["sum", "units"]
    found = table._source.execute(query.tree)
    assert {row[0] for row in found} <= {"p", "q"}
    with pytest.raises(InvalidParameter):
        fill(query, found, PlanTables.of(TRIPS))


def test_only_users_are_bounded() -> None:
    reading = RowReading(exp.select("*").from_("people"), None)
    with pytest.raises(InternalError):
        bound_rows(object(), reading, PEOPLE, key="00")  # type: ignore[arg-type]
    for schema, rows in ((PEOPLE, 1), (TRIPS, 4), (TRIPS, 0)):
        with pytest.raises(InternalError):
            up_to(rows, schema)


def test_grouping_sets_are_separate_queries() -> None:
    asked = plan("SELECT COUNT(*), MEDIAN(age) FROM people GROUP BY CUBE(region)")
    made_queries = render(facts(asked, TABLES))
    kinds = [(query.keys, query.measures[0].kind) for query in made_queries]
    assert [kind for _, kind in kinds] == ["rows", "histogram"] * 2
