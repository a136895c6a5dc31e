"""One question, one reply: whatever is asked, four very different tables answer alike and show no canary.

Questions come from a small grammar that knows the language, its edges and the classic escapes, and from the
same questions with words dropped, doubled, swapped or replaced. A few hundred run with every change, five
thousand in `make soak`.
"""

from __future__ import annotations

import math
import random  # noqa: TID251  # which questions are asked is no secret
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import discreet as dp
from discreet.core.errors import DiscreetError, InvalidParameter, Refused
from discreet.data import (
    Boolean,
    Category,
    Decimal,
    Dimension,
    Identifier,
    Integer,
    Schema,
    Table,
    Text,
    User,
)
from discreet.data.plan.after import is_noisy
from discreet.data.plan.nodes import After, Computed, Windowed
from discreet.data.pricing.answer import Answer
from discreet.testing import unsafe_seeded

ROWS = 60
COMPUTED = (Computed, Windowed)
CANARY = "canary"
SCHEMA = Schema(
    "t",
    columns=(
        Identifier("who"),
        Category("g", values=("a", "b")),
        Integer("x", lower=-5, upper=20),
        Decimal("y", lower=0, upper=1, grid=Fraction("0.1"), null=0),
        Boolean("flag"),
        Text("note"),
    ),
    unit=User(column="who", max_rows=2, max_groups=2),
    neighbours=dp.AddRemove("who"),
    dimensions=(
        Dimension(
            "d", key="g", columns=(Category("g", values=("a", "b")), Integer("w", lower=0, upper=3, null=0))
        ),
    ),
)


def frames() -> dict[str, pd.DataFrame]:
    normal = pd.DataFrame(
        {
            "who": [f"{CANARY}-user-{i}" for i in range(ROWS)],
            "g": [("a", "b", f"{CANARY}-g")[i % 3] for i in range(ROWS)],
            "x": [float(i % 26 - 5) for i in range(ROWS)],
            "y": [(i % 11) / 10 for i in range(ROWS)],
            "flag": [bool(i % 2) for i in range(ROWS)],
            "note": [f"{CANARY}-note-{i}" for i in range(ROWS)],
        }
    )
    missing = normal.copy()
    for name in ("who", "g", "flag", "note"):
        missing[name] = pd.Series([None] * ROWS, dtype=object)
    missing["x"] = missing["y"] = math.nan
    zero = normal.assign(x=0.0, y=0.0, flag=False, note="", who="")
    odd = (math.inf, -math.inf, math.nan, 1.8e308, 5e-324, -0.0)
    extremes = normal.assign(
        x=[odd[i % 6] for i in range(ROWS)], y=[odd[(i + 1) % 6] for i in range(ROWS)], g=f"{CANARY}-g"
    )
    return {"normal": normal, "missing": missing, "zero": zero, "extremes": extremes}


@pytest.fixture(scope="module")
def tables() -> Iterator[dict[str, Table]]:
    weights = pd.DataFrame({"g": ["a", "b"], "w": [1, 3]})
    opened = {
        name: Table(frame, schema=SCHEMA, dimensions={"d": weights}) for name, frame in frames().items()
    }
    yield opened
    for table in opened.values():
        table.close()


