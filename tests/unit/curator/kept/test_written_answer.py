"""Answers in a book: whatever was asked, the numbers that were kept make the same answer again."""

import datetime
import json
import os
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pandas
import pytest

import discreet as dp
from discreet.core.errors import InternalError
from discreet.curator.kept.written_answer import find_plan_digest, read_answer, write_answer
from discreet.curator.offers import list_offers
from discreet.data import Category, Date, Identifier, Integer, Row, Schema, Table, Text, User
from discreet.data.plan.nodes import Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse

SCHEMA = Schema(
    "visits",
    columns=(
        Identifier("who"),
        Category("region", values=("east", "north", "west")),
        Integer("age", lower=20, upper=29),
        Integer("income", lower=0, upper=100_000),
        dp.Decimal("height", lower=1, upper=2, grid=Fraction(1, 10)),
        Date("day", lower=datetime.date(2026, 1, 1), upper=datetime.date(2026, 3, 31)),
        Text("town"),
    ),
    unit=User(column="who", max_rows=2, max_groups=2),
    neighbours=dp.AddRemove("who"),
)
QUESTIONS = [
    "SELECT COUNT(*) AS n FROM visits",
    "SELECT COUNT(DISTINCT who) AS n, SUM(income) AS total FROM visits WHERE age > 22",
    "SELECT region, AVG(income) AS m, STDDEV(income) AS s, VAR_POP(height) AS v FROM visits GROUP BY region",
    "SELECT region, age, COUNT(*) AS n FROM visits GROUP BY ROLLUP (region, age) ORDER BY n DESC LIMIT 5",
    "SELECT age, region, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((age), (region), ())",
    "SELECT region, PERCENTILE_CONT(income, 0.5) AS median FROM visits GROUP BY region",
    "SELECT MIN(income) AS least, MAX(day) AS last, MODE(region) AS usual FROM visits",
    "SELECT town, COUNT(DISTINCT who) AS n, SUM(income) AS total FROM visits GROUP BY town",
    "SELECT CORR(age, income) AS c, REGR_SLOPE(income, age) AS slope FROM visits",
    "SELECT day, COUNT(*) AS n FROM visits GROUP BY day HAVING COUNT(*) > 3 ORDER BY day DESC",
    "SELECT MONTH(day) AS m, COUNT(*) * 2 + 1 AS n FROM visits GROUP BY MONTH(day)",
    "SELECT height, COUNT(*) AS n FROM visits GROUP BY height",
]
POLICY = Policy(epsilon=Fraction(4), delta=Fraction(1, 10**4))


def visits(rows=600):
    generator = np.random.default_rng(5)  # noqa: TID251
    return pandas.DataFrame(
        {
            "who": [f"u{place // 2}" for place in range(rows)],
            "region": generator.choice(("east", "north", "west"), rows),
            "age": generator.integers(20, 30, rows),
            "income": generator.integers(0, 100_000, rows),
            "height": generator.integers(10, 21, rows) / 10,
            "day": pandas.Timestamp("2026-01-01") + pandas.to_timedelta(generator.integers(0, 90, rows), "D"),
            "town": generator.choice(("A", "B"), rows),
        }
    )


@pytest.fixture(scope="module")
def table():
    with Table(visits(), schema=SCHEMA) as opened:
        yield opened


def offers(text, policy=POLICY, schema=SCHEMA):
    tables = PlanTables.of(schema)
    return list(list_offers(parse(text, schemas=tables, policy=policy), tables, policy))


@pytest.mark.parametrize("text", QUESTIONS)
def test_what_was_kept_makes_the_same_answer(table, text):
    for plan, again in zip(offers(text), offers(text), strict=True):
        answer = table.answer(plan)
        assert find_plan_digest(plan) == find_plan_digest(again)
        read = read_answer(json.loads(json.dumps(write_answer(answer))), again)
        assert read.rows == answer.rows and repr(read) == repr(answer)
        assert len(read) > 0
        for name in answer.numbers:
            for level in (0.5, 0.95, 0.999):
                assert read.interval(name, level) == answer.interval(name, level)


def test_digests_tell_plans_apart():
    other = Schema(
        "visits",
        columns=(
            SCHEMA.columns[0],
            Category("region", values=("west", "north", "east")),
            *SCHEMA.columns[2:],
        ),
        unit=SCHEMA.unit,
        neighbours=SCHEMA.neighbours,
    )
    digests = [find_plan_digest(plan) for text in QUESTIONS for plan in offers(text)]
    digests += [
        find_plan_digest(plan)
        for plan in offers(QUESTIONS[0], Policy(epsilon=Fraction(2), delta=Fraction(0)))
    ]
    digests += [find_plan_digest(plan) for plan in offers(QUESTIONS[0], schema=other)]
    assert len(set(digests)) == len(digests)


def test_numbers_of_other_groups_are_not_read(table):
    written = write_answer(table.answer(offers(QUESTIONS[0])[0]))
    with pytest.raises(InternalError):
        read_answer(written, offers(QUESTIONS[4])[0])


_PROGRAM = """
from tests.unit.curator.kept.test_written_answer import QUESTIONS, offers
from discreet.curator.kept.requests import DoorRequest, ReadQuestion
from discreet.curator.kept.written_answer import find_plan_digest
for text in QUESTIONS:
    for plan in offers(text):
        asked = DoorRequest(ReadQuestion(plan.question, plan.tables), None, False)
        print(find_plan_digest(plan), asked.question, asked.digest)
"""


def test_digests_are_the_same_in_every_process():
    """What is found again by a digest must not hang on the order of a set."""
    printed = []
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed}
        command = [sys.executable, "-c", _PROGRAM]
        done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        printed.append(done.stdout)
    assert printed[0] == printed[1] and len(printed[0].splitlines()) > len(QUESTIONS)


def test_what_no_file_holds_is_bought_all_the_same(tmp_path):
    thirds = dp.Decimal("x", lower=0, upper=Fraction(10, 3), grid=Fraction(1, 3))
    schema = Schema("t", columns=(thirds,), unit=Row(), neighbours=dp.AddRemove("row"))
    for life in range(2):
        table = Table(pandas.DataFrame({"x": [1.0] * 50}), schema=schema)
        with dp.Curator(table, epsilon=4, delta=0, shared=0, ledger=tmp_path / "b.db") as curator:
            reply = curator.analyst("acme").sql("SELECT COUNT(*) AS n FROM t")
            assert reply.repeated == bool(life) and bool(reply.cost) == (not life)
