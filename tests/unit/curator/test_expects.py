"""What an owner expects decides how the budget is divided, and nothing else does."""

from fractions import Fraction

import pytest
from tests.unit.curator.conftest import BY_ROW, curator, people

from discreet.core.errors import InvalidParameter, Refused
from discreet.curator.expects import NOTHING_SAID, read_expects
from discreet.data import Table

COUNT = "SELECT region, COUNT(*) AS n FROM people GROUP BY region"
MEAN = "SELECT AVG(income) AS mean FROM people"


@pytest.fixture(scope="module")
def table():
    with Table(people(), schema=BY_ROW) as opened:
        yield opened


@pytest.mark.parametrize(
    ("expects", "shared", "one_of"),
    [
        (50, Fraction(1, 2), 50),
        ("counts", Fraction(19, 20), 5),
        ([COUNT], Fraction(19, 20), 5),
        ([COUNT, MEAN], Fraction(1, 2), 1),
        ([MEAN, MEAN + " WHERE age < 25"], 0, 2),
        ([COUNT] * 9 + [MEAN], Fraction(4, 5), 1),
    ],
)
def test_shared_part_and_price_follow_from_what_is_expected(table, expects, shared, one_of):
    found = read_expects(expects, table, None)
    assert (found.shared, found.one_of, found.of_rest) == (shared, one_of, True)
    assert found.price(Fraction(1), found.shared) * one_of == 1 - found.shared, "all of them are paid for"


def test_without_a_word_it_is_as_it_always_was(table):
    assert read_expects(None, table, None) is NOTHING_SAID
    assert NOTHING_SAID.shared == Fraction(4, 5)
    assert NOTHING_SAID.price(Fraction(2), Fraction(4, 5)) == Fraction(1, 25)


@pytest.mark.parametrize("wrong", [0, True, "sums", [], 1.5, [1]])
def test_anything_else_is_refused_by_name(table, wrong):
    with pytest.raises(InvalidParameter, match="expects"):
        read_expects(wrong, table, None)


def test_an_example_outside_the_language_is_refused(table):
    with pytest.raises(Refused):
        read_expects(["SELECT income FROM people"], table, None)


def test_a_curator_divides_its_budget_by_it_and_says_so():
    with curator(shared=None, expects=[COUNT, MEAN]) as one:
        assert "1 free and 1 priced questions expected: shared part 1/2" in repr(one)
        acme = one.analyst("acme")
        assert acme.plan(COUNT).kind == "shared"
        assert acme.sql(MEAN).cost["epsilon"] == 1
    with curator(shared=None, expects=[MEAN]) as one:
        assert "no shared hypothesis" in repr(one)
    with curator(question=(0.1, 1e-9), expects="counts") as one:
        assert "as the owner chose" in repr(one)
