"""Values of counts as they are sent, against those that columns have."""

import datetime
from decimal import Decimal
from fractions import Fraction

import pytest

from discreet.client.writing import write_clause
from discreet.core.errors import InvalidParameter
from discreet.queries import Universe
from discreet.server.routes.counting import read_clauses

DAYS = tuple(datetime.date(2025, 1, day) for day in (1, 2))
UNIVERSE = Universe(
    [("day", DAYS), ("cost", (Fraction(1, 2), Fraction(1))), ("age", (1, 2)), ("word", ("2025-01-01", "x"))]
)
MEMBERS = Universe([("member", (False, True)), ("age", (0, 1))])


def test_days_and_decimals_can_be_asked_for():
    asked = {"day": list(DAYS), "cost": [0.5, Fraction(1, 2), Decimal("0.5"), 1], "word": ["2025-01-01"]}
    sent = write_clause(asked)
    assert sent == {"day": ["2025-01-01", "2025-01-02"], "cost": [0.5, 0.5, 0.5, 1], "word": ["2025-01-01"]}
    sent["cost"] = [Decimal(str(one)) if isinstance(one, float) else one for one in sent["cost"]]
    (read,) = read_clauses(UNIVERSE, [sent])
    assert read == {"day": list(DAYS), "cost": [Fraction(1, 2)] * 3 + [1], "word": ["2025-01-01"]}


@pytest.mark.parametrize(
    "clause",
    [
        {"day": ["yesterday"]},
        {"age": [Decimal("1.0")]},
        {"elsewhere": [Decimal("0.5")]},
        {"cost": [Decimal("1e999999999")]},
        {"cost": [Decimal("NaN")]},
    ],
)
def test_what_no_column_has_is_refused_by_its_kind(clause):
    with pytest.raises(InvalidParameter, match="conjunctions must be"):
        read_clauses(UNIVERSE, [clause])


@pytest.mark.parametrize("clause", [{"age": [True]}, {"member": [1]}, {"age": [1], "member": [True, 0]}])
def test_true_is_no_number_and_one_is_not_true(clause):
    with pytest.raises(InvalidParameter, match="true or false for a number"):
        read_clauses(MEMBERS, [clause])
    with pytest.raises(InvalidParameter, match="true or false for a number"):
        read_clauses(UNIVERSE, [{"cost": [True]}])
    assert read_clauses(MEMBERS, [{"age": [1], "member": [True]}]) == [{"age": [1], "member": [True]}]


@pytest.mark.parametrize("value", [datetime.datetime(2025, 1, 1), float("nan"), Fraction(1, 3), b"x"])
def test_what_cannot_be_sent_is_refused_here(value):
    with pytest.raises(InvalidParameter, match="values must be"):
        write_clause({"day": [value]})
