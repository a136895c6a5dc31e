"""The tables of a server, opened: one curator for each, on one book."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from discreet.core.errors import InvalidParameter
from discreet.curator.curator import Curator
from discreet.curator.doors import Analyst
from discreet.curator.ledger.books.files import open_book
from discreet.data.file_marks import FileMark, look_at
from discreet.data.schema.toml_file import read_schema
from discreet.data.table import Table
from discreet.server.access import Access, KeyFacts
from discreet.server.registered.public_tables import require_public
from discreet.server.registered.registration import Dataset, Registration, require_own_name, say_where


@dataclass(frozen=True, slots=True, eq=False)
class OpenDataset:
    """A table that is served.

    Attributes
    ----------
    facts
        What its owner registered.
    table, curator
        Where its rows are, and who answers.
    """

    facts: Dataset
    table: Table
    curator: Curator

    @property
    def is_apart(self) -> bool:
        """Whether analysts are promised that nobody learns what they ask."""
        return self.facts.promise is not None


class OpenDatasets:
    """All tables of a registration, with the file of keys.

    Parameters
    ----------
    registration
        What to open.
    note
        Called with the name of a data set before it is opened.
    """

    def __init__(self, registration: Registration, *, note: Callable[[str], None] = lambda _: None) -> None:
        require_public(registration)
        self.registration = registration
        self._open: dict[str, OpenDataset] = {}
        self._doors: dict[tuple[str, str], Analyst] = {}
        with ExitStack() as stack:
            self.access = Access(registration.access)
            stack.callback(self.access.close)
            self.book = open_book(registration.book, anchor=registration.anchor)
            stack.callback(self.book.close)
            for name, facts in registration.datasets.items():
                note(name)
                with say_where(registration.path.name, f"datasets.{name}"):
                    self._open[name] = self._open_one(facts, stack)
            self._stack = stack.pop_all()

    def _open_one(self, facts: Dataset, stack: ExitStack) -> OpenDataset:
        with ExitStack() as files:
            for name, file in facts.files.items():
                files.enter_context(self._same_file(facts, name, file))
            table = open_table(facts)
            stack.callback(table.close)
        require_own_name(facts.name, table.schema.name)
        curator = _open_curator(facts, table, self.book, self._list_shares(facts))
        stack.callback(curator.close)
        for group, (members, share) in facts.groups.items():
            curator.ledger.require_group(group, members, share)
        return OpenDataset(facts, table, curator)

    @contextmanager
    def _same_file(self, facts: Dataset, name: str, file: Path) -> Iterator[None]:
        """Refuse a file that is not the one its version was first served from, or is written meanwhile."""
        if not file.is_file():
            yield
            return
        known = self.access.find_mark(name, facts.version)
        if known is not None and not known.is_of(file):
            raise _changed(file, facts)
        before = look_at(file)
        yield
        mark = FileMark.of(file) if known is None else known
        if look_at(file) != before:
            hint = "Start the server again once nobody writes it"
            rule = "left alone while it is read"
            raise InvalidParameter(name="data", rule=rule, got="one that changed", hint=hint)
        if known is None:  # written down before anything is measured
            self.access.keep_mark(name, facts.version, mark)

    def __iter__(self) -> Iterator[OpenDataset]:
        return iter(self._open.values())

    @property
    def is_apart(self) -> bool:
        """Whether analysts of any data set of the book, served or not, were promised to be kept apart."""
        return self.book.look(self.book.state.is_apart)

    def get(self, name: str) -> OpenDataset | None:
        """Return a data set; None where there is none of that name."""
        return self._open.get(name)

    def find_door(self, dataset: OpenDataset, key: KeyFacts) -> Analyst | None:
        """Return the door of whoever has a key; None where she may not ask about the data set."""
        share = self.access.find_share(key.name, dataset.facts.name)
        if share is None:
            return None
        place = dataset.facts.name, key.name
        if place not in self._doors:  # a share is set once: it is looked up in the ledger once, too
            if dataset.curator.ledger.share(key.name) is None:
                dataset.curator.set_aside(self._list_shares(dataset.facts))
            self._doors[place] = dataset.curator.analyst(key.name, share=share)
        return self._doors[place]

    def _list_shares(self, facts: Dataset) -> dict[str, Fraction]:
        """Return what is set aside for whom: under a promise, by what was granted, not by who asks first."""
        return {} if facts.promise is None else self.access.list_shares(facts.name)

    def register_study(self, dataset: OpenDataset, name: str) -> None:
        """Give a study its share, if the owner registered it since and the ledger does not know it yet."""
        ledger = dataset.curator.ledger
        try:
            ledger.require_study(name)
        except InvalidParameter:
            for study in self.access.list_studies(dataset.facts.name):
                if study.name == name:
                    with contextlib.suppress(InvalidParameter):  # another thread was faster
                        ledger.cap_study(name, study.share, purpose=study.purpose)

    def close(self) -> None:
        """Answer nothing more, and give everything back."""
        self._stack.close()


def _changed(file: Path, facts: Dataset) -> InvalidParameter:
    """Return what is said of a file whose rows are others than its version was measured from."""
    version = "this data set" if facts.version is None else f"version {facts.version}"
    main = file if facts.data is None else facts.data
    return InvalidParameter(
        name="data",
        rule=f"the file that {version} was first served from: what was answered is about its rows",
        got=f"a {file.name} that changed since",
        hint="Put the file back. Or, where rows of the same people were added or changed on purpose, run "
        f"`discreet register {main.name} --schema {facts.schema.name} --version NAME`: it adds a version",
    )


def open_table(facts: Dataset) -> Table:
    """Open the rows of a data set, and its public tables, with the engine that its owner chose."""
    schema = read_schema(facts.schema)
    declared = {one.name for one in schema.dimensions}
    if declared != set(facts.public):
        rule = f"data for exactly the public tables that the schema declares ({_list(declared)})"
        hint = 'Name each in the registration: public = { NAME = "FILE" }, or --public NAME=FILE'
        raise InvalidParameter(name="public", rule=rule, got=_list(facts.public), hint=hint)
    public = {name: _find_data(facts, where, None) for name, where in facts.public.items()}
    rows = _find_data(facts, facts.data, facts.table)
    return Table(rows, schema=schema, dimensions=public, timeout=facts.timeout)


def _list(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _find_data(facts: Dataset, where: Path | str | None, table: str | None) -> Any:
    """Return rows as `Table` takes them: of a file, or of a table of the server."""
    if facts.engine == "postgres":
        dsn = os.environ.get(facts.dsn_env or "")
        if not dsn:
            rule = f"a connection string, in the variable {facts.dsn_env}"
            raise InvalidParameter(name=f"datasets.{facts.name}", rule=rule, got="nothing there")
        return dsn, table or where
    path = where or Path()
    if facts.engine == "spark":
        from discreet.data.engines.spark import read_parquet  # noqa: PLC0415  an extra, and slow to import

        return read_parquet(str(path))
    return path if table is None else (str(path), table)


def _open_curator(facts: Dataset, table: Table, book: Any, shares: Mapping[str, Fraction]) -> Curator:
    return Curator(
        table,
        epsilon=facts.epsilon,
        delta=facts.delta,
        expects=facts.expects,
        shared=facts.shared,
        columns=facts.columns,
        question=facts.question,
        promise=facts.promise,
        large_delta=facts.large_delta,
        version=facts.version,
        people=facts.people,
        pace=facts.pace,
        shares=shares,
        tick=0,  # replies of a server leave at its own ticks
        ledger=book,
    )
