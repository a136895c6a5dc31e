"""Counts as linear queries over a universe."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from discreet import AddRemove
from discreet.core.errors import InvalidParameter, Refused
from discreet.data import Boolean, Category, Decimal, Integer, Row, Schema, Text
from discreet.data.linear import LinearQuery, linear
from discreet.data.plan import Policy
from discreet.data.sql import parse


@dataclass(frozen=True)
class Universe:
    attributes: tuple[tuple[str, tuple[Any, ...]], ...]


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
ALL = Universe(
    tuple(
        (column.name, (*column.domain(), None)) for column in PEOPLE.columns if not isinstance(column, Text)
    )
)
CELLS = list(itertools.product(*(range(len(values)) for _, values in ALL.attributes)))
GRID = np.array(CELLS)


def compiled(text: str, universe: Universe = ALL) -> tuple[LinearQuery, ...]:
    policy = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))
    return linear(parse(text, schemas=PEOPLE, policy=policy), PEOPLE, universe)


def counted(query: LinearQuery) -> set[tuple[Any, ...]]:
    """The cells that count, as values."""
    mask = query.evaluate(GRID)
    return {
        tuple(ALL.attributes[k][1][i] for k, i in enumerate(cell))
        for cell, held in zip(CELLS, mask, strict=True)
        if held
    }


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
    expected = {cell for cell in itertools.product(*(values for _, values in ALL.attributes)) if holds(*cell)}
    assert counted(query) == expected
    if condition != "1 = 0":
        assert query.allowed is not None
        inside = itertools.product(*query.allowed)
        assert {tuple(ALL.attributes[k][1][i] for k, i in enumerate(cell)) for cell in inside} == expected


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
    assert query.allowed is None
    assert counted(query) == {
        cell for cell in itertools.product(*(values for _, values in ALL.attributes)) if holds(*cell)
    }


def test_groups_are_queries_in_declared_order() -> None:
    queries = compiled("SELECT COUNT(*) FROM people WHERE age > 1 GROUP BY CUBE(region)")
    assert [query.group for query in queries] == [
        (),
        (("region", "n"),),
        (("region", "s"),),
        (("region", "w"),),
    ]
    whole, *parts = queries
    assert all(len(query.allowed[1]) == 1 for query in parts if query.allowed)
    masks = [query.evaluate(GRID).astype(int) for query in parts]
    assert (sum(masks) == whole.evaluate(GRID) * (GRID[:, 1] < 3)).all()
    crossed = compiled("SELECT COUNT(*) FROM people WHERE age > 1 OR member GROUP BY region")
    assert crossed[1].allowed is None
    assert (crossed[1].evaluate(GRID) <= (GRID[:, 1] == 1)).all()


@pytest.mark.parametrize(
    "text",
    [
        "SELECT SUM(age) FROM people",
        "SELECT COUNT(age) FROM people",
        "SELECT COUNT(*), AVG(age) FROM people",
        "SELECT note, COUNT(*) FROM people GROUP BY note",
    ],
)
def test_refuses_what_is_not_a_count_over_the_universe(text: str) -> None:
    with pytest.raises(Refused):
        compiled(text)


def test_refuses_a_universe_of_something_else() -> None:
    small = Universe((("region", ("n", "s")),))
    assert compiled("SELECT COUNT(*) FROM people WHERE region = 'n'", small)[0].allowed == ((0,),)
    with pytest.raises(Refused, match="attribute"):
        compiled("SELECT COUNT(*) FROM people WHERE age = 1", small)
    with pytest.raises(Refused, match="declare"):
        compiled("SELECT COUNT(*) FROM people WHERE region = 'n'", Universe((("region", ("n", "x")),)))
    with pytest.raises(Refused, match="declare"):
        compiled("SELECT COUNT(*) FROM people WHERE age = 1", Universe((("age", (0, 99)),)))


def test_refuses_positions_of_another_shape() -> None:
    (query,) = compiled("SELECT COUNT(*) FROM people")
    with pytest.raises(InvalidParameter):
        query.evaluate(np.zeros((3, 2), dtype=np.int64))
