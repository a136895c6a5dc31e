"""The registration file: which tables a server stands in front of, and on which budgets.

::

    book = "budget.db"                 # what was spent; SQLite here, or "postgresql://…" with `anchor`
    access = "access.db"               # keys, grants and studies
    tick = 0.5                         # seconds between the public times at which replies leave

    [datasets.visits]
    data = "visits.csv"                # a file in the folder of this one, or below it
    schema = "visits.toml"
    epsilon = 1
    delta = 1e-9
    expects = 100                      # what will be asked; see `Curator`
    promise = "one analyst to many"    # what is hidden between analysts; leave out for nothing
    version = "2026-11"                # another one whenever rows were added or changed
    people = "residents"               # whose data these are, where they are in several data sets
    pace = [0.1, 86400]                # at most that share of the budget in each period of so many seconds
    groups.consortium = { members = ["acme", "union"], share = 0.5 }   # who may pool what they learn
    purpose = "how the clinics are used"    # public, in the registry
    public = { wards = "wards.csv" }   # the public tables that the schema declares (dimensions)

    [people.residents]                 # one budget over all data sets that name them
    epsilon = 3
    delta = 1e-9

    [datasets.claims]
    engine = "postgres"                # or "spark", which reads a .parquet file
    dsn_env = "CLAIMS_DSN"             # the name of the variable that holds the connection string
    table = "public.claims"
    schema = "claims.toml"
    epsilon = 2
    delta = 1e-9
    publish_questions = true           # the public registry shows what was asked, though not by whom
"""

from __future__ import annotations

import decimal
import tomllib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from discreet.analysts.promises import AnalystPromise, ManyToOne, OneAnalystToMany, OneQueryToMany
from discreet.core import checks
from discreet.core.errors import DiscreetError, InvalidParameter
from discreet.curator.ledger.people import People
from discreet.server.access import require_name

FILE = "discreet.toml"
"""What the file is called unless somebody calls it otherwise."""

PROMISES: Mapping[str, type[AnalystPromise]] = {
    "one query to many": OneQueryToMany,
    "one analyst to many": OneAnalystToMany,
    "many to one": ManyToOne,
}
ENGINES = ("duckdb", "postgres", "spark")
_ONE_TABLE = (".csv", ".csv.gz", ".parquet")
_FILES = (*_ONE_TABLE, ".duckdb", ".db")
_MAX_BYTES = 1_000_000


@dataclass(frozen=True, slots=True)
class Dataset:
    """One private table, as its owner registered it.

    Attributes
    ----------
    name
        What analysts call it.
    schema
        The file that declares what is public about it.
    epsilon, delta
        The budget of everything that is ever answered from it.
    data, engine, table, dsn_env
        Where the rows are.
    public
        Where the public tables are that the schema declares, by name: files, or tables of the same server.
    expects, shared, columns, question, large_delta
        As in `Curator`.
    promise
        What is hidden between analysts.
    timeout
        Seconds the engine may work on one question.
    purpose
        Why the table is there, in the owner's words; public.
    version, people, pace
        As in `Curator`.
    groups
        Analysts who may pool what they learn, and the share they have together, by the name of the group.
    publish_questions
        Whether the public registry shows the text of questions. A question may name somebody.
    """

    name: str
    schema: Path
    epsilon: Fraction
    delta: Fraction
    data: Path | None = None
    engine: str = "duckdb"
    table: str | None = None
    dsn_env: str | None = None
    expects: int | str | tuple[str, ...] | None = None
    shared: Fraction | None = None
    columns: tuple[str, ...] | None = None
    question: tuple[Fraction, Fraction] | None = None
    large_delta: bool = False
    promise: AnalystPromise | None = None
    timeout: float = 60.0
    purpose: str = ""
    version: str | None = None
    people: People | None = None
    pace: tuple[Fraction, int] | None = None
    groups: Mapping[str, tuple[tuple[str, ...], Fraction]] = field(default_factory=dict)
    public: Mapping[str, Path | str] = field(default_factory=dict)
    publish_questions: bool = False

    @property
    def files(self) -> dict[str, Path]:
        """The files that it is read from, each under a name of its own."""
        named = {f"{self.name}/{name}": where for name, where in self.public.items()}
        all_of_them = {self.name: self.data, **named}
        return {name: where for name, where in all_of_them.items() if isinstance(where, Path)}


@dataclass(frozen=True, slots=True)
class Registration:
    """What a server serves.

    Attributes
    ----------
    path
        The file it was read from.
    book, anchor
        Where the ledgers are kept; see `docs/ledger.md`.
    access
        Where keys, grants and studies are kept.
    tick
        Seconds between the public times at which replies leave; 0 for at once.
    datasets
        The tables by name.
    """

    path: Path
    book: str
    anchor: Path | None
    access: Path
    tick: Fraction
    datasets: Mapping[str, Dataset]


