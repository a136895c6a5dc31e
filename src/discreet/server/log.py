"""The owner's log: one JSON object a line, without questions, answers, keys or words of engines."""

from __future__ import annotations

import json
import logging
import time
from typing import Any

_LONGEST = 200
_LOG = logging.getLogger("discreet.server")


def note(what: str, **facts: Any) -> None:
    """Write a line. Facts are numbers, names that were checked, or places in our own code."""
    _LOG.info(
        json.dumps({"time": round(time.time(), 3), "what": what, **{k: _short(v) for k, v in facts.items()}})
    )


def _short(value: Any) -> Any:
    return value[:_LONGEST] if isinstance(value, str | list) else value
