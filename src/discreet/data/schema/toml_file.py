"""A schema as a TOML file, both ways.

::

    name = "visits"
    neighbours = "add-remove"          # or "replace", which makes the number of units public

    [unit]                             # leave out where the unit is one row
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

    [dimensions.stores]
    key = "store"
    [dimensions.stores.columns.store]
    kind = "integer"
    lower = 1
    upper = 900
"""

from __future__ import annotations

import datetime
import decimal
import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.core.neighbours import AddRemove, Replace
from discreet.data.schema.columns import Boolean, Category, Column, Date, Decimal, Identifier, Integer, Text
from discreet.data.schema.schema import Dimension, Row, Schema, User

KINDS: dict[str, type[Column]] = {
    "category": Category,
    "integer": Integer,
    "decimal": Decimal,
    "boolean": Boolean,
    "date": Date,
    "identifier": Identifier,
    "text": Text,
}
_NEIGHBOURS: dict[str, type[AddRemove] | type[Replace]] = {"add-remove": AddRemove, "replace": Replace}
MAX_BYTES = 16_000_000
"""Size of a schema file."""


def read_schema(path: str | os.PathLike[str]) -> Schema:
    """Read a schema from a TOML file."""
    file = Path(path)
    if file.suffix != ".toml" or not file.is_file():
        raise InvalidParameter(name="schema", rule="the path of an existing .toml file", value=str(path))
    if file.stat().st_size > MAX_BYTES:
        raise InvalidParameter(name="schema", rule=f"a file of at most {MAX_BYTES} bytes", value=str(path))
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidParameter(name="schema", rule="a file in UTF-8", value=str(path)) from None
    return parse_schema(text)


def parse_schema(text: str) -> Schema:
    """Read a schema from TOML text. Errors name the key that is wrong."""
    try:
        given = tomllib.loads(text, parse_float=_decimal)
    except (ValueError, RecursionError) as error:
        hint = "Fill in every bound and value; text stands in quotes, dates do not"
        raise InvalidParameter(name="schema", rule="valid TOML", got=str(error), hint=hint) from None
    may = ("unit", "dimensions", "rows", "time")
    _only(given, "schema", needs=("name", "neighbours", "columns"), may=may)
    unit = _unit(given["unit"]) if "unit" in given else Row()
    made = _NEIGHBOURS[checks.one_of(tuple(_NEIGHBOURS), neighbours=given["neighbours"])]
    return Schema(
        given["name"],
        columns=_columns(given["columns"], "columns"),
        unit=unit,
        neighbours=made(unit.name),
        dimensions=tuple(
            _dimension(name, one) for name, one in _mapping(given.get("dimensions", {}), "dimensions").items()
        ),
        rows=given.get("rows"),
        time=given.get("time"),
    )


def _decimal(text: str) -> decimal.Decimal:
    """Read a number as the decimal it is written as, unless it is too long to handle."""
    number = decimal.Decimal(text)
    if number.is_finite() and abs(number.adjusted()) > 400:
        raise ValueError("a number with more than 400 digits")
    return number


def _unit(given: object) -> User:
    table = _mapping(given, "unit")
    _only(table, "unit", needs=("column", "max_rows", "max_groups"))
    return User(**table)


def _dimension(name: str, given: object) -> Dimension:
    where = f"dimensions.{name}"
    table = _mapping(given, where)
    _only(table, where, needs=("key", "columns"))
    return Dimension(name, key=table["key"], columns=_columns(table["columns"], f"{where}.columns"))


def _columns(given: object, where: str) -> tuple[Column, ...]:
    return tuple(_column(name, one, f"{where}.{name}") for name, one in _mapping(given, where).items())


def _column(name: str, given: object, where: str) -> Column:
    table = dict(_mapping(given, where))
    _only(table, where, needs=("kind",), may=tuple(table))
    made = KINDS[checks.one_of(tuple(KINDS), **{f"{where}.kind": table.pop("kind")})]
    known = tuple(field.name for field in fields(made) if field.name != "name")
    needed = tuple(name for name in known if name in ("values", "lower", "upper", "grid"))
    if made is Integer:
        needed = tuple(name for name in needed if name != "grid")
    _only(table, where, needs=needed, may=known)
    return made(name, **table)


def _mapping(given: object, where: str) -> dict[str, Any]:
    if not isinstance(given, dict):
        raise InvalidParameter(name=where, rule="a table", value=given)
    return given


def _only(
    given: Mapping[str, object], where: str, *, needs: tuple[str, ...], may: tuple[str, ...] = ()
) -> None:
    for key in given:
        if key not in needs and key not in may:
            rule = f"left out (known here: {', '.join(dict.fromkeys((*needs, *may)))})"
            raise InvalidParameter(name=f"{where}.{key}", rule=rule, value=given[key])
    for key in needs:
        if key not in given:
            hint = "Add [columns.<name>] for each" if key == "columns" else f"Write {key} = ... in the schema"
            raise InvalidParameter(name=f"{where}.{key}", rule="given", got="nothing", hint=hint)


def format_schema(schema: Schema) -> str:
    """Write a schema as TOML text that reads back as the same schema."""
    word = next(word for word, made in _NEIGHBOURS.items() if isinstance(schema.neighbours, made))
    lines = [f"name = {toml_value(schema.name)}", f"neighbours = {toml_value(word)}"]
    if schema.rows is not None:
        lines.append(f"rows = {schema.rows}")
    if schema.time is not None:
        lines.append(f"time = {toml_value(schema.time)}")
    if isinstance(schema.unit, User):
        lines += ["", "[unit]"]
        lines += [f"{field.name} = {toml_value(getattr(schema.unit, field.name))}" for field in fields(User)]
    lines += [line for column in schema.columns for line in _column_lines("columns", column)]
    for dimension in schema.dimensions:
        where = f"dimensions.{dimension.name}"
        lines += ["", f"[{where}]", f"key = {toml_value(dimension.key)}"]
        lines += [line for column in dimension.columns for line in _column_lines(f"{where}.columns", column)]
    return "\n".join(lines) + "\n"


def _column_lines(where: str, column: Column) -> list[str]:
    kind = next(word for word, made in KINDS.items() if type(column) is made)
    given = {field.name: getattr(column, field.name) for field in fields(column) if field.name != "name"}
    lines = [f"{name} = {toml_value(value)}" for name, value in given.items() if value is not None]
    return ["", f"[{where}.{column.name}]", f"kind = {toml_value(kind)}", *lines]


def toml_value(value: object) -> str:
    """Write one value as TOML."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | datetime.date):
        return str(value)
    if isinstance(value, Fraction):
        return _toml_number(value)
    if isinstance(value, tuple):
        return "[" + ", ".join(toml_value(one) for one in value) + "]"
    text = str(value).replace("\\", "\\\\").replace('"', '\\"')
    return '"' + "".join(c if c.isprintable() else f"\\U{ord(c):08x}" for c in text) + '"'


def _toml_number(value: Fraction) -> str:
    try:
        with decimal.localcontext(decimal.Context(prec=60, traps=[decimal.Inexact])):
            shown = format(decimal.Decimal(value.numerator) / value.denominator, "f")
    except decimal.Inexact:
        raise InvalidParameter(
            name="schema", rule="made of finite decimals to be written", value=value
        ) from None
    return shown
