"""Conversations of one's own: a hypothesis about columns of an analyst's choice, on her share of the budget.

She offers (epsilon, delta) for it, which is charged before a row is read. All small tables of the columns are
measured once, and from then on she asks counts without end and has rows made up, at no further cost. Where
the ledger outlives the process so does the conversation: it goes on when she asks it under its name. What it
was hiding is drawn anew then, which takes some of its measured answers. Otherwise it dies with the process,
and its price stays charged.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from fractions import Fraction

from discreet.core import checks
from discreet.core.errors import (
    ConversationClosed,
    EngineFailed,
    InvalidParameter,
    KeyReused,
    LedgerRefused,
    LedgerStopped,
    Refused,
)
from discreet.core.guarantee import Guarantee
from discreet.core.loss import ApproxLoss, PureLoss
from discreet.curator.amounts import Amounts
from discreet.curator.desks import Desk
from discreet.curator.failures import Failures
from discreet.curator.history import Quote
from discreet.curator.hypotheses.own_opening import ENDED, OwnOpening
from discreet.curator.hypotheses.own_plans import plan_conversation
from discreet.curator.hypotheses.shared import CELLS, RETIRED, Shared
from discreet.curator.kept.kept_replies import FAILURE
from discreet.curator.kept.keys import require_key
from discreet.curator.ledger.entries import Ticket
from discreet.curator.ledger.ledger import Ledger
from discreet.curator.ticks import FairLock
from discreet.data.table import Table

OPEN = 4
"""The most conversations of her own that an analyst has open at once."""


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
    version
        Which state of the table it is: a conversation is about the rows that it measured.
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
        version: str | None = None,
    ) -> None:
        self._table, self._ledger, self._failures, self._version = table, ledger, failures, version
        self._engine, self._require_open, self._count_rows = engine, require_open, count_rows
        self._open: dict[tuple[str, str], Shared] = {}
        self._gone: set[tuple[str, str]] = set()  # what cannot go on: its rows are not read for that again
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
            self._require_few_open(desk)
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
        self._require_looked_at()
        return self._open.get((desk.name, name)) or self._go_on(desk, name)

    def _require_looked_at(self) -> None:
        self._require_open()
        if self._ledger.is_retired:
            self.close_all()
            raise ConversationClosed(f"{RETIRED}: all conversations of one's own have ended")

    def _require_kept(self) -> None:
        """Raise once the data are retired, as the book has it now: for what was paid for before."""
        self._ledger.refresh()
        self._require_looked_at()

    def _require_few_open(self, desk: Desk) -> None:
        # Listed first: others open and close theirs meanwhile.
        if sum(who == desk.name for who, _ in list(self._open)) >= OPEN:
            raise Refused(
                what="conversation",
                why=f"you have {OPEN} open, which is the most",
                way_out="Close one of them first",
            )

    def _go_on(self, desk: Desk, name: str) -> Shared:
        """Go on with a conversation of a life before: what it is about is read again, at no further cost."""
        with desk.line.turn():
            known = self._open.get((desk.name, name))
            if known is not None:  # somebody was faster
                return known
            opening = None if (desk.name, name) in self._gone else self._find_kept(desk, name)
            if opening is None:
                raise ConversationClosed(ENDED)
            self._require_few_open(desk)
            self._failures.require_few(desk.name)
            self._require_kept()
            try:
                self._require_small(opening.columns)
                with self._engine.turn():
                    self._require_open()
                    self._table.require_open()
                    opened = self._measure(opening.columns, opening.pair, opening)
            except (ConversationClosed, InvalidParameter):  # other columns, or another plan: that stays so
                self._gone.add((desk.name, name))
                raise ConversationClosed(ENDED) from None
            if opened is None:
                self._failures.note(desk.name)
                raise EngineFailed
            self._add(desk, name, opened)
            return opened

    def _keep(self, desk: Desk, name: str, number: int | None = None) -> OwnOpening | None:
        """Return where a conversation is kept; None where everything dies with the process."""
        if not self._ledger.durable:
            return None
        whose = {"analyst": desk.name, "version": self._version}
        return OwnOpening(self._ledger, name, whose=whose, number=number)

    def _find_kept(self, desk: Desk, name: str) -> OwnOpening | None:
        """Return what is kept of a conversation that goes on."""
        kept = self._keep(desk, name)
        return kept if kept is not None and kept.goes_on else None

    def close(self, desk: Desk, name: str) -> None:
        """End a conversation, for all later lives too. What it cost stays charged."""
        self._require_looked_at()
        with desk.line.turn():
            kept = self._find_kept(desk, name)
            if kept is None and (desk.name, name) not in self._open:
                raise ConversationClosed(ENDED)
            if kept is not None:
                kept.end()  # first of all: what is not written down would go on in the next life
            found = self._open.pop((desk.name, name), None)
            if found is not None:
                found.close()

    def close_all(self) -> None:
        """Close all of them in this life."""
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
        ticket, charge, item = Ticket(), Amounts(), self._state(pair)
        what = f"a conversation about {', '.join(names)}"
        try:
            number = self._ledger.reserve(
                desk.name, what, item, bought=pair, ticket=ticket, study=study, key=key
            )
            if ticket.number is None:  # under this key it was charged before, in this life or another
                return self._find_charged(desk, number, names, pair)
            charge |= self._ledger.entry(number).charge
            name = self._begin(desk, number, names, pair)
        except BaseException:  # an interrupt, say, while she waited: what was not started costs nothing
            if not self._ledger.void_unless_started(ticket):
                desk.history.note(what, "failed", charge)
            raise
        desk.history.note(what, "priced", charge)
        return name

    def _find_charged(self, desk: Desk, number: int, names: tuple[str, ...], pair: ApproxLoss) -> str:
        """Return what the conversation of an entry is called; where nobody was told yet it is begun now."""
        told = self._ledger.answer(number)
        if told is None:
            self._require_kept()
            return self._begin(desk, number, names, pair)
        if told == FAILURE:
            raise EngineFailed
        self.find(desk, told.decode())
        return told.decode()

    def _begin(self, desk: Desk, number: int, names: tuple[str, ...], pair: ApproxLoss) -> str:
        """Measure what was charged, write down what it is called, and return that."""
        # Where it is kept, all who have this charge mean the same one: two would be measured for one price.
        name = self._ledger.name_bought(number) if self._ledger.durable else secrets.token_hex(8)
        with self._engine.turn():
            self._require_open()
            self._table.require_open()
            self._ledger.resume(number)  # whatever happens from here on, the charge stays
            opened = self._measure(names, pair, self._keep(desk, name, number))
        if opened is None:
            self._failures.note(desk.name)
        told = self._ledger.finish(number, FAILURE if opened is None else name.encode()) or FAILURE
        if opened is not None and told == name.encode():
            self._add(desk, name, opened)
        elif opened is not None:  # another process was faster
            opened.close()
        if told == FAILURE:
            raise EngineFailed
        return told.decode()

    def _add(self, desk: Desk, name: str, opened: Shared) -> None:
        opened.may_look = self.may_look
        self._open[desk.name, name] = opened

    def may_look(self) -> bool:
        """Tell whether the data may still be looked at, as the book has it now."""
        self._ledger.refresh()  # its owner may have retired it from another process
        return not self._ledger.is_retired

    def _measure(self, names: tuple[str, ...], pair: ApproxLoss, opening: OwnOpening | None) -> Shared | None:
        """Return what was opened; None where that fails, for whatever is said then may quote data."""
        offer = {"epsilon": pair.value, "delta": pair.mass}
        try:
            return Shared.open(self._table, **offer, columns=names, opening=opening)
        except (ConversationClosed, LedgerRefused, LedgerStopped):  # our own words: it cannot go on
            raise
        except Exception:  # the error we raise later keeps no link to it
            return None
