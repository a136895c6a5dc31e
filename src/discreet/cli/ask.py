"""`discreet ask` and `discreet plan`: SQL over a file, with error bars; or its price alone."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click

from discreet.cli.data_file import choose_data, data_file, public_tables, read_public
from discreet.cli.server_files import read_number
from discreet.core.errors import DiscreetError

F = TypeVar("F", bound=Callable[..., Any])


class _HereOrThere(click.Command):
    """A command about a file here, or with --server about a data set there."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        if not any(one == "--server" or one.startswith("--server=") for one in args):
            return super().make_context(info_name, args, parent, **extra)
        from discreet.cli import ask_server  # noqa: PLC0415  seldom needed

        there: click.Command = getattr(ask_server, f"{self.name}_server")
        return there.make_context(info_name, args, parent, **extra)


def _common(command: F) -> F:
    """Add the arguments both commands take."""
    for part in (
        click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table."),
        click.option(
            "--delta",
            required=True,
            metavar="NUMBER",
            help="The failure probability the question may use; 0 for none, else far below 1 / people.",
        ),
        click.option("--epsilon", required=True, metavar="NUMBER", help="What the question may cost."),
        click.option(
            "--schema",
            required=True,
            type=click.Path(exists=True, dir_okay=False),
            help="What is public about the data, as TOML: `discreet init` writes a template.",
        ),
        click.argument("sql"),
    ):
        command = part(command)
    return command


@click.command(cls=_HereOrThere, epilog="Of a server: discreet ask --server URL --key-file FILE SQL")
@data_file
@_common
@click.option("--insist", is_flag=True, help="Answer even where an interval spans most of what is possible.")
@public_tables
def ask(
    data: str,
    sql: str,
    *,
    table: str | None,
    schema: str,
    epsilon: str,
    delta: str,
    as_json: bool,
    insist: bool,
    public: tuple[str, ...],
) -> None:
    """Answer one question about a .csv, .csv.gz, .parquet or .duckdb file with differential privacy.

    For the owner of the data: every call is a release, and nothing keeps count between calls.
    """
    from discreet.data.table import Table  # noqa: PLC0415  the engine is an extra

    try:
        offered, failing = read_number("epsilon", epsilon), read_number("delta", delta)
        with Table(choose_data(data, table), schema=schema, dimensions=read_public(public)) as opened:
            answer = opened.sql(sql, epsilon=offered, delta=failing, insist=insist)
    except DiscreetError as error:
        raise click.ClickException(_say_option(str(error))) from None
    if not as_json:
        click.echo(repr(answer))
        return
    intervals = {name: answer.interval(name, 0.95) for name in answer.numbers}
    reply = {"columns": answer.columns, "rows": answer.rows, "intervals_95": intervals}
    reply |= {"contribution_bounds": answer.plan.bounds, "guarantee": str(answer.guarantee)}
    click.echo(json.dumps(reply, indent=2, default=str))


def _say_option(words: str) -> str:
    """Return what an error says to do, as it is said on a command line."""
    words = words.replace("pass insist=True", "give --insist")
    return re.sub(r'Pass dimensions=\{"(\w+)": "([\w.]+)"\}, say', r"Give --public \1=\2, say", words)


@click.command(cls=_HereOrThere, epilog="Of a server: discreet plan --server URL --key-file FILE SQL")
@_common
def plan(sql: str, *, schema: str, epsilon: str, delta: str, as_json: bool) -> None:
    """Say what a question would cost and how accurate it would be. Reads no data; costs nothing."""
    from discreet.data.ask import plan_question  # noqa: PLC0415  the engine is an extra
    from discreet.data.plan.nodes import Policy  # noqa: PLC0415
    from discreet.data.schema.toml_file import read_schema  # noqa: PLC0415

    try:
        policy = Policy(epsilon=read_number("epsilon", epsilon), delta=read_number("delta", delta))
        planned = plan_question(sql, schemas=read_schema(schema), policy=policy)
    except DiscreetError as error:
        raise click.ClickException(str(error)) from None
    click.echo(json.dumps(planned.to_dict(), indent=2, default=str) if as_json else repr(planned))
