"""What looks like a connection string may hold a password, so no error repeats it."""

from __future__ import annotations

import re

_CONNECTION = re.compile(
    r"(?i)://|@|^\s*postgres|(host|hostaddr|user|dbname|service|password|passfile|pwd)\s*="
)

_SERVER = re.compile(r"https?://([a-z0-9.-]{1,253}|\[[0-9a-f:]{2,39}\])(:[0-9]{1,5})?/?", re.ASCII)


def may_hold_password(given: str) -> bool:
    """Say whether a text looks like a connection string, or like a part of one."""
    if _SERVER.fullmatch(given):  # host and port alone: whoever cannot reach them needs to read which
        return False
    return _CONNECTION.search(given) is not None


def show_path(given: str, name: str = "data") -> str:
    """Return a path as errors show it: whose it is and as it was given, or withheld."""
    if may_hold_password(given):
        return "what looks like a connection string (withheld)"
    return f"{name}={given!r}"
