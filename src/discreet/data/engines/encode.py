"""The queries that turn an owner's columns into codes: total on every value an engine can hold.

No expression here can fail, whatever the cell: numbers and dates are compared with the bounds in their own
type before anything is cast, casts of text exist only where the engine has one that cannot fail, and the
last step of every number is a clamp of whole numbers, which is what sensitivities rest on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fractions import Fraction

from sqlglot import exp

from discreet.core.errors import InvalidParameter
from discreet.data.engines.base import EngineField, Source
from discreet.data.engines.cells import (
    PARSED_SCALE,
    bytes_text,
    day,
    exact_steps,
    pack,
    spell,
    spell_bytes,
    text_bytes,
)
from discreet.data.engines.readings import RAW, Family, RowReading
from discreet.data.schema.columns import (
    Boolean,
    Category,
    Code,
    Column,
    Date,
    Decimal,
    Identifier,
    Integer,
    Ranged,
    Text,
)

LISTED = 32
"""Longer lists of declared values are joined, not compared one by one."""

_NUMBERS: tuple[Family, ...] = ("integer", "real", "decimal")
_READS: dict[type[Column], tuple[Family, ...]] = {
    Integer: _NUMBERS,
    Decimal: _NUMBERS,
    Boolean: ("boolean", "integer", "real"),
    Date: ("date", "timestamp", "zoned"),
    Identifier: ("integer", "text", "uuid"),
    Text: ("text",),
}


def encode_rows(source: Source, name: str, columns: Sequence[Column], *, unit: str | None) -> RowReading:
    """Return the queries that read an input as a relation of codes with exactly these columns.

    Parameters
    ----------
    source, name
        The engine and its input.
    columns
        What is declared.
    unit
        The column that says whose row it is. Rows without it belong to nobody and are left out; without
        such a column every row stays, so that the number of rows does not depend on their contents.

    Raises
    ------
    InvalidParameter
        When the input lacks a column, or its type cannot stand for the declared kind.
    """
    described = source.columns(name)
    fields = {field.name: field for field in described}
    query = exp.select().from_(source.raw(name).as_(RAW))
    unread = exp.select().from_(source.raw(name).as_(RAW))
    told = {}
    for place, column in enumerate(columns):
        field = fields.get(column.name)
        if field is None:
            raise _missing(name, column.name, sorted(fields))
        if (alike := sum(one.name == column.name for one in described)) > 1:
            raise InvalidParameter(
                name=name, rule=f"data with one column {column.name}", got=f"{alike} of this name"
            )
        _check_family(source, name, column, field)
        cell = _Cell(exp.column(column.name, table=RAW), field, source.dialect)
        listed = _list_values(column, cell, place)
        if listed is not None:
            query = query.join(listed.copy(), copy=False)
        code = pack(_encode(column, cell, place), column, source.dialect)
        query = query.select(exp.alias_(code, column.name, copy=False), copy=False)
        if column.name == unit:
            query = query.where(cell.raw.is_(exp.null()).not_(), copy=False)
        lost = _test_lost(column, cell, place)
        if lost is not None:
            if listed is not None:
                unread = unread.join(listed, copy=False)
            counted = exp.Count(this=exp.case().when(lost, _literal(1)))
            unread = unread.select(exp.alias_(counted, column.name), copy=False)
            told[column.name] = _tell_lost(column)
    return RowReading(query, unread if unread.selects else None, told)


def _test_lost(column: Column, cell: _Cell, place: int) -> exp.Expr | None:
    """Return the test of a cell that says something and means nothing; None where there is no such cell."""
    if isinstance(column, Identifier | Text) or (isinstance(column, Category) and column.other is not None):
        return None
    text = cell.family == "text"
    if isinstance(column, Category):
        read = _comparable(column, cell)
        said = _says_something(cell) if text else read.copy().is_(exp.null()).not_()
        known = exp.Coalesce(this=_is_declared(column, cell, place), expressions=[exp.false()])
        return exp.and_(said, exp.not_(known))
    if isinstance(column, Boolean) and cell.family in ("integer", "real"):
        return exp.not_(_present_number(cell).isin(_literal(0), _literal(1)))
    if not text:
        return None
    kind = "boolean" if isinstance(column, Boolean) else "double"
    parsed: exp.Expr = exp.TryCast(this=cell.raw.copy(), to=exp.DataType.build(kind))
    if isinstance(column, Date):
        parsed = day(cell.raw, cell.family, cell.dialect)
    return exp.and_(_says_something(cell), parsed.is_(exp.null()))


def _tell_lost(column: Column) -> str:
    """Return what the cells that are counted as lost are, for whoever can correct the data or the schema."""
    declared = getattr(column, "null", None) is not None
    becomes = "they count as its null" if declared else "they are missing"
    if isinstance(column, Category):
        becomes += "" if declared else ", and in no group"
        way_out = "If more is public, add values, or other"
        return f"cells with none of the declared values: {{:,}}; {becomes}. {way_out}"
    if isinstance(column, Boolean):
        return f"cells that are neither true nor false: {{:,}}; {becomes}"
    if isinstance(column, Date):
        return f"cells that are no day such as 2024-12-31: {{:,}}; {becomes}"
    return f"cells that are no number such as 1234.5: {{:,}}; {becomes}"


def _says_something(cell: _Cell) -> exp.Expr:
    """Return the test of a text that is there and not blank."""
    blank = exp.Trim(this=exp.cast(cell.raw.copy(), "text")).eq(exp.Literal.string(""))
    return exp.and_(cell.raw.copy().is_(exp.null()).not_(), exp.not_(blank))


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell as it is read, and the type it has there."""

    raw: exp.Expr
    field: EngineField
    dialect: str

    @property
    def family(self) -> Family:
        return self.field.family


