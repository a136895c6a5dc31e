"""What a session was asked, what each question was priced at and what it loses."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.core.guarantee import Guarantee
from discreet.core.losses.pure import ApproxLoss
from discreet.core.shown import ROWS, data_frame, html_table, more_rows, text_table, value_text
from discreet.curator.amounts import Amounts
from discreet.curator.ledger.entries import SpendingLedger, Ticket
from discreet.curator.limits import TEXT
from discreet.curator.sessions.released_rows import expect_rows
from discreet.data.pricing.answer import Answer
from discreet.data.pricing.question_plan import QuestionPlan
from discreet.data.pricing.usefulness import RowsKnown

KEPT = 1000
"""Answers of a session that are kept, to be given again."""

_SHOWN = 60  # characters of a question that a printed history shows


@dataclass(frozen=True, slots=True)
class Purchase:
    """Something that a session is about to buy, or has bought: written down before it is paid for.

    Attributes
    ----------
    kind
        "sql", "release", "run" or "open".
    what
        The question in its canonical form, or the mechanism. It holds no data.
    guarantee
        What it loses, for whom the data protect.
    bought
        The pair that it was bought for, where it was one.
    ticket
        Its number in the ledger, once it is paid for.
    """

    kind: str
    what: str
    guarantee: Guarantee
    bought: ApproxLoss | None = None
    ticket: Ticket = field(default_factory=Ticket, compare=False)


@dataclass(frozen=True, slots=True)
class SessionEntry:
    """One line of a session's history.

    Attributes
    ----------
    number
        The number of its entry in the ledger.
    kind, what
        As it was asked.
    price
        The pair that it was bought for, or that it is; None where there is none.
    loss
        What it loses, in words.
    charged
        What the budget was charged; nothing where it was given back.
    state
        "finished"; "started" where data were touched and no answer came out (yet), which is charged all the
        same; "voided" where it was given back before.
    """

    number: int
    kind: str
    what: str
    price: tuple[Fraction, Fraction] | None
    loss: str
    charged: Amounts
    state: str


class SessionHistory(Sequence[SessionEntry]):
    """Everything that a session paid for, in order: a frame by `to_pandas`, a table where it is printed."""

    def __init__(self, entries: Sequence[SessionEntry]) -> None:
        self._entries = tuple(entries)

    def __getitem__(self, place: Any) -> Any:
        return self._entries[place]

    def __len__(self) -> int:
        return len(self._entries)

    def to_pandas(self) -> Any:
        """Return a pandas frame, one row a question; amounts as numbers, missing where there are none."""
        names = list(dict.fromkeys(name for entry in self._entries for name in entry.charged))
        columns: dict[str, list[Any]] = {
            "number": [entry.number for entry in self._entries],
            "kind": [entry.kind for entry in self._entries],
            "what": [entry.what for entry in self._entries],
            "epsilon": [None if one.price is None else float(one.price[0]) for one in self._entries],
            "delta": [None if one.price is None else float(one.price[1]) for one in self._entries],
            "loss": [entry.loss for entry in self._entries],
        }
        for name in names:
            columns[f"charged_{name}"] = [_number(entry.charged.get(name)) for entry in self._entries]
        columns["state"] = [entry.state for entry in self._entries]
        return data_frame(columns)

    @property
    def _cells(self) -> list[list[str]]:
        cells = [["number", "kind", "what", "epsilon", "delta", "loss", "state"]]
        for entry in self._entries[:ROWS]:
            price = ["", ""] if entry.price is None else [f"{float(each):.6g}" for each in entry.price]
            shown = value_text(entry.what)
            shown = shown if len(shown) <= _SHOWN else shown[: _SHOWN - 1] + "…"
            cells.append([str(entry.number), entry.kind, shown, *price, entry.loss, entry.state])
        return cells

    def __repr__(self) -> str:
        return text_table(self._cells, more_rows(len(self)))

    def _repr_html_(self) -> str:
        return html_table(self._cells, more_rows(len(self)))


class PurchaseBook:
    """The purchases of one session, each noted before it is paid for: no interrupt comes in between."""

    def __init__(self) -> None:
        self._noted: dict[int, Purchase] = {}
        self._lock = threading.Lock()

    def note(self, purchase: Purchase) -> None:
        """Note what is about to be bought."""
        with self._lock:
            self._noted[id(purchase)] = purchase

    def forget(self, purchase: Purchase) -> None:
        """Forget what was refused."""
        with self._lock:
            self._noted.pop(id(purchase), None)

    def _bought(self) -> Iterator[tuple[int, Purchase]]:
        with self._lock:
            noted = list(self._noted.values())
        return ((one.ticket.number, one) for one in noted if one.ticket.number is not None)

    def list_entries(self, ledger: SpendingLedger) -> SessionHistory:
        """List what was paid for, as the ledger has it."""
        found = []
        for number, one in sorted(self._bought(), key=lambda pair: pair[0]):
            entry = ledger.entry(number)
            charged = Amounts() if entry.state == "voided" else Amounts(entry.charge)
            price = _read_price(one)
            what = one.what if len(one.what) <= TEXT else one.what[: TEXT - 1] + "…"
            found.append(
                SessionEntry(number, one.kind, what, price, str(one.guarantee.loss), charged, entry.state)
            )
        return SessionHistory(found)


class KeptAnswers:
    """Answers by question and price, the latest of them: the same again costs nothing."""

    def __init__(self) -> None:
        self._answers: OrderedDict[Hashable, Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Answer | None:
        """Return the answer to a question; None where none is kept."""
        with self._lock:
            return self._answers.get(key)

    def expect(self, plan: QuestionPlan) -> RowsKnown | None:
        """Return about how many rows a question is about, where an answer has counted them."""
        if plan.tables.schema(plan.question.table).rows is not None:
            return None
        with self._lock:
            known = list(self._answers.values())
        return expect_rows(known, plan.question)

    def keep(self, key: Hashable, answer: Answer) -> None:
        """Keep an answer; the oldest fall out."""
        with self._lock:
            self._answers[key] = answer
            while len(self._answers) > KEPT:
                self._answers.popitem(last=False)


def _read_price(one: Purchase) -> tuple[Fraction, Fraction] | None:
    """Return the pair that something was bought for, or the pair that it is."""
    if one.bought is not None:
        return one.bought.value, one.bought.mass
    epsilon = one.guarantee.loss.exact_epsilon()
    return None if epsilon is None else (epsilon, one.guarantee.loss.exact_failure())


def _number(amount: Fraction | None) -> float | None:
    return None if amount is None else float(amount)
