"""A table's own histograms: cells by the one rule, sizes, bounds, and what a guarantee about rows means."""

from __future__ import annotations

import copy
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dp
from discreet.accounting.group import GroupLoss
from discreet.core.errors import DiscreetError, InvalidParameter, NeighboursMismatch, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import PureLoss
from discreet.data import Boolean, Category, Decimal, Identifier, Integer, Row, Schema, Table, Text, User
from discreet.queries import Universe
from discreet.query_release.base import check_unit

COLUMNS = (
    Identifier("who"),
    Category("g", values=("b", "a"), other="a"),
    Integer("x", lower=-10, upper=20, grid=10),
    Decimal("y", lower=0, upper=1, grid=Fraction("0.5"), null=0),
    Boolean("flag"),
    Text("note"),
)
FRAME = pd.DataFrame(
    {
        "who": ["ann", "ann", "ann", "bob", "bob", None],
        "g": ["a", "b", None, "zzz", "a", "a"],
        "x": [math.inf, -4.9, math.nan, 14.9, 15.0, 1.0],
        "y": [0.3, math.nan, 9.0, -1.0, 0.2, 0.5],
        "flag": pd.array([True, False, None, True, True, True], dtype="boolean"),
        "note": ["n"] * 6,
    }
)


ROW = Row()


