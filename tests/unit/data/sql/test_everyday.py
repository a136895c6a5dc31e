"""Questions as analysts write them: which are planned, and which are refused with which words."""

from __future__ import annotations

import datetime
import re
from fractions import Fraction
from pathlib import Path

import pytest

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import (
    Boolean,
    Category,
    Date,
    Decimal,
    Dimension,
    Identifier,
    Integer,
    Schema,
    Text,
    User,
)
from discreet.data.ask import plan_question
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.plain_questions import PlainQuestions

WARDS = Dimension(
    "wards",
    key="ward",
    columns=(
        Integer("ward", lower=1, upper=40),
        Category("wing", values=("north", "south")),
        Integer("beds", lower=0, upper=60),
    ),
)
VISITS = Schema(
    "visits",
    columns=(
        Identifier("patient_id"),
        Integer("age", lower=0, upper=110),
        Category("sex", values=("female", "male")),
        Category("city", values=("london", "paris", "rome", "lisbon", "oslo")),
        Boolean("smoker"),
        Date("visit_date", lower=datetime.date(2020, 1, 1), upper=datetime.date(2027, 12, 31)),
        Date("discharge", lower=datetime.date(2020, 1, 1), upper=datetime.date(2027, 12, 31)),
        Decimal("cost", lower=0, upper=5000, grid=Fraction("0.01")),
        Decimal("weight", lower=30, upper=200, grid=Fraction("0.1")),
        Integer("height", lower=120, upper=220),
        Category("diagnosis", values=("A01", "A02", "B20", "B21", "C50", "J18")),
        Integer("ward", lower=1, upper=40),
        Integer("days", lower=0, upper=60),
        Text("notes"),
    ),
    unit=User(column="patient_id", max_rows=10, max_groups=5),
    neighbours=AddRemove("patient_id"),
    dimensions=(WARDS,),
)
PRESCRIPTIONS = Schema(
    "prescriptions",
    columns=(
        Identifier("patient_id"),
        Category("drug", values=("aspirin", "insulin", "other")),
        Decimal("dose", lower=0, upper=100, grid=Fraction("0.5")),
    ),
    unit=User(column="patient_id", max_rows=5, max_groups=2),
    neighbours=AddRemove("patient_id"),
)
TABLES = PlanTables.of((VISITS, PRESCRIPTIONS))
YEAR = {"lower": datetime.date(2024, 1, 1), "upper": datetime.date(2024, 12, 31)}
KINDS, PLACES = ("checkup", "scan", "surgery", "vaccine"), ("north", "south", "east", "west")
REGIONS = Dimension(
    "regions",
    key="region",
    columns=(
        Category("region", values=PLACES),
        Category("state", values=("alpha", "beta")),
        Integer("population", lower=0, upper=1_000_000),
    ),
)
CALLS = Schema(
    "visits",
    columns=(
        Identifier("user_id"),
        Category("region", values=PLACES),
        Category("ward", values=("A1", "A2", "B1", "B2")),
        Category("kind", values=KINDS),
        Integer("age", lower=0, upper=100),
        Decimal("spent", lower=0, upper=200, grid=Fraction("0.01")),
        Boolean("paid"),
        Date("day", **YEAR),
        Text("notes"),
    ),
    unit=User(column="user_id", max_rows=8, max_groups=8),
    neighbours=AddRemove("user_id"),
    dimensions=(REGIONS,),
)
ORDERS = Schema(
    "orders",
    columns=(
        Identifier("user_id"),
        Category("product", values=("book", "toy", "food")),
        Decimal("price", lower=0, upper=100, grid=Fraction("0.01")),
        Integer("quantity", lower=1, upper=5),
        Date("day", **YEAR),
    ),
    unit=User(column="user_id", max_rows=4, max_groups=4),
    neighbours=AddRemove("user_id"),
)
POLICY = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))
LISTS = {"everyday": TABLES, "everyday_orders": PlanTables.of((CALLS, ORDERS))}
DIALECTS = ("postgres", "bigquery", "duckdb", "spark")


def read_list(name: str) -> list[tuple[str, str, str | None]]:
    """Return (dialect, question, words of the refusal or None) in the order of the list."""
    found, dialect, refused = [], "", None
    for line in Path(__file__).with_name(f"{name}.sql").read_text(encoding="utf-8").splitlines():
        if line.startswith("-- refused: "):
            refused = line.removeprefix("-- refused: ")
        elif line.removeprefix("-- ") in DIALECTS:
            dialect = line.removeprefix("-- ")
        elif line and not line.startswith("--"):
            found.append((dialect, line.rstrip(";"), refused))
            refused = None
    return found


QUESTIONS = {name: read_list(name) for name in LISTS}


@pytest.mark.parametrize(
    ("name", "question", "refused"),
    [(name, question, refused) for name, listed in QUESTIONS.items() for _, question, refused in listed],
)
def test_everyday_question(name: str, question: str, refused: str | None) -> None:
    if refused is None:
        plan = plan_question(question, schemas=LISTS[name], policy=POLICY)
        assert plan.guarantee.implies(epsilon=1, delta=1e-6)
        return
    with pytest.raises(Refused, match=f"(?i){re.escape(refused)}") as caught:
        plan_question(question, schemas=LISTS[name], policy=POLICY)
    assert caught.value.way_out


@pytest.mark.parametrize(("name", "share"), [("everyday", 0.84), ("everyday_orders", 0.79)])
def test_most_are_planned(name: str, share: float) -> None:
    planned = [refused is None for _, _, refused in QUESTIONS[name]]
    assert len(planned) >= 150
    assert sum(planned) >= share * len(planned)
    assert {dialect for dialect, _, _ in QUESTIONS[name]} == set(DIALECTS)


def test_what_is_read_without_the_parser_is_what_it_reads() -> None:
    today, read = datetime.date(2026, 11, 18), 0
    for name, tables in LISTS.items():
        reader = PlainQuestions(tables)
        for _, question, _ in QUESTIONS[name]:
            plain = reader.read(question)
            if plain is not None:
                assert plain == parse(question, schemas=tables, policy=POLICY, today=today), question
                read += 1
    assert read >= 2
