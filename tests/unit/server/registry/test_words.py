"""Words: every number in them is a bound that holds."""

import math
import re
from fractions import Fraction

import pytest
from tests.unit.server.conftest import SCHEMA

from discreet.core.neighbours import AddRemove, Replace
from discreet.data.schema.schema import Row, User
from discreet.data.schema.toml_file import parse_schema
from discreet.server.registry.burn import Burn
from discreet.server.registry.words import (
    bound_guess,
    explain_burn,
    explain_loss,
    explain_spent,
    explain_unit,
    is_known,
)

NUMBER = re.compile(r"(\d+(?:\.\d+)?)( %| times)")


@pytest.mark.parametrize(
    "epsilon", [Fraction(1, 1000), Fraction(1, 10), Fraction(1), Fraction(3), Fraction(13)]
)
@pytest.mark.parametrize("delta", [Fraction(0), Fraction(1, 10**9), Fraction(1, 1000)])
def test_the_numbers_are_bounds_and_close(epsilon, delta):
    said = explain_loss(epsilon, delta, AddRemove("person"))
    factor = float(NUMBER.search(said[0])[1])
    assert math.exp(epsilon) <= factor <= math.exp(epsilon) * 1.01
    guess = float(NUMBER.search(said[1])[1]) / 100
    exact = (math.exp(epsilon) + delta) / (math.exp(epsilon) + 1)
    assert exact <= guess <= exact + 0.001 + 1e-12
    # Odds are bounded where delta is 0, and nothing is said of them otherwise.
    assert any("odds" in sentence for sentence in said) == (delta == 0)


def test_the_guess_is_what_randomised_response_reaches():
    """Of (epsilon, delta) losses the worst tells the truth with delta, and answers at random otherwise."""
    epsilon, delta = Fraction(1), Fraction(1, 100)
    kept = Fraction(math.exp(1)) / (1 + Fraction(math.exp(1)))
    reached = delta + (1 - delta) * kept
    assert reached <= bound_guess(epsilon, delta) <= reached + Fraction(1, 10**12)


def test_a_delta_is_said_as_a_chance_that_is_no_smaller():
    for delta, said in ((Fraction(1, 10**9), "1 in 1,000,000,000"), (Fraction(3, 1000), "1 in 333")):
        assert f"plus a chance of {said};" in explain_loss(Fraction(1), delta, AddRemove("person"))[0]
    assert "1 in 1,000,000,000,000,000;" in explain_loss(Fraction(1), Fraction(1, 10**30), AddRemove("x"))[0]


def test_nothing_is_promised_by_a_huge_epsilon():
    (said,) = explain_loss(Fraction(40), Fraction(0), AddRemove("row"))
    assert "next to nothing" in said
    assert bound_guess(Fraction(10**6), Fraction(0)) == 1


def test_words_are_about_the_change_that_is_hidden():
    assert "as without it" in explain_loss(Fraction(1), Fraction(0), AddRemove("row"))[0]
    assert "any other in its place" in explain_loss(Fraction(1), Fraction(0), Replace("row"))[0]


def test_units_are_told():
    schema = parse_schema(SCHEMA)
    assert isinstance(schema.unit, Row)
    assert explain_unit(schema).startswith("One row")
    users = parse_schema(
        SCHEMA
        + '[columns.person]\nkind = "identifier"\n[unit]\ncolumn = "person"\nmax_rows = 5\nmax_groups = 1\n'
    )
    assert isinstance(users.unit, User)
    assert "up to 5 rows and one group" in explain_unit(users)


def test_rates_are_told():
    burn = Burn(0, Fraction(3), Fraction(1, 3), Fraction(1, 10), 86_400)
    assert "0.334 was spent a day; at that rate nothing is left after 1970-01-02" in explain_burn(
        burn, is_over=False
    )
    assert explain_burn(burn, is_over=True).endswith("a day.")
    assert "century" in explain_burn(Burn(0, Fraction(3), Fraction(1), Fraction(1), None), is_over=False)
    assert "Nothing was charged in" in explain_burn(
        Burn(0, Fraction(3), Fraction(0), Fraction(0), None), is_over=False
    )
    assert "no rate" in explain_burn(None, is_over=False)
    assert explain_spent(Fraction(0), Fraction(1), Fraction(0)) == "Nothing was answered from these data yet."
    said = explain_spent(Fraction(1, 2), Fraction(1), Fraction(1, 10**9))
    assert "epsilon of 0.5, of the 1" in said and "right at most 62.3 % of the time" in said


@pytest.mark.parametrize("loss", ["unknown", "Unknown.", "infinite", "∞", " inf "])
def test_a_loss_that_nobody_knows_is_none(loss):
    assert not is_known(loss)
    assert is_known("epsilon 3")
