"""`discreet audit <mechanism>`: try to break a guarantee while you watch."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Iterator
from difflib import get_close_matches

import click
from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from discreet.audit.rows import AuditRow, audit_card
from discreet.audit.samplers import DRAWS
from discreet.catalogue import catalogue, find
from discreet.core.card import Card
from discreet.core.errors import InvalidParameter


@click.command()
@click.argument("names", nargs=-1, metavar="[MECHANISM]...")
@click.option(
    "--samples",
    default=0,
    type=click.IntRange(min=0),
    show_default=True,
    help="Also run that many black-box samples a side.",
)
@click.option(
    "--draws",
    default=DRAWS,
    type=click.IntRange(min=0),
    show_default=True,
    help="Draw every random step that often and compare with its law; 0 leaves samplers out.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def audit(names: tuple[str, ...], samples: int, draws: int, as_json: bool) -> None:
    """Compare what mechanisms claim with what they do; all of them, in about ten minutes, if none is named.

    Exact audits enumerate the output distribution of the shipped code on tiny instances, over every
    listed pair of neighbours. The ratio is what was measured over what is claimed: above 1 the guarantee
    is broken and the exit status is 1. Samplers are held against their laws: there the most surprising event
    is shown, its probability and its share of the draws; a right sampler fails once in 10**9 audits.
    """
    cards = [_card(name) for name in names] or list(catalogue())
    if not names:
        click.echo(
            f"Auditing all {len(cards)} mechanisms: about ten minutes on one core; the table comes last. "
            "`discreet audit laplace` audits one; `discreet catalogue` lists them.",
            err=True,
        )
    rows: list[tuple[str, AuditRow]] = []
    for card in _show_progress(cards, quiet=as_json):
        rows += [(card.name, row) for row in audit_card(card, samples=samples, draws=draws)]
    if as_json:
        found = [{"card": name, **dataclasses.asdict(row)} for name, row in rows]
        click.echo(json.dumps(found, indent=2))
    else:
        Console().print(_table(rows))
    sys.exit(0 if all(row.holds for _, row in rows) else 1)


def _show_progress(cards: list[Card], *, quiet: bool) -> Iterator[Card]:
    """Yield cards under a bar that names the one at work; where no terminal shows a bar, a line for each."""
    console = Console(stderr=True)
    with Progress(console=console, transient=True, disable=quiet or not console.is_terminal) as progress:
        task = progress.add_task("auditing", total=len(cards))
        for done, card in enumerate(cards):
            progress.update(task, completed=done, description=f"auditing {card.name}")
            if not quiet and not console.is_terminal and len(cards) > 1:
                console.print(f"auditing {card.name} ({done + 1} of {len(cards)})", highlight=False)
            yield card


def _card(name: str) -> Card:
    try:
        return find(name.lower())
    except InvalidParameter:
        known = [card.name for card in catalogue()]
        near = get_close_matches(name.lower(), known, n=1)
        hint = f" Did you mean {near[0]}?" if near else f" Known: {', '.join(known)}."
        raise click.UsageError(f"there is no mechanism {name!r}.{hint}") from None


def _table(rows: list[tuple[str, AuditRow]]) -> Table:
    """Give every instance a line of its own above its numbers: both fit a narrow terminal."""
    table = Table(title="claimed against measured", show_lines=False)
    table.add_column("instance and what was compared", overflow="fold", ratio=1)
    for heading in ("claimed", "measured", "ratio", "holds"):
        table.add_column(heading, justify="right", no_wrap=True)
    for name, row in rows:
        numbers = (f"{row.claimed:.5g}", f"{row.measured:.5g}", f"{row.ratio:.4f}")
        verdict = "[green]yes[/]" if row.holds else "[bold red]NO[/]"
        words = f"{name}: {row.mechanism}\n  {row.method}: {row.view}"
        table.add_row(words.replace("[", r"\["), *numbers, verdict, end_section=True)
    return table
