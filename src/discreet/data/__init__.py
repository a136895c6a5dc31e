"""Tables on real engines, their declared schema, and SQL.

>>> from discreet.data import Category, Integer, Row, Schema
>>> from discreet import AddRemove
>>> people = Schema(
...     "people",
...     columns=(Integer("age", lower=0, upper=120), Category("region", values=("north", "south"))),
...     unit=Row(),
...     neighbours=AddRemove("row"),
... )
>>> people.column("region").domain()
('north', 'south')
"""

from __future__ import annotations

import importlib
from typing import Any

from discreet.core.errors import MissingExtra
from discreet.data.schema import (
    Boolean,
    Category,
    Column,
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
from discreet.data.schema_toml import format_schema, parse_schema, read_schema

__all__ = [
    "Boolean",
    "Category",
    "Column",
    "Date",
    "Decimal",
    "Dimension",
    "Identifier",
    "Integer",
    "Row",
    "Schema",
    "Table",
    "Text",
    "User",
    "format_schema",
    "parse_schema",
    "read_schema",
]


def __getattr__(name: str) -> Any:
    """Load what needs an engine only when it is asked for: a schema needs none."""
    if name == "Table":
        try:
            return importlib.import_module("discreet.data.table").Table
        except ModuleNotFoundError as problem:
            if problem.name != "sqlglot":
                raise
        raise MissingExtra(package="sqlglot", extra="data")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
