"""What goes wrong, as it is said over the wire: a status, a kind and a sentence.

Errors of ours speak of the request and of public facts alone, so their words may be sent. Whatever else is
raised may quote data: it becomes one constant reply, and what it was is for the owner's log alone.
"""

from __future__ import annotations

from discreet.core.errors import (
    AnswerLost,
    BudgetExceeded,
    ConversationClosed,
    EngineFailed,
    InternalError,
    InvalidParameter,
    KeyReused,
    LedgerRefused,
    LedgerStopped,
    NeighboursMismatch,
    NotFree,
    Refused,
)
from discreet.server.fair_queue import TooMany


class Problem(Exception):
    """A reply other than an answer.

    Attributes
    ----------
    status
        Of the reply.
    kind
        One word for programs.
    message
        A sentence for people.
    """

    def __init__(self, status: int, kind: str, message: str) -> None:
        super().__init__(message)
        self.status, self.kind, self.message = status, kind, message

    @property
    def headers(self) -> dict[str, str]:
        """What is said beside it."""
        said = {401: {"WWW-Authenticate": "Bearer"}, 429: {"Retry-After": "1"}}
        return said.get(self.status, {})

    @property
    def body(self) -> dict[str, str]:
        """What is sent."""
        return {"error": self.kind, "message": self.message}


INTERNAL = Problem(500, "internal", "Something went wrong here. What was charged stays charged.")
NO_KEY = Problem(
    401,
    "unauthorised",
    "Send a key that is valid, as Authorization: Bearer dk_...; one that is unknown, revoked or past its "
    "last day opens nothing. The owner of the data gives out keys.",
)
NOT_FOUND = Problem(404, "not_found", "There is nothing here that your key opens.")
NOT_ALLOWED = Problem(405, "not_allowed", "This address does not take that method.")
TWICE = Problem(400, "invalid", "A header is there twice. Send each once.")
TOO_LARGE = Problem(413, "too_large", "The body is larger than this address takes.")
TOO_SLOW = Problem(408, "too_slow", "The body did not arrive in time.")
NOT_JSON = Problem(415, "not_json", "Send application/json, not compressed.")
TOO_OFTEN = Problem(429, "too_often", "You ask more often than anybody may. Wait, then go on.")
STOPPED = Problem(503, "stopped", "The ledger has stopped, and nothing is answered until its owner opens it.")

_KINDS: tuple[tuple[type[Exception], int, str], ...] = (
    (KeyReused, 422, "key_reused"),
    (BudgetExceeded, 402, "budget"),
    (ConversationClosed, 410, "closed"),
    (NotFree, 402, "priced"),
    (Refused, 422, "refused"),
    (NeighboursMismatch, 422, "invalid"),
    (InvalidParameter, 422, "invalid"),
    (TooMany, 429, "too_many"),
)


def find_problem(error: BaseException) -> Problem:
    """Return what is said of an error."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, AnswerLost):
        return Problem(410, "lost", str(error))
    if isinstance(error, LedgerStopped | LedgerRefused):
        return STOPPED
    if isinstance(error, EngineFailed | InternalError):
        return INTERNAL
    for kind, status, word in _KINDS:
        if isinstance(error, kind):
            return Problem(status, word, str(error))
    return INTERNAL