def read_registration(path: Path, *, called: str | None = None) -> Registration:
    """Read a registration file. Nothing that it names is opened.

    Parameters
    ----------
    path
        The file.
    called
        What errors call it, where that is not its name.

    Raises
    ------
    InvalidParameter
        Where it is not such a file, or names something outside its folder.
    """
    try:
        body = path.read_bytes()[: _MAX_BYTES + 1]
    except OSError as problem:
        raise InvalidParameter(
            name="registration",
            rule="a file that can be read",
            got=f"{path.name}: {problem.strerror}",
            hint="`discreet register` makes one",
        ) from None
    try:
        said = tomllib.loads(body.decode(), parse_float=decimal.Decimal)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as problem:
        said_why = str(problem) if isinstance(problem, tomllib.TOMLDecodeError) else "it cannot be read"
        raise InvalidParameter(name=path.name, rule="TOML", got=said_why) from None
    with say_where(called or path.name):
        return _read_all(path, said)


@contextmanager
def say_where(file: str, place: str = "") -> Iterator[None]:
    """Say of what goes wrong meanwhile in which file it is, and in which of its sections."""
    try:
        yield
    except DiscreetError as problem:
        problem.args = (f"{file}{f', [{place}]' if place else ''}: {problem}",)
        raise


def _read_all(path: Path, said: dict[str, Any]) -> Registration:
    folder = path.resolve().parent
    top = _Section("", said, {"book", "anchor", "access", "tick", "datasets", "people"})
    book = top.text("book", "budget.db")
    anchor = top.get("anchor", checks.text)
    listed, people = top.section("datasets"), _read_people(top.section("people"))
    datasets = {
        require_name(dataset=name): _read_dataset(name, listed.section(name, _DATASET), folder, people)
        for name in listed.said
    }
    return Registration(
        path=path.resolve(),
        book=book if "://" in book else str(_inside(folder, book=book)),
        anchor=None if anchor is None else (folder / anchor),
        access=_inside(folder, access=top.text("access", "access.db")),
        tick=top.get("tick", checks.non_negative, Fraction(1, 2)),
        datasets=datasets,
    )


def require_own_name(name: str, own: str) -> None:
    """Refuse a table that is not called as its schema calls it: its budget is kept under that name."""
    if name != own:
        rule = f"{own}, as its schema says: the budget is kept under that name"
        raise InvalidParameter(name="name", rule=rule, value=name)


class _Section:
    """A table of the file: every key is asked for by name, and what nobody asks for is refused."""

    def __init__(self, where: str, said: object, known: set[str] | None) -> None:
        self.where = where
        self.said: dict[str, Any] = checks.instance(dict, **{where: said})
        for name in self.said if known is not None else ():
            if name not in (known or ()):
                rule = f"one of {', '.join(sorted(known or ()))}"
                raise InvalidParameter(name="key", rule=rule, got=self._place(name))

    def get(self, name: str, check: Callable[..., Any], otherwise: Any = None) -> Any:
        value = self.said.get(name)
        return otherwise if value is None else self._check(name, check)

    def text(self, name: str, otherwise: str = "") -> str:
        return str(self.get(name, checks.text, otherwise))

    def need(self, name: str, check: Callable[..., Any]) -> Any:
        if name not in self.said:
            raise InvalidParameter(name=self._place(name), rule="given", got="nothing")
        return self._check(name, check)

    def section(self, name: str, known: set[str] | None = None) -> _Section:
        return _Section(self._place(name), self.said.get(name, {}), known)

    def _check(self, name: str, check: Callable[..., Any]) -> Any:
        try:
            return check(**{name: self.said[name]})
        except InvalidParameter as problem:
            problem.args = (f"{self._place(name)}: {problem}",)
            raise

    def _place(self, name: str) -> str:
        return f"{self.where}.{name}" if self.where else name


def _read_people(listed: _Section) -> dict[str, People]:
    found = {}
    for name in listed.said:
        said = listed.section(name, {"epsilon", "delta"})
        found[name] = People(
            name=name, epsilon=said.need("epsilon", checks.positive), delta=said.need("delta", checks.delta)
        )
    return found


def _read_groups(listed: _Section) -> dict[str, tuple[tuple[str, ...], Fraction]]:
    found = {}
    for name in listed.said:
        said = listed.section(name, {"members", "share"})
        members = said.need("members", lambda **named: checks.each(checks.text, **named))
        found[require_name(group=name)] = members, said.need("share", checks.positive)
    return found


def _read_public(listed: _Section, engine: str, folder: Path) -> dict[str, Path | str]:
    """Return where public tables are: a file each, or a table of the server that has the rows."""

    def check(**named: Any) -> Path | str:
        where = checks.text(**named)
        if engine == "postgres":
            return where
        endings = (".parquet",) if engine == "spark" else _ONE_TABLE
        if not where.endswith(endings):
            rule = f"the path of a file that ends in {', '.join(endings)}"
            raise InvalidParameter(name=next(iter(named)), rule=rule, got="something else")
        return _inside(folder, **named)

    return {name: listed.need(name, check) for name in listed.said}


