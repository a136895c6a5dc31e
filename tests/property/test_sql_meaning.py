"""The plan means what the SQL says: an engine that runs the text itself agrees."""

from __future__ import annotations

import datetime
import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from engine_rows import fill, histograms
from hypothesis import example, given, reject, settings
from hypothesis import strategies as st

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Boolean, Category, Date, Decimal, Dimension, Integer, Row, Schema, Table
from discreet.data.engines.rendering.render import EngineQuery, render
from discreet.data.linear import compile_counts
from discreet.data.plan.facts import facts
from discreet.data.plan.measures import measures
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.row_nodes import FALSE, And, Within
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.queries import Queries
from discreet.queries.query import PredicateQuery, ProductQuery

SHOPS = Dimension(
    "shops",
    key="shop",
    columns=(Category("shop", values=(1, 2, 3)), Category("city", values=("york", "o'hare"))),
)
SALES = Schema(
    "sales",
    columns=(
        Category("kind", values=("it's", "b\\c", "100%", "é")),
        Category("shop", values=(1, 2, 3)),
        Integer("n", lower=-10, upper=20, grid=5),
        Decimal("price", lower=0, upper=2, grid=Fraction("0.25")),
        Boolean("paid"),
        Date("day", lower=datetime.date(2019, 12, 28), upper=datetime.date(2020, 1, 5)),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
    dimensions=(SHOPS,),
)
TABLES = PlanTables.of(SALES)
POLICY = Policy(epsilon=Fraction(1), delta=Fraction(0))


def rows() -> list[tuple[Any, ...]]:
    """A fixed table in which every pair of values of neighbouring columns occurs, and missing ones too."""
    domains = [(*column.domain(), None) for column in SALES.columns]
    cycles = [itertools.cycle(domain) for domain in domains]
    made = [tuple(next(cycle) for cycle in cycles) for _ in range(300)]
    return [tuple(float(cell) if isinstance(cell, Fraction) else cell for cell in row) for row in made]


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[duckdb.DuckDBPyConnection, Table]]:
    raw = duckdb.connect(config={"threads": 1})
    raw.execute(
        "CREATE TABLE sales (kind TEXT, shop BIGINT, n BIGINT, price DECIMAL(6, 2), paid BOOLEAN, day DATE)"
    )
    raw.executemany("INSERT INTO sales VALUES (?, ?, ?, ?, ?, ?)", rows())
    raw.execute("CREATE TABLE shops (shop BIGINT, city TEXT)")
    raw.execute("INSERT INTO shops VALUES (1, 'york'), (3, 'o''hare')")
    table = Table((raw, "sales"), schema=SALES, dimensions={"shops": (raw, "shops")})
    yield raw, table
    table.close()
    raw.close()


NUMBERS = st.sampled_from(["n", "price", "0", "1", "-5", "2.5", "0.3", "7"])
ARITHMETIC = st.recursive(
    NUMBERS,
    lambda inner: st.builds("({} {} {})".format, inner, st.sampled_from("+-*"), inner),
    max_leaves=3,
)
SIGNS = st.sampled_from(["=", "<>", "<", "<=", ">", ">="])
TEXTS = st.sampled_from(["'it''s'", "'b\\c'", "'100%'", "'é'"])
ATOMS = st.one_of(
    st.builds("{} {} {}".format, ARITHMETIC, SIGNS, ARITHMETIC),
    st.builds("n {}IN (-10, 5, 20)".format, st.sampled_from(["", "NOT "])),
    st.builds("price {}BETWEEN 0.3 AND 1.25".format, st.sampled_from(["", "NOT "])),
    st.builds("kind {} {}".format, st.sampled_from(["=", "<>"]), TEXTS),
    st.builds(
        "kind {}LIKE '{}'".format,
        st.sampled_from(["", "NOT "]),
        st.text("%_10bs'", max_size=3).map(lambda text: text.replace("'", "''")),
    ),
    st.builds("shop {} {}".format, st.sampled_from(["=", "<>"]), st.integers(1, 3)),
    st.builds("day {} DATE '2020-01-0{}'".format, SIGNS, st.integers(1, 9)),
    st.builds(
        "{} IS {}NULL".format, st.sampled_from(["n", "paid", "kind", "day"]), st.sampled_from(["", "NOT "])
    ),
    st.sampled_from(
        ["paid", "NOT paid", "paid IS TRUE", "paid IS NOT TRUE", "paid <> TRUE", "TRUE", "1 = 0"]
    ),
)
CONDITIONS = st.recursive(
    ATOMS,
    lambda inner: (
        inner.map("NOT ({})".format)
        | st.builds("({} {} {})".format, inner, st.sampled_from(["AND", "OR"]), inner)
    ),
    max_leaves=6,
)


