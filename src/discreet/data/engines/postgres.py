"""PostgreSQL: tables of a server, copied as codes into tables of one session (see `postgres_storage`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import partial
from typing import Any, ClassVar

from sqlglot import exp

from discreet.core.errors import InvalidParameter, MissingExtra
from discreet.data.engines.base import EngineField, Source, unknown_input
from discreet.data.engines.failures import Reason
from discreet.data.engines.postgres_storage import SnapshotTables, TemporaryTables, find_storage
from discreet.data.engines.readings import Family, RowReading
from discreet.data.engines.rendering.render_expressions import is_text
from discreet.data.schema.columns import Column

try:
    import psycopg
    from psycopg.pq import TransactionStatus
except ImportError:
    raise MissingExtra(package="psycopg", extra="postgres") from None

_FAMILIES: dict[str, Family] = {
    **dict.fromkeys(("int2", "int4", "int8"), "integer"),
    **dict.fromkeys(("float4", "float8"), "real"),
    "numeric": "decimal",
    "bool": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "zoned",
    **dict.fromkeys(("text", "varchar", "bpchar"), "text"),
    "uuid": "uuid",
}

# A domain is read as the type it is made of; domains may be made of domains.
_COLUMNS = """
WITH RECURSIVE kinds AS (
  SELECT a.attnum, a.attname, t.typname, t.typtype, t.typbasetype
  FROM pg_catalog.pg_attribute AS a JOIN pg_catalog.pg_type AS t ON t.oid = a.atttypid
  WHERE a.attrelid = pg_catalog.to_regclass(%s) AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
  SELECT k.attnum, k.attname, t.typname, t.typtype, t.typbasetype
  FROM kinds AS k JOIN pg_catalog.pg_type AS t ON t.oid = k.typbasetype WHERE k.typtype = 'd'
)
SELECT attname, typname, typtype FROM kinds WHERE typtype <> 'd' ORDER BY attnum
"""


# A view holds rows of what it reads, and of what views read that it reads; a table those of its parts, and
# parts those of their whole.
_READS = """
WITH RECURSIVE named AS (
  SELECT pg_catalog.to_regclass(%s)::oid AS public, pg_catalog.to_regclass(%s)::oid AS private
), steps AS (
  SELECT r.ev_class AS reader, d.refobjid AS read
  FROM pg_catalog.pg_rewrite AS r JOIN pg_catalog.pg_depend AS d ON d.objid = r.oid
  WHERE d.classid = 'pg_catalog.pg_rewrite'::pg_catalog.regclass
    AND d.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass
UNION
  SELECT inhparent, inhrelid FROM pg_catalog.pg_inherits
), down AS (
  SELECT public AS found FROM named
UNION
  SELECT read FROM down JOIN steps ON reader = found
), up AS (
  SELECT found FROM down
UNION
  SELECT inhparent FROM up JOIN pg_catalog.pg_inherits ON inhrelid = found
)
SELECT count(*) FROM named WHERE private IN (SELECT found FROM up)
"""

_SERVER = """
SELECT pg_catalog.pg_is_in_recovery(),
       pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMPORARY'),
       pg_catalog.current_setting('server_encoding')
