"""The whole way from SQL to an answer, replayed on neighbours: same public steps, none moved too far.

Users are heavy (more rows than may count), overlap in every group, and bring missing, huge and odd values.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from typing import Any, get_args

import pandas as pd
import pytest

import discreet as dp
from discreet.audit.enumeration import output_distribution
from discreet.audit.replay_report import ReplayReport, replay_run
from discreet.core.rng import Rng
from discreet.data import (
    Boolean,
    Category,
    Decimal,
    Dimension,
    Identifier,
    Integer,
    Row,
    Schema,
    Table,
    Text,
    User,
)
from discreet.data.ask import ask, plan_question
from discreet.data.plan.kinds import Kind
from discreet.data.plan.nodes import Policy
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.testing import unsafe_seeded

POLICY = Policy(epsilon=Fraction(1), delta=Fraction("1e-3"))
PURE = Policy(epsilon=Fraction(1), delta=Fraction(0))
NAMES = ("who", "g", "x", "y", "flag", "note")
Rows = tuple[tuple[Any, ...], ...]


@pytest.fixture(autouse=True)
def one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which rows of a user count must be the same on every table."""
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")


def schema(unit: Row | User, replace: bool) -> Schema:
    return Schema(
        "t",
        columns=(
            Identifier("who"),
            Category("g", values=("a", "b", "c")),
            Integer("x", lower=-3, upper=4),
            Decimal("y", lower=0, upper=2, grid=Fraction("0.5"), null=0),
            Boolean("flag"),
            Text("note"),
        ),
        unit=unit,
        neighbours=(dp.Replace if replace else dp.AddRemove)(unit.name),
    )


def heavy(who: str, sign: int) -> Rows:
    odd = (None, math.nan, math.inf, -math.inf, 1e300, 4 * sign, 4 * sign, 4 * sign, -3 * sign)
    return tuple(
        (who, g, x, (None, 2.0, 1e9)[i % 3], (True, None)[i % 2], ("p", "q", None)[i % 3])
        for i, x in enumerate(odd)
        for g in ("a", "b", "c", None, "undeclared")
    )


