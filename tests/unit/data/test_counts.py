"""Questions that are made of counts: on every histogram they say what the engine says of its rows."""

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

from discreet import AddRemove
from discreet.core.errors import Refused
from discreet.data import Boolean, Category, Integer, Row, Schema, Table
from discreet.data import counts as counted
from discreet.data.count_formulas import TimesCount
from discreet.data.counts import Counts
from discreet.data.linear import compile_counts
from discreet.data.plan.after import evaluate as evaluate_after
from discreet.data.plan.key_nodes import ComputedKey
from discreet.data.plan.nodes import Policy
from discreet.data.plan.row_nodes import Field
from discreet.data.plan.tables import PlanTables
from discreet.data.sql.parse import parse
from discreet.data.universe_cells import UniverseCells
from discreet.queries import Queries, Universe

PEOPLE = Schema(
    "people",
    columns=(
        Integer("age", lower=0, upper=9),
        Category("ward", values=("n", "s", "w")),
        Boolean("member"),
        Integer("stay", lower=1, upper=4),
    ),
    unit=Row(),
    neighbours=AddRemove("row"),
)
ALL = Universe.from_columns(PEOPLE.columns)
POLICY = Policy(epsilon=Fraction(10**9), delta=Fraction(0))
QUESTIONS = (
    "COUNTIF(age >= 4)",
    "COUNT(*) FILTER (WHERE ward = 'n' AND age < 7)",
    "COUNTIF(ward = 'n' OR age < 3), COUNT(*)",
    "COUNT(age), COUNT(ward), COUNT(DISTINCT ward) - COUNT(DISTINCT ward) + COUNT(member)",
    "COUNT(age + stay)",
    "COUNTIF(age > stay)",
    "COUNTIF(member), COUNTIF(NOT member), COUNTIF(member IS NULL)",
    "SUM(CASE WHEN age > 4 THEN 1 ELSE 0 END)",
    "SUM(CASE WHEN age > 4 AND ward <> 's' THEN -2.5 ELSE 0 END)",
    "AVG(CASE WHEN ward = 'w' THEN 1 ELSE 0 END)",
    "AVG(CASE WHEN ward = 'w' THEN 1.0 WHEN ward = 'n' THEN 0 END)",
    "AVG(member)",
    "COUNTIF(member) / COUNT(*)",
    "ROUND(100.0 * COUNTIF(age < 5) / COUNT(ward), 1)",
    "ward, AVG(CASE WHEN age > 4 THEN 3 ELSE 0 END) FROM people GROUP BY ward",
    "FLOOR(age / 3) AS band, COUNT(*) FROM people GROUP BY band",
    "CASE WHEN age < 3 THEN 'a' WHEN age < 8 THEN 'b' ELSE 'c' END AS b, COUNT(*) FROM people GROUP BY b",
    "age > 4 AS old, ward, COUNTIF(member), COUNT(*) FROM people GROUP BY old, ward",
    "ward, age > stay AS longer, COUNT(*) FROM people GROUP BY longer, ward",
    "UPPER(ward) AS w, COUNT(*) FROM people WHERE age BETWEEN 2 AND 6 GROUP BY w",
    "ward, age % 2 AS odd, COUNT(*) FROM people GROUP BY CUBE(ward, odd)",
    "member, FLOOR(age / 5) AS half, COUNTIF(ward = 's') FROM people "
    "GROUP BY GROUPING SETS ((half, member), (member), ())",
    "age + stay AS both, COUNT(*) FROM people WHERE ward IN ('n', 'w') GROUP BY both",
)


def parsed(question):
    text = f"SELECT {question}" + ("" if "FROM" in question else " FROM people")
    return parse(text, schemas=PEOPLE, policy=POLICY)


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(11)  # noqa: TID251
    draw = lambda values, size=400: generator.choice(np.array([*values, None], dtype=object), size)  # noqa: E731
    columns = {"age": range(10), "ward": "nsw", "member": (True, False), "stay": (1, 2, 4)}
    return pd.DataFrame({name: draw(values) for name, values in columns.items()})


@pytest.fixture(scope="module")
def table(rows):
    typed = rows.astype({"age": "Int64", "ward": "string", "member": "boolean", "stay": "Int64"})
    with Table(typed, schema=PEOPLE) as opened:
        yield opened


def evaluate(question, table):
    """Return the formulas of a question, and its exact counts, group by group."""
    plan = parsed(question)
    counts = Counts.of(plan, PEOPLE, ALL)
    answers = Queries(ALL, compile_counts(plan, PEOPLE, ALL)).answers(table.histogram(ALL.names))
    return plan, counts, answers.reshape(counts.groups, counts.length).tolist()


