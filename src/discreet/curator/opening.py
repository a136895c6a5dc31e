"""The shared part of a budget, over all lives of a curator: spent once, on a hypothesis that is kept.

That it is spent is written down before a row is read for it. What the hypothesis began with is written down
before anything is answered from it. A life that finds the first and not the second, or notes that a recovery
cut off, has no hypothesis any more: its price stays paid, and it is not measured a second time.
"""

from __future__ import annotations

import hashlib
import json
from fractions import Fraction

from discreet.core.errors import LedgerRefused
from discreet.curator.ledger.ledger import Ledger
from discreet.queries.universe import Universe


class Opening:
    """What a ledger knows of the shared hypothesis.

    Attributes
    ----------
    notes
        Where the hypothesis writes down what must outlive the process.
    """

    def __init__(self, ledger: Ledger) -> None:
        self._claims, self.notes = ledger.journal("opening"), ledger.journal("shared")
        known = self._claims.read()
        self._known = json.loads(known[0]) if known else None
        self._plan = known[1].decode() if len(known) > 1 else None
        self._ledger = ledger
        self._is_lost = ledger.is_cut or (self._known is not None and not self.notes.read())

    def claim(self, kind: str, universe: Universe, epsilon: Fraction, delta: Fraction) -> bool:
        """Write down that the shared part is spent, and on what; in a later life it must be the same.

        Returns
        -------
        bool
            Whether there is a hypothesis to begin, or to go on with.
        """
        public = {
            "kind": kind,
            "columns": list(universe.names),
            "shape": list(universe.shape),
            "epsilon": str(epsilon),
            "delta": str(delta),
            "values": hashlib.sha256(json.dumps(universe.attributes, default=str).encode()).hexdigest(),
        }
        if self._known is None:
            self._require_unspent()
            self._claims.append(json.dumps(public, sort_keys=True).encode())
            words = f"the shared hypothesis: epsilon {float(epsilon):g}, delta {float(delta):g}"
            self._ledger.note_use(words, loss="within the whole budget, beside what is charged here")
        elif self._known != public:
            changed = ", ".join(name for name in public if self._known.get(name) != public[name])
            raise LedgerRefused(
                why=f"the shared hypothesis was opened with other {changed}",
                way_out="Open the curator as it was: what was measured is measured once",
            )
        return not self._is_lost

    def require_none(self) -> None:
        """Refuse to go on without the shared hypothesis that was paid for: all of it is one promise."""
        if self._known is not None:
            raise LedgerRefused(
                why=f"it belongs to a curator with a shared hypothesis of epsilon {self._known['epsilon']}, "
                "which is not part of this budget",
                way_out="Open the curator as it was. Another budget needs another file",
            )

    def _require_unspent(self) -> None:
        """Refuse to add a hypothesis to a budget from which something was answered: it was the whole then."""
        if self._ledger.entries() and not self._ledger.is_cut:
            raise LedgerRefused(
                why="something was answered on this budget when there was no shared hypothesis beside it",
                way_out="Open it as it was: a budget is set once. Another one needs another file",
            )

    def settle(self, plan: object) -> bool:
        """Tell whether a plan is the one that was begun with; the first one is written down.

        Noise of two plans was never accounted for together, and what one wrote down means something else to
        another. Another version may plan otherwise.
        """
        digest = hashlib.sha256(repr(plan).encode()).hexdigest()
        if self._plan is None:
            self._claims.append(digest.encode())
            return True
        return self._plan == digest