def understood(text: str) -> Plan:
    """The plan; equalities that no declared value meets are refused, and have a test of their own."""
    try:
        return parse(text, schemas=SALES, policy=POLICY)
    except Refused as error:
        assert "no row can have" in str(error) or "no declared value" in str(error)
        reject()


def answered(table: Table, plan: Plan) -> dict[tuple[Any, ...], list[Any]]:
    """The aggregates of a plan from its exact measures, as the engine itself would print them."""
    totals: dict[Any, dict[Any, Any]] = {}
    for query in render(facts(plan, TABLES)):
        found = table._source.execute(query.tree)
        if query.measures[0].kind == "histogram":
            for group, counts in histograms(query, found, TABLES, plan.where):
                totals.setdefault(group, {})[query.measures[0]] = counts
        else:
            for group, values in fill(query, found, TABLES, plan.where):
                totals.setdefault(group, {}).update(zip(query.measures, values, strict=True))
    return {group: [_value(one, values) for one in plan.aggregates] for group, values in totals.items()}


def _value(aggregate: Any, values: dict[Any, Any]) -> Any:
    needed = measures(aggregate, TABLES)
    parts = [values[measure] for measure in needed]
    unit, centre = needed[0].unit, needed[0].centre
    if aggregate.kind == "count":
        return parts[0]
    if aggregate.kind == "sum":
        return parts[0] * unit
    if aggregate.kind == "quantile":
        return sorted(value * unit for value, count in parts[0].items() for _ in range(count))
    count = parts[-1]
    if count == 0:
        return None
    mean = Fraction(parts[-2], count)
    return (
        (mean + centre) * unit
        if aggregate.kind == "average"
        else (Fraction(parts[0], count) - mean**2) * unit**2
    )


@settings(max_examples=120, deadline=None)
@given(CONDITIONS)
def test_conditions_choose_the_rows_that_sql_chooses(
    engines: tuple[duckdb.DuckDBPyConnection, Table], condition: str
) -> None:
    raw, table = engines
    text = f"SELECT COUNT(*) FROM sales WHERE {condition}"
    ((expected,),) = raw.execute(text).fetchall()
    assert answered(table, understood(text)) == {(): [expected]}


EQUALITIES = st.one_of(
    st.builds("n = {}".format, st.integers(-20, 30) | st.sampled_from(["2.5", "0.0"])),
    st.builds("price = {}".format, st.decimals(-1, 3, places=2)),
    st.builds("kind = {}".format, st.sampled_from(["'it''s'", "'100%'", "'other'", "''", "'É'"])),
    st.builds("shop = {}".format, st.integers(-1, 5)),
    st.builds("day = DATE '2020-01-{:02}'".format, st.integers(1, 9)),
)


@settings(max_examples=60, deadline=None)
@given(EQUALITIES)
def test_equalities_are_refused_where_no_declared_value_meets_them(condition: str) -> None:
    name = condition.split(maxsplit=1)[0]
    values = ", ".join(f"({_literal(value)})" for value in SALES.column(name).domain())
    with duckdb.connect() as raw:
        meets = raw.execute(f"SELECT COUNT(*) FROM (VALUES {values}) AS t({name}) WHERE {condition}")
        possible = meets.fetchall() != [(0,)]
    try:
        parse(f"SELECT COUNT(*) FROM sales WHERE {condition}", schemas=SALES, policy=POLICY)
    except Refused:
        assert not possible
    else:
        assert possible


