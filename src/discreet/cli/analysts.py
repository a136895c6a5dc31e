"""`discreet analysts`: who may ask a server, about what, and with which share of the budget."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import click

from discreet.cli.server_files import (
    as_json,
    config,
    find_dataset,
    grant,
    open_access,
    require_new,
    write_key,
)
from discreet.core.errors import InvalidParameter

_SHARE = click.option("--share", metavar="NUMBER", help="The most of the budget she may use: 0.25, or 1/3.")
_DATASET = click.option("--dataset", help="What she may ask about.")


@click.group()
def analysts() -> None:
    """Let analysts in, list them, and lock them out; also while the server runs."""


@analysts.command()
@click.argument("name")
@_DATASET
@_SHARE
@click.option(
    "--role",
    default="analyst",
    show_default=True,
    type=click.Choice(["analyst", "auditor", "owner"]),
    help="An analyst asks; an auditor reads what was spent; an owner does both.",
)
@click.option("--days", type=click.IntRange(min=1), help="How long the key is good for; for ever by default.")
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the key to this new file, which nobody else can read, instead of printing it.",
)
@config
def add(
    name: str,
    *,
    dataset: str | None,
    share: str | None,
    role: Any,
    days: int | None,
    out: Path | None,
    config: Path,
) -> None:
    """Make a key for NAME. It is printed once: what is kept of it cannot be turned back into it."""
    if (dataset is None) != (share is None):
        raise click.UsageError("--dataset and --share go together.")
    with open_access(config) as (registration, access):
        require_new(out)
        if dataset is not None and share is not None:
            grant(access, registration, name, dataset, share)
        write_key(access.make_key(name, role=role, days=days), out)
        opens = role != "analyst" or any(who == name for who, _, _ in access.list_grants())
    if out is not None:
        click.echo(f"The key of {name} is in {out}.")
    if not opens:
        click.echo(
            f"It opens no data set yet: `discreet analysts grant {name} --dataset … --share …`.", err=True
        )


@analysts.command(name="grant")
@click.argument("name")
@click.option("--dataset", required=True, help="What she may ask about.")
@click.option("--share", required=True, metavar="NUMBER", help="The most of the budget she may use.")
@config
def grant_share(name: str, *, dataset: str, share: str, config: Path) -> None:
    """Let NAME, who has a key, ask about another data set. A share is set once."""
    with open_access(config) as (registration, access):
        if all(one.name != name for one in access.list_keys()):
            raise InvalidParameter(
                name="NAME",
                rule="somebody who has a key",
                value=name,
                hint="`discreet analysts add` makes one",
            )
        part = grant(access, registration, name, dataset, share)
    click.echo(f"{name} may use {part} of the budget of {dataset}.")


@analysts.command()
@click.argument("which", metavar="NAME_OR_KEY_ID")
@config
def revoke(which: str, *, config: Path) -> None:
    """Let a key, or all keys of a name, open nothing from now on."""
    with open_access(config) as (_, access):
        count = access.revoke(which)
        if not count:
            hint = "`discreet analysts list` shows them"
            raise InvalidParameter(
                name="NAME_OR_KEY_ID", rule="one that opens something", value=which, hint=hint
            )
    click.echo(f"{count} key{'s' if count > 1 else ''} revoked.")


@analysts.command(name="list")
@click.option("--dataset", help="Those who may ask about this one.")
@config
@as_json
def list_analysts(*, dataset: str | None, config: Path, as_json: bool) -> None:
    """List keys, never themselves, and what each opens."""
    with open_access(config) as (registration, access):
        if dataset is not None:
            find_dataset(registration, dataset)
        shares: dict[str, dict[str, str]] = {}
        for name, where, share in access.list_grants():
            shares.setdefault(name, {})[where] = str(share)
        keys = [
            {
                "name": one.name,
                "role": one.role,
                "key": one.id,
                "created": one.created,
                "expires": one.expires,
                "revoked": one.revoked,
                "shares": shares.get(one.name, {}),
            }
            for one in access.list_keys()
            if dataset is None or dataset in shares.get(one.name, {})
        ]
    if as_json:
        click.echo(json.dumps(keys, indent=2))
        return
    for row in keys:
        click.echo(_describe(row))


def _describe(row: dict[str, Any]) -> str:
    opens = ", ".join(f"{share} of {where}" for where, share in row["shares"].items()) or "no data set"
    state = "good for ever" if row["expires"] is None else f"good until {_day(row['expires'])}"
    if row["revoked"] is not None:
        state = f"revoked {_day(row['revoked'])}"
    elif row["expires"] is not None and row["expires"] <= time.time():
        state = f"ended {_day(row['expires'])}"
    return f"{row['name']} ({row['role']}), key {row['key']}, {state}: {opens}"


def _day(seconds: int) -> str:
    return time.strftime("%Y-%m-%d", time.gmtime(seconds))
