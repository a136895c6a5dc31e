"""Propose-test-release for the slope of a line: what one row moves, and what rows may hold."""

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet import audit
from discreet.core.errors import InvalidParameter, NeighboursMismatch
from discreet.learning import StableSlope
from discreet.learning.robust.stable_slope import list_slopes, read_points
from discreet.testing import unsafe_seeded

PUBLIC = {"lower": -10, "upper": 10, "grid": 0.01, "neighbours": dp.Replace("person")}
PUBLIC |= {"epsilon_test": 0.5, "epsilon_release": 0.5, "delta": 1e-6}


def line(count=20_000, slope=2.0):
    generator = np.random.default_rng(1)  # noqa: TID251
    x = generator.uniform(20, 60, count)
    return np.column_stack([x, slope * x + generator.standard_cauchy(count)])


def test_wild_tails_do_not_matter_and_a_doubtful_line_has_no_reply():
    mechanism = StableSlope(bound=0.1, **PUBLIC)
    answer = mechanism.release(line(), rng=unsafe_seeded(1))
    assert abs(answer.value - 2) < mechanism.error(0.01) + 0.05
    assert answer.guarantee.implies(epsilon=1, delta=1e-6)
    few = mechanism.release(line(20), rng=unsafe_seeded(1))
    assert few.value is None
    assert few.guarantee == answer.guarantee


class Shapeless:
    """Raises whatever it is asked, as an array or as a number."""

    def __array__(self, *args, **kwargs):
        raise RuntimeError("ann")

    def __float__(self):
        raise RuntimeError("ann")

    def __len__(self):
        raise RuntimeError("ann")


ODD = [
    [1, [2, 3]],
    (1, (2,)),
    Shapeless(),
    (1, Shapeless()),
    (np.ma.masked, 1),
    (np.nan, 1),
    (1, np.inf),
    (2**2000, 1),
    ("a", "b"),
    (),
    (1, 2, 3),
    None,
    {},
    [[1], [2]],
    np.ones((2, 2)),
]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
def test_a_row_changes_the_slope_of_its_own_pair_alone_whatever_it_holds(odd):
    plain = [(place, 3 * place) for place in range(10)]
    found = list_slopes(read_points([*plain[:7], odd, *plain[8:]]), -2, 2)
    wanted = list_slopes(read_points(plain), -2, 2)
    assert np.delete(found, 2).tolist() == np.delete(wanted, 2).tolist()
    assert -2 <= found[2] <= 2
    mechanism = StableSlope(bound=0.1, **PUBLIC)
    report = audit.replay(mechanism, (plain, [*plain[:7], odd, *plain[8:]]), rng=unsafe_seeded(1))
    assert report.holds, report


def test_pairs_without_a_slope_draw_it_to_neither_side():
    upright = [(1, place) for place in range(600)]
    walls = list_slopes(read_points(upright), -2, 2)
    assert (walls == 2).sum() == (walls == -2).sum() == 150


def test_who_is_paired_with_whom_is_drawn_and_not_decided_by_the_order_of_rows():
    """Sorted rows would be paired by what they hold: a row that is replaced would move all others."""
    rows = line(400)
    order = rows[:, 1].argsort()
    seen = {}
    for name, each in (("kept", rows), ("sorted", rows[order])):
        mechanism = StableSlope(bound=5, **{**PUBLIC, "epsilon_release": 1000, "delta": 0.4})
        drawn = [mechanism.release(each, rng=unsafe_seeded(seed)).value for seed in range(40)]
        seen[name] = np.mean([value for value in drawn if value is not None])
        assert len(set(drawn)) > 1
    assert abs(seen["kept"] - seen["sorted"]) < 0.02


def test_frames_lists_and_arrays_are_read_alike():
    rows = line(100)
    frame = pd.DataFrame(rows, columns=["age", "income"])
    assert (read_points(frame) == rows).all()
    assert (read_points([tuple(row) for row in rows]) == rows).all()
    for wrong in (rows[:, :1], {1: 2}, 7, "text"):
        with pytest.raises(InvalidParameter, match="rows of two numbers"):
            StableSlope(bound=1, **PUBLIC).release(wrong)


def test_who_comes_and_goes_is_refused():
    with pytest.raises(NeighboursMismatch):
        StableSlope(bound=1, **{**PUBLIC, "neighbours": dp.AddRemove("person")})


@pytest.mark.parametrize("unit", ["ns", "us", "D"])
def test_dates_are_no_numbers_whatever_stands_beside_them(unit):
    """Of nanoseconds NumPy lists whole numbers, but not where one entry makes objects of a column."""
    dates = np.array(["2020-01-01", "2020-01-02"], dtype=f"M8[{unit}]")
    assert np.isnan(read_points(np.column_stack([dates, dates]))).all()
    frame = pd.DataFrame({"x": dates, "y": dates})
    assert np.isnan(read_points(frame)).all()
    assert np.isnan(read_points(frame.astype({"y": object}))).all()
