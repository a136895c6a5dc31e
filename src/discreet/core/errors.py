"""What can go wrong, drawn once.

::

    DiscreetError
    ├── InvalidParameter       a parameter breaks a rule (also a ValueError); nothing was read or drawn
    │   └── BudgetTooSmall     a part of the mechanism alone costs as much as all of it may
    ├── Refused                a request outside the language or the policy (also a ValueError)
    │   ├── NoBound            an error was asked for, and nothing better than what is always true is proved
    │   └── NotFree            a question that was to cost nothing has a price
    ├── NeighboursMismatch     guarantees or calibrations over different neighbouring relations
    ├── BudgetExceeded         a filter or ledger refused; no data was read
    ├── ConversationClosed     an interactive mechanism has given all the answers it was paid for
    ├── TableClosed            a table was asked after its owner had given its engine back
    ├── TableHeld              a table was asked by itself after a session or a curator had taken it
    ├── EngineFailed           a data engine gave up; its own words may quote data and are kept back
    │   ├── OpenFailed         it did so while the owner opened a table; says why by one of a few codes
    │   └── ReadFailed         a function that reads private data for a session did
    ├── LedgerRefused          a ledger is damaged, rolled back, copied or someone else's; nothing is answered
    │   └── AnswerLost         what was charged once cannot be answered, or not again; all else is
    ├── LedgerStopped          a ledger could not write; what it was writing counts as charged
    ├── KeyReused              a key for one question came with another; nothing was charged
    ├── ServerRefused          a server said no for a reason of its own: a key, an address, too many requests
    ├── ServerUnreachable      no reply came from a server; a question may have been charged
    ├── StrangeReply           what a server said is not what this version reads
    ├── MissingExtra           an optional dependency is not installed
    └── InternalError          a promise of our own was about to be broken: please report it

No message ever contains a value of the data: only parameters, which are public.
"""

from __future__ import annotations

import decimal
from fractions import Fraction

LONGEST = 200
"""The most characters of a value that an error shows."""


class DiscreetError(Exception):
    """The root of every error this package raises on purpose."""


class InvalidParameter(DiscreetError, ValueError):
    """A parameter breaks its rule. Carries the name, the rule and the value.

    Where the value is private or long, `got` says in words what was given instead. Arrays, series and frames
    are data, whatever place they were put in by mistake: only their type is said, nothing of them is kept.
    """

    def __init__(self, *, name: str, rule: str, value: object = None, got: str = "", hint: str = "") -> None:
        if hasattr(type(value), "__array__") and getattr(value, "shape", None) != ():
            got, value = got or f"{name} of type {type(value).__name__}", None
        self.name, self.rule, self.value, self.hint = name, rule, value, hint
        ending = f". {hint}" if hint else ""
        super().__init__(f"{name} must be {rule}, got {got or f'{name}={_shorten(value)}'}{ending}")


class BudgetTooSmall(InvalidParameter):
    """A part of a mechanism costs as much as the whole may: a larger epsilon could do."""


class Refused(DiscreetError, ValueError):
    """A request was refused before anything was read. Speaks of the request and public metadata only.

    Attributes
    ----------
    what, why, way_out
        The part of the request, the reason, and what to ask instead.
    """

    def __init__(self, *, what: str, why: str, way_out: str) -> None:
        self.what, self.why, self.way_out = what, why, way_out
        super().__init__(f"{what}: {why}. {way_out}.")


class NoBound(Refused):
    """Nothing useful is proved about the error: no theorem, or one that says no more than is always true.

    `error(beta)` raises this in place of a number that promises nothing; plans print "none".
    """


class NotFree(Refused):
    """A question would be charged, and was asked on condition that it is not. Nothing was."""


class NeighboursMismatch(DiscreetError, ValueError):
    """Two neighbouring relations that cannot be used together."""


class BudgetExceeded(DiscreetError):
    """A filter or a ledger refused a charge; no data was read.

    Attributes
    ----------
    asked, left
        The loss that was asked for and what is left, as printable descriptions.
    """

    def __init__(
        self,
        *,
        asked: object,
        left: object,
        budget: str = "budget",
        way_out: str = "Ask for less, or open a new budget",
    ) -> None:
        self.asked, self.left, self.budget, self.way_out = asked, left, budget, way_out
        super().__init__(f"{budget}: asked {asked}, left {left}. {way_out}.")


class ConversationClosed(DiscreetError):
    """The conversation has given every answer its guarantee covers."""


class TableClosed(DiscreetError):
    """The table is closed: its engine was given back, and nothing was read."""

    def __init__(self) -> None:
        super().__init__("the table is closed: open it again with Table(...), and ask before it is closed.")


