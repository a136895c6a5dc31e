"""Where PostgreSQL keeps what was read: temporary tables, or a schema that the owner made for it.

PostgreSQL reads a temporary table by one process alone. The tables of a schema it reads by several, so an
owner who wants that makes a schema that nobody but the role of the connection may use and names it in the
setting `discreet.snapshots`. They are unlogged: their rows are in no replica and no write-ahead log, and gone
after a crash of the server. Each is named by a number that nobody can guess, whose lock the session holds
until it ends; what a session left that ended badly is removed by the next one, which finds its lock free.
"""

from __future__ import annotations

import itertools
from typing import Any

from sqlglot import exp

from discreet.core.errors import InvalidParameter
from discreet.core.rng import SYSTEM

SETTING = "discreet.snapshots"
"""The setting by which an owner names the schema: in the connection's options, or by ALTER ROLE ... SET."""
_FOUND = """
SELECT pg_catalog.has_schema_privilege(n.oid, 'USAGE') AND pg_catalog.has_schema_privilege(n.oid, 'CREATE'),
       EXISTS (SELECT FROM pg_catalog.aclexplode(n.nspacl) AS a, pg_catalog.pg_roles AS me
               WHERE me.rolname = current_user AND a.grantee NOT IN (n.nspowner, me.oid))
FROM pg_catalog.pg_namespace AS n WHERE n.nspname = %s
"""
_LEFT = """
SELECT c.relname FROM pg_catalog.pg_class AS c
JOIN pg_catalog.pg_namespace AS n ON n.oid = c.relnamespace
JOIN pg_catalog.pg_roles AS me ON me.oid = c.relowner
WHERE n.nspname = %s AND c.relkind = 'r' AND me.rolname = current_user AND c.relname ~ %s
"""


def find_storage(connection: Any) -> TemporaryTables | SnapshotTables:
    """Return where a session keeps its tables.

    Raises
    ------
    InvalidParameter
        When the named schema is not there, is not for this role, or others may use it.
    """
    ((schema,),) = connection.execute("SELECT pg_catalog.current_setting(%s, true)", [SETTING]).fetchall()
    return SnapshotTables(connection, schema) if schema else TemporaryTables()


class TemporaryTables:
    """Tables that the server drops when the session ends."""

    properties: tuple[exp.Property, ...] = ()

    def name(self, name: str) -> exp.Table:
        """Return the table of a name."""
        return exp.Table(this=exp.to_identifier(name), db=exp.to_identifier("pg_temp"))

    def list_left(self) -> list[exp.Table]:
        """Return the tables that must be dropped at the end: none."""
        return []


class SnapshotTables:
    """Unlogged tables of a schema, which several processes of the server read at once."""

    properties: tuple[exp.Property, ...] = (exp.UnloggedProperty(),)

    def __init__(self, connection: Any, schema: str) -> None:
        found = connection.execute(_FOUND, [schema]).fetchall()
        allowed, shared = found[0] if found else (False, False)
        if not allowed or shared:
            got = "one that others may use too" if allowed else "none, or one that the role may not use"
            raise InvalidParameter(
                name=SETTING,
                rule="a schema where the role of the connection, and nobody else, may create tables",
                got=got,
                hint="CREATE SCHEMA ... AUTHORIZATION the role, and GRANT it to nobody",
            )
        self._connection, self._schema, self._numbers = connection, schema, itertools.count()
        self._mark = SYSTEM.random_bytes(8).hex()
        _lock(connection, self._mark, wait=True)
        for table in self._list("^discreet_[0-9a-f]{16}_[0-9]+$"):
            mark = table.name.split("_")[1]
            if mark != self._mark and _lock(connection, mark, wait=False):
                with connection.transaction():
                    connection.execute("SET TRANSACTION READ WRITE")
                    connection.execute(
                        f"DROP TABLE IF EXISTS {table.sql('postgres', identify=True)}".encode()
                    )
                connection.execute("SELECT pg_catalog.pg_advisory_unlock(%s)", [_number(mark)])

    def name(self, name: str) -> exp.Table:
        """Return a table of a name that nobody can guess."""
        return self._table(f"discreet_{self._mark}_{next(self._numbers)}")

    def list_left(self) -> list[exp.Table]:
        """Return the tables that must be dropped at the end."""
        return self._list(f"^discreet_{self._mark}_[0-9]+$")

    def _list(self, pattern: str) -> list[exp.Table]:
        rows = self._connection.execute(_LEFT, [self._schema, pattern]).fetchall()
        return [self._table(name) for (name,) in rows]

    def _table(self, name: str) -> exp.Table:
        return exp.Table(this=exp.to_identifier(name), db=exp.to_identifier(self._schema))


def _lock(connection: Any, mark: str, *, wait: bool) -> bool:
    call = "pg_advisory_lock" if wait else "pg_try_advisory_lock"
    ((held,),) = connection.execute(f"SELECT pg_catalog.{call}(%s)", [_number(mark)]).fetchall()
    return wait or bool(held)


def _number(mark: str) -> int:
    return int.from_bytes(bytes.fromhex(mark), "big", signed=True)
