"""Sensitivities in closed form, for hand-made cases whose answer is plain."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sql_schemas import CLAUSE, TABLES, plan

from discreet import AddRemove, Replace
from discreet.core.errors import Refused
from discreet.data import Category, Identifier, Integer, Row, Schema, Text, User
from discreet.data.plan.facts import Facts, VectorSensitivity, facts, stack
from discreet.data.plan.measures import measures
from discreet.data.plan.nodes import Aggregate, Policy
from discreet.data.plan.numbers import _range
from discreet.data.plan.row_nodes import Field
from discreet.data.sql.parse import parse

POLICY = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))


def events(unit: Row | User, kind: type[AddRemove] | type[Replace]) -> Schema:
    columns = (
        Identifier("who"),
        Category("g", values=("a", "b", "c")),
        Integer("pos", lower=2, upper=10),
        Integer("both", lower=-4, upper=10, grid=2),
        Text("note"),
    )
    return Schema("events", columns=columns, unit=unit, neighbours=kind(unit.name))


def found(text: str, unit: Row | User, kind: type[AddRemove] | type[Replace]) -> Facts:
    schema = events(unit, kind)
    return facts(parse(text, schemas=schema, policy=POLICY), schema)


ROW, USER = Row(), User(column="who", max_rows=5, max_groups=2)
CASES = [
    ("COUNT(*)", "", ROW, AddRemove, VectorSensitivity(1, 1, 1, 1)),
    ("COUNT(*)", "g", ROW, AddRemove, VectorSensitivity(1, 1, 1, 1)),
    ("COUNT(*)", "g", ROW, Replace, VectorSensitivity(2, 1, 2, 2)),
    ("COUNT(*)", "", ROW, Replace, VectorSensitivity(1, 1, 1, 1)),
    ("SUM(pos)", "", ROW, AddRemove, VectorSensitivity(1, 10, 10, 100)),
    ("SUM(both)", "", ROW, AddRemove, VectorSensitivity(1, 5, 5, 25)),
    ("SUM(both)", "", ROW, Replace, VectorSensitivity(1, 7, 7, 49)),
    ("SUM(pos)", "g", ROW, Replace, VectorSensitivity(2, 10, 20, 200)),
    ("SUM(pos, contribution_bounds_per_row => (0, 4))", "", ROW, AddRemove, VectorSensitivity(1, 4, 4, 16)),
    ("COUNT(*)", "", USER, AddRemove, VectorSensitivity(1, 5, 5, 25)),
    # All five rows in one group: splitting them over two groups makes the vector shorter.
    ("COUNT(*)", "g", USER, AddRemove, VectorSensitivity(2, 5, 5, 25)),
    (
        "COUNT(*, contribution_bounds_per_group => (0, 3))",
        "g",
        USER,
        AddRemove,
        VectorSensitivity(2, 3, 5, 9 + 4),
    ),
    (
        "COUNT(*, contribution_bounds_per_group => (0, 2))",
        "g",
        USER,
        AddRemove,
        VectorSensitivity(2, 2, 4, 8),
    ),
    ("COUNT(*)", "g", USER, Replace, VectorSensitivity(3, 5, 10, 50)),
    ("COUNT(DISTINCT who)", "g", USER, AddRemove, VectorSensitivity(2, 1, 2, 2)),
    ("COUNT(DISTINCT who)", "", USER, AddRemove, VectorSensitivity(1, 1, 1, 1)),
    ("SUM(both)", "g", USER, AddRemove, VectorSensitivity(2, 25, 25, 625)),
    ("SUM(both)", "", USER, Replace, VectorSensitivity(1, 35, 35, 35 * 35)),
    (
        "SUM(pos, contribution_bounds_per_group => (0, 9))",
        "g",
        USER,
        AddRemove,
        VectorSensitivity(2, 9, 18, 162),
    ),
    # Clamping to at least 6 lifts small totals, so both groups can hold the largest.
    (
        "SUM(pos, contribution_bounds_per_group => (6, 30))",
        "g",
        USER,
        AddRemove,
        VectorSensitivity(2, 30, 60, 1800),
    ),
    # Around 5 the values reach from -3 to 4.
    (
        "VAR_POP(pos, contribution_bounds_per_row => (2, 9))",
        "",
        ROW,
        AddRemove,
        VectorSensitivity(1, 16, 16, 256),
    ),
    ("MEDIAN(pos)", "g", USER, AddRemove, VectorSensitivity(5, 5, 5, 25)),
    ("MEDIAN(pos)", "", ROW, Replace, VectorSensitivity(2, 1, 2, 2)),
    ("COUNT(*)", "note", USER, AddRemove, VectorSensitivity(2, 5, 5, 25)),
]


@pytest.mark.parametrize(("call", "group", "unit", "kind", "expected"), CASES)
def test_sensitivities(
    call: str, group: str, unit: Row | User, kind: type, expected: VectorSensitivity
) -> None:
    text = f"SELECT {call} FROM events" + (f" GROUP BY {group}" if group else "")
    stated = found(text, unit, kind)
    assert stated.sets[0].measures[0][1] == expected
    assert stated.neighbours == kind(unit.name)


def test_an_average_is_centred() -> None:
    stated = found("SELECT AVG(pos) FROM events", ROW, AddRemove)
    (total, moved), (count, once) = stated.sets[0].measures
    assert (total.kind, total.centre, moved) == ("sum", 6, VectorSensitivity(1, 4, 4, 16))
    assert (count.kind, once) == ("rows", VectorSensitivity(1, 1, 1, 1))


def test_a_variance_is_centred() -> None:
    stated = found("SELECT STDDEV(pos) FROM events", ROW, AddRemove)
    assert [measure.kind for measure, _ in stated.sets[0].measures] == ["squares", "sum", "rows"]
    assert stated.sets[0].measures[0][1] == VectorSensitivity(1, 16, 16, 256)


def test_measures_that_aggregates_share_are_measured_once() -> None:
    stated = found("SELECT AVG(pos), VAR_POP(pos), COUNT(pos), STDDEV(pos) FROM events", ROW, AddRemove)
    assert [measure.kind for measure, _ in stated.sets[0].measures] == ["sum", "rows", "squares"]


def test_groups_found_by_threshold_are_measured_in_units() -> None:
    stated = found("SELECT note, SUM(pos) FROM events GROUP BY note", USER, AddRemove)
    assert stated.sets[0].cells is None
    assert [measure.kind for measure, _ in stated.sets[0].measures] == ["sum", "units"]


def test_options_tighten() -> None:
    base = facts(plan(CLAUSE.format("epsilon=0.5")), TABLES)
    tight = facts(plan(CLAUSE.format("max_rows_contributed=2, max_groups_contributed=1")), TABLES)
    assert (base.rows_per_unit, base.groups_per_unit) == (5, 2)
    assert (tight.rows_per_unit, tight.groups_per_unit) == (2, 1)
    assert tight.sets[0].measures[0][1].l1 == 2


def test_private_joins_multiply_rows() -> None:
    joined = plan("SELECT COUNT(*), SUM(price) FROM visits JOIN orders USING (user_id)")
    assert facts(joined, TABLES).rows_per_unit == 5 * 2
    assert facts(joined, TABLES).sets[0].measures[1][1].l1 == 10 * 50
    public = plan("SELECT COUNT(*) FROM visits JOIN stores USING (store)")
    assert facts(public, TABLES).rows_per_unit == 5


def test_grouping_sets_add_up() -> None:
    stated = found("SELECT COUNT(*) FROM events GROUP BY CUBE(g)", ROW, Replace)
    parts = [one.measures[0][1] for one in stated.sets]
    assert [one.cells for one in stated.sets] == [1, 3]
    assert stack(parts) == VectorSensitivity(3, 1, 3, 3)


@pytest.mark.parametrize("squared", [0, 1, 2, 49, 50, 10**40 + 1, 2**130])
def test_length_is_rounded_up(squared: int) -> None:
    length = VectorSensitivity(1, 1, 1, squared).l2
    assert Fraction(length) ** 2 >= squared
    assert length <= math.sqrt(squared) * (1 + 1e-15)


def test_variances_too_wide_for_exact_squares_are_refused() -> None:
    wide = Schema(
        "wide",
        columns=(Integer("x", lower=-(2**53), upper=2**53),),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    with pytest.raises(Refused, match="squares"):
        parse("SELECT VAR_POP(x) FROM wide", schemas=wide, policy=POLICY)
    narrow = "SELECT VAR_POP(x, contribution_bounds_per_row => (0, 1000)) FROM wide"
    assert parse(narrow, schemas=wide, policy=POLICY).aggregates[0].row_bounds == (0, 1000)


def test_an_aggregate_of_nothing_is_refused() -> None:
    with pytest.raises(Refused):
        measures(Aggregate("sum"), TABLES)


FIELDS = tuple(Field("events", f"x{k}") for k in range(8))


@given(
    st.dictionaries(
        st.lists(st.sampled_from(FIELDS[:5]), max_size=3, unique=True).map(
            lambda names: tuple(sorted(names))
        ),
        st.integers(-4, 4),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.tuples(st.integers(-2, 0), st.integers(0, 2)), min_size=5, max_size=5),
)
def test_ranges_are_exact_where_few_columns_meet(terms: dict[Any, int], ends: list[tuple[int, int]]) -> None:
    spans = {field: ends[FIELDS.index(field)] for field in sorted({f for names in terms for f in names})}
    assert _range(tuple(terms.items()), spans) == brute_force(terms, spans)


def test_ranges_hold_where_many_columns_meet_or_one_is_squared() -> None:
    a, b, c, d, e, f, g, h = FIELDS
    spans: dict[Field, tuple[int, int]] = dict.fromkeys(FIELDS, (-1, 2))
    for terms in ({(a, b, c): 2, (c, d, e): -1, (e, f, g, h): 1, (): 5}, {(a, a): 1, (a, b): -2, (c,): 3}):
        low, high = _range(tuple(terms.items()), spans)
        least, most = brute_force(terms, spans)
        assert low <= least and most <= high
    apart = tuple(((field,), 1 - 2 * k) for k, field in enumerate(FIELDS))
    assert _range(apart, spans) == brute_force(dict(apart), spans)


def brute_force(terms: dict[Any, int], spans: dict[Field, tuple[int, int]]) -> tuple[int, int]:
    points = itertools.product(*(range(low, high + 1) for low, high in spans.values()))
    found = [
        sum(c * math.prod(point[list(spans).index(f)] for f in names) for names, c in terms.items())
        for point in points
    ]
    return min(found), max(found)
