"""Every rule on a parameter: what passes, what is refused, and that the message names it all."""

import enum
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Contribution, Neighbours, Replace
from discreet.learning import Range

NOT_NUMBERS = [
    True,
    False,
    np.True_,
    "1",
    "",
    b"1",
    None,
    [1],
    (1,),
    {1},
    1j,
    object,
    np.array([1.0]),
    float("nan"),
    float("inf"),
    float("-inf"),
    np.float64("nan"),
    np.float32("inf"),
    Decimal("NaN"),
    Decimal("Infinity"),
]

RULES = {
    "exact": (checks.exact, [0, -1, 1.5], []),
    "positive": (checks.positive, [1, 0.1, 5e-324, 1e308, Fraction(1, 10**400)], [0, 0.0, -0.0, -1, -5e-324]),
    "non_negative": (checks.non_negative, [0, -0.0, 1, Fraction(0)], [-1, -5e-324, Fraction(-1, 10**400)]),
    "probability": (checks.probability, [0.5, 1e-300, Decimal("0.999999999999999999999")], [0, 1, 1.5, -0.1]),
    "delta": (checks.delta, [0, 0.5, 1e-12], [1, 1.0, 2, -1e-12]),
    "at_least": (lambda **named: checks.at_least(3, **named), [3, 3.0, 10], [2.999999, -3, 0]),
}


@pytest.mark.parametrize("rule", RULES)
def test_good_values_come_back_as_fractions(rule):
    check, good, _ = RULES[rule]
    for value in good:
        result = check(epsilon=value)
        assert type(result) is Fraction
        assert result == Fraction(str(value)) if isinstance(value, float | Decimal) else result == value


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("value", NOT_NUMBERS, ids=repr)
def test_what_is_not_a_finite_number_is_refused(rule, value):
    with pytest.raises(InvalidParameter) as caught:
        RULES[rule][0](epsilon=value)
    assert caught.value.name == "epsilon"
    assert caught.value.rule in str(caught.value)
    if isinstance(value, np.ndarray):  # it may be somebody's data
        assert caught.value.value is None and "got epsilon of type ndarray" in str(caught.value)
        return
    assert caught.value.value is value
    shown = str(value) if isinstance(value, Decimal) else repr(value)
    assert f"got epsilon={shown}" in str(caught.value)


@pytest.mark.parametrize(("rule", "value"), [(rule, value) for rule in RULES for value in RULES[rule][2]])
def test_what_breaks_the_rule_is_refused(rule, value):
    with pytest.raises(InvalidParameter) as caught:
        RULES[rule][0](rho=value)
    assert str(caught.value).startswith("rho must be ")
    shown = "-1e-400" if isinstance(value, Fraction) else repr(value)
    assert str(caught.value).endswith(f"got rho={shown}")


@pytest.mark.parametrize("value", [10**309, Fraction(10**400, 7), Decimal("1E+400")])
def test_an_epsilon_that_floats_cannot_hold_is_refused(value):
    for check in (checks.positive, checks.non_negative, lambda **named: checks.at_least(1, **named)):
        with pytest.raises(InvalidParameter, match="and at most 1e308"):
            check(epsilon=value)
        assert check(scale=value) == value  # what is no loss is kept in whole numbers


def test_the_error_is_a_value_error_and_carries_a_hint():
    error = InvalidParameter(name="a", rule="b", value=3, hint="Do this")
    assert isinstance(error, ValueError)
    assert str(error) == "a must be b, got a=3. Do this"


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (0.1, Fraction(1, 10)),
        (1e-6, Fraction(1, 10**6)),
        (np.float64(0.1), Fraction(1, 10)),
        (np.float32(0.1), Fraction(1, 10)),
        (Decimal("0.1"), Fraction(1, 10)),
        (np.int8(-3), Fraction(-3)),
        (np.uint64(2**64 - 1), Fraction(2**64 - 1)),
        (10**400, Fraction(10**400)),
        (Fraction(1, 3), Fraction(1, 3)),
    ],
)
def test_numbers_are_read_as_written(written, meant):
    assert checks.exact(x=written) == meant


@settings(deadline=None)
@given(st.floats(allow_nan=False, allow_infinity=False))
def test_reading_a_float_keeps_the_float(x):
    assert float(checks.exact(x=x)) == x


