"""Propose-test-release for trimmed means and quartiles: distances against brute force, exact losses."""

import itertools
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import audit
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.learning import propose_interquartile_range, propose_trimmed_mean
from discreet.testing import unsafe_seeded

ROW = dp.Replace("row")
BUDGET = {"epsilon_test": 2, "epsilon_release": 2, "delta": 0.01}


def trimmed(**changed):
    given = {"trim": 0.2, "bound": 1, "lower": 0, "upper": 3, "grid": 1, "neighbours": ROW, **BUDGET}
    return propose_trimmed_mean(**{**given, **changed})


def quartiles(**changed):
    given = {"bound": 1, "lower": 0, "upper": 3, "grid": 1, "neighbours": ROW, **BUDGET}
    return propose_interquartile_range(**{**given, **changed})


def list_changed(rows, levels):
    """Return all tables with one row replaced."""
    return [
        tuple(sorted((*rows[:place], level, *rows[place + 1 :])))
        for place in range(len(rows))
        for level in levels
    ]


def find_distances(statistic, bound, levels, count):
    """Return how far every table truly is from those that one change can move by more than the bound."""
    tables = list(itertools.combinations_with_replacement(levels, count))
    around = {table: list_changed(table, levels) for table in tables}
    far = dict.fromkeys(tables, count + 1)
    for table in tables:
        if any(abs(statistic(table) - statistic(other)) > bound for other in around[table]):
            far[table] = 0
    for _ in range(count + 1):
        for table in tables:
            far[table] = min([far[table], *(far[other] + 1 for other in around[table])])
    return far


@pytest.mark.parametrize("count", [1, 2, 4, 5])
@pytest.mark.parametrize(
    ("make", "bound"),
    [(trimmed, Fraction(1, 3)), (trimmed, 1), (quartiles, 1), (quartiles, 2)],
)
def test_distances_never_exceed_the_truth_and_move_by_one(make, bound, count):
    levels = (0, 1, 3, 4)
    mechanism = make(bound=bound, upper=4)
    truth = find_distances(mechanism.value, bound, levels, count)
    found = {table: mechanism.distance(table) for table in truth}
    assert all(found[table] <= truth[table] for table in truth)
    assert all(
        abs(found[table] - found[other]) <= 1 for table in truth for other in list_changed(table, levels)
    )
    unstable = [table for table in truth if truth[table] == 0]
    assert all(found[table] == 0 for table in unstable)


def test_distances_of_trimmed_means_are_exact_at_the_ends():
    mechanism = trimmed(trim=0.25, bound=Fraction(1, 2), upper=4)
    truth = find_distances(mechanism.value, Fraction(1, 2), (0, 1, 2, 3, 4), 4)
    found = {table: mechanism.distance(table) for table in truth}
    assert sum(found[table] == truth[table] for table in truth) > 0.9 * len(truth)


@pytest.mark.parametrize("make", [trimmed, quartiles])
def test_the_exact_loss_is_within_the_claim(make):
    pairs = list(ROW.pairs((0, 1, 3), 3))
    report = audit.exact(make(), pairs)
    assert report.holds, report


def test_values_are_those_of_numpy():
    generator = np.random.default_rng(1)  # noqa: TID251
    rows = generator.normal(50, 10, 4000).round(1)
    plain = {"lower": 0, "upper": 1000, "grid": 0.1, "delta": 1e-6}
    mean = trimmed(bound=0.1, trim=0.1, **plain).release(rows, rng=unsafe_seeded(1)).value
    middle = np.sort(rows)[400:-400].mean()
    assert mean == pytest.approx(middle, abs=0.5)
    spread = quartiles(bound=0.5, **plain).release(rows, rng=unsafe_seeded(1)).value
    assert spread == pytest.approx(np.subtract(*np.percentile(rows, [75, 25])), abs=2)
    both = [0.0] * 1000 + [1000.0] * 3000  # one row decides on which side the quartile is
    assert quartiles(bound=0.5, **plain).release(both, rng=unsafe_seeded(1)).value is None


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf, None, "text", 10**400, [1]])
def test_odd_rows_count_as_a_number(odd):
    rows = [place % 4 for place in range(40)]
    for make in (trimmed, quartiles):
        report = audit.replay(make(), (rows, [*rows[:-1], odd]), rng=unsafe_seeded(1))
        assert report.holds, report
        make().release([odd])
        make().release([])


@pytest.mark.parametrize(
    ("make", "rows", "ends", "truth"),
    [
        (trimmed, [2.49] * 510 + [3.49] * 490, (0, 10), (2.49 * 310 + 3.49 * 290) / 600),
        (quartiles, [2.49] * 500 + [6.51] * 500, (0, 10), 6.51 - 2.49),
        (quartiles, [0.5] * 500 + [10.9] * 500, (0.5, 10.9), 10.9 - 0.5),
    ],
    ids=["trimmed mean", "quartiles", "bounds between grid values"],
)
def test_the_error_counts_what_rounding_the_rows_does(make, rows, ends, truth):
    """With next to no noise: half a unit, all there is for a median, would be missed every time."""
    lower, upper = ends
    mechanism = make(lower=lower, upper=upper, epsilon_test=50, epsilon_release=200)
    for seed in range(5):
        reply = mechanism.release(rows, rng=unsafe_seeded(seed)).value
        assert 0.9 < abs(reply - truth) <= mechanism.error(0.05)


@pytest.mark.parametrize("make", [trimmed, quartiles])
@pytest.mark.parametrize(
    "data", [None, 3, "123", {1: 2}, np.ones((9, 2)), np.array(["a"]), pd.DataFrame({"a": [1, 2]})]
)
def test_what_is_no_list_of_rows_is_refused_and_not_left_without_a_reply(make, data):
    with pytest.raises(InvalidParameter, match="data must be a list"):
        make().release(data)


@pytest.mark.parametrize("make", [trimmed, quartiles])
def test_the_ends_of_64_bits_are_no_bounds(make):
    """Differences of rows wrapped around there: one row moved the distance of a trimmed mean by 91."""
    for lower, upper in ((-(2**63), 2**63 - 1), (-(2**62), 2**62), (0, 10**30)):
        with pytest.raises(InvalidParameter, match="coarser grid"):
            make(lower=lower, upper=upper)
    widest = make(lower=-(2**61), upper=2**61)
    rows = [-5] * 10 + [0] * 80 + [5] * 10
    near = [-5] * 11 + [0] * 79 + [5] * 10
    assert abs(widest.distance(rows) - widest.distance(near)) <= 1
    assert widest.distance([2**61] * 9) <= 5


def test_bad_parameters_are_refused():
    for changed in ({"trim": 0.5}, {"trim": -1}, {"bound": 0}, {"grid": 0}, {"lower": 5}):
        with pytest.raises(InvalidParameter):
            trimmed(**changed)
    for make in (trimmed, quartiles):
        with pytest.raises(InvalidParameter, match="coarser grid"):
            make(lower=-(10**10), upper=10**10, grid=1e-9)
    with pytest.raises(NeighboursMismatch):
        quartiles(neighbours=dp.AddRemove("row"))
