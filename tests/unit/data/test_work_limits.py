"""The worst queries of a given size: planning them takes steps in proportion to their size, or none at all.

Steps are lines of Python, counted by the interpreter: the same on every machine. A family doubles its query,
and the schema with it. What the second doubling adds is twice what the first one added where the cost is
linear, 2.3 times where it is n log n, and four times where it is quadratic.
"""

from __future__ import annotations

import datetime
import io
import logging
import sys
import threading
from collections.abc import Callable
from contextlib import redirect_stderr
from fractions import Fraction
from types import FrameType
from typing import Any

import pytest

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Category, Date, Identifier, Integer, Row, Schema, Text, User
from discreet.data.ask import plan_question
from discreet.data.engines.rendering.render import render
from discreet.data.plan import tabulate
from discreet.data.plan.canonical import canonicalise
from discreet.data.plan.effort import MAX_STEPS, limit_effort
from discreet.data.plan.evaluate import Codes, Columns, evaluate
from discreet.data.plan.nodes import Policy
from discreet.data.plan.row_nodes import Polynomial
from discreet.data.plan.tables import PlanTables
from discreet.data.pricing import budget as pricing
from discreet.data.pricing.gaussian_share import find_factor
from discreet.data.pricing.quantiles import KeptRows, QuantileChoices
from discreet.data.sql.nodes import Scope
from discreet.data.sql.printing import to_sql
from discreet.data.sql.text import _listen, parse_text
from discreet.testing import unsafe_seeded

POLICY = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))
XS = tuple(f"x{k}" for k in range(40))
GROWTH = 2.6
"""How much more the second doubling may add than the first."""


def schema(values: int, unit: Row | User | None = None) -> Schema:
    unit = unit or User(column="who", max_rows=3, max_groups=2)
    columns = (
        Identifier("who"),
        Category("c", values=tuple(f"v{k}" for k in range(values))),
        *(Category(f"g{k}", values=("a", "b")) for k in range(6)),
        *(Integer(name, lower=-5, upper=9) for name in XS),
        Text("note"),
    )
    return Schema("t", columns=columns, unit=unit, neighbours=AddRemove(unit.name))


SMALL, LARGEST = schema(3), schema(100_000)


def chain(word: str, parts: Any) -> str:
    return f"SELECT COUNT(*) FROM t WHERE {f' {word} '.join(parts)}"


def listed(parts: Any, after: str = "") -> str:
    return f"SELECT {', '.join(parts)} FROM t {after}"


