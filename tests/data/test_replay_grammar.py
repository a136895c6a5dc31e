"""Every plan the language has, on every kind of data: no noise input moves by more than its sensitivity.

Plans come from the plan's own node types (`plan_grammar`): each kind of unit and change, with each aggregate,
with each option and clause. Tables hold heavy users, missing and odd values, moments near midnight in another
zone and names that differ by case only, under collations that do not see it; one of them changes once it was
opened. Units come and go, or are exchanged.
"""

from __future__ import annotations

import inspect
import itertools
from dataclasses import replace
from typing import Any, get_args, get_type_hints

import pytest
from plan_grammar import CASES, CHANGES, DELTA, PURE, UNITS, prepared_plans, schemas
from plan_variants import Variant, exercised, node_types, variants
from replayed_plans import BASE, DUCKDB, Tables, found, holds, neighbours_of
from sqlglot import exp

from discreet import Replace, data
from discreet.data import Column, Row, Schema, User
from discreet.data import table as table_module
from discreet.data.engines.bounding import bound_rows
from discreet.data.engines.rendering import render
from discreet.data.plan import facts as plan_facts
from discreet.data.plan.facts import Facts
from discreet.data.plan.nodes import Plan, Policy
from discreet.data.plan.row_nodes import Field
from discreet.data.pricing import budget
from discreet.data.sql.selected import aggregates as sql_aggregates

STRIDE = 61
"""Cases far apart are looked at first: they differ most."""


