"""Conversations of one's own: a hypothesis about columns of an analyst's choice, on her share of the budget.

She offers (epsilon, delta) for it, which is charged before a row is read. All small tables of the columns are
measured once, and from then on she asks counts without end and has rows made up, at no further cost. It dies
with the process, and its price stays charged: what it was hiding is not kept anywhere.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet.core import checks
from discreet.core.errors import ConversationClosed, EngineFailed, KeyReused, Refused
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.curator.amounts import Amounts
from discreet.curator.desks import Desk
from discreet.curator.failures import Failures
from discreet.curator.history import Quote
from discreet.curator.hypotheses.own_plans import plan_conversation
from discreet.curator.hypotheses.shared import CELLS, RETIRED, Shared
from discreet.curator.kept.keys import require_key
from discreet.curator.ledger.entries import Ticket
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ticks import FairLock
from discreet.data.table import Table

OPEN = 4
"""The most conversations of her own that an analyst has open at once."""

_ENDED = "you have no open conversation of that name; it may have ended"


class OwnConversations:
    """Opens, finds and closes conversations of single analysts.

    Parameters
    ----------
    table, ledger
        What they are about, and what pays.
    engine
        Whoever has a turn in it may use the table's engine.
    failures
        How often the engine failed for whom.
    require_open
        Raises once the curator is closed.
    count_rows
        Returns about how many rows there are, as far as that is public.
    """

    def __init__(
        self,
        table: Table,
        ledger: Ledger,
        *,
        engine: FairLock,
        failures: Failures,
        require_open: Callable[[], None],
        count_rows: Callable[[], Fraction | None],
    ) -> None:
        self._table, self._ledger, self._failures = table, ledger, failures
        self._engine, self._require_open, self._count_rows = engine, require_open, count_rows
        self._open: dict[tuple[str, str], Shared] = {}
        self._keyed: dict[tuple[str, str], tuple[object, str]] = {}  # what a key stands for in this life

    def open(
        self,
        desk: Desk,
        columns: Iterable[str],
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        study: str | None = None,
        key: str | None = None,
        insist: bool = False,
    ) -> str:
        """Open a conversation about some columns, charge what was offered, and return what it is called.

        Under the same key it is the same conversation again, charged once.
        """
        checks.instance(bool, insist=insist)
        names, pair = self._read(columns, epsilon, delta)
        once = require_key(key)
        with desk.line.turn():
            self._failures.require_few(desk.name)
            request, known = (names, pair, study), self._keyed.get((desk.name, once or ""))
            if known is not None:
                if known[0] != request:
                    raise KeyReused
                self.find(desk, known[1])
                return known[1]
            # Listed first: others open and close theirs meanwhile.
            if sum(who == desk.name for who, _ in list(self._open)) >= OPEN:
                raise Refused(
                    what="conversation",
                    why=f"you have {OPEN} open, which is the most",
                    way_out="Close one of them first",
                )
            planned = plan_conversation(self._table, names, pair, self._count_rows())
            if not insist:
                planned.require_useful()
            called = self._buy(desk, names, pair, study, once)
            if once is not None:
                self._keyed[desk.name, once] = request, called
            return called

    def plan(
        self,
        desk: Desk,
        columns: Iterable[str],
        *,
        epsilon: checks.Number,
        delta: checks.Number,
        study: str | None = None,
    ) -> Quote:
        """Say what a conversation would be charged and how well it would count. No row is read."""
        names, pair = self._read(columns, epsilon, delta)
        if study is not None:
            self._ledger.require_study(checks.text(study=study))
        planned = plan_conversation(self._table, names, pair, self._count_rows())
        item, line = self._state(pair), {"bought": pair, "study": study}
        cost = self._ledger.quote(desk.name, item, **line)  # type: ignore[arg-type]
        refusal = self._ledger.find_refusal(desk.name, item, **line)  # type: ignore[arg-type]
        words = f"use      {planned.words}. {planned.way_out}" if planned.is_useless else ""
        return Quote("priced", planned.columns, cost, item, words, refusal=refusal)

    def _read(
        self, columns: Iterable[str], epsilon: checks.Number, delta: checks.Number
    ) -> tuple[tuple[str, ...], ApproxLoss]:
        names = tuple(dict.fromkeys(checks.each(checks.text, columns=columns)))
        e, d = checks.positive(epsilon=epsilon), checks.delta(delta=delta)
        self._require_small(names)
        return names, ApproxLoss(e, d)

    def _state(self, pair: ApproxLoss) -> Guarantee:
        return Guarantee(pair if pair.mass else PureLoss(pair.value), self._table.neighbours)

    def find(self, desk: Desk, name: str) -> Shared:
        """Return a conversation of an analyst.

        Raises
        ------
        ConversationClosed
            Where she has none of that name: it was closed, belongs to somebody else, or never was.
        """
        self._require_open()
        if self._ledger.is_retired:
            self.close_all()
            raise ConversationClosed(f"{RETIRED}: all conversations of one's own have ended")
        found = self._open.get((desk.name, name))
        if found is None:
            raise ConversationClosed(_ENDED)
        return found

    def close(self, desk: Desk, name: str) -> None:
        """End a conversation. What it cost stays charged."""
        self.find(desk, name).close()
        self._open.pop((desk.name, name), None)

    def close_all(self) -> None:
        """End all of them."""
        while self._open:
            self._open.popitem()[1].close()

    def _require_small(self, names: tuple[str, ...]) -> None:
        self._require_open()
        universe = self._table.universe(names)
        if universe.size > CELLS:
            raise Refused(
                what="conversation",
                why=f"these columns have {universe.size} combinations of values; {CELLS} is the most",
                way_out="Choose fewer columns",
            )

    def _buy(
        self, desk: Desk, names: tuple[str, ...], pair: ApproxLoss, study: str | None, key: str | None
    ) -> str:
        """Charge, and only then read."""
        ticket, charge = Ticket(), Amounts()
        item = self._state(pair)
        what = f"a conversation about {', '.join(names)}"
        try:
            number = self._ledger.reserve(
                desk.name, what, item, bought=pair, ticket=ticket, study=study, key=key
            )
            if ticket.number is None:  # under this key it was opened in another life, and ended with it
                raise ConversationClosed(_ENDED)
            charge |= self._ledger.entry(number).charge
            with self._engine.turn():
                self._require_open()
                self._ledger.start(number)  # whatever happens from here on, the charge stays
                opened = self._measure(names, pair)
            if opened is None:
                self._failures.note(desk.name)
                raise EngineFailed
            self._ledger.finish(number)
        except BaseException:  # an interrupt, say, while she waited: what was not started costs nothing
            if not self._ledger.void_unless_started(ticket):
                desk.history.note(what, "failed", charge)
            raise
        name = secrets.token_hex(8)  # a number would tell how many others have opened
        opened.may_look = self.may_look
        self._open[desk.name, name] = opened
        desk.history.note(what, "priced", charge)
        return name

    def may_look(self) -> bool:
        """Tell whether the data may still be looked at, as the book has it now."""
        self._ledger.refresh()  # its owner may have retired it from another process
        return not self._ledger.is_retired

    def _measure(self, names: tuple[str, ...], pair: ApproxLoss) -> Shared | None:
        """Return what was opened; None where that fails, for whatever is said then may quote data."""
        try:
            return Shared.open(self._table, epsilon=pair.value, delta=pair.mass, columns=names)
        except Exception:  # the error we raise later keeps no link to it
            return None
