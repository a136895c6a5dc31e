"""The bound that prices is the bound that clamps, and rendering refuses a query where it is not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pandas as pd
import pytest
from sqlglot import exp

from discreet import AddRemove, Replace
from discreet.core.errors import InternalError
from discreet.core.rng import Primitive, Rng
from discreet.data import Category, Dimension, Identifier, Integer, Row, Schema, Table, Text, User
from discreet.data.engines.rendering import render as rendering
from discreet.data.engines.rendering.render import render
from discreet.data.engines.rendering.render_expressions import table as relation
from discreet.data.engines.rendering.render_ranges import read_range
from discreet.data.plan.facts import facts
from discreet.data.plan.measures import Measure
from discreet.data.plan.nodes import Aggregate, Policy
from discreet.data.plan.numbers import variable
from discreet.data.sql.parse import parse
from discreet.data.sql.selected.aggregates import GROUP

POLICY = Policy(epsilon=Fraction(1), delta=Fraction("1e-6"))
USER = User(column="who", max_rows=3, max_groups=1)
PAY = pd.DataFrame(
    {
        "who": ["ann", "ann", "bob", "cay"],
        "g": ["a", "b", "a", "a"],
        "pay": [90_000, 70_000, 50_000, None],
        "note": ["p"] * 4,
    }
).astype({"who": object, "g": object, "note": object})


def staff(unit: Row | User, kind: type[AddRemove] | type[Replace] = AddRemove) -> Schema:
    return Schema(
        "staff",
        columns=(
            Identifier("who"),
            Category("g", values=("a", "b")),
            Integer("pay", lower=-10, upper=100_000),
            Text("note"),
        ),
        unit=unit,
        neighbours=kind(unit.name),
        dimensions=(Dimension("sites", key="g", columns=(Category("g", values=("a", "b")),)),),
    )


def orders(unit: User) -> Schema:
    columns = (Identifier("who"), Integer("price", lower=0, upper=5))
    return Schema("orders", columns=columns, unit=unit, neighbours=AddRemove("who"))


class Watched(Rng):
    """Keeps what the random steps were given, and adds no noise of its own."""

    def __init__(self) -> None:
        self.given: list[Any] = []

    def random_bytes(self, count: int) -> bytes:
        return bytes(count)

    def perform(self, primitive: Primitive[Any, Any], value: Any) -> Any:
        self.given.append((primitive, value))
        return super().perform(primitive, value)


@pytest.mark.parametrize(
    ("call", "most", "total"),
    [
        ("SUM(pay, contribution_bounds_per_group => (0, 1))", 1, 3),
        ("SUM(pay, contribution_bounds_per_group => (60000, 80000))", 80_000, 80_000 + 70_000 + 60_000),
        ("SUM(pay * pay, contribution_bounds_per_group => (0, 4))", 4, 12),
        ("SUM(pay, contribution_bounds_per_row => (0, 1))", 1, 3),
    ],
)
@pytest.mark.parametrize("kind", [AddRemove, Replace])
def test_a_row_that_is_a_unit_is_held_to_the_bounds_of_a_unit(
    call: str, most: int, total: int, kind: type[AddRemove] | type[Replace]
) -> None:
    """Noise for a total of at most `most` needs a row that adds at most `most`."""
    rng = Watched()
    with Table(PAY, schema=staff(Row(), kind), dimensions={"sites": PAY[["g"]].drop_duplicates()}) as opened:
        opened.sql(f"SELECT {call} AS s FROM staff", epsilon=1, delta=0, rng=rng)
    ((primitive, value),) = rng.given
    assert primitive.sensitivity == most
    assert value.tolist() == [total]


def known(text: str, unit: Row | User = USER) -> Any:
    schemas = (staff(unit), orders(USER)) if isinstance(unit, User) else (staff(unit),)
    return facts(parse(text, schemas=schemas, policy=POLICY), schemas)


EVERYTHING = (
    "SELECT g, COUNT(*), COUNT(pay), COUNT(note), COUNT(DISTINCT who), COUNT(DISTINCT g), MODE(g), "
    "SUM(pay), AVG(pay), STDDEV(pay), MEDIAN(pay), "
    "SUM(pay, contribution_bounds_per_group => (0, 9)) FROM staff JOIN sites USING (g) GROUP BY CUBE(g, note)"
)


def test_what_is_rendered_passes() -> None:
    assert len(render(known(EVERYTHING))) == 16
    for unit in (Row(), USER):
        assert render(known("SELECT g, SUM(pay), MEDIAN(pay) FROM staff GROUP BY g", unit))


def test_a_bound_of_a_plan_that_no_query_applies_is_found() -> None:
    """A plan that was not parsed: its unit is a row, and its bound is on what a unit has in a group."""
    made = known("SELECT SUM(pay) FROM staff", Row())
    pay = made.plan.aggregates[0].number.fields[0]
    bounded = Aggregate("sum", variable(pay), group_bounds=(Fraction(0), Fraction(1)))
    plan = replace(made.plan, outputs=(replace(made.plan.outputs[0], what=bounded),))
    with pytest.raises(InternalError, match="of one unit is not held to"):
        render(facts(plan, made.tables))


def unclamped(value: exp.Expr, span: Any) -> exp.Expr:
    return value


def wider(value: exp.Expr, span: Any) -> exp.Expr:
    return clamped(value, (span[0], span[1] + 1))


clamped = rendering.clamp
BREAKS: dict[str, tuple[str, Callable[..., Any], str]] = {
    "no clamp": ("hold", unclamped, "SELECT SUM(pay) FROM staff"),
    "a wider clamp": ("hold", wider, "SELECT SUM(pay) FROM staff"),
    "no clamp of squares": ("hold", unclamped, "SELECT VARIANCE(pay) FROM staff"),
    "no clamp of a histogram": ("hold", unclamped, "SELECT MEDIAN(pay) FROM staff"),
    "a wider clamp of a histogram": ("hold", wider, "SELECT MEDIAN(pay) FROM staff"),
    "values that are not declared": (
        "_declared_only",
        lambda *_: [],
        "SELECT COUNT(DISTINCT g) FROM staff WHERE g IN ('a') OR pay > 0",
    ),
    "values counted with their rows": (
        "_count_different",
        lambda value: exp.Count(this=value),
        "SELECT COUNT(DISTINCT pay) FROM staff",
    ),
    "values of a user counted with their rows": (
        "_count_different",
        lambda value: exp.Count(this=exp.Star()),
        "SELECT note, COUNT(DISTINCT g) FROM staff GROUP BY note",
    ),
    "more rows": (
        "up_to",
        lambda rows, schema: exp.select("*").from_(schema.name).where(f"discreet_place <= {rows + 1}"),
        "SELECT COUNT(*) FROM staff",
    ),
    "all rows": (
        "up_to",
        lambda _, schema: exp.select("*").from_(schema.name),
        "SELECT COUNT(*) FROM staff JOIN orders USING (who)",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_query_without_its_bound_is_not_run(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    attribute, broken, text = BREAKS[name]
    assert render(known(text))
    monkeypatch.setattr(rendering, attribute, broken)
    with pytest.raises(InternalError, match=r"not held to|more than once"):
        render(known(text))


def _choose(*chosen: exp.Expr, otherwise: exp.Expr | None = None) -> exp.Case:
    test = exp.LTE(this=exp.column("x"), expression=exp.Literal.number(1))
    return exp.Case(ifs=[exp.If(this=test.copy(), true=one) for one in chosen], default=otherwise)


def test_a_choice_is_between_what_it_chooses_from() -> None:
    five, seven, nine = map(exp.Literal.number, (-5, 7, 9))
    inner = _choose(seven, exp.null(), otherwise=five)
    assert read_range(_choose(inner, otherwise=nine)) == (-5, 9)
    assert read_range(_choose(inner)) == (-5, 7)
    for open_end in (exp.column("x"), exp.Mul(this=seven, expression=exp.column("x"))):
        assert read_range(_choose(seven, open_end, otherwise=nine)) is None
        assert read_range(_choose(seven, otherwise=open_end)) is None
    assert read_range(_choose(exp.null())) is None


def test_only_what_may_leave_its_span_is_clamped() -> None:
    """A function of a column is a choice of numbers that are written in the query: they bound it."""
    steps = "CASE WHEN pay <= 10 THEN -6 WHEN pay <= 20 THEN NULL WHEN pay <= 30 THEN 8 ELSE 3 END"
    (query,) = render(known(f"SELECT SUM({steps}) FROM staff"))
    (tighter,) = render(known(f"SELECT SUM({steps}, contribution_bounds_per_row => (0, 2)) FROM staff"))
    for one, ends in ((query, (-6, 8)), (tighter, (0, 2))):
        total = one.tree.find(exp.Sum)
        assert total is not None and read_range(total.this) == ends
    assert len(list(query.tree.find_all(exp.Case))) < len(list(tighter.tree.find_all(exp.Case))) / 3


def _plain_total(self: Any, measure: Measure, place: int) -> exp.Expr:
    return self._sum(rendering.own_column(f"m{place}"))


@pytest.mark.parametrize(
    ("method", "broken", "text"),
    [
        (
            "_clamped_total",
            _plain_total,
            f"SELECT COUNT(*, {GROUP} => (0, 2)) FROM staff",
        ),
        (
            "_needs_totals",
            lambda *_: False,
            f"SELECT SUM(pay, {GROUP} => (0, 9)) FROM staff",
        ),
        ("_needs_totals", lambda *_: False, "SELECT g, COUNT(*) FROM staff GROUP BY g"),
        ("_needs_totals", lambda *_: False, "SELECT COUNT(DISTINCT who) FROM staff"),
        ("_relation", lambda _, name, shown: relation(name), "SELECT COUNT(*) FROM staff"),
    ],
)
def test_a_step_that_is_left_out_is_noticed(
    method: str, broken: Callable[..., Any], text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert render(known(text))
    monkeypatch.setattr(rendering._Renderer, method, broken)
    with pytest.raises(InternalError, match=r"not held to|counted by their rows"):
        render(known(text))


@pytest.mark.parametrize("more", [1, 2])
def test_groups_are_held_to_what_was_priced(more: int, monkeypatch: pytest.MonkeyPatch) -> None:
    made = known("SELECT g, pay, COUNT(*) FROM staff GROUP BY g, pay")
    of_users = rendering._Renderer._of_users

    def loose(self: Any, *given: Any) -> exp.Select:
        bounds = replace(self.known, groups_per_unit=self.known.groups_per_unit + more)
        return of_users(replace(self, known=bounds), *given)

    monkeypatch.setattr(rendering._Renderer, "_of_users", loose)
    with pytest.raises(InternalError, match="groups of one user are not held to 1"):
        render(made)


def test_bounded_rows_of_another_table_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Their places are those of other users' rows."""
    made = known("SELECT COUNT(*) FROM staff")
    few = exp.select("*").from_("orders").where("discreet_place <= 3")
    monkeypatch.setattr(rendering, "up_to", lambda *_: few)
    with pytest.raises(InternalError, match="rows of one user in staff are not held to 3"):
        render(made)


@pytest.mark.parametrize(
    ("bounds", "total"),
    [("(0, 150)", 80 + 150), ("(60, 150)", 80 + 150), ("(90, 150)", 90 + 150), ("(20, 300)", 80 + 200)],
)
def test_who_has_no_value_adds_nothing(bounds: str, total: int) -> None:
    """A total of nothing was clamped to the least that a value may be, and added for all without one."""
    schema = Schema(
        "staff",
        columns=(Identifier("who"), Integer("pay", lower=50, upper=100)),
        unit=USER,
        neighbours=AddRemove("who"),
    )
    frame = pd.DataFrame(
        {"who": [f"u{k}" for k in range(40)] + ["ann", "bob", "bob"], "pay": [None] * 40 + [80, 100, 100]}
    ).astype({"who": object})
    seen = Watched()
    with Table(frame, schema=schema) as table:
        table.sql(f"SELECT SUM(pay, {GROUP} => {bounds}) FROM staff", epsilon=1, delta=0, rng=seen)
    ((step, value),) = seen.given
    assert [int(one) for one in value] == [total]
    assert step.sensitivity >= int(bounds.split(", ")[1][:-1]), "what a user may add is still paid for"
