"""A conversation of an analyst's own, over all lives of a curator: measured once, known by its name.

That it was paid for is in the ledger before a row is read for it, and so is what it is about. What it began
with is written down before anything is answered from it. In a book of which rows were lost none goes on: its
price stays paid.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from discreet.core.errors import ConversationClosed, LedgerRefused
from discreet.core.loss import ApproxLoss
from discreet.curator.ledger.ledger import Ledger
from discreet.queries.universe import Universe

ENDED = "you have no open conversation of that name; it may have ended"


class OwnOpening:
    """What a ledger knows of one conversation.

    Parameters
    ----------
    ledger
        Where it is kept.
    called
        What the conversation is called.
    whose
        Whose it is, and about which state of the table.
    number
        The entry that paid for it, where it is begun.

    Attributes
    ----------
    notes
        Where the conversation writes down what must outlive the process.
    errors
        None: what it learns about its errors is learnt again.
    """

    errors = None

    def __init__(
        self, ledger: Ledger, called: str, *, whose: Mapping[str, str | None], number: int | None = None
    ) -> None:
        self._claims = ledger.journal(f"own {called}", alone=True)
        self.notes = ledger.journal(f"notes of own {called}", alone=True)
        self._whose, self._number = whose, number
        try:
            known, self._is_begun = self._claims.read(), bool(self.notes.read())
            self._is_lost = bool(known) and ledger.is_cut  # what is begun now loses nothing
        except LedgerRefused:  # a note of it is damaged: it ends, and nothing else does
            known, self._is_begun, self._is_lost = (), False, True
        self._known: Any = json.loads(known[0]) if known else None
        self._plan = known[1].decode() if len(known) > 1 else None
        self._is_ended = len(known) > 2

    @property
    def goes_on(self) -> bool:
        """Whether it was begun by this analyst about these rows, and was not ended."""
        if self._known is None or not self._is_begun or self._is_lost or self._is_ended:
            return False
        return all(self._known.get(name) == value for name, value in self._whose.items())

    @property
    def columns(self) -> tuple[str, ...]:
        """What it is about."""
        return tuple(self._known["columns"])

    @property
    def pair(self) -> ApproxLoss:
        """What was paid for it."""
        return ApproxLoss(Fraction(self._known["epsilon"]), Fraction(self._known["delta"]))

    def claim(self, kind: str, universe: Universe, epsilon: Fraction, delta: Fraction) -> bool:
        """Write down what is measured, before it is; in a later life it must be the same.

        Raises
        ------
        ConversationClosed
            Where it is not, or what it began with is lost.
        """
        public = {
            **self._whose,
            "number": self._number if self._known is None else self._known["number"],
            "kind": kind,
            "columns": list(universe.names),
            "shape": list(universe.shape),
            "epsilon": str(epsilon),
            "delta": str(delta),
            "values": hashlib.sha256(json.dumps(universe.attributes, default=str).encode()).hexdigest(),
        }
        if self._is_lost or self._is_ended or self._known not in (None, public):
            raise ConversationClosed(ENDED)
        if self._known is None:
            self._claims.append(json.dumps(public, sort_keys=True).encode())
        return True

    def settle(self, plan: object) -> bool:
        """Write down by which plan it is measured; noise of another one was never accounted for with it.

        Raises
        ------
        ConversationClosed
            Where a life before had another.
        """
        digest = hashlib.sha256(repr(plan).encode()).hexdigest()
        if self._plan is None:
            self._claims.append(digest.encode())
        elif self._plan != digest:
            raise ConversationClosed(ENDED)
        return True

    def end(self) -> None:
        """Write down that it is over."""
        self._claims.append(b"ended")