"""
_SETTINGS = {"timezone": "UTC", "standard_conforming_strings": "on", "client_encoding": "UTF8"}
"""What the meaning of our queries rests on. Everything else is as the owner set it."""
_LISTS_IN_MEMORY = b"SET LOCAL hash_mem_multiplier = 1000"
"""A list of units is looked up in a table in memory. Where the server expects it to be too large for that, it
reads the list again for every row: which of the two it does would hang on how many units there are."""

_ABSENT = 2**62
"""What missing codes are hashed as: no code is as large."""
_REASONS = {
    "42501": Reason.PERMISSION,
    "57014": Reason.TIMEOUT,  # cancelled, by its statement_timeout
    "55P03": Reason.TIMEOUT,  # no lock, within its lock_timeout
    "25006": Reason.STANDBY,
    **dict.fromkeys(("42P01", "42703", "3F000"), Reason.NOT_FOUND),
    **dict.fromkeys(("08", "57"), Reason.LOST),
    "53": Reason.NO_ROOM,
}
"""Reasons by SQLSTATE, or by its class."""


class Postgres(Source):
    """One session of a PostgreSQL server.

    Loading writes temporary tables, which only this session sees and the server drops at its end, or tables
    of a schema that the owner made for them; everything else runs in read-only transactions. All tables are
    read in one transaction, which sees the server as it was at one moment.

    Parameters
    ----------
    dsn
        A connection string of libpq. It is never shown.
    inputs
        Which table (``name`` or ``schema.name``) to read under which name.
    timeout
        Seconds after which a query, or the wait for a lock, is given up.
    """

    dialect = "postgres"
    sums_widen: ClassVar[bool] = True

    def __init__(self, dsn: str, inputs: Mapping[str, str], *, timeout: float) -> None:
        super().__init__(timeout=timeout)
        self._inputs = {name: _table(table) for name, table in inputs.items()}
        self._connect: Callable[[], psycopg.Connection[Any]] = partial(_open_session, dsn, timeout)
        self._connection = self._reconnect()
        self._storage: TemporaryTables | SnapshotTables = TemporaryTables()

    def _reconnect(self) -> psycopg.Connection[Any]:
        try:
            return self._connect()
        except self._failures():
            pass
        rule = "a PostgreSQL server that takes the connection"
        raise InvalidParameter(name="dsn", rule=rule, got="one that does not (what was given is withheld)")

    def hash_row(self, key: str, unit: exp.Expr, columns: Sequence[tuple[exp.Expr, Column]]) -> exp.Expr:
        """Return the hash that PostgreSQL spreads rows over partitions by, one column after the other."""
        seed = int.from_bytes(hashlib.sha256(key.encode()).digest()[:8], "big", signed=True)
        hashed = _hash("hashtextextended", unit, exp.cast(exp.Literal.string(str(seed)), "bigint"))
        for value, column in columns:
            # The hash of a missing value would be missing.
            if is_text(column):
                hashed = _hash("hashtextextended", _or(value, exp.Literal.string("")), hashed)
            else:
                code = exp.cast(_or(value, exp.Literal.number(_ABSENT)), "bigint")
                hashed = _hash("hashint8extended", code, hashed)
        return hashed

    def load(self, readings: Mapping[str, RowReading], *, unique: Mapping[str, str]) -> None:
        """Read every table, all in one transaction; see `Source.load`."""
        standby, temporary, encoding = self._try_opening(
            lambda: self._connection.execute(_SERVER).fetchall()
        )[0]
        if standby or not temporary:
            raise (Reason.STANDBY if standby else Reason.NO_TEMP).to_error()
        if encoding != "UTF8":
            # Text in other encodings has other bytes, and may have none in UTF-8: an error per cell.
            raise InvalidParameter(name="data", rule="of a database in UTF8", value=encoding)
        self._storage = self._try_opening(lambda: find_storage(self._connection))
        super().load(readings, unique=unique)
        self._read = partial(self.load, readings, unique=unique)

    def reopen(self) -> None:
        """Connect again and read everything again, as it is now."""
        with self._lock:
            self.require_open()
            self._connection.close()
            self._connection = self._reconnect()
            self._limit = None
            try:
                self._read()
            except BaseException:
                self._connection.close()
                raise

    def columns(self, name: str) -> tuple[EngineField, ...]:
        """Return names and types of an input."""
        table = self.raw(name)
        rows = self._try_opening(lambda: self._connection.execute(_COLUMNS, [self._sql(table)]).fetchall())
        if not rows:
            rule = "an existing table in a schema that the role may use"
            raise InvalidParameter(name="data", rule=rule, value=table.sql())
        return tuple(EngineField(name=row[0], type=row[1], family=_family(row[1], row[2])) for row in rows)

    def raw(self, name: str) -> exp.Table:
        """Return what a query that reads an input selects from."""
        if name not in self._inputs:
            raise unknown_input(self._inputs, name)
        return self._inputs[name].copy()

    def _give_back(self) -> None:
        """Drop what the server does not drop by itself, and end the session."""
        self._attempt(self._drop_left)
        self._connection.close()

    def _drop_left(self) -> None:
        for table in self._storage.list_left():
            self._drop(table)

    @contextmanager
    def _one_moment(self) -> Iterator[None]:
        with self._connection.transaction():
            self._connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ WRITE")
            yield

    def _count_raw(self, name: str, query: exp.Select) -> list[tuple[object, ...]]:
        return self._connection.execute(self._sql(query).encode()).fetchall()

    def _keep(self, name: str, query: exp.Query) -> exp.Table:
        table = self._storage.name(name)
        how = exp.Properties(expressions=[one.copy() for one in self._storage.properties])
        create = exp.Create(this=table, kind="TABLE", expression=query, properties=how)
        with self._transaction("READ WRITE"):
            self._connection.execute(self._sql(create).encode())
            self._connection.execute(f"ANALYZE {self._sql(table)}".encode())
        return table

    def _store(self, name: str, reading: RowReading) -> exp.Table:
        """Store rows, those of one user beside one another: read by an index they need no sorting."""
        table = super()._store(name, reading)
        if reading.users is not None:
            column = self._sql(exp.to_identifier(reading.users.column))
            self._connection.execute(f"CREATE INDEX ON {self._sql(table)} ({column})".encode())
        return table

    def _drop(self, table: exp.Table) -> None:
        with self._transaction("READ WRITE"):
            self._connection.execute(f"DROP TABLE {self._sql(table)}".encode())

    def _rows(self, query: exp.Query) -> Iterable[Iterable[object]]:
        text = self._sql(query).encode()
        with self._lock:
            self._settle()  # two interrupts in a row may have left the last question under way
            try:
                self._connection.execute("BEGIN READ ONLY")
                self._limit_statements()
                if any(one.args.get("query") for one in query.find_all(exp.In)):
                    self._connection.execute(_LISTS_IN_MEMORY)
                rows: list[tuple[object, ...]] = self._connection.execute(text).fetchall()
                self._connection.execute("COMMIT")
            except BaseException:
                self._settle()
                raise
        return rows

    def _settle(self) -> None:
        """End what an interrupt left under way: the session would be busy for whoever asks next."""
        session = self._connection.pgconn
        if session.transaction_status == TransactionStatus.ACTIVE:
            self._connection.cancel_safe()
            while session.get_result() is not None:
                pass
        if session.transaction_status in (TransactionStatus.INTRANS, TransactionStatus.INERROR):
            self._connection.execute("ROLLBACK")

    @contextmanager
    def _transaction(self, kind: str) -> Iterator[None]:
        with self._connection.transaction():
            self._connection.execute(f"SET TRANSACTION {kind}".encode())
            self._limit_statements()
            yield

    def _limit_statements(self) -> None:
        if self._limit is not None:
            limit = max(1, round(1000 * self._limit))
            self._connection.execute(f"SET LOCAL statement_timeout = {limit}".encode())

    def _seal(self) -> None:
        """Make read-only what is not said to be otherwise."""
        self._connection.execute("SET default_transaction_read_only = on")
        self._inputs = {}

    def _failures(self) -> tuple[type[BaseException], ...]:
        return (psycopg.Error, UnicodeError)

    def _reason(self, error: BaseException) -> Reason:
        state = getattr(error, "sqlstate", None) or ""
        if self._connection.closed:
            return Reason.LOST
        return _REASONS.get(state) or _REASONS.get(state[:2], Reason.UNREADABLE)


def _hash(name: str, value: exp.Expr, seed: exp.Expr) -> exp.Anonymous:
    return exp.Anonymous(this=name, expressions=[value.copy(), seed])


def _or(value: exp.Expr, other: exp.Expr) -> exp.Expr:
    return exp.Coalesce(this=value.copy(), expressions=[other])


def _open_session(dsn: str, timeout: float) -> psycopg.Connection[Any]:
    """Open a session. The connection string's own options hold, and those of its service and environment."""
    connection = psycopg.connect(dsn, autocommit=True)
    for name, value in _SETTINGS.items():
        connection.execute("SELECT pg_catalog.set_config(%s, %s, false)", [name, value])
    # The owner's own limit stays; without one a lock that somebody keeps would keep us for ever.
    wait = f"{max(1, round(1000 * timeout))}ms"
    unlimited = "pg_catalog.current_setting('lock_timeout') = '0'"
    connection.execute(f"SELECT pg_catalog.set_config('lock_timeout', %s, false) WHERE {unlimited}", [wait])
    return connection


