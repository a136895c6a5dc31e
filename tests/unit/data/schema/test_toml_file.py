"""TOML: written and read back it is the same schema; errors name the key."""

from __future__ import annotations

import datetime
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

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
    format_schema,
    parse_schema,
    read_schema,
)
from discreet.data.schema.toml_file import MAX_BYTES

GOOD = """
name = "visits"
neighbours = "add-remove"
[unit]
column = "user_id"
max_rows = 5
max_groups = 2
[columns.user_id]
kind = "identifier"
[columns.spent]
kind = "decimal"
lower = 0
upper = 500
grid = 0.01
[columns.store]
kind = "integer"
lower = 1
upper = 900
[dimensions.stores]
key = "store"
[dimensions.stores.columns.store]
kind = "integer"
lower = 1
upper = 900
"""

texts = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=12)


def ranges(kind, unit):
    def make(name, low, width, grid, null):
        step = unit * grid
        bounds = {"lower": low * step, "upper": (low + width) * step, "grid": step}
        return kind(name, **bounds, null=(low + null % (width + 1)) * step if null >= 0 else None)

    whole = st.integers(-1000, 1000)
    return lambda name: st.builds(
        make, st.just(name), whole, st.integers(1, 1000), st.integers(1, 9), st.integers(-3, 9)
    )


def categories(name):
    values = st.lists(texts, min_size=1, max_size=5, unique=True) | st.lists(
        st.integers(-9, 9), min_size=1, max_size=5, unique=True
    )
    return values.flatmap(
        lambda found: st.builds(
            Category,
            st.just(name),
            values=st.just(found),
            other=st.none() | st.sampled_from(found),
            null=st.none() | st.sampled_from(found),
        )
    )


def dates(name):
    days = st.dates(datetime.date(1900, 1, 1), datetime.date(2100, 1, 1))
    pair = st.lists(days, min_size=2, max_size=2, unique=True).map(sorted)
    return pair.map(lambda two: Date(name, lower=two[0], upper=two[1], null=two[1]))


MAKERS = (
    ranges(Integer, Fraction(1)),
    ranges(Decimal, Fraction(1, 1000)),
    categories,
    dates,
    lambda name: st.builds(Boolean, st.just(name), null=st.sampled_from((None, True, False))),
    lambda name: st.just(Text(name)),
    lambda name: st.just(Identifier(name)),
)


@st.composite
def schemas(draw):
    names = [f"c{k}" for k in range(draw(st.integers(1, 5)))]
    columns = tuple(draw(draw(st.sampled_from(MAKERS))(name)) for name in names)
    unit = Row()
    if draw(st.booleans()):
        columns = (*columns, Identifier("whose"))
        unit = User(column="whose", max_rows=draw(st.integers(1, 99)), max_groups=draw(st.integers(1, 9)))
    neighbours = draw(st.sampled_from((AddRemove, Replace)))(unit.name)
    dimensions = ()
    if draw(st.booleans()):
        key = draw(categories("k"))
        dimensions = (Dimension("d", key="k", columns=(key, Boolean("x"))),)
    return Schema("t", columns=columns, unit=unit, neighbours=neighbours, dimensions=dimensions)


@given(schemas())
def test_reads_back_what_it_wrote(schema):
    assert parse_schema(format_schema(schema)) == schema


def test_reads_a_file(tmp_path):
    path = tmp_path / "visits.toml"
    path.write_text(GOOD)
    schema = read_schema(path)
    assert schema.column("spent") == Decimal("spent", lower=0, upper=500, grid=Fraction(1, 100))
    assert schema.unit == User(column="user_id", max_rows=5, max_groups=2)
    assert schema.dimension("stores").key == "store"


@pytest.mark.parametrize(
    ("old", "new", "key"),
    [
        ('name = "visits"', "", "schema.name"),
        ('neighbours = "add-remove"', "", "schema.neighbours"),
        ('"add-remove"', '"swap"', "neighbours"),
        ('"add-remove"', "1", "neighbours"),
        ("max_rows = 5", "", "unit.max_rows"),
        ("max_rows = 5", "max_rows = 5\nmax_users = 1", "unit.max_users"),
        ("max_rows = 5", "max_rows = true", "unit.max_rows"),
        ('kind = "decimal"', "", "columns.spent.kind"),
        ('kind = "decimal"', 'kind = "money"', "columns.spent.kind"),
        ("grid = 0.01", "", "columns.spent.grid"),
        ("grid = 0.01", "grid = nan", "spent.grid"),
        ("grid = 0.01", "grid = 0.01\ncolour = 1", "columns.spent.colour"),
        ("upper = 500", "upper = inf", "spent.upper"),
        ("upper = 500", "upper = [1]", "spent.upper"),
        ('[columns.user_id]\nkind = "identifier"', "", "visits.unit.column"),
        ('key = "store"', "", "dimensions.stores.key"),
        ('key = "store"', "key = 3", "stores.key"),
        ('[columns.user_id]\nkind = "identifier"', "[columns]\nuser_id = 3", "columns.user_id"),
        ("[columns.user_id]", '[columns."user id"]', "column name"),
        ("[unit]", "unit = 3\n[other]", "schema.other"),
    ],
)
def test_errors_name_the_key(old, new, key):
    assert old in GOOD
    with pytest.raises(InvalidParameter) as caught:
        parse_schema(GOOD.replace(old, new, 1))
    assert caught.value.name == key


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[[[",
        "name = ",
        "a = 1\na = 2",
        "x = " + "[" * 5000,
        "columns = 3",
        "x = 1e999999999",
        "x = " + "9" * 5000,
    ],
)
def test_text_that_is_no_schema(text):
    with pytest.raises(InvalidParameter):
        parse_schema(text)


def test_files_that_are_no_schema(tmp_path):
    latin = tmp_path / "latin.toml"
    latin.write_bytes(b'name = "\xe9"')
    large = tmp_path / "large.toml"
    large.write_bytes(b"#" * (MAX_BYTES + 1))
    for path in (tmp_path, tmp_path / "none.toml", "/etc/passwd", latin, large):
        with pytest.raises(InvalidParameter):
            read_schema(path)


def test_floats_are_the_decimals_they_look_like_here_too():
    schema = Schema(
        "t",
        columns=(Decimal("x", lower=0, upper=0.3, grid=0.1, null=0.1),),
        unit=Row(),
        neighbours=AddRemove("row"),
    )
    assert parse_schema(format_schema(schema)) == schema


def test_thirds_cannot_be_written():
    third = Decimal("x", lower=0, upper=1, grid=Fraction(1, 3))
    schema = Schema("t", columns=(third,), unit=Row(), neighbours=AddRemove("row"))
    with pytest.raises(InvalidParameter, match="finite decimals"):
        format_schema(schema)