@settings(deadline=None)
@given(st.fractions())
def test_fractions_pass_unchanged(x):
    assert checks.exact(x=x) == x


@pytest.mark.parametrize("value", [2, 5, np.int64(3), 10**30])
def test_integers(value):
    assert checks.integer(2, size=value) == value
    assert type(checks.integer(2, size=value)) is int


@pytest.mark.parametrize(
    "value", [1, -1, 2.0, 2.5, True, np.True_, "2", None, Fraction(2), Decimal(2), math.nan]
)
def test_bad_integers(value):
    with pytest.raises(InvalidParameter, match=r"size must be an integer >= 2, got size="):
        checks.integer(2, size=value)


def test_integers_with_a_maximum():
    assert checks.integer(2, 3, size=3) == 3
    with pytest.raises(InvalidParameter, match=r"size must be at most 3, got size=4"):
        checks.integer(2, 3, size=4)
    with pytest.raises(InvalidParameter, match=r"size must be an integer >= 2, got size=1"):
        checks.integer(2, 3, size=1)


@pytest.mark.parametrize("value", [0, 2, np.uint8(1)])
def test_indices(value):
    assert checks.index(3, category=value) == value


@pytest.mark.parametrize("value", [-1, 3, True, 1.0, "1", None])
def test_bad_indices(value):
    with pytest.raises(InvalidParameter, match=r"category must be an integer in 0\.\.2"):
        checks.index(3, category=value)


def test_closed_sets():
    assert checks.one_of(("a", "b"), kind="b") == "b"
    assert checks.one_of((1, 2), norm=2) == 2
    for value in ("c", None, 1):
        with pytest.raises(InvalidParameter, match="one of 'a', 'b'"):
            checks.one_of(("a", "b"), kind=value)
    with pytest.raises(InvalidParameter):
        checks.one_of((1, 2), norm=True)  # equal to 1, but not meant


def test_instances():
    assert checks.instance(Fraction, x=Fraction(1)) == 1
    with pytest.raises(InvalidParameter, match="x must be an instance of Fraction"):
        checks.instance(Fraction, x=1)


@pytest.mark.parametrize("check", [checks.exact, checks.positive, checks.probability])
def test_one_name_at_a_time(check):
    with pytest.raises(ValueError, match="unpack"):
        check(a=0.5, b=0.5)


@pytest.mark.parametrize("value", ["1", True, None, [1], object()])
def test_what_is_no_number_is_told_so(value):
    with pytest.raises(InvalidParameter, match="epsilon must be a number, finite and > 0, got epsilon="):
        checks.positive(epsilon=value)
    with pytest.raises(InvalidParameter, match="beta must be a number, strictly between 0 and 1"):
        checks.probability(beta=value)


@pytest.mark.parametrize("value", [0, -1, float("nan"), np.float64("inf"), Decimal("NaN")])
def test_a_number_is_told_its_rule_only(value):
    with pytest.raises(InvalidParameter, match="epsilon must be finite and > 0, got epsilon="):
        checks.positive(epsilon=value)


def test_texts():
    assert checks.text(unit="row") == "row"
    for value in ("", "  ", 3, None, b"row"):
        with pytest.raises(InvalidParameter, match="unit must be a non-empty text"):
            checks.text(unit=value)


def test_choices_and_ways_out():
    class Colour(enum.Enum):
        RED = "red"
        BLUE = "blue"

    with pytest.raises(InvalidParameter, match=r"colour must be one of Colour.RED, Colour.BLUE, got"):
        checks.instance(Colour, colour="red")
    for value in ("row", None):
        with pytest.raises(InvalidParameter, match=r"Pass AddRemove\('row'\) or Replace\('row'\)"):
            checks.instance(Neighbours, neighbours=value)


def test_private_values_are_described_in_words():
    error = InvalidParameter(name="data", rule="3 counts", got="something of another shape", hint="Count")
    assert str(error) == "data must be 3 counts, got something of another shape. Count"


def test_exact_numbers_in_rules_are_printed_as_decimals():
    with pytest.raises(InvalidParameter, match=r">= 0\.000001, got x=1e-7$"):
        checks.at_least(Fraction(1, 10**6), x=Fraction(1, 10**7))
    with pytest.raises(InvalidParameter, match=r">= 1/3, got x=0$"):
        checks.at_least(Fraction(1, 3), x=0)