# What the language knows comes first, then what must be refused alike on all data.
NUMBERS = (("x", "y", "t.x", "x", "t.y", "x", "y", "-2.5"), ("w", "9999999999999999999", "note", "g"))
CALLS = (
    (
        "COUNT(*)", "COUNT(1)", "COUNT({n})", "COUNT(DISTINCT who)", "SUM({n})", "AVG({n})", "VARIANCE({n})",
        "VAR_POP({n})", "STDDEV({n})", "STDDEV_POP({n})", "MEDIAN({n})", "QUANTILE({n}, 0.99)",
        "PERCENTILE_CONT({n}, 0.25)", "APPROX_QUANTILES({n}, 3)", "SUM(x - y)",
        "SUM(x, contribution_bounds_per_group => (0, 3))", "AVG(x, contribution_bounds_per_row => (0, 3))",
        "COUNT(*, contribution_bounds_per_group => (0, 1))", "COUNT(note)", "COUNT(g)", "COUNT(DISTINCT x)",
        "COUNT(DISTINCT note)", "MAX({n})", "MIN({n})", "MODE(g)", "MODE(x)", "CORR(x, y)",
        "COVAR_SAMP(x, y)",
        "SUM({n}) / COUNT(*)", "ROUND(100.0 * AVG({n}), 1)", "SQRT(SUM({n}))", "'x'", "COUNT(*) > 3",
        "CASE WHEN COUNT(*) > 2 THEN 1 ELSE 0 END", "GREATEST(MEDIAN({n}), COUNT(*))",
        "COUNTIF({n} > 1)", "COUNT(*) FILTER (WHERE note LIKE '%-1%')", "SUM(COUNT(*)) OVER ()",
        "COUNT(DISTINCT who) FILTER (WHERE LOWER(note) = 'a')", "RANK() OVER (ORDER BY COUNT(*) DESC)",
        "AVG(POWER(y, 1.5))", "EXP(AVG(LN(y + 1)))", "SUM(RANGE_BUCKET({n}, [0, 2.5]))", "STD({n})",
        "COUNT(DISTINCT x - y, flag)", "NTILE(2) OVER (ORDER BY COUNT(*))",
        "SUM({n}) / SUM(SUM({n})) OVER ()", "COUNT(DISTINCT CASE WHEN note <> '' THEN who END)",
    ),
    (
        "MODE(note)", "SUM(note)", "AVG(1 / {n})", "list(note)", "any_value(who)", "COUNT(DISTINCT x, y)",
        "SUM(CAST(note AS INT))", "error('x')", "string_agg(note, ',')", "SUM(x) FILTER (WHERE x > 1)",
        "SUM(x) OVER ()", "SUM((SELECT 1))", "ln({n})", "SUM(x % 2)", "SUM(x) / x", "SUM(who)",
    ),
)  # fmt: skip
TESTS = (
    (
        "{n} > {n}", "{n} <= 3", "NOT {n} = 2", "{n} <> {n}", "x BETWEEN -2 AND 1e3", "x IN (1, 2, 99)",
        "x NOT IN (0)", "g = 'a'", "g <> 'zzz'", "g IN ('a', 'zzz')", "g LIKE '%b'", "g NOT LIKE '_'",
        "flag", "flag IS NOT TRUE", "y IS NULL", "x IS NOT NULL", "1 = 0", "TRUE",
        "note = 'canary-note-1'", "note LIKE '%x%'", "note NOT ILIKE '%NOTE-_'", "note IN ('', 'a!%')",
        "note LIKE '%!%%' ESCAPE '!'", "LOWER(note) <> 'b'", "who IN (SELECT who FROM t WHERE x > 3)",
        "who NOT IN (SELECT who FROM t WHERE note LIKE '_%')", "g IN (SELECT g FROM d WHERE w > 1)",
        "EXISTS (SELECT 1 FROM t AS o WHERE o.who = t.who AND o.flag)",
    ),
    (
        "w > 1", "who = 'canary-user-1'", "x / 0 > 1", "who IN (SELECT note FROM t)",
        "CAST(g AS INT) = 1", "EXISTS (SELECT 1 FROM t)", "x = (SELECT MAX(x) FROM t)", "g ~ 'a'",
        "length(note) > 3", "x = NULL",
    ),
)  # fmt: skip
GROUPS = (
    (
        "",
        "",
        "g",
        "flag, g",
        "CUBE(g, flag)",
        "ROLLUP(g, note)",
        "GROUPING SETS ((g), ())",
        "note",
        "x",
        "FLOOR(SQRT(y) * 3)",
        "WIDTH_BUCKET(x, ARRAY[0, 3])",
        "g GROUPING SETS ((g), ())",
    ),
    ("who", "y, flag", "w", "1", "x + 1"),
)
FROM = (
    ("t", "t", "t", "t JOIN d USING (g)", "t JOIN d ON t.g = d.g",
     "t ANTI JOIN t AS o ON o.who = t.who AND o.x > 3", "t SEMI JOIN t AS o USING (who)"),
    ("t AS u", "t, t", "t JOIN t USING (who)", "t LEFT JOIN d USING (g)", "(SELECT * FROM t)", "nowhere",
     "read_csv('x')", "query('SELECT 1')"),
)  # fmt: skip
OPTIONS = (
    ("", "", "", "epsilon = 0.5", "delta = 0", "max_rows_contributed = 1",
     "max_groups_contributed = 1, epsilon = 0.25"),
    ("epsilon = 2", "epsilon = nan", "privacy_unit_column = note"),
)  # fmt: skip
AROUND = (
    (
        "SELECT SUM(n) FROM ({q}) AS q", "SELECT g, n / (m + 1) AS r FROM ({q}) AS q WHERE n > 2",
        "WITH q AS ({q}) SELECT g, AVG(n), COUNT(*), MAX(m) FROM q WHERE m > 0 GROUP BY g ORDER BY 2",
        "SELECT g, n, n - LAG(n) OVER (ORDER BY g, flag) FROM ({q}) AS q",
        "SELECT COUNTIF(n > m) FROM ({q}) AS q",
    ),
    ("SELECT note FROM ({q}) AS q", "SELECT n FROM ({q}) AS q LIMIT x", "SELECT MEDIAN(n) FROM ({q}) AS q"),
)  # fmt: skip
UNITS = (
    (
        "SELECT n, COUNT(*) FROM ({u}) AS u GROUP BY n", "SELECT AVG(n), SUM(m) FROM ({u}) AS u WHERE m > 1",
        "SELECT COUNT(DISTINCT who), MEDIAN(m) FROM ({u}) AS u",
        "SELECT COUNT(*) FROM ({u}) AS u WHERE n > 1 UNION ALL SELECT SUM(m) FROM ({u}) AS u",
    ),
    ("SELECT who, n FROM ({u}) AS u", "SELECT MAX(note) FROM ({u}) AS u", "SELECT g, n FROM ({u}) AS u"),
)  # fmt: skip
VALUES = (
    "SUM(x)",
    "AVG(y)",
    "MAX(x)",
    "COUNT(note)",
    "COUNT(DISTINCT g)",
    "COUNT(DISTINCT x)",
    "COUNT(DISTINCT x - y) FILTER (WHERE flag)",
)
ENDS = (
    (
        "",
        "",
        "",
        "",
        " ORDER BY 1",
        " LIMIT 3",
        " HAVING COUNT(*) > 1",
        " ORDER BY COUNT(*) DESC LIMIT 1",
        " QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*)) < 3",
    ),
    (" ORDER BY x / 2", " LIMIT x", " HAVING x > 1", " QUALIFY 1 = 1", "; SELECT note FROM t", " -- x", ";"),
)
WORDS = ("SELECT", "(", ")", ",", "x", "NULL", "'", "AND", "1e999", "\x00", "é", "*", "note", "OR 1 = 1")


