"""Keys: an analyst's own names for her requests."""

from __future__ import annotations

import re

from discreet.core import checks
from discreet.core.errors import InvalidParameter

MOST = 255
"""The most characters of a key."""

KEY_PATTERN = r"[\x21-\x7e]+"
"""What they are: the same in this process and over HTTP, whose headers lose spaces at their ends."""
_KEY = re.compile(f"{KEY_PATTERN[:-1]}{{1,{MOST}}}")


def require_key(key: str | None) -> str | None:
    """Return a key, which must be fit for a header and a database."""
    if key is None:
        return None
    text = checks.text(key=key)
    if _KEY.fullmatch(text) is None:
        got = "longer text" if len(text) > MOST else ""
        rule = f"1 to {MOST} visible ASCII characters"
        raise InvalidParameter(name="key", rule=rule, value=text, got=got)
    return text
