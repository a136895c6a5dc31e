"""Expressions mean what SQL says: every row's value is computed a second time, in plain Python.

Text and meaning are drawn together. A value is a Fraction, a text, a date or a truth value, and None where it
is missing; a condition has three truth values.
"""

from __future__ import annotations

import collections
import datetime
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Boolean, Category, Date, Decimal, Integer, Row, Schema, Table
from discreet.data.engines.rendering.render import render
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.facts import facts, measures
from discreet.data.plan.key_nodes import ComputedKey
from discreet.data.plan.keys import list_groups, name_group
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.printing import to_sql

SALES = Schema(
    "sales",
    columns=(
        Category("kind", values=("it's", "Apple pie", "100%", "é", "apple")),
        Integer("n", lower=-10, upper=20, grid=5),
        Integer("m", lower=1, upper=4, null=1),
        Decimal("price", lower=0, upper=2, grid=Fraction("0.25")),
        Decimal("long", lower=-100, upper=100, grid=Fraction("0.001")),
        Boolean("paid"),
        Date("day", lower=datetime.date(2019, 12, 28), upper=datetime.date(2020, 4, 5)),
        Date("sent", lower=datetime.date(2020, 1, 1), upper=datetime.date(2020, 1, 31)),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
TABLES = PlanTables.of(SALES)
POLICY = Policy(epsilon=Fraction(1), delta=Fraction(0))
TODAY = datetime.date(2020, 1, 15)
NAMES = tuple(column.name for column in SALES.columns)
EPOCH = datetime.date(1970, 1, 1)
RowOf = dict[str, Any]
Meant = Callable[[RowOf], Any]
Pair = tuple[str, Meant]


def made_rows() -> list[RowOf]:
    steps = {"long": 4001, "day": 3, "sent": 2}
    domains = [[*column.domain()[:: steps.get(column.name, 1)], None] for column in SALES.columns]
    cycles = [itertools.cycle(domain) for domain in domains]
    rows = [dict(zip(NAMES, (next(cycle) for cycle in cycles), strict=True)) for _ in range(250)]
    return rows


ROWS = made_rows()
MEANT_ROWS = [row | {"m": 1 if row["m"] is None else row["m"]} for row in ROWS]


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    import pandas as pd

    plain = [
        {name: float(cell) if isinstance(cell, Fraction) else cell for name, cell in row.items()}
        for row in ROWS
    ]
    frame = pd.DataFrame(plain).astype({name: object for name in ("kind", "paid", "day", "sent")})
    with Table(frame, schema=SALES) as opened:
        yield opened


def strict(text: str, function: Callable[..., Any], *parts: Pair) -> Pair:
    """A function that is missing where an argument is."""

    def meant(row: RowOf) -> Any:
        values = [part[1](row) for part in parts]
        return None if None in values else function(*values)

    return text.format(*(part[0] for part in parts)), meant


def column(name: str) -> Pair:
    return name, lambda row: None if row[name] is None else row[name]


def number(name: str) -> Pair:
    return name, lambda row: None if row[name] is None else Fraction(row[name])


def literal(text: str) -> Pair:
    return text, lambda row: Fraction(text)


def trunc(value: Fraction) -> int:
    return math.trunc(value)


def away(value: Fraction, digits: int = 0) -> Fraction:
    power = Fraction(10) ** digits
    size = math.floor(abs(value) * power + Fraction(1, 2)) / power
    return Fraction(size if value >= 0 else -size)


def case(*parts: Any) -> Pair:
    *pairs, otherwise = parts
    text = " ".join(f"WHEN {test[0]} THEN {value[0]}" for test, value in pairs)

    def meant(row: RowOf) -> Any:
        for test, value in pairs:
            if test[1](row) is True:
                return value[1](row)
        return otherwise[1](row)

    return f"CASE {text} ELSE {otherwise[0]} END", meant


def coalesce(*parts: Pair) -> Pair:
    def meant(row: RowOf) -> Any:
        return next((value for value in (part[1](row) for part in parts) if value is not None), None)

    return f"COALESCE({', '.join(part[0] for part in parts)})", meant


def nullif(one: Pair, other: Pair) -> Pair:
    return f"NULLIF({one[0]}, {other[0]})", lambda row: None if one[1](row) == other[1](row) else one[1](row)


def safe(one: Pair, other: Pair) -> Pair:
    """A quotient, rounded as we say."""

    def divided(a: Fraction, b: Fraction) -> Fraction | None:
        return None if b == 0 else a / b

    return strict("SAFE_DIVIDE({}, {})", divided, one, other)


COLUMNS = st.sampled_from(["n", "m", "price", "long"]).map(number)
LITERALS = st.sampled_from(["0", "1", "2", "5", "0.5", "12.75"]).map(literal)
LEAVES = st.one_of(COLUMNS, COLUMNS, LITERALS)
SIGNS = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}


def both(one: Any, other: Any) -> Any:
    return False if one is False or other is False else None if None in (one, other) else True


def either(one: Any, other: Any) -> Any:
    return True if one is True or other is True else None if None in (one, other) else False


def simple_conditions(numbers: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    return st.one_of(
        st.builds(
            lambda sign, a, b: strict("{} " + sign + " {}", SIGNS[sign], a, b),
            st.sampled_from(sorted(SIGNS)),
            numbers,
            numbers,
        ),
        numbers.map(lambda a: (f"({a[0]}) IS NULL", lambda row: a[1](row) is None)),
        numbers.map(lambda a: strict("({}) BETWEEN -1 AND 4.5", lambda v: -1 <= v <= Fraction("4.5"), a)),
        st.sampled_from(
            [
                column("paid"),
                strict("{} = 'apple'", lambda v: v == "apple", column("kind")),
                strict("LOWER({}) LIKE 'app%'", lambda v: v.lower().startswith("app"), column("kind")),
                strict(
                    "{} ILIKE '%P%e'", lambda v: "p" in v.lower() and v.lower()[-1] == "e", column("kind")
                ),
                strict("{} LIKE '%!%' ESCAPE '!'", lambda v: v.endswith("%"), column("kind")),
                strict(
                    "REGEXP_LIKE({}, '^[A-Z].* p|\\d+')", lambda v: v in ("Apple pie", "100%"), column("kind")
                ),
                strict("STARTS_WITH({}, 'a')", lambda v: v.startswith("a"), column("kind")),
                strict("LENGTH({}) > 4", lambda v: len(v) > 4, column("kind")),
                strict("UPPER(SUBSTR({}, 2, 2)) = 'PP'", lambda v: v[1:3].upper() == "PP", column("kind")),
                strict("{} > {}", lambda a, b: a > b, column("day"), column("sent")),
                strict("{} >= CURRENT_DATE - 10", lambda v: v >= datetime.date(2020, 1, 5), column("day")),
                strict(
                    "{} < DATE_ADD(CURRENT_DATE, INTERVAL 1 MONTH)",
                    lambda v: v < datetime.date(2020, 2, 15),
                    column("day"),
                ),
                strict("EXTRACT(MONTH FROM {}) = 2", lambda v: v.month == 2, column("day")),
                strict("{} - {} > 20", lambda a, b: (a - b).days > 20, column("day"), column("sent")),
                ("paid IS NOT TRUE", lambda row: row["paid"] is not True),
                (
                    "n IS DISTINCT FROM m",
                    lambda row: row["n"] != row["m"],
                ),
            ]
        ),
    )


def joined(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    return st.one_of(
        inner.map(lambda a: (f"NOT ({a[0]})", lambda row: None if a[1](row) is None else not a[1](row))),
        st.builds(
            lambda a, b: (f"({a[0]} AND {b[0]})", lambda row: both(a[1](row), b[1](row))), inner, inner
        ),
        st.builds(
            lambda a, b: (f"({a[0]} OR {b[0]})", lambda row: either(a[1](row), b[1](row))), inner, inner
        ),
    )


def functions(inner: st.SearchStrategy[Pair]) -> st.SearchStrategy[Pair]:
    tests = simple_conditions(inner)
    null: Pair = ("NULL", lambda row: None)
    otherwise = inner | st.just(null)
    return st.one_of(
        st.builds(lambda a, b: strict("({} + {})", lambda x, y: x + y, a, b), inner, inner),
        st.builds(lambda a, b: strict("({} - {})", lambda x, y: x - y, a, b), inner, inner),
        st.builds(lambda a, b: strict("({} * {})", lambda x, y: x * y, a, b), COLUMNS, LITERALS),
        st.builds(lambda t, a, b: case((t, a), b), tests, inner, otherwise),
        st.builds(lambda t, u, a, b: case((t, a), (u, b), null), tests, tests, inner, inner),
        st.builds(coalesce, inner, inner),
        st.builds(nullif, inner, inner),
        inner.map(lambda a: strict("ABS({})", abs, a)),
        inner.map(lambda a: strict("SIGN({})", lambda x: Fraction((x > 0) - (x < 0)), a)),
        inner.map(lambda a: strict("FLOOR({} / 3)", lambda x: Fraction(math.floor(x / 3)), a)),
        inner.map(lambda a: strict("CEIL({} / 0.7)", lambda x: Fraction(math.ceil(x / Fraction("0.7"))), a)),
        inner.map(lambda a: strict("ROUND({}, 1)", lambda x: away(x, 1), a)),
        inner.map(lambda a: strict("ROUND({} / 7)", lambda x: away(x / 7), a)),
        inner.map(lambda a: strict("TRUNC({})", lambda x: Fraction(trunc(x)), a)),
        inner.map(lambda a: strict("({} % 3)", lambda x: x - 3 * trunc(x / 3), a)),
        inner.map(lambda a: strict("({} // 2)", lambda x: Fraction(trunc(x / 2)), a)),
        inner.map(lambda a: strict("CAST(0 + {} AS INT)", away, a)),
        inner.map(lambda a: strict("({} / 3)", lambda x: x / 3, a)),
        st.builds(
            lambda a: strict("FLOOR({} / m)", lambda x, m: Fraction(math.floor(x / m)), a, number("m")), inner
        ).map(lambda pair: (pair[0], pair[1])),
        st.builds(lambda a, b: strict("LEAST({}, {})", min, a, b), inner, inner),
        st.builds(lambda a, b: strict("GREATEST({}, {})", max, a, b), inner, inner),
        inner.map(
            lambda a: strict(
                "WIDTH_BUCKET({}, 0, 10, 4)",
                lambda x: Fraction(0 if x < 0 else 5 if x >= 10 else math.floor(x * 4 / 10) + 1),
                a,
            )
        ),
    )


NUMBERS = st.recursive(LEAVES, functions, max_leaves=4)
CONDITIONS = st.recursive(simple_conditions(NUMBERS), joined, max_leaves=3)
KNOWN_REFUSALS = (
    "no row can have",
    "no declared value",
    "always missing",
    "computed of a constant",
    "of a constant",
    "beyond 64-bit",
    "terms, each a product",
    "more than 4000 parts",
    "no row can meet",
    "18 digits",
    "no comparison with NULL",
)


def understood(text: str) -> Plan:
    try:
        plan = parse(text, schemas=SALES, policy=POLICY, today=TODAY)
    except Refused as error:
        assert any(known in str(error) for known in KNOWN_REFUSALS), (text, str(error))
        reject()
    if len(to_sql(plan, TABLES)) > 5_000:
        return plan
    again = parse(to_sql(plan, TABLES), schemas=SALES, policy=POLICY)
    assert again == plan, to_sql(plan, TABLES)
    return plan


def answered(table: Table, plan: Plan) -> list[list[Any]]:
    """Each output of a plan without groups, from its exact measures; what is the same is measured once."""
    totals: dict[Any, Any] = {}
    for query in render(facts(plan, TABLES)):
        (row,) = table._source.execute(query.tree) or [(0,) * len(query.measures)]
        totals.update(zip(query.measures, row, strict=True))
    return [_value(output.what, totals) for output in plan.outputs]


def _value(aggregate: Any, totals: dict[Any, Any]) -> Any:
    (measure, *_) = measures(aggregate, TABLES)
    return Fraction(int(totals[measure]) if totals[measure] is not None else 0) * measure.unit


@settings(max_examples=80, deadline=None)
@given(NUMBERS)
def test_sums_and_counts_are_those_of_the_rows(table: Table, drawn: Pair) -> None:
    text, meant = drawn
    values = [meant(row) for row in MEANT_ROWS]
    plan = understood(f"SELECT SUM({text}) AS s, COUNT({text}) AS c FROM sales")
    there = [value for value in values if value is not None]
    assert answered(table, plan) == [sum(there), len(there)]
    for aggregate in plan.aggregates:
        for measure in measures(aggregate, TABLES):
            if measure.kind == "sum":
                low, high = (end * measure.unit for end in measure.row)
                assert all(low <= value <= high for value in there)


@settings(max_examples=80, deadline=None)
@given(CONDITIONS)
def test_conditions_hold_where_they_are_true(table: Table, drawn: Pair) -> None:
    text, meant = drawn
    told = [meant(row) for row in MEANT_ROWS]
    where = understood(f"SELECT COUNT(*) AS c FROM sales WHERE {text}")
    assert answered(table, where) == [told.count(True)]
    listed = understood(
        f"SELECT COUNTIF({text}) AS a, COUNT(*) FILTER (WHERE {text}) AS b, "
        f"SUM(CASE WHEN {text} THEN 1 ELSE 0 END) AS c, COUNT(CASE WHEN {text} THEN 2 END) AS d FROM sales"
    )
    assert answered(table, listed) == [told.count(True)] * 4
    assert len(set(canonicalise(listed).aggregates)) == 1
    known = understood(f"SELECT COUNT(({text})) AS d FROM sales")
    assert answered(table, known) == [len(told) - told.count(None)]


def trunc_day(unit: str, day: datetime.date, *, sunday: bool = False) -> datetime.date:
    if unit == "week":
        return day - datetime.timedelta(days=(day.weekday() + sunday) % 7)
    month = {"month": day.month, "quarter": (day.month - 1) // 3 * 3 + 1, "year": 1}[unit]
    return datetime.date(day.year, month, 1)


KEYS: list[Pair] = [
    strict("FLOOR({} / 10)", lambda v: math.floor(v / 10), number("n")),
    strict("FLOOR({} / 10) * 10", lambda v: math.floor(v / 10) * 10, number("n")),
    strict("{} / 10 * 10", lambda v: trunc(v / 10) * 10, number("n")),
    strict("{} // 3", lambda v: trunc(v / 3), number("m")),
    strict("ROUND({})", away, number("price")),
    strict("FLOOR({} / 25)", lambda v: math.floor(v / 25), number("long")),
    strict("WIDTH_BUCKET({}, 0, 2, 4)", lambda v: 5 if v >= 2 else math.floor(v * 2) + 1, number("price")),
    (
        "m > 1 AND n > 5",
        lambda row: both(row["m"] > 1, None if row["n"] is None else row["n"] > 5),
    ),
    strict("{} + {}", lambda a, b: a + b, number("m"), number("n")),
    ("paid IS TRUE", lambda row: row["paid"] is True),
    case(
        (strict("{} < 5", lambda v: v < 5, number("n")), ("'low'", lambda row: "low")),
        ("'high'", lambda row: "high"),
    ),
    case(
        (strict("{} < {}", lambda a, b: a < b, number("n"), number("m")), ("kind", lambda row: row["kind"])),
        ("NULL", lambda row: None),
    ),
    strict("UPPER({})", str.upper, column("kind")),
    strict("LEFT(LOWER({}), 5)", lambda v: v.lower()[:5], column("kind")),
    strict("LENGTH({})", len, column("kind")),
    strict("REPLACE({}, 'apple', '100%')", lambda v: v.replace("apple", "100%"), column("kind")),
    (
        "kind || '-' || CASE WHEN paid THEN 'y' ELSE 'n' END",
        lambda row: None if row["kind"] is None else f"{row['kind']}-{'y' if row['paid'] else 'n'}",
    ),
    ("COALESCE(kind, 'none')", lambda row: "none" if row["kind"] is None else row["kind"]),
    strict("DATE_TRUNC('month', {})", lambda v: trunc_day("month", v), column("day")),
    strict("DATE_TRUNC({}, QUARTER)", lambda v: trunc_day("quarter", v), column("day")),
    strict("DATE_TRUNC('week', {})", lambda v: trunc_day("week", v), column("day")),
    strict("DATE_TRUNC({}, WEEK)", lambda v: trunc_day("week", v, sunday=True), column("day")),
    strict("DATE_TRUNC('year', {})", lambda v: trunc_day("year", v), column("day")),
    strict("EXTRACT(YEAR FROM {})", lambda v: v.year, column("day")),
    strict("EXTRACT(QUARTER FROM {})", lambda v: (v.month + 2) // 3, column("day")),
    strict("MONTH({})", lambda v: v.month, column("day")),
    strict("EXTRACT(WEEK FROM {})", lambda v: v.isocalendar().week, column("day")),
    strict("EXTRACT(DAY FROM {})", lambda v: v.day, column("day")),
    strict("DATE_PART('doy', {})", lambda v: v.timetuple().tm_yday, column("day")),
    strict("EXTRACT(DOW FROM {})", lambda v: v.isoweekday() % 7, column("day")),
    strict("EXTRACT(ISODOW FROM {})", lambda v: v.isoweekday(), column("day")),
    strict("EXTRACT(DAYOFWEEK FROM {})", lambda v: v.isoweekday() % 7 + 1, column("day")),
    strict("FORMAT_DATE('%Y-%m', {})", lambda v: v.strftime("%Y-%m"), column("day")),
    strict("TO_CHAR({}, 'YYYY-MM')", lambda v: v.strftime("%Y-%m"), column("day")),
    strict("{} + INTERVAL '1' MONTH", lambda v: v.replace(month=2, day=min(v.day, 29)), column("sent")),
    strict("DATE_SUB({}, INTERVAL 2 WEEK)", lambda v: v - datetime.timedelta(days=14), column("sent")),
    strict(
        "DATE_DIFF({}, {}, MONTH)",
        lambda a, b: (a.year - b.year) * 12 + a.month - b.month,
        column("day"),
        column("sent"),
    ),
    strict("LAST_DAY({}) - {}", lambda a, b: 31 - b.day, column("sent"), column("sent")),
]


@pytest.mark.parametrize(
    "where", ["", "n > 5", "kind <> 'apple'", "day BETWEEN '2020-01-10' AND '2020-02-20'"]
)
@pytest.mark.parametrize("place", range(len(KEYS)), ids=[text for text, _ in KEYS])
def test_groups_are_those_of_the_rows(table: Table, place: int, where: str) -> None:
    """Every group of a row is listed and counts its rows; groups that WHERE leaves no row are not listed."""
    text, meant = KEYS[place]
    tests: dict[str, Callable[[RowOf], bool]] = {
        "": lambda row: True,
        "n > 5": lambda row: row["n"] is not None and row["n"] > 5,
        "kind <> 'apple'": lambda row: row["kind"] not in (None, "apple"),
        "day BETWEEN '2020-01-10' AND '2020-02-20'": lambda row: (
            row["day"] is not None and datetime.date(2020, 1, 10) <= row["day"] <= datetime.date(2020, 2, 20)
        ),
    }
    condition = f"WHERE {where}" if where else ""
    plan = understood(f"SELECT {text} AS k, COUNT(*) AS c FROM sales {condition} GROUP BY k")
    assert plan == understood(f"SELECT {text} AS k, COUNT(*) AS c FROM sales {condition} GROUP BY {text}")
    assert plan == understood(f"SELECT {text} AS k, COUNT(*) AS c FROM sales {condition} GROUP BY 1")
    expected = collections.Counter(meant(row) for row in MEANT_ROWS if tests[where](row))
    del expected[None]
    (query,) = render(facts(plan, TABLES))
    (key,) = query.keys
    listed = {name_group(key, code, TABLES): code for code in list_groups(key, plan.where, TABLES)}
    found = {row[0]: row[1] for row in table._source.execute(query.tree)}
    assert {name: found[code] for name, code in listed.items() if code in found} == dict(expected)
    assert found.keys() <= set(listed.values())
    fields = key.number.fields if isinstance(key, ComputedKey) else (key,)
    if len(fields) == 1:
        # Each declared value that meets the condition could be in some row, and no other could.
        (name,) = (field.name for field in fields)
        values = [*SALES.column(name).domain(), *([None] * SALES.column(name).nullable)]
        rows = [{name: value} for value in values]
        possible = [row for row in rows if name not in where.split() or tests[where](row)]
        assert set(listed) == {meant(row) for row in possible} - {None}
