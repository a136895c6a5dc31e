"""A schema accepts what it can keep and refuses everything else, naming field, rule and value."""

from __future__ import annotations

import copy
import datetime
from dataclasses import FrozenInstanceError
from fractions import Fraction

import numpy as np
import pytest

from discreet import AddRemove, Replace
from discreet.core.errors import InvalidParameter
from discreet.data import (
    Boolean,
    Category,
    Date,
    Decimal,
    Dimension,
    Identifier,
    Integer,
    Row,
    Schema,
    Text,
    User,
)

DAY = datetime.date
NAN, INF = float("nan"), float("inf")
AGE = Integer("age", lower=0, upper=120)
REGION = Category("region", values=("north", "south"))


def people(**changes):
    given = {"columns": (AGE, REGION), "unit": Row(), "neighbours": AddRemove("row")} | changes
    return Schema(given.pop("name", "people"), **given)


def test_codes_and_values_go_both_ways():
    columns = (
        AGE,
        Integer("decade", lower=-20, upper=100, grid=10),
        Decimal("pay", lower=-1, upper=2.5, grid=0.25),
        Boolean("member"),
        Date("day", lower=DAY(1969, 12, 30), upper=DAY(1970, 1, 3)),
        REGION,
        Category("store", values=(3, 1, -7)),
    )
    for column in columns:
        domain = column.domain()
        assert len(domain) == column.size
        assert tuple(column.encode(value) for value in domain) == column.codes()
        assert tuple(column.decode(code) for code in column.codes()) == domain
    assert columns[1].domain()[:2] == (-20, -10)
    assert columns[1].codes()[:2] == (-2, -1)
    assert columns[2].domain()[-1] == Fraction(5, 2)
    assert columns[4].codes() == (-2, -1, 0, 1, 2)
    assert columns[6].domain() == (3, 1, -7)
    assert Text("note").decode("as it is") == "as it is"
    assert Identifier("id").size is None and Text("note").size is None


def test_floats_are_read_as_the_decimals_they_look_like():
    pay = Decimal("pay", lower=0, upper=0.3, grid=0.1)
    assert (pay.lower, pay.upper, pay.grid) == (0, Fraction(3, 10), Fraction(1, 10))
    assert pay.encode(0.3) == 3
    assert hash(pay) == hash(Decimal("pay", lower=0, upper=Fraction(3, 10), grid=Fraction(1, 10)))


@pytest.mark.parametrize(
    ("field", "make"),
    [
        ("x.lower", lambda: Integer("x", lower=2, upper=1)),
        ("x.lower", lambda: Integer("x", lower=1, upper=1)),
        ("x.lower", lambda: Decimal("x", lower=NAN, upper=1, grid=1)),
        ("x.upper", lambda: Decimal("x", lower=0, upper=NAN, grid=1)),
        ("x.upper", lambda: Decimal("x", lower=0, upper=INF, grid=1)),
        ("x.lower", lambda: Decimal("x", lower=-INF, upper=0, grid=1)),
        ("x.lower", lambda: Decimal("x", lower=None, upper=0, grid=1)),
        ("x.lower", lambda: Decimal("x", lower="0", upper=1, grid=1)),
        ("x.lower", lambda: Decimal("x", lower=False, upper=1, grid=1)),
        ("x.lower", lambda: Decimal("x", lower=-1.7e308, upper=1.7e308, grid=1)),
        ("x.upper", lambda: Decimal("x", lower=0, upper=2**53, grid=0.1)),
        ("x.upper", lambda: Decimal("x", lower=0, upper=0.25, grid=0.1)),
        ("x.upper", lambda: Decimal("x", lower=0, upper=0.5, grid=Fraction(1, 3))),
        ("x.grid", lambda: Decimal("x", lower=0, upper=1, grid=0)),
        ("x.grid", lambda: Decimal("x", lower=0, upper=1, grid=-1)),
        ("x.grid", lambda: Decimal("x", lower=0, upper=1, grid=NAN)),
        ("x.grid", lambda: Decimal("x", lower=0, upper=Fraction(9, 10**17), grid=Fraction(1, 10**17))),
        ("x.upper", lambda: Integer("x", lower=0, upper=1.5)),
        ("x.grid", lambda: Integer("x", lower=0, upper=2, grid=0.5)),
        ("x.upper", lambda: Integer("x", lower=0, upper=2**53 + 1)),
        ("x.null", lambda: Integer("x", lower=0, upper=2, null=3)),
        ("x.null", lambda: Boolean("x", null=0)),
        ("x.null", lambda: Date("x", lower=DAY(2020, 1, 1), upper=DAY(2021, 1, 1), null=DAY(2022, 1, 1))),
        ("x.lower", lambda: Date("x", lower=DAY(2021, 1, 1), upper=DAY(2021, 1, 1))),
        ("x.lower", lambda: Date("x", lower="2020-01-01", upper=DAY(2021, 1, 1))),
        ("x.upper", lambda: Date("x", lower=DAY(2020, 1, 1), upper=datetime.datetime(2021, 1, 1))),
        ("x.values", lambda: Category("x", values=())),
        ("x.values", lambda: Category("x", values="abc")),
        ("x.values", lambda: Category("x", values=("a", "a"))),
        ("x.values", lambda: Category("x", values=("a", None))),
        ("x.values", lambda: Category("x", values=("a", 1))),
        ("x.values", lambda: Category("x", values=(1.5, 2.5))),
        ("x.values", lambda: Category("x", values=(True, False))),
        ("x.values", lambda: Category("x", values=("y" * 1_000_000,))),
        ("x.values", lambda: Category("x", values=("nul\0",))),
        ("x.values", lambda: Category("x", values=(2**60,))),
        ("x.values", lambda: Category("x", values=tuple(range(10**5 + 1)))),
        ("x.other", lambda: Category("x", values=("a",), other="b")),
        ("x.null", lambda: Category("x", values=(1, 2), null=True)),
        ("people.columns", lambda: people(columns=())),
        ("people.columns", lambda: people(columns=(AGE, Boolean("AGE")))),
        ("people.columns", lambda: people(columns=("age",))),
        ("people.unit", lambda: people(unit="row")),
        ("people.unit.column", lambda: people(unit=User(column="age", max_rows=1, max_groups=1))),
        *(
            ("unit.column", lambda word=word: User(column=word, max_rows=9, max_groups=1))
            for word in ("row", "Row", "ROW")
        ),
        ("unit.max_rows", lambda: User(column="id", max_rows=0, max_groups=1)),
        ("unit.max_rows", lambda: User(column="id", max_rows=-3, max_groups=1)),
        ("unit.max_groups", lambda: User(column="id", max_rows=1, max_groups=1.5)),
        ("people.neighbours", lambda: people(neighbours=AddRemove("user"))),
        ("people.neighbours", lambda: people(neighbours="add-remove")),
        ("people.dimensions", lambda: people(dimensions=(Dimension("People", key="age", columns=(AGE,)),))),
        ("d.key", lambda: Dimension("d", key="other", columns=(AGE,))),
        ("d.key", lambda: Dimension("d", key="m", columns=(Boolean("m"),))),
        ("d.note", lambda: Dimension("d", key="age", columns=(AGE, Text("note")))),
    ],
)
def test_refuses_and_names_the_field(field, make):
    with pytest.raises(InvalidParameter) as caught:
        make()
    assert caught.value.name == field
    assert field in str(caught.value) and "must be" in str(caught.value)
    assert len(str(caught.value)) < 500, "a refusal never echoes a megabyte"


