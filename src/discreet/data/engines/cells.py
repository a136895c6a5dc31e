"""Cells in the words of each engine: the bytes of a text, the day of a moment, the nearest step of a grid.

Engines compare text by collations, which owners set for columns, tables, domains, databases and sessions, and
some of which take different texts for one. So text is never compared as such while it is read: both sides
are bytes, or text of the collation that compares bytes, which is what is kept.
"""

from __future__ import annotations

from fractions import Fraction

from sqlglot import exp

from discreet.data.engines.readings import Family
from discreet.data.schema.columns import Category, Column, Ranged

PARSED_SCALE = 18
"""Decimals that are kept of a number in text."""
_MAX_DIGITS = 36
"""Digits of a number whose double certainly fits into 128 bits and into 38 digits."""
_AFTER_TIME = "[0-9]:[0-9]{2}.*[-+A-Za-z]"
"""What a text with a time and a zone looks like: a sign or a letter somewhere after the minutes."""
_SHORT_YEAR = r"^\s*[0-9]{1,3}[^0-9]"
"""What a text looks like whose year has lost digits: 24-01-05 is in no year that was meant."""
_BASIC = r"^\s*[0-9]{8}\s*$"
"""What a day looks like in the basic form of ISO 8601: 20240105."""

_SMALL = (
    (exp.DataType.Type.UTINYINT, 0, 2**8 - 1),
    (exp.DataType.Type.TINYINT, -(2**7), 2**7 - 1),
    (exp.DataType.Type.USMALLINT, 0, 2**16 - 1),
    (exp.DataType.Type.SMALLINT, -(2**15), 2**15 - 1),
    (exp.DataType.Type.UINT, 0, 2**32 - 1),
    (exp.DataType.Type.INT, -(2**31), 2**31 - 1),
)
"""DuckDB's types of less than 64 bits, the smallest first, and what each holds."""


def pack(code: exp.Expr, column: Column, dialect: str) -> exp.Expr:
    """Return a code in the smallest type that holds every declared one: DuckDB counts a third as long there.

    The type follows from what is declared, so that no data decide it; and since nothing but declared codes
    comes out of a cell, the cast cannot fail.
    """
    if dialect != "duckdb" or not isinstance(column, Category | Ranged):
        return code
    if isinstance(column, Category) and isinstance(column.values[0], str):
        # In the order of their bytes, in which DuckDB has texts, too.
        listed = sorted(map(str, column.values), key=str.encode)
        values: list[exp.Expr] = [exp.Literal.string(value) for value in listed]
        return exp.Cast(this=code, to=exp.DataType(this=exp.DataType.Type.ENUM, expressions=values))
    lower, upper = _find_ends(column)
    kinds = (kind for kind, least, most in _SMALL if least <= lower and upper <= most)
    return exp.Cast(this=code, to=exp.DataType(this=next(kinds, exp.DataType.Type.BIGINT)))


def unpack(codes: exp.Query) -> tuple[exp.Expr, list[exp.DataType]]:
    """Return the query of packed codes with texts as they are, for arrays, and the type of each code."""
    kinds = [
        code.to if isinstance(code, exp.Cast) else exp.DataType(this=exp.DataType.Type.TEXT)
        for code in (one.unalias() for one in codes.selects)
    ]

    def leave(node: exp.Expr) -> exp.Expr:
        is_listed = isinstance(node, exp.Cast) and node.to.this == exp.DataType.Type.ENUM
        return node.this if is_listed else node

    return codes.transform(leave), kinds


def _find_ends(column: Category | Ranged) -> tuple[int, int]:
    if isinstance(column, Ranged):
        return column.code_lower, column.code_upper
    codes = [int(value) for value in column.values]
    return min(codes), max(codes)


def text_bytes(cell: exp.Expr, dialect: str) -> exp.Expr:
    """Return the UTF-8 bytes of a cell's text, or its text as it is compared byte by byte."""
    text = exp.cast(cell, "text")
    if dialect == "postgres":
        return bytes_text(text, dialect)  # the database is in UTF8
    if dialect == "spark":
        # Spark's text may hold any bytes; those that are no UTF-8 would become alike only in Python.
        return exp.cast(_call("MAKE_VALID_UTF8", text), "binary")
    return _call("ENCODE", text)


def spell(value: str) -> exp.Expr:
    """Spell a declared value's bytes in hexadecimal digits: no rule of escapes or collations applies."""
    return exp.Literal.string(value.encode().hex())


def spell_bytes(digits: exp.Expr, dialect: str) -> exp.Expr:
    """Return the bytes that digits spell, as `text_bytes` returns them."""
    if dialect == "postgres":
        spelled = _call("DECODE", digits, exp.Literal.string("hex"))
        text = bytes_text(_call("CONVERT_FROM", spelled, exp.Literal.string("UTF8")), dialect)
        # As a query of its own, what does not depend on the row is computed once.
        return exp.Subquery(this=exp.Select(expressions=[text])) if isinstance(digits, exp.Literal) else text
    return _call("UNHEX", digits)


