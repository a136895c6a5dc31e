"""The queries that turn an owner's columns into codes: total on every value an engine can hold.

No expression here can fail, whatever the cell: numbers and dates are compared with the bounds in their own
type before anything is cast, casts of text exist only where the engine has one that cannot fail, and the
last step of every number is a clamp of whole numbers, which is what sensitivities rest on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches

from sqlglot import exp

from discreet.core.errors import InvalidParameter
from discreet.data.columns import (
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
from discreet.data.sources.base import RAW, Family, Field, Source

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


def encoded(source: Source, name: str, columns: Sequence[Column], *, unit: str | None) -> exp.Select:
    """Return the query that reads an input as a relation of codes with exactly these columns.

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
    fields = {field.name: field for field in source.columns(name)}
    query = exp.select().from_(source.raw(name).as_(RAW))
    for place, column in enumerate(columns):
        field = fields.get(column.name)
        if field is None:
            raise _missing(name, column.name, sorted(fields))
        _check_family(source, name, column, field)
        cell: exp.Expr = exp.column(column.name, table=RAW)
        if isinstance(column, Category) and column.size > LISTED:
            query, cell = _joined(query, column, _plain(column, cell, field.family), place)
        else:
            cell = _encode(column, cell, field.family, source.dialect)
        query = query.select(exp.alias_(cell, column.name))
        if column.name == unit:
            query = query.where(exp.column(column.name, table=RAW).is_(exp.null()).not_())
    return query


def _missing(name: str, column: str, found: Sequence[str]) -> InvalidParameter:
    """Return the error of a column that is not there.

    Only names like the wanted one are quoted: those of a CSV file without a header are its first row.
    """
    near = [one for one in get_close_matches(column, found) if one.isidentifier()]
    meant = f"Did you mean {' or '.join(near)}? " if near else ""
    return InvalidParameter(
        name=name,
        rule=f"data with a column {column}",
        got=f"{len(found)} of other names",
        hint=f"{meant}Correct the schema, or the header: a CSV file needs one, with commas between its names",
    )


def _check_family(source: Source, name: str, column: Column, field: Field) -> None:
    if isinstance(column, Category):
        reads: tuple[Family, ...] = ("text",) if isinstance(column.values[0], str) else ("integer", "real")
    else:
        reads = _READS[type(column)]
    if source.parses_text and "text" not in reads:
        reads = (*reads, "text")
    if field.family not in reads:
        rule = f"of a type that reads as {type(column).__name__} ({', '.join(reads)})"
        raise InvalidParameter(name=f"{name}.{column.name}", rule=rule, value=field.type)


def _encode(column: Column, cell: exp.Expr, family: Family, dialect: str) -> exp.Expr:
    if isinstance(column, Integer | Decimal):
        return _number(column, cell, family, dialect)
    if isinstance(column, Date):
        return _date(column, cell, family, dialect)
    if isinstance(column, Boolean):
        return _boolean(column, cell, family)
    if isinstance(column, Category):
        return _category(column, _plain(column, cell, family))
    return exp.cast(cell, "text")


def _number(column: Integer | Decimal, cell: exp.Expr, family: Family, dialect: str) -> exp.Expr:
    if family == "text":
        cell, family = exp.TryCast(this=cell, to=exp.DataType.build("double")), "real"
    numeric = dialect == "postgres" and family == "decimal"
    # PostgreSQL's numeric holds numbers that no double does, so there the bounds are compared as numeric.
    compared = cell if numeric or family == "integer" else exp.cast(cell, "double")
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
    inside = _steps(column, cell, family)
    return (
        exp.case()
        .when(missing, _null(column))
        .when(exp.LTE(this=compared.copy(), expression=lower), _bigint(column.code_lower))
        .when(exp.GTE(this=compared.copy(), expression=upper), _bigint(column.code_upper))
        .else_(_clamped(inside, column))
    )


def _steps(column: Integer | Decimal, cell: exp.Expr, family: Family) -> exp.Expr:
    """Round cell / grid to the nearest whole number, halves upwards, in IEEE doubles on every engine."""
    if family == "integer" and column.grid == 1:
        return exp.cast(cell.copy(), "bigint")
    steps: exp.Expr = exp.cast(cell.copy(), "double")
    if column.grid.denominator != 1:
        steps = exp.Mul(this=steps, expression=_real(float(column.grid.denominator), "double"))
    if column.grid.numerator != 1:
        steps = exp.Div(this=steps, expression=_real(float(column.grid.numerator), "double"))
    return exp.cast(exp.Floor(this=exp.Add(this=steps, expression=_real(0.5, "double"))), "bigint")


def _clamped(code: exp.Expr, column: Ranged) -> exp.Expr:
    raised = exp.Greatest(this=code, expressions=[_bigint(column.code_lower)], ignore_nulls=True)
    return exp.Least(this=raised, expressions=[_bigint(column.code_upper)], ignore_nulls=True)


