"""What a ledger writes down: entries, the charges they hold, and the sums they count in."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from discreet.accounting.charges import Charge

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
    """

    number: int
    analyst: str
    what: str
    charge: tuple[tuple[str, Fraction], ...]
    state: State


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
class ChargedEntry:
    """An entry, with its charge on each line that it counts on."""

    entry: Entry
    charges: tuple[Charge, ...]
    ticket: Ticket


@dataclass(frozen=True, slots=True)
class LineSum:
    """What is reserved or spent on a line, and how many entries were ever made there."""

    spent: Charge
    entries: int = 0
