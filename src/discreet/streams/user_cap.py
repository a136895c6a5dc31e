"""How many events of one user count, and which.

A guarantee for users needs a bound on what one of them adds. Streams do not keep to declared bounds, so
elements beyond the cap count as nothing, by a rule that looks at that user's own events alone: blanking all
events of one user then leaves everybody else's as they are.
"""

from __future__ import annotations

import enum
from typing import Any, ClassVar

import numpy as np

from discreet.core import checks
from discreet.core.parameters import checked, public

User = int | str | bytes

_TEXT = frozenset((np.str_, np.bytes_))
_WHOLE = frozenset(np.dtype(code).type for code in "bhilqBHILQ")


class Which(enum.Enum):
    """Which of a user's events count."""

    FIRST = "the first"
    SPREAD = "the first in each of as many periods of equal length"


@checked
class UserCap:
    """At most `most` events of each user count; which ones, `which` says. Others count as nothing."""

    way_out: ClassVar[str] = "Pass UserCap(10), where the first ten events of each user count"

    most: int = public(checks.integer, 1)
    which: Which = public(checks.instance, Which, default=Which.FIRST)


class CapBook:
    """Who has been counted how often: private, like the stream itself."""

    def __init__(self, cap: UserCap, horizon: int, seen: dict[User, int] | None = None) -> None:
        self._cap = cap
        self._period = -(-horizon // cap.most)
        self._seen = {} if seen is None else seen

    def admit(self, user: User, step: int) -> bool:
        """Tell whether an event of a user at a step, counted from 0, counts; it does so once."""
        past = self._seen.get(user, 0)
        now = past + 1 if self._cap.which is Which.FIRST else step // self._period + 1
        if now <= past or now > self._cap.most:
            return False
        self._seen[user] = now
        return True

    def write(self) -> list[list[Any]]:
        """Return what is known of users as plain values, in no order that says when they came."""
        rows: list[list[Any]] = [[*_write_user(user), count] for user, count in self._seen.items()]
        return sorted(rows)

    @classmethod
    def restore(cls, cap: UserCap, horizon: int, rows: list[list[Any]]) -> CapBook:
        """Return the book that was written."""
        return cls(cap, horizon, {_read_user(kind, name): count for kind, name, count in rows})


def _write_user(user: User) -> tuple[str, str]:
    """Write a user in ASCII digits: long numbers are not printed, and JSON reads two halves as one sign."""
    if isinstance(user, int):
        return "int", f"{user:x}"
    if isinstance(user, str):
        return "str", user.encode(errors="surrogatepass").hex()
    return "bytes", user.hex()


def _read_user(kind: str, name: str) -> User:
    if kind == "int":
        return int(name, 16)
    plain = bytes.fromhex(name)
    return plain.decode(errors="surrogatepass") if kind == "str" else plain


def read_event(event: Any) -> tuple[User | None, Any]:
    """Return user and element of one event; (None, None) for what is no pair or names no user.

    Users are whole numbers, text or bytes. Nothing of a stranger's class is asked.
    """
    if type(event) not in (tuple, list) or len(event) != 2:
        return None, None
    user = read_name(event[0])
    return (None, None) if user is None else (user, event[1])


def read_name(value: Any) -> User | None:
    """Return a whole number, text or bytes as one of Python's own; None for all else."""
    kind = type(value)
    if kind in _WHOLE:  # spans of time are numpy integers too, and none that int() takes
        return int(value)
    if kind in _TEXT:
        return str(value) if kind is np.str_ else bytes(value)
    return value if kind in (int, str, bytes) else None