def _literal(value: object) -> str:
    if isinstance(value, Fraction):
        return str(float(value))
    quoted = str(value).replace("'", "''")
    return {str: f"'{quoted}'", datetime.date: f"DATE '{value}'"}.get(type(value), str(value))


@settings(max_examples=60, deadline=None)
@example("n > 0 AND kind <> 'é' AND paid IS NOT TRUE", "")
@example("n > price OR day IS NULL", "CUBE(kind, paid)")
@example("1 = 0", "shop")
@given(CONDITIONS, st.sampled_from(["", "kind", "shop, paid", "ROLLUP(n, kind)", "day"]))
def test_compiled_counts_on_a_histogram_are_those_of_the_engine(
    engines: tuple[duckdb.DuckDBPyConnection, Table], condition: str, group: str
) -> None:
    _, table = engines
    text = f"SELECT COUNT(*) FROM sales WHERE {condition}" + (f" GROUP BY {group}" if group else "")
    plan = understood(text)
    rendered = render(facts(plan, TABLES))
    expected = [count for one in rendered for _, (count,) in counted(table, one, plan)]
    universe = table.universe()
    queries = compile_counts(plan, SALES, universe)
    parts = plan.where.parts if isinstance(plan.where, And) else (plan.where,)
    product = plan.where == FALSE or all(isinstance(part, Within) for part in parts)
    assert {type(query) for query in queries} == {ProductQuery if product else PredicateQuery}
    for sparse in (True, False):
        histogram = table.histogram(sparse=sparse)
        assert [query.evaluate(histogram) for query in queries] == expected
    assert Queries(universe, queries).answers(histogram).tolist() == expected


def counted(table: Table, query: EngineQuery, plan: Plan) -> list[tuple[tuple[Any, ...], tuple[int, ...]]]:
    return fill(query, table._source.execute(query.tree), TABLES, plan.where)


@pytest.mark.parametrize("group", ["", "kind", "shop, paid", "n", "day", "city"])
def test_aggregates_are_those_of_sql(engines: tuple[duckdb.DuckDBPyConnection, Table], group: str) -> None:
    raw, table = engines
    calls = "COUNT(*), COUNT(n), SUM(n), SUM(n * price - 1), AVG(price + n - n), VAR_POP(n), MEDIAN(n)"
    rest = " FROM sales JOIN shops USING (shop) WHERE price < 1.9" + (f" GROUP BY {group}" if group else "")
    plan = parse(f"SELECT {calls}{rest}", schemas=SALES, policy=POLICY)
    ours = answered(table, plan)
    names = [field.name for field in plan.keys]
    listed = calls.replace("MEDIAN(n)", "LIST(n ORDER BY n) FILTER (n IS NOT NULL)")
    found = raw.execute(f"SELECT {', '.join([*names, listed])}{rest}").fetchall()
    domain = [TABLES.column(field).domain() for field in plan.keys]
    codes = [TABLES.column(field).codes() for field in plan.keys]
    expected = {row[: len(names)]: row[len(names) :] for row in found if None not in row[: len(names)]}
    assert ours.keys() == set(itertools.product(*codes))
    for values, key in zip(itertools.product(*domain), itertools.product(*codes), strict=True):
        count, present, total, product, average, variance, listed_n = expected.get(values, (0,) * 7)
        assert ours[key][:4] == [count, present, Fraction(total or 0), Fraction(product or 0)]
        assert ours[key][4] is None or float(ours[key][4]) == pytest.approx(average)
        assert ours[key][5] is None or float(ours[key][5]) == pytest.approx(variance)
        assert ours[key][6] == (listed_n or [])