@pytest.mark.parametrize("question", [one for one in QUESTIONS if "DISTINCT" not in one])
def test_counts_of_a_histogram_are_those_of_the_engine(question, table):
    plan, counts, groups = evaluate(question, table)
    text = f"SELECT {question}" + ("" if "FROM" in question else " FROM people")
    engine = table.sql(text, epsilon=10**9, delta=0)
    for output in plan.outputs:
        if isinstance(output.what, Field | ComputedKey):
            continue
        known = [
            {one: counts.formulas[one].values(g.__getitem__)[0] for one in plan.aggregates} for g in groups
        ]
        ours = [evaluate_after(output.what, one.__getitem__) for one in known]
        theirs = [float(one) for one in engine.column(output.name)]
        assert [float(one) for one in ours] == pytest.approx(theirs, abs=1e-3)


@pytest.mark.parametrize(
    "points", [(Fraction(1, 2),), (Fraction(0), Fraction(1, 4), Fraction(9, 10), Fraction(1))]
)
@pytest.mark.parametrize("number", ["age", "age - 2 * stay", "ABS(age - 5) * 0.5"])
def test_quantiles_have_as_many_rows_below_and_above_as_they_say(points, number, table, rows):
    several = ", ".join(f"PERCENTILE_DISC({number}, {float(point)})" for point in points)
    plan, counts, (group,) = evaluate(several, table)
    frame = rows.dropna(subset=["age", "stay"] if "stay" in number else ["age"])
    numbers = frame[["age", "stay"]].astype(float)
    values = sorted(numbers.eval(number.lower()))
    for output, point in zip(plan.outputs, points, strict=True):
        (found,) = counts.formulas[output.what].values(group.__getitem__)
        assert (
            sum(one <= found for one in values) >= point * len(values) >= sum(one < found for one in values)
        )
        assert min(values) <= found <= max(values)


@pytest.mark.parametrize("question", QUESTIONS)
def test_workloads_of_the_parts_are_the_queries(question, table):
    plan = parsed(question)
    if "DISTINCT" in question:
        with pytest.raises(Refused, match="not made of counts"):
            Counts.of(plan, PEOPLE, ALL)
        return
    counts, queries = Counts.of(plan, PEOPLE, ALL), compile_counts(plan, PEOPLE, ALL)
    histogram = table.histogram(ALL.names)
    seen = np.full((counts.groups, counts.length), -1)
    for part in counts.parts:
        assert (seen[part.places, part.number] == -1).all()
        seen[part.places, part.number] = part.workload().answers(histogram)
        box = part.box()
        if box is not None:
            cells = [box.get(axis, np.arange(size)) for axis, size in enumerate(ALL.shape)]
            assert histogram.counts()[np.ix_(*cells)].sum() == seen[part.places[0], part.number]
    assert seen.ravel().tolist() == Queries(ALL, queries).answers(histogram).tolist()
    assert len(list(counts.sets)) == len(plan.shown_sets)


def test_conditions_on_one_column_are_one_set_of_its_codes():
    (part,) = Counts.of(parsed("COUNTIF(age > 2 AND age < 8) FROM people WHERE age <> 5"), PEOPLE, ALL).parts
    assert part.box() is not None and part.box()[0].tolist() == [3, 4, 6, 7]


def test_one_condition_is_counted_once_whatever_is_made_of_it():
    counts = Counts.of(
        parsed("COUNTIF(member), SUM(CASE WHEN member THEN 5 ELSE 0 END), COUNT(*)"), PEOPLE, ALL
    )
    assert counts.length <= 3
    plan = parsed("COUNT(*), COUNT(*) + 1, 2 * COUNT(*)")
    assert Counts.of(plan, PEOPLE, ALL).formulas == {plan.aggregates[0]: TimesCount(Fraction(1), 0)}


def test_too_many_conditions_are_refused_by_name(monkeypatch):
    monkeypatch.setattr(counted, "PARTS", 3)
    assert Counts.of(parsed("FLOOR(age / 4) AS band, COUNT(*) FROM people GROUP BY band"), PEOPLE, ALL)
    with pytest.raises(Refused, match="by 4 conditions, and 3 is the most"):
        Counts.of(parsed("FLOOR(age / 3) AS band, COUNT(*) FROM people GROUP BY band"), PEOPLE, ALL)


def test_values_of_a_number_of_many_cells_are_not_looked_for(monkeypatch):
    assert Counts.of(parsed("MEDIAN(age + stay)"), PEOPLE, ALL)
    monkeypatch.setattr(counted, "LOOKED_AT", 11 * 5 - 1)
    monkeypatch.setattr(UniverseCells, "list_values", None)
    with pytest.raises(Refused, match="not made of counts"):
        Counts.of(parsed("MEDIAN(age + stay)"), PEOPLE, ALL)


def test_a_column_outside_the_universe_is_told():
    small = Universe([("ward", ("n", "s", "w", None))])
    tables = PlanTables.of(PEOPLE)
    for question in ("COUNTIF(age > 2)", "COUNT(age)", "age > 4 AS old, COUNT(*) FROM people GROUP BY old"):
        with pytest.raises(Refused, match="not an attribute"):
            Counts.of(parsed(question), tables, small)