def _missing(name: str, column: str, found: Sequence[str]) -> InvalidParameter:
    """Return the error of a column that is not there.

    Only names like the wanted one are quoted: those of a CSV file without a header are its first row.
    """
    cased = [one for one in found if one.lower() == column.lower()]
    near = [one for one in cased or get_close_matches(column, found) if one.isidentifier()]
    case = " (upper and lower case count)" if cased else ""
    meant = f"Did you mean {' or '.join(near)}{case}? " if near else ""
    return InvalidParameter(
        name=name,
        rule=f"data with a column {column}",
        got=f"{len(found)} of other names",
        hint=f"{meant}Correct the schema, or the names of the data: a CSV file needs a header, with commas "
        "between them, and a frame's index is no column",
    )


def _check_family(source: Source, name: str, column: Column, field: EngineField) -> None:
    if isinstance(column, Category):
        reads: tuple[Family, ...] = ("text",) if isinstance(column.values[0], str) else ("integer", "real")
    else:
        reads = _READS[type(column)]
    if source.parses_text and "text" not in reads:
        reads = (*reads, "text")
    if field.family not in reads:
        rule = f"of a type that reads as {type(column).__name__} ({', '.join(reads)})"
        raise InvalidParameter(name=f"{name}.{column.name}", rule=rule, value=field.type)


def _encode(column: Column, cell: _Cell, place: int) -> exp.Expr:
    if isinstance(column, Integer | Decimal):
        return _number(column, cell)
    if isinstance(column, Date):
        return _date(column, cell)
    if isinstance(column, Boolean):
        return _boolean(column, cell)
    if isinstance(column, Category):
        return _category(column, cell, place)
    return bytes_text(text_bytes(cell.raw, cell.dialect), cell.dialect)