@pytest.fixture(autouse=True)
def one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which rows of a user count must be the same on every table."""
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")


@pytest.mark.parametrize("name", DUCKDB)
def test_no_input_moves_by_more_than_its_sensitivity(name: str) -> None:
    """160 pairs, all ways to open a table together; `make soak` tries 600 times as many."""
    place, ways = list(DUCKDB).index(name), len(DUCKDB)
    chosen = CASES[place :: 20 * ways]
    assert holds(Tables(DUCKDB[name]), prepared_plans(0, chosen), pairs=3) >= 160 // ways


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(1, 13))
@pytest.mark.parametrize("name", DUCKDB)
def test_no_input_of_many_plans_moves_by_more_than_its_sensitivity(name: str, seed: int) -> None:
    """100,000 pairs, all seeds and ways to open a table together."""
    assert holds(Tables(DUCKDB[name]), list(prepared_plans(seed))) >= 100_000 // (12 * len(DUCKDB))


NEVER = {
    ("Branch", "outputs", "nothing"): "a query asks for something",
    ("Branch", "sets", "nothing"): "a query without GROUP BY has the empty grouping set",
    ("Computed", "parts", "nothing"): "a function has parts",
    ("Plan", "outputs", "nothing"): "a query asks for something",
    ("Plan", "sets", "nothing"): "a query without GROUP BY has the empty grouping set",
    ("Choice", "cases", "nothing"): "without conditions it is the number itself",
    ("ComputedKey", "codes", "nothing"): "a key has a group at least",
    ("StepFunction", "pieces", "nothing"): "a column has a value at least",
    ("TextLike", "patterns", "nothing"): "a comparison is with some text",
    ("UnitIn", "where", "UnitIn"): "a list of units holds no other",
    ("UnitIn", "having", "UnitIn"): "a list of units holds no other",
    ("UnitIn", "having", "TextLike"): "no value of a unit is text",
}


def test_every_node_field_and_kind_is_exercised() -> None:
    """Whatever the language has is in some plan; and would be missed if plans without a part were all."""
    kinds = node_types()
    assert {Plan, Policy} <= kinds and len(kinds) >= 12
    wanted = variants(kinds) - NEVER.keys()
    seen: set[Variant] = {one for policy in (DELTA, PURE) for one in exercised(policy)}
    without: set[Variant] = set()
    for start in range(STRIDE):
        for _, prepared in prepared_plans(0, CASES[start::STRIDE]):
            held = set(exercised(prepared.question))
            seen |= held
            without |= set() if _has_a_part(prepared.question) else held
        if seen >= wanted:
            break
    assert seen == wanted
    missing = wanted - without
    assert ("Plan", "joins", "something") in missing
    assert ("Aggregate", "kind", "'quantile'") in missing
    assert ("Join", "left", "Field") in missing
    assert ("Units", "keys", "something") in missing


def _has_a_part(question: Plan) -> bool:
    """Say whether a plan has users to average over, joins or quantiles."""
    return bool(
        question.units is not None
        or question.joins
        or any(one.kind == "quantile" for one in question.aggregates)
    )


def test_every_kind_of_unit_change_and_column_is_exercised() -> None:
    hints = get_type_hints(Schema)
    assert {type(unit) for unit in UNITS} == set(get_args(hints["unit"]))
    assert {type(schemas(unit, change)[0].neighbours) for unit in UNITS for change in CHANGES} == set(CHANGES)
    kinds = {one for _, one in inspect.getmembers(data, inspect.isclass) if issubclass(one, Column)}
    for unit in UNITS:
        declared = {type(column) for column in schemas(unit, Replace)[0].columns}
        assert declared == {
            one for one in kinds if not inspect.isabstract(one) and one.__subclasses__() == []
        }


@pytest.mark.parametrize("name", ["frames", "collated"])
def test_histograms_move_by_the_rows_of_one_unit(name: str) -> None:
    """What the shared hypothesis and every release of tables are made from."""
    tables = Tables(DUCKDB[name])
    for unit, change in ((unit, change) for unit in UNITS for change in CHANGES):
        listed = (BASE, *neighbours_of(BASE, unit, change))
        base, *others = (counted(tables, rows, unit, change) for rows in listed)
        most = unit.max_rows * (2 if change is Replace else 1)
        assert 0 < max(distance(base, other) for other in others) <= most, (unit, change)
    tables.close()


def counted(tables: Tables, rows: Any, unit: Any, change: Any) -> list[dict[int, int]]:
    table = tables.of(rows, unit, change)
    made = [table.histogram(["g", "c"], sparse=True), *table.marginals([["x", "flag"], ["day"], ["s", "y"]])]
    entries = [(one.universe.ravel(codes), counts) for one in made for codes, counts in [one.entries()]]
    return [dict(zip(cells.tolist(), counts.tolist(), strict=True)) for cells, counts in entries]


def distance(one: list[dict[int, int]], other: list[dict[int, int]]) -> int:
    pairs = zip(one, other, strict=True)
    return max(sum(abs(a.get(k, 0) - b.get(k, 0)) for k in {*a, *b}) for a, b in pairs)


def _rows_of_the_first(plan: Any, tables: Any) -> Any:
    return ROWS_KEPT(plan, tables)[:1]


def _one_row_more(source: Any, reading: Any, schema: Schema, **given: Any) -> Any:
    unit = replace(schema.unit, max_rows=schema.unit.max_rows + 1)
    return bound_rows(source, reading, replace(schema, unit=unit), **given)


def _a_row_for_each_value(self: Any, units: Any) -> Any:
    """One row for each user and value of x."""
    made = ONE_ROW(self, units)
    made.args["group"].append("expressions", render.column(Field("events", "x")))
    return made


SUMMED = ("count_units", "count", "sum")
ROWS_KEPT = plan_facts.list_kept_rows
ONE_ROW = render._Renderer._units
BROKEN: dict[str, tuple[str, list[tuple[Any, str, Any]]]] = {
    # Bounds on a unit's total shrink the noise, and where a row is the unit no query applies them.
    "a row's bounds": ("group bounds", [(sql_aggregates, "User", Row | User)]),
    "a user's bounds": (
        "group bounds",
        [(render._Renderer, "_clamped_total", lambda s, _, place: s._sum(render.own_column(f"m{place}")))],
    ),
    "the clamp of rows": ("row bounds", [(render, "hold", lambda value, _: value)]),
    "the rows of a user": (
        "plain",
        [
            (table_module, "bound_rows", _one_row_more),
            (render, "up_to", lambda _, schema: exp.select("*").from_(schema.name)),
        ],
    ),
    "the groups of a user": ("group", [(Facts, "caps_groups", lambda *_: False)]),
    "the rows of a join": ("private join", [(plan_facts, "list_kept_rows", _rows_of_the_first)]),
    "the one row of a user": ("units", [(render._Renderer, "_units", _a_row_for_each_value)]),
    "who finds groups": (
        "text group",
        [(module, "finder", lambda _: plan_facts.Measure("rows")) for module in (plan_facts, budget)],
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_bound_that_is_not_applied_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The gate has teeth: each part of the bounds is left out in turn, and so is the check of queries."""
    clause, patches = BROKEN[name]
    monkeypatch.setattr(render, "require_bounds", lambda *_: None)
    monkeypatch.setattr(budget, "_budget", budget._budget.__wrapped__)  # no plan that was priced before
    for owner, attribute, broken in patches:
        monkeypatch.setattr(owner, attribute, broken)
    tables = Tables(DUCKDB["frames"])
    cases = [case for case in CASES if case[3] == clause and case[2] in SUMMED]
    plans = itertools.chain.from_iterable(prepared_plans(seed, cases) for seed in range(4))
    assert any(seen.problems for _, seen in found(tables, plans)), name
    tables.close()
