"""`discreet registry`: write the epsilon registry as plain files, and check one."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

from discreet.core.errors import DiscreetError, MissingExtra


@click.group()
def registry() -> None:
    """Write what data are used for, and what that costs those in them, for all to read; or check it."""


@registry.command()
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    default=Path("discreet.toml"),
    show_default=True,
    help="The registration. Its book is only read, and may be in use.",
)
@click.option("--url", help="Read from a running server instead, such as http://127.0.0.1:8000.")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="The folder.")
@click.option(
    "--full", is_flag=True, help="For the owner and auditors: with names and questions, and all sums."
)
def export(config: Path, *, url: str | None, out: Path, full: bool) -> None:
    """Write a folder of plain files that anybody can host, read and check."""
    if full and url is not None:
        raise click.UsageError("--full needs the book: leave out --url")
    try:
        told = _fetch(url) if url is not None else _read(config, full)
        files = _import("export").write_site(told, out, is_private=full)
    except DiscreetError as error:
        raise click.ClickException(str(error)) from None
    click.echo(f"wrote {len(told)} data set{'s'[: len(told) != 1]} to {out}, {len(files)} files")


@registry.command()
@click.argument("where")
@click.option("--book", help="The book that it is about: a file, or postgresql://… together with --anchor.")
@click.option("--anchor", type=click.Path(dir_okay=False, path_type=Path), help="The book's anchor.")
@click.option(
    "--receipts",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="Receipts that were kept: JSON, one or a list of them, or of replies that hold them.",
)
def verify(where: str, *, book: str | None, anchor: Path | None, receipts: Path | None) -> None:
    """Check a registry: WHERE is an exported folder, a file of JSON or the address of a server."""
    try:
        found, files = _check(where, book, anchor, receipts)
    except DiscreetError as error:
        raise click.ClickException(str(error)) from None
    for one in found:
        for wrong in one.wrong:
            click.echo(f"{one.name}: {wrong}")
        if not one.wrong:
            click.echo(f"{one.name}: sound. Checked: {', '.join(one.checked)}")
    for name in files:
        click.echo(f"{name}: does not say what the JSON says")
    if files or any(one.wrong for one in found):
        raise click.exceptions.Exit(1)


def _check(
    where: str, book: str | None, anchor: Path | None, receipts: Path | None
) -> tuple[list[Any], list[str]]:
    registries = _import("fetching").read_registries(where)
    kept = () if receipts is None else _import("fetching").read_receipts(receipts)
    sound = None if book is None else _read_book(book, anchor)
    found = [_import("checking").check_registry(one, book=sound, receipts=kept) for one in registries]
    is_site = not where.startswith(("http://", "https://")) and Path(where).is_dir()
    return found, _import("export").compare_site(Path(where), list(registries)) if is_site else []


def _read(config: Path, full: bool) -> list[Any]:
    from discreet.server.registered.registration import read_registration  # noqa: PLC0415  slow to import

    sources = _import("sources").read_closed(read_registration(config))
    write = _import("view").write_registry
    return [write(one, "owner" if full else "public", newest=None) for one in sources]


def _fetch(url: str) -> list[Any]:
    return list(_import("fetching").fetch_registries(url))


def _import(name: str) -> Any:
    """Import a module of the registry: slow, and of an extra."""
    try:
        return importlib.import_module(f"discreet.server.registry.{name}")
    except ModuleNotFoundError as missing:
        raise MissingExtra(package=str(missing.name), extra="server") from None


def _read_book(path: str, anchor: Path | None) -> Any:
    from discreet.curator.ledger.books.verification import read_book  # noqa: PLC0415  slow to import

    return read_book(path, anchor=anchor)
