"""Round numbers between which the values of a column lie."""

from fractions import Fraction

import pandas as pd
import pytest

import discreet as dp
from discreet.core.errors import InvalidParameter, NoBound
from discreet.data import BoundsSearch, Category, Decimal, Identifier, Integer, Row, Schema, Table, User
from discreet.testing import unsafe_seeded

ROW = dp.AddRemove("row")


def schema(column, *others, unit=None):
    hidden = dp.AddRemove(unit.column) if unit else ROW
    return Schema("staff", columns=(*others, column), unit=unit or Row(), neighbours=hidden)


def found(declared, values, *, epsilon=50):
    search = BoundsSearch(declared, declared.columns[-1].name)
    with Table(pd.DataFrame({search.column: values}), schema=declared) as table:
        answer = table.sql(search.question, epsilon=epsilon, delta=0, rng=unsafe_seeded(7))
        return search.read(answer)


PAY = schema(Decimal("pay", lower=-(10**9), upper=10**9, grid=Fraction(1, 100)))


@pytest.mark.parametrize(
    ("values", "bounds"),
    [
        ([12.5, 70, 31] * 50, (10, 100)),
        ([0, 0.01, 0.03] * 50, (0, Fraction(1, 20))),
        ([-3.5, -7, 2] * 50, (-10, 5)),
        ([-(10**12), 10**12] * 50, (-(10**9), 10**9)),
        ([20, 50] * 50, (20, 100)),
    ],
    ids=str,
)
def test_bounds_are_the_nearest_round_numbers_around_what_is_there(values, bounds):
    got = found(PAY, values)
    assert (got.lower, got.upper) == bounds
    assert got.missed < 5


def test_a_column_may_be_called_as_what_it_is_asked_for():
    for name in ("part", "Part", "rows", "group"):
        got = found(schema(Integer(name, lower=0, upper=1000)), [15] * 200)
        assert (got.lower, got.upper) == (10, 20)


def test_a_few_rows_far_away_are_left_out_and_counted_among_what_is_missed():
    got = found(PAY, [15] * 2000 + [10**6] * 8, epsilon=0.5)
    assert (got.lower, got.upper) == (10, 20)
    assert 8 <= got.missed < 100


def test_every_declared_value_is_in_one_part_whatever_the_grid():
    for column in (
        Integer("x", lower=-30, upper=77, grid=1),
        Integer("x", lower=-35, upper=77, grid=7),
        Decimal("x", lower=Fraction(-1, 3), upper=Fraction(10, 3), grid=Fraction(1, 3)),
    ):
        values = [float(code * column.grid) for code in column.codes()]
        search = BoundsSearch(schema(column), "x")
        with Table(pd.DataFrame({"x": values}), schema=search.schema) as table:
            answer = table.sql(search.question, epsilon=1000, delta=0)
        exact = [Fraction(code) * column.grid for code in column.codes()]
        pairs = list(zip(search.edges, [*search.edges[1:-1], column.upper + 1], strict=False))
        assert list(answer.column("rows")) == [sum(low <= x < high for x in exact) for low, high in pairs]


def test_its_clause_is_taken_as_it_is_written():
    for declared, values in (
        (PAY, [12.5, 70, 31] * 50),
        (
            schema(Decimal("pay", lower=Fraction(-1, 3), upper=Fraction(100, 3), grid=Fraction(1, 3))),
            [9] * 99,
        ),
        (schema(Integer("pay", lower=0, upper=7000, grid=7)), [231, 399] * 50),  # no round number is on it
    ):
        got = found(declared, values)
        with Table(pd.DataFrame({"pay": values}), schema=declared) as table:
            answer = table.sql(f"SELECT AVG(pay, {got.clause}) AS mean FROM staff", epsilon=1000, delta=0)
        assert answer.column("mean")[0] == pytest.approx(sum(values) / len(values), abs=0.1)


def test_users_with_several_rows_and_missing_cells_are_counted():
    unit = User(column="who", max_rows=3, max_groups=2)
    declared = schema(Integer("pay", lower=0, upper=10**6), Identifier("who"), unit=unit)
    rows = pd.DataFrame({"who": [str(n // 3) for n in range(900)], "pay": [None, 30, 400] * 300})
    search = BoundsSearch(declared, "pay")
    with dp.Session(rows, schema=declared, epsilon=5, delta=0) as session:
        got = search.read(session.sql(search.question, epsilon=2))
        assert session.left == 3
    assert (got.lower, got.upper) == (20, 500)


def test_a_curators_reply_is_read_as_an_answer_is():
    declared = schema(Integer("pay", lower=0, upper=60), Category("ward", values=("a", "b")))
    rows = pd.DataFrame({"ward": ["a", "b"] * 5000, "pay": [12, 18] * 5000})
    with dp.Curator(Table(rows, schema=declared), epsilon=4, delta=1e-9) as curator:
        search = BoundsSearch(declared, "pay")
        got = search.read(curator.analyst("acme").sql(search.question))
    assert got.lower <= 10 and got.upper >= 20


def test_what_has_no_bounds_is_refused_by_name():
    with pytest.raises(InvalidParameter, match=r"column of numbers .* got Category"):
        BoundsSearch(schema(Category("ward", values=("a", "b"))), "ward")
    with pytest.raises(InvalidParameter, match="round number between its bounds"):
        BoundsSearch(schema(Integer("x", lower=0, upper=1)), "x")
    with pytest.raises(NoBound, match="more of the budget"):
        found(PAY, [12] * 3, epsilon=0.1)
    with Table(pd.DataFrame({"pay": [1]}), schema=PAY) as table:
        other = table.sql("SELECT 1 AS part, COUNT(*) AS rows FROM staff", epsilon=1, delta=0)
    with pytest.raises(InvalidParameter, match="answered with"):
        BoundsSearch(PAY, "pay").read(other)
