"""Who may come in: keys, what each opens, what the owner set aside for whom, and from which file.

A key is 256 random bits; what is kept of it is a digest, found by the public beginning of the key and
compared in constant time. Every request looks it up anew, so that a key that is revoked opens nothing from
then on.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from discreet.core import checks
from discreet.core.errors import InvalidParameter
from discreet.data.file_marks import FileMark

Role = Literal["owner", "analyst", "auditor"]
ROLES: tuple[Role, ...] = ("owner", "analyst", "auditor")

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,62}")
_KEY = re.compile(r"dk_([0-9a-f]{16})_([A-Za-z0-9_-]{43})")
_NOBODY = hashlib.sha256(b"nobody").digest()
_TABLES = """
CREATE TABLE IF NOT EXISTS keys (
  id TEXT PRIMARY KEY, digest BLOB NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
  created INTEGER NOT NULL, expires INTEGER, revoked INTEGER
) STRICT;
CREATE TABLE IF NOT EXISTS grants (
  name TEXT NOT NULL, dataset TEXT NOT NULL, share TEXT NOT NULL, PRIMARY KEY (name, dataset)
) STRICT;
CREATE TABLE IF NOT EXISTS studies (
  dataset TEXT NOT NULL, name TEXT NOT NULL, share TEXT NOT NULL, purpose TEXT NOT NULL,
  PRIMARY KEY (dataset, name)
) STRICT;
CREATE TABLE IF NOT EXISTS contents (
  dataset TEXT NOT NULL, version TEXT NOT NULL, size INTEGER NOT NULL, changed INTEGER NOT NULL,
  key BLOB NOT NULL, digest BLOB NOT NULL, PRIMARY KEY (dataset, version)
) STRICT;
"""


@dataclass(frozen=True, slots=True)
class KeyFacts:
    """What is known of a key; never the key.

    Attributes
    ----------
    id
        Its public beginning.
    name, role
        Who has it, and as what.
    created, expires, revoked
        Seconds since 1970; None for never.
    """

    id: str
    name: str
    role: Role
    created: int
    expires: int | None = None
    revoked: int | None = None


@dataclass(frozen=True, slots=True)
class Study:
    """What questions are asked for, as the owner registered it.

    Attributes
    ----------
    dataset, name
        Where, and what it is called.
    share
        The most of the budget it may use.
    purpose
        Why, in the owner's words; public.
    """

    dataset: str
    name: str
    share: Fraction
    purpose: str


class Access:
    """The file of keys, grants and studies.

    Parameters
    ----------
    path
        Where it is, or is to be made: readable by its owner alone.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = os.fspath(path)
        os.close(os.open(self.path, os.O_CREAT | os.O_RDWR, 0o600))
        self._lock = threading.Lock()
        self._shares: dict[tuple[str, str], Fraction] = {}
        self._connection = sqlite3.connect(
            self.path, timeout=10, isolation_level=None, check_same_thread=False
        )
        self._connection.execute("PRAGMA synchronous = FULL")
        self._connection.executescript(_TABLES)

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._connection.close()

    # Keys ----------------------------------------------------------------------------------------------

    def make_key(self, name: str, *, role: Role = "analyst", days: int | None = None) -> str:
        """Make a key and return it: the only time that anybody sees it.

        Parameters
        ----------
        name
            Who will have it. Several keys of one name open the same door.
        role
            As what: an analyst asks, an auditor reads the ledger, an owner does both.
        days
            How long it is good for; for ever by default.
        """
        require_name(name=name)
        checks.one_of(ROLES, role=role)
        now = int(time.time())
        expires = None if days is None else now + 86_400 * checks.integer(1, days=days)
        public, secret = secrets.token_hex(8), secrets.token_urlsafe(32)
        key = f"dk_{public}_{secret}"
        with self._change() as change:
            known = change.execute("SELECT role FROM keys WHERE name = ? LIMIT 1", [name]).fetchone()
            if known is not None and known[0] != role:
                raise InvalidParameter(
                    name="role", rule=f"{known[0]}, as other keys of {name} are", value=role
                )
            change.execute(
                "INSERT INTO keys VALUES (?, ?, ?, ?, ?, ?, NULL)",
                [public, hashlib.sha256(key.encode()).digest(), name, role, now, expires],
            )
        return key

    def find(self, key: str) -> KeyFacts | None:
        """Return whose key it is; None where it opens nothing, whatever the reason."""
        match = _KEY.fullmatch(key)
        row = None if match is None else self._read_one("SELECT * FROM keys WHERE id = ?", [match[1]])
        digest = _NOBODY if row is None else row[1]
        same = hmac.compare_digest(hashlib.sha256(key.encode("utf-8", "replace")).digest(), digest)
        if row is None or not same:
            return None
        facts = _facts(row)
        if facts.revoked is not None or (facts.expires is not None and time.time() >= facts.expires):
            return None
        return facts

    def revoke(self, which: str) -> int:
        """Let a key, or all keys of a name, open nothing from now on; return how many that were."""
        with self._change() as change:
            done = change.execute(
                "UPDATE keys SET revoked = ? WHERE revoked IS NULL AND (id = ? OR name = ?)",
                [int(time.time()), which, which],
            )
            return done.rowcount

    def list_keys(self) -> tuple[KeyFacts, ...]:
        """List what is known of all keys, in the order in which they were made."""
        return tuple(map(_facts, self._read("SELECT * FROM keys ORDER BY created, id", [])))

    # What the owner sets aside -------------------------------------------------------------------------

    def grant(self, name: str, dataset: str, share: checks.Number) -> None:
        """Let an analyst ask about a data set, within a share of its budget; set once."""
        require_name(name=name)
        part = _read_share(share)
        with self._change() as change:
            known = change.execute(
                "SELECT share FROM grants WHERE name = ? AND dataset = ?", [name, dataset]
            ).fetchone()
            if known is not None and Fraction(known[0]) != part:
                rule = f"{known[0]}, as it was set: a share is set once"
                raise InvalidParameter(name="share", rule=rule, value=share)
            if known is None:
                change.execute("INSERT INTO grants VALUES (?, ?, ?)", [name, dataset, str(part)])

    def find_share(self, name: str, dataset: str) -> Fraction | None:
        """Return what an analyst may use of a data set; None where she may not ask about it."""
        known = self._shares.get((name, dataset))
        if known is None:  # what was granted is never taken back, so it is looked up once
            row = self._read_one("SELECT share FROM grants WHERE name = ? AND dataset = ?", [name, dataset])
            known = None if row is None else self._shares.setdefault((name, dataset), Fraction(row[0]))
        return known

    def list_shares(self, dataset: str) -> dict[str, Fraction]:
        """Return who may ask about a data set with which share, in the order in which they were granted."""
        rows = self._read("SELECT name, share FROM grants WHERE dataset = ? ORDER BY rowid", [dataset])
        return {name: Fraction(share) for name, share in rows}

    def list_grants(self) -> tuple[tuple[str, str, Fraction], ...]:
        """List who may ask about what, and with which share."""
        rows = self._read("SELECT name, dataset, share FROM grants ORDER BY dataset, name", [])
        return tuple((name, dataset, Fraction(share)) for name, dataset, share in rows)

    def add_study(self, dataset: str, name: str, share: checks.Number, *, purpose: str) -> None:
        """Register what questions may be asked for, and the share of the budget it may use; once."""
        require_name(name=name)
        part, why = _read_share(share), checks.text(purpose=purpose)
        with self._change() as change:
            known = change.execute(
                "SELECT 1 FROM studies WHERE dataset = ? AND name = ?", [dataset, name]
            ).fetchone()
            if known is not None:
                raise InvalidParameter(name="name", rule="new: a study is registered once", value=name)
            change.execute("INSERT INTO studies VALUES (?, ?, ?, ?)", [dataset, name, str(part), why])

    def list_studies(self, dataset: str | None = None) -> tuple[Study, ...]:
        """List the studies of a data set, or all."""
        rows = self._read(
            "SELECT * FROM studies WHERE ? IS NULL OR dataset = ? ORDER BY dataset, name", [dataset, dataset]
        )
        return tuple(Study(where, name, Fraction(share), purpose) for where, name, share, purpose in rows)

    # How -----------------------------------------------------------------------------------------------

    def find_mark(self, dataset: str, version: str | None) -> FileMark | None:
        """Return the file that a version of a data set was first served from; None where it never was."""
        text = "SELECT size, changed, key, digest FROM contents WHERE dataset = ? AND version = ?"
        found = self._read_one(text, [dataset, version or ""])
        return None if found is None else FileMark(*found)

    def keep_mark(self, dataset: str, version: str | None, mark: FileMark) -> None:
        """Keep which file a version of a data set is served from."""
        values = [dataset, version or "", mark.size, mark.changed, mark.key, mark.digest]
        with self._change() as connection:
            connection.execute("INSERT INTO contents VALUES (?, ?, ?, ?, ?, ?)", values)

    @contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def _read(self, text: str, values: list[object]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._connection.execute(text, values).fetchall()

    def _read_one(self, text: str, values: list[object]) -> tuple[Any, ...] | None:
        rows = self._read(text, values)
        return rows[0] if rows else None


def require_name(**named: str) -> str:
    """Return the name of an analyst, a data set or a study: letters, digits and a few signs."""
    ((name, value),) = named.items()
    if _NAME.fullmatch(checks.text(**named)) is None:
        rule = "1 to 63 letters, digits, _, ., @ or -, and begin with a letter or a digit"
        raise InvalidParameter(name=name, rule=rule, value=value)
    return value


def _read_share(share: checks.Number) -> Fraction:
    part = checks.positive(share=share)
    if part > 1:
        raise InvalidParameter(name="share", rule="at most 1, which is all of the budget", value=share)
    return part


def _facts(row: tuple[Any, ...]) -> KeyFacts:
    public, _, name, role, created, expires, revoked = row
    return KeyFacts(public, name, role, created, expires, revoked)
