"""Decimals: never on the wrong side, and times that come back."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.server.registry.decimals import (
    read_time,
    write_down,
    write_percent_down,
    write_percent_up,
    write_time,
    write_up,
)

AMOUNTS = st.fractions(min_value=0, max_value=10**9) | st.builds(
    Fraction, st.integers(0, 10**80), st.integers(1, 10**100)
)


@given(AMOUNTS)
def test_decimals_are_outward_and_close(amount):
    above, below = Fraction(write_up(amount)), Fraction(write_down(amount))
    assert below <= amount <= above
    assert above - below <= amount * Fraction(1, 10**5)


@given(st.fractions(min_value=0, max_value=1))
def test_percentages_are_outward(part):
    above, below = (
        Fraction(one(part).removesuffix(" %")) / 100 for one in (write_percent_up, write_percent_down)
    )
    assert below <= part <= above
    assert above - below <= Fraction(1, 1000)


@pytest.mark.parametrize(
    ("amount", "said"),
    [
        (Fraction(1, 3), "0.333334"),
        (Fraction(1, 10**9), "1e-9"),
        (Fraction(1000), "1000"),
        (Fraction(0), "0"),
        (Fraction(1, 2), "0.5"),
        (Fraction(123456789), "123457000"),
        (Fraction(10**20 + 1), "1.00001e20"),
    ],
)
def test_decimals_are_short(amount, said):
    assert write_up(amount) == said


@given(st.integers(0, 10**11))
def test_times_come_back(seconds):
    assert read_time(write_time(seconds)) == seconds
