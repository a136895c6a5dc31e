"""The group that all commands hang on. A command's module is imported when the command runs."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

import click

from discreet import __version__
from discreet.core.errors import MissingExtra
from discreet.data.credentials import may_hold_password

_COMMANDS = {
    "analysts": "Who may ask a server, about what, with which share.",
    "ask": "Answer SQL about a data file, with error bars.",
    "audit": "Try to break the guarantees of mechanisms.",
    "catalogue": "List every algorithm with its theorem.",
    "collect": "Keep reports of the local model in a file; estimate from them.",
    "demo": "Three analysts, 100,000 questions, one budget; a report.",
    "init": "Write a schema template for a data file.",
    "ledger": "Check or recover a durable budget; retire a data set.",
    "plan": "Price a question in SQL; no data are read.",
    "register": "Put a table behind a server, on a budget.",
    "registry": "Write what data are used for and what that costs; check it.",
    "serve": "Answer analysts' questions over HTTP.",
    "studies": "What questions are asked for, and its share.",
}
"""Names and one-line summaries, so that --help need not import anything heavy."""


_HOMES = {"plan": "ask"}
"""Modules of commands that do not have their own."""


_EXTRAS = {"sqlglot": "data"} | dict.fromkeys(("fastapi", "starlette", "pydantic", "uvicorn"), "server")
"""What brings packages that many modules import."""


_EXTRA = "Got unexpected extra argument"
_ARGUMENTS = "discreet.arguments"


@contextmanager
def _withhold_passwords(arguments: Sequence[str]) -> Iterator[None]:
    """Take out of an error what may be a password: click repeats what it does not understand."""
    try:
        yield
    except click.ClickException as error:
        failed, said = error, error.format_message()
        if said.startswith("Usage: "):  # nothing was given, and click says in full what can be
            raise
    else:
        return
    if said.startswith(_EXTRA):  # any of them may belong to a connection string without quotes
        said = "there are more arguments than the command takes. Put quotes around each."
    for argument in arguments:
        value = argument.partition("=")[2] if argument.startswith("-") else argument
        if value != "postgres" and may_hold_password(value):  # that one is an engine
            said = said.replace(value, "(withheld)")
    if isinstance(failed, click.UsageError):
        raise click.UsageError(said, failed.ctx)
    raise click.ClickException(said)


class _Lazy(click.Group):
    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        given = tuple(args)
        with _withhold_passwords(given):
            context = super().make_context(info_name, args, parent, **extra)
        context.meta[_ARGUMENTS] = given
        return context

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            near = get_close_matches(cmd_name, _COMMANDS, n=1)
            ctx.fail(f"there is no command {cmd_name!r}.{f' Did you mean {near[0]}?' if near else ''}")
        home = _HOMES.get(cmd_name, cmd_name)
        command: click.Command = getattr(importlib.import_module(f"discreet.cli.{home}"), cmd_name)
        return command

    def invoke(self, ctx: click.Context) -> object:
        """Run a command; where it needs an extra, say which one brings it."""
        try:
            with _withhold_passwords(ctx.meta[_ARGUMENTS]):
                return super().invoke(ctx)
        except MissingExtra as missing:
            said = str(missing)
        except ModuleNotFoundError as missing:
            extra = _EXTRAS.get(missing.name or "")
            if extra is None:
                raise
            said = str(MissingExtra(package=str(missing.name), extra=extra))
        raise click.ClickException(said)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(_COMMANDS.items()))


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="discreet")
def commands() -> None:
    """Differential privacy whose every guarantee is checked by exact enumeration."""
