"""`discreet init`: a schema template from the names and types of a file's columns."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.core.errors import DiscreetError


@click.command()
@click.argument("data", type=click.Path(exists=True, dir_okay=False))
@click.option("--name", help="What queries will call the table; the file's name where left out.")
@click.option(
    "--out", type=click.Path(dir_okay=False, path_type=Path), help="Write there instead of printing."
)
def init(data: str, name: str | None, out: Path | None) -> None:
    """Write a commented schema for a .csv, .csv.gz or .parquet file, to be completed by its owner.

    Only the names and types of the columns are looked at, never a value.
    """
    from discreet.data.template import template  # noqa: PLC0415  the engine is an extra

    try:
        text = template(data, name=name or Path(data).name.split(".")[0])
    except DiscreetError as error:
        raise click.ClickException(str(error)) from None
    if out is None:
        click.echo(text)
        return
    if out.exists():
        raise click.ClickException(f"{out} exists already. Remove it, or choose another --out.")
    out.write_text(text, encoding="utf-8")
    click.echo(
        f"Wrote {out}. Fill in the bounds and values: they are public, so never read them off the data."
    )
