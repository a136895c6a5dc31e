"""What happens in a book, one thing at a time, and how each is written down.

A book that was written must mean the same for ever: no event is removed and none changes its meaning. Amounts
are whole numbers of a unit that the event which opened their line states, so sums are exact in any language
that has integers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.entries import State, Ticket

Amounts = tuple[int | None, ...]
"""How many units of each coordinate; None where a charge has no finite amount there."""

DATA, PEOPLE = "data", "people"
"""Whose budget it is: that of a data set, or of people who are in several of them."""

WHOLE = "all"
"""The line of a whole budget."""

ANALYST = "analyst:"
"""What the name of an analyst's line begins with."""


RECOVER = "Run `discreet ledger recover`, which keeps what is sound and can only raise what was spent"


@dataclass(frozen=True, slots=True)
class Began:
    """A book was begun; its first event."""

    book: str
    time: int


@dataclass(frozen=True, slots=True)
class Coordinates:
    """What is counted on a line, and in which units."""

    names: tuple[str, ...]
    units: tuple[Fraction, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """A budget was opened."""

    kind: str
    name: str
    epsilon: Fraction
    delta: Fraction
    neighbours: str
    coordinates: Coordinates
    apart: bool = False
    people: str | None = None
    pace: tuple[Fraction, int] | None = None


@dataclass(frozen=True, slots=True)
class Capped:
    """A line of a data set was given a share of its budget, once."""

    ledger: str
    line: str
    share: Fraction
    coordinates: Coordinates
    members: tuple[str, ...] = ()
    purpose: str = ""


@dataclass(frozen=True, slots=True)
class LineCharge:
    """What one line of a budget is charged: of a data set, or of people."""

    kind: str
    name: str
    line: str
    amounts: Amounts


ANY_LOST = LineCharge(DATA, "\n", WHOLE, ())
"""In a recovery without an anchor: any budget may have been lost, under a name that none can have."""


@dataclass(frozen=True, slots=True)
class Reserved:
    """A charge was taken out of all lines that it counts on.

    `request` is the digest of what `key` stands for, `question` that of the numbers that were asked for,
    whatever their form, and `plan` that of the noise they are answered with.
    """

    ledger: str
    number: int
    analyst: str
    what: str
    charges: tuple[LineCharge, ...]
    loss: str
    time: int
    life: str
    study: str | None = None
    key: str | None = None
    request: str | None = None
    question: str | None = None
    plan: str | None = None
    ticket: Ticket = field(default_factory=Ticket, compare=False)


@dataclass(frozen=True, slots=True)
class Moved:
    """An entry has another state; where it is finished, `answer` is the digest of what was kept."""

    ledger: str
    number: int
    state: State
    answer: str | None = None


@dataclass(frozen=True, slots=True)
class Kept:
    """Something was kept in a journal of a data set; `answer` is its digest."""

    ledger: str
    journal: str
    number: int
    answer: str


@dataclass(frozen=True, slots=True)
class Given:
    """A request that had a key was answered without a charge; `answer` is the digest of the reply."""

    ledger: str
    number: int
    analyst: str
    key: str
    request: str
    answer: str
    size: int
    time: int


@dataclass(frozen=True, slots=True)
class Used:
    """A use of the data outside this book was told, with a loss that may be unknown or infinite."""

    ledger: str
    what: str
    loss: str
    time: int


@dataclass(frozen=True, slots=True)
class Retired:
    """Nothing more is answered from a data set."""

    ledger: str
    why: str
    time: int


@dataclass(frozen=True, slots=True)
class Recovered:
    """A recovery: lines have spent at least so much, whatever the entries say; `cut` where rows were lost."""

    sums: tuple[LineCharge, ...]
    why: str
    time: int
    cut: bool = True


Event = Began | Opened | Capped | Reserved | Moved | Kept | Given | Used | Retired | Recovered

_KINDS: dict[type[Any], str] = {
    Began: "began",
    Opened: "opened",
    Capped: "capped",
    Reserved: "reserved",
    Moved: "moved",
    Kept: "kept",
    Given: "given",
    Used: "used",
    Retired: "retired",
    Recovered: "recovered",
}


def encode(event: Event) -> tuple[str, str]:
    """Return the kind of an event and its body, as one line of JSON whose keys are sorted."""
    body = {name: _write(getattr(event, name)) for name in type(event).__slots__ if name != "ticket"}
    return _KINDS[type(event)], json.dumps(body, sort_keys=True, separators=(",", ":"))


def _write(value: Any) -> Any:
    match value:
        case Fraction():
            return str(value)
        case LineCharge(kind, name, line, amounts):
            # As text: many readers of JSON round whole numbers beyond 2^53.
            return [kind, name, line, [None if one is None else str(one) for one in amounts]]
        case Coordinates(names, units):
            return [[name, str(unit)] for name, unit in zip(names, units, strict=True)]
        case tuple():
            return [_write(one) for one in value]
        case _:
            return value


def decode(kind: str, body: str) -> Event:
    """Return the event that was written down."""
    try:
        event: Event = _READERS[kind](json.loads(body))
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError):
        raise unreadable(kind) from None
    return event


def unreadable(kind: str) -> LedgerRefused:
    """Return the refusal of an event that this version does not know."""
    why = f"an event of the kind {kind[:40]!r} cannot be read"
    return LedgerRefused(why=why, way_out=f"A later version may be able to. {RECOVER}")


def read_reserved(body: str) -> Reserved:
    """Return the charge that was written down."""
    event = decode("reserved", body)
    if not isinstance(event, Reserved):
        raise unreadable("reserved")
    return event


def _read_charges(written: list[list[Any]]) -> tuple[LineCharge, ...]:
    return tuple(
        LineCharge(kind, name, line, tuple(map(read_amount, amounts)))
        for kind, name, line, amounts in written
    )


def read_amount(written: str | None) -> int | None:
    """Return how many units were written down; nothing is ever charged less than none."""
    amount = None if written is None else int(written)
    if amount is not None and amount < 0:
        raise ValueError
    return amount


def _read_coordinates(written: list[list[str]]) -> Coordinates:
    return Coordinates(tuple(name for name, _ in written), tuple(Fraction(unit) for _, unit in written))


def _read_opened(body: dict[str, Any]) -> Opened:
    body |= {name: Fraction(body[name]) for name in ("epsilon", "delta")}
    if body["pace"] is not None:
        body["pace"] = Fraction(body["pace"][0]), body["pace"][1]
    return Opened(**body | {"coordinates": _read_coordinates(body["coordinates"])})


def _read_capped(body: dict[str, Any]) -> Capped:
    body |= {"share": Fraction(body["share"]), "members": tuple(body["members"])}
    return Capped(**body | {"coordinates": _read_coordinates(body["coordinates"])})


def _read_reserved(body: dict[str, Any]) -> Reserved:
    body["charges"] = _read_charges(body["charges"])
    return Reserved(**body)


def _read_raised(body: dict[str, Any]) -> Recovered:
    return Recovered(**body | {"sums": _read_charges(body["sums"])})


_READERS: dict[str, Any] = {
    "began": lambda body: Began(**body),
    "opened": _read_opened,
    "capped": _read_capped,
    "reserved": _read_reserved,
    "moved": lambda body: Moved(**body),
    "kept": lambda body: Kept(**body),
    "given": lambda body: Given(**body),
    "used": lambda body: Used(**body),
    "retired": lambda body: Retired(**body),
    "recovered": _read_raised,
}
