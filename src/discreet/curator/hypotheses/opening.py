"""The shared part of a budget, over all lives of a curator: spent once, on a hypothesis that is kept.

That it is spent is written down before a row is read for it. What the hypothesis began with is written down
before anything is answered from it. A life that finds the first and not the second, or notes that a recovery
cut off, has no hypothesis any more: its price stays paid, and it is not measured a second time.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import warnings
from fractions import Fraction

from discreet.accounting.filters import HELD_BACK
from discreet.core import checks
from discreet.core.errors import BudgetExceeded, DataSetChanged, InvalidParameter, LedgerRefused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.curator.ledger.book import require_storable
from discreet.curator.ledger.ledger import Ledger
from discreet.queries.universe import Universe

WHO = "the shared hypothesis"
"""Who is charged for the hypothesis of a later version of the data."""

LATER = Fraction(1, 4)
"""The most that the hypothesis of a later version costs of what the budget has for questions: with the shared
part at four fifths, one that cost as much as the first would never fit."""

_FIRST = "opening"


def price_later(
    epsilon: Fraction, delta: Fraction, rest: Fraction, rest_delta: Fraction
) -> tuple[Fraction, Fraction]:
    """Return what the hypothesis of a later version costs.

    Parameters
    ----------
    epsilon, delta
        What that of the first one did.
    rest, rest_delta
        The budget for questions, which pays for it. Of its delta a part is there for pairs to add up to.
    """
    return min(epsilon, LATER * rest), min(delta, LATER * HELD_BACK * rest_delta)


def read_version(version: str | None) -> str | None:
    """Return the name of a version of the data: one line of text, or None where its owner has but one."""
    if version is None:
        return None
    if not checks.text(version=version).isprintable():
        raise InvalidParameter(name="version", rule="one line of text", value=version)
    return require_storable(version=version)


class Opening:
    """What a ledger knows of the shared hypothesis about one version of the data.

    The first version's is paid for by the shared part of the budget. The people of a later version are the
    same, so its hypothesis is paid for out of the rest, before a row of it is read: by a quarter at most.

    Attributes
    ----------
    notes
        Where the hypothesis writes down what must outlive the process.
    errors
        Where it writes down what it learnt about its answers' errors, which only saves time.
    """

    def __init__(self, ledger: Ledger, version: str | None = None) -> None:
        name = _FIRST if version is None else f"{_FIRST} of {version}"
        # Two who read the same notes would each go on to the end of what was paid for once.
        self._claims = ledger.journal(name, alone=True)
        notes = "shared" if version is None else f"shared of {version}"
        self.notes = ledger.journal(notes, alone=True)
        self.errors = ledger.journal("errors" if version is None else f"errors of {version}")
        self._version, self._name = version, name
        known = self._claims.read()
        self._known = json.loads(known[0]) if known else None
        self._plan = known[1].decode() if len(known) > 1 else None
        self._ledger = ledger
        self._is_lost = ledger.is_cut or (self._known is not None and not self.notes.read())

    def find_price(self, epsilon: Fraction, delta: Fraction) -> tuple[Fraction, Fraction]:
        """Return what the hypothesis of this version costs: the shared part, or less for a later one.

        Raises
        ------
        LedgerRefused
            Where the first version had another shared part. Nothing is charged.
        """
        if not self._others:
            return epsilon, delta
        self._require_same_part(epsilon, delta)
        whole = self._ledger.guarantee.loss.exact_failure()
        later = price_later(epsilon, delta, self._ledger.whole_epsilon, whole)
        if self._known is None:
            return later
        is_later = (self._known["epsilon"], self._known["delta"]) == tuple(map(str, later))
        return later if is_later else (epsilon, delta)

    def _require_same_part(self, epsilon: Fraction, delta: Fraction) -> None:
        """Refuse another shared part than the first version had: it was spent, whatever is said of it now.

        The budget for questions may be the same with another whole. No later version costs more than the
        first one, so that one is the largest of all.
        """
        claims = [] if self._known is None else [self._known]
        for name in self._others:
            with contextlib.suppress(LedgerRefused):  # a note that a recovery lost says nothing any more
                claims.append(json.loads(self._ledger.journal(name).read()[0]))
        for name, now in (("epsilon", epsilon), ("delta", delta)):
            was = max((Fraction(claim[name]) for claim in claims), default=now)
            if was != now:
                raise LedgerRefused(
                    why=f"its first version has a shared part with {name} {float(was):.6g}, and this one "
                    f"would have {float(now):.6g}",
                    way_out="Open it as it was: all versions are on one budget, which is set once",
                )

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
            # Of rows that were lost one may have said that it was measured.
            why = "rows of the ledger were lost" if self._ledger.is_cut else ""
            why = "the data set is retired" if self._ledger.is_retired else why
            if why:
                self._warn_without(why)
                return False
            if self._others:
                if not self._pay(epsilon, delta):
                    return False
            else:
                self._require_unspent()
                self._charge_people(epsilon, delta)
            self._claims.append(json.dumps(public, sort_keys=True).encode())
            if not self._others:
                words = f"the shared hypothesis: epsilon {float(epsilon):g}, delta {float(delta):g}"
                self._ledger.note_use(words, loss="within the whole budget, beside what is charged here")
        elif self._known != public:
            changed = ", ".join(name for name in public if self._known.get(name) != public[name])
            raise LedgerRefused(
                why=f"the shared hypothesis was opened with other {changed}",
                way_out="Open the curator as it was: what was measured is measured once",
            )
        return not self._is_lost

    @property
    def _others(self) -> list[str]:
        """Other versions of which a hypothesis was begun."""
        return [
            name for name in self._ledger.list_journals() if name.startswith(_FIRST) and name != self._name
        ]

    def _charge_people(self, epsilon: Fraction, delta: Fraction) -> None:
        """Charge whose data these are, where they have a budget over several data sets."""
        if self._ledger.has_people:
            cost = Guarantee(_loss(epsilon, delta), self._ledger.guarantee.neighbours)
            pair = ApproxLoss(epsilon, delta)
            number = self._ledger.reserve(WHO, WHO, cost, bought=pair, key=self._name, beside=True)
            self._finish(number)

    def _finish(self, number: int) -> None:
        if self._ledger.entry(number).state != "finished":  # a crash may have come behind the charge
            self._ledger.resume(number)
            self._ledger.finish(number)

    def _pay(self, epsilon: Fraction, delta: Fraction) -> bool:
        """Charge the hypothesis of a later version, once; tell whether there was room for it."""
        ledger = self._ledger
        # No name of a version is empty, so none has the name of what has none.
        name = WHO if self._version is None else f"{WHO} of {self._version}"
        cost = Guarantee(_loss(epsilon, delta), ledger.guarantee.neighbours)
        try:
            if ledger.is_apart:
                # Set aside for this alone, and never given back: that is all a share of others can notice.
                if ledger.share(name) is None:
                    ledger.cap(name, epsilon / ledger.whole_epsilon)
                return True
            self._finish(ledger.reserve(WHO, name, cost, key=self._name))
        except (BudgetExceeded, InvalidParameter):
            self._warn_without(
                "the budget has no room for it: choose a smaller shared part for data that will have versions"
            )
            return False
        return True

    def _warn_without(self, why: str) -> None:
        about = "the data" if self._version is None else f"version {self._version}"
        said = f"there is no shared hypothesis about {about}, since {why}. Every question about it is priced."
        warnings.warn(said, DataSetChanged, stacklevel=2)

    def require_none(self) -> None:
        """Refuse to go on without the shared hypothesis that was paid for: all of it is one promise."""
        if self._known is not None or self._others:
            whose = "about another version" if self._known is None else f"of epsilon {self._known['epsilon']}"
            raise LedgerRefused(
                why=f"it belongs to a curator with a shared hypothesis {whose}, not part of this budget",
                way_out="Open the curator as it was. Another budget needs another file",
            )

    def _require_unspent(self) -> None:
        """Refuse to add a hypothesis to a budget from which something was answered: it was the whole then."""
        # What a life charged its people for, and ended before it could claim, is this hypothesis.
        answered = any((one.analyst, one.what) != (WHO, WHO) for one in self._ledger.entries())
        if answered:
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
        if self._plan != digest:
            warnings.warn(
                "the shared hypothesis was measured under other facts of the schema, such as max_rows, or by "
                "another version of discreet. What was measured is measured once: every count has a "
                "price now. Open the data as they were declared then, and it answers again.",
                DataSetChanged,
                stacklevel=2,
            )
        return self._plan == digest


def _loss(epsilon: Fraction, delta: Fraction) -> ApproxLoss | PureLoss:
    return ApproxLoss(epsilon, delta) if delta else PureLoss(epsilon)