BASE: Rows = (
    *heavy("ann", 1),
    *heavy("bob", -1),
    *(("cay", g, 1, 1.0, True, "p") for g in "abc"),
    *(("dan", "a", None, None, None, None),),
    *((None, "a", 4, 2.0, True, "p"),),
)
QUERIES = (
    "SELECT g, COUNT(*), COUNT(x), SUM(x), SUM(y) FROM t GROUP BY g",
    "SELECT g, flag, AVG(x), STDDEV(y) FROM t WHERE x > 0 OR flag GROUP BY CUBE(g, flag)",
    "SELECT MEDIAN(x), APPROX_QUANTILES(y, 4), VAR_POP(x * y) FROM t",
    "SELECT g, QUANTILE(x, 0.9) FROM t WHERE y >= 0.5 GROUP BY g",
    "SELECT note, g, COUNT(*), SUM(x), MEDIAN(x) FROM t GROUP BY ROLLUP(note, g)",
    "SELECT flag, VAR_SAMP(x), STDDEV_POP(x - y), AVG(x, contribution_bounds_per_row => (-1, 2)) FROM t "
    "GROUP BY flag",
    "SELECT CASE WHEN x > 0 THEN 'up' WHEN flag THEN 'flag' END AS k, "
    "SUM(CASE WHEN flag THEN x ELSE y END) AS s_, COUNTIF(x > y), AVG(ABS(x - y)) FROM t GROUP BY k",
    "SELECT FLOOR(x / 2) AS k, g, SUM(FLOOR(x / NULLIF(y, 0))) AS s_, COUNT(*) FILTER (WHERE flag) FROM t "
    "WHERE x > -2 AND g <> 'b' GROUP BY CUBE(k, g)",
    "SELECT UPPER(g) AS k, note, AVG(COALESCE(x, 0)), SUM(GREATEST(x, y) % 2) FROM t GROUP BY 1, 2",
)
QUERIES += (
    "SELECT g, COUNT(*) AS n, 100.0 * COUNT(*) / SUM(COUNT(*)) OVER () AS share_, RANK() OVER (ORDER BY "
    "SUM(x) DESC) AS r_, SUM(SUM(x)) OVER (ORDER BY g) AS s_, COUNT(*) - LAG(COUNT(*), 1, 0) OVER (ORDER BY "
    "g) AS l_ FROM t GROUP BY g QUALIFY ROW_NUMBER() OVER (ORDER BY COUNT(*)) < 3 ORDER BY r_",
    "SELECT g, COUNT(DISTINCT x), COUNT(DISTINCT note), COUNT(flag), COUNT(note) FROM t GROUP BY g",
    "SELECT g, MIN(x) AS x_min, MAX(y) AS y_max, MODE(g), MODE(x) FROM t GROUP BY g",
    "SELECT CORR(x, y) AS a_, COVAR_POP(x, y), COVAR_SAMP(x, y), REGR_SLOPE(y, x) AS s_, "
    "REGR_INTERCEPT(y, x) AS i_, REGR_R2(y, x) AS r_ FROM t",
    "SELECT note, COUNT(DISTINCT g), MODE(flag), MAX(x) FROM t GROUP BY note ORDER BY 2 DESC LIMIT 2",
    "SELECT COUNT(*), SUM((x + 2 * y) % 3) AS s_, COUNT(note) FILTER (WHERE x > 0), COUNTIF(note IS NULL OR "
    "flag) FROM t WHERE note IS NOT NULL OR x < 2",
    "SELECT g, SUM(x) / COUNT(*) AS r_ FROM t GROUP BY g HAVING COUNT(*) > 1 ORDER BY r_ DESC",
    "SELECT 'up' AS k, g, COUNT(*) AS n, SUM(x) FROM t WHERE x > 0 GROUP BY g UNION ALL SELECT 'all', NULL, "
    "COUNT(*), MEDIAN(x) FROM t UNION ALL SELECT 'down', UPPER(g) AS h, COUNT(x), AVG(y) FROM t WHERE x < 0 "
    "AND g <> 'a' GROUP BY h HAVING COUNT(*) > 0 ORDER BY n DESC LIMIT 4",
)
QUERIES += (
    "SELECT g, COUNT(DISTINCT x, flag) AS a_, COUNT(DISTINCT (g, x)) AS b_, COUNT(DISTINCT UPPER(g)) AS c_, "
    "COUNT(DISTINCT x) FILTER (WHERE flag) AS d_ FROM t GROUP BY g",
    "SELECT g, AVG(LN(x + 4)) AS a_, SUM(SQRT(y)) AS b_, SUM(EXP(x)) AS c_, STDDEV(POWER(y, 1.5)) AS d_, "
    "MEDIAN(LOG(2, x + 4)) AS e_ FROM t GROUP BY g",
    "SELECT FLOOR(LOG10(x + 8)) AS k, EXP(AVG(LN(x))) AS e_, LOG10(COUNT(*)) AS l_ FROM t WHERE x > "
    "0 GROUP BY k",
    "SELECT g, NTILE(2) OVER (ORDER BY COUNT(*)) AS n_, PERCENT_RANK() OVER (ORDER BY SUM(x)) AS p_, "
    "CUME_DIST() OVER (ORDER BY SUM(x) DESC) AS c_, FIRST_VALUE(COUNT(*)) OVER (ORDER BY g) AS f_ FROM t "
    "GROUP BY g",
    "WITH i AS (SELECT g, COUNT(*) AS n FROM t GROUP BY g) SELECT UPPER(g) AS k, SUM(n) AS s_ FROM i "
    "GROUP BY k",
    "WITH i AS (SELECT g, COUNT(*) AS n FROM t GROUP BY g) SELECT g, n / (SELECT SUM(n) FROM i) AS s_ FROM i",
    "SELECT COUNT(*), SUM(x) FROM t WHERE (g, flag) IN (('a', TRUE), ('b', FALSE))",
)
USER_QUERIES = (
    "SELECT g, COUNT(DISTINCT who), SUM(x, contribution_bounds_per_group => (-2, 3)) FROM t GROUP BY g",
    "SELECT note, COUNT(DISTINCT who), AVG(y) FROM t GROUP BY note",
    "SELECT g, COUNT(*, contribution_bounds_per_group => (0, 1)), "
    "COUNT(x, contribution_bounds_per_group => (1, 2)) FROM t GROUP BY CUBE(g, flag)",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 2, max_groups_contributed = 1) "
    "g, COUNT(*), SUM(x), QUANTILE(x, 0.25) FROM t GROUP BY g",
    "SELECT AVG(n), SUM(s), STDDEV(m), MEDIAN(a) FROM (SELECT who, COUNT(*) AS n, SUM(x) AS s, MAX(x) AS m, "
    "AVG(x) AS a FROM t GROUP BY who) AS u",
    "SELECT d, COUNT(*), SUM(n), AVG(s), SUM(e), MAX(f) FROM (SELECT who, COUNT(DISTINCT g) AS d, "
    "COUNT(DISTINCT x) AS e, COUNT(DISTINCT x + 2 * y) FILTER (WHERE flag) AS f, COUNT(note) FILTER (WHERE "
    "x > 0) AS n, SUM(x) FILTER (WHERE note IS NULL) AS s FROM t GROUP BY who) AS u GROUP BY d",
    "SELECT n, COUNT(*), COUNT(DISTINCT who), SUM(low) FROM (SELECT who, COUNT(x) AS n, MIN(y - x) AS low "
    "FROM t WHERE flag OR x > 0 GROUP BY who HAVING COUNT(*) > 1) AS u GROUP BY n",
    "SELECT n, m, COUNT(*), AVG(n * m) FROM (SELECT who, COUNT(*) AS n, MAX(x) AS m FROM t GROUP BY who) "
    "AS u WHERE m IS NOT NULL AND n <= 3 GROUP BY CUBE(n, m)",
    "SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS (max_rows_contributed = 2) "
    "SUM(s, contribution_bounds_per_row => (-1, 2)) FROM (SELECT who, SUM(x) AS s FROM t GROUP BY who) AS u",
    "SELECT g, COUNT(*), SUM(x) FROM (SELECT who, g, 2 * x AS x FROM t WHERE flag) AS u WHERE x > -9 "
    "GROUP BY g",
    "SELECT g, COUNT(DISTINCT who) FROM t WHERE x > 0 GROUP BY g UNION ALL SELECT 'any', COUNT(DISTINCT who) "
    "FROM t WHERE flag UNION ALL SELECT 'rows', SUM(x, contribution_bounds_per_group => (-2, 3)) FROM t",
    "SELECT AVG(n) FROM (SELECT who, COUNT(*) AS n FROM t GROUP BY who) AS u UNION ALL "
    "SELECT COUNT(DISTINCT who) FROM (SELECT who, SUM(x) AS s FROM t GROUP BY who) AS u WHERE s > 1",
    "SELECT x > 0 AS k, COUNT(DISTINCT who) FILTER (WHERE flag), "
    "COUNT(DISTINCT CASE WHEN y > 0 THEN who END), MEDIAN(x % 3) FROM t GROUP BY k",
)