def _number(column: Integer | Decimal, cell: _Cell) -> exp.Expr:
    number, family = cell.raw, cell.family
    if family == "text":
        number, family = exp.TryCast(this=number, to=exp.DataType.build("double")), "real"
    numeric = cell.dialect == "postgres" and family == "decimal"
    # PostgreSQL's numeric holds numbers that no double does, so there the bounds are compared as numeric.
    compared = number if numeric or family == "integer" else exp.cast(number, "double")
    lower: exp.Expr
    upper: exp.Expr
    if family == "integer":
        lower, upper = _literal(math.ceil(column.lower)), _literal(math.floor(column.upper))
    else:
        kind = "decimal" if numeric else "double"
        lower, upper = _real(float(column.lower), kind), _real(float(column.upper), kind)
    missing: exp.Expr = compared.copy().is_(exp.null())
    if family != "integer":
        nan = exp.cast(exp.Literal.string("NaN"), "decimal" if numeric else "double")
        missing = exp.or_(missing, compared.copy().eq(nan))
    return (
        exp.case()
        .when(missing, _null(column, cell.dialect))
        .when(exp.LTE(this=compared.copy(), expression=lower), _bigint(column.code_lower))
        .when(exp.GTE(this=compared.copy(), expression=upper), _bigint(column.code_upper))
        .else_(_clamp(_steps(column.grid, cell, number), column))
    )


def _steps(grid: Fraction, cell: _Cell, number: exp.Expr) -> exp.Expr:
    """Round to the nearest step of the grid, halves upwards.

    Whole and decimal numbers, and those in text, are rounded as they are written: 0.285 is half-way between
    two cents. Others are doubles, on every engine.
    """
    if cell.family == "integer" and grid == 1:
        return exp.cast(cell.raw.copy(), "bigint")
    if cell.family == "text":
        written = exp.TryCast(this=cell.raw.copy(), to=exp.DataType.build(f"decimal(38, {PARSED_SCALE})"))
        exact = exact_steps(written, grid, "decimal", PARSED_SCALE, cell.dialect)
        binary = _binary_steps(grid, number)
        return binary if exact is None else exp.Coalesce(this=exact, expressions=[binary])
    if cell.family in ("integer", "decimal"):
        exact = exact_steps(cell.raw.copy(), grid, cell.family, cell.field.scale, cell.dialect)
        if exact is not None:
            return exact
    return _binary_steps(grid, number)


def _binary_steps(grid: Fraction, number: exp.Expr) -> exp.Expr:
    steps: exp.Expr = exp.cast(number.copy(), "double")
    if grid.denominator != 1:
        steps = exp.Mul(this=steps, expression=_real(float(grid.denominator), "double"))
    if grid.numerator != 1:
        steps = exp.Div(this=steps, expression=_real(float(grid.numerator), "double"))
    return exp.cast(exp.Floor(this=exp.Add(this=steps, expression=_real(0.5, "double"))), "bigint")


def _clamp(code: exp.Expr, column: Ranged) -> exp.Expr:
    raised = exp.Greatest(this=code, expressions=[_bigint(column.code_lower)], ignore_nulls=True)
    return exp.Least(this=raised, expressions=[_bigint(column.code_upper)], ignore_nulls=True)


def _date(column: Date, cell: _Cell) -> exp.Expr:
    found = day(cell.raw, cell.family, cell.dialect)
    epoch = exp.cast(exp.Literal.string("1970-01-01"), "date")
    lower = exp.cast(exp.Literal.string(column.lower.isoformat()), "date")
    upper = exp.cast(exp.Literal.string(column.upper.isoformat()), "date")
    days = exp.DateDiff(this=found.copy(), expression=epoch, unit=exp.var("DAY"))
    return (
        exp.case()
        .when(found.copy().is_(exp.null()), _null(column, cell.dialect))
        .when(exp.LTE(this=found.copy(), expression=lower), _bigint(column.code_lower))
        .when(exp.GTE(this=found.copy(), expression=upper), _bigint(column.code_upper))
        .else_(_clamp(exp.cast(days, "bigint"), column))
    )


def _boolean(column: Boolean, cell: _Cell) -> exp.Expr:
    true = cell.raw
    if cell.family == "text":
        true = exp.TryCast(this=true, to=exp.DataType.build("boolean"))
    false: exp.Expr = exp.not_(true.copy())
    if cell.family in ("integer", "real"):
        true, false = cell.raw.eq(_literal(1)), cell.raw.copy().eq(_literal(0))
    return exp.case().when(true, _bigint(1)).when(false, _bigint(0)).else_(_null(column, cell.dialect))


