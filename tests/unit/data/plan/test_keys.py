"""Groups come from the schema and the condition: as many as are counted are listed, each with its name."""

from __future__ import annotations

import datetime

import pytest
from sql_schemas import TABLES, plan

from discreet.data.plan.facts import facts
from discreet.data.plan.keys import cells_of, count_groups, list_groups, name_group

GROUPS = [
    ("region", "", ["e", "n", "s", "w"]),
    ("region", "region <> 'n'", ["e", "s", "w"]),
    ("region", "region = 'n' OR age > 3", ["e", "n", "s", "w"]),
    ("FLOOR(age / 50)", "", [0, 1, 2]),
    ("FLOOR(age / 50)", "age BETWEEN 60 AND 70", [1]),
    ("age", "age BETWEEN 60 AND 62", [60, 61, 62]),
    ("age > 17", "", [False, True]),
    ("age > 17", "age > 30", [True]),
    ("UPPER(region)", "region IN ('n', 'w')", ["N", "W"]),
    ("COALESCE(region, '?')", "region IN ('n', 'w')", ["n", "w"]),
    ("COALESCE(region, '?')", "", ["e", "n", "s", "w", "?"]),
    (
        "DATE_TRUNC('quarter', day)",
        "day < '2020-05-01'",
        [datetime.date(2020, 1, 1), datetime.date(2020, 4, 1)],
    ),
    ("ROUND(cost)", "cost BETWEEN 0 AND 1", [0, 1]),
    ("age * 0.5", "age < 3", [0, 0.5, 1]),
    ("region", "region IS NULL", ["e", "n", "s", "w"]),
]


@pytest.mark.parametrize(("key", "where", "names"), GROUPS)
def test_groups_that_are_possible_are_listed(key: str, where: str, names: list[object]) -> None:
    made = plan(f"SELECT {key} AS k, COUNT(*) FROM visits {'WHERE ' + where if where else ''} GROUP BY k")
    (found,) = made.keys
    codes = list_groups(found, made.where, TABLES)
    assert [name_group(found, code, TABLES) for code in codes] == names
    assert count_groups(found, made.where, TABLES) == len(codes) == cells_of([found], TABLES, made.where)
    (one,) = facts(made, TABLES).sets
    assert one.cells == len(names)


def test_keys_without_declared_values_are_not_counted() -> None:
    made = plan("SELECT note, age // 20 AS k, COUNT(*) FROM visits GROUP BY 1, 2")
    (one,) = facts(made, TABLES).sets
    assert one.cells is None and [key.name for key in one.keys] == ["note", "age"]
