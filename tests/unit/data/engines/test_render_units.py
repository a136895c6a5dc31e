"""One row for each user: what is read back from the query, and that nothing else is run."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import duckdb
import pytest
from sql_schemas import TABLES, plan
from sqlglot import exp

from discreet.core.errors import InternalError
from discreet.data.engines.rendering import render as rendering
from discreet.data.engines.rendering import render_units
from discreet.data.engines.rendering.render import render
from discreet.data.engines.rendering.render_expressions import clamp, column
from discreet.data.engines.rendering.render_units import _average
from discreet.data.plan.facts import Facts, facts
from discreet.data.plan.row_nodes import Field

INNER = (
    "SELECT user_id, COUNT(*) AS n, COUNT(income) AS c, SUM(cost) AS s, MIN(age) AS low, MAX(day) AS last, "
    "AVG(cost) AS a, COUNT(DISTINCT region) AS d FROM visits JOIN orders USING (user_id) GROUP BY user_id"
)
TEXT = (
    f"SELECT COUNT(*), SUM(n + c + d), AVG(s), SUM(low), AVG(a) FROM ({INNER}) AS t WHERE last > '2020-02-01'"
)


def known(text: str = TEXT) -> Facts:
    return facts(plan(text), TABLES)


@pytest.mark.parametrize(
    "call", ["COUNT(*)", "SUM(n)", "SUM(c)", "MEDIAN(low)", "COUNT(DISTINCT user_id)", "SUM(a)"]
)
def test_what_is_rendered_passes(call: str) -> None:
    assert render(known(f"SELECT {call} FROM ({INNER}) AS t"))


def _also_by_age(made: exp.Select) -> None:
    made.args["group"].append("expressions", column(Field("visits", "age")))


def _by_age(made: exp.Select) -> None:
    made.args["group"].set("expressions", [column(Field("visits", "age"))])


def _by_nothing(made: exp.Select) -> None:
    made.set("group", None)


def _under_another_user(made: exp.Select) -> None:
    made.expressions[0].set("this", column(Field("visits", "note")))


def _unbounded(made: exp.Select) -> None:
    made.args["from_"].this.set("this", exp.to_identifier("visits", quoted=True))


def _of_all_ages(made: exp.Select) -> None:
    (one,) = (one for one in made.expressions if one.alias.startswith("distinct_region"))
    ages = exp.Distinct(expressions=[column(Field("visits", "age"))])
    one.set("this", exp.Count(this=ages))


def _of_a_column(name: str) -> Callable[[exp.Select], None]:
    def broken(made: exp.Select) -> None:
        (one,) = (one for one in made.expressions if one.alias == name)
        one.set("this", exp.Sum(this=column(Field("visits", "age"))))

    return broken


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (_also_by_age, "one row is not that of one user"),
        (_by_age, "one row is not that of one user"),
        (_by_nothing, "one row is not that of one user"),
        (_under_another_user, "a row is not named after its user"),
        (_unbounded, "rows of one user in visits are not held to 5"),
        (_of_a_column("sum_cost"), "the sum of one user is not held to"),
        (_of_a_column("average_cost"), "the average of one user is not held to"),
        (_of_all_ages, "the distinct of one user is not held to"),
        (_of_a_column("min_age"), "the min of one user is not held to"),
    ],
)
def test_another_query_is_not_run(
    broken: Callable[[exp.Select], None], words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, proper = known(), rendering._Renderer._units

    def changed(self: Any, units: Any) -> exp.Select:
        query = proper(self, units)
        broken(query)
        return query

    monkeypatch.setattr(rendering._Renderer, "_units", changed)
    with pytest.raises(InternalError, match=words):
        render(made)


@pytest.mark.parametrize(
    "broken", [lambda value, _: value, lambda value, span: clamp(value, (span[0] - 1, span[1]))]
)
def test_values_of_rows_that_are_not_clamped_are_noticed(
    broken: Callable[..., exp.Expr], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = known()
    monkeypatch.setattr(render_units, "hold", broken)
    with pytest.raises(InternalError, match="of one user is not held to"):
        render(made)


def test_something_beside_the_one_row_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    made, proper = known(), rendering._Renderer._rows

    def joined(self: Any, *given: Any) -> exp.Select:
        query = proper(self, *given)
        query.set("joins", [exp.Join(this=rendering.table("visits"), kind="CROSS")])
        return query

    monkeypatch.setattr(rendering._Renderer, "_rows", joined)
    with pytest.raises(InternalError, match="something else is read"):
        render(made)


@pytest.mark.parametrize("finer", [1, 10, 100])
def test_averages_are_rounded_to_the_nearest_step(finer: int) -> None:
    x = exp.column("x", quoted=True)
    text = _average(clamp(x, (-3, 4)), -3, finer).sql(dialect="duckdb", identify=True)
    with duckdb.connect() as engine:
        for rows in (
            [-3],
            [4],
            [4, -3],
            [1, 1, 2],
            [-1, -1, -2],
            [0, None],
            [None],
            [-3, 4, 4, None],
            [99, -99],
        ):
            cells = ", ".join(f"({'NULL' if cell is None else cell})" for cell in rows)
            ((found,),) = engine.execute(f"SELECT {text} FROM (VALUES {cells}) AS t(x) ").fetchall()
            present = [min(max(cell, -3), 4) for cell in rows if cell is not None]
            exact = None if not present else Fraction(sum(present) * finer, len(present))
            assert (found is None) == (exact is None)
            assert exact is None or abs(found - exact) <= Fraction(1, 2)
