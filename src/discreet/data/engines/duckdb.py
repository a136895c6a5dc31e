"""DuckDB: files, frames and DuckDB tables, copied as codes into a private database that is then locked.

The copy lives in memory (DuckDB takes up to 80 % of the machine's) and spills to a directory that only this
user can read, removed at the end. Once loaded,
the database can reach no file, no network, no extension and no Python variable, and its configuration
cannot be changed any more.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import shutil
import tempfile
import weakref
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp

from discreet.core.errors import InvalidParameter, MissingExtra
from discreet.data.credentials import show_path
from discreet.data.engines.base import EngineField, Source, decimals, relation, unknown_input
from discreet.data.engines.cells import unpack
from discreet.data.engines.failures import Reason, watch
from discreet.data.engines.readings import CODES, PLACE, RAW, Family, RowReading, UserRows
from discreet.data.schema.columns import Column

try:
    import duckdb
except ImportError:
    raise MissingExtra(package="duckdb", extra="data") from None

_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT"), "integer"),
    **dict.fromkeys(("UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "UHUGEINT"), "integer"),
    **dict.fromkeys(("FLOAT", "DOUBLE"), "real"),
    "DECIMAL": "decimal",
    "BOOLEAN": "boolean",
    "DATE": "date",
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"), "timestamp"),
    "TIMESTAMP WITH TIME ZONE": "zoned",
    **dict.fromkeys(("VARCHAR", "ENUM"), "text"),
    "UUID": "uuid",
}

_REASONS = (
    ((duckdb.InterruptException,), Reason.TIMEOUT),
    ((duckdb.OutOfMemoryException, MemoryError), Reason.NO_ROOM),
    ((duckdb.CatalogException, duckdb.BinderException, FileNotFoundError), Reason.NOT_FOUND),
    ((duckdb.PermissionException, PermissionError), Reason.PERMISSION),
    ((duckdb.ConnectionException,), Reason.LOST),
)

_BEFORE = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
    # Frames of Python objects are text: looking at values to guess a type would depend on the data.
    "pandas_analyze_sample": "0",
}


class DuckDB(Source):
    """A private, locked DuckDB.

    Parameters
    ----------
    inputs
        What to read under which name: a path of a .parquet, .csv or .csv.gz file (a pattern with * for
        several Parquet files), a pandas, polars or Arrow frame, or (connection or .duckdb path, table).
    timeout
        Seconds after which a query is interrupted.
    """

    dialect = "duckdb"
    parses_text: ClassVar[bool] = True
    sums_widen: ClassVar[bool] = True

    def __init__(self, inputs: Mapping[str, object], *, timeout: float) -> None:
        super().__init__(timeout=timeout)
        self._spill = tempfile.mkdtemp(prefix="discreet-")
        self._connection = duckdb.connect(":memory:", config=dict(_BEFORE))
        self._end = weakref.finalize(self, _close, self._connection, self._spill)
        self._connection.execute("SET temp_directory = ?", [self._spill])
        self._csv: dict[str, Path] = {}
        self._frames: dict[str, Any] = {}
        self._owners: dict[object, Any] = {}
        self._inputs = {name: self._open_input(name, data) for name, data in inputs.items()}

    def hash_row(self, key: str, unit: exp.Expr, columns: Sequence[tuple[exp.Expr, Column]]) -> exp.Expr:
        """Return DuckDB's own hash, which takes missing values as they are.

        It is hashed once more because the last column is only XORed to what comes before it.
        """
        parts = [exp.Literal.string(key), unit, *(value for value, _ in columns)]
        inner = exp.Anonymous(this="HASH", expressions=[part.copy() for part in parts])
        return exp.Anonymous(this="HASH", expressions=[inner])

    def columns(self, name: str) -> tuple[EngineField, ...]:
        """Return names and types of an input."""
        owner, table = self._input(name)
        if name in self._csv:
            return tuple(
                EngineField(name=one, type="VARCHAR", family="text") for one in _header(self._csv[name])
            )
        query = self._sql(exp.Describe(this=exp.select("*").from_(table)))
        if name in self._frames:
            return self._try_opening(lambda: _describe_frame(self._frames[name], owner, table.name, query))
        rows = self._try_opening(lambda: owner.execute(query).fetchall())
        return tuple(_field(row[0], row[1]) for row in rows)

    def raw(self, name: str) -> exp.Table:
        """Return what a query that reads an input selects from."""
        return self._input(name)[1].copy()

    def _give_back(self) -> None:
        """Drop the data and the spill directory."""
        self._end()

    def _input(self, name: str) -> tuple[Any, exp.Table]:
        if name not in self._inputs:
            raise unknown_input(self._inputs, name)
        return self._inputs[name]

    def _open_input(self, name: str, data: object) -> tuple[Any, exp.Table]:
        """Return the connection that sees an input, and what to select from."""
        if isinstance(data, tuple):
            owner, table = data
            return self._try_opening(lambda: self._owner(owner)), _table(table)
        view = f"discreet_input_{name}"
        if isinstance(data, str | os.PathLike):
            path = os.fspath(data)
            if not path.endswith((".csv", ".csv.gz")):
                return self._connection, _parquet(path)
            self._csv[name] = _existing(path)
            return self._connection, relation(view)
        self._frames[name] = data
        return self._connection, relation(view)

    def _owner(self, given: Any) -> Any:
        """Return the cursor that reads a connection, or a file, that is not ours.

        It is one for all tables there, so that one transaction sees them all, and one of its own, so that no
        result the owner is reading gets lost.
        """
        if isinstance(given, str | os.PathLike):
            path = _existing(os.fspath(given)).resolve()
            if path not in self._owners:
                self._owners[path] = duckdb.connect(path, read_only=True)
            return self._owners[path]
        return self._owners.setdefault(id(given), given.cursor())

    @contextmanager
    def _one_moment(self) -> Iterator[None]:
        with ExitStack() as ends:
            for owner in self._owners.values():
                owner.begin()
                ends.callback(owner.rollback)
            yield

    @contextmanager
    def _stage(self, name: str, query: exp.Select) -> Iterator[None]:
        table = self._inputs[name][1]
        needed = {column.name for column in query.find_all(exp.Column) if column.table == RAW}
        if name in self._csv:
            self._create(table, self._lines(name, needed))
        if name in self._frames:
            self._connection.register(table.name, _narrow(self._frames.pop(name), names=needed))
        yield
        if name in self._csv:
            self._drop(table)

    def _count_raw(self, name: str, query: exp.Select) -> list[tuple[object, ...]]:
        rows: list[tuple[object, ...]] = self._inputs[name][0].execute(self._sql(query)).fetchall()
        return rows

    def _keep(self, name: str, query: exp.Query) -> exp.Table:
        owner = self._inputs[name][0]
        if owner is not self._connection:
            return self._copy(name, query, owner)
        self._create(relation(name), query)
        return relation(name)

    def _store(self, name: str, reading: RowReading) -> exp.Table:
        """Store rows. Those of users are chosen in our own database: another may take two users for one."""
        users, owner = reading.users, self._inputs[name][0]
        if users is None or owner is self._connection:
            super()._store(name, reading)
        else:
            self._copy(CODES, reading.codes, owner)
            self._create(relation(name), users.query)
            self._drop(relation(CODES))
        if users is not None and not users.joined:
            self._number_users(relation(name), users)
        return relation(name)

    def _number_users(self, table: exp.Table, users: UserRows) -> None:
        """Write numbers for users, which are told apart faster than texts."""
        listed, number = "discreet_users", "discreet_number"
        counted = exp.Window(this=exp.RowNumber())
        found = exp.select(exp.column(users.column), exp.alias_(counted, number)).from_(table.copy())
        found = found.where(exp.column(PLACE).eq(exp.Literal.number(1)))  # each has one first row
        others = [exp.column(one) for one in users.query.named_selects if one != users.column]
        same = exp.column(users.column, table=table.name).eq(exp.column(users.column, table=listed))
        numbered = exp.select(exp.alias_(exp.column(number), users.column), *others).from_(table.copy())
        self._create(table.copy(), numbered.join(found.subquery(listed), on=same))

    def _create(self, table: exp.Table, query: exp.Query) -> None:
        create = exp.Create(this=table, kind="TABLE", expression=query, replace=True)
        self._connection.execute(self._sql(create))

    def _lines(self, name: str, needed: set[str]) -> exp.Query:
        """Return the query that reads some columns of a CSV file, as text.

        They are stored before anything is cast: DuckDB 2.0 moves a TRY_CAST into its CSV reader, which
        then fails on the first cell that does not parse (duckdb/duckdb#23818).
        """
        path = self._csv[name]
        names = _header(path)
        return exp.select(*(exp.column(one) for one in names if one in needed)).from_(
            exp.Table(this=_read_csv(path, names))
        )

    def _copy(self, name: str, query: exp.Query, owner: Any) -> exp.Table:
        """Carry codes over from a connection that is not ours, which stays as it is."""
        plain, kinds = unpack(query)
        found = owner.execute(self._sql(plain)).fetchnumpy()
        view = f"discreet_copied_{name}"
        arrays, columns = {}, []
        for place, (column, array) in enumerate(found.items()):
            # Which cells are missing travels in a column of its own: not every DuckDB reads NumPy's masks.
            cells, missing = np.ma.getdata(array), np.ma.getmaskarray(array)
            arrays[f"v{place}"] = np.where(missing, "" if cells.dtype == object else 0, cells)
            arrays[f"m{place}"] = missing
            cell = exp.case().when(exp.column(f"m{place}"), exp.null()).else_(exp.column(f"v{place}"))
            columns.append(exp.alias_(exp.cast(cell, kinds[place]), column))
        self._connection.register(view, arrays)
        self._create(relation(name), exp.select(*columns).from_(relation(view)))
        self._connection.unregister(view)
        return relation(name)

    def _drop(self, table: exp.Table) -> None:
        self._connection.execute(f"DROP TABLE {self._sql(table)}")

    def _rows(self, query: exp.Query) -> Iterable[Iterable[object]]:
        cursor = self._connection.cursor()
        with watch(self._limit, cursor.interrupt):
            rows: list[tuple[object, ...]] = cursor.execute(self._write(query)).fetchall()
        return rows

    def _columns(self, query: exp.Query) -> list[NDArray[np.integer[Any]]]:
        cursor = self._connection.cursor()
        with watch(self._limit, cursor.interrupt):
            found = cursor.execute(self._write(query)).fetchnumpy()
        return [np.ma.getdata(array) for array in found.values()]

    def _write(self, query: exp.Query) -> str:
        """Return a query as text, with alternatives that are looked at a batch of rows at a time.

        DuckDB looks at `a OR b` and `a IN (b, c)` row after row in a scan, and at what is compared with TRUE,
        which means the same, up to six times as fast after it.
        """

        def compare(node: exp.Expr) -> exp.Expr:
            is_choice = isinstance(node, exp.Or | exp.In) and not isinstance(node.parent, exp.Or)
            return exp.EQ(this=exp.Paren(this=node), expression=exp.true()) if is_choice else node

        return self._sql(query.transform(compare, copy=False))  # resolved, so it is ours

    def _failures(self) -> tuple[type[BaseException], ...]:
        return (duckdb.Error, UnicodeError, OSError, RuntimeError, OverflowError)

    def _reason(self, error: BaseException) -> Reason:
        found = (reason for kinds, reason in _REASONS if isinstance(error, kinds))
        return next(found, Reason.UNREADABLE)

    def _seal(self) -> None:
        for owner, table in self._inputs.values():
            if owner is self._connection and isinstance(table.this, exp.Identifier):
                self._connection.unregister(table.name)
        self._inputs, self._owners = {}, {}
        self._connection.execute("SET enable_external_access = false")
        self._connection.execute("SET lock_configuration = true")


def _close(connection: Any, spill: str) -> None:
    connection.close()
    shutil.rmtree(spill, ignore_errors=True)


def _describe_frame(frame: Any, owner: Any, view: str, query: str) -> tuple[EngineField, ...]:
    """Return names and types of a frame; one column alone may be of a type that DuckDB does not know."""
    # A frame of no rows: so types come from the frame's own, never from a look at values.
    empty = _narrow(frame, rows=False)
    try:
        owner.register(view, empty)
        rows = owner.execute(query).fetchall()
    except duckdb.Error:
        width = empty.shape[1] if type(empty).__module__.partition(".")[0] == "pandas" else 0
        if not width:
            raise
        if width == 1:
            return (EngineField(name=str(empty.columns[0]), type=str(empty.dtypes.iloc[0]), family="other"),)
        parts = (empty.iloc[:, [place]] for place in range(width))
        return tuple(one for part in parts for one in _describe_frame(part, owner, view, query))
    # DuckDB renames a frame's column whose name it has seen before, so names are the frame's own.
    names = _names(frame) or [row[0] for row in rows]
    return tuple(_field(one, row[1]) for one, row in zip(names, rows, strict=True))


def _narrow(frame: Any, *, names: set[str] | None = None, rows: bool = True) -> Any:
    """Return a pandas, polars or Arrow frame without the columns nobody needs, or without its rows."""
    package = type(frame).__module__.partition(".")[0]
    if not rows:
        if package == "pandas":
            return frame.iloc[:0]
        return frame.slice(0, 0)
    if package == "pandas":
        return frame[[name for name in frame.columns if name in (names or ())]]
    return frame.select(sorted(names or ()))


def _names(frame: Any) -> list[str] | None:
    """Return the names of a frame's columns; None for polars, which has no two alike."""
    package = type(frame).__module__.partition(".")[0]
    if package == "polars":
        return None
    return [str(name) for name in (frame.columns if package == "pandas" else frame.column_names)]


def _field(name: str, described: str) -> EngineField:
    # A type may list values, ENUM('a', 'b'), or fields: only its first words are kept.
    kind = described.partition("(")[0].strip()
    family: Family = "other" if described.endswith("]") else _FAMILIES.get(kind, "other")
    return EngineField(name=name, type=kind, family=family, scale=decimals(described))


def _table(name: str) -> exp.Table:
    parts = name.split(".")
    if len(parts) > 3 or not all(parts):
        rule = "the name of a table, schema.table or catalogue.schema.table"
        raise InvalidParameter(name="data", rule=rule, value=name)
    return exp.Table(
        **dict(zip(("this", "db", "catalog"), map(exp.to_identifier, reversed(parts)), strict=False))
    )


def _parquet(path: str) -> exp.Table:
    """Return the table function that reads one or several Parquet files."""
    found = sorted(glob.glob(path)) if "*" in path else [path]
    if not found or not all(one.endswith(".parquet") for one in found):
        hint = "Write ('file.duckdb', 'table') for a table of a DuckDB database"
        raise InvalidParameter(
            name="data", rule="a .parquet, .csv or .csv.gz file", got=show_path(path), hint=hint
        )
    files = exp.Array(expressions=[exp.Literal.string(str(_existing(one))) for one in found])
    return exp.Table(this=exp.Anonymous(this="read_parquet", expressions=[files]))


def _existing(path: str) -> Path:
    if not Path(path).is_file():
        raise InvalidParameter(name="data", rule="the path of an existing file", got=show_path(path))
    return Path(path)


def _read_csv(path: Path, names: list[str]) -> exp.Anonymous:
    columns = exp.Struct(
        expressions=[
            exp.PropertyEQ(
                this=exp.to_identifier(name, quoted=True), expression=exp.Literal.string("VARCHAR")
            )
            for name in names
        ]
    )
    settings = {
        "columns": columns,
        "auto_detect": exp.false(),
        "header": exp.true(),
        "delim": exp.Literal.string(","),
        "quote": exp.Literal.string('"'),
        "escape": exp.Literal.string('"'),
        "nullstr": exp.Literal.string(""),
    }
    given = [exp.EQ(this=exp.var(name), expression=value) for name, value in settings.items()]
    return exp.Anonymous(this="read_csv", expressions=[exp.Literal.string(str(path)), *given])


def _header(path: Path) -> list[str]:
    """Read the first line of a CSV file: the names, no row."""
    try:
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as stream:
            line = stream.readline().decode("utf-8-sig", errors="replace")
    except (OSError, EOFError, zlib.error):
        raise InvalidParameter(name="data", rule="a file that can be read", value=str(path)) from None
    names = next(csv.reader(io.StringIO(line)), [])
    if not names or len({name.lower() for name in names}) < len(names):
        raise InvalidParameter(
            name="data", rule="a CSV file whose first line has distinct names", value=str(path)
        )
    return names
