"""UNION ALL: one question, one price, and what two SELECTs share is measured once."""

from __future__ import annotations

from fractions import Fraction

import pytest
from sql_schemas import TABLES, plan

from discreet.core.errors import Refused
from discreet.data.ask import price_plan
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.nodes import Constant, Policy
from discreet.data.pricing.budget import budget

POLICY = Policy(epsilon=Fraction(1), delta=Fraction(0))
BY_REGION = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region"


def vectors(text: str) -> int:
    return len(budget(plan(text), TABLES, POLICY).vectors)


def test_parts_and_their_total_are_grouping_sets() -> None:
    stacked = plan(f"{BY_REGION} UNION ALL SELECT 'total', COUNT(*) FROM visits")
    sets = plan("SELECT region, COUNT(*) AS n FROM visits GROUP BY GROUPING SETS ((region), ())")
    assert canonicalise(stacked) == canonicalise(sets)
    assert [branch.outputs[0] for branch in stacked.branches][1] == Constant("total")
    assert vectors("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits") == 1


def test_a_part_is_measured_as_by_filter() -> None:
    stacked = plan("SELECT COUNT(*) FROM visits UNION ALL SELECT SUM(age) FROM visits WHERE active")
    filtered = plan("SELECT COUNT(*), SUM(age) FILTER (WHERE active) FROM visits")
    assert canonicalise(stacked) == canonicalise(filtered)


def test_what_one_part_asks_is_not_measured_for_the_groups_of_another() -> None:
    text = f"{BY_REGION} UNION ALL SELECT 'mean', AVG(income) FROM visits"
    made = price_plan(plan(text), TABLES, POLICY)
    assert [(len(one.keys), one.measure.kind) for one in made.budget.vectors] == [
        (0, "sum"),
        (0, "rows"),
        (1, "rows"),
    ]
    assert made.budget.kept()
    assert made.guarantee.implies(epsilon=1, delta=0)
    assert canonicalise(plan(text)) != canonicalise(
        plan("SELECT region, COUNT(*), AVG(income) FROM visits GROUP BY GROUPING SETS ((region), ())")
    )


@pytest.mark.parametrize(("keys", "once"), [("", False), (", region", True)])
def test_units_of_a_part_are_counted_once_each_where_they_have_several_rows(keys: str, once: bool) -> None:
    inner = f"(SELECT user_id{keys}, COUNT(*) AS n FROM visits GROUP BY user_id{keys})"
    text = f"SELECT COUNT(DISTINCT user_id) FROM {inner} WHERE n > 1"
    made = plan(f"{text} UNION ALL {text.replace('> 1', '> 2')}")
    bounds = {one.group_bounds for one in made.aggregates if one.number is not None}
    assert bounds == {(Fraction(0), Fraction(1)) if once else None}


def test_each_part_has_its_words_in_the_plan() -> None:
    made = price_plan(plan(f"{BY_REGION} UNION ALL SELECT 'mean', AVG(income) FROM visits"), TABLES, POLICY)
    (column,) = made.columns
    assert column.name == "n" and column.error is None
    assert "at most" in column.words and "from sums within" in column.words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) FROM visits UNION SELECT COUNT(*) FROM visits", "Write UNION ALL"),
        ("SELECT COUNT(*) FROM visits INTERSECT SELECT COUNT(*) FROM visits", "INTERSECT"),
        ("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM people", "ask each SELECT on its own"),
        ("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*), 1 FROM visits", "different numbers"),
        ("SELECT COUNT(*) FROM visits UNION ALL SELECT 'a' FROM visits", "it asks for no aggregate"),
        (
            "SELECT region, COUNT(*) FROM visits GROUP BY region UNION ALL SELECT 1, COUNT(*) FROM visits",
            "column region: it is number and text",
        ),
        (
            "SELECT note, COUNT(*) FROM visits GROUP BY note UNION ALL "
            "SELECT note, COUNT(*) FROM visits WHERE active GROUP BY note",
            "Write the same WHERE in every SELECT",
        ),
        (
            "SELECT MODE(region) FROM visits UNION ALL SELECT MODE(region) FROM visits WHERE active",
            "mode under UNION ALL",
        ),
        (
            "SELECT COUNT(*) FROM visits UNION ALL (SELECT COUNT(*) FROM visits LIMIT 1)",
            "ORDER BY and LIMIT after the last one",
        ),
        (
            "SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits ORDER BY COUNT(*)",
            "Name columns of the first SELECT",
        ),
        (
            "SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits ORDER BY age",
            "Name columns of the first SELECT",
        ),
        ("SELECT COUNT(*) FROM visits UNION ALL SELECT COUNT(*) FROM visits ORDER BY 2", "1 to 1"),
        (
            "WITH a AS (SELECT * FROM visits) SELECT COUNT(*) FROM visits UNION ALL "
            "SELECT COUNT(*) FROM visits",
            "WITH a: nothing reads it",
        ),
        (
            "SELECT AVG(n) FROM (SELECT user_id, COUNT(*) AS n FROM visits GROUP BY user_id) UNION ALL "
            "SELECT AVG(n) FROM (SELECT user_id, COUNT(*) AS n FROM visits WHERE active GROUP BY user_id)",
            "Write the same subquery in each",
        ),
        (" UNION ALL ".join(["SELECT COUNT(*) FROM visits"] * 65), "more than 64 parts"),
    ],
)
def test_what_does_not_go_together_is_refused(text: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan(text)
    assert words.lower() in str(caught.value).lower()


@pytest.mark.parametrize("bounds", ["contribution_bounds_per_row", "contribution_bounds_per_group"])
def test_bounds_between_the_values_of_a_part_are_refused_and_not_rounded(bounds: str) -> None:
    """Of ages 20 and 40 a step is 20: a bound of 30 would be 20."""
    part = f"SELECT SUM(age, {bounds} => (0, {{}})) FROM visits WHERE age IN (20, 40)"
    assert plan(f"{part.format(20)} UNION ALL SELECT COUNT(*) FROM visits").branches
    with pytest.raises(Refused, match="not multiples of 20"):
        plan(f"{part.format(30)} UNION ALL SELECT COUNT(*) FROM visits")


def test_brackets_around_a_select_say_nothing() -> None:
    part = "SELECT region, COUNT(*) AS n FROM visits WHERE age < 20 GROUP BY region"
    assert plan(f"({part}) UNION ALL ({BY_REGION}) ORDER BY n") == plan(
        f"{part} UNION ALL {BY_REGION} ORDER BY n"
    )
    clause = "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.1) COUNT(*) FROM visits"
    assert plan(f"(({clause}))") == plan(clause)
    for text in (
        f"({BY_REGION}) LIMIT 1",
        f"({BY_REGION}) AS x",
        f"(({BY_REGION})",
        "()",
        f"({part}) UNION ALL {clause}",
    ):
        with pytest.raises(Refused):
            plan(text)
