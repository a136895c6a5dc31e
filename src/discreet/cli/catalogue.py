"""`discreet catalogue`: every algorithm with its theorem."""

from __future__ import annotations

import json

import click
from rich.console import Console
from rich.table import Table

from discreet.catalogue import catalogue as every_card


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def catalogue(as_json: bool) -> None:
    """List every algorithm, what it guarantees and where that is proved."""
    cards = every_card()
    if as_json:
        fields = ("name", "family", "title", "theorem", "reference")
        click.echo(json.dumps([{f: getattr(card, f) for f in fields} for card in cards], indent=2))
        return
    table = Table(title=f"{len(cards)} algorithms")
    table.add_column("name", no_wrap=True)
    for heading in ("family", "guarantee", "reference"):
        table.add_column(heading, overflow="fold")
    for card in cards:
        table.add_row(card.name, card.family, card.theorem, card.reference.replace("[", r"\["))
    Console().print(table)
