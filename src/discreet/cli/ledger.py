"""`discreet ledger`: check a book of ledgers, and recover a damaged one."""

from __future__ import annotations

import json
from typing import Any

import click

from discreet.accounting.charges import words
from discreet.core.errors import DiscreetError

_ANCHOR = "The file beside the book that knows how far it was; beside a file by default."


@click.group()
def ledger() -> None:
    """Check what was spent on a book of ledgers, recover a damaged one, or retire a data set."""


@ledger.command()
@click.argument("book", callback=lambda context, parameter, value: _read_book(value, parameter, context))
@click.option("--anchor", type=click.Path(dir_okay=False), help=_ANCHOR)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of a table.")
def verify(book: str, *, anchor: str | None, as_json: bool) -> None:
    """Check every row of a book against the one before it, and the last against the anchor.

    BOOK is the path of a file, or postgresql://… (then with --anchor).
    """
    from discreet.curator.ledger.books.verification import verify as check  # noqa: PLC0415  slow to import

    try:
        report = check(book, anchor=anchor)
    except DiscreetError as error:
        raise click.ClickException(str(error)) from None
    if as_json:
        click.echo(json.dumps(_plain(report), indent=2))
        return
    click.echo(f"sound: {report.rows} rows of book {report.book[:8]}")
    for one in report.budgets:
        budget = words({"epsilon": one.epsilon, "delta": one.delta})
        ended = f"; retired: {one.retired}" if one.retired else ""
        click.echo(f"{one.kind} {one.name}: {budget}; {one.entries} charged, {words(one.spent)} spent{ended}")


@ledger.command()
@click.argument("book", callback=lambda context, parameter, value: _read_book(value, parameter, context))
@click.option("--anchor", type=click.Path(dir_okay=False), help=_ANCHOR)
@click.option(
    "--yes",
    "sure",
    is_flag=True,
    help="Nobody has it open, and every other copy of it is gone: two copies would spend one budget twice.",
)
def recover(book: str, *, anchor: str | None, sure: bool) -> None:
    """Keep what is sound of a book. What was spent can only grow by it; the old one is put aside.

    BOOK is the path of a file, or postgresql://… (then with --anchor).
    """
    from discreet.curator.ledger.books.recovery import recover as mend  # noqa: PLC0415  slow to import

    if not sure:
        raise click.UsageError("make sure that every other copy of this book is gone, and say --yes")
    try:
        done = mend(book, anchor=anchor)
    except DiscreetError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"kept {done.kept} rows, lost {done.lost}; the old one is {done.put_aside.name}")
    if not done.anchored:
        click.echo("there was no anchor to believe: every budget in it counts as spent")
    for kind, name, line in done.raised:
        click.echo(f"{kind} {name}, {line}: has spent more than its entries say")


@ledger.command()
@click.argument("book", callback=lambda context, parameter, value: _read_book(value, parameter, context))
@click.argument("name")
@click.option("--why", required=True, help="Why, in a sentence. Everybody can read it.")
@click.option("--anchor", type=click.Path(dir_okay=False), help=_ANCHOR)
@click.option("--yes", "sure", is_flag=True, help="It is meant: nothing brings a data set back.")
def retire(book: str, name: str, *, why: str, anchor: str | None, sure: bool) -> None:
    """Look at the data set NAME no more, for ever. The server must be stopped first, and may go on then.

    BOOK is the path of a file, or postgresql://… (then with --anchor).
    """
    from discreet.curator.ledger.books.files import retire_dataset  # noqa: PLC0415  slow to import

    if not sure:
        raise click.UsageError(f"nothing brings {name} back: say --yes if that is meant")
    try:
        retire_dataset(book, name, why, anchor=anchor)
    except DiscreetError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"{name} is retired: what was told is told again, and nothing more is measured")


def _read_book(value: str, parameter: click.Parameter, context: click.Context) -> str:
    """Return an address as it is, and a path that must be that of a file."""
    if "://" in value:
        return value
    return str(click.Path(exists=True, dir_okay=False).convert(value, parameter, context))


def _plain(report: Any) -> dict[str, Any]:
    """Return a report as JSON has it: exact amounts as text."""
    return {
        "book": report.book,
        "rows": report.rows,
        "budgets": [
            {
                "kind": one.kind,
                "name": one.name,
                "epsilon": str(one.epsilon),
                "delta": str(one.delta),
                "neighbours": one.neighbours,
                "entries": one.entries,
                "spent": {name: str(amount) for name, amount in one.spent.items()},
                "retired": one.retired,
            }
            for one in report.budgets
        ],
    }
