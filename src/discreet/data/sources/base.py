"""What every engine offers: five methods, and rows that hold whole numbers and text only."""

from __future__ import annotations

import decimal
import hashlib
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import Any, ClassVar, Literal, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from discreet.core.errors import EngineFailed, InternalError, InvalidParameter, MissingExtra
from discreet.data.columns import Code

try:
    from sqlglot import exp
except ImportError:
    raise MissingExtra(package="sqlglot", extra="data") from None

T = TypeVar("T")

Family = Literal[
    "integer", "real", "decimal", "boolean", "date", "timestamp", "zoned", "text", "uuid", "other"
]
"""What an engine's type is good for. "zoned" is a timestamp with a time zone."""

Answer = list[tuple[Code | None, ...]]
"""Rows of codes."""

RAW = "discreet_raw"
"""What the queries given to `load` call the input they read."""

CACHED = 8
"""Materialised queries a source keeps; the oldest goes first."""


@dataclass(frozen=True, slots=True)
class Field:
    """One column of the owner's data as its engine describes it: a name and a type, never a value."""

    name: str
    type: str
    family: Family
    scale: int = 0
    """Decimals of a decimal type."""


class Source(ABC):
    """An engine with the owner's data in it.

    A source is made from named *inputs* (files, frames, tables). `load` turns each into a relation of
    codes, once; from then on only these relations can be read.
    """

    dialect: ClassVar[str]
    """The name sqlglot has for the engine's SQL."""
    parses_text: ClassVar[bool] = False
    """Whether the engine can read text as a number or date without failing on any text."""
    sums_widen: ClassVar[bool] = False
    """Whether the engine adds up 64-bit integers in a wider type on its own, so that no sum overflows."""

    def __init__(self) -> None:
        self._lock = RLock()
        self._relations: dict[str, exp.Table] = {}
        self._cache: dict[str, str] = {}

    @abstractmethod
    def columns(self, name: str) -> tuple[Field, ...]:
        """Return names and types of an input. Reads no value."""

    @abstractmethod
    def raw(self, name: str) -> exp.Table:
        """Return what a query that reads an input selects from."""

    def load(self, relations: Mapping[str, exp.Select]) -> None:
        """Run one query per input, keep each answer under the input's name, and shut the engine."""
        with self._lock:
            for name, query in relations.items():
                self._relations[name] = self._quietly(partial(self._keep, name, query))
            self._quietly(self._seal)

    def execute(self, query: exp.Query) -> Answer:
        """Run a query over loaded relations and return its rows as whole numbers, text or None."""
        checked = self._resolved(query)
        rows = self._quietly(lambda: list(self._rows(checked)))
        return [tuple(_code(cell) for cell in row) for row in rows]

    def arrays(self, query: exp.Query) -> list[NDArray[np.integer[Any]]]:
        """Run a query over loaded relations whose every cell is a whole number; one array a column."""
        checked = self._resolved(query)
        return self._quietly(lambda: self._columns(checked))

    def materialise(self, query: exp.Query, *, key: str) -> exp.Table:
        """Run a query over loaded relations once, and return the relation that holds its rows.

        The same `key` gives the same relation without running anything again.
        """
        name = "discreet_" + hashlib.sha256(key.encode()).hexdigest()[:24]
        with self._lock:
            if key not in self._cache:
                checked = self._resolved(query)
                if len(self._cache) == CACHED:
                    self._forget(next(iter(self._cache)))
                self._relations[name] = self._quietly(partial(self._keep, name, checked))
                self._cache[key] = name
        return exp.to_table(name)

    @abstractmethod
    def close(self) -> None:
        """Give back everything the source holds."""

    @abstractmethod
    def _keep(self, name: str, query: exp.Query) -> exp.Table:
        """Store the rows of a query and return the reference to them."""

    @abstractmethod
    def _drop(self, table: exp.Table) -> None:
        """Remove what `_keep` stored."""

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
    def _seal(self) -> None:
        """Shut every way out of the engine."""

    def _forget(self, key: str) -> None:
        table = self._relations.pop(self._cache.pop(key))
        self._quietly(lambda: self._drop(table))

    def _sql(self, query: exp.Expr) -> str:
        return query.sql(dialect=self.dialect, identify=True)

    def _quietly(self, work: Callable[[], T]) -> T:
        """Do something in the engine; whatever it says becomes one error that keeps no link to the words."""
        try:
            return work()
        except self._failures():
            pass
        raise EngineFailed

    def _resolved(self, query: exp.Query) -> exp.Query:
        """Point every table of a query at a loaded relation; refuse any other table."""
        if not isinstance(query, exp.Query):
            raise InternalError("a source runs queries only")
        own = {cte.alias for cte in query.find_all(exp.CTE)}
        if own & set(self._relations):
            raise InternalError("a query names a part of itself like a loaded relation")

        def point(node: exp.Expr) -> exp.Expr:
            if not isinstance(node, exp.Table):
                return node
            said = {argument for argument, value in node.args.items() if value}
            plain = isinstance(node.this, exp.Identifier) and said <= {"this", "alias"}
            if plain and node.name in own:
                return node
            if not plain or node.name not in self._relations:
                raise InternalError("a query reads something that is not a loaded relation")
            found = self._relations[node.name].copy()
            found.set("alias", node.args.get("alias") or exp.TableAlias(this=exp.to_identifier(node.name)))
            return found

        return cast("exp.Query", query.transform(point))


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
