"""PostgreSQL: tables of a server, copied as codes into temporary tables of one session."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from sqlglot import exp

from discreet.core.errors import EngineFailed, InvalidParameter, MissingExtra
from discreet.data.sources.base import Family, Field, Source, unknown_input

try:
    import psycopg
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


class Postgres(Source):
    """One session of a PostgreSQL server.

    Loading and caching write temporary tables, which only this session sees and the server drops at its
    end; everything else runs in read-only transactions.

    Parameters
    ----------
    dsn
        A connection string of libpq. It is never shown.
    inputs
        Which table (``name`` or ``schema.name``) to read under which name.
    timeout
        Seconds after which a query is given up.
    """

    dialect = "postgres"

    def __init__(self, dsn: str, inputs: Mapping[str, str], *, timeout: int = 600) -> None:
        super().__init__()
        self._inputs = {name: _table(table) for name, table in inputs.items()}
        settings = f"-c statement_timeout={timeout * 1000} -c timezone=UTC -c standard_conforming_strings=on"
        try:
            connection = self._quietly(lambda: psycopg.connect(dsn, autocommit=True, options=settings))
        except EngineFailed:
            rule = "a PostgreSQL server that takes the connection"
            raise InvalidParameter(name="dsn", rule=rule, value="(withheld)") from None
        self._connection: psycopg.Connection[Any] = connection

    def columns(self, name: str) -> tuple[Field, ...]:
        """Return names and types of an input."""
        table = self.raw(name)
        rows = self._quietly(lambda: self._connection.execute(_COLUMNS, [self._sql(table)]).fetchall())
        if not rows:
            raise InvalidParameter(name="data", rule="an existing table", value=table.sql())
        return tuple(Field(name=row[0], type=row[1], family=_family(row[1], row[2])) for row in rows)

    def raw(self, name: str) -> exp.Table:
        """Return what a query that reads an input selects from."""
        if name not in self._inputs:
            raise unknown_input(self._inputs, name)
        return self._inputs[name].copy()

    def close(self) -> None:
        """End the session; the server drops its temporary tables."""
        self._connection.close()

    def _keep(self, name: str, query: exp.Query) -> exp.Table:
        table = exp.Table(this=exp.to_identifier(name), db=exp.to_identifier("pg_temp"))
        create = exp.Create(this=table, kind="TABLE", expression=query)
        self._run(self._sql(create))
        self._run(f"ANALYZE {self._sql(table)}")
        return table

    def _drop(self, table: exp.Table) -> None:
        self._run(f"DROP TABLE {self._sql(table)}")

    def _run(self, sql: str) -> None:
        with self._connection.transaction():
            self._connection.execute("SET TRANSACTION READ WRITE")
            self._connection.execute(sql.encode())

    def _rows(self, query: exp.Query) -> Iterable[Iterable[object]]:
        with self._lock, self._connection.transaction():
            self._connection.execute("SET TRANSACTION READ ONLY")
            rows: list[tuple[object, ...]] = self._connection.execute(self._sql(query).encode()).fetchall()
        return rows

    def _seal(self) -> None:
        """Make read-only what is not said to be otherwise."""
        self._run("SET default_transaction_read_only = on")
        self._inputs = {}

    def _failures(self) -> tuple[type[BaseException], ...]:
        return (psycopg.Error, UnicodeError)


def _family(name: str, kind: str) -> Family:
    return "text" if kind == "e" else _FAMILIES.get(name, "other")


def _table(name: object) -> exp.Table:
    if not isinstance(name, str) or not 1 <= len(parts := name.split(".")) <= 2 or not all(parts):
        raise InvalidParameter(name="data", rule="the name of a table, or schema.table", value=name)
    return exp.Table(
        this=exp.to_identifier(parts[-1]), db=exp.to_identifier(parts[0]) if len(parts) > 1 else None
    )
