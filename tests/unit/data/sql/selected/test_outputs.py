"""What is selected may name what stands left of it, and ORDER BY ALL sorts by every column of the answer."""

from __future__ import annotations

import pytest
from sql_schemas import plan

from discreet.core.errors import Refused
from discreet.data.plan.nodes import Aggregate, Computed


def test_an_alias_is_named_further_right() -> None:
    found = plan("SELECT COUNT(*) AS n, SUM(age) AS total, total / n AS mean FROM visits")
    written = plan("SELECT COUNT(*) AS n, SUM(age) AS total, SUM(age) / COUNT(*) AS mean FROM visits")
    assert found == written


def test_an_alias_is_no_name_to_its_left() -> None:
    with pytest.raises(Refused, match="column n: it is not declared"):
        plan("SELECT n / 2 AS half, COUNT(*) AS n FROM visits")


def test_a_column_comes_before_an_alias() -> None:
    found = plan("SELECT age, COUNT(*) AS region, region AS again FROM visits GROUP BY age, region")
    assert not isinstance(found.outputs[2].what, Aggregate | Computed)


def test_a_key_is_named_by_its_alias() -> None:
    found = plan("SELECT FLOOR(age / 10) AS band, band * 10 AS low, COUNT(*) FROM visits GROUP BY band")
    assert isinstance(found.outputs[1].what, Computed)
    assert found.outputs[1].what.parts[0] == found.outputs[0].what


@pytest.mark.parametrize("word", ["ALL", "all"])
def test_order_by_all(word: str) -> None:
    text = "SELECT region, COUNT(*) AS n FROM visits GROUP BY region ORDER BY "
    assert plan(text + word) == plan(text + "1, 2")
    assert plan(f"{text}{word} DESC") == plan(text + "1 DESC, 2 DESC")
    with pytest.raises(Refused):
        plan(text + f'"{word}"')


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("SUM(DISTINCT age)", "only COUNT takes DISTINCT"),
        ("LOWER(region)", "it is computed in each row"),
        ("SOUNDEX(region)", "function SOUNDEX: it is not known here"),
        ("COUNT(DISTINCT IF(active, user_id, region))", "it is the unit or NULL"),
        ("MIN(CASE WHEN active THEN day + 7 END)", "one column as they are"),
        ("NTH_VALUE(COUNT(*), 2) OVER (ORDER BY region)", "of windows over an answer SUM, AVG"),
        ("SUM(COUNT(*)) OVER (ORDER BY COUNT(*))", "ORDER BY a key, or use RANK()"),
        ("SUM(age) OVER (PARTITION BY region)", "SUM OVER: over the rows of a table"),
        ("ROW_NUMBER() OVER (ORDER BY age)", "ROW_NUMBER OVER: over the rows of a table"),
        ("SUM(SUM(COUNT(*)) OVER ()) OVER ()", "OVER in OVER"),
        ("SUM(COUNT(*)) OVER w", "Write it out: OVER (...)"),
        ("SUM(COUNT(*)) OVER (ROWS BETWEEN 1 PRECEDING AND CURRENT ROW)", "Add ORDER BY a key"),
        ("LAG(COUNT(*)) OVER ()", "with an order"),
    ],
)
def test_refusals_say_what_is_wrong(call: str, words: str) -> None:
    with pytest.raises(Refused) as caught:
        plan(f"SELECT {call}, COUNT(*) FROM visits GROUP BY region")
    assert words in str(caught.value)
