"""The plan of counters: all of them, by errors that are known beforehand."""

import math

import numpy as np
import pytest

from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.streams import (
    BufferedCounter,
    Contribution,
    EndlessCounter,
    Event,
    KeyedCounter,
    PerturbedCounter,
    SquareRootCounter,
    StreamAlarm,
    TreeCounter,
    UserCap,
    UserEvents,
    UserStream,
    WholeElements,
    WideTreeCounter,
    WindowCounter,
    plan,
)


def kinds(found):
    return {type(each.counter) for each in found.predictions}


def test_every_counter_of_running_sums_is_there_and_the_nearest_is_first():
    found = plan(50, 1, 1e-9, Contribution(1), elements=WholeElements(200))
    assert kinds(found) == {
        TreeCounter, WideTreeCounter, BufferedCounter, SquareRootCounter, EndlessCounter, PerturbedCounter
    }  # fmt: skip
    names = [each.name for each in found.predictions]
    assert len(names) == len(set(names)) and "TreeCounter, pure, branching 8" in names
    typical = [each.typical for each in found.predictions if type(each.counter) is not SquareRootCounter]
    assert typical == sorted(typical) and found.best is found.predictions[0].counter
    for each in found.predictions:
        counter = each.counter
        assert counter.guarantee.implies(epsilon=1, delta=1e-9)
        mean = np.mean([counter.variance(step) for step in range(1, 51)])
        assert each.typical**2 == pytest.approx(mean, rel=5e-3)
        assert each.last**2 == pytest.approx(counter.variance(50))
        assert each.largest == counter.error(0.05)


def test_pure_privacy_plans_pure_counters_alone():
    found = plan(50, 1, 0, Event())
    assert kinds(found) == {TreeCounter, WideTreeCounter, EndlessCounter}
    assert all(each.counter.delta == 0 for each in found.predictions)


def test_a_counter_that_looks_at_all_steps_has_to_be_better_by_more_than_nothing():
    found = plan(2000, 2, 1e-2, Event())
    names = [type(each.counter) for each in found.predictions if each.counter.delta > 0]
    assert names.index(BufferedCounter) < names.index(SquareRootCounter)


def test_without_a_horizon_counters_that_need_none_are_planned():
    found = plan(None, 1, 1e-9, Event())
    assert kinds(found) == {EndlessCounter, PerturbedCounter}
    assert isinstance(found.best, PerturbedCounter) and found.best.horizon == 1 << 26
    assert found.predictions[0].last ** 2 == pytest.approx(found.best.variance(1 << 20))
    assert kinds(plan(None, 1, 0, Event())) == {EndlessCounter}


def test_keys_windows_and_alarms():
    keyed = plan(30, 1, 1e-9, Event(), keys=["north", "south"])
    assert kinds(keyed) == {KeyedCounter} and len(keyed.predictions) == 2
    week = plan(None, 1, 1e-9, Event(), width=7)
    assert kinds(week) == {WindowCounter} and week.best.delta == 0
    alarm = plan(365, 1, 0, Event(), threshold=100)
    assert isinstance(alarm.best, StreamAlarm) and TreeCounter in kinds(alarm)
    largest = [each.largest for each in alarm.predictions]
    assert largest == sorted(largest) and math.isnan(alarm.predictions[0].typical)
    assert "nan" not in str(alarm)
    assert kinds(plan(365, 1, 0, Event(), threshold=100, width=7)) == {StreamAlarm, WindowCounter}


def test_users_have_the_counters_that_hide_them():
    found = plan(60, 1, 1e-6, UserEvents(), cap=UserCap(3))
    assert all(each.counter.cap == UserCap(3) for each in found.predictions)
    gaussian = {type(each.counter) for each in found.predictions if each.counter.delta > 0}
    assert EndlessCounter not in gaussian and PerturbedCounter in gaussian


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"horizon": 0}, "horizon"),
        ({"horizon": None, "keys": ["a"]}, "horizon"),
        ({"horizon": None, "threshold": 3}, "horizon"),
        ({"delta": 2}, "delta"),
        ({"epsilon": 0}, "epsilon"),
        ({"keys": 3}, "keys"),
        ({"keys": ["a"], "width": 3}, "keys"),
        ({"keys": ["a"], "threshold": 3}, "keys"),
        ({"width": 0}, "width"),
        ({"threshold": -1, "width": 7}, "threshold"),
    ],
)
def test_what_cannot_be_planned_is_refused_by_name(given, name):
    with pytest.raises(InvalidParameter, match=name):
        plan(**{"horizon": 10, "epsilon": 1, "delta": 0, "neighbours": Event(), **given})


def test_relations_that_change_the_length_are_refused():
    with pytest.raises(NeighboursMismatch):
        plan(10, 1, 0, UserStream())