def neighbours_of(rows: Rows, unit: Row | User, replace: bool) -> Iterator[Rows]:
    if isinstance(unit, Row):
        for place in (0, 60, len(rows) - 1):
            other = (("eve", "b", -3, 0.0, False, "z"),) if replace else ()
            yield rows[:place] + rows[place + 1 :] + other
        return
    for who in ("ann", "bob", "cay", "dan"):
        kept = tuple(row for row in rows if row[0] != who)
        other = tuple((who, *row[1:-1], f"only {i % 4}") for i, row in enumerate(heavy("eve", -1)))
        yield kept + (other if replace else ())


@cache
def opened(rows: Rows, declared: Schema) -> Table:
    """A table that stays open: nothing about it changes from one question to the next."""
    frame = pd.DataFrame(list(rows), columns=list(NAMES))
    kinds = {name: "float64" if name in ("x", "y") else object for name in NAMES}
    return Table(frame.astype(kinds), schema=declared)


def runner(prepared: QuestionPlan, declared: Schema) -> Callable[[Rows, Rng], Any]:
    def run(rows: Rows, rng: Rng) -> Any:
        answer = ask(prepared, source=opened(rows, declared)._source, rng=rng)
        return answer.rows, tuple(answer.interval(name, 0.9) for name in answer.numbers)

    return run