def test_keys_of_the_answer_do_not_depend_on_the_data(
    engines: tuple[duckdb.DuckDBPyConnection, Table],
) -> None:
    _, table = engines
    text = "SELECT kind, shop, COUNT(*) FROM sales WHERE {} GROUP BY kind, shop"
    everything = answered(table, parse(text.format("TRUE"), schemas=SALES, policy=POLICY))
    nothing = answered(table, parse(text.format("1 = 0"), schemas=SALES, policy=POLICY))
    assert list(everything) == list(nothing)
    assert {value for (value,) in nothing.values()} == {0}
    assert {value for (value,) in everything.values()} != {0}


PAIRED = (
    *("COVAR_POP(n, price)", "COVAR_SAMP(n, price)", "CORR(n, price)", "REGR_SLOPE(n, price)"),
    *("REGR_INTERCEPT(n, price)", "REGR_R2(n, price)", "REGR_AVGX(n, price)"),
)
COUNTED = (
    *("COUNT(kind)", "COUNT(paid)", "COUNT(day)", "REGR_COUNT(n, price)"),
    *("COUNT(DISTINCT kind)", "COUNT(DISTINCT n)", "COUNT(DISTINCT paid)", "COUNT(DISTINCT day)"),
)


@pytest.mark.parametrize("group", ["", "shop"])
def test_exact_numbers_of_more_aggregates_are_those_of_sql(
    engines: tuple[duckdb.DuckDBPyConnection, Table], group: str
) -> None:
    """With so much budget that the noise is below 1e-6: what is shown is what an engine computes."""
    raw, table = engines
    key = f"{group}, " if group else ""
    rest = " FROM sales WHERE price < 1.9" + (f" GROUP BY {group} ORDER BY {group}" if group else "")
    where = rest.replace("WHERE", f"WHERE {group} IS NOT NULL AND") if group else rest
    for listed in (PAIRED, COUNTED):
        expected = raw.execute(f"SELECT {key}{', '.join(listed)}{where}").fetchall()
        names = ", ".join(f"{call} AS v{i}" for i, call in enumerate(listed))
        found = table.sql(f"SELECT {key}{names}{rest}", epsilon=10**12, delta=0).rows
        assert len(found) == len(expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert list(map(float, ours)) == pytest.approx(list(map(float, theirs)), abs=1e-6)


def test_extremes_and_modes_are_those_of_sql(engines: tuple[duckdb.DuckDBPyConnection, Table]) -> None:
    raw, table = engines
    where = " FROM sales WHERE n < 15 AND price > 0.3 AND day < DATE '2020-01-04' AND (kind = 'é' OR paid)"
    ((low, high, least, most, first, last),) = raw.execute(
        f"SELECT MIN(n), MAX(n), MIN(price), MAX(price), MIN(day), MAX(day){where}"
    ).fetchall()
    text = "SELECT MIN(n), MAX(n), MIN(price), MAX(price), MIN(day), MAX(day), MODE(kind), MODE(paid)" + where
    answer = table.sql(text, epsilon=10**6, delta=0)
    modes = tuple(
        raw.execute(
            f"SELECT {name}{where} AND {name} IS NOT NULL GROUP BY 1 ORDER BY COUNT(*) DESC LIMIT 1"
        ).fetchall()[0][0]
        for name in ("kind", "paid")
    )
    # The value before the last one, where the budget leaves a doubt of one row.
    assert answer.rows[0] == (low, high, float(least), float(most), first, last, *modes)
    assert answer.interval("max_day", 0.95) == ((last, datetime.date(2020, 1, 5)),)
    assert answer.interval("min_n", 0.95) == ((-10, low),)
    spread = table.sql(
        "SELECT MAX(day) - MIN(day) AS days, MAX(n) > 5 AS any" + where, epsilon=10**6, delta=0
    )
    assert spread.rows == (((last - first).days, True),)
    assert spread.interval("days", 0.9) == (((last - first).days, 8),)