def reads_table(dsn: str, *, public: str, private: str, timeout: float) -> bool:
    """Tell whether a table of a database holds rows of another: as itself, as a view, as a part or a whole.

    What a private view reads, and another view of that, are not known again: a view may leave out what is
    private, and nobody but the owner knows.

    Raises
    ------
    InvalidParameter
        Where the database cannot be asked.
    """
    names = [_table(one).sql(dialect="postgres", identify=True) for one in (public, private)]
    try:
        with closing(_open_session(dsn, timeout)) as session:
            return bool(session.execute(_READS.encode(), names).fetchall()[0][0])
    except (psycopg.Error, UnicodeError):  # its words may show what was given
        pass
    rule = "a PostgreSQL server that takes the connection"
    raise InvalidParameter(name="dsn", rule=rule, got="one that does not (what was given is withheld)")


def is_same_database(one: str, other: str) -> bool:
    """Tell whether two connection strings name one database, in the same words."""
    try:
        said, too = psycopg.conninfo.conninfo_to_dict(one), psycopg.conninfo.conninfo_to_dict(other)
    except psycopg.Error:
        return one == other
    usual = {"service": None, "host": None, "hostaddr": None, "port": "5432", "dbname": None}
    return all(said.get(name, left_out) == too.get(name, left_out) for name, left_out in usual.items())


def _family(name: str, kind: str) -> Family:
    return "text" if kind == "e" else _FAMILIES.get(name, "other")


def _table(name: object) -> exp.Table:
    if not isinstance(name, str) or not 1 <= len(parts := name.split(".")) <= 2 or not all(parts):
        raise InvalidParameter(name="data", rule="the name of a table, or schema.table", value=name)
    return exp.Table(
        this=exp.to_identifier(parts[-1]), db=exp.to_identifier(parts[0]) if len(parts) > 1 else None
    )
