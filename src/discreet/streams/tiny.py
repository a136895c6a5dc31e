"""Small streams and their neighbours, for the exact audits of counters."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any


def push_all(count: int, *, at_once: bool = False) -> Callable[[Any], Hashable]:
    """Return a script that answers every step of a stream, one by one or all together."""

    def script(conversation: Any) -> Hashable:
        if at_once:
            return tuple(conversation.ask(count).tolist())
        return tuple(conversation.ask(1).tolist()[0] for _ in range(count))

    return script
