"""What the commands of a server's owner share: the registration file and the file of keys."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from discreet.core.errors import DiscreetError, InvalidParameter

if TYPE_CHECKING:
    from discreet.server.access import Access
    from discreet.server.registered.registration import Dataset, Registration

F = TypeVar("F", bound=Callable[..., Any])

_OPTIONS = {
    "pass insist=True": "give --insist",
    "open the curator with shared=0": "give examples of other questions by --expects",
    "Pass large_delta=True": "Write large_delta = true into the registration file by hand",
    "send_key_in_clear=True speaks": "--send-key-in-clear speaks",
}
"""What parameters are called in the shell."""


def config(command: F) -> F:
    """Add the option --config."""
    return click.option(
        "--config",
        default="discreet.toml",
        show_default=True,
        type=click.Path(dir_okay=False, path_type=Path),
        help="The registration file.",
    )(command)


def as_json(command: F) -> F:
    """Add the option --json."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")(command)


@contextmanager
def say_errors() -> Iterator[None]:
    """Say errors of ours as one sentence."""
    try:
        yield
    except DiscreetError as error:
        raise click.ClickException(_say_as_options(str(error))) from None


def _say_as_options(words: str) -> str:
    """Say a way out as it is gone from the shell, where it names a parameter of Python."""
    for parameter, option in _OPTIONS.items():
        words = words.replace(parameter, option)
    return words


@contextmanager
def open_access(path: Path) -> Iterator[tuple[Registration, Access]]:
    """Open the registration and the file of keys, which a server may have open at the same time."""
    from discreet.server.access import Access  # noqa: PLC0415  slow to import
    from discreet.server.registered.registration import read_registration  # noqa: PLC0415

    with say_errors():
        registration = read_registration(path)
        access = Access(registration.access)
        try:
            yield registration, access
        finally:
            access.close()


def find_dataset(registration: Registration, name: str) -> Dataset:
    """Return what is registered under a name."""
    if name not in registration.datasets:
        known = ", ".join(registration.datasets) or "none is"
        raise InvalidParameter(name="dataset", rule=f"registered ({known})", value=name)
    return registration.datasets[name]


def grant(access: Access, registration: Registration, name: str, dataset: str, share: str) -> Fraction:
    """Let an analyst ask about a data set; under a promise all shares must fit in its budget."""
    facts, part = find_dataset(registration, dataset), read_number("share", share)
    others = sum(
        (part for who, where, part in access.list_grants() if where == dataset and who != name), Fraction(0)
    )
    if facts.promise is not None and others + part > 1:
        raise InvalidParameter(
            name="share",
            rule=f"at most {1 - others}, which is not set aside yet: between analysts a promise is kept",
            value=part,
        )
    access.grant(name, dataset, part)
    return part


def write_key(key: str, out: Path | None) -> None:
    """Print a key, or write it to a new file that its owner alone can read. It is shown only now."""
    if out is None:
        click.echo(key)
        click.echo(
            "This key is shown only now. Send it on a safe way, and do not write it in programs.", err=True
        )
        return
    handle = _create(out)
    with os.fdopen(handle, "w", encoding="ascii") as file:
        file.write(key + "\n")


def require_new(out: Path | None) -> None:
    """Refuse a file of a key that cannot be made, before there is a key."""
    if out is not None:
        os.close(_create(out))
        out.unlink()


def _create(out: Path) -> int:
    try:
        return os.open(out, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    except FileExistsError:
        hint = "Move it away first: a key is never written over"
        raise InvalidParameter(
            name="out", rule="a new file", got=f"{out.name}, which exists already", hint=hint
        ) from None
    except OSError as problem:
        raise InvalidParameter(
            name="out", rule="a file that can be written", got=str(problem.strerror)
        ) from None


def read_number(name: str, text: str) -> Fraction:
    """Read a number exactly as it was written."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise InvalidParameter(
            name=name, rule="a number", value=text, hint="Write it as 0.5 or 1/2"
        ) from None