class _Int(int):
    """Prints, converts and compares as a harmless number, and differently every time it is asked."""

    asked = 0

    def __int__(self):
        type(self).asked += 1
        return 5 if type(self).asked % 2 else -5

    __index__ = __trunc__ = __int__
    __lt__ = __le__ = __gt__ = __ge__ = __eq__ = lambda self, other: True
    __hash__ = int.__hash__


class _Float(float):
    def __repr__(self):
        return "5"

    __str__ = __repr__
    __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: True


class _Fraction(Fraction):
    def __gt__(self, other):
        return True

    __lt__ = __le__ = __ge__ = __gt__

    def as_integer_ratio(self):
        return 5, 1

    numerator = property(lambda self: 5)


class _Decimal(Decimal):
    def is_finite(self):
        return True

    def as_integer_ratio(self):
        return 5, 1

    __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: True


class _Text(str):
    __slots__ = ()

    def strip(self):
        return "person"

    def __str__(self):
        return "person"

    def __eq__(self, other):
        return True

    __hash__ = str.__hash__


@pytest.mark.parametrize("kind", [_Int, _Float, _Fraction, _Decimal])
def test_a_subclass_of_a_number_is_read_as_what_it_stores(kind):
    assert type(checks.exact(epsilon=kind(-3))) is Fraction
    assert checks.exact(epsilon=kind(-3)) == -3
    for rule in (checks.positive, checks.non_negative, checks.probability, checks.delta):
        with pytest.raises(InvalidParameter, match="epsilon"):
            rule(epsilon=kind(-3))


def test_a_subclass_of_an_integer_is_read_once():
    for _ in range(2):  # its own conversion alternates
        assert checks.integer(0, count=_Int(3)) == 3
        assert type(checks.integer(0, count=_Int(3))) is int
        assert checks.index(4, place=_Int(3)) == 3
        with pytest.raises(InvalidParameter):
            checks.integer(0, count=_Int(-3))
        with pytest.raises(InvalidParameter):
            checks.index(4, place=_Int(9))


def test_a_subclass_of_a_text_is_read_as_what_it_stores():
    assert type(checks.text(unit=_Text("row"))) is str
    assert checks.text(unit=_Text("row")) == "row"
    with pytest.raises(InvalidParameter):
        checks.text(unit=_Text("  "))
    assert type(AddRemove(_Text("row")).unit) is str
    assert AddRemove(_Text("row")) != AddRemove("person")


@pytest.mark.parametrize(
    "value", [Decimal("1E+999999999"), Decimal("1E-999999999"), Decimal("-1E+5000")], ids=str
)
def test_decimals_that_would_fill_the_memory_are_refused(value):
    for rule in (checks.exact, checks.non_negative):
        with pytest.raises(InvalidParameter, match="digits" if rule is checks.exact else "epsilon"):
            rule(epsilon=value)
    assert checks.exact(epsilon=Decimal("0E+999999999")) == 0
    assert checks.positive(epsilon=Decimal("1E-4000")) == Fraction(1, 10**4000)


def test_a_way_out_is_that_of_the_class_that_is_asked_for():
    # Whoever was told that it must be Replace was told to pass AddRemove.
    with pytest.raises(InvalidParameter, match="instance of Replace") as caught:
        checks.instance(Replace, neighbours=AddRemove("row"))
    assert "Pass" not in str(caught.value)


def test_a_class_in_the_place_of_its_instance_is_told_to_be_made():
    with pytest.raises(InvalidParameter, match=r"Make one: Contribution\(\.\.\.\)$"):
        checks.instance(Neighbours, neighbours=Contribution)


def test_a_class_says_the_way_out_where_it_must_be_itself():
    with pytest.raises(InvalidParameter, match=r"a Range itself, got a tuple\. Pass Range\(lower, upper\)$"):
        checks.exactly(Range, target=(0, 20))
    with pytest.raises(InvalidParameter, match=r"a Fraction itself, got a str$"):
        checks.exactly(Fraction, part="1/2")


def test_a_percentage_is_told_how_it_is_written():
    with pytest.raises(InvalidParameter, match=r"epsilon='50%'. Write 50% as 0.5"):
        checks.positive(epsilon="50%")
