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
POLICY = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))
LIST = Path(__file__).with_name("everyday.sql")
DIALECTS = ("postgres", "bigquery", "duckdb", "spark")


def read_list() -> list[tuple[str, str, str | None]]:
    """Return (dialect, question, words of the refusal or None) in the order of the list."""
    found, dialect, refused = [], "", None
    for line in LIST.read_text(encoding="utf-8").splitlines():
        if line.startswith("-- refused: "):
            refused = line.removeprefix("-- refused: ")
        elif line.removeprefix("-- ") in DIALECTS:
            dialect = line.removeprefix("-- ")
        elif line and not line.startswith("--"):
            found.append((dialect, line.rstrip(";"), refused))
            refused = None
    return found


QUESTIONS = read_list()


@pytest.mark.parametrize(("dialect", "question", "refused"), QUESTIONS)
def test_everyday_question(dialect: str, question: str, refused: str | None) -> None:
    del dialect
    if refused is None:
        plan = plan_question(question, schemas=TABLES, policy=POLICY)
        assert plan.guarantee.implies(epsilon=1, delta=1e-6)
        return
    with pytest.raises(Refused, match=f"(?i){re.escape(refused)}") as caught:
        plan_question(question, schemas=TABLES, policy=POLICY)
    assert caught.value.way_out


def test_most_are_planned() -> None:
    planned = [refused is None for _, _, refused in QUESTIONS]
    assert len(planned) >= 150
    assert sum(planned) >= 0.8 * len(planned)
    assert {dialect for dialect, _, _ in QUESTIONS} == set(DIALECTS)


def test_what_is_read_without_the_parser_is_what_it_reads() -> None:
    reader, today = PlainQuestions(TABLES), datetime.date(2026, 11, 18)
    read = 0
    for _, question, _ in QUESTIONS:
        plain = reader.read(question)
        if plain is not None:
            assert plain == parse(question, schemas=TABLES, policy=POLICY, today=today), question
            read += 1
    assert read >= 2