def _date(column: Date, cell: exp.Expr, family: Family, dialect: str) -> exp.Expr:
    day = _day(cell, family, dialect)
    epoch = exp.cast(exp.Literal.string("1970-01-01"), "date")
    lower = exp.cast(exp.Literal.string(column.lower.isoformat()), "date")
    upper = exp.cast(exp.Literal.string(column.upper.isoformat()), "date")
    days = exp.DateDiff(this=day.copy(), expression=epoch, unit=exp.var("DAY"))
    return (
        exp.case()
        .when(day.copy().is_(exp.null()), _null(column))
        .when(exp.LTE(this=day.copy(), expression=lower), _bigint(column.code_lower))
        .when(exp.GTE(this=day.copy(), expression=upper), _bigint(column.code_upper))
        .else_(_clamped(exp.cast(days, "bigint"), column))
    )


def _day(cell: exp.Expr, family: Family, dialect: str) -> exp.Expr:
    if family == "text":
        return exp.TryCast(this=cell, to=exp.DataType.build("date"))
    if family != "zoned":
        return exp.cast(cell, "date")
    if dialect == "spark":
        # Casting to a date would use the session's time zone; seconds since 1970 do not.
        seconds = exp.Div(this=exp.cast(cell, "bigint"), expression=_real(86400.0, "double"))
        return exp.func("DATE_FROM_UNIX_DATE", exp.cast(exp.Floor(this=seconds), "int"))
    return exp.cast(exp.AtTimeZone(this=cell, zone=exp.Literal.string("UTC")), "date")


def _boolean(column: Boolean, cell: exp.Expr, family: Family) -> exp.Expr:
    if family == "text":
        cell = exp.TryCast(this=cell, to=exp.DataType.build("boolean"))
    true: exp.Expr = cell
    false: exp.Expr = exp.not_(cell.copy())
    if family in ("integer", "real"):
        true, false = cell.eq(_literal(1)), cell.copy().eq(_literal(0))
    return exp.case().when(true, _bigint(1)).when(false, _bigint(0)).else_(_null(column))


def _plain(column: Category, cell: exp.Expr, family: Family) -> exp.Expr:
    """Bring a category's cell to the type its declared values have."""
    if isinstance(column.values[0], str):
        return exp.cast(cell, "text")
    if family == "text":
        cell, family = exp.TryCast(this=cell, to=exp.DataType.build("double")), "real"
    if family == "real":
        return exp.Nullif(this=cell, expression=exp.cast(exp.Literal.string("NaN"), "double"))
    return cell


def _category(column: Category, cell: exp.Expr) -> exp.Expr:
    # The branches give back literals, never the cell: only declared values can come out.
    cases = exp.case()
    for value in column.values:
        cases = cases.when(cell.copy().eq(_constant(value)), _typed(value))
    if column.other is not None and column.other != column.null:
        cases = cases.when(cell.copy().is_(exp.null()).not_(), _typed(column.other))
    return cases.else_(_null(column))


def _joined(query: exp.Select, column: Category, cell: exp.Expr, place: int) -> tuple[exp.Select, exp.Expr]:
    """Look a long list of declared values up by a join that keeps every row exactly once."""
    alias = f"discreet_values_{place}"
    rows = [exp.Tuple(expressions=[_constant(value)]) for value in column.values]
    values = exp.Values(
        expressions=rows,
        alias=exp.TableAlias(this=exp.to_identifier(alias), columns=[exp.to_identifier("value")]),
    )
    found = exp.column("value", table=alias)
    query = query.join(values, on=cell.eq(found), join_type="left")
    code = exp.cast(found.copy(), _type(column.values[0]))
    cases = exp.case().when(found.copy().is_(exp.null()).not_(), code)
    if column.other is not None and column.other != column.null:
        cases = cases.when(cell.copy().is_(exp.null()).not_(), _typed(column.other))
    return query, cases.else_(_null(column))


def _null(column: Column) -> exp.Expr:
    null = getattr(column, "null", None)
    if isinstance(column, Category):
        return exp.cast(exp.null(), _type(column.values[0])) if null is None else _typed(null)
    return exp.cast(exp.null(), "bigint") if null is None else _bigint(int(column.encode(null)))


def _constant(value: Code) -> exp.Expr:
    return exp.Literal.string(value) if isinstance(value, str) else _literal(value)


def _typed(value: Code) -> exp.Expr:
    return exp.cast(_constant(value), _type(value))


def _type(value: Code) -> str:
    return "text" if isinstance(value, str) else "bigint"


def _literal(value: int) -> exp.Expr:
    return exp.Literal.number(value)


def _bigint(value: int) -> exp.Expr:
    return exp.cast(_literal(value), "bigint")


def _real(value: float, kind: str) -> exp.Expr:
    return exp.cast(exp.Literal.number(repr(value)), kind)
