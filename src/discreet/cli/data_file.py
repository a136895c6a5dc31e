"""The file that `ask` and `init` read, and the table of it where it is a database."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])


def data_file(command: F) -> F:
    """Add the argument DATA and the option --table."""
    option = click.option(
        "--table", help="The table of a .duckdb file; schema.table where it is not in main."
    )
    return click.argument("data", type=click.Path(exists=True, dir_okay=False))(option(command))


def chosen(data: str, table: str | None) -> str | tuple[str, str]:
    """Return the data as `Table` takes them."""
    if Path(data).suffix in (".duckdb", ".db"):
        if table is None:
            raise click.UsageError("a DuckDB file holds several tables: name one with --table.")
        return data, table
    if table is not None:
        raise click.UsageError("--table is for .duckdb files: another file holds one table.")
    return data
