"""Counts of a hypothesis have two intervals, whatever is computed from them and whatever it is called."""

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.unit.curator.conftest import BY_ROW, curator

from discreet.curator.hypotheses.released_counts import find_least_sure, make_reply
from discreet.data.counts import Counts
from discreet.data.plan.nodes import Policy
from discreet.data.sql.parse import parse
from discreet.query_release.synopses.online_answer import FREE, MEASURED, STALE, OnlineAnswers

BY_SMOKER = "SELECT smoker, 3 * COUNT(*) + 1 AS thrice FROM people GROUP BY smoker ORDER BY 2 DESC"


@pytest.fixture(scope="module")
def opened():
    with curator() as one:
        yield one


def test_own_intervals_lie_within_the_proved_ones_in_every_form(opened):
    acme = opened.analyst("acme")
    plain = acme.sql("SELECT smoker, COUNT(*) AS n FROM people GROUP BY smoker")
    assert set(plain.together) == {"n"}
    for (low, high), (least, most) in zip(plain.intervals["n"], plain.together["n"], strict=True):
        assert least <= low <= high <= most and (low, high) != (least, most)
    form = acme.sql(BY_SMOKER)
    ends = dict(zip(plain.column("smoker"), plain.interval("n", 0.95, together=True), strict=True))
    assert [(3 * ends[who][0] + 1, 3 * ends[who][1] + 1) for who in form.column("smoker")] == list(
        form.together["thrice"]
    )
    renamed = acme.sql(BY_SMOKER.replace("thrice", "other"))
    assert renamed.repeated and renamed.together["other"] == form.together["thrice"]
    assert renamed.interval("other", 0.9, together=True) == form.together["thrice"]
    quoted = acme.plan(BY_SMOKER)
    assert quoted.error("thrice") < quoted.error("thrice", together=True)


def test_a_count_without_a_bound_may_still_have_an_interval_of_its_own(opened):
    policy = Policy(epsilon=Fraction(1), delta=Fraction(0))
    plan = parse("SELECT COUNT(*) AS n FROM people", schemas=BY_ROW, policy=policy)
    counts = Counts.of(plan, BY_ROW, opened.universe)
    kinds = np.array([STALE])
    answers = OnlineAnswers(np.array([-2.6]), np.array([math.inf]), kinds, np.array([4.0]))
    reply = make_reply(plan, counts, [answers])
    assert reply.rows == ((0,),) and reply.intervals["n"] == ((0, 1),)
    assert reply.together["n"] == ((0, math.inf),)
    assert find_least_sure([answers]) == "stale"
    both = OnlineAnswers(np.zeros(2), np.zeros(2), np.array([FREE, MEASURED]), np.zeros(2))
    assert find_least_sure([both]) == "measured" and find_least_sure([both, answers]) == "stale"


@pytest.mark.parametrize(("epsilon", "is_told"), [(2, False), (Fraction(1, 1000), True)])
def test_a_plan_says_where_free_counts_say_little(epsilon, is_told):
    with curator(epsilon=epsilon) as one:
        (column,) = one.analyst("acme").plan("SELECT region, COUNT(*) AS n FROM people GROUP BY 1").columns
        assert ("so this says little: fresh=True" in column.words) == is_told


SHARES = (
    "COUNTIF(age > 24) AS v",
    "100.0 * COUNTIF(smoker = 'yes') / COUNT(*) AS v",
    "AVG(CASE WHEN smoker = 'yes' THEN 1 ELSE 0 END) AS v",
    "SUM(CASE WHEN smoker = 'yes' THEN -2.5 ELSE 0 END) AS v",
    "region, AVG(CASE WHEN smoker = 'no' THEN 0 ELSE 1 END) AS v FROM people GROUP BY region",
    "region, COUNT(age) - COUNTIF(smoker = 'yes') AS v FROM people GROUP BY region ORDER BY v DESC",
    "FLOOR(age / 3) AS band, COUNTIF(smoker = 'yes') AS v FROM people GROUP BY band",
    "smoker, MEDIAN(age) AS v FROM people GROUP BY smoker",
    "age > 24 AS old, region, COUNT(*) AS v FROM people GROUP BY ROLLUP(old, region) HAVING COUNT(*) > 0",
)


def asked(question):
    return f"SELECT {question}" + ("" if "FROM" in question else " FROM people")


@pytest.fixture(scope="module")
def sure():
    with curator(epsilon=2000) as one:
        yield one


@pytest.mark.parametrize("question", SHARES)
def test_whatever_is_made_of_counts_costs_nothing_and_says_what_was_bought(question, sure):
    acme = sure.analyst("acme")
    before = acme.left
    quoted, free = acme.plan(asked(question)), acme.sql(asked(question))
    assert free.kind in ("free", "measured") and not free.cost and acme.left == before
    bought = acme.sql(asked(question), fresh=True)
    assert bought.cost and [row[:-1] for row in bought.rows] == [row[:-1] for row in free.rows]
    assert [list(map(type, row)) for row in bought.rows] == [list(map(type, row)) for row in free.rows]
    times = 100 if "100" in question else 2.5 if "2.5" in question else 1
    for paid, mine, own, most in zip(
        bought.column("v"), free.column("v"), free.intervals["v"], free.together["v"], strict=True
    ):
        assert abs(paid - mine) <= 4 * times
        assert most[0] <= own[0] <= mine <= own[1] <= most[1]
        if quoted.columns[0].error is not None:
            assert own[1] - mine <= quoted.error("v") + times


def test_a_quotient_of_counts_is_a_part_of_one_and_of_none_is_missing(sure):
    acme = sure.analyst("acme")
    reply = acme.sql("SELECT AVG(CASE WHEN age > 24 THEN 1 ELSE 0 END) AS v FROM people WHERE age > 24")
    assert reply.column("v") == (1.0,) and reply.intervals["v"][0][1] == 1
    reply = acme.sql("SELECT AVG(CASE WHEN smoker = 'yes' THEN 1 ELSE 0 END) AS v FROM people WHERE 1 = 0")
    assert reply.column("v") == (None,) and reply.intervals["v"] == ((0, 1),)


def test_multiples_of_counts_are_shown_as_the_engine_shows_them(sure):
    acme = sure.analyst("acme")
    halves = "SELECT SUM(CASE WHEN smoker = 'yes' THEN -0.5 ELSE 0 END) AS v FROM people WHERE {}"
    for where in ("1 = 1", "1 = 0"):
        free, bought = acme.sql(halves.format(where)), acme.sql(halves.format(where), fresh=True, insist=True)
        assert free.kind != bought.kind == "priced"
        for reply in (free, bought):
            shown = [*reply.column("v"), *reply.intervals["v"][0]]
            assert [type(one) for one in shown] == [float] * 3 and "-0.0" not in map(str, shown)
