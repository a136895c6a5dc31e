"""What is read without the parser is what the parser reads; whatever it would refuse is left to it."""

from __future__ import annotations

import datetime
import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.data.sql_schemas import TABLES

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Category, Decimal, Integer, Row, Schema
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.sql.plain_questions import MOST_LISTED, MOST_TESTS, PlainQuestions

POLICY = Policy(epsilon=Fraction(1, 2), delta=Fraction(1, 10**9))
ODD = Schema(
    "odd",
    columns=(
        Integer("x", lower=-10, upper=50, grid=5, null=0),
        Category("date", values=("a", "b")),
        Category(
            "n", values=("", " a", "a b", "--", "/*", "%s", "A", "a", "1", "NULL", "x=1 AND y", ";", '"', "`")
        ),
        Category("set", values=("x", "y")),
        Decimal("Rate", lower=-1, upper=2, grid=Fraction("0.25")),
        Category("mixed", values=(1, 2)),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
ALL = PlanTables.of((*TABLES.schemas, ODD))
READER = PlainQuestions(ALL)
TODAY = datetime.date(2026, 11, 18)


def _parse(text: str) -> Plan | None:
    try:
        return parse(text, schemas=ALL, policy=POLICY, today=TODAY)
    except Refused:
        return None


def _is_same(text: str) -> bool:
    """Check that a question is read as the parser reads it, or left to it; say whether it was read."""
    plain = READER.read(text)
    if plain is not None:
        assert plain == _parse(text), text
        assert repr(plain) == repr(_parse(text)), text
    return plain is not None


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM people",
        "select count(*) as N from PEOPLE",
        "SELECT COUNT( * ) AS age FROM people WHERE age < 5",
        "SELECT COUNT(*) FROM people WHERE age BETWEEN 3 AND 17 AND region = 'n'",
        "\n SELECT\tCOUNT(*)\r\nFROM people\nWHERE\tage>=7\nAND age!=9 AND REGION IN ('n','s')\n",
        "SELECT COUNT(*) FROM people WHERE age >= 0",
        "SELECT COUNT(*) FROM people WHERE age BETWEEN 9 AND 3",
        "SELECT COUNT(*) FROM people WHERE age > 120 AND region <> 's'",
        "SELECT COUNT(*) FROM visits WHERE cost < 2.505 AND income IN (1, 2, 3 , 5)",
        "SELECT COUNT(*) FROM visits WHERE region IN ('e', 'n', 's', 'w')",
        "SELECT COUNT(*) FROM odd WHERE x > 7 AND x < 31 AND Rate >= 0.3 AND rate = 0.50",
        "SELECT COUNT(*) FROM odd WHERE n = '--' AND x = 0010",
        "SELECT COUNT(*) FROM odd WHERE n IN ('x=1 AND y', ';', '', ' a', '%s', '\"', '`')",
    ],
)
def test_plain_questions_are_read_as_the_parser_reads_them(text: str) -> None:
    assert _is_same(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT COUNT(*) FROM people WHERE",
        "SELECT COUNT(*) FROM people WHERE age = 5 AND",
        "SELECT COUNT(*) FROM people WHERE age = 5 AND ",
        "SELECT COUNT(*) FROM people WHERE age = 500",
        "SELECT COUNT(*) FROM people WHERE age = 5.5",
        "SELECT COUNT(*) FROM people WHERE age = '5'",
        "SELECT COUNT(*) FROM people WHERE region = 'x'",
        "SELECT COUNT(*) FROM people WHERE region < 'n'",
        "SELECT COUNT(*) FROM people WHERE region = 'n''s'",
        "SELECT COUNT(*) FROM people WHERE region = 'n' 's'",
        "SELECT COUNT(*) FROM people WHERE region = 'n\\'",
        "SELECT COUNT(*) FROM people WHERE region = 'n' -- AND age = 5",
        "SELECT COUNT(*) FROM people WHERE age = 5; DROP TABLE people",
        "SELECT COUNT(*) FROM people WHERE age = 1e1",
        "SELECT COUNT(*) FROM people WHERE age = 0x10",
        "SELECT COUNT(*) FROM people WHERE age = 1_0",
        "SELECT COUNT(*) FROM people WHERE age = -1",
        "SELECT COUNT(*) FROM people WHERE age == 1",
        "SELECT COUNT(*) FROM people WHERE age => 1",
        "SELECT COUNT(*) FROM people WHERE age <=> 1",
        "SELECT COUNT(*) FROM people WHERE age = 5 OR age = 6",
        "SELECT COUNT(*) FROM people WHERE NOT age = 5",
        "SELECT COUNT(*) FROM people WHERE age BETWEEN 3 AND 5 AND 7",
        "SELECT COUNT(*) FROM people WHERE age IN ()",
        "SELECT COUNT(*) FROM people WHERE age IN (5,)",
        "SELECT COUNT(*) FROM people WHERE age IN (5, 500)",
        "SELECT COUNT(*) FROM people GROUP BY region",
        "SELECT COUNT(*) FROM people LIMIT 5",
        "SELECT COUNT(*) FROM people, people",
        "SELECT COUNT(*) AS select FROM people",
        "SELECT COUNT(*) AS from FROM people",
        "SELECT COUNT(*) n FROM people",
        "SELECT COUNT(*) FROM nobody",
        "SELECT COUNT(*) FROM stores",
        "SELECT COUNT(*) FROM visits WHERE user_id = 5",
        "SELECT COUNT(*) FROM visits WHERE note = 'x'",
        "SELECT COUNT(*) FROM visits WHERE active = 1",
        "SELECT COUNT(*) FROM visits WHERE store = 1",
        "SELECT COUNT(*) FROM odd WHERE date = 'a'",
        "SELECT COUNT(*) FROM odd WHERE set = 'x'",
        "SELECT COUNT(*) FROM odd WHERE n = 'A\u00a0'",
        "SELECT COUNT(*) FROM odd WHERE n = '\u2019'",
        "SELECT COUNT(*) FROM odd WHERE n = 'a\x00'",
        "SELECT COUNT(*) FROM odd WHERE x = 7",
        "SELECT COUNT(*)\u00a0FROM people",
        "SELECT COUNT(*) FROM people WHERE " + " AND ".join(["age < 9"] * (MOST_TESTS + 1)),
        "SELECT COUNT(*) FROM people WHERE age IN (" + ", ".join(["9"] * (MOST_LISTED + 1)) + ")",
        "SELECT COUNT(*) FROM people WHERE age < 9" + " " * 1000,
        "SELECT COUNT(*) FROM people WHERE age < " + "9" * 30,
        "",
    ],
)
def test_whatever_else_comes_is_left_to_the_parser(text: str) -> None:
    assert READER.read(text) is None


