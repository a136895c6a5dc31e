"""The file that `ask` and `init` read, and the table of it where it is a database."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from discreet.data.credentials import show_path

F = TypeVar("F", bound=Callable[..., Any])
_SUFFIXES = (".csv", ".csv.gz", ".parquet", ".duckdb", ".db")


class DataFile(click.Path):
    """A file that exists. Unlike click's own, its error does not repeat what may hold a password."""

    def convert(
        self, value: str | os.PathLike[str], param: click.Parameter | None, ctx: click.Context | None
    ) -> str:
        """Return the path of a file that exists."""
        path = os.fspath(value)
        if not Path(path).is_file():
            tables = (
                "A table of PostgreSQL or Spark is opened from Python: `discreet.data.template` and `Table`"
            )
            self.fail(f"it must be a file that exists, got {show_path(path)}. {tables}.", param, ctx)
        return path


def data_file(command: F) -> F:
    """Add the argument DATA and the option --table."""
    option = click.option(
        "--table", help="The table of a .duckdb file; schema.table where it is not in main."
    )
    return click.argument("data", type=DataFile())(option(command))


public_tables = click.option(
    "--public",
    multiple=True,
    metavar="NAME=FILE",
    help="The file of a public table that the schema declares (dimensions); once for each.",
)
"""The option --public."""


def read_public(public: tuple[str, ...], *, files: bool = True) -> dict[str, str]:
    """Return the files of public tables by name, or what a database calls them."""
    found: dict[str, str] = {}
    for one in public:
        name, sign, file = one.partition("=")
        if not (name and sign and file) or name in found:
            raise click.UsageError("--public takes NAME=FILE, each name once, for instance wards=wards.csv.")
        if files and not Path(file).is_file():
            raise click.UsageError(f"--public must name a file that exists, got {show_path(file, name)}.")
        found[name] = file
    return found


def choose_data(data: str, table: str | None) -> str | tuple[str, str]:
    """Return the data as `Table` takes them."""
    if not data.endswith(_SUFFIXES):
        rule = "DATA must be a .csv, .csv.gz or .parquet file, or a .duckdb file with --table"
        raise click.ClickException(f"{rule}, got {show_path(data)}.")
    if Path(data).suffix in (".duckdb", ".db"):
        if table is None:
            raise click.UsageError("a DuckDB file holds several tables: name one with --table.")
        return data, table
    if table is not None:
        raise click.UsageError("--table is for .duckdb files: another file holds one table.")
    return data
