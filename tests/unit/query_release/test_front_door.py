"""`discreet.release`: from a table to a synopsis under the table's own promise."""

import dataclasses

import numpy as np
import pytest

import discreet as dp
from discreet.accounting.units import PrivacyUnit
from discreet.core.errors import InternalError, InvalidParameter, TableHeld
from discreet.core.neighbours import AddRemove, Replace
from discreet.data import Category, Identifier, Integer, Row, Schema, User
from discreet.queries import Histogram, Marginals, Union, Universe
from discreet.query_release.front_door import Released
from discreet.query_release.planning import planner
from discreet.testing import unsafe_seeded

pandas = pytest.importorskip("pandas")

COLUMNS = (Integer("age", lower=0, upper=9), Category("region", values=("n", "s")))


def people(unit, neighbours):
    columns = COLUMNS if unit == Row() else (Identifier("id"), *COLUMNS)
    frame = pandas.DataFrame({"id": [k // 2 for k in range(400)]})
    frame["age"] = [k % 10 for k in range(400)]
    frame["region"] = ["n" if k % 3 else "s" for k in range(400)]
    schema = Schema("people", columns=columns, unit=unit, neighbours=neighbours)
    return dp.Table(frame if unit != Row() else frame.drop(columns="id"), schema=schema)


@pytest.mark.usefixtures("few_trials")
def test_a_table_becomes_a_synopsis_and_synthetic_rows():
    with people(Row(), AddRemove("row")) as table:
        wanted = dp.marginals(table, order=2)
        found = dp.release(wanted, epsilon=5, delta=1e-6, rows=400, rng=unsafe_seeded(1))
    assert isinstance(found, Released)
    assert found.guarantee.implies(epsilon=5, delta=1e-6)
    assert found.guarantee.neighbours == AddRemove("row")
    rows = found.synthetic(50)
    assert rows.columns()["region"][0] in {"n", "s"} and len(rows) == 50
    assert 0 < rows.departure < 0.02 and "of the rows off the released answer" in repr(rows)
    assert found.value.synthetic(50).departure is None
    assert found.answers().shape == (33,) and found.marginal("region").shape == (3,)
    assert np.array_equal(found.marginal("age", "region"), found.marginal(["age", "region"]))
    with pytest.raises(InvalidParameter, match="names must be a list"):
        found.marginal(3)
    assert np.abs(found.marginal("region") - [266, 134, 0]).max() < 40
    assert found.standard_errors(runs=2, rng=unsafe_seeded(2)).shape == (33,)
    assert found.plan.best.name in repr(found) and "UNSAFE" in repr(found)


@pytest.mark.usefixtures("few_trials")
def test_a_person_with_several_rows_gets_the_whole_promise():
    """The noise must be calibrated for all of a person's rows: a budget for one row would not do."""
    unit = User(column="id", max_rows=2, max_groups=2)
    with people(unit, AddRemove("id")) as table:
        for delta in (0, 1e-6):
            found = dp.release(dp.marginals(table, order=1), epsilon=2, delta=delta, rows=400)
            assert found.guarantee.neighbours == AddRemove("id")
            assert found.guarantee.implies(epsilon=2, delta=delta)
            assert found.mechanism.epsilon == 1  # half for each row
            assert not found.guarantee.implies(epsilon=1, delta=delta)


def test_a_replaced_row_has_a_public_number():
    with people(Row(), Replace("row")) as table:
        found = dp.release(dp.marginals(table, order=1), epsilon=2, delta=1e-6)
    assert found.plan.facts.rows == 400
    assert found.guarantee.neighbours == Replace("row")


def test_a_table_declares_its_own_neighbours():
    with people(Row(), AddRemove("row")) as table, pytest.raises(InvalidParameter, match="left to the table"):
        dp.release(dp.marginals(table, order=1), epsilon=1, delta=0, neighbours=Replace("row"))


class Unread:
    """A table of people with several rows that nobody may read."""

    neighbours, rows_per_unit = AddRemove("person"), 3

    def universe(self, columns=None):
        return Universe([("a", (0, 1))])

    def histogram(self, columns=None):
        raise AssertionError("private data were read")


def test_a_broken_promise_is_caught_before_data_are_read(monkeypatch):
    monkeypatch.setattr(PrivacyUnit, "row_budget", lambda self, epsilon, delta: (epsilon, delta))
    with pytest.raises(InternalError, match="not within"):
        dp.release(dp.marginals(Unread(), order=1), epsilon=1, delta=0)


@pytest.mark.usefixtures("few_trials")
def test_a_plan_is_what_is_released():
    """What is shown beforehand is what is used, with the budget of all rows of a person."""
    unit = User(column="id", max_rows=2, max_groups=2)
    with people(unit, AddRemove("id")) as table:
        wanted = dp.marginals(table, order=1)
        planned = dp.plan(wanted, epsilon=2, delta=1e-6, rows=400)
        assert planned.guarantee.neighbours == AddRemove("id")
        assert planned.guarantee.implies(epsilon=2, delta=1e-6) and planned.mechanism.epsilon == 1
        assert "epsilon 2, delta 1e-06 for adding or removing one id" in str(planned)
        found = planned.release(table)
        assert found.plan is planned and found.mechanism is planned.mechanism
        assert found.guarantee == planned.guarantee
        again = dp.release(wanted, epsilon=2, delta=1e-6, rows=400).plan
        assert str(again) == str(planned) and again.best.name == planned.best.name
        assert planned.release(table.histogram()).guarantee == planned.guarantee
        assert planned.at(4).mechanism.epsilon == 2 and planned.at(4).guarantee.implies(epsilon=4, delta=1e-6)


@pytest.mark.usefixtures("few_trials")
def test_a_plan_for_rows_promises_nothing_to_those_who_have_several():
    planned = dp.plan(dp.marginals(Unread().universe(), order=1), epsilon=1, delta=0)
    with pytest.raises(InvalidParameter, match="Plan with the table"):
        planned.release(Unread())
    with pytest.raises(InvalidParameter, match="Table"):
        planned.release("people.csv")
    unit = User(column="id", max_rows=2, max_groups=2)
    with people(unit, AddRemove("id")) as table:
        for_two = dp.plan(dp.marginals(table, order=1), epsilon=1, delta=0)
        wider = Histogram(table.universe(), table.histogram().counts(), rows_per_unit=3)
    with pytest.raises(InvalidParameter, match="up to 2 rows"):
        for_two.release(wider)


UNIVERSE = Universe([("a", (0, 1)), ("b", (0, 1, 2))])
DATA = Histogram.dense(UNIVERSE, [50, 10, 20, 30, 60, 40])


@pytest.mark.parametrize("form", ["asked", "pair", "apart"])
def test_three_ways_to_ask(form):
    workload = Marginals.of_order(UNIVERSE, 2)
    wanted = {
        "asked": (dp.marginals(DATA, order=2),),
        "pair": ((DATA, workload),),
        "apart": (workload, DATA),
    }[form]
    found = dp.release(*wanted, epsilon=20, delta=0, rows=210)
    assert np.abs(found.answers() - DATA.counts().ravel()).max() < 30
    with pytest.raises(dataclasses.FrozenInstanceError):
        found.plan = None


def test_parts_answer_what_each_of_them_knows():
    parts = Union([Marginals(UNIVERSE, [["a"]]), Marginals(UNIVERSE, [["b"]])])
    found = dp.plan(parts, epsilon=50, delta=0, rows=210).of("split").mechanism.release(DATA).value
    assert np.abs(found.answers(parts) - parts.answers(DATA)).max() < 20
    assert np.abs(found.answers(parts.parts[1]) - parts.parts[1].answers(DATA)).max() < 20
    assert found.total == pytest.approx(210, abs=20)
    assert abs(found.answer(parts.query(3)) - parts.answers(DATA)[3]) < 30
    assert len(found.synthetic(10)) == 10


@pytest.mark.parametrize("wanted", [("no data",), (DATA, Marginals.of_order(UNIVERSE, 1), 3)])
def test_incomplete_requests_are_refused(wanted):
    with pytest.raises(InvalidParameter):
        dp.release(wanted, epsilon=1, delta=0)


def test_a_workload_needs_data_and_marginals_need_something_with_values():
    with pytest.raises(InvalidParameter, match="Table"):
        dp.release(Marginals.of_order(UNIVERSE, 1), epsilon=1, delta=0)
    with pytest.raises(InvalidParameter, match="Table"):
        dp.marginals([1, 2], order=1)


def test_a_table_without_a_workload_is_told_how_to_make_one():
    for ask in (dp.release, dp.plan):
        with pytest.raises(InvalidParameter, match=r"also take marginals\(table, order=2\)"):
            ask(DATA, epsilon=1, delta=0)


def test_marginals_of_some_columns():
    assert len(dp.marginals(UNIVERSE, order=1, columns=["b"])) == 3
    assert dp.marginals(DATA, order=1, columns=["a"]).workload.universe.names == ("a",)


@pytest.mark.usefixtures("few_trials")
def test_a_plan_that_was_made_before_is_released_without_planning_again(monkeypatch):
    with people(Row(), AddRemove("row")) as table:
        planned = dp.plan(dp.marginals(table, order=1), epsilon=5, delta=1e-6, rows=400)

        def fail(*given, **named):
            raise AssertionError("it was planned again")

        monkeypatch.setattr("discreet.query_release.planning.planner.predict", fail)
        for found in (dp.release(planned), dp.release(planned, table), dp.release(planned, data=table)):
            assert found.plan is planned and found.guarantee == planned.guarantee
        for name, value in {"epsilon": 5, "rows": 3, "by": "largest"}.items():
            with pytest.raises(InvalidParameter, match=f"{name} must be left out"):
                dp.release(planned, **{name: value})
    for name, given in (("epsilon", {}), ("delta", {"epsilon": 1})):
        with pytest.raises(InvalidParameter, match=f"{name} must be given"):
            dp.release(planned.facts.workload, **given)


def test_a_plan_holds_no_data():
    data = Histogram.dense(Universe([("x", range(3))]), [5, 6, 7])
    workload = Marginals.of_order(data.universe, 1)
    planned = dp.plan((data, workload), epsilon=1, delta=0, rows=20)
    assert dp.release(planned).plan is planned
    assert dp.release(planned.at(2)).plan.epsilon == 2
    other = dp.plan(workload, epsilon=1, delta=0, rows=20)
    with pytest.raises(InvalidParameter, match="data must be given"):
        dp.release(other)
    assert len(dp.release(other, data).answers()) == 3
    del data
    with pytest.raises(InvalidParameter, match="remembers what it was made with"):
        dp.release(planned)


def test_a_plan_for_a_table_that_a_session_took_releases_nothing_around_it():
    table = people(Row(), AddRemove("row"))
    planned = dp.plan(dp.marginals(table, order=1), epsilon=1, delta=0, rows=400)
    with dp.Session(table, epsilon=1, delta=0) as session:
        with pytest.raises(TableHeld):
            dp.release(planned)
        assert session.release(planned).plan is planned
        assert session.left == pytest.approx(0, abs=1e-9)


def test_one_question_is_planned_as_a_list_of_one_is():
    with people(Row(), AddRemove("row")) as table:
        question = "SELECT COUNT(*) AS n FROM people"
        given = {"within": 20, "epsilon": 1, "delta": 0}
        planned = repr(dp.plan([question], table, **given))
        assert repr(dp.plan(question, table, **given)) == planned
        assert repr(dp.plan((one for one in [question]), table, **given)) == planned
        with pytest.raises(InvalidParameter, match="within must be given"):
            dp.plan(question, table, epsilon=1, delta=0)


def test_epsilons_of_a_plot_are_a_list():
    planned = dp.plan(Marginals(Universe([("x", range(2))]), [["x"]]), epsilon=1, delta=0)
    with pytest.raises(InvalidParameter, match="epsilons must be a list"):
        planned.plot(1)


def test_a_large_delta_must_be_meant():
    """The rule of tables, sessions and curators: with that probability anything may be published."""
    universe = Universe([("region", ("n", "s"))])
    wanted = (Histogram.dense(universe, [30, 20]), Marginals.of_order(universe, 1))
    for door in (dp.plan, dp.release):
        with pytest.raises(InvalidParameter, match=r"delta must be at most 0.001.*large_delta=True"):
            door(wanted, epsilon=1, delta=0.5)
        with pytest.raises(InvalidParameter, match="rows must be"):  # it goes on to what else is wrong
            door(wanted, epsilon=1, delta=0.5, large_delta=True, rows=0)
    with people(Row(), AddRemove("row")) as table:
        asked = "SELECT COUNT(*) AS n FROM people"
        with pytest.raises(InvalidParameter, match="large_delta=True"):
            dp.plan([asked], table, within=10, epsilon=1, delta=0.5)
        lax = dp.plan([asked], table, within=100_000, epsilon=1, delta=0.5, large_delta=True)
        assert lax.fits and lax.needed > 0  # a rho that the delta alone would pay for has no least epsilon


def test_planning_shows_a_bar_to_whoever_asks(capsys, monkeypatch):
    """It takes seconds: every mechanism is tried."""
    pytest.importorskip("rich")
    quick = tuple(each for each in planner.CANDIDATES if each.name == "independent")
    monkeypatch.setattr(planner, "CANDIDATES", quick)
    universe = Universe([("region", ("n", "s"))])
    wanted, given = Marginals.of_order(universe, 1), {"epsilon": 1, "delta": 0, "rows": 50}
    planned = dp.plan(wanted, **given)
    dp.release(planned, Histogram.dense(universe, [30, 20]))
    assert not capsys.readouterr().out
    dp.plan(wanted, progress=True, **given)
    assert "trying mechanisms" in capsys.readouterr().out
    dp.release(wanted, Histogram.dense(universe, [30, 20]), progress=True, **given)
    assert "trying mechanisms" in capsys.readouterr().out
    planned.plot([1, 2], progress=True)
    shown = capsys.readouterr().out
    assert "planning" in shown and "trying" not in shown
