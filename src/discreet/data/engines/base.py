"""What every engine offers: a few methods, and rows that hold whole numbers and text only."""

from __future__ import annotations

import decimal
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any, ClassVar, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import EngineFailed, InternalError, InvalidParameter, MissingExtra, TableClosed
from discreet.data.engines.cells import bytes_text, spell_bytes
from discreet.data.engines.failures import Expired, Reason, hear_signals
from discreet.data.engines.readings import Family, RowReading
from discreet.data.engines.rendering.render_expressions import keyed_hash
from discreet.data.schema.columns import Code, Column

try:
    from sqlglot import exp
except ImportError:
    raise MissingExtra(package="sqlglot", extra="data") from None

T = TypeVar("T")

LOG = logging.getLogger("discreet.data")
"""The owner's log. It may count cells without noise: it belongs where the data are."""

Answer = list[tuple[Code | None, ...]]
"""Rows of codes."""


@dataclass(frozen=True, slots=True)
class EngineField:
    """One column of the owner's data as its engine describes it: a name and a type, never a value."""

    name: str
    type: str
    family: Family
    scale: int = 0
    """Decimals of a decimal type."""


class Source(ABC):
    """An engine with the owner's data in it.

    A source is made from named *inputs* (files, frames, tables). `load` turns each into a relation of
    codes, once; from then on only these relations can be read. What goes wrong before is told the owner
    (`OpenFailed`), what goes wrong after is one constant error.

    Parameters
    ----------
    timeout
        Seconds that one query over loaded relations may take. Loading takes as long as it takes.
    """

    dialect: ClassVar[str]
    """The name sqlglot has for the engine's SQL."""
    parses_text: ClassVar[bool] = False
    """Whether the engine can read text as a number or date without failing on any text."""
    sums_widen: ClassVar[bool] = False
    """Whether the engine adds up 64-bit integers in a wider type on its own, so that no sum overflows."""

    def __init__(self, *, timeout: float) -> None:
        self._lock = RLock()
        self._timeout = timeout
        self._limit: float | None = None
        self._closed = False
        self._relations: dict[str, exp.Table] = {}
        self._unique: dict[str, exp.Select] = {}

    @abstractmethod
    def columns(self, name: str) -> tuple[EngineField, ...]:
        """Return names and types of an input. Reads no value."""

    @abstractmethod
    def raw(self, name: str) -> exp.Table:
        """Return what a query that reads an input selects from."""

    def hash_row(self, key: str, unit: exp.Expr, columns: Sequence[tuple[exp.Expr, Column]]) -> exp.Expr:
        """Return a keyed hash of a unit and some columns, by which the unit's rows are put in order.

        Any function that cannot fail will do for the guarantee. This one is the same on every engine.
        """
        return keyed_hash(key, unit, columns)

    def load(self, readings: Mapping[str, RowReading], *, unique: Mapping[str, str]) -> None:
        """Read every input once, all of one moment where the engine has moments, and shut the engine.

        Parameters
        ----------
        readings
            How each input is read.
        unique
            Which relations are joined on which key. It must be unique and never missing.
        """
        with self._lock:
            self._unique = {}
            for name, counts in self._try_opening(partial(self._load, readings)).items():
                _report_lost(name, counts, readings[name].lost)
            for name, key in unique.items():
                self._check_unique(name, key)
                self._unique[name] = _deduplicate(self._relations[name], readings[name].codes, key)
            self._try_opening(self._seal)
            self._limit = self._timeout

    def _load(self, readings: Mapping[str, RowReading]) -> dict[str, dict[str, int]]:
        counts = {}
        with self._one_moment():
            for name, reading in readings.items():
                with self._stage(name, reading.codes):
                    self._relations[name] = self._store(name, reading)
                    if reading.unread is not None:
                        (row,) = self._count_raw(name, reading.unread)
                        listed = [int(str(cells)) for cells in row]
                        counts[name] = dict(zip(reading.unread.named_selects, listed, strict=True))
        return counts

    def _check_unique(self, name: str, key: str) -> None:
        """Refuse a public table whose key is repeated or missing: a join would then copy or lose rows."""
        counted = (exp.Count(this=exp.Star()), exp.Count(this=exp.Distinct(expressions=[exp.column(key)])))
        ((rows, keys),) = self.execute(exp.select(*counted).from_(relation(name)))
        if rows != keys:
            rule = "unique and never missing, once read as declared"
            raise InvalidParameter(name=f"{name}.{key}", rule=rule, value=f"{keys} keys in {rows} rows")

    def execute(self, query: exp.Query) -> Answer:
        """Run a query over loaded relations and return its rows as whole numbers, text or None."""
        checked = self._resolve(query)
        rows = self._try_quietly(lambda: list(self._rows(checked)))
        return [tuple(_code(cell) for cell in row) for row in rows]

    def arrays(self, query: exp.Query) -> list[NDArray[np.integer[Any]]]:
        """Run a query over loaded relations whose every cell is a whole number; one array a column."""
        checked = self._resolve(query)
        return self._try_quietly(lambda: self._columns(checked))

    def reopen(self) -> None:
        """Read everything again, from the source as it is now, where the engine can."""
        hint = "Make a new Table of it"
        raise InvalidParameter(
            name="data", rule="on a server that can be connected to again", got=self.dialect, hint=hint
        )

    def close(self) -> None:
        """Give back everything the source holds. Nothing can be read from then on."""
        if not self._closed:
            try:
                self._give_back()
            finally:
                self._closed = True

    @abstractmethod
    def _give_back(self) -> None:
        """End what the source has begun in the engine."""

    def require_open(self) -> None:
        """Raise where everything was given back."""
        if self._closed:
            raise TableClosed

    def _one_moment(self) -> AbstractContextManager[object]:
        """Return the context in which all inputs are seen as they were at one moment."""
        return nullcontext()

    def _stage(self, name: str, query: exp.Select) -> AbstractContextManager[object]:
        """Return the context in which the engine sees an input as `raw` names it."""
        return nullcontext()

    @abstractmethod
    def _count_raw(self, name: str, query: exp.Select) -> Iterable[Iterable[object]]:
        """Run a query of counts over an input that is seen."""

    @abstractmethod
    def _keep(self, name: str, query: exp.Query) -> exp.Table:
        """Store the rows of a query and return the reference to them."""

    def _store(self, name: str, reading: RowReading) -> exp.Table:
        """Store the rows of an input that count."""
        return self._keep(name, reading.users.over(reading.codes) if reading.users else reading.codes)

    @abstractmethod
    def _rows(self, query: exp.Query) -> Iterable[Iterable[object]]:
        """Run a query that reads nothing but kept rows."""

    def _columns(self, query: exp.Query) -> list[NDArray[np.integer[Any]]]:
        """Run a query of whole numbers that reads nothing but kept rows."""
        rows = [tuple(row) for row in self._rows(query)]
        return list(np.array(rows, dtype=np.int64).reshape(len(rows), len(query.selects)).T)

    @abstractmethod
    def _failures(self) -> tuple[type[BaseException], ...]:
        """Return the exceptions that carry the engine's own words."""

    @abstractmethod
    def _reason(self, error: BaseException) -> Reason:
        """Return the code of such an exception: by its type or number, never by its words."""

    @abstractmethod
    def _seal(self) -> None:
        """Shut every way out of the engine."""

    def _sql(self, query: exp.Expr) -> str:
        return query.sql(dialect=self.dialect, identify=True)

    def _try_quietly(self, work: Callable[[], T]) -> T:
        """Do something in the engine; whatever it says becomes one error that keeps no link to the words."""
        done = self._attempt(work)
        if isinstance(done, _Failed):
            LOG.warning("a question failed in %s: %s", self.dialect, done.reason.value)
            raise EngineFailed
        return done

    def _try_opening(self, work: Callable[[], T]) -> T:
        """Do something in the engine for the owner, who is told by a code why it fails."""
        done = self._attempt(work)
        if isinstance(done, _Failed):
            raise done.reason.to_error()
        return done

    def _attempt(self, work: Callable[[], T]) -> T | _Failed:
        """Do something in the engine; where a signal raised something meanwhile, that is what comes of it."""
        self.require_open()
        done: T | _Failed = _Failed(Reason.UNREADABLE)
        with hear_signals() as raised:
            try:
                done = work()
            except Expired:
                done = _Failed(Reason.TIMEOUT)
            except self._failures() as error:
                done = _Failed(self._reason(error))
            except BaseException:
                if not raised:
                    raise
        if raised:
            raise raised.pop(0).with_traceback(None)
        return done

    def _resolve(self, query: exp.Query) -> exp.Query:
        """Point every table of a query at a loaded relation; refuse any other table."""
        if not isinstance(query, exp.Query):
            raise InternalError("a source runs queries only")
        own = {cte.alias for cte in query.find_all(exp.CTE)}
        if own & set(self._relations):
            raise InternalError("a query names a part of itself like a loaded relation")

        def point(node: exp.Expr) -> exp.Expr:
            if isinstance(node, exp.Decode):
                return bytes_text(spell_bytes(node.this.this, self.dialect), self.dialect)
            if not isinstance(node, exp.Table):
                return node
            said = {argument for argument, value in node.args.items() if value}
            plain = isinstance(node.this, exp.Identifier) and said <= {"this", "alias"}
            if plain and node.name in own:
                return node
            if not plain or node.name not in self._relations:
                raise InternalError("a query reads something that is not a loaded relation")
            alias = node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name))
            if node.name in self._unique:
                return exp.Subquery(this=self._unique[node.name].copy(), alias=alias)
            found = self._relations[node.name].copy()
            found.set("alias", alias)
            return found

        return cast("exp.Query", query.transform(point))


