"""Answers that would say nothing are refused before they are charged, from public facts alone."""

import re
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import discreet as dp
from discreet.core.errors import InvalidParameter, Refused
from discreet.data import Category, Identifier, Integer, Row, Schema, Table, User
from discreet.data.ask import plan_question
from discreet.data.plan.nodes import Policy
from discreet.data.pricing.usefulness import (
    MOST_OF_RANGE,
    PLAUSIBLE_ROWS,
    RowsKnown,
    find_epsilon,
    find_rows,
    find_useless,
    require_useful,
)
from discreet.data.schema.toml_file import format_schema, parse_schema
from discreet.testing import unsafe_seeded

WARDS = ("north", "south", "west")
MEAN = "SELECT AVG(amount) AS mean FROM visits"


def schema(rows=None):
    columns = (
        Category("ward", values=WARDS),
        Integer("amount", lower=0, upper=200),
        Integer("other", lower=0, upper=100),
    )
    return Schema("visits", columns=columns, unit=Row(), neighbours=dp.AddRemove("row"), rows=rows)


def priced(text, epsilon=Fraction(1, 50), rows=300, delta=0):
    return plan_question(
        text, schemas=schema(rows), policy=Policy(epsilon=epsilon, delta=Fraction(delta))
    ).budget


QUESTIONS = [
    MEAN,
    "SELECT SUM(amount) AS s FROM visits",
    "SELECT STDDEV(amount) AS d FROM visits",
    "SELECT VAR_POP(amount) AS v FROM visits",
    "SELECT PERCENTILE_CONT(amount, 0.5) AS m FROM visits",
    "SELECT ward, AVG(amount) AS mean FROM visits GROUP BY ward",
    "SELECT MAX(amount) AS m FROM visits",
    "SELECT MODE() WITHIN GROUP (ORDER BY ward) AS m FROM visits",
    "SELECT CORR(amount, other) AS c FROM visits",
    "SELECT REGR_SLOPE(amount, other) AS b FROM visits",
    "SELECT ROUND(AVG(amount), 1) AS mean FROM visits",
    "SELECT 100.0 * SUM(amount) / COUNT(*) AS mean FROM visits HAVING COUNT(*) > 3",
    "SELECT amount > 100 AS large, AVG(other) AS mean FROM visits GROUP BY 1 ORDER BY 1",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_what_spans_most_of_the_range_is_refused_with_the_budget_that_it_takes(text):
    small = priced(text)
    assert len(find_useless(small)) == 1
    with pytest.raises(Refused, match=r"would span .* nothing was charged.* An epsilon of .* insist=True"):
        require_useful(small)
    epsilon = find_epsilon(small)
    require_useful(priced(text, epsilon))
    assert find_useless(priced(text, epsilon * Fraction(4, 5))), "about the smallest epsilon"


@pytest.mark.parametrize("text", QUESTIONS)
def test_more_rows_make_it_useful_and_a_plan_says_how_many(text):
    rows = find_rows(priced(text, rows=None))
    assert not find_useless(priced(text, rows=rows)) and find_useless(priced(text, rows=rows - 1))
    plan = plan_question(text, schemas=schema(), policy=Policy(epsilon=Fraction(1, 50), delta=Fraction(0)))
    assert f"less than half of what is possible from about {rows} rows on" in repr(plan)


def test_a_correlation_of_people_is_refused_where_it_could_be_anything():
    """Declared ranges are wider than what people have: an eighth of them is the standard deviation here."""
    text = "SELECT CORR(amount, other) AS c FROM visits"
    rows = find_rows(priced(text, epsilon=1, rows=None))
    spans = {}
    for size in (rows // 6, 2 * rows):
        places = (np.arange(size) + 0.5) / size
        amount = norm.ppf(places, 100, 25)
        other = 50 + norm.ppf(places * size * 0.618 % 1, 0, 10) + (amount - 100) * 0.3
        data = pd.DataFrame({"ward": "north", "amount": amount.round(), "other": other.round()})
        with Table(data.astype({"amount": int, "other": int}), schema=schema(size)) as table:
            if size < rows:
                with pytest.raises(Refused, match="nothing was charged"):
                    table.sql(text, epsilon=1, delta=0)
            answer = table.sql(text, epsilon=1, delta=0, insist=size < rows)
            ((low, high),) = answer.interval("c", 0.95)
            spans[size] = high - low
    assert spans[rows // 6] == 2 and spans[2 * rows] < 1


def test_where_nobody_says_how_many_rows_there_are_nothing_but_absurd_counts_is_refused():
    assert not find_useless(priced(MEAN, rows=None))
    counted = "SELECT COUNT(*) AS n FROM visits"
    assert not find_useless(priced(counted, rows=None))
    many = User(column="who", max_rows=10**5, max_groups=1)
    columns = (Identifier("who"), Integer("amount", lower=0, upper=200))
    users = Schema("visits", columns=columns, unit=many, neighbours=dp.AddRemove("who"))
    policy = Policy(epsilon=Fraction(1, 10**6), delta=Fraction(0))
    assert find_useless(plan_question(counted, schemas=users, policy=policy).budget)
    assert PLAUSIBLE_ROWS == 10**10 and MOST_OF_RANGE == Fraction(1, 2)


def test_a_count_is_refused_only_where_its_noise_exceeds_the_whole_table():
    by_ward = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
    assert not find_useless(priced(by_ward)), "an error of most of the table is left to the asker"
    assert find_useless(priced(by_ward, Fraction(1, 100)))


def test_one_grouping_set_that_says_something_is_enough():
    rolled = "SELECT ward, AVG(amount) AS mean FROM visits GROUP BY ROLLUP (ward)"
    alone = "SELECT ward, AVG(amount) AS mean FROM visits GROUP BY ward"
    epsilon = Fraction(3, 20)
    assert find_useless(priced(alone, epsilon / 2)) and not find_useless(priced(rolled, 2 * epsilon))


def test_no_budget_helps_where_there_are_no_rows():
    text = "SELECT VAR_SAMP(amount) AS v FROM visits"
    assert find_epsilon(priced(text, rows=1)) is None
    with pytest.raises(Refused, match="No budget makes it useful"):
        require_useful(priced(text, rows=1))


def test_an_owner_who_allows_less_is_named():
    with pytest.raises(Refused, match=r"the owner allows 0\.02 for a question"):
        require_useful(priced(MEAN), most=Fraction(1, 50))


def test_a_table_refuses_unless_she_insists_and_reads_nothing_before(tmp_path, monkeypatch):
    path = tmp_path / "visits.csv"
    path.write_text("ward,amount,other\n" + "north,100,50\n" * 300)
    with Table(path, schema=schema(300)) as table:
        with monkeypatch.context() as patch:
            patch.setattr(Table, "answer", lambda *given, **named: pytest.fail("data were read"))
            with pytest.raises(Refused, match="insist=True"):
                table.sql(MEAN, epsilon=0.02, delta=0)
        answer = table.sql(MEAN, epsilon=0.02, delta=0, insist=True, rng=unsafe_seeded(1))
        low, high = answer.interval("mean", 0.95)[0]
        assert high - low > 100
        assert "An epsilon of" in repr(table.plan(MEAN, epsilon=0.02, delta=0))
        assert "would span" not in repr(table.plan(MEAN, epsilon=1, delta=0))
        table.sql(MEAN, epsilon=1, delta=0, rng=unsafe_seeded(1))


def test_an_answer_that_says_nothing_says_so_where_nobody_knew_how_many_rows_there_are(tmp_path):
    """Its own noisy count is released: to judge by it costs nothing and looks at nothing."""
    path = tmp_path / "visits.csv"
    path.write_text("ward,amount,other\n" + "north,100,50\n" * 300)
    with Table(path, schema=schema()) as table:
        given = {"delta": 0, "rng": unsafe_seeded(1)}
        poor = table.sql(MEAN, epsilon=0.01, **given)
        told = r"mean: hardly more than is declared anyway; [\d,]+ rows would do, and about [\d,.]+ rows were"
        assert re.search(told, repr(poor)) and re.search(told, poor._repr_html_())
        by_ward = "SELECT ward, AVG(amount) AS mean, COUNT(*) AS n FROM visits GROUP BY ward"
        assert "mean, n: hardly more" in repr(table.sql(by_ward, epsilon=0.02, **given))
        for epsilon, text in ((1, MEAN), (0.01, "SELECT SUM(amount) AS s FROM visits")):
            assert "hardly more" not in repr(table.sql(text, epsilon=epsilon, **given))


def by_user(rows, text, epsilon=Fraction(1, 50)):
    unit = User(column="who", max_rows=4, max_groups=2)
    columns = (Identifier("who"), Category("ward", values=WARDS), Integer("amount", lower=0, upper=200))
    one = Schema("visits", columns=columns, unit=unit, neighbours=dp.AddRemove("who"), rows=rows)
    return plan_question(text, schemas=one, policy=Policy(epsilon=epsilon, delta=Fraction(0))).budget


def test_what_is_computed_is_judged_by_what_it_is_computed_from():
    both = "SELECT AVG(amount) - AVG(other) AS gap, COUNT(*) AS n FROM visits"
    assert [one.name for one in find_useless(priced(both, Fraction(1, 10)))] == ["gap"]
    apart = "SELECT STDDEV(other) AS d, SUM(amount) AS s FROM visits"
    assert [one.name for one in find_useless(priced(apart, Fraction(1, 5)))] == ["d"]
    mixed = "SELECT SUM(amount) / STDDEV(other) AS ratio FROM visits"
    assert not find_useless(priced(mixed, Fraction(1, 5))), "one of them says something"


def test_what_cannot_be_judged_is_not_refused():
    for text in (
        "SELECT ward FROM visits GROUP BY ward HAVING AVG(amount) > 3",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY SUM(amount)",
    ):
        assert not find_useless(priced(text, Fraction(1, 20))), text
    inner = "SUM(amount, contribution_bounds_per_group => (0, 1)) AS s"
    clamped = f"SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (epsilon = 0.02) {inner} FROM visits"
    assert not find_useless(by_user(300, clamped)), "how many units there are nobody says"
    twice = "SELECT AVG(a.amount) AS m FROM visits AS a JOIN visits AS b ON a.who = b.who"
    assert not find_useless(by_user(300, twice)), "nor how many pairs of rows"


def test_different_values_are_judged_by_those_that_are_declared():
    text = "SELECT COUNT(DISTINCT ward) AS n FROM visits"
    for rows in (None, 300):
        assert find_useless(priced(text, rows=rows)) and not find_useless(priced(text, 20, rows=rows))


def test_one_row_for_each_unit_is_at_most_as_many_as_there_are_rows():
    text = "SELECT AVG(n) AS m FROM (SELECT who, COUNT(*) AS n FROM visits GROUP BY who)"
    assert find_useless(by_user(300, text)) and not find_useless(by_user(30_000, text))
    assert not find_useless(by_user(None, text))
    require_useful(by_user(300, text, find_epsilon(by_user(300, text))))


def test_a_count_is_judged_by_the_whole_table_and_not_by_how_few_rows_it_finds():
    known = RowsKnown(asked=Fraction(3), table=Fraction(10_000))
    assert not find_useless(priced("SELECT COUNT(*) AS n FROM visits WHERE amount = 7"), known)
    assert find_useless(priced("SELECT SUM(amount) AS n FROM visits WHERE amount = 7"), known)


def test_a_question_of_many_parts_is_refused_without_a_search():
    listed = ", ".join(f"AVG(amount * {times}) AS a{times}" for times in range(2, 30))
    with pytest.raises(Refused, match=r"a2, a3, .*Ask for fewer columns at once.*insist=True"):
        require_useful(priced(f"SELECT {listed} FROM visits"))


def test_a_schema_keeps_its_rows_in_a_file():
    assert parse_schema(format_schema(schema(300))) == schema(300)
    assert "rows" not in format_schema(schema())
    with pytest.raises(InvalidParameter, match="rows"):
        schema(0)
