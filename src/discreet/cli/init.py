"""`discreet init`: a schema template from the names and types of a file's columns."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli.data_file import choose_data, data_file
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.data.credentials import may_hold_password


@click.command()
@data_file
@click.option("--name", help="What queries will call the table; its own or the file's name where left out.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write there instead of printing."
)
def init(data: str, table: str | None, name: str | None, out: Path | None) -> None:
    """Write a commented schema for a .csv, .csv.gz, .parquet or .duckdb file, for its owner to complete.

    Only the names and types of the columns are looked at, never a value.
    """
    from discreet.data.template import template  # noqa: PLC0415  the engine is an extra

    own = table.split(".")[-1] if table else Path(data).name.split(".")[0]
    try:
        text = template(choose_data(data, table), name=name or own)
    except DiscreetError as error:
        hint = "" if name else " Choose what queries will call the table with --name."
        named = isinstance(error, InvalidParameter) and error.name == "name"
        raise click.ClickException(f"{error}.{hint}" if named else str(error)) from None
    if out is None:
        click.echo(text)
        return
    if out.exists():
        raise click.ClickException(f"{_name_file(out)} exists already. Remove it, or choose another --out.")
    try:
        out.write_text(text, encoding="utf-8")
    except OSError as problem:
        raise click.UsageError(f"--out must be a file that can be written: {problem.strerror}.") from None
    advice = "Fill in the bounds and values: they are public, so never read them off the data."
    click.echo(f"Wrote {_name_file(out)}. {advice}")


def _name_file(out: Path) -> str:
    return "the file of --out" if may_hold_password(str(out)) else str(out)
