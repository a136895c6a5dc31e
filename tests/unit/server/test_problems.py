import pytest

from discreet.core.errors import (
    AnswerLost,
    BudgetExceeded,
    EngineFailed,
    InternalError,
    InvalidParameter,
    KeyReused,
    LedgerRefused,
    LedgerStopped,
    NotFree,
    Refused,
)
from discreet.server.fair_queue import TooMany
from discreet.server.problems import INTERNAL, STOPPED, find_problem

SECRET = "alice is 64"


@pytest.mark.parametrize(
    "error",
    [
        ValueError(SECRET),
        KeyError(SECRET),
        RuntimeError(SECRET),
        MemoryError(SECRET),
        OSError(SECRET),
        InternalError(SECRET),
        EngineFailed(),
    ],
)
def test_what_nobody_foresaw_has_one_reply(error):
    assert find_problem(error) is INTERNAL
    assert SECRET not in INTERNAL.message


@pytest.mark.parametrize("error", [LedgerStopped(SECRET), LedgerRefused(why=SECRET, way_out=SECRET)])
def test_what_is_wrong_with_the_book_is_for_its_owner(error):
    assert find_problem(error) is STOPPED


@pytest.mark.parametrize(
    ("error", "status", "kind"),
    [
        (InvalidParameter(name="epsilon", rule="positive", value=-1), 422, "invalid"),
        (Refused(what="x", why="y", way_out="z"), 422, "refused"),
        (NotFree(what="x", why="y", way_out="z"), 402, "priced"),
        (BudgetExceeded(asked=1, left=0), 402, "budget"),
        (KeyReused(), 422, "key_reused"),
        (AnswerLost(why="x", way_out="y"), 410, "lost"),
        (TooMany(), 429, "too_many"),
    ],
)
def test_our_own_words_are_sent(error, status, kind):
    found = find_problem(error)
    assert (found.status, found.kind, found.message) == (status, kind, str(error))
