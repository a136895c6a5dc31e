"""`discreet studies`: what questions are asked for, and how much of the budget that may use."""

from __future__ import annotations

import json
from pathlib import Path

import click

from discreet.cli.server_files import as_json, config, find_dataset, open_access, read_number


@click.group()
def studies() -> None:
    """Register what questions are asked for, each with a share of the budget; also while the server runs."""


@studies.command()
@click.argument("name")
@click.option("--dataset", required=True, help="What it asks about.")
@click.option("--share", required=True, metavar="NUMBER", help="The most of the budget it may use.")
@click.option("--purpose", required=True, help="Why, in a sentence. Everybody can read it.")
@config
def add(name: str, *, dataset: str, share: str, purpose: str, config: Path) -> None:
    """Register a study. It is registered once, and what it may use stays as it is."""
    with open_access(config) as (registration, access):
        find_dataset(registration, dataset)
        part = read_number("share", share)
        access.add_study(dataset, name, part, purpose=purpose)
    click.echo(f"The study {name} may use {part} of the budget of {dataset}.")


@studies.command(name="list")
@click.option("--dataset", help="Those of one data set.")
@config
@as_json
def list_studies(*, dataset: str | None, config: Path, as_json: bool) -> None:
    """List studies with their purposes."""
    with open_access(config) as (registration, access):
        if dataset is not None:
            find_dataset(registration, dataset)
        found = access.list_studies(dataset)
    if as_json:
        listed = [
            {"dataset": one.dataset, "name": one.name, "share": str(one.share), "purpose": one.purpose}
            for one in found
        ]
        click.echo(json.dumps(listed, indent=2))
        return
    for one in found:
        click.echo(f"{one.name} of {one.dataset}, {one.share} of the budget: {one.purpose}")