@pytest.mark.parametrize(
    "name",
    [
        "",
        "1a",
        "a b",
        "x\"; COPY t TO '/tmp/x'",
        "{{7*7}}",
        "<script>",
        "é",
        "a" * 64,
        "a\n",
        "discreet_x",
        3,
        None,
    ],
)
def test_names_are_plain(name):
    for make in (
        lambda: Boolean(name),
        lambda: people(name=name),
        lambda: Dimension(name, key="age", columns=(AGE,)),
    ):
        with pytest.raises(InvalidParameter, match="letters, digits and underscores"):
            make()


def test_dunder_names_are_only_names():
    assert Boolean("__class__").name == "__class__"


@pytest.mark.parametrize("missing", ["columns", "unit", "neighbours"])
def test_nothing_about_privacy_has_a_default(missing):
    given = {"columns": (AGE,), "unit": Row(), "neighbours": AddRemove("row")}
    del given[missing]
    with pytest.raises(TypeError, match=missing):
        Schema("people", **given)


def test_no_user_is_called_a_row():
    """Guarantees about rows and about users are told apart by this word alone, and by no number of rows."""
    with pytest.raises(InvalidParameter, match=r"'row' is the word for one row.*Rename the column"):
        User(column="row", max_rows=10, max_groups=1)
    assert User(column="rows", max_rows=10, max_groups=1).name != Row().name
    assert people(columns=(AGE, Identifier("row"))).column("row").name == "row", "no unit, so no harm"


def test_unit_and_neighbours():
    users = people(
        columns=(Identifier("person"), AGE),
        unit=User(column="person", max_rows=4, max_groups=2),
        neighbours=Replace("person"),
    )
    assert (users.unit.max_rows, users.unit.max_groups) == (4, 2)
    assert str(users.neighbours) == "changing one person"
    rows = people()
    assert (rows.unit.column, rows.unit.max_rows, rows.unit.max_groups) == (None, 1, 1)


def test_is_frozen_and_found_by_name():
    schema = people(dimensions=(Dimension("towns", key="town", columns=(Category("town", values=(1, 2)),)),))
    with pytest.raises(FrozenInstanceError):
        schema.name = "other"
    assert schema.column("age") is AGE
    assert schema.dimension("towns").column("town").size == 2
    assert copy.deepcopy(schema) == schema and hash(copy.deepcopy(schema)) == hash(schema)
    for wrong in (lambda: schema.column("income"), lambda: schema.dimension("cities")):
        with pytest.raises(InvalidParameter):
            wrong()


def test_lists_values_only_where_they_are_declared_and_few():
    for column in (Text("note"), Identifier("id"), Integer("big", lower=0, upper=10**7)):
        with pytest.raises(InvalidParameter):
            column.domain()
    for column in (Text("note"), Identifier("id")):
        with pytest.raises(InvalidParameter):
            column.encode("anything")


def test_literals_off_the_column_are_refused():
    for column, value in (
        (AGE, 121),
        (AGE, 1.5),
        (AGE, NAN),
        (REGION, "west"),
        (REGION, 1),
        (Boolean("b"), 1),
    ):
        with pytest.raises(InvalidParameter):
            column.encode(value)


def test_values_may_be_a_range_or_numbers_of_numpy():
    stores = Category("store", values=(1, 2, 3))
    assert Category("store", values=range(1, 4)) == stores
    assert Category("store", values=tuple(np.arange(1, 4))) == stores
    assert {type(value) for value in Category("store", values=tuple(np.arange(3))).values} == {int}
    with pytest.raises(InvalidParameter, match="100001 values"):
        Category("store", values=range(10**15))


def test_a_column_of_another_name_is_told_the_way_out():
    with pytest.raises(InvalidParameter, match="Rename the column, or read it from a view"):
        Integer("my age", lower=0, upper=120)
