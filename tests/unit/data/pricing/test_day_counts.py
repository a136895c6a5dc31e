"""Counters that are planned for a table with a time column."""

import datetime

import pytest

import discreet as dp
from discreet.core.errors import InvalidParameter
from discreet.data import Date, Identifier, Row, Schema, Table, User
from discreet.data.pricing.day_counts import plan_day_counts
from discreet.streams import Contribution

FIRST = datetime.date(2025, 1, 1)
DAY = Date("day", lower=FIRST, upper=FIRST + datetime.timedelta(29))


def schema(**given):
    return Schema(
        "t",
        columns=(DAY, Identifier("who")),
        **{"unit": Row(), "neighbours": dp.AddRemove("row"), "time": "day", **given},
    )


@pytest.mark.parametrize(
    ("given", "moved"),
    [
        ({}, 1),
        ({"neighbours": dp.Replace("row")}, 2),
        ({"unit": User(column="who", max_rows=3, max_groups=1), "neighbours": dp.AddRemove("who")}, 3),
        ({"unit": User(column="who", max_rows=3, max_groups=1), "neighbours": dp.Replace("who")}, 6),
    ],
)
def test_counters_hide_all_rows_of_a_unit(given, moved):
    found = plan_day_counts(schema(**given), epsilon=1, delta=1e-9)
    assert {each.counter.neighbours for each in found.predictions} == {Contribution(moved)}
    assert {each.counter.horizon for each in found.predictions} == {30}
    plain = dp.streams.plan(30, 1, 0, Contribution(1), elements=dp.streams.WholeElements(1))
    assert found.best.variance(30) == pytest.approx(moved**2 * plain.best.variance(30), rel=0.1)


def test_a_plan_of_a_table_with_a_time_column(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("day,who\n2025-01-02,anna\n")
    with Table(str(path), schema=schema()) as table:
        found = dp.plan(table, epsilon=1, delta=0)
        assert "WideTreeCounter" in str(found) and found.best.delta == 0
        with pytest.raises(InvalidParameter, match="rows"):
            dp.plan(table, epsilon=1, delta=0, rows=10)
        with pytest.raises(InvalidParameter, match="delta"):
            dp.plan(table, epsilon=1)
    with Table(str(path), schema=schema(time=None)) as table, pytest.raises(InvalidParameter, match="time"):
        dp.plan(table, epsilon=1, delta=0)


def test_a_unit_with_very_many_rows_is_hidden_on_whatever_days_they_lie():
    many = User(column="who", max_rows=3 << 20, max_groups=1)
    found = plan_day_counts(schema(unit=many, neighbours=dp.AddRemove("who")), epsilon=1, delta=0)
    assert {each.counter.moved for each in found.predictions} == {3 << 20}