def _present_number(cell: _Cell) -> exp.Expr:
    """Return a cell as a number that is whole or a double: a narrower one may equal two declared values."""
    if cell.family == "integer":
        return cell.raw.copy()
    double = exp.TryCast if cell.family == "text" else exp.Cast
    number = double(this=cell.raw.copy(), to=exp.DataType.build("double"))
    return exp.Nullif(this=number, expression=exp.cast(exp.Literal.string("NaN"), "double"))


def _comparable(column: Category, cell: _Cell) -> exp.Expr:
    """Bring a category's cell to what is compared with its declared values: bytes, or numbers."""
    if isinstance(column.values[0], str):
        return text_bytes(cell.raw.copy(), cell.dialect)
    return _present_number(cell)


def _category(column: Category, cell: _Cell, place: int) -> exp.Expr:
    # The branches give back literals, or what was joined, never the cell: only declared values can come out.
    read = _comparable(column, cell)
    cases = exp.case()
    if _is_long(column):
        found = _listed_value(place)
        if isinstance(column.values[0], str):
            code = bytes_text(spell_bytes(found, cell.dialect), cell.dialect)
        else:
            code = exp.cast(found, "bigint")
        cases = cases.when(_is_declared(column, cell, place), code)
    else:
        for value in column.values:
            cases = cases.when(
                read.copy().eq(_spell_comparable(value, cell.dialect)), _cast_value(value, cell.dialect)
            )
    if column.other is not None and column.other != column.null:
        cases = cases.when(read.copy().is_(exp.null()).not_(), _cast_value(column.other, cell.dialect))
    return cases.else_(_null(column, cell.dialect))


def _is_long(column: Column) -> bool:
    return isinstance(column, Category) and column.size > LISTED


def _is_declared(column: Category, cell: _Cell, place: int) -> exp.Expr:
    """Return the test that a cell holds a declared value; it may be missing where the cell is."""
    if _is_long(column):
        return _listed_value(place).is_(exp.null()).not_()
    return _comparable(column, cell).isin(
        *(_spell_comparable(value, cell.dialect) for value in column.values)
    )


def _listed_value(place: int) -> exp.Column:
    return exp.column("value", table=f"discreet_values_{place}")


def _list_values(column: Column, cell: _Cell, place: int) -> exp.Join | None:
    """Return the join that looks a long list of declared values up and keeps every row exactly once.

    It does because no two declared values are equal in what is compared: bytes, or numbers up to 2**53.
    """
    if not isinstance(column, Category) or not _is_long(column):
        return None
    rows = [exp.Tuple(expressions=[_spell(value)]) for value in column.values]
    found = _listed_value(place)
    names = exp.TableAlias(this=exp.to_identifier(found.table), columns=[exp.to_identifier(found.name)])
    value = spell_bytes(found, cell.dialect) if isinstance(column.values[0], str) else found
    return exp.Join(
        this=exp.Values(expressions=rows, alias=names),
        side="LEFT",
        on=_comparable(column, cell).eq(value),
    )


def _null(column: Column, dialect: str) -> exp.Expr:
    null = getattr(column, "null", None)
    if isinstance(column, Category):
        kind = "text" if isinstance(column.values[0], str) else "bigint"
        return exp.cast(exp.null(), kind) if null is None else _cast_value(null, dialect)
    return exp.cast(exp.null(), "bigint") if null is None else _bigint(int(column.encode(null)))


def _spell(value: Code) -> exp.Expr:
    return spell(value) if isinstance(value, str) else _literal(value)


def _spell_comparable(value: Code, dialect: str) -> exp.Expr:
    return spell_bytes(spell(value), dialect) if isinstance(value, str) else _literal(value)


def _cast_value(value: Code, dialect: str) -> exp.Expr:
    return (
        bytes_text(_spell_comparable(value, dialect), dialect) if isinstance(value, str) else _bigint(value)
    )


def _literal(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _bigint(value: int) -> exp.Expr:
    return exp.cast(_literal(value), "bigint")


def _real(value: float, kind: str) -> exp.Expr:
    return exp.cast(exp.Literal.number(repr(value)), kind)
