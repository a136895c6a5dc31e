"""`discreet ask --server` and `discreet plan --server`: the same of a data set that a server answers for."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from discreet.cli.server_files import as_json, read_number, say_errors
from discreet.core.errors import InvalidParameter

if TYPE_CHECKING:
    from discreet.client.remote_analyst import RemoteAnalyst

F = TypeVar("F", bound=Callable[..., Any])
VARIABLE = "DISCREET_KEY"
_LONGEST = 4096


def _common(command: F) -> F:
    """Add the arguments both commands take."""
    for part in (
        as_json,
        click.option(
            "--send-key-in-clear",
            is_flag=True,
            help="Speak plain http with another machine: whoever is on the way can read key and answers.",
        ),
        click.option(
            "--authorities",
            type=click.Path(exists=True, dir_okay=False),
            help="A file of certificates to believe in place of the system's.",
        ),
        click.option("--delta", metavar="NUMBER", help="Of the same."),
        click.option(
            "--epsilon", metavar="NUMBER", help="The most it may cost; what the owner chose by default."
        ),
        click.option("--study", help="What it is asked for."),
        click.option("--fresh", is_flag=True, help="Measure it by itself, even where it could be free."),
        click.option("--dataset", help="What it is about; may be left out where the key opens only one."),
        click.option(
            "--key-file",
            type=click.Path(exists=True, dir_okay=False, path_type=Path),
            help=f"The file that holds your key; the variable {VARIABLE} by default.",
        ),
        click.option("--server", required=True, metavar="URL", help="Where the server is."),
        click.argument("sql"),
    ):
        command = part(command)
    return command


@click.command(name="ask")
@_common
@click.option("--insist", is_flag=True, help="Answer even where an interval spans most of what is possible.")
@click.option("--once", metavar="NAME", help="Your name for this question: asked again under it, it is free.")
def ask_server(sql: str, *, insist: bool, once: str | None, as_json: bool, **given: Any) -> None:
    """Ask a server one question, on the budget that its owner set."""
    from discreet.curator.kept.written_reply import write_reply  # noqa: PLC0415  slow to import

    with say_errors(), _connect(given) as door:
        reply = door.sql(sql, insist=insist, key=once, **_read_options(given))
    click.echo(json.dumps(write_reply(reply), indent=2) if as_json else repr(reply))


@click.command(name="plan")
@_common
def plan_server(sql: str, *, as_json: bool, **given: Any) -> None:
    """Ask a server what a question would cost, and how accurate it would be. It costs nothing."""
    from discreet.curator.kept.written_reply import write_quote  # noqa: PLC0415  slow to import

    with say_errors(), _connect(given) as door:
        quote = door.plan(sql, **_read_options(given))
    click.echo(json.dumps(write_quote(quote), indent=2) if as_json else repr(quote))


def _connect(given: dict[str, Any]) -> RemoteAnalyst:
    from discreet.client.connecting import connect  # noqa: PLC0415  slow to import

    return connect(
        given["server"],
        _read_key(given["key_file"]),
        dataset=given["dataset"],
        authorities=given["authorities"],
        send_key_in_clear=given["send_key_in_clear"],
    )


def _read_options(given: dict[str, Any]) -> dict[str, Any]:
    numbers = {
        name: None if given[name] is None else read_number(name, given[name]) for name in ("epsilon", "delta")
    }
    return {"fresh": given["fresh"], "study": given["study"], **numbers}


def _read_key(file: Path | None) -> str:
    """Return the key of a file, or of the environment; never of the command line, which others can list."""
    if file is None:
        key = os.environ.get(VARIABLE, "")
    else:
        try:
            key = file.read_text(encoding="ascii")[:_LONGEST]
        except (OSError, UnicodeDecodeError):
            raise InvalidParameter(name="key file", rule="a file that holds a key", got="another") from None
    if not key.strip():
        raise InvalidParameter(
            name="key", rule=f"in --key-file, or in the variable {VARIABLE}", got="nowhere"
        )
    return key.strip()
