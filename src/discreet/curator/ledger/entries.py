"""What a ledger shows: its entries, and what whoever spends needs of it."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, Protocol, runtime_checkable

from discreet.accounting.composition import Item
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss

State = Literal["reserved", "started", "finished", "voided"]

NEXT: dict[State, tuple[State, ...]] = {
    "reserved": ("started", "voided"),
    "started": ("finished",),
    "finished": (),
    "voided": (),
}
"""What an entry may become."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line of the ledger.

    Attributes
    ----------
    number
        Its place, from 0.
    analyst
        Who asked.
    what
        The question in its canonical form. It holds no data.
    charge
        What the data set's budget, or a share that is apart, was charged, coordinate by coordinate.
    state
        How far it is.
    loss
        What it loses, in the accountant's own words.
    study
        What it was asked for, where that was said.
    time
        When it was reserved: seconds since 1970 that never run backwards.
    question, plan, answer
        Digests of the numbers that were asked for, of the noise they have, and of what was answered; None
        where nobody said, or nothing was kept.
    """

    number: int
    analyst: str
    what: str
    charge: tuple[tuple[str, Fraction], ...]
    state: State
    loss: str = ""
    study: str | None = None
    time: int = 0
    question: str | None = None
    plan: str | None = None
    answer: str | None = None


@dataclass(slots=True)
class Ticket:
    """Who holds it can give her reservation back, even where she was interrupted before she had its number.

    Attributes
    ----------
    number
        The entry that was made for it; None as long as there is none.
    """

    number: int | None = None


@dataclass(frozen=True, slots=True)
class KeyUse:
    """What an analyst's key stands for.

    Attributes
    ----------
    request
        The digest of the request it came with.
    entry
        The entry that was charged for it; None where it was answered without a charge.
    is_undone
        Whether the charge was given back, so that nothing was answered: the same request may come again.
    """

    request: str | None
    entry: int | None
    is_undone: bool = False


@runtime_checkable
class SpendingLedger(Protocol):
    """What whoever spends needs of a ledger: `Ledger` says what each step means."""

    @property
    def guarantee(self) -> Guarantee:
        """What everything that is ever charged promises together."""

    @property
    def durable(self) -> bool:
        """Whether it outlives the process."""

    def fit(
        self, analyst: str, item: Item, *, bought: ApproxLoss | None = None, study: str | None = None
    ) -> Literal[0, 1, 2]:
        """Tell whether an item could be reserved now."""

    def reserve(
        self,
        analyst: str,
        what: str,
        item: Item,
        *,
        bought: ApproxLoss | None = None,
        ticket: Ticket | None = None,
    ) -> int:
        """Charge an item, before any data are touched; return its number."""

    def start(self, number: int) -> None:
        """Mark that data are touched now."""

    def finish(self, number: int) -> object:
        """Mark that the answer is out."""

    def void_unless_started(self, ticket: Ticket) -> bool:
        """Give back what no data were touched for."""

    def entry(self, number: int) -> Entry:
        """Return one entry."""
