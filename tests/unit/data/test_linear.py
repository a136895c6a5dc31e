"""Counts as linear queries over a universe."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import AddRemove
from discreet.core.errors import InvalidParameter, Refused
from discreet.data import Boolean, Category, Decimal, Identifier, Integer, Row, Schema, Text, User
from discreet.data.linear import compile_counts
from discreet.data.plan.nodes import Policy
from discreet.data.sql.parse import parse
from discreet.queries import LinearQuery, Queries, Universe
from discreet.queries.query import PredicateQuery, ProductQuery

PEOPLE = Schema(
    "people",
    columns=(
        Integer("age", lower=0, upper=4),
        Category("region", values=("n", "s", "w")),
        Decimal("rate", lower=0, upper=1, grid=Fraction("0.5")),
        Boolean("member"),
        Text("note"),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
ALL = Universe.from_columns(column for column in PEOPLE.columns if not isinstance(column, Text))
POLICY = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))
CELLS = ALL.unravel(np.arange(ALL.size))
Cell = tuple[Any, ...]


def compiled(text: str, universe: Universe = ALL) -> tuple[LinearQuery, ...]:
    return compile_counts(parse(text, schemas=PEOPLE, policy=POLICY), PEOPLE, universe)


def counted(query: LinearQuery) -> set[Cell]:
    """The cells that count, as values; every face of the query must say the same."""
    held = query.at(CELLS)
    assert (query.vector().ravel() == held).all()
    return {ALL.record(int(cell)) for cell in np.flatnonzero(held)}


def names(query: LinearQuery) -> set[str]:
    return {ALL.names[axis] for axis in query.axes}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("TRUE", lambda a, r, q, m: True),
        ("1 = 0", lambda a, r, q, m: False),
        (
            "age >= 2 AND region IN ('n', 'w')",
            lambda a, r, q, m: a is not None and a >= 2 and r in ("n", "w"),
        ),
        (
            "age <> 3 AND rate > 0.25 AND member",
            lambda a, r, q, m: a not in (None, 3) and q not in (None, 0) and m,
        ),
        ("age IS NULL AND member IS NOT TRUE", lambda a, r, q, m: a is None and m is not True),
    ],
)
def test_products(condition: str, holds: Any) -> None:
    (query,) = compiled(f"SELECT COUNT(*) FROM people WHERE {condition}")
    assert isinstance(query, ProductQuery)
    assert counted(query) == {cell for cell in ALL.records() if holds(*cell)}
    assert names(query) == {name for name in ALL.names if name in condition}


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("age = 1 OR region = 'n'", lambda a, r, q, m: a == 1 or r == "n"),
        ("age > 2 * rate", lambda a, r, q, m: a is not None and q is not None and a > 2 * q),
        ("age * age + rate <= 4", lambda a, r, q, m: a is not None and q is not None and a * a + q <= 4),
        (
            "age * rate = 1 OR NOT member",
            lambda a, r, q, m: (None not in (a, q) and a * q == 1) or m is False,
        ),
        ("age * rate <> 1", lambda a, r, q, m: None not in (a, q) and a * q != 1),
    ],
)
def test_predicates(condition: str, holds: Any) -> None:
    (query,) = compiled(f"SELECT COUNT(*) FROM people WHERE {condition}")
    assert isinstance(query, PredicateQuery)
    assert counted(query) == {cell for cell in ALL.records() if holds(*cell)}
    assert names(query) == {name for name in ALL.names if name in condition}


def test_groups_are_queries_in_declared_order() -> None:
    whole, *parts = compiled("SELECT COUNT(*) FROM people WHERE age > 1 GROUP BY CUBE(region)")
    assert [query.name.split(" and ")[0] for query in parts] == [
        f"rows with region = {region!r}" for region in ("n", "s", "w")
    ]
    assert names(whole) == {"age"} and all(names(query) == {"age", "region"} for query in parts)
    assert set().union(*map(counted, parts)) == {cell for cell in counted(whole) if cell[1] is not None}
    for query, region in zip(parts, ("n", "s", "w"), strict=True):
        assert {cell[1] for cell in counted(query)} == {region}
    crossed = compiled("SELECT COUNT(*) FROM people WHERE age > 1 OR member GROUP BY region")
    assert all(isinstance(query, PredicateQuery) for query in crossed)
    assert {cell[1] for cell in counted(crossed[1])} == {"s"}
    narrowed = compiled("SELECT COUNT(*) FROM people WHERE region <> 's' GROUP BY region")
    assert [query.name.split(" and ")[0] for query in narrowed] == [
        "rows with region = 'n'",
        "rows with region = 'w'",
    ]
    assert all(len(counted(query)) > 0 for query in narrowed)
    nothing = compiled("SELECT COUNT(*) FROM people WHERE 1 = 0 GROUP BY region, member")
    assert len(nothing) == 6 and not any(map(counted, nothing))


def test_compiled_queries_are_a_workload() -> None:
    everything = compiled("SELECT COUNT(*) FROM people")
    assert [(query.axes, query.name) for query in everything] == [((), "rows")]
    texts = ("TRUE", "1 = 0", "age > 2 * rate", "region = 'n'")
    queries = [compiled(f"SELECT COUNT(*) FROM people WHERE {text}")[0] for text in texts]
    workload = Queries(ALL, queries)
    ones = np.ones(ALL.shape, dtype=np.int64)
    assert workload.answers(ones).tolist() == [len(counted(query)) for query in queries]
    assert workload.sensitivity(AddRemove("row"), norm=1) == 3
    assert (workload.adjoint(np.array([1, 5, 0, 0])) == ones).all()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(age) FROM people",
        "SELECT COUNT(note) FROM people",
        "SELECT SUM(CASE WHEN member THEN 1 WHEN age > 2 THEN 2 END) FROM people",
        "SELECT COUNT(*), AVG(age) FROM people",
        "SELECT note, COUNT(*) FROM people GROUP BY note",
    ],
)
def test_refuses_what_is_not_a_count_over_the_universe(text: str) -> None:
    with pytest.raises(Refused):
        compiled(text)


def test_refuses_a_universe_of_something_else() -> None:
    small = Universe([("region", ("n", "s"))])
    (query,) = compiled("SELECT COUNT(*) FROM people WHERE region = 'n'", small)
    assert query.table().tolist() == [True, False]
    with pytest.raises(Refused, match="attribute"):
        compiled("SELECT COUNT(*) FROM people WHERE age = 1", small)
    with pytest.raises(Refused, match="declare"):
        compiled("SELECT COUNT(*) FROM people WHERE region = 'n'", Universe([("region", ("n", "x"))]))
    with pytest.raises(Refused, match="declare"):
        compiled("SELECT COUNT(*) FROM people WHERE age = 1", Universe([("age", (0, 99))]))
    with pytest.raises(InvalidParameter, match="universe"):
        compiled("SELECT COUNT(*) FROM people", [("age", (0, 1))])  # type: ignore[arg-type]


def test_refuses_bounds_that_a_histogram_does_not_have() -> None:
    schema = Schema(
        "people",
        columns=(Identifier("who"), *PEOPLE.columns),
        unit=User(column="who", max_rows=3, max_groups=2),
        neighbours=AddRemove("who"),
    )
    units = "SELECT COUNT(*) FROM (SELECT who FROM people GROUP BY who) AS t"
    with pytest.raises(Refused, match="of one table"):
        compile_counts(parse(units, schemas=schema, policy=POLICY), schema, ALL)
    bounded = "SELECT COUNT(*, contribution_bounds_per_group => (0, 1)) FROM people"
    with pytest.raises(Refused, match="contribution bounds"):
        compile_counts(parse(bounded, schemas=schema, policy=POLICY), schema, ALL)
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS({} = 1) COUNT(*) FROM people"
    for option in ("max_rows_contributed", "max_groups_contributed"):
        plan = parse(clause.format(option), schemas=schema, policy=POLICY)
        with pytest.raises(Refused, match="bounds"):
            compile_counts(plan, schema, ALL)
