"""What looks like a connection string may hold a password, so no error repeats it."""

from __future__ import annotations

import re

_CONNECTION = re.compile(
    r"(?i)://|@|^\s*postgres|(host|hostaddr|user|dbname|service|password|passfile|pwd)\s*="
)


def shown(given: str) -> str:
    """Return a path as errors show it: as it was given, or withheld."""
    if _CONNECTION.search(given):
        return "what looks like a connection string (withheld)"
    return f"data={given!r}"