FAMILIES: dict[str, Callable[[int], str]] = {
    "equalities": lambda n: chain("OR", (f"c = 'v{7 * k}'" for k in range(n))),
    "inequalities": lambda n: chain("AND", (f"c <> 'v{7 * k}'" for k in range(n))),
    "everything but one": lambda n: chain("OR", (f"(c <> 'v{k}' AND x1 = {k % 9})" for k in range(n))),
    "lists": lambda n: chain("OR", (f"c IN ('v{k}', 'v{k + 3}')" for k in range(n))),
    "one list": lambda n: chain("AND", ["c IN (" + ", ".join(f"'v{3 * k}'" for k in range(4 * n)) + ")"]),
    "patterns": lambda n: chain("AND", (f"g{k % 6} LIKE '{'%' * 20}a'" for k in range(n))),
    "ranges": lambda n: chain("OR", (f"x{k % 40} BETWEEN {k % 7} AND 8" for k in range(n))),
    "sums of twelve": lambda n: chain("OR", (f"{' + '.join(XS[:12])} > {k}" for k in range(n // 4))),
    "products that meet": lambda n: chain(
        "OR", (f"x0*x1*x2*x3 + x3*x4*x5*x6 + x6*x7*x8*x9 + x9*x10*x11 > {k}" for k in range(n // 4))
    ),
    "brackets": lambda n: chain(
        "OR", (f"(x0 = 1 AND (x1 = 2 OR (x2 = 3 AND c <> 'v{k}')))" for k in range(n))
    ),
    "aggregates": lambda n: listed(f"SUM({' + '.join(XS[:12])} + {k})" for k in range(n // 2)),
    "deviations by cube": lambda n: listed(
        (f"STDDEV(x0 + {k})" for k in range(n // 8)), "GROUP BY CUBE(g0, g1)"
    ),
    "found groups": lambda n: listed(
        (f"SUM(x0 + {k})" for k in range(n // 8)), "GROUP BY CUBE(g0, g1, note)"
    ),
    "quantiles": lambda n: listed(f"APPROX_QUANTILES(x0 + {k}, 10)" for k in range(n // 8)),
    "cases": lambda n: listed(
        [f"SUM(CASE {' '.join(f'WHEN x0 * x1 > {k} THEN x{k % 40}' for k in range(n // 2))} END)"]
    ),
    "cases of one column": lambda n: listed(
        [f"SUM(CASE {' '.join(f'WHEN x0 = {k % 14 - 5} THEN {k % 7}' for k in range(n))} END)"]
    ),
    "functions of a category": lambda n: chain("OR", (f"UPPER(g0) || '{k}' = 'A{k}'" for k in range(n))),
    "grouping sets": lambda n: listed(["COUNT(*)"], f"GROUP BY GROUPING SETS ({', '.join(XS[: n // 4])})"),
}


def steps(query: str, declared: Schema | PlanTables) -> tuple[int, str]:
    """Count the lines that planning, rendering and printing run; and what came of it."""
    pricing._budget.cache_clear()
    find_factor.cache_clear()
    count = 0

    def line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return line

    outcome = "planned"
    before = sys.gettrace()
    sys.settrace(line)
    try:
        prepared = plan_question(query, schemas=declared, policy=POLICY)
        render(prepared.budget.facts)
        to_sql(canonicalise(prepared.question), prepared.tables)
    except Refused as refusal:
        outcome = refusal.why
    finally:
        sys.settrace(before)
    return count, outcome


def growth(name: str) -> float:
    """How much more the second doubling adds than the first."""
    steps(FAMILIES[name](24), schema(24 * 16))  # what is remembered of losses is the same for every size
    found = [steps(FAMILIES[name](n), schema(n * 16)) for n in (24, 48, 96)]
    assert [outcome for _, outcome in found] == ["planned"] * 3
    first, second, third = (count for count, _ in found)
    return (third - second) / (second - first)


@pytest.mark.parametrize("name", FAMILIES)
def test_planning_grows_like_the_query_and_the_schema(name: str) -> None:
    assert growth(name) <= GROWTH


@pytest.mark.parametrize("name", ["equalities", "inequalities", "lists"])
def test_a_cost_that_multiplies_query_and_schema_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The check has teeth: values that are looked up anew for each comparison are noticed."""
    monkeypatch.setattr(
        Scope, "positions", lambda self, field: {v: i for i, v in enumerate(self.column(field).domain())}
    )
    assert growth(name) > 3 > GROWTH


@pytest.mark.parametrize(
    ("query", "most"),
    [
        (FAMILIES["equalities"](499), 1_500_000),
        (FAMILIES["inequalities"](499), 1_500_000),
        (FAMILIES["everything but one"](249), 2_500_000),
        (FAMILIES["sums of twelve"](320), 6_000_000),
    ],
)
def test_the_largest_queries_of_the_largest_schema_take_few_steps(query: str, most: int) -> None:
    count, outcome = steps(query, LARGEST)
    assert (outcome, count <= most) == ("planned", True), count


CUBE = "GROUP BY CUBE(g0, g1, g2, g3, g4, g5)"


@pytest.mark.parametrize(
    ("query", "why"),
    [
        (
            listed(f"APPROX_QUANTILES(x0 + {k}, 100)" for k in range(90)),
            "9090 numbers and quantiles in a group",
        ),
        (listed((f"STDDEV(x0 + {k})" for k in range(100)), CUBE), "19200 numbers and quantiles in a group"),
        (listed((f"SUM(x0 + {k})" for k in range(60)), "GROUP BY c"), "6000000 numbers, all groups together"),
        (listed(["MEDIAN(x0)", "MEDIAN(x1)"], "GROUP BY c"), "200000 quantiles, all groups together"),
        (chain("AND", ["c LIKE '%1%'", "c LIKE '%2%'"]), "more than 2000000 comparisons of characters"),
        (listed([f"SUM({'LEAST(x0, GREATEST(x1, ' * 14}x2{'))' * 14})"]), "more than 4000 parts"),
        (listed(["COUNT(*)"], f"GROUP BY ROLLUP({', '.join(['x0'] * 1000)})"), "more than 64 grouping sets"),
    ],
)
def test_more_work_than_a_question_may_ask_for_is_refused_by_name(query: str, why: str) -> None:
    count, outcome = steps(query, LARGEST)
    assert why in outcome
    assert count < 2_000_000


LONG = Schema(
    "t",
    columns=(
        Identifier("who"),
        Integer("w", lower=0, upper=60_000),
        Date("d", lower=datetime.date(1900, 1, 1), upper=datetime.date(2060, 1, 1)),
        Category("c", values=tuple(f"v{k}" for k in range(60_000))),
        Category("m", values=tuple(f"v{k}" for k in range(1_000))),
        *(Integer(name, lower=-5, upper=9) for name in XS),
    ),
    unit=User(column="who", max_rows=3, max_groups=2),
    neighbours=AddRemove("who"),
)
TOO_LONG = f"more than {MAX_STEPS} steps to plan"
WORST: dict[str, str] = {
    "cases": listed(f"SUM(CASE WHEN w > {k} THEN w ELSE {k} END)" for k in range(90)),
    "cases of many spans": listed(
        [f"SUM(CASE {' '.join(f'WHEN w % 2 = 1 AND x{k % 40} = 3 THEN {k}' for k in range(150))} END)"]
    ),
    "remainders": chain("OR", (f"w % {k + 2} = 1" for k in range(400))),
    "sets of many spans": chain("OR", (f"(w % 2 = 1 AND x{k % 40} > {k % 5})" for k in range(200))),
    "dates as text": chain("OR", (f"FORMAT_DATE('%Y', d + {k}) = '1990'" for k in range(200))),
    "weeks": chain("OR", (f"WEEK(d + {k}) = 1" for k in range(400))),
    "a list": chain("AND", [f"w * w IN ({', '.join(str(7 * k) for k in range(999))})"]),
    "labels": chain("OR", (f"CASE WHEN x0 > 1 THEN m ELSE 'no' END = 'v{k}'" for k in range(200))),
    "texts read as numbers": listed(f"SUM(SAFE_CAST(SUBSTR(m, 2) || '{k}' AS INT64))" for k in range(90)),
    "correlations": listed(f"CORR(x{k % 40}, x0 + {k} * x3)" for k in range(90)),
}


@pytest.mark.parametrize("name", WORST)
def test_values_that_are_computed_for_one_question_are_limited(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs line by line, and what runs over arrays: either may take seconds where it is not counted."""
    cells = 0

    def count(number: Polynomial, columns: Columns, tables: PlanTables) -> Codes:
        nonlocal cells
        cells += sum(map(len, columns.values()))
        return evaluate(number, columns, tables)

    monkeypatch.setattr(tabulate, "evaluate", count)
    lines, outcome = steps(WORST[name], LONG)
    assert TOO_LONG in outcome
    assert lines < 3_000_000
    assert cells < MAX_STEPS


def test_what_was_computed_is_counted_once() -> None:
    """The same function many times, or with other constants beside it, is one table."""
    with limit_effort(2_000_000):
        for query in (
            chain("OR", (f"w % 1000 = {k}" for k in range(40))),
            listed(["COUNT(*)"], "WHERE w % 1000 IN (1, 2, 3) GROUP BY w % 1000"),
        ):
            assert steps(query, LONG)[1] == "planned"


def test_a_question_is_planned_or_not_whatever_was_asked_before() -> None:
    tables = PlanTables.of(LONG)
    few = chain("OR", (f"w % {k + 900} = 1" for k in range(4)))
    found = [steps(query, tables)[1] for query in (few, few, WORST["remainders"], WORST["remainders"], few)]
    assert [TOO_LONG in one for one in found] == [False, False, True, True, False]


WIDE = Schema(
    "t",
    columns=(Integer("y", lower=0, upper=999_999), Category("c", values=tuple("abcdefghij"))),
    unit=Row(),
    neighbours=AddRemove("row"),
)


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("SELECT APPROX_QUANTILES(y, 29) FROM t", "planned"),
        ("SELECT APPROX_QUANTILES(y, 30) FROM t", "31000000 declared values to choose from"),
        ("SELECT c, MEDIAN(y), QUANTILE(y, 0.1), QUANTILE(y, 0.9) FROM t GROUP BY c", "planned"),
        ("SELECT c, APPROX_QUANTILES(y, 3) FROM t GROUP BY c", "40000000 declared values to choose from"),
        ("SELECT MEDIAN(y), " + ", ".join(f"MEDIAN(y + {k})" for k in range(1, 31)) + " FROM t", "31000000"),
        ("SELECT APPROX_QUANTILES(y, 100, contribution_bounds_per_row => (0, 999)) FROM t", "planned"),
    ],
)
def test_quantiles_times_declared_values_are_limited(query: str, why: str) -> None:
    """Each costs a look at every value that may be chosen, under the line that all analysts wait for."""
    count, outcome = steps(query, WIDE)
    assert why in outcome
    assert count < 1_000_000


def choosing_steps(values: int, choices: int) -> int:
    """Count the lines that so many choices among the values of one group run."""
    count, rng = 0, unsafe_seeded(3)
    rows = KeptRows({7 * k: 1 + k % 5 for k in range(values)})
    listed = [
        QuantileChoices(Fraction(k, choices), (0, 7 * values), Fraction(1, 10**6), Fraction(1), shift=k - 3)
        for k in range(choices)
    ]

    def line(frame: FrameType, event: str, argument: object) -> Any:
        nonlocal count
        count += event == "line"
        return line

    before = sys.gettrace()
    sys.settrace(line)
    try:
        for one in listed:
            one.sample((rows,), rng)
    finally:
        sys.settrace(before)
    return count


def test_values_are_gone_through_once_for_all_quantiles() -> None:
    few, many = choosing_steps(20_000, 10), choosing_steps(20_000, 110)
    assert few < 3 * 20_000
    assert many - few < 100 * 500, "a choice goes through the values one by one"


def test_patterns_add_up() -> None:
    declared = schema(20_000)
    assert steps(chain("AND", ["c LIKE '%1%'"] * 2), declared)[1] == "planned"
    assert "comparisons of characters" in steps(chain("AND", ["c LIKE '%1%'"] * 4), declared)[1]


@pytest.mark.parametrize(
    "opening", ["DATE(", "f(DATE(", "STRUCT(", "INT[", "UNION(", "TIMESTAMP((", "x + DEC("]
)
def test_brackets_that_the_parser_reads_twice_are_refused(opening: str) -> None:
    """Each level of them would double the time: thirty levels would never end."""
    closing = "".join({"(": ")", "[": "]"}[c] for c in reversed(opening) if c in "([")
    times = 30 // len(closing)
    for query in (
        f"SELECT {opening * times}x{closing * times} FROM t",
        f"SELECT COUNT(*) FROM t WHERE {opening * times}x{closing * times} = 1",
    ):
        count, outcome = steps(query, SMALL)
        assert outcome == "it is not part of the language" and count < 20_000


def test_one_type_in_brackets_may_be_read() -> None:
    """What is in them is read like everything else."""
    assert plan_question("SELECT SUM(x0::DECIMAL(9, 2)) FROM t", schemas=SMALL, policy=POLICY)
    with pytest.raises(Refused) as caught:
        plan_question("SELECT SUM(x0::VARCHAR(9)) FROM t", schemas=SMALL, policy=POLICY)
    assert caught.value.what == "cast"


WARNED = (
    "SELECT COUNT(*) FROM t WHERE x0 -> '$[CANARY' = 1",
    "SELECT COUNT(*) FROM t WHERE x0 ->> 'CANARY..b[' = 1",
    "SELECT COUNT(*) FROM t WHERE x0 IN (WITH a AS (SHOW CANARY z) SELECT 1)",
    "SELECT COUNT(*) FROM (WITH a AS (COMMENT CANARY z) SELECT 1)",
)


@pytest.mark.parametrize("query", WARNED)
def test_the_parser_says_nothing_to_anybody_else(query: str, caplog: pytest.LogCaptureFixture) -> None:
    """Not on standard error, where words without a handler go, and not in the log; it is a refusal."""
    shown = io.StringIO()
    with redirect_stderr(shown), pytest.raises(Refused):
        parse_text(query)
    assert shown.getvalue() == "" and caplog.text == ""


def test_other_words_of_the_library_are_not_kept_back(caplog: pytest.LogCaptureFixture) -> None:
    """Only what is said of a request is: other users of the library, in other threads too, hear theirs."""
    logging.getLogger("sqlglot").warning("before")
    with _listen() as said:
        other = threading.Thread(target=logging.getLogger("sqlglot").warning, args=["meanwhile"])
        other.start()
        other.join()
        logging.getLogger("sqlglot").warning("kept back")
    assert said == ["WARNING"]
    assert [record.getMessage() for record in caplog.records] == ["before", "meanwhile"]
