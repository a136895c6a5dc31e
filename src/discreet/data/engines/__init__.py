"""Engines behind one small protocol, and the one place that tells them apart."""

from __future__ import annotations

import importlib
import os
import re
from collections.abc import Mapping
from typing import Any

from discreet.core.errors import InvalidParameter
from discreet.data.engines.base import Answer, EngineField, Source
from discreet.data.engines.failures import TIMEOUT

__all__ = ["Answer", "EngineField", "Source", "open_source"]

_RULE = (
    "a path of a .parquet, .csv or .csv.gz file, a pandas, polars, Arrow or Spark frame, "
    "(DuckDB connection or .duckdb path, table) or (PostgreSQL connection string, table)"
)
_DSN = re.compile(r"(?i)\s*(postgres(ql)?:|[a-z_]+\s*=)")
_FRAMES = {("pandas", "DataFrame"), ("polars", "DataFrame"), ("polars", "LazyFrame"), ("pyarrow", "Table")}


def open_source(inputs: Mapping[str, object], *, timeout: float = TIMEOUT) -> Source:
    """Open the engine that can read these inputs; all of them must be of one engine.

    Parameters
    ----------
    inputs
        What to read under which name.
    timeout
        Seconds one query may take once they are read.

    Raises
    ------
    InvalidParameter
        When an input is nothing we can read, or the inputs belong to different engines.
    MissingExtra
        When the engine's driver is not installed.
    """
    engines = {name: _engine(name, data) for name, data in inputs.items()}
    if len(set(engines.values())) != 1:
        raise InvalidParameter(name="data", rule="all of one engine", value=sorted(set(engines.values())))
    engine = engines.popitem()[1]
    module: Any = importlib.import_module(f"discreet.data.engines.{engine}")
    if engine == "duckdb":
        opened: Source = module.DuckDB(inputs, timeout=timeout)
    elif engine == "spark":
        opened = module.Spark(inputs, timeout=timeout)
    else:
        pairs: dict[str, tuple[str, str]] = dict(inputs)  # type: ignore[arg-type]  # _engine checked them
        servers = {dsn for dsn, _ in pairs.values()}
        if len(servers) != 1:
            raise InvalidParameter(name="data", rule="tables of one server", value=f"{len(servers)} servers")
        tables = {name: table for name, (_, table) in pairs.items()}
        opened = module.Postgres(servers.pop(), tables, timeout=timeout)
    return opened


def _engine(name: str, data: object) -> str:
    """Return the module that reads an input. Looks at its type, never into it."""
    if isinstance(data, str) and _DSN.match(data):
        raise InvalidParameter(name=f"{name} data", rule=_RULE, got="a connection string without a table")
    if isinstance(data, str | os.PathLike):
        return "duckdb"
    if isinstance(data, tuple) and len(data) == 2 and isinstance(data[1], str):
        owner = data[0]
        if isinstance(owner, str) and _DSN.match(owner):
            return "postgres"
        if isinstance(owner, str | os.PathLike) or _package(owner) in ("duckdb", "_duckdb"):
            return "duckdb"
    if _package(data) == "pyspark":
        return "spark"
    if (_package(data), type(data).__name__) in _FRAMES:
        return "duckdb"
    raise InvalidParameter(name=f"{name} data", rule=_RULE, value=type(data).__name__)


def _package(value: object) -> str:
    return type(value).__module__.split(".")[0]
