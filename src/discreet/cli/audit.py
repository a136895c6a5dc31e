"""`discreet audit <mechanism>`: try to break a guarantee while you watch."""

from __future__ import annotations

import dataclasses
import json
import sys

import click
from rich.console import Console
from rich.progress import track
from rich.table import Table

from discreet.audit.rows import Row, audit_card
from discreet.catalogue import catalogue, find
from discreet.core.errors import InvalidParameter


@click.command()
@click.argument("names", nargs=-1, metavar="[MECHANISM]...")
@click.option("--samples", default=0, show_default=True, help="Also run that many black-box samples a side.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def audit(names: tuple[str, ...], samples: int, as_json: bool) -> None:
    """Compare what mechanisms claim with what they do; all of them if none is named.

    Exact audits enumerate the output distribution of the shipped code on tiny instances, over every
    listed pair of neighbours. The ratio is what was measured over what is claimed: above 1 the guarantee
    is broken and the exit status is 1.
    """
    try:
        cards = [find(name) for name in names] or list(catalogue())
    except InvalidParameter as error:
        raise click.UsageError(str(error)) from None
    steps = track(cards, "auditing", console=Console(stderr=True), disable=as_json, transient=True)
    rows = [(card.name, row) for card in steps for row in audit_card(card, samples=samples)]
    if as_json:
        found = [{"card": name, **dataclasses.asdict(row)} for name, row in rows]
        click.echo(json.dumps(found, indent=2))
    else:
        Console().print(_table(rows))
    sys.exit(0 if all(row.holds for _, row in rows) else 1)


def _table(rows: list[tuple[str, Row]]) -> Table:
    table = Table(title="claimed against measured")
    for heading in ("card", "instance", "method", "compared"):
        table.add_column(heading, overflow="fold")
    for heading in ("claimed", "measured", "ratio"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("holds")
    for name, row in rows:
        numbers = (f"{row.claimed:.6g}", f"{row.measured:.6g}", f"{row.ratio:.4f}")
        verdict = "[green]yes[/]" if row.holds else "[bold red]NO[/]"
        table.add_row(name, row.mechanism.replace("[", r"\["), row.method, row.view, *numbers, verdict)
    return table
