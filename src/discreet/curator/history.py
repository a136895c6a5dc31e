"""What an analyst was told before and after a question."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Self

from discreet.curator.limits import HISTORY, TEXT


@dataclass(frozen=True, slots=True, repr=False)
class Quote:
    """What a question would cost, and how well it would be answered.

    Attributes
    ----------
    kind
        "shared" where the hypothesis of all analysts answers, "priced" where the question is answered by
        itself, "repeated" where the same numbers were given before.
    cost
        What the budget would be charged.
    error
        How far off the answer may be, in words: for all questions at once where the hypothesis answers, and
        for this one.
    """

    kind: str
    cost: Mapping[str, Fraction]
    error: str

    @classmethod
    def free(cls, kind: str, error: str) -> Self:
        """Make the quote of something that costs nothing more."""
        return cls(kind, {}, error)

    def __repr__(self) -> str:
        paid = ", ".join(f"{name} {float(amount):.3g}" for name, amount in self.cost.items() if amount)
        return f"{self.kind}: costs {paid or 'nothing'}\n{self.error}"


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """One question an analyst asked.

    Attributes
    ----------
    number
        Its place in this analyst's own history, from 0. It stays the same when older questions fall out.
    what
        The question in canonical form, or the beginning of a long one.
    kind, repeated
        As in the reply; "failed" where the engine gave up, which is charged all the same.
    cost
        What the budget was charged.
    """

    number: int
    what: str
    kind: str
    repeated: bool
    cost: Mapping[str, Fraction]


class History:
    """What one analyst asked, the latest questions of it."""

    def __init__(self) -> None:
        self._asked: deque[AskedQuestion] = deque(maxlen=HISTORY)
        self._lock = threading.Lock()  # two threads of one analyst could otherwise take the same number

    def note(self, what: str, kind: str, cost: Mapping[str, Fraction], *, repeated: bool = False) -> None:
        """Add a question."""
        shown = what if len(what) <= TEXT else what[: TEXT - 1] + "…"
        with self._lock:
            self._asked.append(AskedQuestion(self._count, shown, kind, repeated, dict(cost)))

    @property
    def _count(self) -> int:
        """How many were asked, those that fell out included."""
        return self._asked[-1].number + 1 if self._asked else 0

    def listed(self) -> tuple[AskedQuestion, ...]:
        """List the questions that are kept, as copies: whoever reads them may write in them."""
        with self._lock:
            return tuple(replace(asked, cost=dict(asked.cost)) for asked in self._asked)

    def __str__(self) -> str:
        with self._lock:
            count, kept = self._count, len(self._asked)
        return f"{count} asked" if kept == count else f"{count} asked, the last {kept} in the history"