class Questions:
    """An endless, fixed list of questions, some half of them in the language."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.odd = 0.0

    def one(self) -> str:
        self.odd = self.random.choice((0.0, 0.0, 0.05, 0.3))
        form = self.random.random()
        if form < 0.6:
            text = self._plain()
        elif form < 0.75:
            texts = [self._stacked(place) for place in range(self.random.choice((2, 2, 3)))]
            text = " UNION ALL ".join(texts) + self.random.choice(("", "", " ORDER BY 2 DESC", " LIMIT 2"))
        elif form < 0.88:
            inner = (
                f"SELECT g, flag, {self._call()} AS n, COUNT(*) AS m FROM t{self._where()} GROUP BY g, flag"
            )
            text = self._of(AROUND).replace("{q}", inner)
        else:
            keys = self.random.choice(("", "", ", g", ", g, flag"))
            value = self.random.choice(VALUES)
            inner = f"SELECT who{keys}, COUNT(*) AS n, {value} AS m FROM t{self._where()} GROUP BY who{keys}"
            text = self._of(UNITS).replace("{u}", inner)
        return text if self.random.random() < 0.9 else self._spoilt(text)

    def _stacked(self, place: int) -> str:
        key = self.random.choice(("g", "g", f"'part {place}'"))
        grouped = " GROUP BY g" if key == "g" else ""
        return f"SELECT {key}, {self._call()} FROM t{self._where()}{grouped}"

    def _call(self) -> str:
        return self._of(CALLS).replace("{n}", self._number())

    def _where(self) -> str:
        return f" WHERE {self._condition(3)}" if self.random.random() < 0.5 else ""

    def _plain(self) -> str:
        keys, clause, source = self._of(GROUPS), self._of(OPTIONS), self._of(FROM)
        shown = [key for key in ("flag", "note", "x", "y", "w") if key in _words(keys)]
        shown += ["t.g"] if "g" in _words(keys) and "JOIN" not in source else []
        calls = [self._call() for _ in range(self.random.choice((1, 1, 2, 3)))]
        text = "SELECT " + (f"WITH DIFFERENTIAL_PRIVACY OPTIONS ({clause}) " if clause else "")
        text += f"{', '.join([*shown, *calls])} FROM {source}{self._where()}"
        return text + (f" GROUP BY {keys}" if keys else "") + self._of(ENDS)

    def _of(self, listed: tuple[tuple[str, ...], tuple[str, ...]]) -> str:
        return self.random.choice(listed[self.random.random() < self.odd])

    def _number(self) -> str:
        number = self._of(NUMBERS)
        while self.random.random() < 0.2:
            number = f"({number} {self.random.choice('+-*')} {self._of(NUMBERS)})"
        return number

    def _condition(self, depth: int) -> str:
        if depth == 0 or self.random.random() < 0.5:
            return self._of(TESTS).replace("{n}", self._number(), 1).replace("{n}", self._number())
        left, right = self._condition(depth - 1), self._condition(depth - 1)
        return f"{self.random.choice(('', 'NOT '))}({left} {self.random.choice(('AND', 'OR'))} {right})"

    def _spoilt(self, text: str) -> str:
        words = text.split(" ")
        place = self.random.randrange(len(words))
        change = self.random.randrange(4)
        if change == 0:
            del words[place]
        elif change == 1:
            words.insert(place, words[place])
        elif change == 2:
            words[place] = self.random.choice(WORDS)
        else:
            words[place], words[0] = words[0], words[place]
        return " ".join(words)


def _words(keys: str) -> list[str]:
    return "".join(c if c.isalnum() else " " for c in keys).split()


def reply(table: Table, text: str, delta: Fraction) -> tuple[Any, ...]:
    """What an analyst sees, but for the noisy numbers."""
    try:
        answer = table.sql(text, epsilon=1, delta=delta, rng=unsafe_seeded(7))
    except (Refused, InvalidParameter) as problem:
        # What the analyst wrote may be quoted; what the table holds may not.
        assert CANARY not in str(problem) or CANARY in text
        assert problem.__cause__ is None or isinstance(problem.__cause__, DiscreetError)
        return type(problem).__name__, str(problem)
    said = repr(answer) + answer._repr_html_() + repr(answer.plan)
    assert CANARY not in said and CANARY not in repr(answer.rows)
    question = answer.plan.question
    columns = [question.list_column(output.name) for output in question.outputs]
    keys = [i for i, column in enumerate(columns) if not any(map(is_noisy, column))]
    # What is computed from noisy numbers may have no value, as they say.
    computed = [i for i, column in enumerate(columns) if any(isinstance(one, COMPUTED) for one in column)]
    shape = tuple(
        tuple(
            row[i] if i in keys else "computed" if i in computed else _kind(row[i]) for i in range(len(row))
        )
        for row in answer.rows
    )
    _check_intervals(answer)
    # A text that all rows share is shown, as it should be; one that nobody shares is not.
    declared = tuple(row for row in shape if "" not in row)
    # Which rows HAVING, ORDER BY and LIMIT show is for the noise to decide.
    chosen = question.after != After() or any(one.having or one.qualify for one in question.branches)
    declared = () if chosen else declared
    return "answer", answer.columns, repr(answer.plan), answer.guarantee, declared


def _kind(cell: Any) -> Any:
    return tuple(map(_kind, cell)) if isinstance(cell, tuple) else type(cell).__name__


def _check_intervals(answer: Answer) -> None:
    for output in answer.plan.question.outputs:
        if output.name in answer.numbers:
            pairs = zip(answer.column(output.name), answer.interval(output.name, 0.95), strict=True)
            for value, (low, high) in pairs:
                several = isinstance(value, tuple)
                lows, highs = (low, high) if several else ((low,), (high,))
                if any(isinstance(one, COMPUTED) for one in answer.plan.question.list_column(output.name)):
                    if low is None:
                        assert high is None  # surely no value
                        continue
                else:
                    assert all(math.isfinite(end) for end in (*lows, *highs))
                assert all(a <= b for a, b in zip(lows, highs, strict=True))
                assert not several or len(lows) == len(value)


def ask_all(tables: dict[str, Table], count: int, seed: int) -> Counter[str]:
    """Ask every table the same questions; return how many replies of each class there were."""
    questions, classes = Questions(seed), Counter[str]()
    for i in range(count):
        text, delta = questions.one(), (Fraction(0), Fraction("1e-6"))[i % 2]
        replies = {reply(table, text, delta) for table in tables.values()}
        assert len(replies) == 1, (text, replies)
        classes[replies.pop()[0]] += 1
    return classes


def spilled(tables: dict[str, Table]) -> Iterator[bytes]:
    for table in tables.values():
        for path in Path(table._source._spill).rglob("*"):  # type: ignore[attr-defined]
            yield path.read_bytes()


def test_one_question_one_reply_on_all_data(tables: dict[str, Table]) -> None:
    classes = ask_all(tables, 200, seed=1)
    assert classes["answer"] >= 50 and classes["Refused"] >= 50, classes
    assert not any(CANARY.encode() in content for content in spilled(tables))


@pytest.mark.soak
def test_five_thousand_questions(tables: dict[str, Table]) -> None:
    classes = ask_all(tables, 5000, seed=2)
    print(dict(classes))
    assert classes["answer"] >= 1000 and classes["Refused"] >= 1000, classes
    assert not any(CANARY.encode() in content for content in spilled(tables))


def test_a_reply_that_depends_on_the_data_is_found_out(
    tables: dict[str, Table], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table that refuses once it has seen too few rows must fail the same check."""
    honest = Table.sql

    def leaky(self: Table, query: str, **rest: Any) -> Answer:
        if self is tables["missing"] and "SUM" in query:
            raise Refused(what="group", why="it has too few rows", way_out="Ask for less")
        return honest(self, query, **rest)

    monkeypatch.setattr(Table, "sql", leaky)
    with pytest.raises(AssertionError):
        ask_all(tables, 60, seed=3)
