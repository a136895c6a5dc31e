"""What an analyst was told before and after a question."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Protocol

from discreet.core import checks
from discreet.core.guarantee import Guarantee
from discreet.core.shown import ROWS, data_frame, html_table, text_table, value_text
from discreet.curator.amounts import Amounts
from discreet.curator.limits import HISTORY, TEXT
from discreet.data.pricing.question_plan import ColumnError

_SHOWN = 100
"""How many characters of a question its line of the history prints."""


@dataclass(frozen=True, slots=True, repr=False)
class Quote:
    """What a question would cost, and how well it would be answered.

    Attributes
    ----------
    kind
        "shared" where the hypothesis of all analysts answers, "priced" where the question is answered by
        itself, "repeated" where the same numbers were given before.
    columns
        How far off each column of numbers may be: as wide as the intervals that the answer would have.
    together
        The same for all counts of all questions at once, where the shared hypothesis answers.
    cost, guarantee
        What the budget would be charged, and what for; nothing where it was paid for before.
    words
        More about a question that is answered by itself.
    refusal
        Why it would be refused now: whose budget its price exceeds, what is left of that, and what to do.
        None where there is room for it.
    """

    kind: str
    columns: tuple[ColumnError, ...]
    cost: Amounts = field(default_factory=Amounts)
    guarantee: Guarantee | None = None
    words: str = ""
    together: tuple[ColumnError, ...] = ()
    refusal: str | None = None

    @property
    def price(self) -> str:
        """What the budget would be charged, in one line."""
        return self.cost.paid

    def error(self, name: str, *, together: bool = False) -> float | None:
        """Return the error of a column at 95 %; None where none is known beforehand.

        What the shared hypothesis answers has an error a row; with `together`, one for all counts at once.
        Other questions are answered for all rows at once.
        """
        known = {
            one.name: one.error for one in (self.together if together and self.together else self.columns)
        }
        return known[checks.one_of(tuple(known), name=name)]

    def __repr__(self) -> str:
        shown = self.words or "\n".join(f"error    {one.name}: {one.words}" for one in self.columns)
        refused = "" if self.refusal is None else f"\nrefused  {self.refusal}"
        return f"{self.kind}: costs {self.price}\n{shown}{refused}"


class Written(Protocol):
    """A question that can be written out."""

    @property
    def text(self) -> str:
        """The question in canonical form."""


_Noted = tuple[int, str | Written, str, bool, dict[str, Fraction]]


def _shorten(what: str) -> str:
    return what if len(what) <= TEXT else what[: TEXT - 1] + "…"


@dataclass(frozen=True, slots=True, repr=False)
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
    cost: Amounts

    def __repr__(self) -> str:
        # A key such as the week of a day is written out for every declared day: lines of numbers.
        what = self.what if len(self.what) <= _SHOWN else self.what[: _SHOWN - 1] + "…"
        rest = f"kind={self.kind!r}, repeated={self.repeated}, cost={self.cost}"
        return f"AskedQuestion(number={self.number}, what={what!r}, {rest})"


class AskedQuestions(tuple[AskedQuestion, ...]):
    """The questions of one analyst, in order: a frame by `to_pandas`, a table of the latest where printed."""

    __slots__ = ()

    def to_pandas(self) -> Any:
        """Return a pandas frame, one row a question, with what was charged as numbers."""
        names = list(dict.fromkeys(name for one in self for name in one.cost))
        columns: dict[str, list[Any]] = {
            name: [getattr(one, name) for one in self] for name in ("number", "kind", "repeated", "what")
        }
        for name in names:
            columns[name] = [float(one.cost[name]) if name in one.cost else None for one in self]
        return data_frame(columns)

    @property
    def _cells(self) -> list[list[str]]:
        cells = [["number", "kind", "what", "charged"]]
        for one in self[-ROWS:]:
            what = value_text(one.what)
            what = what if len(what) <= _SHOWN else what[: _SHOWN - 1] + "…"
            again = ", repeated" if one.repeated else ""
            cells.append([str(one.number), one.kind + again, what, one.cost.paid])
        return cells

    @property
    def _notes(self) -> list[str]:
        return [f"{len(self) - ROWS} earlier questions are not printed"] if len(self) > ROWS else []

    def __repr__(self) -> str:
        return text_table(self._cells, self._notes)

    def _repr_html_(self) -> str:
        return html_table(self._cells, self._notes)


class History:
    """What one analyst asked, the latest questions of it.

    Parameters
    ----------
    bought
        What the book has of her from before: question, kind and cost of each. What cost nothing is not there.
    """

    def __init__(self, bought: Iterable[tuple[str, str, Mapping[str, Fraction]]] = ()) -> None:
        self._asked: deque[_Noted] = deque(maxlen=HISTORY)
        self._lock = threading.Lock()  # two threads of one analyst could otherwise take the same number
        for what, kind, cost in bought:
            self.note(what, kind, cost)

    def note(
        self, what: str | Written, kind: str, cost: Mapping[str, Fraction], *, repeated: bool = False
    ) -> None:
        """Add a question; what has a `text` is written out once somebody reads it."""
        shown = _shorten(what) if isinstance(what, str) else what
        with self._lock:
            self._asked.append((self._count, shown, kind, repeated, dict(cost)))

    @property
    def _count(self) -> int:
        """How many were asked, those that fell out included."""
        return self._asked[-1][0] + 1 if self._asked else 0

    def list_questions(self) -> AskedQuestions:
        """List the questions that are kept, as copies: whoever reads them may write in them."""
        with self._lock:
            noted = tuple(self._asked)
        return AskedQuestions(
            AskedQuestion(
                number,
                what if isinstance(what, str) else _shorten(what.text),
                kind,
                repeated,
                Amounts(cost),
            )
            for number, what, kind, repeated, cost in noted
        )

    def __str__(self) -> str:
        with self._lock:
            count, kept = self._count, len(self._asked)
        return f"{count} asked" if kept == count else f"{count} asked, the last {kept} in the history"