def bytes_text(cell: exp.Expr, dialect: str) -> exp.Expr:
    """Return bytes as text that every later query compares byte by byte."""
    if dialect == "postgres":
        return exp.Collate(this=cell, expression=exp.to_identifier("C", quoted=True))
    if dialect == "spark":
        return exp.cast(cell, "text")
    return _call("DECODE", cell)


def day(cell: exp.Expr, family: Family, dialect: str) -> exp.Expr:
    """Return the day of a cell, in UTC where it says a zone; missing where text does not say a day."""
    if family == "text":
        zoned = exp.TryCast(this=cell.copy(), to=exp.DataType.build("timestamptz"))
        basic = _call("TRY_STRPTIME", cell.copy(), exp.Literal.string("%Y%m%d"))
        return (
            exp.case()
            .when(_matches(cell, _SHORT_YEAR), exp.cast(exp.null(), "date"))
            .when(_matches(cell, _BASIC), exp.cast(basic, "date"))
            .when(_matches(cell, _AFTER_TIME), day(zoned, "zoned", dialect))
            .else_(exp.TryCast(this=cell, to=exp.DataType.build("date")))
        )
    if family != "zoned":
        return exp.cast(cell, "date")
    if dialect == "spark":
        # Casting to a date would use the session's time zone; seconds since 1970 do not.
        seconds = exp.Div(
            this=exp.cast(cell, "bigint"), expression=exp.cast(exp.Literal.number("86400.0"), "double")
        )
        return _call("DATE_FROM_UNIX_DATE", exp.cast(exp.Floor(this=seconds), "int"))
    return exp.cast(exp.AtTimeZone(this=cell, zone=exp.Literal.string("UTC")), "date")


def exact_steps(cell: exp.Expr, grid: Fraction, family: Family, scale: int, dialect: str) -> exp.Expr | None:
    """Return the step of a grid nearest to a whole or decimal number, halves upwards, rounding once.

    None where the engine has no type that is wide enough.

    Parameters
    ----------
    cell
        A number of which `scale` decimals are kept, no more than 2**53 steps from 0.
    """
    if dialect == "postgres" and family == "decimal":
        return _nearest(_times(cell, grid.denominator), exp.Literal.number(grid.numerator))
    step = grid * 10**scale
    digits = max(len(str(step.numerator)), scale)
    if step.denominator != 1 or digits > _MAX_DIGITS:
        return None
    if family == "integer":
        return _nearest(exp.cast(cell, "bigint"), exp.cast(exp.Literal.number(step.numerator), "bigint"))
    if dialect == "spark":
        # No wider than its digits: Spark rounds what it computes from wider types.
        written = exp.Literal.string(_decimal(step.numerator, scale))
        return _nearest(cell, exp.cast(written, f"decimal({digits}, {scale})"))
    unscaled = exp.Replace(
        this=exp.cast(cell, "text"), expression=exp.Literal.string("."), replacement=exp.Literal.string("")
    )
    return _nearest(exp.cast(unscaled, "int128"), exp.cast(exp.Literal.number(step.numerator), "int128"))


def _nearest(cell: exp.Expr, step: exp.Expr) -> exp.Expr:
    """Divide towards 0, then look at the rest, whose sign is the cell's."""
    rest = exp.Paren(this=exp.Mod(this=exp.Paren(this=cell.copy()), expression=step.copy()))
    twice = exp.Add(this=rest, expression=rest.copy())
    away = (
        exp.case()
        .when(exp.GTE(this=twice, expression=step.copy()), exp.Literal.number(1))
        .when(
            exp.LT(this=twice.copy(), expression=exp.Neg(this=step.copy())),
            exp.Neg(this=exp.Literal.number(1)),
        )
        .else_(exp.Literal.number(0))
    )
    whole = exp.cast(exp.IntDiv(this=exp.Paren(this=cell), expression=step), "bigint")
    return exp.Add(this=whole, expression=exp.cast(away, "bigint"))


def _times(cell: exp.Expr, factor: int) -> exp.Expr:
    return cell if factor == 1 else exp.Mul(this=cell, expression=exp.Literal.number(factor))


def _decimal(digits: int, scale: int) -> str:
    """Write digits / 10**scale."""
    padded = str(digits).rjust(scale + 1, "0")
    return f"{padded[: len(padded) - scale]}.{padded[len(padded) - scale :]}"


def _matches(cell: exp.Expr, pattern: str) -> exp.Expr:
    return _call("REGEXP_MATCHES", cell.copy(), exp.Literal.string(pattern))


def _call(name: str, *arguments: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=list(arguments))