class TableHeld(DiscreetError):
    """A session or a curator holds the table: nothing is read from it but through whoever does."""

    def __init__(self) -> None:
        super().__init__("the table is held by a session or a curator, whose budget it goes with: ask there.")


class LedgerRefused(DiscreetError):
    """A ledger cannot be believed, or is not to be used here. Nothing is answered from it.

    Attributes
    ----------
    why, way_out
        What is wrong with it, and what to do.
    """

    def __init__(self, *, why: str, way_out: str) -> None:
        self.why, self.way_out = why, way_out
        super().__init__(f"ledger: {why}. {way_out}.")


class AnswerLost(LedgerRefused):
    """What was charged once cannot be answered, or not again. The ledger is sound, all else is answered."""


class LedgerStopped(DiscreetError):
    """A ledger could not write, or was closed. What it was writing counts as charged; nothing is answered."""

    def __init__(self, why: str) -> None:
        super().__init__(
            f"the ledger {why}. Open it again: what was written is checked, and nothing is lost."
        )


class BudgetNotKept(UserWarning):
    """A budget is in memory, and dies with its process. A warning, said once."""


class DataSetChanged(UserWarning):
    """Data are another version than before, and less can be said of them. A warning, for their owner."""


class KeyReused(DiscreetError, ValueError):
    """The key of one question came with another. Nothing was charged."""

    def __init__(self) -> None:
        super().__init__("key: it belongs to another question. Use a new key for every question.")


class ServerRefused(DiscreetError):
    """A server said no, for a reason that a curator in one's own process does not have.

    Attributes
    ----------
    status, kind
        Of the reply: its number, and one word for programs.
    """

    def __init__(self, words: str, *, status: int, kind: str) -> None:
        self.status, self.kind = status, kind
        super().__init__(f"the server refused: {words}")


class ServerUnreachable(DiscreetError):
    """No reply came. Whether a question was charged is not known; asked again under its key it is not twice.

    Attributes
    ----------
    key
        What to ask the same question again with; None where nothing could be charged.
    """

    def __init__(self, address: str, *, why: str, key: str | None = None) -> None:
        self.key = key
        ending = "" if key is None else f" Asked again with key={key!r} the question is charged at most once."
        super().__init__(f"no reply from {address}: {why}.{ending}")


class StrangeReply(DiscreetError):
    """What a server said is not what this version reads."""

    def __init__(self, why: str) -> None:
        super().__init__(f"the reply of the server cannot be read: {why}.")


class MissingExtra(DiscreetError, ImportError):
    """An optional dependency is needed; the message names the extra that brings it, if one does."""

    def __init__(self, *, package: str, extra: str = "") -> None:
        self.package, self.extra = package, extra
        wanted = f"'discreet[{extra}]'" if extra else package
        super().__init__(f"{package} is not installed. Install it with: pip install {wanted}")


class EngineFailed(DiscreetError):
    """A data engine gave up. The message is always the same: the engine's own words may quote data."""

    def __init__(self) -> None:
        super().__init__("the data engine could not do this; its own message is withheld, it may quote data.")


class OpenFailed(EngineFailed):
    """A table could not be opened. For its owner: a code says why, never the engine's own words.

    Attributes
    ----------
    reason, way_out
        The code, and what to do about it.
    """

    def __init__(self, *, reason: str, way_out: str) -> None:
        self.reason, self.way_out = reason, way_out
        DiscreetError.__init__(
            self,
            f"the data could not be opened: {reason}. {way_out}. "
            "The engine's own message is withheld, it may quote data.",
        )


class ReadFailed(EngineFailed):
    """A function failed once private data were touched. The charge stays; what it said may quote data."""

    def __init__(self) -> None:
        DiscreetError.__init__(
            self,
            "reading the data, or working on them, failed; the message is withheld, it may quote data. The "
            "charge stays. Try it on made-up data of the same kind first.",
        )


class InternalError(DiscreetError):
    """A post-condition of our own failed. Nothing was released. Please report it."""


def plain(value: object) -> str:
    """Print a parameter as a person writes it: an exact number as a decimal where it is a short one."""
    if isinstance(value, decimal.Decimal):
        return str(value)
    if not isinstance(value, Fraction):
        return repr(value)
    try:
        with decimal.localcontext(decimal.Context(prec=30, traps=[decimal.Inexact])):
            return format(decimal.Decimal(value.numerator) / value.denominator, "g")
    except decimal.Inexact:
        return str(value)


def _shorten(value: object) -> str:
    """Print what was given, or the beginning of it: whoever sends a text without end is not sent it back."""
    try:
        shown = plain(value)
    except ValueError:  # Python prints no whole number of thousands of digits
        return "a number of thousands of digits"
    return shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