@pytest.mark.parametrize(
    ("policy", "replace"), [(POLICY, False), (POLICY, True), (PURE, False)], ids=["add", "replace", "pure"]
)
@pytest.mark.parametrize("unit", [Row(), User(column="who", max_rows=3, max_groups=2)], ids=["row", "user"])
def test_neighbours_take_the_same_steps_and_publish_the_same(
    unit: Row | User, policy: Policy, replace: bool
) -> None:
    declared = schema(unit, replace)
    moved = 0
    for text in (*QUERIES, *(USER_QUERIES if isinstance(unit, User) else ())):
        if "note" in text and policy is PURE:
            continue
        prepared = plan_question(text, schemas=declared, policy=policy)
        run = runner(prepared, declared)
        for seed, other in enumerate(neighbours_of(BASE, unit, replace)):
            pair = (BASE, other) if seed % 2 else (other, BASE)
            report = replay_run(run, pair, rng=unsafe_seeded(seed))
            assert report.holds, (text, report)
            moved += report.total > 0
    assert moved, "no neighbour moved anything: this tests nothing"


def test_every_aggregate_is_replayed() -> None:
    declared = schema(User(column="who", max_rows=3, max_groups=2), False)
    plans = [
        plan_question(text, schemas=declared, policy=POLICY).question for text in (*QUERIES, *USER_QUERIES)
    ]
    kinds = {aggregate.kind for plan in plans for aggregate in plan.aggregates}
    assert kinds == set(get_args(Kind))


ZONES = Dimension(
    "zones",
    key="g",
    columns=(Category("g", values=("a", "b", "c")), Integer("weight", lower=-2, upper=3)),
)
JOINED_QUERIES = (
    "SELECT COUNT(*), COUNT(DISTINCT t.who), SUM(price), SUM(x * price), MEDIAN(price) "
    "FROM t JOIN orders USING (who)",
    "SELECT g, SUM(weight * x), STDDEV(price), QUANTILE(x, 0.75) "
    "FROM t JOIN zones USING (g) JOIN orders USING (who) WHERE price > 1 GROUP BY g",
    "SELECT note, COUNT(*), AVG(weight) FROM t JOIN zones USING (g) JOIN orders USING (who) GROUP BY note",
    "SELECT COUNT(*), COUNT(weight), SUM(x + weight), COUNT(DISTINCT who) FROM t LEFT JOIN zones USING (g)",
    "SELECT weight, COUNT(*) FROM t LEFT JOIN zones USING (g) WHERE zones.g IS NULL OR x > 0 GROUP BY weight",
    "SELECT g, COUNT(price), SUM(price), COUNT(DISTINCT o.who) FROM t LEFT JOIN orders AS o USING (who) "
    "GROUP BY g",
    "SELECT g, COUNT(*) / (SELECT COUNT(*) FROM t) AS share FROM t WHERE x > 0 GROUP BY g",
    "SELECT COUNT(*), SUM(x) FROM t WHERE who IN (SELECT who FROM t GROUP BY who HAVING SUM(x) > 2)",
    "SELECT SUM(x), COUNT(DISTINCT who) FROM t SEMI JOIN orders AS o ON o.who = t.who AND price > 2",
    "SELECT COALESCE(g, 'none') AS k, COUNT(*) FROM t ANTI JOIN orders AS o ON o.who = t.who AND price < 1 "
    "GROUP BY g",
    "SELECT COUNT(*), SUM(x) FROM t WHERE g NOT IN (SELECT g FROM zones WHERE weight > 0)",
    "SELECT COUNT(*), SUM(a.x - b.x) FROM t AS a JOIN t AS b USING (who)",
    "SELECT AVG(n), SUM(top) FROM (SELECT t.who, COUNT(*) AS n, MAX(price) AS top FROM t JOIN orders "
    "USING (who) LEFT JOIN zones USING (g) WHERE weight IS NULL OR weight < 3 GROUP BY t.who) AS u",
)


def orders_of(rows: Rows) -> tuple[tuple[Any, ...], ...]:
    """Orders that come and go with their user: more than may count, with missing and huge prices."""
    users = sorted({row[0] for row in rows if row[0] is not None})
    return tuple((who, price) for who in users for price in (5.0, 5.0, None, 1e300, -9.0))


