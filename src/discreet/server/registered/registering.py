"""How a table comes into a registration file: checked, opened once, and written in one step."""

from __future__ import annotations

import fcntl
import os
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.accounting.deltas import read_delta
from discreet.core.errors import InvalidParameter
from discreet.curator.expects import read_expects
from discreet.curator.hypotheses.opening import price_later, read_version
from discreet.curator.hypotheses.shared import choose_columns
from discreet.data.schema.columns import Identifier
from discreet.data.schema.schema import User
from discreet.data.schema.toml_file import read_schema, toml_value
from discreet.server.open_datasets import open_table
from discreet.server.registered.public_tables import require_public
from discreet.server.registered.registration import Dataset, read_registration, require_own_name

_HEAD = """\
# Which tables `discreet serve` stands in front of, and on which budgets. A budget is set once.
book = "budget.db"      # what was spent: keep it, and never restore an older copy
access = "access.db"    # keys, grants and studies
tick = 0.5              # seconds between the public times at which replies leave
"""


@dataclass(frozen=True, slots=True)
class Registered:
    """A table that was registered.

    Attributes
    ----------
    facts
        What the registration file says of it.
    shared
        The epsilon that buys the shared hypothesis.
    columns
        What that is about.
    question
        The most that one question may cost.
    hidden
        Which change the budget hides.
    unused
        The column that says whose a row is where the schema protects single rows all the same, or "".
    """

    facts: Dataset
    shared: Fraction
    columns: tuple[str, ...]
    question: Fraction
    hidden: str
    unused: str

    @property
    def rest(self) -> Fraction:
        """The epsilon that is there for questions with a price."""
        return self.facts.epsilon - self.shared

    @property
    def later(self) -> Fraction:
        """What the shared hypothesis of a later version costs of the rest."""
        return price_later(self.shared, Fraction(0), self.rest, Fraction(0))[0]

    @property
    def questions(self) -> int:
        """How many questions at the full price there are at least."""
        return int(self.rest / self.question)


def register(path: Path, name: str, facts: Mapping[str, Any]) -> Registered:
    """Add a table to a registration file, which is made where there is none.

    Everything is checked first: what the file says, that the schema is complete and has that name, that the
    data can be opened with it. Nothing is measured, and what is registered stays as it is.

    Parameters
    ----------
    path
        The registration file.
    name
        What analysts call the table: the name in its schema.
    facts
        The keys of the file, such as data, schema, epsilon, delta.

    Raises
    ------
    InvalidParameter
        Where the name is taken, or anything is not as it must be. The file is as it was.
    """
    with _alone(path) as before:
        if path.exists() and name in read_registration(path).datasets:
            hint = "Other rows of the same people are another version of it: --version NAME"
            raise InvalidParameter(
                name="name", rule="new: a data set is registered once", value=name, hint=hint
            )
        return _replace(path, name, _append(before, name, facts))


def add_version(path: Path, name: str, *, version: str, schema: str, **rows: Any) -> Registered:
    """Say that a data set is served from other rows of the same people from now on, on the same budget.

    Parameters
    ----------
    path, name
        The registration file, and which of its data sets.
    version
        What the new state of the table is called.
    schema, rows
        Where it is declared and where its rows are (data, table, dsn_env, public), as the registration file
        has them; what is None stays as it was. So do the budget and all else.

    Raises
    ------
    InvalidParameter
        Where it has that version already, or the file is written in a way that must be edited by hand.
    """
    with _alone(path) as before:
        known = read_registration(path).datasets[name]
        if read_version(version) == known.version:
            raise InvalidParameter(name="version", rule="another than it has now", value=version)
        wanted = {"schema": schema, "version": version}
        wanted |= {key: value for key, value in rows.items() if value is not None}
        text = _change(before, name, wanted)
        try:
            draft = tomllib.loads(text)["datasets"][name]
        except (tomllib.TOMLDecodeError, KeyError):
            draft = {}
        if any(draft.get(key) != value for key, value in wanted.items()):
            hint = f'Write version = "{version}" into its section by hand'
            raise InvalidParameter(name="config", rule="as this command writes it", got="another", hint=hint)
        return _replace(path, name, text)


def _replace(path: Path, name: str, text: str) -> Registered:
    """Put a registration in the place of the one that is there, once what it says of a table is checked."""
    folder = path.resolve().parent
    handle, draft = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".toml", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        wanted = read_registration(Path(draft), called=path.name)
        require_public(wanted)
        checked = _check(wanted.datasets[name])
        os.chmod(draft, 0o644 if not path.exists() else path.stat().st_mode & 0o777)
        os.replace(draft, path)
    finally:
        Path(draft).unlink(missing_ok=True)
    _sync(folder)
    return checked


def relate(path: Path, file: str | os.PathLike[str]) -> str:
    """Return the path of a file as a registration file beside it has it."""
    return os.path.relpath(os.path.abspath(file), path.resolve().parent)


def _append(before: str, name: str, facts: Mapping[str, Any]) -> str:
    lines = [f"{key} = {_write(key, value)}" for key, value in facts.items() if value is not None]
    ending = "" if before.endswith("\n") or not before else "\n"
    return f"{before}{ending}\n[datasets.{toml_value(name)}]\n" + "\n".join(lines) + "\n"


def _change(before: str, name: str, facts: Mapping[str, Any]) -> str:
    """Return a registration with other values of some keys in the section of a data set."""
    heads = {f"[datasets.{name}]", f"[datasets.{toml_value(name)}]"}
    lines, inside, left = [], False, dict(facts)
    for line in before.splitlines():
        if line.lstrip().startswith("["):
            inside = line.strip() in heads
            lines.append(line)
            continue
        key = line.partition("=")[0].strip()
        if inside and key in left:
            line = f"{key} = {_write(key, left.pop(key))}"  # noqa: PLW2901  one line for another
        lines.append(line)
    for place, line in enumerate(lines):
        if line.strip() in heads:
            lines[place + 1 : place + 1] = [f"{key} = {_write(key, value)}" for key, value in left.items()]
    return "\n".join(lines) + "\n"


def _write(key: str, value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{toml_value(one)} = {_write(one, of)}" for one, of in value.items()) + " }"
    try:
        return toml_value(tuple(value) if isinstance(value, list) else value)
    except InvalidParameter:
        raise InvalidParameter(name=key, rule="a decimal number", value=value) from None


def _check(added: Dataset) -> Registered:
    """Check what can be checked without measuring anything, and say how the budget will be divided."""
    read_delta(added.delta, large=added.large_delta)
    schema = read_schema(added.schema)
    require_own_name(added.name, schema.name)
    with open_table(added) as table:
        expected = read_expects(added.expects, table, added.columns)
        part = expected.shared if added.shared is None else added.shared
        columns = (added.columns or choose_columns(table)) if part else ()
    price = expected.price(added.epsilon, part) if added.question is None else added.question[0]
    unit = schema.unit
    counted = f", of whom {unit.max_rows} rows count" if isinstance(unit, User) else ""
    owners = [one.name for one in schema.columns if isinstance(one, Identifier)]
    unused = owners[0] if owners and not isinstance(unit, User) else ""
    return Registered(added, part * added.epsilon, columns, price, f"{schema.neighbours}{counted}", unused)


@contextmanager
def _alone(path: Path) -> Iterator[str]:
    """Let one process at a time write a registration in a folder; return what it says so far."""
    folder = path.resolve().parent
    if not folder.is_dir():
        raise InvalidParameter(name="config", rule="a file in a folder that exists", got="another")
    handle = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield path.read_text(encoding="utf-8") if path.exists() else _HEAD
    finally:
        os.close(handle)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