NAMES = st.sampled_from(
    ["age", "AGE", "region", "income", "cost", "x", "Rate", "rate", "n", "date", "set", "mixed", "user_id",
     "active", "day", "note", "store", "nobody", "count", "current_date", "r", "b"]
)  # fmt: skip
TEXTS = st.one_of(
    st.sampled_from(
        ["n", "s", "e", "a b", "", " a", "--", "/*", "%s", "A", "NULL", "1", "x=1 AND y", ";", "`"]
    ),
    st.text(alphabet="ns'\\ -;\"`%\u00e9\u2019\t\x00", max_size=4),
)
LITERALS = st.one_of(
    st.integers(0, 130).map(str),
    st.decimals(0, 130, places=2).map(str),
    st.sampled_from(["007", "1e3", "0x1", "1_0", "9" * 15, "9" * 19, "5.", ".5", "1.2.3", "+1", "-1", "NULL",
                     "TRUE", "5a", "age", "(5)", "5::int", "DATE '2020-01-01'", "$1", "?", "x'1'"]),
    TEXTS.map(lambda text: f"'{text}'"),
)  # fmt: skip
SPACE = st.sampled_from([" ", "  ", "\n", "\t", "", " ", " ", "/**/", "\u00a0"])
SIGNS = st.sampled_from(["=", "<>", "!=", "<", "<=", ">", ">=", "==", "<=>", "LIKE", "IS", "~"])


@st.composite
def questions(draw: st.DrawFn) -> str:
    """Draw counts with conditions, most of them plain, some odd in one place or another."""

    def test() -> str:
        name, gap = draw(NAMES), draw(SPACE)
        kind = draw(st.integers(0, 3))
        if kind == 0:
            word = draw(st.sampled_from(["BETWEEN", "between", "NOT BETWEEN"]))
            return f"{name} {word} {draw(LITERALS)}{draw(SPACE)}AND {draw(LITERALS)}"
        if kind == 1:
            listed = f"{gap},".join(draw(st.lists(LITERALS, min_size=0, max_size=4)))
            return f"{name} {draw(st.sampled_from(['IN', 'in', 'NOT IN']))}{gap}({listed}{gap})"
        return f"{name}{gap}{draw(SIGNS)}{draw(SPACE)}{draw(LITERALS)}"

    tests = [test() for _ in range(draw(st.integers(0, 3)))]
    joined = "".join(
        f"{draw(st.sampled_from(['AND', 'and', 'AND', 'OR', 'AND NOT']))} {one}{draw(SPACE)}"
        for one in tests[1:]
    )
    where = f"WHERE{draw(SPACE)}{tests[0]}{draw(SPACE)}{joined}" if tests else ""
    alias = draw(
        st.sampled_from(
            ["", " AS n", " AS age", " AS group", " AS all", " n", " AS x1", ' AS "q"', " AS end"]
        )
    )
    table = draw(
        st.sampled_from(["people", "visits", "odd", "ODD", "stores", "nobody", "people p", "orders"])
    )
    end = draw(st.sampled_from(["", "", "", " ", ";", " LIMIT 3", " GROUP BY 1", ")", " AND", " --"]))
    count = draw(st.sampled_from(["COUNT(*)", "count( * )", "COUNT (*)", "COUNT(1)", "COUNT(DISTINCT age)"]))
    return f"SELECT {count}{alias} FROM{draw(SPACE)}{table}{draw(SPACE)}{where}{end}"


@settings(max_examples=1500, deadline=None, derandomize=True)
@given(questions())
def test_no_question_is_read_otherwise_than_the_parser_does(text: str) -> None:
    _is_same(text)


def test_every_pair_of_tests_of_one_column() -> None:
    """All that can be said of one column twice over: sets that meet, touch, cover and exclude each other."""
    ends = (0, 1, 60, 119, 120, 121)
    tests = [f"age {sign} {end}" for sign in ("=", "<>", "<", "<=", ">", ">=") for end in ends]
    tests += [f"age BETWEEN {low} AND {high}" for low, high in itertools.product(ends, ends)]
    read = 0
    for one, other in itertools.product(tests[::2], tests[1::3]):
        read += _is_same(f"SELECT COUNT(*) FROM people WHERE {one} AND region = 'n' AND {other}")
    assert read > 200