def _read_dataset(name: str, said: _Section, folder: Path, people: Mapping[str, People]) -> Dataset:
    engine = checks.one_of(ENGINES, engine=said.text("engine", "duckdb"))
    data, dsn = said.get("data", partial(_read_data, folder)), said.get("dsn_env", checks.text)
    table = said.get("table", checks.text)
    if (engine == "postgres") != (dsn is not None) or (engine == "postgres") == (data is not None):
        rule = 'a `data` file, or engine = "postgres" with `dsn_env` and `table`'
        raise InvalidParameter(name=f"datasets.{name}", rule=rule, got="something else")
    if engine == "postgres" and table is None:
        raise InvalidParameter(name=f"datasets.{name}.table", rule="given for PostgreSQL", got="nothing")
    if engine == "spark" and (table is not None or not str(data).endswith(".parquet")):
        rule = "a .parquet file, or a folder of that name, for Spark, and no `table`"
        hint = "Other files are read by duckdb, the engine where none is named"
        raise InvalidParameter(name=f"datasets.{name}.data", rule=rule, got="something else", hint=hint)
    promise = said.get("promise", _read_promise)
    whose = said.get("people", partial(_find_people, people))
    publishes = said.get("publish_questions", _read_flag, False)
    if publishes and promise is not None:
        rule = "left out under a promise between analysts, which hides what they ask"
        raise InvalidParameter(name=f"datasets.{name}.publish_questions", rule=rule, got="true")
    return Dataset(
        name=name,
        schema=said.need("schema", partial(_inside, folder)),
        epsilon=said.need("epsilon", checks.positive),
        delta=said.need("delta", checks.delta),
        data=data,
        engine=engine,
        table=table,
        dsn_env=dsn,
        expects=said.get("expects", _read_expects),
        shared=said.get("shared", checks.non_negative),
        columns=said.get("columns", lambda **named: checks.each(checks.text, **named)),
        question=said.get("question", _read_pair),
        large_delta=said.get("large_delta", _read_flag, False),
        promise=promise,
        timeout=float(said.get("timeout", checks.positive, Fraction(60))),
        purpose=said.text("purpose"),
        version=said.get("version", checks.text),
        people=whose,
        pace=said.get("pace", _read_pace),
        groups=_read_groups(said.section("groups")),
        public=_read_public(said.section("public"), engine, folder),
        publish_questions=publishes,
    )


_DATASET = {one.name for one in fields(Dataset)} - {"name"}
"""What the section of a data set may say."""


def _read_flag(**named: Any) -> bool:
    flag: bool = checks.instance(bool, **named)
    return flag


def _read_promise(promise: Any) -> AnalystPromise:
    return PROMISES[checks.one_of(tuple(PROMISES), promise=promise)]()


def _find_people(listed: Mapping[str, People], people: Any) -> People:
    if checks.text(people=people) not in listed:
        rule = f"the name of a section [people.…] ({', '.join(listed) or 'there is none'})"
        raise InvalidParameter(name="people", rule=rule, value=people)
    return listed[people]


def _read_expects(expects: Any) -> Any:
    return tuple(expects) if isinstance(expects, list) else expects


def _read_pair(question: Any) -> tuple[Fraction, Fraction]:
    pair = checks.several(question=question) if isinstance(question, list) else ()
    if len(pair) != 2:
        raise InvalidParameter(name="question", rule="a pair [epsilon, delta]", value=question)
    return checks.positive(epsilon=pair[0]), checks.delta(delta=pair[1])


def _read_pace(pace: Any) -> tuple[Fraction, int]:
    pair = checks.several(pace=pace)
    if len(pair) != 2:
        raise InvalidParameter(name="pace", rule="a pair [share, seconds]", value=pace)
    return checks.positive(share=pair[0]), checks.integer(1, seconds=pair[1])


def _read_data(folder: Path, data: Any) -> Path:
    if "://" in checks.text(data=data) or not data.endswith(_FILES):
        rule = f"the path of a file that ends in {', '.join(_FILES)}"
        raise InvalidParameter(name="data", rule=rule, got="something else")
    return _inside(folder, data=data)


def _inside(folder: Path, **named: Any) -> Path:
    """Return a path that stays in the folder of the registration, wherever links on the way lead."""
    (name,) = named
    path = (folder / checks.text(**named)).resolve()
    if not path.is_relative_to(folder):
        rule = "in the folder of the registration file or below it, links followed"
        hint = "Move it there, or keep the registration file in a folder above it (--config)"
        raise InvalidParameter(name=name, rule=rule, got="a path that leads out of it", hint=hint)
    return path
