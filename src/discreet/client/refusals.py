"""What a server refuses, as the errors that the curator itself would raise, in the server's words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.client.json_text import read_json
from discreet.core.errors import (
    AnswerLost,
    BudgetExceeded,
    ConversationClosed,
    DiscreetError,
    EngineFailed,
    InvalidParameter,
    KeyReused,
    LedgerStopped,
    NotFree,
    Refused,
    ServerRefused,
    StrangeReply,
)

LONGEST = 2_000
"""The most characters of a server's words that are repeated."""


def find_refusal(status: int, body: bytes) -> DiscreetError:
    """Return the error that a reply other than 200 tells of."""
    try:
        said = read_json(body)
    except StrangeReply:
        said = None
    if not isinstance(said, dict):
        said = {}
    kind, words = said.get("error"), said.get("message")
    if not isinstance(kind, str) or not isinstance(words, str):
        # A proxy on the way, or a server that is no curator: its page may hold anything.
        moved = "; it leads elsewhere, and is not followed" if 300 <= status < 400 else ""
        moved = moved or ("; is it the address of a discreet server?" if status in (404, 405, 501) else "")
        return ServerRefused(f"it replied with status {status}{moved}", status=status, kind="unknown")
    words = "".join(one if one.isprintable() else " " for one in words[:LONGEST])
    make = _KINDS.get(kind)
    return ServerRefused(words, status=status, kind=kind) if make is None else make(words)


def _make(error: type[DiscreetError], **fields: Any) -> Callable[[str], DiscreetError]:
    """Return what makes an error that says a server's words in place of those put together here."""

    def make(words: str) -> DiscreetError:
        made = error.__new__(error, words)
        made.args = (words,)
        for name, value in fields.items():
            setattr(made, name, value)
        return made

    return make


_KINDS: dict[str, Callable[[str], DiscreetError]] = {
    "key_reused": _make(KeyReused),
    "budget": _make(BudgetExceeded, asked=None, left=None, budget="", way_out=""),
    "closed": _make(ConversationClosed),
    "priced": _make(NotFree, what="", why="", way_out=""),
    "refused": _make(Refused, what="", why="", way_out=""),
    "invalid": _make(InvalidParameter, name="", rule="", value=None, hint=""),
    "internal": _make(EngineFailed),
    "lost": _make(AnswerLost, why="", way_out=""),
    "stopped": _make(LedgerStopped),
}
