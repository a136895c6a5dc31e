"""What it takes to plan one question: counted as it goes, and limited.

A step is about ten nanoseconds on any machine of our day: one declared value looked at by one operation on an
array. What is done one by one in Python costs hundreds of them. Counts depend on the question and on what is
declared, never on the machine, the clock or what others asked: so the same question is always planned, or
never.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from discreet.core.errors import Refused

MAX_STEPS = 10_000_000
"""Steps that planning one question may take: ordinary questions take less than a tenth of them."""
_left: ContextVar[list[int] | None] = ContextVar("left", default=None)


@contextmanager
def limit_effort(most: int = MAX_STEPS) -> Iterator[None]:
    """Count the steps that are taken within, and refuse a question that takes too many."""
    token = _left.set([most])
    try:
        yield
    finally:
        _left.reset(token)


def is_limited() -> bool:
    """Say whether steps are counted."""
    return _left.get() is not None


def spend(steps: int) -> None:
    """Count steps, best before they are taken."""
    left = _left.get()
    if left is None:
        return
    left[0] -= steps
    if left[0] < 0:
        raise Refused(
            what="an expression",
            why=(
                f"this question takes more than {MAX_STEPS} steps to plan: "
                "a function of a column is computed for each of its declared values"
            ),
            way_out=(
                "Ask for fewer functions and conditions at once, above all of columns with many values, or "
                "ask the owner for a coarser column"
            ),
        )
