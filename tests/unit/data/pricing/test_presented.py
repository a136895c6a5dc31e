"""Which rows are shown, in which order, and what is computed in them: from the released values alone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import pandas as pd
import pytest

import discreet as dp
from discreet.core.bounds import each_of
from discreet.core.errors import InternalError, InvalidParameter
from discreet.data import Boolean, Category, Date, Decimal, Integer, Row, Schema, Table
from discreet.data.plan.nodes import After
from discreet.data.pricing.answer import Answer
from discreet.data.sql.parse import parse
from discreet.testing import unsafe_seeded

SCHEMA = Schema(
    "t",
    columns=(
        Category("g", values=("north", "east", "west")),
        Integer("x", lower=0, upper=30),
        Decimal("y", lower=0, upper=1, grid=Fraction("0.1"), null=0),
        Boolean("flag"),
        Date("day", lower=pd.Timestamp("2024-01-01").date(), upper=pd.Timestamp("2024-01-03").date()),
    ),
    unit=Row(),
    neighbours=dp.AddRemove("row"),
)
ROWS = 600
FRAME = pd.DataFrame(
    {
        "g": [("north", "east", "east", "west", "west", "west")[i % 6] for i in range(ROWS)],
        "x": [(7 * i) % 31 for i in range(ROWS)],
        "y": [(i % 11) / 10 for i in range(ROWS)],
        "flag": [i % 4 == 0 for i in range(ROWS)],
        "day": pd.to_datetime(["2024-01-02"] * ROWS),
    }
)
BY = "FROM t GROUP BY g"


@pytest.fixture(scope="module")
def table() -> Iterator[Table]:
    with Table(FRAME, schema=SCHEMA) as opened:
        yield opened


def ask(table: Table, text: str, epsilon: float = 1000) -> Answer:
    """So much budget that the order of the true numbers is that of the noisy ones."""
    return table.sql(text, epsilon=epsilon, delta=0, rng=unsafe_seeded(3))


@pytest.mark.parametrize(
    ("after", "groups"),
    [
        ("", ["north", "east", "west"]),
        ("ORDER BY g", ["east", "north", "west"]),
        ("ORDER BY n DESC", ["west", "east", "north"]),
        ("ORDER BY 2", ["north", "east", "west"]),
        ("ORDER BY COUNT(*) > 150 DESC, g DESC", ["west", "east", "north"]),
        ("ORDER BY NULLIF(g, 'east') NULLS LAST", ["north", "west", "east"]),
        ("ORDER BY NULLIF(g, 'east') NULLS FIRST", ["east", "north", "west"]),
        ("HAVING n > 150", ["east", "west"]),
        ("HAVING COUNT(*) > 150 AND g <> 'west'", ["east"]),
        ("HAVING AVG(x) IS NULL", []),
        ("HAVING NULL", []),
        ("HAVING TRUE", ["north", "east", "west"]),
        ("LIMIT 2", ["north", "east"]),
        ("ORDER BY n DESC LIMIT 1", ["west"]),
        ("ORDER BY n DESC LIMIT 1 OFFSET 1", ["east"]),
        ("ORDER BY n DESC OFFSET 2 ROWS FETCH NEXT ROW ONLY", ["north"]),
        ("LIMIT ALL", ["north", "east", "west"]),
        ("LIMIT 0", []),
        ("OFFSET 7", []),
    ],
)
def test_rows_are_those_of_sql(table: Table, after: str, groups: list[str]) -> None:
    answer = ask(table, f"SELECT g, COUNT(*) AS n {BY} {after}")
    assert list(answer.column("g")) == groups
    assert len(answer) == len(answer.rows) == len(answer.interval("n", 0.9)) == len(groups)
    assert len(answer.blocks[0].keys) == 3, "what is not shown is kept"
    assert len(answer.to_pandas()) == len(groups)
    assert all(group in repr(answer) for group in groups)


def test_what_is_shown_costs_nothing_and_what_is_looked_at_does(table: Table) -> None:
    def price(text: str) -> int:
        return len(table.plan(text, epsilon=1, delta=0).parts)

    assert price(f"SELECT g, COUNT(*) {BY}") == 1
    assert price(f"SELECT g, COUNT(*), 2 * COUNT(*) AS d {BY} HAVING COUNT(*) > 3 ORDER BY COUNT(*)") == 1
    assert price(f"SELECT g, COUNT(*) {BY} HAVING SUM(x) > 3") == 2
    assert "cost nothing" in repr(table.plan(f"SELECT g, COUNT(*) {BY} LIMIT 1", epsilon=1, delta=0))


def test_values_and_their_kinds(table: Table) -> None:
    answer = ask(
        table,
        "SELECT y, y * 10 AS ten, COUNT(*) AS n, COUNT(*) - 1 AS less, COUNT(*) / 4 AS part, '2024' AS year, "
        "ROUND(SUM(x) / COUNT(*), 1) AS mean, COUNT(*) / 0 AS none, COUNT(*) > 5 AS many, "
        "CASE WHEN COUNT(*) > 5 THEN 'many' ELSE 'few' END AS size FROM t GROUP BY y HAVING y = 0.3",
    )
    ((y, ten, n, less, part, year, mean, none, many, size),) = answer.rows
    assert (y, ten, year, none, many, size) == (0.3, 3.0, "2024", None, True, "many")
    assert (less, part) == (n - 1, n / 4) and isinstance(less, int) and isinstance(part, float)
    assert 10 < mean < 20
    assert answer.numbers == ("n", "less", "part", "mean", "none")
    ((low, high),) = answer.interval("n", 0.95)
    assert answer.interval("less", 0.95) == ((low - 1, high - 1),)
    assert answer.interval("none", 0.95) == ((None, None),)
    for name in ("y", "year", "many", "size"):
        with pytest.raises(InvalidParameter, match="depends on the data"):
            answer.interval(name, 0.95)
    assert "NULL [NULL, NULL]" in repr(answer)


def test_keys_of_every_sort(table: Table) -> None:
    text = "SELECT flag, day, COUNT(*) AS n FROM t GROUP BY flag, day HAVING flag AND day > '2024-01-01'"
    assert list(ask(table, text + " ORDER BY day DESC").column("day")) == [
        pd.Timestamp("2024-01-03").date(),
        pd.Timestamp("2024-01-02").date(),
    ]
    text = "SELECT day - DATE '2024-01-01' AS later, COUNT(*) AS n FROM t GROUP BY day"
    assert ask(table, text).column("later") == (0, 1, 2)
    rolled = ask(table, "SELECT g, COUNT(*) AS n FROM t GROUP BY ROLLUP(g) HAVING g IS NULL")
    assert rolled.column("g") == (None,) and "(all)" in repr(rolled)


def test_intervals_of_quantiles_beside_other_noise_are_what_is_declared(table: Table) -> None:
    answer = ask(
        table, "SELECT MEDIAN(x) AS m, MEDIAN(x) + 1 AS more, MEDIAN(x) + 0 * COUNT(*) AS mixed FROM t", 5
    )
    ((low, high),) = answer.interval("m", 0.95)
    assert answer.interval("more", 0.95) == ((low + 1, high + 1),)
    assert answer.interval("more", 0.99) == ((1, 31),)
    assert answer.interval("mixed", 0.95) == ((0, 30),)


def test_each_measure_of_an_expression_counts_once(table: Table) -> None:
    """A difference of two has wider parts than either alone; the same number twice does not."""
    answer = ask(
        table, "SELECT COUNT(*) AS n, 2 * COUNT(*) AS two, COUNT(*) + SUM(x) AS both, SUM(x) AS s FROM t", 1
    )
    width = {name: high - low for name in answer.columns for low, high in answer.interval(name, 0.95)}
    assert width["two"] == 2 * width["n"]
    assert width["n"] + width["s"] < width["both"] < 1.5 * (width["n"] + width["s"])


def test_intervals_hold_in_all_selects_at_once(table: Table) -> None:
    answer = ask(table, f"SELECT g, COUNT(*) AS n {BY} UNION ALL SELECT 'all', COUNT(*) FROM t", 1)
    groups = len(answer)
    assert groups == 1 + len({row[0] for row in answer.rows[:-1]})
    reach = answer.plan.budget.vectors[0].noise.reach(each_of(groups, Fraction(1, 20)))
    low, high = answer.interval("n", 0.95)[-1]
    assert high - low == 2 * reach  # type: ignore[operator]


def test_the_same_numbers_in_another_form(table: Table) -> None:
    answer = ask(table, f"SELECT g, COUNT(*) AS n {BY}", 1)
    policy = dp.data.plan.nodes.Policy(epsilon=Fraction(1), delta=Fraction(0))
    other = parse(f"SELECT g, 2 * COUNT(*) AS two {BY} ORDER BY two", schemas=SCHEMA, policy=policy)
    shown = answer.present(other)
    assert sorted(shown.column("two")) == sorted(2 * n for n in answer.column("n"))
    assert list(shown.column("two")) == sorted(shown.column("two"))
    assert shown.guarantee == answer.guarantee
    for text in (
        f"SELECT g, SUM(x) {BY}",
        f"SELECT g, COUNT(*) {BY} HAVING SUM(x) > 1",
        "SELECT COUNT(*) FROM t",
    ):
        with pytest.raises(InternalError):
            answer.present(parse(text, schemas=SCHEMA, policy=policy))
    assert replace(other, after=After()) != other