@cache
def opened_with_orders(rows: Rows, schemas: tuple[Schema, Schema]) -> Table:
    frame = pd.DataFrame(list(rows), columns=list(NAMES))
    kinds = {name: "float64" if name in ("x", "y") else object for name in NAMES}
    orders = pd.DataFrame(list(orders_of(rows)), columns=["who", "price"])
    zones = pd.DataFrame({"g": ["a", "b", "c"], "weight": [3, -2, 0]})
    data = orders.astype({"who": object, "price": "float64"})
    return Table(
        frame.astype(kinds), schema=schemas[0], joined=[(data, schemas[1])], dimensions={"zones": zones}
    )


@pytest.mark.parametrize("replace", [False, True], ids=["add", "replace"])
def test_joins_of_heavy_users_take_the_same_steps(replace: bool) -> None:
    unit = User(column="who", max_rows=3, max_groups=2)
    plain = schema(unit, replace)
    declared = dataclasses.replace(plain, dimensions=(ZONES,))
    orders = Schema(
        "orders",
        columns=(Identifier("who"), Integer("price", lower=0, upper=5)),
        unit=User(column="who", max_rows=2, max_groups=1),
        neighbours=plain.neighbours,
    )
    moved = 0
    for text in JOINED_QUERIES:
        prepared = plan_question(text, schemas=(declared, orders), policy=POLICY)

        def run(rows: Rows, rng: Rng, prepared: QuestionPlan = prepared) -> Any:
            source = opened_with_orders(rows, (declared, orders))._source
            answer = ask(prepared, source=source, rng=rng)
            return answer.rows, tuple(answer.interval(name, 0.9) for name in answer.numbers)

        for seed, other in enumerate(neighbours_of(BASE, unit, replace)):
            report = replay_run(run, (BASE, other), rng=unsafe_seeded(seed))
            assert report.holds, (text, report)
            moved += report.total > 0
    assert moved, "no neighbour moved anything: this tests nothing"


def test_too_small_a_sensitivity_is_caught() -> None:
    """The same replay with one less row in the statement must fail."""
    declared = schema(User(column="who", max_rows=3, max_groups=2), False)
    prepared = plan_question("SELECT COUNT(*) AS c_ FROM t", schemas=declared, policy=PURE)
    (vector,) = prepared.budget.vectors
    smaller = dataclasses.replace(vector.moved, l1=vector.moved.l1 - 1)
    budget = dataclasses.replace(prepared.budget, vectors=(dataclasses.replace(vector, moved=smaller),))
    short = dataclasses.replace(prepared, budget=budget)
    pair = (BASE, next(neighbours_of(BASE, User(column="who", max_rows=3, max_groups=2), False)))
    assert replay_run(runner(prepared, declared), pair, rng=unsafe_seeded(1)).holds
    report: ReplayReport = replay_run(runner(short, declared), pair, rng=unsafe_seeded(1))
    assert "moved by 3, its sensitivity is 2" in repr(report)


def test_exact_distribution_of_a_found_group() -> None:
    """Enumerated through the shipped code: a group of one user is shown with probability at most delta."""
    declared = schema(User(column="who", max_rows=1, max_groups=1), False)
    text = "SELECT note, COUNT(DISTINCT who) AS n FROM t GROUP BY note"
    policy = Policy(epsilon=Fraction(8), delta=Fraction("1e-2"))
    prepared = plan_question(text, schemas=declared, policy=policy)
    ((delta, *_),) = [(vector.failure,) for vector in prepared.budget.vectors if vector.threshold]
    without, with_one = ((), (("ann", "a", 1, 1.0, True, "secret"),))

    def shown(rows: Rows, rng: Rng) -> Any:
        answer = ask(prepared, source=opened(rows, declared)._source, rng=rng)
        return answer.column("note")

    empty = output_distribution(shown, without)
    assert dict(empty.probabilities) == {(): 1}
    one = output_distribution(shown, with_one)
    assert 0 < 1 - one[()] <= delta
    assert 1 - one[()] >= delta / 40  # the threshold is a whole number, one step is e^-4 here or more
