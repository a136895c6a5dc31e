"""A book in PostgreSQL: two tables in a schema that the owner made for it."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from discreet.core import checks
from discreet.core.errors import DiscreetError, LedgerRefused, MissingExtra
from discreet.curator.ledger.books.chain import BookRow, Head
from discreet.curator.ledger.books.crashes import reach
from discreet.curator.ledger.books.stores import Answers
from discreet.curator.ledger.events import RECOVER

try:
    import psycopg
    from psycopg import sql
except ImportError:
    raise MissingExtra(package="psycopg", extra="postgres") from None

_DURABLE = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}
"""What a change that was acknowledged rests on: read back on every connection."""

_TABLES = """
CREATE TABLE IF NOT EXISTS {rows} (
    place bigint PRIMARY KEY, kind text NOT NULL, body text NOT NULL, digest bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS {answers} (
    ledger text NOT NULL, number bigint NOT NULL, answer bytea NOT NULL, PRIMARY KEY (ledger, number)
);
"""


_MANY = 1000
"""Rows that are read at once in a recovery."""


class PostgresStore:
    """One book in one schema of a PostgreSQL server.

    Parameters
    ----------
    dsn
        How to connect. Its role needs to create tables in the schema, or to find them there.
    schema
        Where the book is: made by the owner, for this alone.
    together
        Whether other processes of the same server have it open too. Otherwise nobody else may.
    """

    def __init__(self, dsn: str, *, schema: str = "discreet", together: bool = False) -> None:
        self._connection = _connect(checks.text(dsn=dsn))
        names = {name: sql.Identifier(checks.text(schema=schema), name) for name in ("rows", "answers")}
        self._names, self._schema = names, schema
        try:
            self._take_lease(f"discreet lease {schema}", together)
            # One change at a time: whoever changes something holds this first, and then reads.
            with self._connection.transaction():
                self._execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 1))", [f"discreet {schema}"])
                if self._find("SELECT to_regclass(%s)", f'"{schema}".rows') is None:
                    self._make_tables()
            self._require_durable()
            self._reader = _connect(dsn)  # by which rows are read while the first one writes
            self._reader.execute("SET default_transaction_read_only = on")
        except BaseException:
            self._connection.close()
            raise

    def _execute(self, text: str, values: Any = None) -> psycopg.Cursor[Any]:
        return self._connection.execute(sql.SQL(text).format(**self._names), values)

    def _find(self, text: str, *values: Any) -> Any:
        """Return what a query finds: one value, or None."""
        found = self._execute(text, values).fetchone()
        return None if found is None else found[0]

    def _make_tables(self) -> None:
        try:
            self._execute(_TABLES)
        except (psycopg.errors.InvalidSchemaName, psycopg.errors.InsufficientPrivilege):
            raise LedgerRefused(
                why=f"the database has no schema {self._schema} in which this role may make tables",
                way_out=f"Make one for the book alone: CREATE SCHEMA {self._schema} AUTHORIZATION the role",
            ) from None

    def _take_lease(self, name: str, together: bool) -> None:
        """Lock a name for as long as this connection lives: two that are alone would each have an anchor."""
        lock = "pg_try_advisory_lock_shared" if together else "pg_try_advisory_lock"
        if not self._find(f"SELECT {lock}(hashtextextended(%s, 1))", name):
            raise LedgerRefused(
                why="this book is open in another process",
                way_out="One at a time answers from a budget. Ask the server that runs, or end it and start "
                "again: nothing is lost. Of a process that died PostgreSQL may notice a little later",
            )

    def _require_durable(self) -> None:
        self._execute("SET synchronous_commit = on")
        self._execute("SET default_transaction_isolation = 'read committed'")
        for name, wanted in _DURABLE.items():
            found = self._find("SELECT current_setting(%s)", name)
            if found != wanted:
                raise LedgerRefused(
                    why=f"the server has {name} = {found}, and would forget charges",
                    way_out=f"Set {name} = {wanted} there",
                )

    @contextmanager
    def change(self) -> Iterator[PostgresStore]:
        """Begin a change: as `Store.change`."""
        with self._connection.transaction():
            # A share lock lets others read; nobody else gets one that allows to write.
            self._execute("LOCK TABLE {rows} IN SHARE ROW EXCLUSIVE MODE")
            yield self
            reach("before commit")

    def read_after(self, place: int) -> Iterator[BookRow]:
        """List rows: as `Transaction.read_after`."""
        found = self._execute(
            "SELECT place, kind, body, digest FROM {rows} WHERE place > %s ORDER BY place", [place]
        )
        return map(_read_row, found)

    def append(self, rows: Iterable[BookRow], answers: Answers) -> None:
        """Add rows: as `Transaction.append`."""
        for table, count, values in (
            ("rows", 4, [(row.place, row.kind, row.body, row.digest) for row in rows]),
            ("answers", 3, list(answers)),
        ):
            marks = ", ".join(["%s"] * count)
            with self._connection.cursor() as cursor:
                text = f"INSERT INTO {{{table}}} VALUES ({marks})"  # noqa: S608 - names of our own
                cursor.executemany(sql.SQL(text).format(**self._names), values)

    def read_answer(self, ledger: str, number: int) -> bytes | None:
        """Return what was kept: as `Store.read_answer`."""
        text = "SELECT answer FROM {answers} WHERE ledger = %s AND number = %s"
        found = self._find(text, ledger, number)
        return None if found is None else bytes(found)

    def read_rows(self, places: Collection[int]) -> list[BookRow]:
        """Return rows: as `Store.read_rows`."""
        text = sql.SQL("SELECT place, kind, body, digest FROM {rows} WHERE place = ANY(%s)")
        with contextlib.suppress(psycopg.Error):
            found = self._reader.execute(text.format(**self._names), [list(places)]).fetchall()
            return list(map(_read_row, found))
        return []

    # Recovery ------------------------------------------------------------------------------------------

    def read_sound(self) -> tuple[list[BookRow], list[tuple[str, int, bytes]]]:
        """Return the rows up to the first that is not as it was written, and the answers that can be read."""
        rows: list[BookRow] = []
        with contextlib.suppress(psycopg.Error, DiscreetError, TypeError):
            for row in Head().follow(self._read_one_by_one()):
                _ = row.event  # one that cannot be read ends what is sound
                rows.append(row)
        answers: list[tuple[str, int, bytes]] = []
        with contextlib.suppress(psycopg.Error, TypeError):
            found = self._execute("SELECT ledger, number, answer FROM {answers}")
            answers += [(ledger, number, bytes(answer)) for ledger, number, answer in found]
        return rows, answers

    def _read_one_by_one(self) -> Iterator[BookRow]:
        """List rows, many at a time where that works: a damaged page costs none of those before it."""
        place, many = 0, _MANY
        text = "SELECT place, kind, body, digest FROM {rows} WHERE place > %s ORDER BY place LIMIT %s"
        while True:
            try:
                found = self._execute(text, [place, many]).fetchall()
            except psycopg.Error:
                if many == 1:
                    raise
                many = 1
                continue
            yield from map(_read_row, found)
            if not found:
                return
            place = found[-1][0]

    def replace(self, rows: Iterable[BookRow], answers: Answers, time: int) -> str:
        """Put what is there aside, under names that are told, and begin anew with these rows."""
        with self._connection.transaction():
            number, ending = 1, str(time)
            while self._find("SELECT to_regclass(%s)", self._quote(f"rows_before_{ending}")) is not None:
                number, ending = number + 1, f"{time}_{number + 1}"
            for name in self._names:
                aside = sql.Identifier(f"{name}_before_{ending}")
                rename = sql.SQL("ALTER TABLE IF EXISTS {} RENAME TO {}")
                self._connection.execute(rename.format(self._names[name], aside))
            self._execute(_TABLES)
            self.append(rows, answers)
        return f"rows_before_{ending}"

    def _quote(self, name: str) -> str:
        return sql.Identifier(self._schema, name).as_string(self._connection)

    def close(self) -> None:
        """Give the lease and the connection back: by itself the server may notice a little later."""
        with contextlib.suppress(psycopg.Error):
            self._execute("SELECT pg_advisory_unlock_all()")
        self._reader.close()
        self._connection.close()


def _read_row(found: tuple[Any, ...]) -> BookRow:
    place, kind, body, digest = found
    return BookRow(place, kind, body, bytes(digest))


def read_rows(dsn: str, *, schema: str = "discreet") -> list[BookRow]:
    """Return all rows of a book, which others may have open; nothing can be written by this."""
    connection = _connect(checks.text(dsn=dsn))
    try:
        connection.execute("SET default_transaction_read_only = on")
        text = sql.SQL("SELECT place, kind, body, digest FROM {} ORDER BY place")
        found = connection.execute(text.format(sql.Identifier(schema, "rows"))).fetchall()
    except psycopg.Error:
        raise LedgerRefused(why=f"there is no book in {schema} that can be read", way_out=RECOVER) from None
    finally:
        connection.close()
    return list(map(_read_row, found))


def _connect(dsn: str) -> psycopg.Connection[Any]:
    try:
        return psycopg.connect(dsn, autocommit=True)
    except psycopg.Error:  # what it says may quote the address, with its password
        why = "its server cannot be reached, or does not let us in"
    raise LedgerRefused(why=why, way_out="Try the same address with psql, which says why")
