"""A condition that no declared value meets is a slip of the pen: refused before anything is charged."""

from __future__ import annotations

from fractions import Fraction

import pandas
import pytest
from sql_schemas import count

from discreet import AddRemove, Curator
from discreet.core.errors import Refused
from discreet.data import Category, Row, Schema, Table
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse

CITY = Schema(
    "people",
    columns=(
        Category("ward", values=("North", "South", "East Side"), other="South"),
        Category("street", values=tuple(f"street {k}" for k in range(5000))),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)


def why(condition: str) -> str:
    with pytest.raises(Refused) as caught:
        count(condition)
    return str(caught.value)


@pytest.mark.parametrize(
    "condition",
    [
        "region = 'x'",
        "region <> 'x'",
        "NOT region = 'x'",
        "'x' = region",
        "region IN ('n', 'x')",
        "region NOT IN ('n', 'x')",
        "active OR region = 'x'",
        "store = 4",
        "store = 1.5",
        "region LIKE 'x%'",
    ],
)
def test_an_undeclared_value_of_a_category_is_refused(condition: str) -> None:
    assert "declared" in why(condition)


def test_the_declared_values_are_listed() -> None:
    assert "Declared: 'e', 'n', 's', 'w'" in why("region = 'x'")
    assert "Declared: 1, 2, 3" in why("store = 4")


def test_a_near_value_is_suggested() -> None:
    tables = PlanTables.of(CITY)
    policy = Policy(epsilon=Fraction(1), delta=Fraction(0))
    for written, meant in (("north", "North"), ("Nroth", "North"), ("East", "East Side")):
        with pytest.raises(Refused, match=f"Did you mean '{meant}'"):
            parse(f"SELECT COUNT(*) FROM people WHERE ward = '{written}'", schemas=tables, policy=policy)
    with pytest.raises(Refused) as caught:
        parse("SELECT COUNT(*) FROM people WHERE ward = 'zzz'", schemas=tables, policy=policy)
    assert "Did you mean" not in str(caught.value)
    assert "others count as 'South'" in str(caught.value)


def test_a_long_list_is_cut_and_searched_without_its_case_only() -> None:
    tables = PlanTables.of(CITY)
    policy = Policy(epsilon=Fraction(1), delta=Fraction(0))
    with pytest.raises(Refused) as caught:
        parse("SELECT COUNT(*) FROM people WHERE street = 'STREET 4999'", schemas=tables, policy=policy)
    assert "Did you mean 'street 4999'" in str(caught.value)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        ("age = 200", "from 0 to 120"),
        ("age <> 121", "from 0 to 120"),
        ("age IN (30, -1)", "from 0 to 120"),
        ("age = 30.5", "in steps of 1"),
        ("cost = 0.005", "in steps of 0.01"),
        ("age + 1 = 500", "from 0 to 120"),
        ("day = DATE '2021-01-01'", "from 2020-01-01 to 2020-12-31"),
        ("day = '2019-12-31'", "from 2020-01-01 to 2020-12-31"),
    ],
)
def test_a_number_or_date_that_cannot_occur_is_refused(condition: str, words: str) -> None:
    message = why(condition)
    assert words in message
    assert "nearest" in message


@pytest.mark.parametrize(
    "condition",
    [
        "age < 200",
        "age BETWEEN -5 AND 500",
        "NOT age > 500",
        "age = 120",
        "cost = -5",
        "cost = 0.05",
        "income = age",
        "2 * age = 240",
        "region NOT LIKE 'x%'",
    ],
)
def test_what_can_be_said_of_the_declared_values_stays_legal(condition: str) -> None:
    count(condition)


def test_nothing_is_charged_and_nothing_noted() -> None:
    people = pandas.DataFrame({"ward": ["North", "South"], "street": ["street 1", "street 2"]})
    table = Table(people, schema=CITY)
    curator = Curator(table, epsilon=1, delta=1e-9, shared=0)
    analyst = curator.analyst("ada", share=1)
    before = analyst.left
    with pytest.raises(Refused, match="North"):
        analyst.sql("SELECT COUNT(*) FROM people WHERE ward = 'East'")
    assert analyst.left == before
    assert analyst.history == ()