@pytest.fixture(autouse=True)
def one_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which rows of a user count must be the same on every table."""
    monkeypatch.setattr("discreet.data.table.draw_key", lambda: "5ec7e7")


def opened(unit: Row | User = ROW, kind: Any = dp.AddRemove, frame: pd.DataFrame = FRAME) -> Table:
    return Table(frame, schema=Schema("t", columns=COLUMNS, unit=unit, neighbours=kind(unit.name)))


def cells(table: Table, columns: list[str] | None = None) -> dict[Any, int]:
    histogram = table.histogram(columns)
    codes, counts = histogram.entries()
    records = map(histogram.universe.record, histogram.universe.ravel(codes).tolist())
    return dict(zip(records, counts.tolist(), strict=True))


def test_every_cell_follows_the_rule_of_the_columns() -> None:
    half = Fraction(1, 2)
    with opened() as table:
        universe = table.universe()
        assert universe == Universe.from_columns(COLUMNS[1:5])
        assert universe.attribute("x").values == (-10, 0, 10, 20, None)
        assert universe.attribute("y").values == (0, half, 1)
        assert cells(table) == {
            ("a", 20, half, True): 1,
            ("b", 0, 0, False): 1,
            (None, None, 1, None): 1,
            ("a", 10, 0, True): 1,
            ("a", 20, 0, True): 1,
            ("a", 0, half, True): 1,
        }
        assert cells(table, ["flag", "g"]) == {(True, "a"): 4, (False, "b"): 1, (None, None): 1}


def test_dense_and_sparse_hold_the_same() -> None:
    with opened() as table:
        dense, sparse = table.histogram(), table.histogram(sparse=True)
        assert dense.is_dense and not sparse.is_dense
        assert (dense.counts() == sparse.counts()).all() and dense.total == 6
        assert dense.rows_per_unit == sparse.rows_per_unit == 1
        for names in (["g"], ["x", "flag"], ["y", "g"]):
            (alone,) = table.marginals([names])
            assert (alone.counts() == table.histogram(names).counts()).all()
            inside = dense.marginal(names)
            axes = [inside.universe.axis(name) for name in names]
            assert (alone.counts() == inside.counts().transpose(axes)).all()


def test_a_universe_beyond_an_array_is_counted_by_its_cells() -> None:
    wide = tuple(Integer(f"c{i}", lower=0, upper=999, null=0) for i in range(12))
    schema = Schema("t", columns=wide, unit=Row(), neighbours=dp.AddRemove("row"))
    frame = pd.DataFrame({f"c{i}": [i, i, 999 - i] for i in range(12)})
    with Table(frame, schema=schema) as table:
        assert table.universe().size == 10**36
        histogram = table.histogram()
        codes, counts = histogram.entries()
        found = {tuple(row): n for row, n in zip(codes.tolist(), counts.tolist(), strict=True)}
        assert found == {tuple(range(12)): 2, tuple(999 - i for i in range(12)): 1}
        assert repr(histogram).startswith("Histogram(sparse")
        with pytest.raises(Refused, match="cells"):
            table.histogram(sparse=False)
        tables = list(table.marginals([["c0", "c5"], ["c11"]]))
        assert [one.universe.names for one in tables] == [("c0", "c5"), ("c11",)]
        assert tables[0].is_dense and tables[0].counts()[0, 5] == 2


def test_an_empty_table_has_a_histogram_of_zeros() -> None:
    with opened(frame=FRAME.iloc[:0]) as table:
        assert table.histogram().counts().sum() == 0
        assert table.histogram(sparse=True).entries()[0].shape == (0, 4)


def test_a_long_list_of_values() -> None:
    names = tuple(f"v{i}" for i in range(500))
    schema = Schema("t", columns=(Category("c", values=names),), unit=Row(), neighbours=dp.AddRemove("row"))
    with Table(pd.DataFrame({"c": ["v499", "v3", "v3", "other"]}), schema=schema) as table:
        assert cells(table) == {("v499",): 1, ("v3",): 2, (None,): 1}


def test_at_most_so_many_rows_of_a_user_count_and_the_same_ones_everywhere() -> None:
    frame = pd.DataFrame(
        {
            "who": ["ann"] * 40 + ["bob"] + [None] * 5,
            "g": ["a", "b"] * 23,
            "x": [0, 10, 20, None] * 11 + [0, 0],
            "y": [0.5] * 46,
            "flag": [True] * 46,
            "note": ["n"] * 46,
        }
    )
    with opened(User(column="who", max_rows=7, max_groups=1), frame=frame) as table:
        whole = table.histogram()
        assert whole.total == 8 and whole.rows_per_unit == table.rows_per_unit == 7
        assert whole.marginal(["g"]).rows_per_unit == 7
        assert whole.to_dense() is whole
        for names in (["g"], ["x"], ["g", "x"]):
            (alone,) = table.marginals([names])
            assert alone.rows_per_unit == 7
            assert (alone.counts() == whole.marginal(names).counts()).all()
        assert table.sql("SELECT COUNT(*) AS n FROM t", epsilon=10**9, delta=0).rows == ((8,),)


def test_only_declared_columns_span_a_universe() -> None:
    with opened() as table:
        for columns in (["note"], ["g", "who"]):
            with pytest.raises(Refused, match="not declared"):
                table.histogram(columns)
        with pytest.raises(InvalidParameter, match="a column of t"):
            table.universe(["nothing"])
        with pytest.raises(InvalidParameter, match="a list of names"):
            table.universe("g")
        with pytest.raises(InvalidParameter, match="duplicate"):
            table.histogram(["g", "g"])
        with pytest.raises(InvalidParameter, match="at least one"):
            table.histogram([])
        with pytest.raises(Refused, match="not declared"):
            table.marginals([["g"], ["note"]])
    schema = Schema(
        "t", columns=(Integer("n", lower=0, upper=10**9),), unit=Row(), neighbours=dp.AddRemove("row")
    )
    with (
        Table(pd.DataFrame({"n": [1]}), schema=schema) as table,
        pytest.raises(InvalidParameter, match="values"),
    ):
        table.universe()


def test_a_histogram_shows_nothing() -> None:
    with opened() as table:
        for histogram in (table.histogram(), table.histogram(sparse=True)):
            assert "6" not in repr(histogram).replace("60", "")
            with pytest.raises(DiscreetError):
                copy.deepcopy(histogram)
            with pytest.raises(DiscreetError):
                histogram.__reduce__()
        table.close()
        with pytest.raises(DiscreetError) as caught:
            table.histogram()
        assert "ann" not in str(caught.value)


ROWS = Guarantee(PureLoss(Fraction(1, 2)), dp.AddRemove("row"))


def test_what_a_guarantee_about_rows_means_for_a_unit() -> None:
    three = User(column="who", max_rows=3, max_groups=1)
    for unit, kind, size in (
        (Row(), dp.AddRemove, 1),
        (Row(), dp.Replace, 2),
        (three, dp.AddRemove, 3),
        (three, dp.Replace, 6),
    ):
        with opened(unit, kind) as table:
            found = table.per_unit(ROWS)
            assert found.neighbours == table.neighbours == kind(unit.name)
            assert found.loss == (ROWS.loss if size == 1 else GroupLoss(ROWS.loss, size))
            assert found.epsilon(0) == pytest.approx(size / 2)
            assert found.implies(epsilon=Fraction(size, 2), delta=0)


def test_a_public_number_of_rows_is_not_that_of_users() -> None:
    fixed = Guarantee(PureLoss(Fraction(1)), dp.Replace("row"))
    one = User(column="who", max_rows=1, max_groups=1)
    with opened(Row(), dp.Replace) as table:
        assert table.per_unit(fixed) == fixed
    with opened(one, dp.Replace) as table:
        assert table.per_unit(fixed).neighbours == dp.Replace("who")
    for unit, kind in (
        (Row(), dp.AddRemove),
        (User(column="who", max_rows=2, max_groups=1), dp.Replace),
        (one, dp.AddRemove),
    ):
        with opened(unit, kind) as table, pytest.raises(NeighboursMismatch, match="rows"):
            table.per_unit(fixed)
    with opened(one) as table, pytest.raises(NeighboursMismatch):
        table.per_unit(Guarantee(PureLoss(Fraction(1)), dp.AddRemove("who")))


@pytest.mark.parametrize("replaced", [False, True], ids=["add", "replace"])
@pytest.mark.parametrize("most", [1, 3])
def test_neighbours_are_as_many_rows_apart_as_stated_and_no_fewer(replaced: bool, most: int) -> None:
    """Heavy users who overlap in every cell: remove or replace each, and count the rows that differ."""
    rng = np.random.default_rng(5)  # noqa: TID251
    names = ("ann", "bob", "cay", "dan")
    frame = pd.DataFrame(
        {
            "who": [names[i % 4] for i in range(80)],
            "g": [("a", "b", None)[i] for i in rng.integers(0, 3, 80)],
            "x": rng.integers(-10, 21, 80).astype(float),
            "y": rng.integers(0, 3, 80) / 2,
            "flag": [True, False] * 40,
            "note": ["n"] * 80,
        }
    )
    unit = User(column="who", max_rows=most, max_groups=1)
    kind = dp.Replace if replaced else dp.AddRemove
    widest = 0
    with opened(unit, kind, frame) as table:
        before = table.histogram().counts()
        (small,) = table.marginals([["x"]])
        for who in names:
            other = frame[frame["who"] != who]
            if replaced:
                new = pd.DataFrame(
                    {
                        "who": who,
                        "g": "b",
                        "x": [-10.0, 0.0, 20.0, 10.0],
                        "y": 1.0,
                        "flag": False,
                        "note": "n",
                    }
                )
                other = pd.concat([other, new], ignore_index=True)
            with opened(unit, kind, other) as changed:
                moved = int(np.abs(before - changed.histogram().counts()).sum())
                (after,) = changed.marginals([["x"]])
                assert np.abs(small.counts() - after.counts()).sum() <= moved
            widest = max(widest, moved)
            assert moved <= most * (1 + replaced)
    assert widest == most * (1 + replaced)


def test_no_mechanism_promises_a_user_what_holds_for_a_row() -> None:
    three = User(column="who", max_rows=3, max_groups=1)
    with opened(three) as table:
        histogram = table.histogram(["g"])
        with pytest.raises(NeighboursMismatch, match="up to 3 rows"):
            check_unit(histogram, table.neighbours)
        check_unit(histogram, dp.AddRemove("row"))
    with opened(User(column="who", max_rows=1, max_groups=1)) as table:
        check_unit(table.histogram(["g"]), table.neighbours)