@dataclass(frozen=True, slots=True)
class _Failed:
    reason: Reason


def _deduplicate(table: exp.Table, codes: exp.Select, key: str) -> exp.Select:
    """Return what is read of a public table: its key once, so that no join can copy a row.

    The key was unique when the table was opened. That it stays so is not taken on trust.
    """
    others = [exp.alias_(exp.Min(this=exp.column(one)), one) for one in codes.named_selects if one != key]
    return exp.select(exp.column(key), *others).from_(table.copy()).group_by(exp.column(key))


def _report_lost(name: str, counts: Mapping[str, int], words: Mapping[str, str]) -> None:
    for column, cells in counts.items():
        if cells:
            LOG.warning("%s.%s: %s", name, column, words[column].format(cells))


def relation(name: str) -> exp.Table:
    """Return a relation by name. A name is never parsed: it may be a word of SQL."""
    return exp.Table(this=exp.to_identifier(name, quoted=True))


def decimals(described: str) -> int:
    """Return the decimals of a type that is described like DECIMAL(10,2); 0 for any other."""
    found = re.search(r"(?i)decimal\(\d+, ?(\d+)\)$", described)
    return int(found[1]) if found else 0


def unknown_input(known: Iterable[str], name: str) -> InvalidParameter:
    """Return the error for an input that a source does not have."""
    return InvalidParameter(name="input", rule=f"one of {', '.join(known)}", value=name)


def _code(cell: object) -> Code | None:
    if cell is None or isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return int(cell)
    if isinstance(cell, decimal.Decimal) and cell.is_finite() and cell == int(cell):
        return int(cell)
    raise InternalError("an engine returned something other than whole numbers and text")
