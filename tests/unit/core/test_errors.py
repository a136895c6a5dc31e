from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.core.errors import BudgetExceeded, EngineFailed, InvalidParameter, MissingExtra, OpenFailed


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Fraction(0), "0"),
        (Fraction(1, 10**9), "1e-9"),
        (Fraction(5, 2), "2.5"),
        (Fraction(1, 3), "1/3"),
        (Fraction(10**12 + 1, 10**3), "1000000000.001"),
        (Decimal("0.10"), "0.10"),
        (Decimal("Infinity"), "Infinity"),
        (0.1, "0.1"),
        ("a", "'a'"),
        (None, "None"),
        ("x" * 1000, f"'{'x' * 199}…"),
    ],
)
def test_numbers_are_shown_as_a_person_writes_them(value, shown):
    error = InvalidParameter(name="epsilon", rule="good", value=value)
    assert str(error) == f"epsilon must be good, got epsilon={shown}"
    assert error.value is value


def test_a_number_that_python_does_not_print_is_called_that():
    for value in (10**5000, Fraction(10**5000, 3)):
        error = InvalidParameter(name="epsilon", rule="good", value=value)
        assert str(error) == "epsilon must be good, got epsilon=a number of thousands of digits"


def test_a_missing_package_names_its_extra_or_itself():
    assert "pip install 'discreet[data]'" in str(MissingExtra(package="duckdb", extra="data"))
    assert str(MissingExtra(package="pandas")) == (
        "pandas is not installed. Install it with: pip install pandas"
    )


def test_a_failed_engine_says_always_the_same():
    assert str(EngineFailed()) == (
        "the data engine could not do this; its own message is withheld, it may quote data."
    )
    with pytest.raises(TypeError):
        EngineFailed("its own words")


def test_a_table_that_cannot_be_opened_says_why_by_a_code():
    error = OpenFailed(reason="permission", way_out="GRANT it")
    assert isinstance(error, EngineFailed)
    assert str(error).startswith("the data could not be opened: permission. GRANT it. ")
    assert (error.reason, error.way_out) == ("permission", "GRANT it")


def test_a_refused_charge_says_what_is_left():
    assert "left epsilon 1" in str(BudgetExceeded(asked="epsilon 2", left="epsilon 1"))
